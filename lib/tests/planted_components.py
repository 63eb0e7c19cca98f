"""Answers with planted components of variance, for tests: templates x prompts x orders."""

import itertools
from collections.abc import Mapping
from functools import cache
from math import prod

import numpy as np
import pandas as pd

FACETS = ["template", "prompt", "order"]
EFFECTS = ["template", "prompt", "order", "template x prompt", "template x order"]
EFFECTS += ["prompt x order", "template x prompt x order"]
#: Six orders that the answers follow.
SIX = (3.0, -3.0, 1.0, -1.0, 2.0, -2.0)
ORDINARY = {"template": 1.0, "prompt": 0.3, "template x prompt": 0.5}
ORDINARY |= {"template x order": 0.4, "prompt x order": 0.6, "template x prompt x order": 0.7}
Planted = Mapping[str, float]


@cache
def crossed(shape: tuple[int, ...]) -> pd.DataFrame:
    """A row for every combination of levels."""
    ways = itertools.product(*map(range, shape))
    return pd.DataFrame(list(ways), columns=FACETS[: len(shape)])


def made(
    rng: np.random.Generator,
    planted: Planted,
    shape: tuple[int, ...] = (28, 5, 6),
    orders: tuple[float, ...] = SIX,
) -> pd.DataFrame:
    """Answers with effects of these standard deviations; `orders` are the same in every draw."""
    side = np.zeros(shape)
    for effect, sd in planted.items():
        own = [
            n if facet in effect.split(" x ") else 1
            for facet, n in zip(FACETS, shape, strict=False)
        ]
        side = side + rng.normal(0, sd, own)
    if len(shape) == 3:
        side = side + np.array(orders[: shape[2]])
    return crossed(shape).assign(side=side.ravel())


def truth(planted: Planted, orders: tuple[float, ...] = SIX) -> dict[str, float]:
    """The components, with the orders as they are: of an effect, its mean over the orders."""
    own = {effect: planted.get(effect, 0.0) ** 2 for effect in EFFECTS}
    n = len(orders)
    out = dict(own) | {"order": float(np.var(orders, ddof=1))}
    for effect in ("template", "prompt", "template x prompt"):
        out[effect] = own[effect] + own[f"{effect} x order"] / n
    return out


def true_se(parts: Mapping[str, float], counts: Mapping[str, int], n_orders: int = 6) -> float:
    """The standard deviation of the mean of such a design."""
    left = 1 - counts["order"] / n_orders
    variance = 0.0
    for effect, part in parts.items():
        named = effect.split(" x ")
        share = part / prod(counts[facet] for facet in named)
        variance += share * (left if "order" in named else 1)
    return variance**0.5
