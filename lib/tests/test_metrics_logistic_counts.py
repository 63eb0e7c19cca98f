"""Rows that stand for several answers (n yes of n), and what is called significant (DE-28,
DE-29)."""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics.logistic import mean_score, mixed_model
from katayori.metrics.mixed_logit import mixed_logit

NUMBERS = ["estimate", "se", "z", "p", "ci_low", "ci_high", "loglik"]


def counted(seed=0, spread=1.0):
    """Rows of 0 to 6 answers in 15 groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(15), 8)
    x = rng.normal(size=120)
    chance = 1 / (1 + np.exp(-(0.5 * x + spread * rng.normal(size=15)[group])))
    n = rng.integers(0, 7, 120)
    yes = rng.binomial(n, chance)
    share = yes / np.maximum(n, 1)
    return pd.DataFrame({"g": group, "x": x, "share": share, "n": n, "yes": yes})


def expanded(rows):
    """One row an answer."""
    single = rows.loc[rows.index.repeat(rows["n"])].reset_index(drop=True)
    place = single.groupby([single["g"], single["x"]], sort=False).cumcount()
    return single.assign(value=(place < single["yes"]) * 1.0)


@pytest.mark.parametrize("nodes", [1, 9])
@pytest.mark.parametrize("spread", [1.0, 0.0])
def test_counts_are_the_single_answers(nodes, spread):
    rows = counted(spread=spread)
    of_counts = mixed_logit(rows, "share ~ x", "g", nodes=nodes, weights="n")
    of_answers = mixed_logit(expanded(rows), "value ~ x", "g", nodes=nodes)
    for name in NUMBERS:
        assert of_counts[name].to_numpy() == pytest.approx(
            of_answers[name].to_numpy(), rel=1e-5, abs=1e-7, nan_ok=True
        )
    for name in ("term", "status", "n", "n_groups"):
        assert of_counts[name].tolist() == of_answers[name].tolist()
    assert of_counts["n"].iloc[0] == rows["n"].sum()


def test_weights_change_the_fit():
    """Without them a row of six answers would count as one."""
    rows = counted()
    kept = rows[rows["n"] > 0].assign(share=lambda one: one["share"].round())
    plain = mixed_logit(kept, "share ~ x", "g")
    weighted = mixed_logit(kept, "share ~ x", "g", weights="n")
    assert weighted["se"].iloc[1] < 0.8 * plain["se"].iloc[1]


@pytest.mark.parametrize(
    "change, why",
    [({"share": 0.37}, "share"), ({"share": 2.0}, "share"), ({"n": -1}, "share")],
)
def test_counts_that_cannot_be(change, why):
    with pytest.raises(ValueError, match=why):
        mixed_logit(counted().assign(**change), "share ~ x", "g", weights="n")
    with pytest.raises(ValueError, match="no column"):
        mixed_logit(counted(), "share ~ x", "g", weights="none")


def test_all_counts_alike_have_their_status():
    rows = counted()
    assert set(mixed_logit(rows.assign(share=1), "share ~ x", "g", weights="n")["status"]) == {
        "constant"
    }
    empty = mixed_logit(rows.assign(n=0), "share ~ x", "g", weights="n")
    assert set(empty["status"]) == {"no_valid_answer"}


# -- the mean score --------------------------------------------------------------------------------


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
