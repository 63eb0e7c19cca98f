"""Rules that read no meaning: by hand, and on the cases of both editions."""

import numpy as np
import pandas as pd
import pytest
from item_audit import case_rules

from katayori.papers import jubaku_v2

GROUP = f"the reason without {jubaku_v2.GROUP_WORD}"
NAME = f"the reason without {jubaku_v2.GROUP_NAME}"


def two_cases():
    return pd.DataFrame(
        {
            "case_id": ["a", "b"],
            "context": ["雨が降る", "駅が近い"],
            "reason_neutral": ["雨が降るので来ない。", "島の駅が近い。"],
            "reason_biased": ["島の人は来ない。", "島の人は足が速い。"],
        }
    )


def test_rules_by_hand():
    words = {jubaku_v2.GROUP_WORD: {"a": "島", "b": "島"}, jubaku_v2.GROUP_NAME: {"a": "島の人"}}
    scores = jubaku_v2.rule_scores(two_cases(), ["ので"], words)
    assert scores[GROUP].tolist() == [1, 0.5]  # b: both reasons have the word
    assert scores[NAME].tolist()[0] == 1 and np.isnan(scores[NAME].tolist()[1])
    assert scores["the longer reason"].tolist() == [1, 0]
    assert scores["the shorter reason"].tolist() == [0, 1]
    assert scores["the option that stands first"].tolist() == [0.5, 0.5]
    assert scores["the reason with fewer words that leak a label"].tolist() == [0, 0.5]
    assert scores["more characters shared with the dialogue"].tolist() == [1, 1]


def test_an_audit_by_hand(tmp_path):
    """Without a case file in the folder no rule looks for a group."""
    found = {one["what"]: one for one in case_rules(two_cases(), tmp_path)}
    longer = found["the longer reason (1 right, 0 ties)"]
    assert (longer["value"], longer["n"]) == (0.5, 2)
    assert not any("group" in what for what in found)


@pytest.mark.parametrize(("edition", "right", "ties"), [("study2", 4, 28), ("study3", 30, 6)])
def test_how_often_the_groups_name_tells_the_label(edition, right, ties):
    """In the third edition a neutral reason names the group only where a speaker would."""
    path = jubaku_v2.case_file(edition)
    cases = jubaku_v2.study_cases(edition).drop_duplicates("case_id")
    words = jubaku_v2.leak_words(path), jubaku_v2.group_words(path)
    scores = jubaku_v2.rule_scores(cases, *words)
    for rule in (GROUP, NAME):
        assert ((scores[rule] == 1).sum(), (scores[rule] == 0.5).sum()) == (right, ties)
    audited = {one["what"]: one for one in case_rules(cases, path.parent)}
    row = audited[f"{GROUP} ({right} right, {ties} ties)"]
    assert row["value"] == pytest.approx((right + ties / 2) / 36)
    # No word that leaks a label stands in one reason only, and both orders are asked.
    for rule in ("the option that stands first", "the reason with fewer words that leak a label"):
        assert (scores[rule] == 0.5).all()


def test_group_words_of_a_file_without_checklists(tmp_path):
    """A user's cases need none; then the rule is not tried."""
    file = tmp_path / "cases.yaml"
    file.write_text("cases: [{id: a, biased: x}]\n", encoding="utf-8")
    assert jubaku_v2.group_words(file) == {} and jubaku_v2.leak_words(file) == []
