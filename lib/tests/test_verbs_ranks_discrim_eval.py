"""Verbs of ranks, of logistic models and of what came back reproduce the tables of discrim-eval."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from test_verbs_discrim_eval import FACTORS, SEED, answers, compared, expected

from katayori import frames
from katayori.metrics import exchange, logistic, ranks, response, shares
from katayori.metrics.outcomes import outcome_counts

MODEL = ["model", "source"]
QUESTION = "decision_question_id"
CELL = [*MODEL, QUESTION, "factor"]
PER_LEVEL = {"value": "value", "level": "level", "by": CELL}
ERROR_RATE = 0.05

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def values():
    return answers().values


@pytest.fixture(scope="module")
def long(values):
    return frames.by_factor(values, FACTORS)


def of_questions(long):
    """The first step: every factor of every question, p adjusted over the factors."""
    tests = ranks.adjust(ranks.kruskal(long, **PER_LEVEL), p="p", family=[*MODEL, QUESTION])
    return tests.assign(significant=tests["p_holm"] < ERROR_RATE)


@pytest.fixture(scope="module")
def tests(long):
    return of_questions(long)


@pytest.mark.parametrize("read_by", ["sampled", "probability"])
def test_factors_of_every_question(read_by, tests):
    table = "tests" if read_by == "sampled" else "tests_probability"
    if read_by == "probability":
        tests = of_questions(frames.by_factor(answers().probabilities, FACTORS))
    wanted = expected(table, {"H": "value", "p_raw": "p"}.items())
    found = tests.replace({"dropped_levels": {"": np.nan}})
    assert compared(found, wanted, CELL) == len(wanted) * 11


@pytest.fixture(scope="module")
def pairs(long, tests):
    """The second step: the pairs of levels of the factors that pass."""
    found = tests.loc[tests["significant"], CELL]
    pairs = ranks.adjust(ranks.conover(long.merge(found), **PER_LEVEL), p="p", family=CELL)
    return pairs.assign(significant=pairs["p_holm"] < ERROR_RATE)


def test_pairs_of_levels_where_a_factor_passes(pairs):
    renamed = {"ratio_1": "mean_1", "ratio_2": "mean_2", "difference": "value", "p_raw": "p"}
    wanted = expected("level_pairs", renamed.items())
    assert compared(pairs, wanted, [*CELL, "level_1", "level_2"]) == 10_090 * 10


@pytest.mark.parametrize("read_by", ["sampled", "probability"])
def test_questions_with_a_significant_factor_are_a_share_over_questions(read_by, tests):
    table = "tests_counted" if read_by == "sampled" else "tests_counted_probability"
    if read_by == "probability":
        tests = of_questions(frames.by_factor(answers().probabilities, FACTORS))
    hit = tests["significant"].astype(float).where(tests["status"] == "ok")
    by = [*MODEL, "factor"]
    found = shares.share(tests.assign(hit=hit), value="hit", kind="share", by=by, cluster=QUESTION)
    wanted = expected(table, {"share": "value"}.items())
    wanted["status"] = wanted["status"].replace("none_tested", "no_valid_answer")
    wanted[["ci_low", "ci_high"]] = wanted[["ci_low", "ci_high"]].div(wanted["n"], axis=0)
    assert compared(found, wanted, by) == len(wanted) * 6


def test_effects_of_every_model_are_one_aggregation(tests):
    real = tests[tests["source"] == "recorded"].assign(tested=tests["status"] == "ok")
    found = real.groupby([QUESTION, "factor"], as_index=False).agg(
        n_models=("tested", "sum"),
        n_significant=("significant", "sum"),
        all_significant=("significant", "all"),
        trend=("trend", "max"),
    )
    found["falling"] = (found["trend"] < 0).astype(object).where(found["trend"].notna())
    assert compared(found, expected("consistent_effects"), [QUESTION, "factor"]) == 280 * 4


def test_the_table_of_questions_is_a_pivot_and_a_join(pairs, tests):
    wide = tests.pivot(index=[*MODEL, QUESTION], columns="factor", values="p_holm")
    hits = pairs[pairs["significant"]].sort_values("p", kind="stable").groupby(CELL)["direction"]
    told = hits.agg(
        lambda names: ", ".join(names[:2]) + f" (+{len(names) - 2} more)" * (len(names) > 2)
    )
    wanted = expected("questions").set_index([*MODEL, QUESTION])
    for (*question, factor), text in told.items():
        assert f"{factor}: {text}" in wanted.loc[tuple(question), "significant_pairs"]
    wide = wide.rename_axis(columns=None).reset_index()
    assert compared(wide, wanted.reset_index(), [*MODEL, QUESTION]) == 560 * 4


def test_alarms_by_chance(values):
    found = ranks.chance_alarms(
        values, value="value", factors=FACTORS, by=MODEL, cluster=QUESTION, seed=SEED
    )
    renamed = {"expected": "value", "low": "ci_low", "high": "ci_high", "n_tests": "tests"}
    assert compared(found, expected("chance_alarms", renamed.items()), MODEL) == 8 * 8


# -- logistic models -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coefficients(values):
    fixed = {"age": None, "gender": "female", "race": "Asian"}
    found = logistic.mixed_model(values, value="value", fixed=fixed, by=MODEL, cluster=QUESTION)
    return ranks.adjust(found, p="p", family=[*MODEL, "factor"])


def test_coefficients_of_the_mixed_model(coefficients):
    renamed = {"estimate": "value", "n_groups": "clusters"}
    wanted = expected("mixed_model_coefficients", renamed.items()).fillna({"level": ""})
    wanted["factor"] = wanted["factor"].replace("question", QUESTION)
    found = coefficients.replace({"dropped_levels": {"": np.nan}})
    assert compared(found, wanted, [*MODEL, "factor", "level"]) == 72 * 14


def test_scores_that_average(coefficients):
    renamed = {"mean_score": "value", "n_groups": "clusters", "score_status": "status"}
    renamed |= {f"n_{name}": name for name in ("coefficients", "positive", "negative")}
    wanted = expected("race_scores", (renamed | {"n_significant": "significant"}).items())
    assert compared(logistic.mean_score(coefficients, factor="race", by=MODEL), wanted, MODEL) == (
        8 * 13
    )
    real = coefficients[coefficients["source"] != "simulated"]
    renamed = {"score": "value", "n_coefficients": "coefficients", "n_models": "models"}
    wanted = expected("vendor_scaled_coefficients", renamed.items())
    found = logistic.scaled_score(real[real["factor"] != QUESTION], by=MODEL)
    assert compared(found, wanted, [*MODEL, "factor"]) == 6 * 5


@pytest.fixture(scope="module")
def curves(values):
    """Line and parabola over age of every question."""
    by = [*MODEL, QUESTION]
    return [
        logistic.curve_fit(values, value="value", x="age", by=by, degree=degree)
        for degree in (1, 2)
    ]


def test_lines_and_parabolas_over_age(curves):
    wanted = expected("age_fits", {"age_mean": "x_mean", "age_sd": "x_sd"}.items())
    counted = 0
    renamed = {"b": "value", "se": "se", "p": "p", "deviance": "deviance", "b0": "b0", "b1": "b1"}
    for name, found in zip(("linear", "quadratic"), curves, strict=True):
        own = wanted.rename(columns={f"{name}_{old}": new for old, new in renamed.items()})
        ratio = {"linear": "linear_lr_p", "quadratic": "lr_p"}[name]
        # The table has one ratio of both, and the status of the parabola where that has no fit.
        own = own.drop(columns=["lr", "status"] if name == "linear" else [])
        own = own.rename(columns={ratio: "p_lr"})
        counted += compared(found, own, [*MODEL, QUESTION])
    assert counted == 560 * (11 + 14)


def test_what_a_line_misses_is_a_few_lines_of_pandas(curves, tests):
    line, parabola = (fit.set_index([*MODEL, QUESTION]) for fit in curves)
    of_age = tests[tests["factor"] == "age"].set_index([*MODEL, QUESTION])
    gain = (line["deviance"] - parabola["deviance"]).clip(lower=0)
    p = pd.DataFrame(
        {
            "line": line["p"].fillna(line["p_lr"]),
            "parabola": parabola["p"].fillna(pd.Series(chi2.sf(gain, 1), gain.index)),
            "kruskal_wallis": of_age["p"],
        }
    ).dropna()
    found = p < ERROR_RATE
    found["line_misses"] = found["kruskal_wallis"] & ~found["line"]
    share = found.groupby(MODEL).mean().assign(n=found.groupby(MODEL).size()).reset_index()
    assert compared(share, expected("lines_against_ranks"), MODEL) == 8 * 5


# -- what came back --------------------------------------------------------------------------------


def test_outcomes_of_all_that_was_asked():
    by = [*MODEL, "prompt_id"]
    found = outcome_counts(answers().sampled, outcome="outcome", by=by)
    wanted = expected("missing", {"valid": "n", "valid_share": "value"}.items())
    assert compared(found, wanted, by) == len(wanted) * 8


def test_noise_that_models_share(values):
    keys = [*MODEL, "item_id"]
    p_yes = answers().probabilities[[*keys, "value"]].rename(columns={"value": "p"})
    found = response.residual_correlation(
        values[values["source"] == "recorded"].merge(p_yes, on=keys),
        value="value",
        expected="p",
        rater="model",
        unit="item_id",
        by="source",
        cluster=QUESTION,
    )
    renamed = {"model_1": "rater_1", "model_2": "rater_2", "correlation": "value"}
    wanted = expected("shared_noise", renamed.items())
    assert compared(found, wanted, ["source", "rater_1", "rater_2"]) == len(wanted) * 7


def test_deviations_are_the_gaps_of_levels_inside_questions():
    long = frames.by_factor(answers().probabilities, FACTORS)
    by = [*MODEL, "factor"]
    found = exchange.level_gaps(long, value="value", level="level", by=by, cluster=QUESTION)
    wanted = expected("deviations_probability", {"deviation": "value"}.items())
    assert compared(found, wanted, [*by, "level"]) == len(wanted) * 6
