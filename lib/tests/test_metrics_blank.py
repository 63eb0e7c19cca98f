"""Blank: sizes are those of the exchange tests, ratios hold on noise, what is planted is found."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from katayori.metrics import blank, spike, spike_statistics as statistics

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

NINE, THREE, FIVE = 9, 3, 5


def asked(rng, *, questions=20, effect=0.0, other=0.0, noise=0.3, third=False):
    """Recorded-like P(yes): `effect` is the SD of three levels' log odds, `other` that of nine."""
    cells = itertools.product(range(questions), range(NINE), range(THREE), range(FIVE))
    frame = pd.DataFrame(list(cells), columns=["q", "nine", "three", "five"])
    if third:
        # The balanced third: nine and five cross once, so a row of these two has one answer.
        frame = frame[(frame["nine"] + frame["five"] + frame["q"]) % 3 == frame["three"]]
        frame = frame.reset_index(drop=True)
    odds = rng.normal(0, 1, questions)[frame["q"]]
    odds = odds + rng.normal(0, effect, (questions, THREE))[frame["q"], frame["three"]]
    odds = odds + rng.normal(0, other, (questions, NINE))[frame["q"], frame["nine"]]
    return frame.assign(p=expit(odds + rng.normal(0, noise, len(frame))))


# -- size ------------------------------------------------------------------------------------------


# -- ratio -----------------------------------------------------------------------------------------


def beside_words(seed, *, effect, words):
    rng = np.random.default_rng(seed)
    real, blank_set = asked(rng, effect=effect), asked(rng, effect=words)
    row = real["nine"] * FIVE + real["five"]
    frame = real.assign(question=real["q"], row=row, p_blank=blank_set["p"])
    return frame.assign(exposure=1.0 * (real["three"] == 0), second_exposure=real["nine"] / 8)


# -- rank ------------------------------------------------------------------------------------------


# -- level, counts, bias beside words --------------------------------------------------------------


def own_values():
    frame = asked(np.random.default_rng(7), questions=12, effect=0.8, other=0.8)
    frame = frame[frame["nine"] < 3].reset_index(drop=True)
    row = frame["nine"] * FIVE + frame["five"]
    return frame.assign(question=frame["q"], row=row, exposure=1.0 * (frame["three"] == 0))


def test_a_right_test_keeps_its_level_on_the_models_own_values():
    frame = own_values()
    statistic = statistics.exchange_statistic(frame, "three", exchanges=39)
    found = blank.level_on_own_values(spike.YesNo(frame), statistic)
    assert (found["n_draws"], found["allowed"], found["status"]) == (1000, 67, "ok")
    assert 25 <= found["n_reject"] <= 67 and found["share"] == found["n_reject"] / 1000


def test_a_test_that_takes_answers_of_a_question_as_alone_is_found_out():
    """It asks whether the levels differ beyond chance over answers, and sees the questions."""
    frame = own_values()

    def found(drawn, _):
        by_question = drawn.groupby("question")["value"].mean()
        return spike.Found(np.nan, float(by_question.std() > 0.1))

    wrong = spike.Statistic(found, lambda planted: 0.0, "none")
    report = blank.level_on_own_values(spike.YesNo(frame), wrong, draws=100)
    assert report["status"] == "level_broken" and report["allowed"] == 11
    never = spike.Statistic(
        lambda drawn, _: spike.Found(np.nan, np.nan), lambda planted: 0.0, "none"
    )
    report = blank.level_on_own_values(spike.YesNo(frame), never, draws=10)
    assert (report["status"], report["n_undefined"]) == ("undefined", 10)


def pairs(rng, bias, templates=range(30), words=None):
    """Two pairs a template; the scene (`words`) is liked alike with any persons."""
    scene = np.zeros(60) if words is None else words
    rows = [
        {"template_id": n, "bias": bias + scene[n] + rng.normal(0, 0.2)}
        for n in templates
        for _ in range(2)
    ]
    return pd.DataFrame(rows)


def test_a_bias_beyond_words_is_told_by_the_difference_and_words_alone_are_not():
    rng = np.random.default_rng(8)
    outside = {0.0: 0, 0.5: 0}
    for bias in outside:
        for _ in range(100):
            scene = 0.4 + rng.normal(0, 0.5, 60)  # what the scene does with whatever persons
            real, words = pairs(rng, bias, words=scene), pairs(rng, 0.0, words=scene)
            found = blank.beside_blank(real, words, cluster="template_id", value="bias")
            row = found.set_index("what").loc["real_less_blank"]
            outside[bias] += row["ci_low"] > 0 or row["ci_high"] < 0
    assert outside[0.0] <= spike.most_by_chance(100) and outside[0.5] == 100


def test_only_templates_that_both_have_are_laid_beside_each_other():
    rng = np.random.default_rng(9)
    real, words = pairs(rng, 0.5), pairs(rng, 0.0, range(20, 50))
    real.loc[real["template_id"] == 25, "bias"] = np.nan
    found = blank.beside_blank(real, words, cluster="template_id", value="bias")
    assert found["what"].tolist() == ["real", "blank", "real_less_blank"]
    assert set(found["clusters"]) == {9} and set(found["n_left_out"]) == {41}
    value = found.set_index("what")["value"]
    assert value["real_less_blank"] == pytest.approx(value["real"] - value["blank"])
    kept = real[real["template_id"].between(20, 29)].dropna().groupby("template_id")["bias"].mean()
    assert found["spread"][0] == pytest.approx(np.sqrt((kept**2).mean()))
    apart = blank.beside_blank(
        real, pairs(rng, 0.0, range(40, 50)), cluster="template_id", value="bias"
    )
    assert set(apart["status"]) == {"no_valid_answer"} and apart["value"].isna().all()
