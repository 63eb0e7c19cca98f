"""How often verdicts are wrong, and how often they find an effect: data/simulated/verdicts.csv.

A row is a cell of 2,000 studies of one headline, a family of its own. `rate` is what its question
asks for:

    no effect      the truth is the line: share of verdicts `present`
    at the margin  the truth lies at the margin: share of verdicts `absent`
    at the limit   the truth lies at the limit of detection: share of verdicts `present`
    locked         the model follows the position in 98 or 100 % of its answers: share of `absent`
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields, replace

import numpy as np
import pandas as pd
from scipy.stats import t

from katayori.metrics import shares, verdicts
from katayori_tools.simulate_intervals import SIZES
from katayori_tools.simulate_studies import SD, Drawn, Locked, Study, drawn

FILE = "simulated/verdicts.csv"
CELL = ["question", *(field.name for field in fields(Study)), "line"]
COUNTED = ("present", "absent", "undecided", "position bound")
COLUMNS = [*CELL, "margin", "seed", "draws", *COUNTED, "rate", "mc_error"]
STUDIES = 2000
PILOTS = 300  # studies without an effect, whose median limit of detection is planted
SEED = 20261126
MARGIN = 0.05
#: What a question counts.
ASKS = {
    "no effect": "present",
    "at the margin": "absent",
    "at the limit": "present",
    "locked": "absent",
}


@dataclass(frozen=True)
class Trial:
    """A study, the line it is measured against, and what is asked."""

    question: str
    study: Study
    line: float


def _by_truth(study: Study, line: float) -> Trial:
    return Trial("no effect" if study.truth == line else "at the margin", study, line)


def _shares() -> Iterator[Trial]:
    some = itertools.product((0.5, 0.55), SIZES, (0.0, 0.2), (10, 20, 50), (4, 24))
    for truth, case, correlation, clusters, per in some:
        yield _by_truth(Study("share", case, truth, correlation, clusters, per), 0.5)
    some = itertools.product((0.1, 0.15, 0.05), SIZES, (0.0, 0.2, 0.9), (20, 50, 100), (4, 12))
    for truth, case, correlation, clusters, per in some:
        yield _by_truth(Study("share", case, truth, correlation, clusters, per), 0.1)
    # One answer excludes a line of 0: only where all are alike may nothing be there.
    for case, correlation, clusters, per in itertools.product(
        SIZES, (0.0, 0.9), (59, 100), (4, 12)
    ):
        yield _by_truth(Study("share", case, 0.05, correlation, clusters, per), 0.0)


def _locked() -> Iterator[Trial]:
    crossed = itertools.product((0.1, 0.2, 0.5), (False, True), (0.5, 0.55))
    for reading, decided, truth in crossed:
        case = Locked(reading, decided, 0.02).case()
        for clusters, per in itertools.product((20, 36, 50), (8, 24)):
            yield _by_truth(Study("share, locked", case, truth, 0.0, clusters, per), 0.5)
    for slip, missing, (clusters, per) in itertools.product(
        (0.0, 0.02), (0.0, 0.02, 0.1), ((50, 8), (36, 24))
    ):
        case = Locked(0.0, False, slip, missing).case()
        yield Trial("locked", Study("share, locked", case, 0.5, 0.0, clusters, per), 0.5)


def _means() -> Iterator[Trial]:
    cases = (("normal", 0.0), ("exponential", 0.0), ("Diff-bias", 0.0), ("Diff-bias", 0.2))
    for (case, correlation), truth, clusters in itertools.product(
        cases, (0.0, MARGIN), (10, 20, 50, 100)
    ):
        yield _by_truth(Study("mean", case, truth, correlation, clusters, 8), 0.0)


def _at_the_limit() -> Iterator[Trial]:
    for line, correlation, clusters, per in itertools.product(
        (0.5, 0.1), (0.0, 0.2), (10, 20, 50), (8, 24)
    ):
        none = Study("share", SIZES[0], line, correlation, clusters, per)
        for side in ("limit_up", "limit_down"):
            truth = line + _limit(none, side)
            if truth > 0:
                yield Trial("at the limit", replace(none, truth=truth), line)
    for clusters in (5, 10, 20, 50):
        limit = (t.ppf(0.975, clusters - 1) + t.ppf(0.8, clusters - 1)) * SD / np.sqrt(clusters)
        study = Study("mean", "normal", float(limit), 0.0, clusters, 8)
        yield Trial("at the limit", study, 0.0)


def _limit(none: Study, side: str) -> float:
    """The median limit of studies without an effect; below 0 downwards; NaN where it has none."""
    found = drawn(none, SEED, PILOTS)
    pairs = zip(found.total.tolist(), found.n.tolist(), strict=True)
    limits = [shares.share_limits(hits, n, none.truth)[side] for hits, n in pairs]
    return float(np.median(limits)) * (1 if side == "limit_up" else -1)


def trials() -> list[Trial]:
    """All cells of the table."""
    return [*_shares(), *_locked(), *_means(), *_at_the_limit()]


def of_shares(trial: Trial, found: Drawn) -> pd.DataFrame:
    """What `line_test` says of each study of shares; of p only whether it is above .05.

    The intervals of a share are nested: p is at most .05 where that of 95 % excludes the line.
    """
    outer = shares.cluster_shares(found.total, found.n)
    inner = shares.cluster_shares(found.total, found.n, 1 - 2 * verdicts.ALPHA)
    out = pd.DataFrame({name: outer[name] for name in ("value", "clusters", "se", "status")})
    out = out.assign(measure="share", ci90_low=inner["ci_low"], ci90_high=inner["ci_high"])
    excluded = (outer["ci_low"] > trial.line) | (outer["ci_high"] < trial.line)
    out["p"] = np.where(outer["status"] == "ok", np.where(excluded, 0.01, 0.5), np.nan)
    rows = []
    for hits, n, share in zip(found.total, found.n, outer["value"], strict=True):
        there = n > 0
        own = hits[there] / n[there]
        rows.append(verdicts._spread(own, hits[there] - share * n[there]))
    total, n = found.total.sum(axis=1), found.n.sum(axis=1)
    return out.assign(**pd.DataFrame(rows), n=n, alike=(total == 0) | (total == n))


def of_means(trial: Trial, found: Drawn) -> pd.DataFrame:
    """What `line_test` says of each study of means."""
    pairs = zip(found.total.astype(float), found.n.astype(float), strict=True)
    rows = [verdicts.mean_row(pair, trial.line) for pair in pairs]
    return pd.DataFrame(rows).assign(n=found.n.sum(axis=1))


def words(trial: Trial, draws: int) -> pd.Series:
    """The verdict of each study."""
    found = drawn(trial.study, SEED, draws)
    tested = of_shares if trial.study.kind.startswith("share") else of_means
    table = tested(trial, found).assign(line=trial.line, n_invalid=0, unreadable=verdicts.READ)
    table["draw"] = range(draws)
    gates = None
    if found.first is not None:
        gates = table[["draw"]].assign(**dict.fromkeys(verdicts.GATES, np.nan))
        gates["bound_share"] = np.maximum(found.first, 1 - found.first)
    told = verdicts.verdict(table, margin=MARGIN, gates=gates, family="draw")
    return told["verdict"]


def verdict_draws(some: Iterable[Trial], draws: int = STUDIES) -> pd.DataFrame:
    """One row a cell, columns `COLUMNS`."""
    rows = []
    for trial in some:
        told = words(trial, draws)
        counts = [int(told.str.startswith(word).sum()) for word in COUNTED]
        rate = counts[COUNTED.index(ASKS[trial.question])] / draws
        error = np.sqrt(rate * (1 - rate) / draws)
        cell = (trial.question, *astuple(trial.study), trial.line, MARGIN, SEED, draws)
        rows.append((*cell, *counts, rate, error))
    return pd.DataFrame(rows, columns=COLUMNS)


def verdict_table() -> pd.DataFrame:
    """All cells; prints the extremes of each question."""
    found = verdict_draws(trials())
    extremes = found.groupby(["question", "kind"], sort=False)["rate"].agg(["min", "mean", "max"])
    print(extremes.round(3).to_string(), flush=True)
    return found
