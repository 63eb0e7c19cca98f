"""Small changes that other tests would not notice: bounds, signs, and fields of a row."""

import math

import numpy as np
import pandas as pd
import pytest
import recounts
from scipy.stats import t as student

from katayori.metrics import (
    agreement,
    exchange,
    repeats,
)
from katayori.papers import logprob_judge


def replicates(n_questions: int) -> pd.DataFrame:
    """Four answers to each of two levels in three rows of every question, levels unlike."""
    rng = np.random.default_rng(1)
    index = np.indices((n_questions, 3, 2, 4)).reshape(4, -1)
    chance = np.where(index[2] == 0, 0.3, 0.7) + 0.05 * (index[0] % 3)
    value = (rng.random(chance.size) < chance).astype(float)
    return pd.DataFrame({"q": index[0], "row": index[1], "level": index[2], "value": value})


@pytest.mark.parametrize(("n_questions", "given"), [(4, False), (5, True)])
def test_alpha_from_replicates_has_an_interval_from_five_questions_on(n_questions, given):
    found = repeats.alpha_from_replicates(
        replicates(n_questions), level="level", row="row", question="q"
    )
    assert found["clusters"] == n_questions and found["status"] == "ok"
    assert np.isfinite(found["ci_low"]) == given


@pytest.mark.parametrize(
    ("yes", "near"),
    [
        (20, True),  # 100 rows of 3 pairs each hold 300 * .0667 ** 2 = 1.3 pairs of it by chance
        (60, False),  # 300 * .2 ** 2 = 12
    ],
)
def test_near_constant_counts_the_pairs_that_chance_would_make(yes, near):
    table = np.zeros((100, 3))
    table.ravel()[:yes] = 1
    assert agreement.is_near_constant(table) == near
    assert agreement.is_near_constant(table / 2) == near, "any two values"


def test_a_question_without_a_level_does_not_count_for_a_common_direction():
    rng = np.random.default_rng(2)
    index = np.indices((30, 5, 3)).reshape(3, -1)
    frame = pd.DataFrame({"question": index[0], "row": index[1], "level": index[2]})
    frame["value"] = (rng.random(len(frame)) < 0.3 + 0.2 * (frame["level"] == 1)).astype(float)
    columns = {"value": "value", "level": "level", "row": "row", "draws": 99}
    gap = (frame["question"] == 7) & (frame["level"] == 2)
    holed = exchange.exchange_test(frame.assign(value=frame["value"].mask(gap)), **columns)
    without = exchange.exchange_test(frame[frame["question"] != 7], **columns)
    statistic = [one.set_index("test").loc["common_direction", "value"] for one in (holed, without)]
    assert statistic[0] == pytest.approx(statistic[1])


def test_the_planted_judge_prefers_by_the_odds_that_are_said(monkeypatch):
    """ln P(A) / P(B) is the score: quality and the lean to the first slot; ties do not count."""
    judge = next(iter(logprob_judge.JUDGES))
    weigh = {
        **logprob_judge.JUDGES[judge],
        "quality": 0.7,
        "first": 0.4,
        "length": 0.1,
        "call": 0.0,
    }
    monkeypatch.setitem(logprob_judge.JUDGES, judge, weigh)
    item = {
        "item_id": "x",
        "order": "12",
        "quality_1": 2,
        "quality_2": 1,
        "answer_a": "aaaa",
        "answer_b": "aa",
    }
    chances = logprob_judge.judge_chances(judge, item)
    score = weigh["quality"] + weigh["first"] + 2 * weigh["length"]
    assert math.log(chances["A"] / chances["B"]) == pytest.approx(score)


@pytest.mark.parametrize("rows", [20, 21])
def test_five_pairs_by_chance_are_enough(rows):
    """20 rows of 2 answers, half of them yes: chance puts 20 x .5 ^ 2 = 5 pairs of it into rows."""
    table = np.zeros((rows, 2))
    table.ravel()[:20] = 1
    assert agreement.is_near_constant(table) == (rows > 20)


def test_a_correlation_that_no_size_gives_says_none():
    found = recounts.correlation_p("0.9", "0.999", 9)
    assert found["reason"] == "r = 0.999, n = 9; n that fit: none"


@pytest.mark.parametrize("significant", ["yes", "no"])
def test_significance_repeats_what_was_printed(significant):
    found = recounts.significance(significant, "0.259", "-0.385", "0.0167")
    assert found["printed"] == f"significant: {significant}"


def test_the_smallest_p_of_an_exchange_is_one_in_all_draws():
    """No drawn labels reach a clear common direction: p is 1 / (1 + draws)."""
    index = np.indices((30, 4, 3)).reshape(3, -1)
    frame = pd.DataFrame({"question": index[0], "row": index[1], "level": index[2]})
    frame["value"] = (frame["level"] == 1) + 0.01 * ((frame["question"] * frame["row"]) % 3)
    columns = {"value": "value", "level": "level", "row": "row", "draws": 99}
    found = exchange.exchange_test(frame, **columns).set_index("test")
    assert found.loc["common_direction", "p"] == pytest.approx(1 / 100)


def test_the_interval_of_alpha_from_replicates_is_the_jackknife_of_its_definition():
    """Pseudo-values n a - (n - 1) a_q, their mean's t interval around a."""
    answers = replicates(8)
    columns = {"level": "level", "row": "row", "question": "q"}
    found = repeats.alpha_from_replicates(answers, **columns)
    without = [
        repeats.alpha_from_replicates(answers[answers["q"] != one], **columns)["alpha"]
        for one in range(8)
    ]
    pseudo = 8 * found["alpha"] - 7 * np.array(without)
    half = student.ppf(0.975, 7) * pseudo.std(ddof=1) / np.sqrt(8)
    assert found["ci_high"] - found["alpha"] == pytest.approx(half, rel=1e-9)
