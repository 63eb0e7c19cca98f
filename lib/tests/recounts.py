"""Can printed figures hold together? One small check a kind: the recount of data/published.

A printed figure is text or a float and stands for every value that rounds to it: within `slack`
units of its last digit (one half; 0.6 admits a figure rounded twice). A whole number is an exact
count, "<0.01" stands for 0 to 0.01. Write "0.730" as text where a final zero was printed.

Every check returns a flat row: check, printed, recomputed, verdict, reason. verdict: `consistent`;
`not consistent`, both statements cannot hold as printed, which does not say which one is wrong;
`cannot be checked`, too little is printed to tell. A check refuses what it does not know by
KatayoriError.

References: Brown and Heathers, The GRIM test, Social Psychological and Personality Science 8
(2017), 363-369; Nuijten et al., statcheck, Behavior Research Methods 48 (2016), 1205-1226.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import optimize, stats

from katayori.data import files
from katayori.errors import KatayoriError, expect
from katayori.metrics.ranks import holm, kruskal

Printed: TypeAlias = str | float
Row: TypeAlias = dict[str, Any]
Figures: TypeAlias = Sequence[Printed]
Weights: TypeAlias = Sequence[Any] | np.ndarray | None
VERDICTS = CONSISTENT, NOT, CANNOT = "consistent", "not consistent", "cannot be checked"
LAWS = {"chi2": stats.chi2, "f": stats.f, "t": stats.t, "z": stats.norm}
MARGIN = 1e-9  # of binary fractions


def printed_range(printed: Printed, slack: float = 0.5) -> tuple[float, float]:
    """The lowest and highest value that a printed figure stands for.

    >>> printed_range("0.730"), printed_range("<0.01"), printed_range(27)
    ((0.7295, 0.7304999999999999), (0.0, 0.01), (27, 27))
    """
    if isinstance(printed, int):
        return printed, printed
    text = str(printed)
    if text.startswith("<"):
        return 0.0, float(text[1:])
    exponent = Decimal(text).as_tuple().exponent
    if not isinstance(exponent, int):
        raise KatayoriError(f"{text} is no printed figure")
    half = slack * 10.0**exponent
    return float(text) - half, float(text) + half


def _row(check: str, printed: Any, recomputed: Any, verdict: str, reason: str) -> Row:
    return {
        "check": check,
        "printed": str(printed),
        "recomputed": str(recomputed),
        "verdict": verdict,
        "reason": reason,
    }


def _verdict(holds: bool) -> str:
    return CONSISTENT if holds else NOT


def _span(ends: Sequence[float]) -> str:
    low, high = (f"{x:.0f}" if abs(x) >= 1000 else f"{x:.4g}" for x in (min(ends), max(ends)))
    return low if low == high else f"{low} to {high}"


def _compared(
    check: str, printed: Printed, ends: Sequence[float], reason: str, slack: float = 0.5
) -> Row:
    """The row of a figure that was recomputed as a range: consistent where the ranges meet."""
    low, high = printed_range(printed, slack)
    meet = min(ends) <= high + MARGIN and max(ends) >= low - MARGIN
    return _row(check, printed, _span(ends), _verdict(meet), reason)


def _counts(percentage: Printed, n: int, slack: float = 0.5) -> range:
    """The whole numbers of n that print as this percentage."""
    low, high = (end * n / 100 for end in printed_range(percentage, slack))
    return range(max(0, math.ceil(low - MARGIN)), min(n, math.floor(high + MARGIN)) + 1)


# -- tests -----------------------------------------------------------------------------------------


def tail_area(
    p: Printed, statistic: Printed, distribution: str, df: Sequence[int] = (), times: float = 1
) -> Row:
    """p from a test statistic: `chi2` and `f` upper tail, `t` and `z` both; `times` is a multiplier
    such as Holm's.

    >>> tail_area("0.0245", "17.593", "chi2", [8])["verdict"]
    'consistent'
    """
    expect(distribution, LAWS, "distribution")
    law = LAWS[distribution]
    factor = times * (2 if distribution in ("t", "z") else 1)
    ends = [factor * float(law.sf(abs(end), *df)) for end in printed_range(statistic)]
    reason = f"{distribution}({', '.join(map(str, df))}) = {statistic}"
    if times != 1:
        reason += f", times {times:g}"
    return _compared("tail area", p, ends, reason)


def significance(
    significant: str, other: Printed, estimate: Printed, p: Printed, level: float = 0.05
) -> Row:
    """Is an estimate significant ("yes" or "no") by the standard error that another estimate and
    its p imply?

    >>> significance("no", "0.259", "-0.385", "0.0167")["recomputed"]
    'p 0.1061 to 0.1087'
    """
    errors = [
        abs(b) / stats.norm.isf(q / 2) for b in printed_range(estimate) for q in printed_range(p)
    ]
    ends = [
        2 * float(stats.norm.sf(abs(b) / error)) for b in printed_range(other) for error in errors
    ]
    if max(ends) < level:
        verdict = _verdict(significant == "yes")
    elif min(ends) >= level:
        verdict = _verdict(significant == "no")
    else:
        verdict = CANNOT
    reason = f"standard error {_span(errors)}, taken for alike"
    printed = f"significant: {significant}"
    return _row("standard error from p", printed, f"p {_span(ends)}", verdict, reason)


def correlation_p(p: Printed, r: Printed, n: int, most: int = 100) -> Row:
    """p of a Pearson correlation of n pairs; the reason names every n up to `most` that gives the
    printed p.

    >>> correlation_p("0.064", "0.576", 9)["reason"]
    'r = 0.576, n = 9; n that fit: 11'
    """

    def ends(n: int) -> list[float]:
        statistics = [abs(x) * math.sqrt((n - 2) / (1 - x * x)) for x in printed_range(r)]
        return [2 * float(stats.t.sf(t, n - 2)) for t in statistics]

    low, high = printed_range(p)
    fit = [m for m in range(3, most + 1) if min(ends(m)) <= high and max(ends(m)) >= low]
    sizes = ", ".join(map(str, fit)) or "none"
    if len(fit) > 3:
        sizes = f"{fit[0]} to {fit[-1]}"
    return _compared("p of a correlation", p, ends(n), f"r = {r}, n = {n}; n that fit: {sizes}")


def two_shares(p: Printed, first: Printed, second: Printed, n: int, test: str = "chi2") -> Row:
    """p of two percentages of n each: `chi2` (without correction) or `fisher`, over the counts that
    print so.

    >>> two_shares("<0.01", "81.9", "99.1", 216)["verdict"]
    'consistent'
    """
    expect(test, ("chi2", "fisher"), "test")
    ends = []
    for a, b in itertools.product(_counts(first, n), _counts(second, n)):
        table = [[a, n - a], [b, n - b]]
        if test == "chi2":
            ends.append(float(stats.chi2_contingency(table, correction=False)[1]))
        else:
            ends.append(float(stats.fisher_exact(table)[1]))
    return _compared("two shares", p, ends or [math.nan], f"{test}, {first} and {second} % of {n}")


def against_chance(p: Printed, percentage: Printed, n: int, chance: float = 0.5) -> Row:
    """Exact two-sided binomial p of a percentage of n.

    >>> against_chance("<0.05", "48.1", 216)["recomputed"]
    '0.634'
    """
    ends = [float(stats.binomtest(k, n, chance).pvalue) for k in _counts(percentage, n)]
    reason = f"{percentage} % of {n} against {chance:g}"
    return _compared("binomial test", p, ends or [math.nan], reason)


# -- sums, means, bounds ---------------------------------------------------------------------------


def _sums(parts: Figures, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Weighted sums of figures, one a row of weights, and how far rounding may move them."""
    table = np.atleast_2d(np.ones(len(parts)) if weights is None else np.asarray(weights, float))
    ends = np.array([printed_range(part) for part in parts], float)
    return table @ ends.mean(axis=1), np.abs(table) @ np.ptp(ends, axis=1) / 2


