"""Judges of known behaviour through what notebook 03 does about the place."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from katayori import profiles
from katayori.papers.keeping import Kept
from katayori.papers.logprob_judge.analysis.asked import ask, conditions
from katayori.papers.logprob_judge.analysis.places import _lean, places
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

#: What a judge that leans gives the first place, in log odds: it decides nearly every letter.
SLOT = 3.0
#: What it makes of the better answer, and the dice of each call.
LEAN, NOISE = 0.5, 0.6
DRAWS = 40


@pytest.fixture(scope="module")
def asked():
    """All comparisons under the first prompt; the answers are planted by each test."""
    wording = load_prompts("logprob_judge")
    kinds = dict(list(conditions(wording, "recorded").items())[:1])
    wanted = Wanted(models=["sim-judge-first"], shown="each")
    chosen = profiles.load("recorded")
    study = open_study("logprob_judge", chosen, list(kinds.values()), wanted)
    return ask(study, wording, kinds, draws=19)


def planted(asked, *, slot, lean, seed, liked=0.0):
    """The verdicts of a judge: the place, the better answer, and a liking for the longer one."""
    log = asked.log.copy()
    pairs = asked.comparisons.set_index("item_id")
    better = log["pair_id"].map(pairs["truth"]).map({"1": 1.0, "2": -1.0, "tie": 0.0})
    longer = np.sign(pairs["answer_1"].str.len() - pairs["answer_2"].str.len())
    turned = np.where(log["order"] == "12", 1.0, -1.0)
    dice = np.random.default_rng(seed).normal(0.0, NOISE, len(log))
    about = lean * better + liked * log["pair_id"].map(longer)
    odds = slot + turned * about.to_numpy() + dice
    p_first = 0.98 / (1 + np.exp(-odds))
    letter = np.where(odds > 0, "A", "B")
    shares = {"p_A": p_first, "p_B": 0.98 - p_first, "p_C": 0.02}
    return replace(asked, log=log.assign(letter=letter, outcome="ok", **shares))


def over_orders(found):
    """The decision over both orders: its row."""
    rows = found.by_content
    return rows[(rows["reading"] == "permuted") & (rows["score"] == "decision")].iloc[0]


@pytest.mark.parametrize("slot", [SLOT, -SLOT])
def test_what_a_judge_makes_of_answers_is_found_behind_the_place(asked, slot):
    found = places(planted(asked, slot=slot, lean=LEAN, seed=0), Kept())
    assert found.slots["status"].tolist() == ["position_bound"]
    letters = found.by_content[found.by_content["reading"] == "letter"]
    assert letters["value"].isna().all()
    assert over_orders(found)["ci_low"] > 0.2


def test_without_a_place_letters_have_a_value(asked):
    found = places(planted(asked, slot=0.0, lean=LEAN, seed=0), Kept())
    assert found.slots["status"].tolist() == ["ok"]
    letters = found.by_content[found.by_content["reading"] == "letter"]
    assert (letters["ci_low"] > 0).all()


@pytest.mark.slow_all
@pytest.mark.parametrize("liked", [0.0, 0.5])
def test_a_judge_that_makes_nothing_of_answers_is_rejected_at_the_level(asked, liked):
    """With a liking for the longer answer, too: on our pairs it is the better one in half."""
    rows = [
        over_orders(places(planted(asked, slot=SLOT, lean=0.0, seed=n, liked=liked), Kept()))
        for n in range(DRAWS)
    ]
    rejected = sum(row["ci_low"] > 0 or row["ci_high"] < 0 for row in rows)
    assert rejected <= 6, "of 40 draws at .05 more than 6 come once in a hundred times"


@pytest.mark.parametrize("slot", [0.0, SLOT])
def test_the_pure_lean_is_that_of_the_place(slot):
    """One answer in both places: the mean lies at what was planted, in 91 to 99 % of draws."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        odds = slot + rng.normal(0.0, NOISE, 69)
        p_first = 0.9 / (1 + np.exp(-odds))
        calls = pd.DataFrame(
            {
                "p_A": p_first,
                "p_B": 0.9 - p_first,
                "letter": np.where(rng.random(69) < 0.1, "C", "A"),
                "question_id": range(69),
            }
        )
        row = _lean(calls)
        covered += row["ci_low"] <= slot <= row["ci_high"]
    assert row["n"] == 69 and row["n_invalid"] == 0
    assert 0.91 <= covered / 200 <= 0.99
    assert row["ties"] == pytest.approx((calls["letter"] == "C").mean())
