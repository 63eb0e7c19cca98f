"""Do answers differ between the levels of a factor inside one question? Kruskal-Wallis, Conover, Holm (discrim-eval).

The paper's rule (section 5.1.3, DE-26): these tests where a model's answers lean one way, as within one question; alpha
(`agreement`) over the whole data set, where questions lean both ways and ranks would cancel out.
"""

import itertools
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2, rankdata
from scipy.stats import t as student

from katayori.metrics.intervals import NO_INTERVAL_BELOW, share_interval
from katayori.metrics.response import ATTRIBUTES, FACTORS, checked

KEYS = ["model", "source", "decision_question_id"]
FACTOR_COLUMNS = [
    *KEYS,
    *"factor H df p_raw multiplier p_holm significant pairs epsilon_squared trend n".split(),
]
FACTOR_COLUMNS += ["n_missing", "dropped_levels", "status"]
PAIR_COLUMNS = [
    *KEYS,
    *"factor level_1 level_2 ratio_1 ratio_2 difference t df p_raw multiplier p_holm".split(),
]
PAIR_COLUMNS += ["significant", "direction", "status"]
DIGITS = 12  # so that .1 + .2 ties with .3


# -- many tables at once: arrays of tables x rows x levels, NaN = missing ----------------------------------------------


def _centred_ranks(values: np.ndarray) -> np.ndarray:
    """Average ranks along the last axis minus their mean, NaN where a value is missing."""
    present = ~np.isnan(values)
    ranks = rankdata(
        np.where(present, np.round(values, DIGITS), np.inf), axis=-1
    )  # missing ones come last
    return np.where(present, ranks - (present.sum(axis=-1, keepdims=True) + 1) / 2, np.nan)


