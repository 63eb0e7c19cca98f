"""Krippendorff's alpha of categories, by its closed form, with the jackknife over clusters.

alpha = 1 - D_o / D_e, with n_uc the values of category c in unit u, m_u all values of unit u (units
with fewer than two are left out), n_c and n the sums over units:

    D_o = (1 / n) sum_u sum_c n_uc (m_u - n_uc) / (m_u - 1)
    D_e = (n^2 - sum_c n_c^2) / (n (n - 1))

Reference: K. Krippendorff, Content Analysis, 2004, ch. 11.
"""

from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.intervals import NO_INTERVAL_BELOW, mean_interval


def category_counts(codes: np.ndarray, categories: int) -> np.ndarray:
    """How often each unit has each category: units x categories.

    Args:
        codes: numbers of categories, NaN for missing (shape: units x raters).

    Example:
        >>> category_counts(np.array([[0, 1, 1], [0, np.nan, 0]]), 2).tolist()
        [[1, 2], [2, 0]]
    """
    return (codes[:, :, None] == np.arange(categories)).sum(axis=1)


def nominal_alpha(counts: np.ndarray) -> float:
    """Alpha of units x categories; NaN where nothing can be paired or only one category occurs.

    Example:
        >>> round(nominal_alpha(np.array([[2, 0], [0, 2], [1, 1]])), 3)
        0.444
    """
    disagreement, per_category = _sums(counts)
    return float(_alpha(disagreement.sum(), per_category.sum(axis=0)))


def nominal_alpha_interval(counts: np.ndarray, cluster: np.ndarray) -> dict[str, Any]:
    """The 95 % interval of alpha: each cluster is left out once.

    z = log(1 - alpha), whose pseudo-values have the mean and the spread of a t interval; on this
    scale the interval stays below 1 (as `agreement.alpha_jackknife` of numbers).

    Args:
        counts: units x categories. cluster: of each unit.

    Returns:
        ci_low, ci_high, clusters, status: `ok`, `few_clusters` (fewer than 5), `no_variation`,
        `undefined` (no alpha without some cluster).

    Example:
        >>> counts = np.tile([[3, 0], [0, 3], [2, 1], [3, 0]], (3, 1))
        >>> found = nominal_alpha_interval(counts, np.arange(12))
        >>> found["status"], round(found["ci_low"], 2), round(found["ci_high"], 2)
        ('ok', -0.47, 0.91)
    """
    kept = counts.sum(axis=1) >= 2
    number, names = pd.factorize(np.asarray(cluster)[kept])
    none = {"ci_low": np.nan, "ci_high": np.nan, "clusters": len(names)}
    if len(names) < NO_INTERVAL_BELOW:
        return none | {"status": "few_clusters"}
    disagreement, per_category = _sums(counts)
    observed = np.bincount(number, disagreement)
    margins = np.column_stack([np.bincount(number, one) for one in per_category.T])
    whole = 1 - _alpha(observed.sum(), margins.sum(axis=0))
    without = 1 - _alpha(observed.sum() - observed, margins.sum(axis=0) - margins)
    if np.isnan(without).any() or np.isnan(whole):
        return none | {"status": "undefined"}
    if min(without.min(), whole) < 1e-13:
        return none | {"status": "no_variation"}
    z = np.log(whole)
    found = mean_interval((len(names) * z - (len(names) - 1) * np.log(without)).tolist())
    half = (found["ci_high"] - found["ci_low"]) / 2
    ends = {"ci_low": float(1 - np.exp(z + half)), "ci_high": float(1 - np.exp(z - half))}
    return none | ends | {"status": found["status"]}


def _sums(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the pairable units: their pairs of unlike values, and their categories."""
    used = counts[counts.sum(axis=1) >= 2].astype(float)
    m = used.sum(axis=1, keepdims=True)
    return (used * (m - used) / (m - 1)).sum(axis=1), used


def _alpha(observed: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Alpha of the sums of one set of units, or of many side by side."""
    n = margins.sum(axis=-1)
    expected = n**2 - (margins**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)
