"""results.json, tables, figures and provenance of a run folder (X-5, X-6, X-9)."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from one_row import add_row

from katayori import provenance
from katayori.errors import KatayoriError
from katayori.report.headlines import ADDED, DROPPED, read_results
from katayori.report.run import FIELDS, Run


@pytest.fixture
def run(tmp_path):
    return Run("discrim_eval", tmp_path / "run", profile="smoke")


def load(run, name="results.json"):
    return json.loads((run.folder / name).read_text(encoding="utf-8"))


def test_clusters_are_counted_and_older_files_are_read(run):
    frame = pd.DataFrame({"model": ["m"], "value": [0.5], "clusters": [12.0]})
    run.keep("x", frame, what="accuracy", requirement="DE-24", source="live")
    add_row(run, "DE-24", "other", 0.5, source="live")
    run.save()
    assert [row["clusters"] for row in load(run)] == [12, None]
    assert load(run, "provenance.json")["results_schema"] == 4
    added = ADDED
    old = [{k: v for k, v in row.items() if k not in added} for row in load(run)]
    old = [row | dict.fromkeys(DROPPED) for row in old]
    (run.folder / "results.json").write_text(json.dumps(old), encoding="utf-8")
    frame = read_results(run.folder)
    assert tuple(frame.columns) == FIELDS and frame["clusters"].isna().all()
    with pytest.raises(ValueError, match="count"):
        add_row(run, "DE-24", "accuracy", 0.5, source="live", clusters=-1)


def test_what_came_back_is_kept(run):
    answers = {"model": ["m", "m"], "source": ["live", "live"], "prompt_id": ["p", "p"]}
    answers |= {"outcome": ["ok", "refusal"], "text": ["1", "\ud800 no"], "note": ["", ""]}
    run.answers(pd.DataFrame(answers))
    run.save()
    kept = load(run, "answers.json")
    assert kept["prompts"][0]["outcomes"] == {"ok": 1, "refusal": 1}
    assert kept["invalid"] == [
        {"model": "m", "outcome": "refusal", "text": "\ud800 no", "times": 1}
    ]


def test_rows_are_complete_sorted_and_plain_json(run):
    own = {"source": "recorded", "model": "b", "n": np.int64(9), "unit": "α"}
    add_row(run, "DE-24", "alpha", np.float64(0.5), ci=(np.nan, 0.7), **own)
    own = {"source": "simulated", "model": "a", "cell": {"factor": "人種", "age": np.int8(20)}}
    add_row(run, "DE-24", "alpha", np.float32(0.25), **own)
    add_row(run, "DE-23", "ratio", True, source="live", published=0.5, n=3.0)
    counts = run.save(answers_by_source={"recorded": 9})
    rows = load(run)
    assert [list(r) for r in rows] == [list(FIELDS)] * 3
    told = [(r["requirement"], r["model"]) for r in rows]
    assert told == [("DE-23", None), ("DE-24", "a"), ("DE-24", "b")]
    assert rows[0] | {"value": 1, "n": 3, "difference": 0.5} == rows[0]
    assert rows[1]["cell"] == {"factor": "人種", "age": 20} and rows[1]["value"] == 0.25
    assert rows[2] | {"ci_low": None, "ci_high": 0.7, "n": 9, "unit": "α"} == rows[2]
    assert counts.to_numpy().tolist() == [["DE-23", 1, 0], ["DE-24", 2, 0]]
    frame = read_results(run.folder)
    assert tuple(frame.columns) == FIELDS and len(frame) == 3
    assert "人種" in (run.folder / "results.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "undefined", [None, float("nan"), float("inf"), -np.inf, np.float64("nan"), pd.NA]
)
def test_undefined_values_need_a_status(run, undefined):
    with pytest.raises(ValueError, match="needs a status"):
        add_row(run, "DE-24", "alpha", undefined, source="recorded")
    add_row(run, "DE-24", "alpha", undefined, source="recorded", status="no variation")
    run.save()
    assert load(run)[0]["value"] is None
    assert (
        "NaN" not in (run.folder / "results.json").read_text()
        and load(run)[0]["status"] == "no variation"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "real"},
        {"source": None},
        {"value": "0.5"},
        {"n": 1.5},
        {"n": -1},
        {"n": "9"},
        {"status": None},
    ],
)
def test_wrong_rows_are_refused(run, wrong):
    arguments = {"value": 0.5, "source": "recorded"} | wrong
    with pytest.raises(ValueError):
        add_row(run, "DE-24", "alpha", **arguments)
    run.save()
    assert load(run) == []


HOSTILE = ["=CMD()", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝CMD()", "＠x"]
FINE = ["<b>a</b>", "人種", "a=b", "", 'say "no", then\nleave', "\x1b[31mred\x1b[0m"]


def test_csv_text_cannot_run_and_numbers_stay(run):
    frame = pd.DataFrame(
        {"=text": HOSTILE + FINE, "number": np.linspace(-1, 1, 15), "count": range(-7, 8)}
    )
    frame["kind"] = pd.Categorical(frame["=text"])
    assert run.table("hostile", frame) is frame
    data = (run.folder / "tables/hostile.csv").read_bytes()
    back = pd.read_csv(run.folder / "tables/hostile.csv", keep_default_na=False)
    assert b"\r\n" not in data and list(back.columns) == ["'=text", "number", "count", "kind"]
    assert np.array_equal(back["number"], frame["number"]) and list(back["count"]) == list(
        frame["count"]
    )
    cells = data.decode("utf-8").split("\n", 1)[1]
    for text in HOSTILE:
        assert "'" + text.replace("\r", "\n") in cells
    for text in FINE:
        assert f"'{text}" not in cells or not text
    assert "人種" in cells


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "a b", "table_2_Org/M:7b@vllm"])
def test_names_cannot_leave_the_folder(run, name):
    """A name that is no file's, such as a model's, is changed and marked with six digits."""
    run.table(name, pd.DataFrame({"x": [1]}))
    (made,) = (run.folder / "tables").iterdir()
    assert re.fullmatch(r"\w[\w@-]*-[0-9a-f]{6}\.csv", made.name)
    assert [path.name for path in run.folder.iterdir()] == ["tables"]


def test_skip_says_why_and_stops_with_success(run, capsys):
    with pytest.raises(SystemExit) as stop:
        run.skip("no answers for 人種")
    assert stop.value.code == 0 and capsys.readouterr().out == "skipped: no answers for 人種\n"
    assert load(run, "skipped.json") == {"paper": "discrim_eval", "reason": "no answers for 人種"}
    run.save()
    assert not (run.folder / "skipped.json").exists()


def test_no_results_are_an_empty_frame_and_wrong_ones_give_one_clear_line(tmp_path):
    assert read_results(tmp_path).empty and tuple(read_results(tmp_path).columns) == FIELDS
    for content in ("not json", "5", '[{"paper": 1}]'):
        (tmp_path / "results.json").write_text(content)
        with pytest.raises(KatayoriError, match="make reproduce"):
            read_results(tmp_path)


def test_provenance_names_versions_and_no_place(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))  # no git checkout
    record = provenance.collect(
        parameters={
            "own": str(tmp_path / "questions.yaml"),
            "n": np.int64(3),
        },
        datasets={"discrim_eval": "ab" * 32},
        models=[{"id": "m", "digest": "d"}],
        prompts={"p1": "h"},
        answers_by_source={"recorded": 9, "simulated": 1},
    )
    assert record["parameters"] == {"own": "questions.yaml", "n": 3}
    assert record["git"] == {"commit": None, "dirty": None}
    assert (
        record["packages"]["krippendorff"]
        and record["packages"]["katayori"]
        and record["date"].endswith("+00:00")
    )
    assert len(set(provenance.PACKAGES)) == 14 and None not in record["packages"].values()
    assert str(tmp_path) not in json.dumps(record)


def test_provenance_reads_the_commit(tmp_path, monkeypatch):
    import subprocess

    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    clean = provenance.collect()["git"]
    assert len(clean["commit"]) == 40 and clean["dirty"] is False
    (tmp_path / "new").write_text("")
    assert provenance.collect()["git"] == {"commit": clean["commit"], "dirty": True}
    (tmp_path / "inner").mkdir()
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path / "inner"))
    assert provenance.collect()["git"]["commit"] is None


def test_a_secret_of_the_environment_reaches_no_file(run, monkeypatch):
    canary = "sk-canary-0123456789"
    monkeypatch.setenv("SOME_API_KEY", canary)
    run.parameters["endpoint"] = f"https://user:{canary}@host/v1"
    add_row(run, "DE-24", "alpha", 0.5, source="recorded")
    run.table("t", pd.DataFrame({"x": [1]}))
    told = {"model": ["m"], "source": "live", "prompt_id": "p", "outcome": "refusal"}
    run.answers(pd.DataFrame(told | {"text": f"your key is {canary}", "note": ""}))
    run.save(models=[{"id": "m", "note": canary}], prompts={canary: "h"})
    files = [p for p in run.folder.rglob("*") if p.is_file()]
    assert len(files) == 4 and not any(canary in p.read_text() for p in files)
    for name in ("provenance.json", "answers.json"):
        assert "***" in (run.folder / name).read_text()
