"""The share of given intervals that hold the truth, and the slips that are often made."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeAlias

from katayori.report.written_exercises import Comparison

#: The interval of each study, None where a study gives none; and the truth.
Intervals: TypeAlias = list[tuple[float, float] | None]
Given: TypeAlias = tuple[Intervals, float]
#: Whether a study lacks its interval, whether the truth is an end of one, and number of draws.
_STAGES = ((False, False, 8), (True, False, 12), (False, True, 8), (True, True, 8))


def right(intervals: Intervals, truth: float) -> float | None:
    """Intervals with low <= truth <= high, divided by those that are given; None without any.

    Example:
        >>> right([(0.1, 0.4), None, (0.5, 0.9)], 0.4), right([None], 0.4)
        (0.5, None)
    """
    given = [one for one in intervals if one is not None]
    if not given:
        return None
    return sum(low <= truth <= high for low, high in given) / len(given)


def inputs() -> list[Given]:
    """50 inputs: all intervals given, some lacking, the truth at an end, all or none, undefined."""
    draw = Random(11)
    found = [_drawn(draw, gaps, at_end) for gaps, at_end, n in _STAGES for _ in range(n)]
    return [
        ([(0.1, 0.4), (0.3, 0.6), (0.5, 0.9)], 0.35),
        *found,
        ([(0.1, 0.4), (0.3, 0.6), None, (0.5, 0.9)], 0.95),
        ([None, (0.2, 0.4)], 0.5),
        ([(0.2, 0.4)], 0.3),
        ([None, (0.2, 0.4), (0.1, 0.6)], 0.3),
        ([(0.2, 0.4), (0.4, 0.6)], 0.4),
        ([(0.5, 0.5), None], 0.5),
        ([(0.0, 0.2), (0.0, 0.0), (0.1, 0.3), (0.6, 1.0)], 0.0),
        ([(0.8, 1.0), None, (1.0, 1.0), (0.2, 0.7)], 1.0),
        ([None], 0.5),
        ([None, None], 0.25),
        ([None] * 3, 0.0),
        ([None] * 6, 1.0),
        ([], 0.5),
    ]


def _drawn(draw: Random, gaps: bool, at_end: bool) -> Given:
    """Intervals of which some hold the truth and some do not, but not one half each."""
    while True:
        intervals: Intervals = []
        for _ in range(draw.randint(3, 9)):
            low, high = sorted(draw.sample(range(21), 2))
            lacks = gaps and draw.random() < 0.3
            intervals.append(None if lacks else (low / 20, high / 20))
        truth = draw.randint(1, 19) / 20
        ends = [end for one in intervals if one for end in one]
        wanted = (None in intervals, truth in ends) == (gaps, at_end)
        if wanted and right(intervals, truth) not in (None, 0, 0.5, 1):
            return intervals, truth


def by_counts(
    intervals: Intervals,
    truth: float,
    holds: Callable[[float, float, float], bool] = lambda low, high, truth: low <= truth <= high,
    over: Callable[[int, int, int], float] = lambda held, given, asked: held,
    of: Callable[[int, int], int] = lambda given, asked: given,
    undefined: float | None = None,
) -> float | None:
    """Coverage by its counts; other arguments than these make it wrong.

    Args:
        intervals: of the studies. truth: the planted value.
        holds: whether an interval holds it.
        over: what is divided, of the intervals that hold it, those given and all studies.
        of: what it is divided by, of the last two. undefined: the result where this is 0.

    Example:
        >>> by_counts([(0.1, 0.4), None, (0.5, 0.9)], 0.4)
        0.5
    """
    held = sum(1 for one in intervals if one is not None and holds(*one, truth))
    given, asked = len(intervals) - intervals.count(None), len(intervals)
    divisor = of(given, asked)
    return over(held, given, asked) / divisor if divisor else undefined


def _without_guard(intervals: Intervals, truth: float) -> float:
    given = [one for one in intervals if one is not None]
    return sum(low <= truth <= high for low, high in given) / len(given)


def _none_unpacked(intervals: Intervals, truth: float) -> float | None:
    if None in intervals:
        raise TypeError("cannot unpack non-iterable NoneType object")
    return right(intervals, truth)


COMPARISON = Comparison(
    given="intervals, truth",
    gives="the coverage is",
    inputs=inputs,
    right=right,
    slips={
        "of_all": partial(by_counts, of=lambda given, asked: asked),
        "none_holds": partial(
            by_counts,
            over=lambda held, given, asked: held + asked - given,
            of=lambda given, asked: asked,
        ),
        "none_unpacked": _none_unpacked,
        "open_ends": partial(by_counts, holds=lambda low, high, truth: low < truth < high),
        "open_low": partial(by_counts, holds=lambda low, high, truth: low < truth <= high),
        "open_high": partial(by_counts, holds=lambda low, high, truth: low <= truth < high),
        "low_only": partial(by_counts, holds=lambda low, high, truth: low <= truth),
        "high_only": partial(by_counts, holds=lambda low, high, truth: truth <= high),
        "missed": partial(by_counts, over=lambda held, given, asked: given - held),
        "share_given": partial(
            by_counts, over=lambda held, given, asked: given, of=lambda given, asked: asked
        ),
        "not_divided": partial(by_counts, of=lambda given, asked: 1),
        "in_percent": partial(by_counts, over=lambda held, given, asked: 100 * held),
        "zero_where_undefined": partial(by_counts, undefined=0.0),
        "one_where_undefined": partial(by_counts, undefined=1.0),
        "without_guard": _without_guard,
    },
)
