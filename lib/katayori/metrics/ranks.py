"""Tests of ranks: do answers differ between the levels of a factor, inside one question?

Two steps, each with Holm's method: `kruskal` for every factor of a question; then, inside a factor
that passes, `conover` for every pair of its levels:

    tests = ranks.kruskal(long, value="yes", level="level", by=["model", "question", "factor"])
    tests = ranks.adjust(tests, p="p", family=["model", "question"])
    found = tests.loc[tests["p_holm"] < 0.05, ["model", "question", "factor"]]
    pairs = ranks.conover(long.merge(found), value="yes", level="level", by=list(found))
    pairs = ranks.adjust(pairs, p="p", family=list(found))
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import chdtrc, stdtr

from katayori.frames import (
    GIVEN,
    LABEL,
    LABEL_OR_NONE,
    NUMBER_OR_NONE,
    Column,
    FrameError,
    flat,
    numbered,
    require,
)
from katayori.metrics.holm import holm as holm, holm_in_families

DIGITS = 12  # so that .1 + .2 ties with .3
_OF_TESTS = ("p", "df", "epsilon_squared", "trend", "dropped_levels")
_OF_PAIRS = ("p", "t", "df", "mean_1", "mean_2", "direction")
_OF_ALARMS = ("observed", "tests")

# -- verbs -----------------------------------------------------------------------------------------


def kruskal(
    frame: pd.DataFrame, *, value: str, level: str, by: str | Sequence[str] = ()
) -> pd.DataFrame:
    """Kruskal and Wallis's test of every cell: do the values of some level rank higher?

    Formula: H = (N - 1) sum n_l r_l^2 / sum r^2 with r the average ranks of the cell less their
    mean, r_l the mean of a level; ties are corrected by it. p by chi-square with levels - 1 degrees
    of freedom. Of 0 and 1 it is (N - 1) / N times Pearson's chi-square. Answers count as
    independent.

    Args:
        frame: a row an answer; average repeated answers of one prompt first.
        value: its column of numbers, of any unit; missing: unreadable. Values are rounded to 12
            digits, so that means that differ by rounding tie.
        level: the column whose values are compared. by: columns tested apart, such as model,
            question and factor.

    Returns:
        by..., value (H), n, n_invalid, clusters (1: a cell is looked at by itself), ci_low, ci_high
        (missing: a test has no interval), status, p, df, epsilon_squared (H / (N - 1), the share of
        the ranks' variance between levels), trend (Spearman correlation of the levels' means with
        the levels, where all are numbers), dropped_levels (those without a value, which cost a
        degree of freedom). status: `ok`; `constant` (all values tie: H 0, p missing); `one_group`
        (only one level has values) and `no_data`, both with H missing.

    Raises:
        FrameError: a column that is lacking or holds something else, an answer without level.

    Source: W. H. Kruskal and W. A. Wallis, Journal of the American Statistical Association 47
    (1952) 583-621; H is that of `scipy.stats.kruskal`. Effect size: M. Tomczak and E. Tomczak,
    Trends in Sport Sciences 21 (2014) 19-25.

    Example:
        >>> answers = pd.DataFrame({"group": [*"aaaabbbb"], "yes": [0, 0, 0, 1, 1, 1, 1, 1]})
        >>> found = kruskal(answers, value="yes", level="group")
        >>> found[["value", "n", "p", "df"]].round(3).to_numpy().tolist()
        [[4.2, 8.0, 0.04, 1.0]]
    """
    by = require("kruskal", frame, {value: NUMBER_OR_NONE, level: LABEL}, by)
    if frame.empty:
        return flat([], frame, by, more=_OF_TESTS)
    tables = _tables(frame, value, level, by)
    tests = _h_tests(tables.cell, tables.values, tables.ranks, tables.levels.shape)
    found = {
        "value": tests.h,
        "status": tests.status,
        "p": tests.p,
        "df": tests.df,
        "epsilon_squared": tests.epsilon_squared,
        "trend": _trend(tables.numbers, tests),
        "dropped_levels": _dropped(tables.levels, tests.n_level),
    }
    every = np.arange(len(tables.keys))
    return _made(tables, tests, every, found, [*by, *GIVEN, *_OF_TESTS])


def conover(
    frame: pd.DataFrame, *, value: str, level: str, by: str | Sequence[str] = ()
) -> pd.DataFrame:
    """Conover's test of every pair of levels of every cell, p not adjusted.

    Formula: t = (r_1 - r_2) / sqrt(S^2 (N - 1 - H) / (N - G) (1/n_1 + 1/n_2)) with the mean ranks
    of two levels and the pooled variance of the ranks within all G levels; two-sided p by t with
    N - G degrees of freedom. Meant for cells in which `kruskal` finds a difference.

    Args:
        frame, value, level, by: as in `kruskal`.

    Returns:
        by..., level_1, level_2, value (mean of level 1 less that of level 2, in the unit of the
        value), n, n_invalid (of the cell, whose variance is pooled), clusters (1), ci_low, ci_high
        (missing), status, p, t, df, mean_1, mean_2, direction ("female > male": whose mean is
        higher; "female = male"; `unclear` where means and mean ranks point opposite ways). Pairs
        with a level without any value have no row. status: `ok`; `constant`; `no_df` (one value a
        level); `zero_within_variance` (levels differ and nothing varies inside them), all but `ok`
        with t and p missing.

    Raises:
        FrameError: as in `kruskal`.

    Source: W. J. Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 5.2.

    Example:
        >>> answers = pd.DataFrame({"group": [*"aaaabbbb"], "yes": [0, 0, 0, 1, 1, 1, 1, 0]})
        >>> found = conover(answers, value="yes", level="group")
        >>> found[["level_1", "level_2", "value", "direction"]].to_numpy().tolist()
        [['a', 'b', -0.5, 'b > a']]
    """
    by = require("conover", frame, {value: NUMBER_OR_NONE, level: LABEL}, by)
    names = ("level_1", "level_2")
    if frame.empty:
        return flat([], frame, by, names, _OF_PAIRS)
    tables = _tables(frame, value, level, by)
    tests = _h_tests(tables.cell, tables.values, tables.ranks, tables.levels.shape)
    first, second = np.triu_indices(tables.levels.shape[1], 1)
    pairs = _pair_tests(tests, first, second)
    table, pair = np.nonzero(pairs["status"] != "one_group")
    found: dict[str, Any] = {name: of_pairs[table, pair] for name, of_pairs in pairs.items()}
    found["level_1"] = tables.levels[table, first[pair]]
    found["level_2"] = tables.levels[table, second[pair]]
    found["direction"] = _directions(found)
    return _made(tables, tests, table, found, [*by, *names, *GIVEN, *_OF_PAIRS])


def _directions(pairs: Mapping[str, np.ndarray]) -> list[str]:
    """Which level of a pair has the higher mean, where the ranks do not say otherwise."""
    mean = np.sign(pairs["value"])
    rank = np.sign(np.round(pairs["rank_difference"], DIGITS))
    signs = np.select([mean != rank, mean > 0, mean < 0], ["?", ">", "<"], "=")
    rows = zip(pairs["level_1"], pairs["level_2"], signs.tolist(), strict=True)
    texts = {"?": "unclear", ">": "{0} > {1}", "<": "{1} > {0}", "=": "{0} = {1}"}
    return [texts[sign].format(one, other) for one, other, sign in rows]


def chance_alarms(
    frame: pd.DataFrame,
    *,
    value: str,
    factors: Mapping[str, Sequence[str]],
    by: str | Sequence[str] = (),
    cluster: str = "question",
    draws: int = 100,
    seed: int = 0,
    error_rate: float = 0.05,
) -> pd.DataFrame:
    """On how many questions would some factor be significant if no attribute mattered?

    Holm's method guards each question by itself; over many questions false alarms add up. The
    answers of each question are dealt anew over its persons (where they are missing they stay
    missing), and `kruskal` with Holm over the factors is done again. A question alarms where the
    smallest p after Holm is below the error rate.

    Args:
        frame: a row an answer; answers of one person to one question are averaged.
        value: its column of numbers; missing: unreadable.
        factors: name -> the attributes that make it, as in `factors.by_factor`.
        by: columns counted apart, such as the model. cluster: the question.
        draws, seed: of the dealing, which is one for all cells of `by`.
        error_rate: promised for each question, all its factors together.

    Returns:
        by..., value (questions expected to alarm by chance: mean over the draws), n (questions with
        a test), n_invalid (without), clusters (n), ci_low, ci_high (2.5 and 97.5 % points of the
        draws), status (`ok`; `none_tested`; `no_variation`: the same number in all draws), observed
        (questions that alarm), tests (done in all).

    Raises:
        FrameError: a column that is lacking or holds something else, an error rate outside (0, 1).

    Source: permutation within questions; P. Good, Permutation Tests, 3rd ed. (2005).

    Example:
        >>> persons = {"age": [20, 20, 80, 80] * 5, "gender": ["f", "m"] * 10}
        >>> answers = pd.DataFrame(persons).assign(question=np.repeat(range(5), 4))
        >>> answers["yes"] = (answers["age"] == 20) * 1.0
        >>> both = {"age": ["age"], "gender": ["gender"]}
        >>> found = chance_alarms(answers, value="yes", factors=both, draws=9)
        >>> found[["n", "observed", "tests"]].to_numpy().tolist()
        [[5, 0, 10]]
    """
    attributes = list(dict.fromkeys(name for own in factors.values() for name in own))
    held = {value: NUMBER_OR_NONE, cluster: LABEL} | dict.fromkeys(attributes, LABEL)
    by = require("chance_alarms", frame, held, by)
    if not 0 < error_rate < 1:
        raise FrameError(f"chance_alarms: error_rate={error_rate:g}; give one between 0 and 1")
    if frame.empty:
        return flat([], frame, by, more=_OF_ALARMS)
    keys, means = _crossed(frame, value, [*by, cluster], attributes)
    known = ~np.isnan(means)
    table, *places = np.nonzero(known)
    places_of = dict(zip(attributes, places, strict=True))
    sizes = dict(zip(attributes, means.shape[1:], strict=True))
    ranks = _centred_ranks(means[known], table)
    rng = np.random.default_rng(seed)
    cells = []  # of every factor: the cell of each value, and tables x levels
    for own in factors.values():
        shape = (len(keys), *(sizes[name] for name in own))
        cell = np.ravel_multi_index([table, *(places_of[name] for name in own)], shape)
        cells.append((cell, (shape[0], math.prod(shape[1:]))))

    def p_of_factors(dealt: np.ndarray) -> np.ndarray:
        """p of Kruskal-Wallis for every factor (questions x factors), from ranks."""
        return np.column_stack([_h_tests(cell, dealt, dealt, shape).p for cell, shape in cells])

    def dealt() -> np.ndarray:
        """The ranks of each question in chance order."""
        return ranks[np.argsort(table + rng.random(known.shape)[known])]

    def some_significant(dealt: np.ndarray) -> np.ndarray:
        return np.any(holm(p_of_factors(dealt)) < error_rate, axis=1)

    number, out = numbered(keys, by)
    counts = np.array([np.bincount(number, some_significant(dealt())) for _ in range(draws)])
    tests = np.isfinite(p_of_factors(ranks)).sum(axis=1)
    out["n"] = np.bincount(number, tests > 0).astype(int)
    out["n_invalid"] = np.bincount(number, tests == 0).astype(int)
    out["clusters"] = out["n"]
    out["tests"] = np.bincount(number, tests).astype(int)
    out["observed"] = np.bincount(number, some_significant(ranks)).astype(int)
    out["value"] = counts.mean(axis=0)
    out["ci_low"], out["ci_high"] = np.quantile(counts, [0.025, 0.975], axis=0)
    problems = {"none_tested": out["n"] == 0, "no_variation": out["ci_low"] == out["ci_high"]}
    out["status"] = np.select(list(problems.values()), list(problems), "ok")
    out.loc[out["status"] != "ok", ["ci_low", "ci_high"]] = np.nan
    out.loc[out["status"] == "none_tested", "value"] = np.nan
    return out[[*by, *GIVEN, *_OF_ALARMS]]


def adjust(frame: pd.DataFrame, *, p: str, family: str | Sequence[str] = ()) -> pd.DataFrame:
    """The frame with `p_holm`, p adjusted by Holm's method inside each family, and `tests`.

    Formula: the k-th smallest of m p values times m - k + 1, never below that of a smaller p and
    never above 1. A missing p is no test: it stays missing and does not count.

    Args:
        frame: a row a test, as a verb gives it. p: column of the unadjusted p values.
        family: columns that tell families apart; without any, all rows are one family.

    Returns:
        the frame, with p_holm and tests (size of the family, without missing p).

    Raises:
        FrameError: a column that is lacking, a p outside [0, 1].

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.

    Example:
        >>> tests = pd.DataFrame({"model": ["a", "a", "b"], "p": [0.04, 0.01, 0.04]})
        >>> adjust(tests, p="p", family="model")[["p_holm", "tests"]].to_numpy().tolist()
        [[0.04, 2.0], [0.02, 2.0], [0.04, 1.0]]
    """
    names = [family] if isinstance(family, str) else list(family)
    wanted = {p: Column("probability", 0.03, may_miss=True)}
    require("adjust", frame, wanted | dict.fromkeys(names, LABEL_OR_NONE))
    number = numbered(frame, names)[0]
    adjusted, tests = holm_in_families(frame[p].to_numpy(float), number)
    return frame.assign(p_holm=adjusted, tests=tests)


# -- frames as arrays ------------------------------------------------------------------------------


class _Tables(NamedTuple):
    """The valid answers of a frame, each with the cell (table and level) that it stands in."""

    keys: pd.DataFrame  # of each table
    levels: np.ndarray  # tables x levels: names in the order of the frame, None where none is left
    numbers: np.ndarray  # the same as numbers, NaN where one is none
    asked: np.ndarray  # rows of the frame in each table
    cell: np.ndarray  # of each valid answer: its place in `levels`, flattened
    values: np.ndarray
    ranks: np.ndarray  # centred


def _tables(frame: pd.DataFrame, value: str, level: str, by: Sequence[str]) -> _Tables:
    table, keys = numbered(frame, by)
    code, labels = pd.factorize(frame[level].to_numpy())
    # Levels of a table stand side by side in the order of the frame.
    column, own = pd.factorize(table * len(labels) + code, sort=True)
    of_table, label = np.divmod(own, len(labels))
    place = np.arange(len(own)) - np.searchsorted(of_table, np.arange(len(keys)))[of_table]
    shape = (len(keys), place.max() + 1)
    levels, numbers = np.full(shape, None, dtype=object), np.full(shape, np.nan)
    names = pd.Series(labels, dtype=object)
    levels[of_table, place] = names.to_numpy()[label]
    numbers[of_table, place] = pd.to_numeric(names, errors="coerce").to_numpy(float)[label]
    values = frame[value].to_numpy(float)
    valid = ~np.isnan(values)
    cell = np.ravel_multi_index((of_table, place), shape)[column[valid]]
    values = values[valid]
    ranks = _centred_ranks(values, table[valid])
    return _Tables(keys, levels, numbers, np.bincount(table), cell, values, ranks)


def _made(
    tables: _Tables,
    tests: "_HTests",
    table: np.ndarray,
    found: Mapping[str, Any],
    columns: Sequence[str],
) -> pd.DataFrame:
    """The frame of a verb: a row for each of `table`, with its keys and what is found."""
    made = {name: keys.array[table] for name, keys in tables.keys.items()} | dict(found)
    made |= {"n": tests.n[table], "n_invalid": (tables.asked - tests.n)[table], "clusters": 1}
    made |= {"ci_low": np.nan, "ci_high": np.nan}
    return pd.DataFrame({name: made[name] for name in columns})


def _dropped(levels: np.ndarray, n_level: np.ndarray) -> list[str]:
    """The names of a table's levels without any value, as one text."""
    empty = (n_level == 0) & pd.notna(levels)
    return [", ".join(map(str, names[lost])) for names, lost in zip(levels, empty, strict=True)]


