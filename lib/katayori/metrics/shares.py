"""Shares and means of answers, with intervals over clusters.

A share may have an interval narrower than that of independent answers, where a design balances the
answers of a cluster. In a counterbalanced design they correlate negatively: a model that follows
the position takes the biased option in exactly half of a case's variants. Such clusters tell more
than as many independent answers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import betainc, betaincc, betaincinv, stdtrit

from katayori.errors import KatayoriError, expect
from katayori.frames import LABEL, NUMBER_OR_NONE, FrameError, cells, flat, require
from katayori.metrics import intervals

#: What the values of a share are: 0 and 1, from 0 to 1, any number.
KINDS = ("share", "probability", "mean")
#: A limit of detection of a share is printed with "about" below so many clusters.
ABOUT_BELOW = 20
#: The smallest p by inversion; a smaller one is given as this.
SMALLEST_P = 1e-10
_RARE = 6  # clusters with the rarer answer, from which the variance between clusters is used


class _Sample(NamedTuple):
    """What the clusters tell of a share, or of many shares at once."""

    share: Any
    n: Any
    clusters: Any
    design_effect: Any
    rare: Any
    status: Any


def _samples(hits: Any, totals: Any, floor: float = 0.0) -> _Sample:
    """Of each row of hits and totals (shape: samples x clusters)."""
    y, n_c = np.asarray(hits, float), np.asarray(totals, float)
    if y.shape != n_c.shape:
        raise KatayoriError(
            f"a share: {y.shape[-1]} clusters of hits, {n_c.shape[-1]} of totals; give both for"
            " each cluster"
        )
    if not (np.isfinite(y).all() and np.isfinite(n_c).all()):
        raise KatayoriError("a share: a cluster without a number; leave it out or give 0 of 0")
    if (y > n_c + 1e-9).any() or (y < 0).any():
        raise KatayoriError("a share: a cluster has more hits than answers, or fewer than none")
    clusters, n = (n_c > 0).sum(axis=1), n_c.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = y.sum(axis=1) / n
        effect = np.maximum(_design_effect(y, n_c, share), floor)
        same = (np.isclose(y / n_c, share[:, None]) | (n_c == 0)).all(axis=1)
        rare = _with_rarer(y, n_c) < np.minimum(_RARE, clusters)
        effect = np.where(rare, np.maximum(effect, n / clusters), effect)
    kinds = {"no_valid_answer": n == 0, "few_clusters": clusters < intervals.NO_INTERVAL_BELOW}
    kinds["same_in_every_cluster"] = same & (share > 0) & (share < 1)
    status = np.select(list(kinds.values()), list(kinds), "ok")
    effect = np.select([status == "ok", status == "same_in_every_cluster"], [effect, 1.0], np.nan)
    return _Sample(share, n, clusters, effect, rare & (status == "ok"), status)


def _sample(hits: Sequence[float], totals: Sequence[float]) -> _Sample:
    """Of one sample."""
    found = _samples([hits], [totals])
    return _Sample(*(one.item() for one in found))


def _with_rarer(y: np.ndarray, n_c: np.ndarray) -> np.ndarray:
    """In how many clusters the rarer answer occurs."""
    return np.minimum((y > 0).sum(axis=1), (y < n_c).sum(axis=1))


def _design_effect(y: np.ndarray, n_c: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Step 1 of `cluster_share`."""
    clusters, n = (n_c > 0).sum(axis=1), n_c.sum(axis=1)
    squares = ((y - share[:, None] * n_c) ** 2).sum(axis=1)
    scale = clusters / (clusters - 1) / (n * share * (1 - share))
    made_up = (n / clusters * np.maximum(share, 1 - share)) ** 2
    balanced = np.minimum(1.0, (squares + made_up) * scale)
    effect = np.where(squares * scale >= 1, squares * scale, balanced)
    return np.where((share == 0) | (share == 1), 1.0, effect)


def _size(sample: _Sample, level: float) -> Any:
    """How many independent answers the sample is worth (steps 2 and 3)."""
    upper = (1 + level) / 2
    correction = (stdtrit(sample.n - 1, upper) / stdtrit(sample.clusters - 1, upper)) ** 2
    plain = sample.rare | (sample.status == "same_in_every_cluster")
    return sample.n / sample.design_effect * np.where(plain, 1.0, correction)


