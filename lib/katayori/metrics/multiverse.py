"""Multiverse of a claim: does it hold under every reading that could be defended?

A paper leaves choices open (what is counted, how an answer is read, what weighs how much). Each
combination of readings is one *universe*, and gives one effect: the mean of one number a cluster,
above 0 where it speaks for the claim. All universes are shown, none is picked.

Many universes that agree are no many proofs: they share the answers. So the whole curve is tested
at once. Where nothing is there, the two sides of the comparison may be exchanged in any cluster,
which turns the sign of its number *in all universes together*; the exchanged curves show what
chance makes of the median effect and of the share that holds.

Reference: S. Steegen, F. Tuerlinckx, A. Gelman and W. Vanpaemel, Perspectives on Psychological
Science 11 (2016), 702-712; U. Simonsohn, J. P. Simmons and L. D. Nelson, Nature Human Behaviour 4
(2020), 1208-1214.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from katayori.errors import KatayoriError
from katayori.metrics import ties
from katayori.metrics.intervals import mean_interval
from katayori.metrics.ranks import holm

DRAWS = 400
LEVEL = 0.05
STRICT_LEVEL = 0.01
#: Beside the choices, what `universes` says of each combination.
FOUND = ["value", "ci_low", "ci_high", "p", "holds", "clusters", "status"]


@dataclass(frozen=True)
class Choice:
    """One thing that a paper leaves open.

    Attributes:
        name: of the choice, in words.
        readings: name of each reading -> why it can be defended.
    """

    name: str
    readings: Mapping[str, str]


@dataclass(frozen=True)
class Multiverse:
    """All universes of a claim.

    Attributes:
        table: one row a universe: a column a choice, then `FOUND`: value (mean over clusters),
            ci_low, ci_high (t, 95 %), p (t, two-sided), holds (above 0 with p below .05; None where
            undefined), clusters, status as of `intervals.mean_interval`.
        contributions: universes x clusters, NaN where a universe lacks a cluster.
        choices: names of the choices.
    """

    table: pd.DataFrame
    contributions: np.ndarray
    choices: tuple[str, ...]


def multiverse(
    choices: Sequence[Choice], contributions: Callable[..., "pd.Series | None"]
) -> Multiverse:
    """Every combination of readings.

    Args:
        choices: what is open.
        contributions: called with one reading a choice, in the order of the choices: one number a
            cluster (index: the cluster), above 0 for the claim, whose sign turns if the two sides
            are exchanged; None where this combination means nothing, which is kept as undefined.

    Raises:
        KatayoriError: no choice, or one without readings.

    Example:
        >>> value = pd.Series([1.0, 2, 1, 2, 1, 2])
        >>> weights = Choice("weight", {"items": "as asked", "half": "a sceptic's"})
        >>> found = multiverse([weights], lambda weight: value / (1 + (weight == "half")))
        >>> found.table[["weight", "value", "holds"]].to_numpy().tolist()
        [['items', 1.5, True], ['half', 0.75, True]]
    """
    if not choices or not all(choice.readings for choice in choices):
        raise KatayoriError("a multiverse needs at least one choice, each with its readings")
    names = tuple(choice.name for choice in choices)
    rows = []
    found = []
    for combination in itertools.product(*(choice.readings for choice in choices)):
        told = contributions(*combination)
        of_clusters = pd.Series(dtype=float) if told is None else told.astype(float)
        status = "no_such_reading" if told is None else ""
        rows.append(dict(zip(names, combination, strict=True)) | _universe(of_clusters, status))
        found.append(of_clusters)
    table = pd.DataFrame(rows, columns=[*names, *FOUND])
    return Multiverse(table, pd.DataFrame(found).to_numpy(float), names)


def _universe(contributions: pd.Series, status: str) -> dict[str, Any]:
    found = mean_interval(contributions.tolist())
    row = {name: found[name] for name in ("value", "ci_low", "ci_high", "clusters", "status")}
    row |= {"p": np.nan, "holds": None}
    if status:
        row["status"] = status
    if row["status"] == "ok":
        row["p"] = float(2 * stats.t.sf(abs(found["value"] / found["se"]), found["clusters"] - 1))
        row["holds"] = bool(row["value"] > 0 and row["p"] < LEVEL)
    return row


def summary(found: Multiverse, *, draws: int = DRAWS, seed: int = 0) -> dict[str, Any]:
    """The whole curve in one row, with what chance would make of it.

    Args:
        found: of `multiverse`.
        draws: exchanges of the two sides, in all universes together.
        seed: of them.

    Returns:
        n_universes, n_undefined (without an interval; in no other number), median (effect),
        share_above (of the defined: effect above 0), share_holds, n_against (below 0 with p below
        .05), p_median, p_share (one-sided, (1 + exchanged curves that reach it) / (1 + draws)),
        mc_error (standard error of p_median), draws, moved_most (the choice that moves the effect
        most), moved_share (its main effect as a share of the variance of the effects), status:
        `ok`; `undefined` (no universe has an interval); `one_universe` (no variance).

    Example:
        >>> value = pd.Series([1.0, 2, 1, 2, 1, 2, 1, 2, 1, 2])
        >>> weights = Choice("weight", {"items": "as asked", "half": "a sceptic's"})
        >>> found = multiverse([weights], lambda weight: value / (1 + (weight == "half")))
        >>> told = summary(found)
        >>> told["share_holds"], told["moved_most"], told["p_median"] < 0.01
        (1.0, 'weight', True)
    """
    table = found.table
    defined = (table["status"] == "ok").to_numpy()
    out: dict[str, Any] = {"n_universes": len(table), "n_undefined": int((~defined).sum())}
    if not defined.any():
        empty = ["median", "share_above", "share_holds", "p_median", "p_share", "mc_error"]
        out |= dict.fromkeys([*empty, "moved_share"], np.nan)
        return out | {"n_against": 0, "moved_most": "", "draws": draws, "status": "undefined"}
    told = found.contributions[defined]
    values, holds = _curve(told, np.ones((1, told.shape[1])))
    out |= {"median": float(np.median(values)), "share_above": float((values > 0).mean())}
    out["share_holds"] = float(holds.mean())
    against = (table["p"] < LEVEL) & (table["value"] < 0)
    out["n_against"] = int(against.sum())
    signs = np.random.default_rng(seed).choice([1.0, -1.0], (draws, told.shape[1]))
    null_values, null_holds = _curve(told, signs)
    medians = np.median(null_values, axis=1)
    p = (1 + (medians >= out["median"] - 1e-12).sum()) / (1 + draws)
    reached = (null_holds.mean(axis=1) >= out["share_holds"] - 1e-12).sum()
    out |= {"p_median": float(p), "p_share": float((1 + reached) / (1 + draws))}
    out["mc_error"] = float(np.sqrt(p * (1 - p) / draws))
    shares = moved_by(found)
    out["moved_most"] = str(shares["choice"].iloc[0])
    out["moved_share"] = float(shares["share"].iloc[0])
    out["draws"] = draws
    return out | {"status": "ok" if np.ptp(values) > 1e-12 else "one_universe"}


def _curve(contributions: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effects and whether each holds, for rows of signs (both: sign rows x universes)."""
    there = np.isfinite(contributions)
    told = np.where(there, contributions, 0.0)
    n = there.sum(axis=1)
    mean = signs @ told.T / n
    # Contributions that cancel leave a rest of rounding, on either side of 0.
    mean = np.where(ties.sign(mean, np.abs(told).max(axis=1)) == 0, 0.0, mean)
    # A sign squared is 1, so the sum of squares is the same in every draw.
    spread = np.maximum((told**2).sum(axis=1) - n * mean**2, 0.0) / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / np.sqrt(spread / n)
    p = 2 * stats.t.sf(np.abs(t), n - 1)
    return mean, (mean > 0) & (p < LEVEL)


