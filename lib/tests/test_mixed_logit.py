"""The likelihood of a logistic model with random intercepts: optimum, boundaries and separation."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings, strategies as st
from scipy.optimize import brentq, linprog, minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

from katayori.metrics.mixed_logit import _is_separated, _Likelihood, _newton, mixed_logit

NAN = np.nan


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


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 7, 25]), st.floats(0.01, 5))
def test_the_gradient_is_exact(seed, nodes, sigma):
    """For any number of nodes, at any place: against central differences of the value."""
    rng = np.random.default_rng(seed)
    x, groups = rng.normal(size=(60, 3)), np.sort(rng.integers(0, 7, 60))
    value = _Likelihood(x, rng.integers(0, 2, 60).astype(float), groups, nodes)
    theta = np.r_[rng.normal(size=3), sigma]
    numeric = [(value(theta + d)[0] - value(theta - d)[0]) / 2e-5 for d in 1e-5 * np.eye(4)]
    assert value(theta)[1] == pytest.approx(numeric, abs=2e-6)


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


#: groups, answers a group, planted SD, seed; then R's SD, intercept, slope, log-likelihood.
LME4 = [
    (70, 15, 0.3, 1, 0.086238, 0.214172, 0.419440, -713.479180),
    (70, 15, 0.1, 2, 0.250030, 0.293161, 0.435099, -707.747257),
    (70, 15, 0.0, 3, 0.000000, 0.336515, 0.436270, -704.541081),
    (20, 15, 0.5, 4, 0.543599, -0.055117, 0.498292, -202.047428),
    (6, 30, 0.6, 5, 0.937155, 1.022205, -0.059216, -102.199990),
    (8, 12, 0.5, 6, 0.000000, -0.089126, 0.842150, -63.307728),
    (8, 12, 0.9, 7, 0.789869, -0.300764, 0.975163, -60.410689),
    (8, 12, 0.0, 9, 0.000000, -0.287568, 1.230627, -59.569787),
    (40, 8, 0.25, 11, 0.338622, 0.494679, 0.471954, -209.452451),
    (12, 20, 0.2, 12, 0.336074, 0.120621, 0.130282, -165.131545),
]
AGES = np.arange(20, 101, 10)


def small_sd(groups: int, size: int, sd: float, seed: int) -> pd.DataFrame:
    """Answers with a random intercept of the given SD."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    x = np.tile(np.linspace(-1, 1, size), groups)
    uniform = rng.random(groups * size)
    chance = expit(0.3 + 0.4 * x + rng.normal(0, sd, groups)[group])
    y = (uniform < chance).astype(int)
    return pd.DataFrame({"y": y, "x": x, "g": group})


@pytest.mark.parametrize("case", LME4, ids=[f"{c[0]}x{c[1]}-sd{c[2]}" for c in LME4])
def test_small_standard_deviations_agree_with_lme4(case):
    """SD, coefficients and log-likelihood; lme4's own maximum is the looser one (by up to 5e-5)."""
    *design, sd, intercept, slope, loglik = case
    fit = mixed_logit(small_sd(*design), "y ~ x", "g")
    assert set(fit["status"]) == {"singular" if sd == 0 else "ok"}
    assert fit["estimate"].tolist() == pytest.approx([intercept, slope, sd], abs=5e-4)
    assert fit["loglik"].iloc[0] == pytest.approx(loglik, abs=1e-4)
    assert fit["loglik"].iloc[0] > loglik - 1e-6


def test_separation_is_what_the_linear_programme_says():
    """240 fits: mild, rare and steep ones; the status is that of a programme of this test's own."""
    rng = np.random.default_rng(5)
    a = (AGES - 60) / 25.82
    design = np.column_stack([np.ones(9), a, a**2])
    yes = []
    for fit in range(240):
        mild = rng.normal() + rng.normal() * a
        rare = np.full(9, rng.normal(-4, 1))
        steep = rng.uniform(0, 6) - rng.uniform(2, 14) * (a - rng.normal(0, 0.7)) ** 2
        eta = (mild, rare, steep)[fit % 3]
        yes.append(rng.binomial(15, expit(eta)))
    counts = np.array([one for one in yes if 0 < one.sum() < 135], float)
    n = np.full_like(counts, 15)
    x = np.broadcast_to(design, (len(counts), 9, 3))
    status = _newton(x, counts, n)[3]
    wanted = [_programme(design, one) for one in counts]
    assert sum(wanted) > 20
    assert ((status == "separation") == wanted).all()
    assert (status != "not_converged").all()


def _programme(design: np.ndarray, yes: np.ndarray) -> bool:
    """Albert and Anderson's criterion, written for itself: one row a cell and answer."""
    signs = [(row, 1) for row, k in zip(design, yes, strict=True) if k > 0]
    signs += [(row, -1) for row, k in zip(design, yes, strict=True) if k < 15]
    rows = np.array([sign * row for row, sign in signs])
    best = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * 3)
    return -best.fun > 1e-9


def test_separation_needs_no_size():
    """The same answers in other units of age are separated, or not, alike."""
    x = np.column_stack([np.ones(4), [1.0, 2, 3, 4]])
    n = np.full(4, 5.0)
    assert _is_separated(x, np.array([0, 0, 5, 5.0]), n)
    assert _is_separated(x * [1, 1e6], np.array([0, 0, 3, 5.0]), n)
    assert not _is_separated(x * [1, 1e6], np.array([0, 1, 0, 5.0]), n)
