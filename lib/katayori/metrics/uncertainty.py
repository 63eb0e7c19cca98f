"""Tests by exchanged signs, cells and their status.

As several benchmarks use them.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar

from katayori import frames
from katayori.metrics.intervals import FEW_CLUSTERS as FEW_CLUSTERS

PATTERNS = 9999  # of signs, drawn at most


def cells(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Key and rows of every cell of `by`, in the order of the frame.

    As `frames.cells`, but without any column in `by` an empty frame is one cell, too.

    Example:
        >>> frame = pd.DataFrame({"model": ["b", "b", "a"]})
        >>> [(key, len(cell)) for key, cell in cells(frame, ["model"])]
        [({'model': 'b'}, 2), ({'model': 'a'}, 1)]
    """
    if by:
        yield from frames.cells(frame, by)
    else:
        yield {}, frame


def status_of(problems: Mapping[str, Any]) -> str:
    """The name of the first problem that holds, `ok` where none does.

    Example:
        >>> status_of({"no_items": False, "no_answer": True}), status_of({"no_items": False})
        ('no_answer', 'ok')
    """
    return next((status for status, holds in problems.items() if holds), "ok")


def sign_test(won: int, lost: int) -> float:
    """p of the exact two-sided sign test, McNemar's where pairs are right or wrong.

    NaN where nothing differs.

    Example:
        >>> sign_test(5, 0)
        0.0625
    """
    return float(mcnemar([[0, won], [lost, 0]], exact=True).pvalue) if won + lost else np.nan


def swap_test(shares: np.ndarray, seed: int) -> float:
    """p of a sum when each cluster's share in it may change its sign; NaN where nothing differs.

    Example:
        >>> swap_test(np.array([0.1, 0.2, 0.1, 0.3]), seed=0)
        0.125
    """
    if np.abs(shares).max() < 1e-12:
        return np.nan
    observed = abs(shares.sum()) - 1e-12
    n_clusters = len(shares)
    if 2**n_clusters <= PATTERNS:
        signs = np.array(list(itertools.product([1.0, -1.0], repeat=n_clusters)))
        return float((np.abs(signs @ shares) >= observed).mean())
    signs = np.random.default_rng(seed).choice([1.0, -1.0], (PATTERNS, n_clusters))
    extreme = np.abs(signs @ shares) >= observed
    return float((1 + extreme.sum()) / (1 + PATTERNS))


def question_swap_test(differences: Sequence[float]) -> float:
    """p of a sum of differences when each question's difference may change its sign, two-sided.

    Args:
        differences: one number a question, such as right minus wrong, or hits of one method minus
            those of another (shape: questions).

    Returns:
        The exact share of all 2^Q sign patterns whose sum lies as far from 0 or farther (the
        observed pattern among them, so never 0); of other than whole numbers (1 + k) / (1 + B) by
        `swap_test`. NaN where no question differs.

    Example:
        >>> question_swap_test([1, 1, 1, 1, 1])
        0.0625
    """
    values = np.asarray(differences, float)
    values = values[np.isfinite(values) & (values != 0)]
    if not len(values):
        return float("nan")
    steps = np.abs(values).round().astype(int)
    if not np.allclose(np.abs(values), steps):
        return swap_test(values, 0)
    # The distribution of the sum, one question after the other: each adds its step or takes it off.
    reach = int(steps.sum())
    chance = np.zeros(2 * reach + 1)
    chance[reach] = 1.0
    for step in steps:
        chance = (np.roll(chance, step) + np.roll(chance, -step)) / 2
    sums = np.arange(-reach, reach + 1)
    observed = abs(round(float(values.sum())))
    return float(min(1.0, chance[np.abs(sums) >= observed].sum()))


def smallest_p(clusters: int) -> float:
    """The smallest p that `swap_test` can give with so many clusters; NaN without any.

    Example:
        >>> smallest_p(10) == 2 / 1024
        True
    """
    if clusters < 1:
        return float("nan")
    return 2.0 ** (1 - clusters) if 2**clusters <= PATTERNS else 1 / (1 + PATTERNS)
