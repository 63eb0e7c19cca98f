"""What every verb does with a frame of one's own: it gives a flat frame, or says what is wrong."""

import itertools
from inspect import signature

import numpy as np
import pandas as pd
import pytest

from katayori import frames
from katayori.errors import KatayoriError
from katayori.frames import GIVEN, not_asked, reason_of
from katayori.metrics import (
    agreement,
    bbq,
    calibration,
    components,
    dialects,
    exchange,
    factors,
    few_labels,
    interactions,
    judges,
    level_gaps,
    logistic,
    position,
    ranks,
    repeats,
    shares,
    sign_swap,
    variation,
    verdicts,
    words,
)

KEY = ["question", "age", "level"]


def _answers():
    """Answers to 12 questions, with what any verb may ask of one."""
    rng = np.random.default_rng(0)
    out = pd.DataFrame(itertools.product(range(12), (20, 50, 80), "fmn"), columns=KEY)
    n = len(out)
    out = out.assign(yes=rng.integers(0, 2, n) * 1.0, score=rng.normal(size=n))
    out = out.assign(better=rng.random(n) < 0.5, person=np.arange(n))
    out = out.assign(judge=rng.choice([*"12"], n), anna=rng.choice([*"12"], n), same=out["yes"])
    out = out.assign(status="ok", old=rng.integers(0, 2, n), woman=rng.integers(0, 2, n))
    out["case"] = np.resize(["ambiguous", "biased", "counter_biased"], n)
    out["role"] = rng.choice(["biased", "counter_biased", "unknown"], n)
    out["right"] = (out["role"] == out["case"].replace("ambiguous", "unknown")) * 1.0
    out["side"] = out["role"].map({"biased": 1.0, "counter_biased": -1.0, "unknown": 0.0})
    out["label"] = out["better"].astype(float).where(out["question"] < 8)
    out["answer"] = rng.choice([*"01"], n)
    p = rng.uniform(0.1, 0.9, n)
    turned = np.arange(n) % 2 == 0
    out = out.assign(p_0=p, p_1=1 - p, role_0=np.where(turned, "a", "b"))
    return out.assign(role_1=np.where(turned, "b", "a"))


ANSWERS = _answers()
YES, LEVELS = {"value": "yes"}, {"value": "yes", "level": "level"}
RATED = {"value": "yes", "unit": "age", "rater": "level"}
READ = {"answer": "answer", "option": "role", "p": "p"}
CONTEXTS = {"context": "case", "right": "right"}
AUDITED = {"label": "label", "verdict": "yes"}
#: Verb -> what is given beside the frame. Texts of `names` are columns that it needs.
VERBS = {
    agreement.alpha: RATED,
    agreement.alpha_pairs: RATED,
    repeats.alpha_from_repeats: RATED,
    exchange.exchange_test: LEVELS | {"row": "age", "draws": 19},
    exchange.largest_gap: LEVELS,
    level_gaps.level_gaps: LEVELS | {"row": "age"},
    sign_swap.swap_test: YES | {"group": ("level", "f", "m")},
    factors.effect_size: {"value": "score", "level": "level", "beside": ["age"]},
    factors.difference: YES | {"group": "level", "between": ("f", "m")},
    shares.share: YES,
    ranks.kruskal: LEVELS,
    ranks.conover: LEVELS,
    ranks.chance_alarms: YES | {"factors": {"age": ["age"], "level": ["level"]}, "draws": 5},
    logistic.curve_fit: YES | {"x": "age"},
    logistic.mixed_model: YES | {"fixed": {"level": "f"}},
    interactions.interactions: YES | {"attributes": ["old", "woman"]},
    verdicts.line_test: YES,
    judges.robustness: {},
    judges.auc: {"score": "score", "better": "better"},
    judges.concordance: {"judge": "judge", "people": "anna"},
    bbq.scores: CONTEXTS | {"side": "side"},
    dialects.dialects: CONTEXTS | {"role": "role"},
    few_labels.win_rate: AUDITED,
    few_labels.corrected_rate: AUDITED,
    components.components: YES | {"facets": ["question", "age", "level"]},
    logistic.fitted_curve: YES | {"x": "age", "at": [20, 80]},
    words.contrast: {"value": "score", "between": ("level", "f", "m"), "unit": "age"},
    variation.varies: {"value": "answer", "unit": "question", "factors": ["age", "level"]},
    calibration.calibrated: READ,
    position.permuted: READ | {"content": "person"},
}
#: Their frames keep the rows of the answers, or have no interval.
OTHERS = {logistic.fitted_curve, words.contrast, variation.varies}
OTHERS |= {calibration.calibrated, position.permuted}
#: Keywords that name the beginning of columns, or a column that need not be there.
START = ("option", "p", "answer")
EVERY = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)


def call(verb, frame=ANSWERS, **more):
    return verb(frame, **VERBS[verb] | more)


def needed(verb):
    """Keyword -> the column that it names, where it is one."""
    given = VERBS[verb] | (
        {"cluster": "question"} if "cluster" in signature(verb).parameters else {}
    )
    return {key: name for key, name in given.items() if isinstance(name, str) and key not in START}


@pytest.mark.parametrize("verb", [v for v in VERBS if v not in OTHERS], ids=lambda v: v.__name__)
def test_each_gives_one_flat_frame(verb):
    table = call(verb)
    places = [list(table).index(column) for column in GIVEN]
    assert len(table) and places == sorted(places)
    assert table[["n", "n_invalid", "clusters", "status"]].notna().all(axis=None)
    whole = table.dropna(subset=["ci_low", "value"])
    assert ((whole["ci_low"] <= whole["value"]) & (whole["value"] <= whole["ci_high"])).all()


