"""Verbs on a frame of one's own: what they take, give back, and say of a wrong frame."""

import re

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import logit

from katayori.errors import KatayoriError
from katayori.frames import GIVEN, not_asked, reason_of
from katayori.metrics import (
    agreement,
    bbq,
    exchange,
    factors,
    interactions,
    judges,
    kappas,
    level_gaps,
    proportions,
    shares,
)
from katayori.metrics.mixed_logit import mixed_logit

BIAS = pd.DataFrame({"side": [1, 0, -1] * 8, "right": [0, 1, 1, 0] * 6})
BIAS["context"] = ["ambiguous", "ambiguous", "biased", "counter_biased"] * 6
BIAS["question"] = np.arange(24) // 4
YES = pd.DataFrame({"question": np.repeat(range(12), 2), "level": list("fm") * 12})
YES["value"] = np.random.default_rng(0).integers(0, 2, 24).astype(float)
JUDGED = pd.DataFrame({"judge": list("1212") * 3, "annotator_1": list("1112") * 3})
JUDGED["question"] = np.arange(12) // 2
PROFILES = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (240, 3)))
PROFILES = PROFILES.set_axis(["old", "woman", "correct"], axis=1)
PROFILES["question"] = np.arange(240) // 12

#: Of each verb what is given beside the frame.
GIVEN_TOO = {
    "exchange_test": ((), {"value": "value", "level": "level", "draws": 19}),
    "level_gaps": ((), {"value": "value", "level": "level"}),
    "concordance": ((), {"judge": "judge", "people": "annotator_1"}),
    "interactions": ((["old", "woman"],), {"value": "correct"}),
    "scores": ((), {"context": "context", "right": "right", "side": "side"}),
}
VERBS = {
    "exchange_test": exchange.exchange_test,
    "level_gaps": level_gaps.level_gaps,
    "concordance": judges.concordance,
    "interactions": interactions.interactions,
    "scores": bbq.scores,
}


def call(name, frame, **more):
    beside, named = GIVEN_TOO[name]
    return VERBS[name](frame, *beside, **named | more)


FRAMES = {
    "exchange_test": YES,
    "level_gaps": YES,
    "concordance": JUDGED,
    "interactions": PROFILES,
    "scores": BIAS,
}
#: A column that each verb needs and that a keyword names.
NEEDED = {
    "exchange_test": "value",
    "level_gaps": "level",
    "concordance": "judge",
    "interactions": "value",
    "scores": "side",
}
OWN = {"interactions": "correct"}


def column_of(name):
    """What the needed column is called in the frame of the test."""
    return OWN.get(name, NEEDED[name])


@pytest.mark.parametrize("name", GIVEN_TOO)
def test_a_frame_without_model_or_source_gives_a_flat_frame(name):
    table = call(name, FRAMES[name])
    assert len(table) and not {"model", "source"} & set(table)
    places = [list(table).index(column) for column in GIVEN]
    assert places == sorted(places)
    assert table["n"].notna().all() and table["status"].notna().all()
    inside = table.dropna(subset=["ci_low", "value"])
    assert ((inside["ci_low"] <= inside["value"]) & (inside["value"] <= inside["ci_high"])).all()


