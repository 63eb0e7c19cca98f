"""Names that have changed: the old one works for one version, and one line on stderr says so.

An entry goes into `TABLE` in the commit that renames, into the `renames` of a paper where only its
notebook had the name. `overdue` finds those whose time is over; a test fails for them. The Makefile
reads the entries of kind "variable" out of this file: each has to stand on a line of its own.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from katayori.errors import KatayoriError

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("command", "option", "variable", "parameter", "field", "column", "argument")


class Renamed(NamedTuple):
    """One name that has changed.

    `kind` is one of `KINDS`: a command, an option of a command (`--name`), a variable of `make`, a
    parameter of a notebook, a field of a profile, a column of a table, or an argument of functions.
    `goes` is the first version that no longer knows the old name. `where` is the command, paper or
    table; empty is everywhere.
    """

    kind: str
    old: str
    new: str
    goes: str
    where: str = ""


TABLE: tuple[Renamed, ...] = (
    # Answers hold the columns of their items: no metric joins them any more.
    Renamed("argument", "items", "part of the answers (frame_checks.with_items)", "0.5"),
    # One word a concept over all papers: what answers are clustered in is counted by `clusters`.
    Renamed("column", "n_cases", "clusters", "0.5"),
    Renamed("column", "n_clusters", "clusters", "0.5"),
    Renamed("column", "n_families", "clusters", "0.5"),
    Renamed("column", "n_questions", "clusters", "0.5"),
    Renamed("column", "n_templates", "clusters", "0.5"),
    Renamed("column", "p_cases", "p_cluster", "0.5"),
    Renamed("column", "p_question", "p_cluster", "0.5"),
    Renamed("column", "p_template", "p_cluster", "0.5"),
    Renamed("column", "p_cases_holm", "p_cluster_holm", "0.5"),
    Renamed("column", "p_template_holm", "p_cluster_holm", "0.5"),
    Renamed("column", "case_low", "cluster_low", "0.5"),
    Renamed("column", "case_high", "cluster_high", "0.5"),
    Renamed("column", "n_hits", "n_correct", "0.5"),
    Renamed("column", "n_right", "n_correct", "0.5"),
    Renamed("column", "right", "correct", "0.5"),
    Renamed("column", "n_missing", "n_invalid", "0.5", "alpha"),
    Renamed("column", "n_missing", "n_invalid", "0.5", "tests"),
    # The random draws of a notebook: exchanges, or null draws of its claims.
    Renamed("parameter", "resamples", "draws", "0.5"),
)


@cache  # once a process, however often the name comes
def _tell(entry: Renamed) -> None:
    line = (
        f"{entry.kind} {entry.old} is now {entry.new}; {entry.old} goes with version {entry.goes}"
    )
    print(f"katayori: {line}", file=sys.stderr)


def current(kind: str, name: str, where: str = "", also: Iterable[Renamed] = ()) -> str:
    """The name of today; an old one is told on stderr. `also`: entries beside those of `TABLE`."""
    for entry in (*TABLE, *also):
        if (entry.kind, entry.old) == (kind, name) and entry.where in ("", where):
            _tell(entry)
            return entry.new
    return name


def with_old(kind: str, names: Iterable[str], also: Iterable[Renamed] = ()) -> set[str]:
    """These names and the old ones that became one of them, wherever."""
    today = set(names)
    return today | {
        entry.old for entry in (*TABLE, *also) if entry.kind == kind and entry.new in today
    }


def keys(
    kind: str, values: Mapping[str, Any], where: str = "", also: Iterable[Renamed] = ()
) -> dict[str, Any]:
    """The same values under the names of today, in their order.

    KatayoriError where a value is given under its old and its new name.
    """
    today: dict[str, Any] = {}
    for name, value in values.items():
        new = current(kind, name, where, also)
        if new in today:
            raise KatayoriError(f"{kind} {new} is given twice, once by its old name; give it once")
        today[new] = value
    return today


def columns(frame: "pd.DataFrame", table: str = "") -> "pd.DataFrame":
    """A frame with the column names of today, such as a file written by an older version holds.

    KatayoriError where a column stands there under its old and its new name.
    """
    return frame.set_axis(
        list(keys("column", {str(c): None for c in frame.columns}, table)), axis=1
    )


def arguments(words: Sequence[str]) -> list[str]:
    """A command line with the names of today: the command, which comes first, and its options."""
    if not words:
        return []
    command = current("command", words[0])
    today = [command]
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            name = current("option", name, command)
        today.append(f"{name}{equals}{value}")
    return today


def _number(version: str) -> tuple[int, int]:
    """Major and minor version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def overdue(version: str, also: Iterable[Renamed] = ()) -> list[Renamed]:
    """The entries of `TABLE`, and of `also`, that `version` should no longer hold."""
    return [entry for entry in (*TABLE, *also) if _number(entry.goes) <= _number(version)]
