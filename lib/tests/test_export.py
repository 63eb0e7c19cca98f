"""A run that travels: Every Eval Ever, study sets, RO-Crate, and what never leaves."""

import doctest
import json
import math
import os
import subprocess
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml
from one_row import add_row

from katayori import paths
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.report.headlines import read_results
from katayori.report.run import Run
from katayori_tools import cli, environment, export

PAPER = "jubaku_v2"
RECORDED = "qwen2.5-coder-1.5b"
SIMULATED = "sim-two-fair"
STUDY = "katayori-jubaku-study v4"
PROMPT = "ju_1_ja"
EXPORT = ["export", "--papers", PAPER]


@pytest.fixture(autouse=True)
def outputs(monkeypatch, tmp_path) -> Path:
    """A folder of runs of this test's own."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    return tmp_path / "outputs"


def made_run(folder: Path, paper: str = PAPER, **parameters) -> Path:
    """A run folder with one row of every kind that matters to an export."""
    run = Run(paper, folder / paper, profile="recorded", models=[], **parameters)
    usual = {"source": "recorded", "model": RECORDED, "dataset": STUDY, "unit": "share"}
    counts = {"n": 288, "n_invalid": 2, "clusters": 36, "headline": True, "limit": 0.1}
    what = "accuracy on the neutral option"
    add_row(run, "JU-1", what, 0.5462962962963, ci=(0.474, 0.617), **usual, **counts)
    add_row(run, "JU-2", "a change", -0.1 - 1e-17, ci=(-0.3, 0.1), **usual, n=10, clusters=10)
    cell = {"order": "nb", "level": 3, "share": 0.1 + 0.2, "last": True}
    add_row(run, "JU-3", "a count", 7, cell=cell, prompt_id=PROMPT, status="a count", **usual)
    add_row(run, "JU-4", "undefined", math.nan, status="no_variation", **usual)
    add_row(run, "JU-5", "p value", 0.03, source="simulated", model=SIMULATED, unit="p", n=4)
    add_row(run, "JU-6", "items", 216, source="none", dataset=STUDY)
    add_row(run, "JU-7", "printed", 0.7, source="published", model="GPT-4o", published=0.7)
    run.save(
        datasets={STUDY: "0" * 64},
        prompts={PROMPT: "ab12"},
        models=[{"id": RECORDED, "source": "recorded", "endpoint": "local-vllm", "digest": "12"}],
    )
    return folder / paper


def texts_of(folder: Path) -> str:
    """All that stands in the files of a folder, and their names."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(f"{path.relative_to(folder)}\n{path.read_text('utf-8')}" for path in files)


def stored(folder: Path) -> tuple[list[dict], dict]:
    """The rows and the provenance of a run folder."""
    rows = json.loads((folder / "results.json").read_text("utf-8"))
    return rows, json.loads((folder / "provenance.json").read_text("utf-8"))


def results_of(exported: Path) -> dict[str, dict]:
    """The files of Every Eval Ever by the names of their models."""
    files = [json.loads(path.read_text("utf-8")) for path in (exported / "data").rglob("*.json")]
    return {content["model_info"]["name"]: content for content in files}


def test_the_rows_that_leave_are_those_that_make_compare_reads(outputs, capsys):
    rows, _ = stored(made_run(outputs / "recorded"))
    assert cli.main(EXPORT) == 0
    assert "4 of 7 rows" in capsys.readouterr().out
    exported = outputs / "export" / "recorded"
    assert stored(exported / "runs" / PAPER)[0] == rows
    assert len(read_results(exported / "runs")) == 7
    counts = {name: len(one["evaluation_results"]) for name, one in results_of(exported).items()}
    assert counts == {RECORDED: 3, SIMULATED: 1}


def test_each_model_of_ones_own_has_an_export_of_its_own(outputs):
    """All of a profile had one folder, so that the second replaced the first."""
    for model in ("a@custom", "b@custom"):
        made_run(outputs / "live" / model)
        assert cli.main([*EXPORT, "--profile", "live", "--models", model]) == 0
    runs = [outputs / "export" / "live" / model / "runs" for model in ("a@custom", "b@custom")]
    assert [len(read_results(run)) for run in runs] == [7, 7]


