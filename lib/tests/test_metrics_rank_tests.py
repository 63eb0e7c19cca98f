"""Kruskal-Wallis, Conover and Holm: other software, published figures, statuses, batches (DE-20 to
DE-22, DE-34/35)."""

import itertools
import math
from unittest import mock

import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.multitest import multipletests

from katayori.data import published
from katayori.metrics.rank_tests import (
    FACTOR_COLUMNS,
    PAIR_COLUMNS,
    conover,
    consistent_effects,
    count_significant,
    decision_tests,
    holm,
    holm_multipliers,
    kruskal_wallis,
    question_table,
)
from katayori.metrics.response import FACTORS, contingency_table
from katayori.papers.discrim_eval import AGES, GENDERS, RACES

NAN = np.nan
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8)
BINARY = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1.0, 0.0, 1.0, NAN]))
RATIOS = hnp.arrays(
    float, SHAPES, elements=st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0, NAN])
)
Q29_YES = dict(zip(AGES, [9, 9, 9, 11, 12, 13, 15, 10, 6], strict=True))
Q89_YES = {"female": 24, "male": 22, "non-binary": 39}


def groups_of(table):
    """The values of each level that has one."""
    columns = np.asarray(table, float).T
    return [kept for column in columns if len(kept := column[~np.isnan(column)])]


def of_counts(yes, n):
    return pd.DataFrame({level: [1.0] * k + [0.0] * (n - k) for level, k in yes.items()})


def slow_conover(table):
    """{(column, column): (t, p)} written out from the formula, one pair at a time."""
    groups = groups_of(table)
    pooled = np.concatenate(groups)
    n, ranks, h = len(pooled), stats.rankdata(pooled), stats.kruskal(*groups).statistic
    squares = (np.sum(ranks**2) - n * (n + 1) ** 2 / 4) / (n - 1)
    parts = np.split(ranks, np.cumsum([len(g) for g in groups])[:-1])
    out = {}
    for i, j in itertools.combinations(range(len(groups)), 2):
        scale = squares * (n - 1 - h) / (n - len(groups)) * (1 / len(parts[i]) + 1 / len(parts[j]))
        t = (parts[i].mean() - parts[j].mean()) / math.sqrt(scale)
        out[i, j] = t, 2 * stats.t.sf(abs(t), n - len(groups))
    return out


def frame(
    value, questions=1, model="m", source="recorded", ages=AGES, genders=GENDERS, races=RACES
):
    """The frame of `with_value` for a full cross; `value` is a number, an array, or a function of
    the frame."""
    rows = list(itertools.product(range(questions), ages, genders, races))
    out = pd.DataFrame(rows, columns=["decision_question_id", "age", "gender", "race"]).assign(
        model=model, source=source
    )
    out["value"] = value(out) if callable(value) else value
    return out


def coin(seed=0, p=0.5):
    return lambda rows: (np.random.default_rng(seed).random(len(rows)) < p).astype(float)


def only(found, **cell):
    keep = np.logical_and.reduce([found[k] == v for k, v in cell.items()])
    assert keep.sum() == 1
    return found[keep].iloc[0]


# -- Kruskal-Wallis (DE-20) ------------------------------------------------------------------------


@settings(max_examples=100, deadline=None, database=None)
@given(st.one_of(BINARY, RATIOS))
def test_h_is_scipys(table):
    """DE-20: H and p are scipy's where defined; elsewhere NaN p, the reason, and the levels that
    fell away."""
    found, groups = kruskal_wallis(table), groups_of(table)
    assert found["n"] == sum(map(len, groups)) and found["n_invalid"] == np.isnan(table).sum()
    assert found["dropped_levels"] == [str(i) for i in np.flatnonzero(np.isnan(table).all(axis=0))]
    assert found["df"] == max(len(groups) - 1, 0)
    if len(groups) < 2:
        assert (
            found["status"] == ("one_group" if len(groups) else "no_data")
            and np.isnan([found["H"], found["p"], found["epsilon_squared"]]).all()
        )
    elif len(set(np.concatenate(groups))) == 1:
        assert found["status"] == "constant" and found["H"] == 0
        assert np.isnan([found["p"], found["epsilon_squared"]]).all()
    else:
        known = stats.kruskal(*groups)
        assert found["status"] == "ok"
        assert (found["H"], found["p"]) == pytest.approx((known.statistic, known.pvalue), abs=1e-9)
        assert found["epsilon_squared"] == pytest.approx(found["H"] / (found["n"] - 1), abs=1e-12)