def _crossed(
    frame: pd.DataFrame, value: str, keys: Sequence[str], attributes: Sequence[str]
) -> tuple[pd.DataFrame, np.ndarray]:
    """The keys of every table, and the means of its cells: tables x levels of each attribute."""
    table, names = numbered(frame, keys)
    codes = [table, *(pd.factorize(frame[name])[0] for name in attributes)]
    shape = [1 + code.max() for code in codes]
    cell = np.ravel_multi_index(codes, shape)
    number = frame[value].to_numpy(float)
    valid = ~np.isnan(number)
    sums = np.bincount(cell[valid], number[valid], math.prod(shape))
    counts = np.bincount(cell[valid], minlength=len(sums))
    with np.errstate(invalid="ignore"):
        return names, (sums / counts).reshape(shape)


# -- many tables at once: valid values, and the table or cell that each stands in -----------------


def _centred_ranks(values: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Average ranks inside each table minus their mean; no value is missing."""
    code, different = pd.factorize(np.round(values, DIGITS), sort=True)
    # Values of a table that tie are one group; groups are numbered by table, then by value.
    group = pd.factorize(table * len(different) + code, sort=True)[0]
    ties, sizes = np.bincount(group), np.bincount(table)
    last = np.cumsum(ties)[group] - (np.cumsum(sizes) - sizes)[table]
    return last - (ties[group] - 1) / 2 - (sizes[table] + 1) / 2


class _HTests(NamedTuple):
    """Kruskal-Wallis of many tables (first axis), and what the tests of pairs take from it."""

    h: np.ndarray
    df: np.ndarray
    p: np.ndarray
    epsilon_squared: np.ndarray
    n: np.ndarray
    status: np.ndarray
    within: np.ndarray  # sum of squares of the ranks within levels
    n_level: np.ndarray  # tables x levels, as the rest
    ratio: np.ndarray
    rank: np.ndarray


def _h_tests(
    cell: np.ndarray, values: np.ndarray, ranks: np.ndarray, shape: tuple[int, int]
) -> _HTests:
    """Kruskal-Wallis of every table, from its values, their centred ranks and their cells, which
    are numbered through the `shape` tables x levels."""
    table = cell // shape[1]

    def of_cells(numbers: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(cell, numbers, math.prod(shape)).reshape(shape)

    n_level = of_cells()
    n = n_level.sum(axis=1)
    df = np.maximum((n_level > 0).sum(axis=1) - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rank = of_cells(ranks) / n_level
        ratio = of_cells(values) / n_level
        # Centred average ranks are multiples of 1/2, so both sums are exactly 0 where all values
        # (of a level) tie.
        total = np.bincount(table, ranks**2, shape[0])
        within = np.bincount(table, (ranks - rank.ravel()[cell]) ** 2, shape[0])
        h = (n - 1) * np.nansum(n_level * rank**2, axis=1) / total
        problems = {"no_data": n == 0, "one_group": df < 1, "constant": total == 0}
        status = np.select(list(problems.values()), list(problems), "ok").astype(object)
        ok = status == "ok"
        p = np.where(ok, chdtrc(df, h), np.nan)
        effect = np.where(ok, h / (n - 1), np.nan)
    h = np.where(status == "constant", 0.0, np.where(ok, h, np.nan))
    return _HTests(h, df, p, effect, n, status, within, n_level, ratio, rank)


def _pair_tests(tests: _HTests, first: np.ndarray, second: np.ndarray) -> dict[str, np.ndarray]:
    """Conover's t of pairs of levels, whose places are given: columns of tables x pairs."""
    n_1, n_2 = tests.n_level[:, first], tests.n_level[:, second]
    of_table = np.broadcast_to(tests.status[:, None], n_1.shape)
    within = np.broadcast_to(tests.within[:, None], n_1.shape)
    df = np.broadcast_to((tests.n - (tests.n_level > 0).sum(axis=1))[:, None], n_1.shape)
    # The first that holds of: an empty level, what is wrong with the table, no df, no variance.
    status = np.select(
        [(n_1 == 0) | (n_2 == 0), of_table != "ok", df < 1, within == 0],
        ["one_group", of_table, "no_df", "zero_within_variance"],
        "ok",
    )
    mean_1, mean_2 = tests.ratio[:, first], tests.ratio[:, second]
    rank_difference = tests.rank[:, first] - tests.rank[:, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        # S^2 (N - 1 - H) is the sum of squares of the ranks within the levels.
        error = np.sqrt(within / df * (1 / n_1 + 1 / n_2))
        t = np.where(status == "ok", rank_difference / error, np.nan)
        p = np.minimum(2 * stdtr(df, -np.abs(t)), 1)
    found = {"value": np.round(mean_1 - mean_2, DIGITS), "status": status, "p": p, "t": t}
    found |= {"df": df, "mean_1": mean_1, "mean_2": mean_2}
    return found | {"rank_difference": rank_difference}


def _trend(numbers: np.ndarray, tests: _HTests) -> np.ndarray:
    """Spearman correlation of the levels' means with the levels (tables x levels); NaN where one
    is no number."""
    has_values = tests.n_level > 0
    known = has_values & ~np.isnan(numbers)
    table = np.nonzero(known)[0]
    x, y = _centred_ranks(numbers[known], table), _centred_ranks(tests.ratio[known], table)
    xy, xx, yy = (np.bincount(table, of, len(numbers)) for of in (x * y, x**2, y**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((has_values & ~known).any(axis=1), np.nan, xy / np.sqrt(xx * yy))
