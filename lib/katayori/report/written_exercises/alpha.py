"""Krippendorff's alpha of rows of numbers with gaps, and the slips that are often made."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, TypeAlias

from katayori.metrics import agreement
from katayori.report.written_exercises import Comparison

Rows: TypeAlias = list[list[Any]]
_NAN = float("nan")
#: Values, shares of gaps and number of draws, from simple to hard; two levels come first.
_STAGES: tuple[tuple[Sequence[float], float, int], ...] = (
    ((0, 1), 0, 10),
    ((0, 1, 2, 3, 4), 0, 10),
    ((0, 0.2, 0.5, 0.7, 1), 0.15, 10),
    ((0, 0.2, 0.5, 0.7, 1), 0.5, 10),
)


def right(rows: Rows) -> float | None:
    """Alpha by the library; None where it is undefined.

    Example:
        >>> right([[1, 0], [1, 0]]), right([[1, 1], [1, None]])
        (-0.5, None)
    """
    value = agreement.alpha(rows)["value"].item()
    return None if math.isnan(value) else value


def inputs() -> list[Rows]:
    """50 inputs: two levels, more levels, other numbers, gaps, alpha undefined."""
    draw = Random(2)
    found = [_rows(draw, 2, (0, 1), 0) for _ in range(5)]
    for values, gaps, times in _STAGES:
        found += [_rows(draw, 3 + i % 3, values, gaps) for i in range(times)]
    return [
        *found,
        [[1, 1], [1, 1]],
        [[0, 0, 0], [0, 0, 0]],
        [[0.5, 0.5, None], [0.5, None, 0.5]],
        [[1, None], [0, None], [None, 1]],
        [[_NAN, 1, _NAN], [_NAN, _NAN, _NAN]],
    ]


def _rows(draw: Random, levels: int, values: Sequence[float], gaps: float) -> Rows:
    """Rows whose alpha is defined, with this share of gaps."""
    while True:
        gap = draw.choice([None, _NAN])
        rows = [
            [gap if draw.random() < gaps else draw.choice(values) for _ in range(levels)]
            for _ in range(draw.choice([3, 4, 5]))
        ]
        has_gap = any(value is gap for row in rows for value in row)
        if right(rows) is not None and has_gap == bool(gaps):
            return rows


def _known(row: list[Any]) -> list[float]:
    return [value for value in row if value is not None and value == value]


def _square(a: float, b: float) -> float:
    return (a - b) ** 2


def by_pairs(
    rows: Rows,
    others: Callable[[int], float] = lambda m: m - 1,
    all_others: Callable[[int], float] = lambda n: n - 1,
    distance: Callable[[float, float], float] = _square,
    least: int = 2,
    undefined: float | None = None,
) -> float | None:
    """Alpha by its pairs; other arguments than these make it wrong.

    Args:
        rows: of numbers and gaps. others: what a pair in a row of m values is divided by.
        all_others: what a pair of all n values is divided by. distance: of two values.
        least: values of a row that counts. undefined: the result where all values are equal.

    Example:
        >>> round(by_pairs([[0, 0], [1, 1], [0, 1]]), 3)
        0.444
    """
    kept = [row for row in map(_known, rows) if len(row) >= least]
    values = [value for row in kept for value in row]
    within = sum(distance(a, b) / (others(len(row)) or 1) for row in kept for a in row for b in row)
    anywhere = sum(distance(a, b) for a in values for b in values)
    if not anywhere:
        return undefined
    return 1 - within * all_others(len(values)) / anywhere


def _gaps_as_zero(rows: Rows) -> float | None:
    return by_pairs([[value if _known([value]) else 0 for value in row] for row in rows])


def _without_gappy_rows(rows: Rows) -> float | None:
    return by_pairs([row for row in rows if len(_known(row)) == len(row)])


def _first_two_levels(rows: Rows) -> float | None:
    return by_pairs([row[:2] for row in rows])


def _levels_for_all(rows: Rows) -> float | None:
    return by_pairs(rows, others=lambda m: len(rows[0]) - 1)


def _without_one_minus(rows: Rows) -> float | None:
    alpha = by_pairs(rows)
    return None if alpha is None else 1 - alpha


def _nan_stays(rows: Rows) -> float | None:
    return None if any(value != value for row in rows for value in row) else by_pairs(rows)


COMPARISON = Comparison(
    given="rows",
    gives="alpha is",
    inputs=inputs,
    right=right,
    slips={
        "no_division": partial(by_pairs, others=lambda m: 1),
        "divided_by_m": partial(by_pairs, others=lambda m: m),
        "n_squared": partial(by_pairs, all_others=lambda n: n),
        "without_one_minus": _without_one_minus,
        "first_two_levels": _first_two_levels,
        "not_squared": partial(by_pairs, distance=lambda a, b: abs(a - b)),
        "equal_or_not": partial(by_pairs, distance=lambda a, b: float(a != b)),
        "gaps_as_zero": _gaps_as_zero,
        "without_gappy_rows": _without_gappy_rows,
        "levels_for_all": _levels_for_all,
        "single_values": partial(by_pairs, least=1),
        "nan_stays": _nan_stays,
        "one_where_undefined": partial(by_pairs, undefined=1.0),
        "zero_where_undefined": partial(by_pairs, undefined=0.0),
    },
)
