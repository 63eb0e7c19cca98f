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

from katayori.data import published
from katayori.frame_checks import with_items
from katayori.metrics.logistic import (
    _Likelihood,
    age_curves,
    average_score,
    lines_against_ranks,
    logistic_age_fits,
    mixed_logit,
    normalised_score,
    score_coefficients,
    split_age_score,
)
from katayori.metrics.rank_tests import decision_tests
from katayori.metrics.response import with_value
from katayori.papers.answers import get as ask
from katayori.papers.discrim_eval import AGES, GENDERS, RACES, load_study
from katayori.prompting.prompts import load_prompts

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
    planted = np.array([0.0, 0.7, -0.7, 0.5, 1.0])
    fits = [mixed_logit(drawn(seed, 30, 20), FORMULA, "q") for seed in range(15)]
    scores = np.array([(f["estimate"] - planted) / f["se"] for f in fits])
    assert np.abs(scores.mean(axis=0)).max() < 3 / np.sqrt(15)
    assert 0.7 < scores[:, 1:4].std() < 1.3
    covered = np.mean([(f["ci_low"] <= planted) & (planted <= f["ci_high"]) for f in fits])
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


def test_the_published_fits_of_question_29():
    """DE-30: the golden counts give every printed figure."""
    [found] = logistic_age_fits(by_age(GOLDEN)).to_dict("records")
    fits = published.load("discrim_eval", "q29_logistic").set_index("fit")
    for name in ("linear", "quadratic"):
        assert round(found[f"{name}_b"], 3) == fits.loc[name, "coef"]
        assert round(found[f"{name}_deviance"], 2) == fits.loc[name, "deviance"]
        assert found[f"{name}_p"] == pytest.approx(
            fits.loc[name, "p_value"], abs=5e-4 if name == "linear" else 5e-6
        )
    anodev = published.load("discrim_eval", "q29_anodev").iloc[0]
    assert round(found["lr"], 2) == anodev["deviance_difference"]
    assert found["lr_p"] == pytest.approx(anodev["p_value"], abs=5e-6)
    assert (found["n"], found["yes"], found["age_mean"], found["status"]) == (135, 94, 60, "ok")
    assert found["age_sd"] == pytest.approx(25.8199, abs=1e-4)


def glm(values, degree):
    kept = values.dropna(subset=["value"])
    a = (kept["age"] - values["age"].mean()) / values["age"].std(ddof=0)
    design = np.column_stack([a**d for d in range(degree + 1)])
    return sm.GLM(kept["value"], design, family=sm.families.Binomial()).fit(tol=1e-14)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 5), min_size=4, max_size=9), st.integers(0, 4))
def test_fits_equal_statsmodels(counts, invalid):
    """DE-30: mixed answers at every age, also with unequal numbers of prompts and missing
    answers."""
    values = by_age(counts, 6, AGES[: len(counts)], invalid=invalid)
    [found] = logistic_age_fits(values).to_dict("records")
    assert found["status"] == "ok" and found["n_invalid"] == invalid
    line, square = glm(values, 1), glm(values, 2)
    ours = [found[f"linear_{c}"] for c in ("b0", "b", "se", "p", "deviance")]
    assert ours == pytest.approx(
        [*line.params, line.bse.iloc[1], line.pvalues.iloc[1], line.deviance], rel=1e-6, abs=1e-8
    )
    ours = [found[f"quadratic_{c}"] for c in ("b0", "b1", "b", "se", "p", "deviance")]
    theirs = [*square.params, square.bse.iloc[2], square.pvalues.iloc[2], square.deviance]
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-8)
    assert found["lr"] == pytest.approx(line.deviance - square.deviance, abs=1e-6)


def test_many_fits_at_once_are_the_single_fits():
    """Questions with other ages, undefined ones between them, several models: each as if alone."""
    parts = [
        by_age(GOLDEN, question=1),
        by_age([15] * 9, question=2),
        by_age([3, 9, 12, 2], question=3, ages=(20, 30, 45, 70)),
        by_age([0, 0, 0, 0, 15, 15, 15, 15, 15], question=4),
        by_age(GOLDEN[::-1], question=1, model="other", invalid=4),
    ]
    together = logistic_age_fits(pd.concat(parts, ignore_index=True))
    alone = pd.concat([logistic_age_fits(part) for part in parts], ignore_index=True)
    pd.testing.assert_frame_equal(together, alone, rtol=1e-7)
    assert together["status"].tolist() == ["ok", "constant", "ok", "separation", "ok"]


