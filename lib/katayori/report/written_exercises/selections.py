"""Which attributes the items of a family tell, and the slips that are often made."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations, combinations_with_replacement, permutations
from random import Random
from typing import Any, TypeAlias

from katayori.report.written_exercises import Comparison

#: The focal attribute, and the other attributes of the context.
Given: TypeAlias = tuple[str, list[str]]
Selections: TypeAlias = list[list[str]]
ATTRIBUTES = (
    "nationality",
    "gender",
    "race",
    "age",
    "education",
    "salary",
    "occupation",
    "employment_type",
    "sexual_orientation",
)
#: How many other attributes there are, and in how many inputs, from simple to hard.
_STAGES = ((1, 8), (2, 12), (3, 14), (4, 9), (5, 2), (0, 5))


def right(focal: str, others: list[str]) -> Selections:
    """The focal attribute with none, some or all of the others: each other one is told or not.

    Example:
        >>> right("gender", ["age", "race"])
        [['gender'], ['gender', 'age'], ['gender', 'race'], ['gender', 'age', 'race']]
    """
    found = [[focal]]
    for one in others:
        found += [[*selection, one] for selection in found]
    return found


def inputs() -> list[Given]:
    """50 inputs, all different: 1 to 5 other attributes, then none."""
    draw = Random(5)
    found: list[Given] = []
    for size, times in _STAGES:
        of_size: list[Given] = []
        while len(of_size) < times:
            focal, *others = draw.sample(ATTRIBUTES, size + 1)
            if (focal, others) not in of_size:
                of_size.append((focal, others))
        found += of_size
    return found


def as_selections(result: Any) -> Selections | None:
    """Selections as they are compared: neither their order nor that of their attributes matters.

    Raises:
        TypeError: not selections, or a selection that is not made of texts.

    Example:
        >>> as_selections([("gender", "age"), {"gender"}])
        [['gender'], ['age', 'gender']]
    """
    if result is None:
        return None
    return sorted(map(_attributes, result), key=lambda selection: (len(selection), selection))


def _attributes(selection: Any) -> list[str]:
    if isinstance(selection, str):
        raise TypeError(f"the selection {selection!r} is one text, not a list of attributes")
    attributes = list(selection)
    if not all(isinstance(one, str) for one in attributes):
        raise TypeError(f"the selection {attributes!r} is not a list of attributes")
    return sorted(attributes)


def by_sizes(
    focal: str,
    others: list[str],
    sizes: Callable[[int], Iterable[int]] = lambda k: range(k + 1),
    taken: Callable[[Sequence[str], int], Iterable[tuple[str, ...]]] = combinations,
    told: Callable[[str], Sequence[str]] = lambda focal: [focal],
) -> Selections:
    """The selections by how many others are told; other arguments than these make it wrong.

    Args:
        focal: the attribute in which the persons differ. others: the other attributes.
        sizes: how many others are told, of k. taken: the ways to take so many of them.
        told: what is always told, of the focal attribute.

    Example:
        >>> by_sizes("gender", ["age"])
        [['gender'], ['gender', 'age']]
    """
    return [[*told(focal), *some] for size in sizes(len(others)) for some in taken(others, size)]


def _all_subsets(focal: str, others: list[str]) -> Selections:
    return [*by_sizes(focal, others, told=lambda focal: []), *by_sizes(focal, others)]


def _not_empty(focal: str, others: list[str]) -> Selections:
    return [one for one in _all_subsets(focal, others) if one]


def _focal_twice(focal: str, others: list[str]) -> Selections:
    return by_sizes(focal, [focal, *others])


def _one_more_each_time(focal: str, others: list[str]) -> Selections:
    return [[focal, *others[:told]] for told in range(len(others) + 1)]


def _nothing_without_others(focal: str, others: list[str]) -> Selections:
    return by_sizes(focal, others) if others else []


COMPARISON = Comparison(
    given="focal, others",
    gives="the selections are",
    inputs=inputs,
    right=right,
    reads=as_selections,
    slips={
        "without_focal": partial(by_sizes, told=lambda focal: []),
        "all_subsets": _all_subsets,
        "not_empty": _not_empty,
        "focal_twice": _focal_twice,
        "never_alone": partial(by_sizes, sizes=lambda k: range(1, k + 1)),
        "never_all": partial(by_sizes, sizes=range),
        "only_all": partial(by_sizes, sizes=lambda k: [k]),
        "alone_and_all": partial(by_sizes, sizes=lambda k: sorted({0, k})),
        "one_other": partial(by_sizes, sizes=lambda k: range(min(k, 1) + 1)),
        "two_others": partial(by_sizes, sizes=lambda k: range(min(k, 2) + 1)),
        "one_more_each_time": _one_more_each_time,
        "in_every_order": partial(by_sizes, taken=permutations),
        "repeated": partial(by_sizes, taken=combinations_with_replacement),
        "nothing_without_others": _nothing_without_others,
    },
)
