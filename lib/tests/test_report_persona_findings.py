"""Sentences of notebook 02: computed from tests, both ways, and none where nothing was asked."""

import numpy as np
import pandas as pd
import pytest
from test_metrics_qa_bias import answered, choosing, gold, made_items, respondent

from katayori.frame_checks import with_items
from katayori.metrics import interval_text, qa_bias, qa_tests
from katayori.papers.persona_jbbq import findings

ITEMS = made_items(20, ("age", "gender"))
NAMED = {"basic": "basicP", "p0": "biased"}


def changes(base, other):
    parts = [answered(ITEMS, base), answered(ITEMS, other, prompt="p0")]
    frame = qa_bias.with_role(with_items(pd.concat(parts, ignore_index=True), ITEMS))
    table = qa_bias.compare_prompts(frame, "basic", ["model", "source"])
    return table.assign(prompt="biased")


def test_surfacing_is_told_where_it_is_planted():
    """Acc_a down and Diff_a up: surfaces. Only the accuracy: not, and the change itself is told."""
    rng = np.random.default_rng(0)
    base = respondent(ITEMS, rng, knows=0.9, stereotype=0.5)
    leaning = respondent(ITEMS, rng, knows=0.2, stereotype=0.9)
    (line,) = findings.persona_effect(changes(base, leaning), ["m"])
    assert "Acc_a falls" in line and "Diff_a rises" in line and "bias surfaces" in line
    (line,) = findings.persona_effect(changes(base, leaning), ["m"], {"m"})
    assert "say nothing of bias" in line and "Held-back" not in line
    even = respondent(ITEMS, rng, knows=0.2, stereotype=0.5)
    (line,) = findings.persona_effect(changes(base, even), ["m"])
    assert "Acc_a falls" in line and "Diff_a is not found to change" in line
    assert "is not seen to surface" in line
    (line,) = findings.persona_effect(changes(even, base), ["m"])
    assert "Acc_a rises" in line


def test_no_change_and_no_persona():
    (line,) = findings.persona_effect(changes(gold(ITEMS), gold(ITEMS)), ["m"])
    assert line.count("does not change in any of 40 templates") == 2
    assert findings.persona_effect(changes(gold(ITEMS), gold(ITEMS)).head(0), ["m"]) == []
    (line,) = findings.persona_effect(changes(gold(ITEMS), [None] * len(ITEMS)), ["m"])
    assert line.count("has no value (no valid answer)") == 2


def test_categories_that_cancel_are_named():
    rng = np.random.default_rng(1)
    chance = np.where(ITEMS["category"] == "age", 0.8, 0.2)
    sides = np.where(rng.random(len(ITEMS)) < chance, "biased", "counter_biased")
    for sided, cancels in ((sides, True), (rng.permutation(sides), False)):
        frame = qa_bias.with_role(with_items(answered(ITEMS, choosing(ITEMS, sided)), ITEMS))
        lines = findings.categories(qa_tests.category_tests(frame), ["m"], NAMED)
        told = " ".join(lines)
        assert ("cancel in the pooled score" in told) == cancels
        assert ("age +" in told and "gender -" in told) == cancels
        assert ("0 of " in lines[0]) != cancels


def test_the_smallest_p_is_told_where_it_matters():
    items = made_items(6, ("age", "gender"))
    frame = qa_bias.with_role(with_items(answered(items, choosing(items, "biased")), items))
    lines = findings.categories(qa_tests.category_tests(frame), ["m"], NAMED)
    assert "no p after Holm can be below 0.062" in lines[-1]


def test_intervals_off_zero_against_chance():
    found = {"cells": 20, "off": 9, "expected": 1.0, "most": 4.0, "p": 0.001, "status": "ok"}
    assert "more than chance gives" in findings.leaning(found)
    few = findings.leaning(found | {"off": 2, "p": 0.4})
    assert "no more than chance gives" in few and "2 of 20" in few
    assert "none" in findings.leaning(found | {"status": "no_interval"})


def test_chance_line():
    table = pd.DataFrame({"model": "m", "prompt_id": ["basic", "p0"], "metric": "excess"})
    table = table.assign(value=[0.2, 0.0], ci_low=[0.1, np.nan], ci_high=[0.3, np.nan])
    table["status"] = ["ok", "no_variation"]
    (line,) = findings.chance(table, ["m"], NAMED)
    assert "under 1 of 2 prompts" in line and "+20.0 [+10.0, +30.0]" in line
    assert "no interval: no variation" in line
    (line,) = findings.chance(table.assign(status="design_not_symmetric"), ["m"], NAMED)
    assert "not symmetric" in line


@pytest.mark.parametrize(("p", "told"), [(0.2, "no change is found"), (0.01, "a change is found")])
def test_two_steps(p, told):
    """A model without reasons tells nothing; else the clearest change, with both p."""
    metrics = ["acc_amb", "diff_dis"]
    contrast = pd.DataFrame({"model": "a", "metric": metrics, "difference": [0.01, 0.12]})
    contrast = contrast.assign(ci_low=-0.1, ci_high=0.3, status="ok", p_cluster=[0.6, p / 2])
    contrast["p_scores"] = [0.6, p]
    leans = pd.DataFrame({"model": ["a"], "prompt_id": ["two"], "metric": ["diff_dis"]})
    leans = leans.assign(value=0.15, ci_low=0.05, ci_high=0.25, p=0.007, status="ok")
    turns = pd.DataFrame({"model": ["a", "b"], "n": 300, "without_reasons": [2, 297]})
    first, second = findings.two_steps(contrast, leans, turns, "two")
    assert told in first and "Diff_d changes by +12.0" in first and "+15.0" in first
    assert "tells nothing about reasoning" in second and "297 of 300" in second


def test_p_in_words():
    assert interval_text.p_text(0.0004) == "p below .001"
    assert interval_text.p_text(0.0234) == "p .023"
    assert interval_text.p_text(1.0) == "p 1.000"
