"""The headline results of a run: the rows that its first page, the overview and comparisons show.

Which rows of results.json they are, whether they measure a bias, an ability or neither, and how a
reader sees them, `headlines` in data/papers/<id>.yaml says.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths, profiles
from katayori.data import paper_facts
from katayori.metrics.interval_text import with_interval
from katayori.report.results import read_results as read_results
from katayori.report.status_words import mark

if TYPE_CHECKING:
    import pandas as pd

#: What stands in the result itself.
OF_RESULT = (
    *("paper", "what", "model", "source", "prompt_id", "cell", "value", "ci_low", "ci_high"),
    *("unit", "n", "n_invalid", "clusters", "status", "line", "margin", "limit", "control"),
    *("verdict", "why", "low_bound", "high_bound"),
)
NUMBERS = (
    *("value", "ci_low", "ci_high", "line", "margin", "limit", "control"),
    *("low_bound", "high_bound"),
)
COUNTS = ("n", "n_invalid", "clusters")
COLUMNS = ("number", *OF_RESULT, "kind", "side", "measure", "means", "instead", "shown")
#: A result with another status, or with a verdict that forbids it, has no value to show.
WITH_VALUE = ("ok", "count")
FAILED = "condition did not happen"
#: What a limit of detection does not say.
LIMIT_NOTE = (
    "the true effect that the interval shown would find in four of five studies; it says nothing of"
    " wording or of unreadable answers"
)
#: Units that count things.
WHOLE = ("questions", "items", "cases", "comparisons")


def headlines(results: "pd.DataFrame") -> "pd.DataFrame":
    """The headline rows of one or more papers, a model below the other.

    Args:
        results: of `results.read_results`.

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
    import pandas as pd

    numbered = results.assign(number=results.groupby("paper").cumcount() + 1)
    marked = numbered[numbered["headline"].astype(bool)]
    rows = [
        row
        for paper in dict.fromkeys(marked["paper"])
        for row in _of_paper(paper, marked[marked["paper"] == paper].to_dict("records"))
    ]
    told = _with_failed_conditions(rows)
    frame = pd.DataFrame(told, columns=["number", *OF_RESULT, "kind", "side", "measure", "means"])
    frame = frame.astype(dict.fromkeys(NUMBERS, float)).astype(dict.fromkeys(COUNTS, "Int64"))
    frame[["verdict", "why"]] = frame[["verdict", "why"]].astype(object).fillna("")
    filled = frame.to_dict("records")
    frame = frame.assign(instead=[why_no_value(row) for row in filled])
    return frame.assign(shown=[shown(row) for row in filled])[list(COLUMNS)]


def _with_failed_conditions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A condition that did not happen for one result of a prompt did not for the others."""
    reasons = {_condition(row): row["why"] for row in rows if row["verdict"] == FAILED}
    return [
        row | {"verdict": FAILED, "why": reasons[_condition(row)]}
        if not isinstance(row["verdict"], str)
        and row["cell"].get("prompt")
        and _condition(row) in reasons
        else row
        for row in rows
    ]


def _condition(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["paper"], row["model"], row["cell"].get("prompt")


def _of_paper(paper: str, marked: list[dict[Any, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a paper in the order of its entries, a model below the other."""
    for model in dict.fromkeys(row["model"] for row in marked):
        own = [row for row in marked if row["model"] == model]
        for entry in _entries(paper, marked):
            yield from (row | _told(row, entry) for row in own if _fits(row, entry))


def _entries(paper: str, marked: list[dict[Any, Any]]) -> list[dict[str, Any]]:
    if about := of_paper(paper):
        return list(about["rows"])
    names = dict.fromkeys(row["what"] for row in marked)
    return [{"what": name, "kind": "description", "label": name, "means": ""} for name in names]


