"""What a kind of log needs, what is measured of it, and which kind a log is of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from katayori.errors import KatayoriError, expect
from katayori_tools import papers
from katayori_tools.analyses.reading import NAMES, Log


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        title: of the table. about: what it says, in whole sentences. rows: as of `rows.flat_rows`.
        signed: measures that are 0 where there is nothing to find. decides: how the measures end
            whose p is told in a sentence; empty: all that have one. heads: columns that the page
            shows -> their heads; empty: those of every table.
    """

    title: str
    about: str
    rows: pd.DataFrame
    signed: tuple[str, ...] = ()
    decides: str = ""
    heads: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """What the figure shows.

    Attributes:
        measures: the rows of results.csv that it draws. label: of the axis. reference: a value with
            a line.
    """

    measures: tuple[str, ...]
    label: str
    reference: float


@dataclass(frozen=True)
class Read:
    """A log whose answers have been read.

    Attributes:
        frame: columns model, cluster, valid, text and those of the kind, a row an answer.
        notes: how they were read, in whole sentences.
        marked: the same answers as the harness itself marked them, where its log says so.
    """

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    marked: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class Kind:
    """A kind of log.

    Attributes:
        about: what it is, in words.
        names: of columns that a user can name, beside `reading.NAMES`.
        lacks: what the columns of a log lack for it, a line each; none where it fits.
        read: the answers as numbers or roles.
        sections: everything that is measured.
        shown: what the figure shows.
        dialects: how other tools would score the answers (`--dialects`); None: no tool is known.
    """

    about: str
    names: tuple[str, ...]
    lacks: Callable[[Log], list[str]]
    read: Callable[[Log], Read]
    sections: Callable[[Read], list[Section]]
    shown: Shown
    dialects: Callable[[Read], Section] | None = None


def kinds() -> dict[str, Kind]:
    """Every kind by its name, of the rooms of all papers.

    Example:
        >>> {"bbq", "judge"} <= set(kinds())
        True
    """
    return papers.collected("analyse", "KINDS")


def check_names(names: Iterable[str], known: Iterable[Kind]) -> None:
    """KatayoriError for a name of a column that no kind knows."""
    valid = [*NAMES, *(name for kind in known for name in kind.names)]
    for name in names:
        expect(name, dict.fromkeys(valid), "name of --column")


def chosen(log: Log, name: str, known: Mapping[str, Kind]) -> str:
    """The kind that was named, or the only one whose columns are there.

    Raises:
        KatayoriError: an unknown kind; columns that a named kind lacks; no kind, or several, that
        fit.
    """
    if name:
        expect(name, known, "kind of log")
        lacking = known[name].lacks(log)
        if lacking:
            raise KatayoriError(
                f"--kind {name} needs {'; '.join(lacking)}; columns there: {log.there()}; name"
                " yours by --column NAME=COLUMN"
            )
        return name
    fitting = [one for one, kind in known.items() if not kind.lacks(log)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise KatayoriError(
            f"the columns fit the kinds {' and '.join(fitting)}; say which: --kind {fitting[0]}"
        )
    needs = "; ".join(f"{one} lacks {', '.join(kind.lacks(log))}" for one, kind in known.items())
    raise KatayoriError(
        f"no kind of log fits: {needs}; columns there: {log.there()}; name yours by --column"
        " NAME=COLUMN, the kind by --kind"
    )


def lacking(log: Log, wanted: Mapping[str, tuple[Sequence[str], str]]) -> list[str]:
    """Of columns (name -> other names, meaning) those that a log has not, in words.

    Example:
        >>> lacking(Log(pd.DataFrame(columns=["a"])), {"pair_id": ((), "the comparison")})
        ['pair_id (the comparison)']
    """
    return [
        f"{name} ({meaning})"
        for name, (known, meaning) in wanted.items()
        if log.named(name, *known) is None
    ]
