"""Intervals over clusters that hold at the edge (0 of n, n of n) and with few clusters.

A cluster is what would be drawn anew in another study: a question, a template, a pair of answers, a
case, a family of items. Answers of one cluster resemble each other, so a thousand answers to four
templates know little more than four numbers.

A score is one ratio of sums over clusters, or the difference of two. Each cluster's contribution to
it comes from linearisation, so that clusters with unequal numbers of valid answers count for what
they hold; where the numbers are equal it is the cluster's own score.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t

#: With fewer clusters no interval is given, and below the second number a note says so.
NO_INTERVAL_BELOW = 5
#: Below this many, an interval over clusters is too narrow to be quoted.
FEW_CLUSTERS = 10
#: A mean probability nearer than this to 0 or 1 has no symmetric interval.
EDGE = 0.05


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
        "status": "ok",
    }
    if clusters < NO_INTERVAL_BELOW:
        return out | {"status": "few_clusters" if clusters else "no_valid_answer"}
    # Rounding leaves about 1e-17 between equal numbers.
    if np.ptp(values) < 1e-12:
        return out | {"status": "no_variation"}
    se = float(values.std(ddof=1) / np.sqrt(clusters))
    half = t.ppf((1 + level) / 2, clusters - 1) * se
    return out | {"ci_low": out["value"] - half, "ci_high": out["value"] + half, "se": se}


#: One ratio: what is summed and what it is divided by (shape of either: clusters).
Ratio = tuple[np.ndarray, np.ndarray]


def contributions(first: Ratio, second: Ratio | None = None) -> np.ndarray:
    """What each template contributes to a ratio of sums, or to a ratio less a second one.

    With r = sum a / sum b over C templates, template c contributes r + (a_c - r b_c) / mean(b);
    the mean of the contributions is the score. Templates without any answer are left out.

    Args:
        first: numerators a and denominators b (shape: templates).
        second: of the ratio that is taken off.

    Returns:
        contributions (shape: templates with an answer); empty where a ratio has no denominator.

    Coverage of their interval by t, of Diff-bias (data/simulated/interval_coverage.csv; p of the
    answers choose a person, 60 % of them the biased one): 4 of 96 cells below 93 %, all with
    correlation .2 inside clusters: p .005 in 50 clusters of 40 answers (.894), p .05 in 10 and 20
    of 40 (.920, .922), p 1 in 5 of 4 (.924); 24 with an interval in fewer than 80 % of studies,
    where hardly anybody chooses a person: p .005 with fewer than about 500 answers in all, or with
    correlation .2 in all cells but 50 of 40; p .05 in 5 clusters of 4, and with correlation .2 in 5
    of 12 and 10 of 4.

    Example:
        >>> contributions((np.array([1.0, 3.0]), np.array([4.0, 4.0]))).tolist()
        [0.25, 0.75]
    """
    ratios = [first] if second is None else [first, second]
    kept = np.sum([b for _, b in ratios], axis=0) > 0
    out = np.zeros(int(kept.sum()))
    for sign, (a, b) in zip((1, -1), ratios, strict=False):
        if not b.sum() > 0:
            return np.zeros(0)
        ratio = a.sum() / b.sum()
        out += sign * (ratio + (a[kept] - ratio * b[kept]) / b[kept].mean())
    return out


def clusters_in(*ratios: Ratio) -> int:
    """How many clusters have an answer in the ratio; of two ratios, in the one with fewer.

    Example:
        >>> clusters_in((np.array([1.0, 0.0]), np.array([4.0, 0.0])))
        1
    """
    return min(int((whole > 0).sum()) for _, whole in ratios)


def difference(values: np.ndarray, clusters: int) -> dict[str, Any]:
    """ci_low, ci_high and status of a ratio, or of a difference of two, by t on its contributions.

    Coverage of the 95 % intervals, drawn as in `lib/tests/test_shares.py`, 1,000 studies
    a cell, 12 ambiguous items a template, Acc_a .05, .5 and .95, intracluster correlation 0 and .2,
    a lean of .6 among the persons named or none, one category of 10 templates or five of 50 of
    which one leans. Diff_a: .943 and more, save three cells of 10 templates that lean: .920 (Acc_a
    .05, correlation .2), .927 (Acc_a .95, correlation 0) and, the worst, .856 (Acc_a .95,
    correlation .2, where 5 % of 120 answers name a person: with so few errors an interval of Diff_a
    from 10 templates is too narrow).

    Args:
        values: of `contributions`.
        clusters: of `clusters_in`; below 5 there is no interval, however many contribute to the
            other ratio.

    Example:
        >>> difference(np.array([0.1, 0.2, 0.0, 0.3, 0.4]), clusters=5)["status"]
        'ok'
    """
    found = mean_interval(values.tolist())
    if clusters < NO_INTERVAL_BELOW:
        return none() | {"status": "few_clusters"}
    return {name: found[name] for name in ("ci_low", "ci_high", "status")}


def probability(values: np.ndarray, clusters: int) -> dict[str, Any]:
    """ci_low, ci_high and status of a mean probability, as `difference`.

    status `edge`, without an interval, where the mean lies below .05 or above .95: a symmetric
    interval does not hold there. Take the mean of the log odds instead.

    Coverage (data/simulated/interval_coverage.csv; log odds normal with SD 1): the mean probability
    has 0 of 72 cells below 93 %, lowest .933; 24 with an interval in fewer than 80 % of studies,
    all those at .005, by status `edge`. The mean log odds have 0 of 72 cells below 93 %, lowest
    .937, and 0 with an interval in fewer than 80 % of studies.

    Example:
        >>> probability(np.full(4, 0.5), clusters=4)["status"]
        'few_clusters'
        >>> probability(np.array([0.01, 0.02, 0.01, 0.03, 0.02]), clusters=5)["status"]
        'edge'
    """
    values = np.clip(values, 0, 1)
    found = difference(values, clusters)
    if found["status"] == "ok" and not EDGE <= values.mean() <= 1 - EDGE:
        return none() | {"status": "edge"}
    return found


def none() -> dict[str, Any]:
    """The ends of no interval.

    Example:
        >>> none()
        {'ci_low': nan, 'ci_high': nan}
    """
    return {"ci_low": np.nan, "ci_high": np.nan}


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


# -- as text ---------------------------------------------------------------------------------------


def with_interval(
    row: Any,
    digits: int = 1,
    scale: float = 100,
    signed: bool = False,
    ends: tuple[str, str] = ("ci_low", "ci_high"),
) -> str:
    """A row's `value` and interval as one text, times `scale`: "55.6 [50.1, 60.2]".

    † where its `few` is true. Only the value where there is no interval; an em dash with the
    `verdict` or else the `status`, if any, where it is undefined.

    Example:
        >>> with_interval({"value": 0.5, "ci_low": 0.25, "ci_high": 0.75})
        '50.0 [25.0, 75.0]'
        >>> with_interval({"value": float("nan"), "ci_low": 0, "ci_high": 1, "status": "constant"})
        '— (constant)'
    """
    value, low, high = (scale * row[name] for name in ("value", *ends))
    if math.isnan(value):
        told = [row.get(name) for name in ("verdict", "status")]
        reason = next((one for one in told if isinstance(one, str) and one), "")
        return f"— ({reason})" if reason else "—"
    sign = "+" if signed else ""

    def rounded(number: float) -> str:
        return f"{round(number, digits) + 0.0:{sign}.{digits}f}"  # never "-0.0"

    has_interval = not (math.isnan(low) or math.isnan(high))
    interval = f" [{rounded(low)}, {rounded(high)}]" if has_interval else ""
    return rounded(value) + interval + (" †" if row.get("few") else "")