def test_a_result_says_direction_bounds_and_interval(outputs):
    made_run(outputs / "recorded")
    assert cli.main(EXPORT) == 0
    contents = results_of(outputs / "export" / "recorded")
    listed = contents[RECORDED]["evaluation_results"]
    headline, signed, count = listed
    metric, score = headline["metric_config"], headline["score_details"]
    assert headline["evaluation_name"] == "accuracy on the neutral option"
    assert (metric["min_score"], metric["max_score"], metric["lower_is_better"]) == (0, 1, False)
    assert metric["additional_details"]["direction"] == "higher is better"
    assert score["score"] == 0.5462962962963
    interval = {"lower": 0.474, "upper": 0.617, "confidence_level": 0.95}
    assert score["uncertainty"] == {"confidence_interval": interval, "num_samples": 288}
    told = {name: score["details"][name] for name in ("clusters", "n_invalid", "limit", "status")}
    assert told == {"clusters": "36", "n_invalid": "2", "limit": "0.1", "status": "ok"}
    assert signed["metric_config"]["additional_details"]["direction"] == "not stated"
    assert signed["metric_config"]["min_score"] is None
    assert count["metric_config"]["metric_parameters"]["share"] == 0.1 + 0.2
    of_p = contents[SIMULATED]["evaluation_results"][0]["metric_config"]
    assert of_p["additional_details"]["direction"].startswith("describes")
    models = {name: one["model_info"] for name, one in contents.items()}
    assert models[RECORDED]["id"] == f"Alibaba/{RECORDED}"
    assert models[SIMULATED]["id"] == f"katayori/{SIMULATED}"
    sources = {name: one["additional_details"]["answers"] for name, one in models.items()}
    assert sources == {RECORDED: "recorded", SIMULATED: "simulated"}


@pytest.mark.parametrize("paper", paper_ids())
def test_every_headline_states_its_direction_and_every_study_set_its_limits(paper):
    """What data/papers keeps as a headline is in data/export.yaml."""
    told = yaml.safe_load(paths.registry("export.yaml").read_text("utf-8"))
    kept = (paper_facts.of(paper).get("kept") or {}).values()
    headlines = {entry["what"] for entry in kept if entry.get("headline")}
    assert headlines == set(told["measures"][paper])
    for measure in told["measures"][paper].values():
        assert measure["better"] in told["directions"].keys() - {"unknown"}
        assert len(measure.keys() & {"lowest", "highest"}) in (0, 2)
    assert set(told["study_sets"]) == set(paper_ids())
    assert "Not for training" in told["study_sets"][paper]["rai:dataUseCases"]


def test_no_text_leaves(outputs):
    folder = made_run(outputs / "recorded")
    invalid = [{"model": RECORDED, "outcome": "refusal", "text": "お答えできません", "times": 1}]
    (folder / "answers.json").write_text(json.dumps({"prompts": [], "invalid": invalid}))
    cli.main(EXPORT)
    exported = texts_of(outputs / "export" / "recorded")
    assert "ju2-01b-t1-nb" in exported
    assert not any("\u3040" <= letter <= "\u9fff" for letter in exported)
    assert "\\u" not in exported  # nor written as escapes


def test_items_of_others_are_not_listed(outputs):
    made_run(outputs / "recorded", cases="mine.yaml")
    made_run(outputs / "official")
    for profile in ("recorded", "official"):
        assert cli.main([*EXPORT, "--profile", profile]) == 0
        assert not (outputs / "export" / profile / "study").exists()


