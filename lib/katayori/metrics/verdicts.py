"""From an interval to a word: present, absent, undecided, and why."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

#: Patterns of signs that are enumerated at most; with more, this many are drawn.
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
