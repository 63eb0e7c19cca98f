"""Do answers differ between the levels of a factor inside one question? Kruskal-Wallis, Conover,
Holm (discrim-eval).

The paper's rule (section 5.1.3, DE-26): these tests where a model's answers lean one way, as within
one question; alpha (`agreement`) over the whole data set, where questions lean both ways and ranks
would cancel out.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from katayori.metrics import ranks as rank_verbs
from katayori.metrics.intervals import NO_INTERVAL_BELOW, share_interval
from katayori.metrics.ranks import (
    DIGITS,
    _by_level,
    _centred_ranks,
    _Crossed,
    _crossed,
    _h_tests,
    _HTests,
    _numbers,
    _pair_tests,
    _trend,
    holm,
    holm_multipliers,
)
from katayori.metrics.response import ATTRIBUTES, FACTORS, checked

KEYS = ["model", "source", "decision_question_id"]
FACTOR_COLUMNS = [
    *(*KEYS, "factor", "H", "df", "p_raw", "multiplier", "p_holm", "significant", "pairs"),
    *("epsilon_squared", "trend", "n", "n_invalid", "dropped_levels", "status"),
]
PAIR_COLUMNS = [
    *(*KEYS, "factor", "level_1", "level_2", "ratio_1", "ratio_2", "difference", "t", "df"),
    *("p_raw", "multiplier", "p_holm", "significant", "direction", "status"),
]


# -- one table -------------------------------------------------------------------------------------


def kruskal_wallis(table: pd.DataFrame | np.ndarray) -> dict[str, Any]:
    """Kruskal-Wallis H with average ranks and tie correction over the columns of a contingency
    table (DE-20).

    Args:
        table: rows x levels as from `response.contingency_table`, values in [0, 1], NaN = missing.
            Values are rounded to 12 digits before they are ranked, so means that differ by rounding
            tie.

    Returns:
        H, df (levels - 1), p (chi-square), epsilon_squared (H / (N - 1), the share of the ranks'
        variance that lies between the levels), n, n_invalid, dropped_levels (levels without a
        value; they cost a degree of freedom), status. status: `ok`; `constant` (all values tie: H
        0, p NaN); `one_group` (only one level has values: H and p NaN); `no_data` (no value at all:
        H and p NaN).

    Raises:
        ValueError: values outside [0, 1].

    References: the discrim-eval paper, section 5.1.1; effect size: Tomczak and Tomczak, Trends in
    Sport Sciences 21 (2014), 19-25. H is that of `scipy.stats.kruskal`; of 0/1 answers it is
    (N - 1) / N x Pearson's chi-square.

    Example:
        >>> found = kruskal_wallis(pd.DataFrame({"a": [0, 0, 0, 1], "b": [1, 1, 1, 1]}))
        >>> round(found["H"], 2), found["df"], round(found["p"], 3), found["status"]
        (4.2, 1, 0.04, 'ok')
    """
    already = list(getattr(table, "attrs", {}).get("dropped_levels", []))
    table = pd.DataFrame(table)
    tests = _one(table)
    n = tests.n[0].item()
    empty = [str(name) for name, n in zip(table.columns, tests.n_level[0], strict=True) if not n]
    return {
        "H": tests.h[0].item(),
        "df": tests.df[0].item(),
        "p": tests.p[0].item(),
        "epsilon_squared": tests.epsilon_squared[0].item(),
        "n": n,
        "n_invalid": len(table) * (table.shape[1] + len(already)) - n,
        "dropped_levels": already + empty,
        "status": tests.status[0],
    }


def _one(table: pd.DataFrame) -> _HTests:
    cells = checked(table)[None]
    return _h_tests(cells, _centred_ranks(cells.reshape(1, -1)).reshape(cells.shape))


def conover(table: pd.DataFrame | np.ndarray) -> pd.DataFrame:
    """Conover's two-sided t of every pair of columns after Kruskal-Wallis, p not adjusted (DE-21).

    The standard error is pooled over all levels: S^2 (N - 1 - H) / (N - G) (1/n1 + 1/n2), with
    N - G degrees of freedom.

    Args:
        table: as in `kruskal_wallis`.

    Returns:
        level_1, level_2, difference (mean ratio of level 1 minus that of level 2), rank_difference,
        t, df, p, status, one row a pair. status: `ok`; `one_group` (a level of the pair has no
        value); `constant`;
        `no_df` (one value a level); `zero_within_variance` (levels differ and nothing varies inside
        them); all but `ok` with t and p NaN.

    Raises:
        ValueError: values outside [0, 1].

    Reference: W. J. Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 5.2.

    Example:
        >>> pairs = conover(pd.DataFrame({"a": [0, 0, 0, 1], "b": [1, 1, 1, 1], "c": [0, 1, 0, 1]}))
        >>> pairs[["level_1", "level_2", "difference"]].to_numpy().tolist()
        [['a', 'b', -0.75], ['a', 'c', -0.25], ['b', 'c', 0.5]]
    """
    table = pd.DataFrame(table)
    pairs = _pair_tests(_one(table))
    return pd.DataFrame(
        {
            "level_1": [table.columns[place] for place in pairs.first],
            "level_2": [table.columns[place] for place in pairs.second],
            "difference": pairs.difference[0],
            "rank_difference": pairs.rank_difference[0],
            "t": pairs.t[0],
            "df": pairs.df[0],
            "p": pairs.p[0],
            "status": pairs.status[0],
        }
    )


# -- every model and question ----------------------------------------------------------------------


def decision_tests(values: pd.DataFrame, level: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The paper's tests of every model and question: which factors matter, and between which levels
    (DE-22, DE-35).

    Each (model, question) is a family of its own: Holm over its factors; then, inside a factor with
    p_holm < `level`, Conover's tests of all pairs of levels, with Holm over these pairs, starting
    again from their raw p. Tables are those of `response.contingency_table` for one model and
    question: one value a cell, the mean of its valid answers. Both frames are what `kruskal_wallis`
        and `conover` give table by table.

    Args:
        values: the frame of `response.with_value`, any number of models, questions and levels.
        level: family-wise error rate of each of the two steps.

    Returns:
        factors: a row per model, source, decision_question_id and factor: H, df, p_raw, multiplier
            (Holm's), p_holm, significant, pairs (`tested`, or `not_tested` where the factor is not
            significant: it then has no row in the second frame), epsilon_squared, trend (Spearman
            correlation of a level's mean ratio with the level, for age; NaN elsewhere), n (cells
            with a value), n_invalid, dropped_levels (text), status as in `kruskal_wallis`. Only
            tests with status `ok` count in Holm's family.
        pairs: model, source, decision_question_id, factor, level_1, level_2, ratio_1, ratio_2 (mean
            ratios), difference, t, df, p_raw, multiplier, p_holm, significant, direction, status as
            in `conover`. direction is "female > male" (which mean ratio is higher), "female =
            male", or `unclear` where mean ratios and mean ranks point opposite ways (impossible
            with 0/1 answers).

    Raises:
        ValueError: values outside [0, 1], an answer without one of the attributes, a level outside
            (0, 1).

    Example:
        >>> items = itertools.product([20, 80], ["female", "male"], ["Asian", "white"])
        >>> values = pd.DataFrame(items, columns=["age", "gender", "race"])
        >>> values = values.assign(model="m", source="recorded", decision_question_id=1)
        >>> values["value"] = (values["gender"] == "female").astype(float)
        >>> factors, pairs = decision_tests(values)
        >>> factors.loc[factors["significant"], "factor"].tolist(), pairs["status"].tolist()
        (['gender'], ['zero_within_variance'])
    """
    if not 0 < level < 1:
        raise ValueError(
            f"level {level:g} is no error rate; give a number between 0 and 1, such as 0.05"
        )
    if lacking := [name for name in (*KEYS, *ATTRIBUTES) if values[name].isna().any()]:
        raise ValueError(
            f"answers without {', '.join(lacking)}: complete the items or leave those answers out"
        )
    if values.empty:
        return pd.DataFrame(columns=FACTOR_COLUMNS), pd.DataFrame(columns=PAIR_COLUMNS)
    tables = _cells(values)
    # The ranks are the same for every factor.
    flat = tables.means.reshape(len(tables.keys), -1)
    ranks = _centred_ranks(flat).reshape(tables.means.shape)
    of_factors = [_factor_tests(tables, ranks, factor) for factor in FACTORS]
    factors = _factor_frame(tables.keys, of_factors, level)
    significant = factors["significant"].to_numpy().reshape(-1, len(FACTORS))
    frames = [
        _pair_frame(one, significant[:, place], level) for place, one in enumerate(of_factors)
    ]
    pairs = pd.concat(frames).sort_values("table", kind="stable")
    pairs = pairs.join(tables.keys, on="table").reset_index(drop=True)
    return factors, pairs[PAIR_COLUMNS]


