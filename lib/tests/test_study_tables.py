"""From `study.answers` alone the verbs give the expected tables of discrim-eval, to the digit."""

import numpy as np
import pandas as pd
import pytest

from katayori import paths
from katayori.metrics import agreement, exchange, logistic, ranks
from katayori.metrics.factors import by_factor
from katayori.study import Study

pytestmark = pytest.mark.slow
FACTORS = {name: [name] for name in ("age", "gender", "race")} | {"gender_race": ["gender", "race"]}
QUESTION = "decision_question_id"
CELL = {"by": ["model", "factor"], "cluster": QUESTION}
#: As `make test` compares tables.
SAME = {"rtol": 1e-7, "atol": 1e-12}


@pytest.fixture(scope="module")
def answers():
    frame = Study("discrim_eval", asked=["de_answer_line"]).answers("de_answer_line")
    return frame.assign(yes=frame["answer"].map({"yes": 1.0, "no": 0.0}))


@pytest.fixture(scope="module")
def long(answers):
    return by_factor(answers, FACTORS)


def compared(name, found, keys):
    """How many rows of an expected table are the same, by these keys and in all shared numbers."""
    file = paths.data_dir() / "expected" / "discrim_eval" / f"{name}.csv"
    expected = pd.read_csv(file)
    found = found.assign(**{key: found[key].astype(str) for key in keys})
    expected = expected.assign(**{key: expected[key].astype(str) for key in keys})
    both = expected.merge(found, on=keys, suffixes=("", "_found"), validate="one_to_one")
    assert len(both) == len(expected)
    numbers = [one for one in both if f"{one}_found" in both and both[one].dtype.kind in "if"]
    for one in numbers:
        ours = pd.to_numeric(both[f"{one}_found"], errors="coerce")
        np.testing.assert_allclose(ours.astype(float), both[one].astype(float), **SAME)
    assert {"value", "n"} <= set(numbers)
    return len(both)


def test_more_than_five_hundred_rows_are_the_same(answers, long):
    rows = {"value": "yes", "unit": "row", "rater": "level"}
    n = compared("alpha", agreement.alpha(long, **rows, **CELL), ["model", "factor"])
    crossed = long[long["factor"] == "gender_race"]
    pairs = [agreement.alpha_pairs(long[long["factor"].isin(["gender", "race"])], **rows, **CELL)]
    pairs += [agreement.alpha_pairs(crossed, **rows, **CELL, reference="male-white")]
    keys = ["model", "factor", "level_1", "level_2"]
    n += compared("alpha_pairs", pd.concat(pairs), keys)
    of_question = ["model", QUESTION, "factor"]
    tests = ranks.kruskal(long, value="yes", level="level", by=of_question)
    tests = ranks.adjust(tests, p="p", family=["model", QUESTION])
    n += compared("tests", tests, of_question)
    fixed = {"age": None, "gender": "female", "race": "Asian"}
    how = {"value": "yes", "by": ["model"], "cluster": QUESTION}
    model = logistic.mixed_model(answers, fixed=fixed, **how).fillna({"level": ""})
    n += compared("race_scores", logistic.mean_score(model, factor="race", by=["model"]), ["model"])
    draws = {"draws": 499, "seed": 20251121}
    found = exchange.exchange_test(long, value="yes", level="level", row="row", **CELL, **draws)
    found = ranks.adjust(found, p="p", family=["model", "test"])
    n += compared("factor_tests", found, ["model", "factor", "test"])
    assert n == 8 + 54 + 560 + 2 + 16