def moved_by(found: Multiverse) -> pd.DataFrame:
    """How much of the variance of the effects each choice makes: its main effect.

    The sum of squares between the means of a choice's readings, as a share of that of all defined
    effects. Shares need not add to 1: the rest are combinations of choices.

    Returns:
        choice, share (NaN where all effects are alike), lowest and highest (the readings with the
        lowest and the highest mean effect), span (between these means); the largest share first.

    Example:
        >>> value = pd.Series([1.0, 2, 1, 2, 1, 2])
        >>> a = Choice("a", {"1": "", "2": ""})
        >>> b = Choice("b", {"x": "", "y": ""})
        >>> moved_by(multiverse([a, b], lambda a, b: value * int(a)))["share"].tolist()
        [1.0, 0.0]
    """
    table = found.table[found.table["status"] == "ok"]
    middle = table["value"].mean()
    total = ((table["value"] - middle) ** 2).sum()
    rows = []
    for name in found.choices:
        means = table.groupby(name, sort=False)["value"].agg(["mean", "size"])
        between = ((means["mean"] - middle) ** 2 * means["size"]).sum()
        row: dict[str, Any] = {"choice": name, "share": np.nan, "lowest": "", "highest": ""}
        if total > 1e-18:
            row["share"] = float(between / total)
        if len(means):
            row |= {"lowest": means["mean"].idxmin(), "highest": means["mean"].idxmax()}
        rows.append(row | {"span": float(np.ptp(means["mean"])) if len(means) else np.nan})
    shares = pd.DataFrame(rows)
    return shares.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def by_cluster(values: pd.Series, cluster: pd.Series, weight: str = "answers") -> pd.Series:
    """One number a cluster, whose mean is the mean of all values or of the clusters' own means.

    Args:
        values: NaN counts as not there. cluster: of each value.
        weight: `answers` (every value weighs alike: a cluster's sum by the mean number of values a
            cluster; exchanging the sides of a cluster turns its sign), or `clusters`
            (every cluster weighs alike: its mean).

    Example:
        >>> values = pd.Series([1.0, 1, 1, 0])
        >>> cluster = pd.Series(["a", "a", "a", "b"])
        >>> weights = ("answers", "clusters")
        >>> [float(by_cluster(values, cluster, weight).mean()) for weight in weights]
        [0.75, 0.5]
    """
    groups = values[values.notna()].groupby(cluster[values.notna()], sort=False)
    if weight == "clusters":
        return groups.mean()
    sizes = groups.size()
    return groups.sum() / sizes.mean() if len(sizes) else groups.sum()


