"""Holm's method: p of a family of tests, adjusted."""

import numpy as np
import numpy.typing as npt
import pandas as pd


def holm(p: npt.ArrayLike) -> np.ndarray:
    """Holm-Bonferroni adjusted p along the last axis.

    A NaN is no test: it stays NaN outside the family. Raises ValueError for p outside [0, 1].

    Reference: S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.

    Example:
        >>> holm([0.04, 0.01, np.nan])
        array([0.04, 0.02,  nan])
    """
    p = np.asarray(p, float)
    if ((p < 0) | (p > 1)).any():
        raise ValueError("p values must lie in [0, 1]")
    order = np.argsort(p, axis=-1, kind="stable")  # NaN come last
    n_tests = (~np.isnan(p)).sum(axis=-1, keepdims=True)
    scaled = p * (n_tests - np.argsort(order, axis=-1))  # times the tests less the smaller p
    # An adjusted p is never below that of a smaller p, and never above 1.
    steps = np.maximum.accumulate(np.take_along_axis(scaled, order, axis=-1), axis=-1)
    out = np.empty_like(p)
    np.put_along_axis(out, order, np.minimum(steps, 1), axis=-1)
    return out


def holm_in_families(p: np.ndarray, family: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p adjusted inside each of the families 0, 1, ..., and the tests of each p's family.

    Example:
        >>> holm_in_families(np.array([0.04, 0.01, 0.04]), np.array([0, 0, 1]))
        (array([0.04, 0.02, 0.04]), array([2, 2, 1]))
    """
    tests = np.bincount(family, ~np.isnan(p)).astype(int)[family]
    order = np.lexsort((p, family))  # family by family, NaN last
    sizes = np.bincount(family)
    smaller = np.arange(len(p)) - (np.cumsum(sizes) - sizes)[family[order]]
    scaled = pd.Series(p[order] * (tests[order] - smaller))
    out = np.empty(len(p))
    out[order] = np.minimum(scaled.groupby(family[order]).cummax(), 1)
    return out, tests