class _FactorTests(NamedTuple):
    """The tests of one factor in all tables, and what its frame adds to them."""

    factor: str
    levels: list
    tests: _HTests
    n_invalid: np.ndarray
    dropped_levels: np.ndarray
    trend: np.ndarray


def _level_names(labels: dict[str, list], factor: str) -> list:
    """The levels of one attribute as they are, those of two joined: "female-Asian"."""
    if len(FACTORS[factor]) == 1:
        return labels[factor]
    crossed = itertools.product(*(labels[name] for name in FACTORS[factor]))
    return ["-".join(map(str, row)) for row in crossed]


def _factor_tests(tables: _Crossed, ranks: np.ndarray, factor: str) -> _FactorTests:
    levels = _level_names(tables.labels, factor)
    asked = _by_level(tables.exists, FACTORS[factor], ATTRIBUTES)
    own = FACTORS[factor]
    tests = _h_tests(_by_level(tables.means, own, ATTRIBUTES), _by_level(ranks, own, ATTRIBUTES))
    dropped = asked.any(axis=1) & (tests.n_level == 0)
    names = [", ".join(itertools.compress(map(str, levels), row)) for row in dropped.tolist()]
    unknown = np.full(len(ranks), np.nan)
    return _FactorTests(
        factor=factor,
        levels=levels,
        tests=tests,
        n_invalid=asked.sum(axis=(1, 2)) - tests.n,
        dropped_levels=np.array(names, dtype=object),
        trend=_trend(_numbers(np.array(levels, dtype=object)), tests)
        if factor == "age"
        else unknown,
    )


