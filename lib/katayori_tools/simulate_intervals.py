"""How often intervals over clusters hold what was planted: data/simulated/intervals.csv.

Shares by `shares.cluster_share` (also counterbalanced designs in which a model follows the position
in most clusters), means and differences by t, bounds for answers that cannot be read. A row is a
cell of 2,000 studies.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import astuple, fields

import numpy as np
import pandas as pd

from katayori.metrics import intervals, shares
from katayori_tools.simulate_studies import (
    LOCKED,
    Drawn,
    Study,
    drawn,
    mean_probability,
)

FILE = "simulated/intervals.csv"
CELL = [field.name for field in fields(Study)]
COLUMNS = [*CELL, "seed", "draws", "given", "covered", "coverage", "mc_error", "width"]
STUDIES = 2000
SEED = 20261126
SIZES = ("equal sizes", "ragged sizes")
TRUTHS = (0.0, 0.005, 0.05, 0.2, 0.5)


def _shares() -> Iterator[Study]:
    crossed = itertools.product(SIZES, TRUTHS, (0.0, 0.2), (5, 10, 20, 36, 50), (4, 8, 24))
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
        for case, truth in (("normal", 0.0), ("exponential", 0.0), ("Diff-bias", 0.04)):
            yield Study("mean", case, truth, 0.0, clusters, 8)
        yield Study("mean", "Diff-bias", 0.04, 0.2, clusters, 8)
        for case, per in itertools.product(SIZES, (4, 12)):
            yield Study("difference", case, 0.1, 0.0, clusters, per)
        for centre in (0, 2):
            case, truth = f"log odds about {centre}", mean_probability(centre)
            yield Study("mean probability", case, truth, 0.0, clusters, 1)
            yield Study("mean log odds", case, float(centre), 0.0, clusters, 1)
    crossed = itertools.product(
        ("0.05 of yes lost", "0.2 of yes lost"), (0.05, 0.5), (0.0, 0.2), (10, 20, 50), (4, 12)
    )
    for case, truth, correlation, clusters, per in crossed:
        yield Study("share, bounds", case, truth, correlation, clusters, per)


def cells() -> list[Study]:
    """All cells of the table."""
    return [*_shares(), *_locked(), *_others()]


def ends(study: Study, found: Drawn) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper ends of the interval of each study."""
    if study.kind.startswith("share"):
        lost = 0 if found.lost is None else found.lost
        asked = found.n + lost
        low = shares.cluster_shares(found.total, asked)["ci_low"]
        return low, shares.cluster_shares(found.total + lost, asked)["ci_high"]
    rows = []
    for place, ratio in enumerate(zip(found.total, found.n, strict=True)):
        other = None if found.other is None else (found.other[0][place], found.other[1][place])
        values = intervals.contributions(ratio, other)
        interval = intervals.mean_interval(values.tolist())
        rows.append((interval["ci_low"], interval["ci_high"]))
    low, high = np.array(rows, float).T
    return low, high


def coverage(studies: Iterable[Study], draws: int = STUDIES) -> pd.DataFrame:
    """One row a cell, columns `COLUMNS`; width is the mean over the intervals given."""
    rows = []
    for study in studies:
        low, high = ends(study, drawn(study, SEED, draws))
        given = np.isfinite(low) & np.isfinite(high)
        # A share of 0 has the interval [0, x]: its end equals the truth up to rounding.
        covered = given & (low <= study.truth + 1e-12) & (high >= study.truth - 1e-12)
        share = covered.sum() / given.sum() if given.any() else np.nan
        error = np.sqrt(share * (1 - share) / max(given.sum(), 1))
        width = float((high - low)[given].mean()) if given.any() else np.nan
        counts = (SEED, draws, int(given.sum()), int(covered.sum()))
        rows.append((*astuple(study), *counts, share, error, width))
    return pd.DataFrame(rows, columns=COLUMNS)


def interval_table() -> pd.DataFrame:
    """All cells; prints the lowest coverage of each kind."""
    found = coverage(cells())
    lowest = found.sort_values("coverage").groupby("kind", sort=False).head(3)
    print(lowest[[*CELL, "coverage", "given"]].to_string(index=False), flush=True)
    return found
