"""The expected tables: what every notebook's default run computes, committed below data/expected.

`data/expected/<paper>/` holds one CSV for each file in the run's `tables/`, `results.csv` with the
rows of its results.json, and in `figures/` what each figure draws (`run.Run.figure`).
`make expect` writes them anew from the run and shows the difference; test_expected.py compares all
rows.

Two cells are the same if their texts are the same, or if both are numbers, at least one of them no
whole number, and they differ by at most `RELATIVE` of the value or by `ABSOLUTE`. So counts and
texts are compared exactly, and a zero may be a rounding error elsewhere. Numbers are stored with
ten significant digits, far more than the comparison needs.

A row is found by its key (`_labelled`), not by its number, so a row or a column more does not shift
the others.
"""

import json
import math
import re
from collections import Counter
from pathlib import Path

import pandas as pd

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.headlines import OF_VERDICT
from katayori.report.run import FIELDS
from katayori_tools import notebooks, reproduce
from katayori_tools.choices import NotebookRun, Papers

FOLDER = reproduce.EXPECTED
PROFILE = "recorded"
RELATIVE, ABSOLUTE = 1e-7, 1e-12
SHOWN = 5  # differences that are printed of a table
LONGEST = 120  # characters of a cell that are printed
RESULTS = "results"  # the table made of results.json
#: Fields that only some results have; they are columns where one of these has them.
OPTIONAL = ("variant", *OF_VERDICT)
#: `difference` is value - published, and of near numbers it has few digits.
LEFT_OUT = ("paper", "difference", *OPTIONAL)
#: `published` before `verdict`, as the files have them.
RESULT_COLUMNS = [name for name in FIELDS if name not in (*LEFT_OUT, "verdict", "published")]
RESULT_COLUMNS += ["published", "verdict"]
#: Texts that are values of a row and never part of its key.
SAID = {"verdict", "status", "why"}
WHOLE = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)


# -- comparing -------------------------------------------------------------------------------------


