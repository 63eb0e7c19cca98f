"""A user's frame at the door: the columns that are needed, under the names that they have."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from katayori.errors import KatayoriError
from katayori.frame_checks import Column, FrameError, check_column
from katayori.metrics.uncertainty import cells

#: What every measure gives, behind the columns of `by` and the name of the measure.
GIVEN = ("value", "n", "n_invalid", "clusters", "ci_low", "ci_high", "status")
CLUSTER = Column("label", "template-1")
SHOWN = 12  # columns of a frame that a message names


@dataclass(frozen=True)
class Wanted:
    """A column that a measure needs.

    Attributes:
        own: its name in the user's frame; None: not used.
        column: what it holds. meaning: the same in words, for messages.
    """

    own: str | None
    column: Column
    meaning: str


class Taken(NamedTuple):
    """The columns of a measure under the library's names, and those of `by` beside them."""

    columns: pd.DataFrame
    keys: pd.DataFrame

    def cells(self) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
        """Key and rows of every cell of `by`."""
        for key, rows in cells(self.keys, [str(name) for name in self.keys]):
            yield key, self.columns.loc[rows.index]


def wanted_cluster(own: str | None) -> Wanted:
    """The column of clusters, which every measure of answers needs.

    Example:
        >>> wanted_cluster("question").own
        'question'
    """
    meaning = "what would be drawn anew in another study; cluster=None: every row on its own"
    return Wanted(own, CLUSTER, meaning)


def taken(
    function: str, data: Any, wanted: Mapping[str, Wanted], by: str | Sequence[str] = ()
) -> Taken:
    """The columns that a measure needs, checked, by the library's names.

    Args:
        function: name of the measure, which begins every message.
        data: a frame, or what pandas makes one of.
        wanted: name in the library -> column; `cluster` that is not used becomes the row's number.
        by: columns whose cells are measured apart.

    Raises:
        FrameError (a KatayoriError): no frame; a column that is not there or holds something else.

    Example:
        >>> wanted = {"correct": Wanted("is_right", Column("flag", True), "whether it is right")}
        >>> taken("share", {"is_right": [True, False]}, wanted).columns["correct"].tolist()
        [True, False]
        >>> taken("share", {"right": [True, False]}, wanted)
        Traceback (most recent call last):
        ...
        katayori.frame_checks.FrameError: share: no column 'is_right' (whether it is right, ...
    """
    frame = as_frame(function, data)
    columns = {}
    for name, one in wanted.items():
        if one.own is None:
            continue
        if one.own in frame:
            check_column(frame[one.own], one.column, f"{function}: column {one.own!r}")
            columns[name] = frame[one.own]
        elif one.column.required:
            raise FrameError(_absent(function, name, one, frame))
    out = pd.DataFrame(columns, index=frame.index)
    if "cluster" in wanted and "cluster" not in out:
        out["cluster"] = frame.index
    return Taken(out, _keys(function, frame, by))


def _absent(function: str, name: str, one: Wanted, frame: pd.DataFrame) -> str:
    """One line about a column that is not there: its meaning, an example, how to name another."""
    there = [repr(column) for column in frame.columns[:SHOWN]]
    there += ["..."] if len(frame.columns) > SHOWN else []
    return (
        f"{function}: no column {one.own!r} ({one.meaning}, e.g. {one.column.example!r}); columns"
        f" there: {', '.join(there) or 'none'}; name yours by {name}=..."
    )


def _keys(function: str, frame: pd.DataFrame, by: str | Sequence[str]) -> pd.DataFrame:
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if name in ("measure", *GIVEN):
            raise FrameError(
                f"{function}: by={name!r} is a column of the result; give it another name first,"
                f" e.g. frame.rename(columns={{{name!r}: 'my_{name}'}})"
            )
        if name not in frame:
            asked = Wanted(name, Column("label", "my-model"), "rows that are measured apart")
            raise FrameError(_absent(function, "by", asked, frame))
    return frame[names]


def as_frame(function: str, data: Any) -> pd.DataFrame:
    """A frame with rows numbered from 0, of a frame, a dict of lists or a list of dicts.

    Raises FrameError for anything else.

    Example:
        >>> as_frame("share", [{"correct": 1}, {"correct": 0}])["correct"].tolist()
        [1, 0]
    """
    if isinstance(data, pd.DataFrame):
        twice = data.columns[data.columns.duplicated()]
        if len(twice):
            raise FrameError(f"{function}: two columns are called {twice[0]!r}; rename one")
        return data.reset_index(drop=True)
    listed = isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data)
    if not listed and not isinstance(data, Mapping):
        raise FrameError(
            f"{function}: a {type(data).__name__} is no frame; give a pandas DataFrame, a dict of"
            ' lists or a list of dicts, e.g. {"correct": [1, 0], "cluster": ["a", "b"]}'
        )
    try:
        return pd.DataFrame(data)
    except ValueError as error:
        raise FrameError(f"{function}: no frame can be made of this ({error})") from None


def flat(
    rows: Iterable[Mapping[Any, Any]],
    by: str | Sequence[str] = (),
    before: Sequence[str] = ("measure",),
    after: Sequence[str] = (),
) -> pd.DataFrame:
    """The frame that a measure gives: by..., before..., `GIVEN`, after...

    Example:
        >>> list(flat([], by="model"))[:3]
        ['model', 'measure', 'value']
    """
    names = [by] if isinstance(by, str) else list(by)
    return pd.DataFrame(list(rows), columns=[*names, *before, *GIVEN, *after])


def numbers(function: str, what: str, values: Any) -> pd.Series:
    """A list, array or column as numbers; missing ones are NaN.

    Raises KatayoriError for values that are none, and for more than one dimension.

    Example:
        >>> numbers("mcnemar", "first", [True, None, 0]).tolist()
        [1.0, nan, 0.0]
    """
    try:
        column = pd.Series(values).reset_index(drop=True)
        return column.astype(object).where(column.notna(), None).astype(float)
    except (TypeError, ValueError):
        raise KatayoriError(
            f"{function}: {what} must be a list of numbers, e.g. [1, 0, 1], not {values!r:.60}"
        ) from None
