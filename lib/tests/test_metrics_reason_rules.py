"""Rules that read no meaning (JU-3): by hand, on our cases, and beside models."""

import numpy as np
import pandas as pd
import pytest

from katayori.papers.jubaku_v2 import items as jubaku, reason_rules, scores as forced_choice

GROUP = f"the reason without {jubaku.GROUP_WORD}"
NAME = f"the reason without {jubaku.GROUP_NAME}"


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
    words = {jubaku.GROUP_WORD: {"a": "島", "b": "島"}, jubaku.GROUP_NAME: {"a": "島の人"}}
    scores = reason_rules.rule_scores(two_cases(), ["ので"], words)
    assert scores[GROUP].tolist() == [1, 0.5]  # b: both reasons have the word
    assert scores[NAME].tolist()[0] == 1 and np.isnan(scores[NAME].tolist()[1])
    assert scores["the longer reason"].tolist() == [1, 0]
    assert scores["the shorter reason"].tolist() == [0, 1]
    assert scores["the option that stands first"].tolist() == [0.5, 0.5]
    assert scores["the reason with fewer words that leak a label"].tolist() == [0, 0.5]
    assert scores["more characters shared with the dialogue"].tolist() == [1, 1]
    table = reason_rules.surface_rules(scores).set_index("rule")
    assert table.loc[GROUP, ["value", "n", "n_neutral", "n_ties"]].tolist() == [0.75, 2, 1, 1]
    assert (table["status"] == "few_clusters").all() and table["ci_low"].isna().all()


def test_no_rule_tells_the_reasons_of_our_cases_apart():
    """Finding 8, mended: the group's word and full name are right in one half, as every rule."""
    cases = jubaku.load_study_jubaku().drop_duplicates("case_id")
    scores = reason_rules.rule_scores(cases, jubaku.leak_words(), jubaku.group_words())
    table = reason_rules.surface_rules(scores).set_index("rule")
    assert table.loc[GROUP, ["n_neutral", "n_ties", "n"]].tolist() == [4, 28, 36]
    assert table.loc[NAME, ["n_neutral", "n_ties", "n"]].tolist() == [4, 28, 36]
    varied = table[table["status"] != "same_in_every_cluster"]
    assert (varied["ci_low"] < 0.5).all() and (varied["ci_high"] > 0.5).all()
    # No word that leaks a label stands in one reason only, and both orders are asked.
    for rule in ("the option that stands first", "the reason with fewer words that leak a label"):
        assert table.loc[rule, ["n_ties", "status"]].tolist() == [36, "same_in_every_cluster"]


def test_the_best_rule_may_be_the_opposite_of_one():
    scores = pd.DataFrame({"x": [0, 0, 0, 1], "y": [1, 1, 0, 0]})
    name, best = reason_rules.best_rule(scores)
    assert name == "the opposite of: x" and best.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(("right", "beaten"), [(4, "yes"), (8, "no"), (7, "not told"), (0, "yes")])
def test_a_model_beside_a_rule(right, beaten):
    """Point 7: the difference is of shares, over cases, also of ragged numbers of answers."""
    index = pd.RangeIndex(20)
    parsed = pd.DataFrame({"m": [8.0, 6.0] * 10}, index=index)
    noise = np.tile([0, 1, 0, -1], 5) * (0 < right < 8)
    neutral = pd.DataFrame({"m": np.clip(np.minimum(right + noise, parsed["m"]), 0, 8)})
    rule = pd.Series(np.tile([1, 1, 1, 1, 0.5], 4).astype(float), index=index)
    apart = reason_rules.less_rule(neutral, parsed, rule)
    row = reason_rules.against_rule(apart).iloc[0]
    share = neutral["m"].sum() / parsed["m"].sum()
    assert row["value"] == pytest.approx(share - rule.mean()) and row["clusters"] == 20
    assert row["beaten"] == beaten


def test_rules_and_models_count_ties_in_one_way():
    """Point 2: a tie is one half for rules, and for averaged probabilities of models."""
    p = pd.Series([0.4, 0.5, 0.6])
    assert forced_choice.half_for_ties(p).tolist() == [0, reason_rules.TIE, 1]


def test_group_words_of_a_file_without_checklists(tmp_path):
    """A user's cases need none; then the rule is not tried."""
    file = tmp_path / "cases.yaml"
    file.write_text("cases: [{id: a, biased: x}]\n", encoding="utf-8")
    assert jubaku.group_words(file) == {} and jubaku.leak_words(file) == []
