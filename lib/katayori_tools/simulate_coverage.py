"""How often the project's intervals hold what was planted: data/simulated/interval_coverage.csv.

For each kind of interval and each cell (what is planted, number of clusters, answers a cluster,
correlation inside clusters) many studies are drawn. Kept are the number of studies, the number in
which an interval was given at all, how many of those hold the planted value, and their mean width.
An interval that is withheld where it would fail is no better for it: both numbers are told.

A cell whose coverage lies below 93 %, or in which fewer than 80 % of studies get an interval, is
named in the docstring of the function concerned and printed in notebook 00.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from katayori.metrics import intervals, repeats, shares
from katayori_tools import simulate_alpha
from katayori_tools.papers import collected
from katayori_tools.simulate_factor import base_chances
from katayori_tools.simulate_kinds import Cell, Ends, Found, Kind, _cluster_chances

FILE = "simulated/interval_coverage.csv"
CELL = ["kind", "case", "correlation", "clusters", "per_cluster"]
COLUMNS = [*CELL, "seed", "draws", "given", "covered", "width"]
CLUSTERS = (5, 10, 20, 50)
PER_CLUSTER = (4, 12, 40)
CORRELATIONS = (0.0, 0.2)
LEVELS = 3
REPEATS = 5


def _ends(found: Mapping) -> Ends:
    return found["ci_low"], found["ci_high"]


def _p(case: str) -> float:
    return float(case.removeprefix("p = "))


def draw_share(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Hits among the answers of each cluster, beta-binomial."""
    p = _p(cell.case)
    chances = _cluster_chances(rng, p, cell.correlation, (draws, cell.clusters))
    hits = rng.binomial(cell.per_cluster, chances)
    totals = [cell.per_cluster] * cell.clusters
    return [_ends(shares.cluster_share(one, totals, floor=1.0)) for one in hits], p


