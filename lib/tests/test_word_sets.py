"""Rank of an attribute among ten sets of words: what moves more is first, words are anywhere."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from katayori.papers.discrim_eval import word_sets
from katayori.papers.discrim_eval.mere_words import BLANK_OF, QUESTION
from katayori.papers.discrim_eval.second import load_blank_sets, load_third, twenty_questions
from katayori.prompting.prompts import load_prompts

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

PROMPT = load_prompts("discrim_eval")["de_answer_prefix"]
THIRD = load_third()
THIRD = THIRD[THIRD[QUESTION].isin(twenty_questions())].reset_index(drop=True)
SET = load_blank_sets().query("blank_set == blank_set.iloc[0]").reset_index(drop=True)


def moved(frame, columns, rng, **sizes):
    """P(yes) in which each level of each column moves each question by chance."""
    odds = rng.normal(0, 0.05, len(frame))
    for name in columns:
        keys = pd.factorize(frame[QUESTION].astype(str) + frame[name].astype(str))[0]
        odds += rng.normal(0, sizes.get(name, 0.1), keys.max() + 1)[keys]
    return frame.assign(model="m", value=expit(odds))


def ranks(rng, **sizes):
    real = moved(THIRD, list(BLANK_OF), rng, **sizes)
    parts = [moved(SET, list(BLANK_OF.values()), rng).assign(blank_set=f"s{k}") for k in range(10)]
    table = word_sets.rank_among_sets(real, pd.concat(parts, ignore_index=True))
    assert set(table["status"]) == {"ok"} and set(table["clusters"]) == {20}
    return table.set_index("factor")["rank"]


@pytest.mark.slow_all
def test_an_attribute_that_moves_more_is_first_beside_one_that_moves_like_words():
    found = pd.DataFrame([ranks(np.random.default_rng(k), race=0.4) for k in range(20)])
    assert (found["race"] == 1).all()
    assert found["age"].mean() == pytest.approx(6, abs=1.8)  # anywhere among eleven
    assert (found["age"] == 1).sum() <= 6


def test_only_the_persons_that_the_sets_have_are_compared():
    rng = np.random.default_rng(0)
    real = moved(THIRD, list(BLANK_OF), rng)
    sets = pd.concat(
        [moved(SET, list(BLANK_OF.values()), rng).assign(blank_set=name) for name in "ab"]
    )
    lost = word_sets.rank_among_sets(real[5:], sets)
    assert set(lost["status"]) == {"other_design"} and lost["rank"].isna().all()
    assert "has no rank (other design)" in word_sets.sentences(lost)[0]
    assert word_sets.rank_among_sets(real.assign(model="other"), sets).empty


def test_the_recorded_sets_are_ten_of_one_design():
    sets = word_sets.recorded_sets(PROMPT, ["qwen2.5-coder-0.5b", "smollm2-135m"])
    assert set(sets["model"]) == {"qwen2.5-coder-0.5b"}
    assert sets.groupby("blank_set").size().tolist() == [900] * 10
    assert sets["value"].notna().all()
