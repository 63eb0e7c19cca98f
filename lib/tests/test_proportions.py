"""Two shares and pairs: Newcombe's intervals and McNemar's test, by other programs."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from katayori.errors import KatayoriError
from katayori.metrics import (
    proportions,
)

#: R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890, table II, method 10.
PUBLISHED = [
    ((56, 70, 48, 80), (0.0524, 0.3339)),
    ((9, 10, 3, 10), (0.1705, 0.8090)),
    ((6, 7, 2, 7), (0.0582, 0.8062)),
    ((5, 56, 0, 29), (-0.0381, 0.1926)),
    ((0, 10, 0, 20), (-0.1611, 0.2775)),
    ((0, 10, 0, 10), (-0.2775, 0.2775)),
    ((10, 10, 0, 20), (0.6791, 1.0)),
    ((10, 10, 0, 10), (0.6075, 1.0)),
]


@pytest.mark.parametrize(("counts", "ends"), PUBLISHED)
def test_newcombe_gives_the_published_intervals(counts, ends):
    row = proportions.newcombe(*counts).iloc[0]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(ends, abs=6e-5)
    theirs = confint_proportions_2indep(*counts, method="newcomb", compare="diff")
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(theirs, abs=1e-12)
    assert row["n"] == counts[1] + counts[3] and row["status"] == "ok"


def test_newcombe_without_answers_and_with_impossible_counts():
    row = proportions.newcombe(0, 0, 3, 10).iloc[0]
    assert np.isnan(row["value"]) and row["status"] == "no_valid_answer"
    with pytest.raises(KatayoriError, match="11 hits of 10 answers"):
        proportions.newcombe(11, 10, 0, 10)


def paired_ends(both, only_first, only_second, neither):
    """The interval of pairs without clusters."""
    first = [1] * both + [1] * only_first + [0] * only_second + [0] * neither
    second = [1] * both + [0] * only_first + [1] * only_second + [0] * neither
    row = proportions.mcnemar(first, second).iloc[0]
    return row["ci_low"], row["ci_high"]


def test_newcombe_for_pairs_gives_the_published_interval():
    """Statistics in Medicine 17 (1998), 2635-2650: cells 36, 12, 2, 0."""
    ends = paired_ends(36, 12, 2, 0)
    assert ends == pytest.approx((0.0569, 0.3404), abs=6e-5)
    turned = paired_ends(36, 2, 12, 0)
    assert turned == pytest.approx((-ends[1], -ends[0]), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_mcnemar_is_that_of_other_programs(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random(60) < 0.7, rng.random(60) < 0.5
    row = proportions.mcnemar(first, second).iloc[0]
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    assert (row["only_first"], row["only_second"]) == (b, c)
    assert row["p"] == pytest.approx(stats.binomtest(b, b + c).pvalue)
    assert row["chi2"] == pytest.approx((b - c) ** 2 / (b + c))
    assert row["p_chi2"] == pytest.approx(stats.chi2.sf((b - c) ** 2 / (b + c), 1))
    pingouin = pytest.importorskip("pingouin")
    _, theirs = pingouin.chi2_mcnemar(
        pd.DataFrame({"first": first, "second": second}), "first", "second"
    )
    column = next(name for name in theirs if name.startswith("p") and "exact" in name)
    assert row["p"] == pytest.approx(theirs[column].iloc[0])
    assert row["p_yates"] == pytest.approx(stats.chi2.sf((abs(b - c) - 1) ** 2 / (b + c), 1))
    assert np.isnan(row["p_cluster"])


def test_mcnemar_by_clusters_is_a_paired_t_interval():
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    cluster = np.repeat(np.arange(12), 5)
    row = proportions.mcnemar(first, second, cluster=cluster).iloc[0]
    gains = (first - second).reshape(12, 5).mean(axis=1)
    ends = stats.ttest_1samp(gains, 0).confidence_interval()
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((ends.low, ends.high))
    assert row["clusters"] == 12 and 0 < row["p_cluster"] <= 1
    sums = (first - second).reshape(12, 5).sum(axis=1)
    signs = np.array(list(itertools.product([1, -1], repeat=12)))
    exact = (np.abs(signs @ sums) >= abs(sums.sum())).mean()
    assert row["p_cluster"] == pytest.approx(exact)


def test_mcnemar_says_what_cannot_be_told():
    same = proportions.mcnemar([1, 0, 1, 1], [1, 0, 1, 1]).iloc[0]
    assert same["status"] == "no_difference" and np.isnan(same["p"]) and same["value"] == 0
    assert same["ci_low"] < 0 < same["ci_high"]
    nothing = proportions.mcnemar([1, None], [None, 0]).iloc[0]
    assert nothing["status"] == "no_valid_answer" and nothing["n_invalid"] == 2


def test_pairs_and_groups_that_cannot_be_are_named():
    with pytest.raises(KatayoriError, match="first has 2 values, second 1"):
        proportions.mcnemar([1, 0], [1])
    with pytest.raises(KatayoriError, match="first holds 2 in row 1; right is 1 or 0"):
        proportions.mcnemar([1, 2], [1, 0])
    with pytest.raises(KatayoriError, match="must be a list of numbers"):
        proportions.mcnemar(["yes", "no"], [1, 0])
