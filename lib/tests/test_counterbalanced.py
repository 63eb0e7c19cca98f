"""Answers in both orders: their interval holds, and their exact test finds a lean and no noise.

Both orders cancel a liking for a letter, so that cases differ less than independent answers would.
"""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics import sign_swap, verdicts

CASES, STUDIES = 36, 100
ORDERS = np.tile([1, -1], 4)  # four instructions, and whether the neutral reason is A


def answers_of(rng: np.random.Generator, pull: float, reads: float = 0.0) -> pd.DataFrame:
    """Eight answers to each case: a share is read, the others follow a liking for A (log odds)."""
    chance = reads + (1 - reads) / (1 + np.exp(-pull * np.tile(ORDERS, CASES)))
    frame = pd.DataFrame({"case": np.repeat(np.arange(CASES), 8), "order": np.tile(ORDERS, CASES)})
    frame["neutral"] = (rng.random(len(frame)) < chance).astype(float)
    return frame.assign(letter=np.where((frame["order"] > 0) == (frame["neutral"] > 0), "A", "B"))


def told(frame: pd.DataFrame, seed: int = 0) -> pd.Series:
    """The row of the notebook: interval over cases, exact test, verdict."""
    row = verdicts.line_test(frame, value="neutral", line=0.5, cluster="case")
    lean = (frame["neutral"] - 0.5).groupby(frame["case"]).sum()
    row["p_exact"] = sign_swap.sign_swap_test(lean, seed=seed)["p"]
    gates = verdicts.gates(frame, factors=["letter"])
    return verdicts.verdict(row, margin=0.05, gates=gates, p="p_exact").iloc[0]


def studies(**planted: float) -> pd.DataFrame:
    rng = np.random.default_rng(47)
    return pd.DataFrame([told(answers_of(rng, **planted), seed) for seed in range(STUDIES)])


def test_a_tenth_that_is_read_is_found_beside_a_liking_for_a_letter():
    """In 400 studies the interval holds in .98; .36 find it, by a test over answers .31."""
    found = studies(pull=1.2, reads=0.1)
    assert found["ci_low"].le(0.55).mean() >= 0.93 and found["ci_high"].ge(0.55).mean() >= 0.93
    present = found["verdict"].str.startswith("present") & (found["value"] > 0.5)
    assert present.mean() > 0.25
    assert found["verdict"].eq("absent").mean() <= 0.05  # what is read is as large as the margin


def test_a_liking_for_a_letter_alone_is_no_lean():
    found = studies(pull=1.2)
    assert found["verdict"].str.startswith("present").mean() <= 0.1


@pytest.mark.parametrize("reads", [0.0, 0.02])
def test_who_follows_a_position_has_no_value(reads):
    row = told(answers_of(np.random.default_rng(1), pull=9.0, reads=reads))
    assert row["verdict"] == "position bound" and np.isnan(row["value"])


def test_the_same_letter_always_is_never_a_share_of_one_half():
    """As a stub that writes A whatever stands there."""
    frame = answers_of(np.random.default_rng(1), pull=30.0)
    assert set(frame["letter"]) == {"A"} and frame["neutral"].mean() == 0.5
    assert told(frame)["status"] == "position_bound"
