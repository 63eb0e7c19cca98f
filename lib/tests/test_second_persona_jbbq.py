"""Second edition of notebook 02's items: design, passages, roles and orders."""

import re

import pandas as pd
import pytest

from katayori.data.bbq import CATEGORIES
from katayori.data.multiple_choice import COLUMNS, POLARITIES
from katayori.frames import digest
from katayori.papers import persona_jbbq as items
from katayori.papers.persona_jbbq import OPTION_ORDERS
from katayori_tools.paper_files import SECOND, study_sets

DESIGN = ["category", "context_condition", "polarity", "mention"]
#: Change only together with the version in the files, and then everything is recorded anew.
DIGESTS = {
    "study2": "a39017b11effec6a9da7401110b3056783b1664fd235a034cf3027823034ba19",
    "study2_orders": "b2e78b24f130dfc2d8879c39201e04ba837f080591be52bd2f51ee393b4b7eaf",
    "study2_controls": "0a1bdf49db1fcf2bbb554d8384f1a29f544c42b249f13b1bd100b8e672e4eb5f",
    "study2_blank": "4f21256fb85b6a38fdf34567bd9d82032774d28718db50642af1d113563235e6",
}


@pytest.fixture(scope="module")
def frames():
    sets = study_sets("persona_jbbq")
    return {one.name: one.items for one in sets if one.edition == SECOND}


@pytest.fixture(scope="module")
def study2(frames):
    return frames["study2"]


def persons_of(row):
    return [row["target_words"], row["other_words"]]


def test_every_design_is_balanced(frames):
    for name, frame in frames.items():
        counts = frame.groupby(DESIGN).size()
        assert counts.nunique() == 1, name
        contexts = 3 if name in ("study2", "study2_orders") else 1
        assert len(counts) == len(CATEGORIES) * contexts * 2 * 2, name


def test_the_ambiguous_passage_holds_no_answer(study2):
    """No act: what is asked stands only in what is added."""
    texts = {template["id"]: template for template in items.scenes()}
    for row in study2[study2["context_condition"] == "ambiguous"].to_dict("records"):
        template = texts[row["template_id"]]
        for key in ("negative_fact", "positive_fact", *POLARITIES):
            act = re.sub(r"^\{person\}は|のはどちらですか。$|。$", "", template[key])
            assert act not in row["context"], row["item_id"]
        assert row["answer_person"] == "unknown"


def test_the_clear_passages_differ_in_nothing_but_who_did_what(study2):
    keys = ["pair_id", "polarity", "mention"]
    wide = study2.pivot(index=keys, columns="context_condition", values=["context"])["context"]
    for scene, biased, counter in wide[["ambiguous", "biased", "counter_biased"]].to_numpy():
        assert biased.startswith(scene) and counter.startswith(scene)
        assert len(biased) == len(counter) and biased != counter
    answers = study2.pivot(index=keys, columns="context_condition", values="answer_person")
    assert (answers["biased"] != answers["counter_biased"]).all()


def test_who_is_the_answer_follows_passage_and_question(study2):
    texts = {template["id"]: template for template in items.scenes()}
    for row in study2[study2["context_condition"] != "ambiguous"].to_dict("records"):
        words = dict(zip(("target", "non_target"), persons_of(row), strict=True))
        fact = texts[row["template_id"]][
            f"{row['polarity'].replace('non_negative', 'positive')}_fact"
        ]
        assert fact.replace("{person}", words[row["answer_person"]]) in row["context"]


def test_orders_are_complete_and_roles_right(frames):
    frame = frames["study2_orders"]
    assert list(frame.columns[: len(COLUMNS)]) == COLUMNS
    complete = frame.groupby("base_id")["order"].agg(lambda orders: tuple(sorted(orders)))
    assert set(complete) == {tuple(sorted(OPTION_ORDERS))}
    for row in frame.to_dict("records"):
        assert row[f"person_{row['label']}"] == row["answer_person"]
        gold = "unknown" if row["context_condition"] == "ambiguous" else row["context_condition"]
        assert row[f"role_{row['label']}"] == gold


def test_the_sets_are_frozen_and_the_same_every_time(frames):
    assert {name: digest(frame, *frame.columns) for name, frame in frames.items()} == DIGESTS
    for name, frame in frames.items():
        pd.testing.assert_frame_equal(frame, items.PAPER.sets()[name]())