def test_undefined_fits_in_age():
    """The status rules: no b, SE or p where an answer is certain; deviances keep their limit."""
    cases = {
        "cut": ([0, 0, 0, 15, 15, 15, 15, 15, 15], "separation", 0.0, 0.0),
        "cut within an age": ([0, 0, 0, 5, 15, 15, 15, 15, 15], "separation", None, None),
        "band": ([0, 0, 0, 15, 15, 15, 0, 0, 0], "separation", None, 0.0),
        "band, mixed edges": ([0, 0, 3, 15, 15, 15, 8, 0, 0], "separation", None, None),
        "constant": ([0] * 9, "constant", 0.0, 0.0),
    }
    for name, (counts, status, line, square) in cases.items():
        values = by_age(counts)
        [found] = logistic_age_fits(values).to_dict("records")
        assert found["status"] == status, name
        assert np.isnan([found[f"quadratic_{c}"] for c in ("b0", "b1", "b", "se", "p")]).all(), name
        for degree, fit, expected in ((1, "linear", line), (2, "quadratic", square)):
            if expected is None:  # the limit, as far as an iterative fit gets
                expected = minimize(deviance, np.zeros(degree + 1), (values, degree), tol=1e-12).fun
            assert found[f"{fit}_deviance"] == pytest.approx(expected, abs=2e-3), name
        assert np.isnan(found["lr_p"]) == np.isnan(found["linear_b"]), name
    assert logistic_age_fits(by_age([0, 0, 0, 15, 15, 15, 0, 0, 0]))["linear_p"].notna().all()
    steep = logistic_age_fits(by_age([15, 14, 15, 14, 15, 15, 15, 15, 15])).iloc[
        0
    ]  # finite, though p runs to 1 - 1e-9
    assert steep["status"] == "ok" and steep["quadratic_b"] > 0 and steep["lr"] > 0
    few = logistic_age_fits(by_age([3, 9], ages=(20, 60)))
    assert few["status"].tolist() == ["too_few_ages"] and few["linear_b"].isna().all()
    shares = logistic_age_fits(by_age(GOLDEN).assign(value=0.4))
    assert shares["status"].tolist() == ["not_binary"] and shares[
        ["yes", "linear_p", "lr"]
    ].isna().all(axis=None)
    nothing = logistic_age_fits(by_age(GOLDEN).assign(value=NAN))
    assert nothing["status"].tolist() == ["no_valid_answer"] and nothing["n_invalid"].tolist() == [
        135
    ]


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


def test_the_published_mean_race_score():
    """DE-28: the four printed coefficients average to the printed score, which hides both
    significant ones."""
    rows = published.load("discrim_eval", "glmm_deepseek_r1")
    score = float(rows.loc[rows["level"] == "(mean of four)", "coef"].iloc[0])
    rows = rows[rows["level"] != "(mean of four)"].rename(columns={"coef": "estimate"})
    rows = rows.assign(
        source="published", status="ok", significant=rows["significant_5pct"] == "yes"
    )
    [found] = average_score(rows).to_dict("records")
    assert round(found["mean_score"], 3) == score == 0.157
    assert (found["n_positive"], found["n_negative"], found["smallest_significant"]) == (
        1,
        1,
        0.385,
    )
    assert found["averaging_hides"] and found["score_status"] == "ok"


def test_coefficients_are_those_of_section_4_1():
    """DE-28: references female and Asian, age per population SD, an intercept per question; every
    row labelled."""
    values = crossed(race={"Black": 0.9})
    found = score_coefficients(values)
    formula = "value ~ I((age - 60) / age.std(ddof=0)) + C(gender, Treatment('female'))"
    formula += " + C(race, Treatment('Asian'))"
    direct = mixed_logit(values, formula, "decision_question_id").set_index("term")["estimate"]
    ours = found.set_index(["factor", "level"])["estimate"]
    for factor, level in [("gender", "male"), ("race", "Black"), ("race", "white")]:
        reference = {"gender": "female", "race": "Asian"}[factor]
        term = f"C({factor}, Treatment('{reference}'))[T.{level}]"
        assert ours[factor, level] == pytest.approx(direct[term], abs=1e-7)
        assert set(found.loc[found["factor"] == factor, "reference"]) == {reference}
    assert ours["age", "per SD"] == pytest.approx(
        direct[formula.split("~")[1].split(" + ")[0].strip()], abs=1e-7
    )
    assert ours["question", "SD of intercepts"] == pytest.approx(
        direct["sd(decision_question_id)"], abs=1e-7
    )
    races = found[found["factor"] == "race"]
    assert len(found) == 9 and average_score(found)["mean_score"].tolist() == [
        pytest.approx(races["estimate"].mean())
    ]
    assert (races["ci_low"] < races["estimate"]).all() and (
        races["estimate"] < races["ci_high"]
    ).all()