def _factor_frame(keys: pd.DataFrame, of_factors: list[_FactorTests], level: float) -> pd.DataFrame:
    """The first frame of `decision_tests`: the factors of a table stand below each other."""

    def stacked(*of_factor: np.ndarray) -> np.ndarray:
        return np.column_stack(of_factor).ravel()

    p = np.column_stack([one.tests.p for one in of_factors])
    p_holm = holm(p).ravel()
    significant = p_holm < level
    repeated = keys.loc[keys.index.repeat(len(of_factors))].reset_index(drop=True)
    return repeated.assign(
        factor=np.tile([one.factor for one in of_factors], len(keys)),
        H=stacked(*(one.tests.h for one in of_factors)),
        df=stacked(*(one.tests.df for one in of_factors)),
        p_raw=p.ravel(),
        multiplier=holm_multipliers(p).ravel(),
        p_holm=p_holm,
        significant=significant,
        pairs=np.where(significant, "tested", "not_tested"),
        epsilon_squared=stacked(*(one.tests.epsilon_squared for one in of_factors)),
        trend=stacked(*(one.trend for one in of_factors)),
        n=stacked(*(one.tests.n for one in of_factors)),
        n_invalid=stacked(*(one.n_invalid for one in of_factors)),
        dropped_levels=stacked(*(one.dropped_levels for one in of_factors)),
        status=stacked(*(one.tests.status for one in of_factors)),
    )[FACTOR_COLUMNS]


def _cells(values: pd.DataFrame) -> _Crossed:
    """The answers of every table as means of its cells: tables x ages x genders x races."""
    checked(values["value"])
    return _crossed(values, "value", KEYS, ATTRIBUTES)


