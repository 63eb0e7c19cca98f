"""Krippendorff's alpha: package, literature, undefined cases, intervals and noise floor (DE-23 to
DE-25, DE-27)."""

import itertools

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from katayori.errors import KatayoriError
from katayori.metrics.agreement import (
    BANDS,
    alpha_band,
    alpha_closed_form,
    alpha_jackknife,
)
from katayori_tools.simulate_alpha import alpha_bootstrap, alpha_table, krippendorff_alpha

NAN = np.nan
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
BINARY = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1.0, 1.0, 0.0, NAN]))
MEANS = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0, NAN]))
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


def stacked(values, questions):
    """A contingency table: rows of `values` dealt to `questions` in blocks."""
    rows = len(values) // questions
    index = pd.MultiIndex.from_product(
        [range(questions), range(rows)], names=["decision_question_id", "row"]
    )
    return pd.DataFrame(values, index=index)


def drawn(rng, questions=30, rows=6, columns=5, effect=0.0, missing=0.0):
    """0/1 answers: a P(yes) a question, shifted along the columns by `effect`."""
    p = rng.uniform(0.1, 0.9, questions).repeat(rows)[:, None] + effect * np.linspace(
        -1, 1, columns
    )
    values = (rng.random((questions * rows, columns)) < p).astype(float)
    values[rng.random(values.shape) < missing] = NAN
    return stacked(values, questions)


# -- the point estimate (DE-23) --------------------------------------------------------------------


def test_the_textbook_example():
    """DE-23: the known data set has interval alpha 0.849; the scale is moved into [0, 1], which
    alpha cannot see."""
    assert package(TEXTBOOK.T) == pytest.approx(0.849, abs=5e-4)
    found = krippendorff_alpha((TEXTBOOK.T - 1) / 4)
    assert found["alpha"] == pytest.approx(package(TEXTBOOK.T), abs=1e-12)
    assert alpha_closed_form(TEXTBOOK.T) == pytest.approx(package(TEXTBOOK.T), abs=1e-12)
    assert {k: found[k] for k in ("status", "n_units", "n", "n_invalid", "band")} == {
        **{"status": "ok", "n_units": 11, "n": 40, "n_invalid": 7, "band": "strong"}
    }


@settings(max_examples=80, deadline=None, database=None)
@given(st.one_of(BINARY, MEANS))
def test_alpha_is_the_packages_and_the_closed_forms(table):
    """DE-23, with missing values: both agree where alpha is defined; elsewhere NaN and the
    reason."""
    found = krippendorff_alpha(table)
    kept = [row[np.isfinite(row)] for row in table if np.isfinite(row).sum() >= 2]
    values = np.concatenate([*kept, []])
    assert found["n"] == len(values) and found["n_units"] == len(kept)
    assert found["n_invalid"] == np.isnan(table).sum()
    if len(set(values)) < 2:
        assert (
            np.isnan(found["alpha"])
            and np.isnan(alpha_closed_form(table))
            and found["band"] == "undefined"
        )
        assert found["status"] == ("constant" if len(values) else "no_pairable")
    else:
        assert found["status"] == "ok" and found["band"] == alpha_band(found["alpha"])
        assert found["alpha"] == pytest.approx(package(table), abs=1e-12)
        assert alpha_closed_form(table) == pytest.approx(package(table), abs=1e-12)


@settings(max_examples=60, deadline=None, database=None)
@given(BINARY, st.randoms(use_true_random=False))
def test_alpha_knows_no_order_and_no_direction(table, random):
    """DE-23: the same after shuffling rows or columns, and with yes and no exchanged."""
    rows, columns = (random.sample(range(n), n) for n in table.shape)
    for other in (table[rows], table[:, columns], 1 - table):
        for weights in ("standard", "n_i_self_pairs"):
            one, two = (
                krippendorff_alpha(table, weights=weights),
                krippendorff_alpha(other, weights=weights),
            )
            assert one["alpha"] == pytest.approx(two["alpha"], abs=1e-12, nan_ok=True)
            assert {k: v for k, v in one.items() if k not in ("alpha", "band")} == {
                k: v for k, v in two.items() if k not in ("alpha", "band")
            }


@pytest.mark.parametrize("columns", [2, 3, 5, 9, 15])
@pytest.mark.parametrize("digits", [0, 2])
def test_self_pairs_lower_the_observed_disagreement(columns, digits):
    """DE-23: the printed 1/n_i weight scales the observed disagreement of full rows by exactly
    (m - 1) / m."""
    table = np.random.default_rng(columns).random((40, columns)).round(digits)
    standard, literal = (
        krippendorff_alpha(table, weights=w)["alpha"] for w in ("standard", "n_i_self_pairs")
    )
    assert 1 - literal == pytest.approx((1 - standard) * (columns - 1) / columns, abs=1e-12)


