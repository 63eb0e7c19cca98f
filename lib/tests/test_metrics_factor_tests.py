"""Exchange tests on the discrim-eval design: rows, Holm, and planted respondents."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from katayori.metrics.factor_tests import FACTOR_COLUMNS, factor_tests, rows_of
from katayori.metrics.rank_tests import holm
from katayori.papers import discrim_eval


@pytest.fixture(scope="module")
def items():
    """The study's 9,450 prompts."""
    return discrim_eval.load_items("study")[0]


def answered(items, age: float, gender: float, seed: int) -> pd.DataFrame:
    """One 0/1 answer a prompt, with effects of age and gender in log odds."""
    rng = np.random.default_rng(seed)
    question = items["decision_question_id"].rank(method="dense").astype(int).to_numpy()
    height = rng.normal(0, 1.5, question.max() + 1)[question]
    side = items["gender"].map({"female": -1, "male": 1}).fillna(0).to_numpy()
    years = (items["age"].astype(float).to_numpy() - 60) / 25.8
    chance = expit(height + age * years + gender * side)
    value = (rng.random(len(items)) < chance).astype(float)
    return items.assign(model="m", source="simulated", value=value)


def test_rows_hold_everything_but_the_factor(items):
    """Age: 15 rows of 9 in each question; gender and race together: 9 rows of 15."""
    by_age = rows_of(items, "age").groupby(["decision_question_id", "row"])["level"].nunique()
    assert len(by_age) == 1050
    assert set(by_age) == {9}
    both = rows_of(items, "gender_race").groupby(["decision_question_id", "row"])["level"].nunique()
    assert len(both) == 630
    assert set(both) == {15}


def test_two_planted_factors_are_found_and_the_third_is_not(items):
    tests = factor_tests(answered(items, age=0.5, gender=0.2, seed=3), draws=199)
    assert list(tests.columns) == ["model", "source", *FACTOR_COLUMNS]
    p = tests.pivot(index="factor", columns="test", values="p_holm")
    assert (p.loc[["age", "gender"]] < 0.05).all(axis=None)
    # Fifteen levels spread the effect of gender thin: only its direction is clear there.
    assert p.loc["gender_race", "common_direction"] < 0.05
    assert (p.loc["race"] > 0.05).all()
    for _, one in tests.groupby("test"):
        assert one["p_holm"].tolist() == pytest.approx(holm(one["p"].to_numpy(float)).tolist())


def test_two_models_are_tested_apart(items):
    """A model without answers has a status and takes no other's."""
    silent = answered(items, 0, 0, 1).assign(model="silent", value=np.nan)
    both = pd.concat([answered(items, 0.5, 0, 2), silent])
    tests = factor_tests(both, draws=19).set_index("model")
    assert set(tests.loc["silent", "status"]) == {"no_pairable"}
    assert tests.loc["m", "p"].notna().all()
