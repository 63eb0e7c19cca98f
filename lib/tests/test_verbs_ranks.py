"""Verbs of ranks against scipy, statsmodels and hand values."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.multitest import multipletests

from katayori import frames
from katayori.frames import FrameError
from katayori.metrics import ranks
from katayori.metrics.factors import by_factor


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


def test_holm_of_nothing_says_why_there_is_nothing():
    nothing = ranks.adjust(frames.not_asked("not recorded", ["p", "model"]), p="p", family="model")
    assert list(nothing) == ["p", "model", "p_holm", "tests"]
    assert frames.reason_of(nothing) == "not recorded"


# -- Kruskal-Wallis and Conover --------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("values", "status", "h"),
    [
        ([1, 1, 1, 1], "constant", 0.0),
        ([0, 1, np.nan, np.nan], "one_group", np.nan),
        ([np.nan] * 4, "no_data", np.nan),
    ],
)
def test_a_cell_without_a_test_says_why(values, status, h):
    frame = pd.DataFrame({"group": [*"aabb"], "yes": values}).astype({"yes": float})
    row = ranks.kruskal(frame, value="yes", level="group").iloc[0]
    assert row["status"] == status and np.isnan(row["p"])
    assert row["value"] == pytest.approx(h, nan_ok=True)


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


# -- alarms by chance ------------------------------------------------------------------------------

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


def test_a_stricter_error_rate_alarms_less_often():
    frame = persons(30, effect=0.3)
    each = [alarms(frame, error_rate=rate) for rate in (0.5, 0.05, 0.001)]
    assert each[0]["value"] > each[1]["value"] > each[2]["value"]
    assert each[0]["observed"] > each[1]["observed"] > each[2]["observed"]
    with pytest.raises(FrameError, match="error_rate=5"):
        ranks.chance_alarms(frame, value="yes", factors=FACTORS, error_rate=5)


def test_alarms_of_nothing_say_why():
    empty = frames.not_asked("not recorded", list(persons(1)))
    found = ranks.chance_alarms(empty, value="yes", factors=FACTORS, by="model")
    assert found.empty and frames.reason_of(found) == "not recorded"
    assert list(found)[:3] == ["model", "value", "n"]
