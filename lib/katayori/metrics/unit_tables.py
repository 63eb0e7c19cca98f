"""Tables of units x raters that a user gives, and their labels as numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frames import FrameError, _known, reason_of

#: The column of clusters that the verbs take for granted.
_QUESTION = "question"
_EXAMPLE = "e.g. [[1, 1], [0, 1], [1, None]], a row a unit and a column a rater"


class UnitTable(NamedTuple):
    """Labels (units x raters; missing: None or NaN) and the cluster of each unit."""

    labels: pd.DataFrame
    cluster: np.ndarray


def is_not_asked(table: Any) -> bool:
    """Whether a table is empty and says why.

    Example:
        >>> is_not_asked(pd.DataFrame({"ann": [1]}))
        False
    """
    return isinstance(table, pd.DataFrame) and bool(reason_of(table))


def given_table(
    verb: str, table: Any, cluster: str | Sequence[Any] | None, *, counts: bool = False
) -> UnitTable:
    """The labels and clusters of a table of units x raters.

    Args:
        verb: its name, which begins every message.
        table: a frame, an array or a list of rows. A label is missing as None, NaN, NA or NaT, or
            as one of their texts (`nan`, an empty one).
        cluster: of each unit: a list, or the column that holds it. `question` where there is no
            such column, and None: each unit on its own. A column `question` is never a rater.
        counts: whether columns are categories, of which there may be more than units.

    Raises:
        KatayoriError: what has not two dimensions, rows of several lengths, labels that are lists,
        a column that is not there, clusters that are missing or of another length, an empty table;
        without clusters more raters than units, as in a table that was not turned round.

    Example:
        >>> given_table("alpha", [[1, 1], [0, None]], None).cluster.tolist()
        [0, 1]
    """
    if not isinstance(table, pd.DataFrame):
        table = _framed(verb, table)
    labels = table.reset_index(drop=True)
    if isinstance(cluster, str) and cluster in labels:
        groups = labels[cluster].to_numpy(object)
        labels = labels.drop(columns=cluster)
    elif isinstance(cluster, str) and cluster != _QUESTION:
        there = ", ".join(map(repr, labels.columns))
        raise FrameError(f"{verb}: no column {cluster!r} of clusters; columns: {there}")
    else:
        cluster = None if isinstance(cluster, str) else cluster
        each = range(len(labels)) if cluster is None else list(cluster)
        groups = pd.Series(each, dtype=object).to_numpy()
    labels = labels.drop(columns=_QUESTION, errors="ignore")
    if len(groups) != len(labels):
        raise KatayoriError(
            f"{verb}: {len(labels)} units and {len(groups)} clusters; give one of each unit"
        )
    if labels.empty:
        raise KatayoriError(f"{verb}: the table is empty; give labels, {_EXAMPLE}")
    labels.columns = range(labels.shape[1])  # two raters may have one name
    if cluster is None and not counts and labels.shape[1] > max(2, len(labels)):
        raise KatayoriError(
            f"{verb}: {len(labels)} units and {labels.shape[1]} raters; a row is a unit: turn the"
            " table round (table.T), or give cluster= if there are more raters than units"
        )
    if pd.isna(groups).any():
        raise KatayoriError(f"{verb}: a cluster is missing; give one of each unit")
    for one in labels.to_numpy(object).ravel():
        if pd.api.types.is_list_like(one):
            raise KatayoriError(f"{verb}: {one!r:.40} is no single label; give labels, {_EXAMPLE}")
    return UnitTable(_known(labels), groups)


def _framed(verb: str, table: Any) -> pd.DataFrame:
    is_row = pd.api.types.is_list_like
    if not is_row(table) or getattr(table, "ndim", 2) != 2 or not all(map(is_row, table)):
        raise KatayoriError(f"{verb}: this is no table; give labels, {_EXAMPLE}")
    if len(lengths := set(map(len, table))) > 1:
        several = " and ".join(map(str, sorted(lengths)))
        raise KatayoriError(f"{verb}: rows of {several} labels; give None where one is missing")
    return pd.DataFrame(table, dtype=object)


def codes(labels: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Labels as numbers of categories in the order of their names, NaN where missing, and how many.

    Raises: FrameError for a number that is there as a text, too: the two would never agree.

    Example:
        >>> found, categories = codes(pd.DataFrame([["no", "yes"], ["no", None]]))
        >>> found.tolist(), categories
        ([[0.0, 1.0], [0.0, nan]], 2)
    """
    flat_labels = pd.Series(labels.to_numpy(object).ravel())
    names = sorted(flat_labels.dropna().unique(), key=str)
    texts = pd.Series([one for one in names if isinstance(one, str)], dtype=object)
    if both := set(pd.to_numeric(texts, errors="coerce")).intersection(names):
        raise FrameError(f"labels: {both.pop():g} is there as number and as text; write them alike")
    numbers = flat_labels.map({name: number for number, name in enumerate(names)})
    return numbers.to_numpy(float).reshape(labels.shape), len(names)
