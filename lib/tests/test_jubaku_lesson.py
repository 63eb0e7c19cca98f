"""What notebook 04 tells and draws: computed from answers, right at the edges, never an error."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from katayori.metrics.uncertainty import swap_test
from katayori.papers.jubaku_v2 import examples, scores, words
from katayori.papers.jubaku_v2.analysis import frames, lesson, play
from katayori.papers.jubaku_v2.analysis.accuracy import accuracies
from katayori.papers.jubaku_v2.analysis.verdicts import Verdicts
from katayori.papers.jubaku_v2.exercises import EXERCISES
from katayori.papers.keeping import Kept


@pytest.fixture(scope="module")
def first():
    return examples.asked_first()


def read_as(asked, **changed):
    """The same run with other answers."""
    return replace(asked, log=asked.log.assign(**changed))


def test_the_flip_shows_one_case_in_both_orders_with_one_letter(first):
    told = lesson.first_flip(first)
    assert told.count("→ sim-two-first answers: A") == 2
    assert "neutral reason" in told and "biased reason" in told
    assert told.count(first.one_each["context"].iloc[0]) == 1


def test_without_a_flip_or_without_an_answer_one_sentence_says_so(first):
    asked = first.log
    steady = read_as(first, answer=np.where(asked["role_a"] == "neutral", "A", "B"))
    assert "same reason" in lesson.first_flip(steady)
    silent = read_as(first, outcome="refusal", answer=None)
    assert lesson.first_flip(silent) == "sim-two-first: no answer is valid."


def test_the_tables_count_what_came_back(first):
    found = examples.analysed().accuracy
    (row,) = lesson.came_back(first, found).to_dict("records")
    assert (row["prompts"], row["valid answers"], row["answers A"]) == (48, 48, "48 of 48")


def test_one_letter_gives_all_in_one_order_and_none_in_the_other(first):
    rows = frames.by_order(first, examples.analysed().accuracy).set_index("order")["value"]
    assert rows["the neutral reason is A"] == 1 and rows["the neutral reason is B"] == 0
    assert rows["both orders together"] == 0.5


def test_every_answer_has_one_mark_and_invalid_ones_are_told(first):
    marks = frames.choices(first.frame)
    assert len(marks) == 48 and not marks.duplicated(["model", "case_id", "prompt"]).any()
    one = first.frame.copy()
    one.loc[0, "choice"] = None
    assert (frames.choices(one)["choice"] == frames.INVALID).sum() == 1


def test_rows_of_instructions_are_less_one_half(first):
    rows = frames.mean_probability(first)
    assert rows["instruction"].tolist()[0] == "all instructions" and len(rows) == 5
    assert rows["value"].abs().max() < 1e-12
    without = replace(first, log=first.log.drop(columns=["p_a", "p_b"]))
    assert frames.mean_probability(without).empty


def test_printed_intervals_over_cases_hold_those_over_answers():
    rows = frames.printed_accuracies(examples.analysed().printed)
    wide = rows.pivot(index="model", columns="unit", values=["ci_low", "ci_high"])
    assert (wide["ci_low", "over cases"] < wide["ci_low", "over answers"]).all()
    assert (wide["ci_high", "over cases"] > wide["ci_high", "over answers"]).all()


def test_false_alarms_are_the_stored_counts():
    rows = frames.false_alarms().set_index(["design", "test"])
    row = rows.loc[("27 cases, 8 answers each", "chi-square over answers")]
    assert row["value"] == pytest.approx(58 / 200) and row["n"] == 200
    exchange = rows.xs("exchange over cases", level="test")
    assert (exchange["ci_low"] < 0.05).all()


def test_six_cases_by_hand_and_by_the_library():
    frame = lesson.answers_of({"one": [8, 8, 8, 8, 8, 0], "two": [8, 8, 0, 0, 0, 0]})
    row = scores.compare_models(frame, "two").iloc[0]
    assert row["p_cluster"] == swap_test(np.array([0, 0, 1, 1, 1, 0.0]), 0) == 0.25
    assert row["p_chi2"] < 1e-5


def test_a_limit_stands_in_the_row_of_its_headline_only():
    frame = pd.DataFrame({"model": ["a", "b", "a"], "instruction": ["all", "all", "1"]})
    headlines = pd.DataFrame(
        [("accuracy", "a", 0.07), ("other", "b", 0.01)], columns=["what", "model", "detects"]
    )
    told = frames.with_limit(frame, headlines, "accuracy", "instruction", "all")["detects"]
    assert told.iloc[0] == 0.07 and told.iloc[1:].isna().all()


def test_the_answers_column_of_claims_comes_with_a_tested_claim():
    printed = pd.DataFrame([{"statement": "a", "verdict": "holds", "detail": "0.9"}])
    none = pd.DataFrame()
    caveats = pd.DataFrame(columns=["id", "text"])
    untested = Verdicts(none, printed, printed.assign(verdict="not tested"), none, {})
    assert lesson.claims_table(untested, caveats).shape == (1, 3)
    tested = Verdicts(none, printed, printed.assign(verdict="not found"), none, {})
    table = lesson.claims_table(tested, caveats)
    assert table["on the answers here"].tolist() == ["not found"]


@pytest.mark.parametrize(
    ("value", "p", "told"),
    [
        (2.0, 0.01, "to the neutral reason"),
        (-2.0, 0.01, "to the biased reason"),
        (2.0, 0.3, "no change found"),
        (2.0, float("nan"), "no change found"),
    ],
)
def test_the_direction_of_a_change_is_said_only_where_it_is_found(value, p, told):
    row = {"model": "m", "prompt_id": words.ALL, "value": value, "p_holm": p}
    moved = pd.DataFrame([row | {"ci_low": value - 1, "ci_high": value + 1}])
    assert told in lesson.likelihood_in_short(moved)


def test_a_respondent_that_is_only_pulled_varies_in_content_and_not_in_letters():
    found = play.planted_respondent(0.8, 1.0, 0.0, 27, seed=1).statistics
    value = found.set_index("statistic")["value"]
    assert value["accuracy, over cases"] == 0.5
    assert value["variation rate"] == value["cases that vary with order only"] == 1
    assert value["variation of letters"] == 0


@pytest.mark.parametrize("planted", [(0.8, 0.1, 0.2), (0.3, 0.0, 1.0), (0.5, 0.5, 0.0)])
def test_what_is_planted_comes_back_over_many_cases(planted):
    found = play.planted_respondent(*planted, 4000, seed=3).statistics
    known = found.dropna(subset=["planted"])
    assert (known["value"] - known["planted"]).abs().max() < 0.03


def test_a_case_is_looked_up_with_all_its_answers(first):
    one = play.look_up(first, "ju2-02")
    assert len(one.probabilities) == 8 and one.answers.shape == (8, 2)
    assert one.probabilities["value"].between(0, 1).all()
    without = replace(first, log=first.log.drop(columns=["p_a", "p_b"]))
    assert set(play.look_up(without, "ju2-02").probabilities["value"]) == {0.0, 1.0}


def test_near_misses_of_the_exercises_are_noticed():
    by_letter = EXERCISES[2].problem(lambda answers: sum(a == "A" for _, a in answers) / 2)
    assert "yours" in by_letter
    not_turned = EXERCISES[4].problem(lambda a, b: (a + b) / 2)
    assert "0.5" in not_turned
    fills_in = EXERCISES[2].problem(
        lambda answers: np.mean([(o == "nb") == (a == "A") for o, a in answers])
    )
    assert fills_in


def test_letters_of_one_place_are_no_reading_of_bias():
    asked, kept = examples.asked_first(), Kept()
    found = accuracies(asked, kept)
    rows = [row for row in kept.results if row.get("what") == "accuracy on the neutral option"]
    assert [row["status"] for row in rows] == ["position_bound"]
    assert "say nothing of bias" in lesson._of_places(asked.models[0], found)
