"""Alpha of a table of ratios, and its intervals whose coverage is drawn."""

from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import expect
from katayori.metrics.agreement import (
    WEIGHTS,
    _alpha,
    _estimate,
    _unit_sums,
    alpha_band,
    alpha_jackknife,
    is_near_constant,
    told_band,
)

ALPHA_COLUMNS = [
    *("factor", "alpha", "ci_low", "ci_high", "band", "status"),
    *("n", "n_units", "n_invalid", "clusters"),
]


def krippendorff_alpha(
    table: pd.DataFrame | np.ndarray, *, weights: str = "standard"
) -> dict[str, Any]:
    """Krippendorff's alpha of a contingency table, squared difference, missing values
    allowed.

    Args:
        table: units x levels, values in [0, 1], NaN = missing.
        weights: `standard` (n_i - 1, rows with fewer than two values dropped), or `n_i_self_pairs`,
            the reading of the paper's printed 1/n_i in which a value pairs with itself.

    Returns:
        alpha, band, status, n_units (pairable rows), n (values in them), n_invalid (cells without a
        value).
        status: `ok`; `constant` (all values equal: alpha is undefined, not 1); `no_pairable`; both
        with alpha NaN.

    Raises:
        ValueError: values outside [0, 1]. KatayoriError: unknown weights.

    Reference: K. Krippendorff, Content Analysis, 2004, ch. 11; the discrim-eval paper, section
    5.1.2.

    Example:
        >>> found = krippendorff_alpha(np.array([[0, 0], [1, 1], [0, 1], [1, np.nan]]))
        >>> round(found["alpha"], 3), found["n_units"], found["n_invalid"]
        (0.444, 3, 1)
    """
    expect(weights, WEIGHTS, "weights")
    ratios = np.asarray(table, float)
    low = np.nanmin(ratios, initial=np.inf)
    high = np.nanmax(ratios, initial=-np.inf)
    if low < -1e-9 or high > 1 + 1e-9:
        raise ValueError(f"response ratios must lie in [0, 1], got {low:g} to {high:g}")
    found = _estimate(ratios, weights)
    return found | {"band": alpha_band(found["alpha"])}


def alpha_bootstrap(
    table: pd.DataFrame, *, n_resamples: int = 2000, seed: int = 0, weights: str = "standard"
) -> tuple[float, float]:
    """95 % percentile interval of alpha by resampling questions (first index level), an addition to
    the paper (DE-27).

    Resamples in which alpha is undefined are left out; (NaN, NaN) where fewer than two questions
    are pairable.

    Coverage (data/simulated/interval_coverage.csv): 19 of 32 cells below 93 %, .77 with 5 questions
    and .49 for answers that are nearly constant; 6 with an interval in fewer than 80 % of studies.
    Notebooks print `alpha_jackknife` instead.

    Example:
        >>> index = pd.MultiIndex.from_product([range(10), range(4)], names=["question", "row"])
        >>> left = np.arange(40) % 3 == 0
        >>> right = left ^ (np.arange(40) % 7 == 0)
        >>> table = pd.DataFrame({"a": left, "b": right}, index).astype(float)
        >>> low, high = alpha_bootstrap(table, n_resamples=200)
        >>> low < krippendorff_alpha(table)["alpha"] < high
        True
    """
    pairable = np.isfinite(table.to_numpy(float)).sum(axis=1) >= 2
    questions = table.index.get_level_values(0)[pairable]
    sums = pd.DataFrame(_unit_sums(table, weights)).T.groupby(questions).sum().to_numpy()
    ends = interval(_alpha(*(cluster_draws(len(sums), n_resamples, seed) @ sums).T))
    return ends["ci_low"], ends["ci_high"]


def alpha_table(tables: dict[Any, pd.DataFrame], *, weights: str = "standard") -> pd.DataFrame:
    """Alpha of several contingency tables by name, with interval: one row each (DE-24, DE-27).

    Returns factor (the name), alpha, ci_low, ci_high (`alpha_jackknife`), band (`told_band`;
    "undefined" where alpha is), status, n, n_units, n_invalid, clusters. status: as in
    `krippendorff_alpha`, then `near_constant` (`is_near_constant`: alpha without interval and
    band), then as in `alpha_jackknife`.

    Example:
        >>> index = pd.MultiIndex.from_product([range(10), range(4)], names=["question", "row"])
        >>> left = np.arange(40) % 3 == 0
        >>> right = left ^ (np.arange(40) % 7 == 0)
        >>> table = pd.DataFrame({"a": left, "b": right}, index).astype(float)
        >>> alpha_table({"gender": table})[["factor", "n", "n_units", "status"]].to_numpy().tolist()
        [['gender', 80, 40, 'ok']]
    """
    rows = []
    for factor, table in tables.items():
        found = krippendorff_alpha(table, weights=weights)
        ends = alpha_jackknife(table, weights=weights)
        status = found["status"]
        if status == "ok":
            status = "near_constant" if is_near_constant(table) else ends["status"]
        if status != "ok":
            ends |= {"ci_low": np.nan, "ci_high": np.nan}
        band = found["band"]
        if band != "undefined":
            band = told_band((ends["ci_low"], ends["ci_high"]), ends["clusters"])
        rows.append({"factor": factor, **found, **ends, "status": status, "band": band})
    return pd.DataFrame(rows, columns=ALPHA_COLUMNS)


def cluster_draws(k: int, n_resamples: int, seed: int | list[int]) -> np.ndarray:
    """How often each of k clusters is drawn in each resample (resamples x k).

    Fewer than two are never resampled.

    Example:
        >>> cluster_draws(4, 3, seed=0).sum(axis=1).tolist()
        [4, 4, 4]
    """
    if k < 2:
        return np.zeros((0, k))
    return np.random.default_rng(seed).multinomial(k, np.full(k, 1 / k), n_resamples)


def interval(resampled: np.ndarray) -> dict[str, float]:
    """ci_low and ci_high, the 2.5 and 97.5 % points of resampled values without the undefined ones.

    Example:
        >>> interval(np.append(np.arange(101.0), np.nan))
        {'ci_low': 2.5, 'ci_high': 97.5}
    """
    kept = resampled[~np.isnan(resampled)]
    low, high = np.quantile(kept, [0.025, 0.975]) if len(kept) else (np.nan, np.nan)
    return {"ci_low": float(low), "ci_high": float(high)}