def total(printed: Printed, parts: Figures, weights: Weights = None) -> Row:
    """A sum of figures, each times its weight (1 by default; -1 takes a difference).

    >>> total("9.24", ["165.64", "156.40"], [1, -1])["recomputed"]
    '9.23 to 9.25'
    """
    (middle,), (half,) = _sums(parts, weights)
    return _compared("total", printed, [middle - half, middle + half], f"sum of {len(parts)} parts")


def weighted_mean(
    printed: Printed, parts: Figures, weights: Weights = None, scale: float = 1
) -> Row:
    """A mean of figures with known weights (equal by default), times `scale`.

    >>> weighted_mean("55", [70, 40])["verdict"]
    'consistent'
    """
    shares = np.ones(len(parts)) if weights is None else np.asarray(weights, float)
    row = total(printed, parts, scale * shares / shares.sum())
    kind = "weighted" if np.ptp(shares) else "unweighted"
    return row | {"check": "weighted mean", "reason": f"{kind} mean of {len(parts)} parts"}


def any_weighted_mean(
    totals: Sequence[float], parts: Sequence[Sequence[float]], half: float = 0.05
) -> Row:
    """Is there one set of weights that makes every total the mean of its parts?

    Recomputed is the smallest possible largest miss.

    Args:
        totals: one figure a column.
        parts: the same columns of every part.
        half: rounding of a figure.

    >>> any_weighted_mean([5.0, 5.0], [[0.0, 10.0], [10.0, 0.0]])["verdict"]
    'consistent'
    """
    table = np.array(parts, float).T
    goal = np.array(totals, float)
    n_parts = table.shape[1]
    ones = np.ones((len(goal), 1))
    # Unknowns: the weights and the largest miss, which is made small.
    best = optimize.linprog(
        [0] * n_parts + [1],
        A_ub=np.block([[table, -ones], [-table, -ones]]),
        b_ub=np.concatenate([goal, -goal]),
        A_eq=[[1] * n_parts + [0]],
        b_eq=[1],
    )
    return _row(
        "any weighted mean",
        f"{len(goal)} figures",
        f"off by {best.fun:.2g}",
        _verdict(best.fun <= 2 * half + MARGIN),
        f"best weights of {n_parts} parts over {len(goal)} columns; {2 * half:g} is rounding",
    )


