"""The mean P(neutral) over both orders of two options, and the slips that are often made."""

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeAlias

from katayori.report.written_exercises import Comparison

#: P(A) where the neutral reason is A, and where it is B.
Given: TypeAlias = tuple[float, float]
#: Who likes the letter only, with a mean of one half; and who reads only.
_LETTER: tuple[Given, ...] = ((0.7, 0.7), (0.25, 0.25), (1.0, 1.0), (0.0, 0.0))
_READ: tuple[Given, ...] = ((0.8, 0.2), (0.35, 0.65), (1.0, 0.0), (0.0, 1.0))
#: What is drawn has a mean at least as far from one half and from P(neutral) of one order.
LEAST = 0.02


def right(a_where_neutral_is_a: float, a_where_neutral_is_b: float) -> float:
    """P(neutral) is P(A) in the one order and 1 - P(A) in the other; their mean.

    Example:
        >>> round(right(0.9, 0.9), 2), round(right(0.9, 0.2), 2)
        (0.5, 0.85)
    """
    return (a_where_neutral_is_a + 1 - a_where_neutral_is_b) / 2


def inputs() -> list[Given]:
    """50 inputs: a liking for a letter beside a choice, for the letter only, a choice only."""
    draw = Random(7)
    found = [_drawn(draw) for _ in range(40)]
    return [(0.9, 0.9), *found, *_LETTER, *_READ, (0.5, 0.5)]


def _drawn(draw: Random) -> Given:
    """Two different P(A), with another mean than P(neutral) of one order and than one half."""
    while True:
        one, other = (draw.randint(1, 19) / 20 for _ in range(2))
        mean = right(one, other)
        if min(abs(mean - wrong) for wrong in (one, 1 - other, 0.5)) > LEAST:
            return one, other


def by_orders(
    a_where_neutral_is_a: float,
    a_where_neutral_is_b: float,
    turned: Callable[[float], float] = lambda a: 1 - a,
    mean: Callable[[float, float], float] = lambda one, other: (one + other) / 2,
) -> float:
    """The mean of both orders; other arguments than these make it wrong.

    Args:
        a_where_neutral_is_a, a_where_neutral_is_b: P(A) of both orders.
        turned: P(neutral) of the second one. mean: of both.

    Example:
        >>> round(by_orders(0.6, 0.5), 2)
        0.55
    """
    return mean(a_where_neutral_is_a, turned(a_where_neutral_is_b))


def _of_odds(one: float, other: float) -> float:
    """The mean in log odds, as a probability."""
    neutral, biased = math.sqrt(one * other), math.sqrt((1 - one) * (1 - other))
    return neutral / (neutral + biased)


COMPARISON = Comparison(
    given="a_where_neutral_is_a, a_where_neutral_is_b",
    gives="the mean P(neutral) is",
    inputs=inputs,
    right=right,
    slips={
        "mean_of_a": partial(by_orders, turned=lambda a: a),
        "without_one": partial(by_orders, turned=lambda a: -a),
        "mean_of_biased": lambda one, other: 1 - right(one, other),
        "first_only": partial(by_orders, mean=lambda one, other: one),
        "second_only": partial(by_orders, mean=lambda one, other: other),
        "not_halved": partial(by_orders, mean=lambda one, other: one + other),
        "product": partial(by_orders, mean=lambda one, other: one * other),
        "product_of_a": lambda one, other: one * other,
        "geometric": partial(by_orders, mean=lambda one, other: math.sqrt(one * other)),
        "of_odds": partial(by_orders, mean=_of_odds),
        "likelier": partial(by_orders, mean=lambda one, other: ((one > 0.5) + (other > 0.5)) / 2),
        "in_points": partial(by_orders, mean=lambda one, other: 50 * (one + other)),
    },
)