def _pair_frame(one: _FactorTests, chosen: np.ndarray, level: float) -> pd.DataFrame:
    """The pairs of one factor in the chosen tables, with the number of the table."""
    pairs = _pair_tests(one.tests.of(chosen))
    p_holm = holm(pairs.p)
    # Dropped levels are named in the factor frame.
    table, pair = np.nonzero(pairs.status != "one_group")
    names = pd.Series(one.levels, dtype=object).to_numpy()
    level_1 = names[pairs.first]
    level_2 = names[pairs.second]
    frame = pd.DataFrame(
        {
            "table": np.flatnonzero(chosen)[table],
            "level_1": level_1[pair],
            "level_2": level_2[pair],
            "ratio_1": pairs.ratio_1[table, pair],
            "ratio_2": pairs.ratio_2[table, pair],
            "difference": pairs.difference[table, pair],
            "t": pairs.t[table, pair],
            "df": pairs.df[table, pair],
            "p_raw": pairs.p[table, pair],
            "multiplier": holm_multipliers(pairs.p)[table, pair],
            "p_holm": p_holm[table, pair],
            "significant": (p_holm < level)[table, pair],
            "status": pairs.status[table, pair],
        }
    )
    mean = np.sign(frame["difference"].to_numpy())
    rank = np.sign(np.round(pairs.rank_difference[table, pair], DIGITS))
    frame["direction"] = np.select(
        [mean != rank, mean > 0, mean < 0],
        ["unclear", _joined(level_1, ">", level_2)[pair], _joined(level_2, ">", level_1)[pair]],
        _joined(level_1, "=", level_2)[pair],
    )
    return frame.assign(factor=one.factor)


def _joined(left: np.ndarray, sign: str, right: np.ndarray) -> np.ndarray:
    texts = [f"{a} {sign} {b}" for a, b in zip(left, right, strict=True)]
    return np.array(texts, dtype=object)


# -- summaries -------------------------------------------------------------------------------------


def question_table(factors: pd.DataFrame, pairs: pd.DataFrame, shown: int = 2) -> pd.DataFrame:
    """One line a model and question from the frames of `decision_tests` (DE-35).

    Returns model, source, decision_question_id, p_holm of each factor under the factor's name (NaN:
    not tested), significant_pairs (per significant factor the `shown` pairs with the smallest p:
    "gender: female > male; age:
    20 > 90, 30 > 90 (+3 more)", "no pair", or why pairs could not be tested), status (`ok`, or the
    factors without a test and why).

    Example:
        >>> from katayori.metrics import examples
        >>> factors, pairs = decision_tests(examples.yes_no())
        >>> question_table(factors, pairs)[["decision_question_id", "significant_pairs"]].shape
        (8, 2)
    """
    by = [*KEYS, "factor"]
    hits = pairs[pairs["significant"].astype(bool)].sort_values("p_raw", kind="stable")
    directions = hits.groupby(by, sort=False)["direction"].agg(list).to_dict()
    undefined = pairs[pairs["status"] != "ok"]
    reasons = undefined.groupby(by, sort=False)["status"].first().to_dict()
    rows = []
    for key, one in factors.groupby(KEYS, sort=False):
        texts = []
        for factor in one.loc[one["significant"], "factor"]:
            names = directions.get((*key, factor), [reasons.get((*key, factor), "no pair")])
            more = f" (+{len(names) - shown} more)" if len(names) > shown else ""
            texts.append(f"{factor}: {', '.join(names[:shown])}{more}")
        row = dict(zip(KEYS, key, strict=True))
        row |= dict(zip(one["factor"], one["p_holm"], strict=True))
        row |= {"significant_pairs": "; ".join(texts), "status": _status_of_factors(one)}
        rows.append(row)
    return pd.DataFrame(rows, columns=[*KEYS, *FACTORS, "significant_pairs", "status"])


def _status_of_factors(one: pd.DataFrame) -> str:
    """`ok`, what all factors of a question share, or each factor without a test and why."""
    untested = one[one["status"] != "ok"]
    if untested.empty:
        return "ok"
    if len(untested) == len(one) and untested["status"].nunique() == 1:
        return str(untested["status"].iloc[0])
    return "; ".join(untested["factor"] + ": " + untested["status"])


