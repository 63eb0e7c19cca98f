"""What a kind of interval is whose coverage is simulated: `simulate_coverage` has the general ones.

Those of one paper's measure are in `KINDS` of its room's module `coverage`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PER_CLUSTER = (4, 12, 40)
CORRELATIONS = (0.0, 0.2)

#: Ends of an interval, NaN where none is given.
Ends = tuple[float, float]
#: What the studies of one cell gave: the intervals, and the value they should hold.
Found = tuple[list[Ends], float]


@dataclass(frozen=True)
class Cell:
    """One cell: what is planted, and the size."""

    case: str
    correlation: float
    clusters: int
    per_cluster: int


def _cluster_chances(
    rng: np.random.Generator, p: float, correlation: float, shape: tuple[int, ...]
) -> np.ndarray:
    """The chance of a hit in each cluster: beta with mean p and this intracluster correlation."""
    if not correlation or p in (0, 1):
        return np.full(shape, p)
    size = 1 / correlation - 1
    return rng.beta(p * size, (1 - p) * size, shape)


@dataclass(frozen=True)
class Kind:
    """One kind of interval: how it is drawn, and its cells."""

    draw: Callable[[np.random.Generator, Cell, int], Found]
    cases: tuple[str, ...]
    per_cluster: tuple[int, ...] = PER_CLUSTER
    correlations: tuple[float, ...] = CORRELATIONS
    seeds: int = 4
    draws: int = 500
