"""The expected tables: what every notebook's default run computes, committed below data/expected.

`data/expected/<paper>/` holds one CSV for each file in the run's `tables/`, `results.csv` with the
rows of its results.json, and in `figures/` what each figure draws (`run.Run.figure`).
`make expect` writes them anew from the run and shows the difference; test_expected.py compares all
rows.

Two cells are the same if their texts are the same, or if both are numbers, at least one of them no
whole number, and they differ by at most `RELATIVE` of the value or by `ABSOLUTE`. So counts and
texts are compared exactly, and a zero may be a rounding error elsewhere. Numbers are stored with
ten significant digits, far more than the comparison needs.

A row is found by its key (`_labels`), not by its number, so a row or a column more does not shift
the others.
"""

import csv
import io
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

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


class Table(NamedTuple):
    """A table as texts: its columns, and of each row the cells by column."""

    columns: list[str]
    rows: list[dict[str, str]]


# -- comparing -------------------------------------------------------------------------------------


def same(a: str, b: str) -> bool:
    """Whether two cells are the same, as the head of this module says."""
    if a == b or not (NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
        return a == b
    is_counted = WHOLE.fullmatch(a) and WHOLE.fullmatch(b)
    x, y = float(a), float(b)
    is_near = math.isclose(x, y, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return not is_counted and (is_near or (math.isnan(x) and math.isnan(y)))


def compare(expected: Table, got: Table) -> list[str]:
    """The differences of two tables, a line each: columns, rows, cells of the rows both have."""
    shared = [name for name in expected.columns if name in got.columns]
    lines = [f"column gone: {name}" for name in expected.columns if name not in shared]
    lines += [f"column new: {name}" for name in got.columns if name not in shared]
    if shared != [name for name in got.columns if name in shared]:
        lines.append("columns in another order")
    key = [name for name in shared if name not in SAID and _is_text(name, expected, got)]
    a, b = _by_label(expected, key), _by_label(got, key)
    lines += [f"row gone: {row}" for row in a if row not in b]
    lines += [f"row new: {row}" for row in b if row not in a]
    both = [row for row in a if row in b]
    if both != [row for row in b if row in a]:
        lines.append("rows in another order")
    for row in both:
        for name in shared:
            was, now = a[row][name], b[row][name]
            if not same(was, now):
                told = f"expected {_short(was) or 'nothing'}, got {_short(now) or 'nothing'}"
                lines.append(f"{_short(row)}, {name}: {told}")
    return lines


def _is_text(name: str, *tables: Table) -> bool:
    """Whether a column holds words, and no number but whole ones (levels such as 20)."""
    cells = {row[name] for table in tables for row in table.rows} - {""}
    numbers = {cell for cell in cells if NUMBER.fullmatch(cell)}
    return cells > numbers and all(map(WHOLE.fullmatch, numbers))


def _by_label(table: Table, key: list[str]) -> dict[str, dict[str, str]]:
    """The rows by the words of their key, and which of those with these words each is."""
    found: dict[str, dict[str, str]] = {}
    seen: Counter[str] = Counter()
    for row in table.rows:
        words = " / ".join(row[name] for name in key if row[name]) or "row"
        seen[words] += 1
        found[words if seen[words] == 1 else f"{words} ({seen[words]})"] = row
    return found


def _short(text: str) -> str:
    """A cell on one line; a long one is cut."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def differences(run: Path, paper: str) -> dict[str, list[str]]:
    """The differences between a paper's expected tables and its folder in `run`, by table."""
    return _differences(read_folder(paths.data_dir() / FOLDER / paper), read_run(run / paper))


def _differences(expected: dict[str, Table], got: dict[str, Table]) -> dict[str, list[str]]:
    found = {}
    for name in sorted(expected.keys() | got.keys()):
        if name in expected and name in got:
            found[name] = compare(expected[name], got[name])
        else:
            found[name] = ["table new" if name in got else "table gone"]
    return {name: lines for name, lines in found.items() if lines}


# -- reading and writing ---------------------------------------------------------------------------


def read_csv(path: Path) -> Table:
    """A CSV file as text. KatayoriError for a file that is no table."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            columns, *rows = csv.reader(file)
    except (ValueError, csv.Error) as error:
        raise KatayoriError(f"{path} is no table: {error}") from None
    # The csv module reads an empty line, one empty cell written by pandas, as no cell at all.
    rows = [row or [""] for row in rows]
    if any(len(row) != len(columns) for row in rows) or len(set(columns)) < len(columns):
        problem = "its rows differ in length, or two columns have one name"
        raise KatayoriError(f"{path} is no table: {problem}")
    return Table(columns, [dict(zip(columns, row, strict=True)) for row in rows])


def read_folder(folder: Path) -> dict[str, Table]:
    """The tables in a folder of CSV files, by name; those of figures are named `figures/...`."""
    files = [*sorted(folder.glob("*.csv")), *sorted(folder.glob("figures/*.csv"))]
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in files]
    return dict(zip(names, map(read_csv, files), strict=True))


def read_run(folder: Path) -> dict[str, Table]:
    """The tables of a run folder, what its figures plot, and results.json as `results`.

    KatayoriError where the notebook has not run, or has a table of that name itself.
    """
    file = folder / "results.json"
    if not file.is_file():
        raise KatayoriError(f"{folder} holds no results.json: run `make reproduce`")
    tables = read_folder(folder / "tables")
    if RESULTS in tables:
        raise KatayoriError(f"{folder} has a table named {RESULTS}, which is kept for results.json")
    rows = json.loads(file.read_text(encoding="utf-8"))
    columns = [*RESULT_COLUMNS, *(n for n in OPTIONAL if any(r.get(n) is not None for r in rows))]
    cells = [{name: _text(row.get(name)) for name in columns} for row in rows]
    figures = read_folder(folder / "figures").items()
    tables |= {f"figures/{name}": table for name, table in figures}
    return tables | {RESULTS: Table(columns, cells)}


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


def to_csv(table: Table) -> str:
    """A table as the text of its file."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([rounded(row[name]) for name in table.columns] for row in table.rows)
    return file.getvalue()


def _summary(name: str, lines: list[str]) -> list[str]:
    """How many differences a table has, and the first of them."""
    if lines[0] in ("table new", "table gone"):
        return [f"{name}: {lines[0]}"]
    counted = f"{len(lines)} difference{'s' if len(lines) > 1 else ''}"
    more = [f"  … and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return [f"{name}: {counted}", *(f"  {line}" for line in lines[:SHOWN]), *more]


def require_default_run(papers: list[str]) -> None:
    """KatayoriError unless the papers' run folders are the default run of this checkout."""
    run = NotebookRun(papers=",".join(papers), profile=PROFILE)
    shared = reproduce.shared_inputs()
    for job in reproduce.planned(run):
        if reason := reproduce.stale(job, shared):
            raise KatayoriError(
                f"the default run of {job.paper} is out of date ({reason}): run `make reproduce`"
            )


def expect(*, papers: Papers = "") -> int:
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
        folder = paths.data_dir() / FOLDER / paper
        changes = _differences(read_folder(folder), got)
        print(f"{paper}: {f'{len(changes)} tables differ' if changes else 'nothing differs'}")
        for name, lines in changes.items():
            for line in _summary(name, lines):
                print(f"  {line}")
            path = folder / f"{name}.csv"
            if name in got:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(to_csv(got[name]), encoding="utf-8", newline="\n")
            else:
                path.unlink()
    return 0
