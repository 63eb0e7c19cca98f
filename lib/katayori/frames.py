"""What every verb does with its frames: look at the columns, go cell by cell, give a flat frame.

A *verb* takes a tidy frame (a row an answer) with its columns by name and gives one flat frame:

    by..., names, value, n, n_invalid, clusters, ci_low, ci_high, status, more...

A frame of answers that were not asked for is empty and says why (`not_asked`); a verb on it gives
an empty frame that says the same, so that no cell of a notebook needs an `if`.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError


class FrameError(KatayoriError, ValueError):
    """A frame that a verb cannot take: names the column, what is wrong and what is right."""


class Column(NamedTuple):
    """What a column must hold.

    `holds`: `label` (anything that names), `number`, `probability` (0 to 1) or `flag` (true or
    false). `example`: a value that is right, for messages. `allowed`: all values there are; empty
    for any. `may_miss`: whether a value may be missing.
    """

    holds: str
    example: object
    allowed: tuple[object, ...] = ()
    may_miss: bool = False


#: What every verb gives, behind the columns of `by` and the names of what is measured.
GIVEN = ("value", "n", "n_invalid", "clusters", "ci_low", "ci_high", "status")
#: What a column may have to hold.
LABEL = Column("label", "template-1")
LABEL_OR_NONE = Column("label", "template-1", may_miss=True)
NUMBER = Column("number", 1)
NUMBER_OR_NONE = Column("number", 1, may_miss=True)
FLAG = Column("flag", True)
_REASON = "reason"
_SHOWN = 12  # columns of a frame that a message names
_ROUNDING = 1e-6  # probabilities of several tokens are summed


def not_asked(reason: str, columns: Iterable[str] = ()) -> pd.DataFrame:
    """An empty frame with the reason why nothing is in it.

    Example:
        >>> reason_of(not_asked("no probabilities were asked for"))
        'no probabilities were asked for'
    """
    frame = pd.DataFrame(columns=list(columns))
    frame.attrs[_REASON] = reason
    return frame


def reason_of(frame: pd.DataFrame) -> str:
    """Why a frame is empty; nothing where no reason is known.

    Example:
        >>> reason_of(pd.DataFrame())
        ''
    """
    return str(frame.attrs.get(_REASON, "")) if frame.empty else ""


def require(
    verb: str,
    frame: Any,
    columns: Mapping[str, Column],
    by: str | Sequence[str] = (),
    named: Sequence[str] = (),
    *,
    if_asked: bool = False,
) -> list[str]:
    """Looks whether a frame has the columns that a verb needs; gives the names of `by` as a list.

    Args:
        verb: its name, which begins every message.
        frame: to look at. columns: name in the frame -> what it must hold.
        by: columns that are measured apart. named: columns that name the rows of the result.
        if_asked: whether a frame without rows need not have the columns.

    Raises:
        FrameError (a KatayoriError): no frame; a column that is lacking, twice there, or holds
        something else; a column of `by` that has the name of a column of the result.

    Example:
        >>> require("share", pd.DataFrame({"right": [1], "model": "m"}), {"right": NUMBER}, "model")
        ['model']
        >>> require("share", pd.DataFrame({"right": [1]}), {"yes": NUMBER})
        Traceback (most recent call last):
        ...
        katayori.frames.FrameError: share: no column 'yes'; columns there: 'right'
    """
    if not isinstance(frame, pd.DataFrame):
        raise FrameError(
            f"{verb}: a {type(frame).__name__} is no frame; give a pandas DataFrame, e.g."
            " pd.DataFrame({'yes': [1, 0], 'question': ['a', 'b']})"
        )
    names = _apart(verb, by, named)
    if if_asked and frame.empty:
        return names
    wanted = dict(columns) | {name: LABEL_OR_NONE for name in names if name not in columns}
    for name, holds in wanted.items():
        if name not in frame:
            raise FrameError(f"{verb}: no column {name!r}; columns there: {_columns(frame)}")
        column = frame[name]
        if isinstance(column, pd.DataFrame):
            raise FrameError(f"{verb}: two columns are called {name!r}; rename one")
        _check_column(column, holds, f"{verb}: column {name!r}")
    return names


def _check_column(values: pd.Series, holds: Column, where: str) -> None:
    """FrameError where a value is not what the column holds; `where` begins its line."""
    missing = values.isna()
    right = f"e.g. {holds.example!r}"
    if missing.any() and not holds.may_miss:
        raise FrameError(f"{where} is missing in {_rows(missing)}; right is {right}")
    wrong = ~missing & _wrong(values, holds)
    if not wrong.any():
        return
    if holds.allowed:
        right = f"one of {', '.join(map(repr, holds.allowed))}"
    elif holds.holds == "probability":
        right = f"a number from 0 to 1, {right}"
    elif holds.holds == "flag":
        right = "True or False"
    value = values[wrong].tolist()[0]
    raise FrameError(f"{where} holds {value!r} ({_rows(wrong)}); right is {right}")


def _rows(wrong: pd.Series) -> str:
    return f"{wrong.sum()} of {len(wrong)} rows, first in row {wrong.to_numpy().argmax()}"


def _wrong(values: pd.Series, holds: Column) -> pd.Series:
    """Which values a column must not hold; what is missing is not looked at."""
    if holds.allowed:
        return ~values.isin(list(holds.allowed))
    if holds.holds == "label":
        if values.dtype != object:
            return pd.Series(False, values.index)
        return ~values.map(pd.api.types.is_hashable).astype(bool)
    if holds.holds == "flag":
        return ~values.isin([True, False])
    if pd.api.types.is_string_dtype(values) and not values.isna().all():
        return pd.Series(True, values.index)  # "0.5" is a text: it would not add up
    numbers = pd.to_numeric(values, errors="coerce")
    if holds.holds == "probability":
        return ~numbers.between(0, 1 + _ROUNDING)
    return numbers.isna()


def _known(labels: Any) -> Any:
    """Labels of a frame or column, None for those that are missing by a text.

    Such texts are empty, or what NaN, None, NA and NaT become in an array of texts.
    """
    missing = ("", "nan", "NaN", "None", "<NA>", "NaT")
    return labels.map(lambda one: None if isinstance(one, str) and one.strip() in missing else one)


def _apart(verb: str, by: str | Sequence[str], named: Sequence[str]) -> list[str]:
    """The names of `by`, none of which is a column of the result."""
    names = [by] if isinstance(by, str) else list(by)
    if taken := [name for name in names if name in (*GIVEN, "measure", *named)]:
        raise FrameError(
            f"{verb}: by={taken[0]!r} is a column of the result; give it another name first, e.g."
            f" frame.rename(columns={{{taken[0]!r}: 'my_{taken[0]}'}})"
        )
    return names


def _columns(frame: pd.DataFrame) -> str:
    there = [repr(name) for name in frame.columns[:_SHOWN]]
    there += ["..."] if len(frame.columns) > _SHOWN else []
    return ", ".join(there) or "none"


def cells(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Key and rows of every cell of `by`, in the order of the frame; none of an empty frame.

    A missing value is a value of its own. Without any column in `by` the frame is one cell.

    Example:
        >>> frame = pd.DataFrame({"model": ["b", "b", "a"]})
        >>> [(key, len(cell)) for key, cell in cells(frame, ["model"])]
        [({'model': 'b'}, 2), ({'model': 'a'}, 1)]
    """
    if frame.empty:
        return
    if not by:
        yield {}, frame
        return
    for key, cell in frame.groupby(list(by), sort=False, dropna=False, observed=True):
        yield dict(zip(by, key, strict=True)), cell