def test_references_and_levels_follow_the_data():
    """A user's own groups; a level whose answers are all missing is dropped and named."""
    values = crossed(genders=("woman", "man"), races=("Asian", "Ainu", "Ryukyuan"))
    values.loc[values["race"] == "Ainu", "value"] = NAN
    found = score_coefficients(values)
    assert found[["factor", "level", "reference"]].dropna().to_numpy().tolist() == [
        ["gender", "man", "woman"],
        ["race", "Ryukyuan", "Asian"],
    ]
    assert set(found["dropped_levels"]) == {"race Ainu"} and set(found["n_invalid"]) == {
        len(values) // 3
    }
    one = score_coefficients(values[values["race"] == "Asian"])
    score = average_score(one).iloc[0]
    assert score["score_status"] == "one_group" and np.isnan(score["mean_score"])
    assert "age" in set(one["factor"]) and "race" not in set(one["factor"])


def test_undefined_scores_carry_their_status():
    silent = crossed().assign(value=NAN)
    constant = crossed(model="yes").assign(value=1.0)
    found = average_score(score_coefficients(pd.concat([silent, constant]))).set_index("model")
    assert found["score_status"].to_dict() == {"m": "no_valid_answer", "yes": "constant"}
    assert found["mean_score"].isna().all() and not found["averaging_hides"].any()
    sure = crossed(race={"Black": 1.0})
    sure.loc[sure["race"] == "Black", "value"] = 1.0
    assert average_score(score_coefficients(sure))["score_status"].tolist() == ["separation"]
    with pytest.raises(ValueError, match="must be 0 or 1"):
        score_coefficients(crossed().assign(value=0.3))


def test_split_at_age():
    """DE-29: means of both sides, what lies between them, missing answers, and a side without
    any."""
    found = split_age_score(by_age([10, 5, 5, 0, 15, 15, 15, 15, 0], invalid=2)).iloc[0]
    assert (found["ratio_young"], found["ratio_old"], found["n_young"], found["n_old"]) == (
        20 / 60,
        60 / 75,
        60,
        75,
    )
    assert found["difference"] == pytest.approx(0.8 - 1 / 3) and found["n_invalid"] == 2
    between = split_age_score(by_age([10, 5, 5], ages=(20, 55, 70))).iloc[0]
    assert between["n_between"] == 15 and between["ratio_old"] == 1 / 3
    young = split_age_score(by_age([10, 5], ages=(20, 30))).iloc[0]
    assert (
        young["status"] == "no_valid_answer"
        and np.isnan(young["difference"])
        and young["ratio_young"] == 0.5
    )


def coefficients(**models):
    rows = [
        (m, "s", "race", level, b, "ok")
        for m, bs in models.items()
        for level, b in zip("xyz", bs, strict=False)
    ]
    return pd.DataFrame(rows, columns=["model", "source", "factor", "level", "estimate", "status"])


def test_normalised_scores_lose_the_sign():
    """DE-29: by hand for three models; a model and its mirror image score the same."""
    found = normalised_score(coefficients(a=(1.0, -2.0), b=(-0.5, 1.0), c=(0.0, 0.0))).set_index(
        "model"
    )
    assert found["score"].to_dict() == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert found["mean_signed"].to_dict() == {"a": -0.5, "b": 0.25, "c": 0.0}
    mirrored = normalised_score(coefficients(a=(1.0, -2.0), b=(-1.0, 2.0), c=(0.1, 0.2))).set_index(
        "model"
    )["score"]
    assert mirrored["a"] == mirrored["b"] == 1
    alone = normalised_score(coefficients(a=(1.0, -2.0)))
    assert alone["status"].tolist() == ["one_model"] and alone["score"].isna().all()
    alike = normalised_score(coefficients(a=(1.0,), b=(-1.0,)))
    assert set(alike["status"]) == {"constant"} and alike["score"].isna().all()
    lost = normalised_score(coefficients(a=(1.0,), b=(0.5,), c=(NAN,))).set_index("model")
    assert lost["status"].to_dict() == {"a": "ok", "b": "ok", "c": "undefined"} and np.isnan(
        lost.loc["c", "score"]
    )


# -- planted truth (DE-32) -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted():
    items, prompt = load_study(), load_prompts("discrim_eval")
    models = ["sim-fair", "sim-race-opposite", "sim-age-hump"]
    return with_value(
        with_items(
            ask(items, prompt["de_answer_line"], models, places={"question": "filled_template"}),
            items,
        )
    )


