"""Intervals of shares, differences and mean probabilities over clusters (templates, questions).

A score is one ratio of sums over templates, or the difference of two. Each template's contribution
to it comes from linearisation, so that templates with unequal numbers of valid answers count for
what they hold; where the numbers are equal it is the template's own score.

Coverage of the 95 % intervals, drawn in `lib/tests/test_metrics_qa_intervals.py`: 1,000 studies a
cell, 12 ambiguous items a template, Acc_a .05, .5 and .95, intracluster correlation 0 and .2, a
lean of .6 among the persons named or none, one category of 10 templates or five of 50 of which one
leans. Acc_a: .945 and more everywhere. Diff_a: .943 and more, save three cells of 10 templates that
lean: .920 (Acc_a .05, correlation .2), .927 (Acc_a .95, correlation 0) and, the worst, .856 (Acc_a
.95, correlation .2, where 5 % of 120 answers name a person: with so few errors an interval of
Diff_a from 10 templates is too narrow).
"""

from typing import Any

import numpy as np

from katayori.metrics.intervals import NO_INTERVAL_BELOW, mean_interval, probability_interval

#: One ratio: what is summed and what it is divided by (shape of either: templates).
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


def templates_in(*ratios: Ratio | None) -> int:
    """How many templates have an answer in the ratio; of two ratios, in the one with fewer.

    Example:
        >>> templates_in((np.array([1.0, 0.0]), np.array([4.0, 0.0])))
        1
    """
    return min(int((ratio[1] > 0).sum()) for ratio in ratios if ratio is not None)


def difference(values: np.ndarray, templates: int) -> dict[str, Any]:
    """ci_low, ci_high and status of a score by t on its contributions (`intervals.mean_interval`).

    `templates` as of `templates_in`: below 5 there is no interval, however many contribute to the
    other ratio.

    Example:
        >>> difference(np.array([0.1, 0.2, 0.0, 0.3, 0.4]), templates=5)["status"]
        'ok'
    """
    interval = mean_interval(values.tolist())
    return _ends(interval) if templates >= NO_INTERVAL_BELOW else _few()


def probability(values: np.ndarray, templates: int) -> dict[str, Any]:
    """ci_low, ci_high and status of a mean probability (`intervals.probability_interval`).

    Example:
        >>> probability(np.full(4, 0.5), templates=4)["status"]
        'few_clusters'
    """
    interval = probability_interval(np.clip(values, 0, 1).tolist())
    return _ends(interval) if templates >= NO_INTERVAL_BELOW else _few()


def _few() -> dict[str, Any]:
    return {"ci_low": np.nan, "ci_high": np.nan, "status": "few_clusters"}


def _ends(interval: dict[str, Any]) -> dict[str, Any]:
    return {name: interval[name] for name in ("ci_low", "ci_high", "status")}


def none() -> dict[str, Any]:
    """The ends of no interval.

    Example:
        >>> none()
        {'ci_low': nan, 'ci_high': nan}
    """
    return {"ci_low": np.nan, "ci_high": np.nan}
