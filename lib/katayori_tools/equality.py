"""`make equal A= B= DATA=`: whether two commits compute the same results and tables on one data.

Both commits are checked out into temporary worktrees, given the `data` folder of one commit, and
run with their own `make reproduce`. Then every table and every row of results.json is compared,
after the map of renamed names in lib/equality.yaml. Two numbers are the same if they differ by at
most 1e-12, taken relatively or absolutely, whichever is the wider; whole numbers and texts are
compared exactly.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.data.files import read_as
from katayori.data.schema import Schema, Text
from katayori.errors import KatayoriError
from katayori_tools import expected
from katayori_tools.expected import RESULTS, Difference, Table

MAP = "lib/equality.yaml"
TOLERANCE = 1e-12
RENAMED = ("papers", "tables", "columns", "values")
SHOWN = 40  # unwanted differences that are printed; all are in the file
same = expected.same_within(TOLERANCE, TOLERANCE)


class RenamedNames(Schema):
    """Names of A -> names of B, by kind; a block that is left empty holds none."""

    papers: dict[str, str] | None = None
    tables: dict[str, str] | None = None
    columns: dict[str, str] | None = None
    values: dict[str, dict[str, str]] | None = None


class WantedDifference(Schema):
    """A difference that is no mistake, and why."""

    paper: str = "*"
    table: Text
    column: str = ""
    why: Text


class MapFile(Schema):
    """lib/equality.yaml."""

    renamed: RenamedNames | None = None
    wanted: list[WantedDifference] | None = None


@dataclass
class NameMap:
    """The map of names, and which of its entries have been of use."""

    renamed: dict[str, dict[str, Any]]
    wanted: list[dict[str, str]]
    used: set[tuple[str, ...]] = field(default_factory=set)

    def new_name(self, kind: str, old: str, *places: str) -> str:
        """What B calls `old`; the entry for the nearest place wins (paper/table, table, none)."""
        for start in range(len(places) + 1):
            key = "/".join((*places[start:], old))
            if key in self.renamed[kind]:
                self.used.add((kind, key))
                return self.renamed[kind][key]
        return old

    def new_values(self, column: str, *places: str) -> dict[str, str]:
        """Old and new values of one of B's columns."""
        for start in range(len(places) + 1):
            key = "/".join((*places[start:], column))
            if key in self.renamed["values"]:
                self.used.add(("values", key))
                return self.renamed["values"][key]
        return {}

    def stale_names(self) -> list[str]:
        """Entries of `renamed` for which A has nothing."""
        entries = [(kind, key) for kind in RENAMED for key in self.renamed[kind]]
        return [f"{kind}: {key}" for kind, key in entries if (kind, key) not in self.used]


@dataclass
class Report:
    """What a comparison came to: how much was compared, and the differences."""

    tables: int = 0
    rows: int = 0
    cells: int = 0
    unwanted: list[Difference] = field(default_factory=list)
    wanted: Counter = field(default_factory=Counter)  # number in the map -> differences


# -- the map ---------------------------------------------------------------------------------------


def read_map(file: Path) -> NameMap:
    """The map in a file. KatayoriError, one line, for anything it cannot hold."""
    content = read_as(MapFile, file, "map of names")
    renamed = content.renamed or RenamedNames()
    names: dict[str, dict[str, Any]] = {kind: getattr(renamed, kind) or {} for kind in RENAMED}
    return NameMap(names, [entry.as_written() for entry in content.wanted or []])


def _covers(entry: dict[str, str], difference: Difference) -> bool:
    """Whether a wanted entry means this difference."""
    return (
        entry.get("paper", "*") in ("*", difference.paper)
        and entry["table"] in ("*", difference.table)
        and entry.get("column", "") in ("*", difference.column)
    )


# -- comparing -------------------------------------------------------------------------------------


def renamed_table(names: NameMap, paper: str, name: str, table: Table) -> Table:
    """A's table with B's names; `paper` and `name` are B's already."""
    place = (paper, name)
    columns = [names.new_name("columns", column, *place) for column in table.columns]
    values = [names.new_values(column, *place) for column in columns]
    rows = []
    for row in table.rows:
        cells = [known.get(cell, cell) for cell, known in zip(row, values, strict=True)]
        if name == RESULTS:
            at = columns.index("cell")
            cells[at] = _renamed_cell(names, paper, cells[at])
        rows.append(cells)
    return Table(columns, rows)


