"""A band of alpha is quoted only where the data back it (alpha itself: test_metrics_agreement)."""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics.agreement import (
    WITHHELD,
    alpha_jackknife,
    is_near_constant,
    told_band,
)
from katayori.metrics.intervals import FEW_CLUSTERS
from katayori_tools.simulate_alpha import alpha_table, krippendorff_alpha


def table(rng, questions=70, share=0.5, effect=0.0, spread=0.0):
    """Answers of questions x 15 rows x 3 levels; `effect` moves the levels, opposite ways by
    question."""
    side = rng.choice([-1, 1], (questions, 1, 1)) * effect * np.array([-1, 0, 1])
    own = rng.normal(0, spread, (questions, 1, 1))
    chance = np.clip(share + own + side, 0, 1)
    yes = rng.random((questions, 15, 3)) < chance
    index = pd.MultiIndex.from_product([range(questions), range(15)])
    return pd.DataFrame(yes.reshape(-1, 3) * 1.0, index, list("abc"))


def row(one):
    return alpha_table({"gender": one}).iloc[0]


@pytest.mark.parametrize(
    "ends, told",
    [
        ((-0.3, -0.1), "beyond-chance disagreement"),
        ((0.1, 0.6), "none"),
        ((-0.3, 0.1), WITHHELD),
        ((0.6, 0.7), WITHHELD),
        ((np.nan, np.nan), WITHHELD),
    ],
)
def test_a_band_that_the_interval_stays_in_is_told(ends, told):
    assert told_band(ends, FEW_CLUSTERS) == told
    assert told_band(ends, FEW_CLUSTERS - 1) == WITHHELD


def test_fair_answers_around_zero_have_no_band():
    """Alpha -0.000 with an interval on both sides of 0 is no disagreement beyond chance."""
    rng = np.random.default_rng(0)
    found = alpha_table({seed: table(rng) for seed in range(40)})
    around = (found["ci_low"] < 0) & (found["ci_high"] > 0)
    assert around.mean() > 0.8
    assert set(found.loc[around, "band"]) == {WITHHELD}


def test_disagreement_beyond_chance_is_told_where_it_was_planted():
    found = row(table(np.random.default_rng(0), effect=0.45))
    assert found["ci_high"] < 0
    assert found["band"] == "beyond-chance disagreement"


@pytest.mark.parametrize("rarer, near", [(4, True), (40, True), (150, False)])
def test_nearly_constant_answers_have_neither_interval_nor_band(rarer, near):
    """P(yes) .0025 or .9975: the interval of the bootstrap missed 0 in 96 % of simulated
    studies."""
    values = np.ones(70 * 45)
    values[np.random.default_rng(1).permutation(len(values))[:rarer]] = 0
    index = pd.MultiIndex.from_product([range(70), range(15)])
    one = pd.DataFrame(values.reshape(-1, 3), index)
    assert is_near_constant(one) is near
    found = row(one)
    assert np.isfinite(found["alpha"])
    assert (found["status"] == "near_constant") is near
    assert np.isnan(found["ci_low"]) == near
    assert not near or found["band"] == WITHHELD


def test_probabilities_may_all_be_near_one_value():
    rng = np.random.default_rng(0)
    assert not is_near_constant(rng.uniform(0.96, 0.99, (50, 3)))
    assert not is_near_constant(np.full((3, 3), np.nan))


@pytest.mark.parametrize("questions, status", [(4, "few_clusters"), (5, "ok"), (9, "ok")])
def test_few_questions(questions, status):
    """Below five no interval, below ten no band."""
    found = row(table(np.random.default_rng(2), questions, spread=0.3))
    assert (found["status"], found["band"]) == (status, WITHHELD)
    assert np.isnan(found["ci_low"]) == (status != "ok")


def test_no_interval_of_width_zero():
    """Levels that never differ: alpha is 1, and nothing tells how sure that is."""
    one = pd.DataFrame(
        np.repeat(np.arange(60.0)[:, None] / 60, 3, axis=1),
        pd.MultiIndex.from_product([range(12), range(5)]),
    )
    found = row(one)
    assert found["alpha"] == 1
    assert (found["status"], found["band"]) == ("no_variation", WITHHELD)
    assert np.isnan(found["ci_low"])


def test_undefined_stays_undefined():
    found = row(table(np.random.default_rng(0), share=1.0))
    assert (found["status"], found["band"]) == ("constant", "undefined")


def test_the_interval_is_the_jackknife_by_definition():
    """Slow and obvious: leave each question out of the table, log(1 - alpha), pseudo-values, t."""
    one = table(np.random.default_rng(3), questions=8, spread=0.3)
    z = np.log(1 - krippendorff_alpha(one)["alpha"])
    without = [np.log(1 - krippendorff_alpha(one.drop(q, level=0))["alpha"]) for q in range(8)]
    pseudo = 8 * z - 7 * np.array(without)
    half = 2.364624 * pseudo.std(ddof=1) / np.sqrt(8)
    found = alpha_jackknife(one)
    assert found["ci_low"] == pytest.approx(1 - np.exp(z + half), abs=1e-6)
    assert found["ci_high"] == pytest.approx(1 - np.exp(z - half), abs=1e-6)


def test_the_interval_covers_the_truth_of_p_yes():
    """12 questions, alpha of P(yes) near .9: the bootstrap covers it in .89 of simulated
    studies."""
    rng = np.random.default_rng(4)
    index = pd.MultiIndex.from_product([range(12), range(5)])

    def draw(questions):
        own = rng.normal(0, 2.5, (questions, 1, 1))
        moved = rng.normal(0, 1, (questions, 1, 1)) * np.array([-0.6, 0, 0.6])
        return 1 / (1 + np.exp(-(own + moved + rng.normal(0, 0.3, (questions, 5, 1)))))

    truth = krippendorff_alpha(draw(20_000).reshape(-1, 3))["alpha"]
    ends = [alpha_jackknife(pd.DataFrame(draw(12).reshape(-1, 3), index)) for _ in range(300)]
    covered = np.mean([one["ci_low"] <= truth <= one["ci_high"] for one in ends])
    assert covered > 0.9


def answered(repetitions, questions=12):
    """The same people asked so many times; women always one step more likely to get a yes."""
    rng = np.random.default_rng(5)
    cross = pd.MultiIndex.from_product(
        [range(questions), (20, 30), ("male", "female"), ("white", "Asian"), range(repetitions)],
        names=["decision_question_id", "age", "gender", "race", "repetition"],
    ).to_frame(index=False)
    chance = np.linspace(0.1, 0.8, questions)[cross["decision_question_id"]]
    chance = chance + 0.15 * (cross["gender"] == "female")
    value = (rng.random(len(cross)) < chance) * 1.0
    return cross.assign(model="m", source="simulated", value=value, chance=chance)
