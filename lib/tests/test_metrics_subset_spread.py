"""The spread over subsets against exchange inside families (IJ-18)."""

import numpy as np
import pandas as pd
import pytest

from katayori.papers.inter_jbbq.subset_spread import subset_spread

SUBSETS = ("a", "a+b", "a+c", "a+b+c")
BY = ["model"]


def made(families, chance, rng):
    """Two questions an item; `chance` of family and subset gives the odds of being right."""
    rows = [
        (f"f{f}", subset, f"f{f}-{subset}", rng.random() < chance(f, subset))
        for f in range(families)
        for subset in SUBSETS
        for _ in range(2)
    ]
    frame = pd.DataFrame(rows, columns=["cluster", "subset", "item", "correct"])
    return frame.assign(model="m", invalid=False, correct=frame["correct"].astype(float))


def test_the_spread_by_hand():
    """Two subsets right in all and in no items: SD of 1 and 0, and the smallest p there is."""
    rng = np.random.default_rng(0)
    frame = made(20, lambda f, s: float("+b" in s), rng)
    row = subset_spread(frame, BY, draws=199).iloc[0]
    assert row["value"] == pytest.approx(np.std([0, 1, 0, 1], ddof=1)) and row["p"] == 1 / 200
    assert [row["lowest"], row["highest"], row["subsets"], row["n"]] == [0, 1, 4, 160]
    assert row["clusters"] == 20 and row["status"] == "exchange_test"


def test_level_and_power_beside_an_effect_of_the_family():
    """A subset's effect is found; families that differ much give no more false alarms."""
    rng = np.random.default_rng(1)
    runs, wrong, found = 60, 0, 0
    for run in range(runs):
        noise = made(20, lambda f, s: 0.15 + 0.7 * (f % 2), rng)
        wrong += subset_spread(noise, BY, draws=99, seed=run).iloc[0]["p"] <= 0.05
        planted = made(20, lambda f, s: 0.1 + 0.5 * (f % 2) + 0.35 * (s == "a+b"), rng)
        found += subset_spread(planted, BY, draws=99, seed=run).iloc[0]["p"] <= 0.05
    assert wrong <= 0.12 * runs and found >= 0.9 * runs


def test_what_cannot_be_tested_says_why():
    rng = np.random.default_rng(2)
    right = made(10, lambda f, s: 1.0, rng)
    assert subset_spread(right, BY).iloc[0]["status"] == "no_variation"
    one = right[right["subset"] == "a"]
    assert subset_spread(one, BY).iloc[0]["status"] == "one_subset"
    few = made(4, lambda f, s: 0.5, rng)
    row = subset_spread(few, BY).iloc[0]
    assert row["status"] == "few_clusters" and np.isnan(row["p"])