def together(found: Mapping[tuple[str, str], Multiverse]) -> pd.DataFrame:
    """All universes of several models and claims, one below the other.

    Args:
        found: (model, claim) -> its multiverse.

    Returns:
        model, claim, readings (in words: each choice and what was taken), `FOUND`.

    Example:
        >>> weights = Choice("weight", {"items": "as asked"})
        >>> one = multiverse([weights], lambda weight: pd.Series([1.0, 2, 1, 2, 1]))
        >>> together({("m", "more yes"): one})["readings"].tolist()
        ['weight: items']
    """
    parts = []
    for (model, claim), one in found.items():
        columns = [name + ": " + one.table[name].astype(str) for name in one.choices]
        words = pd.concat(columns, axis=1).agg("; ".join, axis=1)
        parts.append(one.table[FOUND].assign(model=model, claim=claim, readings=words))
    columns_out = ["model", "claim", "readings", *FOUND]
    if not parts:
        return pd.DataFrame(columns=columns_out)
    return pd.concat(parts, ignore_index=True)[columns_out]


def summaries(
    found: Mapping[tuple[str, str], Multiverse],
    families: Mapping[str, str] | None = None,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """`summary` of several models and claims, and how a stricter rule of decision would change it.

    What is open in a decision moves no effect, only whether it counts as found: the level, and how
    many tests are one family. So both stand beside the readings and are not multiplied with them.

    Args:
        found: (model, claim) -> its multiverse.
        families: model -> the family in which it is tested, such as the source of its answers;
            None, one family of all.
        draws, seed: as `summary` takes them.

    Returns:
        model, claim, clusters (the most), the columns of `summary`, share_at_01 (of the defined
        readings: found at p < .01) and share_after_holm (found at .05 after Holm over the n_family
        models of a family, reading by reading).

    Example:
        >>> value = pd.Series([1.0, 2, 1, 2, 1, 2])
        >>> weights = Choice("weight", {"items": "as asked"})
        >>> one = multiverse([weights], lambda weight: value)
        >>> table = summaries({("m", "more yes"): one, ("n", "more yes"): one})
        >>> table[["share_holds", "share_at_01", "share_after_holm", "n_family"]].head(1)
           share_holds  share_at_01  share_after_holm  n_family
        0          1.0          1.0               1.0         2
    """
    rows = []
    for (model, claim), one in found.items():
        told = {"model": model, "claim": claim, "clusters": int(one.table["clusters"].max())}
        family = _family(found, claim, model, families)
        rows.append(told | summary(one, draws=draws, seed=seed) | _stricter(one, family))
    return pd.DataFrame(rows, columns=["model", "claim", "clusters", *SUMMARY, *STRICTER])


def _family(
    found: Mapping[tuple[str, str], Multiverse],
    claim: str,
    model: str,
    families: Mapping[str, str] | None,
) -> list[Multiverse]:
    """The multiverses of a claim that are tested together, that of the model first."""
    own = found[model, claim]
    others = [
        one
        for (name, of_claim), one in found.items()
        if of_claim == claim
        and name != model
        and (families is None or families.get(name) == families.get(model))
        and len(one.table) == len(own.table)
    ]
    return [own, *others]


def _stricter(found: Multiverse, family: Sequence[Multiverse]) -> dict[str, Any]:
    """The shares that a lower level, and Holm over the family, would find."""
    defined = (found.table["status"] == "ok").to_numpy()
    out: dict[str, Any] = dict.fromkeys(STRICTER, np.nan) | {"n_family": len(family)}
    if not defined.any():
        return out
    above = found.table["value"].to_numpy(float)[defined] > 0
    # One row a reading, one column a model; the first column is the model's own.
    p = np.column_stack([one.table["p"].to_numpy(float) for one in family])[defined]
    out["share_at_01"] = float((above & (p[:, 0] < STRICT_LEVEL)).mean())
    out["share_after_holm"] = float((above & (holm(p)[:, 0] < LEVEL)).mean())
    return out


def shares_that_hold(table: pd.DataFrame, sources: Mapping[str, str]) -> pd.DataFrame:
    """The share of readings that find each claim, as rows of results.

    Readings of the same answers are no sample of anything, so the share has no interval; how it
    compares with chance is told by the exchanged curves (`summary`).

    Args:
        table: of `summaries`.
        sources: model -> source of its answers.

    Returns:
        model, claim, clusters, source, value, n (readings), n_invalid (readings without an
        interval; in n, in no share), status (`undefined`, or why there is no interval).

    Example:
        >>> row = {"model": "m", "claim": "more yes", "clusters": 70, "share_holds": 0.25,
        ...        "n_universes": 32, "n_undefined": 8, "status": "ok"}
        >>> shares_that_hold(pd.DataFrame([row]), {"m": "live"})["status"].item()
        'readings are no sample: no interval'
    """
    out = table[["model", "claim", "clusters"]].assign(
        source=table["model"].map(sources),
        value=table["share_holds"],
        n=table["n_universes"],
        n_invalid=table["n_undefined"],
    )
    undefined = table["status"] == "undefined"
    return out.assign(status=table["status"].where(undefined, NO_SAMPLE))


#: What `summaries` adds for stricter rules of decision.
STRICTER = ["share_at_01", "share_after_holm", "n_family"]
#: Why a share of readings has no interval.
NO_SAMPLE = "readings are no sample: no interval"
#: The columns of `summary`.
SUMMARY = [
    *("n_universes", "n_undefined", "median", "share_above", "share_holds", "n_against"),
    *("p_median", "p_share", "mc_error", "draws", "moved_most", "moved_share", "status"),
]
