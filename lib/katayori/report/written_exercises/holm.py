"""Holm's adjusted p of a list in any order, and the slips that are often made."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, TypeAlias

import numpy as np

from katayori.metrics import ranks
from katayori.report.written_exercises import Comparison

_List: TypeAlias = list[Any]
_NAN = float("nan")


def right(p: _List) -> _List:
    """Adjusted p by the library; an undefined p stays undefined.

    Example:
        >>> right([0.04, 0.01, None])
        [0.04, 0.02, nan]
    """
    return list(map(float, ranks.holm(np.array(p, float))))


def inputs() -> list[_List]:
    """50 inputs: p in order, in any order, needing the running maximum, the cap, undefined p."""
    draw = Random(4)
    found: list[_List] = [[0.001, 0.02, 0.3], [0.002, 0.011, 0.04, 0.2]]
    found += [_any_order(draw, [0.001, 0.004, 0.02, 0.09][: 3 + i % 2]) for i in range(6)]
    found += [_drawn(draw, 0.001, 0.05, 3 + i % 3) for i in range(14)]
    found += [_drawn(draw, 0.2, 1, 2 + i % 4) for i in range(13)]
    found += [_with_gaps(draw, _drawn(draw, 0.001, 0.3, 3 + i % 3)) for i in range(11)]
    return [*found, [0.03], [1.0, 0.0], [0.6, 0.6], [_NAN, None]]


def _any_order(draw: Random, p: _List) -> _List:
    """The same p, not from small to large."""
    while (found := draw.sample(p, len(p))) == sorted(p):
        pass
    return found


def _drawn(draw: Random, low: float, high: float, tests: int) -> _List:
    """p of some tests with three digits, the first two equal in every third draw."""
    found = [round(draw.uniform(low, high), 3) for _ in range(tests)]
    return [found[1], *found[1:]] if draw.random() < 1 / 3 else found


def _with_gaps(draw: Random, p: _List) -> _List:
    """The same p with one or two undefined ones among them."""
    for _ in range(draw.choice([1, 2])):
        p.insert(draw.randrange(len(p) + 1), draw.choice([None, _NAN]))
    return p


def by_steps(
    p: _List,
    times: Callable[[int, int], float] = lambda tests, rank: tests - rank,
    running: bool = True,
    most: float = 1,
    counts_all: bool = False,
    in_order: bool = False,
) -> _List:
    """Holm's method step by step; other arguments than these make it wrong.

    Args:
        p: in any order, None or NaN where undefined.
        times: what the p of this rank, from 0, is multiplied by. running: no p below a smaller one.
        most: no p above it. counts_all: undefined p count as tests. in_order: from small to large.

    Example:
        >>> by_steps([0.04, 0.01, None])
        [0.04, 0.02, None]
    """
    known = [i for i, one in enumerate(p) if one is not None and one == one]
    tests = len(p) if counts_all else len(known)
    adjusted: _List = [None] * len(p)
    highest = 0.0
    for rank, i in enumerate(sorted(known, key=lambda i: p[i])):
        own = min(most, p[i] * times(tests, rank))
        highest = max(highest, own)
        adjusted[i] = highest if running else own
    return sorted(adjusted, key=lambda one: (one is None, one or 0)) if in_order else adjusted


def _without_undefined(p: _List) -> _List:
    return [one for one in by_steps(p) if one is not None]


COMPARISON = Comparison(
    given="p",
    gives="the adjusted p are",
    inputs=inputs,
    right=right,
    slips={
        "unchanged": partial(by_steps, times=lambda tests, rank: 1),
        "bonferroni": partial(by_steps, times=lambda tests, rank: tests),
        "false_discovery": partial(by_steps, times=lambda tests, rank: tests / (rank + 1)),
        "off_by_one": partial(by_steps, times=lambda tests, rank: tests - rank - 1),
        "in_order": partial(by_steps, in_order=True),
        "no_maximum": partial(by_steps, running=False),
        "no_cap": partial(by_steps, most=float("inf")),
        "counts_undefined": partial(by_steps, counts_all=True),
        "without_undefined": _without_undefined,
    },
)
