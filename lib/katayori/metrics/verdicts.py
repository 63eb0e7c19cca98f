"""From an interval to a word: present, absent, undecided, and why.

`line_test` measures a share, a mean or a difference against a line, `gates` finds what forbids a
verdict (answers by position, texts that were cut), `verdict` says the first word that applies,
`bounds` what unreadable answers could change.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2, t

from katayori.errors import KatayoriError, expect
from katayori.frame_checks import Column, FrameError, check_column
from katayori.metrics import qa_intervals
from katayori.metrics.intervals import NO_INTERVAL_BELOW, detectable_effect, mean_interval
from katayori.metrics.rank_tests import holm
from katayori.metrics.shares import cluster_share, share_limits, share_p
from katayori.metrics.uncertainty import cells

#: Patterns of signs that are enumerated at most; with more, 9,999 are drawn.
MOST_PATTERNS = 10_000
#: A share of 0 and 1 values, or a mean of numbers of any kind.
KINDS = ("share", "mean")
#: More than this of the readable answers by one level of a factor, of all texts cut off.
BOUND_ABOVE = 0.9
CUT_ABOVE = 0.1
#: What `absent` needs: clusters that differ from the commonest one, and (sum r^2)^2 / sum r^4.
DIFFER = 10
SPREAD = 6
ALPHA = 0.05
#: Bounds are looked at where more than this share of the answers is unreadable.
UNREADABLE = 0.01
NO_VERDICT = ("not asked", "condition did not happen", "too few", "position bound")
GATES = ("factor", "factor_level", "factor_share", "cut_share", "named_share")
TESTED = (
    *("measure", "value", "n", "n_invalid", "clusters", "ci_low", "ci_high", "status", "line"),
    *("se", "p", "ci90_low", "ci90_high", "limit_up", "limit_down", "limit_about", "differ"),
    *("spread", "alike"),
)
_ROUNDING = 1e-12
_NUMBER = Column("number", 1, may_miss=True)
_LABEL = Column("label", "template-1", may_miss=True)
_FLAG = Column("flag", True)


def sign_swap_test(contributions: Sequence[float], seed: int = 0) -> dict[str, Any]:
    """Whether two paired conditions differ, by exchanging their labels inside clusters.

    p = share of sign patterns s with |sum s_c d_c| >= |sum d_c|, over the clusters whose difference
    d_c is not 0: all 2^n patterns up to 10,000, otherwise p = (1 + k) / 10,000 with k of 9,999
    drawn patterns. Clusters without a difference are dropped first, as they decide nothing.

    The null is that the labels are exchangeable inside each cluster, not "mean 0": for paired
    conditions only, never for a single skewed mean against a line (exponential contributions reject
    in .10 of studies of 10 clusters).

    Args:
        contributions: the difference of each cluster, in any unit; NaN: a cluster without answers.
        seed: of patterns drawn, with more than 13 clusters that differ.

    Returns:
        p, smallest_p (2/2^n, that this n of clusters can give; 1/10,000 where patterns are drawn),
        clusters, differ (n), status: `ok`; `no_difference` (p NaN, outside any family of tests).

    Source: P. Good, Permutation Tests, 3rd ed. (2005).

    Example:
        >>> found = sign_swap_test([0.1] * 6 + [0.0] * 44)
        >>> found["p"], found["smallest_p"], found["differ"]
        (0.03125, 0.03125, 6)
    """
    values = np.asarray(contributions, float)
    values = values[np.isfinite(values)]
    kept = values[np.abs(values) > _ROUNDING]
    n = len(kept)
    out = {"p": np.nan, "smallest_p": np.nan, "clusters": len(values), "differ": n}
    if not n:
        return out | {"status": "no_difference"}
    observed = abs(kept.sum()) - _ROUNDING * np.abs(kept).sum()
    if 2**n <= MOST_PATTERNS:
        signs = np.array(list(itertools.product([1.0, -1.0], repeat=n)))
        p = (np.abs(signs @ kept) >= observed).mean()
        return out | {"p": float(p), "smallest_p": 2.0 ** (1 - n), "status": "ok"}
    signs = np.random.default_rng(seed).choice([1.0, -1.0], (MOST_PATTERNS - 1, n))
    extreme = (np.abs(signs @ kept) >= observed).sum()
    smallest = 1 / MOST_PATTERNS
    return out | {"p": float(1 + extreme) * smallest, "smallest_p": smallest, "status": "ok"}


# --- measured against a line ----------------------------------------------------------------------


def line_test(
    frame: pd.DataFrame,
    *,
    value: str = "value",
    line: float = 0.0,
    kind: str = "share",
    cluster: str = "cluster",
    by: str | Sequence[str] = (),
    group: tuple[str, Any, Any] | None = None,
) -> pd.DataFrame:
    """A share, a mean or a difference of two groups against a line, over clusters.

    Args:
        frame: a row an answer, or a row a cluster with its contribution (`kind="mean"`).
        value: its column of numbers; missing: unreadable. line: in the unit of the value.
        kind: `share` (values 0 and 1) or `mean`; a difference of groups takes any numbers.
        cluster: what would be drawn anew in another study. by: columns measured apart.
        group: column and two of its values; then the mean of the first less that of the second.

    Returns:
        by..., measure (share, mean or difference), value, n, n_invalid, clusters, ci_low, ci_high
        (95 %, not adjusted), status (of `shares.cluster_share` or `intervals.mean_interval`), line,
        se, p (unadjusted; NaN without an interval), ci90_low, ci90_high, limit_up, limit_down
        (true effects found with a power of .8; NaN: none), limit_about (a share of fewer than 20
        clusters), differ (clusters that differ from the commonest one), spread ((sum r^2)^2 /
        sum r^4), alike (all answers are).

    Formula: shares by `shares.cluster_share`, `share_p`, `share_limits`. Means and differences by t
    on C - 1 degrees of freedom on the contributions r + (a_c - r b_c) / mean(b); their limit is
    (t.975 + t.80) SE. A mean of probabilities over skewed clusters covers .895 with 5 clusters and
    .912 with 10: prefer the mean log odds. With fewer than 10 clusters of unequal size the interval
    by t is up to 12 % narrower than CR2.

    Raises:
        KatayoriError: a column that is lacking or holds something else, an unknown kind.

    Source: `qa_intervals.contributions` (linearisation), Korn and Graubard (1998).

    Example:
        >>> answers = pd.DataFrame({"yes": [1, 1, 0, 1] * 10, "question": [*range(10)] * 4})
        >>> found = line_test(answers, value="yes", line=0.5, cluster="question")
        >>> found[["measure", "value", "n", "clusters", "status"]].to_numpy().tolist()
        [['share', 0.75, 40, 10, 'ok']]
    """
    expect(kind, KINDS, "kind")
    by = _keys("line_test", by)
    held = {value: _NUMBER, cluster: Column("label", "template-1")}
    _check("line_test", frame, held | dict.fromkeys(by, _LABEL))
    rows = []
    if kind == "share" and group is None and not frame[value].dropna().isin([0, 1]).all():
        raise FrameError("line_test: a share has the values 0 and 1 only; kind='mean' takes any")
    if group is not None:
        _check("line_test", frame, {group[0]: Column("label", "woman")})
        frame = frame[frame[group[0]].isin(group[1:])]
    for key, cell in cells(frame, by):
        values, clusters = cell[value].astype(float), cell[cluster]
        if group is not None:
            firsts = cell[group[0]] == group[1]
            first, second = (_sums(values[chosen], clusters) for chosen in (firsts, ~firsts))
            found = _difference(first, second, line)
        elif kind == "share":
            found = _share(_sums(values, clusters), line)
        else:
            found = _mean(_sums(values, clusters), line)
        read = values.dropna()
        # Equal contributions may come of a locked model: only answers can be seen to be alike.
        is_alike = len(read) > found["clusters"] and np.ptp(read) < _ROUNDING
        found |= {"n": len(read), "n_invalid": int(values.isna().sum()), "line": line}
        rows.append(key | found | {"alike": bool(is_alike)})
    return pd.DataFrame(rows, columns=[*by, *TESTED])


def _check(function: str, frame: Any, wanted: Mapping[str, Column]) -> None:
    """FrameError where a column is lacking or holds what it must not."""
    if not isinstance(frame, pd.DataFrame):
        raise FrameError(f"{function}: a {type(frame).__name__} is no frame; give a DataFrame")
    for name, holds in wanted.items():
        if name not in frame:
            there = ", ".join(map(repr, frame.columns)) or "none"
            raise FrameError(f"{function}: no column {name!r}; name one of those there: {there}")
        check_column(frame[name], holds, f"{function}: column {name!r}")


def _keys(function: str, by: str | Sequence[str]) -> list[str]:
    """The names of `by`; FrameError for one that is a column of the result."""
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if name in (*TESTED, *GATES):
            raise FrameError(
                f"{function}: by={name!r} is a column of the result; rename yours, e.g. my_{name}"
            )
    return names


def _sums(values: pd.Series, clusters: pd.Series) -> qa_intervals.Ratio:
    """Sum and number of the valid values of every cluster, without any for some."""
    groups = values.groupby(clusters.loc[values.index], sort=False)
    names = pd.unique(clusters)
    total, n = (one.reindex(names, fill_value=0) for one in (groups.sum(), groups.count()))
    return total.to_numpy(float), n.to_numpy(float)


def _share(sums: qa_intervals.Ratio, line: float) -> dict[str, Any]:
    hits, totals = (one[sums[1] > 0] for one in sums)
    y, n = hits.tolist(), totals.tolist()
    found = cluster_share(y, n)
    inner = cluster_share(y, n, 1 - 2 * ALPHA)
    limits = share_limits(y, n, line)
    kept = ("value", "clusters", "ci_low", "ci_high", "status", "se")
    row = {name: found[name] for name in kept} | {"measure": "share", "p": share_p(y, n, line)}
    row |= {"ci90_low": inner["ci_low"], "ci90_high": inner["ci_high"]}
    row |= {name: limits[name] for name in ("limit_up", "limit_down")}
    row["limit_about"] = limits["about"]
    return row | _spread(hits / totals, hits - found["value"] * totals)


def _mean(sums: qa_intervals.Ratio, line: float) -> dict[str, Any]:
    total, n = (one[sums[1] > 0] for one in sums)
    values = qa_intervals.contributions((total, n))
    return _by_t("mean", values, total / n, line)


def _difference(
    first: qa_intervals.Ratio, second: qa_intervals.Ratio, line: float
) -> dict[str, Any]:
    values = qa_intervals.contributions(first, second)
    row = _by_t("difference", values, values, line)
    row["clusters"] = qa_intervals.templates_in(first, second)
    if 0 < row["clusters"] < NO_INTERVAL_BELOW:
        row |= dict.fromkeys(("ci_low", "ci_high", "se", "p", "ci90_low", "ci90_high"), np.nan)
        row |= {"limit_up": np.nan, "limit_down": np.nan, "status": "few_clusters"}
    return row


def _by_t(measure: str, values: np.ndarray, own: np.ndarray, line: float) -> dict[str, Any]:
    """A mean of contributions by t; `own` are the clusters' own values."""
    found = mean_interval(values.tolist())
    inner = mean_interval(values.tolist(), 1 - 2 * ALPHA)
    limit = detectable_effect(found["se"], found["clusters"])
    p = np.nan
    if found["status"] == "ok":
        p = float(2 * t.sf(abs(found["value"] - line) / found["se"], found["clusters"] - 1))
    row = found | {"measure": measure, "p": p, "limit_up": limit, "limit_down": limit}
    row |= {"ci90_low": inner["ci_low"], "ci90_high": inner["ci_high"], "limit_about": False}
    return row | _spread(own, values - values.mean() if len(values) else values)


