"""Whether a percentage can be a whole count of n (GRIM), and the slips that are often made."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Any, TypeAlias

from katayori.report.written_exercises import Comparison

#: A percentage with one decimal place, and n.
Given: TypeAlias = tuple[float, int]
#: The smallest and largest n that are drawn, and number of draws of each result.
_STAGES = ((7, 90, 8), (200, 999, 5))
#: Halfway between two places, where half up and half to even are the same: 18.75 is printed as
#: 18.8. Where they differ (6.25 is 6.2 or 6.3), nothing is asked.
_HALVES: tuple[Given, ...] = ((18.8, 16), (43.8, 16), (68.8, 32))
#: Halfway between two counts: 2.5 of 20, 352.5 of 500, and 100.5 of 1005.
_HALF_COUNTS: tuple[Given, ...] = ((12.5, 20), (70.5, 500), (10.0, 1005))
_ENDS: tuple[Given, ...] = ((0.0, 12), (100.0, 12), (0.0, 700), (100.0, 700), (0.1, 12), (99.9, 12))
#: From 1,000 answers on every percentage can be.
_LARGE: tuple[Given, ...] = ((70.4, 1000), (33.3, 1234), (99.9, 1501), (0.1, 1500), (12.3, 5000))


def right(percent: float, n: int) -> bool:
    """Does the count that is nearest to percent x n / 100 give this percentage again?

    No other count can where n is below 1,000, and from there on this one always does.

    Reference: Brown and Heathers, The GRIM test, Social Psychological and Personality Science 8
    (2017), 363-369.

    Example:
        >>> right(70.4, 27), right(71.0, 27)
        (True, False)
    """
    return round(100 * round(percent * n / 100) / n, 1) == percent


def inputs() -> list[Given]:
    """50 inputs: few answers, hundreds, 0 and 100 %, halves, and n where all can be."""
    draw = Random(13)
    found = [
        _drawn(draw, least, most, wanted)
        for least, most, times in _STAGES
        for _ in range(times)
        for wanted in (True, False)
    ]
    first = ((70.4, 27), (71.0, 27), (33.3, 3), (30.3, 33), (33.4, 3), (67.2, 621), (67.1, 621))
    return [*first, *found, *_ENDS, *_HALF_COUNTS, *_HALVES, *_LARGE]


def _drawn(draw: Random, least: int, most: int, wanted: bool) -> Given:
    """A percentage that can be or cannot; near a count in any case."""
    while True:
        n = draw.randint(least, most)
        printed = round(100 * draw.randint(1, n - 1) / n, 1)
        percent = printed if wanted else round(printed + draw.choice([-0.1, 0.1]), 1)
        # A count is halfway between two places only where n is a multiple of 16.
        if n % 16 and right(percent, n) is wanted:
            return percent, n


def by_counts(
    percent: float,
    n: int,
    tried: Callable[[float, int], Iterable[int]] = lambda percent, n: range(n + 1),
    fits: Callable[[float, float], bool] = lambda value, percent: round(value, 1) == percent,
) -> bool:
    """Whether one of all counts fits; other arguments than these make it wrong.

    Args:
        percent, n: what is printed. tried: the counts.
        fits: whether the value of a count, 100 x count / n, is printed as this percentage.

    Example:
        >>> by_counts(67.2, 621)
        False
    """
    return any(fits(100 * count / n, percent) for count in tried(percent, n))


def yes_or_no(result: Any) -> bool | None:
    """A result as True or False, None for an undefined one.

    Raises:
        TypeError: something else.

    Example:
        >>> yes_or_no(1), yes_or_no(False), yes_or_no(None)
        (True, False, None)
    """
    if result is None:
        return None
    if result not in (0, 1):
        raise TypeError(f"the result {result!r} is neither True nor False")
    return bool(result)


COMPARISON = Comparison(
    given="percent, n",
    gives="the right result is",
    inputs=inputs,
    right=right,
    slips={
        "floor": partial(by_counts, tried=lambda percent, n: [int(percent / 100 * n)]),
        "ceiling": partial(by_counts, tried=lambda percent, n: [math.ceil(percent / 100 * n)]),
        "not_rounded": partial(by_counts, fits=lambda value, percent: value == percent),
        "two_places": partial(by_counts, fits=lambda value, percent: round(value, 2) == percent),
        "whole_percent": partial(
            by_counts, fits=lambda value, percent: round(value) == round(percent)
        ),
        "cut_off": partial(by_counts, fits=lambda value, percent: int(10 * value) / 10 == percent),
        "as_floats": partial(
            by_counts, fits=lambda value, percent: round(value / 100, 3) == percent / 100
        ),
        "as_share": partial(
            by_counts, fits=lambda value, percent: round(value / 100, 1) == percent
        ),
        "within_half_a_count": lambda percent, n: (
            abs(round(percent * n / 100) - percent * n / 100) <= 0.5
        ),
        "halves_left_out": partial(
            by_counts, fits=lambda value, percent: abs(value - percent) < 0.05
        ),
        "without_none": partial(by_counts, tried=lambda percent, n: range(1, n + 1)),
        "without_all": partial(by_counts, tried=lambda percent, n: range(n)),
    },
    reads=yes_or_no,
)
