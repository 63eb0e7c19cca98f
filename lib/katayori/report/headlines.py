"""What run folders hold, and its headlines: the rows that overviews and comparisons show.

Which rows of results.json they are, whether they measure a bias, an ability or neither, and how a
reader sees them, `headlines` in data/papers/<id>.yaml says.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from katayori import profiles, run_folders
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.metrics.intervals import with_interval
from katayori.metrics.verdicts import NO_VERDICT, UNREADABLE
from katayori.report.run import COUNTS, FIELDS, OF_VALUE
from katayori.report.tables import mark

#: What stands in the result itself.
OF_RESULT = (
    *("paper", "what", "model", "source", "prompt_id", "cell", "value", "ci_low", "ci_high"),
    *("unit", "n", "n_invalid", "clusters", "status", "line", "margin", "limit", "control"),
    *("verdict", "why", "low_bound", "high_bound"),
)
#: Schema 2 added `clusters`; schema 3 the verdict with its line, margin, limit, reason, bounds and
#: control, and the variant of the recording; schema 4 dropped the older names of limit and control.
#: What an earlier version wrote is read all the same.
OF_VERDICT = ("line", "margin", "limit", "why", "low_bound", "high_bound", "control")
ADDED = {"clusters", "variant", *OF_VERDICT}
DROPPED = {"blank", "blank_status", "detects", "detects_status"}
NUMBERS = ("value", *OF_VALUE)
#: A result with another status, or with a verdict that forbids it, has no value to show.
WITH_VALUE = ("ok", "count")
FAILED = "condition did not happen"
#: Units that count things.
WHOLE = ("questions", "items", "cases", "comparisons")


def run_folder(profile: str, models: Sequence[str] = ()) -> Path:
    """The folder of the run of this profile and these models, with a folder for each notebook.

    Raises:
        KatayoriError: an unknown profile; several runs are there and no model says which is meant.
    """
    return run_folders.only_run(profiles.load(profile), models, run_folders.run_label())


def read_results(path: Path) -> pd.DataFrame:
    """The rows of a run folder, or of all run folders in a profile's: columns `FIELDS`.

    Empty where nothing has run. KatayoriError for a damaged file.
    """
    file = path / "results.json"
    files = [file] if file.is_file() else sorted(path.glob("[!.]*/results.json"))
    rows = [row for file in files for row in _rows_of(file)]
    return pd.DataFrame(rows, columns=list(FIELDS))


def _rows_of(file: Path) -> Any:
    with suppress(ValueError, TypeError):
        rows = json.loads(file.read_text(encoding="utf-8"))
        if all((set(row) | ADDED) - DROPPED == set(FIELDS) for row in rows):
            return rows
    remedy = "delete it and run `make reproduce`."
    raise KatayoriError(f"{file} is not a results file of this version: {remedy}")


def read_tables(folder: Path, name: str, columns: Sequence[str]) -> pd.DataFrame:
    """The kept tables of one name of all notebooks of a run, one below the other.

    Args:
        folder: of the run. name: of the tables. columns: those wanted.

    Returns:
        paper (the id) and the columns; those that no table has are empty.

    Example:
        >>> read_tables(Path("no run"), "components", ["model", "share"]).columns.tolist()
        ['paper', 'model', 'share']
    """
    files = sorted(folder.glob(f"[!.]*/tables/{name}.csv"))
    tables = [pd.read_csv(file).assign(paper=file.parents[1].name) for file in files]
    none = pd.DataFrame(columns=["paper", *columns], dtype=object)
    whole = pd.concat(tables or [none], ignore_index=True)
    # Columns that are lacking may be of texts, which notebooks join and compare.
    return whole.join(none[none.columns.difference(whole.columns)])[["paper", *columns]]


def headlines(results: pd.DataFrame) -> pd.DataFrame:
    """The headline rows of one or more papers, a model below the other.

    Args:
        results: of `read_results`.

    Returns:
        number (of the row in its results.json, from 1), the fields of the result, kind (`bias`,
        `ability` or `description`), side (-1 or 1 where only values below or above the line are a
        bias, else 0), measure (in a reader's words), means (what to read it against),
        instead (why there is no value, in words; empty where there is one), shown (the value with
        its interval, or these words).

        Of a paper without an entry all rows that are marked headline.

    Example:
        >>> import pandas as pd
        >>> from katayori.report.run import FIELDS
        >>> row = dict.fromkeys(FIELDS) | {"paper": "mine", "what": "lean", "model": "m"}
        >>> row |= {"cell": {}, "headline": True, "value": 0.1, "line": 0.0, "n": 40}
        >>> row |= {"status": "ok"}
        >>> other = row | {"verdict": "position bound", "status": "position_bound"}
        >>> headlines(pd.DataFrame([row, other]))["shown"].tolist()
        ['+0.100', 'answers by position']
    """
    numbered = results.assign(number=results.groupby("paper").cumcount() + 1)
    marked = numbered[numbered["headline"].astype(bool)]
    rows = [
        row | {"side": 0, **entry, "measure": _label(entry["label"], row["cell"])}
        for (paper, _), own in marked.groupby(["paper", "model"], sort=False, dropna=False)
        for entry in of_paper(str(paper)).get("rows") or map(_entry, own["what"].unique())
        for row in own[own["what"] == entry["what"]].to_dict("records")
        if _fits(row["cell"], entry.get("where", {}))
    ]
    frame = pd.DataFrame(rows, columns=["number", *OF_RESULT, "kind", "side", "measure", "means"])
    frame = frame.astype(dict.fromkeys(NUMBERS, float) | dict.fromkeys(COUNTS, "Int64"))
    frame[["verdict", "why"]] = frame[["verdict", "why"]].astype(object).fillna("")
    frame = _with_failed_conditions(frame)
    filled = frame.to_dict("records")
    frame = frame.assign(instead=[_why_no_value(row) for row in filled])
    return frame.assign(shown=[shown(row) for row in filled])


def _with_failed_conditions(frame: pd.DataFrame) -> pd.DataFrame:
    """A condition that did not happen for one result of a prompt did not for those without a
    verdict.
    """
    condition = [frame["paper"], frame["model"], frame["cell"].map(lambda cell: cell.get("prompt"))]
    why = frame["why"].where(frame["verdict"] == FAILED).groupby(condition).transform("first")
    is_lost = why.notna() & (frame["verdict"] == "")
    verdict = frame["verdict"].mask(is_lost, FAILED)
    return frame.assign(verdict=verdict, why=frame["why"].mask(is_lost, why))


def _entry(what: str) -> dict[str, str]:
    """The entry of a result of a paper that has none."""
    return {"what": what, "kind": "description", "label": what, "means": ""}


def _fits(cell: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether a cell holds one of the levels that are named of each of its names."""
    return all(
        cell.get(name) in (level if isinstance(level, list) else [level])
        for name, level in where.items()
    )


def _label(label: str, cell: Mapping[str, Any]) -> str:
    """The label with the levels of a cell; a level that is not known, at its end, is left out."""
    for name, level in cell.items():
        label = label.replace("{" + name + "}", str(level).replace("_", " "))
    return label.removesuffix(": ")


def of_paper(paper: str) -> dict[str, Any]:
    """What is written of the headlines of a paper; nothing of a paper that is not ours."""
    return (paper_facts.of(paper)["headlines"] or {}) if paper in paper_facts.ids() else {}


def _why_no_value(row: Mapping[Any, Any]) -> str:
    """What stands in place of a value, its interval and its reading; empty where they are shown."""
    status, verdict, value = row["status"], row.get("verdict"), row["value"]
    if status not in WITH_VALUE:
        # All answers alike and at the line, such as every answer unknown.
        is_alike = status == "no_variation" and str(verdict).startswith(("absent", "undecided"))
        return "" if is_alike else mark(status)
    if verdict in NO_VERDICT:
        return mark(verdict)
    # A count of 0 among 0 is no value, nor is NaN.
    has_value = value is not None and value == value and row["n"] != 0
    return "" if has_value else "nothing to count"


def in_words(row: Mapping[Any, Any]) -> str:
    """A verdict as a reader sees it.

    Of an ability `present` is the side of its line; of a bias the side is added where the line is
    not 0, as no sign tells it. A verdict for which no bounds were looked at holds among the
    readable answers.

    Example:
        >>> row = {"kind": "ability", "verdict": "present", "value": 0.7, "line": 0.5}
        >>> row |= {"n": 95, "n_invalid": 5, "low_bound": None}
        >>> in_words(row), in_words(row | {"kind": "bias", "n_invalid": 0})
        ('above 0.5, among the readable answers', 'present, above 0.5')
    """
    word = row["verdict"] or ""
    if not word.startswith(("present", "absent")):
        return word
    side = f"{'above' if row['value'] > row['line'] else 'below'} {row['line']:.3g}"
    if row["kind"] == "ability":
        word = word.replace("present", side)
    elif word.startswith("present") and row["line"]:
        word = f"{word}, {side}"
    unreadable = row["n_invalid"] or 0
    has_bounds = row["low_bound"] is not None or unreadable <= UNREADABLE * (row["n"] + unreadable)
    return word if has_bounds else f"{word}, among the readable answers"


def shown(row: Mapping[Any, Any]) -> str:
    """A result as one text: its value with the interval, or why there is none.

    A sign stands before what is measured against 0; counts of things have no digits.

    Example:
        >>> row = {"status": "ok", "value": 0.25, "ci_low": 0.1, "ci_high": 0.4, "line": 0, "n": 9}
        >>> shown(row | {"unit": "share"}), shown(row | {"status": "few_clusters", "unit": "share"})
        ('+0.250 [+0.100, +0.400]', 'too little data')
    """
    if why := _why_no_value(row):
        return why
    if row["unit"] in WHOLE:
        return f"{row['value']:,.0f}"
    return with_interval(row, digits=3, scale=1, signed=row["line"] == 0)
