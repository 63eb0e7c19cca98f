"""The averaged verdict of a judge asked in both orders, and the slips that are often made."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias

from katayori.report.written_exercises import Comparison

#: Probabilities of A, B and C in one order.
Order: TypeAlias = list[float]
#: Those in order 12, and those in order 21.
Given: TypeAlias = tuple[Order, Order]
#: The verdicts, in the order in which equal means are settled.
VERDICTS = ("tie", "1", "2")
#: Where the letters that mean tie, 1 and 2 stand among A, B and C, in order 12 and in order 21.
PLACES = ((2, 0, 1), (2, 1, 0))
#: The two highest sums of both orders differ by as much, where they are not equal.
LEAST_LEAD = 0.1
#: Which verdicts have the highest mean, and in how many inputs, from simple to hard.
_STAGES = (
    (("1",), 10),
    (("2",), 10),
    (("tie",), 10),
    (("tie", "1"), 6),
    (("tie", "2"), 6),
    (("1", "2"), 4),
)


def right(first: Order, second: Order) -> str:
    """The verdict with the highest mean of both orders; equal means go to tie, then 1, then 2.

    Reference: the logprob-judge paper, section 3.

    Example:
        >>> right([0.6, 0.35, 0.05], [0.8, 0.15, 0.05]), right([0.5, 0, 0.5], [0, 0.5, 0.5])
        ('2', 'tie')
    """
    sums = {
        "tie": first[2] + second[2],
        "1": first[0] + second[1],
        "2": first[1] + second[0],
    }
    return max(sums, key=lambda verdict: round(sums[verdict], 9))


def inputs() -> list[Given]:
    """50 inputs: 1, 2 or a tie has the highest mean, then two of them, then all three."""
    draw = Random(12)
    found = [([0.6, 0.35, 0.05], [0.8, 0.15, 0.05])]
    for best, times in _STAGES:
        last = len(found) + times
        while len(found) < last:
            if (drawn := _drawn(draw, best)) not in found:
                found.append(drawn)
    return [
        *found,
        # What is lacking to 1 went to other tokens.
        ([0.25, 0.25, 0.25], [0.25, 0.25, 0.25]),
        ([0.375, 0.25, 0.125], [0.25, 0.125, 0.375]),
        ([0.2, 0.05, 0.05], [0.6, 0.32, 0.08]),
    ]


def _drawn(draw: Random, best: tuple[str, ...]) -> Given:
    """Two orders of which these verdicts have the highest mean.

    Equal means are sums of eighths, which are exact, so that every way to average finds them equal.
    """
    parts = 20 if len(best) == 1 else 8
    while True:
        first, second = _order(draw, parts), _order(draw, parts)
        sums = [first[there] + second[then] for there, then in zip(*PLACES, strict=True)]
        leads = [max(sums) - one for one in sums]
        highest = [verdict for verdict, lead in zip(VERDICTS, leads, strict=True) if not lead]
        lead = min((one for one in leads if one), default=0)
        if tuple(highest) == best and lead >= LEAST_LEAD * parts:
            return [one / parts for one in first], [one / parts for one in second]


def _order(draw: Random, parts: int) -> list[int]:
    """So many parts of a probability over three letters, each with one at least."""
    low, high = sorted(draw.sample(range(1, parts), 2))
    return [low, high - low, parts - high]


def as_verdict(result: Any) -> str | None:
    """A result as it is compared: a text.

    Raises:
        TypeError: something else, such as the number 1.

    Example:
        >>> as_verdict("tie")
        'tie'
    """
    if result is None:
        return None
    if not isinstance(result, str):
        raise TypeError(f'the result {result!r} is not a text such as "1", "2" or "tie"')
    return str(result)


def by_means(
    first: Order,
    second: Order,
    places: Sequence[Sequence[int]] = PLACES,
    mean: Callable[[float, float], float] = lambda one, other: (one + other) / 2,
    equal: Sequence[str] = VERDICTS,
    words: Callable[[str], str] = str,
) -> str:
    """The verdict by its steps; other arguments than these make it wrong.

    Args:
        first, second: probabilities of A, B and C in order 12, in order 21.
        places: of the letters that mean tie, 1 and 2, in each order.
        mean: what stands for both orders. equal: the order in which equal ones are settled.
        words: what a verdict is called.

    Example:
        >>> by_means([0.7, 0.2, 0.1], [0.3, 0.6, 0.1])
        '1'
    """
    here, there = places
    means = {
        verdict: mean(first[one], second[other])
        for verdict, one, other in zip(VERDICTS, here, there, strict=True)
    }
    return words(max(equal, key=lambda verdict: means[verdict]))


def _renormalised(first: Order, second: Order) -> str:
    here, there = ([one / sum(order) for one in order] for order in (first, second))
    return by_means(here, there)


def _as_letter(verdict: str) -> str:
    return {"1": "A", "2": "B", "tie": "C"}[verdict]


def _tie_where_they_differ(first: Order, second: Order) -> str:
    one, other = _alone(first, PLACES[0]), _alone(second, PLACES[1])
    return one if one == other else "tie"


def _alone(order: Order, places: Sequence[int]) -> str:
    """The likeliest verdict of one order."""
    return by_means(order, order, (places, places))


COMPARISON = Comparison(
    given="first, second",
    gives="the verdict is",
    inputs=inputs,
    right=right,
    reads=as_verdict,
    slips={
        "not_unswapped": partial(by_means, places=(PLACES[0], PLACES[0])),
        "both_unswapped": partial(by_means, places=(PLACES[1], PLACES[1])),
        "first_unswapped": partial(by_means, places=(PLACES[1], PLACES[0])),
        "tie_moved": partial(by_means, places=(PLACES[0], (0, 1, 2))),
        "letters": partial(by_means, words=_as_letter),
        "first_only": partial(by_means, mean=lambda one, other: one),
        "second_only": partial(by_means, mean=lambda one, other: other),
        "renormalised": _renormalised,
        "highest_single": partial(by_means, mean=max),
        "lowest_single": partial(by_means, mean=min),
        "product": partial(by_means, mean=lambda one, other: one * other),
        "difference": partial(by_means, mean=lambda one, other: one - other),
        "tie_where_they_differ": _tie_where_they_differ,
        "never_tie": partial(by_means, equal=("1", "2")),
        "equal_to_first": partial(by_means, equal=("1", "2", "tie")),
        "equal_to_second": partial(by_means, equal=("tie", "2", "1")),
        "equal_to_last": partial(by_means, equal=("2", "1", "tie")),
    },
)
