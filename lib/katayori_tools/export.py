"""`make export`: a run in forms that other tools read, checked.

Everything is written beside its place first; a file that holds something private, or that misses
what its format requires, ends the export before anything is put there.
"""

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from katayori import paths, profiles, run_folders
from katayori.errors import KatayoriError, expect
from katayori.papers import paper_ids
from katayori.prompting.models import get_model
from katayori.report.headlines import read_results
from katayori_tools import notebooks
from katayori_tools.exports import (
    codemeta,
    crate,
    eee,
    environment,
    licences,
    private,
    study_sets,
)

#: Tells a folder of ours, which may be replaced, from one of the user's.
MARK = "export.json"


@dataclass(frozen=True)
class PaperRun:
    """One paper of a run: where it lies, its rows and its provenance."""

    paper: str
    folder: Path
    rows: list[dict[str, Any]]
    provenance: dict[str, Any]


def export(
    *,
    profile: str = "recorded",
    papers: str | None = None,
    models: str | None = None,
    folder: str | None = None,
    with_text: bool = False,
    unchecked: bool = False,
) -> int:
    """Writes a run; the exit code is 1 where a required check found something."""
    chosen = profiles.load(profile)
    runs = _runs(chosen, notebooks.names(papers), notebooks.names(models))
    if with_text:
        licences.check(chosen, {run.paper: run.provenance for run in runs})
    target = Path(folder) if folder else paths.outputs_dir() / "export" / chosen["name"]
    _check_target(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as part:
        made = Path(part) / "export"
        made.mkdir()
        write(made, runs)
        findings = [] if unchecked else _checked(made, runs, with_text)
        private.check(made)
        required = [one for one in findings if one["level"] == "required"]
        _say(runs, findings, unchecked=unchecked)
        if required:
            print(f"katayori: {len(required)} required findings; not exported", file=sys.stderr)
            return 1
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(made, target)
    print(f"exported to {target}")
    return 0


def _runs(profile: dict[str, Any], wanted: Sequence[str], models: Sequence[str]) -> list[PaperRun]:
    """The papers of a run that have results, of the models that are asked for."""
    of_models = profile["answers"] in run_folders.OF_MODELS
    folder = run_folders.only_run(profile, models, run_folders.run_label())
    runs = [_run(folder, paper) for paper in wanted or paper_ids()]
    found = [run for run in runs if run]
    if not found:
        asked = ", ".join(wanted) or "any paper"
        raise KatayoriError(
            f"the run {profile['name']} has no results of {asked}; run `make reproduce` first"
        )
    return found if of_models or not models else _of_models(found, models)


def _run(folder: Path, paper: str) -> PaperRun | None:
    here = folder / paper
    if not (here / "results.json").is_file():
        return None
    read_results(here)  # says in one line what is wrong with a damaged file
    rows = json.loads((here / "results.json").read_text(encoding="utf-8"))
    provenance = json.loads((here / "provenance.json").read_text(encoding="utf-8"))
    return PaperRun(paper, here, rows, provenance)


def _of_models(runs: list[PaperRun], models: Sequence[str]) -> list[PaperRun]:
    """The same runs with rows of these models only; KatayoriError naming theirs for another."""
    there = sorted({row["model"] for run in runs for row in run.rows if eee.can_hold(row)})
    wanted = {get_model(name)[0].id for name in models}
    for name in wanted:
        expect(name, there, "model of this run")
    return [replace(run, rows=[row for row in run.rows if row["model"] in wanted]) for run in runs]


def _check_target(target: Path) -> None:
    if target.exists() and any(target.iterdir()) and not (target / MARK).is_file():
        raise KatayoriError(
            f"{target} holds files that make export did not write; name another with --folder"
        )


def write(folder: Path, runs: Iterable[PaperRun]) -> None:
    """Writes every format into an empty folder; nothing is checked."""
    for run in runs:
        for file in eee.files(run.paper, run.rows, run.provenance):
            _write_json(folder / file.path, private.hidden(file.content))
        _write_run(folder / "runs" / run.paper, run)
    _write_json(folder / "codemeta.json", codemeta.record())
    _write_json(folder / MARK, {"format": "katayori export"})


def _write_run(here: Path, run: PaperRun) -> None:
    """The run's own files that hold ids and numbers, of the rows that are exported."""
    _write_json(here / "results.json", private.hidden(run.rows))
    _write_json(here / "provenance.json", private.hidden(run.provenance))
    answers = json.loads((run.folder / "answers.json").read_text(encoding="utf-8"))
    _write_json(here / "answers.json", private.hidden(answers))


def _write_json(path: Path, content: Any) -> None:
    _write_text(path, json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _checked(folder: Path, runs: Sequence[PaperRun], with_text: bool) -> list[dict[str, str]]:
    """Writes what the tools of the other environment write, and returns what the checks of every
    format find; each is announced in a line.
    """
    sets = [study_sets.write(folder, run.paper, run.provenance, with_text) for run in runs]
    codemeta_asks = {"schema": codemeta.SCHEMA, "recommended": codemeta.RECOMMENDED}
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("eee_schema", "Every Eval Ever 0.3, its schema", {}),
        ("croissant", "Croissant 1.1, mlcroissant", {"sets": private.hidden(sets)}),
        ("codemeta", "CodeMeta 3.0, a schema of ours", codemeta_asks),
    ]
    findings: list[dict[str, str]] = []
    for step, about, task in steps:
        findings += _called(folder, step, about, task)
    # Last, since it lists all other files.
    told = crate.told(folder, [(run.paper, run.provenance) for run in runs])
    about = "RO-Crate 1.1, Process Run Crate 0.5, roc-validator"
    environment.call("crate", folder=str(folder), crate=private.hidden(told))
    return findings + _called(folder, "crate_check", about, {})


def _called(folder: Path, step: str, about: str, task: Mapping[str, Any]) -> list[dict[str, str]]:
    answer = environment.call(step, folder=str(folder), **task)
    _announce(about, answer)
    return answer["findings"]


def _announce(about: str, answer: Mapping[str, Any]) -> None:
    levels = Counter(one["level"] for one in answer["findings"])
    told = ", ".join(f"{level} {levels[level]}" for level in ("required", "recommended"))
    print(f"checked: {about}: {answer['files']} files; findings: {told}")
    if answer.get("note"):
        print(f"  {answer['note']}")


def _say(runs: list[PaperRun], findings: list[dict[str, str]], *, unchecked: bool) -> None:
    """What was written, and what was found."""
    rows = [row for run in runs for row in run.rows]
    kept = sum(map(eee.can_hold, rows))
    print(f"{kept} of {len(rows)} rows of {len(runs)} papers as Every Eval Ever")
    if unchecked:
        print("not checked (--unchecked)")
    for one in findings:
        print(f"  {one['level']}: {one['format']}: {one['file']}: {one['what']}")
