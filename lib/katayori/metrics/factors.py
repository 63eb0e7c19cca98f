"""Factors: answers once for each of them, two of its levels compared, how far it moves answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.frames import LABEL, NUMBER_OR_NONE, FrameError, cells, flat, numbered, require
from katayori.metrics import intervals, shares
from katayori.metrics.intervals import mean_interval


def by_factor(frame: pd.DataFrame, factors: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The answers once for each factor, so that verbs can compare its levels row by row.

    Args:
        frame: a row an answer, with a column an attribute.
        factors: name -> the attributes that make it, such as `{"age": ["age"], "gender_race":
            ["gender", "race"]}`.

    Returns:
        the frame's columns with factor, level (the factor's attributes, joined by "-":
        "female-Asian") and row (the other attributes, joined as well): answers of one question and
        row differ in the level only. Levels are texts, in the order of the frame.

    Raises:
        FrameError: an attribute that is no column.

    Example:
        >>> answers = pd.DataFrame({"age": [20, 80], "gender": ["f", "m"], "yes": [1, 0]})
        >>> long = by_factor(answers, {"age": ["age"], "gender": ["gender"]})
        >>> long[["factor", "level", "row", "yes"]].to_numpy().tolist()[:2]
        [['age', '20', 'f', 1], ['age', '80', 'm', 0]]
    """
    attributes = list(dict.fromkeys(name for own in factors.values() for name in own))
    require("by_factor", frame, dict.fromkeys(attributes, LABEL))
    parts = []
    for factor, own in factors.items():
        others = [name for name in attributes if name not in own]
        level, row = _joined(frame, own), _joined(frame, others)
        parts.append(frame.assign(factor=factor, level=level, row=row))
    out = pd.concat(parts, ignore_index=True)
    out.attrs = dict(frame.attrs)
    return out