def _renamed_cell(names: NameMap, paper: str, cell: str) -> str:
    """A result's `cell`, a JSON object, with B's names for its columns and values."""
    place = (paper, RESULTS)
    new = {}
    for column, value in json.loads(cell).items():
        column = names.new_name("columns", column, *place)
        renamed = names.new_values(column, *place)
        new[column] = renamed.get(value, value) if isinstance(value, str) else value
    return json.dumps(new, ensure_ascii=False)


def _words(row: list[str]) -> tuple[str, ...]:
    """The cells of a row that are not numbers, which say what the row is about."""
    return tuple(cell for cell in row if not expected.NUMBER.fullmatch(cell))


def in_order_of(a: Table, b: Table) -> Table:
    """B's rows in the order of A's, where the same rows, known by their words, are in both."""
    of_a, of_b = [_words(row) for row in a.rows], [_words(row) for row in b.rows]
    if a.columns != b.columns or of_a == of_b or Counter(of_a) != Counter(of_b):
        return b
    rows: dict[tuple[str, ...], list[list[str]]] = {}
    for words, row in zip(of_b, b.rows, strict=True):
        rows.setdefault(words, []).append(row)
    return Table(b.columns, [rows[words].pop(0) for words in of_a])


def compare_paper(
    names: NameMap, paper: str, a: dict[str, Table], b: dict[str, Table], report: Report
) -> Iterator[Difference]:
    """The differences of one paper; `a` under its old names. Counts what is compared."""
    of_a = {}
    for old, table in a.items():
        name = names.new_name("tables", old, paper)
        of_a[name] = renamed_table(names, paper, name, table)
    of_b = dict(b)
    for name in of_a.keys() & of_b.keys():
        if name != RESULTS:
            ordered = in_order_of(of_a[name], of_b[name])
            if ordered is not of_b[name]:
                yield Difference(paper, name, "", "", "the rows in one order", "in another")
                of_b[name] = ordered
        columns = expected.shared_columns(paper, name, of_a[name].columns, of_b[name].columns)
        rows = min(len(of_a[name].rows), len(of_b[name].rows))
        report.tables += 1
        report.rows += rows
        report.cells += rows * len(columns)
    yield from expected.compare_tables(paper, of_a, of_b, same)


def compare_folders(names: NameMap, a: Path, b: Path) -> Report:
    """Compares two folders of run folders. KatayoriError if one holds no results."""
    report = Report()
    of_a = {names.new_name("papers", old): run for old, run in _runs(a).items()}
    of_b = _runs(b)
    for paper in sorted(of_a.keys() | of_b.keys()):
        if paper in of_a and paper in of_b:
            tables_a, tables_b = (expected.read_tables(runs[paper]) for runs in (of_a, of_b))
            differences = compare_paper(names, paper, tables_a, tables_b, report)
        else:
            sides = ("a run", "no run") if paper in of_a else ("no run", "a run")
            differences = iter([Difference(paper, "*", "", "", *sides)])
        for difference in differences:
            _sort_in(names, report, difference)
    return report


def _sort_in(names: NameMap, report: Report, difference: Difference) -> None:
    """Counts a wanted difference under the first entry that means it, keeps any other."""
    for number, entry in enumerate(names.wanted):
        if _covers(entry, difference):
            report.wanted[number] += 1
            return
    report.unwanted.append(difference)


def _runs(folder: Path) -> dict[str, Path]:
    """Paper and run folder of every run below a folder."""
    if not folder.is_dir():
        raise KatayoriError(f"there is no folder {folder}")
    runs = {file.parent.name: file.parent for file in sorted(folder.glob("[!.]*/results.json"))}
    if not runs:
        raise KatayoriError(f"{folder} holds no runs (folders of a paper with results.json)")
    return runs


def summary(names: NameMap, report: Report) -> Iterator[str]:
    """The lines that are printed."""
    yield f"compared: {report.tables} tables, {report.rows:,} rows, {report.cells:,} cells"
    for number, entry in enumerate(names.wanted):
        place = "/".join(entry.get(name, "*") for name in ("paper", "table", "column"))
        count = report.wanted[number]
        if count:
            yield f"wanted: {count} in {place} ({entry['why']})"
        else:
            yield f"stale: wanted {place} no longer occurs ({entry['why']})"
    for name in names.stale_names():
        yield f"stale: renamed {name} no longer occurs"
    yield f"unwanted: {len(report.unwanted)}"
    for difference in report.unwanted[:SHOWN]:
        yield f"  {difference}"


