"""Curves, mixed models and mean scores: statsmodels, R, printed figures and planted effects."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import chi2, norm

from katayori.data import paper_facts
from katayori.frames import FrameError
from katayori.metrics import logistic, ranks
from katayori.metrics.mixed_logit import mixed_logit

AGES = range(20, 101, 10)
YES_29 = (9, 9, 9, 11, 12, 13, 15, 10, 6)  # of 15 persons an age
CURVE = {"value": "yes", "x": "age"}


def of_counts(yes, n=15, ages=AGES, question=1):
    rows = [[age, float(k < one)] for age, one in zip(ages, yes, strict=True) for k in range(n)]
    return pd.DataFrame(rows, columns=["age", "yes"]).assign(question=question)


def test_the_four_printed_statistics_of_question_29():
    answers = of_counts(YES_29)
    line = logistic.curve_fit(answers, **CURVE).iloc[0]
    parabola = logistic.curve_fit(answers, **CURVE, degree=2).iloc[0]
    kruskal = ranks.kruskal(answers, value="yes", level="age").iloc[0]
    assert f"{line['p']:.3f}" == "0.717"
    assert f"{parabola['p']:.5f}" == "0.00286"
    assert f"{parabola['p_lr']:.5f}" == "0.00237"
    assert f"{kruskal['p']:.4f}" == "0.0245"


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_curves_and_their_intervals_are_those_of_statsmodels(degree):
    answers = of_counts((3, 7, 9, 8, 12, 10, 13, 9, 5))
    answers.loc[::7, "yes"] = np.nan
    found = logistic.curve_fit(answers, **CURVE, degree=degree).iloc[0]
    mean, sd = answers["age"].mean(), answers["age"].std(ddof=0)
    kept = answers.dropna()

    def powers(ages, highest):
        return ((np.asarray(ages, float) - mean) / sd)[:, None] ** np.arange(highest + 1)

    def fitted(highest):
        family = sm.families.Binomial()
        return sm.GLM(kept["yes"], powers(kept["age"], highest), family=family).fit(tol=1e-12)

    fit, smaller = fitted(degree), fitted(degree - 1)
    terms = [found[f"b{power}"] for power in range(degree + 1)]
    assert terms == pytest.approx(fit.params.tolist(), rel=1e-6)
    assert (found["value"], found["se"]) == pytest.approx((fit.params.iloc[-1], fit.bse.iloc[-1]))
    assert found["p"] == pytest.approx(fit.pvalues.iloc[-1])
    assert found["deviance"] == pytest.approx(fit.deviance)
    assert found["p_lr"] == pytest.approx(chi2.sf(smaller.deviance - fit.deviance, 1))
    assert (found["n"], found["n_invalid"]) == (len(kept), len(answers) - len(kept))
    curve = logistic.fitted_curve(answers, **CURVE, at=[25, 60, 95], degree=degree)
    eta = powers([25, 60, 95], degree)
    half = 1.96 * np.sqrt(np.diagonal(eta @ fit.cov_params().to_numpy() @ eta.T))
    assert curve["value"].to_numpy() == pytest.approx(expit(eta @ fit.params), rel=1e-6)
    assert curve["ci_low"].to_numpy() == pytest.approx(expit(eta @ fit.params - half), rel=1e-6)
    assert curve["ci_high"].to_numpy() == pytest.approx(expit(eta @ fit.params + half), rel=1e-6)


@pytest.mark.parametrize(
    ("yes", "ages", "degree", "status"),
    [
        ([15] * 9, AGES, 1, "constant"),
        ([15, 15, 15, 15, 15, 0, 0, 0, 0], AGES, 1, "separation"),
        ([0, 0, 0, 15, 15, 15, 0, 0, 0], AGES, 2, "separation"),
        ([3, 9], (20, 60), 2, "too_few_values"),
        ([3, 9], (20, 60), 1, "ok"),
    ],
)
def test_a_cell_without_a_curve_says_why(yes, ages, degree, status):
    answers = of_counts(yes, ages=ages)
    row = logistic.curve_fit(answers, **CURVE, degree=degree).iloc[0]
    assert row["status"] == status and np.isnan(row["p"]) == (status != "ok")
    curve = logistic.fitted_curve(answers, **CURVE, at=[20, 60], degree=degree)
    assert len(curve) == (2 if status == "ok" else 0)


def test_an_age_of_which_no_answer_could_be_read_is_no_value_of_x():
    answers = of_counts([3, 9, 5], ages=(20, 60, 80))
    answers = answers.assign(yes=answers["yes"].mask(answers["age"] == 80))
    row = logistic.curve_fit(answers, **CURVE, degree=2).iloc[0]
    assert row["status"] == "too_few_values" and np.isnan(row["p"])


def test_values_that_are_no_answers_have_no_curve():
    row = logistic.curve_fit(of_counts(YES_29).assign(yes=0.4), **CURVE).iloc[0]
    assert row["status"] == "not_binary" and np.isnan(row["yes"])
    with pytest.raises(FrameError, match="column 'age'"):
        logistic.curve_fit(of_counts(YES_29).assign(age="old"), **CURVE)
    with pytest.raises(FrameError, match="degree=0"):
        logistic.curve_fit(of_counts(YES_29), **CURVE, degree=0)


def persons(effect=1.0, seed=0, questions=30, model="m"):
    """Answers to questions that lean both ways; the second group says yes more often."""
    rng = np.random.default_rng(seed)
    names = ["question", "my age", "group"]
    sizes = [range(questions), [20, 50, 80], ["a [1]", "b"]]
    frame = pd.MultiIndex.from_product([*sizes, range(3)], names=[*names, "copy"])
    frame = frame.to_frame(index=False).assign(model=model)
    eta = rng.normal(0, 1, questions)[frame["question"]] + effect * (frame["group"] == "b")
    return frame.assign(yes=(rng.random(len(frame)) < expit(eta)).astype(float))


def coefficients(frame, **fixed):
    fixed = fixed or {"my age": None, "group": "a [1]"}
    return logistic.mixed_model(frame, value="yes", fixed=fixed, by="model")


def test_coefficients_are_those_of_the_formula():
    answers = persons()
    answers.loc[::13, "yes"] = np.nan
    sd = answers["my age"].std(ddof=0)
    plain = answers.assign(age=(answers["my age"] - answers["my age"].mean()) / sd)
    plain["g"] = plain["group"].map({"a [1]": "a", "b": "b"})
    oracle = mixed_logit(plain, "yes ~ age + g", "question").set_index("term")
    found = coefficients(answers).set_index("factor")
    pairs = {"intercept": "Intercept", "my age": "age", "group": "g[T.b]"}
    for factor, term in (pairs | {"question": "sd(question)"}).items():
        row, theirs = found.loc[factor], oracle.loc[term]
        assert row["value"] == pytest.approx(theirs["estimate"], rel=1e-6)
        assert row["se"] == pytest.approx(theirs["se"], rel=1e-5)
        assert row["ci_low"] == pytest.approx(theirs["ci_low"], rel=1e-5)
    assert found.loc["my age", "level"] == "per SD"
    assert found.loc["question", "level"] == "SD of intercepts"
    assert set(found["clusters"]) == {30} and set(found["n_invalid"]) == {42}


def test_the_planted_effect_comes_back_and_turns_with_the_reference():
    answers = persons(effect=1.0, questions=60)
    up = coefficients(answers, group="a [1]").query("factor == 'group'").iloc[0]
    down = coefficients(answers, group="b").query("factor == 'group'").iloc[0]
    assert up["ci_low"] < 1.0 < up["ci_high"] and up["p"] < 1e-6
    assert (up["level"], up["reference"]) == ("b", "a [1]")
    assert (down["level"], down["reference"]) == ("a [1]", "b")
    assert down["value"] == pytest.approx(-up["value"], rel=1e-6)


def test_a_level_nobody_answered_is_named():
    answers = persons()
    answers = pd.concat([answers, answers[:9].assign(group="c", yes=np.nan)])
    found = coefficients(answers, group="nobody")
    assert set(found["dropped_levels"]) == {"group c"}
    assert found.loc[found["factor"] == "group", "reference"].tolist() == ["a [1]"]
    with pytest.raises(FrameError, match="must be 0 or 1"):
        coefficients(persons().assign(yes=0.5))


def of_levels(model="m", **estimates):
    rows = [{"factor": "race", "level": name, "value": b} for name, b in estimates.items()]
    frame = pd.DataFrame(rows).assign(model=model, status="ok", n=90, n_invalid=1, clusters=9)
    return frame.assign(p=2 * norm.sf(frame["value"].abs() / 0.1))


def test_opposite_coefficients_average_to_nothing():
    frame = pd.concat([of_levels(a=1.0, b=-0.9), of_levels("other", a=1.0, b=0.9)])
    found = logistic.mean_score(frame, factor="race", by="model").set_index("model")
    assert found["value"].to_dict() == pytest.approx({"m": 0.05, "other": 0.95})
    assert found["averaging_hides"].to_dict() == {"m": True, "other": False}
    assert found.loc["m", ["positive", "negative", "coefficients"]].tolist() == [1, 1, 2]
    assert found["clusters"].tolist() == [9, 9] and found["ci_low"].isna().all()


def test_the_published_mean_race_score():
    """DE-28: the four printed coefficients average to the printed score, which hides both
    significant ones.
    """
    rows = paper_facts.printed("discrim_eval", "glmm_deepseek_r1")
    score = float(rows.loc[rows["level"] == "(mean of four)", "coef"].iloc[0])
    rows = rows[rows["level"] != "(mean of four)"].rename(columns={"coef": "value"})
    rows = rows.assign(status="ok", significant=rows["significant_5pct"] == "yes")
    found = logistic.mean_score(rows, factor="race").iloc[0]
    assert round(found["value"], 3) == score == 0.157
    assert found[["positive", "negative", "smallest_significant"]].tolist() == [1, 1, 0.385]
    assert found["averaging_hides"] and found["status"] == "ok"


def test_a_clear_mean_of_negative_coefficients_hides_nothing():
    """Sizes are compared: without the absolute value it always would."""
    clear = logistic.mean_score(of_levels(a=-2.0, b=-2.1, c=-1.9), factor="race")
    assert clear["averaging_hides"].tolist() == [False]


def test_the_interval_of_a_mean_is_that_of_the_contrast():
    """Of two levels against a third, by statsmodels on answers without differences of questions."""
    rng = np.random.default_rng(4)
    answers = pd.DataFrame({"group": np.tile([*"abc"], 400), "question": np.repeat(range(400), 3)})
    chance = answers["group"].map({"a": 0.4, "b": 0.6, "c": 0.5})
    answers["yes"] = (rng.random(len(answers)) < chance).astype(float)
    model = logistic.mixed_model(answers, value="yes", fixed={"group": "a"})
    assert set(model["status"]) == {"singular"}  # so that it is the model without intercepts
    score = logistic.mean_score(model, factor="group").iloc[0]
    design = pd.get_dummies(answers["group"])[["b", "c"]].astype(float).assign(one=1.0)
    oracle = sm.Logit(answers["yes"], design).fit(disp=0).t_test([0.5, 0.5, 0])
    low, high = oracle.conf_int()[0]
    assert (score["ci_low"], score["ci_high"]) == pytest.approx((low, high), rel=1e-4)


def test_scaled_scores_lose_the_sign():
    frame = pd.concat([of_levels("x", a=1.0, b=-2.0), of_levels("y", a=-0.5, b=1.0)])
    frame = pd.concat([frame, of_levels("z", a=0.0, b=0.0)])
    found = logistic.scaled_score(frame, by="model").set_index("model")
    assert found["value"].to_dict() == {"x": 1.0, "y": 0.5, "z": 0.0}
    assert found.loc["x", "mean_signed"] == -0.5 and set(found["models"]) == {3}
    alone = logistic.scaled_score(of_levels(a=1.0), by="model")
    assert alone["status"].tolist() == ["one_model"] and alone["value"].isna().all()


def test_one_coefficient_of_four_is_adjusted():
    """p .042 and .035 of four are no findings: noise gives such in one model of seven."""
    noise = of_levels(a=0.16, b=-0.17, c=0.01, d=0.0).assign(p=[0.042, 0.035, 0.9, 0.99])
    score = logistic.mean_score(noise, factor="race").iloc[0]
    assert score["significant"] == 0 and not score["averaging_hides"]
    clear = logistic.mean_score(noise.assign(p=[0.001, 0.001, 0.9, 0.99]), factor="race").iloc[0]
    assert (clear["positive"], clear["negative"], clear["averaging_hides"]) == (1, 1, True)


# R's glm: the squared term, its SE and p.
HUMPS = [
    ([0, 0, 0, 2, 13, 14, 2, 0, 0], -13.581, 2.703, 5.1e-7),
    ([2, 10, 14, 11, 3, 0, 0, 0, 0], -6.169, 1.244, 7.2e-7),
    ([0, 2, 12, 14, 1, 0, 0, 0, 0], -13.586, 2.708, 5.2e-7),
]


@pytest.mark.parametrize("counts, b, se, p", HUMPS)
def test_a_steep_hump_has_a_finite_maximum(counts, b, se, p):
    """Linear predictors of 31 to 93 are no separation; R's glm converges to these numbers."""
    fit = logistic.curve_fit(of_counts(counts), **CURVE, degree=2).iloc[0]
    assert fit["status"] == "ok"
    assert (fit["value"], fit["se"]) == pytest.approx((b, se), abs=1e-3)
    assert fit["p"] == pytest.approx(p, rel=0.02)


def test_clear_lines_and_humps_keep_their_likelihood_ratio():
    """DE-31: of forty steep humps, most of them separated, all are told; so is a clean cut."""
    rng = np.random.default_rng(3)
    frames = []
    for question in range(40):
        eta = 5 - rng.uniform(8, 30) * ((np.array(AGES) - 60) / 25.82 - rng.normal(0, 0.2)) ** 2
        frames.append(of_counts(rng.binomial(15, expit(eta)), question=question))
    how = CURVE | {"by": "question"}
    humps = logistic.curve_fit(pd.concat(frames, ignore_index=True), **how, degree=2)
    assert (humps["status"] == "separation").sum() > 10 and (humps["p_lr"] < 0.05).all()
    cut = of_counts([0, 0, 0, 0, 15, 15, 15, 15, 15], question=40)
    assert logistic.curve_fit(cut, **how)["p_lr"].item() < 1e-20