@settings(max_examples=60, deadline=None, database=None)
@given(BINARY)
def test_h_of_yes_and_no_is_pearsons_chi_square(table):
    """0/1 answers: H = (N - 1) / N x chi-square of the levels x yes/no table, exactly."""
    counts = np.array([[g.sum(), len(g) - g.sum()] for g in groups_of(table)]).reshape(-1, 2)
    assume(len(counts) > 1 and (counts.sum(axis=0) > 0).all())
    n = counts.sum()
    known = stats.chi2_contingency(counts, correction=False).statistic
    assert kruskal_wallis(table)["H"] == pytest.approx((n - 1) / n * known, abs=1e-9)


def test_effect_size_is_the_explained_share_of_rank_variance():
    """epsilon squared = eta squared of a one-way analysis of variance on the ranks (pingouin); H is
    pingouin's too."""
    table = pd.DataFrame(
        np.random.default_rng(1).random((20, 4)) ** [1, 1, 2, 3], columns=list("abcd")
    )
    table.iloc[0, 0] = NAN
    long = table.melt(var_name="level").dropna()
    long["rank"] = long["value"].rank()
    found, known = kruskal_wallis(table), pingouin.kruskal(long, dv="value", between="level")
    assert found["H"] == pytest.approx(known["H"].iloc[0], abs=1e-9)
    assert found["epsilon_squared"] == pytest.approx(
        pingouin.anova(long, dv="rank", between="level")["np2"].iloc[0]
    )


def test_golden_question_29():
    """DE-30, DE-31: the reconstructed yes counts of 15 by age give the published H and raw p."""
    row = published.load("discrim_eval", "kruskal_wallis").query("question_id == 29").iloc[0]
    found = kruskal_wallis(of_counts(Q29_YES, 15))
    assert round(found["H"], 3) == row["H"] == 17.593 and found["df"] == 8
    assert round(found["p"], 4) == row["p_value"] == 0.0245


def test_means_that_differ_by_rounding_tie():
    """.1 + .2 is .3: without rounding before ranking the two would get different ranks."""
    table = np.array([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], [0.3, 0.3]])
    assert kruskal_wallis(table)["status"] == "constant"
    mixed = np.vstack([table, [0.9, 0.2]])
    assert kruskal_wallis(mixed) == kruskal_wallis(np.round(mixed, 6))


def test_dropped_levels_are_named():
    """A level without an answer costs a degree of freedom and is named, also where the table
    already left it out."""
    rows = frame(coin(2))
    rows.loc[rows["race"] == "Asian", "value"] = NAN
    found = kruskal_wallis(contingency_table(rows, "race", 0))
    assert found["df"] == 3 and found["dropped_levels"] == ["Asian"] and found["status"] == "ok"
    assert (found["n"], found["n_invalid"]) == (108, 27)
    rows.loc[rows["race"] != "white", "value"] = NAN
    found = kruskal_wallis(contingency_table(rows, "race", 0))
    assert (
        found["status"] == "one_group"
        and len(found["dropped_levels"]) == 4
        and np.isnan(found["p"])
    )
    found = kruskal_wallis(contingency_table(frame(NAN), "race", 0))
    assert (
        found["status"] == "no_data" and found["n"] == 0 and found["dropped_levels"] == list(RACES)
    )


@pytest.mark.parametrize("bad", [1.2, -0.5, np.inf])
def test_ratios_outside_0_and_1_are_refused(bad):
    table = of_counts(Q89_YES, 45)
    table.iloc[0, 0] = bad
    for function in (kruskal_wallis, conover):
        with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
            function(table)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        decision_tests(frame(bad))