def bounded(parts: Figures, weights: Weights = None, low: Any = -np.inf, high: Any = np.inf) -> Row:
    """Do weighted sums of figures keep within bounds?

    Several rows of weights are several sums, each with its bounds.

    >>> # |difference| <= 100 - accuracy
    >>> bounded(["0.2", "99.9"], [[1, 1], [-1, 1]], high=100)["verdict"]
    'consistent'
    """
    middle, half = _sums(parts, weights)
    lows = np.broadcast_to(np.asarray(low, float), middle.shape)
    highs = np.broadcast_to(np.asarray(high, float), middle.shape)
    inside = (middle + half >= lows - MARGIN) & (middle - half <= highs + MARGIN)
    within = "; ".join(sorted({f"{a:g} to {b:g}" for a, b in zip(lows, highs, strict=True)}))
    return _row(
        "bounds",
        ", ".join(map(str, parts)),
        ", ".join(f"{m:.4g}" for m in middle),
        _verdict(bool(inside.all())),
        f"must lie in {within}",
    )


def ordered(higher: Any, lower: Any, strict: bool = True) -> Row:
    """Are all of the first figures higher than (not `strict`: or as high as) all of the second, as
    printed?

    >>> ordered([68.4], [68.4])["verdict"]
    'not consistent'
    """
    least = np.min(np.asarray(higher, float))
    most = np.max(np.asarray(lower, float))
    holds = bool(least > most or (least == most and not strict))
    return _row(
        "order",
        f"{least:g}, {most:g}",
        f"{least - most:+.3g}",
        _verdict(holds),
        "the first should be higher",
    )


# -- counts ----------------------------------------------------------------------------------------


def grim(percentage: Printed, n: int, slack: float = 0.5) -> Row:
    """Is a percentage attainable as a whole count of n answers (the GRIM test)?

    Where n is so large that every printed percentage is attainable, nothing can be told. `slack` is
    how far the value may lie from the printed one, in units of its last digit (.5: rounded).

    >>> grim("67.2", 621)["verdict"], grim("67.2", 621, slack=0.6)["recomputed"]
    ('not consistent', '417 of 621')
    """
    counts = _counts(percentage, n, slack)
    low, high = printed_range(percentage, slack)
    if not counts:
        return _row("GRIM", percentage, f"no count of {n}", NOT, f"n = {n}")
    recomputed = f"{_span([counts[0], counts[-1]])} of {n}"
    if 100 / n > high - low:
        return _row("GRIM", percentage, recomputed, CONSISTENT, f"n = {n}")
    return _row("GRIM", percentage, recomputed, CANNOT, "any percentage is attainable")


