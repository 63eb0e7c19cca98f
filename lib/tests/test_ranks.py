"""Kruskal-Wallis, Conover and Holm: other software, published figures, noise and truth."""

import numpy as np
import pandas as pd
import pingouin
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.multitest import multipletests

from katayori import frames
from katayori.data import paper_facts
from katayori.frames import FrameError
from katayori.metrics import ranks
from katayori.metrics.factors import by_factor
from katayori.metrics.ranks import holm
from katayori.papers.discrim_eval import AGES

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


def long(table):
    """A row an answer; each column of the table is a level."""
    return pd.DataFrame(table).melt(var_name="level")


def kruskal_wallis(table):
    return ranks.kruskal(long(table), value="value", level="level").iloc[0]


def conover(table):
    return ranks.conover(long(table), value="value", level="level")


def only(found, **cell):
    keep = np.logical_and.reduce([found[k] == v for k, v in cell.items()])
    assert keep.sum() == 1
    return found[keep].iloc[0]


@settings(max_examples=50, database=None)
@given(st.one_of(BINARY, RATIOS))
def test_h_is_scipys(table):
    """DE-20: H and p are scipy's where defined; elsewhere NaN p, the reason, and the levels that
    fell away."""
    found, groups = kruskal_wallis(table), groups_of(table)
    assert found["n"] == sum(map(len, groups)) and found["n_invalid"] == np.isnan(table).sum()
    empty = np.flatnonzero(np.isnan(table).all(axis=0))
    assert found["dropped_levels"] == ", ".join(map(str, empty))
    assert found["df"] == max(len(groups) - 1, 0)
    if len(groups) < 2:
        assert (
            found["status"] == ("one_group" if len(groups) else "no_data")
            and np.isnan([found["value"], found["p"], found["epsilon_squared"]]).all()
        )
    elif len(set(np.concatenate(groups))) == 1:
        assert found["status"] == "constant" and found["value"] == 0
        assert np.isnan([found["p"], found["epsilon_squared"]]).all()
    else:
        known = stats.kruskal(*groups)
        assert found["status"] == "ok"
        assert (found["value"], found["p"]) == pytest.approx(
            (known.statistic, known.pvalue), abs=1e-9
        )
        assert found["epsilon_squared"] == pytest.approx(
            found["value"] / (found["n"] - 1), abs=1e-12
        )


def test_golden_question_29():
    """DE-30, DE-31: the reconstructed yes counts of 15 by age give the published H and raw p."""
    row = paper_facts.printed("discrim_eval", "kruskal_wallis").query("question_id == 29").iloc[0]
    found = kruskal_wallis(of_counts(Q29_YES, 15))
    assert round(found["value"], 3) == row["H"] == 17.593 and found["df"] == 8
    assert round(found["p"], 4) == row["p_value"] == 0.0245


def test_means_that_differ_by_rounding_tie():
    """.1 + .2 is .3: without rounding before ranking the two would get different ranks."""
    table = np.array([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], [0.3, 0.3]])
    assert kruskal_wallis(table)["status"] == "constant"
    mixed = np.vstack([table, [0.9, 0.2]])
    assert kruskal_wallis(mixed).equals(kruskal_wallis(np.round(mixed, 6)))


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
    theirs = paper_facts.printed("discrim_eval", "kruskal_wallis").query(where)["p_value"].iloc[0]
    assert round(holm([0.3, p, 0.2, 0.9])[1], 5) == theirs == 0.00114
    pairs = conover(table)
    pairs["p_holm"] = holm(pairs["p"])
    for _, row in paper_facts.printed("discrim_eval", "pairwise").query(where).iterrows():
        ours = only(pairs, level_1=row["level_1"], level_2=row["level_2"])["p_holm"]
        assert float(f"{ours:.2e}") == row["p_value"]


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


