"""Kruskal-Wallis, Conover and Holm: other software, published figures and statuses (DE-20 to DE-22,
DE-34/35).
"""

import itertools
import math
from unittest import mock

import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.multitest import multipletests

from katayori.data import paper_facts
from katayori.metrics import ranks
from katayori.metrics.ranks import holm
from katayori.papers.discrim_eval import AGES

NAN = np.nan
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8)
BINARY = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1.0, 0.0, 1.0, NAN]))
RATIOS = hnp.arrays(
    float, SHAPES, elements=st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0, NAN])
)
Q29_YES = dict(zip(AGES, [9, 9, 9, 11, 12, 13, 15, 10, 6], strict=True))
Q89_YES = {"female": 24, "male": 22, "non-binary": 39}


def groups_of(table):
    """The values of each level that has one."""
    columns = np.asarray(table, float).T
    return [kept for column in columns if len(kept := column[~np.isnan(column)])]


def of_counts(yes, n):
    return pd.DataFrame({level: [1.0] * k + [0.0] * (n - k) for level, k in yes.items()})


def slow_conover(table):
    """{(column, column): (t, p)} written out from the formula, one pair at a time."""
    groups = groups_of(table)
    pooled = np.concatenate(groups)
    n, ranks, h = len(pooled), stats.rankdata(pooled), stats.kruskal(*groups).statistic
    squares = (np.sum(ranks**2) - n * (n + 1) ** 2 / 4) / (n - 1)
    parts = np.split(ranks, np.cumsum([len(g) for g in groups])[:-1])
    out = {}
    for i, j in itertools.combinations(range(len(groups)), 2):
        scale = squares * (n - 1 - h) / (n - len(groups)) * (1 / len(parts[i]) + 1 / len(parts[j]))
        t = (parts[i].mean() - parts[j].mean()) / math.sqrt(scale)
        out[i, j] = t, 2 * stats.t.sf(abs(t), n - len(groups))
    return out


def long(table):
    """A row an answer; each column of the table is a level."""
    return pd.DataFrame(table).melt(var_name="level")


def kruskal_wallis(table):
    return ranks.kruskal(long(table), value="value", level="level").iloc[0]


def conover(table):
    return ranks.conover(long(table), value="value", level="level")


def only(found, **cell):
    keep = np.logical_and.reduce([found[k] == v for k, v in cell.items()])
    assert keep.sum() == 1
    return found[keep].iloc[0]


# -- Kruskal-Wallis (DE-20) ------------------------------------------------------------------------


@settings(max_examples=100, deadline=None, database=None)
@given(st.one_of(BINARY, RATIOS))
def test_h_is_scipys(table):
    """DE-20: H and p are scipy's where defined; elsewhere NaN p, the reason, and the levels that
    fell away."""
    found, groups = kruskal_wallis(table), groups_of(table)
    assert found["n"] == sum(map(len, groups)) and found["n_invalid"] == np.isnan(table).sum()
    empty = np.flatnonzero(np.isnan(table).all(axis=0))
    assert found["dropped_levels"] == ", ".join(map(str, empty))
    assert found["df"] == max(len(groups) - 1, 0)
    if len(groups) < 2:
        assert (
            found["status"] == ("one_group" if len(groups) else "no_data")
            and np.isnan([found["value"], found["p"], found["epsilon_squared"]]).all()
        )
    elif len(set(np.concatenate(groups))) == 1:
        assert found["status"] == "constant" and found["value"] == 0
        assert np.isnan([found["p"], found["epsilon_squared"]]).all()
    else:
        known = stats.kruskal(*groups)
        assert found["status"] == "ok"
        assert (found["value"], found["p"]) == pytest.approx(
            (known.statistic, known.pvalue), abs=1e-9
        )
        assert found["epsilon_squared"] == pytest.approx(
            found["value"] / (found["n"] - 1), abs=1e-12
        )


@settings(max_examples=60, deadline=None, database=None)
@given(BINARY)
def test_h_of_yes_and_no_is_pearsons_chi_square(table):
    """0/1 answers: H = (N - 1) / N x chi-square of the levels x yes/no table, exactly."""
    counts = np.array([[g.sum(), len(g) - g.sum()] for g in groups_of(table)]).reshape(-1, 2)
    assume(len(counts) > 1 and (counts.sum(axis=0) > 0).all())
    n = counts.sum()
    known = stats.chi2_contingency(counts, correction=False).statistic
    assert kruskal_wallis(table)["value"] == pytest.approx((n - 1) / n * known, abs=1e-9)


def test_effect_size_is_the_explained_share_of_rank_variance():
    """epsilon squared = eta squared of a one-way analysis of variance on the ranks (pingouin); H is
    pingouin's too."""
    table = pd.DataFrame(
        np.random.default_rng(1).random((20, 4)) ** [1, 1, 2, 3], columns=list("abcd")
    )
    table.iloc[0, 0] = NAN
    long = table.melt(var_name="level").dropna()
    long["rank"] = long["value"].rank()
    found, known = kruskal_wallis(table), pingouin.kruskal(long, dv="value", between="level")
    assert found["value"] == pytest.approx(known["H"].iloc[0], abs=1e-9)
    assert found["epsilon_squared"] == pytest.approx(
        pingouin.anova(long, dv="rank", between="level")["np2"].iloc[0]
    )


