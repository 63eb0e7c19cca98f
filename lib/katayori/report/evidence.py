"""The table of evidence: does each numbered requirement hold, and where can that be seen?

`data/traceability.csv` has one row a requirement of the five papers and of what they share. Its
verdicts are read by people against the requirement's text; `problems` makes sure that what a row
points at is there.
"""

import ast
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from katayori import paths
from katayori.papers import all_papers, of_prefix

if TYPE_CHECKING:
    import pandas as pd

#: `holds`: all of the requirement. `partly`: the reason column says what is missing. `text only`:
#: written in a notebook or page, computed by nothing. `not possible here`: the reason says why.
VERDICTS = ("holds", "partly", "text only", "not possible here")
#: How many requirements all papers share, under the prefix X.
SHARED = {"X": 10}
COLUMNS = ["requirement", "verdict", "seen", "tests", "why"]
BETWEEN = "; "


def requirements() -> dict[str, int]:
    """How many requirements each paper has, by prefix (`DE`), and what all share."""
    return {paper.prefix: paper.n_requirements for paper in all_papers()} | SHARED


def evidence() -> "pd.DataFrame":
    """The table: one row a requirement, in order.

    Returns:
        requirement; verdict (one of `VERDICTS`); seen (places, see `problems`); tests (those that
        fail without it, as `test_file.py::test_name`); why (the reason, where it does not hold).
    """
    import pandas as pd

    file = paths.data_dir() / "traceability.csv"
    return pd.read_csv(file, keep_default_na=False, dtype=str)


def counts(table: "pd.DataFrame") -> "pd.DataFrame":
    """Number of requirements by paper and verdict, with a last row for all of them."""
    import pandas as pd

    paper = table["requirement"].str.split("-").str[0]
    counted = pd.crosstab(paper, table["verdict"]).reindex(
        index=list(requirements()), columns=list(VERDICTS), fill_value=0
    )
    counted.loc["all"] = counted.sum()
    counted["requirements"] = counted.sum(axis=1)
    counted.columns.name = None
    return counted.rename_axis("paper").reset_index()


def problems(table: "pd.DataFrame") -> list[str]:
    """What is wrong with the table, one line each; empty where every reference is there.

    Places in `seen`: `result` (rows of results.json under this id), `result:PAPER` (of a shared
    requirement), `table:PAPER/NAME`, `figure:PAPER/NAME`, `text:NOTEBOOK`, `file:PATH`. What holds
    has a test or a result, table or figure; all else says why it does not hold.
    """
    wanted = [f"{paper}-{n}" for paper, most in requirements().items() for n in range(1, most + 1)]
    lines = []
    if table["requirement"].tolist() != wanted:
        lines.append(f"the requirements must be {wanted[0]} to {wanted[-1]}, each once, in order")
    tests = _tests()
    for values in table[COLUMNS].itertuples(index=False):
        row = dict(zip(COLUMNS, map(str, values), strict=True))
        lines += [f"{row['requirement']}: {line}" for line in _of_row(row, tests)]
    return lines


def _of_row(row: dict[str, str], tests: frozenset[str]) -> list[str]:
    lines = []
    if row["verdict"] not in VERDICTS:
        lines.append(f"verdict {row['verdict']!r} is not one of {', '.join(VERDICTS)}")
    seen = _parts(row["seen"])
    named = _parts(row["tests"])
    lines += [f"no {place}" for place in seen if not _is_there(place, row["requirement"])]
    lines += [f"no test {test}" for test in named if test not in tests]
    computed = named or [one for one in seen if not one.startswith(("text:", "file:"))]
    if row["verdict"] == "holds" and not computed:
        lines.append("holds, but no test, result, table or figure shows it")
    if row["verdict"] in VERDICTS[1:] and len(row["why"]) < 15:
        lines.append(f"{row['verdict']}, but no reason")
    return lines


def _parts(text: str) -> list[str]:
    return [part for part in text.split(BETWEEN) if part]


def _is_there(place: str, requirement: str) -> bool:
    """Whether a place of `seen` exists, by the committed tables, notebooks and files."""
    kind, _, name = place.partition(":")
    expected = paths.data_dir() / "expected"
    if kind == "result":
        owner = of_prefix(requirement.split("-")[0])
        paper = name or (owner.id if owner else "")
        return requirement in _ids(expected / paper / "results.csv")
    if kind == "table":
        return (expected / f"{name}.csv").is_file()
    if kind == "figure":
        paper, _, figure = name.partition("/")
        return f'figure("{figure}"' in _source(paper) or f"figure('{figure}'" in _source(paper)
    if kind == "text":
        return (paths.root() / "notebooks" / f"{name}.ipynb").is_file()
    return kind == "file" and (paths.root() / name).is_file()


@cache
def _ids(file: Path) -> frozenset[str]:
    """The requirements that have rows in a committed table of results."""
    import pandas as pd

    if not file.is_file():
        return frozenset()
    return frozenset(pd.read_csv(file, usecols=["requirement"])["requirement"])


@cache
def _source(paper: str) -> str:
    """All code of a paper's notebook."""
    notebooks = (paths.root() / "notebooks").glob(f"[0-9][0-9]_{paper}.ipynb")
    cells = [cell for one in notebooks for cell in json.loads(one.read_text("utf-8"))["cells"]]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


@cache
def _tests() -> frozenset[str]:
    """`test_file.py::test_name` of every test function, by reading the files once."""
    names = set()
    for file in (paths.root() / "lib" / "tests").glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(f"{file.name}::{node.name}")
    return frozenset(names)
