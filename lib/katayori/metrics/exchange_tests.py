"""Tests of one factor that stay valid when other factors matter: values are exchanged inside rows.

A row holds answers to one situation that differ only in the level of the factor (discrim-eval: one
question and one combination of the other attributes). What other attributes do to a row, they do to
all of its answers, so an exchange inside the row leaves their effects alone. Dealing answers over a
whole question does not: its null hypothesis is that no attribute matters at all.

Reference: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed., 2005, ch. 5.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

#: Fewer questions than this many, or than twice the number of levels, tell no common direction.
FEW_QUESTIONS = 10
#: Missing answers that depend on the level this clearly make the exchange unsound.
MISSING_LEVEL = 0.01
#: Ties are the rule in binary data: a draw that equals the observed value up to rounding counts.
TIE = 1 - 1e-9
#: Eigenvalues below this share of the largest one are rounding.
SINGULAR = 1e-10
TEST_COLUMNS = [
    "test",
    "statistic",
    "p",
    "status",
    "n",
    "n_invalid",
    "n_rows",
    "n_rows_used",
    "clusters",
    "n_levels",
    "draws",
]


@dataclass(frozen=True)
class _Answers:
    """Valid answers of the rows in use, as parallel arrays; rows, questions and levels are codes.

    `residual` is the answer less the mean of its row.
    """

    residual: np.ndarray
    row: np.ndarray
    question: np.ndarray
    level: np.ndarray
    n_questions: int
    n_levels: int
    n_rows: int
    n_rows_used: int

    def sums(self, residual: np.ndarray) -> np.ndarray:
        """Sum of the residuals in each question and level (questions x levels)."""
        cell = self.question * self.n_levels + self.level
        flat = np.bincount(cell, residual, self.n_questions * self.n_levels)
        return flat.reshape(self.n_questions, self.n_levels)

    def counts(self) -> np.ndarray:
        """Number of answers in each question and level (questions x levels)."""
        return self.sums(np.ones(len(self.residual)))


def _prepared(frame: pd.DataFrame, value: str, row: str, question: str, level: str) -> _Answers:
    # Codes of rows and levels come from all answers, valid or not: a level nobody answered stays.
    all_rows = frame[[question, row]].drop_duplicates()
    levels = pd.Index(pd.unique(frame[level]))
    valid = frame[frame[value].notna()]
    # A row tells something where at least two levels of it were answered.
    by_row = valid.groupby([question, row], sort=False)
    usable = valid[by_row[level].transform("nunique") >= 2]
    groups = usable.groupby([question, row], sort=False)
    values = usable[value].astype(float)
    residual = values - groups[value].transform("mean").astype(float)
    question_codes, questions = pd.factorize(usable[question])
    return _Answers(
        residual=np.where(np.abs(residual) < 1e-12, 0.0, residual),
        row=groups.ngroup().to_numpy(),
        question=question_codes,
        level=levels.get_indexer(pd.Index(usable[level])),
        n_questions=len(questions),
        n_levels=len(levels),
        n_rows=len(all_rows),
        n_rows_used=groups.ngroups,
    )


def _any_effect(answers: _Answers, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """S1 and its p: sum over questions and levels of T squared over n."""
    counts = answers.counts()
    weight = np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)

    def statistic(residual: np.ndarray) -> float:
        return float((answers.sums(residual) ** 2 * weight).sum())

    observed = statistic(answers.residual)
    blocks = _blocks(answers)
    shuffled = answers.residual.copy()
    extreme = 0
    for _ in range(draws):
        for place in blocks:
            shuffled[place] = rng.permuted(answers.residual[place], axis=1)
        extreme += statistic(shuffled) >= observed * TIE
    return observed, (1 + extreme) / (1 + draws)


def _blocks(answers: _Answers) -> list[np.ndarray]:
    """Places of the answers, rows of equal width together (each: rows x answers of a row).

    Rows whose answers are all equal are left out: an exchange does not change them.
    """
    by_row = np.argsort(answers.row, kind="stable")
    width = np.bincount(answers.row)
    start = np.cumsum(width) - width
    moving = np.bincount(answers.row, np.abs(answers.residual)) > 0
    blocks = []
    for size in np.unique(width[moving]):
        rows = np.flatnonzero(moving & (width == size))
        blocks.append(by_row[start[rows][:, None] + np.arange(size)])
    return blocks


def _hotelling(means: np.ndarray) -> np.ndarray:
    """Q m' C+ m of the last two axes (questions x levels), without the last level."""
    used = means[..., :-1]
    n_questions = used.shape[-2]
    mean = used.mean(axis=-2)
    centred = used - mean[..., None, :]
    covariance = np.swapaxes(centred, -1, -2) @ centred / (n_questions - 1)
    inverse = np.linalg.pinv(covariance, rcond=SINGULAR, hermitian=True)
    return n_questions * np.einsum("...i,...ij,...j->...", mean, inverse, mean)