def test_holm_inside_each_family_is_that_of_statsmodels():
    rng = np.random.default_rng(3)
    tests = pd.DataFrame({"p": rng.random(40) ** 3, "model": rng.choice(["a", "b", "c"], 40)})
    found = ranks.adjust(tests, p="p", family=["model"])
    for _, one in found.groupby("model"):
        oracle = multipletests(one["p"], method="holm")[1]
        assert one["p_holm"].to_numpy() == pytest.approx(oracle, abs=1e-12)
        assert set(one["tests"]) == {len(one)}


def test_a_test_without_p_is_no_member_of_its_family():
    tests = pd.DataFrame({"p": [0.01, np.nan, 0.04], "model": ["a", None, None]})
    together = ranks.adjust(tests, p="p")
    assert together["p_holm"].tolist() == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert together["tests"].tolist() == [2, 2, 2]
    apart = ranks.adjust(tests, p="p", family="model")  # a missing name is a family, too
    assert apart["p_holm"].tolist() == pytest.approx([0.01, np.nan, 0.04], nan_ok=True)
    assert apart["tests"].tolist() == [1, 1, 1]
    with pytest.raises(FrameError, match=r"adjust: column 'p' holds .*1.5"):
        ranks.adjust(tests.assign(p=1.5), p="p")


