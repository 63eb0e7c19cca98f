"""Intervals from resamples, tests by exchanged signs, cells and their status, as several benchmarks
use them."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar

PATTERNS = 9999  # of signs, drawn at most
FEW_CLUSTERS = 10  # below this many, an interval over clusters is too narrow to be quoted


def cells(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Key and rows of every cell of `by`, in the order of the frame; a missing value is a value of
    its own."""
    for key, cell in frame.groupby(list(by), sort=False, dropna=False):
        yield dict(zip(by, key, strict=True)), cell


def status_of(problems: Mapping[str, Any]) -> str:
    """The name of the first problem that holds, `ok` where none does."""
    return next((status for status, holds in problems.items() if holds), "ok")


def cluster_draws(k: int, n_resamples: int, seed: int | list[int]) -> np.ndarray:
    """How often each of k clusters is drawn in each resample (resamples x k); fewer than two are
    never resampled."""
    if k < 2:
        return np.zeros((0, k))
    return np.random.default_rng(seed).multinomial(k, np.full(k, 1 / k), n_resamples)


def sign_test(won: int, lost: int) -> float:
    """p of the exact two-sided sign test, McNemar's where pairs are right or wrong; NaN where
    nothing differs."""
    return float(mcnemar([[0, won], [lost, 0]], exact=True).pvalue) if won + lost else np.nan


def interval(resampled: np.ndarray) -> dict[str, float]:
    """ci_low and ci_high, the 2.5 and 97.5 % points of resampled values without the undefined
    ones."""
    kept = resampled[~np.isnan(resampled)]
    low, high = np.quantile(kept, [0.025, 0.975]) if len(kept) else (np.nan, np.nan)
    return {"ci_low": float(low), "ci_high": float(high)}


def swap_test(shares: np.ndarray, seed: int) -> float:
    """p of a sum when each cluster's share in it may change its sign; NaN where nothing differs."""
    if np.abs(shares).max() < 1e-12:
        return np.nan
    t, rng = len(shares), np.random.default_rng(seed)
    exact = 2**t <= PATTERNS
    signs = (
        list(itertools.product([1.0, -1.0], repeat=t))
        if exact
        else rng.choice([1.0, -1.0], (PATTERNS, t))
    )
    extreme = np.abs(np.asarray(signs) @ shares) >= abs(shares.sum()) - 1e-12
    return float(extreme.mean() if exact else (1 + extreme.sum()) / (1 + PATTERNS))


def smallest_p(clusters: int) -> float:
    """The smallest p that `swap_test` can give with so many clusters; NaN without any.

    Example:
        >>> smallest_p(10) == 2 / 1024
        True
    """
    if clusters < 1:
        return float("nan")
    return 2.0 ** (1 - clusters) if 2**clusters <= PATTERNS else 1 / (1 + PATTERNS)