def test_nothing_of_this_machine_leaves(outputs, tmp_path, monkeypatch):
    home = tmp_path / "home" / "hanako-tester"
    home.mkdir(parents=True)
    address = "http://hanako.internal.example:8123/v1"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "hanako-tester")
    monkeypatch.setenv("LOGNAME", "hanako-tester")
    monkeypatch.setenv("KATAYORI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
    monkeypatch.setenv("MY_PASSWORD", 'with "quotes" \\ 鍵')
    folder = made_run(outputs / "recorded")
    rows, provenance = stored(folder)
    rows[0]["status"] = f"asked at {address} with sk-not-a-real-key-0123456789"
    rows[1]["status"] = f"read from {home}/cases.yaml, host hanako.internal.example:8123"
    rows[2]["status"] = 'with "quotes" \\ 鍵'
    provenance["prompts"][PROMPT] = f"{home}/prompts"
    provenance["parameters"]["prompts"] = "/mnt/hanako-tester"
    provenance["models"][0]["endpoint"] = address
    own = dict(rows[0], model=f"{home}/weights/my-model", requirement="JU-8", source="live")
    (folder / "results.json").write_text(json.dumps([*rows, own]))
    (folder / "provenance.json").write_text(json.dumps(provenance))
    assert cli.main(EXPORT) == 0
    exported = texts_of(outputs / "export" / "recorded")
    for leak in ("hanako", "8123", "sk-not-a-real", str(tmp_path), "/home/", "quotes", "鍵"):
        assert leak not in exported, leak
    assert "my-model" in exported and '"***"' in exported
    patterns = [path.read_text("utf-8") for path in (outputs / "export").rglob("*.json")]
    assert all(map(json.loads, patterns)), "still JSON"


def test_a_word_that_holds_a_private_text_is_left_alone(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "secret-1")
    monkeypatch.setenv("USER", "fair")
    given = {"a": "secret-12 a fair", "b": "at secret-1/x", "c": ["/home/fair", "fair@host"]}
    hidden = {"a": "secret-12 a fair", "b": "at ***/x", "c": ["/home/***", "***@host"]}
    assert json.loads(export.hidden(json.dumps(given))) == hidden


def test_a_file_that_holds_something_private_ends_the_export(outputs, monkeypatch, capsys):
    made_run(outputs / "recorded")
    monkeypatch.setenv("SOME_TOKEN", "token-0123456789")

    def careless(folder, runs):
        folder.mkdir()
        (folder / "data.json").write_text('{"a": "token-0123456789"}')

    monkeypatch.setattr(export, "write", careless)
    assert cli.main(EXPORT) == 2
    assert "data.json holds the value of SOME_TOKEN" in capsys.readouterr().err
    assert not (outputs / "export" / "recorded").exists()


def test_the_same_run_gives_the_same_bytes(outputs):
    made_run(outputs / "recorded")
    told = []
    for _ in range(2):
        assert cli.main(EXPORT) == 0
        told.append(texts_of(outputs / "export" / "recorded"))
    assert told[0] == told[1]


def test_bad_requests_are_told_in_one_line(outputs, capsys):
    assert cli.main(EXPORT) == 2
    assert "run `make reproduce` first" in capsys.readouterr().err
    folder = made_run(outputs / "recorded")
    assert cli.main([*EXPORT, "--models", SIMULATED]) == 2
    assert "is exported whole; leave MODELS= out" in capsys.readouterr().err
    (folder / "results.json").write_text("[{}]")
    assert cli.main(EXPORT) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert "is not a results file of this version" in line


def test_the_examples_run():
    assert doctest.testmod(export) == (0, 2)


def test_codemeta_says_what_pyproject_and_the_citation_say():
    record = json.loads(paths.registry("codemeta.json").read_text("utf-8"))
    project = tomllib.loads((paths.root() / "lib" / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((paths.root() / "CITATION.cff").read_text("utf-8"))
    assert record["description"] == project["description"]
    assert record["runtimePlatform"] == f"Python {project['requires-python']}"
    assert [one["name"] for one in record["softwareRequirements"]] == project["dependencies"]
    assert record["license"].endswith("/" + citation["license"])
    assert [one["name"] for one in record["author"]] == [one["name"] for one in citation["authors"]]


# -- the checks, in the environment of exports -----------------------------------------------------


@pytest.mark.slow
def test_an_export_is_what_its_formats_require(outputs):
    try:
        python = environment.apart("export", "this test needs it") / "python"
    except KatayoriError as error:
        (pytest.fail if os.environ.get("KATAYORI_CI") else pytest.skip)(str(error))
    made_run(outputs / "recorded")
    assert cli.main(EXPORT) == 0
    exported = outputs / "export" / "recorded"
    schema = paths.registry("every_eval_ever/eval.schema.json")
    command = [python, "-I", Path(__file__).with_name("export_check.py"), exported, schema]
    done = subprocess.run(command, capture_output=True, text=True, env={"HOME": str(outputs)})
    assert done.returncode == 0, done.stderr
    # Files of Every Eval Ever, Croissant and RO-Crate.
    assert json.loads(done.stdout.splitlines()[-1]) == [[2, []], [1, []], [1, []]]
    content = json.loads((exported / "ro-crate-metadata.json").read_text("utf-8"))
    listed = {entity["@id"] for entity in content["@graph"]}
    assert {str(path.relative_to(exported)) for path in exported.rglob("*.json")} <= listed
    items = pd.read_csv(exported / "study" / PAPER / "items.csv")
    assert len(items) == 288 and set(items["right_option"]) == {"A", "B"}
    assert items["cluster"].nunique() == 36
    about = json.loads((exported / "study" / PAPER / "croissant.json").read_text("utf-8"))
    assert about["license"].endswith("/MIT") and about["version"] == "4.0.0"
