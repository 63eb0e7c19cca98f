"""Position-free readings: a hidden lean behind a locked place is found, and none where none is."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.metrics import position_free as free

ROLES = ("non_target", "target", "unknown")
ORDERS = list(itertools.permutations(ROLES))


def asked(rng, *, templates=40, lean=0.0, slot=(0.0, 4.0, 0.0), noise=0.5, orders=None, skew=False):
    """Items of a planted respondent that likes places by `slot` and the target by `lean` nats.

    `orders`: how many of the six orders each content has (all by default); with `skew` the target
    stands at the liked place in two of three items.
    """
    rows = []
    for template in range(templates):
        chosen = ORDERS if orders is None else [ORDERS[(template + n) % 6] for n in range(orders)]
        if skew:
            at_liked = [order for order in ORDERS if order[1] == "target"]
            chosen = [*at_liked, ORDERS[template % 6]]
        for number, order in enumerate(chosen):
            logit = np.array(slot) + rng.normal(0, noise, 3)
            logit = logit + np.array([lean if role == "target" else 0.0 for role in order])
            p = np.exp(logit - logit.max())
            p = p / p.sum()
            row = {"model": "m", "prompt_id": "p", "template_id": f"t{template}"}
            row |= {"base_id": f"t{template}", "item_id": f"t{template}-{number}"}
            row |= {f"p_{place}": p[place] for place in range(3)}
            row |= {f"role_{place}": order[place] for place in range(3)}
            rows.append(row | {"answer": str(int(p.argmax()))})
    return pd.DataFrame(rows)


def lean_of(table):
    """Mean log odds of target against non-target by soft score."""
    kept = table[table["status"] == "ok"]
    return float(np.log(kept["soft_target"] / kept["soft_non_target"]).mean())


def test_a_locked_place_is_flagged_and_letters_are_lots():
    frame = asked(np.random.default_rng(1), slot=(0.0, 9.0, 0.0), lean=1.0)
    row = free.slot_report(frame).iloc[0]
    assert row["status"] == "position_bound" and row["share_1"] == 1.0
    letters = free.readings(frame).query("reading == 'letter'")
    assert letters["choice"].value_counts(normalize=True).round(3).nunique() == 1


@pytest.mark.parametrize("lean", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("skew", [False, True])
def test_the_hidden_lean_is_found_behind_a_locked_place(lean, skew):
    frame = asked(np.random.default_rng(2), lean=lean, slot=(0.0, 6.0, 1.0), skew=skew)
    read = free.readings(frame)
    assert abs(lean_of(read[read["reading"] == "calibrated"]) - lean) < 0.15
    if not skew:
        assert abs(lean_of(free.permuted(frame)) - lean) < 0.15
    if skew:  # a place that holds the target more often lends it its share
        assert lean_of(read[read["reading"] == "probability"]) - lean > 1.0


@pytest.mark.slow
def test_a_fair_locked_model_leans_hardly_ever():
    rng = np.random.default_rng(3)
    far = 0
    for _ in range(60):
        read = free.readings(asked(rng, templates=25, orders=3, slot=(0.0, 6.0, 0.0)))
        own = read[read["reading"] == "calibrated"]
        lean = np.log(own["soft_target"] / own["soft_non_target"])
        by_template = lean.groupby(own["template_id"]).mean()
        t = by_template.mean() / by_template.sem()
        far += abs(t) > 2.06
    assert far <= 8


def test_what_cannot_be_read_is_said():
    frame = asked(np.random.default_rng(4), templates=30)
    frame.loc[0, "p_2"] = 0.0
    frame.loc[1, "answer"] = None
    read = free.readings(frame).set_index(["reading", "item_id"])["status"]
    assert read["letter", "t0-1"] == "invalid"
    assert read["probability", "t0-0"] == read["calibrated", "t0-0"] == "incomplete"
    whole = free.permuted(frame).set_index("base_id")["status"]
    assert whole["t0"] == "incomplete" and (whole.drop("t0") == "ok").all()
    few = free.readings(frame[frame["template_id"].isin([f"t{n}" for n in range(20)])])
    assert set(few.query("reading == 'calibrated'")["status"]) == {"not_calibrated", "incomplete"}
    lacking = free.permuted(frame.drop(index=12)).set_index("base_id")
    assert lacking.loc["t2", "status"] == "lacks_an_order" and lacking.loc["t2", "n_orders"] == 5


def test_places_and_roles_that_go_together_are_not_calibrated():
    frame = asked(np.random.default_rng(5))
    frame = frame[frame["item_id"].str.endswith("-0")]  # one order throughout
    _, status = free.calibrated_log_probabilities(frame)
    assert set(status) == {"not_calibrated"}


def test_own_template_is_not_learned_from():
    frame = asked(np.random.default_rng(6), templates=25, noise=0.0)
    odd = frame["template_id"] == "t0"
    frame.loc[odd, ["p_0", "p_1", "p_2"]] = [0.9, 0.05, 0.05]
    values, status = free.calibrated_log_probabilities(frame)
    assert (status == "ok").all()
    others = values[~odd.to_numpy()]
    assert np.abs(others).max() > 0.01  # they learn from the odd one
    kept = free.calibrated_log_probabilities(frame[~odd])[0]
    own = values[odd.to_numpy()].mean(axis=0)
    place = np.array([0.0, 4.0, 0.0]) - 4 / 3
    expected = np.log([0.9, 0.05, 0.05]) - np.log([0.9, 0.05, 0.05]).mean() - place
    assert np.allclose(own, expected) and np.allclose(kept, 0.0, atol=1e-9)
