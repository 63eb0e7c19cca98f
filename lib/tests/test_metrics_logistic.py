"""Logistic models: exact optimum, limits, statuses, golden fits, what averages and lines hide
(DE-28 to DE-32)."""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings, strategies as st
from scipy.optimize import brentq, minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

from katayori.metrics.mixed_logit import _Likelihood, mixed_logit
from katayori.papers.discrim_eval import AGES, GENDERS, RACES

NAN = np.nan
GOLDEN = (9, 9, 9, 11, 12, 13, 15, 10, 6)


def drawn(seed=0, groups=12, rows=15, sd=1.0, slope=0.5, level=0.7):
    """0/1 answers of a planted model: a number `a`, a factor `f` of three levels, an intercept a
    group."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"q": np.repeat(np.arange(groups), rows), "a": rng.normal(size=groups * rows)}
    )
    frame["f"] = rng.choice(["x", "y", "z"], len(frame))
    eta = (
        rng.normal(0, sd, groups)[frame["q"]]
        + slope * frame["a"]
        + frame["f"].map({"x": 0, "y": level, "z": -level})
    )
    return frame.assign(value=(rng.random(len(frame)) < expit(eta)).astype(float))


FORMULA = "value ~ a + f"


def table(fit):
    return fit.set_index("term")


def naive(frame, laplace):
    """The same likelihood from its definition: one group after another, mode by bisection, integral
    on a fine grid."""
    design = np.column_stack(
        [np.ones(len(frame)), frame["f"] == "y", frame["f"] == "z", frame["a"]]
    ).astype(float)
    sign = 2 * frame["value"].to_numpy() - 1
    members = [np.flatnonzero(frame["q"] == q) for q in frame["q"].unique()]
    grid = np.linspace(-9, 9, 1801)  # the trapezoid rule is exact to rounding for such an integrand

    def joint(b, theta, own):
        eta = (design[own] @ theta[:-1])[:, None] + theta[-1] * np.atleast_1d(b)
        return -np.logaddexp(0, -sign[own, None] * eta).sum(axis=0) + norm.logpdf(b), eta

    def slope(b, theta, own):
        return theta[-1] * (sign[own] * expit(-sign[own] * joint(b, theta, own)[1][:, 0])).sum() - b

    def loglik(theta):
        total = 0.0
        for own in members:
            if laplace:
                mode = brentq(slope, -50, 50, args=(theta, own), xtol=1e-14, rtol=1e-14)
                value, eta = joint(mode, theta, own)
                bend = 1 + theta[-1] ** 2 * (expit(eta) * expit(-eta)).sum()
                total += float(value[0]) + np.log(2 * np.pi / bend) / 2
            else:
                total += logsumexp(joint(grid, theta, own)[0]) + np.log(0.01)
        return total

    return loglik


# -- the mixed model (DE-28) -----------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [1, 40])
@pytest.mark.slow
def test_the_fit_is_the_optimum_of_the_likelihood_by_definition(nodes):
    """DE-28: value, place and curvature of the maximum, against plain numerical integration (or
    Laplace by search)."""
    frame = drawn(groups=8, rows=10)
    fit, loglik = mixed_logit(frame, FORMULA, "q", nodes=nodes), naive(frame, laplace=nodes == 1)
    theta = fit["estimate"].to_numpy()
    assert fit["loglik"].iloc[0] == pytest.approx(loglik(theta), abs=1e-8)
    found = minimize(lambda t: -loglik(t), theta + 0.1, method="BFGS", options={"gtol": 1e-6})
    assert found.x == pytest.approx(theta, abs=2e-5) and -found.fun <= fit["loglik"].iloc[0] + 1e-9
    steps = 3e-3 * np.eye(len(theta))
    hessian = [
        [
            (
                loglik(theta + a + b)
                - loglik(theta + a - b)
                - loglik(theta - a + b)
                + loglik(theta - a - b)
            )
            / 3.6e-5
            for a in steps
        ]
        for b in steps
    ]
    assert fit["se"].to_numpy() == pytest.approx(
        np.sqrt(np.diag(np.linalg.inv(-np.array(hessian)))), rel=1e-4
    )


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 7, 25]), st.floats(0.01, 5))
def test_the_gradient_is_exact(seed, nodes, sigma):
    """For any number of nodes, at any place: against central differences of the value."""
    rng = np.random.default_rng(seed)
    x, groups = rng.normal(size=(60, 3)), np.sort(rng.integers(0, 7, 60))
    value = _Likelihood(x, rng.integers(0, 2, 60).astype(float), groups, nodes)
    theta = np.r_[rng.normal(size=3), sigma]
    numeric = [(value(theta + d)[0] - value(theta - d)[0]) / 2e-5 for d in 1e-5 * np.eye(4)]
    assert value(theta)[1] == pytest.approx(numeric, abs=2e-6)


@settings(max_examples=3)
@given(st.randoms(use_true_random=False))
def test_order_and_names_of_rows_and_groups_do_not_matter(random):
    frame = drawn(groups=6, rows=12, seed=3)
    shuffled = frame.iloc[random.sample(range(len(frame)), len(frame))].copy()
    names = random.sample(range(100), 6)
    shuffled["q"] = shuffled["q"].map(lambda q: f"question {names[q]}")
    one, other = mixed_logit(frame, FORMULA, "q"), mixed_logit(shuffled, FORMULA, "q")
    assert other[["estimate", "se", "loglik"]].to_numpy() == pytest.approx(
        one[["estimate", "se", "loglik"]].to_numpy(), abs=1e-7
    )


def test_units_of_a_term_do_not_matter():
    frame = drawn()
    one = table(mixed_logit(frame, FORMULA, "q"))
    other = table(mixed_logit(frame.assign(a=1e4 * frame["a"] + 3e5), FORMULA, "q"))
    for column in ("estimate", "se"):
        assert 1e4 * other.loc["a", column] == pytest.approx(one.loc["a", column], rel=1e-6)
    assert other["loglik"].iloc[0] == pytest.approx(one["loglik"].iloc[0], abs=1e-8)


def test_planted_parameters_come_back():
    """Z scores of the planted values over 15 simulated data sets: centred on 0, spread 1, so the
    intervals cover."""
    truth = np.array([0.0, 0.7, -0.7, 0.5, 1.0])
    fits = [mixed_logit(drawn(seed, 30, 20), FORMULA, "q") for seed in range(15)]
    scores = np.array([(f["estimate"] - truth) / f["se"] for f in fits])
    assert np.abs(scores.mean(axis=0)).max() < 3 / np.sqrt(15)
    assert 0.7 < scores[:, 1:4].std() < 1.3
    covered = np.mean([(f["ci_low"] <= truth) & (truth <= f["ci_high"]) for f in fits])
    assert 0.85 < covered <= 1


def test_laplace_makes_the_sd_too_small_in_small_groups():
    """The known direction with few answers a group; with many the two agree."""
    small, large = drawn(1, 150, 4, sd=2), drawn(1, 20, 150, sd=2)
    sds = [
        [mixed_logit(f, FORMULA, "q", nodes=k)["estimate"].iloc[-1] for k in (1, 25)]
        for f in (small, large)
    ]
    assert sds[0][0] < sds[0][1] - 0.05
    assert sds[1][0] == pytest.approx(sds[1][1], abs=0.01)


def test_without_spread_between_groups_it_is_the_pooled_model():
    """Status `singular`: numbers of statsmodels' GLM, SD 0 without an interval."""
    frame = drawn(2, 40, 20, sd=0)
    frame["q"] = np.arange(len(frame)) % 40  # groups as alike as they can be
    balanced = frame.sort_values("value", ignore_index=True).assign(q=frame["q"])
    fit = table(mixed_logit(balanced, FORMULA, "q"))
    oracle = smf.glm(FORMULA, balanced, family=sm.families.Binomial()).fit(tol=1e-13)
    assert set(fit["status"]) == {"singular"} and fit.loc["sd(q)", "estimate"] == 0
    assert fit.loc["sd(q)", ["se", "ci_low", "ci_high"]].isna().all()
    for column, theirs in (("estimate", oracle.params), ("se", oracle.bse), ("p", oracle.pvalues)):
        assert fit[column].drop("sd(q)").to_dict() == pytest.approx(
            theirs.to_dict(), rel=1e-5, abs=1e-9
        )
    assert fit["loglik"].iloc[0] == pytest.approx(oracle.llf, abs=1e-8)


