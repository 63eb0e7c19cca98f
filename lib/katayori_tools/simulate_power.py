"""What power curves are made of: how a paper's room says what is planted and what tests promise.

A room's module `simulate` has them in `CURVES`, by measure: `data/simulated/power_<measure>.csv`.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

LEVEL = 0.05
#: 1 or 0 for every repetition by test, NaN where it is undefined.
Found = dict[str, np.ndarray]


def _design(clusters: int, ages: int, repetitions: int) -> pd.DataFrame:
    """Every question x age x gender x race of every repetition (column `model`), without answers."""
    levels = [range(repetitions), range(clusters), range(ages), range(3), range(5)]
    names = ["model", "decision_question_id", "age", "gender", "race"]
    frame = pd.DataFrame(list(itertools.product(*levels)), columns=names)
    return frame.assign(source="simulated", age=20 + 10 * frame["age"])


def _choices(rng: np.random.Generator, chance: np.ndarray, per: int) -> pd.DataFrame:
    """Roles chosen in `per` variants of every repetition's cases; the chance of neutral is cases' or variants'."""
    shape = (*chance.shape[:2], per)
    neutral = rng.random(shape) < chance
    model, case, variant = (part.ravel() for part in np.indices(shape))
    choice = np.where(neutral.ravel(), "neutral", "biased")
    told = {
        "model": model,
        "case_id": case,
        "template": variant // 2,
        "order": variant % 2,
        "choice": choice,
    }
    return pd.DataFrame(told).assign(
        letter=choice, correct=neutral.ravel(), outcome="ok", source="simulated"
    )


def _below(p: object) -> np.ndarray:
    """1 where a test rejects at LEVEL, 0 where not, NaN where it is undefined."""
    p = np.asarray(p, float)
    return np.where(np.isnan(p), np.nan, p <= LEVEL + 1e-12)


def _outside(low: pd.Series, high: pd.Series, value: float = 0) -> np.ndarray:
    """1 where an interval leaves out the value, 0 where it holds it, NaN where it is undefined."""
    return np.where(low.isna(), np.nan, (low > value) | (high < value))


class Curves(NamedTuple):
    """What is simulated for one measure: sizes (the paper's first), effects (0 first), what tests
    promise.
    """

    draw: Callable[..., Found]
    clusters: tuple[int, ...]
    per_cluster: tuple[int, ...]
    effects: tuple[float, ...]
    promises: dict[str, str]
    repetitions: int = 20


PROMISED = "level"
MANY = "level for many clusters"
ALONE = "level for independent answers"
