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
    family = np.arange(p.size) // max(p.shape[-1], 1)
    return holm_in_families(p.ravel(), family)[0].reshape(p.shape)


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
