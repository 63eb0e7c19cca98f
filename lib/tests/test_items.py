"""Samples and digests of items, the same on every machine (X-2)."""

import pandas as pd
import pytest

from katayori.frames import digest
from katayori_tools.record import sample


@pytest.fixture
def items():
    rows = [(f"q{q:02d}-{k}", q, f"text {q} {k}") for q in range(12) for k in range(5)]
    return pd.DataFrame(rows, columns=["item_id", "question", "text"])


@pytest.mark.parametrize("size", [None, 60, 61, 10**6])
def test_none_or_too_many_keep_all(items, size):
    pd.testing.assert_frame_equal(sample(items, size), items)
    pd.testing.assert_frame_equal(sample(items, size, whole="question"), items)


@pytest.mark.parametrize("size", [1, 2, 31, 59])
def test_exactly_that_many_items_in_their_own_order(items, size):
    found = sample(items, size)
    assert (
        len(found) == size
        and found["item_id"].is_monotonic_increasing
        and list(found.index) == list(range(size))
    )


@pytest.mark.parametrize(("size", "taken"), [(1, 5), (5, 5), (6, 10), (10, 10), (11, 15), (59, 60)])
def test_whole_groups_until_the_size_is_reached(items, size, taken):
    found = sample(items, size, whole="question")
    assert len(found) == taken and (found.groupby("question").size() == 5).all()
    assert found["item_id"].is_monotonic_increasing


def test_groups_of_unequal_size_reach_the_size(items):
    uneven = items[items["question"] >= items["item_id"].str[-1].astype(int)]
    for size in range(1, len(uneven)):
        found = sample(uneven, size, whole="question")
        assert len(found) >= size and found.groupby("question").size().equals(
            uneven[uneven["question"].isin(found["question"])].groupby("question").size()
        )


def test_a_sample_is_fixed_by_ids_alone(items):
    """Neither the order of the items nor other columns matter, and a larger sample holds the
    smaller one.
    """
    chosen = {s: set(sample(items, s)["item_id"]) for s in (10, 20)}
    assert chosen[10] < chosen[20]
    other = items.sample(frac=1, random_state=1).assign(text="other")
    assert set(sample(other, 10)["item_id"]) == chosen[10]
    assert sorted(chosen[10])[:3] == ["q01-3", "q02-2", "q02-3"]
    assert sorted(set(sample(items, 11, whole="question")["question"])) == [8, 9, 10]


def test_the_digest_covers_ids_texts_and_order(items):
    known = digest(items, "text")
    assert len(known) == 64 and known == digest(items.assign(other=1), "text")
    changed = items.copy()
    changed.loc[7, "text"] += " "
    renamed = items.replace({"item_id": {"q00-1": "q00-9"}})
    others = [changed, renamed, items.iloc[::-1], items.iloc[1:]]
    assert len({known, *(digest(other, "text") for other in others)}) == 5
