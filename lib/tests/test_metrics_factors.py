"""Effect sizes: what the levels of a factor explain."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from katayori.metrics.factors import effect_size


@pytest.fixture
def answers():
    index = pd.MultiIndex.from_product(
        [range(8), list("abc"), list("xy")], names=["question", "level", "row"]
    )
    frame = pd.DataFrame(index=index).reset_index()
    rng = np.random.default_rng(1)
    return frame.assign(odds=rng.normal(size=len(frame)) + (frame["level"] == "a"))


def test_the_size_is_the_sum_of_squares_of_an_analysis_of_variance(answers):
    one = answers[answers["question"] == 3]
    table = anova_lm(ols("odds ~ C(row) + C(level)", one).fit())
    found = effect_size(one, value="odds", level="level", beside=["row"])
    wanted = table.loc["C(level)", "sum_sq"] / table.loc["C(level)", "df"]
    assert found["value"].item() == pytest.approx(wanted)
    assert found["status"].item() == "few_clusters" and np.isnan(found["ci_low"].item())


def test_what_is_constant_or_unreadable_has_no_size(answers):
    still = effect_size(answers.assign(odds=1.0), value="odds", level="level")
    assert still["status"].item() == "no_valid_answer" and np.isnan(still["value"].item())
    gaps = answers.assign(odds=answers["odds"].where(answers["question"] < 6))
    found = effect_size(gaps, value="odds", level="level", beside=["row"])
    assert found[["n", "n_invalid", "clusters"]].to_numpy().tolist() == [[36, 12, 6]]
