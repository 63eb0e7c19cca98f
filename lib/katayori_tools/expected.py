"""The expected tables: what every notebook's default run computes, committed below data/expected.

`data/expected/<paper>/` holds one CSV for each file in the run's `tables/`, `results.csv` with the
rows of its results.json, and in `figures/` what each figure draws (`run.Run.figure`).
`make expect` writes them anew from the run and shows the difference; test_expected.py compares all
rows. It renews README's picture, too (`front_picture`).

Two cells are the same if their texts are the same, or if both are numbers, at least one of them no
whole number, and they differ by at most `RELATIVE` of the larger one or by at most `ABSOLUTE`. So
counts and texts are compared exactly, and a zero may be a rounding error elsewhere. Numbers are
recognised cell by cell; NaN (an empty cell) equals only NaN. Numbers are stored with ten
significant digits, far more than the comparison needs.

A row is found by its key, not by its number (`key_columns` chooses the columns of the key), so a
row or a column more does not shift the others. What only one side has is gone or new; of the rows
that both have every cell is compared; rows in another order are one difference.
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
from katayori.report.run import OF_VERDICT
from katayori_tools import front_picture, notebooks, reproduce
from katayori_tools.choices import NotebookRun

FOLDER = reproduce.EXPECTED
PROFILE = "recorded"
RELATIVE = 1e-7
ABSOLUTE = 1e-12
DIGITS = 10
SHOWN = 5  # differences that are printed of a table
RESULTS = "results"  # the table made of results.json
FIGURES = "figures"  # what is plotted, as tables
#: Columns that only rows with a verdict, or of a recording, have.
VERDICT_COLUMNS = ("variant", *OF_VERDICT)
#: `difference` is left out: it is value - published, and a difference of near numbers loses digits.
RESULT_COLUMNS = (
    "requirement",
    "what",
    "model",
    "dataset",
    "source",
    "prompt_id",
    "cell",
    "headline",
    "value",
    "unit",
    "n",
    "n_invalid",
    "clusters",
    "ci_low",
    "ci_high",
    "status",
    "published",
    "verdict",
)
WHOLE = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)


class Table(NamedTuple):
    """A table as text: the column names and the rows, each as long as the names."""

    columns: list[str]
    rows: list[list[str]]


class Difference(NamedTuple):
    """One difference, printed as one line.

    `kind` is "table", "column" or "row" with " gone" or " new", "columns in another order",
    "rows in another order", or "value", which alone has what was expected and what was got.
    """

    paper: str
    table: str
    kind: str
    row: str = ""
    column: str = ""
    expected: str = ""
    got: str = ""

    def __str__(self) -> str:
        return f"{self.paper}/{self.table}: {self.told()}"

    def told(self) -> str:
        """The difference without the name of its table."""
        where = ", ".join(part for part in (_short(self.row), self.column) if part)
        if self.kind == "value":
            expected, got = _short(self.expected) or "nothing", _short(self.got) or "nothing"
            return f"{where}: expected {expected}, got {got}"
        return f"{self.kind}: {where}" if where else self.kind


Tables = Mapping[str, Table]
Same = Callable[[str, str], bool]
Key = tuple[str | int, ...]  # cells of a row, and which of the rows with these cells it is


def _short(text: str, limit: int = 120) -> str:
    """A cell on one line; a long one is cut."""
    line = " ".join(text.split())
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
            yield Difference(paper, name, "table gone")
        elif name not in expected:
            yield Difference(paper, name, "table new")
        else:
            yield from compare_table(paper, name, expected[name], got[name], same)


def compare_table(
    paper: str, name: str, expected: Table, got: Table, same: Same
) -> Iterator[Difference]:
    """The differences of one table: columns, rows, then the cells of the rows that both have."""
    yield from _compare_columns(paper, name, expected.columns, got.columns)
    shared = shared_columns(expected.columns, got.columns)
    names = [column for column, _, _ in shared]
    cells = [[row[place] for _, place, _ in shared] for row in expected.rows]
    others = [[row[place] for _, _, place in shared] for row in got.rows]
    key = key_columns(cells, others)
    rows, other_rows = _by_key(cells, key), _by_key(others, key)
    yield from _compare_keys(paper, name, rows, other_rows)
    for one in (one for one in rows if one in other_rows):
        for column, cell, other in zip(names, rows[one], other_rows[one], strict=True):
            if not same(cell, other):
                yield Difference(paper, name, "value", _label(one), column, cell, other)


def key_columns(rows: list[list[str]], others: list[list[str]]) -> list[int]:
    """The columns of two tables of the same columns by which a row of one is found in the other.

    Text columns are the key. Where they do not tell all rows of both tables apart, whole-number
    columns join them (a question's number) if one table's numbers are among the other's: a count
    that changed is no key. Of these the columns on the right go first while as many rows stay
    apart: a verdict, a status or a reason is a value of its row, unless nothing else tells two rows
    apart. Rows that no column tells apart are taken in their order.
    """
    width = len((rows or others or [[]])[0])
    sides = [
        ({row[place] for row in rows}, {row[place] for row in others}) for place in range(width)
    ]

    def rows_apart(key: list[int]) -> list[int]:
        tables = (rows, others)
        return [len({tuple(row[place] for place in key) for row in table}) for table in tables]

    key = [place for place, (cells, other) in enumerate(sides) if _texts(cells) and _texts(other)]
    if rows_apart(key) != [len(rows), len(others)]:
        numbers = [
            place
            for place, (cells, other) in enumerate(sides)
            if all(WHOLE.fullmatch(cell) for cell in cells | other)
            and (cells <= other or other <= cells)
        ]
        key = sorted(key + numbers)
    apart = rows_apart(key)
    for place in reversed(key):
        fewer = [other for other in key if other != place]
        if rows_apart(fewer) == apart:
            key = fewer
    return key


def _texts(cells: set[str]) -> bool:
    """Whether a column is one of text: with words, and with no number but whole ones (levels)."""
    numbers = {cell for cell in cells if NUMBER.fullmatch(cell)}
    return bool(cells - numbers - {""}) and all(WHOLE.fullmatch(cell) for cell in numbers)


def _by_key(rows: list[list[str]], key: list[int]) -> dict[Key, list[str]]:
    """The rows by the cells of their key and their number among the rows with these cells."""
    found: dict[Key, list[str]] = {}
    seen: Counter[Key] = Counter()
    for row in rows:
        cells = tuple(row[place] for place in key)
        seen[cells] += 1
        found[*cells, seen[cells]] = row
    return found


def _label(key: Key) -> str:
    """A row's key as it is printed: its cells, and which of the rows with these cells it is."""
    *cells, number = key
    words = " / ".join(str(cell) for cell in cells if cell)
    if not words:
        return f"row {number}"
    return words if number == 1 else f"{words} ({number})"


def _compare_keys(
    paper: str, name: str, rows: Mapping[Key, list[str]], others: Mapping[Key, list[str]]
) -> Iterator[Difference]:
    """Rows that only one side has, and the order of those that both have."""
    for key in rows:
        if key not in others:
            yield Difference(paper, name, "row gone", _label(key))
    for key in others:
        if key not in rows:
            yield Difference(paper, name, "row new", _label(key))
    if [key for key in rows if key in others] != [key for key in others if key in rows]:
        yield Difference(paper, name, "rows in another order")


def _compare_columns(
    paper: str, name: str, expected: list[str], got: list[str]
) -> Iterator[Difference]:
    for column in expected:
        if column not in got:
            yield Difference(paper, name, "column gone", column=column)
    for column in got:
        if column not in expected:
            yield Difference(paper, name, "column new", column=column)
    order = [column for column in expected if column in got]
    if order != [column for column in got if column in expected]:
        yield Difference(paper, name, "columns in another order")


def shared_columns(expected: list[str], got: list[str]) -> list[tuple[str, int, int]]:
    """Name of every column that both have and its place in both; equal names in their order."""
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
        if other_place is not None:
            shared.append((column, place, other_place))
    return shared


def summary(differences: list[Difference]) -> Iterator[str]:
    """One line with counts for each table that differs, and below it its first differences."""
    tables: dict[str, list[Difference]] = {}
    for one in differences:
        tables.setdefault(one.table, []).append(one)
    for table, found in tables.items():
        counts = Counter(one.kind for one in found)
        yield f"  {table}: {', '.join(_counted(kind, n) for kind, n in counts.items())}"
        told = [one.told() for one in found if one.row or one.column]
        yield from (f"    {line}" for line in told[:SHOWN])
        if len(told) > SHOWN:
            yield f"    … and {len(told) - SHOWN} more"


def _counted(kind: str, number: int) -> str:
    """`3 rows gone`; what is there once in a table (its rows in another order) has no number."""
    what, _, change = kind.partition(" ")
    if change not in ("", "gone", "new") or what == "table":
        return kind
    return f"{number} {what}{'s' if number > 1 else ''} {change or 'changed'}"


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
    """The rows of results.json; of the columns of verdicts those that some row fills."""
    columns = list(RESULT_COLUMNS)
    for name in VERDICT_COLUMNS:
        if name not in columns and any(row.get(name) is not None for row in results):
            columns.append(name)
    rows = [[_text(row.get(column)) for column in columns] for row in results]
    return Table(columns, rows)


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


def expect(*, papers: str = "") -> int:
    """`make expect`: the expected tables from the run of the default profile, and what changed."""
    run = paths.outputs_dir() / PROFILE
    chosen = list(notebooks.choose(papers))
    require_default_run(chosen)
    # All are read first: what is missing or damaged is said before anything is written.
    tables = {paper: read_run(run / paper) for paper in chosen}
    for paper in chosen:
        changes = write(paper, tables[paper])
        differing = len({change.table for change in changes})
        print(f"{paper}: {differing} tables differ" if differing else f"{paper}: nothing differs")
        for line in summary(changes):
            print(line)
    if front_picture.PAPER in chosen:
        front_picture.renew(run)
    return 0
