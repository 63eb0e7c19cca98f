"""Recount of printed figures: every kind of check, and the table of all checks of the five papers
(X-4)."""

import doctest

import numpy as np
import pandas as pd
import pytest
import recounts
from hypothesis import given, strategies as st
from scipy import stats

from katayori.data import paper_facts
from katayori.metrics import ranks
from katayori.papers import paper_ids

SPECS = recounts.audit_checks()


@pytest.fixture(scope="module")
def table():
    return recounts.audit_table(SPECS, paper_facts.printed).set_index("id")


def test_the_examples_of_the_functions_hold():
    found = doctest.testmod(recounts)
    assert found.attempted >= 20 and not found.failed


# -- the five papers -------------------------------------------------------------------------------


@pytest.mark.slow
def test_verdicts_are_those_of_the_recount(table):
    """The findings of the recount, by id; whatever is not listed is consistent."""
    disputed = {
        *("DE-a9", "PJ-a8", "PJ-a11", "PJ-a12", "PJ-a13"),
        *("LJ-a2", "LJ-a4", "LJ-a10", "LJ-a11", "LJ-a12"),
        *("JU-a7", "JU-a8", "JU-a9", "JU-a11", "JU-a12", "JU-a16", "JU-a17"),
        *("IJ-a2", "IJ-a10", "IJ-a11", "IJ-a12", "IJ-a13", "IJ-a14", "IJ-a16", "IJ-a17"),
    }
    undecided = {
        *("DE-a12", "DE-a13", "DE-a14", "DE-a15"),
        *("PJ-a7", "PJ-a10", "PJ-a14", "PJ-a15"),
        *("JU-a13", "JU-a14", "JU-a18"),
    }
    assert set(table.index[table["verdict"] == recounts.NOT]) == disputed
    assert set(table.index[table["verdict"] == recounts.CANNOT]) == undecided
    assert set(table["verdict"]) == set(recounts.VERDICTS) and table.index.is_unique
    assert set(table["paper"]) == set(paper_ids())


@pytest.mark.parametrize(
    ("row", "recomputed"),
    [
        ("DE-a8", "0.02449 to 0.0245"),
        ("DE-a9", "0.09796 to 0.09799"),
        ("DE-a11", "2 tables: 21/23/6, 24/22/39"),
        ("DE-a12", "1 of 36 printed"),
        ("PJ-a11", "11 of 12 consistent"),
        ("PJ-a12", "7 of 10 consistent"),
        ("PJ-a13", "5 of 12 consistent"),
        ("LJ-a1", "48 of 48 consistent"),
        ("LJ-a4", "11 of 12 consistent"),
        ("LJ-a11", "23 of 24 consistent"),
        ("JU-a8", "34"),
        ("IJ-a1", "20 of 20 consistent"),
        ("IJ-a2", "39 of 40 consistent"),
        ("IJ-a14", "off by 4.2"),
    ],
)
def test_recomputed_figures(table, row, recomputed):
    assert table.loc[row, "recomputed"] == recomputed


# -- kinds of checks -------------------------------------------------------------------------------


@given(n=st.integers(2, 400), data=st.data(), decimals=st.integers(0, 3))
def test_grim_admits_every_true_percentage(n, data, decimals):
    k = data.draw(st.integers(0, n))
    assert recounts.grim(f"{100 * k / n:.{decimals}f}", n)["verdict"] != recounts.NOT


@given(parts=st.lists(st.floats(0, 100), min_size=2, max_size=8), decimals=st.integers(0, 3))
def test_true_sums_and_means_are_consistent(parts, decimals):
    printed = [f"{x:.{decimals}f}" for x in parts]
    assert recounts.total(f"{sum(parts):.{decimals}f}", printed)["verdict"] == recounts.CONSISTENT
    assert (
        recounts.weighted_mean(f"{np.mean(parts):.{decimals}f}", printed)["verdict"]
        == recounts.CONSISTENT
    )