@EVERY
def test_cells_are_measured_apart_whatever_the_index(verb):
    other = ANSWERS[ANSWERS["question"] != 5]
    both = pd.concat([ANSWERS.assign(system="x"), other.assign(system="y")])
    table = call(verb, both, by="system")
    if verb is ranks.chance_alarms:  # which deals the answers of all cells at once
        assert table["n"].tolist() == [10, 9]
        return
    for system, own in (("x", ANSWERS), ("y", other)):
        found = table[table["system"] == system].drop(columns="system").reset_index(drop=True)
        alone = call(verb, own).reset_index(drop=True)
        pd.testing.assert_frame_equal(found, alone, check_dtype=False)


@EVERY
def test_an_empty_frame_keeps_its_reason_and_gives_the_same_columns(verb):
    frame = ANSWERS.assign(system="x")
    table = call(verb, not_asked("never asked", frame), by=["system"])
    assert table.empty and reason_of(table) == "never asked"
    assert list(table) == list(call(verb, frame, by=["system"]))


@EVERY
def test_columns_are_taken_by_any_name_and_named_where_they_are_lacking(verb):
    columns = needed(verb)
    renamed = {name: f"列 {name}" for name in columns.values()}
    named = {key: renamed[name] for key, name in columns.items()}
    found = call(verb, ANSWERS.rename(columns=renamed), **named)
    assert found.shape == call(verb).shape
    for name in columns.values():
        with pytest.raises(KatayoriError, match=f"^{verb.__name__}: no column {name!r}") as error:
            call(verb, ANSWERS.drop(columns=name))
        assert "columns there" in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(KatayoriError, match=f"^{verb.__name__}: no column 'team'"):
        call(verb, by=["team"])
    if VERBS[verb].get("value") in ("yes", "score"):
        value = VERBS[verb]["value"]
        with pytest.raises(KatayoriError, match=f"column {value!r} holds 'maybe'"):
            call(verb, ANSWERS.assign(**{value: "maybe"}))


def _of(changes):
    return ANSWERS.assign(**changes)


@pytest.mark.parametrize(
    ("verb", "frame", "more", "says"),
    [
        *((bbq.scores, wrong, {}, "is no frame; give a pandas") for wrong in (3, [1], None, {})),
        (
            bbq.scores,
            pd.DataFrame([[1, 0]], columns=["case", "case"]),
            {},
            "two columns are called 'case'",
        ),
        (bbq.scores, _of({"side": "biased"}), {}, r"column 'side' holds 'biased' .* e\.g\. 1"),
        (bbq.scores, _of({"question": None}), {}, r"'question' is missing in 108 of 108 rows"),
        *(
            (verb, ANSWERS, {"by": "status"}, "by='status' is a column of the result")
            for verb in (shares.share, bbq.scores, judges.auc, ranks.kruskal)
        ),
        (judges.concordance, ANSWERS, {"people": []}, "no column of people's labels"),
        (judges.concordance, ANSWERS, {"baseline": "coin"}, "'coin' is none of the judges judge"),
        (judges.auc, _of({"better": "1"}), {}, r"column 'better' holds '1' .* True or False"),
        (factors.difference, ANSWERS, {"between": ()}, r"'f', 'm', 'n'; name two .* between="),
        (interactions.interactions, ANSWERS, {"attributes": ["old"]}, "two or more columns"),
        (dialects.dialects, _of({"role": "x"}), {}, "column 'role' holds 'x'; right is one of"),
        (dialects.dialects, _of({"case": "ambig"}), {}, "column 'case' holds 'ambig'"),
        (logistic.curve_fit, _of({"age": "old"}), {}, "column 'age'"),
        (logistic.curve_fit, ANSWERS, {"degree": 0}, "degree=0"),
        (logistic.mixed_model, _of({"yes": 0.5}), {}, "must be 0 or 1"),
        (agreement.alpha, ANSWERS, {"scale": "ordinal"}, "'ordinal'; known: interval, nominal"),
        (agreement.alpha, ANSWERS, {"rater": None}, "needs value= and rater="),
        (
            agreement.alpha,
            ANSWERS,
            {"scale": "nominal", "weights": "n_i_self_pairs"},
            "unknown weights of scale nominal",
        ),
        (agreement.alpha_pairs, ANSWERS, {"reference": "x"}, "no 'x' in column 'level', which has"),
        (sign_swap.swap_test, ANSWERS, {"group": ("level", "f", "x")}, "no 'x' in column 'level'"),
        (ranks.chance_alarms, ANSWERS, {"error_rate": 5}, "error_rate=5"),
        (judges.robustness, _of({"same": 0.5}), {}, "column 'same' holds"),
        (judges.robustness, _of({"status": "fine"}), {}, "column 'status' holds 'fine'"),
    ],
)
def test_what_cannot_be_taken_is_said_in_one_line(verb, frame, more, says):
    with pytest.raises(KatayoriError, match=says) as error:
        call(verb, frame, **more)
    assert "\n" not in str(error.value)


def test_levels_of_a_factor_stand_in_rows_of_the_other_attributes():
    answers = pd.DataFrame({"age": [20, 100], "gender": ["f", "m"], "race": "a"})
    long = factors.by_factor(answers, {"age": ["age"], "gender_race": ["gender", "race"]})
    assert long["level"].tolist() == ["20", "100", "f-a", "m-a"]
    assert long["row"].tolist() == ["f-a", "m-a", "20", "100"]
    empty = not_asked("no probabilities", ["age", "yes"])
    long = factors.by_factor(empty, {"age": ["age"]})
    assert list(frames.cells(long, ["factor"])) == []
    assert reason_of(frames.flat([], long)) == "no probabilities"
    assert reason_of(frames.flat([{"value": 1}], empty)) == ""
