"""Agreement of raters (people, models, levels of a factor) on the same units, labels of any kind.

A table has a row a unit and a column a rater; a missing label is None or NaN.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frame_checks import FrameError
from katayori.measure.columns import flat
from katayori.metrics import agreement, label_agreement, nominal_alpha

SCALES = ("interval", "nominal")
_EXAMPLE = "e.g. [[1, 1], [0, 1], [1, None]], a row a unit and a column a rater"


class _Table(NamedTuple):
    """Labels (units x raters) and the cluster of each unit."""

    labels: pd.DataFrame
    cluster: np.ndarray


def alpha(
    table: Any, *, scale: str = "", cluster: str | Sequence[Any] | None = None
) -> pd.DataFrame:
    """Krippendorff's alpha of a table of units x raters; missing values are allowed.

    Args:
        table: a frame, an array or a list of rows.
        scale: `interval` (squared difference of numbers) or `nominal` (labels are equal or not);
            by default interval where every value is a number, else nominal. Numbers that only name
            categories need `scale="nominal"`.
        cluster: of each unit what would be drawn anew in another study, such as its question: a
            list, or the column of the frame that holds it. None: each unit on its own.

    Returns:
        One row: measure (`alpha, interval` or `alpha, nominal`), value, n (values of units with two
        or more), n_invalid (missing values), clusters, ci_low, ci_high (jackknife over clusters),
        status, n_units. status: `ok`; `constant` (all values equal: alpha is undefined, not 1);
        `no_pairable`; `near_constant` (of two values one is so rare that alpha tells nothing: no
        interval); `few_clusters` (fewer than 5), `no_variation`, `undefined`: no interval.

    Raises:
        KatayoriError: no table, texts on an interval scale, an unknown scale or column.

    Reference: K. Krippendorff, Content Analysis, 2004, ch. 11. See
    `metrics.agreement.alpha_without_noise` before sampled answers are called disagreement.

    Example:
        >>> labels = [["yes", "yes"], ["no", "no"], ["yes", "no"], ["no", "no"], ["no", None]]
        >>> alpha(labels)[["measure", "value", "n", "n_invalid"]].round(3).to_numpy().tolist()
        [['alpha, nominal', 0.533, 8, 1]]
    """
    own = _table("alpha", table, cluster)
    values = _as_numbers(own.labels)
    chosen = scale or ("nominal" if values is None else "interval")
    if chosen not in SCALES:
        raise KatayoriError(f"alpha: no scale {scale!r}; known: {', '.join(SCALES)}")
    given = own.labels.notna().sum(axis=1)
    row = {
        "measure": f"alpha, {chosen}",
        "value": np.nan,
        "n": int(given[given >= 2].sum()),
        "n_invalid": int(own.labels.isna().sum().sum()),
        "n_units": int((given >= 2).sum()),
        "clusters": len(pd.unique(own.cluster[given >= 2])),
    }
    kept = own.labels[given >= 2].to_numpy(object).ravel()
    distinct = len(pd.unique(pd.Series(kept).dropna()))
    if distinct < 2:
        return flat(
            [row | {"status": "constant" if row["n"] else "no_pairable"}], after=["n_units"]
        )
    if chosen == "interval":
        row |= _interval_alpha(_checked_numbers(own.labels, values), own.cluster)
    else:
        row |= _nominal_alpha(own)
    if distinct == 2 and agreement.is_near_constant(_two_values(own)):
        row |= {"ci_low": np.nan, "ci_high": np.nan, "status": "near_constant"}
    return flat([row], after=["n_units"])


def _interval_alpha(values: pd.DataFrame, cluster: np.ndarray) -> dict[str, Any]:
    by_cluster = pd.DataFrame(values.to_numpy(float), index=pd.Index(cluster))
    value = agreement.alpha_closed_form(by_cluster)
    return {"value": value} | agreement.alpha_jackknife(by_cluster)


def _nominal_alpha(own: _Table) -> dict[str, Any]:
    codes, categories = _codes(own.labels)
    counts = nominal_alpha.category_counts(codes, categories)
    interval = nominal_alpha.nominal_alpha_interval(counts, own.cluster)
    return {"value": nominal_alpha.nominal_alpha(counts)} | interval


def _two_values(own: _Table) -> np.ndarray:
    """A table of two values as 0 and 1."""
    return _codes(own.labels)[0]


def _as_numbers(labels: pd.DataFrame) -> pd.DataFrame | None:
    """The labels as numbers; None where one of them is none."""
    for value in labels.to_numpy(object).ravel():
        is_number = isinstance(value, int | float | np.number | np.bool_)
        if not is_number and not pd.isna(value):
            return None
    return labels.astype(object).where(labels.notna(), np.nan).astype(float)


def _checked_numbers(labels: pd.DataFrame, values: pd.DataFrame | None) -> pd.DataFrame:
    if values is not None:
        return values
    texts = (value for value in labels.to_numpy(object).ravel() if isinstance(value, str))
    raise KatayoriError(
        f"alpha: {next(texts, 'a value')!r} is no number, which scale='interval' needs; for labels"
        " use scale='nominal'"
    )


def fleiss_kappa(
    table: Any, *, counts: bool = False, cluster: str | Sequence[Any] | None = None
) -> pd.DataFrame:
    """Fleiss' kappa of a table of units x raters, labels of any kind.

    Args:
        table: labels; units that lack one are left out and counted. With `counts`, units x
            categories: how many raters gave each category, the same number of raters in each unit.
        cluster: as of `alpha`.

    Returns:
        One row: measure, value, n (units), n_invalid (units that lack a label), clusters, ci_low,
        ci_high (by t on the jackknife over clusters), status: `ok`; `constant` (one category only);
        `one_annotator`; `no_comparisons`; `few_clusters`, `no_variation`: no interval.

    Raises:
        KatayoriError: no table; counts that do not add up.

    Reference: J. L. Fleiss, Psychological Bulletin 76 (1971), 378-382 (by statsmodels).

    Example:
        >>> labels = [["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"], ["a", "b", "b"]]
        >>> fleiss_kappa(labels)[["value", "n", "status"]].round(3).to_numpy().tolist()
        [[0.333, 4, 'few_clusters']]
    """
    own = _table("fleiss_kappa", table, cluster)
    return _kappa("fleiss_kappa", _from_counts(own) if counts else own)


def cohen_kappa(
    first: Any, second: Any = None, *, cluster: str | Sequence[Any] | None = None
) -> pd.DataFrame:
    """Cohen's kappa of two raters, labels of any kind.

    Args:
        first, second: their labels of the same units, as lists, arrays or columns; or only `first`,
            a table of two columns.
        cluster: as of `alpha`.

    Returns:
        as `fleiss_kappa`; n are the units that both labelled.

    Raises:
        KatayoriError: other lengths, or a table that has not two raters.

    Reference: J. Cohen, Educational and Psychological Measurement 20 (1960), 37-46 (by
    statsmodels).

    Example:
        >>> cohen_kappa(list("1122"), list("1121"))[["value", "n"]].to_numpy().tolist()
        [[0.5, 4.0]]
    """
    if second is not None:
        columns = [pd.Series(list(labels), dtype=object) for labels in (first, second)]
        if len(columns[0]) != len(columns[1]):
            raise KatayoriError(
                f"cohen_kappa: {len(columns[0])} labels and {len(columns[1])}; give one of each for"
                ' every unit, e.g. cohen_kappa(["a", "b"], ["a", "a"])'
            )
        first = pd.concat(columns, axis=1)
    own = _table("cohen_kappa", first, cluster)
    if own.labels.shape[1] != 2:
        raise KatayoriError(
            f"cohen_kappa: {own.labels.shape[1]} raters; it is of two (fleiss_kappa takes more)"
        )
    return _kappa("cohen_kappa", own)


def _kappa(measure: str, own: _Table) -> pd.DataFrame:
    codes, categories = _codes(own.labels)
    row = label_agreement.agreement_row(measure, codes, pd.Series(own.cluster), categories)
    whole = (~np.isnan(codes)).all(axis=1)
    row |= {"measure": measure, "n_invalid": row["n_left_out"]}
    row["clusters"] = len(pd.unique(own.cluster[whole]))
    if row["status"] == "ok":
        row["status"] = row["ci_status"]
    return flat([row])


def _codes(labels: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Labels as numbers of categories, NaN where missing, and how many there are."""
    categories = label_agreement.categories_of(labels)
    columns = [labels[name].map(categories, na_action="ignore") for name in labels]
    return np.column_stack([column.to_numpy(float) for column in columns]), len(categories)


