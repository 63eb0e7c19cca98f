"""Limits of detection are read from the stored trials, in the unit of the headline."""

import pandas as pd
import pytest

from katayori import paths
from katayori.papers import limits
from katayori_tools import simulate_spike

STORED = pd.read_csv(paths.data_dir() / simulate_spike.FILE)


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


def test_the_limits_are_those_of_the_stored_trials():
    drawn = simulate_spike.limits_table()
    parts = [limits.limits(paper) for paper in drawn["paper"].unique()]
    stored = pd.concat(parts, ignore_index=True)
    pd.testing.assert_frame_equal(stored, drawn, check_exact=True, check_dtype=False)


def test_what_was_not_tried_has_no_limit():
    assert limits.limits("logprob_judge").empty and limits.brief(limits.limits("x")).empty
    value, status = limits.detects("jubaku_v2", "my-model", "ju_1_ja", "letter")
    assert pd.isna(value) and status == "not_tried"
    known = limits.limits("jubaku_v2").query("status == 'ok'").iloc[0]
    told = limits.detects("jubaku_v2", known["model"], known["prompt_id"], known["method"])
    assert told == (known["detects"], "ok")