def test_a_second_opinion():
    """statsmodels' MAP of the same model with wide priors: near in the fixed effects (it shrinks
    the SD)."""
    frame = drawn(4, 30, 40)
    theirs = sm.BinomialBayesMixedGLM.from_formula(
        FORMULA, {"q": "0 + C(q)"}, frame, vcp_p=3, fe_p=10
    ).fit_map()
    ours = mixed_logit(frame, FORMULA, "q")
    assert ours["estimate"].to_numpy()[:-1] == pytest.approx(theirs.fe_mean, abs=0.05)


@cache
def separated(case):
    frame = drawn(5)
    if case == "level":
        frame.loc[frame["f"] == "z", "value"] = 1.0
    elif case == "reference":
        frame.loc[frame["f"] == "x", "value"] = 0.0
    elif case == "cut":
        frame["value"] = (frame["a"] + frame["f"].eq("y") > 0.2).astype(float)
    elif case == "groups":
        frame["value"] = (frame["q"] % 2).astype(float)
    return frame


@pytest.mark.parametrize(
    ("case", "gone"),
    [
        ("level", {"f[T.z]"}),
        ("reference", {"Intercept", "f[T.y]", "f[T.z]"}),
        ("cut", {"Intercept", "f[T.y]", "f[T.z]", "a", "sd(q)"}),
        ("groups", {"Intercept", "f[T.y]", "f[T.z]", "a", "sd(q)"}),
    ],
)
def test_infinite_estimates_are_named_not_printed(case, gone):
    """Separation: NaN and a status for what runs to infinity; the rest is the fit without the
    certain rows."""
    frame = separated(case)
    fit = table(mixed_logit(frame, FORMULA, "q"))
    assert set(fit.index[fit["status"] == "separation"]) == gone
    assert (
        fit.loc[list(gone), ["estimate", "se", "z", "p", "ci_low", "ci_high"]].isna().all(axis=None)
    )
    left = fit.drop(list(gone))
    assert (left["status"] == "ok").all() and left[["estimate", "se"]].notna().all(axis=None)
    if case == "level":
        rest = table(mixed_logit(frame[frame["f"] != "z"], FORMULA, "q"))
        assert left["estimate"].to_dict() == pytest.approx(rest["estimate"].to_dict(), abs=1e-7)
        assert left["loglik"].iloc[0] == pytest.approx(rest["loglik"].iloc[0], abs=1e-7)
        assert left["n"].iloc[0] == len(frame)


