"""How often both orders of a pair name the same: every pair counts, read or not."""

import numpy as np
import pandas as pd
import pytest

from katayori.frames import GIVEN, FrameError, not_asked, reason_of
from katayori.metrics.judges import robustness, settled
from katayori.metrics.shares import cluster_share


def calls(model="m", questions=8):
    """Three pairs a question: a steady one, one that names A twice, one with a gap."""
    rows = []
    for question in range(questions):
        for pair, letters in (("steady", "AB"), ("first", "AA"), ("gap", ["B", None])):
            for order, letter in zip(("12", "21"), letters, strict=True):
                row = {"pair": f"{question}-{pair}", "question": question, "order": order}
                rows.append(row | {"letter": letter, "model": model})
    return pd.DataFrame(rows)


def both(frame, **more):
    names = {"pair": "pair", "order": "order", "letter": "letter", "keep": ["question"]}
    return settled(frame, **names, **more)


def test_a_pair_without_a_verdict_is_not_the_same_and_stays_in_the_denominator():
    table = robustness(both(calls()))
    assert list(table.columns) == ["measure", *GIVEN]
    [row] = table.to_dict("records")
    assert row["value"] == pytest.approx(8 / 24)
    assert (row["measure"], row["n"], row["n_invalid"], row["clusters"]) == ("robustness", 24, 8, 8)
    assert row["status"] == "same_in_every_cluster"
    one_order = calls().query("pair != '0-steady' or order == '12'")
    assert robustness(both(one_order)).loc[0, ["n", "n_invalid"]].tolist() == [24, 9]


def test_the_interval_is_that_of_shares_over_questions():
    frame = both(calls())
    frame["same"] = np.random.default_rng(1).integers(0, 2, len(frame)).astype(float)
    sums = frame.groupby("question")["same"].agg(["sum", "size"])
    expected = cluster_share(sums["sum"].tolist(), sums["size"].tolist(), floor=1.0)
    found = robustness(frame).iloc[0]
    for name in ("value", "ci_low", "ci_high", "status"):
        assert found[name] == expected[name]
    few = robustness(frame[frame["question"] < 4]).iloc[0]
    assert few["status"] == "few_clusters" and np.isnan(few["ci_low"]) and few["value"] >= 0


def test_models_are_measured_apart_and_one_without_a_verdict_has_no_value():
    silent = calls("silent").assign(letter=None)
    frame = both(pd.concat([calls(), silent]), by="model")
    table = robustness(frame, by="model").set_index("model")
    assert table.loc["m", "value"] == pytest.approx(8 / 24)
    row = table.loc["silent"]
    assert row["status"] == "no_valid_verdict" and row["n_invalid"] == row["n"] == 24
    assert row[["value", "ci_low", "ci_high"]].isna().all()


def test_what_was_not_asked_goes_on_and_wrong_frames_are_refused():
    assert reason_of(robustness(both(not_asked("no judge")), by="model")) == "no judge"
    frame = both(calls())
    with pytest.raises(FrameError, match="robustness: no column 'topic'"):
        robustness(frame, cluster="topic")
    with pytest.raises(FrameError, match="column 'same' holds"):
        robustness(frame.assign(same=0.5))
    with pytest.raises(FrameError, match="column 'status' holds 'fine'"):
        robustness(frame.assign(status="fine"))
