"""The second edition of the intersectional items: counts, balance, doubles, orders and
exclusions.
"""

from collections import Counter
from itertools import pairwise, product

import pandas as pd
import pytest

from katayori import paths
from katayori.data import multiple_choice
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
def quarter():
    return get_paper("inter_jbbq").sets()["balanced_quarter"]()


@pytest.fixture(scope="module")
def blank():
    return get_paper("inter_jbbq").sets()["balanced_blank"]()


def test_forty_passages_ten_a_topic(items):
    assert len(items) == 2880 and items["item_id"].is_unique
    assert items["item_id"].str.startswith("ij2-").all()
    assert list(items.columns) == [
        *multiple_choice.COLUMNS,
        *inter_jbbq.OWN_COLUMNS,
        *inter_jbbq.DESIGN,
    ]
    assert (items.groupby("item").size() == 4).all() and items["item"].nunique() == 720
    per_topic = items.groupby("topic")["template_id"].nunique()
    assert per_topic.to_dict() == dict.fromkeys(inter_jbbq.TOPICS, 10)
    assert (items.groupby("template_id")["focal_id"].nunique() == inter_jbbq.FAMILIES).all()
    settings = [context["setting"] for t in inter_jbbq.study_topics(2) for context in t["contexts"]]
    assert len(set(settings)) >= 39  # two passages begin in the same house


def test_within_a_family_only_the_profile_changes(items):
    assert (items.groupby("focal_id")[FACTORS].nunique() == 1).all(axis=None)
    assert (items.groupby("focal_id")["stereotyped"].nunique() == 1).all()
    for _, one in items.drop_duplicates("item").groupby("focal_id"):
        subsets = [set(subset.split("+")) for subset in one["subset"]]
        assert len(subsets) == 3
        assert all(len(b - a) == 1 and a < b for a, b in pairwise(subsets))
        assert all(one["focal"].iloc[0] in subset for subset in subsets)


def test_every_combination_of_the_factors_comes_once(families):
    counts = families.groupby(FACTORS).size()
    assert len(counts) == 6 * 5 * 2 * 2 * 2 == len(families) and (counts == 1).all()


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


def test_no_doubles(items, quarter, blank):
    assert not items.duplicated(["context", "question", *OPTIONS]).any()
    ambiguous = items[items["context_condition"] == "ambiguous"].drop_duplicates("item")
    assert not ambiguous["context"].duplicated().any()
    for frame in (quarter, blank):
        assert not frame.duplicated(["context", "question"]).any()
        assert frame["item_id"].is_unique
    everywhere = [*items["item_id"], *quarter["item_id"], *blank["item_id"]]
    assert len(set(everywhere)) == len(everywhere)


def test_no_profile_holds_an_excluded_combination(items):
    exclusions = {topic["topic"]: topic["exclusions"] for topic in inter_jbbq.study_topics(2)}
    for row, who in product(items.drop_duplicates("item").itertuples(), "ab"):
        pairs = [pair.split("=") for pair in getattr(row, f"words_{who}").split("+")]
        words = dict(pairs)
        for exclusion in exclusions[row.topic]:
            found = [words.get(name) in told for name, told in exclusion["words"].items()]
            assert not all(found), (row.item, exclusion["reason"])


def test_the_persons_differ_in_the_focal_attribute_alone(items):
    for row in items.drop_duplicates("item").itertuples():
        a, b = (dict(p.split("=") for p in t.split("+")) for t in (row.words_a, row.words_b))
        assert [name for name in a if a[name] != b[name]] == [row.focal]
        for words in (a, b):
            assert all(word in row.context for word in words.values())


def test_the_quarter_holds_whole_families_in_twelve_ways(items, quarter):
    assert len(quarter) == 2160 and quarter["focal_id"].nunique() == 60
    for _, one in quarter.groupby("item"):
        clear = one["context_condition"] != "ambiguous"
        assert Counter(zip(one["mention"], one["polarity"], clear, strict=True)) == {
            (mention, polarity, known): 1 + known
            for mention, polarity, known in product("ab", ("negative", "non_negative"), (0, 1))
        }
        assert set(one.loc[clear, "bad"]) == {"a", "b"} and set(one.loc[~clear, "bad"]) == {""}
    whole = items[items["focal_id"].isin(quarter["focal_id"])]
    assert set(whole["item"]) == set(quarter["item"])
    shared = quarter.merge(whole, on=["context", "question"], suffixes=("", "_2"))
    assert len(shared) == len(whole) and (shared["label"] == shared["label_2"]).all()
    families = quarter.drop_duplicates("focal_id")
    assert Counter(families["topic"]) == dict.fromkeys(inter_jbbq.TOPICS, 15)
    assert quarter["template_id"].nunique() == 40
    assert all(9 <= n <= 12 for n in Counter(families["order"]).values())


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
