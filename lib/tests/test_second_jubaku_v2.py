"""Second edition of the cases with two reasons: what no reader is needed for."""

from collections import Counter

import pytest

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