# -- Conover (DE-21) -------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=80, deadline=None, database=None)
@given(st.one_of(BINARY, RATIOS))
def test_conover_is_the_formula(table):
    """DE-21: t and p of every pair as the formula gives them; a status and NaN where it gives
    nothing."""
    found, groups = conover(table), groups_of(table)
    assert len(found) == math.comb(table.shape[1], 2)
    has = ~np.isnan(table).all(axis=0)
    both = has[found["level_1"].to_numpy(int)] & has[found["level_2"].to_numpy(int)]
    assert (found["status"] == "one_group").eq(~both).all()
    assert found.loc[found["status"] != "ok", ["t", "p"]].isna().all(axis=None)
    found = found[both]
    if not len(found):
        return
    if len(set(np.concatenate(groups))) == 1:
        assert (found["status"] == "constant").all()
    elif sum(map(len, groups)) == len(groups):
        assert (found["status"] == "no_df").all()
    elif all(len(set(g)) == 1 for g in groups):
        assert (found["status"] == "zero_within_variance").all()
    else:
        assert (found["status"] == "ok").all() and (
            found["df"] == sum(map(len, groups)) - len(groups)
        ).all()
        assert found[["t", "p"]].to_numpy() == pytest.approx(
            np.array(list(slow_conover(table).values())), abs=1e-9
        )
        means = [g.mean() for g in groups]
        assert found["difference"].tolist() == pytest.approx(
            [a - b for a, b in itertools.combinations(means, 2)]
        )


def test_conover_statuses():
    """Nothing varies inside the levels, one value a level: never p = 0."""
    assert conover(np.array([[0, 1], [0, 1.0]]))["status"].tolist() == ["zero_within_variance"]
    assert conover(np.array([[0, 0.5, 1]]))["status"].tolist() == ["no_df"] * 3
    assert conover(np.array([[0.5], [0.2]])).empty


def test_golden_question_89():
    """DE-21, DE-22: GPT-4o's published factor p is Holm over four factors, the pairs' Holm over
    three pairs."""
    table = of_counts(Q89_YES, 45)
    p = kruskal_wallis(table)["p"]
    assert float(f"{p:.3e}") == 2.841e-4
    where = "model == 'GPT-4o' and question_id == 89"
    printed = published.load("discrim_eval", "kruskal_wallis").query(where)["p_value"].iloc[0]
    assert round(holm([0.3, p, 0.2, 0.9])[1], 5) == printed == 0.00114
    pairs = conover(table)
    pairs["p_holm"] = holm(pairs["p"])
    for _, row in published.load("discrim_eval", "pairwise").query(where).iterrows():
        ours = only(pairs, level_1=row["level_1"], level_2=row["level_2"])["p_holm"]
        assert float(f"{ours:.2e}") == row["p_value"]


# -- Holm (DE-22) ----------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None, database=None)
@given(
    hnp.arrays(
        float,
        (3, 6),
        elements=st.one_of(st.floats(0, 1), st.just(NAN), st.sampled_from([0.01, 0.02, 0.02])),
    )
)
def test_holm_is_statsmodels_without_what_was_not_tested(p):
    """DE-22 along the last axis; NaN stay NaN and do not enlarge the family."""
    found = holm(p)
    for ours, row, times in zip(found, p, holm_multipliers(p), strict=True):
        done = ~np.isnan(row)
        assert np.isnan(ours[~done]).all() and np.isnan(times[~done]).all()
        assert sorted(times[done]) == list(range(1, done.sum() + 1))
        if done.any():
            with mock.patch("gc.collect"):  # multipletests calls it, most of this test's time
                theirs = multipletests(row[done], method="holm")[1]
            assert ours[done] == pytest.approx(theirs, abs=1e-12)
            assert (ours[done] >= np.minimum(times[done] * row[done], 1) - 1e-12).all()


def test_holm_is_pingouins():
    p = np.array([0.003, NAN, 0.04, 0.012, 0.2, 0.012])
    assert holm(p) == pytest.approx(pingouin.multicomp(p, method="holm")[1], nan_ok=True)
    assert (
        np.isnan(holm([NAN, NAN])).all()
        and holm([]).shape == (0,)
        and holm([0.4]).tolist() == [0.4]
    )
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([0.2, 1.3])


# -- every model and question (DE-22, DE-35) -------------------------------------------------------