def cluster_share(
    hits: Sequence[float], totals: Sequence[float], level: float = 0.95, floor: float = 0.0
) -> dict[str, Any]:
    """A share of answers and its interval over clusters, for counterbalanced designs too.

    Args:
        hits: number of hits in each cluster (shape: clusters).
        totals: number of valid answers in each cluster; clusters without any do not count.
        level: of the interval.
        floor: the design effect is at least this; 1: answers of a cluster never tell more than
            independent ones, as in Korn and Graubard's own rule.

    Returns:
        value (hits / answers), ci_low, ci_high, n (answers), clusters, n_effective, design_effect,
        se (sqrt of design_effect p (1 - p) / n), status: `ok`; `same_in_every_cluster` (every
        cluster has the same share, other than 0 and 1: fixed by the design, the interval treats
        answers as independent); `few_clusters` (fewer than 5: no interval); `no_valid_answer`.

    Steps, for C clusters with y_c hits of n_c answers, n answers in all, the share p and
    r_c = y_c - p n_c:

        1. deff = C/(C-1) sum r_c^2 / (n p (1-p)). Where it is below 1, one made-up cluster of mean
           size is added whose answers all go the rarer way: deff = min(1, C/(C-1)
           [sum r_c^2 + (n/C max(p, 1-p))^2] / (n p (1-p))).
        2. Where the rarer answer occurs in fewer than min(6, C) clusters, deff is at least n/C: no
           more than C answers count.
        3. n_eff = n/deff (t_{n-1} / t_{C-1})^2 with quantiles at 1 - (1-level)/2; without the
           correction by t in the cases of step 2.
        4. Clopper and Pearson's interval of p n_eff hits among n_eff.

    A higher level has an interval that holds the one of a lower level, so that a p by inversion
    exists (`share_p`).

    Coverage (data/simulated/intervals.csv; 5 to 50 clusters of 4 to 24 answers): shares of 0 to one
    half, correlation inside clusters 0 and .2, equal and ragged sizes: 0 of 270 cells below 93 %,
    lowest .933. Models that follow the position but in some clusters that they read: 17 of 744
    cells below 93 %, all of 24 answers a cluster of which a tenth or a fifth is read; with 10
    clusters lowest .844, mostly about .89, with 20 and more .876. With a floor of 1
    (data/simulated/interval_coverage.csv; 5 to 50 clusters of 4 to 40 answers): 0 of 96 cells below
    93 %, lowest .944; 0 with an interval in fewer than 80 % of studies.

    Raises:
        KatayoriError: more hits than answers in a cluster, different lengths.

    Source: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998), 193-201; step 1 is ours.

    Example:
        >>> found = cluster_share([5, 4, 4, 5] * 5, [8] * 20)
        >>> found["value"], round(found["ci_low"], 3), round(found["ci_high"], 3)
        (0.5625, 0.493, 0.63)
    """
    found = cluster_shares([hits], [totals], level, floor)
    row = {name: one.item() for name, one in found.items()}
    return row | {"n": int(row["n"])}


def cluster_shares(
    hits: Any, totals: Any, level: float = 0.95, floor: float = 0.0
) -> dict[str, np.ndarray]:
    """`cluster_share` of many samples at once, for simulations.

    Args:
        hits, totals: of each sample and cluster (shape: samples x clusters).

    Example:
        >>> cluster_shares([[1, 0, 2, 1, 1], [2] * 5], [[2] * 5] * 2)["value"].tolist()
        [0.5, 1.0]
    """
    sample = _samples(hits, totals, floor)
    size = _size(sample, level)
    y = sample.share * size
    tail = (1 - level) / 2
    low = np.where(sample.share == 0, 0.0, betaincinv(y, size - y + 1, tail))
    high = np.where(sample.share == 1, 1.0, betaincinv(y + 1, size - y, 1 - tail))
    known = np.isfinite(sample.design_effect)
    ends = {"ci_low": np.where(known, low, np.nan), "ci_high": np.where(known, high, np.nan)}
    out = {"value": sample.share, **ends, "n": sample.n, "clusters": sample.clusters}
    out |= {"n_effective": size, "design_effect": sample.design_effect}
    with np.errstate(invalid="ignore"):
        se = np.sqrt(sample.design_effect * sample.share * (1 - sample.share) / sample.n)
    return out | {"se": se, "status": sample.status}


