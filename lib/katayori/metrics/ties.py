"""What decides (arg max, signs, whether values differ) does not hang on the last bit of a float.

Processors differ in the last bits of sums, exponentials and matrix products. Two numbers that are
equal on paper may therefore differ by some 1e-16, in another direction on the next machine. Here
numbers that agree in 12 digits count as equal. A fixed distance is used rather than rounding, since
of two equal numbers near the edge of a rounding step one may go up.

What is compared are probabilities, shares and log odds, numbers of the order of 1, or differences
of such numbers. So the distance is never less than 1e-12: a difference of 1e-16 is rounding,
however large it is beside another one.
"""

import numpy as np
from numpy.typing import ArrayLike

#: Numbers whose distance is at most this share of the largest one, or of 1, are equal.
TOLERANCE = 1e-12


def _distance(size: ArrayLike) -> np.ndarray:
    """Up to which distance numbers of this size are equal."""
    return TOLERANCE * np.maximum(np.asarray(size, float), 1.0)


def highest(values: ArrayLike) -> np.ndarray:
    """Which values are the highest of their row, equal ones included.

    Args:
        values: any shape; a row is the last axis. NaN is never the highest.

    Returns:
        booleans of the same shape. `highest(values).argmax(-1)` is the first of those that share
        the highest value, so the order of the columns is the stated order for ties.

    Example:
        >>> highest([[0.1 + 0.2, 0.3, 0.1], [0.2, np.nan, 0.5]]).tolist()
        [[True, True, False], [False, False, True]]
    """
    values = np.asarray(values, float)
    known = np.where(np.isnan(values), -np.inf, values)
    size = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=-1, keepdims=True)
    top = known.max(axis=-1, keepdims=True)
    return (known >= top - _distance(size)) & (known > -np.inf)


def sign(values: ArrayLike, size: ArrayLike) -> np.ndarray:
    """-1, 0 or 1; 0 where a value is rounding beside `size`, that of the numbers it is made of.

    Args:
        values: differences or sums; NaN stays NaN.
        size: the largest absolute number behind them, for all or one for each.

    Example:
        >>> sign([0.1 + 0.2 - 0.3, -0.2], size=1).tolist()
        [0.0, -1.0]
    """
    values = np.asarray(values, float)
    return np.where(np.abs(values) <= _distance(size), 0.0, np.sign(values))
