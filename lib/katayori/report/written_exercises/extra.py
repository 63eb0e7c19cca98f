"""The interaction of two attributes, of four shares, and the slips that are often made."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logit

from katayori.report.written_exercises import Comparison

#: Shares where neither attribute is told, the one, the other, and both; some are missing.
Given: TypeAlias = tuple[Any, Any, Any, Any]
_NAN = float("nan")
#: Parts that add up in log odds (the odds are 1, 3, 3, 9 or such), but not on shares.
_ADDITIVE: tuple[Given, ...] = (
    (0.5, 0.75, 0.75, 0.9),
    (0.9, 0.75, 0.5, 0.25),
    (0.9, 0.5, 0.75, 0.25),
    (0.1, 0.25, 0.25, 0.5),
)
#: Shares that replace drawn ones, and at which positions, so that the result is undefined.
_UNDEFINED: tuple[tuple[float | None, tuple[int, ...]], ...] = (
    *((0.0, (at,)) for at in (3, 0, 1, 2)),
    *((1.0, (at,)) for at in (0, 1, 2, 3)),
    (0.0, (0, 1)),
    (0.0, (1, 3)),
    (1.0, (0, 3)),
    (1.0, (1, 2)),
    (0.0, (0, 1, 2, 3)),
    *((None, (at,)) for at in (0, 1, 2, 3)),
    *((_NAN, (at,)) for at in (0, 1, 2, 3)),
)
#: An interaction that is drawn is at least as far from 0.
LEAST = 0.1


def right(neither: Any, one: Any, other: Any, both: Any) -> float | None:
    """Log odds of both, less those of the one and of the other, plus those of neither.

    It is the interaction of a logistic regression; None where a share is missing, 0 or 1.

    Reference: A. Agresti, Categorical Data Analysis, 3rd ed., Wiley 2013 (logistic regression).

    Example:
        >>> round(right(0.9, 0.7, 0.8, 0.2), 3), right(0.9, 0.7, 0.8, 0)
        (-1.423, None)
    """
    odds = logit(np.array([neither, one, other, both], float))
    return float(odds @ [1, -1, -1, 1]) if np.isfinite(odds).all() else None


def inputs() -> list[Given]:
    """50 inputs: near one half, any shares, parts that add up, shares of 0, of 1, missing ones."""
    draw = Random(6)
    found = [_drawn(draw, 0.3, 0.7) for _ in range(9)] + [_drawn(draw) for _ in range(16)]
    found += _ADDITIVE
    for share, positions in _UNDEFINED:
        drawn = enumerate(_drawn(draw))
        neither, one, other, both = (share if at in positions else own for at, own in drawn)
        found.append((neither, one, other, both))
    return found


def _drawn(draw: Random, low: float = 0.05, high: float = 0.95) -> Given:
    """Four different shares in steps of .05, with an interaction."""
    while True:
        steps = range(round(low * 20), round(high * 20) + 1)
        neither, one, other, both = (step / 20 for step in draw.sample(steps, 4))
        if abs(right(neither, one, other, both) or 0) > LEAST:
            return neither, one, other, both


def _log_odds(share: float) -> float:
    return math.log(share / (1 - share))


def by_parts(
    neither: Any,
    one: Any,
    other: Any,
    both: Any,
    scale: Callable[[float], float] = _log_odds,
    beyond: Callable[[Sequence[float]], float] = lambda x: x[3] - x[1] - x[2] + x[0],
    undefined: float | None = None,
) -> float | None:
    """The interaction by its four parts; other arguments than these make it wrong.

    Args:
        neither, one, other, both: shares. scale: of a share.
        beyond: what both give beyond the parts, of the four on this scale.
        undefined: the result where a share is missing, 0 or 1.

    Example:
        >>> round(by_parts(0.9, 0.7, 0.8, 0.2), 3)
        -1.423
    """
    shares = [neither, one, other, both]
    if not all(map(_is_defined, shares)):
        return undefined
    return beyond([scale(share) for share in shares])


def _is_defined(share: Any) -> bool:
    return share is not None and 0 < share < 1


def _of_shares(*shares: Any) -> float | None:
    """On shares themselves, where only a missing one leaves it undefined."""
    if any(share is None or math.isnan(share) for share in shares):
        return None
    neither, one, other, both = map(float, shares)
    return both - one - other + neither


def _infinite(*shares: Any) -> float:
    return float(logit(np.array(shares, float)) @ [1, -1, -1, 1])


def _left_out(*shares: Any) -> float:
    odds = [_log_odds(share) if _is_defined(share) else 0.0 for share in shares]
    return odds[3] - odds[1] - odds[2] + odds[0]


def _missing_not_looked_for(*shares: Any) -> float | None:
    return None if any(share in (0, 1) for share in shares) else _without_guard(*shares)


def _without_guard(*shares: Any) -> float:
    neither, one, other, both = map(_log_odds, shares)
    return both - one - other + neither


COMPARISON = Comparison(
    given="neither, one, other, both",
    gives="the interaction is",
    inputs=inputs,
    right=right,
    slips={
        "shares": _of_shares,
        "logs": partial(by_parts, scale=math.log),
        "odds": partial(by_parts, scale=lambda share: share / (1 - share)),
        "log10": partial(by_parts, scale=lambda share: _log_odds(share) / math.log(10)),
        "odds_ratio": partial(by_parts, beyond=lambda x: math.exp(x[3] - x[1] - x[2] + x[0])),
        "sign_turned": partial(by_parts, beyond=lambda x: x[1] + x[2] - x[0] - x[3]),
        "without_sign": partial(by_parts, beyond=lambda x: abs(x[3] - x[1] - x[2] + x[0])),
        "neither_forgotten": partial(by_parts, beyond=lambda x: x[3] - x[1] - x[2]),
        "neither_subtracted": partial(by_parts, beyond=lambda x: x[3] - x[1] - x[2] - x[0]),
        "beyond_neither": partial(by_parts, beyond=lambda x: x[3] - x[0]),
        "beyond_the_larger": partial(by_parts, beyond=lambda x: x[3] - max(x[1], x[2])),
        "beyond_the_mean": partial(by_parts, beyond=lambda x: x[3] - (x[1] + x[2]) / 2),
        "infinite": _infinite,
        "zero_where_undefined": partial(by_parts, undefined=0.0),
        "left_out": _left_out,
        "without_guard": _without_guard,
        "missing_not_looked_for": _missing_not_looked_for,
    },
)
