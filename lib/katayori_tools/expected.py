"""The expected tables: what every notebook's default run computes, committed below data/expected.

`data/expected/<paper>/` holds one CSV for each file in the run's `tables/`, `results.csv` with the
rows of its results.json, and in `figures/` what each figure plots (`katayori.report.plotted`).
`make expect` writes them anew from the run and shows the difference; test_expected.py compares all
rows.

Two cells are the same if their texts are the same, or if both are numbers, at least one of them no
whole number, and they differ by at most `RELATIVE` of the larger one or by at most `ABSOLUTE`. So
counts and texts are compared exactly, and a zero may be a rounding error elsewhere. Numbers are
recognised cell by cell; NaN (an empty cell) equals only NaN. Numbers are stored with ten
significant digits, far more than the comparison needs.
"""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import notebooks, reproduce
from katayori_tools.choices import NotebookRun

FOLDER = reproduce.EXPECTED
PROFILE = "recorded"
RELATIVE = 1e-7
ABSOLUTE = 1e-12
DIGITS = 10
SHOWN = 20  # lines of differences that `make expect` prints
RESULTS = "results"  # the table made of results.json
FIGURES = "figures"  # what is plotted, as tables
#: A result is found by these fields; the others of its row are compared.
RESULT_KEY = ("requirement", "what", "model", "dataset", "source", "prompt_id", "cell")
#: `difference` is left out: it is value - published, and a difference of near numbers loses digits.
RESULT_VALUES = (
    "headline",
    "value",
    "unit",
    "n",
    "n_invalid",
    "clusters",
    "ci_low",
    "ci_high",
    "blank",
    "blank_status",
    "detects",
    "detects_status",
    "status",
    "published",
    "verdict",
)
#: Columns that may differ from machine to machine: (paper, table, column), and why.
LEFT_OUT: dict[tuple[str, str, str], str] = {}
WHOLE = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)


class Table(NamedTuple):
    """A table as text: the column names and the rows, each as long as the names."""

    columns: list[str]
    rows: list[list[str]]


class Difference(NamedTuple):
    """One difference, printed as one line; `row` counts from 1, or is a result's key."""

    paper: str
    table: str
    row: str
    column: str
    expected: str
    got: str

    def __str__(self) -> str:
        place = f"{self.paper}/{self.table}"
        if self.row:
            place += f", row {self.row}"
        if self.column:
            place += f", column {self.column}"
        return f"{place}: expected {_short(self.expected)}, got {_short(self.got)}"


Tables = Mapping[str, Table]
Same = Callable[[str, str], bool]


def _short(text: str, limit: int = 120) -> str:
    """A cell on one line; a long one is cut."""
    line = " ".join(text.split()) or "nothing"
    return line if len(line) <= limit else f"{line[:limit]}…"


# -- comparing -------------------------------------------------------------------------------------


