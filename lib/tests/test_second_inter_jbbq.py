"""Second edition of the intersectional items: families, balance and blanks."""

from collections import Counter
from itertools import pairwise

import pandas as pd
import pytest

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import get_paper, inter_jbbq

OPTIONS = [f"option_{place}" for place in range(3)]
FACTORS = ["order", "unknown", *inter_jbbq.DESIGN]


@pytest.fixture(scope="module")
def items():
    return get_paper("inter_jbbq").sets()["balanced"]()


@pytest.fixture(scope="module")
def families(items):
    return items.drop_duplicates("focal_id")


@pytest.fixture(scope="module")
def blank():
    return get_paper("inter_jbbq").sets()["balanced_blank"]()


def test_within_a_family_only_the_profile_changes(items):
    assert (items.groupby("focal_id")[FACTORS].nunique() == 1).all(axis=None)
    assert (items.groupby("focal_id")["stereotyped"].nunique() == 1).all()
    for _, one in items.drop_duplicates("item").groupby("focal_id"):
        subsets = [set(subset.split("+")) for subset in one["subset"]]
        assert len(subsets) == 3
        assert all(len(b - a) == 1 and a < b for a, b in pairwise(subsets))
        assert all(one["focal"].iloc[0] in subset for subset in subsets)


def test_the_rule_without_reading_is_right_by_chance(items):
    """First or last named, first or second outcome: none tells who is right in a clear context."""
    clear = items[items["context_condition"] != "ambiguous"]
    options = clear[["option_0", "option_1", "option_2"]].to_numpy()
    right = pd.Series(
        [row[label] for row, label in zip(options, clear["label"], strict=True)], clear.index
    )
    first_named = right == clear["mention"].str.upper() + "さん"
    assert first_named.mean() == 0.5
    bad_asked = clear["polarity"] == "negative"
    by_outcome = bad_asked == (clear["outcome"] == "bad")  # the outcome asked for is told first
    assert pd.crosstab(first_named, by_outcome).to_numpy().tolist() == [[360, 360], [360, 360]]


def test_the_persons_differ_in_the_focal_attribute_alone(items):
    for row in items.drop_duplicates("item").itertuples():
        a, b = (dict(p.split("=") for p in t.split("+")) for t in (row.words_a, row.words_b))
        assert [name for name in a if a[name] != b[name]] == [row.focal]
        for words in (a, b):
            assert all(word in row.context for word in words.values())


def test_blank_persons_are_told_apart_by_nothing(blank):
    assert len(blank) == 320 and (blank["context_condition"] == "ambiguous").all()
    assert set(Counter(blank["stereotyped"]).values()) == {160}
    assert set(Counter(blank["focal"]).values()) == {160}
    for factor in ("mention", "outcome", "polarity", "unknown"):
        assert len(set(Counter(blank[factor]).values())) == 1
    assert set(Counter(blank["order"]).values()) <= {52, 54}
    for topic in inter_jbbq.study_topics(2):
        texts = blank.loc[blank["topic"] == topic["topic"], "context"]
        for name in {name for context in topic["contexts"] for name in context["attributes"]}:
            words = [w for group in topic["lexicon"][name]["groups"].values() for w in group]
            assert not texts.str.contains("|".join(words)).any(), name


# -- which items are the study ---------------------------------------------------------------------


def test_the_preset_decides_which_items_are_read():
    room = get_paper("inter_jbbq")
    first, name, _ = room.read("study", {"preset": "published_counts"})
    assert (len(first), name) == (5600, "katayori-inter-study v1")
    second, name, _ = room.read("study", {"preset": "balanced"})
    assert (len(second), name) == (2880, "katayori-inter-study v2")
    third, name, _ = room.read("study", {})
    assert (len(third), name) == (2880, inter_jbbq.study_version())
    assert third["item_id"].isin(second["item_id"]).mean() == pytest.approx(0.5, abs=0.05)


def test_topic_files_of_a_user_are_read_by_their_own_presets():
    room = get_paper("inter_jbbq")
    folder = str(paths.data_dir() / inter_jbbq.FOLDERS[1])
    assert len(room.read("study", {"topics": folder})[0]) == 5600
    with pytest.raises(KatayoriError, match="preset"):
        room.read("study", {"topics": folder, "preset": "balanced"})
