"""Likelihood of the reasons under instructions: planted changes are found, words are not."""

import numpy as np
import pandas as pd
import pytest

from katayori.papers.jubaku_v2 import words
from katayori.prompting import prompts, recordings

TOLD = [f"t{n}" for n in range(1, 5)]


def study(seed, change=0.0, cases=36):
    """Leans of cases whose words have a lean of their own; instructions add `change`."""
    rng = np.random.default_rng(seed)
    own = rng.normal(5, 10, cases)
    drift = rng.normal(0, 2, cases)  # of a case under any instruction
    rows = []
    for case in range(cases):
        rows.append({"prompt_id": "plain", "case_id": case, "lean": own[case]})
        for name in TOLD:
            lean = own[case] + change + drift[case] + rng.normal(0, 0.5)
            rows.append({"prompt_id": name, "case_id": case, "lean": lean})
    return pd.DataFrame(rows).assign(model="m")


@pytest.mark.parametrize("change, says", [(2.0, "neutral reason becomes"), (-2.0, "biased reason")])
def test_a_planted_change_is_found_on_its_side(change, says):
    table = words.moved_by_instruction(study(1, change), "plain").set_index("prompt_id")
    assert (table["p_holm"] < 0.05).all() and (np.sign(table["value"]) == np.sign(change)).all()
    assert table.loc[words.ALL, "n"] == 36 and list(table.index) == [*TOLD, words.ALL]
    [line] = words.findings(table.reset_index())
    assert f"under the instructions the {says}" in line
    assert f"{table.loc[words.ALL, 'value']:+.2f} nats" in line


def test_words_alone_move_nothing():
    """The reasons' own leans are far from 0; of 200 studies without change about 10 are called one
    (20 or more have a chance below 1 %), and the interval holds 0 as often.
    """
    tables = [words.moved_by_instruction(study(seed), "plain") for seed in range(200)]
    whole = pd.concat(tables).query("prompt_id == @words.ALL")
    assert (whole["p_holm"] < 0.05).sum() <= 19
    assert ((whole["ci_low"] <= 0) & (whole["ci_high"] >= 0)).sum() >= 181


def test_a_case_that_lacks_a_score_is_left_out_and_counted():
    leans = study(2, 1.0)
    leans.loc[(leans["case_id"] == 3) & (leans["prompt_id"] == "t2"), "lean"] = np.nan
    table = words.moved_by_instruction(leans, "plain").set_index("prompt_id")
    assert table.loc["t1", "n"] == 36 and table.loc["t2", "n"] == 35
    assert table.loc[words.ALL, "n"] == 35 and table.loc[words.ALL, "n_incomplete"] == 1


def test_recorded_leans_are_those_of_models_with_every_prompt():
    wording = prompts.load_prompts(words.PAPER)
    asked = [prompt for prompt in wording.values() if prompt.kind == "likelihood"]
    models = [entry["model"] for entry in recordings.shards(words.PAPER, words.PLAIN, words.ITEMS)]
    leans = words.recorded_leans(asked, [*models, "gpt-4o"])
    assert set(leans["model"]) == set(models) and leans["lean"].notna().all()
    assert (leans.groupby(["model", "prompt_id"]).size() == 36).all()
    assert words.recorded_leans(asked, ["gpt-4o"]).empty