def smallest_size(n: int, percentages: Figures, step: int = 1, slack: float = 0.5) -> Row:
    """The smallest n (a multiple of `step`) with which all percentages are attainable, against a
    stated one.

    >>> smallest_size(6, [33.3, 50.0, 66.7, 83.3])["verdict"]
    'consistent'
    """
    sizes = (m for m in range(step, 10_001, step) if all(_counts(p, m, slack) for p in percentages))
    smallest = next(sizes, math.nan)
    reason = f"{len(set(percentages))} percentages, multiples of {step}"
    return _row("smallest n", n, smallest, _verdict(smallest == n), reason)


def parts_add_up(
    percentage: Printed, n: int, parts: Figures, sizes: Sequence[int], slack: float = 0.5
) -> Row:
    """Do the counts behind percentages of parts add to the count behind the percentage of all?

    >>> parts_add_up("70.5", 621, ["74.9", "69.8", "71.1"], [207, 189, 225])["recomputed"]
    '447 of 621 = 72.0'
    """
    check = "parts and total"
    whole = _counts(percentage, n, slack)
    each = [_counts(p, m, slack) for p, m in zip(parts, sizes, strict=True)]
    if not whole or not all(each):
        return _row(check, percentage, "no counts", NOT, "a percentage is not attainable")
    low = sum(counts[0] for counts in each)
    high = sum(counts[-1] for counts in each)
    meet = low <= whole[-1] and high >= whole[0]
    recomputed = f"{_span([low, high])} of {n} = {100 * low / n:.1f}"
    reason = (
        f"parts of {', '.join(map(str, sizes))}; printed: {_span([whole[0], whole[-1]])} of {n}"
    )
    return _row(check, percentage, recomputed, _verdict(meet), reason)


def varying_cases(accuracy: Printed, rate: Printed, cases: int, variants: int) -> Row:
    """Can so many of the cases vary, given the accuracy? A steady case is right in all variants or
    in none.

    >>> varying_cases("99.1", "7.4", 27, 8)["verdict"]
    'consistent'
    """

    def possible(right: int, vary: int) -> bool:
        """Whether some number of the other cases, right in all variants, leaves what can vary."""
        steady = range(cases - vary + 1)
        return any(vary <= right - variants * k <= (variants - 1) * vary for k in steady)

    pairs = itertools.product(_counts(accuracy, cases * variants), _counts(rate, cases))
    fit = next(((right, vary) for right, vary in pairs if possible(right, vary)), None)
    return _row(
        "varying cases",
        f"{accuracy}, {rate}",
        f"{fit[0]} right, {fit[1]} vary" if fit else "impossible",
        _verdict(fit is not None),
        f"{cases} cases in {variants} variants",
    )


