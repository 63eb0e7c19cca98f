"""Krippendorff's alpha: package, literature, undefined cases, intervals, bands (DE-23 to DE-27)."""

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from katayori.errors import KatayoriError
from katayori.metrics.agreement import (
    BANDS,
    WITHHELD,
    alpha,
    alpha_band,
    alpha_closed_form,
    alpha_jackknife,
    is_near_constant,
    told_band,
)
from katayori.metrics.intervals import FEW_CLUSTERS

NAN = np.nan
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
BINARY = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1.0, 1.0, 0.0, NAN]))
MEANS = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0, NAN]))
COUNTED = ["n", "n_units", "n_invalid"]
SELF = "n_i_self_pairs"
# Four coders, twelve units: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011),
# example C/D.
TEXTBOOK = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)


def package(table):
    return krippendorff.alpha(
        reliability_data=np.asarray(table, float).T, level_of_measurement="interval"
    )


def found_of(table, **more):
    """The row of a table whose index names the question first, or of units alone."""
    if isinstance(table, pd.DataFrame):
        more = {"cluster": table.index.get_level_values(0).to_numpy(), **more}
    return alpha(np.asarray(table, float), **more).iloc[0]


def stacked(values, questions):
    """A contingency table: rows of `values` dealt to `questions` in blocks."""
    index = pd.MultiIndex.from_product([range(questions), range(len(values) // questions)])
    return pd.DataFrame(values, index=index)


def drawn(rng, questions=70, share=0.5, effect=0.0, spread=0.0):
    """Answers of questions x 15 rows x 3 levels; `effect` moves the levels, opposite ways by
    question."""
    side = rng.choice([-1, 1], (questions, 1, 1)) * effect * np.array([-1, 0, 1])
    own = rng.normal(0, spread, (questions, 1, 1))
    yes = rng.random((questions, 15, 3)) < np.clip(share + own + side, 0, 1)
    return stacked(yes.reshape(-1, 3) * 1.0, questions)


# -- the point estimate (DE-23) --------------------------------------------------------------------


def test_the_textbook_example():
    """DE-23: the known data set has interval alpha 0.849."""
    found = found_of(TEXTBOOK.T)
    assert found["value"] == pytest.approx(0.849, abs=5e-4)
    assert found["value"] == pytest.approx(package(TEXTBOOK.T), abs=1e-12)
    assert alpha_closed_form(TEXTBOOK.T) == pytest.approx(found["value"], abs=1e-12)
    assert found[["status", *COUNTED]].tolist() == ["ok", 40, 11, 7]


@settings(max_examples=80, deadline=None, database=None)
@given(st.one_of(BINARY, MEANS))
def test_alpha_is_the_packages_and_the_closed_forms(table):
    """DE-23, with missing values: all agree where alpha is defined; elsewhere NaN and the
    reason."""
    found = found_of(table)
    kept = [row[np.isfinite(row)] for row in table if np.isfinite(row).sum() >= 2]
    values = np.concatenate([*kept, []])
    assert found[COUNTED].tolist() == [len(values), len(kept), np.isnan(table).sum()]
    if len(set(values)) < 2:
        assert np.isnan(found["value"]) and np.isnan(alpha_closed_form(table))
        assert found["band"] == "undefined"
        assert found["status"] == ("constant" if len(values) else "no_pairable")
    else:
        assert found["value"] == pytest.approx(package(table), abs=1e-12)
        assert alpha_closed_form(table) == pytest.approx(package(table), abs=1e-12)


@settings(max_examples=60, deadline=None, database=None)
@given(BINARY, st.randoms(use_true_random=False))
def test_alpha_knows_no_order_and_no_direction(table, random):
    """DE-23: the same after shuffling rows or columns, and with yes and no exchanged."""
    rows, columns = (random.sample(range(n), n) for n in table.shape)
    for other in (table[rows], table[:, columns], 1 - table):
        for weights in ("standard", SELF):
            one, two = (found_of(each, weights=weights) for each in (table, other))
            assert one["value"] == pytest.approx(two["value"], abs=1e-12, nan_ok=True)
            assert one[["status", *COUNTED]].tolist() == two[["status", *COUNTED]].tolist()


@pytest.mark.parametrize("columns", [2, 3, 5, 9, 15])
@pytest.mark.parametrize("digits", [0, 2])
def test_self_pairs_lower_the_observed_disagreement(columns, digits):
    """DE-23: the printed 1/n_i weight scales the observed disagreement of full rows by exactly
    (m - 1) / m."""
    table = np.random.default_rng(columns).random((40, columns)).round(digits)
    standard, literal = (found_of(table, weights=w)["value"] for w in ("standard", SELF))
    assert 1 - literal == pytest.approx((1 - standard) * (columns - 1) / columns, abs=1e-12)


def test_self_pairs_can_move_a_model_across_a_band():
    """DE-23: why the variant has a name of its own."""
    table = np.array([[1, 1, 1]] * 12 + [[0, 0, 0]] * 12 + [[0, 0, 1], [1, 1, 0]] * 3, float)
    bands = [alpha_band(found_of(table, weights=w)["value"]) for w in ("standard", SELF)]
    assert bands == ["weak", "strong"]
    with pytest.raises(KatayoriError, match="n_i_self_pairs"):
        found_of(table, weights="literal")


@pytest.mark.parametrize(
    ("table", "status"),
    [
        ([[1, 1], [1, 1]], "constant"),
        ([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]], "constant"),  # equal but for floating point
        ([[1, 1], [NAN, 0]], "constant"),  # the only different value has no partner
        ([[1, NAN], [NAN, 0]], "no_pairable"),
        ([[NAN, NAN]], "no_pairable"),
        ([[1], [0]], "no_pairable"),  # a factor with one level
    ],
)
def test_undefined_is_nan_and_a_status(table, status):
    """Status table: never 1, never a crash."""
    found = found_of(table)
    assert np.isnan(found["value"]) and np.isnan(alpha_closed_form(np.asarray(table, float)))
    assert (found["status"], found["band"]) == (status, "undefined")
    assert np.isnan(found["ci_low"])


def test_perfect_agreement_is_one_and_perfect_disagreement_negative():
    assert found_of([[0, 0], [1, 1]])["value"] == 1
    assert found_of([[0, 1], [1, 0]])["value"] == pytest.approx(-0.5)


def test_continuous_values_use_the_closed_form(monkeypatch):
    """The package needs a matrix over distinct values (9,450 of them here); it must not be called
    for them."""
    values = np.random.default_rng(0).random((1050, 9))
    assert found_of(values[:20])["value"] == pytest.approx(package(values[:20]), abs=1e-12)
    monkeypatch.setattr(krippendorff, "alpha", lambda **_: pytest.fail("the package was asked"))
    assert abs(found_of(values)["value"]) < 0.05


@pytest.mark.parametrize("scale", [1e-3, 1e-7, 1e-10])
def test_small_spreads_keep_their_alpha(scale):
    """Probabilities of a near-constant respondent: tiny differences are still a number, not NaN
    with status ok."""
    rng = np.random.default_rng(1)
    table = stacked(rng.random((60, 5)) + rng.random((10, 1)).repeat(6, axis=0), 10)
    found = found_of(0.5 + scale * table / 4)
    assert found["status"] == "ok"
    assert found["value"] == pytest.approx(alpha_closed_form(table), abs=1e-4)


# -- bands (DE-25) ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (-1, "beyond-chance disagreement"),
        (np.nextafter(0, -1), "beyond-chance disagreement"),
        (0.0, "none"),
        (-0.0, "none"),
        (2 / 3, "none"),
        (np.nextafter(2 / 3, 1), "weak"),
        (0.8, "weak"),
        (np.nextafter(0.8, 1), "strong"),
        (1.0, "strong"),
        (NAN, "undefined"),
    ],
)
def test_boundary_values_belong_to_the_lower_band(value, band):
    """DE-25."""
    assert alpha_band(value) == band


