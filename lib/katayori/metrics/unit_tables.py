"""Units x raters: of a frame with a row an answer, or as a table that is given."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frames import FrameError

_EXAMPLE = "e.g. [[1, 1], [0, 1], [1, None]], a row a unit and a column a rater"


class UnitTable(NamedTuple):
    """Labels (units x raters; missing: None or NaN) and the cluster of each unit."""

    labels: pd.DataFrame
    cluster: np.ndarray


def mean_table(frame: pd.DataFrame, value: str, unit: Sequence[str], rater: str) -> UnitTable:
    """Units x raters of a frame with a row an answer: the mean of the valid answers of a cell.

    Args:
        frame: answers. value: their column of numbers. rater: of the raters, or of the levels.
        unit: columns that make a unit together; the first one is its cluster.

    Returns:
        units and raters in the order of the frame; a rater without any valid answer is left out.

    Example:
        >>> frame = pd.DataFrame({"question": [1, 1, 1], "age": [20, 80, 80], "yes": [1, 0, 1]})
        >>> mean_table(frame, "yes", ["question"], "age").labels.to_numpy().tolist()
        [[1.0, 0.5]]
    """
    places = _places(frame, unit, rater)
    values = frame[value].to_numpy(float, na_value=np.nan)
    valid = ~np.isnan(values)
    size = places.shape[0] * places.shape[1]
    counts = np.bincount(places.cell[valid], minlength=size)
    sums = np.bincount(places.cell[valid], values[valid], size)
    with np.errstate(invalid="ignore"):
        means = (sums / counts).reshape(places.shape)
    return places.table(means, counts.reshape(places.shape) > 0)


def label_table(frame: pd.DataFrame, value: str, unit: Sequence[str], rater: str) -> UnitTable:
    """Units x raters of labels of any kind, as `mean_table` of numbers.

    Raises FrameError where a rater has two labels of one unit.

    Example:
        >>> frame = pd.DataFrame({"item": [1, 1, 2], "who": ["ann", "ben", "ann"]})
        >>> table = label_table(frame.assign(says=["yes", "no", "yes"]), "says", ["item"], "who")
        >>> table.labels.to_numpy().tolist()
        [['yes', 'no'], ['yes', None]]
    """
    places = _places(frame, unit, rater)
    valid = frame[value].notna().to_numpy()
    cell = places.cell[valid]
    if len(np.unique(cell)) < len(cell):
        raise FrameError(
            f"alpha: two labels of one {', '.join(unit)} and {rater}; keep one of each, or name in"
            " unit= what tells them apart"
        )
    flat = np.full(places.shape[0] * places.shape[1], None, dtype=object)
    flat[cell] = frame[value].to_numpy(object)[valid]
    labels = flat.reshape(places.shape)
    return places.table(labels, pd.notna(labels))


class _Places(NamedTuple):
    """The cell of each answer in units x raters, the clusters of the units, the raters."""

    cell: np.ndarray
    shape: tuple[int, int]
    cluster: np.ndarray
    raters: list[Any]

    def table(self, values: np.ndarray, known: np.ndarray) -> UnitTable:
        """Units x raters, without raters of whom nothing is known."""
        kept = np.flatnonzero(known.any(axis=0))
        names = [self.raters[number] for number in kept]
        table = pd.DataFrame(values[:, kept], columns=names, dtype=values.dtype)
        return UnitTable(table, self.cluster)


def _places(frame: pd.DataFrame, unit: Sequence[str], rater: str) -> _Places:
    row = frame.groupby(list(unit), sort=False, observed=True).ngroup().to_numpy()
    column, raters = pd.factorize(frame[rater])
    first = np.unique(row, return_index=True)[1]
    shape = (len(first), len(raters))
    cluster = frame[unit[0]].to_numpy()[first]
    return _Places(row * shape[1] + column, shape, cluster, list(raters))


def given_table(verb: str, table: Any, cluster: str | Sequence[Any] | None) -> UnitTable:
    """The labels and clusters of a table of units x raters.

    Args:
        verb: its name, which begins every message. table: a frame, an array or a list of rows.
        cluster: of each unit: a list, or the column that holds it. None: each unit on its own.

    Raises:
        KatayoriError: what has not two dimensions, a column that is not there, clusters of another
        length, an empty table.

    Example:
        >>> given_table("alpha", [[1, 1], [0, None]], None).cluster.tolist()
        [0, 1]
    """
    if not isinstance(table, pd.DataFrame):
        table = _framed(verb, table)
    labels = table.reset_index(drop=True)
    if isinstance(cluster, str):
        if cluster not in labels:
            there = ", ".join(map(repr, labels.columns))
            raise FrameError(f"{verb}: no column {cluster!r} of clusters; columns: {there}")
        groups = labels[cluster].to_numpy(object)
        labels = labels.drop(columns=cluster)
    else:
        groups = np.arange(len(labels)) if cluster is None else _listed(cluster)
    if len(groups) != len(labels):
        raise KatayoriError(
            f"{verb}: {len(labels)} units and {len(groups)} clusters; give one of each unit"
        )
    if labels.empty:
        raise KatayoriError(f"{verb}: the table is empty; give labels, {_EXAMPLE}")
    labels.columns = range(labels.shape[1])  # two raters may have one name
    return UnitTable(labels, groups)


def _framed(verb: str, table: Any) -> pd.DataFrame:
    try:
        rows = pd.DataFrame(table, dtype=object)
    except (TypeError, ValueError):
        rows = pd.DataFrame()
    flat_list = isinstance(table, list | tuple) and not any(_is_row(row) for row in table)
    if rows.empty or flat_list or getattr(table, "ndim", 2) != 2:
        raise KatayoriError(f"{verb}: this is no table; give labels, {_EXAMPLE}")
    return rows


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple | np.ndarray | pd.Series)


def _listed(cluster: Sequence[Any]) -> np.ndarray:
    out = np.empty(len(cluster), dtype=object)
    out[:] = list(cluster)
    return out


def as_numbers(labels: pd.DataFrame) -> pd.DataFrame | None:
    """The labels as numbers; None where one of them is none.

    Example:
        >>> as_numbers(pd.DataFrame([[1, None]])).to_numpy().tolist()
        [[1.0, nan]]
    """
    for value in labels.to_numpy(object).ravel():
        is_number = isinstance(value, int | float | np.number | np.bool_)
        if not is_number and not pd.isna(value):
            return None
    return labels.astype(object).where(labels.notna(), np.nan).astype(float)


def codes(labels: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Labels as numbers of categories, NaN where missing, and how many there are.

    Example:
        >>> found, categories = codes(pd.DataFrame([["no", "yes"], ["no", None]]))
        >>> found.tolist(), categories
        ([[0.0, 1.0], [0.0, nan]], 2)
    """
    categories = categories_of(labels)
    columns = [labels[name].map(categories, na_action="ignore") for name in labels]
    return np.column_stack([column.to_numpy(float) for column in columns]), len(categories)


