"""Shares, means and differences over clusters: formulas, other programs, statuses, limits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from scipy.stats import beta, t, ttest_1samp
from statsmodels.api import OLS, add_constant
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from katayori.errors import KatayoriError
from katayori.metrics import factors, intervals, shares
from katayori.metrics.factors import difference, effect_size
from katayori.metrics.intervals import detectable_effect, mean_interval
from katayori.metrics.shares import (
    ABOUT_BELOW,
    SMALLEST_P,
    cluster_share,
    share,
    share_limits,
    share_p,
)

#: 160 of 288 answers over 36 cases of 8: 25 cases one above a half, 9 one below, 2 at it.
BALANCED = ([5] * 25 + [3] * 9 + [4] * 2, [8] * 36)
clusters = st.lists(
    st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=5,
    max_size=25,
)


def test_counterbalanced_answers_tell_more_than_independent_ones():
    """160 of 288 over 36 cases: [.494, .616] as independent answers, [.506, .605] as balanced."""
    found = cluster_share(*BALANCED)
    old = cluster_share(*BALANCED, floor=1.0)
    assert found["value"] == pytest.approx(160 / 288)
    assert (old["ci_low"], old["ci_high"]) == pytest.approx((0.494, 0.616), abs=0.001)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((0.506, 0.605), abs=0.001)
    assert 0.02 < share_p(*BALANCED, 0.5) < 0.04


def test_the_formula_of_a_balanced_design_written_out():
    y = np.array(BALANCED[0])
    p, n = 160 / 288, 288
    squares = ((y - 8 * p) ** 2).sum() + (8 * p) ** 2
    effect = 36 / 35 * squares / (n * p * (1 - p))
    size = n / effect * (t.ppf(0.975, 287) / t.ppf(0.975, 35)) ** 2
    found = cluster_share(*BALANCED)
    assert found["design_effect"] == pytest.approx(effect) and effect < 1
    assert found["ci_low"] == pytest.approx(beta.ppf(0.025, p * size, size - p * size + 1))
    assert found["ci_high"] == pytest.approx(beta.ppf(0.975, p * size + 1, size - p * size))


@settings(max_examples=25)
@given(clusters)
def test_only_balanced_clusters_differ_from_independent_ones(sample):
    """Where the design effect is 1 or more, a floor of 1 changes nothing."""
    y, n = map(list, zip(*sample, strict=True))
    new, old = cluster_share(y, n), cluster_share(y, n, floor=1.0)
    assert (new["value"], new["n"], new["status"]) == (old["value"], old["n"], old["status"])
    if new["design_effect"] >= 1:
        assert (new["ci_low"], new["ci_high"]) == pytest.approx((old["ci_low"], old["ci_high"]))
    else:
        assert old["ci_low"] < new["ci_low"] < new["ci_high"] < old["ci_high"]


@settings(max_examples=15)
@given(clusters, st.floats(0.05, 0.95))
def test_intervals_are_nested_and_p_is_where_the_line_leaves(sample, line):
    y, n = map(list, zip(*sample, strict=True))
    ends = [cluster_share(y, n, level) for level in (0.5, 0.8, 0.9, 0.95, 0.99)]
    lows, highs = [one["ci_low"] for one in ends], [one["ci_high"] for one in ends]
    assert lows == sorted(lows, reverse=True) and highs == sorted(highs)
    p = share_p(y, n, line)
    if ends[0]["status"] != "ok":
        assert np.isnan(p)
    elif p in (1.0, SMALLEST_P):
        found = cluster_share(y, n, 1 - 1e-6 if p == 1.0 else 1 - SMALLEST_P)
        assert p == 1.0 or not found["ci_low"] <= line <= found["ci_high"]
    else:
        assert p < 1
        for factor, held in ((0.99, True), (1.01, False)):
            found = cluster_share(y, n, 1 - min(p * factor, 0.9999))
            assert (found["ci_low"] <= line <= found["ci_high"]) == held


def test_statuses():
    same = cluster_share([2] * 20, [6] * 20)
    assert same["status"] == "same_in_every_cluster" and same["design_effect"] == 1
    assert same["ci_low"] == pytest.approx(beta.ppf(0.025, 40, 81))
    assert np.isnan(share_p([2] * 20, [6] * 20, 0.5))
    few = cluster_share([1, 2, 0, 1], [4] * 4)
    assert few["status"] == "few_clusters" and np.isnan(few["ci_low"]) and few["value"] == 0.25
    assert cluster_share([], [])["status"] == "no_valid_answer"
    none = cluster_share([0] * 10, [40] * 10)
    assert none["ci_high"] == pytest.approx(beta.ppf(0.975, 1, 10)), "10 clusters, not 400 answers"
    with pytest.raises(KatayoriError, match="more hits"):
        cluster_share([5], [4])
    with pytest.raises(KatayoriError, match="2 clusters of hits, 1 of totals"):
        cluster_share([1, 1], [4])


def test_limits_up_and_down_apart():
    y, n = [1, 0, 2, 1, 0, 2, 1, 1, 0, 2] * 2, [10] * 20
    at_a_tenth = share_limits(y, n, line=0.1)
    assert 0 < at_a_tenth["limit_down"] < at_a_tenth["limit_up"]
    mirrored = share_limits([10 - one for one in y], n, line=0.9)
    assert mirrored["limit_down"] == pytest.approx(at_a_tenth["limit_up"])
    assert not at_a_tenth["about"]
    assert share_limits(y[: ABOUT_BELOW - 1], n[:-1], line=0.1)["about"]


def test_no_limit_where_nothing_can_be_found():
    few = share_limits([1, 2, 0, 1], [4] * 4, line=0.5)
    fixed = share_limits([2] * 20, [4] * 20, line=0.5)
    out_of_reach = share_limits([0, 1, 1, 0, 1], [1] * 5, line=0.05)
    for found in (few["limit_up"], fixed["limit_down"], out_of_reach["limit_down"]):
        assert np.isnan(found)
    assert out_of_reach["limit_up"] > 0
    at_zero = share_limits([0, 1, 0, 0, 0, 1] * 5, [4] * 30, line=0.0)
    assert np.isnan(at_zero["limit_down"]) and at_zero["limit_up"] > 0


ANSWERS = pd.DataFrame({"yes": [1.0, 0, 1, 0, None, 1, 1, 0] * 3, "question": np.arange(24) // 3})
ANSWERS = ANSWERS.assign(who=["f", "m", "m", "f"] * 6, model="a")
WHO = {"group": "who", "between": ("f", "m")}


def test_every_row_on_its_own():
    assert share(ANSWERS, value="yes", cluster=None)["clusters"].tolist() == [21]
    apart = difference(ANSWERS, value="yes", **WHO, cluster=None)
    assert apart["clusters"].tolist() == [9]


def test_the_formula_where_floor_and_cap_do_not_bite():
    """Korn and Graubard's method, written out for itself."""
    y = np.array([3, 10, 6, 12, 4, 9, 2, 11, 7, 5])
    m = np.full(10, 15)
    p, n = y.sum() / 150, 150
    variance = 10 / 9 * ((y - p * m) ** 2).sum() / n**2
    size = p * (1 - p) / variance * (t.ppf(0.975, 149) / t.ppf(0.975, 9)) ** 2
    result = cluster_share(y, m, floor=1.0)
    assert result["n_effective"] == pytest.approx(size)
    assert result["ci_low"] == pytest.approx(beta.ppf(0.025, p * size, size - p * size + 1))
    assert result["ci_high"] == pytest.approx(beta.ppf(0.975, p * size + 1, size - p * size))