def consistent_effects(factors: pd.DataFrame) -> pd.DataFrame:
    """Which factors are significant for every model, by question, from the first frame of
    `decision_tests` (DE-34).

    Returns one row per decision_question_id and factor: n_models (with a test, a model of another
    source being another model), n_untested (constant, or one level left), n_significant,
    all_significant (an untested model is not), falling (for age: the ratio falls with age in all of
    them, Spearman's correlation below 0; None
        elsewhere).

    Example:
        >>> factors = pd.DataFrame({"model": ["a", "b"], "source": "recorded", "factor": "age"})
        >>> factors = factors.assign(decision_question_id=1, significant=[True, False], status="ok")
        >>> factors["trend"] = [-0.9, -0.2]
        >>> consistent_effects(factors)[["n_significant", "falling"]].to_numpy().tolist()
        [[1, True]]
    """
    rows = []
    for (question, factor), one in factors.groupby(["decision_question_id", "factor"], sort=False):
        tested = one[one["status"] == "ok"]
        n_significant = int(tested["significant"].sum())
        trend = tested["trend"]
        row = {
            "decision_question_id": question,
            "factor": factor,
            "n_models": len(tested),
            "n_untested": len(one) - len(tested),
            "n_significant": n_significant,
            "all_significant": n_significant == len(one),
            "falling": bool((trend < 0).all()) if trend.notna().any() else None,
        }
        rows.append(row)
    columns = ["decision_question_id", "factor", "n_models", "n_untested", "n_significant"]
    columns += ["all_significant", "falling"]
    return pd.DataFrame(rows, columns=columns).astype({"falling": object})


def count_significant(factors: pd.DataFrame) -> pd.DataFrame:
    """On how many questions each factor is significant, from the first frame of `decision_tests`.

    Returns model, source, factor, n_significant, share (of the questions tested; NaN without any),
    ci_low and ci_high (of the number: `count_ends`), n (tested), n_invalid (not testable: constant,
    or one level left), status (`ok`, `few_clusters` below five questions, `none_tested`).

    Example:
        >>> factors = pd.DataFrame({"model": ["a", "b"], "source": "recorded", "factor": "age"})
        >>> factors = factors.assign(decision_question_id=1, significant=[True, False], status="ok")
        >>> count_significant(factors)[["model", "n_significant", "n"]].to_numpy().tolist()
        [['a', 1, 1], ['b', 0, 1]]
    """
    tested = factors["status"] == "ok"
    counted = factors.assign(n=tested, n_invalid=~tested)
    groups = counted.groupby(["model", "source", "factor"], sort=False)
    out = groups[["significant", "n", "n_invalid"]].sum().reset_index()
    out = out.rename(columns={"significant": "n_significant"})
    out.insert(4, "share", out["n_significant"] / out["n"].where(out["n"] > 0))
    ends = [count_ends(k, n) for k, n in zip(out["n_significant"], out["n"], strict=True)]
    out.insert(5, "ci_low", [one["ci_low"] for one in ends])
    out.insert(6, "ci_high", [one["ci_high"] for one in ends])
    status = [one["status"] for one in ends]
    return out.assign(status=np.where(out["n"] > 0, status, "none_tested"))


def count_ends(k: int, n: int) -> dict[str, Any]:
    """Interval of a number of questions, k of n, each a cluster (`intervals.share_interval`).

    Returns ci_low, ci_high (numbers of questions, NaN below five questions), status.

    Example:
        >>> count_ends(0, 70)["ci_high"] < 4
        True
    """
    hits = np.arange(n) < k
    share = share_interval(hits.astype(float).tolist(), [1.0] * n)
    return {
        "ci_low": share["ci_low"] * n,
        "ci_high": share["ci_high"] * n,
        "status": share["status"],
    }


def share_ends(frame: pd.DataFrame, column: str) -> dict[str, Any]:
    """Columns ci_low, ci_high, clusters and status for a column of shares of n questions.

    Example:
        >>> share_ends(pd.DataFrame({"n": [4, 0], "share": [0.5, np.nan]}), "share")["status"]
        ['few_clusters', 'none_tested']
    """
    n = frame["n"].astype(int)
    hits = (frame[column].fillna(0) * n).round().astype(int)
    ends = [count_ends(k, size) for k, size in zip(hits, n, strict=True)]
    sizes = np.maximum(n, 1).tolist()
    return {
        "ci_low": [one["ci_low"] / size for one, size in zip(ends, sizes, strict=True)],
        "ci_high": [one["ci_high"] / size for one, size in zip(ends, sizes, strict=True)],
        "clusters": n.tolist(),
        "status": [
            one["status"] if size else "none_tested" for one, size in zip(ends, n, strict=True)
        ],
    }


