"""The items of notebook 02: one order counts as given, six are read; the first edition beside."""

import pandas as pd
import pytest

from katayori.metrics import bbq
from katayori.papers import persona_jbbq
from katayori.papers.items import OwnItems, read_items, take
from katayori.study import Study
from katayori_tools import record
from katayori_tools.asking import load_rows

PAPER = "persona_jbbq"


@pytest.fixture(scope="module")
def given():
    return persona_jbbq.as_given(2)


def test_the_order_given_is_counterbalanced(given):
    assert given.groupby("template_id")["order"].nunique().eq(1).all()
    one = given.drop_duplicates("template_id")
    by_mention = pd.crosstab(one["order"], one["mention"])
    assert by_mention.shape == (6, 2) and set(by_mention.to_numpy().ravel()) <= {4, 5}
    by_category = pd.crosstab(one["order"], one["category"])
    assert set(by_category.to_numpy().ravel()) <= {1, 2}


@pytest.mark.parametrize("place", ["0", "1", "2"])
def test_who_writes_one_number_has_no_bias_in_any_template(given, place):
    names = {"answer": "answer", "label": "label", "context": "context_condition"}
    frame = bbq.with_role(given.assign(answer=place), option="role", **names)
    scored = {"context": "case", "right": "right", "side": "side", "cluster": "template_id"}
    signed = ["diff_amb", "diff_dis"]
    assert (bbq.scores(frame, by="template_id", measures=signed, **scored)["value"] == 0).all()
    accuracy = bbq.scores(frame, measures=["acc_amb", "acc_dis"], **scored)["value"]
    assert ((accuracy - 1 / 3).abs() < 0.02).all()


@pytest.mark.parametrize("templates", [10, 20, 25, 30, 50])
def test_a_part_is_balanced(given, templates):
    rows = load_part(templates)
    assert rows["template_id"].nunique() == templates
    one = rows.drop_duplicates("template_id")
    assert one["category"].value_counts().nunique() == 1
    assert one["mention"].value_counts().max() - one["mention"].value_counts().min() <= 1
    assert rows.groupby("base_id")["order"].nunique().eq(6).all()
    orders = given[given["template_id"].isin(one["template_id"])]
    counts = orders.drop_duplicates("template_id")["order"].value_counts()
    assert counts.max() - counts.min() <= 2


def load_part(templates):
    """The items of so many templates that a recording asks."""
    [work] = [
        one
        for one in record.works([PAPER], ["qwen2.5-coder-1.5b"])
        if one.dataset == "study2_orders"
    ]
    items = record.items_of(PAPER, work.dataset)
    return take(PAPER, items, templates)[0]


def test_one_order_is_asked_and_six_are_recorded():
    read = read_items(PAPER, "study")
    assert (len(read.items), read.name) == (300, persona_jbbq.study_version())
    assert read_items(PAPER, "study", limit=25).items["mention"].value_counts().min() == 72
    assert len(load_rows(PAPER, "study", limit=5)) == 30
    assert len(load_rows(PAPER, "study", limit=5, own=OwnItems(orders="all"))) == 180
    study = Study(PAPER, models=["sim-bbq-fair"], limit=5)
    assert len(study.items) == len(study.answers("pj_basic_ja")) == 180
    assert study.variant("pj_basic_ja") == "study3_orders+study2_orders"
    assert (study.items["order_number"] == 0).sum() == 30
    few = {"profile": "live", "models": ["sim-bbq-fair"], "limit": 5}
    assert len(Study(PAPER, **few).items) == 30