def test_a_mean_over_clusters_is_a_t_interval():
    values = [0.1, 0.3, -0.2, 0.4, 0.15, 0.2]
    result = mean_interval(values)
    wanted = ttest_1samp(values, 0).confidence_interval()
    assert (result["ci_low"], result["ci_high"]) == pytest.approx((wanted.low, wanted.high))


def test_equal_clusters_have_no_interval_of_width_zero():
    result = mean_interval([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3])
    assert result["status"] == "no_variation"
    assert np.isnan([result["ci_low"], result["ci_high"]]).all()
    assert mean_interval([1.0, 2.0])["status"] == "few_clusters"
    assert mean_interval([np.nan])["status"] == "no_valid_answer"


def test_a_probability_at_the_edge_has_no_interval():
    inner = intervals.probability(np.array([0.4, 0.5, 0.6, 0.55, 0.45]), 5)
    assert inner["status"] == "ok"
    edge = intervals.probability(np.array([0.001, 0.002, 0.001, 0.003, 0.002]), 5)
    assert edge["status"] == "edge"
    assert np.isnan(edge["ci_low"])


def test_the_detectable_effect():
    """20 clusters, SE .01: (2.093 + .861) x .01."""
    assert detectable_effect(0.01, 20) == pytest.approx(0.02954, abs=1e-5)
    assert np.isnan(detectable_effect(0.0, 20))
    assert np.isnan(detectable_effect(0.01, 4))


