"""Shares and means of answers, and differences between two groups, with intervals over clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frame_checks import Column, FrameError
from katayori.measure.columns import Wanted, flat, taken, wanted_cluster
from katayori.metrics import qa_intervals
from katayori.metrics.proportions import newcombe_interval

_VALUE = Column("number", 1, may_miss=True)
_GROUP = Column("label", "woman")
KINDS = ("share", "probability", "mean")
_INTERVALS = {
    "share": lambda ratio: qa_intervals.share(ratio),
    "probability": lambda ratio: qa_intervals.probability(
        qa_intervals.contributions(ratio), qa_intervals.templates_in(ratio)
    ),
    "mean": lambda ratio: qa_intervals.difference(
        qa_intervals.contributions(ratio), qa_intervals.templates_in(ratio)
    ),
}


def share(
    frame: Any,
    *,
    value: str = "value",
    cluster: str | None = "cluster",
    by: str | Sequence[str] = (),
    kind: str = "",
) -> pd.DataFrame:
    """The share of answers that are so, or a mean, with an interval that holds at 0 and at n of n.

    Args:
        frame: a row an answer. value: its column of numbers or flags; missing: invalid.
        cluster: what would be drawn anew in another study; None: every row.
        by: columns whose values are measured apart.
        kind: `share` (values 0 and 1), `probability` (0 to 1) or `mean`; by default what the values
            are.

    Returns:
        by..., measure (the kind), value, n, n_invalid, clusters, ci_low, ci_high, status:
        `ok`; `few_clusters` (fewer than 5: no interval); `same_in_every_cluster`; `no_variation`;
        `edge` (a mean probability near 0 or 1 has no interval); `no_valid_answer`.

    Raises:
        KatayoriError: a column that is not there or holds something else; an unknown kind; values
        that are not of the kind.

    Reference: `metrics.intervals.share_interval`.

    Example:
        >>> answers = {"is_right": [0] * 20, "item": [number // 2 for number in range(20)]}
        >>> table = share(answers, value="is_right", cluster="item")
        >>> table[["measure", "value", "n", "clusters", "ci_high"]].round(2).to_numpy().tolist()
        [['share', 0.0, 20, 10, 0.31]]
    """
    wanted = {
        "value": Wanted(value, _VALUE, "the answer as a number"),
        "cluster": wanted_cluster(cluster),
    }
    own = taken("share", frame, wanted, by)
    chosen = _kind(own.columns["value"], kind, value)
    rows = []
    for key, cell in own.cells():
        sums = _sums(cell)
        row = {"measure": chosen, "value": np.nan, "n_invalid": int(cell["value"].isna().sum())}
        row |= {"n": int(sums["n"].sum()), "clusters": int((sums["n"] > 0).sum())}
        ratio = (sums["total"].to_numpy(float), sums["n"].to_numpy(float))
        if row["n"]:
            row["value"] = float(ratio[0].sum() / ratio[1].sum())
            row |= _INTERVALS[chosen](ratio)
        else:
            row |= {**qa_intervals.none(), "status": "no_valid_answer"}
        rows.append(key | row)
    return flat(rows, by)


def _kind(values: pd.Series, kind: str, name: str) -> str:
    """What the values are; KatayoriError where they are not what is asked for."""
    given = values.dropna().astype(float)
    fits = {
        "share": bool(given.isin([0.0, 1.0]).all()),
        "probability": bool(given.between(0, 1).all()),
        "mean": True,
    }
    if kind and kind not in KINDS:
        raise KatayoriError(f"share: no kind {kind!r}; known: {', '.join(KINDS)}")
    if kind and not fits[kind]:
        outside = given[~given.isin([0.0, 1.0])] if kind == "share" else given[~given.between(0, 1)]
        raise KatayoriError(
            f"share: column {name!r} holds {outside.iloc[0]:g}, which is no {kind}; kind='mean'"
            " takes any number"
        )
    return kind or next(name for name in KINDS if fits[name])


def _sums(cell: pd.DataFrame) -> pd.DataFrame:
    """Sum of the valid values and their number, of every cluster."""
    values = cell["value"].astype(float)
    return pd.DataFrame(
        {
            "total": values.groupby(cell["cluster"], sort=False).sum(),
            "n": values.groupby(cell["cluster"], sort=False).count(),
        }
    )


def difference(
    frame: Any,
    *,
    value: str = "value",
    group: str = "group",
    between: Sequence[Any] = (),
    cluster: str | None = "cluster",
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """The mean of one group less that of another, with an interval over clusters.

    A cluster may hold answers of both groups (a question asked about a woman and about a man), so
    that what they share cancels, or of one group only.

    Args:
        frame: a row an answer. value: its column of numbers or flags; missing: invalid.
        group: the column of the two groups. between: the two, first and second; needed where there
            are more than two, otherwise in the order of the rows.
        cluster: what would be drawn anew in another study; None: every row.
        by: columns whose values are measured apart.

    Returns:
        by..., measure (`first - second`), value, n, n_invalid, clusters (of the group with fewer),
        ci_low, ci_high (t on clusters - 1), status, value_first, value_second. status: `ok`;
        `few_clusters` (fewer than 5 in a group: no interval); `no_variation` (all clusters alike:
        no interval of width 0); `no_valid_answer` (of one group).

    Raises:
        KatayoriError: a column that is not there or holds something else; other than two groups.

    Reference: linearisation, as `metrics.qa_intervals.contributions`.

    Example:
        >>> answers = {"yes": [1, 0, 1, 1, 0, 0, 1, 0, 1, 0], "gender": ["f", "m"] * 5}
        >>> answers["question"] = [number // 2 for number in range(10)]
        >>> table = difference(answers, value="yes", group="gender", cluster="question")
        >>> table[["measure", "value", "n", "clusters", "ci_low"]].round(2).to_numpy().tolist()
        [['f - m', 0.6, 10, 5, -0.08]]
    """
    wanted = {
        "value": Wanted(value, _VALUE, "the answer as a number"),
        "group": Wanted(group, _GROUP, "the group of the answer"),
        "cluster": wanted_cluster(cluster),
    }
    own = taken("difference", frame, wanted, by)
    first, second = _two_groups(own.columns["group"], between, group)
    rows = [key | _difference(cell, first, second) for key, cell in own.cells()]
    return flat(rows, by, after=("value_first", "value_second"))


def _two_groups(groups: pd.Series, between: Sequence[Any], name: str) -> list[Any]:
    levels = list(pd.unique(groups))
    chosen = list(between) or levels
    lacking = [level for level in chosen if level not in levels]
    if len(chosen) != 2 or lacking:
        shown = ", ".join(repr(level) for level in levels[:8])
        raise FrameError(
            f"difference: column {name!r} has the groups {shown}; name two of them, e.g."
            f" between={tuple(levels[:2])!r}"
        )
    return chosen


def _difference(cell: pd.DataFrame, first: Any, second: Any) -> dict[str, Any]:
    used = cell[cell["group"].isin([first, second])]
    clusters = list(pd.unique(used["cluster"]))
    ratios = []
    for group in (first, second):
        sums = _sums(used[used["group"] == group]).reindex(clusters, fill_value=0)
        ratios.append((sums["total"].to_numpy(float), sums["n"].to_numpy(float)))
    n_invalid = int(used["value"].isna().sum())
    clusters_of_fewer = qa_intervals.templates_in(*ratios)
    row = {"measure": f"{first} - {second}", "value": np.nan, "n_invalid": n_invalid}
    row |= {"n": len(used) - n_invalid, "clusters": clusters_of_fewer}
    if not all(n.sum() for _, n in ratios):
        return row | {**qa_intervals.none(), "status": "no_valid_answer"}
    means = [float(total.sum() / n.sum()) for total, n in ratios]
    row |= {"value": means[0] - means[1], "value_first": means[0], "value_second": means[1]}
    values = qa_intervals.contributions(ratios[0], ratios[1])
    return row | qa_intervals.difference(values, clusters_of_fewer)


def newcombe(
    hits_first: int, n_first: int, hits_second: int, n_second: int, level: float = 0.95
) -> pd.DataFrame:
    """The difference of two shares of independent answers, by Newcombe's hybrid score interval.

    It takes every answer as independent of the others: for several answers to one question or
    template use `difference`.

    Args:
        hits_first, n_first: hits and answers of the first group; hits_second, n_second: of the
            second.
        level: of the interval.

    Returns:
        One row: measure (`first - second`), value, n (both together), n_invalid (0), clusters (n),
        ci_low, ci_high, status (`ok`, or `no_valid_answer` where a group has none).

    Raises:
        KatayoriError: counts that cannot be.

    Reference: R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890, method 10.

    Example:
        >>> newcombe(56, 70, 48, 80)[["value", "ci_low", "ci_high"]].round(4).to_numpy().tolist()
        [[0.2, 0.0524, 0.3339]]
    """
    for hits, n in ((hits_first, n_first), (hits_second, n_second)):
        if not 0 <= hits <= n:
            raise KatayoriError(
                f"newcombe: {hits} hits of {n} answers cannot be; give hits and answers of both"
                " groups, e.g. newcombe(56, 70, 48, 80)"
            )
    n = n_first + n_second
    row = {"measure": "first - second", "value": np.nan, "n": n, "n_invalid": 0, "clusters": n}
    if not n_first or not n_second:
        return flat([row | {**qa_intervals.none(), "status": "no_valid_answer"}])
    low, high = newcombe_interval((hits_first, n_first), (hits_second, n_second), level)
    row |= {"value": hits_first / n_first - hits_second / n_second, "status": "ok"}
    return flat([row | {"ci_low": low, "ci_high": high}])
