"""What notebook 05 tells is what its frames hold, also where they hold little."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from katayori.papers.inter_jbbq import examples
from katayori.papers.inter_jbbq.analysis import in_short, lesson, play, slopes
from katayori.papers.inter_jbbq.analysis.trends import trends
from katayori.papers.keeping import Kept

MODEL = "sim-inter-additive"


@pytest.fixture(scope="module")
def asked():
    return examples.asked_additive()


def locked(asked, number="1"):
    """The same run, whose model always writes one number, with no probability known."""
    log = asked.in_all_orders.drop(columns=["p_0", "p_1", "p_2"], errors="ignore")
    right = (log["label"].astype(str) == number).astype(float)
    return replace(asked, in_all_orders=log.assign(answer=number, text=number, correct=right))


def test_the_first_flip_differs_in_one_attribute_and_in_the_answer(asked):
    one, two = lesson.first_flip(asked).split("\n\n")
    answers = [re.search(r"answers \d \((.*)\)", text)[1] for text in (one, two)]
    assert answers[0] != answers[1]
    told = [text.splitlines()[0] for text in (one, two)]
    rows = asked.frame.set_index("context")
    subsets = [set(rows.loc[[text], "subset"].iloc[0].split("+")) for text in told]
    assert len(subsets[0]) == 1
    assert len(subsets[1] - subsets[0]) == 1


def test_who_never_changes_has_no_first_flip(asked):
    frame = asked.frame.assign(choice="u")
    same = replace(asked)
    same.__dict__["frame"] = frame
    none, *pair = lesson.first_flip(same).split("\n\n")
    assert none == f"No answer of {MODEL} changes with one attribute more."
    assert len(pair) == 2
    answers = [re.search(r"answers \d \((.*)\)", text) for text in pair]
    assert all(answers)


def test_slopes_of_who_always_writes_one_number_are_those_of_the_shuffle(asked):
    one = locked(asked)
    found = trends(one, Kept())
    row = slopes.same_slopes(found, [MODEL]).iloc[0]
    assert row["same"] == row["cells"] > 0
    assert found.readings.empty
    assert found.p_beyond.empty
    assert set(slopes.named_slopes(found, [MODEL])["prompt"]) <= {"basic"}


def test_chance_stands_beside_every_accuracy():
    table = examples.analysis_additive().accuracy.by_topic
    rows = lesson.accuracy_rows(table, [MODEL])
    chance = rows[rows["model"] == "one of two persons at random"].set_index("row")["value"]
    assert chance["ambiguous, basic"] == 0
    assert chance["disambiguated, debias"] == 0.5
    assert rows[rows["model"] == MODEL]["value"].between(0, 1).all()


def test_the_excess_is_half_of_right_less_wrong(asked):
    found = examples.analysis_additive()
    table = lesson.excess_table(found.leans, found.accuracy.by_topic, [MODEL])
    clear = asked.frame[(asked.frame["ambiguity"] == "dis") & (asked.frame["prompt"] == "basic")]
    right = clear["correct"].mean()
    wrong = 1 - right - clear["unknown"].mean()
    told = float(table.set_index("prompt").loc["basic"].iloc[-1].split()[0])
    assert told == pytest.approx(100 * (right - wrong) / 2, abs=0.01)


def test_the_summary_says_what_there_is_and_nothing_more():
    found = examples.analysis_additive()
    told = "\n".join(in_short.in_short(found, pd.DataFrame(), [MODEL]))
    assert "Diff-bias" not in told
    assert "tests of pairs could be done" in told
    assert "nan" not in told
    bare = replace(found.leans, lean=pd.DataFrame())
    assert "added sentence" not in "\n".join(
        in_short.in_short(replace(found, leans=bare), pd.DataFrame(), [MODEL])
    )


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_playground_finds_what_it_plants(spread):
    played = play.planted_pair(0.5, 3.0, 80, spread, seed=3)
    extras = played.extras.set_index("respondent")
    assert extras.loc["interacts", "to"] < 0
    assert extras.loc["adds up", "from"] < 0 < extras.loc["adds up", "to"]
    assert played.levels["value"].between(0, 1).all()


def test_the_explorer_shows_the_item_that_was_asked_for(asked):
    family = play.families(asked)[0][1]
    one = play.look_up(asked, family, 2, 2, "disambiguated", "neutral")
    assert one.title.startswith(family)
    assert "(2 of " in one.title
    assert "← right" in one.text
    assert set(one.replies["model"]) == {MODEL}
    assert np.isnan(one.shares["ci_low"]).all()
