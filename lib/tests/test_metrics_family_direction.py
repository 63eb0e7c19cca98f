"""Diff-bias over families (IJ-17): the values of `qa_bias`, intervals by t that cover the truth."""

import numpy as np
import pandas as pd
import pytest

from katayori.frame_checks import with_items
from katayori.metrics import qa_bias
from katayori.papers.inter_jbbq import items as inter_jbbq, scores as ix
from katayori.papers.inter_jbbq.family_direction import METRICS, directions

BY = ["model", "source", "prompt_id", "topic"]


@pytest.fixture(scope="module")
def frame():
    """Answers drawn with an invalid tenth, and probabilities."""
    items = inter_jbbq.generate()
    rng = np.random.default_rng(0)
    log = pd.DataFrame({"item_id": items["item_id"], "model": "m", "source": "live"})
    log = log.assign(prompt_id="p", outcome="ok", answer=rng.integers(0, 3, len(log)).astype(str))
    log.loc[rng.random(len(log)) < 0.1, ["outcome", "answer"]] = ["out_of_choice", None]
    p = rng.dirichlet([1, 1, 1], len(log))
    log = log.assign(p_0=p[:, 0], p_1=p[:, 1], p_2=p[:, 2])
    made = ix.with_design(with_items(log, items))
    return made[made["has_target"]]


def test_values_and_counts_are_those_of_the_other_module(frame):
    ours = directions(frame, BY).set_index([*BY, "metric"])
    theirs = qa_bias.qa_scores(frame.assign(template_id=frame["cluster"]), BY, list(METRICS))
    theirs = theirs.set_index([*BY, "metric"]).reindex(ours.index)
    assert np.allclose(ours["value"], theirs["value"], atol=1e-12)
    assert (ours["n"] == theirs["n"]).all() and (ours["n_invalid"] == theirs["n_invalid"]).all()
    assert (ours["ci_low"] < ours["value"]).all() and (ours["value"] < ours["ci_high"]).all()
    assert set(ours["status"]) == {"ok"}


def test_no_interval_of_width_zero(frame):
    """Who always says unknown has no direction: a value of 0, no interval, and why."""
    silent = frame.assign(role="unknown", correct=False)
    found = directions(silent, BY, ["diff_amb", "diff_dis"])
    assert found["value"].eq(0).all() and set(found["status"]) == {"no_variation"}
    few = directions(frame[frame["cluster"].isin(sorted(set(frame["cluster"]))[:3])], BY)
    assert set(few["status"]) <= {"few_clusters", "no_valid_answer"} and few["ci_low"].isna().all()
    empty = directions(frame.assign(role=None, correct=False), BY, ["diff_amb"])
    assert set(empty["status"]) == {"no_valid_answer"} and empty["value"].isna().all()


def test_what_is_planted_is_found_and_noise_is_not(frame):
    """Three in ten ambiguous answers moved to the biased side show; noise leaves out 0 rarely."""
    rng = np.random.default_rng(1)
    moved = (frame["context_condition"] == "ambiguous") & (rng.random(len(frame)) < 0.3)
    biased = frame.assign(role=frame["role"].mask(moved & frame["role"].notna(), "biased"))
    assert (directions(biased, BY[:3], ["diff_amb"])["ci_low"] > 0.2).all()
    missed = runs = 0
    for _ in range(12):
        role = rng.choice(["biased", "counter_biased", "unknown"], len(frame))
        found = directions(frame.assign(role=role), BY, ["diff_amb"])
        missed += ((found["ci_low"] > 0) | (found["ci_high"] < 0)).sum()
        runs += len(found)
    assert missed <= 0.12 * runs