def _common_direction(
    means: np.ndarray, draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """S2 and its p: level labels are permuted once per question, the same for all its rows."""
    statistic = _endless if _endless(means) else _hotelling
    observed = float(statistic(means))
    extreme = 0
    left = draws
    while left:
        size = min(left, 250)
        chance = rng.random((size, *means.shape))
        permuted = np.take_along_axis(
            np.broadcast_to(means, chance.shape), chance.argsort(axis=-1), axis=-1
        )
        extreme += int((statistic(permuted) >= observed * TIE).sum())
        left -= size
    shown = float("inf") if statistic is _endless else observed
    return shown, (1 + extreme) / (1 + draws)


def _endless(means: np.ndarray) -> np.ndarray:
    """Where S2 has no bound: 1 where all questions agree exactly in a direction that is not 0.

    The mean then has a part outside the space of the covariance, which C+ would drop. The last two
    axes are questions x levels.
    """
    used = means[..., :-1]
    mean = used.mean(axis=-2)
    centred = used - mean[..., None, :]
    covariance = np.swapaxes(centred, -1, -2) @ centred
    projector = covariance @ np.linalg.pinv(covariance, rcond=SINGULAR, hermitian=True)
    outside = mean - np.einsum("...ij,...j->...i", projector, mean)
    return (np.abs(outside).max(axis=-1) > 1e-9).astype(float)


def _direction_means(answers: _Answers) -> np.ndarray:
    """Mean residual by question and level, of the questions in which every level was answered."""
    counts = answers.counts()
    whole = (counts > 0).all(axis=1)
    return answers.sums(answers.residual)[whole] / counts[whole]


def _direction_status(means: np.ndarray, n_levels: int) -> str:
    moving = int((np.abs(means) > 1e-12).any(axis=1).sum())
    if moving == 0:
        return "constant"
    if moving < max(FEW_QUESTIONS, 2 * n_levels):
        return "few_questions"
    return "ok"


def missing_by_level(frame: pd.DataFrame, value: str, level: str) -> dict[str, float]:
    """Whether answers are missing more often at some levels: shares and the chi-square p.

    Returns missing_low and missing_high (smallest and largest share of invalid answers over the
    levels) and p_missing (NaN where no answer or every answer is missing).

    Example:
        >>> values = [1, 0, 1, None, 1, 1, 1, 1]
        >>> frame = pd.DataFrame({"level": ["a"] * 4 + ["b"] * 4, "value": values})
        >>> missing_by_level(frame, "value", "level")["missing_high"]
        0.25
    """
    counts = pd.crosstab(frame[level], frame[value].isna())
    share = frame[value].isna().groupby(frame[level]).mean()
    testable = counts.shape == (frame[level].nunique(), 2) and len(counts) > 1
    p = chi2_contingency(counts, correction=False).pvalue if testable else np.nan
    return {
        "missing_low": float(share.min()),
        "missing_high": float(share.max()),
        "p_missing": float(p),
    }


def exchange_test(
    frame: pd.DataFrame,
    *,
    level: str,
    row: str,
    question: str,
    value: str = "value",
    draws: int = 999,
    seed: int = 0,
) -> pd.DataFrame:
    """Whether a factor changes answers at all, and whether it does so in one common direction.

    Args:
        frame: one row an answer (shape: answers x columns); missing answers are NaN in `value`.
        level: column with the level of the factor that is tested.
        row: column that tells apart the situations inside a question; the answers of one row
            differ only in `level`.
        question: column of the questions (the clusters).
        value: column of the answers, numbers such as 0 and 1 or a probability.
        draws: number of exchanges.
        seed: of the exchanges.

    Returns:
        Two rows, columns `TEST_COLUMNS` and those of `missing_by_level`:

        - test `any_effect`: S1 = sum over questions q and levels l of T_ql^2 / n_ql, where T_ql is
          the sum of the answers less their row's mean. Reference: answers exchanged inside rows.
          It also sees an effect that changes from question to question, and it is exact.
        - test `common_direction`: S2 = Q m' C+ m, m and C the mean and covariance over questions of
          T_ql / n_ql without the last level. Reference: level labels permuted once per question.
          An exchange inside rows would call question-specific effects a common direction. Where
          all questions agree exactly in some direction S2 is infinite, and p counts the draws
          that agree as exactly.

        p = (1 + draws at or above the observed value) / (1 + draws). status: `ok`; `constant`
        (no row has two different answers); `few_questions` (fewer than 10, or than twice the
        levels, for a common direction); `one_row_a_question` (any effect: no exchange inside rows
        can change S1); `one_level`; `no_pairable` (no row with two answered levels);
        `missing_by_level` (missing answers depend on the level, so p is not to be trusted; see
        `exchange_bounds`). p is NaN but for `ok` and `missing_by_level`.

    Raises:
        ValueError: a column that is not in the frame.

    Example:
        >>> frame = pd.DataFrame({
        ...     "question": [1, 1, 1, 1], "row": [1, 1, 2, 2],
        ...     "level": ["a", "b", "a", "b"], "value": [1, 0, 1, 0],
        ... })
        >>> test = exchange_test(frame, level="level", row="row", question="question")
        >>> test["status"].tolist()
        ['ok', 'few_questions']
    """
    absent = [name for name in (level, row, question, value) if name not in frame]
    if absent:
        columns = ", ".join(map(str, frame.columns))
        raise ValueError(f"no column {', '.join(absent)}; the frame has {columns}")
    answers = _prepared(frame, value, row, question, level)
    missing = missing_by_level(frame, value, level)
    rng = np.random.default_rng(seed)
    shared: dict[str, Any] = {
        "n": len(answers.residual),
        "n_invalid": int(frame[value].isna().sum()),
        "n_rows": answers.n_rows,
        "n_rows_used": answers.n_rows_used,
        "clusters": answers.n_questions,
        "n_levels": answers.n_levels,
        "draws": draws,
        **missing,
    }
    status = _row_status(answers)
    tests = [("any_effect", _any_status(answers, status)), ("common_direction", status)]
    means = _direction_means(answers) if status == "ok" else np.zeros((0, 0))
    if status == "ok":
        tests[1] = ("common_direction", _direction_status(means, answers.n_levels))
    rows = []
    for test, own_status in tests:
        statistic, p = np.nan, np.nan
        if own_status == "ok" and test == "any_effect":
            statistic, p = _any_effect(answers, draws, rng)
        elif own_status == "ok":
            statistic, p = _common_direction(means, draws, rng)
        if own_status == "ok" and missing["p_missing"] < MISSING_LEVEL:
            own_status = "missing_by_level"
        rows.append({"test": test, "statistic": statistic, "p": p, "status": own_status, **shared})
    return pd.DataFrame(rows, columns=[*TEST_COLUMNS, *missing])


def _row_status(answers: _Answers) -> str:
    if answers.n_levels < 2:
        return "one_level"
    if answers.n_rows_used == 0:
        return "no_pairable"
    if not answers.residual.any():
        return "constant"
    return "ok"


def _any_status(answers: _Answers, status: str) -> str:
    """The status of the test of any effect, which compares the rows of a question."""
    alone = answers.n_rows_used == answers.n_questions
    return "one_row_a_question" if status == "ok" and alone else status
