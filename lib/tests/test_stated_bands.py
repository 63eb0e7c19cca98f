"""A band of alpha is quoted only where the data back it (alpha itself: test_metrics_agreement)."""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics.agreement import WITHHELD, stated_bands
from katayori.metrics.uncertainty import FEW_CLUSTERS


def values(questions=FEW_CLUSTERS, share=0.5, n=100, model="m"):
    """Answers of one model to so many questions, of which a share is yes."""
    yes = np.arange(n) < round(share * n)
    questions = np.arange(n) % questions
    return pd.DataFrame({"model": model, "decision_question_id": questions, "value": yes * 1.0})


def alphas(band="beyond-chance disagreement", low=-0.3, high=-0.1, model="m"):
    return pd.DataFrame({"model": [model], "ci_low": low, "ci_high": high, "band": band})


def stated(of_alphas, of_values):
    return stated_bands(of_alphas, of_values).tolist()


def test_a_band_that_the_interval_stays_in_is_stated():
    assert stated(alphas(), values()) == ["beyond-chance disagreement"]
    assert stated(alphas("none", 0.1, 0.6), values()) == ["none"]


@pytest.mark.parametrize("low, high", [(-0.3, 0.1), (np.nan, np.nan)])
def test_no_band_where_the_interval_does_not_back_it(low, high):
    assert stated(alphas(low=low, high=high), values()) == [WITHHELD]


def test_no_band_of_few_questions_or_nearly_constant_answers():
    assert stated(alphas(), values(questions=FEW_CLUSTERS - 1)) == [WITHHELD]
    assert stated(alphas(), values(share=0.96)) == [WITHHELD]
    assert stated(alphas(), values(share=0.95)) == ["beyond-chance disagreement"]


def test_answers_without_a_value_count_for_nothing():
    some = values(questions=FEW_CLUSTERS)
    some.loc[some["decision_question_id"] == 0, "value"] = np.nan
    assert stated(alphas(), some) == [WITHHELD]


def test_each_model_is_judged_by_its_own_answers():
    both = pd.concat([values(model="a"), values(questions=3, model="b")])
    of_both = pd.concat([alphas(model="a"), alphas(model="b")], ignore_index=True)
    assert stated(of_both, both) == ["beyond-chance disagreement", WITHHELD]


def test_probabilities_may_all_be_near_one_value():
    near = values().assign(value=np.linspace(0.96, 0.99, 100))
    assert stated(alphas(), near) == ["beyond-chance disagreement"]


def test_undefined_stays_undefined():
    assert stated(alphas("undefined", np.nan, np.nan), values(questions=2)) == ["undefined"]


def test_no_rows_give_no_bands():
    assert stated(alphas().head(0), values().head(0)) == []