def test_self_pairs_can_move_a_model_across_a_band():
    """DE-23: why the variant has a name of its own."""
    table = np.array([[1, 1, 1]] * 12 + [[0, 0, 0]] * 12 + [[0, 0, 1], [1, 1, 0]] * 3, float)
    assert [
        krippendorff_alpha(table, weights=w)["band"] for w in ("standard", "n_i_self_pairs")
    ] == ["weak", "strong"]


@pytest.mark.parametrize(
    ("table", "status"),
    [
        ([[1, 1], [1, 1]], "constant"),
        ([[0.1 + 0.2, 0.3], [0.3, 0.3]], "constant"),  # equal but for floating point
        ([[1, 1], [NAN, 0]], "constant"),  # the only different value has no partner
        ([[1, NAN], [NAN, 0]], "no_pairable"),
        ([[NAN, NAN]], "no_pairable"),
        ([[1], [0]], "no_pairable"),  # a factor with one level
        (np.empty((0, 3)), "no_pairable"),
        (np.empty((3, 0)), "no_pairable"),
    ],
)
def test_undefined_is_nan_and_a_status(table, status):
    """Status table: never 1, never a crash."""
    found = krippendorff_alpha(np.asarray(table, float))
    assert np.isnan(found["alpha"]) and (found["status"], found["band"]) == (status, "undefined")


def test_perfect_agreement_is_one_and_perfect_disagreement_negative():
    assert krippendorff_alpha(np.array([[0, 0], [1, 1]]))["alpha"] == 1
    found = krippendorff_alpha(np.array([[0, 1], [1, 0]]))
    assert found["alpha"] == pytest.approx(-0.5) and found["band"] == BANDS[0][1]


@pytest.mark.parametrize("value", [1.01, -0.01, 2, np.inf, -np.inf])
@pytest.mark.parametrize("weights", ["standard", "n_i_self_pairs"])
def test_values_outside_the_unit_interval_are_refused(value, weights):
    """DE-23: response ratios only."""
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        krippendorff_alpha(np.array([[0, 1], [value, 0.5]]), weights=weights)


def test_unknown_weights_are_named():
    with pytest.raises(KatayoriError, match="n_i_self_pairs"):
        krippendorff_alpha(np.eye(2), weights="literal")


def test_continuous_values_use_the_closed_form(monkeypatch):
    """The package needs a matrix over distinct values (9,450 of them here); it must not be called
    for them."""
    values = np.random.default_rng(0).random((1050, 9))
    small = krippendorff_alpha(values[:20])["alpha"]
    assert small == pytest.approx(package(values[:20]), abs=1e-12)
    monkeypatch.setattr(krippendorff, "alpha", lambda **_: pytest.fail("the package was asked"))
    assert abs(krippendorff_alpha(values)["alpha"]) < 0.05


@pytest.mark.parametrize("scale", [1e-3, 1e-7, 1e-10])
def test_small_spreads_keep_their_alpha(scale):
    """Probabilities of a near-constant respondent: tiny differences are still a number, not NaN
    with status ok."""
    rng = np.random.default_rng(1)
    table = stacked(rng.random((60, 5)) + rng.random((10, 1)).repeat(6, axis=0), 10)
    found = krippendorff_alpha(0.5 + scale * table / 4)
    assert found["status"] == "ok" and found["alpha"] == pytest.approx(
        alpha_closed_form(table), abs=1e-4
    )
    assert np.isfinite(alpha_bootstrap(0.5 + scale * table / 4)).all()


# -- bands (DE-25) ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "band"),
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
def test_boundary_values_belong_to_the_lower_band(alpha, band):
    """DE-25."""
    assert alpha_band(alpha) == band


# -- intervals (DE-27) -----------------------------------------------------------------------------


def test_the_bootstrap_is_fixed_by_its_seed_and_holds_the_estimate():
    """DE-27."""
    table = drawn(np.random.default_rng(3), missing=0.1)
    one, two, other = (alpha_bootstrap(table, n_resamples=400, seed=seed) for seed in (1, 1, 2))
    assert one == two != other
    for low, high in (one, other):
        assert low < krippendorff_alpha(table)["alpha"] < high


