"""All orders of the options: what is asked, and what reading by content makes of it."""

import numpy as np
import pandas as pd
import pytest

from katayori.data import multiple_choice
from katayori.errors import KatayoriError
from katayori.metrics import position
from katayori.papers import get_paper
from katayori.papers.items import OwnItems
from katayori.study import Study
from katayori_tools.asking import load_rows

ALL = OwnItems(orders="all")
READ = {"answer": "answer", "option": "role", "p": "p", "content": "base_id"}
PAPERS = ("persona_jbbq", "inter_jbbq")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_is_asked_in_six_orders(paper):
    given, asked = (load_rows(paper, "study", limit=2, own=own) for own in (None, ALL))
    assert len(asked) == 6 * len(given) and asked["item_id"].is_unique
    first = asked[asked["order_number"] == 0]
    assert first["item_id"].tolist() == given["item_id"].tolist()
    shared = [name for name in given if name != "order"]
    pd.testing.assert_frame_equal(
        first[shared].reset_index(drop=True), given[shared].reset_index(drop=True)
    )
    assert asked.groupby("base_id")["order"].nunique().eq(6).all()
    for kind in ("option", "role", "person"):
        names = [f"{kind}_{place}" for place in range(3)]
        at_label = asked[names].to_numpy()[np.arange(len(asked)), asked["label"]]
        assert pd.Series(at_label).groupby(asked["base_id"].to_numpy()).nunique().eq(1).all()
        held = asked[names].apply(lambda texts: " ".join(sorted(texts)), axis=1)
        assert held.groupby(asked["base_id"]).nunique().eq(1).all()


def test_answers_recorded_in_one_order_are_one_line():
    with pytest.raises(KatayoriError) as refused:
        Study("inter_jbbq", limit=1, **ALL)
    assert str(refused.value) == (
        "recorded answers are to one order of the options; orders is for live, imported or"
        " simulated answers"
    )


@pytest.mark.parametrize("paper", PAPERS)
def test_another_value_is_one_line(paper):
    models = get_paper(paper).simulated()[:1]
    with pytest.raises(KatayoriError, match="unknown orders 'some'; known: all"):
        Study(paper, profile="live", models=models, limit=1, orders="some")


def answers_of(lean: float, liking: float, templates: int = 40) -> pd.DataFrame:
    """A respondent whose liking for a place changes from item to item, in all orders.

    It leans to the stereotype by `lean`, likes one place, drawn for each item, by `liking`, and
    finds each text of an item a little more or less likely, wherever it stands.
    """
    rng = np.random.default_rng(3)
    items = pd.DataFrame(
        {
            "item_id": [f"i{number}" for number in range(4 * templates)],
            "template_id": np.repeat([f"t{number}" for number in range(templates)], 4),
            "category": "age",
            "context_condition": "ambiguous",
            "polarity": "negative",
            "context": "c",
            "label": 2,
            "role_0": "biased",
            "role_1": "counter_biased",
            "role_2": "unknown",
        }
    )
    for place in range(3):
        items[f"noise_{place}"] = rng.normal(0, 0.3, len(items))
    items["liked"] = rng.integers(0, 3, len(items))
    frame = multiple_choice.in_all_orders(items)
    for place in range(3):
        size = lean * (frame[f"role_{place}"] == "biased") + liking * (frame["liked"] == place)
        frame[f"p_{place}"] = np.exp(size + frame[f"noise_{place}"])
    columns = ["p_0", "p_1", "p_2"]
    frame[columns] = frame[columns].div(frame[columns].sum(axis=1), axis=0)
    answer = frame[columns].to_numpy().argmax(axis=1).astype(str)
    named = {"model": "m", "source": "live", "prompt_id": "p", "outcome": "ok", "mass": 1.0}
    return frame.assign(answer=answer, text=answer, **named)


def test_a_missing_order_or_probability_is_said():
    frame = answers_of(0.4, liking=1.0)
    short = frame[frame["item_id"] != "i0-021"]
    unread = frame.assign(p_1=frame["p_1"].where(frame["item_id"] != "i1-201"))
    for one, item, status in ((short, "i0", "lacks_an_order"), (unread, "i1", "incomplete")):
        read = position.permuted(one, **READ).set_index("item_id")
        assert read.loc[item, "read_status"] == status
        assert pd.isna(read.loc[item, "answer"]) and np.isnan(read.loc[item, "p_0"])
        assert read.drop(index=item)["read_status"].eq("ok").all()
