"""Rows that stand for several answers (n yes of n), and what is called significant (DE-28,
DE-29)."""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics.logistic import (
    mixed_logit,
)

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
        {"level": level, "estimate": b, "p": p, "status": "ok"}
        for level, (b, p) in of_level.items()
    ]
    return pd.DataFrame(rows).assign(model=model, source=source, factor="race")


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