@pytest.mark.parametrize(
    "ends, told",
    [
        ((-0.3, -0.1), BANDS[0][1]),
        ((0.1, 0.6), "none"),
        ((-0.3, 0.1), WITHHELD),
        ((0.6, 0.7), WITHHELD),
        ((NAN, NAN), WITHHELD),
    ],
)
def test_a_band_that_the_interval_stays_in_is_told(ends, told):
    assert told_band(ends, FEW_CLUSTERS) == told
    assert told_band(ends, FEW_CLUSTERS - 1) == WITHHELD


def test_fair_answers_around_zero_have_no_band():
    """Alpha -0.000 with an interval on both sides of 0 is no disagreement beyond chance."""
    rng = np.random.default_rng(0)
    found = pd.DataFrame([found_of(drawn(rng)) for _ in range(40)])
    around = (found["ci_low"] < 0) & (found["ci_high"] > 0)
    assert around.mean() > 0.8 and set(found.loc[around, "band"]) == {WITHHELD}


def test_disagreement_beyond_chance_is_told_where_it_was_planted():
    found = found_of(drawn(np.random.default_rng(0), effect=0.45))
    assert found["ci_high"] < 0 and found["band"] == BANDS[0][1]


@pytest.mark.parametrize("rarer, near", [(4, True), (40, True), (150, False)])
def test_nearly_constant_answers_have_neither_interval_nor_band(rarer, near):
    """P(yes) .0025 or .9975: the interval of the bootstrap missed 0 in 96 % of simulated
    studies."""
    values = np.ones(70 * 45)
    values[np.random.default_rng(1).permutation(len(values))[:rarer]] = 0
    one = stacked(values.reshape(-1, 3), 70)
    assert is_near_constant(one) is near
    found = found_of(one)
    assert np.isfinite(found["value"]) and np.isnan(found["ci_low"]) == near
    assert (found["status"] == "near_constant") is near
    assert not near or found["band"] == WITHHELD