def _joined(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    number, keys = numbered(frame, names)
    texts = ["-".join(map(str, key)) for key in keys.itertuples(index=False, name=None)]
    return np.array(texts, dtype=object)[number]


def effect_size(
    frame: pd.DataFrame,
    *,
    value: str,
    level: str,
    beside: Sequence[str] = (),
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """The variance that the levels of a factor explain in a cluster, per degree of freedom.

    Formula: in each cluster the sum of squares that the levels explain beyond the columns `beside`
    (additive), over the degrees of freedom they add; the value is the geometric mean over clusters.
    Two factors with as many levels, asked about the same clusters, can be compared: words that mean
    nothing move every model a little, and show what size means nothing.

    Args:
        frame: a row an answer. value: its column of numbers, such as log odds; missing: unreadable.
        level: the column of the factor. beside: columns of the other attributes.
        by: columns measured apart. cluster: what would be drawn anew in another study.

    Returns:
        by..., value (in squared units of the value), n, n_invalid, clusters, ci_low, ci_high (95 %
        by t of the mean logarithm), status: `ok`; `few_clusters` (fewer than 5: no interval);
        `no_variation`; `no_valid_answer` (no cluster in which the levels explain anything).

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: ours; where every row has every level the sum of squares is that of
    `exchange.exchange_test`.

    Example:
        >>> answers = pd.DataFrame({"odds": [0.0, 2, 0, 4], "group": list("abab")})
        >>> answers["question"] = [1, 1, 2, 2]
        >>> effect_size(answers, value="odds", level="group")["value"].round(3).tolist()
        [4.0]
    """
    columns = {value: NUMBER_OR_NONE, level: LABEL, cluster: LABEL} | dict.fromkeys(beside, LABEL)
    by = require("effect_size", frame, columns, by)
    rows = []
    for key, cell in cells(frame, by):
        valid = cell.dropna(subset=[value])
        logs = []
        for _, one in cells(valid, [cluster]):
            others = [one[name] for name in beside]
            size, df = _explained(one[value].to_numpy(float), one[level], others)
            if df and size / df > 1e-12:
                logs.append(np.log(size / df))
        found = mean_interval(logs)
        row = {name: float(np.exp(found[name])) for name in ("value", "ci_low", "ci_high")}
        row |= {"clusters": found["clusters"], "n": len(valid), "n_invalid": len(cell) - len(valid)}
        rows.append(key | row | {"status": found["status"] if logs else "no_valid_answer"})
    return flat(rows, frame, by)


def _explained(
    values: np.ndarray, level: pd.Series, beside: Sequence[pd.Series]
) -> tuple[float, int]:
    """Sum of squares and degrees of freedom of the level beyond the other columns."""
    others = np.hstack([np.ones((len(values), 1)), *map(_dummies, beside)])
    basis = _basis(others)
    own = _dummies(level)
    own = own - basis @ (basis.T @ own)
    added = _basis(own)
    return float(((added.T @ values) ** 2).sum()), added.shape[1]


def _dummies(column: pd.Series) -> np.ndarray:
    codes = pd.factorize(column)[0]
    return np.eye(codes.max() + 1)[codes]


def _basis(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the space of some columns."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, singular > 1e-8 * max(1.0, singular[0])]


def difference(
    frame: pd.DataFrame,
    *,
    value: str,
    group: str,
    between: Sequence[Any] = (),
    by: str | Sequence[str] = (),
    cluster: str | None = "question",
) -> pd.DataFrame:
    """The mean of one group less that of another, with an interval over clusters.

    A cluster may hold answers of both groups (a question asked about a woman and about a man), so
    that what they share cancels, or of one group only.

    Formula: mean of the first - mean of the second; interval by t on clusters - 1 degrees of
    freedom, of each cluster's contribution to both ratios of sums.

    Args:
        frame: a row an answer. value: its column of numbers or flags; missing: invalid.
        group: the column of the two groups. between: the two, first and second; needed where there
            are more than two, otherwise in the order of the rows.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study; None: every row.

    Returns:
        by..., measure (`first - second`), value, n, n_invalid, clusters (of the group with fewer),
        ci_low, ci_high, status, value_first, value_second. status: `ok`; `few_clusters` (fewer than
        5 in a group: no interval); `no_variation` (all clusters alike: no interval of width 0);
        `no_valid_answer` (of one group).

    Raises:
        KatayoriError: a column that is not there or holds something else; other than two groups.

    Source: linearisation, as `intervals.contributions`.

    Example:
        >>> answers = pd.DataFrame({"yes": [1, 0, 1, 1, 0, 0, 1, 0, 1, 0]})
        >>> answers = answers.assign(gender=["f", "m"] * 5, question=answers.index // 2)
        >>> table = difference(answers, value="yes", group="gender")
        >>> table[["measure", "value", "n", "clusters", "ci_low"]].round(2).to_numpy().tolist()
        [['f - m', 0.6, 10, 5, -0.08]]
    """
    own = {value: NUMBER_OR_NONE, group: LABEL} | ({cluster: LABEL} if cluster else {})
    by = require("difference", frame, own, by)
    rows = []
    if not frame.empty:
        two = _two_groups(frame[group], between)
        for key, cell in cells(frame.reset_index(drop=True), by):
            used = cell[cell[group].isin(two)]
            clusters = used[cluster] if cluster else used.index.to_series()
            parts = [shares.sums(used.loc[used[group] == one, value], clusters) for one in two]
            rows.append(key | _difference(parts, two, len(used)))
    return flat(rows, frame, by, names=["measure"], more=["value_first", "value_second"])


def _two_groups(groups: pd.Series, between: Sequence[Any]) -> list[Any]:
    levels = list(pd.unique(groups))
    chosen = list(between) or levels
    lacking = [level for level in chosen if level not in levels]
    if len(chosen) != 2 or lacking:
        shown = ", ".join(repr(level) for level in levels[:8])
        raise FrameError(
            f"difference: column {groups.name!r} has the groups {shown}; name two of them, e.g."
            f" between={tuple(levels[:2])!r}"
        )
    return chosen


def _difference(
    parts: Sequence[intervals.Ratio], groups: Sequence[Any], asked: int
) -> dict[str, Any]:
    first, second = parts
    n = int(first[1].sum() + second[1].sum())
    clusters = intervals.clusters_in(first, second)
    row = {"measure": f"{groups[0]} - {groups[1]}", "value": np.nan, "n": n, "clusters": clusters}
    row["n_invalid"] = asked - n
    if not first[1].sum() or not second[1].sum():
        return row | {**intervals.none(), "status": "no_valid_answer"}
    means = [float(total.sum() / counted.sum()) for total, counted in parts]
    row |= {"value": means[0] - means[1], "value_first": means[0], "value_second": means[1]}
    return row | intervals.difference(intervals.contributions(first, second), clusters)