def test_contributions():
    """Their mean is the score, whatever the templates hold; empty templates are left out."""
    a, b = np.array([1.0, 0.0, 4.0]), np.array([2.0, 0.0, 6.0])
    assert intervals.contributions((a, b)).mean() == pytest.approx(5 / 8)
    both = intervals.contributions((a, b), (b - a, np.array([3.0, 1.0, 4.0])))
    assert len(both) == 3 and both.mean() == pytest.approx(5 / 8 - 3 / 8)
    assert intervals.contributions((a, 0 * b)).size == 0
    assert intervals.clusters_in((a, b), (a, b > 5)) == 1


def clustered(rng, clusters, per, shares, spread):
    """Answers of two groups to the same questions, which share an effect."""
    effect = rng.normal(0, spread, clusters)
    logits = np.log(np.array(shares) / (1 - np.array(shares)))
    p = 1 / (1 + np.exp(-(logits[None, :] + effect[:, None])))
    yes = rng.random((per, clusters, 2)) < p
    index = pd.MultiIndex.from_product([range(per), range(clusters), ["a", "b"]])
    frame = pd.Series(yes.ravel().astype(float), index).rename("value").reset_index()
    return frame.rename(columns={"level_1": "question", "level_2": "group"})


def test_a_balanced_difference_is_the_paired_t_interval():
    frame = clustered(np.random.default_rng(0), 12, 4, (0.7, 0.5), 0.5)
    row = factors.difference(frame, value="value", group="group").iloc[0]
    means = frame.pivot_table(index="question", columns="group", values="value")
    theirs = stats.ttest_rel(means["a"], means["b"]).confidence_interval()
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((theirs.low, theirs.high))
    assert row["measure"] == "a - b" and row["n"] == 96 and row["clusters"] == 12


@pytest.mark.parametrize("nested", [False, True])
def test_an_unbalanced_difference_has_the_cluster_robust_error(nested):
    rng = np.random.default_rng(3)
    frame = clustered(rng, 16, 5, (0.7, 0.5), 0.8).sample(frac=0.6, random_state=1)
    if nested:
        frame["group"] = np.where(frame["question"] % 2 == 0, "a", "b")
    row = factors.difference(frame, value="value", group="group", between=("a", "b")).iloc[0]
    x = add_constant((frame["group"] == "a").astype(float))
    fit = OLS(frame["value"], x).fit(
        cov_type="cluster", cov_kwds={"groups": frame["question"], "use_correction": False}
    )
    assert row["value"] == pytest.approx(fit.params["group"])
    clusters = frame["question"].nunique()
    error = fit.bse["group"] * np.sqrt(clusters / (clusters - 1))
    half = stats.t.ppf(0.975, clusters - 1) * error
    assert row["ci_high"] - row["value"] == pytest.approx(half)