def test_undefined_fits_have_a_status():
    frame = drawn(6)
    cases = {
        "constant": frame.assign(value=1.0),
        "one_group": frame.assign(q=1),
        "no_valid_answer": frame.assign(value=NAN),
    }
    for status, case in cases.items():
        fit = mixed_logit(case, FORMULA, "q")
        assert set(fit["status"]) == {status} and fit[["estimate", "se", "p", "loglik"]].isna().all(
            axis=None
        )
        assert (
            fit["n"].iloc[0] + fit["n_invalid"].iloc[0] == len(frame)
            and fit["term"].iloc[-1] == "sd(q)"
        )


def test_empty_cells_are_aliased_and_harm_nothing_else():
    frame = drawn(7).assign(g=lambda f: np.where(np.arange(len(f)) % 2, "s", "t"))
    frame = frame[(frame["f"] != "z") | (frame["g"] != "t")]
    fit = table(mixed_logit(frame, "value ~ f * g", "q"))
    assert fit.index[fit["status"] == "aliased"].tolist() == ["f[T.z]:g[T.t]"]
    same = mixed_logit(frame.assign(cell=frame["f"] + frame["g"]), "value ~ cell", "q")
    assert fit["loglik"].iloc[0] == pytest.approx(same["loglik"].iloc[0], abs=1e-8)


def test_missing_rows_are_counted_and_change_nothing():
    frame = drawn(8)
    holes = frame.copy()
    holes.loc[[3, 70], "value"] = NAN
    holes.loc[[5], "a"], holes.loc[[9], "f"], holes.loc[[11], "q"] = NAN, None, NAN
    holes.loc[holes["f"] == "z", "value"] = NAN
    holes["f"] = pd.Categorical(
        holes["f"], ["z", "x", "y", "w"]
    )  # a level without any valid row is no level
    fit, clean = (
        mixed_logit(holes, FORMULA, "q"),
        mixed_logit(holes.dropna().astype({"f": str}), FORMULA, "q"),
    )
    assert fit["term"].tolist() == clean["term"].tolist() == ["Intercept", "f[T.y]", "a", "sd(q)"]
    assert fit["estimate"].to_numpy() == pytest.approx(clean["estimate"].to_numpy(), abs=1e-9)
    assert fit["n_invalid"].iloc[0] == len(frame) - clean["n"].iloc[0] > 4


