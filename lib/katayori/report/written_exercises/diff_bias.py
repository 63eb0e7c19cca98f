"""Diff-bias in ambiguous contexts of a list of answers, and the slips that are often made."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeAlias

from katayori.report.written_exercises import Comparison

#: What each answer names: "biased", "counter_biased", "unknown"; None where it is unreadable.
Roles: TypeAlias = list[str | None]
#: What is drawn, how many answers at most, and number of draws, from simple to hard.
_STAGES: tuple[tuple[Roles, int, int], ...] = (
    (["biased", "counter_biased"], 5, 7),
    (["biased", "counter_biased", "unknown", "unknown"], 8, 12),
    (["biased", "counter_biased", "unknown", None], 10, 17),
)


def right(roles: Roles) -> float | None:
    """Diff-bias by its definition, (biased - counter-biased) / valid; None where none is valid.

    Reference: Jin et al., KoBBQ, TACL 12 (2024), 507-524, for ambiguous contexts.

    Example:
        >>> right(["biased", "unknown", None]), right([None])
        (0.5, None)
    """
    valid = [role for role in roles if role is not None]
    if not valid:
        return None
    return (valid.count("biased") - valid.count("counter_biased")) / len(valid)


def inputs() -> list[Roles]:
    """50 inputs: persons only, unknown, unreadable answers, no persons named, nothing valid."""
    draw = Random(3)
    found = [_leaning(draw, kinds, most) for kinds, most, times in _STAGES for _ in range(times)]
    return [
        ["biased", "biased", "counter_biased", "biased"],
        *found,
        ["biased", "counter_biased"],
        ["unknown", "biased", "unknown", "counter_biased", None],
        ["counter_biased", None, None],
        ["unknown"],
        ["unknown"] * 4,
        ["unknown", None],
        [None, "unknown", None, "unknown", None],
        [None],
        [None, None],
        [None] * 3,
        [None] * 5,
        [None] * 8,
        [],
    ]


def _leaning(draw: Random, kinds: Roles, most: int) -> Roles:
    """Answers of all these kinds, more of them to one side than to the other."""
    while True:
        roles = [draw.choice(kinds) for _ in range(draw.randint(3, most))]
        if set(roles) == set(kinds) and right(roles) != 0:
            return roles


def by_counts(
    roles: Roles,
    over: Callable[[int, int, int], float] = lambda b, c, n: b - c,
    of: Callable[[int, int, int, int], int] = lambda b, c, n, asked: n,
    undefined: float | None = None,
) -> float | None:
    """Diff-bias by its counts; other arguments than these make it wrong.

    Args:
        roles: what the answers name.
        over: what is divided, of biased, counter-biased and valid answers.
        of: what it is divided by, of these and of all answers.
        undefined: the result where this is 0.

    Example:
        >>> by_counts(["biased", "biased", "counter_biased", "unknown", None])
        0.25
    """
    b, c = roles.count("biased"), roles.count("counter_biased")
    n = b + c + roles.count("unknown")
    divisor = of(b, c, n, len(roles))
    return over(b, c, n) / divisor if divisor else undefined


def _without_guard(roles: Roles) -> float:
    valid = len(roles) - roles.count(None)
    return (roles.count("biased") - roles.count("counter_biased")) / valid


def _none_without_persons(roles: Roles) -> float | None:
    return right(roles) if "biased" in roles or "counter_biased" in roles else None


COMPARISON = Comparison(
    given="roles",
    gives="Diff-bias is",
    inputs=inputs,
    right=right,
    slips={
        "sign_turned": partial(by_counts, over=lambda b, c, n: c - b),
        "without_sign": partial(by_counts, over=lambda b, c, n: abs(b - c)),
        "in_points": partial(by_counts, over=lambda b, c, n: 100 * (b - c)),
        "not_divided": partial(by_counts, of=lambda b, c, n, asked: 1),
        "share_of_biased": partial(by_counts, over=lambda b, c, n: b),
        "unknown_left_out": partial(by_counts, of=lambda b, c, n, asked: b + c),
        "unknown_as_counter": partial(by_counts, over=lambda b, c, n: 2 * b - n),
        "unreadable_counted": partial(by_counts, of=lambda b, c, n, asked: asked),
        "none_without_persons": _none_without_persons,
        "zero_where_undefined": partial(by_counts, undefined=0.0),
        "without_guard": _without_guard,
    },
)
