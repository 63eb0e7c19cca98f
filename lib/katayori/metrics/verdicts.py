"""From an interval to a word: present, absent, undecided, and why.

`line_test` measures a share, a mean or a difference against a line, `gates` finds what forbids a
verdict (answers by position, texts that were cut), `verdict` says the first word that applies:

    tested = line_test(answers, value="biased", line=0.5, by=["model"], cluster="case")
    told = verdict(tested, margin=0.05, gates=gates(answers, factors=["position"], by=["model"]))
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit
from scipy.stats import chi2, t

from katayori.errors import KatayoriError, expect
from katayori.frames import (
    LABEL,
    LABEL_OR_NONE,
    NUMBER_OR_NONE,
    Column,
    FrameError,
    cells,
    flat,
    require,
)
from katayori.metrics import intervals
from katayori.metrics.holm import holm_in_families
from katayori.metrics.intervals import (
    NO_INTERVAL_BELOW,
    detectable_effect,
    mean_interval,
    with_interval,
)
from katayori.metrics.shares import cluster_share, share_limits, share_p, sums

#: What the values are, and the lowest and highest that an unreadable answer might have had.
KINDS: dict[str, Any] = {"share": (0, 1), "probability": (0, 1), "signed": (-1, 1), "mean": ()}
#: More than this of the readable answers by one level of a factor, of all texts cut off.
BOUND_ABOVE = 0.9
CUT_ABOVE = 0.1
#: What `absent` needs: clusters that differ from the commonest one, and (sum r^2)^2 / sum r^4.
DIFFER = 10
SPREAD = 6
ALPHA = 0.05
#: Bounds are looked at where more than this share of the answers is unreadable.
UNREADABLE = 0.01
#: What a row of `line_test` makes of unreadable answers.
READ = "left out"
ENDS = ("lowest", "highest")
NO_VERDICT = ("not asked", "condition did not happen", "too few", "position bound")
GATES = ("bound_by", "bound_level", "bound_share", "cut_share", "named_share")
TESTED = (
    *("line", "se", "p", "ci90_low", "ci90_high", "limit", "limit_up", "limit_down"),
    *("limit_about", "differ", "spread", "alike", "unreadable"),
)
#: What `verdict` adds.
TOLD = (
    *("margin", "p_holm", "tests", "needed", "needed_low", "needed_high", "verdict", "why"),
    *("low_bound", "high_bound"),
)
_GIVEN_TOO = (*TESTED, *GATES, *TOLD)
_ROUNDING = 1e-12
_FLAG = Column("flag", True)
_NEEDED = ("needed", "needed_low", "needed_high")
#: The end of a reason (`_decided`), left out where no more clusters would be needed.
_HOW_MANY = "; clusters needed: about {needed}, {needed_low} to {needed_high}"
#: Columns of `line_test` that a verdict reads.
_READS = (
    *("value", "n", "n_invalid", "clusters", "line", "se", "ci90_low", "ci90_high", "differ"),
    *("spread", "alike"),
)


# --- measured against a line ----------------------------------------------------------------------


class _Test(NamedTuple):
    """What is measured against which line."""

    value: str
    line: float
    kind: str
    cluster: str
    group: tuple[str, Any, Any] | None


def line_test(
    frame: pd.DataFrame,
    *,
    value: str,
    line: float = 0.0,
    kind: str = "share",
    group: tuple[str, Any, Any] | None = None,
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """A share, a mean or a difference of two groups against a line, over clusters.

    Args:
        frame: a row an answer, or a row a cluster with its contribution (`kind="mean"`).
        value: its column of numbers; missing: unreadable. line: in the unit of the value.
        kind: what the values are: `share` (0 and 1; one half for a tie), `probability` (0 to 1),
            `signed` (-1 to 1, such as biased less counter-biased) or `mean` (any numbers).
        group: column and two of its values; then the mean of the first less that of the second.
        by: columns measured apart. cluster: what would be drawn anew in another study.

    Returns:
        by..., measure (share, mean or difference), value, n, n_invalid, clusters, ci_low, ci_high
        (95 %, not adjusted), status (of `shares.cluster_share` or `intervals.mean_interval`), line,
        se, p (unadjusted; NaN without an interval), ci90_low, ci90_high, limit (of detection: the
        true effect found with a power of .8; the larger of limit_up and limit_down, without a side
        on which nothing can be found), limit_up, limit_down (NaN: none), limit_about (a share of
        fewer than 20 clusters), differ (clusters that differ from the commonest one), spread
        ((sum r^2)^2 / sum r^4), alike (all answers are), unreadable (`left out`).

        Where any answer of the frame is unreadable, two more rows a cell say what the result were
        if all these answers were `lowest` or `highest`, but not of a `mean`, where that is not
        known. `verdict` looks at them and gives one row a cell.

    Formula: shares by `shares.cluster_share`, `share_p`, `share_limits`. Means and differences by t
    on C - 1 degrees of freedom on the contributions r + (a_c - r b_c) / mean(b); their limit is
    (t.975 + t.80) SE. A mean of probabilities over skewed clusters (log odds about 2, SD 1.5)
    covers .861 with 5 clusters and .909 with 10; the mean log odds cover .945: prefer them. With
    fewer than 10 clusters of unequal size the interval by t is up to 12 % narrower than CR2. One
    answer excludes a line of 0.

    Raises:
        KatayoriError: a column that is lacking or holds something else, an unknown kind.

    Source: `intervals.contributions` (linearisation), Korn and Graubard (1998).

    Example:
        >>> answers = pd.DataFrame({"yes": [1, 1, 0, 1] * 10, "question": [*range(10)] * 4})
        >>> found = line_test(answers, value="yes", line=0.5)
        >>> found[["measure", "value", "n", "clusters", "status"]].to_numpy().tolist()
        [['share', 0.75, 40, 10, 'ok']]
    """
    expect(kind, KINDS, "kind")
    by = require("line_test", frame, {value: NUMBER_OR_NONE, cluster: LABEL}, by, _GIVEN_TOO)
    _check_values(frame[value], kind)
    of = frame
    if group is not None:
        require("line_test", frame, {group[0]: Column("label", "woman")})
        frame = frame[frame[group[0]].isin(group[1:])]
    test = _Test(value, line, kind, cluster, group)
    ends = ENDS if KINDS[kind] and frame[value].isna().any() else ()
    rows = []
    for key, cell in cells(frame.reset_index(drop=True), by):
        rows.append(key | _tested(cell, test) | {"unreadable": READ})
        for end in ends:
            rows.append(key | _tested(_filled(cell, test, end), test) | {"unreadable": end})
    return flat(rows, of, by, names=["measure"], more=TESTED)


def _check_values(values: pd.Series, kind: str) -> None:
    """FrameError for a value that is not of its kind."""
    given = values.dropna().astype(float)
    right = ""
    if kind == "share" and not given.isin([0, 0.5, 1]).all():
        right = "a share has the values 0 and 1 only, one half for ties"
    elif KINDS[kind] and not given.between(*KINDS[kind]).all():
        right = "values of the kind {!r} lie between {} and {}".format(kind, *KINDS[kind])
    if right:
        raise FrameError(f"line_test: {right}; kind='mean' takes any")


def _filled(cell: pd.DataFrame, test: _Test, end: str) -> pd.DataFrame:
    """The rows with unreadable answers as they would lie to make the result lowest or highest.

    The second group of a difference is filled the other way.
    """
    own, other = KINDS[test.kind][:: 1 if end == "lowest" else -1]
    turned = cell[test.group[0]] == test.group[2] if test.group else pd.Series(False, cell.index)
    fill = pd.Series(np.where(turned, other, own), cell.index)
    return cell.assign(**{test.value: cell[test.value].astype(float).fillna(fill)})


def _tested(cell: pd.DataFrame, test: _Test) -> dict[str, Any]:
    """One row of `line_test`."""
    values, clusters = cell[test.value].astype(float), cell[test.cluster]
    if test.group is not None:
        firsts = cell[test.group[0]] == test.group[1]
        first, second = (sums(values[chosen], clusters) for chosen in (firsts, ~firsts))
        found = _difference_row(first, second, test.line)
        exact = values[firsts].mean() - values[~firsts].mean()
    elif test.kind == "share":
        found = _share_row(sums(values, clusters), test.line)
        exact = found["value"]
    else:
        found = mean_row(sums(values, clusters), test.line)
        exact = values.mean()
    # A mean of contributions is 1e-18 where as many answers are biased as counter-biased.
    found["value"] = exact if np.isfinite(found["value"]) else np.nan
    read = values.dropna()
    # Equal contributions may come of a locked model: only answers can be seen to be alike.
    are_answers = test.kind == "share" or len(read) > found["clusters"]
    is_alike = are_answers and len(read) > 0 and np.ptp(read) < _ROUNDING
    found |= {"n": len(read), "n_invalid": int(values.isna().sum()), "alike": bool(is_alike)}
    sides = [found[side] for side in ("limit_up", "limit_down") if not np.isnan(found[side])]
    return found | {"line": test.line, "limit": max(sides, default=np.nan)}


def _share_row(ratio: intervals.Ratio, line: float) -> dict[str, Any]:
    """What `line_test` says of a share, from hits and totals of each cluster."""
    hits, totals = (one[ratio[1] > 0] for one in ratio)
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


def mean_row(ratio: intervals.Ratio, line: float) -> dict[str, Any]:
    """What `line_test` says of a mean, from sum and number of each cluster.

    Example:
        >>> round(mean_row((np.array([3.0, 1, 2, 2, 3]), np.ones(5)), 2.0)["p"], 2)
        0.62
    """
    total, n = (one[ratio[1] > 0] for one in ratio)
    return {"measure": "mean"} | row_by_t(intervals.contributions((total, n)), total / n, line)


def _difference_row(first: intervals.Ratio, second: intervals.Ratio, line: float) -> dict[str, Any]:
    """What `line_test` says of a difference, from sum and number of each cluster in two groups."""
    values = intervals.contributions(first, second)
    row = {"measure": "difference"} | row_by_t(values, values, line)
    row["clusters"] = intervals.clusters_in(first, second)
    if 0 < row["clusters"] < NO_INTERVAL_BELOW:
        row |= dict.fromkeys(("ci_low", "ci_high", "se", "p", "ci90_low", "ci90_high"), np.nan)
        row |= {"limit_up": np.nan, "limit_down": np.nan, "status": "few_clusters"}
    return row


def row_by_t(
    values: np.ndarray, own: np.ndarray, line: float = 0.0, looked_at: int = 1
) -> dict[str, Any]:
    """What `verdict` needs of a mean of contributions.

    Args:
        values: the clusters' contributions. own: their own values, for counting those that differ.
        line: in the unit of the value. looked_at: of so many means this one was chosen; intervals,
            p and limit hold for all of them at once (Bonferroni).

    Example:
        >>> values = np.array([0.1, 0.2, 0.15, 0.05, 0.1])
        >>> row_by_t(values, values)["p"] < row_by_t(values, values, looked_at=3)["p"]
        True
    """
    level = 1 - ALPHA / looked_at
    found = mean_interval(values.tolist(), level)
    inner = mean_interval(values.tolist(), 1 - 2 * ALPHA / looked_at)
    limit = detectable_effect(found["se"], found["clusters"], level)
    p = np.nan
    if found["status"] == "ok":
        distance = abs(found["value"] - line) / found["se"]
        p = min(1.0, looked_at * float(2 * t.sf(distance, found["clusters"] - 1)))
    row = found | {"line": line, "p": p, "limit_up": limit, "limit_down": limit, "limit": limit}
    row |= {"ci90_low": inner["ci_low"], "ci90_high": inner["ci_high"], "limit_about": False}
    row |= {"alike": False, "unreadable": READ}
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
    against: tuple[str, Any] | None = None,
) -> pd.DataFrame:
    """What forbids a verdict: answers by position, texts that were cut off.

    Args:
        frame: a row an answer.
        factors: columns that say which level of a counterbalanced factor the answer took (its
            position, the person mentioned first, the polarity); missing: unreadable.
        cut: column of flags, whether the text is not what was asked for: cut off, looping, or
            without the reasons that should come first.
        named: column of flags, whether the answer names a person; missing: unreadable.
        by: columns measured apart.
        against: a column of `by` and its value with which the others are compared, such as the
            basic prompt: where its answers are bound to a level, so is each difference from it.

    Returns:
        by..., bound_by and bound_level (the level that takes the largest share), bound_share (of
        readable answers), cut_share (of all), named_share (of readable answers); NaN and None for
        what was not given or has no readable answer.

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: ours. Any rule by intervals calls 43 to 100 % of models that are locked to a position
    unbiased; only this gate does not.

    Example:
        >>> answers = pd.DataFrame({"position": ["first"] * 19 + ["second"]})
        >>> found = gates(answers, factors=["position"])
        >>> found[["bound_by", "bound_level", "bound_share"]].to_numpy().tolist()
        [['position', 'first', 0.95]]
    """
    wanted = dict.fromkeys(factors, LABEL_OR_NONE)
    wanted |= {cut: _FLAG} if cut else {}
    wanted |= {named: Column("flag", True, may_miss=True)} if named else {}
    by = require("gates", frame, wanted, by, _GIVEN_TOO)
    rows = []
    for key, cell in cells(frame, by):
        row: dict[str, Any] = {"bound_by": None, "bound_level": None, "bound_share": np.nan}
        for factor in factors:
            shares = cell[factor].value_counts(normalize=True)
            if len(shares) and not shares.iloc[0] <= row["bound_share"]:
                row = {"bound_by": factor, "bound_level": shares.index[0]}
                row["bound_share"] = float(shares.iloc[0])
        row["cut_share"] = float(cell[cut].astype(float).mean()) if cut else np.nan
        row["named_share"] = float(cell[named].astype(float).mean()) if named else np.nan
        rows.append(key | row)
    out = pd.DataFrame(rows, columns=[*by, *GATES])
    out = out if against is None else _with_baseline(out, by, *against)
    out.attrs = dict(frame.attrs)
    return out


def _with_baseline(table: pd.DataFrame, by: list[str], column: str, level: Any) -> pd.DataFrame:
    """Each row with the gate of the baseline where that is the stronger one."""
    if column not in by:
        raise KatayoriError(f"gates: against names {column!r}, which is no column of by")
    others = [name for name in by if name != column]
    bounds = ["bound_by", "bound_level", "bound_share"]
    base = table.loc[table[column] == level, [*others, *bounds]]
    beside = table[others].merge(base, how="left" if others else "cross")
    beside.index = table.index
    stronger = beside["bound_share"] > table["bound_share"]
    return table.assign(**{name: table[name].mask(stronger, beside[name]) for name in bounds})


# --- the word -------------------------------------------------------------------------------------


def _needed(row: Mapping[Any, Any]) -> dict[str, Any]:
    """How many clusters would call a true 0 absent in four of five studies.

    The smallest C with (t.95 + t.90) SE sqrt(C_now / C) <= margin, quantiles on C - 1 degrees of
    freedom; one-sided (a share at a line of 0 or 1) with t.80 and at least log(.05) / log(1 -
    margin), 59 for 5 points. The range is that of the 95 % chi-square interval of the SE, SE
    sqrt((C_now - 1) / chi2), chi2 on C_now - 1 degrees of freedom: "about 97" has the range 65 to
    164 where 36 clusters were asked, 57 to 205 where 20 were, 47 to 320 where 10 were.

    Returns:
        needed, needed_low, needed_high; NaN without an SE or a margin. Where all clusters are alike
        there is no SE: `_alike_needed`.

    Source: D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680.

    Example:
        >>> _needed({"status": "ok", "se": 0.04, "clusters": 20, "margin": 0.05})
        {'needed': 112, 'needed_low': 66, 'needed_high': 236}
    """
    se, clusters, margin = row["se"], row["clusters"], row["margin"]
    none = dict.fromkeys(_NEEDED, np.nan)
    one_sided = _at_an_end(row)
    if row["status"] == "no_variation" and not np.isnan(margin):
        return none | {"needed": _alike_needed(margin)}
    known = np.isfinite(se) and np.isfinite(margin) and margin > 0
    if not known or clusters < NO_INTERVAL_BELOW:
        return none
    df = clusters - 1
    tails = [df, chi2.ppf(0.975, df), chi2.ppf(0.025, df)]
    least = _alike_needed(margin) if one_sided else NO_INTERVAL_BELOW
    power = 0.8 if one_sided else 0.9
    found = [_smallest(se * np.sqrt(df / tail), clusters, margin, power) for tail in tails]
    return dict(zip(_NEEDED, [max(one, least) for one in found], strict=True))


def _smallest(se: float, clusters: int, margin: float, power: float) -> int:
    """The smallest C whose half width and power fit into the margin; it falls with C."""
    normal = ndtri(0.95) + ndtri(power)  # quantiles of t are larger: C is no smaller than this
    c = max(NO_INTERVAL_BELOW, int(clusters * (normal * se / margin) ** 2))
    while (stdtrit(c - 1, 0.95) + stdtrit(c - 1, power)) * se * np.sqrt(clusters / c) > margin:
        c += 1
    return c


def _alike_needed(margin: float) -> int:
    """How many clusters that are all alike show that fewer than `margin` of them are otherwise.

    The smallest C with 1 - .05^(1/C) <= margin.

    Example:
        >>> _alike_needed(0.05), _alike_needed(0.1)
        (59, 29)
    """
    if not 0 < margin < 1:
        raise KatayoriError(f"a margin of shares lies between 0 and 1, not {margin}; e.g. 0.05")
    return int(np.ceil(np.log(ALPHA) / np.log1p(-margin)))


def verdict(
    table: pd.DataFrame,
    *,
    margin: float | None = None,
    gates: pd.DataFrame | None = None,
    family: str | Sequence[str] = (),
    p: str | None = None,
) -> pd.DataFrame:
    """What a study says of each headline: the first rule that applies, and why.

    Args:
        table: of `line_test`; the rows of one headline, such as its models.
        margin: what is too small to matter, in the unit of the value; None (nats, odds): no
            `absent`.
        gates: of the verb of that name, joined by the columns both have; None: none are looked at.
        family: columns whose cells are families of Holm's; default, all rows are one.
        p: the column of the test that decides; None: the p that belongs to the interval. Name that
            of an exact test where one is printed beside: 160 of 288 answers over 36 cases have the
            interval [.506, .605], and an exact test over the cases has p .0048: its p decides.

    Returns:
        one row a cell: the columns of `table` and `gates` with margin, p_holm, tests (in the
        family), needed, needed_low, needed_high (the clusters that would call a true line absent,
        of undecided rows; `why` names them where they are more than were asked), verdict, why,
        low_bound and high_bound (the values with all unreadable answers lowest and highest; NaN
        where the span is not known). Rules:

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

        Simulated (data/simulated/verdicts.csv; 10 to 100 clusters, one test a family): without an
        effect shares are `present` in at most .0515 of studies, a Diff-bias in .0555, a mean of
        exponential contributions in .086. At the margin shares are `absent` in at most .063, means
        in .0755. A model that follows the position is never `absent`.

        Rows of rules 1 to 3, and those without a p, are no test of the family. Where more than 1 %
        of the answers is unreadable, a word of the rules 3 to 6 stands only if it is the same, and
        `present` on the same side of the line, with these answers all lowest and all highest (by
        the p of the interval); otherwise the verdict is `undecided`.

    Raises:
        KatayoriError: a column that is lacking, gates that fit no row or more than one.

    Source: S. Holm, Scand. J. Statist. 6 (1979); Schuirmann (1987) for rule 5; Manski (2003).

    Example:
        >>> answers = pd.DataFrame({"yes": [1] * 20 + [0] * 20, "question": [*range(10)] * 4})
        >>> told = verdict(line_test(answers, value="yes", line=0.5), margin=0.05)
        >>> told[["verdict", "why"]].to_numpy().tolist()
        [['position bound', 'Every cluster has the same share: the design fixes it.']]
    """
    family = [family] if isinstance(family, str) else list(family)
    p = p or "p"
    held = dict.fromkeys([*_READS, "p", p], NUMBER_OR_NONE) | {"unreadable": LABEL}
    require("verdict", table, held | dict.fromkeys(family, LABEL_OR_NONE))
    if margin is not None:
        _alike_needed(margin)
    out = _with_gates(table.reset_index(drop=True), gates)
    out = out.assign(margin=np.nan if margin is None else margin)
    early = [_bound(row) or _all_alike(row) for row in out.to_dict("records")]
    p_own = out[p].where(out["unreadable"] == READ, out["p"]).astype(float)
    p_own = p_own.where(np.array([one is None for one in early], bool))
    number = out.groupby(["unreadable", *family], dropna=False).ngroup().to_numpy()
    out["p_holm"], out["tests"] = holm_in_families(p_own.to_numpy(float), number)
    rows = zip(out.to_dict("records"), p_own, early, strict=True)
    told = [_told(row, own, one) for row, own, one in rows]
    words = pd.DataFrame(told, columns=[*_NEEDED, "verdict", "why"], index=out.index)
    out = _one_row_a_cell(pd.concat([out, words], axis=1))
    bound = out["verdict"] == "position bound"
    out.loc[bound, list(dict.fromkeys([*_HIDDEN, p]))] = np.nan
    gated = bound & (out["bound_share"].astype(float) > BOUND_ABOVE)
    out.loc[gated | (bound & (out["status"] == "ok")), "status"] = "position_bound"
    out.attrs = dict(table.attrs)
    return out


def claim(
    table: pd.DataFrame,
    statement: str,
    *,
    paper: str = "",
    sign: int | None = None,
    between: tuple[float, float] | None = None,
) -> pd.DataFrame:
    """What rows with a verdict say of a claim about their value.

    Args:
        table: of `verdict`, such as the rows of one measure.
        statement: the claim. paper: what the paper gives for it.
        sign: 1 or -1, of the claim that the value lies above or below its line.
        between: of the claim that the value lies in this range (one of both arguments).

    Returns:
        the rows with claim, paper, here (`with_interval`) and the verdict anew. With `sign`:
        `present` where it was `present` on this side, `absent` where it was `absent`, or `present`
        on the other side. With `between`: `present` where the whole interval lies inside, `absent`
        where it lies outside. Else `undecided`; rows that have no verdict keep their word.

    Raises:
        KatayoriError: none of both arguments or both; a column that is lacking.

    Example:
        >>> row = {"value": -0.2, "line": 0.0, "ci_low": -0.3, "ci_high": -0.1}
        >>> rows = pd.DataFrame([row | {"verdict": "present"}])
        >>> one, two = claim(rows, "it falls", sign=-1), claim(rows, "it rises", sign=1)
        >>> one["verdict"].item(), two["verdict"].item()
        ('present', 'absent')
    """
    if (sign is None) == (between is None):
        raise KatayoriError("claim: give sign= or between=, one of both")
    require("claim", table, dict.fromkeys(("value", "line", "ci_low", "ci_high"), NUMBER_OR_NONE))
    if between is not None:
        low, high = between
        shown = (table["ci_low"] >= low) & (table["ci_high"] <= high)
        excluded = (table["ci_high"] < low) | (table["ci_low"] > high)
    else:
        is_present = table["verdict"].str.startswith("present")
        right = np.sign(table["value"] - table["line"]) == sign
        shown = is_present & right
        excluded = (is_present & ~right) | (table["verdict"] == "absent")
    word = np.select([shown, excluded], ["present", "absent"], "undecided")
    stays = table["verdict"].isin(NO_VERDICT)
    verdict = table["verdict"].where(stays, pd.Series(word, table.index, dtype=object))
    here = [with_interval(row) for row in table.to_dict("records")]
    return table.assign(claim=statement, paper=paper, here=here, verdict=verdict)


#: What a row of answers by position does not have.
_HIDDEN = (
    *("value", "ci_low", "ci_high", "se", "p", "ci90_low", "ci90_high", "limit", "limit_up"),
    *("limit_down", "low_bound", "high_bound"),
)


def _with_gates(table: pd.DataFrame, gates: pd.DataFrame | None) -> pd.DataFrame:
    """The table with the columns of the gates, each row with one."""
    if gates is None or table.empty:
        return table.assign(**dict.fromkeys(GATES, np.nan))
    require("verdict: gates", gates, dict.fromkeys(GATES, LABEL_OR_NONE))
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
    # What was not asked has no answers to look at.
    lost = (out["_merge"] != "both") & (out["n"] + out["n_invalid"] > 0)
    if lost.any():
        raise KatayoriError(f"verdict: {lost.sum()} rows have no gates")
    return out.drop(columns="_merge")


def _told(row: Mapping[Any, Any], p: float, early: tuple[str, str] | None) -> dict[str, Any]:
    """Verdict, reason and clusters needed of a row; `early`: what rules 1 to 3 said."""
    word, why = early or _decided(row, p)
    needed = dict.fromkeys(_NEEDED, np.nan)
    if word.startswith("undecided"):
        needed = _needed(row)
        if not needed["needed"] > row["clusters"]:  # so many were asked, and decide nothing
            why = why.replace(_HOW_MANY, "")
        why = why.format_map(needed)
    return {**needed, "verdict": word, "why": why}


def _one_row_a_cell(out: pd.DataFrame) -> pd.DataFrame:
    """The rows of the readable answers, with the bounds and with verdicts that stand at both."""
    parts = (out[out["unreadable"] == one].reset_index(drop=True) for one in (READ, *ENDS))
    read, low, high = (part.drop(columns="unreadable") for part in parts)
    if low.empty and high.empty:
        ends = read["value"].where(read["n_invalid"] == 0)
        return read.assign(low_bound=ends, high_bound=ends)
    if not len(read) == len(low) == len(high):
        raise KatayoriError("verdict: a cell lacks rows of its unreadable answers; keep all rows")
    read = read.assign(low_bound=low["value"], high_bound=high["value"])
    three = zip(*(one.to_dict("records") for one in (read, low, high)), strict=True)
    stands = [_standing(*rows) for rows in three]
    return read.assign(verdict=[word for word, _ in stands], why=[why for _, why in stands])


def _standing(
    row: Mapping[Any, Any], low: Mapping[Any, Any], high: Mapping[Any, Any]
) -> tuple[str, str]:
    """Verdict and reason, whatever the unreadable answers would have been."""
    told = row["verdict"], row["why"]
    is_read = row["n_invalid"] <= UNREADABLE * (row["n"] + row["n_invalid"])
    if is_read or row["verdict"] in NO_VERDICT:
        return told
    words = {one["verdict"] for one in (row, low, high)}
    sides = {np.sign(one["value"] - one["line"]) for one in (row, low, high)}
    if len(words) == 1 and (len(sides) == 1 or not row["verdict"].startswith("present")):
        return told
    ends = " to ".join(f"{one['value']:z.3f} ({one['verdict']})" for one in (low, high))
    return "undecided", f"Unreadable answers decide: from {ends}."


def _bound(row: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Rules 1 and 2."""
    if row["n"] + row["n_invalid"] == 0:
        return "not asked", "No answer was asked for."
    if row["cut_share"] > CUT_ABOVE:
        share = f"{row['cut_share']:.0%}"
        return "condition did not happen", f"{share} of the texts are cut off or not as asked."
    if row["n"] == 0:
        known = "" if row["status"] == "no_valid_answer" else f": {row['status']}"
        told = f"None of {row['n_invalid']} answers can be read{known}.".replace("_", " ")
        return "too few", told
    if row["clusters"] < NO_INTERVAL_BELOW:
        return "too few", f"{row['clusters']} clusters; an interval needs {NO_INTERVAL_BELOW}."
    if row["bound_share"] > BOUND_ABOVE:
        taken = f"{row['bound_by']} {row['bound_level']}"
        return "position bound", f"{row['bound_share']:.0%} of the readable answers are {taken}."
    if row["status"] == "same_in_every_cluster":
        return "position bound", "Every cluster has the same share: the design fixes it."
    if row["status"] == "no_variation" and not _is_alike(row):
        return "position bound", "Every cluster has the same value: the design may fix it."
    return None


