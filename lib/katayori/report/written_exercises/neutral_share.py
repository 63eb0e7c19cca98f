"""The share of neutral reasons of answers in two orders, and the slips that are often made."""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TypeAlias

from katayori.report.written_exercises import Comparison

#: Order of the options and the letter that was written, None where it is unreadable.
Answers: TypeAlias = list[tuple[str, str | None]]
#: Which letter means the neutral reason in which order.
NEUTRAL = {"nb": "A", "bn": "B"}
_VALID = ("A", "B")
#: What letters are drawn, whether both orders are asked as often, and number of draws.
_STAGES: tuple[tuple[tuple[str | None, ...], bool, int], ...] = (
    (_VALID, True, 10),
    (_VALID, False, 12),
    ((*_VALID, *_VALID, None), False, 14),
)


def right(answers: Answers) -> float | None:
    """The share of neutral reasons among the valid answers; None where none is valid.

    Example:
        >>> right([("nb", "A"), ("bn", "A"), ("bn", None)]), right([("nb", None)])
        (0.5, None)
    """
    named = [letter == NEUTRAL[order] for order, letter in answers if letter is not None]
    return sum(named) / len(named) if named else None


def inputs() -> list[Answers]:
    """50 inputs: both orders alike, not alike, unreadable answers, one order, nothing valid."""
    draw = Random(4)
    found = [
        _drawn(draw, letters, is_balanced)
        for letters, is_balanced, times in _STAGES
        for _ in range(times)
    ]
    return [
        [("nb", "A"), ("bn", "B"), ("nb", "A"), ("bn", "A")],
        *found,
        [("bn", "B"), ("bn", "A"), ("bn", "B")],
        [("nb", "A"), ("bn", None), ("nb", "B"), ("nb", "A")],
        [("nb", None), ("bn", "A"), ("bn", "B"), ("bn", "B")],
        [("nb", "B"), ("bn", "A"), ("bn", "A")],
        [("nb", "B"), ("bn", "A"), ("nb", None)],
        [("nb", "A"), ("nb", "A"), ("bn", "B"), ("bn", None)],
        [("nb", None)],
        [("bn", None)],
        [("nb", None), ("bn", None)],
        [("nb", None), ("nb", None), ("bn", None)],
        [("bn", None), ("nb", None), ("bn", None), ("nb", None)],
        [("bn", None)] * 3,
        [],
    ]


def _drawn(draw: Random, letters: tuple[str | None, ...], is_balanced: bool) -> Answers:
    """Answers with all these letters, with another share than those that a slip gives."""
    while True:
        first = draw.randint(1, 4)
        second = first if is_balanced else draw.randint(1, 5)
        orders = ["nb"] * first + ["bn"] * second
        draw.shuffle(orders)
        answers = [(order, draw.choice(letters)) for order in orders]
        share, others = right(answers), [_share_of_a(answers), 0.5]
        if not is_balanced:
            others.append(_mean_of_orders(answers))
        if {letter for _, letter in answers} == set(letters) and share and share not in others:
            return answers


def by_counts(
    answers: Answers,
    neutral: Mapping[str, str] = NEUTRAL,
    times: float = 1,
    of: Callable[[int, int], int] = lambda valid, asked: valid,
    undefined: float | None = None,
) -> float | None:
    """The share by its counts; other arguments than these make it wrong.

    Args:
        answers: pairs of order and letter.
        neutral: what letter counts in each order.
        times: what the count is multiplied by.
        of: what it is divided by, of the valid answers and of all.
        undefined: the result where this is 0.

    Example:
        >>> by_counts([("nb", "A"), ("bn", "B"), ("bn", None), ("nb", "B"), ("bn", "A")])
        0.5
    """
    hits = sum(letter == neutral.get(order, "") for order, letter in answers)
    divisor = of(sum(letter is not None for _, letter in answers), len(answers))
    return times * hits / divisor if divisor else undefined


_share_of_a = partial(by_counts, neutral={"nb": "A", "bn": "A"})


def _mean_of_orders(answers: Answers) -> float | None:
    """The mean of the shares of both orders, of those that have a valid answer."""
    parts = [right([one for one in answers if one[0] == order]) for order in NEUTRAL]
    known = [share for share in parts if share is not None]
    return sum(known) / len(known) if known else None


def _not_a_is_b(answers: Answers) -> float | None:
    """What is not A is read as B, also where it is unreadable."""
    named = [(letter == "A") == (order == "nb") for order, letter in answers]
    return sum(named) / len(named) if named else None


def _without_guard(answers: Answers) -> float:
    named = [letter == NEUTRAL[order] for order, letter in answers if letter is not None]
    return sum(named) / len(named)


COMPARISON = Comparison(
    given="answers",
    gives="the share is",
    inputs=inputs,
    right=right,
    slips={
        "share_of_a": _share_of_a,
        "share_of_b": partial(by_counts, neutral={"nb": "B", "bn": "B"}),
        "biased": partial(by_counts, neutral={"nb": "B", "bn": "A"}),
        "first_order_only": partial(by_counts, neutral={"nb": "A"}),
        "in_points": partial(by_counts, times=100),
        "not_divided": partial(by_counts, of=lambda valid, asked: 1),
        "mean_of_orders": _mean_of_orders,
        "unreadable_wrong": partial(by_counts, of=lambda valid, asked: asked),
        "not_a_is_b": _not_a_is_b,
        "zero_where_undefined": partial(by_counts, undefined=0.0),
        "without_guard": _without_guard,
    },
)