def tables_that_fit(
    p: Printed, pairs: Sequence[tuple], size: int, groups: int, times: float = 1
) -> Row:
    """Every table of yes-counts that gives the printed p of Kruskal-Wallis and of pairs.

    Args:
        p: of the factor, `times` the raw p.
        pairs: (group, group, p after Holm over all pairs), Conover's t test.
        size, groups: so many groups of one size; few only: (size + 1) ** groups tables are tried.

    >>> pairs = [(0, 2, "0.00148"), (1, 2, "0.000431")]
    >>> tables_that_fit("0.00114", pairs, 45, 3, times=4)["recomputed"]
    '2 tables: 21/23/6, 24/22/39'
    """
    counts = np.indices((size + 1,) * groups).reshape(groups, -1).T
    n = size * groups
    share = counts / size
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = share.mean(axis=1, keepdims=True)
        # Of 0/1 answers H is (N - 1) / N times Pearson's chi-square, and ranks are as good as the
        # answers themselves.
        h = (n - 1) / n * (size * (share - mean) ** 2 / (mean * (1 - mean))).sum(axis=1)
        error = np.sqrt(size * (share * (1 - share)).sum(axis=1) / (n - groups) * 2 / size)
        combinations = list(itertools.combinations(range(groups), 2))
        t = np.stack([np.abs(share[:, a] - share[:, b]) / error for a, b in combinations], axis=1)
    adjusted = holm(2 * stats.t.sf(t, n - groups))
    compared = [(times * stats.chi2.sf(h, groups - 1), p)]
    compared += [(adjusted[:, combinations.index((a, b))], q) for a, b, q in pairs]
    fit = np.ones(len(counts), bool)
    for recomputed, printed in compared:
        low, high = printed_range(printed)
        fit &= (low <= recomputed) & (recomputed <= high)
    shown = ", ".join("/".join(map(str, row)) for row in counts[fit][:4])
    return _row(
        "count reconstruction",
        f"{p} and {len(pairs)} pairs",
        f"{fit.sum()} tables: {shown}",
        _verdict(bool(fit.any())),
        f"{len(counts):,} tables of {groups} groups of {size} tried",
    )


def rank_test_of_counts(h: Printed, counts: str, size: int) -> Row:
    """Kruskal-Wallis H of yes-counts, "9|12|6", in groups of one size.

    >>> rank_test_of_counts("17.593", "9|9|9|11|12|13|15|10|6", 15)["verdict"]
    'consistent'
    """
    yes = np.array(counts.split("|"), int)[:, None]
    answers = pd.DataFrame({"yes": (np.arange(size) < yes).ravel().astype(float)})
    answers["group"] = np.arange(len(answers)) // size
    found = kruskal(answers, value="yes", level="group")
    reason = f"{counts} yes in groups of {size}"
    return _compared("H of counts", h, found["value"].tolist(), reason)


# -- what print leaves open ------------------------------------------------------------------------


def variance_range(variance: Printed, known: Sequence[float], n: int, ddof: int = 1) -> Row:
    """Is the variance of n scores in percent (as shares) possible when only some of them are
    printed?

    >>> variance_range("0.0278", [81.9, 99.1, 98.1, 48.1, 95.8], 9)["verdict"]
    'cannot be checked'
    """
    scores = np.asarray(known, float) / 100
    n_open = n - len(known)
    lowest = ((scores - scores.mean()) ** 2).sum() / (n - ddof)
    # The largest variance has every other score at 0 or at 1.
    extremes = [
        np.var([*scores, *[1] * k, *[0] * (n_open - k)], ddof=ddof) for k in range(n_open + 1)
    ]
    reason = f"{n_open} of {n} scores are not printed, ddof {ddof}"
    row = _compared("variance", variance, [lowest, *extremes], reason)
    if n_open and row["verdict"] == CONSISTENT:
        row["verdict"] = CANNOT
    return row


