"""The position that is chosen once its prior is taken off, and the slips that are often made."""

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, TypeAlias

import numpy as np

from katayori.report.written_exercises import Comparison

#: log p of each position, some of them missing, and what each position adds to it.
Given: TypeAlias = tuple[list[Any], list[float]]
_NAN = float("nan")
#: Which log p is missing, of 2, 3, 4, 5, 2, 3, 4, 5 positions.
_MISSING_AT = (0, 1, 2, 4, 1, 0, 3, 3)
#: The two highest values differ by as much, so that no input has a tie.
LEAST_LEAD = 0.05


def right(log_p: list[Any], prior: list[float]) -> int | None:
    """The position with the highest log p less its prior, from 0; None where a log p is missing.

    Example:
        >>> right([-1.2, -0.4], [-0.5, 0.5]), right([-1.2, None], [-0.5, 0.5])
        (0, None)
    """
    content = np.array(log_p, float) - np.array(prior)
    return None if np.isnan(content).any() else int(content.argmax())


def inputs() -> list[Given]:
    """50 inputs: positions that add the same, that differ, and log p that are missing."""
    draw = Random(35)
    found = [([-0.7, -2.3, -1.4], [0.4, 0.4, 0.4]), ([-2.1, -1.2, -0.3], [0.4, 0.4, 0.4])]
    found += [_drawn(draw, 2 + i // 2 % 4, turned=i % 2 == 0) for i in range(29)]
    found.append(([-1.6, -0.5, -2.2], [0.0, 0.0, 0.0]))
    for i in range(15):
        log_p, prior = _drawn(draw, 2 + i // 2 % 4)
        log_p[_MISSING_AT[i // 2]] = (None, _NAN)[i % 2]
        found.append((log_p, prior))
    return [
        *found,
        ([None, -0.6, _NAN, -1.9], [0.3, -0.2, 0.5, -0.6]),
        ([None, None, None], [0.2, -0.5, 0.3]),
        ([_NAN, _NAN], [0.7, -0.7]),
    ]


def _drawn(draw: Random, positions: int, *, turned: bool = False) -> Given:
    """log p and prior without a tie, whichever way they are put together.

    Args:
        draw: of random numbers. positions: how many. turned: whether the prior changes the choice.
    """
    while True:
        log_p = [round(draw.uniform(-3, -0.2), 2) for _ in range(positions)]
        prior = [round(draw.uniform(-1.5, 1.5), 2) for _ in range(positions)]
        if any(_lead(log_p, prior, sign) < LEAST_LEAD for sign in (-1, 0, 1)) or 0 in prior:
            continue
        if not turned or right(log_p, prior) != log_p.index(max(log_p)):
            return log_p, prior


def _lead(log_p: list[float], prior: list[float], sign: int) -> float:
    """How far the highest value is above the next one."""
    values = sorted(a + sign * b for a, b in zip(log_p, prior, strict=True))
    return values[-1] - values[-2]


def by_steps(
    log_p: list[Any],
    prior: list[float],
    content: Callable[[float, float], float] = lambda one, added: one - added,
    chosen: Callable[[list[float]], float] = lambda values: values.index(max(values)),
) -> float | None:
    """The position by its steps; other arguments than these make it wrong.

    Args:
        log_p: None or NaN where missing. prior: of each position.
        content: of log p and prior of one position. chosen: the result, of all contents.

    Example:
        >>> by_steps([-1.5, -0.4, -1.3], [-0.5, 1.0, -0.5])
        2
    """
    if any(_is_missing(one) for one in log_p):
        return None
    return chosen([content(one, added) for one, added in zip(log_p, prior, strict=True)])


def _is_missing(one: Any) -> bool:
    return one is None or math.isnan(one)


def _missing_as_lowest(log_p: list[Any], prior: list[float]) -> float | None:
    return by_steps([-math.inf if _is_missing(one) else one for one in log_p], prior)


def _missing_left_out(log_p: list[Any], prior: list[float]) -> float | None:
    kept = [pair for pair in zip(log_p, prior, strict=True) if not _is_missing(pair[0])]
    return by_steps([one for one, _ in kept], [added for _, added in kept])


def _missing_is_chosen(log_p: list[Any], prior: list[float]) -> int:
    return int((np.array(log_p, float) - np.array(prior)).argmax())


def _missing_not_looked_for(log_p: list[Any], prior: list[float]) -> int:
    content = [one - added for one, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


def _nan_stays(log_p: list[Any], prior: list[float]) -> int | None:
    return None if None in log_p else _missing_not_looked_for(log_p, prior)


COMPARISON = Comparison(
    given="log_p, prior",
    gives="the position is",
    inputs=inputs,
    right=right,
    slips={
        "value": partial(by_steps, chosen=max),
        "from_one": partial(by_steps, chosen=lambda values: values.index(max(values)) + 1),
        "lowest": partial(by_steps, chosen=lambda values: values.index(min(values))),
        "prior_ignored": partial(by_steps, content=lambda one, added: one),
        "prior_added": partial(by_steps, content=lambda one, added: one + added),
        "prior_divided": partial(by_steps, content=lambda one, added: one / added),
        "probabilities": partial(by_steps, content=lambda one, added: math.exp(one) - added),
        "both_probabilities": partial(
            by_steps, content=lambda one, added: math.exp(one) - math.exp(added)
        ),
        "missing_as_lowest": _missing_as_lowest,
        "missing_left_out": _missing_left_out,
        "missing_is_chosen": _missing_is_chosen,
        "missing_not_looked_for": _missing_not_looked_for,
        "nan_stays": _nan_stays,
    },
)