def _write_all(differences: list[Difference]) -> Path:
    """All unwanted differences as a table, which outlives the worktrees."""
    file = paths.outputs_dir() / "equality" / "differences.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow([*Difference._fields[:4], "a", "b"])
        writer.writerows(differences)
    return file


# -- two commits -----------------------------------------------------------------------------------


def _git(*words: str, folder: Path | None = None) -> str:
    """What git answers in a folder (default: this checkout); no hook runs.

    KatayoriError with its last line if it fails.
    """
    place = str(folder or paths.root())
    command = ["git", "-C", place, "-c", "core.hooksPath=/dev/null", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise KatayoriError("comparing two commits needs git on this machine") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise KatayoriError(f"git {words[0]} failed: {last}")
    return done.stdout.strip()


def _commit(name: str | None, what: str) -> str:
    """The full id of a commit. KatayoriError for a name that git does not know."""
    if not name:
        raise KatayoriError("name two commits: make equal A=<commit> B=<commit> [DATA=<commit>]")
    try:
        return _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except KatayoriError:
        raise KatayoriError(f"{what}={name} is no commit of this checkout") from None


@contextmanager
def worktree(commit: str, data: str, folder: Path) -> Iterator[Path]:
    """A checkout of a commit with another's data folder; it is removed whatever happens inside."""
    try:
        _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
        shutil.rmtree(folder / "data", ignore_errors=True)
        _git("restore", f"--source={data}", "--staged", "--worktree", "data", folder=folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _git("worktree", "prune")


def _environment() -> dict[str, str]:
    """Ours without what would lead another checkout's make astray: variables, folders, Python."""
    of_make = ["MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"]
    of_git = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"]
    of_python = ["PYTHONPATH", "VIRTUAL_ENV"]
    unset = [*of_make, *of_git, *of_python, "KATAYORI_ROOT", "KATAYORI_OUTPUTS"]
    return {name: value for name, value in os.environ.items() if name not in unset}


def _run(name: str, commit: str, checkout: Path, papers: str | None) -> Path:
    """Runs `make reproduce` in a checkout and returns its folder of run folders."""
    print(f"{name} ({commit[:10]}): make reproduce", file=sys.stderr, flush=True)
    command = ["make", "reproduce", *([f"PAPERS={papers}"] if papers else [])]
    done = subprocess.run(command, cwd=checkout, env=_environment(), stdout=sys.stderr)
    if done.returncode:
        raise KatayoriError(f"make reproduce failed in {name} ({commit[:10]}), see above")
    return checkout / "outputs" / expected.PROFILE


def compare_commits(names: NameMap, a: str, b: str, data: str = "", papers: str = "") -> Report:
    """Runs both commits on one commit's data in temporary worktrees and compares them.

    `data` is B's where none is named, `papers` are all.
    """
    commit_a, commit_b = _commit(a, "A"), _commit(b, "B")
    of_data = _commit(data, "DATA") if data else commit_b
    with tempfile.TemporaryDirectory(prefix="katayori-equal-") as private:
        # The path as git writes it: on macOS the temporary folder is a link.
        base = Path(private).resolve()
        with (
            worktree(commit_a, of_data, base / "a") as checkout_a,
            worktree(commit_b, of_data, base / "b") as checkout_b,
        ):
            run_a = _run("A", commit_a, checkout_a, papers)
            run_b = _run("B", commit_b, checkout_b, papers)
            return compare_folders(names, run_a, run_b)


def equal(a: str, b: str, *, data: str = "", papers: str = "", folders: bool = False) -> int:
    """`make equal`: prints a summary; 1 if there is a difference that nobody wanted."""
    names = read_map(paths.root() / MAP)
    if folders:
        if data or papers:
            raise KatayoriError("--folders runs nothing: it takes neither DATA nor PAPERS")
        report = compare_folders(names, Path(a), Path(b))
    else:
        report = compare_commits(names, a, b, data, papers)
    for line in summary(names, report):
        print(line)
    if len(report.unwanted) > SHOWN:
        print(f"  … and {len(report.unwanted) - SHOWN} more: {_write_all(report.unwanted)}")
    return 1 if report.unwanted else 0