def share_p(hits: Sequence[float], totals: Sequence[float], line: float) -> float:
    """p of a share against a line: 1 - the smallest level at which its interval excludes the line.

    NaN where there is no interval, and where the share is fixed by the design; 1 where the line
    lies in every interval; never below 1e-10.

    Source: inversion of `cluster_share`, by bisection over the level.

    Example:
        >>> round(share_p([7, 6, 8, 5, 7, 6, 8, 4], [8] * 8, 0.5), 4)
        0.007
    """
    sample = _sample(hits, totals)
    if sample.status != "ok":
        return np.nan
    if sample.share == line:
        return 1.0
    above = sample.share > line

    def beyond(log_p: float) -> float:
        """Above 0 where the interval at level 1 - p excludes the line."""
        p = float(np.exp(log_p))
        size = _size(sample, 1 - p)
        return p / 2 - _tail(sample.share, size, line, above=above)

    smallest, largest = np.log(SMALLEST_P), np.log1p(-1e-6)
    if beyond(largest) <= 0:
        return 1.0
    if beyond(smallest) > 0:
        return SMALLEST_P
    return float(np.exp(brentq(beyond, smallest, largest, xtol=1e-9)))


def _tail(share: float, size: float, line: float, *, above: bool) -> float:
    """The tail of Clopper and Pearson's interval that ends at the line, of a share above it or not.

    The interval of level 1 - 2 tail ends there.
    """
    hits = share * size
    if above:
        return float(betainc(hits, size - hits + 1, line))
    return float(betaincc(hits + 1, size - hits, line))


def share_limits(
    hits: Sequence[float],
    totals: Sequence[float],
    line: float,
    level: float = 0.95,
    power: float = 0.8,
) -> dict[str, Any]:
    """The limit of detection of a share: how far from the line it is found with this power.

    c is the smallest share whose interval at this effective size excludes the line; the limit
    upwards is p1 - line with p1 - t sqrt(deff p1 (1 - p1) / n) = c, t the quantile of `power` on
    C - 1 degrees of freedom. Downwards the same with 1 - share. Where the effective size is capped
    (rare answers), deff is n/C.

    Returns:
        limit_up, limit_down in shares (NaN where no share on that side can be told from the line,
        with fewer than 5 clusters, or where the share is fixed by the design), about (fewer than 20
        clusters).

    Power at the limit (data/simulated/verdicts.csv): from 20 clusters .76 to .80 at one half, .78
    to .82 upwards and .69 to .80 downwards at .1; with 10 clusters .67 to .76 at one half.

    Example:
        >>> found = share_limits([4, 5, 3, 6] * 5, [8] * 20, line=0.5)
        >>> round(found["limit_up"], 3), found["limit_down"] == found["limit_up"], found["about"]
        (0.119, True, False)
    """
    sample = _sample(hits, totals)
    about = sample.clusters < ABOUT_BELOW
    if sample.status != "ok":
        return {"limit_up": np.nan, "limit_down": np.nan, "about": about}
    size = _size(sample, level)
    noise = float(stdtrit(sample.clusters - 1, power)) ** 2 * sample.design_effect / sample.n
    up, down = (_limit_up(one, sample.n, size, noise, level) for one in (line, 1 - line))
    return {"limit_up": up, "limit_down": down, "about": about}


def _limit_up(line: float, n: float, size: float, noise: float, level: float) -> float:
    """The limit upwards; `noise` is the squared quantile times deff / n."""

    def beyond(share: float) -> float:
        """Above 0 where the interval of this share excludes the line."""
        return (1 - level) / 2 - _tail(share, size, line, above=True)

    if line >= 1 or beyond(1.0) <= 0:
        return np.nan
    least = max(line, 1 / n)  # no share between 0 and 1 of n can be seen
    c = least if beyond(least) > 0 else float(brentq(beyond, least, 1.0))
    # The larger root of (p1 - c)^2 = noise p1 (1 - p1).
    half = c + noise / 2
    p1 = (half + np.sqrt(half**2 - (1 + noise) * c**2)) / (1 + noise)
    return float(p1) - line


