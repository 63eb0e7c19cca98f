"""Chance, categories, cells that lean: what is planted is found, noise is not (PJ-17, PJ-19)."""

import numpy as np
import pandas as pd
import pytest
from test_metrics_qa_bias import answered, choosing, gold, made_items

from katayori.data import bbq
from katayori.frame_checks import with_items
from katayori.metrics import qa_bias, qa_tests
from katayori.papers import persona_jbbq

CATEGORIES = ("age", "disability", "gender", "orientation")


def with_texts(items):
    """Items of `made_items` with options and a passage that names both persons."""
    names = {"target": "A", "non_target": "B", "unknown": "?"}
    for i in range(3):
        items[f"option_{i}"] = items[f"person_{i}"].map(names)
    return items.assign(context="A meets B")


def framed(items, answers, **more):
    return qa_bias.with_role(with_items(answered(items, answers, **more), items))


STUDY = bbq.balanced(persona_jbbq.load_first(), 1800)


# --- chance -------------------------------------------------------------------------------------


def test_whoever_does_not_read_is_at_zero():
    """Names a person by slot, never "unknown": right in half of the clear contexts, excess 0."""
    assert qa_tests.is_symmetric(STUDY)
    roles = STUDY[["role_0", "role_1", "role_2"]].to_numpy()
    for slots in ((1, 2, 0), (0, 1, 2)):
        picked = [next(i for i in slots if own[i] != "unknown") for own in roles]
        table = qa_tests.chance(framed(STUDY, map(str, picked))).set_index("metric")
        assert table.loc["excess", "value"] == pytest.approx(0, abs=1e-12)
        assert table.loc["later_right", "value"] == 0.5
        assert table.loc["later_right", "status"] == "same_in_every_cluster"
        assert table.loc["right", "value"] == 0.5
    blind = np.random.default_rng(0).choice(["0", "1", "2"], len(STUDY), p=[0.1, 0.7, 0.2])
    row = qa_tests.chance(framed(STUDY, blind)).set_index("metric").loc["excess"]
    assert row["ci_low"] < 0 < row["ci_high"]


def test_reading_is_found_beside_a_preference_for_a_slot():
    """A tenth of the answers is read, the rest is the second option: an excess of about .1 / 2."""
    rng = np.random.default_rng(1)
    answers = np.where(rng.random(len(STUDY)) < 0.2, gold(STUDY), "1")
    row = qa_tests.chance(framed(STUDY, answers)).set_index("metric").loc["excess"]
    assert row["ci_low"] <= 0.1 <= row["ci_high"] and row["ci_low"] > 0.05
    assert row["n"] == 1200 and row["clusters"] == 50


def test_a_design_in_which_right_follows_from_the_place():
    """The right person always named first: whoever takes the first looks right, so no excess."""
    items = with_texts(made_items(8))
    clear = items["context_condition"] != "ambiguous"
    right = items.apply(lambda one: one[f"option_{one['label']}"], axis=1)
    other = np.where(right == "A", "B", "A")
    items["context"] = np.where(clear, right + " meets " + other, "A meets B")
    assert not qa_tests.is_symmetric(items)
    first = choosing(items, ["counter_biased"] * len(items))
    table = qa_tests.chance(framed(items, first)).set_index("metric")
    assert table.loc["excess", "status"] == "design_not_symmetric"
    assert np.isnan(table.loc["excess", "value"])
    assert table.loc["later_right", "value"] == 0.5


def test_no_ambiguous_version_is_named():
    items = with_texts(made_items(6))
    clear = items[items["context_condition"] != "ambiguous"]
    table = qa_tests.chance(framed(clear, gold(clear)))
    assert "later_right" not in set(table["metric"]) or table.set_index("metric").loc[
        "later_right", "status"
    ] in ("no_ambiguous_version", "no_person_chosen")
    nobody = qa_tests.chance(framed(items, choosing(items, "unknown"))).set_index("metric")
    assert nobody.loc["later_right", "status"] == "no_person_chosen"
    assert nobody.loc["excess", "value"] == 0


# --- categories ---------------------------------------------------------------------------------


def leaning(items, rng, leans):
    """Persons at random; in a category with a lean one side more often."""
    chance = 0.5 + items["category"].map(leans).fillna(0) / 2
    return choosing(items, np.where(rng.random(len(items)) < chance, "biased", "counter_biased"))


