"""Each paper's open choices: planted respondents are found, others are not, whatever is read."""

import pandas as pd
import pytest

from katayori.metrics import multiverse
from katayori.papers import answers
from katayori.papers.jubaku_v2 import items as jubaku, readings as of_reasons, scores as choices
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


def test_every_reading_says_why_it_can_be_defended():
    for choice in of_reasons.CHOICES:
        assert len(choice.readings) > 1
        assert all(len(reason) > 5 for reason in choice.readings.values()), choice.name