def rho_without_ties(rho: Printed, n: int) -> Row:
    """Is a rank correlation possible for n pairs without ties? 1 - 6 D / (n^3 - n) with D even.

    >>> rho_without_ties("0.160", 9)["verdict"]
    'not consistent'
    """
    values = 1 - 6 * np.arange(0, (n**3 - n) // 3 + 1, 2) / (n**3 - n)
    nearest = float(values[np.abs(values - float(rho)).argmin()])
    return _compared("rank correlation", rho, [nearest], f"nearest value of {n} pairs without ties")


def not_printed(values: Sequence[Any], reason: str) -> Row:
    """What the print does not give, or gives in words with more than one reading; None and NaN were
    not printed.

    >>> not_printed([0.638, None], "only in a figure")["recomputed"]
    '1 of 2 printed'
    """
    n_printed = int(pd.notna(pd.Series(values, dtype=object)).sum())
    verdict = CONSISTENT if values and n_printed == len(values) else CANNOT
    recomputed = f"{n_printed} of {len(values)} printed"
    return _row("printed at all", f"{n_printed} figures", recomputed, verdict, reason)


# -- many checks at once ---------------------------------------------------------------------------


def audit_checks() -> list[dict[str, Any]]:
    """The checks of data/published/audit.yaml, as `audit_table` runs them."""
    return files.ours("published/audit.yaml")["checks"]


def audit_table(
    checks: Sequence[dict[str, Any]], load: Callable[[str, str], pd.DataFrame]
) -> pd.DataFrame:
    """Runs checks that are written as data, such as data/published/audit.yaml.

    Args:
        checks: id, paper, locator, what, check (a function of this module), `with` (its arguments),
            and optionally text and `each`: {from:, where:, by:}, a table; the check is then run on
            every row of it, or on every group of rows, and told as one. An argument may be a figure
            of a table: {from: paper/table, column:, where: {column: value or values}, match:
            {column: column of the row at hand}, map: {value: other}, exact: true for counts, many:
            true for a list, also of one}; without `from` it is taken from the rows at hand.
        load: (paper, table) -> frame, such as `paper_facts.printed`.

    Returns id, paper, locator, what, check, printed, recomputed, verdict, reason, text.

    Example:
        >>> check = {"id": "1", "check": "grim", "with": {"percentage": "33.3", "n": 3}}
        >>> audit_table([check], load=lambda paper, table: pd.DataFrame())["verdict"].tolist()
        ['consistent']
    """
    rows = []
    for spec in checks:
        check = globals()[spec["check"]]
        results = []
        for here in _rows_at_hand(spec.get("each"), load):
            arguments = {name: _figure(value, here, load) for name, value in spec["with"].items()}
            results.append(check(**arguments))
        stated = {
            name: value for name, value in spec.items() if name not in ("check", "with", "each")
        }
        rows.append({"text": ""} | stated | _together(results))
    columns = ["id", "paper", "locator", "what", "check", "printed", "recomputed", "verdict"]
    return pd.DataFrame(rows, columns=[*columns, "reason", "text"])


def _rows_at_hand(
    each: dict[str, Any] | None, load: Callable[[str, str], pd.DataFrame]
) -> list[pd.DataFrame]:
    """What a check is run on: every row, or every group of rows, of a table; nothing without."""
    if not each:
        return [pd.DataFrame()]
    paper, table = each["from"].split("/")
    frame = _where(load(paper, table), each.get("where", {}))
    return [one for _, one in frame.groupby(each.get("by", frame.index), sort=False)]


def _where(frame: pd.DataFrame, where: dict[str, Any]) -> pd.DataFrame:
    for column, value in where.items():
        frame = frame[frame[column].isin(value if isinstance(value, list) else [value])]
    return frame


def _figure(value: Any, here: pd.DataFrame, load: Callable[[str, str], pd.DataFrame]) -> Any:
    """An argument as it is, or the figure or figures it points at."""
    if isinstance(value, list):
        return [_figure(one, here, load) for one in value]
    if not isinstance(value, dict):
        return value
    frame = load(*value["from"].split("/")) if "from" in value else here
    where = dict(value.get("where", {}))
    for column, column_here in value.get("match", {}).items():
        where[column] = here[column_here].iloc[0]
    frame = _where(frame, where)
    if frame.empty:
        raise KatayoriError(f"no printed figure fits {value}")
    figures: list[Any] = frame[value["column"]].to_numpy().tolist()
    if "map" in value:
        figures = [value["map"][figure] for figure in figures]
    if value.get("exact"):
        figures = [int(figure) for figure in figures]
    return figures if value.get("many") or len(figures) > 1 else figures[0]


def _together(rows: list[Row]) -> Row:
    """One row of many of the same check: the worst verdict, how many are consistent, and the others
    named."""
    if len(rows) == 1:
        return rows[0]
    others = [row for row in rows if row["verdict"] != CONSISTENT]
    verdict = CONSISTENT
    if others:
        verdict = NOT if any(row["verdict"] == NOT for row in others) else CANNOT
    named = [f"{row['printed']} ({row['recomputed']})" for row in others[:3]]
    if len(others) > 3:
        named.append("…")
    return rows[0] | {
        "printed": f"{len(rows)} times",
        "recomputed": f"{len(rows) - len(others)} of {len(rows)} consistent",
        "verdict": verdict,
        "reason": "; ".join(named) or rows[0]["reason"],
    }
