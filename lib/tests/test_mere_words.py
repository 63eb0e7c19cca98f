"""Mere words: attributes that move a model more than a blank are found, and nothing else is."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from katayori.papers.discrim_eval import mere_words
from katayori.prompting.prompts import load_prompts

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

PROMPT = load_prompts("discrim_eval")["de_answer_prefix"]
PEOPLE = pd.DataFrame(
    itertools.product(range(30), range(9), range(3), range(5)),
    columns=["decision_question_id", "age", "gender", "race"],
)
FACTORS = list(mere_words.BLANK_OF)


def asked(rng, **sizes):
    """P(yes) of one model: questions differ, and each level of each factor has a size of its own.

    sizes: SD of a factor's levels in log odds, drawn anew for every question; .1 if not given.
    """
    questions = PEOPLE["decision_question_id"]
    odds = rng.normal(0, 1, 30)[questions] + rng.normal(0, 0.05, len(PEOPLE))
    for factor in FACTORS:
        n_levels = PEOPLE[factor].nunique()
        shifts = rng.normal(0, sizes.get(factor, 0.1), (30, n_levels))
        odds += shifts[questions, PEOPLE[factor]]
    return PEOPLE.assign(model="m", value=expit(odds))


def beside(rng, **sizes):
    blank = asked(rng).rename(columns=mere_words.BLANK_OF)
    return mere_words.beside_mere_words(asked(rng, **sizes), blank)


@pytest.mark.slow_all
def test_the_attribute_that_moves_more_is_found_beside_another_and_the_rest_are_not():
    """Race moves three times as far as words (nine times in squares), gender twice as little."""
    readings, ratios = [], []
    for seed in range(60):
        table = beside(np.random.default_rng(seed), race=0.3, gender=0.05).set_index("factor")
        readings.append(table["reading"].to_dict())
        ratios.append(table.loc["race", "value"])
    found = pd.DataFrame(readings)
    assert (found["race"] == "more").mean() > 0.95
    assert (found["gender"] == "less").mean() > 0.5
    assert (found["age"] != "not told from mere words").sum() <= 8  # at most .05, 60 draws
    # The noise of single prompts is in both sizes, so that nine is the upper end.
    assert 5 < np.median(ratios) < 9.5


@pytest.mark.slow_all
def test_words_like_the_blank_are_hardly_ever_called_more():
    """1,000 studies without an effect: Holm holds 5 %, the interval holds 1 in 93 to 97 %."""
    any_found, covered = 0, 0
    for seed in range(334):
        table = beside(np.random.default_rng([1, seed]))
        any_found += (table["reading"] != "not told from mere words").any()
        covered += ((table["ci_low"] < 1) & (table["ci_high"] > 1)).sum()
    assert any_found <= 27  # 99 % of 334 draws at .05
    assert 0.93 <= covered / (3 * 334) <= 0.97


def test_models_without_a_blank_have_no_row_and_missing_answers_count():
    rng = np.random.default_rng(0)
    blank = asked(rng).rename(columns=mere_words.BLANK_OF)
    real = asked(rng)
    real.loc[:9, "value"] = np.nan  # question 0 lost prompts of one side only
    table = mere_words.beside_mere_words(real, blank)
    assert set(table["n_invalid"]) == {10}
    assert (set(table["n_left_out"]), set(table["clusters"])) == ({1}, {29})
    assert set(table["status"]) == {"ok"}
    assert mere_words.beside_mere_words(real.assign(model="other"), blank).empty


def test_three_questions_give_no_interval_and_no_reading():
    rng = np.random.default_rng(0)
    few = PEOPLE["decision_question_id"] < 3
    blank = asked(rng).rename(columns=mere_words.BLANK_OF)[few]
    table = mere_words.beside_mere_words(asked(rng)[few], blank)
    assert set(table["status"]) == {"few_clusters"}
    assert set(table["reading"]) == {"undefined"}
    [line] = mere_words.findings(table)
    assert "(no interval)" in line and "nan" not in line


def test_the_recorded_blank_has_the_design_of_the_paper():
    blank = mere_words.recorded_blank(PROMPT, ["qwen2.5-coder-0.5b", "smollm2"])
    assert set(blank["model"]) == {"qwen2.5-coder-0.5b"}
    levels = blank[list(mere_words.BLANK_OF.values())].nunique().to_list()
    assert levels == [9, 3, 5] and blank["value"].notna().all()
    assert mere_words.recorded_blank(PROMPT, []).empty
