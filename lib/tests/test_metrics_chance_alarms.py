"""False alarms over many questions, differences between levels, shared noise (DE-4, DE-8,
DE-22, DE-34)."""

import numpy as np
import pandas as pd
import pytest

from katayori.errors import KatayoriError
from katayori.metrics.rank_tests import (
    chance_alarms,
    count_ends,
    decision_tests,
    kruskal_wallis,
    level_ranges,
    share_ends,
)
from katayori.metrics.response import (
    contingency_table,
    deviations_by_factor,
    ratio_over_questions,
    ratios_by_factor,
    response_ratio,
    shared_noise,
    unanimous_questions,
)

AGES = (20, 40, 60)
GENDERS = ("female", "male")
RACES = ("Asian", "white", "Black")


def cross(questions):
    names = ["decision_question_id", "age", "gender", "race"]
    grid = pd.MultiIndex.from_product([range(questions), AGES, GENDERS, RACES], names=names)
    items = grid.to_frame(index=False)
    return items.assign(item_id=items.astype(str).agg("/".join, axis=1), source="simulated")


def drawn(chance, items, seed=0, model="m"):
    yes = np.random.default_rng(seed).random(len(items)) < chance
    return items.assign(model=model, value=yes * 1.0)


# -- chance alarms ---------------------------------------------------------------------------------


def test_the_expected_alarms_are_those_of_noise():
    """The mean over noise respondents is what dealing says of each of them."""
    items = cross(40)
    noise = pd.concat([drawn(0.5, items, seed, f"m{seed}") for seed in range(12)])
    found = chance_alarms(noise, draws=30)
    assert found["expected"].mean() == pytest.approx(found["observed"].mean(), abs=1.0)
    assert ((found["observed"] >= found["low"]) & (found["observed"] <= found["high"])).sum() >= 10


def test_a_planted_effect_stands_above_the_alarms():
    items = cross(40)
    found = chance_alarms(drawn(0.2 + 0.6 * (items["gender"] == "male"), items), draws=30).iloc[0]
    assert found["observed"] > 2 * found["high"]
    assert (found["n"], found["n_tests"], found["status"]) == (40, 160, "ok")


def test_the_observed_alarms_are_those_of_the_tests():
    items = cross(30)
    values = drawn(0.3 + 0.4 * (items["race"] == "Asian"), items, seed=3)
    values.loc[values.index[::7], "value"] = np.nan
    tests, _ = decision_tests(values)
    observed = tests.groupby("decision_question_id")["significant"].any().sum()
    found = chance_alarms(values, draws=3).iloc[0]
    assert found["observed"] == observed
    assert found["n_tests"] == (tests["status"] == "ok").sum()


def test_nothing_to_test_has_no_alarms():
    once = cross(5).drop_duplicates("decision_question_id")
    found = chance_alarms(drawn(0.5, once), draws=3).iloc[0]
    assert (found["n"], found["n_tests"], found["status"]) == (0, 0, "none_tested")
    assert np.isnan(found["expected"])


# -- differences between levels --------------------------------------------------------------------


def test_the_largest_difference_is_bounded():
    """P(yes) of men .12 higher, with noise between rows: the interval holds it and leaves out 0."""
    items = cross(6)
    noise = np.random.default_rng(0).normal(0, 0.02, len(items))
    values = items.assign(model="m", value=0.4 + 0.12 * (items["gender"] == "male") + noise)
    found = level_ranges(values).set_index("factor")
    men = found.loc["gender"]
    assert (men["low"] > 0.05).all() and (men["high"] < 0.2).all()
    assert ((men["low"] <= men["difference"]) & (men["difference"] <= men["high"])).all()
    assert (men["clusters"] == 9).all() and (men["n"] == 18).all()
    assert set(found.loc["gender_race", "status"]) == {"few_clusters"}
    direct = values.groupby(["decision_question_id", "gender"])["value"].mean().unstack()
    assert men["difference"].to_numpy() == pytest.approx(direct["male"] - direct["female"])


def test_no_answers_at_all():
    empty = drawn(0.5, cross(1)).head(0)
    assert level_ranges(empty).empty and chance_alarms(empty, draws=1).empty


def test_levels_without_noise_or_without_answers():
    items = cross(2)
    exact = items.assign(model="m", value=0.4 + 0.1 * (items["gender"] == "male"))
    gender = level_ranges(exact).query("factor == 'gender'").iloc[0]
    assert gender["status"] == "no_variation" and np.isnan(gender["low"])
    none = level_ranges(exact.assign(value=np.nan))
    assert set(none["status"]) == {"no_data"}


# -- shared noise ----------------------------------------------------------------------------------