@given(x=st.floats(0.1, 8), df=st.integers(1, 30))
def test_true_tail_areas_are_consistent_and_others_are_not(x, df):
    for law, p in (
        ("chi2", stats.chi2.sf(x, df)),
        ("t", 2 * stats.t.sf(x, df)),
        ("f", stats.f.sf(x, df, 20)),
    ):
        given_df = [df, 20] if law == "f" else [df]
        assert (
            recounts.tail_area(f"{p:.3f}", f"{x:.6f}", law, given_df)["verdict"]
            == recounts.CONSISTENT
        )
        assert (
            recounts.tail_area(f"{p + 0.01:.3f}", f"{x:.6f}", law, given_df)["verdict"]
            == recounts.NOT
        )
    z = recounts.tail_area(f"{2 * stats.norm.sf(x):.4f}", f"{x:.6f}", "z")
    assert z["verdict"] == recounts.CONSISTENT


def test_correlations_as_scipy_gives_them():
    x, y = np.random.default_rng(0).normal(size=(2, 14))
    r, p = stats.pearsonr(x, y)
    row = recounts.correlation_p(f"{p:.4f}", f"{r:.6f}", 14)
    assert row["verdict"] == recounts.CONSISTENT and "14" in row["reason"]
    assert recounts.correlation_p(f"{p:.4f}", f"{r:.6f}", 40)["verdict"] == recounts.NOT


def test_varying_cases_by_trying_all_tables():
    """Against a search over all patterns of 3 cases in 2 variants."""
    patterns = [[(p >> i) & 1 for i in range(6)] for p in range(64)]
    possible = {(sum(p), sum(p[2 * c] != p[2 * c + 1] for c in range(3))) for p in patterns}
    for k in range(7):
        for v in range(4):
            row = recounts.varying_cases(f"{100 * k / 6:.2f}", f"{100 * v / 3:.2f}", 3, 2)
            assert (row["verdict"] == recounts.CONSISTENT) == ((k, v) in possible), (k, v)


def test_tables_that_fit_agree_with_the_tests_of_this_library():
    """Golden fixture 2: Kruskal-Wallis, Conover and Holm of the counts found give the printed p
    values."""
    cells = (np.arange(45)[:, None] < np.array([24, 22, 39])).astype(float)
    answers = pd.DataFrame(cells).melt(var_name="gender", value_name="yes")
    found = ranks.kruskal(answers, value="yes", level="gender")
    assert f"{4 * found['p'].item():.5f}" == "0.00114"
    pairs = ranks.holm(ranks.conover(answers, value="yes", level="gender")["p"])
    assert [f"{pairs[1]:.5f}", f"{pairs[2]:.6f}"] == ["0.00148", "0.000431"]
    assert (
        recounts.rank_test_of_counts("17.6", "9|9|9|11|12|13|15|11|6", 15)["verdict"]
        == recounts.NOT
    )
    assert recounts.tables_that_fit("0.00001", [(0, 2, "0.5")], 10, 3)["verdict"] == recounts.NOT


def test_spread():
    known = [81.9, 99.1, 98.1, 48.1, 95.8]
    whole = float(np.var(np.array(known) / 100, ddof=1))
    assert recounts.variance_range(f"{whole:.4f}", known, 5)["verdict"] == recounts.CONSISTENT
    assert recounts.variance_range(f"{whole:.4f}", known, 5, ddof=0)["verdict"] == recounts.NOT
    assert recounts.variance_range("0.30", known, 9)["verdict"] == recounts.NOT
    x = np.random.default_rng(2).permutation(11)
    rho = stats.spearmanr(np.arange(11), x).statistic
    assert recounts.rho_without_ties(f"{rho:.3f}", 11)["verdict"] == recounts.CONSISTENT
    assert recounts.rho_without_ties("0.160", 11)["verdict"] == recounts.NOT


# -- checks as data --------------------------------------------------------------------------------