def same_within(relative: float, absolute: float) -> Same:
    """A function that tells whether two cells are the same, as the head of this module says."""

    def same(a: str, b: str) -> bool:
        if a == b:
            return True
        if WHOLE.fullmatch(a) and WHOLE.fullmatch(b):
            return False
        if not (NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
            return False
        x, y = float(a), float(b)
        if math.isnan(x) or math.isnan(y):
            return math.isnan(x) and math.isnan(y)
        return math.isclose(x, y, rel_tol=relative, abs_tol=absolute)

    return same


#: How a run is compared with the expected tables.
same_as_expected = same_within(RELATIVE, ABSOLUTE)


def compare_tables(
    paper: str, expected: Tables, got: Tables, same: Same = same_as_expected
) -> Iterator[Difference]:
    """Every difference between two runs' tables of one paper: tables, columns, rows, then cells."""
    for name in sorted(expected.keys() | got.keys()):
        if name not in got:
            yield Difference(paper, name, "", "", "a table", "no such table")
        elif name not in expected:
            yield Difference(paper, name, "", "", "no such table", "a table")
        elif name == RESULTS:
            yield from _compare_results(paper, expected[name], got[name], same)
        else:
            yield from compare_table(paper, name, expected[name], got[name], same)


def compare_table(
    paper: str, name: str, expected: Table, got: Table, same: Same
) -> Iterator[Difference]:
    """The differences of one table: names and order of columns, number of rows, then cell by cell.

    Columns that only one side has are named once; where the numbers of rows differ, the rows are
    not compared.
    """
    yield from _compare_columns(paper, name, expected.columns, got.columns)
    if len(expected.rows) != len(got.rows):
        sizes = (f"{len(expected.rows)} rows", f"{len(got.rows)} rows")
        yield Difference(paper, name, "", "", *sizes)
        return
    shared = shared_columns(paper, name, expected.columns, got.columns)
    for number, (row, other) in enumerate(zip(expected.rows, got.rows, strict=True), start=1):
        for column, place, other_place in shared:
            if not same(row[place], other[other_place]):
                cells = (row[place], other[other_place])
                yield Difference(paper, name, str(number), column, *cells)


def _compare_columns(
    paper: str, name: str, expected: list[str], got: list[str]
) -> Iterator[Difference]:
    for column in expected:
        if column not in got:
            yield Difference(paper, name, "", column, "a column", "no such column")
    for column in got:
        if column not in expected:
            yield Difference(paper, name, "", column, "no such column", "a column")
    order = [column for column in expected if column in got]
    other_order = [column for column in got if column in expected]
    if order != other_order:
        orders = ("columns " + ", ".join(order), "columns " + ", ".join(other_order))
        yield Difference(paper, name, "", "", *orders)


def shared_columns(
    paper: str, name: str, expected: list[str], got: list[str]
) -> list[tuple[str, int, int]]:
    """Name of every column that is compared and its place in both; equal names in their order."""
    places: dict[tuple[str, int], int] = {}
    seen: Counter[str] = Counter()
    for place, column in enumerate(got):
        places[column, seen[column]] = place
        seen[column] += 1
    shared = []
    seen = Counter()
    for place, column in enumerate(expected):
        other_place = places.get((column, seen[column]))
        seen[column] += 1
        if other_place is not None and (paper, name, column) not in LEFT_OUT:
            shared.append((column, place, other_place))
    return shared


def _compare_results(paper: str, expected: Table, got: Table, same: Same) -> Iterator[Difference]:
    """Results are found by their key, so that a new one does not shift the others."""
    yield from _compare_columns(paper, RESULTS, expected.columns, got.columns)
    rows, other_rows = _by_key(expected), _by_key(got)
    for key in sorted(rows.keys() | other_rows.keys()):
        label = " / ".join(part for part in key if part)
        if key not in other_rows:
            yield Difference(paper, RESULTS, label, "", "a result", "no such result")
        elif key not in rows:
            yield Difference(paper, RESULTS, label, "", "no such result", "a result")
        else:
            row, other = rows[key], other_rows[key]
            for column in RESULT_VALUES:
                if not same(row[column], other[column]):
                    yield Difference(paper, RESULTS, label, column, row[column], other[column])


def _by_key(table: Table) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows of a results table by key; a key that occurs again gets its number."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for cells in table.rows:
        row = dict.fromkeys((*RESULT_KEY, *RESULT_VALUES), "")
        row.update(zip(table.columns, cells, strict=True))
        key = tuple(row[column] for column in RESULT_KEY)
        seen[key] += 1
        again = (f"({seen[key]})",) if seen[key] > 1 else ()
        rows[key + again] = row
    return rows


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
    if any(len(row) != len(columns) for row in rows):
        raise KatayoriError(f"{path} is no table: its rows differ in length")
    return Table(columns, rows)


def read_folder(folder: Path) -> dict[str, Table]:
    """The tables in a folder of CSV files, by name; those of figures are named `figures/...`."""
    tables = {path.stem: read_csv(path) for path in sorted(folder.glob("*.csv"))}
    return tables | _read_figures(folder)


def _read_figures(folder: Path) -> dict[str, Table]:
    files = sorted((folder / FIGURES).glob("*.csv"))
    return {f"{FIGURES}/{path.stem}": read_csv(path) for path in files}


def read_run(folder: Path) -> dict[str, Table]:
    """The tables of a run folder with what its figures plot."""
    return read_tables(folder) | _read_figures(folder)


def read_tables(folder: Path) -> dict[str, Table]:
    """The tables of a run folder, results.json among them as `results`.

    KatayoriError where the notebook has not run, or has a table of that name itself.
    """
    file = folder / "results.json"
    if not file.is_file():
        raise KatayoriError(f"{folder} holds no results.json: run `make reproduce`")
    tables = read_folder(folder / "tables")
    if RESULTS in tables:
        raise KatayoriError(f"{folder} has a table named {RESULTS}, which is kept for results.json")
    tables[RESULTS] = _results_table(json.loads(file.read_text(encoding="utf-8")))
    return tables


def _results_table(results: list[dict]) -> Table:
    columns = [*RESULT_KEY, *RESULT_VALUES]
    return Table(columns, [[_text(row.get(column)) for column in columns] for row in results])


def _text(value: object) -> str:
    """A field of results.json as a cell; undefined is empty, a result's `cell` is a JSON object."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if value is None:
        return ""
    # The line ends as the csv module gives them back.
    return str(value).replace("\r\n", "\n").replace("\r", "\n")


def rounded(text: str) -> str:
    """A cell as it is stored: a number of more than ten significant digits is cut to ten."""
    if WHOLE.fullmatch(text) or not NUMBER.fullmatch(text):
        return text
    number = float(text)
    shorter = f"{number:.{DIGITS}g}"
    if not math.isfinite(number) or len(shorter) >= len(text):
        return text
    return f"{shorter}.0" if WHOLE.fullmatch(shorter) else shorter


def to_csv(table: Table) -> str:
    """A table as the text of its file."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([rounded(cell) for cell in row] for row in table.rows)
    return file.getvalue()


def folder_of(paper: str) -> Path:
    """Where a paper's expected tables lie."""
    return paths.data_dir() / FOLDER / paper


def require_default_run(papers: list[str]) -> None:
    """KatayoriError unless the papers' run folders are the default run of this checkout."""
    run = NotebookRun(papers=",".join(papers), profile=PROFILE)
    shared = reproduce.shared_inputs()
    for job in reproduce.planned(run):
        reason = reproduce.stale(job.final, shared | reproduce._inputs(job))
        if reason:
            raise KatayoriError(
                f"the default run of {job.paper} is out of date ({reason}): run `make reproduce`"
            )


def differences(run: Path, paper: str) -> Iterator[Difference]:
    """The differences between a paper's expected tables and its folder in `run`."""
    return compare_tables(paper, read_folder(folder_of(paper)), read_run(run / paper))


def write(paper: str, got: Tables) -> list[Difference]:
    """Writes what differs anew, removes what the run no longer has, and returns the differences.

    A table without a difference keeps its file to the byte, whatever its last digits are here.
    """
    folder = folder_of(paper)
    changes = list(compare_tables(paper, read_folder(folder), got))
    for name in sorted({change.table for change in changes}):
        path = folder / f"{name}.csv"
        if name in got:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(to_csv(got[name]), encoding="utf-8", newline="\n")
        else:
            path.unlink()
    return changes


def _summary(paper: str, changes: list[Difference]) -> str:
    """One line: how many tables are new or gone, how many cells changed in how many tables."""
    whole = [change for change in changes if not change.row and not change.column]
    new = sum(change.got == "a table" for change in whole)
    gone = sum(change.got == "no such table" for change in whole)
    cells = [change for change in changes if change.row and change.column]
    shape = len(changes) - new - gone - len(cells)
    tables = len({change.table for change in cells})
    parts = [
        f"{new} tables added",
        f"{gone} removed",
        f"{shape} changes of rows or columns",
        f"{len(cells)} cells changed in {tables} tables",
    ]
    return f"{paper:<16} {', '.join(parts)}"


def expect(*, papers: str = "") -> int:
    """`make expect`: the expected tables from the run of the default profile, and what changed."""
    run = paths.outputs_dir() / PROFILE
    chosen = list(notebooks.choose(papers))
    require_default_run(chosen)
    # All are read first: what is missing or damaged is said before anything is written.
    tables = {paper: read_run(run / paper) for paper in chosen}
    for paper in chosen:
        changes = write(paper, tables[paper])
        print(_summary(paper, changes))
        for change in changes[:SHOWN]:
            print(f"  {change}")
        if len(changes) > SHOWN:
            print(f"  … and {len(changes) - SHOWN} more (git diff data/{FOLDER}/{paper})")
    return 0