def draw_difference(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """The same share under two conditions: the difference by cluster is 0 on average."""
    p = _p(cell.case)
    chances = _cluster_chances(rng, p, cell.correlation, (draws, cell.clusters, 2))
    shares = rng.binomial(cell.per_cluster, chances) / cell.per_cluster
    return [_ends(intervals.mean_interval(one)) for one in shares[..., 1] - shares[..., 0]], 0.0


def draw_diff_bias(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Biased less counter-biased over valid answers: p choose a person, 60 % of them the biased.

    One answer in five is invalid, so clusters differ in size; the score is a ratio of sums.
    """
    p = _p(cell.case)
    shape = (draws, cell.clusters)
    valid = rng.binomial(cell.per_cluster, 0.8, shape)
    persons = rng.binomial(valid, _cluster_chances(rng, p, cell.correlation, shape))
    biased = rng.binomial(persons, _cluster_chances(rng, 0.6, cell.correlation, shape))
    score = 2 * biased - persons
    values = [intervals.contributions(one) for one in zip(score, valid, strict=True)]
    return [_ends(intervals.mean_interval(one.tolist())) for one in values], 0.2 * p


def _probabilities(rng: np.random.Generator, cell: Cell, draws: int) -> tuple[np.ndarray, float]:
    """Mean log odds by cluster's items are normal with SD 1, part of it between clusters."""
    between, within = np.sqrt(cell.correlation), np.sqrt(1 - cell.correlation)
    shape = (draws, cell.clusters, cell.per_cluster)
    odds = logit(_p(cell.case)) + within * rng.normal(size=shape)
    return odds + between * rng.normal(size=(*shape[:2], 1)), float(logit(_p(cell.case)))


def draw_probability(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Mean probability over clusters (of the means of their items)."""
    odds, centre = _probabilities(rng, cell, draws)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = float(weights @ expit(centre + nodes) / weights.sum())
    means = expit(odds).mean(axis=2)
    return [_ends(intervals.probability(one, cell.clusters)) for one in means], truth


def draw_log_odds(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Mean log odds over clusters, the interval that stands beside a mean probability."""
    odds, centre = _probabilities(rng, cell, draws)
    return [_ends(intervals.mean_interval(one.mean(axis=1))) for one in odds], centre


def _cell_chances(
    rng: np.random.Generator, case: str, clusters: int, cells: tuple[int, int]
) -> np.ndarray:
    """P(yes) of a study's cells (questions x rows x levels): by question, and by cell with an SD.

    `case` reads "hesitant, SD 1": shape of P(yes) over questions, SD of the cells' log odds.
    """
    shape, spread = case.split(", SD ")
    # Two studies: the near-constant shape takes one end in the first, the other in the second.
    base = base_chances(rng, shape, 2, clusters)[rng.integers(2)]
    noise = float(spread) * rng.normal(size=(clusters, *cells))
    return expit(logit(base)[:, None, None] + noise)


@lru_cache
def true_alpha(case: str, *, sampled: bool) -> float:
    """The alpha of infinitely many questions: covariance inside rows over variance of a value.

    `sampled`: of answers, one a cell; else of the probabilities themselves. Two cells of each of
    400,000 questions give it to three digits.
    """
    p = _cell_chances(np.random.default_rng(0), case, 400_000, (1, 2))[:, 0]
    together = np.cov(p.T)[0, 1]
    spread = p.mean() * (1 - p.mean()) if sampled else p.var()
    return float(together / spread) if spread > 0 else np.nan


def _rows(cell: Cell, answers_a_row: int) -> int:
    return cell.per_cluster // answers_a_row


def _sampled_tables(rng: np.random.Generator, cell: Cell, draws: int) -> Iterator[pd.DataFrame]:
    """Tables of one sampled answer a cell: question x row by level."""
    rows = _rows(cell, LEVELS)
    index = pd.MultiIndex.from_product([range(cell.clusters), range(rows)])
    for _ in range(draws):
        chances = _cell_chances(rng, cell.case, cell.clusters, (rows, LEVELS))
        yes = (rng.random(chances.shape) < chances).reshape(-1, LEVELS).astype(float)
        yield pd.DataFrame(yes, index=index)


def draw_alpha_bootstrap(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Alpha of sampled answers, percentile bootstrap over questions (500 resamples).

    Not what notebooks print: it stands here to show why they print the jackknife.
    """
    tables = _sampled_tables(rng, cell, draws)
    ends = [
        simulate_alpha.alpha_bootstrap(table, n_resamples=500, seed=draw)
        for draw, table in enumerate(tables)
    ]
    return ends, true_alpha(cell.case, sampled=True)


def draw_alpha_sampled(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Alpha of sampled answers as notebook 01 prints it: jackknife over questions."""
    tables = _sampled_tables(rng, cell, draws)
    found = [simulate_alpha.alpha_table({"factor": table}).iloc[0].to_dict() for table in tables]
    ends = [_ends(one) for one in found]
    return ends, true_alpha(cell.case, sampled=True)


def draw_alpha_jackknife(rng: np.random.Generator, cell: Cell, draws: int) -> Found:
    """Alpha of the true probabilities from five answers a cell, jackknife over questions."""
    ends = []
    rows = _rows(cell, LEVELS * REPEATS)
    index = np.indices((cell.clusters, rows, LEVELS, REPEATS)).reshape(4, -1)
    about = {"question": index[0], "row": index[1], "level": index[2]}
    for _ in range(draws):
        chances = _cell_chances(rng, cell.case, cell.clusters, (rows, LEVELS))[..., None]
        yes = rng.random((*chances.shape[:3], REPEATS)) < chances
        frame = pd.DataFrame({**about, "value": yes.ravel().astype(float)})
        found = repeats.alpha_from_replicates(frame, level="level", row="row", question="question")
        ends.append(_ends(found))
    return ends, true_alpha(cell.case, sampled=False)


P = ("p = 0", "p = 0.005", "p = 0.05", "p = 0.5", "p = 1")
SAMPLED = ("hesitant, SD 0", "hesitant, SD 1", "decided, SD 0", "near constant, SD 0")
GENERAL = {
    "share": Kind(draw_share, P),
    "difference of shares": Kind(draw_difference, P),
    "Diff-bias": Kind(draw_diff_bias, P[1:]),
    "mean probability": Kind(draw_probability, P[1:4]),
    "mean log odds": Kind(draw_log_odds, P[1:4]),
    "alpha, jackknife": Kind(
        draw_alpha_sampled,
        SAMPLED,
        per_cluster=(12, 45),
        correlations=(0.0,),
        seeds=2,
        draws=250,
    ),
    "alpha, bootstrap": Kind(
        draw_alpha_bootstrap,
        SAMPLED,
        per_cluster=(12, 45),
        correlations=(0.0,),
        seeds=2,
        draws=250,
    ),
    "alpha without noise, jackknife": Kind(
        draw_alpha_jackknife,
        ("hesitant, SD 0.5", "hesitant, SD 1", "decided, SD 1", "near constant, SD 0"),
        per_cluster=(60,),
        correlations=(0.0,),
        draws=125,
    ),
}
#: Kinds of intervals by name: the general ones, and those of papers.
KINDS: dict[str, Kind] = GENERAL | collected("coverage", "KINDS")


def cells(kind: str) -> list[Cell]:
    """The cells of one kind; a share of 0 or 1 has no correlation inside clusters."""
    told = KINDS[kind]
    crossed = itertools.product(told.cases, told.correlations, CLUSTERS, told.per_cluster)
    found = [Cell(*one) for one in crossed]
    fixed = ("p = 0", "p = 1")
    return [
        cell
        for cell in found
        if not (cell.correlation and cell.case in fixed and kind != "Diff-bias")
    ]


def coverage_draws(kind: str, cell: Cell, seeds: Iterable[int]) -> pd.DataFrame:
    """One row a seed of one cell, columns `COLUMNS`; width is the mean over intervals given."""
    told = KINDS[kind]
    rows = []
    for seed in seeds:
        place = [told.cases.index(cell.case), round(100 * cell.correlation)]
        rng = np.random.default_rng([seed, *place, cell.clusters, cell.per_cluster])
        ends, truth = told.draw(rng, cell, told.draws)
        low, high = np.array(ends, float).T
        given = np.isfinite(low) & np.isfinite(high)
        # A share of 0 has the interval [0, x]: its end equals the truth up to rounding.
        covered = given & (low <= truth + 1e-12) & (high >= truth - 1e-12)
        width = float((high - low)[given].mean()) if given.any() else np.nan
        where = (kind, cell.case, cell.correlation, cell.clusters, cell.per_cluster)
        counts = (len(given), int(given.sum()), int(covered.sum()))
        rows.append((*where, seed, *counts, width))
    return pd.DataFrame(rows, columns=COLUMNS)


def coverage_table(kinds: Iterable[str] = tuple(KINDS)) -> pd.DataFrame:
    """All cells and seeds of these kinds."""
    parts = [
        coverage_draws(kind, cell, range(KINDS[kind].seeds))
        for kind in kinds
        for cell in cells(kind)
    ]
    return pd.concat(parts, ignore_index=True)
