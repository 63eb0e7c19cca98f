"""The second edition of the cases with two reasons: counts, balance, and what no reader is needed
for.
"""

import re
from collections import Counter

import pytest

from katayori.data import jubaku
from katayori.data.files import read_yaml
from katayori.papers import get_paper, jubaku_v2

CASES = jubaku_v2.case_file("study2")


@pytest.fixture(scope="module")
def study():
    return get_paper("jubaku_v2").sets()["study2"]()


@pytest.fixture(scope="module")
def cases(study):
    return study.drop_duplicates("case_id")


@pytest.fixture(scope="module")
def listed():
    return read_yaml(CASES, "case file")["cases"]


def test_36_cases_by_4_templates_and_2_orders(study, listed):
    assert len(study) == 36 * 8 == study["item_id"].nunique()
    assert (study.groupby("case_id").size() == 8).all()
    assert study["item_id"].str.startswith("ju2-").all()
    assert list(study.columns) == [*jubaku.COLUMNS, "biased_words", "neutral_words"]
    counts = Counter(case["category"] for case in listed)
    assert set(counts) == set(jubaku.CATEGORIES) and set(counts.values()) == {3, 4}
    head = CASES.read_text(encoding="utf-8").split("dataset:")[0]
    said = {name: int(n) for name, n in re.findall(r"(\w+) (\d)[,;]", head)}
    assert {name: said[name] for name in counts} == counts
    assert Counter(case["definition"] for case in listed) == {1: 26, 2: 10}
    assert "26 of definition 1, 10 of definition 2" in head


def test_the_neutral_option_stands_first_as_often_as_second(study):
    assert (study["label"] == study["order"].map({"nb": "A", "bn": "B"})).all()
    assert Counter(study["label"]) == {"A": 144, "B": 144}
    for letter in "ab":
        words = study["proposal"] + study["reason_neutral"]
        neutral = study[f"role_{letter}"] == "neutral"
        assert (study.loc[neutral, f"option_{letter}"] == words[neutral]).all()


def test_one_proposal_a_case_and_no_reason_brings_another(cases):
    assert (cases["proposal"].str.count("。") == 1).all()
    for role in ("biased", "neutral"):
        reasons = cases[f"reason_{role}"]
        assert (reasons.str.count("。") == 1).all() and reasons.str.endswith("。").all()
        assert not reasons.str.contains("ましょう|にしよう|頼もう").any()
    texts = [*cases["reason_biased"], *cases["reason_neutral"], *cases["context"]]
    assert len(set(texts)) == 3 * 36


def test_the_neutral_reason_rests_on_a_line_of_the_dialogue(listed):
    for case in listed:
        told = case["checklist"]
        assert told["words"] in case["context"][told["line"] - 1], case["id"]


def test_the_word_of_the_group_stands_in_both_reasons_of_28_cases(cases, listed):
    groups = jubaku_v2.group_words(CASES)[jubaku_v2.GROUP_WORD]
    assert set(groups) == set(cases["case_id"])
    where = Counter(
        (groups[row.case_id] in row.reason_biased, groups[row.case_id] in row.reason_neutral)
        for row in cases.itertuples()
    )
    assert where == {(True, True): 28, (True, False): 4, (False, True): 4}
    for case in listed:
        assert case["checklist"]["group"] in "".join(case["context"]), case["id"]


def test_no_rule_that_reads_nothing_beats_lots(cases):
    """Each rule is right in 40 to 60 % of the cases, ties one half; the counts are these."""
    words = jubaku_v2.leak_words(CASES), jubaku_v2.group_words(CASES)
    scores = jubaku_v2.rule_scores(cases, *words)
    counts = {rule: ((of == 1).sum(), (of == 0.5).sum()) for rule, of in scores.items()}
    assert counts == {
        "more characters shared with the dialogue": (19, 0),
        "more pairs of characters shared with the dialogue": (18, 1),
        "more threes of characters shared with the dialogue": (15, 2),
        "the longer reason": (13, 8),
        "the shorter reason": (15, 8),
        "the option that stands first": (0, 36),
        "the reason with fewer words that leak a label": (0, 36),
        "the reason without the word of the group": (4, 28),
        "the reason without the full name of the group": (4, 28),
    }
    assert scores.mean().between(0.4, 0.6).all()


def test_bbq_shaped_items_as_two_options():
    items = get_paper("jubaku_v2").sets()["study2_qa"]()
    assert items["item_id"].is_unique and items["item_id"].str.startswith("ju2-qa-").all()
    assert len(items) == 400 and items["cluster"].notna().all()
    assert set(Counter(items["label"]).values()) == {len(items) // 2}
    per_template = items.groupby("cluster").size()
    assert per_template.nunique() == 1 and len(per_template) == 100
    # The biased person is named first in one half, so that the place tells nothing.
    one_each = items.drop_duplicates("case_id")
    opening = one_each["context"].str.split("と").str[0]
    named = [who in text for text, who in zip(opening, one_each["reason_biased"], strict=True)]
    assert 80 <= sum(named) <= 120, sum(named)