# --- verbs ----------------------------------------------------------------------------------------


def share(
    frame: pd.DataFrame,
    *,
    value: str,
    kind: str = "",
    by: str | Sequence[str] = (),
    cluster: str | None = "question",
) -> pd.DataFrame:
    """The share of answers that are so, or a mean, with an interval that holds at 0 and at n of n.

    Formula: sum of the values / number of valid answers. Interval of a share: `cluster_share`; of a
    mean probability and of a mean: t on clusters - 1 degrees of freedom.

    Args:
        frame: a row an answer. value: its column of numbers or flags; missing: invalid.
        kind: `share` (values 0 and 1), `probability` (0 to 1) or `mean`; by default what the values
            of the frame are.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study; None: every row.

    Returns:
        by..., measure (the kind), value, n, n_invalid, clusters, ci_low, ci_high, status:
        `ok`; `few_clusters` (fewer than 5: no interval); `same_in_every_cluster`; `no_variation`;
        `edge` (a mean probability near 0 or 1 has no interval); `no_valid_answer`.

    Raises:
        KatayoriError: a column that is not there or holds something else; an unknown kind; values
        that are not of the kind.

    Source: Korn and Graubard (1998) for shares; linearisation for means.

    Example:
        >>> answers = pd.DataFrame({"right": [0] * 20, "question": [*range(10)] * 2})
        >>> table = share(answers, value="right")
        >>> table[["measure", "value", "n", "clusters", "ci_high"]].round(2).to_numpy().tolist()
        [['share', 0.0, 20, 10, 0.31]]
    """
    own = {value: NUMBER_OR_NONE} | ({cluster: LABEL} if cluster else {})
    by = require("share", frame, own, by)
    chosen = _kind(frame[value], kind, value)
    rows = []
    for key, cell in cells(frame.reset_index(drop=True), by):
        ratio = sums(cell[value], cell[cluster] if cluster else cell.index.to_series())
        n = int(ratio[1].sum())
        row = {"measure": chosen, "value": np.nan, "n": n, "n_invalid": len(cell) - n}
        row["clusters"] = intervals.clusters_in(ratio)
        if n:
            row["value"] = float(ratio[0].sum() / n)
            row |= _interval(chosen, ratio)
        else:
            row |= {**intervals.none(), "status": "no_valid_answer"}
        rows.append(key | row)
    return flat(rows, frame, by, names=["measure"])


def _kind(values: pd.Series, kind: str, name: str) -> str:
    """What the values are; KatayoriError where they are not what is asked for."""
    given = values.dropna().astype(float)
    fits = {
        "share": given.isin([0.0, 1.0]),
        "probability": given.between(0, 1),
        "mean": pd.Series(True, given.index),
    }
    if not kind:
        return next(known for known in KINDS if fits[known].all())
    expect(kind, KINDS, "kind of share")
    if not fits[kind].all():
        outside = given[~fits[kind]].iloc[0]
        raise FrameError(
            f"share: column {name!r} holds {outside:g}, which is no {kind}; kind='mean' takes any"
            " number"
        )
    return kind


def sums(values: pd.Series, clusters: pd.Series) -> intervals.Ratio:
    """Sum and number of the valid values of every cluster, in the order of the rows.

    Args:
        values: of all rows or of some of them, missing ones are not counted.
        clusters: of all rows; those without a value have 0 of 0.

    Example:
        >>> sums(pd.Series([1, None, 0]), pd.Series(["a", "b", "a"]))
        (array([1., 0.]), array([2., 0.]))
    """
    names = pd.unique(clusters)
    groups = values.astype(float).groupby(clusters.loc[values.index], sort=False)
    total, n = (one.reindex(names, fill_value=0) for one in (groups.sum(), groups.count()))
    return total.to_numpy(float), n.to_numpy(float)


def _interval(kind: str, ratio: intervals.Ratio) -> dict[str, Any]:
    """ci_low, ci_high and status."""
    if kind == "share":
        found = cluster_share(ratio[0].tolist(), ratio[1].tolist())
        return {name: found[name] for name in ("ci_low", "ci_high", "status")}
    values = intervals.contributions(ratio)
    by_t = intervals.probability if kind == "probability" else intervals.difference
    return by_t(values, intervals.clusters_in(ratio))