def _is_alike(row: Mapping[Any, Any]) -> bool:
    """All answers are alike and at the line, such as every answer unknown."""
    named = row["named_share"]
    without_persons = bool(row["alike"]) if np.isnan(named) else named == 0
    is_share = row.get("measure") == "share"
    constant = row["status"] == "no_variation" or (is_share and row["alike"])
    return bool(constant and without_persons and abs(row["value"] - row["line"]) < _ROUNDING)


def _all_alike(row: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Rule 3."""
    if not _is_alike(row):
        return None
    clusters, margin = row["clusters"], row["margin"]
    if np.isnan(margin):
        return "undecided", f"0 of {clusters} clusters differ from the line; no margin is given."
    needed = _alike_needed(margin)
    if clusters >= needed:
        return "absent", f"0 of {clusters} clusters differ from the line; {needed} needed."
    return "undecided", f"0 of {clusters} clusters; {needed} needed."


def _at_an_end(row: Mapping[Any, Any]) -> bool:
    return row.get("measure") == "share" and row["line"] in (0, 1)


def _inside(row: Mapping[Any, Any]) -> bool:
    """Whether the 90 % interval lies strictly inside the margin; at an end, on the inner side."""
    above = row["ci90_low"] > row["line"] - row["margin"]
    below = row["ci90_high"] < row["line"] + row["margin"]
    if _at_an_end(row):
        return bool(below if row["line"] == 0 else above)
    return bool(above and below)


def _decided(row: Mapping[Any, Any], p: float) -> tuple[str, str]:
    """Rules 4 to 6; a reason of `undecided` may name the clusters needed."""
    p_holm, tests = row["p_holm"], row["tests"]
    if p_holm <= ALPHA:
        smaller = ", smaller than the margin" if _inside(row) else ""
        return f"present{smaller}", f"p = {p_holm:.2g} after Holm over {tests}."
    if p <= ALPHA:
        return (
            f"undecided (excludes the line, not after Holm over {tests})",
            f"p = {p:.2g}, but {p_holm:.2g} after Holm over {tests}.",
        )
    if np.isnan(row["margin"]):
        return "undecided", "The interval holds the line, and no margin is given."
    span = f"The 90 % interval [{row['ci90_low']:.3g}, {row['ci90_high']:.3g}]"
    around = f"{row['margin']:g} around {row['line']:g}"
    if not _inside(row):
        return "undecided", f"{span} reaches beyond {around}{_HOW_MANY}."
    inside = f"{span} lies inside {around}"
    if row["differ"] < DIFFER:
        few = f"only {row['differ']} clusters differ from the commonest, {DIFFER} needed"
        return "undecided", f"{inside}, but {few}."
    if row["spread"] < SPREAD:
        few = f"the variance lies in about {row['spread']:.1f} clusters, {SPREAD} needed"
        return "undecided", f"{inside}, but {few}."
    if np.isnan(p):
        return "undecided", f"{inside}, but there is no test."
    return "absent", f"{inside}."