def same(a: str, b: str) -> bool:
    """Whether two cells are the same, as the head of this module says."""
    if a == b or not (NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
        return a == b
    is_counted = WHOLE.fullmatch(a) and WHOLE.fullmatch(b)
    x, y = float(a), float(b)
    is_near = math.isclose(x, y, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return not is_counted and (is_near or (math.isnan(x) and math.isnan(y)))


def compare(expected: pd.DataFrame, got: pd.DataFrame) -> list[str]:
    """The differences of two tables of texts, a line each: columns, rows, cells of shared rows."""
    shared = [str(name) for name in expected if name in got]
    lines = _gone_and_new("column", expected.columns, got.columns)
    key = [name for name in shared if name not in SAID and _is_text(expected[name], got[name])]
    a, b = _labelled(expected, key), _labelled(got, key)
    lines += _gone_and_new("row", a.index, b.index)
    both = a.index.intersection(b.index, sort=False)
    for name in shared:
        for row, was, now in zip(both, a[name][both], b[name][both], strict=True):
            if not same(was, now):
                told = f"expected {_short(was) or 'nothing'}, got {_short(now) or 'nothing'}"
                lines.append(f"{_short(row)}, {name}: {told}")
    return lines


def _gone_and_new(what: str, a: pd.Index, b: pd.Index) -> list[str]:
    lines = [f"{what} gone: {one}" for one in a[~a.isin(b)]]
    lines += [f"{what} new: {one}" for one in b[~b.isin(a)]]
    moved = list(a[a.isin(b)]) != list(b[b.isin(a)])
    return lines + [f"{what}s in another order"] * moved


def _is_text(*columns: pd.Series) -> bool:
    """Whether a column holds words, and no number but whole ones (levels such as 20)."""
    cells = {cell for column in columns for cell in column} - {""}
    numbers = {cell for cell in cells if NUMBER.fullmatch(cell)}
    return cells > numbers and all(map(WHOLE.fullmatch, numbers))


def _labelled(table: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """The rows by the words of their key, and which of those with these words each is."""
    words = [" / ".join(filter(None, row)) or "row" for row in table[key].to_numpy()]
    seen: Counter[str] = Counter()
    label = []
    for row in words:
        seen[row] += 1
        label.append(row if seen[row] == 1 else f"{row} ({seen[row]})")
    return table.set_axis(pd.Index(label, dtype=object))


def _short(text: str) -> str:
    """A cell on one line; a long one is cut."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def differences(
    expected: dict[str, pd.DataFrame], got: dict[str, pd.DataFrame]
) -> dict[str, list[str]]:
    """The differences of two folders of tables, by table."""
    found = {}
    for name in sorted(expected.keys() | got.keys()):
        if name in expected and name in got:
            found[name] = compare(expected[name], got[name])
        else:
            found[name] = ["table new" if name in got else "table gone"]
    return {name: lines for name, lines in found.items() if lines}


# -- reading and writing ---------------------------------------------------------------------------


def read_csv(path: Path) -> pd.DataFrame:
    """A CSV file as text; an empty line is an empty cell."""
    return pd.read_csv(path, dtype=str, na_filter=False, skip_blank_lines=False)


def read_expected(paper: str) -> dict[str, pd.DataFrame]:
    """The tables that are expected of a paper, by name; those of figures are `figures/...`."""
    folder = paths.data_dir() / FOLDER / paper
    files = [*sorted(folder.glob("*.csv")), *sorted(folder.glob("figures/*.csv"))]
    return {path.relative_to(folder).with_suffix("").as_posix(): read_csv(path) for path in files}


def read_run(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of a run folder, what its figures plot, and results.json as `results`.

    KatayoriError where the notebook has not run, or has a table of that name itself.
    """
    file = folder / "results.json"
    if not file.is_file():
        raise KatayoriError(f"{folder} holds no results.json: run `make reproduce`")
    tables = {path.stem: read_csv(path) for path in sorted(folder.glob("tables/*.csv"))}
    if RESULTS in tables:
        raise KatayoriError(f"{folder} has a table named {RESULTS}, which is kept for results.json")
    plotted = sorted(folder.glob("figures/*.csv"))
    tables |= {f"figures/{path.stem}": read_csv(path) for path in plotted}
    rows = json.loads(file.read_text(encoding="utf-8"))
    columns = [*RESULT_COLUMNS, *(n for n in OPTIONAL if any(r.get(n) is not None for r in rows))]
    cells = [[_text(row.get(name)) for name in columns] for row in rows]
    return tables | {RESULTS: pd.DataFrame(cells, columns=columns, dtype=object)}


def _text(value: object) -> str:
    """A field of results.json as a cell; undefined is empty, a result's `cell` is a JSON object."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value).replace("\r\n", "\n").replace("\r", "\n")


def rounded(text: str) -> str:
    """A cell as it is stored: a number of more than ten significant digits is cut to ten."""
    if WHOLE.fullmatch(text) or not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return text
    shorter = f"{float(text):.10g}"
    if len(shorter) >= len(text):
        return text
    return f"{shorter}.0" if WHOLE.fullmatch(shorter) else shorter


def require_default_run(papers: list[str]) -> None:
    """KatayoriError unless the papers' run folders are the default run of this checkout."""
    run = NotebookRun(papers=",".join(papers), profile=PROFILE)
    shared = reproduce.shared_inputs()
    for job in reproduce.planned(run):
        if reason := reproduce.stale(job, shared):
            raise KatayoriError(
                f"the default run of {job.paper} is out of date ({reason}): run `make reproduce`"
            )


def expect(*, papers: Papers = "") -> None:
    """`make expect`: the expected tables from the run of the default profile, and what changed.

    A table without a difference keeps its file to the byte, whatever its last digits are here.

    Args:
        papers: by name or number (all).
    """
    chosen = list(notebooks.choose(papers))
    require_default_run(chosen)
    # All are read first: what is missing or damaged is said before anything is written.
    tables = {paper: read_run(paths.outputs_dir() / PROFILE / paper) for paper in chosen}
    for paper, got in tables.items():
        changes = differences(read_expected(paper), got)
        print(f"{paper}: {f'{len(changes)} tables differ' if changes else 'nothing differs'}")
        for name, lines in changes.items():
            more = f"  … and {len(lines) - SHOWN} more"
            print(f"  {name}:", *lines[:SHOWN], *[more] * (len(lines) > SHOWN), sep="\n    ")
            path = paths.data_dir() / FOLDER / paper / f"{name}.csv"
            if name in got:
                path.parent.mkdir(parents=True, exist_ok=True)
                got[name].map(rounded).to_csv(path, index=False, lineterminator="\n")
            else:
                path.unlink()