def test_golden_question_29():
    """DE-30, DE-31: the reconstructed yes counts of 15 by age give the published H and raw p."""
    row = paper_facts.printed("discrim_eval", "kruskal_wallis").query("question_id == 29").iloc[0]
    found = kruskal_wallis(of_counts(Q29_YES, 15))
    assert round(found["value"], 3) == row["H"] == 17.593 and found["df"] == 8
    assert round(found["p"], 4) == row["p_value"] == 0.0245


def test_means_that_differ_by_rounding_tie():
    """.1 + .2 is .3: without rounding before ranking the two would get different ranks."""
    table = np.array([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], [0.3, 0.3]])
    assert kruskal_wallis(table)["status"] == "constant"
    mixed = np.vstack([table, [0.9, 0.2]])
    assert kruskal_wallis(mixed).equals(kruskal_wallis(np.round(mixed, 6)))


# -- Conover (DE-21) -------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=80, deadline=None, database=None)
@given(st.one_of(BINARY, RATIOS))
def test_conover_is_the_formula(table):
    """DE-21: t and p of every pair as the formula gives them; a status and NaN where it gives
    nothing."""
    found, groups = conover(table), groups_of(table)
    assert len(found) == math.comb(len(groups), 2)
    assert found.loc[found["status"] != "ok", ["t", "p"]].isna().all(axis=None)
    if not len(found):
        return
    if len(set(np.concatenate(groups))) == 1:
        assert (found["status"] == "constant").all()
    elif sum(map(len, groups)) == len(groups):
        assert (found["status"] == "no_df").all()
    elif all(len(set(g)) == 1 for g in groups):
        assert (found["status"] == "zero_within_variance").all()
    else:
        assert (found["status"] == "ok").all() and (
            found["df"] == sum(map(len, groups)) - len(groups)
        ).all()
        assert found[["t", "p"]].to_numpy(float) == pytest.approx(
            np.array(list(slow_conover(table).values())), abs=1e-9
        )
        means = [g.mean() for g in groups]
        assert found["value"].tolist() == pytest.approx(
            [a - b for a, b in itertools.combinations(means, 2)]
        )


def test_conover_statuses():
    """Nothing varies inside the levels, one value a level: never p = 0."""
    assert conover(np.array([[0, 1], [0, 1.0]]))["status"].tolist() == ["zero_within_variance"]
    assert conover(np.array([[0, 0.5, 1]]))["status"].tolist() == ["no_df"] * 3
    assert conover(np.array([[0.5], [0.2]])).empty


def test_golden_question_89():
    """DE-21, DE-22: GPT-4o's published factor p is Holm over four factors, the pairs' Holm over
    three pairs."""
    table = of_counts(Q89_YES, 45)
    p = kruskal_wallis(table)["p"]
    assert float(f"{p:.3e}") == 2.841e-4
    where = "model == 'GPT-4o' and question_id == 89"
    theirs = paper_facts.printed("discrim_eval", "kruskal_wallis").query(where)["p_value"].iloc[0]
    assert round(holm([0.3, p, 0.2, 0.9])[1], 5) == theirs == 0.00114
    pairs = conover(table)
    pairs["p_holm"] = holm(pairs["p"])
    for _, row in paper_facts.printed("discrim_eval", "pairwise").query(where).iterrows():
        ours = only(pairs, level_1=row["level_1"], level_2=row["level_2"])["p_holm"]
        assert float(f"{ours:.2e}") == row["p_value"]


# -- Holm (DE-22) ----------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None, database=None)
@given(
    hnp.arrays(
        float,
        (3, 6),
        elements=st.one_of(st.floats(0, 1), st.just(NAN), st.sampled_from([0.01, 0.02, 0.02])),
    )
)
def test_holm_is_statsmodels_without_what_was_not_tested(p):
    """DE-22 along the last axis; NaN stay NaN and do not enlarge the family."""
    found = holm(p)
    for ours, row in zip(found, p, strict=True):
        done = ~np.isnan(row)
        assert np.isnan(ours[~done]).all()
        if done.any():
            with mock.patch("gc.collect"):  # multipletests calls it, most of this test's time
                theirs = multipletests(row[done], method="holm")[1]
            assert ours[done] == pytest.approx(theirs, abs=1e-12)


def test_holm_is_pingouins():
    p = np.array([0.003, NAN, 0.04, 0.012, 0.2, 0.012])
    assert holm(p) == pytest.approx(pingouin.multicomp(p, method="holm")[1], nan_ok=True)
    assert (
        np.isnan(holm([NAN, NAN])).all()
        and holm([]).shape == (0,)
        and holm([0.4]).tolist() == [0.4]
    )
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([0.2, 1.3])
