"""Counts of outcomes, shares of answers and commonest invalid texts."""

import pandas as pd

from katayori.metrics import outcomes


def frame():
    rows = [
        ("a", "ok", "0", "0"),
        ("a", "ok", "2", "2"),
        ("a", "refusal", None, "no"),
        ("a", "refusal", None, "no"),
        ("a", "truncated", None, "well"),
        ("b", "refusal", None, "hm"),
    ]
    table = pd.DataFrame(rows, columns=["model", "outcome", "answer", "text"])
    return table.assign(source="live", prompt="basic")


def test_counts_hold_every_answer_and_a_model_without_a_valid_one():
    table = outcomes.outcome_table(frame()).set_index("model")
    assert table[["ok", "refusal", "truncated", "n"]].to_numpy().tolist() == [
        [2, 2, 1, 5],
        [0, 1, 0, 1],
    ]
    assert table["valid_share"].tolist() == [0.4, 0.0]
    nobody = outcomes.outcome_table(frame().query("model == 'b'"))
    assert "ok" not in nobody and nobody["valid_share"].tolist() == [0.0]


def test_shares_are_of_valid_answers_in_order_of_the_option():
    table = outcomes.answer_shares(frame())
    assert table.to_dict("records") == [
        {
            "model": "a",
            "source": "live",
            "prompt": "basic",
            "option 0": 0.5,
            "option 2": 0.5,
            "n": 2,
        }
    ]
    assert outcomes.answer_shares(frame().query("model == 'b'")).empty


def test_commonest_texts_stand_first_and_are_few():
    table = outcomes.commonest_invalid(frame(), most=1)
    assert table[["model", "text", "times"]].to_numpy().tolist() == [["a", "no", 2], ["b", "hm", 1]]
    assert outcomes.commonest_invalid(frame().query("outcome == 'ok'")).empty
