"""Does a factor change answers? A test that other factors do not disturb, and its gaps."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from katayori.frame_checks import Column
from katayori.measure.columns import Wanted, flat, taken
from katayori.metrics import exchange_tests
from katayori.metrics.intervals import mean_interval

_VALUE = Column("number", 1, may_miss=True)
_LEVEL = Column("label", "female")
_ROW = Column("label", "age 20, Asian")
_QUESTION = Column("label", "question-1")
TEST_MORE = ("p", "n_rows", "n_rows_used", "n_levels", "draws", "missing_high", "p_missing")


def _wanted(value: str, level: str, row: str | None, cluster: str) -> dict[str, Wanted]:
    return {
        "value": Wanted(value, _VALUE, "the answer as a number, missing where invalid"),
        "level": Wanted(level, _LEVEL, "the level of the factor that is tested"),
        "row": Wanted(row, _ROW, "what else tells answers to a question apart; row=None: nothing"),
        "cluster": Wanted(cluster, _QUESTION, "the question, which is the cluster"),
    }


def _with_row(cell: pd.DataFrame) -> pd.DataFrame:
    return cell if "row" in cell else cell.assign(row=0)


def exchange_test(
    frame: Any,
    *,
    value: str = "value",
    level: str = "level",
    row: str | None = None,
    cluster: str = "question",
    by: str | Sequence[str] = (),
    draws: int = 999,
) -> pd.DataFrame:
    """Whether a factor changes the answers at all, and whether in one common direction.

    Answers are exchanged among the levels of the factor inside rows that differ in nothing else, so
    that effects of other factors do no harm.

    Args:
        frame: a row an answer, with the columns below.
        value: the answer as a number (0 or 1, or a probability); missing where it is invalid.
        level: the level of the factor that is tested.
        row: what tells the situations of one question apart, such as the other attributes in one
            column; None: the answers to a question differ only in the level.
        cluster: the question.
        by: columns whose values are tested apart.
        draws: number of exchanges.

    Returns:
        by..., measure, value, n, n_invalid, clusters, ci_low, ci_high, status, p, n_rows,
        n_rows_used, n_levels, draws, missing_high (the largest share of invalid answers of a
        level), p_missing. Two rows: `any_effect`, which also finds effects that change from
        question to question, and `common_direction`. value is the statistic of the test; a test has
        no interval (`level_gaps` has them). p = (1 + draws at or above the value) / (1 + draws).
        status as in `exchange_tests.exchange_test`: `ok`, `constant`, `few_questions`,
        `one_row_a_question` (of `any_effect`), `one_level`, `no_pairable`, `missing_by_level`.

    Raises:
        KatayoriError: a column that is not there or holds something else.

    Example:
        >>> frame = {"question": [1] * 4 + [2] * 4, "age": [20, 20, 80, 80] * 2}
        >>> frame |= {"gender": list("fmfm") * 2, "yes": [1, 0, 1, 0, 0, 1, 0, 1]}
        >>> table = exchange_test(frame, value="yes", level="gender", row="age", draws=99)
        >>> table[["measure", "n", "clusters", "status"]].to_numpy().tolist()
        [['any_effect', 8, 2, 'ok'], ['common_direction', 8, 2, 'few_questions']]
    """
    own = taken("exchange_test", frame, _wanted(value, level, row, cluster), by)
    names = {"test": "measure", "statistic": "value"}
    rows = []
    for key, cell in own.cells():
        answers = _with_row(cell)
        tests = exchange_tests.exchange_test(
            answers, level="level", row="row", question="cluster", draws=draws
        )
        rows += [key | test for test in tests.rename(columns=names).to_dict("records")]
    return flat(rows, by, after=TEST_MORE)


def level_gaps(
    frame: Any,
    *,
    value: str = "value",
    level: str = "level",
    row: str | None = None,
    cluster: str = "question",
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """How far each level of a factor lies from the mean of its rows: the sizes behind the test.

    Args:
        frame: as of `exchange_test`.

    Returns:
        by..., level, value (mean over questions of the answer less the mean of the valid answers of
        its row, in the unit of the answer), n, n_invalid (invalid, or in a row with fewer than two
        answered levels), clusters, ci_low, ci_high (95 %, t over questions; each level on its own),
        status as in `intervals.mean_interval`. Where all levels are answered their values add up to
        0: one level cannot rise unless others fall.

    Raises:
        KatayoriError: a column that is not there or holds something else.

    Example:
        >>> frame = {"question": [1, 1, 2, 2], "gender": list("fmfm"), "yes": [1, 0, 1, 1]}
        >>> table = level_gaps(frame, value="yes", level="gender")
        >>> table[["level", "value", "n", "status"]].to_numpy().tolist()
        [['f', 0.25, 2, 'few_clusters'], ['m', -0.25, 2, 'few_clusters']]
    """
    own = taken("level_gaps", frame, _wanted(value, level, row, cluster), by)
    rows = []
    for key, cell in own.cells():
        answers = _with_row(cell)
        used = _gaps(answers)
        for name in pd.unique(answers["level"]):
            here = answers["level"] == name
            rows.append(key | {"level": name} | _gap(used[here], answers.loc[here, "cluster"]))
    return flat(rows, by, before=["level"])


def _compared(answers: pd.DataFrame) -> pd.Series:
    """Which answers are valid and stand in a row with two answered levels or more."""
    valid = answers[answers["value"].notna()]
    levels = valid.groupby(["cluster", "row"])["level"].transform("nunique")
    return (levels >= 2).reindex(answers.index, fill_value=False)


def _gaps(answers: pd.DataFrame) -> pd.Series:
    """Each answer less the mean of its row; NaN where the row has not two answered levels."""
    values = answers["value"].astype(object).astype(float)
    mean = values.groupby([answers["cluster"], answers["row"]]).transform("mean")
    return (values - mean).where(_compared(answers))


def _gap(gaps: pd.Series, cluster: pd.Series) -> dict[str, Any]:
    """The mean over clusters of one level's gaps."""
    by_cluster = gaps.groupby(cluster).mean()
    row = mean_interval(by_cluster.tolist())
    return row | {"n": int(gaps.notna().sum()), "n_invalid": int(gaps.isna().sum())}
