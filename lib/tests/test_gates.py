"""The gates of `lib/pyproject.toml` see what they promise, and no exception is left standing."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from katayori import paths

SETTINGS = paths.root() / "lib" / "pyproject.toml"
ANYWHERE = (
    "lib/katayori/new.py",
    "lib/katayori_tools/new.py",
    "lib/tests/test_new.py",
    "lib/benchmarks/new.py",
    "data/simulated/new.py",
    "notebooks/09_new.ipynb",
    "notebooks/solutions/09_new.py",
)


def ruff(*words: str, text: str = "") -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "ruff", words[0], "--config", str(SETTINGS), *words[1:]]
    return subprocess.run(command, cwd=paths.root(), input=text, capture_output=True, text=True)


def as_file(name: str, source: str) -> str:
    """The text of a file of that name: of a notebook with one cell, or the source itself."""
    if not name.endswith(".ipynb"):
        return source
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}}
    cells = [cell | {"outputs": [], "source": source.rstrip("\n")}]
    about = {"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": cells} | about)


def breaks(name: str, source: str) -> set[str]:
    """The rules that a source breaks as a file of that name."""
    words = ("--output-format", "json", "--stdin-filename", name, "-")
    done = ruff("check", *words, text=as_file(name, source))
    return {row["code"] for row in json.loads(done.stdout)}


def tangled(complexity: int) -> str:
    branches = "".join(f"    if x == {n}:\n        return {n}\n" for n in range(complexity - 1))
    return f"def tangled(x):\n{branches}    return x\n"


def many(arguments: int) -> str:
    return f"def many({', '.join(f'a{n}' for n in range(arguments))}): ...\n"


def long(columns: int) -> str:
    return f'X = "{"x" * (columns - 6)}"\n'


@pytest.mark.parametrize("name", ANYWHERE)
@pytest.mark.parametrize(
    ("rule", "made", "most"), [("C901", tangled, 10), ("PLR0913", many, 7), ("E501", long, 100)]
)
def test_one_more_than_allowed_is_seen_in_any_new_file(name, rule, made, most):
    assert rule not in breaks(name, made(most))
    assert rule in breaks(name, made(most + 1))


def excepted() -> dict[str, list[str]]:
    """Pattern of files -> the rules that they may break; braces written out."""
    lint = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    written = {}
    for pattern, rules in lint["per-file-ignores"].items():
        before, _, rest = pattern.partition("{")
        inside, _, after = rest.partition("}")
        for name in inside.split(","):
            written[before + name + after] = rules
    return written


def test_whoever_is_excepted_needs_it():
    """A mended file leaves the list; nobody is excepted from complexity."""
    unexcepted = ("--config", "lint.per-file-ignores = {}", "--output-format", "json")
    rows = json.loads(ruff("check", *unexcepted, "lib").stdout)
    broken = {(row["code"], Path(row["filename"])) for row in rows}
    assert {code for code, _ in broken} == {
        *("E501", "F811", "PLR0913", "S102", "S307", "S506"),
    }
    for pattern, rules in excepted().items():
        files = list((paths.root() / "lib").glob(pattern))
        for rule in rules:
            assert any((rule, file) in broken for file in files), f"{pattern} breaks no {rule}"
