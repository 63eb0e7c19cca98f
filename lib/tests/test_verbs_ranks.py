"""Verbs of ranks against scipy, statsmodels and hand values."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from katayori import frames
from katayori.frame_checks import FrameError
from katayori.metrics import ranks


def test_holm_inside_each_family_is_that_of_statsmodels():
    rng = np.random.default_rng(3)
    tests = pd.DataFrame({"p": rng.random(40) ** 3, "model": rng.choice(["a", "b", "c"], 40)})
    found = ranks.adjust(tests, p="p", family=["model"])
    for _, one in found.groupby("model"):
        oracle = multipletests(one["p"], method="holm")[1]
        assert one["p_holm"].to_numpy() == pytest.approx(oracle, abs=1e-12)
        assert set(one["tests"]) == {len(one)}


def test_a_test_without_p_is_no_member_of_its_family():
    tests = pd.DataFrame({"p": [0.01, np.nan, 0.04], "model": ["a", None, None]})
    together = ranks.adjust(tests, p="p")
    assert together["p_holm"].tolist() == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert together["tests"].tolist() == [2, 2, 2]
    apart = ranks.adjust(tests, p="p", family="model")  # a missing name is a family, too
    assert apart["p_holm"].tolist() == pytest.approx([0.01, np.nan, 0.04], nan_ok=True)
    assert apart["tests"].tolist() == [1, 1, 1]
    with pytest.raises(FrameError, match=r"adjust: column 'p' holds .*1.5"):
        ranks.adjust(tests.assign(p=1.5), p="p")


def test_holm_of_nothing_says_why_there_is_nothing():
    nothing = ranks.adjust(frames.not_asked("not recorded", ["p", "model"]), p="p", family="model")
    assert list(nothing) == ["p", "model", "p_holm", "tests"]
    assert frames.reason_of(nothing) == "not recorded"
