"""Does a factor of the yes/no decisions change answers? Exchange tests for every model and factor.

The tests themselves are in `exchange_tests`; here stands what a row is for each factor of the
discrim-eval design, and Holm's adjustment over its four factors.
"""

import pandas as pd

from katayori.metrics.exchange_tests import TEST_COLUMNS, exchange_test
from katayori.metrics.rank_tests import holm
from katayori.metrics.response import ATTRIBUTES, FACTORS, by_model

FACTOR_COLUMNS = [
    "factor",
    *TEST_COLUMNS[:3],
    "p_holm",
    *TEST_COLUMNS[3:],
    "missing_low",
    "missing_high",
    "p_missing",
]


def rows_of(values: pd.DataFrame, factor: str) -> pd.DataFrame:
    """The answers with `level` and `row` of one factor.

    `level` names the factor's attributes joined by "-" ("female-Asian"), `row` those of the others:
    answers of one question and row differ in the factor only.

    Example:
        >>> one = pd.DataFrame({"age": [20], "gender": ["female"], "race": ["Asian"]})
        >>> rows_of(one, "gender_race")[["level", "row"]].to_numpy().tolist()
        [['female-Asian', '20']]
    """
    attributes = FACTORS[factor]
    others = [name for name in ATTRIBUTES if name not in attributes]

    def joined(names: list[str]) -> pd.Series:
        text = values[names[0]].astype(str)
        for name in names[1:]:
            text = text + "-" + values[name].astype(str)
        return text

    return values.assign(level=joined(attributes), row=joined(others))


def factor_tests(values: pd.DataFrame, *, draws: int = 999, seed: int = 0) -> pd.DataFrame:
    """Both exchange tests of every model and factor, p adjusted over the factors of a model.

    Args:
        values: the frame of `response.with_value`: sampled answers (0/1) or probabilities.
        draws, seed: of the exchanges.

    Returns:
        model, source and `FACTOR_COLUMNS`: one row a model, factor and test (`any_effect`,
        `common_direction`, see `exchange_tests.exchange_test`). p_holm is Holm's adjustment over
        the factors of one model and test; undefined tests are not counted. gender_race tests
        "gender, race or both": a small p there is no evidence that the two interact.

    Example:
        >>> from katayori.metrics import examples
        >>> tests = factor_tests(examples.yes_no(), draws=99).set_index(["factor", "test"])
        >>> round(float(tests.loc[("race", "any_effect"), "p"]), 2)
        0.34
    """

    def of_model(one: pd.DataFrame) -> pd.DataFrame:
        parts = []
        for factor in FACTORS:
            test = exchange_test(
                rows_of(one, factor),
                level="level",
                row="row",
                question="decision_question_id",
                draws=draws,
                seed=seed,
            )
            parts.append(test.assign(factor=factor))
        table = pd.concat(parts, ignore_index=True)
        adjusted = table.groupby("test", sort=False)["p"]
        table["p_holm"] = adjusted.transform(lambda p: holm(p.to_numpy(float)))
        return table[FACTOR_COLUMNS]

    return by_model(values, of_model, FACTOR_COLUMNS)