def flat(
    rows: Iterable[Mapping[Any, Any]],
    of: pd.DataFrame,
    by: Sequence[str] = (),
    names: Sequence[str] = (),
    more: Sequence[str] = (),
) -> pd.DataFrame:
    """The frame that a verb gives: by..., names..., `GIVEN`, more...

    Args:
        rows: one a cell or more. of: the frame that was measured, whose reason goes on.
        by: columns measured apart. names: of what is measured, such as `level`.
        more: columns of the verb behind the common ones.

    Example:
        >>> list(flat([], pd.DataFrame(), by=["model"], more=["p"]))[-2:]
        ['status', 'p']
    """
    out = pd.DataFrame(list(rows), columns=[*by, *names, *GIVEN, *more])
    if reason := reason_of(of):
        out.attrs[_REASON] = reason
    return out


def digest(items: pd.DataFrame, *columns: str) -> str:
    """sha256 of the item ids and the columns a model's answer depends on, in order: which items a
    run was about.
    """
    lines = (
        "\t".join(map(str, row)) + "\n"
        for row in items[["item_id", *columns]].itertuples(index=False)
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def numbered(frame: pd.DataFrame, by: Sequence[str]) -> tuple[np.ndarray, pd.DataFrame]:
    """The number of each row's cell, and the keys of the cells.

    Cells and missing values are as in `cells`.

    Example:
        >>> number, keys = numbered(pd.DataFrame({"model": ["b", "a", "b"]}), ["model"])
        >>> number.tolist(), keys["model"].tolist()
        ([0, 1, 0], ['b', 'a'])
    """
    number = np.zeros(len(frame), dtype=int)
    for name in by:
        code, values = pd.factorize(frame[name].to_numpy())  # missing: -1
        number = pd.factorize(number * (len(values) + 1) + code + 1)[0]
    first = np.zeros(number.max(initial=-1) + 1, dtype=int)
    first[number[::-1]] = np.arange(len(number))[::-1]
    keys = {name: frame[name].array[first] for name in by}
    return number, pd.DataFrame(keys, index=pd.RangeIndex(len(first)))