def _from_counts(own: _Table) -> _Table:
    """Units x raters that have the counts of units x categories."""
    numbers = _as_numbers(own.labels)
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


def _table(function: str, table: Any, cluster: str | Sequence[Any] | None) -> _Table:
    """The labels and clusters of what the user gave.

    Raises KatayoriError for what has not two dimensions, and for clusters of another length.
    """
    if not isinstance(table, pd.DataFrame):
        table = _framed(function, table)
    labels = table.reset_index(drop=True)
    if isinstance(cluster, str):
        if cluster not in labels:
            there = ", ".join(map(repr, labels.columns))
            raise FrameError(f"{function}: no column {cluster!r} of clusters; columns: {there}")
        groups = labels[cluster].to_numpy(object)
        labels = labels.drop(columns=cluster)
    else:
        groups = np.arange(len(labels)) if cluster is None else _listed(cluster)
    if len(groups) != len(labels):
        raise KatayoriError(
            f"{function}: {len(labels)} units and {len(groups)} clusters; give one of each unit"
        )
    if labels.empty:
        raise KatayoriError(f"{function}: the table is empty; give labels, {_EXAMPLE}")
    labels.columns = range(labels.shape[1])  # two raters may have one name
    return _Table(labels, groups)


def _framed(function: str, table: Any) -> pd.DataFrame:
    try:
        rows = pd.DataFrame(table, dtype=object)
    except (TypeError, ValueError):
        rows = pd.DataFrame()
    flat_list = isinstance(table, list | tuple) and not any(_is_row(row) for row in table)
    if rows.empty or flat_list or getattr(table, "ndim", 2) != 2:
        raise KatayoriError(f"{function}: this is no table; give labels, {_EXAMPLE}")
    return rows


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple | np.ndarray | pd.Series)


def _listed(cluster: Sequence[Any]) -> np.ndarray:
    out = np.empty(len(cluster), dtype=object)
    out[:] = list(cluster)
    return out
