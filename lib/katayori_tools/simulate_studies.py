"""Made-up studies with a known truth: shares, locked models, means, losses.

Drawn for the coverage of intervals (`simulate_intervals`) and for verdicts (`simulate_verdicts`).
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from katayori_tools.simulate_kinds import _cluster_chances

#: Answers of a cluster that name a person, in a Diff-bias.
NAMED = 0.2
SD = 0.15  # of contributions


@dataclass(frozen=True)
class Study:
    """What is planted, and the size; `per_cluster` is the mean size of ragged clusters."""

    kind: str
    case: str
    truth: float
    correlation: float
    clusters: int
    per_cluster: int


class Drawn(NamedTuple):
    """Sums and numbers of the answers of each cluster (shape: draws x clusters).

    Attributes:
        lost: answers of each cluster that would have been yes and cannot be read.
        first: share of the answers of a study that take the first position (shape: draws).
        other: sums and numbers of a second group.
    """

    total: np.ndarray
    n: np.ndarray
    lost: np.ndarray | None = None
    first: np.ndarray | None = None
    other: tuple[np.ndarray, np.ndarray] | None = None


class Locked(NamedTuple):
    """A model that follows the position in most clusters of a counterbalanced design.

    Attributes:
        reading: share of the clusters that it reads.
        decided: whether all answers to a cluster that it reads are alike.
        slip: share of its answers to the other clusters that do not follow the position.
        missing: share of the answers that are lost.
    """

    reading: float
    decided: bool
    slip: float
    missing: float = 0.0

    def case(self) -> str:
        """As it stands in the tables."""
        manner = "decided" if self.decided else "leaning"
        return f"{self.reading:g} read, {manner}, slip {self.slip:g}, {self.missing:g} missing"


LOCKED = {
    one.case(): one
    for reading in (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
    for decided in (False, True)
    for slip in (0.0, 0.02)
    for missing in (0.0, 0.02, 0.1)
    for one in [Locked(reading, decided, slip, missing)]
}


def _sizes(rng: np.random.Generator, study: Study, draws: int) -> np.ndarray:
    """Answers a cluster: all the same, or from 1 to twice the mean."""
    shape = (draws, study.clusters)
    if "ragged" in study.case:
        return rng.integers(1, 2 * study.per_cluster, shape)
    return np.full(shape, study.per_cluster)


def draw_share(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """Hits of each cluster, beta-binomial."""
    n = _sizes(rng, study, draws)
    chances = _cluster_chances(rng, study.truth, study.correlation, n.shape)
    return Drawn(rng.binomial(n, chances), n)


def draw_locked(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """Hits of a model that follows the position but in the clusters that it reads.

    Half of a cluster's variants have the biased option first. What is read leans so that the share
    over all clusters is the truth.
    """
    model, n = LOCKED[study.case], study.per_cluster
    shape = (draws, study.clusters)
    kept = rng.binomial(n // 2, 1 - model.slip, shape)
    turned = rng.binomial(n - n // 2, model.slip, shape)
    hits, first = kept + turned, kept + n - n // 2 - turned
    if model.reading:
        lean = min(1.0, 0.5 + (study.truth - 0.5) / model.reading)  # not 1 + 1e-16
        chances = np.full(shape, lean)
        if model.decided:
            chances = (rng.random(shape) < lean).astype(float)
        reads = rng.random(shape) < model.reading
        hits = np.where(reads, rng.binomial(n, chances), hits)
        first = np.where(reads, n // 2, first)
    read = 1 - model.missing
    total = rng.binomial(hits, read)
    return Drawn(total, total + rng.binomial(n - hits, read), first=first.mean(axis=1) / n)


def draw_loss(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """Beta-binomial hits, of which a share cannot be read; the other answers all can."""
    n = _sizes(rng, study, draws)
    chances = _cluster_chances(rng, study.truth, study.correlation, n.shape)
    hits = rng.binomial(n, chances)
    lost = rng.binomial(hits, float(study.case.split()[0]))
    return Drawn(hits - lost, n - lost, lost=lost)


def draw_difference(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """Two groups that share their questions, whose chances lie from .2 to .8."""
    question = rng.uniform(0.2, 0.8, (draws, study.clusters))
    sizes = [_sizes(rng, study, draws) for _ in range(2)]
    chances = (question + study.truth / 2, question - study.truth / 2)
    first, second = (rng.binomial(*one) for one in zip(sizes, chances, strict=True))
    return Drawn(first, sizes[0], other=(second, sizes[1]))


def draw_mean(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """One contribution a cluster, or the signs of its answers (Diff-bias)."""
    shape = (draws, study.clusters)
    ones = np.ones(shape)
    if study.case == "normal":
        return Drawn(study.truth + SD * rng.normal(size=shape), ones)
    if study.case == "exponential":
        return Drawn(study.truth + SD * (rng.exponential(size=shape) - 1), ones)
    named = rng.binomial(study.per_cluster, NAMED, shape)
    chances = _cluster_chances(rng, 0.5 + study.truth / NAMED / 2, study.correlation, shape)
    biased = rng.binomial(named, chances)
    return Drawn(2 * biased - named, np.full(shape, study.per_cluster))


def draw_log_odds(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """One log odds a cluster, normal with SD 1.5 about its mean."""
    odds = centre_of(study) + 1.5 * rng.normal(size=(draws, study.clusters))
    values = odds if study.kind == "mean log odds" else expit(odds)
    return Drawn(values, np.ones(odds.shape))


def centre_of(study: Study) -> float:
    """The mean log odds that a case names."""
    return float(study.case.removeprefix("log odds about "))


def mean_probability(centre: float) -> float:
    """The mean of probabilities whose log odds are normal with SD 1.5.

    Example:
        >>> round(mean_probability(0.0), 6)
        0.5
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return float(weights @ expit(centre + 1.5 * nodes) / weights.sum())


DRAWS: dict[str, Callable[[np.random.Generator, Study, int], Drawn]] = {
    "share": draw_share,
    "share, locked": draw_locked,
    "share, bounds": draw_loss,
    "difference": draw_difference,
    "mean": draw_mean,
    "mean probability": draw_log_odds,
    "mean log odds": draw_log_odds,
}


def drawn(study: Study, seed: int, draws: int) -> Drawn:
    """Studies of one kind; the same for the same seed."""
    case = sum(ord(letter) * place for place, letter in enumerate(study.case, 1))
    kind = list(DRAWS).index(study.kind)
    numbers = [round(1000 * (one + 10)) for one in astuple(study)[2:]]
    return DRAWS[study.kind](np.random.default_rng([seed, kind, case, *numbers]), study, draws)