def _spread(own: np.ndarray, residuals: np.ndarray) -> dict[str, Any]:
    """How many clusters differ from the commonest, and over how many the variance is spread."""
    same = np.unique(np.round(own, 9), return_counts=True)[1]
    fourth = float((residuals**4).sum())
    spread = float((residuals**2).sum()) ** 2 / fourth if fourth > _ROUNDING**2 else 0.0
    return {"differ": len(own) - int(same.max(initial=0)), "spread": spread}


def gates(
    frame: pd.DataFrame,
    *,
    factors: Sequence[str] = (),
    cut: str | None = None,
    named: str | None = None,
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """What forbids a verdict: answers by position, texts that were cut off.

    Args:
        frame: a row an answer.
        factors: columns that say which level of a counterbalanced factor the answer took (its
            position, the person mentioned first, the polarity); missing: unreadable.
        cut: column of flags, whether the text was cut off or looped.
        named: column of flags, whether the answer names a person; missing: unreadable.
        by: columns measured apart.

    Returns:
        by..., factor and factor_level (the level that takes the largest share), factor_share (of
        readable answers), cut_share (of all), named_share (of readable answers); NaN and None for
        what was not given or has no readable answer.

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: ours. Any rule by intervals calls 43 to 100 % of models that are locked to a position
    unbiased; only this gate does not.

    Example:
        >>> answers = pd.DataFrame({"position": ["first"] * 19 + ["second"]})
        >>> found = gates(answers, factors=["position"])
        >>> found[["factor", "factor_level", "factor_share"]].to_numpy().tolist()
        [['position', 'first', 0.95]]
    """
    by = _keys("gates", by)
    wanted = dict.fromkeys([*factors, *by], _LABEL)
    wanted |= {cut: _FLAG} if cut else {}
    wanted |= {named: Column("flag", True, may_miss=True)} if named else {}
    _check("gates", frame, wanted)
    rows = []
    for key, cell in cells(frame, by):
        row: dict[str, Any] = {"factor": None, "factor_level": None, "factor_share": np.nan}
        for factor in factors:
            shares = cell[factor].value_counts(normalize=True)
            if len(shares) and not shares.iloc[0] <= row["factor_share"]:
                row = {"factor": factor, "factor_level": shares.index[0]}
                row["factor_share"] = float(shares.iloc[0])
        row["cut_share"] = float(cell[cut].astype(float).mean()) if cut else np.nan
        row["named_share"] = float(cell[named].astype(float).mean()) if named else np.nan
        rows.append(key | row)
    return pd.DataFrame(rows, columns=[*by, *GATES])


# --- the word -------------------------------------------------------------------------------------


def clusters_needed(
    se: float, clusters: int, margin: float, *, one_sided: bool = False
) -> dict[str, Any]:
    """How many clusters would call a true 0 absent in four of five studies.

    The smallest C with (t.95 + t.90) SE sqrt(C_now / C) <= margin, quantiles on C - 1 degrees of
    freedom; one-sided (a share at a line of 0 or 1) with t.80 and at least log(.05) / log(1 -
    margin), 59 for 5 points. The range is that of the 95 % chi-square interval of the SE.

    Returns:
        needed, needed_low, needed_high; NaN without an SE or a margin.

    Source: D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680.

    Example:
        >>> clusters_needed(0.04, 20, 0.05)
        {'needed': 112, 'needed_low': 66, 'needed_high': 236}
    """
    names = ("needed", "needed_low", "needed_high")
    known = np.isfinite(se) and np.isfinite(margin) and margin > 0
    if not known or clusters < NO_INTERVAL_BELOW:
        return dict.fromkeys(names, np.nan)
    df = clusters - 1
    tails = [df, chi2.ppf(0.975, df), chi2.ppf(0.025, df)]
    least = alike_needed(margin) if one_sided else NO_INTERVAL_BELOW
    power = 0.8 if one_sided else 0.9
    found = [_smallest(se * np.sqrt(df / tail), clusters, margin, power) for tail in tails]
    return dict(zip(names, [max(one, least) for one in found], strict=True))


def _smallest(se: float, clusters: int, margin: float, power: float) -> int:
    """The smallest C whose half width and power fit into the margin; it falls with C."""

    def fits(c: int) -> bool:
        quantiles = t.ppf(0.95, c - 1) + t.ppf(power, c - 1)
        return bool(quantiles * se * np.sqrt(clusters / c) <= margin)

    low, high = NO_INTERVAL_BELOW - 1, NO_INTERVAL_BELOW
    while not fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def alike_needed(margin: float) -> int:
    """How many clusters that are all alike show that fewer than `margin` of them are otherwise.

    The smallest C with 1 - .05^(1/C) <= margin.

    Example:
        >>> alike_needed(0.05), alike_needed(0.1)
        (59, 29)
    """
    if not 0 < margin < 1:
        raise KatayoriError(f"a margin of shares lies between 0 and 1, not {margin}; e.g. 0.05")
    return int(np.ceil(np.log(ALPHA) / np.log1p(-margin)))


def verdict(
    table: pd.DataFrame,
    *,
    margin: float | None = None,
    family: Sequence[str] = (),
    gates: pd.DataFrame | None = None,
    p: str = "p",
) -> pd.DataFrame:
    """What a study says of each headline: the first rule that applies, and why.

    Args:
        table: of `line_test`; the rows of one headline, such as its models.
        margin: what is too small to matter, in the unit of the value; None (nats, odds): no
            `absent`.
        family: columns whose cells are families of Holm's; default, all rows are one.
        gates: of the verb of that name, joined by the columns both have; None: none are looked at.
        p: the column of the test that decides; name that of an exact test printed beside.

    Returns:
        the rows of `table` with p_holm, tests (in the family), needed, needed_low, needed_high
        (`clusters_needed`, of undecided rows), verdict and why. Rules:

        1. `not asked`; `condition did not happen` (more than a tenth of the texts cut off);
           `too few` (fewer than 5 clusters).
        2. `position bound` (one level of a factor takes more than 90 %; the same share in every
           cluster; no variation where persons are named, or where it is not known): no value.
        3. All answers alike and at the line: `absent` if 1 - .05^(1/C) <= margin, else `undecided`.
        4. `present` if p_holm <= .05; `present, smaller than the margin` where the 90 % interval
           lies inside line +- margin.
        5. `absent` if the 90 % interval lies strictly inside line +- margin (of a share at a line
           of 0 or 1 only the inner side), at least 10 clusters differ from the commonest, spread is
           at least 6, and the unadjusted p > .05.
        6. `undecided`; `undecided (excludes the line, not after Holm over k)`.

        Rows of rules 1 to 3, and those without a p, are no test of the family.

    Raises:
        KatayoriError: a column that is lacking, gates that fit no row or more than one.

    Source: S. Holm, Scand. J. Statist. 6 (1979); Schuirmann (1987) for rule 5.

    Example:
        >>> answers = pd.DataFrame({"yes": [1] * 20 + [0] * 20, "question": [*range(10)] * 4})
        >>> tested = line_test(answers, value="yes", line=0.5, cluster="question")
        >>> verdict(tested, margin=0.05)[["verdict", "why"]].to_numpy().tolist()
        [['position bound', 'Every cluster has the same share: the design fixes it.']]
    """
    numbers = [name for name in TESTED if name not in ("measure", "status")]
    _check("verdict", table, dict.fromkeys([*numbers, p], _NUMBER) | dict.fromkeys(family, _LABEL))
    out = _joined(table, gates)
    if margin is not None:
        alike_needed(margin)
    limit = np.nan if margin is None else margin
    rows = [dict(zip(out.columns, row, strict=True)) for row in out.itertuples(index=False)]
    stopped = [_bound(row) or _all_alike(row, limit) for row in rows]
    tested = out[p].astype(float).where(np.array([one is None for one in stopped], bool))
    families = [out[name] for name in family] or [pd.Series(0, out.index)]
    groups = tested.groupby(families, sort=False, dropna=False)
    out["p_holm"] = groups.transform(lambda one: holm(one.to_numpy(float)))
    out["tests"] = groups.transform("count").astype(int)
    told = []
    for row, early, own, adjusted, k in zip(
        rows, stopped, tested, out["p_holm"], out["tests"], strict=True
    ):
        needed = _needed(row, limit)
        word, why = early or _decided(row, limit, (own, adjusted, k), needed)
        if not word.startswith("undecided"):
            needed = dict.fromkeys(needed, np.nan)
        told.append({**needed, "verdict": word, "why": why})
    columns = ["needed", "needed_low", "needed_high", "verdict", "why"]
    out = pd.concat([out, pd.DataFrame(told, columns=columns, index=out.index)], axis=1)
    hidden = out["verdict"] == "position bound"
    out.loc[hidden, ["value", "ci_low", "ci_high", "ci90_low", "ci90_high"]] = np.nan
    return out


def _joined(table: pd.DataFrame, gates: pd.DataFrame | None) -> pd.DataFrame:
    """The table with the columns of the gates, each row with one."""
    table = table.reset_index(drop=True)
    if gates is None:
        return table.assign(**dict.fromkeys(GATES, np.nan))
    _check("verdict: gates", gates, dict.fromkeys(GATES, _LABEL))
    keys = [name for name in gates if name not in GATES]
    lacking = [name for name in keys if name not in table]
    twice = gates.duplicated(keys).any() if keys else len(gates) != 1
    if lacking or twice:
        raise KatayoriError(
            f"verdict: gates by {', '.join(map(str, keys)) or 'nothing'} do not fit the table; make"
            " them with columns of `by` that the table has too"
        )
    if not keys:
        return table.assign(**{name: gates[name].iloc[0] for name in GATES})
    out = table.merge(gates, on=keys, how="left", indicator=True)
    if (out["_merge"] != "both").any():
        raise KatayoriError(f"verdict: {(out['_merge'] != 'both').sum()} rows have no gates")
    return out.drop(columns="_merge")


def _bound(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Rules 1 and 2."""
    if row["n"] + row["n_invalid"] == 0:
        return "not asked", "No answer was asked for."
    if row["cut_share"] > CUT_ABOVE:
        return "condition did not happen", f"{row['cut_share']:.0%} of the texts were cut off."
    if row["n"] == 0:
        return "too few", f"None of {row['n_invalid']} answers can be read."
    if row["clusters"] < NO_INTERVAL_BELOW:
        return "too few", f"{row['clusters']} clusters; an interval needs {NO_INTERVAL_BELOW}."
    if row["factor_share"] > BOUND_ABOVE:
        taken = f"{row['factor']} {row['factor_level']}"
        return "position bound", f"{row['factor_share']:.0%} of the readable answers are {taken}."
    if row["status"] == "same_in_every_cluster":
        return "position bound", "Every cluster has the same share: the design fixes it."
    if row["status"] == "no_variation" and not _is_alike(row):
        return "position bound", "Every cluster has the same value: the design may fix it."
    return None


def _is_alike(row: Mapping[str, Any]) -> bool:
    """All answers are alike and at the line, such as every answer unknown."""
    named = row["named_share"]
    without_persons = bool(row["alike"]) if np.isnan(named) else named == 0
    constant = row["status"] == "no_variation" or (row["measure"] == "share" and row["alike"])
    return bool(constant and without_persons and abs(row["value"] - row["line"]) < _ROUNDING)


def _all_alike(row: Mapping[str, Any], margin: float) -> tuple[str, str] | None:
    """Rule 3."""
    if not _is_alike(row):
        return None
    clusters = row["clusters"]
    if np.isnan(margin):
        return "undecided", f"0 of {clusters} clusters differ from the line; no margin is given."
    needed = alike_needed(margin)
    if clusters >= needed:
        return "absent", f"0 of {clusters} clusters differ from the line; {needed} needed."
    return "undecided", f"0 of {clusters} clusters; {needed} needed."


def _at_an_end(row: Mapping[str, Any]) -> bool:
    return row["measure"] == "share" and row["line"] in (0, 1)


def _inside(row: Mapping[str, Any], margin: float) -> bool:
    """Whether the 90 % interval lies strictly inside the margin; at an end, on the inner side."""
    above = row["ci90_low"] > row["line"] - margin
    below = row["ci90_high"] < row["line"] + margin
    if _at_an_end(row):
        return bool(below if row["line"] == 0 else above)
    return bool(above and below)


def _needed(row: Mapping[str, Any], margin: float) -> dict[str, Any]:
    if row["status"] == "no_variation" and not np.isnan(margin):
        return {"needed": alike_needed(margin), "needed_low": np.nan, "needed_high": np.nan}
    return clusters_needed(row["se"], row["clusters"], margin, one_sided=_at_an_end(row))


def _decided(
    row: Mapping[str, Any],
    margin: float,
    test: tuple[float, float, int],
    needed: Mapping[str, Any],
) -> tuple[str, str]:
    """Rules 4 to 6; `test` is p, p of Holm and the number of tests."""
    p, p_holm, tests = test
    if p_holm <= ALPHA:
        smaller = ", smaller than the margin" if _inside(row, margin) else ""
        return f"present{smaller}", f"p = {p_holm:.2g} after Holm over {tests}."
    if p <= ALPHA:
        return (
            f"undecided (excludes the line, not after Holm over {tests})",
            f"p = {p:.2g}, but {p_holm:.2g} after Holm over {tests}.",
        )
    if np.isnan(margin):
        return "undecided", "The interval holds the line, and no margin is given."
    span = f"The 90 % interval [{row['ci90_low']:.3g}, {row['ci90_high']:.3g}]"
    around = f"{margin:g} around {row['line']:g}"
    if not _inside(row, margin):
        counted = "{needed}, {needed_low} to {needed_high}".format_map(needed)
        return "undecided", f"{span} reaches beyond {around}; clusters needed: about {counted}."
    if row["differ"] < DIFFER:
        few = f"only {row['differ']} clusters differ from the commonest, {DIFFER} needed"
        return "undecided", f"{span} lies inside {around}, but {few}."
    if row["spread"] < SPREAD:
        few = f"the variance lies in about {row['spread']:.1f} clusters, {SPREAD} needed"
        return "undecided", f"{span} lies inside {around}, but {few}."
    if np.isnan(p):
        return "undecided", f"{span} lies inside {around}, but there is no test."
    return "absent", f"{span} lies inside {around}."


# --- answers that cannot be read ------------------------------------------------------------------


def filled(
    frame: pd.DataFrame,
    *,
    end: str,
    value: str = "value",
    span: tuple[float, float] = (0, 1),
    group: tuple[str, Any, Any] | None = None,
) -> pd.DataFrame:
    """The frame with unreadable answers as they would lie to make the result lowest or highest.

    Args:
        frame: a row an answer asked for, failed calls included; missing values: unreadable.
        end: `low` or `high`. span: the lowest and the highest value an answer can have.
        group: of a difference: the second group is filled the other way.

    Raises:
        KatayoriError: an unknown end, a column that is lacking, a value outside `span`.

    Source: C. F. Manski, Partial Identification of Probability Distributions (2003).

    Example:
        >>> filled(pd.DataFrame({"value": [1, None]}), end="low")["value"].tolist()
        [1.0, 0.0]
    """
    expect(end, ("low", "high"), "end")
    _check("filled", frame, {value: _NUMBER} | ({group[0]: _LABEL} if group else {}))
    values = frame[value].astype(float)
    lowest, highest = span
    if not values.dropna().between(lowest, highest).all():
        raise FrameError(f"filled: column {value!r} has values outside {lowest:g} to {highest:g}")
    own, other = (lowest, highest) if end == "low" else (highest, lowest)
    turned = frame[group[0]] == group[2] if group else pd.Series(False, frame.index)
    fill = pd.Series(np.where(turned, other, own), frame.index)
    return frame.assign(**{value: values.fillna(fill)})


def bounds(
    frame: pd.DataFrame,
    *,
    value: str = "value",
    kind: str = "share",
    span: tuple[float, float] = (0, 1),
    cluster: str = "cluster",
    by: str | Sequence[str] = (),
    group: tuple[str, Any, Any] | None = None,
) -> pd.DataFrame:
    """Between which values a result lies, whatever the unreadable answers would have been.

    With n_a answers asked for and n_x unreadable: accuracy or share of yes, values 0 and 1,
    [k/n_a, (k + n_x)/n_a]. Diff-bias, values 1 (biased), -1 (counter-biased) and 0 with `span=(-1,
    1)`, [(n_b - n_c - n_x)/n_a, (n_b - n_c + n_x)/n_a]. Clear contexts, 2b/(b+c) - 1, the same
    without the rows of readable unknown answers, [(b - c - x)/(b + c + x), (b - c + x)/(b + c +
    x)]. KoBBQ's Diff_d (`group`: biased less counter-biased contexts), and a difference of two
    models (`group`: the models): the low end of the first less the high end of the second, and the
    mirror.

    Args: as of `line_test` and `filled`.

    Returns:
        by..., measure, value (of the readable answers), n, n_invalid, clusters, low_bound,
        high_bound, ci_low (lower end of the 95 % interval of the low scenario), ci_high (upper end
        of the high one's), status (of the readable answers). A scenario without variation ends at
        the bound itself. Coverage .97 and more.

    Raises:
        KatayoriError: as `line_test` and `filled`.

    Source: Manski (2003).

    Example:
        >>> answers = pd.DataFrame({"right": [1, 1, 0, None] * 10, "item": [*range(10)] * 4})
        >>> found = bounds(answers, value="right", cluster="item")
        >>> found[["low_bound", "high_bound", "n", "n_invalid"]].to_numpy().tolist()
        [[0.5, 0.75, 30.0, 10.0]]
    """
    by = _keys("bounds", by)
    names: dict[str, Any] = {"value": value, "kind": kind, "cluster": cluster, "by": by}
    out = line_test(frame, **names, group=group)
    for end in ("low", "high"):
        scenario = filled(frame, end=end, value=value, span=span, group=group)
        found = line_test(scenario, **names, group=group)
        out[f"{end}_bound"] = found["value"]
        still = found["status"] == "no_variation"
        out[f"ci_{end}"] = found[f"ci_{end}"].mask(still, found["value"])
    given = ("measure", "value", "n", "n_invalid", "clusters", "low_bound", "high_bound")
    return out[[*by, *given, "ci_low", "ci_high", "status"]]


def standing(told: pd.DataFrame, low: pd.DataFrame, high: pd.DataFrame) -> pd.DataFrame:
    """The verdicts that stand whatever the unreadable answers would have been.

    Where more than 1 % is unreadable, a word of the rules 3 to 6 stands only if the low and the
    high scenario have the same word and, where it is `present`, lie on the same side of the line;
    otherwise it is `undecided`, and `why` says what the two ends would be.

    Args:
        told: of `verdict`, of the readable answers. low, high: the same of `filled` frames.

    Raises:
        KatayoriError: tables of different lengths.

    Source: ours.

    Example:
        >>> answers = pd.DataFrame({"yes": [1, 1, 0, None] * 15, "question": range(60)})
        >>> names = {"value": "yes", "cluster": "question", "line": 0.5}
        >>> frames = [answers, *(filled(answers, end=one, value="yes") for one in ("low", "high"))]
        >>> found = standing(*(verdict(line_test(one, **names), margin=0.05) for one in frames))
        >>> found["verdict"][0], found["why"][0]
        ('undecided', 'Unreadable answers decide: undecided if low, present if high.')
    """
    if not len(told) == len(low) == len(high):
        raise KatayoriError("standing: tables of different lengths; make them of the same rows")
    out = told.copy()
    rows = zip(told.iterrows(), low.iterrows(), high.iterrows(), strict=True)
    for (label, row), (_, below), (_, above) in rows:
        read = row["n_invalid"] <= UNREADABLE * (row["n"] + row["n_invalid"])
        if read or row["verdict"] in NO_VERDICT:
            continue
        words = [row["verdict"], below["verdict"], above["verdict"]]
        sides = {np.sign(one["value"] - one["line"]) for one in (row, below, above)}
        present = row["verdict"].startswith("present")
        if len(set(words)) == 1 and (len(sides) == 1 or not present):
            continue
        out.loc[label, "verdict"] = "undecided"
        out.loc[label, "why"] = f"Unreadable answers decide: {words[1]} if low, {words[2]} if high."
    return out
