"""Score intervals of differences between two shares whose answers are independent.

For answers that come in clusters (templates, questions) see `intervals`.

References: E. B. Wilson, Journal of the American Statistical Association 22 (1927), 209-212;
R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890 (two groups) and 2635-2650 (pairs),
method 10 of both.
"""

import numpy as np
from scipy.stats import norm


def wilson(hits: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a share.

    Example:
        >>> low, high = wilson(0, 10)
        >>> round(low, 3), round(high, 3)
        (0.0, 0.278)
    """
    z = norm.ppf((1 + level) / 2)
    share = hits / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def newcombe_interval(
    first: tuple[int, int], second: tuple[int, int], level: float = 0.95
) -> tuple[float, float]:
    """The interval of the share of one group less that of another.

    Args:
        first, second: hits and answers of each group.

    Example:
        >>> low, high = newcombe_interval((9, 10), (3, 10))
        >>> round(low, 4), round(high, 4)
        (0.1705, 0.809)
    """
    return _combined(first, second, level, 0.0)


def newcombe_paired_interval(
    both: int, only_first: int, only_second: int, neither: int, level: float = 0.95
) -> tuple[float, float]:
    """The interval of a difference of shares of the same pairs, such as items asked twice.

    The score intervals of both shares are combined with their correlation, whose numerator has a
    continuity correction where it is above 0.

    Args:
        both: pairs that are so in both; only_first, only_second: in one; neither: in none.

    Example:
        >>> low, high = newcombe_paired_interval(36, 12, 2, 0)
        >>> round(low, 4), round(high, 4)
        (0.0569, 0.3404)
    """
    n = both + only_first + only_second + neither
    first, second = both + only_first, both + only_second
    product: float = both * neither - only_first * only_second
    if product > 0:
        product = max(product - n / 2, 0)
    spread = first * (n - first) * second * (n - second)
    correlation = product / np.sqrt(spread) if spread else 0.0
    return _combined((first, n), (second, n), level, float(correlation))


def _combined(
    first: tuple[int, int], second: tuple[int, int], level: float, correlation: float
) -> tuple[float, float]:
    """The two score intervals put together."""
    share_1, share_2 = first[0] / first[1], second[0] / second[1]
    low_1, high_1 = wilson(*first, level)
    low_2, high_2 = wilson(*second, level)
    difference = share_1 - share_2

    def distance(one: float, other: float) -> float:
        return float(np.sqrt(max(0.0, one**2 - 2 * correlation * one * other + other**2)))

    low = difference - distance(share_1 - low_1, high_2 - share_2)
    high = difference + distance(high_1 - share_1, share_2 - low_2)
    return low, high
