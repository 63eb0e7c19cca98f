"""The older interval of a share over clusters, with a floor under the design effect.

`metrics.shares` has the one that holds for counterbalanced designs, too; this one goes with its
last caller.

Source: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998) 193-201, with a floor and a cap
on the effective sample size whose coverage is drawn in data/simulated/interval_coverage.csv.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import beta, t

from katayori.metrics.intervals import _defined


def share_interval(
    hits: Sequence[float], totals: Sequence[float], level: float = 0.95
) -> dict[str, Any]:
    """A share of answers and its interval over clusters.

    Args:
        hits: number of hits in each cluster (shape: clusters).
        totals: number of valid answers in each cluster (shape: clusters); clusters without any do
            not count.
        level: of the interval.

    Returns:
        value (hits / answers), ci_low, ci_high, n (answers), clusters, n_effective, status:
        `ok`; `same_in_every_cluster` (every cluster has the same share, other than 0 and 1: fixed
        by the design, the interval treats answers as independent); `few_clusters` (fewer than 5:
        value without interval); `no_valid_answer`.

    Steps, for C clusters with y_c hits of n_c answers, n answers in all and the share p:

        1. variance of p over clusters, v = C/(C-1) sum (y_c - p n_c)^2 / n^2
        2. design effect, deff = max(1, v / (p (1-p) / n))
        3. effective size, n_eff = n/deff (t_{n-1} / t_{C-1})^2 with quantiles at 1 - (1-level)/2
        4. where the rarer answer occurs in fewer than min(6, C) clusters, no more than C answers
           count: n_eff = min(n_eff, C), without the correction by t
        5. Clopper and Pearson's interval of p n_eff hits among n_eff, by quantiles of the beta
           distribution

    Coverage (data/simulated/interval_coverage.csv; 5 to 50 clusters of 4 to 40 answers, p 0 to 1,
    correlation inside clusters 0 and .2): 0 of 96 cells below 93 %, lowest .944; 0 with an interval
    in fewer than 80 % of studies.

    Raises:
        ValueError: more hits than answers in a cluster, or different lengths.

    Example:
        >>> share_interval([0] * 10, [4] * 10)["ci_high"] < 0.31
        True
    """
    y = np.asarray(hits, float)
    n_c = np.asarray(totals, float)
    if y.shape != n_c.shape:
        raise ValueError(f"{len(y)} clusters of hits, {len(n_c)} of totals")
    if (y > n_c + 1e-9).any() or (y < 0).any():
        raise ValueError("a cluster has more hits than answers")
    y, n_c = y[n_c > 0], n_c[n_c > 0]
    clusters = len(n_c)
    n = float(n_c.sum())
    share = float(y.sum() / n) if n else np.nan
    out: dict[str, Any] = {"value": share, "ci_low": np.nan, "ci_high": np.nan, "n": int(n)}
    out |= {"clusters": clusters, "n_effective": np.nan, "status": _defined(n_c, clusters)}
    if out["status"] != "ok":
        return out
    same = 0 < share < 1 and np.allclose(y / n_c, share)
    size = n if same else _effective_size(y, n_c, share, level)
    low, high = clopper_pearson(share * size, size, level)
    status = "same_in_every_cluster" if same else "ok"
    return out | {"ci_low": low, "ci_high": high, "n_effective": size, "status": status}


def _effective_size(y: np.ndarray, n_c: np.ndarray, share: float, level: float) -> float:
    """How many independent answers the clusters are worth (steps 1 to 4 of `share_interval`)."""
    clusters, n = len(n_c), n_c.sum()
    upper = (1 + level) / 2
    # The rarer answer in few clusters: the variance between them cannot be known.
    with_rarer = min((y > 0).sum(), (y < n_c).sum())
    rare = with_rarer < min(6, clusters)
    design_effect = 1.0
    if 0 < share < 1:
        variance = clusters / (clusters - 1) * ((y - share * n_c) ** 2).sum() / n**2
        design_effect = max(1.0, variance / (share * (1 - share) / n))
    if rare:
        return float(min(n / design_effect, clusters))
    correction = (t.ppf(upper, n - 1) / t.ppf(upper, clusters - 1)) ** 2
    return float(n / design_effect * correction)


def clopper_pearson(hits: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share, for sizes that need not be whole numbers.

    Example:
        >>> low, high = clopper_pearson(0, 10)
        >>> low, round(high, 3)
        (0.0, 0.308)
    """
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high
