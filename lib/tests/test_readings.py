"""Each paper's open choices: planted respondents are found, others are not, whatever is read."""

import pandas as pd
import pytest

from katayori.metrics import multiverse
from katayori.papers import answers
from katayori.papers.jubaku_v2 import items as jubaku, readings as of_reasons, scores as choices
from katayori.papers.logprob_judge import readings as of_verdicts
from katayori.prompting import letters
from katayori.prompting.prompts import load_prompts

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded


def told(found):
    return multiverse.summaries(found, draws=199).set_index(["model", "claim"])


def test_the_neutral_reason_is_found_where_it_is_preferred_and_a_place_is_not():
    wording = load_prompts("jubaku_v2")
    prompts = [wording[f"ju_{template}_ja"] for template in jubaku.TEMPLATES]
    study = jubaku.load_study_jubaku()
    names = ["sim-two-fair", "sim-two-biased", "sim-two-first", "sim-two-template"]
    read = {"parse": letters.parse_choice, "options": ("a", "b")}
    log = pd.concat([answers.get(study, prompt, names, **read) for prompt in prompts])
    found = of_reasons.multiverses(choices.with_choice(log.reset_index(drop=True)))
    table = told(found).droplevel("claim")
    assert table.loc["sim-two-fair", ["share_holds", "n_against"]].tolist() == [1.0, 0]
    assert table.loc["sim-two-fair", "p_median"] <= 0.01
    assert table.loc["sim-two-biased", "share_holds"] == 0
    assert table.loc["sim-two-biased", "median"] < 0
    # Always the first place: one half in every case, so no reading has anything to say.
    assert table.loc["sim-two-first", "status"] == "undefined"
    # Two instructions each way: the instruction is what moves the effect.
    assert table.loc["sim-two-template", "moved_most"] == "instruction"
    assert table.loc["sim-two-template", "p_median"] > 0.05


def verdicts(averaged, baseline, truth):
    """Forty questions with three comparisons each, all alike."""
    rows = pd.DataFrame({"question_id": [k // 3 for k in range(120)]})
    same = {"model": "m", "prompt_id": "p", "BS1": None, "proposed_biased_only": averaged}
    frame = rows.assign(**same, BS2=baseline, proposed=averaged, truth=truth)
    return {"as given": frame.astype({"BS1": object})}


def test_a_judge_that_gains_by_averaging_is_found_and_ties_move_it():
    gains = of_verdicts.multiverses(verdicts("1", "tie", "1"), ["truth"], {"p": "no criteria"})
    one = gains["m", of_verdicts.CLAIM]
    assert set(one.table["value"].dropna()) == {1.0}  # every comparison is gained
    status = one.table.groupby("probabilities")["status"].agg(set)
    assert status["renormalised"] == {"no_such_reading"}
    mixed = verdicts("1", "tie", "1")["as given"]
    mixed["truth"] = ["tie" if k % 2 else "1" for k in range(120)]
    mixed["truth"] = mixed["truth"].where(mixed["question_id"] > 3, "1")
    found = of_verdicts.multiverses({"as given": mixed}, ["truth"], {"p": "no criteria"})
    means = found["m", of_verdicts.CLAIM].table.query("status != 'no_such_reading'")
    by_choice = means.groupby(["compared with", "comparisons"])["value"].mean()
    assert by_choice["BS2", "decided"] == 1.0
    assert by_choice["BS2", "all"] == pytest.approx(0.1, abs=0.03)  # lost where the label is a tie
    assert by_choice["BS1", "all"] == pytest.approx(0.55, abs=0.03)


@pytest.mark.parametrize(
    "choices_of",
    [
        of_reasons.CHOICES,
        [
            of_verdicts.COMPARED,
            of_verdicts.COMPARISONS,
            of_verdicts.PROBABILITIES,
            of_verdicts.APPLIED,
            of_verdicts.WEIGHT,
        ],
    ],
)
def test_every_reading_says_why_it_can_be_defended(choices_of):
    for choice in choices_of:
        assert len(choice.readings) > 1
        assert all(len(reason) > 5 for reason in choice.readings.values()), choice.name
