"""The level of a test on a model's own values: kept by a right test, broken by a wrong one."""

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
