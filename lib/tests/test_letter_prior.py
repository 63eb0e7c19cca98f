"""Dividing letters by their batch: robustness rises where a letter is liked, knowledge does not."""

import numpy as np
import pandas as pd
import pytest

from katayori.papers.logprob_judge.letter_prior import batch_calibrated, before_and_after, sentences


def judge(rng, *, likes_a, knows, n=200):
    """Both orders of comparisons; log odds of A over B: liking plus knowledge of the better."""
    truth = rng.choice(["1", "2"], n)
    better_first = truth == "1"
    rows = []
    for order in ("12", "21"):
        first_is_better = better_first if order == "12" else ~better_first
        odds = likes_a + knows * np.where(first_is_better, 1, -1) + rng.normal(0, 0.5, n)
        p_a = 0.9 / (1 + np.exp(-odds))
        row = {"pair_id": np.arange(n), "question_id": np.arange(n) // 4, "order": order}
        row |= {"p_A": p_a, "p_B": 0.9 - p_a, "p_C": 0.1, "truth": truth}
        rows.append(pd.DataFrame(row))
    frame = pd.concat(rows, ignore_index=True)
    frame["letter"] = np.where(frame["p_A"] > frame["p_B"], "A", "B")
    same = {"model": "m", "source": "simulated", "prompt_id": "p", "outcome": "ok", "task": "t"}
    return frame.assign(**same, mass=1.0)


def measured(frame):
    comparisons = frame[frame["order"] == "12"].assign(item_id=frame["pair_id"])
    columns = ["item_id", "question_id", "task", "truth"]
    calls = frame.drop(columns=["truth", "question_id", "task"])
    table = before_and_after(calls, comparisons[columns])
    return table.set_index(["measure", "read"])["value"], table


def test_dividing_makes_a_judge_with_a_liked_letter_steadier_and_not_more_right():
    value, table = measured(judge(np.random.default_rng(0), likes_a=2.0, knows=0.8))
    assert value["robustness", "as given"] < 0.2 < 0.6 < value["robustness", "divided"]
    # Averaging over both orders has cancelled the liking already. A letter that is rarely given,
    # here C for a tie, becomes likelier by dividing, and no label is a tie.
    assert value["agreement", "as given"] > 0.8
    gain = value["agreement", "divided"] - value["agreement", "as given"]
    assert -0.15 < gain < 0.02
    assert table["clusters"].eq(50).all() and table["status"].eq("ok").all()
    assert "robustness" in sentences(table)[0]


def test_a_judge_that_knows_nothing_is_no_better_for_it():
    value, _ = measured(judge(np.random.default_rng(1), likes_a=2.0, knows=0.0))
    assert value["robustness", "divided"] > value["robustness", "as given"] + 0.2
    assert abs(value["agreement", "as given"] - 0.5) < 0.1
    assert value["agreement", "divided"] < value["agreement", "as given"] + 0.05


def test_calls_without_probabilities_stay_as_they_are():
    frame = judge(np.random.default_rng(2), likes_a=1.0, knows=0.0, n=20)
    frame.loc[0, ["p_A", "p_B", "p_C"]] = np.nan
    frame.loc[1, "letter"] = None
    out = batch_calibrated(frame)
    assert out.loc[0, "letter"] == frame.loc[0, "letter"] and np.isnan(out.loc[0, "p_A"])
    assert pd.isna(out.loc[1, "letter"])
    told = out.drop(index=0)[["p_A", "p_B", "p_C"]].sum(axis=1)
    assert np.allclose(told, 1)


def test_calls_without_probabilities_stay_out_of_the_mean_of_the_batch():
    """A call whose letters all have probability 0, and one without any, are left as they are."""
    frame = pd.DataFrame({"model": "m", "letter": "A", "p_A": [0.9, 0.7, 0.0, np.nan]})
    frame = frame.assign(p_B=[0.1, 0.3, 0.0, np.nan], p_C=0.0)
    out = batch_calibrated(frame, ["model"])
    alone = batch_calibrated(frame.head(2), ["model"])
    assert out["p_A"].iloc[:2].tolist() == pytest.approx(alone["p_A"].tolist())
    assert out["p_A"].iloc[2] == 0 and np.isnan(out["p_A"].iloc[3])
