"""What notebook 03 tells: the first screen, both orders, the yardsticks, the exercises."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from katayori import paths, profiles
from katayori.papers.exercises import judged
from katayori.papers.keeping import Kept
from katayori.papers.logprob_judge import analysis
from katayori.papers.logprob_judge.analysis import lesson, play
from katayori.papers.logprob_judge.analysis.people import stored
from katayori.papers.logprob_judge.examples import asked_leaning
from katayori.papers.logprob_judge.exercises import EXERCISES
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts

KIND = "no criteria; verdict only"


@pytest.fixture(scope="module")
def asked():
    return asked_leaning()


@pytest.fixture(scope="module")
def found(asked):
    return analysis.analyse(asked, Kept())


def without_verdicts(asked):
    """The same calls, none of which holds a verdict or a probability."""
    nothing = {"letter": None, "outcome": "out_of_choice", "p_status": "no_verdict_token"}
    shares = dict.fromkeys(["p_A", "p_B", "p_C", "mass", "unseen"], np.nan)
    return replace(asked, log=asked.log.assign(**nothing, **shares, reasoned=False))


def test_the_first_screen_shows_two_orders_that_contradict_each_other(asked):
    text = lesson.two_orders(asked)
    one, other = [line for line in text.splitlines() if "writes" in line]
    assert one.startswith("A = answer 1") and other.startswith("A = answer 2")
    assert one.split("better one is ")[1][:8] != other.split("better one is ")[1][:8]


def test_a_judge_without_verdicts_is_told_and_nothing_is_measured(asked):
    silent = without_verdicts(asked)
    assert "no verdict in both orders" in lesson.two_orders(silent)
    assert lesson.log_odds(silent).empty and lesson.reliability(silent).empty
    none = analysis.analyse(silent, Kept())
    methods, gains = none.agreeing.methods, none.agreeing.gains
    (line,) = lesson.in_short(silent, methods, gains, none.beside, none.steady)
    assert "better than lots" not in line and "worse than lots" not in line
    assert set(lesson.claims_table(none.verdicts)[silent.focus[0]]) == {"not tested"}
    pair = silent.comparisons["item_id"].iloc[0]
    assert "proposed: none" in play.look_up(silent, pair, silent.focus[0], KIND).verdict


def test_log_odds_hold_the_lean_across_and_the_answers_along(asked):
    """A judge that leans to the first slot prefers answer 1 more where it stands first."""
    odds = lesson.log_odds(asked)
    lean = ((odds["first"] - odds["second"]) / 2).mean()
    assert lean == pytest.approx(3.0, abs=0.4)
    about_answers = (odds["first"] + odds["second"]).groupby(odds["label"]).mean()
    assert about_answers["answer 1 is better"] > 1 > -1 > about_answers["answer 2 is better"]


def test_rules_stand_beside_judges_and_always_a_tie_is_none_of_them(asked, found):
    areas = lesson.areas(asked, found.beside).set_index("row")
    assert areas.loc["the longer answer", "series"] == lesson.NO_JUDGE
    assert "always a tie" not in areas.index
    assert (areas.loc[areas["series"] == asked.focus[0], "value"] > 0.9).all()


def test_the_papers_figures_stand_beside_ours(asked, found):
    beside = lesson.beside_paper(asked, found.verdicts, found.steady).set_index(["model", "prompt"])
    theirs = beside.loc[("the paper", "criteria; verdict only")]
    assert theirs[["robustness", "value"]].tolist() == pytest.approx([72.0, 10.0])
    table = lesson.paper_table(asked, found.verdicts, found.agreeing.methods)
    assert table["prompt"].tolist() == list(asked.conditions)
    assert table["the paper"].tolist() == ["67.2", "64.9", "70.5", "71.2", "—", "—"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"value": 0.2, "p_holm": 0.01}, "better than lots"),
        ({"value": -0.2, "p_holm": 0.0004}, "worse than lots (4 right, 2 wrong, p below .001)"),
        ({"value": 0.2, "p_holm": 0.2}, "not told from lots"),
        ({"value": 0.2, "p_holm": np.nan}, "not told from lots"),
    ],
)
def test_better_and_worse_than_lots_are_told_by_the_test(row, words):
    counts = {"n_correct": 4, "n_wrong": 2}
    assert words in lesson.against_lots(pd.DataFrame([counts | row]))


def opened(wording):
    """A small recorded study, its wording and its prompts."""
    kinds = analysis.conditions(wording, "recorded")
    wanted = Wanted(limit=3, shown="each")
    chosen = profiles.load("recorded")
    return open_study("logprob_judge", chosen, list(kinds.values()), wanted), wording, kinds


def test_a_wording_without_recorded_answers_is_named():
    wording = load_prompts("logprob_judge")
    other = wording | {"lj_verdict": replace(wording["lj_verdict"], user="別の文面 {question}")}
    (note,) = analysis.ask(*opened(other), draws=9).notes
    assert note.startswith(f"no recorded answers to this wording of: {KIND}")
    unchanged = analysis.ask(*opened(wording), draws=9)
    assert not any(KIND in said for said in unchanged.notes)


def test_a_planted_judge_that_only_pulls_draws_lots():
    """The proposed method is right about half of the time, and never on a true tie."""
    judge = play.Judge(quality=0.0, pull=8.0, noise=0.5)
    drawn = play.planted_judge(judge, true_ties=0.5, questions=69, seed=3)
    points = drawn.points.set_index(["task", "method"])["value"]
    assert points["all", "robustness"] == 0 and points["equally good", "BS2"] == 1
    assert points["one is better", "proposed"] == pytest.approx(0.5, abs=0.12)
    assert points["equally good", "proposed"] < 0.05


@pytest.mark.mirror
def test_stored_verdicts_of_others_are_told_of_the_official_pairs():
    if not paths.mirror_dirs():
        pytest.skip("KATAYORI_MIRROR is not set")
    wording = load_prompts("logprob_judge")
    kinds = analysis.conditions(wording, "recorded", official=True)
    wanted = Wanted(limit=30, shown="each")
    prompts = list(kinds.values())
    study = open_study("logprob_judge", profiles.load("official"), prompts, wanted)
    asked = analysis.ask(study, wording, kinds, draws=9)
    assert asked.tasks == [] and len(asked.people) == 3
    kept = Kept()
    table = stored(asked, kept)
    assert table["n"].tolist() == [2997, 80, 80, 80]
    assert {"pandalm_7b", "vicuna_gpt4"} <= set(kept.tables)


FORGETS = "In order 21 the letter A is answer 2."


def averaged_without_unswapping(first, second):
    means = [a + b for a, b in zip(first, second, strict=True)]
    return ["1", "2", "tie"][means.index(max(means))]


def test_the_slips_of_the_exercises_have_their_hints():
    assert FORGETS in judged(EXERCISES[2], averaged_without_unswapping)
    assert "nothing is dropped" in judged(EXERCISES[4], [7 / 9, 8 / 9])
    share = judged(EXERCISES[5], lambda one, two: sum(map(str.__eq__, one, two)) / len(one))
    assert share.startswith("Not yet. For ['1', '1', '2', '2']") and "0.75" in share