def ragged(seed=5):
    """Answers of two models about levels of unlike number and size, some missing, many tied."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"model": rng.choice(["a", "b"], 300), "group": rng.choice([*"wxyz"], 300)}
    )
    frame = frame[(frame["model"] == "a") | (frame["group"] != "z")].reset_index(drop=True)
    frame["value"] = rng.integers(0, 4, len(frame)) * 1.5 + (frame["group"] == "x")
    frame.loc[::11, "value"] = np.nan
    return frame


def test_kruskal_of_every_cell_is_that_of_scipy():
    frame = ragged()
    found = ranks.kruskal(frame, value="value", level="group", by="model").set_index("model")
    for model, one in frame.groupby("model"):
        groups = [values.dropna() for _, values in one.groupby("group")["value"]]
        oracle = stats.kruskal(*groups)
        row = found.loc[model]
        assert (row["value"], row["p"]) == pytest.approx((oracle.statistic, oracle.pvalue))
        assert row["df"] == len(groups) - 1
        assert row["n"] == one["value"].count()
        assert row["n_invalid"] == one["value"].isna().sum()


def test_conover_of_every_pair_is_a_t_of_ranks_with_the_pooled_variance():
    frame = ragged()
    found = ranks.conover(frame, value="value", level="group", by=["model"])
    assert found["model"].value_counts().to_dict() == {"a": 6, "b": 3}
    for model, one in frame.dropna().groupby("model"):
        fit = smf.ols("rank ~ group", one.assign(rank=one["value"].rank())).fit()
        oracle = fit.t_test_pairwise("group", method="holm").result_frame
        means = one.groupby("group")["value"].mean()
        for row in found[found["model"] == model].to_dict("records"):
            first, second = sorted([row["level_1"], row["level_2"]])
            theirs = oracle.loc[f"{second}-{first}"]
            assert abs(row["t"]) == pytest.approx(abs(theirs["t"]))
            assert row["p"] == pytest.approx(theirs["P>|t|"])
            gap = means[row["level_1"]] - means[row["level_2"]]
            assert row["value"] == pytest.approx(gap)
            assert (row["mean_1"], row["df"]) == (means[row["level_1"]], fit.df_resid)


def test_levels_keep_the_order_of_the_frame_and_their_trend():
    """Levels 3, 1, 2 with means 0, .5, 1: the ranks of levels and means correlate by -.5."""
    frame = pd.DataFrame({"age": np.repeat([3, 1, 2], 4), "question": 1})
    frame["yes"] = [0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1]
    row = ranks.kruskal(frame, value="yes", level="age", by="question").iloc[0]
    assert row["trend"] == pytest.approx(-0.5) and row["dropped_levels"] == ""
    pairs = ranks.conover(frame, value="yes", level="age", by="question")
    assert pairs[["level_1", "level_2"]].to_numpy().tolist() == [[3, 1], [3, 2], [1, 2]]
    assert pairs["direction"].tolist() == ["1 > 3", "2 > 3", "2 > 1"]
    frame.loc[frame["age"] == 1, "yes"] = np.nan
    row = ranks.kruskal(frame, value="yes", level="age").iloc[0]
    assert (row["dropped_levels"], row["df"], row["trend"]) == ("1", 1, pytest.approx(-1.0))
    texts = frame.assign(age=frame["age"].map({1: "old", 2: "2", 3: "young"}))
    assert np.isnan(ranks.kruskal(texts, value="yes", level="age")["trend"]).all()


def test_a_missing_name_of_a_cell_is_a_cell():
    frame = ragged().assign(model=None)
    found = ranks.kruskal(frame, value="value", level="group", by="model")
    assert found["n"].tolist() == [frame["value"].count()]


@pytest.mark.parametrize("verb", [ranks.kruskal, ranks.conover])
def test_tests_of_nothing_say_why(verb):
    full = verb(ragged(), value="value", level="group", by="model")
    empty = frames.not_asked("not recorded", ["model", "group", "value"])
    nothing = verb(empty, value="value", level="group", by="model")
    assert list(nothing) == list(full) and frames.reason_of(nothing) == "not recorded"
    with pytest.raises(FrameError, match="no column 'level'"):
        verb(ragged(), value="value", level="level")


FACTORS = {"size": ["size"], "both": ["size", "tone"]}


def persons(questions, effect=0.0, model="m", seed=0):
    names = ["question", "size", "tone", "copy"]
    sizes = [range(questions), range(3), ["low", "high"], range(6)]
    frame = pd.MultiIndex.from_product(sizes, names=names).to_frame(index=False)
    yes = np.random.default_rng(seed).random(len(frame)) < 0.3 + effect * (frame["size"] == 0)
    return frame.assign(model=model, yes=yes.astype(float))


def alarms(frame, **more):
    """Each copy is a person of its own: a factor, too, so that copies are not averaged."""
    names = {"value": "yes", "factors": FACTORS | {"copy": ["copy"]}, "by": "model"}
    return ranks.chance_alarms(frame, **names, draws=40, **more).iloc[0]


def test_alarms_by_chance_are_about_those_of_noise():
    """Of 12 respondents without an effect, the observed alarms scatter about the expected ones."""
    each = [alarms(persons(30, seed=seed)) for seed in range(12)]
    assert np.mean([row["observed"] - row["value"] for row in each]) == pytest.approx(0, abs=0.8)
    assert {(row["n"], row["clusters"], row["tests"]) for row in each} == {(30, 30, 90)}


def test_a_planted_effect_alarms_more_often_than_chance():
    row = alarms(persons(30, effect=0.6))
    assert row["observed"] > 20 and row["ci_high"] < 8


def test_observed_alarms_are_those_of_the_two_verbs():
    frame = pd.concat([persons(20, 0.3), persons(20, 0.0, model="other", seed=1)])
    frame.loc[frame.index[::5], "yes"] = np.nan
    long = by_factor(frame, FACTORS | {"copy": ["copy"]})
    by = ["model", "question"]
    tests = ranks.kruskal(long, value="yes", level="level", by=[*by, "factor"])
    tests = ranks.adjust(tests, p="p", family=by)
    significant = tests.assign(alarm=tests["p_holm"] < 0.05).groupby(by)["alarm"].any()
    factors = FACTORS | {"copy": ["copy"]}
    found = ranks.chance_alarms(frame, value="yes", factors=factors, by="model", draws=3)
    observed = found.set_index("model")["observed"]
    assert observed.to_dict() == significant.groupby("model").sum().to_dict()