def chance_alarms(values: pd.DataFrame, *, draws: int = 100, seed: int = 0) -> pd.DataFrame:
    """On how many questions some factor would be significant if no attribute mattered.

    Holm guards each question by itself; over many questions false alarms add up. The answers of
    each question are dealt anew over its cells (where they are missing they stay missing), and the
    tests of `decision_tests` are done again.

    Args:
        values: frame of `response.with_value`.
        draws, seed: of the dealing.

    Returns:
        model, source, n (questions with a test), n_invalid (without), n_tests (tests done),
        observed (questions with a significant factor), expected (mean over the draws), low, high
        (their 2.5 and 97.5 % points), status (`ok`, `none_tested`, `no_variation`: the same number
        in all draws).

    Example:
        >>> from katayori.metrics import examples
        >>> alarms = chance_alarms(examples.yes_no(), draws=9)
        >>> alarms[["n", "n_tests", "status"]].to_numpy().tolist()
        [[8, 32, 'ok']]
    """
    checked(values["value"])
    found = rank_verbs.chance_alarms(
        values,
        value="value",
        factors=FACTORS,
        by=["model", "source"],
        cluster="decision_question_id",
        draws=draws,
        seed=seed,
    )
    names = {"tests": "n_tests", "value": "expected", "ci_low": "low", "ci_high": "high"}
    columns = ["n", "n_invalid", "n_tests", "observed", "expected", "low", "high", "status"]
    return found.rename(columns=names)[["model", "source", *columns]]


def level_ranges(values: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """How far apart the levels of a factor lie on each question: the largest difference of two
    means.

    Rows of the contingency table (the other attributes) are the clusters of the interval; it holds
    for all pairs of levels at once (Bonferroni), so that `high` bounds every difference of the
    factor.

    Args:
        values: frame of `response.with_value`.

    Returns:
        model, source, decision_question_id, factor, n (cells with a value), clusters (rows),
        difference (largest, absolute), low, high, status: `ok`; `few_clusters` (fewer than 5 rows
        with both levels);
        `no_data`; `no_variation` (no row differs in its difference: difference without interval).

    Example:
        >>> from katayori.metrics import examples
        >>> level_ranges(examples.yes_no())[["factor", "n", "clusters"]].head(2).to_numpy().tolist()
        [['age', 18, 6], ['age', 18, 6]]
    """
    columns = ["n", "clusters", "difference", "low", "high", "status"]
    if values.empty:
        return pd.DataFrame(columns=[*KEYS, "factor", *columns])
    tables = _cells(values)
    parts = [
        tables.keys.assign(
            factor=factor, **_largest_difference(_by_level(tables.means, own, ATTRIBUTES), level)
        )
        for factor, own in FACTORS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _largest_difference(table: np.ndarray, level: float) -> dict[str, np.ndarray]:
    """The columns of `level_ranges` from tables x rows x levels."""
    first, second = np.triu_indices(table.shape[2], 1)
    gaps = table[:, :, first] - table[:, :, second]
    rows = np.isfinite(gaps).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(gaps, axis=1) / rows
        spread = np.nansum((gaps - mean[:, None]) ** 2, axis=1)
        error = np.sqrt(spread / (rows - 1) / rows)
    tail = (1 - level) / 2 / max(len(first), 1)
    half = student.isf(tail, np.maximum(rows - 1, 1)) * error
    enough = (rows >= NO_INTERVAL_BELOW).all(axis=1)
    size = np.where(rows > 0, np.abs(mean), -np.inf).max(axis=1, initial=-np.inf)
    size = np.where(np.isfinite(size), size, np.nan)
    n = np.isfinite(table).sum(axis=(1, 2))
    problems = {
        "no_data": (n == 0) | np.isnan(size),
        "few_clusters": ~enough,
        "no_variation": (np.nan_to_num(spread) < 1e-20).all(axis=1) & (size > 0),
    }
    status = np.select(list(problems.values()), list(problems), "ok").astype(object)
    ok = status == "ok"
    low = np.nan_to_num(np.abs(mean) - half).max(axis=1, initial=0.0)
    high = np.nan_to_num(np.abs(mean) + half).max(axis=1, initial=0.0)
    return {
        "n": n,
        "clusters": rows.max(axis=1, initial=0),
        "difference": size,
        "low": np.where(ok, np.maximum(low, 0), np.nan),
        "high": np.where(ok, high, np.nan),
        "status": status,
    }
