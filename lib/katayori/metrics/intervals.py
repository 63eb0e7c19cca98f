"""Intervals over clusters that hold at the edge (0 of n, n of n) and with few clusters.

A cluster is what would be drawn anew in another study: a question, a template, a pair of answers, a
case, a family of items. Answers of one cluster resemble each other, so a thousand answers to four
templates know little more than four numbers.

References: E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected
number of positive counts, Survey Methodology 24 (1998) 193-201, with a floor and a cap on the
effective sample size whose coverage is drawn in data/simulated/interval_coverage.csv.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logit
from scipy.stats import beta, t

#: With fewer clusters no interval is given, and below the second number a note says so.
NO_INTERVAL_BELOW = 5
#: Below this many, an interval over clusters is too narrow to be quoted.
FEW_CLUSTERS = 10
FEW_CLUSTERS = 10
#: A mean probability nearer than this to 0 or 1 has no symmetric interval.
EDGE = 0.05


def _defined(total: np.ndarray, clusters: int) -> str:
    if total.sum() == 0:
        return "no_valid_answer"
    if clusters < NO_INTERVAL_BELOW:
        return "few_clusters"
    return "ok"


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


def mean_interval(contributions: Sequence[float], level: float = 0.95) -> dict[str, Any]:
    """A mean of one number a cluster (a difference of shares, a Diff-bias) and its interval by t.

    Args:
        contributions: one value a cluster (shape: clusters); NaN is a cluster without answers.
        level: of the interval.

    Returns:
        value, ci_low, ci_high, se, clusters, status: `ok`; `no_variation` (all clusters equal:
        value without interval, never an interval of width 0); `few_clusters` (fewer than 5);
        `no_valid_answer`.

    Coverage of a difference of shares (data/simulated/interval_coverage.csv): 0 of 96 cells below
    93 %, lowest .940; 39 with an interval in fewer than 80 % of studies, where no two clusters
    differ: both shares 0 or 1 (never an interval); .005 with 5 or 10 clusters of 4 or 12 answers
    (18 to 68 %), with 20 of 4 (59 %), and with correlation .2 in 5 or 10 clusters of any size,
    20 of 4 or 12 and 50 of 4; .05 with correlation .2 in 5 clusters of 4 (76 %).

    Example:
        >>> found = mean_interval([0.1, 0.2, 0.0, 0.3, 0.4])
        >>> round(found["value"], 2), round(float(found["ci_low"]), 3), found["status"]
        (0.2, 0.004, 'ok')
    """
    values = np.asarray(contributions, float)
    values = values[np.isfinite(values)]
    clusters = len(values)
    out: dict[str, Any] = {
        "value": float(values.mean()) if clusters else np.nan,
        "ci_low": np.nan,
        "ci_high": np.nan,
        "se": np.nan,
        "clusters": clusters,
        "status": _defined(np.ones(clusters), clusters),
    }
    if out["status"] != "ok":
        return out
    # Rounding leaves about 1e-17 between equal numbers.
    if np.ptp(values) < 1e-12:
        return out | {"status": "no_variation"}
    se = float(values.std(ddof=1) / np.sqrt(clusters))
    half = t.ppf((1 + level) / 2, clusters - 1) * se
    return out | {"ci_low": out["value"] - half, "ci_high": out["value"] + half, "se": se}


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], level: float = 0.95
) -> dict[str, Any]:
    """A ratio of sums over clusters (a score such as a difference of rates) by linearisation.

    The contribution of cluster c is (a_c - r b_c) / mean(b), r the ratio of the sums; its mean is 0
    and its spread that of r. Returns as `mean_interval`.

    Coverage of Diff-bias (data/simulated/interval_coverage.csv; p of the answers choose a person,
    60 % of them the biased one): 4 of 96 cells below 93 %, all with correlation .2 inside clusters:
    p .005 in 50 clusters of 40 answers (.894), p .05 in 10 and 20 of 40 (.920, .922), p 1 in 5 of 4
    (.924); 24 with an interval in fewer than 80 % of studies, where hardly anybody chooses a
    person: p .005 with fewer than about 500 answers in all, or with correlation .2 in all cells but
    50 of 40; p .05 in 5 clusters of 4, and with correlation .2 in 5 of 12 and 10 of 4.

    Example:
        >>> found = ratio_interval([1, 2, 0, 1, 1], [4, 4, 4, 4, 4])
        >>> round(found["value"], 2), found["clusters"]
        (0.25, 5)
    """
    a, b = np.asarray(numerators, float), np.asarray(denominators, float)
    kept = np.isfinite(a) & np.isfinite(b) & (b != 0)
    a, b = a[kept], b[kept]
    if not len(b):
        return mean_interval([], level)
    ratio = a.sum() / b.sum()
    return mean_interval(ratio + (a - ratio * b) / b.mean(), level)


def probability_interval(
    probabilities: Sequence[float], level: float = 0.95, bound: float = 1e-12
) -> dict[str, Any]:
    """A mean probability over clusters; near 0 or 1 the interval is that of the mean log odds.

    Returns as `mean_interval`, and log_odds, log_odds_low, log_odds_high. status `edge` where the
    mean lies below .05 or above .95: then ci_low and ci_high are NaN, as a symmetric interval of
    the mean probability does not hold there.

    Coverage (data/simulated/interval_coverage.csv; log odds normal with SD 1): the mean probability
    has 0 of 72 cells below 93 %, lowest .933; 24 with an interval in fewer than 80 % of studies,
    all those at .005, by status `edge`. The mean log odds have 0 of 72 cells below 93 %, lowest
    .937, and 0 with an interval in fewer than 80 % of studies.

    Example:
        >>> found = probability_interval([0.01, 0.02, 0.01, 0.03, 0.02])
        >>> found["status"], round(found["log_odds"], 2)
        ('edge', -4.09)
    """
    p = np.asarray(probabilities, float)
    p = p[np.isfinite(p)]
    plain = mean_interval(p, level)
    odds = mean_interval(logit(np.clip(p, bound, 1 - bound)), level)
    names = {"log_odds": "value", "log_odds_low": "ci_low", "log_odds_high": "ci_high"}
    out = plain | {name: odds[field] for name, field in names.items()}
    if plain["status"] == "ok" and not EDGE <= plain["value"] <= 1 - EDGE:
        out |= {"ci_low": np.nan, "ci_high": np.nan, "status": "edge"}
    return out


def detectable_effect(se: float, n_clusters: int, level: float = 0.95, power: float = 0.8) -> float:
    """The true effect that a test at this standard error finds with the given power.

    (t of (1+level)/2 + t of power, on C - 1 degrees of freedom) x SE; NaN without an SE.

    Example:
        >>> round(detectable_effect(0.1, 20), 3)
        0.295
    """
    if not np.isfinite(se) or se <= 0 or n_clusters < NO_INTERVAL_BELOW:
        return np.nan
    quantiles = t.ppf((1 + level) / 2, n_clusters - 1) + t.ppf(power, n_clusters - 1)
    return float(quantiles * se)
