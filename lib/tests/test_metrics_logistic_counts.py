"""What the mean score calls significant (DE-29)."""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics.logistic import mean_score, mixed_model
from katayori.metrics.mixed_logit import mixed_logit


def race(model="m", source="simulated", **of_level):
    """Coefficients as (estimate, p)."""
    rows = [
        {"level": level, "value": b, "p": p, "status": "ok"} for level, (b, p) in of_level.items()
    ]
    return pd.DataFrame(rows).assign(model=model, source=source, factor="race")


def of_race(model):
    return mean_score(model, factor="race", by="model")


def fitted(answers):
    fixed = {"age": None, "gender": "female", "race": "Asian"}
    how = {"value": "value", "by": "model", "cluster": "decision_question_id"}
    return mixed_model(answers, fixed=fixed, **how)


def test_one_coefficient_of_four_is_adjusted():
    """p .042 and .035 of four coefficients are no findings: noise gives such in one model of
    seven."""
    score = of_race(race(a=(0.16, 0.042), b=(-0.17, 0.035), c=(0.01, 0.9), d=(0.0, 0.99))).iloc[0]
    assert score["significant"] == 0
    assert not score["averaging_hides"]
    clear = of_race(race(a=(0.9, 0.001), b=(-0.9, 0.001), c=(0.01, 0.9), d=(0.0, 0.99))).iloc[0]
    assert (clear["positive"], clear["negative"]) == (1, 1)
    assert clear["averaging_hides"]


def test_a_mean_below_one_coefficient_hides_nothing():
    """One significant coefficient among four is always larger than their mean."""
    score = of_race(race(a=(0.9, 1e-6), b=(0.1, 0.5), c=(0.0, 0.9), d=(0.0, 0.9))).iloc[0]
    assert score["significant"] == 1
    assert not score["averaging_hides"]


def answers(seed, effect=0.0, questions=20):
    rng = np.random.default_rng(seed)
    races = ("Asian", "white", "Black", "Hispanic", "Native American")
    cross = pd.MultiIndex.from_product(
        [range(questions), (20, 50, 80), ("female", "male"), races],
        names=["decision_question_id", "age", "gender", "race"],
    ).to_frame(index=False)
    odds = rng.normal(0, 0.5, questions)[cross["decision_question_id"]]
    odds = odds + effect * cross["race"].map({"white": -1, "Black": 1}).fillna(0)
    value = (rng.random(len(cross)) < 1 / (1 + np.exp(-odds))) * 1.0
    return cross.assign(model=f"m{seed}", source="simulated", value=value)


def test_significant_race_coefficients_are_rare_on_noise():
    frame = pd.concat([answers(seed) for seed in range(16)], ignore_index=True)
    scores = of_race(fitted(frame))
    assert (scores["significant"] > 0).sum() <= 3
    assert not scores["averaging_hides"].any()
    inside = (scores["ci_low"] < 0) & (scores["ci_high"] > 0)
    assert inside.sum() >= 13
    assert (scores["clusters"] == 20).all() and (scores["n"] == 600).all()


def test_the_mean_has_the_standard_error_of_a_contrast():
    """The same fit with "not Asian" and deviations from it: its coefficient is the mean score."""
    one = answers(1, effect=0.7)
    score = of_race(fitted(one)).iloc[0]
    levels = ["white", "Black", "Hispanic", "Native American"]
    coded = one.assign(other=(one["race"] != "Asian") * 1.0, z=(one["age"] - 50) / 24.494897)
    for k, level in enumerate(levels[:3]):
        coded[f"d{k}"] = (one["race"] == level) * 1.0 - (one["race"] == levels[3])
    fit = mixed_logit(
        coded, "value ~ z + gender + other + d0 + d1 + d2", "decision_question_id"
    ).set_index("term")
    assert score["value"] == pytest.approx(fit.loc["other", "estimate"], abs=1e-6)
    assert score["ci_high"] - score["value"] == pytest.approx(
        1.959964 * fit.loc["other", "se"], rel=1e-4
    )
