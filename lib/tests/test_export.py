"""A run that travels: Every Eval Ever, study sets, and what never leaves."""

import csv
import json
import math
import os
from pathlib import Path

import pytest
from one_row import add_row

from katayori import __version__
from katayori.errors import KatayoriError
from katayori.report.headlines import read_results
from katayori.report.run import Run
from katayori_tools import cli, export
from katayori_tools.exports import (
    codemeta,
    eee,
    environment,
    licences,
    measures,
    private,
    study_sets,
)

PAPER = "jubaku_v2"
RECORDED = "qwen2.5-coder-1.5b"
SIMULATED = "sim-two-fair"
STUDY = "katayori-jubaku-study v4"
PROMPT = "ju_1_ja"


@pytest.fixture(autouse=True)
def outputs(monkeypatch, tmp_path) -> Path:
    """A folder of runs of this test's own."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    return tmp_path / "outputs"


def made_run(folder: Path, paper: str = PAPER, **parameters) -> Path:
    """A run folder with one row of every kind that matters to an export."""
    run = Run(paper, folder / paper, profile="recorded", models=[], **parameters)
    usual = {"source": "recorded", "model": RECORDED, "dataset": STUDY, "unit": "share"}
    counts = {"n": 288, "n_invalid": 2, "clusters": 36}
    what = "accuracy on the neutral option"
    add_row(
        run,
        "JU-1",
        what,
        0.5462962962963,
        ci=(0.474, 0.617),
        headline=True,
        limit=0.1,
        **usual,
        **counts,
    )
    add_row(
        run, "JU-2", "a signed change", -0.1 - 1e-17, ci=(-0.3, 0.1), **usual, n=10, clusters=10
    )
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


def test_what_leaves_are_the_rows_that_make_compare_reads(outputs, capsys):
    rows, _ = stored(made_run(outputs / "recorded"))
    assert cli.main(["export", "--papers", PAPER, "--unchecked"]) == 0
    assert "4 of 7 rows of 1 papers" in capsys.readouterr().out
    exported = outputs / "export" / "recorded"
    assert stored(exported / "runs" / PAPER)[0] == rows
    assert len(read_results(exported / "runs")) == 7
    models = {RECORDED: 3, SIMULATED: 1}
    for path in (exported / "data").rglob("*.json"):
        content = json.loads(path.read_text("utf-8"))
        assert len(content["evaluation_results"]) == models[content["model_info"]["name"]]


def test_a_result_says_direction_bounds_and_interval(outputs):
    made_run(outputs / "recorded")
    rows, provenance = stored(outputs / "recorded" / PAPER)
    contents = {
        file.content["model_info"]["name"]: file for file in eee.files(PAPER, rows, provenance)
    }
    by_name = {
        one["evaluation_name"]: one for one in contents[RECORDED].content["evaluation_results"]
    }
    headline = by_name["accuracy on the neutral option"]
    metric, score = headline["metric_config"], headline["score_details"]
    assert (metric["min_score"], metric["max_score"], metric["lower_is_better"]) == (0, 1, False)
    assert metric["additional_details"]["direction"] == "higher is better"
    interval = score["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (
        0.474,
        0.617,
        0.95,
    )
    assert score["uncertainty"]["num_samples"] == 288
    assert score["details"]["clusters"] == "36"
    signed = by_name["a signed change"]["metric_config"]
    assert signed["additional_details"]["direction"] == "not stated"
    assert "score_type" not in signed  # which would ask for bounds that are not known
    assert contents[RECORDED].content["model_info"]["id"] == f"Alibaba/{RECORDED}"
    assert contents[SIMULATED].content["model_info"]["id"] == f"katayori/{SIMULATED}"


def test_every_headline_of_the_expected_papers_states_its_direction():
    """What data/papers keeps as a headline; each is in data/export.yaml."""
    from katayori.data import paper_facts
    from katayori.papers import paper_ids

    listed = measures.read().measures
    for paper in paper_ids():
        facts = paper_facts.of(paper)
        kept = (facts.get("kept") or {}).values()
        headlines = {entry["what"] for entry in kept if entry.get("headline")}
        assert headlines == set(listed[paper]), paper


def test_texts_of_others_are_refused_in_one_line(outputs, capsys):
    profile = {"name": "official", "items": "official", "answers": "recorded"}
    runs = {PAPER: {"parameters": {}}, "persona_jbbq": {"parameters": {}}}
    with pytest.raises(KatayoriError, match=r"refused: jubaku_v2 .*MIT") as refused:
        licences.check(profile, runs)
    assert "\n" not in str(refused.value)
    with pytest.raises(KatayoriError, match="redistribution forbidden by its owners"):
        licences.check(profile, {"persona_jbbq": {"parameters": {}}})
    made_run(outputs / "recorded", cases="mine.yaml")
    assert cli.main(["export", "--papers", PAPER, "--with-text", "--unchecked"]) == 2
    assert "a file of yours (cases) whose licence is not known" in capsys.readouterr().err
    assert not (outputs / "export").exists()


def test_nothing_of_this_machine_leaves(outputs, tmp_path, monkeypatch):
    home = tmp_path / "home" / "hanako-tester"
    home.mkdir(parents=True)
    address = "http://hanako.internal.example:8123/v1"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "hanako-tester")
    monkeypatch.setenv("LOGNAME", "hanako-tester")
    monkeypatch.setenv("KATAYORI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
    folder = made_run(outputs / "recorded")
    rows, provenance = stored(folder)
    rows[0]["status"] = f"asked at {address} with sk-not-a-real-key-0123456789"
    rows[1]["status"] = f"read from {home}/cases.yaml, host hanako.internal.example:8123"
    provenance["prompts"][PROMPT] = f"{home}/prompts"
    provenance["models"][0]["endpoint"] = address
    own = dict(rows[0], model=f"{home}/weights/my-model", requirement="JU-8", source="live")
    (folder / "results.json").write_text(json.dumps([*rows, own]))
    (folder / "provenance.json").write_text(json.dumps(provenance))
    assert cli.main(["export", "--papers", PAPER, "--unchecked"]) == 0
    exported = texts_of(outputs / "export" / "recorded")
    for leak in ("hanako", "8123", "sk-not-a-real", str(tmp_path), "/home/"):
        assert leak not in exported, leak
    assert "my-model" in exported and private.HIDDEN in exported


def test_a_file_that_holds_something_private_ends_the_export(outputs, monkeypatch, capsys):
    made_run(outputs / "recorded")
    monkeypatch.setenv("SOME_TOKEN", "token-0123456789")

    def careless(folder, runs):
        (folder / "data.json").write_text('{"a": "token-0123456789"}')

    monkeypatch.setattr(export, "write", careless)
    assert cli.main(["export", "--papers", PAPER, "--unchecked"]) == 2
    assert "data.json holds the value of SOME_TOKEN" in capsys.readouterr().err
    assert not (outputs / "export" / "recorded").exists()


def test_the_same_run_gives_the_same_bytes(outputs, tmp_path):
    made_run(outputs / "recorded")
    for name in ("a", "b"):
        cli.main(["export", "--papers", PAPER, "--unchecked", "--folder", str(tmp_path / name)])
    assert texts_of(tmp_path / "a") == texts_of(tmp_path / "b")


def test_only_the_models_asked_for(outputs, capsys):
    made_run(outputs / "recorded")
    words = ["export", "--papers", PAPER, "--unchecked", "--models"]
    assert cli.main([*words, SIMULATED]) == 0
    exported = outputs / "export" / "recorded" / "data"
    assert [path.parent.name for path in exported.rglob("*.json")] == [SIMULATED]
    assert cli.main([*words, "gpt-4o"]) == 2
    assert SIMULATED in capsys.readouterr().err  # names those that there are


def test_bad_requests_are_told_in_one_line(outputs, tmp_path, capsys):
    assert cli.main(["export", "--papers", PAPER, "--unchecked"]) == 2
    assert "run `make reproduce` first" in capsys.readouterr().err
    made_run(outputs / "recorded")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    words = ["export", "--papers", PAPER, "--unchecked", "--folder", str(tmp_path / "mine")]
    assert cli.main(words) == 2
    assert "make export did not write" in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


def test_an_unreachable_registry_is_told_in_one_line(outputs, tmp_path, monkeypatch, capsys):
    made_run(outputs / "recorded")
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(environment.wheels, "download", lambda requirements, folder: [])
    monkeypatch.setattr(environment.sys, "executable", str(tmp_path / "no-python"))
    assert cli.main(["export", "--papers", PAPER]) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "is a package registry reachable?" in told and "--unchecked" in told
    assert not environment.is_ready()
    assert not (outputs / "export" / "recorded").exists()


@pytest.fixture(scope="session")
def checks() -> None:
    """The environment of exports; skipped where no registry can be reached."""
    try:
        environment.ensure()
    except KatayoriError as error:
        (pytest.fail if os.environ.get("KATAYORI_CI") else pytest.skip)(str(error))


@pytest.mark.slow
def test_the_schemas_find_a_planted_fault_and_nothing_else(outputs, checks):
    made_run(outputs / "recorded")
    cli.main(["export", "--papers", PAPER, "--unchecked"])
    exported = outputs / "export" / "recorded"
    assert environment.call("eee_schema", folder=str(exported)) == {"files": 2, "findings": []}
    file = next((exported / "data").rglob(f"{RECORDED}/*.json"))
    content = json.loads(file.read_text("utf-8"))
    del content["evaluation_results"][0]["score_details"]["score"]
    file.write_text(json.dumps(content))
    (found,) = environment.call("eee_schema", folder=str(exported))["findings"]
    assert found["level"] == "required" and "'score' is a required property" in found["what"]


@pytest.mark.slow
def test_a_checked_export_has_no_required_finding_in_any_format(outputs, checks, capsys):
    made_run(outputs / "recorded")
    assert cli.main(["export", "--papers", PAPER]) == 0
    printed = capsys.readouterr().out
    for format_name in (
        "Every Eval Ever 0.3, its schema: 2 files",
        "Croissant 1.1, mlcroissant: 1 files",
        "CodeMeta 3.0, a schema of ours: 1 files",
        "RO-Crate 1.1, Process Run Crate 0.5, roc-validator: 1 files",
    ):
        assert f"checked: {format_name}; findings: required 0" in printed
    assert "its JSON-LD context came from the file" in printed
    exported = outputs / "export" / "recorded"
    assert "  recommended: RO-Crate: " in printed and "  required: " not in printed
    content = json.loads((exported / "ro-crate-metadata.json").read_text("utf-8"))
    listed = {entity["@id"] for entity in content["@graph"]}
    files = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    assert files <= listed


@pytest.mark.slow_all
def test_planted_faults_are_required_findings(outputs, checks):
    made_run(outputs / "recorded")
    cli.main(["export", "--papers", PAPER])
    exported = outputs / "export" / "recorded"
    crate_file = exported / "ro-crate-metadata.json"
    content = json.loads(crate_file.read_text("utf-8"))
    action = next(one for one in content["@graph"] if one["@type"] == "CreateAction")
    del action["instrument"]
    crate_file.write_text(json.dumps(content))
    found = environment.call("crate_check", folder=str(exported))["findings"]
    (required,) = [one for one in found if one["level"] == "required"]
    assert "MUST have an instrument" in required["what"]

    (exported / "codemeta.json").write_text('{"@type": "SoftwareSourceCode"}')
    schema = {"schema": codemeta.SCHEMA, "recommended": []}
    found = environment.call("codemeta", folder=str(exported), **schema)["findings"]
    assert {one["level"] for one in found} == {"required"}

    provenance = json.loads((exported / "runs" / PAPER / "provenance.json").read_text())
    about = study_sets.write(exported, PAPER, provenance, False)
    about["fields"] = {**about["fields"], "absent": "a column that is not there"}
    (found,) = environment.call("croissant", folder=str(exported), sets=[about])["findings"]
    assert found["level"] == "required" and "items.csv" in found["what"]


def test_a_study_set_says_what_it_is_for_and_lists_its_items(tmp_path):
    run = {"date": "2026-01-02T00:00:00+00:00"}
    about = study_sets.write(tmp_path, PAPER, run, False)
    with (tmp_path / "study" / PAPER / "items.csv").open(encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    assert len(items) == 288 and {item["right_option"] for item in items} == {"A", "B"}
    assert len({item["cluster"] for item in items}) == 36
    assert about["licence"] == "MIT" and about["version"] == "4.0.0"
    assert "Not for training" in about["data_use_cases"][0]
    assert [path.name for path in (tmp_path / "study" / PAPER).iterdir()] == ["items.csv"]
    study_sets.write(tmp_path, PAPER, run, True)
    assert (tmp_path / "study" / PAPER / "cases.yaml").is_file()


def test_every_paper_has_its_words_on_responsible_use():
    from katayori.papers import paper_ids

    assert set(measures.read().study_sets) == set(paper_ids())


def test_codemeta_says_what_pyproject_says():
    record = codemeta.record()
    assert record["version"] == __version__
    assert {one["name"] for one in record["softwareRequirements"]} >= {"pandas", "scipy"}
    assert set(codemeta.SCHEMA["required"]) <= set(record)
