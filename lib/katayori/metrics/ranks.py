"""Tests of ranks, one cell at a time, and p values adjusted for how many were asked."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from katayori.frame_checks import Column
from katayori.frames import LABEL_OR_NONE, require

# -- families of tests -----------------------------------------------------------------------------


def adjust(frame: pd.DataFrame, *, p: str, family: str | Sequence[str] = ()) -> pd.DataFrame:
    """The frame with `p_holm`, p adjusted by Holm's method inside each family, and `tests`.

    Formula: the k-th smallest of m p values times m - k + 1, never below that of a smaller p and
    never above 1. A missing p is no test: it stays missing and does not count.

    Args:
        frame: a row a test, as a verb gives it. p: column of the unadjusted p values.
        family: columns that tell families apart; without any, all rows are one family.

    Returns:
        the frame, with p_holm and tests (size of the family, without missing p).

    Raises:
        FrameError: a column that is lacking, a p outside [0, 1].

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.

    Example:
        >>> tests = pd.DataFrame({"model": ["a", "a", "b"], "p": [0.04, 0.01, 0.04]})
        >>> adjust(tests, p="p", family="model")[["p_holm", "tests"]].to_numpy().tolist()
        [[0.04, 2.0], [0.02, 2.0], [0.04, 1.0]]
    """
    names = [family] if isinstance(family, str) else list(family)
    require("adjust", frame, {p: Column("probability", 0.03, may_miss=True)})
    require("adjust", frame, dict.fromkeys(names, LABEL_OR_NONE))
    number = pd.Series(0, frame.index)
    if names:
        number = frame.groupby(names, sort=False, dropna=False, observed=True).ngroup()
    families = frame[p].astype(float).groupby(number)
    adjusted = families.transform(lambda one: holm(one.to_numpy()))
    return frame.assign(p_holm=adjusted, tests=families.transform("count").astype(int))


def holm_multipliers(p: npt.ArrayLike) -> np.ndarray:
    """What Holm multiplies each p with, along the last axis: tests done, less the smaller p.

    NaN where p is NaN.

    Example:
        >>> holm_multipliers([0.04, 0.01, np.nan])
        array([ 1.,  2., nan])
    """
    p = np.asarray(p, float)
    if ((p < 0) | (p > 1)).any():
        raise ValueError("p values must lie in [0, 1]")
    n_smaller = np.argsort(np.argsort(p, axis=-1, kind="stable"), axis=-1)  # NaN come last
    n_tests = (~np.isnan(p)).sum(axis=-1, keepdims=True)
    return np.where(np.isnan(p), np.nan, n_tests - n_smaller)


def holm(p: npt.ArrayLike) -> np.ndarray:
    """Holm-Bonferroni adjusted p along the last axis.

    A NaN is no test: it stays NaN outside the family. Raises ValueError for p outside [0, 1].

    Reference: S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.

    Example:
        >>> holm([0.04, 0.01, np.nan])
        array([0.04, 0.02,  nan])
    """
    p = np.asarray(p, float)
    scaled = p * holm_multipliers(p)
    order = np.argsort(p, axis=-1, kind="stable")
    # An adjusted p is never below that of a smaller p, and never above 1.
    steps = np.maximum.accumulate(np.take_along_axis(scaled, order, axis=-1), axis=-1)
    out = np.empty_like(p)
    np.put_along_axis(out, order, np.minimum(steps, 1), axis=-1)
    return out