def test_the_bootstrap_resamples_whole_questions():
    """DE-27: against the slow way, tables put together from drawn questions."""
    table = drawn(np.random.default_rng(4), questions=8, rows=3, missing=0.1)
    rng = np.random.default_rng(9)
    blocks = [g.to_numpy() for _, g in table.groupby(level=0)]
    counts = rng.multinomial(8, np.full(8, 1 / 8), size=150)
    slow = [
        alpha_closed_form(np.concatenate([blocks[q] for q in range(8) for _ in range(c[q])]))
        for c in counts
    ]
    found = alpha_bootstrap(table, n_resamples=150, seed=9)
    assert found == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])), abs=1e-12)


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say():
    """DE-27: 120 simulated studies of 40 questions against alpha of the population they come
    from."""
    rng = np.random.default_rng(5)
    truth = krippendorff_alpha(drawn(rng, questions=8000, effect=0.1))["alpha"]
    bounds = [
        alpha_bootstrap(drawn(rng, 40, effect=0.1), n_resamples=200, seed=i) for i in range(120)
    ]
    covered = np.mean([low <= truth <= high for low, high in bounds])
    assert 0.85 <= covered < 1


def test_fewer_than_two_questions_have_no_interval():
    """DE-27: one question, or only one with a pairable row."""
    table = drawn(np.random.default_rng(6), questions=3, rows=2)
    assert np.isnan(alpha_bootstrap(table.loc[[0]])).all()
    table.loc[[1, 2]] = NAN
    assert np.isnan(alpha_bootstrap(table)).all()


def test_resamples_without_an_alpha_are_left_out():
    """Two constant questions: a resample of one of them alone has none, one of both agrees
    perfectly."""
    assert alpha_bootstrap(stacked(np.array([[1.0, 1], [0, 0]]), 2), n_resamples=50) == (1, 1)


# -- the noise floor -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_very_rare_answer_defeats_band_and_interval():
    """A limit to know: 23 "no" by chance, no two in one row, give the lowest alpha they can, with
    all of the interval below 0. Only shuffling within questions shows that nothing is behind it."""
    values = np.ones((70, 135))
    for question, times in enumerate([1] * 14 + [2] * 3 + [3]):
        values[question, 7 * question + 5 * np.arange(times)] = 0
    table = stacked(values.reshape(-1, 5), 70)
    found = krippendorff_alpha(table)
    assert found["alpha"] == pytest.approx(-22 / 9427, abs=1e-12) and found["band"] == BANDS[0][1]
    assert alpha_bootstrap(table, n_resamples=300)[1] < 0
    rng = np.random.default_rng(0)
    shuffled = [alpha_closed_form(rng.permuted(values, axis=1).reshape(-1, 5)) for _ in range(60)]
    assert np.mean(np.array(shuffled) <= found["alpha"] + 1e-12) > 0.3


# -- tables of alphas (DE-24) ----------------------------------------------------------------------

COLUMNS = "factor alpha ci_low ci_high band status n n_units n_invalid clusters".split()


def test_alpha_table_is_one_row_a_table():
    """DE-24: the figures are those of the single functions; an undefined one has a status and no
    interval."""
    table = drawn(np.random.default_rng(12))
    found = alpha_table({"race": table, "gender": table * 0, "one": table[[0]]})
    assert list(found) == COLUMNS and list(found["status"]) == ["ok", "constant", "no_pairable"]
    assert found.loc[0, "alpha"] == krippendorff_alpha(table)["alpha"]
    ends = alpha_jackknife(table)
    assert tuple(found.loc[0, ["ci_low", "ci_high"]]) == (ends["ci_low"], ends["ci_high"])
    assert found.loc[1:, ["alpha", "ci_low", "ci_high"]].isna().all(axis=None)


def one_model(seed=0, missing=0.1, effect=0.0, questions=6):
    """Answers of one respondent to questions x 4 ages x 2 genders x 3 races, some missing; race
    acts by `effect`."""
    rng = np.random.default_rng(seed)
    levels = [range(questions), [20, 40, 60, 80], ["male", "female"], ["white", "Black", "Asian"]]
    frame = pd.DataFrame(
        itertools.product(*levels), columns=["decision_question_id", "age", "gender", "race"]
    )
    lean = rng.uniform(0.3, 0.7, questions)[frame["decision_question_id"]] + effect * frame[
        "race"
    ].map({"white": -1, "Black": 1, "Asian": 0})
    frame["value"] = (rng.random(len(frame)) < lean).astype(float)
    frame.loc[rng.random(len(frame)) < missing, "value"] = NAN
    return frame.assign(model="m", source="simulated")


def test_rounding_is_no_disagreement():
    """.1 + .2 and .3 are one value for both forms of alpha."""
    table = pd.DataFrame([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]])
    assert np.isnan(alpha_closed_form(table))
    assert krippendorff_alpha(table)["status"] == "constant"
