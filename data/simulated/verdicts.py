"""How often verdicts are wrong, and how often they find an effect.

A row is a cell of 2,000 studies of one headline, a family of its own. `rate` is what its question
asks for:

    no effect      the truth is the line: share of verdicts `present`
    at the margin  the truth lies at the margin: share of verdicts `absent`
    at the limit   the truth lies at the limit of detection: share of verdicts `present`
    locked         the model follows the position in 98 or 100 % of its answers: share of `absent`
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from intervals import DRAWS, SD, SEED, SIZES, Drawn, Locked, Study, drawn
from scipy.stats import t

from katayori.metrics import shares, verdicts

COUNTED = ("present", "absent", "undecided", "position bound")
PILOTS = 300  # studies without an effect, whose median limit of detection is planted
MARGIN = 0.05
#: What a question counts.
ASKS = {
    "no effect": "present",
    "at the margin": "absent",
    "at the limit": "present",
    "locked": "absent",
}


class Trial(NamedTuple):
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
    for one in itertools.product(SIZES, [0.05], (0.0, 0.9), (59, 100), (4, 12)):
        yield _by_truth(Study("share", *one), 0.0)


def _locked() -> Iterator[Trial]:
    crossed = itertools.product((0.1, 0.2, 0.5), (False, True), (0.5, 0.55))
    for reading, decided, truth in crossed:
        case = Locked(reading, decided, 0.02).case()
        for clusters, per in itertools.product((20, 36, 50), (8, 24)):
            yield _by_truth(Study("share, locked", case, truth, 0.0, clusters, per), 0.5)
    for slip, missing, size in itertools.product(
        (0.0, 0.02), (0.0, 0.02, 0.1), ((50, 8), (36, 24))
    ):
        case = Locked(0.0, False, slip, missing).case()
        yield Trial("locked", Study("share, locked", case, 0.5, 0.0, *size), 0.5)


def _means() -> Iterator[Trial]:
    cases = (("normal", 0.0), ("exponential", 0.0), ("Diff-bias", 0.0), ("Diff-bias", 0.2))
    for (case, correlation), truth, clusters in itertools.product(
        cases, (0.0, MARGIN), (10, 20, 50, 100)
    ):
        yield _by_truth(Study("mean", case, truth, correlation, clusters, 8), 0.0)


def _at_the_limit() -> Iterator[Trial]:
    crossed = itertools.product((0.5, 0.1), (0.0, 0.2), (10, 20, 50), (8, 24))
    for line, correlation, clusters, per in crossed:
        none = Study("share", SIZES[0], line, correlation, clusters, per)
        for side in ("limit_up", "limit_down"):
            truth = line + _limit(none, side)
            if truth > 0:
                yield Trial("at the limit", none._replace(truth=truth), line)
    for clusters in (5, 10, 20, 50):
        limit = (t.ppf(0.975, clusters - 1) + t.ppf(0.8, clusters - 1)) * SD / np.sqrt(clusters)
        yield Trial("at the limit", Study("mean", "normal", float(limit), 0.0, clusters, 8), 0.0)


def _limit(none: Study, side: str) -> float:
    """The median limit of studies without an effect; below 0 downwards; NaN where it has none."""
    found = drawn(none, PILOTS)
    pairs = zip(found.total.tolist(), found.n.tolist(), strict=True)
    limits = [shares.share_limits(hits, n, none.truth)[side] for hits, n in pairs]
    return float(np.median(limits)) * (1 if side == "limit_up" else -1)


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


def words(trial: Trial) -> pd.Series:
    """The verdict of each study."""
    found = drawn(trial.study, DRAWS)
    tested = of_shares if trial.study.kind.startswith("share") else of_means
    told = tested(trial, found).assign(line=trial.line, n_invalid=0, unreadable=verdicts.READ)
    told["draw"] = range(DRAWS)
    gates = None
    if found.first is not None:
        gates = told[["draw"]].assign(**dict.fromkeys(verdicts.GATES, np.nan))
        gates["bound_share"] = np.maximum(found.first, 1 - found.first)
    return verdicts.verdict(told, margin=MARGIN, gates=gates, family="draw")["verdict"]


def table(trials: Iterable[Trial] | None = None) -> pd.DataFrame:
    """One row a cell."""
    if trials is None:
        trials = [*_shares(), *_locked(), *_means(), *_at_the_limit()]
    rows = []
    for trial in trials:
        told = words(trial)
        row = {"question": trial.question, **trial.study._asdict(), "line": trial.line}
        row |= {"margin": MARGIN, "seed": SEED, "draws": DRAWS}
        row |= {word: int(told.str.startswith(word).sum()) for word in COUNTED}
        rate = row[ASKS[trial.question]] / DRAWS
        rows.append(row | {"rate": rate, "mc_error": np.sqrt(rate * (1 - rate) / DRAWS)})
    return pd.DataFrame(rows)


if __name__ == "__main__":
    table().to_csv(Path(__file__).with_suffix(".csv"), index=False, float_format="%.10g")