def test_categories_that_cancel_are_found():
    """Plus in one category, minus in another: nothing pooled, both by category, the rest silent."""
    items = made_items(10, CATEGORIES)
    answers = leaning(items, np.random.default_rng(3), {"disability": 0.5, "orientation": -0.5})
    frame = framed(items, answers)
    pooled = qa_bias.qa_scores(frame, ["model"], ["diff_amb"]).iloc[0]
    assert pooled["ci_low"] < 0 < pooled["ci_high"]
    found = qa_tests.category_tests(frame, metrics=["diff_amb"]).set_index("category")
    assert set(found.index[found["p_holm"] < 0.05]) == {"disability", "orientation"}
    assert found.loc["disability", "value"] > 0.3 and found.loc["orientation", "value"] < -0.3
    assert (found["tests"] == 4).all()
    assert found["smallest_p_holm"].tolist() == [pytest.approx(4 * 2 / 1024)] * 4


def test_categories_against_enumeration():
    """p is the share of exchanges of target and non-target with a score as far from 0."""
    items = made_items(4)
    answers = leaning(items, np.random.default_rng(5), {"age": 0.4})
    frame = framed(items, answers)
    other = {"biased": "counter_biased", "counter_biased": "biased", "unknown": "unknown"}
    number = frame["template_id"].astype("category").cat.codes.to_numpy()
    values = []
    for pattern in range(16):
        turned = pattern // 2**number % 2 == 1
        drawn = frame.assign(
            role=frame["role"].mask(turned, frame["role"].map(other)),
            context_condition=frame["context_condition"].mask(
                turned & frame["context_condition"].ne("ambiguous").to_numpy(),
                frame["context_condition"].map(other),
            ),
        )
        values.append(
            qa_bias.qa_scores(drawn, metrics=["diff_amb", "diff_dis"])["value"].to_numpy()
        )
    values = np.abs(np.array(values))
    expected = (values >= values[0] - 1e-9).mean(axis=0)
    found = qa_tests.category_tests(frame, metrics=["diff_amb", "diff_dis"])
    assert found["p"].tolist() == pytest.approx(expected.tolist())


def test_categories_keep_their_level():
    """Templates that lean by themselves, no category that does: few families find anything."""
    items, found = made_items(10, CATEGORIES[:2]), 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        own = {name: rng.normal(0, 0.3) for name in items["template_id"].unique()}
        chance = np.clip(0.5 + items["template_id"].map(own), 0, 1)
        sides = np.where(rng.random(len(items)) < chance, "biased", "counter_biased")
        table = qa_tests.category_tests(framed(items, choosing(items, sides)), metrics=["diff_amb"])
        found += (table["p_holm"] < 0.05).any()
    assert found <= 6


def test_nothing_to_test_is_no_test():
    """By the slot alone: no template leans, no p, outside Holm's family."""
    items = made_items(10, CATEGORIES[:2])
    table = qa_tests.category_tests(framed(items, ["1"] * len(items)))
    assert table["p"].isna().all() and (table["tests"] == 0).all()
    assert set(table["status"]) == {"no_variation"} and table["smallest_p_holm"].isna().all()


def test_cells_that_lean():
    """Three of four categories lean: more cells than chance gives; none does: no more."""
    items = made_items(10, CATEGORIES)
    planted = dict.fromkeys(CATEGORIES[:3], 0.4)
    several = pd.concat(
        [
            framed(items, leaning(items, np.random.default_rng(k), planted), prompt=f"p{k}")
            for k in range(3)
        ]
    )
    found = qa_tests.leaning_cells(several, draws=200)
    assert found["cells"] == 24 and found["off"] >= 12 and found["p"] < 0.05
    silent = [
        qa_tests.leaning_cells(
            framed(items, leaning(items, np.random.default_rng(k), {})), draws=200
        )
        for k in range(15)
    ]
    assert sum(one["p"] < 0.05 for one in silent) <= 2
    assert np.mean([one["expected"] for one in silent]) == pytest.approx(0.05 * 8, abs=0.15)
    none = qa_tests.leaning_cells(framed(items, ["1"] * len(items)))
    assert none["status"] == "no_interval" and np.isnan(none["p"])


# --- reasons ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("1", True),
        ("2: 判断できない", True),
        ("若い男性。", True),
        ("", True),
        ("1: 若い男性\n\n理由: 文章に書かれている", False),
        ("28歳の応募者", False),
        ("文章からは分からないため、判断できない", False),
    ],
)
def test_first_turns_without_reasons(text, bare):
    options = ["高齢の男性", "若い男性", "判断できない"]
    assert qa_tests.names_an_option_only(text, options) is bare


def test_first_turns_are_counted_by_model():
    items = with_texts(made_items(2)).head(3)
    answers = answered(items, ["0", "1", "2"]).assign(text=["0", "A", "because of the passage"])
    (row,) = qa_tests.first_turns(with_items(answers, items)).to_dict("records")
    assert (row["n"], row["without_reasons"], row["clusters"]) == (3, 2, 1)
