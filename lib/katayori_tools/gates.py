"""The gates for new and touched code: ruff and mypy, compared with a list that only shrinks.

The library's format has no list: `make gates` checks all of it before. That of notebooks has one.

Code that is older than the gates stands in `lib/offenders.yaml`, by rule and place: how many
findings a file has, or for `C901` and `PLR0913` the measure of one function. What is not in the
list, or is worse than it says, fails. What is better than it says fails too, until it is taken
off the list by `make gates ARGS=--update`, which never writes a greater number.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from katayori import paths
from katayori.data.files import read_as
from katayori.data.schema import Count
from katayori.errors import KatayoriError

Findings = dict[str, dict[str, int]]  # rule -> place -> how many, or how much
#: lib/offenders.yaml; a list that is done with is empty.
Offenders: Any = dict[str, dict[str, Count]] | None
MEASURED = ("C901", "PLR0913")  # rules about one function, which has a measure
GATES = ("E501", *MEASURED)  # beside the rules that pyproject.toml asks of all code
TYPED = ("lib/katayori", "lib/katayori_tools")
MYPY_PYTHON = (3, 11)  # newer Pythons have other releases of numpy, and so other findings
HEAD = """\
# Code that is older than the gates. Made by `make gates ARGS=--update`; this list only shrinks.
# rule -> file: number of findings; C901 and PLR0913: file:function: its measure.
"""
TAKE_OFF = "take it off the list: make gates ARGS=--update"


def offenders_file() -> Path:
    return paths.root() / "lib" / "offenders.yaml"


def _output(command: list[str]) -> str:
    """What a tool prints. It ends with 1 where it finds something; more is a failure of its own."""
    done = subprocess.run(command, cwd=paths.root(), capture_output=True, text=True)
    if done.returncode > 1:
        problem = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise KatayoriError(f"{command[2]} did not run: {''.join(problem)}")
    return done.stdout


def ruff_findings() -> Findings:
    """Findings of ruff in the library, its tests and the notebooks."""
    command = [sys.executable, "-m", "ruff", "check", "--config", "lib/pyproject.toml"]
    command += ["--extend-select", ",".join(GATES), "--output-format", "json", "lib", "notebooks"]
    return count_ruff(json.loads(_output(command)))


def count_ruff(rows: list[dict]) -> Findings:
    """Ruff's rows (its json form) by rule and place."""
    findings: Findings = {}
    for row in rows:
        rule = row["code"] or "syntax"
        file = Path(row["filename"]).relative_to(paths.root()).as_posix()
        places = findings.setdefault(rule, {})
        if rule in MEASURED:
            name = _function_at(Path(row["filename"]), row["location"]["row"], row.get("cell"))
            measure = int(re.findall(r"\((\d+) > \d+\)", row["message"])[0])
            place = f"{file}:{name}"
            places[place] = max(places.get(place, 0), measure)
        else:
            places[file] = places.get(file, 0) + 1
    return findings


def format_findings() -> Findings:
    """Notebooks and solutions that `ruff format` would change, once each under the rule `format`.

    They lie outside the folder of pyproject.toml, so it is named.
    """
    command = [sys.executable, "-m", "ruff", "format", "--config", "lib/pyproject.toml"]
    return count_format(_output([*command, "--check", "--output-format", "concise", "notebooks"]))


def count_format(text: str) -> Findings:
    """The files that ruff's check of the format names, whatever the number of their cells."""
    files = re.findall(r"^(.+?):(?:cell \d+:)?\d+:\d+: unformatted", text, flags=re.MULTILINE)
    return {"format": dict.fromkeys(sorted(files), 1)} if files else {}


def _function_at(file: Path, row: int, cell: int | None) -> str:
    """The name of the function that begins on a line, counted from 1 (in a notebook: of a cell)."""
    text = file.read_text(encoding="utf-8")
    if cell is not None:
        text = "".join(json.loads(text)["cells"][cell - 1]["source"])
    line = text.splitlines()[row - 1]
    named = re.search(r"\bdef\s+(\w+)", line)
    return named[1] if named else line.strip()


def mypy_findings() -> Findings:
    """Errors of mypy in the library and the tools, by file."""
    command = [sys.executable, "-m", "mypy", "--config-file", "lib/pyproject.toml", *TYPED]
    return count_mypy(_output(command))


def count_mypy(text: str) -> Findings:
    """The errors in what mypy prints, by file."""
    files = re.findall(r"^(.+?):\d+: error: ", text, flags=re.MULTILINE)
    return {"mypy": dict(Counter(files))} if files else {}


def listed() -> Findings:
    """The committed list; empty where there is none."""
    if not offenders_file().exists():
        return {}
    return dict(read_as(Offenders, offenders_file(), "list of older code") or {})


def differences(now: Findings, before: Findings) -> tuple[list[str], list[str]]:
    """One line for each place that is worse than the list, and for each that is better."""
    worse = []
    better = []
    for rule in sorted({*now, *before}):
        new, old = now.get(rule, {}), before.get(rule, {})
        for place in sorted({*new, *old}):
            found, allowed = new.get(place, 0), old.get(place, 0)
            if found > allowed:
                worse.append(f"{rule} {place}: {found}, the list allows {allowed}")
            elif found < allowed:
                better.append(f"{rule} {place}: {found}, the list says {allowed}; {TAKE_OFF}")
    return worse, better


def _write(findings: Findings) -> None:
    text = yaml.safe_dump(findings, sort_keys=True, width=100) if findings else "{}\n"
    offenders_file().write_text(HEAD + text, encoding="utf-8")


def gates(*, update: bool = False) -> int:
    """The command: 0 where the list is met, else 1 and a line for each place that differs."""
    now = ruff_findings() | format_findings()
    before = listed()
    if sys.version_info[:2] == MYPY_PYTHON:
        now |= mypy_findings()
    else:
        kept = before.pop("mypy", {})
        if update and kept:
            now["mypy"] = kept
            before["mypy"] = kept
        version = ".".join(map(str, MYPY_PYTHON))
        print(f"gates: mypy is compared under Python {version} only", file=sys.stderr)
    worse, better = differences(now, before)
    if update and (not worse or not offenders_file().exists()):
        _write(now)
        print(f"gates: {offenders_file().name} written, {len(better)} places better than before")
        return 0
    for line in worse if update else worse + better:
        print(f"gates: {line}", file=sys.stderr)
    if update:
        print("gates: nothing written, the list only shrinks", file=sys.stderr)
    return int(bool(worse or better))