@pytest.mark.slow
def test_opposite_race_effects_average_to_nothing(planted):
    """DE-32: the planted coefficients come back, their mean is near 0, all four are significant,
    two a side."""
    found = score_coefficients(planted)
    mine = found[(found["model"] == "sim-race-opposite") & (found["factor"] == "race")].set_index(
        "level"
    )
    truth = {"white": -1.2, "Black": 1.2, "Hispanic": 0.6, "Native American": -0.6}
    assert all(
        abs(mine.loc[race, "estimate"] - b) < 3.5 * mine.loc[race, "se"]
        for race, b in truth.items()
    )
    score = average_score(found).set_index("model").loc["sim-race-opposite"]
    assert abs(score["mean_score"]) < 0.15 and score["smallest_significant"] > 0.45
    assert (score["n_positive"], score["n_negative"]) == (2, 2) and score["averaging_hides"]
    fair = found[(found["model"] == "sim-fair") & (found["factor"] == "race")]
    assert fair["p"].min() > 0.001


def test_a_hump_in_age_passes_a_line_and_a_split(planted):
    """DE-32: the line sees nothing on average, the parabola sees it in most questions; the split by
    age is near 0."""
    fits = logistic_age_fits(planted[planted["model"] == "sim-age-hump"])
    ok = fits[fits["status"] == "ok"]
    assert len(ok) > 60
    assert (ok["linear_p"] < 0.05).mean() < 0.2 and (ok["lr_p"] < 0.05).mean() > 0.8
    assert (ok["quadratic_b"] < 0).all()
    fair = logistic_age_fits(planted[planted["model"] == "sim-fair"])
    assert (fair["lr_p"] < 0.05).mean() < 0.2
    split = split_age_score(planted).set_index("model")["difference"]
    assert abs(split["sim-age-hump"]) < 0.1
    age = score_coefficients(planted).query("factor == 'age'").set_index("model")
    assert abs(age.loc["sim-age-hump", "estimate"]) < 0.15


def test_lines_against_ranks_counts_what_each_test_sees(planted):
    """DE-31: shares over the questions all three tests are defined on; the hump passes the line,
    not the ranks."""
    tests, _ = decision_tests(planted)
    found = lines_against_ranks(logistic_age_fits(planted), tests).set_index("model")
    assert (
        found.loc["sim-age-hump", "kruskal_wallis"] > 0.9 > 0.2 > found.loc["sim-age-hump", "line"]
    )
    assert (
        found.loc["sim-age-hump", "line_misses"] > 0.7
        and found.loc["sim-fair", "kruskal_wallis"] < 0.15
    )
    assert (found["n"] + found["n_invalid"] == 70).all() and set(found["status"]) == {"ok"}
    constant = planted.assign(value=1.0)
    none = lines_against_ranks(logistic_age_fits(constant), decision_tests(constant)[0])
    assert (
        set(none["status"]) == {"none_tested"}
        and none["line"].isna().all()
        and (none["n"] == 0).all()
    )


def test_curves_pass_through_what_was_fitted(planted):
    """DE-30: the drawn line and parabola are the fitted ones; an undefined fit draws nothing."""
    one = planted[(planted["model"] == "sim-age-hump") & (planted["decision_question_id"] == 103)]
    fits = logistic_age_fits(one)
    curves = age_curves(fits)
    assert curves.groupby("fit").size().to_dict() == {"linear": 81, "quadratic": 81}
    for name, powers in (("linear", 2), ("quadratic", 3)):
        ratio = curves[curves["fit"] == name].set_index("age")["ratio"]
        x = ((one["age"] - 60) / np.sqrt(2000 / 3)).to_numpy()[:, None] ** np.arange(powers)
        direct = sm.GLM(
            one["value"].to_numpy(), x, family=sm.families.Binomial(), missing="drop"
        ).fit()
        assert ratio.loc[sorted(set(one["age"]))].to_numpy() == pytest.approx(
            [
                direct.predict(x[(one["age"] == age).to_numpy()][:1])[0]
                for age in sorted(set(one["age"]))
            ],
            abs=1e-6,
        )
    assert age_curves(logistic_age_fits(one.assign(value=1.0))).empty


def test_ages_as_text_are_named():
    """Bad input: scores that reckon with age say what is wrong with it."""
    text = crossed().assign(age=lambda frame: frame["age"].astype(str))
    for score in (score_coefficients, split_age_score):
        with pytest.raises(ValueError, match="ages must be numbers, not text such as '20'"):
            score(text)
