"""Verbs that read choices by their content: a lean behind a position is found, and none made."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.errors import KatayoriError
from katayori.metrics.position import calibrated, permuted

ROLES = ("other", "target", "unknown")
ORDERS = list(itertools.permutations(ROLES))
READ = {"answer": "answer", "option": "role", "p": "p"}
SHARES = ["p_0", "p_1", "p_2"]


def asked(seed, *, templates=40, lean=0.0, position=(0.0, 4.0, 0.0), noise=0.5, orders=ORDERS):
    """Answers of a respondent that likes positions by `position` and the target by `lean` nats."""
    rng = np.random.default_rng(seed)
    rows = []
    for template, order in itertools.product(range(templates), orders):
        logits = np.array(position) + rng.normal(0, noise, 3)
        logits[order.index("target")] += lean
        p = np.exp(logits) / np.exp(logits).sum()
        row = {"template": f"t{template}", "answer": str(p.argmax())}
        row |= {f"p_{place}": one for place, one in enumerate(p)}
        rows.append(row | {f"role_{place}": one for place, one in enumerate(order)})
    return pd.DataFrame(rows)


def lean_of(frame):
    """Mean log odds of the target against the other person, in nats."""
    roles = frame[["role_0", "role_1", "role_2"]].to_numpy(object)
    logp = np.log(frame[SHARES].to_numpy(float))
    at = [np.where(roles == role, logp, 0).sum(axis=1) for role in ("target", "other")]
    return float((at[0] - at[1]).mean())


def chosen(frame):
    """How often each role was chosen."""
    roles = frame[["role_0", "role_1", "role_2"]].to_numpy(object)
    taken = pd.Series(roles[np.arange(len(frame)), frame["answer"].astype(int)])
    return taken.value_counts(normalize=True).reindex(ROLES, fill_value=0.0)


#: The target stands at the liked position in three of four orders.
SKEWED = [*(order for order in ORDERS if order[1] == "target"), ORDERS[0], ORDERS[1]]


@pytest.mark.parametrize("lean", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("orders", [ORDERS, SKEWED], ids=["balanced", "skewed"])
def test_a_lean_is_recovered_from_behind_a_position(lean, orders):
    """Of 100 seeds 100 lie within .25 of the lean; the SD is .04 balanced, .08 skewed."""
    frame = asked(1, lean=lean, position=(0.0, 6.0, 1.0), orders=orders)
    read = calibrated(frame, cluster="template", **READ)
    assert set(read["read_status"]) == {"ok"}
    assert abs(lean_of(read) - lean) < 0.25
    if orders is ORDERS:
        whole = permuted(frame, content="template", **READ)
        assert len(whole) == 40 and abs(lean_of(whole) - lean) < 0.25
    else:
        assert lean_of(frame) - lean > 1.0, "the letters' own probabilities are fooled"


def test_letters_of_a_locked_respondent_become_choices_of_contents():
    frame = asked(2, lean=2.0, position=(0.0, 9.0, 0.0))
    assert (frame["answer"] == "1").all() and chosen(frame).tolist() == pytest.approx([1 / 3] * 3)
    for read in (
        calibrated(frame, cluster="template", **READ),
        permuted(frame, content="template", **READ),
    ):
        assert chosen(read)["target"] > 0.8
        assert read[SHARES].sum(axis=1).to_numpy() == pytest.approx(1.0)


def test_learning_needs_more_than_twenty_clusters():
    few = calibrated(asked(3, templates=20), cluster="template", **READ)
    assert set(few["read_status"]) == {"not_calibrated"}
    assert few["answer"].isna().all() and few[SHARES].isna().all(axis=None)
    enough = calibrated(asked(3, templates=21), cluster="template", **READ)
    assert set(enough["read_status"]) == {"ok"} and enough["answer"].notna().all()
    two = pd.concat([asked(3, templates=20).assign(m="few"), asked(3, templates=21).assign(m="ok")])
    read = calibrated(two, cluster="template", by="m", **READ)
    by_model = read.groupby("m")["read_status"].unique().map(list).to_dict()
    assert by_model == {"few": ["not_calibrated"], "ok": ["ok"]}


def test_one_order_throughout_tells_positions_from_nothing():
    read = calibrated(asked(4, orders=ORDERS[:1]), cluster="template", **READ)
    assert set(read["read_status"]) == {"not_calibrated"}


def test_own_cluster_is_not_learned_from():
    frame = asked(6, templates=25, noise=0.0)
    odd = (frame["template"] == "t0").to_numpy()
    frame.loc[odd, SHARES] = [0.9, 0.05, 0.05]
    read = calibrated(frame, cluster="template", **READ)
    assert set(read["read_status"]) <= {"ok", "tied"}
    taken_off = np.array([0.9, 0.05, 0.05]) / np.exp([0.0, 4.0, 0.0])
    expected = np.tile(taken_off / taken_off.sum(), (6, 1))
    assert read.loc[odd, SHARES].to_numpy() == pytest.approx(expected)
    assert np.abs(read.loc[~odd, SHARES].to_numpy() - 1 / 3).max() > 0.002, "they learn from it"
    without = calibrated(frame[~odd], cluster="template", **READ)
    assert without[SHARES].to_numpy() == pytest.approx(1 / 3)


@pytest.mark.parametrize("unknown", [0.0, np.nan])
def test_an_option_without_a_probability_makes_its_item_incomplete(unknown):
    frame = asked(5)
    frame.loc[3, "p_2"] = unknown
    read = calibrated(frame, cluster="template", **READ)
    assert read["read_status"].tolist() == ["ok"] * 3 + ["incomplete"] + ["ok"] * 236
    assert read.loc[3, "answer"] is None and read.loc[3, SHARES].isna().all()
    whole = permuted(frame, content="template", **READ)
    assert whole["read_status"].tolist() == ["incomplete"] + ["ok"] * 39
    assert whole.loc[0, SHARES].isna().all()


def test_an_item_that_lacks_an_order_is_not_read():
    whole = permuted(asked(6).drop(index=13), content="template", **READ)
    assert whole["read_status"].value_counts().to_dict() == {"ok": 39, "lacks_an_order": 1}
    [lacking] = whole[whole["template"] == "t2"].to_dict("records")
    assert (lacking["read_status"], lacking["answer"]) == ("lacks_an_order", None)


def test_two_equal_contents_are_no_choice():
    asked_twice = pd.DataFrame({"item": "i", "role_0": ["cat", "dog"], "role_1": ["dog", "cat"]})
    locked = asked_twice.assign(answer="0", p_0=0.7, p_1=0.3)
    [read] = permuted(locked, content="item", **READ).to_dict("records")
    assert read["answer"] is None and read["read_status"] == "tied" and read["p_0"] == 0.5
    leaning = locked.assign(p_0=[0.7, 0.6])
    [read] = permuted(leaning, content="item", **READ).to_dict("records")
    odds = np.sqrt((0.7 / 0.3) * (0.3 / 0.6))
    assert read["answer"] == "0" and read["p_0"] == pytest.approx(odds / (1 + odds))


def test_wrong_input_is_said_in_one_line():
    frame = asked(7)
    for call, words in (
        (
            lambda: calibrated(frame.rename(columns={"role_1": "x"})[["x"]], **READ),
            "no columns role_0",
        ),
        (lambda: calibrated(frame, **READ), "calibrated: no column 'question'"),
        (lambda: calibrated(frame.drop(columns="p_2"), cluster="template", **READ), "'p_2'"),
        (lambda: calibrated(frame.assign(p_1=3), cluster="template", **READ), "holds 3"),
        (lambda: permuted(frame, content="base", **READ), "permuted: no column 'base'"),
        (
            lambda: permuted(frame.assign(role_0="unknown"), content="template", **READ),
            "permuted: an item has two equal options",
        ),
    ):
        with pytest.raises(KatayoriError, match=words) as raised:
            call()
        assert "\n" not in str(raised.value)
