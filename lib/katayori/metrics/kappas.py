"""Agreement of labels beyond chance: Fleiss' and Cohen's kappa."""

from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats import inter_rater

from katayori.errors import KatayoriError
from katayori.frames import FrameError, flat
from katayori.metrics.intervals import NO_INTERVAL_BELOW, mean_interval
from katayori.metrics.unit_tables import UnitTable, codes, given_table, is_not_asked


def fleiss_kappa(table: Any, *, counts: bool = False, cluster: Any = "question") -> pd.DataFrame:
    """Fleiss' kappa of a table of units x raters, labels of any kind.

    Args:
        table: labels; units that lack one (None, NaN, NA, NaT, or the text of one) are left out and
            counted. With `counts`, units x categories: how many raters gave each category, the same
            number of raters in each unit.
        cluster: of each unit what would be drawn anew in another study: a list, or the column of
            the frame that holds it. Without a column `question`, or with None, each unit stands on
            its own; `question` is never a rater.

    Returns:
        One row: measure, value, n (units), n_invalid (units that lack a label), clusters, ci_low,
        ci_high (by t on the jackknife over clusters, cut off at 1 and at the lowest kappa that the
        raters can have, -1 / (raters - 1)), status: `ok`; `constant` (one category only);
        `one_annotator`; `no_comparisons`; `few_clusters`, `no_variation`, `one_question_decides`
        (without one cluster all labels are the same): no interval.

    Raises:
        KatayoriError: no table of units x raters; labels that are lists; counts that are none, or
        not of the same number of raters.

    Source: J. L. Fleiss, Psychological Bulletin 76 (1971), 378-382 (by statsmodels).

    Example:
        >>> fleiss_kappa([[3, 0], [0, 3], [3, 0]], counts=True)["value"].tolist()
        [1.0]
    """
    if is_not_asked(table):
        return flat([], table, names=["measure"])
    own = given_table("fleiss_kappa", table, cluster, counts=counts)
    return _kappa("fleiss_kappa", _from_counts(own) if counts else own)


def cohen_kappa(first: Any, second: Any = None, *, cluster: Any = "question") -> pd.DataFrame:
    """Cohen's kappa of two raters, labels of any kind.

    Args:
        first, second: their labels of the same units, as lists, arrays or columns; or only `first`,
            a table of two columns.
        cluster: as of `fleiss_kappa`.

    Returns:
        as `fleiss_kappa`; n are the units that both labelled.

    Raises:
        KatayoriError: other lengths, or a table that has not two raters.

    Source: J. Cohen, Educational and Psychological Measurement 20 (1960), 37-46 (by statsmodels).

    Example:
        >>> cohen_kappa(list("1122"), list("1121"))[["value", "n"]].to_numpy().tolist()
        [[0.5, 4.0]]
    """
    if is_not_asked(first):
        return flat([], first, names=["measure"])
    if second is not None:
        for labels in (first, second):
            if not pd.api.types.is_list_like(labels) or isinstance(labels, dict | set):
                raise FrameError(f"cohen_kappa: {labels!r:.40} is no list of labels")
        columns = [pd.Series(list(labels), dtype=object) for labels in (first, second)]
        if len(columns[0]) != len(columns[1]):
            raise FrameError(
                f"cohen_kappa: {len(columns[0])} labels and {len(columns[1])}; give one of each for"
                ' every unit, e.g. cohen_kappa(["a", "b"], ["a", "a"])'
            )
        first = pd.concat(columns, axis=1)
    own = given_table("cohen_kappa", first, cluster)
    if own.labels.shape[1] != 2:
        raise FrameError(
            f"cohen_kappa: {own.labels.shape[1]} raters; it is of two (fleiss_kappa takes more)"
        )
    return _kappa("cohen_kappa", own)


def _from_counts(own: UnitTable) -> UnitTable:
    """Units x raters that have the counts of units x categories."""
    counts = own.labels.apply(pd.to_numeric, errors="coerce")
    if ((counts % 1 != 0) | (counts < 0)).any(axis=None) or counts.sum(axis=1).nunique() != 1:
        raise KatayoriError(
            "fleiss_kappa: counts are whole numbers with the same sum in every unit, e.g."
            " [[3, 0], [1, 2]] for three raters and two categories"
        )
    places = np.arange(counts.shape[1])
    rows = [np.repeat(places, one) for one in counts.to_numpy(int)]
    return own._replace(labels=pd.DataFrame(rows))


def _kappa(measure: str, own: UnitTable) -> pd.DataFrame:
    """The row of one kappa, of the units that every rater labelled."""
    labels, categories = codes(own.labels)
    whole = ~np.isnan(labels).any(axis=1)
    kept = labels[whole].astype(int)
    number, names = pd.factorize(own.cluster[whole])
    row = {"measure": measure, "value": np.nan, "n": len(kept)}
    row |= {"n_invalid": len(labels) - len(kept), "clusters": len(names)}
    if labels.shape[1] < 2:
        row["status"] = "one_annotator"
    elif not len(kept):
        row["status"] = "no_comparisons"
    elif len(np.unique(kept)) < 2:
        row["status"] = "constant"
    else:
        row["value"] = value = _beyond_chance(measure, kept, categories)
        row["status"] = "few_clusters"
        if len(names) >= NO_INTERVAL_BELOW:
            places = range(len(names))
            left = [_beyond_chance(measure, kept[number != one], categories) for one in places]
            pseudo = len(names) * value - (len(names) - 1) * np.array(left)
            interval = mean_interval(pseudo - pseudo.mean() + value)
            lowest = -1 / (labels.shape[1] - 1)
            ends = np.clip([interval["ci_low"], interval["ci_high"]], lowest, 1)
            row |= {"ci_low": ends[0], "ci_high": ends[1], "status": interval["status"]}
            if np.isnan(pseudo).any():
                row["status"] = "one_question_decides"
    return flat([row], pd.DataFrame(), names=["measure"])


def _beyond_chance(measure: str, labels: np.ndarray, categories: int) -> float:
    """A kappa of units x raters, numbers of categories; NaN where all are the same."""
    if np.ptp(labels) == 0:
        return np.nan
    if measure == "fleiss_kappa":
        counts = (labels[:, :, None] == np.arange(categories)).sum(axis=1)
        return float(inter_rater.fleiss_kappa(counts))
    table = np.zeros((categories, categories))
    np.add.at(table, tuple(labels.T), 1)
    return float(inter_rater.cohens_kappa(table, return_results=False))
