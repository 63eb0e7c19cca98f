"""What the shuffle of options alone gives (IJ-11, IJ-19): shares, slopes beyond it."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from katayori.frame_checks import with_items
from katayori.papers.inter_jbbq import items as inter_jbbq, option_slots as slots, scores as ix


@pytest.fixture(scope="module")
def items():
    return inter_jbbq.generate()


def answered(items, answers):
    """The frame of `with_design` for one model's answers, "0" to "2" in the order of the items."""
    log = pd.DataFrame({"item_id": items["item_id"], "model": "m", "source": "live"})
    return ix.with_design(
        with_items(log.assign(prompt_id="p", outcome="ok", answer=answers), items)
    )


def test_shares_of_the_study_set(items):
    """IJ-11: the shares at place 1, which were the housing accuracies of who always writes 1."""
    found = slots.slot_shares(items).set_index(["topic", "n_attributes"])
    housing = found.loc["housing", "unknown_at_1"]
    assert (100 * housing).round(1).tolist() == [41.4, 39.7, 31.6, 25.9, 27.6]
    columns = ["unknown_at_0", "unknown_at_1", "unknown_at_2"]
    assert np.allclose(found[columns].sum(axis=1), 1) and set(found["status"]) == {
        "fixed_by_the_shuffle"
    }


def test_the_slot_locked_answerer_is_itself(items):
    """Who always writes 1 has no gap to it; its accuracy follows from the shares."""
    frame = answered(items, "1")
    found = slots.locked_beside(frame, [*ix.MODEL, "ambiguity", "topic", "n_attributes"])
    assert set(found["locked"]) == {"1"} and found["agree"].eq(1).all() and found["gap"].eq(0).all()
    shares = slots.slot_shares(items).set_index(["topic", "n_attributes"])["unknown_at_1"]
    wide = found.pivot(index=["topic", "n_attributes"], columns="ambiguity", values="value")
    assert np.allclose(wide["amb"], shares) and np.allclose(wide["dis"], (1 - shares) / 2)


def test_a_model_without_valid_answers_has_no_slot(items):
    frame = answered(items, "1").assign(outcome="out_of_choice", invalid=True)
    found = slots.slot_locked(frame)
    assert found["locked"].isna().all() and found["right_if_locked"].isna().all()


def test_the_shuffle_has_a_slope_and_nothing_beyond_it(items):
    """IJ-19: a slot-locked answerer has a raw trend in housing; beyond the slots, none."""
    frame = answered(items, "1")
    raw = ix.trend(frame).set_index(["topic", "ambiguity"]).loc[("housing", "amb")]
    assert raw["value"] == pytest.approx(-0.0517, abs=1e-4) and raw["p"] < 0.05
    beyond = slots.trend_beyond_slots(frame)
    assert set(beyond["status"]) == {"no_variation"} and beyond["p"].isna().all()
    assert beyond["value"].eq(0).all()


def test_the_slope_is_that_of_least_squares(items):
    """statsmodels with constants for family, order and question, wording: the same slope."""
    rng = np.random.default_rng(0)
    frame = answered(items, rng.integers(0, 3, len(items)).astype(str))
    one = frame[(frame["topic"] == "manners") & (frame["ambiguity"] == "amb")]
    groups = [one["cluster"], one["order"] + one["question"], one["unknown_wording"]]
    x = pd.concat([pd.get_dummies(group) for group in groups], axis=1).astype(float)
    wanted = sm.OLS(one["correct"], x.assign(size=one["n_attributes"])).fit().params["size"]
    found = slots.trend_beyond_slots(one).iloc[0]
    assert found["value"] == pytest.approx(wanted, abs=1e-9)
    assert found["ci_low"] < wanted < found["ci_high"] and found["clusters"] == 26


def preferring(items, rng, effect=0.0, preference=2.5):
    """A respondent drawn to place 1; unknown is likelier the more attributes are told."""
    odds = np.zeros((len(items), 3))
    odds[:, 1] += preference
    rows, place = np.arange(len(items)), items["unknown_position"].to_numpy(int)
    odds[rows, place] += effect * (items["n_attributes"].to_numpy(float) - 3)
    chosen = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    return answered(items, chosen.astype(str))


@pytest.mark.slow_all
def test_level_and_power_beside_a_preference_for_a_place(items):
    """On noise with a place preferred the raw test errs, that beyond the slots keeps its level.

    A trend planted beside the preference is found.
    """
    some = items[(items["topic"] == "housing") & (items["context_condition"] == "ambiguous")]
    rng = np.random.default_rng(7)
    wrong = raw = covered = found = 0
    runs = 120
    for _ in range(runs):
        frame = preferring(some, rng, preference=4.0)
        raw += ix.trend(frame).iloc[0]["p"] < 0.05
        beyond = slots.trend_beyond_slots(frame).iloc[0]
        wrong += beyond["p"] < 0.05
        covered += beyond["ci_low"] <= 0 <= beyond["ci_high"]
        found += slots.trend_beyond_slots(preferring(some, rng, 0.6, 2.0)).iloc[0]["p"] < 0.05
    assert raw > 0.3 * runs, "the shuffle shows as a trend"
    assert wrong <= 0.09 * runs and covered >= 0.92 * runs
    assert found > 0.9 * runs


def test_what_has_no_slope_says_so():
    """One attribute only, and few families."""
    frame = pd.DataFrame({"cluster": list("ffgg"), "n_attributes": 1, "correct": [0.0, 1, 1, 0]})
    frame = frame.assign(model="m", source="s", prompt_id="p", topic="t", ambiguity="amb")
    found = slots.trend_beyond_slots(frame.assign(invalid=False)).iloc[0]
    assert found["status"] == "no_families" and np.isnan(found["value"])
    few = slots.trend_beyond_slots(frame.assign(invalid=False, n_attributes=[1, 2, 1, 2])).iloc[0]
    assert few["status"] == "few_clusters" and few["value"] == 0 and np.isnan(few["ci_low"])
