"""Whether two paired conditions differ: their labels are exchanged inside each cluster."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.frames import LABEL, NUMBER_OR_NONE, FrameError, cells, flat, require
from katayori.metrics.intervals import mean_interval

#: Patterns of signs that are enumerated at most; with more, 9,999 are drawn.
MOST_PATTERNS = 10_000
_ROUNDING = 1e-12


def sign_swap_test(contributions: Sequence[float], seed: int = 0) -> dict[str, Any]:
    """Whether two paired conditions differ, by exchanging their labels inside clusters.

    p = share of sign patterns s with |sum s_c d_c| >= |sum d_c|, over the clusters whose difference
    d_c is not 0: all 2^n patterns up to 10,000, otherwise p = (1 + k) / 10,000 with k of 9,999
    drawn patterns. Clusters without a difference are dropped first, as they decide nothing.

    The null is that the labels are exchangeable inside each cluster, not "mean 0": for paired
    conditions only, never for a single skewed mean against a line (exponential contributions reject
    in .10 of studies of 10 clusters).

    Args:
        contributions: the difference of each cluster, in any unit; NaN: a cluster without answers.
        seed: of patterns drawn, with more than 13 clusters that differ.

    Returns:
        p, smallest_p (2/2^n, that this n of clusters can give; 1/10,000 where patterns are drawn),
        clusters, differ (n), status: `ok`; `no_difference` (p NaN, outside any family of tests).

    Source: P. Good, Permutation Tests, 3rd ed. (2005).

    Example:
        >>> found = sign_swap_test([0.1] * 6 + [0.0] * 44)
        >>> found["p"], found["smallest_p"], found["differ"]
        (0.03125, 0.03125, 6)
    """
    values = np.asarray(contributions, float)
    values = values[np.isfinite(values)]
    kept = values[np.abs(values) > _ROUNDING]
    n = len(kept)
    out = {"p": np.nan, "smallest_p": np.nan, "clusters": len(values), "differ": n}
    if not n:
        return out | {"status": "no_difference"}
    observed = abs(kept.sum()) - _ROUNDING * np.abs(kept).sum()
    if 2**n <= MOST_PATTERNS:
        signs = np.array(list(itertools.product([1.0, -1.0], repeat=n)))
        p = (np.abs(signs @ kept) >= observed).mean()
        return out | {"p": float(p), "smallest_p": 2.0 ** (1 - n), "status": "ok"}
    signs = np.random.default_rng(seed).choice([1.0, -1.0], (MOST_PATTERNS - 1, n))
    extreme = (np.abs(signs @ kept) >= observed).sum()
    smallest = 1 / MOST_PATTERNS
    return out | {"p": float(1 + extreme) * smallest, "smallest_p": smallest, "status": "ok"}


def swap_test(
    frame: pd.DataFrame,
    *,
    value: str,
    group: tuple[str, Any, Any],
    by: str | Sequence[str] = (),
    cluster: str = "question",
    seed: int = 0,
) -> pd.DataFrame:
    """Whether two paired conditions differ: their labels are exchanged inside each cluster.

    Args:
        frame: a row an answer. value: its column of numbers, missing where invalid.
        group: a column and two of its values, the first and the second condition.
        by: columns whose values are tested apart.
        cluster: what was asked under both conditions; one with a single condition is left out.
        seed: of patterns drawn, with more than 13 clusters that differ.

    Returns:
        by..., value (mean over clusters of the mean of the first condition less that of the
        second), n, n_invalid, clusters, ci_low, ci_high (95 %, t over clusters), status, p
        (two-sided), smallest_p (2/2^differ, the smallest that so many can give), differ (clusters
        whose difference is not 0; the others decide nothing and are left out of the test). status:
        `ok`; `no_difference` (no cluster differs: no p); `no_valid_answer` (no cluster with both);
        `few_clusters`, `no_variation`: a p, but no interval.

    Formula: `sign_swap_test` of the clusters' differences. Its null is that the labels are
    exchangeable inside each cluster, for paired conditions only.

    Raises:
        KatayoriError: a column that is not there or holds something else; a condition that is
        nowhere in its column.

    Source: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed., 2005.

    Example:
        >>> frame = pd.DataFrame({"question": [1, 1, 2, 2, 3, 3, 4, 4], "asked": ["a", "b"] * 4})
        >>> frame["yes"] = [1, 0, 1, 0, 1, 0, 1, 1]
        >>> table = swap_test(frame, value="yes", group=("asked", "a", "b"))
        >>> table[["value", "p", "smallest_p", "differ"]].to_numpy().tolist()
        [[0.75, 0.25, 0.25, 3.0]]
    """
    column, first, second = group
    held = {value: NUMBER_OR_NONE, column: LABEL, cluster: LABEL}
    names = require("swap_test", frame, held, by)
    for condition in (first, second):
        if len(frame) and not frame[column].eq(condition).any():
            there = ", ".join(map(repr, pd.unique(frame[column])[:8]))
            raise FrameError(f"swap_test: no {condition!r} in column {column!r}, which has {there}")
    rows = []
    for key, cell in cells(frame, names):
        used = cell[cell[column].isin([first, second])]
        row = {"n": int(used[value].notna().sum()), "n_invalid": int(used[value].isna().sum())}
        means = used[value].astype(float).groupby([used[cluster], used[column]]).mean().unstack()
        means = means.reindex(columns=[first, second])
        rows.append(key | row | _swapped((means[first] - means[second]).dropna().tolist(), seed))
    return flat(rows, frame, names, more=["p", "smallest_p", "differ"])


def _swapped(differences: list[float], seed: int) -> dict[str, Any]:
    """The test and the interval of the clusters' differences."""
    test = sign_swap_test(differences, seed)
    found = mean_interval(differences)
    if not differences or test["status"] == "ok":
        return test | found
    return test | found | {"status": test["status"], "ci_low": np.nan, "ci_high": np.nan}
