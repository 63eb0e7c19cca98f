"""Interactions of attributes: statsmodels' likelihood ratio and coefficients, levels, nodes."""

import re

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import logit

from katayori.errors import KatayoriError
from katayori.metrics import interactions
from katayori.metrics.mixed_logit import mixed_logit

PROFILES = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (120, 3)))
PROFILES = PROFILES.set_axis(["old", "woman", "correct"], axis=1)
PROFILES = PROFILES.assign(question=np.arange(120) // 10)


def crossed(seed=4, n=600, sd=0.0):
    """Answers by two attributes, one of three levels coded by numbers, in 20 families."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"old": rng.integers(0, 2, n), "grade": rng.integers(1, 4, n)})
    frame["family"] = np.arange(n) % 20
    logit = 0.6 * frame["old"] * (frame["grade"] == 3) + rng.normal(0, sd, 20)[frame["family"]]
    return frame.assign(right=(rng.random(n) < 1 / (1 + np.exp(-logit))).astype(float))


def test_interactions_are_those_of_plain_logits_where_clusters_do_not_differ():
    """Oracle: the likelihood ratio and the coefficients of statsmodels."""
    frame = crossed()
    frame["right"] = np.random.default_rng(1).permutation(np.repeat([0.0, 1.0], 300))
    named = {"value": "right", "cluster": "family"}
    table = interactions.interactions(frame, ["old", "grade"], **named)
    small, large = (logit(f"right ~ old {sign} C(grade)", frame).fit(disp=0) for sign in ("+", "*"))
    test = table.iloc[0]
    assert (test["kind"], test["df"], test["status"]) == ("test", 2, "ok")
    assert test["value"] == pytest.approx(2 * (large.llf - small.llf), abs=1e-6)
    theirs = large.params.rename(lambda name: re.sub(r"C\(grade\)\[T.(.)\]", r"grade[\1]", name))
    terms = table.iloc[1:].set_index("measure")["value"]
    assert set(table["status"].iloc[1:]) == {"singular"} and len(terms) == 5
    assert np.allclose(terms, theirs[terms.index], atol=1e-5)


def test_levels_coded_by_two_numbers_are_levels():
    """1 and 2 are two levels, as "low" and "high" are, and not a number to multiply by."""
    frame = crossed(sd=1.0)
    frame = frame[frame["grade"] < 3]
    words = frame.assign(grade=frame["grade"].map({1: "1", 2: "2"}))
    named = {"value": "right", "cluster": "family"}
    coded = interactions.interactions(frame, ["old", "grade"], **named)
    pd.testing.assert_frame_equal(
        coded, interactions.interactions(words, ["old", "grade"], **named)
    )
    zero = interactions.interactions(
        frame.assign(grade=frame["grade"] - 1), ["old", "grade"], **named
    )
    values = [table.set_index("measure")["value"] for table in (coded, zero)]
    renamed = values[0].rename(lambda name: name.replace("[2]", ""))
    assert not renamed.index.equals(values[0].index)
    assert np.allclose(renamed[values[1].index], values[1], atol=1e-6)


def test_interactions_take_nodes():
    """Oracle: the two fits of `mixed_logit` with so many nodes, which differ from Laplace's."""
    frame = crossed(sd=2.0, n=100)
    named = {"value": "right", "cluster": "family"}
    fine = interactions.interactions(frame, ["old", "grade"], nodes=15, **named).iloc[0]
    fits = [
        mixed_logit(frame, f"right ~ old {sign} C(grade)", "family", nodes=15)
        for sign in ("+", "*")
    ]
    assert fine["value"] == pytest.approx(interactions.likelihood_ratio(*fits)["lr"], abs=1e-6)
    rough = interactions.interactions(frame, ["old", "grade"], **named).iloc[0]
    assert abs(fine["value"] - rough["value"]) > 1e-3


def test_pairs_of_answers_have_the_exact_estimate_with_nodes():
    """Of 7 pairs (0, 1) and 21 (1, 0) the exact estimate is log 3, which Laplace's misses."""
    pairs = [(0, 0)] * 45 + [(1, 1)] * 30 + [(0, 1)] * 7 + [(1, 0)] * 21
    frame = pd.DataFrame(pairs).rename_axis("question").reset_index()
    frame = frame.melt("question", var_name="side", value_name="yes").astype(int).assign(one=1)
    fits = {
        n: interactions.interactions(frame, ["side", "one"], value="yes", nodes=n) for n in (1, 25)
    }
    side = {n: fit.set_index("measure").loc["side"] for n, fit in fits.items()}
    assert side[25]["value"] == pytest.approx(-np.log(3), abs=1e-4)
    half = (side[25]["ci_high"] - side[25]["ci_low"]) / 2
    assert half / 1.959964 == pytest.approx(0.4364, abs=1e-4)
    assert side[1]["value"] == pytest.approx(-0.9835, abs=1e-4)
    for wrong in (0, 2.5, "25", 1000):
        with pytest.raises(KatayoriError, match=r"nodes=.*; give 1 .* to 100"):
            interactions.interactions(frame, ["side", "one"], value="yes", nodes=wrong)


CODINGS = [(0, 1), (False, True), (1, 2), (-1, 1), (2, 10), ("0", "1"), (0.5, 7.0)]


@pytest.mark.parametrize("coding", CODINGS, ids=repr)
def test_no_effect_changes_with_the_coding_of_an_attribute(coding):
    frame = crossed(sd=1.0)
    named = {"value": "right", "cluster": "family"}
    coded = frame.assign(old=frame["old"].map(dict(enumerate(coding))))
    wanted, found = (
        interactions.interactions(one, ["old", "grade"], **named).set_index("measure")["value"]
        for one in (frame, coded)
    )
    found = found.rename(lambda name: re.sub(r"old\[.*?\]", "old", name))
    assert found[wanted.index].to_numpy() == pytest.approx(wanted.to_numpy(), abs=1e-5)


def test_interactions_of_levels_and_with_few_clusters():
    frame = PROFILES.assign(age=np.where(PROFILES["old"] == 1, "old", "young"))
    named = interactions.interactions(frame, ["age", "woman"], value="correct").set_index("measure")
    plain = interactions.interactions(PROFILES, ["old", "woman"], value="correct").set_index(
        "measure"
    )
    assert named.loc["age[young]:woman", "value"] == pytest.approx(
        -plain.loc["old:woman", "value"], abs=1e-6
    )
    hours = PROFILES.assign(old=PROFILES["old"].map({0: "9:00", 1: "16:00"}), woman="C(a0)")
    told = interactions.interactions(hours, ["old", "woman"], value="correct", fixed="question")
    assert told["measure"].tolist()[1:3] == ["old[9:00]", "question[1]"]
    assert set(told["kind"]) == {"test", "attribute", "fixed"}
    few = interactions.interactions(
        PROFILES.assign(question=PROFILES["question"] % 4), ["old", "woman"], value="correct"
    )
    assert set(few["status"]) == {"few_clusters"} and few[["p", "ci_low"]].isna().all(axis=None)