def from_counts(own: UnitTable) -> UnitTable:
    """Units x raters that have the counts of units x categories.

    Raises KatayoriError for what are no counts, or not of the same number of raters in each unit.

    Example:
        >>> from_counts(given_table("fleiss_kappa", [[2, 0], [1, 1]], None)).labels.to_numpy()
        array([[0, 0],
               [0, 1]])
    """
    numbers = as_numbers(own.labels)
    whole = numbers is not None and bool((numbers.to_numpy() % 1 == 0).all())
    if (
        numbers is None
        or not whole
        or numbers.sum(axis=1).nunique() != 1
        or numbers.lt(0).any(axis=None)
    ):
        raise KatayoriError(
            "fleiss_kappa: counts are whole numbers with the same sum in every unit, e.g."
            " [[3, 0], [1, 2]] for three raters and two categories"
        )
    counts = numbers.to_numpy(int)
    places = np.arange(counts.shape[1])
    return own._replace(labels=pd.DataFrame([np.repeat(places, one) for one in counts]))


def categories_of(labels: pd.DataFrame) -> dict[Any, int]:
    """A number for every label that occurs, in the order of their names.

    Example:
        >>> categories_of(pd.DataFrame({"ann": ["yes", "no"], "ben": ["no", None]}))
        {'no': 0, 'yes': 1}
    """
    labels_given = pd.unique(pd.Series(labels.to_numpy(dtype=object).ravel()).dropna())
    return {label: code for code, label in enumerate(sorted(labels_given, key=str))}
