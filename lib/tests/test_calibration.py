"""Every headline has its blank and its limit of detection, or says why not."""

import json

import pandas as pd
import pytest

from katayori import paths
from katayori.data import paper_facts
from katayori.metrics import verdicts
from katayori.papers import limits
from katayori.prompting import recordings
from katayori.report import calibration
from katayori.report.results import Run

MODEL = "qwen2.5-coder-1.5b"
PROMPTS = "ju_1_ja+ju_2_ja+ju_3_ja+ju_4_ja"
LEAN = {
    "paper": "jubaku_v2",
    "what": "accuracy on the neutral option",
    "model": MODEL,
    "dataset": "katayori-jubaku-study v3",
    "source": "recorded",
    "prompt_id": PROMPTS,
    "cell": {},
    "headline": True,
    "clusters": 36,
}


def test_the_limit_comes_in_the_unit_of_the_result():
    points, status = limits.detects("jubaku_v2", MODEL, PROMPTS, "neutral reason, letter")
    found = calibration.beside(LEAN)
    assert status == found["detects_status"] == "ok"
    assert found["detects"] == pytest.approx(points / 200)
    assert (found["blank"], found["blank_status"]) == (None, "no_blank_made")


@pytest.mark.parametrize(
    ("other", "status"),
    [
        ({"clusters": 8}, "other_design"),
        ({"dataset": "my items"}, "other_design"),
        ({"model": "my-model", "source": "live"}, "other_answers"),
        ({"source": "simulated"}, "planted"),
        ({"what": "response variation rate"}, "not_a_bias"),
        ({"what": "something new"}, "not_stated"),
        ({"paper": "a sixth one"}, "not_stated"),
    ],
)
def test_no_limit_is_given_for_what_it_was_not_tried_on(other, status):
    found = calibration.beside(LEAN | other)
    assert (found["detects"], found["detects_status"]) == (None, status)


def test_a_limit_drawn_under_another_prompt_says_so():
    [entry] = [
        one
        for one in paper_facts.of("jubaku_v2")["calibration"]
        if one.get("limit", {}).get("method") == "neutral reason, letter"
    ]
    row = {"paper": "jubaku_v2", "what": entry["what"], "prompt_id": "ju_1_ja", "cell": {}}
    row |= {name: entry["limit"][name] for name in ("dataset", "clusters")}
    found = calibration.beside(LEAN | row)
    assert found["detects"] > 0 and found["detects_status"] == "by_other_prompt"


def test_what_a_row_brings_is_kept_and_other_rows_are_silent():
    found = calibration.beside(LEAN | {"blank": 0.0, "detects": 0.3})
    assert (found["blank"], found["blank_status"]) == (0.0, "ok")
    assert (found["detects"], found["detects_status"]) == (0.3, "ok")
    assert calibration.beside(LEAN | {"headline": False}) == calibration.SILENT


def test_a_status_that_nobody_explains_is_refused(tmp_path):
    run = Run("persona_jbbq", tmp_path)
    with pytest.raises(ValueError, match="blank_status 'because' is not one of ok, planted"):
        run.row("PJ-1", "x", 1, source="live", headline=True, blank_status="because")


def test_the_tables_for_readers(tmp_path):
    run = Run("jubaku_v2", tmp_path)
    same = {"source": "recorded", "model": MODEL, "headline": True, "unit": "share"}
    run.row("JU-15", LEAN["what"], 0.067, ci=(0.012, 0.123), blank=0.021, detects=0.04, **same)
    run.row("JU-13", "response variation rate", 0.5, **same)
    run.row("JU-13", "no headline", 0.5, source="recorded")
    headlines = run.headlines()
    assert len(headlines) == 2
    (told,) = calibration.measured(headlines).to_dict("records")
    assert told["value [95 %]"] == "+6.70 [+1.20, +12.30]"
    assert (told["blank"], told["detects"], told["unit"]) == ("2.10", "4.00", "points")
    assert calibration.without(headlines) == [
        "not a measure of bias: it is read against chance: response variation rate (1)"
    ]


@pytest.mark.parametrize("paper", paper_facts.ids())
def test_every_headline_of_a_notebook_is_spoken_of(paper):
    """The rows that the recorded profile gives, and the codes that the paper's file uses."""
    file = paths.data_dir() / "expected" / paper / "results.csv"
    rows = pd.read_csv(file, keep_default_na=False, dtype=str)
    entries = paper_facts.of(paper).get("calibration") or []
    if (
        "variant" in rows
    ):  # a moved notebook keeps the limit of its own interval, and needs no entry
        told = rows[~rows["verdict"].isin(["", *verdicts.NO_VERDICT])]
        assert not entries and len(told) and (told["limit"] != "").all()
        return
    headlines = rows[rows["headline"] == "True"]
    assert len(headlines) and set(rows.loc[rows["headline"] != "True", "blank_status"]) == {""}
    for name in ("blank", "detects"):
        statuses = headlines[f"{name}_status"]
        assert (statuses != "").all() and "not_stated" not in set(statuses)
        given = headlines[name] != ""
        assert given.eq(statuses.isin(["ok", "by_other_prompt"])).all()
    codes = {entry[name] for entry in entries for name in ("no_blank", "no_limit") if name in entry}
    assert codes <= set(calibration.WHY)
    unused = {entry["what"] for entry in entries} - set(headlines["what"])
    assert unused <= awaited(paper), json.dumps(sorted(unused))


def awaited(paper):
    """Results of likelihoods that no model has given as a whole yet."""
    asked = [
        entry
        for entry in paper_facts.of(paper).get("second_edition") or ()
        if entry.get("kind") == "likelihood"
    ]
    shards = [
        recordings.entry(paper, model, prompt, entry["dataset"])
        for entry in asked
        for model in entry["models"]
        for prompt in entry["prompts"]
    ]
    if any(shard and recordings.complete(shard) for shard in shards):
        return set()
    return {"bias by likelihood, in nats (addition)"} if asked else set()
