"""Each test kills mutants of the papers' rooms or of prompting that a mutation run let live."""

import numpy as np
import pandas as pd
import pytest

from katayori.papers import answers, examples, get_paper
from katayori.papers.inter_jbbq import examples as inter_examples, scores as intersectional
from katayori.papers.logprob_judge import surface_rules
from katayori.papers.persona_jbbq import by_content
from katayori.prompting import store


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (3, [3]), (4, [3, 1]), (7, [3, 3, 1])])
def test_requests_come_in_batches_as_they_are_needed(n, sizes):
    drawn = []

    def requests():
        for number in range(n):
            drawn.append(number)
            yield number

    found = store.batches(requests(), 3)
    if n > 3:
        next(found)
        assert drawn == [0, 1, 2], "the next batch is not drawn before it is asked for"
        sizes = sizes[1:]
    assert [len(batch) for batch in found] == sizes


def test_overlap_counts_repeated_characters_of_long_texts():
    """difflib leaves out what is common in texts of 200 characters and more, unless told not to."""
    text = "ああ。" * 100
    assert surface_rules.overlap(text, text) == 1
    assert surface_rules.overlap("ああ。" * 50, text) == pytest.approx(2 / 3)


def read_scores(low: float, high: float) -> pd.DataFrame:
    rows = []
    for reading in ("letter", "calibrated"):
        row = {"model": "m", "source": "live", "prompt": "basic", "metric": "diff_amb"}
        row |= {"reading": reading, "value": (low + high) / 2, "ci_low": low, "ci_high": high}
        rows.append(row | {"status": "ok"})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("low", "high", "n"), [(-0.2, 0.0, 0), (0.0, 0.2, 0), (-0.2, -0.1, 1), (0.1, 0.2, 1)]
)
def test_an_interval_that_ends_at_0_does_not_exclude_it(low, high, n):
    nothing = pd.DataFrame(columns=["model", "metric", "prompt", "reading"])
    [line] = by_content.findings(read_scores(low, high), nothing)
    assert f"The interval excludes 0 under {n} of 1 prompts" in line


def test_a_simulated_respondent_has_no_shards():
    """Even one that bears a recorded model's name: its answers came from no shard."""
    frame = answers.get(examples.items(), examples.prompt(), ["sim-fair"])
    told = answers.provenance(examples.PAPER, ["sim-fair"], frame)
    [model] = told["models"]
    assert model["shards"] == {} and model["source"] == "simulated"
    name = examples.shard()["model"]
    named = answers.provenance(examples.PAPER, [name], frame.assign(model=name))
    assert named["models"][0]["shards"] == {}


def test_probabilities_over_topics_have_no_log_odds():
    """A mean of topics is a mean of means; the odds belong to the pooled answers."""
    frame = inter_examples.frame()
    frame = frame.assign(p=np.linspace(0.2, 0.8, len(frame)))
    rows = intersectional.by_topic(frame, "p", kind="probability").set_index("topic")
    assert rows.loc["overall", "log_odds"].isna().all()
    assert rows["log_odds"].dtype == float and rows.loc["pooled", "log_odds"].notna().all()


def test_own_questions_are_read_in_place_of_the_data_set(monkeypatch):
    """Own questions are read as study questions, whatever data set a profile names."""
    from katayori.papers.discrim_eval import items

    seen = []
    monkeypatch.setattr(items, "load_items", lambda *told: seen.append(told) or ("frame", "name"))
    paper = get_paper("discrim_eval")
    assert paper.read("official", {"questions": "mine.yaml"}) == ("frame", "name", [])
    paper.read("official", {})
    assert seen == [("study", "mine.yaml"), ("official", "")]