def test_a_share_is_that_of_the_intervals_that_hold_at_the_edge():
    frame = clustered(np.random.default_rng(2), 10, 3, (0.6, 0.6), 0.7)
    frame.loc[::7, "value"] = np.nan
    row = shares.share(frame, value="value").iloc[0]
    valid = frame.dropna()
    sums = valid.groupby("question")["value"].agg(["sum", "size"])
    wanted = cluster_share(sums["sum"].tolist(), sums["size"].tolist())
    for name in ("value", "ci_low", "ci_high", "n", "clusters", "status"):
        assert row[name] == wanted[name], name
    assert row["n_invalid"] == frame["value"].isna().sum() and row["measure"] == "share"


def test_the_kind_of_a_mean_is_what_its_values_are():
    frame = pd.DataFrame({"p": [0.2, 0.4, 0.3, 0.6, 0.5, 0.4], "question": range(6)})
    assert shares.share(frame, value="p")["measure"].tolist() == ["probability"]
    assert shares.share(frame.assign(p=range(6)), value="p")["measure"].tolist() == ["mean"]
    low = frame.assign(p=[0.01, 0.02, 0.03, 0.01, 0.02, 0.01])
    near = shares.share(low, value="p").iloc[0]
    assert near["status"] == "edge" and np.isnan(near["ci_low"])
    with pytest.raises(KatayoriError, match="holds 2, which is no probability"):
        shares.share(frame.assign(p=[0, 1, 2, 0, 0, 0]), value="p", kind="probability")


@pytest.fixture
def answers():
    index = pd.MultiIndex.from_product(
        [range(8), list("abc"), list("xy")], names=["question", "level", "row"]
    )
    frame = pd.DataFrame(index=index).reset_index()
    rng = np.random.default_rng(1)
    return frame.assign(odds=rng.normal(size=len(frame)) + (frame["level"] == "a"))


def test_the_size_is_the_sum_of_squares_of_an_analysis_of_variance(answers):
    one = answers[answers["question"] == 3]
    table = anova_lm(ols("odds ~ C(row) + C(level)", one).fit())
    found = effect_size(one, value="odds", level="level", beside=["row"])
    wanted = table.loc["C(level)", "sum_sq"] / table.loc["C(level)", "df"]
    assert found["value"].item() == pytest.approx(wanted)
    assert found["status"].item() == "few_clusters" and np.isnan(found["ci_low"].item())


def test_what_is_constant_or_unreadable_has_no_size(answers):
    still = effect_size(answers.assign(odds=1.0), value="odds", level="level")
    assert still["status"].item() == "no_valid_answer" and np.isnan(still["value"].item())
    gaps = answers.assign(odds=answers["odds"].where(answers["question"] < 6))
    found = effect_size(gaps, value="odds", level="level", beside=["row"])
    assert found[["n", "n_invalid", "clusters"]].to_numpy().tolist() == [[36, 12, 6]]


def drawn_roles(rng, leans, right, icc, runs):
    """Counts by role (runs x templates x 3) of templates that differ by `icc`."""
    wrong = 1 - right
    chances = np.array([[right, wrong * (1 + lean) / 2, wrong * (1 - lean) / 2] for lean in leans])
    chances = np.broadcast_to(chances, (runs, *chances.shape))
    if icc:
        raw = rng.standard_gamma(chances * (1 - icc) / icc)
        chances = raw / raw.sum(axis=-1, keepdims=True)
    return rng.multinomial(12, chances)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "icc", "told"), [(0.05, 0.2, 0.92), (0.5, 0.2, 0.943), (0.95, 0.2, 0.856)]
)
def test_intervals_of_diff_bias_cover_as_their_docstring_tells(right, icc, told):
    """300 studies of 10 templates of 12 answers that lean by .6, of 1,000 that were drawn once."""
    counts = drawn_roles(np.random.default_rng(17), [0.6] * 10, right, icc, 300).astype(float)
    truth, given, held = (1 - right) * 0.6, 0, 0
    for one in counts:
        values = intervals.contributions((one[:, 1] - one[:, 2], one.sum(axis=1)))
        found = intervals.difference(values, 10)
        given += np.isfinite(found["ci_low"])
        held += found["ci_low"] <= truth <= found["ci_high"]
    assert given > 240
    assert held / given == pytest.approx(told, abs=3 * np.sqrt(told * (1 - told) / given))