@pytest.mark.parametrize("name", GIVEN_TOO)
def test_the_index_of_a_frame_does_not_matter(name):
    frame = FRAMES[name]
    shuffled = frame.set_index(pd.Index(np.arange(len(frame))[::-1]))
    pd.testing.assert_frame_equal(call(name, shuffled), call(name, frame))
    twice = frame.set_index(pd.Index(np.arange(len(frame)) // 2))
    pd.testing.assert_frame_equal(call(name, twice), call(name, frame))


@pytest.mark.parametrize(
    ("verb", "more"), [(shares.share, {}), (factors.difference, {"group": "level"})]
)
def test_an_index_may_be_there_twice(verb, more):
    twice = YES.set_index(pd.Index(np.arange(len(YES)) // 2))
    given = {"value": "value"} | more
    pd.testing.assert_frame_equal(verb(twice, **given), verb(YES, **given))


@pytest.mark.parametrize("name", GIVEN_TOO)
def test_an_empty_frame_gives_an_empty_frame_with_its_reason(name):
    table = call(name, not_asked("never asked", FRAMES[name].columns))
    assert table.empty and reason_of(table) == "never asked"
    assert list(table) == list(call(name, FRAMES[name]))


@pytest.mark.parametrize("name", GIVEN_TOO)
def test_a_column_can_bear_a_name_of_its_own(name):
    frame = FRAMES[name].rename(columns={column_of(name): "列"})
    table = call(name, frame, **{NEEDED[name]: "列"})
    whole = call(name, FRAMES[name])
    columns = [column for column in table if column != "judge"]
    pd.testing.assert_frame_equal(table[columns], whole[columns])


@pytest.mark.parametrize("name", GIVEN_TOO)
def test_a_column_that_is_not_there_is_named_in_one_line(name):
    frame = FRAMES[name].drop(columns=column_of(name))
    with pytest.raises(KatayoriError) as error:
        call(name, frame)
    said = str(error.value)
    assert "\n" not in said and said.startswith(f"{name}: no column {column_of(name)!r}")
    assert "columns there" in said and repr(frame.columns[0]) in said


@pytest.mark.parametrize("name", GIVEN_TOO)
def test_cells_are_measured_apart(name):
    frame = FRAMES[name]
    both = pd.concat([frame.assign(system="x"), frame.assign(system="y")])
    table = call(name, both, by="system")
    whole = call(name, frame)
    for system in ("x", "y"):
        own = table[table["system"] == system].drop(columns="system").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, whole)
    one = call(name, frame.assign(model="mine"), by="model")
    assert set(one["model"]) == {"mine"}
    with pytest.raises(KatayoriError, match="by='status' is a column of the result"):
        call(name, frame.assign(status=1), by="status")
    with pytest.raises(KatayoriError, match=f"^{name}: no column 'team'"):
        call(name, frame, by=["team"])


def test_what_is_no_frame_is_said_to_be_none():
    for wrong in (3, "answers.csv", [1, 2], None, {"side": [1]}):
        with pytest.raises(KatayoriError, match="is no frame; give a pandas DataFrame"):
            call("scores", wrong)
    twice = pd.DataFrame([[1, 0]], columns=["context", "context"])
    with pytest.raises(KatayoriError, match="two columns are called 'context'"):
        call("scores", twice)


def test_a_value_that_a_column_must_not_hold_is_shown():
    with pytest.raises(KatayoriError, match=r"column 'side' holds 'biased' .* e\.g\. 1"):
        call("scores", BIAS.assign(side="biased"))
    with pytest.raises(KatayoriError, match=r"column 'value' holds 'yes' .* e\.g\. 1"):
        call("level_gaps", YES.assign(value="yes"))
    with pytest.raises(KatayoriError, match=r"column 'question' is missing in 1 of 2 rows"):
        call("scores", BIAS.head(2).assign(question=["a", None]))


# -- the same numbers as the notebooks -------------------------------------------------------------


def test_one_row_a_question_tells_nothing_of_an_effect_that_changes():
    value = np.where(YES["question"] % 6 == 0, 0, YES["level"] == "f").astype(float)
    frame = YES.assign(value=value)
    table = call("exchange_test", frame)
    assert table["status"].tolist() == ["one_row_a_question", "ok"]
    assert np.isnan(table["p"].iloc[0]) and 0 < table["p"].iloc[1] <= 0.1
    rows = frame.assign(age=frame["question"] % 2, question=frame["question"] // 2)
    assert call("exchange_test", rows, row="age")["status"].iloc[0] == "ok"


def test_the_same_gap_in_every_question_is_a_direction():
    """Its covariance is 0, and no other deal of the labels agrees as exactly."""
    table = call("exchange_test", YES.assign(value=(YES["level"] == "f").astype(float)))
    assert table["status"].tolist() == ["one_row_a_question", "ok"]
    assert (table["value"].iloc[1], table["p"].iloc[1]) == (float("inf"), 0.05)
    gaps = call("level_gaps", YES.assign(value=(YES["level"] == "f").astype(float)))
    assert gaps["value"].tolist() == [0.5, -0.5] and set(gaps["status"]) == {"no_variation"}


def test_level_gaps_by_hand():
    frame = pd.DataFrame({"question": [1, 1, 1, 2, 2, 2, 3, 3, 3], "level": list("abc") * 3})
    frame["value"] = [1, 0, 0.5, 1, 1, None, 1, None, None]
    table = call("level_gaps", frame).set_index("level")
    assert table.loc["a", "value"] == pytest.approx((0.5 + 0) / 2)
    assert table.loc["b", "value"] == pytest.approx((-0.5 + 0) / 2)
    assert table.loc["c", "value"] == 0
    assert table["n"].tolist() == [2, 2, 1] and table["n_invalid"].tolist() == [1, 1, 2]


def test_concordance_counts_what_is_missing():
    frame = JUDGED.copy()
    frame.loc[0, "judge"] = None
    frame.loc[1, "annotator_1"] = None
    row = call("concordance", frame).iloc[0]
    assert (row["n"], row["n_invalid"], row["n_missing"]) == (11, 1, 1)
    nobody = call("concordance", frame.assign(judge=None)).iloc[0]
    assert nobody["status"] == "no_valid_verdict" and np.isnan(nobody["value"])
    with pytest.raises(KatayoriError, match="no column of people's labels"):
        call("concordance", frame, people=[])
    with pytest.raises(KatayoriError, match="baseline 'coin' is none of the judges judge"):
        call("concordance", frame, baseline="coin")


def test_a_person_may_be_called_as_a_column_of_the_result():
    table = call("concordance", JUDGED.rename(columns={"annotator_1": "value"}), people="value")
    assert table["value"].tolist() == call("concordance", JUDGED)["value"].tolist()


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


def test_interactions_of_levels_and_with_few_clusters():
    frame = PROFILES.assign(age=np.where(PROFILES["old"] == 1, "old", "young"))
    named = interactions.interactions(frame, ["age", "woman"], value="correct").set_index("measure")
    plain = call("interactions", PROFILES).set_index("measure")
    assert named.loc["age[young]:woman", "value"] == pytest.approx(
        -plain.loc["old:woman", "value"], abs=1e-6
    )
    few = call("interactions", PROFILES.assign(question=PROFILES["question"] % 4))
    assert set(few["status"]) == {"few_clusters"} and few[["p", "ci_low"]].isna().all(axis=None)
    with pytest.raises(KatayoriError, match="name two or more columns"):
        interactions.interactions(PROFILES, ["old"], value="correct")


# -- tables and pairs ------------------------------------------------------------------------------


def test_tables_may_be_frames_arrays_or_lists():
    rows = [[1, 2, 3], [2, 2, 3], [3, 3, 3], [1, 1, None], [2, 3, 2], [1, 3, 1]]
    whole = agreement.alpha(rows)
    pd.testing.assert_frame_equal(agreement.alpha(np.array(rows, float)), whole)
    pd.testing.assert_frame_equal(agreement.alpha(pd.DataFrame(rows)), whole)
    named = pd.DataFrame(rows, columns=["a", "a", "b"]).assign(unit=range(6))
    pd.testing.assert_frame_equal(agreement.alpha(named, cluster="unit"), whole)
    with pytest.raises(KatayoriError, match="no column 'case' of clusters"):
        agreement.alpha(named, cluster="case")
    with pytest.raises(KatayoriError, match="6 units and 2 clusters"):
        agreement.alpha(rows, cluster=["a", "b"])


@pytest.mark.parametrize("wrong", [[1, 2, 3], np.arange(3), [], "table"])
def test_what_is_no_table_is_said_to_be_none(wrong):
    for function in (agreement.alpha, kappas.fleiss_kappa):
        with pytest.raises(KatayoriError, match="give labels"):
            function(wrong)


def test_wrong_scales_raters_and_counts_are_named():
    with pytest.raises(KatayoriError, match="unknown scale 'ordinal'; known: interval, nominal"):
        agreement.alpha([[1, 2], [2, 2]], scale="ordinal")
    with pytest.raises(KatayoriError, match="'yes' is no number, which scale='interval' needs"):
        agreement.alpha([["yes", "no"], ["no", "no"]], scale="interval")
    with pytest.raises(KatayoriError, match="3 raters; it is of two"):
        kappas.cohen_kappa([[1, 2, 3], [2, 2, 3]])
    with pytest.raises(KatayoriError, match="3 labels and 2"):
        kappas.cohen_kappa([1, 2, 3], [1, 2])
    for counts in ([[3, 0], [1, 1]], [[1.5, 1.5], [2, 1]], [["a", "b"], ["b", "a"]]):
        with pytest.raises(KatayoriError, match="counts are whole numbers with the same sum"):
            kappas.fleiss_kappa(counts, counts=True)


def test_pairs_and_groups_that_cannot_be_are_named():
    with pytest.raises(KatayoriError, match="first has 2 values, second 1"):
        proportions.mcnemar([1, 0], [1])
    with pytest.raises(KatayoriError, match="first holds 2 in row 1; right is 1 or 0"):
        proportions.mcnemar([1, 2], [1, 0])
    with pytest.raises(KatayoriError, match="must be a list of numbers"):
        proportions.mcnemar(["yes", "no"], [1, 0])