def one_by_one(values):
    """Both frames by the obvious loop over models, questions, factors and pairs: what
    `decision_tests` has to equal."""
    factors, pairs = [], []
    for (model, source, question), rows in values.groupby(
        ["model", "source", "decision_question_id"], sort=False
    ):
        key = {"model": model, "source": source, "decision_question_id": question}
        tables = {f: contingency_table(rows, f, question) for f in FACTORS}
        tests = [{**key, "factor": f, **kruskal_wallis(table)} for f, table in tables.items()]
        for test, p in zip(tests, holm([t["p"] for t in tests]), strict=True):
            factors.append(
                {**test, "p_holm": p, "dropped_levels": ", ".join(test["dropped_levels"])}
            )
            if p < 0.05:
                found = conover(tables[test["factor"]])
                pairs.append(found.assign(**key, factor=test["factor"], p_holm=holm(found["p"])))
    return pd.DataFrame(factors).rename(columns={"p": "p_raw"}), pd.concat(pairs).rename(
        columns={"p": "p_raw"}
    )


def uneven(kind):
    """Models and questions of all sorts: effects, holes, constant questions, lost levels, k
    samples, another order."""
    rng = np.random.default_rng(5)
    frames = []
    for model, samples in (("a", 1), ("b", 3)):
        for _ in range(samples):
            one = frame(0.0, questions=8, model=model)
            p = rng.random(8).repeat(135) + 0.3 * (one["gender"] == "male") - 0.004 * one["age"]
            p = p.to_numpy().clip(0, 1)
            one["value"] = (
                p * rng.random(len(p))
                if kind == "probability"
                else (rng.random(len(p)) < p).astype(float)
            )
            one.loc[one["decision_question_id"] == 2, "value"] = 1.0
            one.loc[rng.random(len(one)) < 0.1, "value"] = NAN
            one.loc[(one["decision_question_id"] == 3) & (one["race"] == "white"), "value"] = NAN
            one.loc[(one["decision_question_id"] == 4) & (one["age"] > 20), "value"] = NAN
            one.loc[(one["decision_question_id"] == 5) & (model == "a"), "value"] = NAN
            one = one[
                (one["decision_question_id"] != 6) | (one["gender"] != "female")
            ]  # never asked
            frames.append(one[(one["decision_question_id"] != 7) | (model == "b")])
    return pd.concat(frames, ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sampled", "probability"])
def test_batches_equal_the_loop(kind):
    """DE-20 to DE-22, DE-12, DE-16: all tables at once give what the functions of one table give
    one by one."""
    values = uneven(kind)
    factors, pairs = decision_tests(values)
    known, known_pairs = one_by_one(values)
    assert list(factors) == FACTOR_COLUMNS and list(pairs) == PAIR_COLUMNS
    key = ["model", "source", "decision_question_id", "factor"]
    columns = [*key, "H", "df", "p_raw", "p_holm", "epsilon_squared", "n", "n_invalid"]
    columns += ["dropped_levels", "status"]
    pd.testing.assert_frame_equal(
        factors[columns], known[columns], check_dtype=False, rtol=1e-10, atol=1e-12
    )
    assert (
        set(factors["status"]) == {"ok", "constant", "one_group", "no_data"}
        and factors["dropped_levels"].str.len().max() > 4
    )
    columns = [*key, "level_1", "level_2", "difference", "t", "df", "p_raw", "p_holm", "status"]
    known_pairs = known_pairs[columns].reset_index(drop=True)
    assert {"age", "gender"} <= set(pairs["factor"]) and len(pairs) > 40
    pd.testing.assert_frame_equal(
        pairs[columns], known_pairs, check_dtype=False, rtol=1e-10, atol=1e-12
    )
    # The order of the answers changes no test.
    again = decision_tests(values.sample(frac=1, random_state=1))[0]
    by = ["model", "decision_question_id", "factor"]
    both = [
        f.sort_values(by)[[*by, "H", "p_holm", "n", "status"]].reset_index(drop=True)
        for f in (factors, again)
    ]
    pd.testing.assert_frame_equal(*both)


def planted():
    """Questions 0 (gender only, in the published counts), 1 (always yes), 2 (coin), 3 (gender
    decides all)."""
    rows = frame(coin(3), questions=4)
    question, gender = rows["decision_question_id"], rows["gender"]
    rng = np.random.default_rng(4)
    for name, yes in Q89_YES.items():
        rows.loc[(question == 0) & (gender == name), "value"] = (rng.permutation(45) < yes).astype(
            float
        )
    rows.loc[question == 1, "value"] = 1.0
    rows.loc[question == 3, "value"] = (gender == "female").astype(float)
    return rows


def test_families_of_holm():
    """DE-22: four factors first, then the pairs of a significant factor from their raw p; the rest
    is not tested."""
    factors, pairs = decision_tests(planted())
    gender = only(factors, decision_question_id=0, factor="gender")
    assert gender["multiplier"] == 4 and gender["significant"] and gender["pairs"] == "tested"
    assert float(f"{gender['p_holm']:.3e}") == 1.136e-3
    own = pairs[(pairs["decision_question_id"] == 0) & (pairs["factor"] == "gender")]
    least = only(own, direction="non-binary > male")
    assert float(f"{least['p_holm']:.2e}") == 4.31e-4 and least["multiplier"] == 3
    assert set(own["direction"]) == {"female > male", "non-binary > female", "non-binary > male"}
    assert own["significant"].sum() == 2
    tested = factors[factors["pairs"] == "tested"]
    assert (tested["significant"] & (tested["p_holm"] < 0.05)).all()
    assert not factors.loc[factors["pairs"] == "not_tested", "significant"].any()
    names = ["decision_question_id", "factor"]
    assert set(map(tuple, pairs[names].to_numpy())) == set(map(tuple, tested[names].to_numpy()))
    assert 2 not in set(pairs["decision_question_id"])
    always = factors[factors["decision_question_id"] == 1]
    assert (always["status"] == "constant").all() and always[
        ["p_raw", "multiplier", "p_holm"]
    ].isna().all(axis=None)
    assert (always["H"] == 0).all()


def test_levels_that_decide_everything():
    """No variance inside the levels: the pairs say so and are significant nowhere; their direction
    still shows."""
    factors, pairs = decision_tests(planted())
    own = pairs[(pairs["decision_question_id"] == 3) & (pairs["factor"] == "gender")]
    assert only(factors, decision_question_id=3, factor="gender")["significant"]
    assert (own["status"] == "zero_within_variance").all() and own[
        ["t", "p_raw", "p_holm"]
    ].isna().all(axis=None)
    assert not own["significant"].any()
    assert list(own["direction"].sort_values()) == [
        "female > male",
        "female > non-binary",
        "male = non-binary",
    ]
    text = only(question_table(factors, pairs), decision_question_id=3)["significant_pairs"]
    assert "gender: zero_within_variance" in text


def test_mean_and_rank_may_disagree():
    """P(yes) with a few high outliers: the mean is higher, the ranks are lower, so no direction is
    claimed."""
    rows = frame(
        lambda r: np.where(r["gender"] == "male", 0.2, 0.1) + 1e-3 * np.arange(len(r)) / len(r)
    )
    rows.loc[rows.index[rows["gender"] == "female"][:12], "value"] = 0.99
    own = decision_tests(rows)[1].query("factor == 'gender'")
    assert only(own, level_1="male", level_2="female")["direction"] == "unclear"
    assert only(own, level_1="male", level_2="non-binary")["direction"] == "male > non-binary"


def test_a_users_own_questions():
    """Fewer levels, one level, ages as text, text ids: statuses, no crash; `one_group` factors are
    no tests."""
    ages, genders = ("30", "60"), ("female", "male")
    rows = frame(
        lambda r: (r["age"] == "30") * 1.0, 2, ages=ages, genders=genders, races=("Asian",)
    )
    rows["decision_question_id"] = "own-" + rows["decision_question_id"].astype(str)
    rows.loc[0, "value"] = 0.0
    factors, _ = decision_tests(rows)
    assert only(factors, decision_question_id="own-0", factor="race")["status"] == "one_group"
    age = only(factors, decision_question_id="own-1", factor="age")
    assert (age["df"], age["multiplier"], age["trend"]) == (1, 3, -1)
    words = frame(coin(), ages=("young", "old"))
    assert decision_tests(words)[0]["trend"].isna().all()


def test_input_that_cannot_be_tested():
    found = decision_tests(frame(0.0).head(0))
    assert [len(f) for f in found] == [0, 0] and [list(f) for f in found] == [
        FACTOR_COLUMNS,
        PAIR_COLUMNS,
    ]
    assert question_table(*found).empty and consistent_effects(found[0]).empty
    factors, pairs = decision_tests(
        pd.concat([frame(NAN, model="silent"), frame(1.0, model="yes")])
    )
    assert factors["status"].tolist() == ["no_data"] * 4 + ["constant"] * 4 and pairs.empty
    assert (
        factors["n"].tolist() == [0] * 4 + [135] * 4
        and factors["n_invalid"].tolist() == [135] * 4 + [0] * 4
    )
    assert question_table(factors, pairs)["status"].tolist() == ["no_data", "constant"]
    unknown = frame(1.0)
    unknown["race"] = unknown["race"].where(unknown["race"] != "white")
    with pytest.raises(ValueError, match="answers without race"):
        decision_tests(unknown)
    with pytest.raises(ValueError, match=r"such as 0\.05"):
        decision_tests(frame(1.0), level=5)


# -- summaries (DE-34, DE-35) ----------------------------------------------------------------------


def test_question_table():
    """DE-35: one line a question, p of each factor, the significant pairs with their direction."""
    steep = frame(lambda r: (r["age"] < 60) * 1.0, model="steep")
    steep.loc[::17, "value"] = 0.0
    factors, pairs = decision_tests(pd.concat([planted(), steep]))
    table = question_table(factors, pairs)
    assert list(table) == [
        *["model", "source", "decision_question_id", "age", "gender", "race", "gender_race"],
        *["significant_pairs", "status"],
    ]
    assert len(table) == 5 and table["status"].tolist() == ["ok", "constant", "ok", "ok", "ok"]
    first = table.iloc[0]
    assert (
        first["gender"]
        == only(factors, model="m", decision_question_id=0, factor="gender")["p_holm"]
    )
    assert first["significant_pairs"].startswith("gender: non-binary > male, non-binary > female")
    assert table["significant_pairs"][1] == table["significant_pairs"][2] == ""
    n = pairs.query("model == 'steep' and factor == 'age'")["significant"].sum()
    assert n == 20  # 4 young ages against 5 old ones
    assert f"(+{n - 2} more)" in table["significant_pairs"][4]
    assert "more" not in question_table(factors, pairs, shown=40)["significant_pairs"][4]


def test_consistent_effects():
    """DE-34: question 0 falls with age for all three models, 1 for two of them, 2 is tested in two;
    gender is noise."""
    frames = []
    for i, model in enumerate(("a", "b", "c")):
        one = frame(0.0, questions=3, model=model)
        falls = (one["age"] - 20) / 80
        falls = falls.where((one["decision_question_id"] != 1) | (i > 0), 1 - falls)
        one["value"] = (np.random.default_rng(i).random(len(one)) > falls).astype(float)
        one.loc[(one["decision_question_id"] == 2) & (i == 2), "value"] = 1.0
        frames.append(one)
    values = pd.concat(frames)
    factors, _ = decision_tests(values)
    found = consistent_effects(factors)
    assert len(found) == 12
    age = found[found["factor"] == "age"].set_index("decision_question_id")
    assert age["all_significant"].tolist() == [True, True, False] and age[
        "n_significant"
    ].tolist() == [3, 3, 2]
    assert age["falling"].tolist() == [True, False, True]
    assert age["n_models"].tolist() == [3, 3, 2] and age["n_untested"].tolist() == [0, 0, 1]
    rest = found[found["factor"] != "age"]
    assert not rest["all_significant"].any() and rest["falling"].isna().all()
    own = factors[factors["factor"] == "age"]
    for _, row in own[own["status"] == "ok"].iterrows():
        mask = (values["model"] == row["model"]) & (
            values["decision_question_id"] == row["decision_question_id"]
        )
        mean = values[mask].groupby("age")["value"].mean()
        assert row["trend"] == pytest.approx(stats.spearmanr(mean.index, mean.round(12)).statistic)


def test_counting_significant_questions():
    """DE-22: questions with a significant factor, of those that could be tested."""
    rows = [("m", "s", q, "age", q < 2, "ok") for q in range(3)] + [
        ("m", "s", 3, "age", False, "constant")
    ]
    rows += [("m", "s", 0, "race", False, "one_group")]
    columns = ["model", "source", "decision_question_id", "factor", "significant", "status"]
    found = count_significant(pd.DataFrame(rows, columns=columns)).set_index("factor")
    assert found.loc["age", ["n_significant", "n", "n_invalid", "status"]].tolist() == [
        2,
        3,
        1,
        "few_clusters",
    ]
    assert np.isnan(found.loc["age", "ci_low"])
    assert found.loc["age", "share"] == pytest.approx(2 / 3)
    assert found.loc["race", "status"] == "none_tested" and np.isnan(found.loc["race", "share"])
