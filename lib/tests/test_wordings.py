"""Other words: a gap of pronouns goes with them, one of the noun stays, noise finds nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from katayori.papers.discrim_eval import wordings
from katayori.papers.discrim_eval.level_gaps import level_gaps
from katayori.papers.discrim_eval.mere_words import QUESTION
from katayori.papers.discrim_eval.second import load_plain, load_third
from katayori.prompting.prompts import load_prompts

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

THIRD = load_third()
PLAIN = "without pronouns"
MODEL = {"model": "m", "source": "recorded"}


def asked(rng, **moves):
    """P(yes) of the third; every level also moves every question by chance, as mere words do."""
    odds = rng.normal(0, 0.3, len(THIRD))
    for name in ("age", "gender", "race"):
        keys = pd.factorize(THIRD[QUESTION].astype(str) + THIRD[name].astype(str))[0]
        odds += rng.normal(0, 0.3, keys.max() + 1)[keys]
    for level, size in moves.items():
        odds += size * THIRD[["gender", "race"]].eq(level.replace("_", "-")).any(axis=1)
    return THIRD.assign(value=expit(odds), **MODEL)


def told(real, other):
    reworded = other.assign(wording=PLAIN)
    table = wordings.beside_wordings(real, reworded, level_gaps(real))
    return table.set_index("factor")


def test_a_gap_of_pronouns_goes_with_them_and_one_of_the_noun_stays():
    """The second effect, of race, is there in both and is not told apart."""
    rng = np.random.default_rng(4)
    real = asked(rng, non_binary=0.5, white=0.5)
    without = told(real, asked(rng, white=0.5))
    assert without.loc["gender", "reading"] == "told apart"
    assert without.loc["gender", "level"] == "non-binary"
    assert without.loc["gender", "ci_low"] < -0.5 < without.loc["gender", "ci_high"]
    assert without.loc["race", "reading"] == "not told apart"
    of_noun = told(real, asked(rng, non_binary=0.5, white=0.5))
    assert set(of_noun["reading"]) == {"not told apart"}
    assert of_noun.loc["gender", "reworded"] == pytest.approx(0.5, abs=0.2)


def test_an_instruction_that_moves_everybody_moves_no_gap():
    rng = np.random.default_rng(5)
    real = asked(rng, white=0.5)
    moved = expit(np.log(real["value"] / (1 - real["value"])) + 0.4)
    table = told(real, real.assign(value=moved))
    assert table.loc[wordings.EVERYBODY, "value"] == pytest.approx(0.4)
    assert table.loc[wordings.EVERYBODY, "status"] == "no_variation"
    assert table.loc["race", "value"] == pytest.approx(0, abs=1e-9)


@pytest.mark.slow_all
def test_on_noise_hardly_anything_is_told_apart_though_the_level_was_chosen():
    """At most 67 in a thousand, here of 200: the furthest level is furthest by chance, too."""
    rng = np.random.default_rng(6)
    found = [told(asked(rng, white=0.3), asked(rng, white=0.3)) for _ in range(200)]
    alarms = sum((one["reading"] == "told apart").any() for one in found)
    assert alarms <= 20  # of 200 at .05, 10 expected at most; 20 is beyond the 99.8 % limit
    covered = [
        (one.loc["gender", "ci_low"] < 0) & (one.loc["gender", "ci_high"] > 0) for one in found
    ]
    assert np.mean(covered) >= 0.93


def test_missing_answers_are_counted_and_a_model_without_other_words_has_no_row():
    rng = np.random.default_rng(7)
    real, other = asked(rng), asked(rng)
    other.loc[other.index[:40], "value"] = np.nan
    table = told(real, other)
    assert set(table["n"]) == {len(THIRD) - 40} and set(table["n_invalid"]) == {40}
    assert told(real.assign(model="else"), other)["n"].eq(0).all()
    assert set(told(real[:450], other)["n_invalid"]) == {40}  # a run of ten questions
    assert wordings.beside_wordings(real, other[:0].assign(wording=""), level_gaps(real)).empty


def test_both_wordings_ask_about_the_persons_of_the_third():
    prompts = load_prompts("discrim_eval")
    assert {prompt for _, prompt in wordings.WORDINGS.values()} <= set(prompts)
    ids = load_plain()["item_id"].str.removeprefix(wordings.PREFIX_OF_PLAIN)
    assert ids.tolist() == THIRD["item_id"].tolist()


def test_recorded_answers_of_both_wordings_are_whole():
    """The larger model's are cut from the list (data/recorded/plan_second.csv)."""
    small, *others = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"
    found = wordings.recorded_wordings([small, *others])
    assert small in set(found["model"]) and "smollm2-135m" not in set(found["model"])
    for _, own in found.groupby("model"):
        assert own.groupby("wording").size().to_dict() == dict.fromkeys(wordings.WORDINGS, 3150)
    assert found["value"].notna().all()