def of_paper(paper: str) -> dict[str, Any]:
    """What is written of the headlines of a paper; nothing of a paper that is not ours.

    Example:
        >>> of_paper("a paper of mine")
        {}
    """
    return (paper_facts.of(paper)["headlines"] or {}) if paper in paper_facts.ids() else {}


def _fits(row: Mapping[Any, Any], entry: Mapping[str, Any]) -> bool:
    """Whether a row is meant: its cell holds one of the levels named of each of its names."""
    if row["what"] != entry["what"]:
        return False
    where = entry.get("where", {})
    levels = {name: one if isinstance(one, list) else [one] for name, one in where.items()}
    return all(row["cell"].get(name) in allowed for name, allowed in levels.items())


def _told(row: Mapping[Any, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    label = entry["label"]
    for name, level in row["cell"].items():
        label = label.replace("{" + name + "}", str(level).replace("_", " "))
    told = {name: entry[name] for name in ("kind", "means")}
    return told | {"measure": label, "side": entry.get("side", 0)}


def why_no_value(row: Mapping[Any, Any]) -> str:
    """What stands in place of a value, its interval and its reading; empty where they are shown.

    Example:
        >>> why_no_value({"status": "ok", "value": 0.1, "n": 9, "verdict": "position bound"})
        'answers by position'
    """
    from katayori.metrics.verdicts import NO_VERDICT

    verdict = row.get("verdict")
    if row["status"] in WITH_VALUE and verdict in NO_VERDICT:
        return mark(verdict)
    if row["status"] == "no_variation" and str(verdict).startswith(("absent", "undecided")):
        return ""  # all answers alike and at the line, such as every answer unknown
    if row["status"] not in WITH_VALUE:
        return mark(row["status"])
    # A count of 0 among 0 is no value.
    has_value = row["value"] is not None and row["value"] == row["value"]
    return "" if has_value and row["n"] != 0 else "nothing to count"


def in_words(row: Mapping[Any, Any]) -> str:
    """A verdict as a reader sees it.

    Of an ability `present` is the side of its line; of a bias the side is added where the line is
    not 0, as no sign tells it. A verdict for which no bounds were looked at holds among the
    readable answers.

    Example:
        >>> row = {"kind": "ability", "verdict": "present", "value": 0.7, "line": 0.5}
        >>> row |= {"n": 95, "n_invalid": 5, "low_bound": None}
        >>> in_words(row), in_words(row | {"kind": "bias", "n_invalid": 0})
        ('above 0.5, among the readable answers', 'present')
    """
    from katayori.metrics.verdicts import UNREADABLE

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
    if why := why_no_value(row):
        return why
    if row["unit"] in WHOLE:
        return f"{row['value']:,.0f}"
    return with_interval(row, digits=3, scale=1, signed=row["line"] == 0)


def run_folder(profile: str, models: Sequence[str] = ()) -> Path:
    """The folder of the run of this profile and these models, with a folder for each notebook.

    Raises:
        KatayoriError: an unknown profile; several runs are there and no model says which is meant.
    """
    return paths.only_run(profiles.load(profile), models, paths.run_label())


def read_tables(folder: Path, name: str, columns: Sequence[str] = ()) -> "pd.DataFrame":
    """The kept tables of one name of all notebooks of a run, one below the other.

    Args:
        folder: of the run. name: of the tables. columns: those wanted; all of them, by default.

    Returns:
        paper (the id) and the columns; those that no table has are empty.

    Example:
        >>> read_tables(Path("no run"), "components", ["model", "share"]).columns.tolist()
        ['paper', 'model', 'share']
    """
    import pandas as pd

    parts = []
    for file in sorted(folder.glob(f"[!.]*/tables/{name}.csv")):
        table = pd.read_csv(file)
        table.insert(0, "paper", file.parents[1].name)
        parts.append(table)
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["paper"])
    lacking = {column: pd.Series(dtype=object) for column in columns if column not in whole}
    return whole.assign(**lacking)[["paper", *columns] if columns else list(whole)]