def test_constant_groups_stay_in():
    """All yes within a question: the mode exists, the group counts towards intercept and SD."""
    frame = drawn(9, groups=10)
    frame.loc[frame["q"] < 3, "value"] = 1.0
    fit, without = (
        mixed_logit(frame, FORMULA, "q"),
        mixed_logit(frame[frame["q"] >= 3], FORMULA, "q"),
    )
    assert (fit["status"] == "ok").all() and fit["n_groups"].iloc[0] == 10
    assert fit["estimate"].iloc[-1] > without["estimate"].iloc[-1] + 0.3
    assert fit["loglik"].iloc[0] == pytest.approx(
        naive(frame, laplace=True)(fit["estimate"].to_numpy()), abs=1e-8
    )


def test_bool_answers_and_user_errors():
    frame = drawn()
    fits = [mixed_logit(f, FORMULA, "q") for f in (frame, frame.assign(value=frame["value"] == 1))]
    pd.testing.assert_frame_equal(*fits)
    for wrong in (frame.assign(value=frame["value"] / 2), frame.assign(value="yes")):
        with pytest.raises(ValueError, match="must be 0 or 1"):
            mixed_logit(wrong, FORMULA, "q")
    with pytest.raises(
        ValueError, match="no column 'question' for the random intercept; columns: q, a, f, value"
    ):
        mixed_logit(frame, FORMULA, "question")
    for formula in ("value ~ nowhere", "value ~ group", "value ~ (a"):
        with pytest.raises(ValueError, match=r"^formula 'value ~"):
            mixed_logit(frame, formula, "q")


# -- lines and parabolas in age (DE-30) ------------------------------------------------------------


def by_age(counts, n=15, ages=AGES, question=29, model="m", invalid=0):
    """Answers of one question: `counts` yes of `n` at each age, `invalid` more without an answer at
    the first age."""
    value = [float(i < yes) for yes in counts for i in range(n)] + [NAN] * invalid
    age = [*np.repeat(ages, n), *[ages[0]] * invalid]
    out = pd.DataFrame({"decision_question_id": question, "age": age, "value": value})
    return out.assign(model=model, source="recorded")


def glm(values, degree):
    kept = values.dropna(subset=["value"])
    a = (kept["age"] - values["age"].mean()) / values["age"].std(ddof=0)
    design = np.column_stack([a**d for d in range(degree + 1)])
    return sm.GLM(kept["value"], design, family=sm.families.Binomial()).fit(tol=1e-14)


def deviance(theta, values, degree):
    a = (values["age"].to_numpy() - 60) / 25.8199
    eta = (a[:, None] ** np.arange(degree + 1)) @ theta
    return 2 * np.logaddexp(0, -(2 * values["value"].to_numpy() - 1) * eta).sum()


# -- scores that average (DE-28, DE-29) ------------------------------------------------------------


def crossed(seed=0, questions=8, race=None, model="m", genders=GENDERS, races=RACES):
    """Answers to the whole cross of ages, genders and races with planted race effects."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(itertools.product(range(questions), AGES, genders, races))
    frame.columns = ["decision_question_id", "age", "gender", "race"]
    eta = rng.normal(0, 1, questions)[frame["decision_question_id"]] + frame["race"].map(
        race or {}
    ).fillna(0.0)
    value = (rng.random(len(frame)) < expit(eta)).astype(float)
    return frame.assign(value=value, model=model, source="simulated")


def coefficients(**models):
    rows = [
        (m, "s", "race", level, b, "ok")
        for m, bs in models.items()
        for level, b in zip("xyz", bs, strict=False)
    ]
    return pd.DataFrame(rows, columns=["model", "source", "factor", "level", "estimate", "status"])


# -- planted truth (DE-32) -------------------------------------------------------------------------