@pytest.mark.parametrize(
    ("shape", "yes", "near"),
    [
        (
            (100, 3),
            20,
            True,
        ),  # by chance 300 * .0667 ** 2 = 1.3 pairs
        ((100, 3), 60, False),  # 300 * .2 ** 2 = 12
        ((20, 2), 20, False),  # 20 * .5 ** 2 = 5 pairs are enough
        ((21, 2), 20, True),
    ],
)
def test_near_constant_counts_the_pairs_that_chance_would_make(shape, yes, near):
    table = np.zeros(shape)
    table.ravel()[:yes] = 1
    assert is_near_constant(table) == near
    assert is_near_constant(table / 2) == near, "any two values"


def test_probabilities_may_all_be_near_one_value():
    rng = np.random.default_rng(0)
    assert not is_near_constant(rng.uniform(0.96, 0.99, (50, 3)))
    assert not is_near_constant(np.full((3, 3), NAN))


# -- intervals (DE-27) -----------------------------------------------------------------------------


@pytest.mark.parametrize("questions, status", [(4, "few_clusters"), (5, "ok"), (9, "ok")])
def test_few_questions(questions, status):
    """Below five no interval, below ten no band."""
    found = found_of(drawn(np.random.default_rng(2), questions, spread=0.3))
    assert (found["status"], found["band"]) == (status, WITHHELD)
    assert np.isnan(found["ci_low"]) == (status != "ok")


def test_no_interval_of_width_zero():
    """Levels that never differ: alpha is 1, and nothing tells how sure that is."""
    found = found_of(stacked(np.repeat(np.arange(60.0)[:, None] / 60, 3, axis=1), 12))
    assert found["value"] == 1 and np.isnan(found["ci_low"])
    assert (found["status"], found["band"]) == ("no_variation", WITHHELD)


def test_the_interval_is_the_jackknife_by_definition():
    """Slow and obvious: leave each question out of the table, log(1 - alpha), pseudo-values, t."""
    one = drawn(np.random.default_rng(3), questions=8, spread=0.3)
    z = np.log(1 - package(one))
    without = [np.log(1 - package(one.drop(question, level=0))) for question in range(8)]
    pseudo = 8 * z - 7 * np.array(without)
    half = 2.364624 * pseudo.std(ddof=1) / np.sqrt(8)
    found = found_of(one)
    ends = 1 - np.exp(z + half), 1 - np.exp(z - half)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(ends, abs=1e-6)


def test_the_interval_covers_the_truth_of_p_yes():
    """12 questions, alpha of P(yes) near .9: the bootstrap covers it in .89 of simulated
    studies."""
    rng = np.random.default_rng(4)

    def draw(questions):
        own = rng.normal(0, 2.5, (questions, 1, 1))
        moved = rng.normal(0, 1, (questions, 1, 1)) * np.array([-0.6, 0, 0.6])
        odds = own + moved + rng.normal(0, 0.3, (questions, 5, 1))
        return stacked((1 / (1 + np.exp(-odds))).reshape(-1, 3), questions)

    truth = alpha_closed_form(draw(20_000))
    ends = [alpha_jackknife(draw(12)) for _ in range(300)]
    assert np.mean([one["ci_low"] <= truth <= one["ci_high"] for one in ends]) > 0.9


def test_a_very_rare_answer_is_told_nothing_of():
    """23 "no" by chance, no two in one row, give the lowest alpha they can: shuffling the answers
    inside questions shows that nothing is behind it, and no interval and no band are given."""
    values = np.ones((70, 135))
    for question, times in enumerate([1] * 14 + [2] * 3 + [3]):
        values[question, 7 * question + 5 * np.arange(times)] = 0
    found = found_of(stacked(values.reshape(-1, 5), 70))
    assert found["value"] == pytest.approx(-22 / 9427, abs=1e-12)
    assert (found["status"], found["band"]) == ("near_constant", WITHHELD)
    rng = np.random.default_rng(0)
    shuffled = [alpha_closed_form(rng.permuted(values, axis=1).reshape(-1, 5)) for _ in range(60)]
    assert np.mean(np.array(shuffled) <= found["value"] + 1e-12) > 0.3
