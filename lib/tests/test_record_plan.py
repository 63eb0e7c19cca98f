"""The second edition's part of the recording plan: checked first, worked off by priority."""

import pandas as pd
import pytest
from conftest import write_plan

from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.papers import get_paper
from katayori.prompting.requests import seed_rule_of
from katayori.prompting.store import store_path
from katayori_tools import record
from katayori_tools.answer_store import Store

SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
ENTRY = {
    "priority": 3,
    "dataset": "study",
    "variant": "seed2",
    "prompts": ["de_answer_line"],
    "models": [LARGE, SMALL],
}


@pytest.fixture
def planned(house):
    """Writes a plan with these second-edition entries."""

    def write(*entries):
        write_plan(house / "data", second=entries)

    return write


def test_the_shipped_second_edition_can_be_asked():
    """Prompts and models exist; a data set is of its paper's second edition, or stood before."""
    listed = [entry for facts in paper_facts.every() for entry in facts["second_edition"]]
    works = [one for one in record.works() if one.edition == "second"]
    assert len(works) == sum(len(e["models"]) for e in listed)
    assert all(work.variant and work.priority for work in works)
    for work in works:
        known = (
            *get_paper(work.paper).sets(),
            "study",
            "official",
            *get_paper(work.paper).more,
        )
        assert work.dataset in known, work.name


@pytest.mark.slow
def test_the_sampled_answers_are_asked_anew_by_rule_2(monkeypatch, tmp_path):
    """9,450 requests a model, none of them one of the first edition's."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))
    found = [w for w in record.works(["discrim_eval"]) if w.variant == "seed2" and w.priority]
    assert [work.model for work in found] == [SMALL, LARGE]
    with Store(store_path()) as store:
        asked = [record.requests_of(w, *w.at(), store) for w in found]
    assert [len(requests) for requests in asked] == [9450, 9450]
    assert {seed_rule_of(q) for requests in asked for q in requests} == {2}
    assert len({q.body["seed"] for requests in asked for q in requests}) > 18_890


def test_by_priority_and_then_the_smaller_model(planned):
    planned(ENTRY, ENTRY | {"priority": 1, "variant": "other"})
    order = [(work.priority, work.model) for work in record.works(["discrim_eval"])]
    assert order == [(1, SMALL), (1, LARGE), (3, SMALL), (3, LARGE)]


@pytest.mark.parametrize(
    "change, says",
    [
        ({"dataset": "study", "variant": ""}, r"second_edition\[0\] names no variant"),
        ({"prompts": ["de_none"]}, "unknown prompt of discrim_eval 'de_none'"),
        ({"kind": "guess"}, "kind must be chat or likelihood, not 'guess'"),
        ({"kind": "likelihood"}, "prompt de_answer_line is of kind chat"),
        ({"priority": 0}, "priority must be at least 1, not 0"),
        ({"repetitions": 0}, "repetitions must be a number above 0"),
        ({"repetitions": "12"}, "repetitions must be a number above 0"),
        ({"promts": []}, r"second_edition\[0\]: unknown field 'promts'; known: dataset, models"),
    ],
)
def test_a_wrong_entry_is_told_before_anything_is_asked(planned, change, says):
    planned(ENTRY | change)
    with pytest.raises(KatayoriError, match=says):
        record.works(["discrim_eval"])


def test_an_entry_that_lacks_something_says_what(planned):
    planned({"priority": 1})
    with pytest.raises(KatayoriError, match=r"second_edition\[0\] lacks dataset, models, prompts"):
        record.works(["discrim_eval"])


def test_an_edition_is_listed_by_its_section(house):
    later = ENTRY | {"priority": 1, "variant": "study3_seed2"}
    write_plan(house / "data", [], [ENTRY], [later])
    listed = [(work.edition, work.variant) for work in record.works(["discrim_eval"], [LARGE])]
    assert listed == [("third", "study3_seed2"), ("second", "seed2")]
    assert len(record.works(["discrim_eval"], [SMALL])) == 2
    write_plan(house / "data", [], [], [later | {"prompts": ["de_none"]}])
    with pytest.raises(KatayoriError, match="third_edition, entry 1"):
        record.works(["discrim_eval"])


@pytest.mark.parametrize("given, asked", [(1, {0}), (3, {0, 1, 2}), ([1, 4], {1, 4})])
def test_repetitions_are_a_number_or_a_list(planned, given, asked):
    planned(ENTRY | {"repetitions": given, "sample": 4})
    work = record.works(["discrim_eval"], [SMALL])[0]
    with Store(store_path()) as store:
        requests = record.requests_of(work, *work.at(), store)
    assert {q.repetition for q in requests} == asked and len(requests) == 4 * len(asked)
    assert len({q.body["seed"] for q in requests}) == len(requests)


def test_data_sets_of_the_second_edition_are_asked_and_are_ours(planned, monkeypatch):
    """The request carries the data set's name, which is also its variant."""
    items = pd.DataFrame({"item_id": ["de2-1", "de2-2"], "question": ["A?", "B?"]})
    second = {"toy": lambda: items}
    monkeypatch.setattr(get_paper("discrim_eval"), "sets", lambda: second)
    planned({k: v for k, v in ENTRY.items() if k != "variant"} | {"dataset": "toy"})
    work = record.works(["discrim_eval"], [SMALL])[0]
    with Store(store_path()) as store:
        requests = record.requests_of(work, *work.at(), store)
    assert [(q.item_id, q.dataset, q.variant) for q in requests] == [
        ("de2-1", "toy", "toy"),
        ("de2-2", "toy", "toy"),
    ]
    assert work.ours and not get_paper("discrim_eval").is_ours("official")


def test_a_part_of_a_data_set_keeps_groups_together(planned, monkeypatch):
    """Both orders of a pair are asked, or neither; a pilot of so many items, too."""
    pairs = [f"p{n // 2}" for n in range(12)]
    items = pd.DataFrame({"item_id": [f"i{n}" for n in range(12)], "pair_id": pairs})
    second = {"toy": lambda: items.assign(question="A?")}
    monkeypatch.setattr(get_paper("discrim_eval"), "sets", lambda: second)
    planned(ENTRY | {"dataset": "toy", "variant": "toy", "size": 4, "whole": "pair_id"})
    work = record.works(["discrim_eval"], [SMALL])[0]
    with Store(store_path()) as store:
        for limit, n in ((None, 4), (5, 6)):
            asked = record.requests_of(work, *work.at(), store, limit)
            counts = pd.Series([q.fields["pair_id"] for q in asked]).value_counts()
            assert len(asked) == n and set(counts) == {2}
