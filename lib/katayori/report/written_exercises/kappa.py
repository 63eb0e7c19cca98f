"""Cohen's kappa of two lists of labels, and the slips that are often made."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from random import Random
from typing import TypeAlias

from katayori.report.written_exercises import Comparison

Labels: TypeAlias = list[str]
Given: TypeAlias = tuple[Labels, Labels]
LABELS = ("a", "b", "c", "d", "e")
#: How often a label is drawn for one rater, and for the other: the shares are uneven and differ.
_WEIGHTS = ((6, 4, 2, 1, 1), (2, 3, 3, 2, 1))
#: Number of labels, and number of draws, from simple to hard.
_STAGES = ((2, 10), (3, 14), (4, 9), (5, 5))
#: A kappa that is drawn is at least as far from 0.
LEAST = 0.02


def right(one: Labels, two: Labels) -> float | None:
    """(observed - chance) / (1 - chance); None where chance is 1.

    Observed: the share of items with equal labels. Chance: that of all pairs of a label of the
    first and a label of the second rater, whichever items they stand at.

    Reference: J. Cohen, Educational and Psychological Measurement 20 (1960), 37-46.

    Example:
        >>> right(["a", "a", "b", "b"], ["a", "a", "b", "a"]), right(["a"], ["a"])
        (0.5, None)
    """
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum(a == b for a, b in product(one, two)) / n**2
    return (observed - chance) / (1 - chance) if chance < 1 else None


def inputs() -> list[Given]:
    """50 inputs of 2 to 5 labels: uneven shares, labels that one rater never uses, edges."""
    draw = Random(20)
    found = [_drawn(draw, LABELS[:labels]) for labels, times in _STAGES for _ in range(times)]
    for labels in (3, 4):
        one, two = _drawn(draw, LABELS[:labels], unused=LABELS[labels - 1])
        found += [(one, two), (two, one)]
    return [
        (["a", "a", "a", "b"], ["a", "b", "a", "b"]),
        *found,
        (["a", "b", "c", "a"], ["a", "b", "c", "a"]),
        (["a", "a", "b", "b"], ["b", "b", "a", "a"]),
        (["a", "a", "a"], ["b", "b", "b"]),
        (["a", "a", "a", "b"], ["a", "a", "a", "a"]),
        (["a", "a", "a", "a"], ["a", "a", "a", "a"]),
        (["b", "b"], ["b", "b"]),
        (["c"], ["c"]),
    ]


def _drawn(draw: Random, labels: Sequence[str], unused: str = "") -> Given:
    """Two raters who use all these labels, but for one that the second never uses."""
    others = [label for label in labels if label != unused]
    while True:
        one = draw.choices(labels, _WEIGHTS[0][: len(labels)], k=draw.randint(5, 12))
        drawn = draw.choices(others, _WEIGHTS[1][: len(others)], k=len(one))
        share = draw.choice([0.1, 0.5, 0.8])
        copies = [a in others and draw.random() < share for a in one]
        two = [a if copied else b for a, b, copied in zip(one, drawn, copies, strict=True)]
        uneven = any(one.count(label) != two.count(label) for label in labels)
        is_whole = len({*one}) == len(labels) and len({*two}) == len(others)
        if uneven and is_whole and LEAST < abs(right(one, two) or 0) < 1:
            return one, two


def _products(p: Sequence[float], q: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(p, q, strict=True))


def by_shares(
    one: Labels,
    two: Labels,
    chance: Callable[[list[float], list[float]], float] = _products,
    kappa: Callable[[float, float], float] = lambda o, c: (o - c) / (1 - c),
    undefined: float | None = None,
) -> float | None:
    """Kappa by the shares of the labels; other arguments than these make it wrong.

    Args:
        one, two: labels of the same items.
        chance: of the shares of every label that is used, of the first and of the second rater.
        kappa: of observed agreement and chance.
        undefined: the result where chance is 1.

    Example:
        >>> by_shares(["a", "b", "c"], ["a", "b", "c"])
        1.0
    """
    labels = sorted({*one, *two})
    p, q = ([given.count(label) / len(given) for label in labels] for given in (one, two))
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / len(one)
    by_chance = chance(p, q)
    return undefined if by_chance == 1 else kappa(observed, by_chance)


def _pooled(p: Sequence[float], q: Sequence[float]) -> float:
    return sum(((a + b) / 2) ** 2 for a, b in zip(p, q, strict=True))


def _over_items(one: Labels, two: Labels) -> float | None:
    """Chance is summed over the items, so that a label counts as often as it is given."""
    n = len(one)
    return by_shares(one, two, lambda p, q: sum(one.count(a) / n * two.count(a) / n for a in one))


def _of_counts(one: Labels, two: Labels, divisor: Callable[[int], int]) -> float | None:
    n = len(one)
    return by_shares(one, two, lambda p, q: _products(p, q) * n**2 / max(divisor(n), 1))


def _agreement(one: Labels, two: Labels) -> float:
    return sum(a == b for a, b in zip(one, two, strict=True)) / len(one)


def _without_guard(one: Labels, two: Labels) -> float:
    chance = sum(a == b for a, b in product(one, two)) / len(one) ** 2
    return (_agreement(one, two) - chance) / (1 - chance)


COMPARISON = Comparison(
    given="one, two",
    gives="kappa is",
    inputs=inputs,
    right=right,
    slips={
        "agreement": _agreement,
        "chance_half": partial(by_shares, chance=lambda p, q: 0.5),
        "chance_of_labels": partial(by_shares, chance=lambda p, q: 1 / len(p)),
        "first_rater_only": partial(by_shares, chance=lambda p, q: _products(p, p)),
        "second_rater_only": partial(by_shares, chance=lambda p, q: _products(q, q)),
        "pooled": partial(by_shares, chance=_pooled),
        "two_labels": partial(by_shares, chance=lambda p, q: _products(p[:2], q[:2])),
        "over_items": _over_items,
        "divided_by_n": partial(_of_counts, divisor=lambda n: n),
        "n_minus_one": partial(_of_counts, divisor=lambda n: n * (n - 1)),
        "not_divided": partial(by_shares, kappa=lambda o, c: o - c),
        "divided_by_chance": partial(by_shares, kappa=lambda o, c: (o - c) / c),
        "divided_by_disagreement": partial(by_shares, kappa=lambda o, c: (o - c) / (1 - o)),
        "divided_by_observed": partial(by_shares, kappa=lambda o, c: (o - c) / o),
        "turned": partial(by_shares, kappa=lambda o, c: (c - o) / (1 - c)),
        "never_below_0": partial(by_shares, kappa=lambda o, c: max(0.0, (o - c) / (1 - c))),
        "one_where_undefined": partial(by_shares, undefined=1.0),
        "zero_where_undefined": partial(by_shares, undefined=0.0),
        "without_guard": _without_guard,
    },
)