def of_two(same: bool):
    items = cross(30)
    chance = np.random.default_rng(1).uniform(0.2, 0.8, (2, len(items)))
    rng = np.random.default_rng(2)
    first = rng.random(len(items))
    draws = (first, first if same else rng.random(len(items)))
    sampled = [items.assign(model=f"m{k}", value=(draws[k] < chance[k]) * 1.0) for k in range(2)]
    of_p = [items.assign(model=f"m{k}", value=chance[k]) for k in range(2)]
    return pd.concat(sampled), pd.concat(of_p)


def test_draws_that_two_models_share_are_seen():
    """DE-8: the same draw an item for both models; with draws of their own there is nothing."""
    coupled = shared_noise(*of_two(same=True)).iloc[0]
    assert coupled["shared"] and coupled["correlation"] > 0.4
    assert coupled["ci_low"] < coupled["correlation"] < coupled["ci_high"]
    assert (coupled["n"], coupled["clusters"]) == (540, 30)
    free = shared_noise(*of_two(same=False)).iloc[0]
    assert not free["shared"] and free["ci_low"] < 0 < free["ci_high"]


def test_the_correlation_is_pearsons():
    sampled, of_p = of_two(same=True)
    residual = sampled["value"].to_numpy() - of_p["value"].to_numpy()
    known = np.corrcoef(residual.reshape(2, -1))[0, 1]
    assert shared_noise(sampled, of_p)["correlation"].item() == pytest.approx(known)


def test_one_model_shares_with_nobody():
    sampled, of_p = of_two(same=True)
    assert shared_noise(sampled.query("model == 'm0'"), of_p).empty
    assert shared_noise(sampled.head(0), of_p.head(0)).empty


# -- intervals over questions ----------------------------------------------------------------------


def test_ratios_have_intervals_over_questions():
    """Answers of one question go together: the interval is wider than that of independent
    answers."""
    items = cross(12)
    own = np.random.default_rng(3).choice([0.1, 0.9], 12)[items["decision_question_id"]]
    values = drawn(own, items)
    over = ratio_over_questions(values, ["model"]).iloc[0]
    alone = response_ratio(values, ["model"]).iloc[0]
    assert over["ratio"] == alone["ratio"] and over["clusters"] == 12
    assert over["ci_high"] - over["ci_low"] > 3 * (alone["ci_high"] - alone["ci_low"])
    of_p = ratio_over_questions(values.assign(value=own), ["model"]).iloc[0]
    assert of_p["ci_low"] < of_p["ratio"] < of_p["ci_high"]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_no_interval_of_width_zero(value):
    values = cross(12).assign(model="m", value=value)
    found = ratio_over_questions(values, ["model"]).iloc[0]
    assert found["status"] == "ok" and found["ci_high"] - found["ci_low"] > 0.1
    levels = ratios_by_factor(values)
    assert (levels["ci_high"] > levels["ci_low"]).all()
    deviations = deviations_by_factor(values)
    assert set(deviations["status"]) == {"no_variation"} and deviations["ci_low"].isna().all()
    equal = response_ratio(values.assign(value=0.4), ["model"]).iloc[0]
    assert equal["status"] == "no_variation" and np.isnan(equal["ci_low"])


def test_few_questions_have_no_interval():
    values = drawn(0.5, cross(4))
    assert ratio_over_questions(values, ["model"])["status"].tolist() == ["few_clusters"]
    assert set(deviations_by_factor(values)["status"]) == {"few_clusters"}


# -- what is not there -----------------------------------------------------------------------------


def test_a_question_without_answers_and_one_that_does_not_exist():
    values = drawn(0.5, cross(3))
    values.loc[values["decision_question_id"] == 1, "value"] = np.nan
    assert kruskal_wallis(contingency_table(values, "race", 1))["status"] == "no_data"
    with pytest.raises(KatayoriError, match="no question 99"):
        contingency_table(values, "race", 99)


def test_always_is_said_of_how_many_answers():
    values = drawn(1.0, cross(3))
    assert unanimous_questions(values)["fewest_answers"].item() == 18
    once = values.drop_duplicates("decision_question_id")
    assert unanimous_questions(once)["fewest_answers"].item() == 1


def test_numbers_of_questions_have_intervals():
    """0 of 70 is not 0 for certain, and 4 questions have no interval."""
    none = count_ends(0, 70)
    assert none["ci_low"] == 0 and 2 < none["ci_high"] < 5
    some = count_ends(7, 70)
    assert some["ci_low"] < 7 < some["ci_high"]
    assert count_ends(1, 4)["status"] == "few_clusters"
    shares = pd.DataFrame({"n": [70, 0], "line": [0.1, np.nan]})
    ends = share_ends(shares, "line")
    assert ends["ci_low"][0] == pytest.approx(some["ci_low"] / 70)
    assert ends["status"] == ["ok", "none_tested"] and ends["clusters"] == [70, 0]
