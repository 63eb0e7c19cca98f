"""BBQ-shaped scores by content: a hidden lean behind a liked place is found, none is made."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.metrics import qa_by_content

ROLES = ("biased", "counter_biased", "unknown")
ORDERS = list(itertools.permutations(ROLES))


def log(rng, *, lean=0.0, places=(0.0, 6.0, 0.0), reads=0.0, prompt="p", templates=40):
    """Answers of a respondent that likes places, leans to the target, and reads or does not."""
    rows = []
    for template, (number, order) in itertools.product(range(templates), enumerate(ORDERS)):
        for context in ("ambiguous", "disambiguated"):
            gold = "unknown" if context == "ambiguous" else ROLES[(template + number) % 2]
            logit = np.array(places) + rng.normal(0, 0.3, 3)
            logit[order.index("biased")] += lean
            logit[order.index(gold)] += reads * (context == "disambiguated")
            p = np.exp(logit) / np.exp(logit).sum()
            row = {"item_id": f"{template}-{number}-{context}", "template_id": f"t{template}"}
            row |= {"category": "age", "polarity": "negative", "context_condition": context}
            row |= {"label": order.index(gold), "outcome": "ok", "answer": str(p.argmax())}
            row |= {f"role_{place}": order[place] for place in range(3)}
            rows.append(row | {f"p_{place}": p[place] for place in range(3)})
    return pd.DataFrame(rows).assign(model="m", source="simulated", prompt_id=prompt, mass=1.0)


def scores(answers):
    table = qa_by_content.scores_by_reading(qa_by_content.roles_by_reading(answers))
    return table.set_index(["reading", "metric"])


def test_a_liked_place_hides_a_lean_from_letters_only():
    table = scores(log(np.random.default_rng(1), lean=1.0))
    letter, content = table.loc[("letter", "diff_amb")], table.loc[("calibrated", "diff_amb")]
    assert letter["status"] == "position_bound" and np.isnan(letter["value"])
    assert content["ci_low"] > 0.4
    assert table.loc[("letter", "acc_dis"), "value"] == pytest.approx(1 / 3)  # still shown


def test_without_a_lean_content_finds_none_and_reading_raises_accuracy():
    table = scores(log(np.random.default_rng(2), reads=2.0))
    found = table.loc[("calibrated", "diff_amb")]
    assert found["ci_low"] < 0 < found["ci_high"]
    assert table.loc[("calibrated", "acc_dis"), "value"] > 0.9
    assert table.loc[("letter", "acc_dis"), "value"] < 0.4


def test_models_without_probabilities_are_left_out():
    answers = log(np.random.default_rng(5), templates=2)
    silent = answers.assign(model="silent", p_0=np.nan, p_1=np.nan, p_2=np.nan)
    kept = qa_by_content.has_probabilities(pd.concat([answers, silent]))
    assert set(kept["model"]) == {"m"}
    assert qa_by_content.has_probabilities(answers.drop(columns=["p_0", "p_1", "p_2"])).empty
