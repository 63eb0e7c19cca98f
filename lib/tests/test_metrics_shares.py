"""A share over clusters: counterbalanced designs, nesting in the level, p and limit."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta, t

from katayori.errors import KatayoriError
from katayori.frames import GIVEN, not_asked, reason_of
from katayori.metrics.factors import difference
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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
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


@pytest.mark.parametrize("reading", [0.0, 0.6])
def test_coverage_of_a_balanced_design(reading):
    """40 cases of 8, half of each biased by position; those that read lean to .7 of their cases."""
    rng = np.random.default_rng(11)
    draws, covered = 700, 0
    truth = 0.5 + reading * 0.2 * 0.5
    for _ in range(draws):
        reads = rng.random(40) < reading
        leaning = rng.random(40) < 0.7
        moved = rng.binomial(4, 0.5, 40)
        plain = 4 + rng.integers(-1, 2, 40)
        y = np.where(reads, np.where(leaning, 4 + moved, 4 - moved), plain)
        found = cluster_share(y.tolist(), [8] * 40)
        covered += bool(found["ci_low"] <= truth <= found["ci_high"])
    assert covered / draws >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / draws)


# --- limit of detection ---------------------------------------------------------------------------


def test_the_limit_is_found_in_four_of_five_studies():
    """A share at the limit of detection of a sample, drawn anew."""
    rng = np.random.default_rng(5)
    y = [6, 4, 5, 7, 3, 5] * 5
    limit = share_limits(y, [10] * 30, line=0.5)["limit_up"]
    drawn = rng.binomial(10, 0.5 + limit, (500, 30))
    found = [cluster_share(one.tolist(), [10] * 30)["ci_low"] > 0.5 for one in drawn]
    assert 0.74 <= np.mean(found) <= 0.87


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


# --- verbs ----------------------------------------------------------------------------------------

ANSWERS = pd.DataFrame({"yes": [1.0, 0, 1, 0, None, 1, 1, 0] * 3, "question": np.arange(24) // 3})
ANSWERS = ANSWERS.assign(who=["f", "m", "m", "f"] * 6, model="a")
WHO = {"group": "who", "between": ("f", "m")}
VERBS = {
    "share": lambda frame, **more: share(frame, value="yes", **more),
    "difference": lambda frame, **more: difference(frame, value="yes", **WHO | more),
}


@pytest.mark.parametrize("name", VERBS)
def test_cells_are_measured_apart_whatever_the_index(name):
    whole = VERBS[name](ANSWERS)
    assert list(whole)[:8] == ["measure", *GIVEN] and whole["n_invalid"].tolist() == [3]
    both = pd.concat([ANSWERS, ANSWERS.assign(model="b")]).sample(frac=1, random_state=1)
    found = VERBS[name](both, by="model").set_index("model")
    for model in ("a", "b"):
        columns = ["value", "n", "n_invalid", "clusters", "ci_low", "ci_high"]
        own = whole.loc[0, columns].tolist()
        assert found.loc[model, columns].tolist() == pytest.approx(own)


@pytest.mark.parametrize("name", VERBS)
def test_what_was_not_asked_for_says_why(name):
    empty = not_asked("no answers of this prompt", list(ANSWERS))
    found = VERBS[name](empty, by=["model"])
    assert reason_of(found) == "no answers of this prompt"
    assert list(found)[:9] == ["model", "measure", *GIVEN]


def test_every_row_on_its_own():
    assert share(ANSWERS, value="yes", cluster=None)["clusters"].tolist() == [21]
    apart = difference(ANSWERS, value="yes", **WHO, cluster=None)
    assert apart["clusters"].tolist() == [9]


@pytest.mark.parametrize("name", VERBS)
def test_columns_that_are_lacking_are_named(name):
    with pytest.raises(KatayoriError, match=f"^{name}: no column 'question'"):
        VERBS[name](ANSWERS.drop(columns="question"))
    with pytest.raises(KatayoriError, match="column 'yes' holds 'no'"):
        VERBS[name](ANSWERS.assign(yes="no"))
    with pytest.raises(KatayoriError, match="by='status' is a column of the result"):
        VERBS[name](ANSWERS.assign(status=1), by="status")


def test_two_groups_must_be_named_among_three():
    three = ANSWERS.assign(who=["f", "m", "n"] * 8)
    with pytest.raises(KatayoriError, match=r"groups 'f', 'm', 'n'; name two .* between=\('f'"):
        difference(three, value="yes", group="who")
    found = difference(three, value="yes", group="who", between=("f", "n"))
    assert found["measure"].tolist() == ["f - n"]


def test_a_balanced_share_is_narrower_than_that_of_independent_answers():
    frame = pd.DataFrame({"yes": np.tile([1.0, 0, 1, 0, 1, 0], 40), "case": np.arange(240) // 6})
    frame.loc[:5, "yes"] = [1, 1, 1, 1, 0, 0]
    row = share(frame, value="yes", cluster="case").iloc[0]
    old = cluster_share([4] + [3] * 39, [6] * 40, floor=1.0)
    assert old["ci_low"] < row["ci_low"] < row["ci_high"] < old["ci_high"]