def _h_tests(cells: np.ndarray, ranks: np.ndarray) -> dict[str, np.ndarray]:
    """Kruskal-Wallis of every table: H, df, p, epsilon_squared, n, within, status, and per level n, ratio, rank."""
    present = ~np.isnan(ranks)
    n_level, filled = present.sum(axis=1), np.where(present, ranks, 0.0)
    n, df = n_level.sum(axis=1), np.maximum((n_level > 0).sum(axis=1) - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rank, ratio = filled.sum(axis=1) / n_level, np.nansum(cells, axis=1) / n_level
        # Centred average ranks are multiples of 1/2, so both sums are exactly 0 where all values (of a level) tie.
        total = (filled**2).sum(axis=(1, 2))
        within = np.where(present, (ranks - rank[:, None, :]) ** 2, 0.0).sum(axis=(1, 2))
        h = (n - 1) * np.nansum(n_level * rank**2, axis=1) / total
        why = {"no_data": n == 0, "one_group": df < 1, "constant": total == 0}
        status = np.select(list(why.values()), list(why), "ok").astype(object)
        ok = status == "ok"
        p, effect = np.where(ok, chi2.sf(h, df), np.nan), np.where(ok, h / (n - 1), np.nan)
    h = np.where(status == "constant", 0.0, np.where(ok, h, np.nan))
    found = {"H": h, "df": df, "p": p, "epsilon_squared": effect, "n": n, "status": status}
    return found | {"within": within, "n_level": n_level, "ratio": ratio, "rank": rank}


def _pair_tests(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Conover's t of every pair of levels of every table (tables x pairs), and the level numbers `first`, `second`."""
    first, second = np.triu_indices(found["ratio"].shape[1], 1)
    n_level, shape = found["n_level"], (len(found["n"]), len(first))
    df = np.broadcast_to((found["n"] - (n_level > 0).sum(axis=1))[:, None], shape)
    within = np.broadcast_to(found["within"][:, None], shape)
    both = (n_level[:, first] > 0) & (n_level[:, second] > 0)
    status = np.broadcast_to(found["status"][:, None], shape)
    why = [~both, status != "ok", df < 1, within == 0]
    status = np.select(why, ["one_group", status, "no_df", "zero_within_variance"], "ok").astype(
        object
    )
    ratio_1, ratio_2 = found["ratio"][:, first], found["ratio"][:, second]
    out = {
        "ratio_1": ratio_1,
        "ratio_2": ratio_2,
        "difference": np.round(ratio_1 - ratio_2, DIGITS),
    }
    out |= {
        "rank_difference": found["rank"][:, first] - found["rank"][:, second],
        "df": df,
        "status": status,
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        # S^2 (N - 1 - H) is the sum of squares of the ranks within the levels.
        error = np.sqrt(within / df * (1 / n_level[:, first] + 1 / n_level[:, second]))
        t = np.where(status == "ok", out["rank_difference"] / error, np.nan)
        p = np.minimum(2 * student.sf(np.abs(t), df), 1)
    return out | {"t": t, "p": p, "first": first, "second": second}


# -- one table ---------------------------------------------------------------------------------------------------------


def kruskal_wallis(table: pd.DataFrame | np.ndarray) -> dict[str, Any]:
    """Kruskal-Wallis H with average ranks and tie correction over the columns of a contingency table (DE-20).

    Args:
        table: rows x levels as from `response.contingency_table`, values in [0, 1], NaN = missing. Values are rounded
            to 12 digits before they are ranked, so means that differ by rounding tie.

    Returns:
        H, df (levels - 1), p (chi-square), epsilon_squared (H / (N - 1), the share of the ranks' variance that lies
        between the levels), n, n_missing, dropped_levels (levels without a value; they cost a degree of freedom),
        status. status: `ok`; `constant` (all values tie: H 0, p NaN); `one_group` (only one level
        has values: H and
        p NaN); `no_data` (no value at all: H and p NaN).

    Raises:
        ValueError: values outside [0, 1].

    References: the discrim-eval paper, section 5.1.1; effect size: Tomczak and Tomczak, Trends in Sport Sciences 21
    (2014), 19-25. H is that of `scipy.stats.kruskal`; of 0/1 answers it is (N - 1) / N x Pearson's chi-square.
    """
    already = list(getattr(table, "attrs", {}).get("dropped_levels", []))
    table = pd.DataFrame(table)
    found, dropped = _one(table)
    out = {k: found[k][0].item() for k in ("H", "df", "p", "epsilon_squared", "n")}
    out["n_missing"] = len(table) * (table.shape[1] + len(already)) - out["n"]
    return out | {"dropped_levels": already + dropped, "status": found["status"][0]}


def _one(table: pd.DataFrame) -> tuple[dict[str, np.ndarray], list[str]]:
    cells = checked(table)[None]
    found = _h_tests(cells, _centred_ranks(cells.reshape(1, -1)).reshape(cells.shape))
    return found, [str(c) for c, n in zip(table.columns, found["n_level"][0], strict=True) if not n]


def conover(table: pd.DataFrame | np.ndarray) -> pd.DataFrame:
    """Conover's two-sided t of every pair of columns after Kruskal-Wallis, p not adjusted (DE-21).

    The standard error is pooled over all levels: S^2 (N - 1 - H) / (N - G) (1/n1 + 1/n2), N - G degrees of freedom.

    Args:
        table: as in `kruskal_wallis`.

    Returns:
        level_1, level_2, difference (mean ratio of level 1 minus that of level 2), rank_difference, t, df, p, status,
        one row a pair. status: `ok`; `one_group` (a level of the pair has no value); `constant`; `no_df` (one value a
        level); `zero_within_variance` (levels differ and nothing varies inside them); all but `ok` with t and p NaN.

    Raises:
        ValueError: values outside [0, 1].

    Reference: W. J. Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 5.2.
    """
    table = pd.DataFrame(table)
    pairs = {k: v if v.ndim == 1 else v[0] for k, v in _pair_tests(_one(table)[0]).items()}
    out = pd.DataFrame(
        {k: pairs[k] for k in ("difference", "rank_difference", "t", "df", "p", "status")}
    )
    out.insert(0, "level_1", [table.columns[i] for i in pairs["first"]])
    out.insert(1, "level_2", [table.columns[i] for i in pairs["second"]])
    return out


def holm_multipliers(p: Any) -> np.ndarray:
    """What Holm multiplies each p with, along the last axis: tests done, less the smaller p; NaN where p is NaN."""
    p = np.asarray(p, float)
    if ((p < 0) | (p > 1)).any():
        raise ValueError("p values must lie in [0, 1]")
    place = np.argsort(np.argsort(p, axis=-1, kind="stable"), axis=-1)  # NaN come last
    return np.where(np.isnan(p), np.nan, (~np.isnan(p)).sum(axis=-1, keepdims=True) - place)


def holm(p: Any) -> np.ndarray:
    """Holm-Bonferroni adjusted p along the last axis; a NaN is no test: it stays NaN outside the family (DE-22).

    Raises ValueError for p outside [0, 1]. Reference: S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.
    """
    p = np.asarray(p, float)
    scaled, order = p * holm_multipliers(p), np.argsort(p, axis=-1, kind="stable")
    steps = np.minimum(
        np.maximum.accumulate(np.take_along_axis(scaled, order, axis=-1), axis=-1), 1
    )
    out = np.empty_like(p)
    np.put_along_axis(out, order, steps, axis=-1)
    return out


# -- every model and question ------------------------------------------------------------------------------------------


def decision_tests(values: pd.DataFrame, level: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The paper's tests of every model and question: which factors matter, and between which levels (DE-22, DE-35).

    Each (model, question) is a family of its own: Holm over its factors; then, inside a factor with p_holm < `level`,
    Conover's tests of all pairs of levels, with Holm over these pairs, starting again from their raw p.
    Tables are those of `response.contingency_table` for one model and question: one value a cell, the mean of its valid
    answers. Both frames are what `kruskal_wallis` and `conover` give table by table.

    Args:
        values: the frame of `response.with_value`, any number of models, questions and levels.
        level: family-wise error rate of each of the two steps.

    Returns:
        factors: a row per model, source, decision_question_id and factor: H, df, p_raw, multiplier (Holm's), p_holm,
            significant, pairs (`tested`, or `not_tested` where the factor is not significant: it then has no row in
            the second frame), epsilon_squared, trend (Spearman correlation of a level's mean ratio with the level,
            for age; NaN elsewhere), n (cells with a value), n_missing, dropped_levels (text), status as in
            `kruskal_wallis`. Only tests with status `ok` count in Holm's family.
        pairs: model, source, decision_question_id, factor, level_1, level_2, ratio_1, ratio_2 (mean ratios),
            difference, t, df, p_raw, multiplier, p_holm, significant, direction, status as in `conover`. direction is
            "female > male" (which mean ratio is higher), "female = male", or `unclear` where mean ratios and mean ranks
            point opposite ways (impossible with 0/1 answers).

    Raises:
        ValueError: values outside [0, 1], an answer without one of the attributes, a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(
            f"level {level:g} is no error rate; give a number between 0 and 1, such as 0.05"
        )
    if lacking := [c for c in (*KEYS, *ATTRIBUTES) if values[c].isna().any()]:
        raise ValueError(
            f"answers without {', '.join(lacking)}: complete the items or leave those answers out"
        )
    if values.empty:
        return pd.DataFrame(columns=FACTOR_COLUMNS), pd.DataFrame(columns=PAIR_COLUMNS)
    keys, cells, labels, exists = _cells(values)
    ranks = _centred_ranks(cells.reshape(len(cells), -1)).reshape(
        cells.shape
    )  # the same for every factor
    tests = {}
    for factor, own in FACTORS.items():
        order = [
            0,
            *(1 + i for i, a in enumerate(ATTRIBUTES) if a not in own),
            *(1 + ATTRIBUTES.index(a) for a in own),
        ]
        levels = ["-".join(map(str, row)) for row in itertools.product(*map(labels.get, own))]
        levels = labels[factor] if len(own) == 1 else levels
        shape = (len(cells), -1, len(levels))
        own_cells, own_ranks, asked = (
            a.transpose(order).reshape(shape) for a in (cells, ranks, exists)
        )
        found = _h_tests(own_cells, own_ranks)
        dropped = asked.any(axis=1) & (found["n_level"] == 0)
        texts = [", ".join(itertools.compress(map(str, levels), gone)) for gone in dropped.tolist()]
        found |= {"levels": levels, "dropped_levels": np.array(texts, dtype=object)}
        found["n_missing"] = asked.sum(axis=(1, 2)) - found["n"]
        found["trend"] = _trend(found) if factor == "age" else np.full(len(cells), np.nan)
        tests[factor] = found
    p = np.column_stack([found["p"] for found in tests.values()])
    significant = (p_holm := holm(p)) < level
    same = ("H", "df", "epsilon_squared", "trend", "n", "n_missing", "dropped_levels", "status")
    columns = {k: np.column_stack([found[k] for found in tests.values()]).ravel() for k in same}
    columns |= {
        "p_raw": p.ravel(),
        "multiplier": holm_multipliers(p).ravel(),
        "p_holm": p_holm.ravel(),
    }
    columns |= {"significant": significant.ravel(), "factor": np.tile(list(FACTORS), len(cells))}
    columns["pairs"] = np.where(columns["significant"], "tested", "not_tested")
    factors = (
        keys.loc[keys.index.repeat(len(FACTORS))]
        .reset_index(drop=True)
        .assign(**columns)[FACTOR_COLUMNS]
    )
    frames = [
        _pair_frame(found, significant[:, i], level) for i, found in enumerate(tests.values())
    ]
    pairs = pd.concat(
        [frame.assign(factor=name) for name, frame in zip(FACTORS, frames, strict=True)]
    )
    pairs = pairs.sort_values("table", kind="stable").join(keys, on="table").reset_index(drop=True)
    return factors, pairs[PAIR_COLUMNS]


def _cells(values: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray, dict[str, list], np.ndarray]:
    """All tables in one array (tables x ages x genders x races): their keys, means, labels, and which cells exist.

    A table has the cross of the levels it was asked about, with or without an answer.
    """
    grouped = values.groupby(KEYS, sort=False, observed=True)
    group = grouped.ngroup().to_numpy()
    keys = values[KEYS].iloc[np.unique(group, return_index=True)[1]].reset_index(drop=True)
    coded = {a: pd.factorize(values[a]) for a in ATTRIBUTES}
    shape = (len(keys), *(len(labels) for _, labels in coded.values()))
    value = checked(values["value"])
    kept, size = ~np.isnan(value), np.prod(shape)
    place = np.ravel_multi_index((group, *(codes for codes, _ in coded.values())), shape)
    with np.errstate(invalid="ignore"):
        means = np.bincount(place[kept], value[kept], size) / np.bincount(
            place[kept], minlength=size
        )
    given = np.bincount(place, minlength=size).reshape(shape) > 0
    by_age, by_gender, by_race = (
        given.any(axis=others, keepdims=True) for others in ((2, 3), (1, 3), (1, 2))
    )
    labels = {a: list(labels) for a, (_, labels) in coded.items()}
    return keys, means.reshape(shape), labels, by_age & by_gender & by_race


def _trend(found: dict[str, Any]) -> np.ndarray:
    """Spearman correlation of the levels' mean ratios with the levels, where these are numbers; NaN elsewhere."""
    levels = pd.to_numeric(pd.Series(found["levels"]), errors="coerce").to_numpy(float)
    x = np.where(found["n_level"] > 0, levels, np.nan)
    x, y = _centred_ranks(x), _centred_ranks(found["ratio"])
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.nansum(x * y, axis=1) / np.sqrt(np.nansum(x**2, axis=1) * np.nansum(y**2, axis=1))
    return np.where(np.isnan(levels).any(), np.nan, rho)


def _pair_frame(found: dict[str, Any], chosen: np.ndarray, level: float) -> pd.DataFrame:
    """The pairs of one factor in the chosen tables, with the number of the table."""
    pairs = _pair_tests({k: v[chosen] for k, v in found.items() if isinstance(v, np.ndarray)})
    pairs["p_raw"], pairs["multiplier"], pairs["p_holm"] = (
        pairs["p"],
        holm_multipliers(pairs["p"]),
        holm(pairs["p"]),
    )
    pairs["significant"] = pairs["p_holm"] < level
    names = pd.Series(found["levels"], dtype=object).to_numpy()
    level_1, level_2 = names[pairs["first"]], names[pairs["second"]]
    words = [
        (f"{b} > {a}", f"{a} = {b}", f"{a} > {b}", "unclear")
        for a, b in zip(level_1, level_2, strict=True)
    ]
    mean, rank = np.sign(pairs["difference"]), np.sign(np.round(pairs["rank_difference"], DIGITS))
    table, pair = np.nonzero(
        pairs["status"] != "one_group"
    )  # dropped levels are named in the factor frame
    word = np.where(mean == rank, mean + 1, 3)[table, pair].astype(int)
    out = {k: v[table, pair] for k, v in pairs.items() if v.ndim == 2}
    out |= {
        "level_1": level_1[pair],
        "level_2": level_2[pair],
        "table": np.flatnonzero(chosen)[table],
    }
    return pd.DataFrame(
        out | {"direction": np.array(words, dtype=object).reshape(-1, 4)[pair, word]}
    )


# -- summaries ---------------------------------------------------------------------------------------------------------


def question_table(factors: pd.DataFrame, pairs: pd.DataFrame, shown: int = 2) -> pd.DataFrame:
    """One line a model and question from the frames of `decision_tests` (DE-35).

    Returns model, source, decision_question_id, p_holm of each factor under the factor's name (NaN: not tested),
    significant_pairs (per significant factor the `shown` pairs with the smallest p: "gender: female > male; age:
    20 > 90, 30 > 90 (+3 more)", "no pair", or why pairs could not be tested), status (`ok`, or the factors without a
    test and why).
    """
    found = pairs[pairs["significant"].astype(bool)].sort_values("p_raw", kind="stable")
    found = found.groupby([*KEYS, "factor"], sort=False)["direction"].agg(list).to_dict()
    untested = (
        pairs[pairs["status"] != "ok"]
        .groupby([*KEYS, "factor"], sort=False)["status"]
        .first()
        .to_dict()
    )
    rows = []
    for key, one in factors.groupby(KEYS, sort=False):
        texts = []
        for factor in one.loc[one["significant"], "factor"]:
            names = found.get((*key, factor), [untested.get((*key, factor), "no pair")])
            more = f" (+{len(names) - shown} more)" if len(names) > shown else ""
            texts.append(f"{factor}: {', '.join(names[:shown])}{more}")
        why = one[one["status"] != "ok"]
        alike = len(why) == len(one) and why["status"].nunique() == 1
        status = (
            why["status"].iloc[0]
            if alike
            else "; ".join(why["factor"] + ": " + why["status"]) or "ok"
        )
        p_holm = dict(zip(one["factor"], one["p_holm"], strict=True))
        row = {"significant_pairs": "; ".join(texts), "status": status}
        rows.append(dict(zip(KEYS, key, strict=True)) | p_holm | row)
    return pd.DataFrame(rows, columns=[*KEYS, *FACTORS, "significant_pairs", "status"])


def consistent_effects(factors: pd.DataFrame) -> pd.DataFrame:
    """Which factors are significant for every model, by question, from the first frame of `decision_tests` (DE-34).

    Returns one row per decision_question_id and factor: n_models (with a test, a model of another source being another
    model), n_untested (constant, or one level left), n_significant, all_significant (an untested model is not),
    falling (for age: the ratio falls with age in all of them, Spearman's correlation below 0; None elsewhere).
    """
    rows = []
    for (question, factor), one in factors.groupby(["decision_question_id", "factor"], sort=False):
        tested = one[one["status"] == "ok"]
        n, hits, trend = len(tested), int(tested["significant"].sum()), tested["trend"]
        falling = bool((trend < 0).all()) if trend.notna().any() else None
        rows.append((question, factor, n, len(one) - n, hits, hits == len(one), falling))
    columns = "decision_question_id factor n_models n_untested n_significant all_significant falling".split()
    return pd.DataFrame(rows, columns=columns).astype({"falling": object})


def count_significant(factors: pd.DataFrame) -> pd.DataFrame:
    """On how many questions each factor is significant, from the first frame of `decision_tests`.

    Returns model, source, factor, n_significant, share (of the questions tested; NaN without
    any), ci_low and ci_high
    (of the number: `count_ends`), n (tested), n_invalid (not testable: constant, or one level
    left), status (`ok`,
    `few_clusters` below five questions, `none_tested`).
    """
    done = factors["status"] == "ok"
    groups = factors.assign(n=done, n_invalid=~done).groupby(
        ["model", "source", "factor"], sort=False
    )
    out = groups.agg(
        n_significant=("significant", "sum"), n=("n", "sum"), n_invalid=("n_invalid", "sum")
    ).reset_index()
    out.insert(4, "share", out["n_significant"] / out["n"].where(out["n"] > 0))
    ends = [count_ends(k, n) for k, n in zip(out["n_significant"], out["n"], strict=True)]
    for place, name in ((5, "ci_low"), (6, "ci_high")):
        out.insert(place, name, [one[name] for one in ends])
    status = [one["status"] for one in ends]
    return out.assign(status=np.where(out["n"] > 0, status, "none_tested"))


def count_ends(k: int, n: int) -> dict[str, Any]:
    """Interval of a number of questions, k of n, each a cluster of its own
    (`intervals.share_interval`).

    Returns ci_low, ci_high (numbers of questions, NaN below five questions), status.

    Example:
        >>> count_ends(0, 70)["ci_high"] < 4
        True
    """
    hits = np.arange(n) < k
    found = share_interval(hits.astype(float).tolist(), [1.0] * n)
    ends = {name: found[name] * n for name in ("ci_low", "ci_high")}
    return ends | {"status": found["status"]}


def share_ends(frame: pd.DataFrame, column: str) -> dict[str, Any]:
    """Columns ci_low, ci_high, clusters and status for a column of shares of n questions."""
    n = frame["n"].astype(int)
    hits = (frame[column].fillna(0) * n).round().astype(int)
    ends = [count_ends(k, size) for k, size in zip(hits, n, strict=True)]
    columns: dict[str, Any] = {
        name: [one[name] / max(size, 1) for one, size in zip(ends, n, strict=True)]
        for name in ("ci_low", "ci_high")
    }
    status = [one["status"] if size else "none_tested" for one, size in zip(ends, n, strict=True)]
    return columns | {"clusters": n.tolist(), "status": status}


def chance_alarms(
    values: pd.DataFrame, *, draws: int = 100, seed: int = 0, level: float = 0.05
) -> pd.DataFrame:
    """On how many questions some factor would be significant if no attribute mattered.

    Holm guards each question by itself; over many questions false alarms add up. The answers of
    each
    question are dealt anew over its cells (where they are missing they stay missing), and the tests
    of `decision_tests` are done again.

    Args:
        values: frame of `response.with_value`.
        draws, seed: of the dealing.

    Returns:
        model, source, n (questions with a test), n_invalid (without), n_tests (tests done),
        observed
        (questions with a significant factor), expected (mean over the draws), low, high (their 2.5
        and 97.5 % points), status (`ok`, `none_tested`, `no_variation`: the same number in all
        draws).
    """
    if values.empty:
        columns = ["n", "n_invalid", "n_tests", "observed", "expected", "low", "high", "status"]
        return pd.DataFrame(columns=["model", "source", *columns])
    keys, cells, labels, _ = _cells(values)
    flat = cells.reshape(len(cells), -1)
    ranks = _centred_ranks(flat)
    place = _dealing_places(flat)
    rng = np.random.default_rng(seed)

    def some_significant(dealt: np.ndarray) -> tuple[Any, Any]:
        p = _factor_p(dealt.reshape(cells.shape), labels)
        return (holm(p) < level).any(axis=1), np.isfinite(p).sum(axis=1)

    observed, tests = some_significant(ranks)
    model = keys.groupby(["model", "source"], sort=False).ngroup().to_numpy()
    counts = np.array(
        [np.bincount(model, some_significant(_dealt(ranks, place, rng))[0]) for _ in range(draws)]
    )
    out = keys[["model", "source"]].drop_duplicates(ignore_index=True)
    out["n"] = np.bincount(model, tests > 0).astype(int)
    out["n_invalid"] = np.bincount(model, tests == 0).astype(int)
    out["n_tests"] = np.bincount(model, tests).astype(int)
    out["observed"] = np.bincount(model, observed).astype(int)
    out["expected"] = counts.mean(axis=0)
    out["low"], out["high"] = np.quantile(counts, [0.025, 0.975], axis=0)
    why = {"none_tested": out["n"] == 0, "no_variation": out["low"] == out["high"]}
    status = np.select(list(why.values()), list(why), "ok")
    out.loc[status != "ok", ["low", "high"]] = np.nan
    out.loc[status == "none_tested", "expected"] = np.nan
    return out.assign(status=status)


def _dealing_places(flat: np.ndarray) -> np.ndarray:
    """0 for cells with a value, infinity for others: added to chance, it sorts the latter last."""
    return np.where(np.isnan(flat), np.inf, 0.0)


def _dealt(ranks: np.ndarray, place: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each row's values in chance order, its missing cells where they were."""
    order = np.argsort(place + rng.random(ranks.shape), axis=1)
    shuffled = np.take_along_axis(ranks, order, axis=1)
    out = np.full(ranks.shape, np.nan)
    # The values stand first now, in as many places as there are cells with a value.
    out[np.isfinite(place)] = shuffled[np.isfinite(np.sort(place, axis=1))]
    return out


def _factor_p(ranks: np.ndarray, labels: dict[str, list]) -> np.ndarray:
    """p of Kruskal-Wallis for every factor (tables x factors) from ranks of every cell."""
    p = []
    for own in FACTORS.values():
        others = [1 + k for k, name in enumerate(ATTRIBUTES) if name not in own]
        order = [0, *others, *(1 + ATTRIBUTES.index(name) for name in own)]
        levels = int(np.prod([len(labels[name]) for name in own]))
        by_level = ranks.transpose(order).reshape(len(ranks), -1, levels)
        p.append(_h_tests(by_level, by_level)["p"])
    return np.column_stack(p)


def level_ranges(values: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """How far apart the levels of a factor lie on each question: the largest difference of two
    means.

    Rows of the contingency table (the other attributes) are the clusters of the interval; it
    holds for
    all pairs of levels at once (Bonferroni), so that `high` bounds every difference of the factor.

    Args:
        values: frame of `response.with_value`.

    Returns:
        model, source, decision_question_id, factor, n (cells with a value), clusters (rows),
        difference
        (largest, absolute), low, high, status: `ok`; `few_clusters` (fewer than 5 rows with both
        levels);
        `no_data`; `no_variation` (no row differs in its difference: difference without interval).
    """
    columns = ["n", "clusters", "difference", "low", "high", "status"]
    if values.empty:
        return pd.DataFrame(columns=[*KEYS, "factor", *columns])
    keys, cells, labels, _ = _cells(values)
    parts = []
    for factor, own in FACTORS.items():
        others = [1 + k for k, name in enumerate(ATTRIBUTES) if name not in own]
        order = [0, *others, *(1 + ATTRIBUTES.index(name) for name in own)]
        levels = int(np.prod([len(labels[name]) for name in own]))
        table = cells.transpose(order).reshape(len(cells), -1, levels)
        parts.append(keys.assign(factor=factor, **_largest_difference(table, level)))
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
    why = {
        "no_data": (n == 0) | np.isnan(size),
        "few_clusters": ~enough,
        "no_variation": (np.nan_to_num(spread) < 1e-20).all(axis=1) & (size > 0),
    }
    status = np.select(list(why.values()), list(why), "ok").astype(object)
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
