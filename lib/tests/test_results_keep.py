"""`Run.keep`: a table and its results in one call; `Run.open`: the study that they are about."""

import json

import pandas as pd
import pytest

from katayori import paths
from katayori.frames import not_asked
from katayori.prompting import recordings
from katayori.report import run as report_run
from katayori.report.run import Run


@pytest.fixture
def run(tmp_path):
    return Run("discrim_eval", tmp_path / "run", seed=1)


def load(run, name="results.json"):
    return json.loads((run.folder / name).read_text(encoding="utf-8"))


def test_a_kept_frame_is_a_table_and_a_result_a_row(run):
    study = run.open(asked=["de_answer_line"], limit=1)
    log = study.answers("de_answer_line")
    frame = log.groupby("model", sort=False)["outcome"].agg(value=lambda o: (o == "ok").mean())
    frame = frame.reset_index().assign(n=135, ci_low=0.5, ci_high=1.0, limit=0.1, line=0.5)
    frame = frame.assign(verdict="present", why="p = .01", control=0.02, factor="age")
    about = {"by": ["factor"], "prompt": "de_answer_line", "headline": True, "unit": "share"}
    kept = run.keep("alpha", frame, what="alpha", **about)
    assert list(kept)[:3] == ["model", "source", "value"] and len(kept) == 2
    run.save()
    table = pd.read_csv(run.folder / "tables" / "alpha.csv")
    assert list(table) == list(kept) and "variant" not in table
    first, second = load(run)
    assert [first["model"], second["model"]] == list(study.models)
    wanted = {"requirement": first["requirement"], "what": "alpha", "source": "recorded"}
    wanted |= {
        "variant": "seed2",
        "dataset": "katayori-discrim-study v1",
        "cell": {"factor": "age"},
    }
    wanted |= {"limit": 0.1, "line": 0.5, "verdict": "present", "why": "p = .01", "control": 0.02}
    wanted |= {"prompt_id": "de_answer_line", "headline": True, "unit": "share", "n": 135}
    assert first | wanted == first
    assert "DE-24" in first["requirement"].split("; ")


def test_a_run_notes_its_studies(run):
    study = run.open(asked=["de_answer_line"], limit=1)
    study.answers("de_answer_line")
    planted = run.open(models=["sim-fair"], limit=1)
    planted.answers("de_answer_line")
    kept = run.keep("other", pd.DataFrame({"model": ["sim-fair", study.models[0]], "value": 1.0}))
    assert kept["source"].tolist() == ["simulated", "recorded"]
    run.save()
    about = load(run, "provenance.json")
    assert about["parameters"]["limit"] == 1 and about["parameters"]["seed"] == 1
    assert about["answers"] == {"recorded": 270, "simulated": 135}
    assert about["results_schema"] == 4
    # Of a recorded model's shards those that were read, of a simulated respondent none.
    read = {one["model"]: one for one in about["read"]}
    assert [one["answers"] for one in about["read"]] == [135, 135, 135]
    recorded = read[study.models[0]]
    names = [f"{study.models[0]}/de_answer_line@seed2.jsonl.gz"]
    assert recorded["variant"] == "seed2" and list(recorded["shards"]) == names
    path = recordings.shard_path("discrim_eval", study.models[0], "de_answer_line", "seed2")
    assert recorded["shards"][names[0]] == {"count": 9450, "sha256": paths.sha256(path)}
    assert read["sim-fair"]["variant"] is None and read["sim-fair"]["shards"] == {}
    assert [one["asked"] for one in load(run, "answers.json")["prompts"]] == [135, 135]


def test_what_was_not_asked_is_an_empty_table_without_results(run):
    empty = not_asked("no probabilities were asked for", ["model", "value", "status"])
    assert run.keep("gaps", empty, what="gap", by=["model"]).attrs == empty.attrs
    run.save()
    assert load(run) == []
    assert (run.folder / "tables" / "gaps.csv").read_text() == "model,value,status\n"


def test_two_rows_of_one_cell_are_refused(run):
    frame = pd.DataFrame({"model": "m", "value": [0.5, 0.6], "factor": "age"})
    with pytest.raises(ValueError, match="share the cell"):
        run.keep("other", frame, what="alpha", source="live")
    with pytest.raises(ValueError, match="no column level"):
        run.keep("alpha", frame, what="alpha", by=["level"], source="live")


def test_what_the_values_of_a_table_are_stands_with_the_paper(run, monkeypatch):
    facts = {"what": "alpha, sampled", "by": ["factor"], "prompt": "de_answer_line"}
    monkeypatch.setattr(report_run, "_kept", lambda paper, name: {"alpha": facts}.get(name, {}))
    frame = pd.DataFrame({"model": "m", "value": [0.5, 0.6], "factor": ["age", "race"]})
    run.keep("alpha", frame, source="live")
    run.keep("other", frame)
    run.save()
    told = {(row["what"], row["cell"]["factor"], row["prompt_id"]) for row in load(run)}
    assert told == {("alpha, sampled", name, "de_answer_line") for name in ("age", "race")}


def test_a_row_names_the_prompts_and_variants_that_it_rests_on(run):
    study = run.open(asked=["de_answer_line"], models=["qwen2.5-coder-0.5b"], limit=1)
    study.answers("de_answer_line")
    study.answers("de_answer_prefix")
    study.answers("de_answer_prefix", items="plain")
    ways = ["sampled", "P(yes)", "plain", "both", "unread"]
    named = {"sampled": "de_answer_line", "P(yes)": "de_answer_prefix"}
    named |= {"plain": "de_answer_prefix@plain", "unread": "de_answer_prefix@third"}
    named |= {"both": "de_answer_line+de_answer_prefix+de_answer_prefix@third"}
    frame = pd.DataFrame({"model": study.models[0], "way": ways, "value": 0.5})
    made = pd.DataFrame({"model": ["simulated: mine"], "way": ["sampled"], "value": [0.5]})
    run.keep("x", pd.concat([frame, made]), what="w", by=["way"], prompt={"way": named})
    run.save()
    told = {(row["model"], row["cell"]["way"]): row for row in load(run)}
    found = {way: told[study.models[0], way] for way in ways}
    assert {way: (row["prompt_id"], row["variant"]) for way, row in found.items()} == {
        "sampled": ("de_answer_line", "seed2"),
        "P(yes)": ("de_answer_prefix", ""),
        "plain": ("de_answer_prefix", "plain"),
        "both": ("de_answer_line+de_answer_prefix", "seed2; "),
        "unread": ("de_answer_prefix", None),  # a set that was not read has no variant
    }
    of_cell = told["simulated: mine", "sampled"]
    assert (of_cell["prompt_id"], of_cell["variant"]) == ("de_answer_line", None)
