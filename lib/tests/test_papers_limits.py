"""Limits of detection are read from the stored trials, in the unit of the headline."""

import pandas as pd
import pytest

from katayori import paths
from katayori.papers import limits

STORED = pd.read_csv(paths.data_dir() / limits.FILE)


@pytest.mark.parametrize("paper", STORED["paper"].unique())
def test_every_method_and_model_of_the_trials_has_a_limit_or_a_reason(paper):
    table = limits.limits(paper)
    cells = ["model", "prompt_id", "method", "effect", "second"]
    trials = STORED[STORED["paper"] == paper].drop_duplicates(cells)
    assert len(table) == len(trials)
    found = table["status"] == "ok"
    assert (table.loc[found, "detects"] > 0).all() and (table.loc[~found, "why"] != "").all()
    assert table.loc[~found, "detects"].isna().all()
    assert (table["n_reject_null"] <= 31).all()
    assert len(limits.brief(table)) == len(trials.drop_duplicates(cells[:3]))


def test_probabilities_are_told_in_points_and_decide_finer_than_one_sampled_answer():
    table = limits.limits("discrim_eval")
    assert set(table["unit"]) == {"points of P(yes)"}
    wide = limits.brief(table).set_index(["model", "method"])["alone"]
    for model in table["model"].unique():
        for factor in ("age", "gender", "race"):
            sampled = wide[model, f"{factor}, sampled, any_effect"]
            assert 1 < sampled < 30 and wide[model, f"{factor}, P(yes), any_effect"] < sampled / 10


def test_what_was_not_tried_has_no_limit():
    assert limits.limits("logprob_judge").empty and limits.brief(limits.limits("x")).empty
    value, status = limits.detects("persona_jbbq", "my-model", "pj_basic_ja", "letter")
    assert pd.isna(value) and status == "not_tried"
    known = limits.limits("persona_jbbq").query("status == 'ok'").iloc[0]
    told = limits.detects("persona_jbbq", known["model"], known["prompt_id"], known["method"])
    assert told == (known["detects"], "ok")
