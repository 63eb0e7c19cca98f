"""How often intervals over clusters hold what was planted: a row is a cell of 2,000 studies.

Shares by `shares.cluster_shares` (also counterbalanced designs in which a model follows the
position in most clusters), bounds for answers that cannot be read, means of probabilities and of
log odds by t. The made-up studies are those of verdicts.py, too.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from katayori.metrics import shares
from katayori.metrics.intervals import contributions, mean_interval

SEED = 20261126
DRAWS = 2000
SIZES = ("equal sizes", "ragged sizes")
#: Answers of a cluster that name a person, in a Diff-bias.
NAMED = 0.2
SD = 0.15  # of contributions


class Study(NamedTuple):
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
    """

    total: np.ndarray
    n: np.ndarray
    lost: np.ndarray | int = 0
    first: np.ndarray | None = None


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


_CROSSED = itertools.product(
    (0.0, 0.05, 0.1, 0.2, 0.5, 1.0), (False, True), (0.0, 0.02), (0.0, 0.02, 0.1)
)
LOCKED = {one.case(): one for one in itertools.starmap(Locked, _CROSSED)}


# -- made-up studies -------------------------------------------------------------------------------


def cluster_chances(
    rng: np.random.Generator, p: float, correlation: float, shape: tuple[int, ...]
) -> np.ndarray:
    """The chance of a hit in each cluster: beta with mean p and this intracluster correlation."""
    if not correlation or p in (0, 1):
        return np.full(shape, p)
    size = 1 / correlation - 1
    return rng.beta(p * size, (1 - p) * size, shape)


def draw_share(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """Hits of each cluster, beta-binomial; answers all as many, or from 1 to twice the mean."""
    n = np.full((draws, study.clusters), study.per_cluster)
    if "ragged" in study.case:
        n = rng.integers(1, 2 * study.per_cluster, n.shape)
    chances = cluster_chances(rng, study.truth, study.correlation, n.shape)
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
    hits, n, *_ = draw_share(rng, study, draws)
    lost = rng.binomial(hits, float(study.case.split()[0]))
    return Drawn(hits - lost, n - lost, lost)


def draw_mean(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """One contribution a cluster, or the signs of its answers (Diff-bias)."""
    shape = (draws, study.clusters)
    ones = np.ones(shape)
    if study.case == "normal":
        return Drawn(study.truth + SD * rng.normal(size=shape), ones)
    if study.case == "exponential":
        return Drawn(study.truth + SD * (rng.exponential(size=shape) - 1), ones)
    named = rng.binomial(study.per_cluster, NAMED, shape)
    chances = cluster_chances(rng, 0.5 + study.truth / NAMED / 2, study.correlation, shape)
    biased = rng.binomial(named, chances)
    return Drawn(2 * biased - named, np.full(shape, study.per_cluster))


def draw_log_odds(rng: np.random.Generator, study: Study, draws: int) -> Drawn:
    """One log odds a cluster, or its probability, normal with SD 1.5 about what the case names."""
    centre = float(study.case.removeprefix("log odds about "))
    odds = centre + 1.5 * rng.normal(size=(draws, study.clusters))
    return Drawn(odds if study.kind == "mean log odds" else expit(odds), np.ones(odds.shape))


def mean_probability(centre: float) -> float:
    """The mean of probabilities whose log odds are normal with SD 1.5."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return float(weights @ expit(centre + 1.5 * nodes) / weights.sum())


#: What draws each kind; the number is part of its seeds.
KINDS: dict[str, tuple[int, Callable[[np.random.Generator, Study, int], Drawn]]] = {
    "share": (0, draw_share),
    "share, locked": (1, draw_locked),
    "share, bounds": (2, draw_loss),
    "mean": (4, draw_mean),
    "mean probability": (5, draw_log_odds),
    "mean log odds": (6, draw_log_odds),
}


def drawn(study: Study, draws: int, seed: int = SEED) -> Drawn:
    """Studies of one kind; the same for the same seed."""
    case = sum(ord(letter) * place for place, letter in enumerate(study.case, 1))
    kind, draw = KINDS[study.kind]
    numbers = [round(1000 * (one + 10)) for one in study[2:]]
    return draw(np.random.default_rng([seed, kind, case, *numbers]), study, draws)


# -- the table -------------------------------------------------------------------------------------


def _shares() -> Iterator[Study]:
    truths = (0.0, 0.005, 0.05, 0.2, 0.5)
    crossed = itertools.product(SIZES, truths, (0.0, 0.2), (5, 10, 20, 36, 50), (4, 8, 24))
    for case, truth, correlation, clusters, per in crossed:
        if truth or not correlation:  # a share of 0 has no correlation inside clusters
            yield Study("share", case, truth, correlation, clusters, per)


def _locked() -> Iterator[Study]:
    """What is read leans to .9; or is decided, in .85 of these clusters one way, or in all."""
    for model in LOCKED.values():
        if model.missing == 0.02 or (not model.reading and not model.slip):
            continue  # without a slip the design fixes every cluster
        leans = (0.85, 1.0) if model.decided else (0.9,)
        for lean, clusters, per in itertools.product(leans, (10, 20, 36, 50), (4, 8, 24)):
            truth = round(0.5 + model.reading * (lean - 0.5), 6)
            if truth > 0.5 or (not model.decided and not model.reading):
                yield Study("share, locked", model.case(), truth, 0.0, clusters, per)


def _others() -> Iterator[Study]:
    for clusters in (5, 10, 20, 50):
        for centre in (0, 2):
            case = f"log odds about {centre}"
            yield Study("mean probability", case, mean_probability(centre), 0.0, clusters, 1)
            yield Study("mean log odds", case, float(centre), 0.0, clusters, 1)
    cases = ("0.05 of yes lost", "0.2 of yes lost")
    crossed = itertools.product(cases, (0.05, 0.5), (0.0, 0.2), (10, 20, 50), (4, 12))
    for case, truth, correlation, clusters, per in crossed:
        yield Study("share, bounds", case, truth, correlation, clusters, per)


def cells() -> list[Study]:
    """All cells of the table."""
    return [*_shares(), *_locked(), *_others()]


def ends(study: Study, found: Drawn) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper ends of the interval of each study."""
    if study.kind.startswith("share"):
        asked = found.n + found.lost
        low = shares.cluster_shares(found.total, asked)["ci_low"]
        return low, shares.cluster_shares(found.total + found.lost, asked)["ci_high"]
    pairs = zip(found.total, found.n, strict=True)
    rows = [mean_interval(contributions(one).tolist()) for one in pairs]
    low, high = np.array([(row["ci_low"], row["ci_high"]) for row in rows], float).T
    return low, high


def table(studies: Iterable[Study] | None = None) -> pd.DataFrame:
    """One row a cell; width is the mean over the intervals given."""
    rows = []
    for study in cells() if studies is None else studies:
        low, high = ends(study, drawn(study, DRAWS))
        given = np.isfinite(low) & np.isfinite(high)
        # A share of 0 has the interval [0, x]: its end equals the truth up to rounding.
        covered = given & (low <= study.truth + 1e-12) & (high >= study.truth - 1e-12)
        row = study._asdict() | {"seed": SEED, "draws": DRAWS, "given": given.sum()}
        share = covered.sum() / given.sum() if given.any() else np.nan
        row |= {"covered": covered.sum(), "coverage": share}
        row["mc_error"] = np.sqrt(share * (1 - share) / max(given.sum(), 1))
        row["width"] = (high - low)[given].mean() if given.any() else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    table().to_csv(Path(__file__).with_suffix(".csv"), index=False, float_format="%.10g")
