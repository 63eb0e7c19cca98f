"""Does a factor change the answers, and by how much? Tests by exchanged labels, and gaps.

Answers are exchanged inside rows. A row holds answers to one situation that differ only in the
level of the factor (discrim-eval: one question and one combination of the other attributes). What
other attributes do to a row, they do to all of its answers, so an exchange inside the row leaves
their effects alone. Dealing answers over a whole question does not: its null hypothesis is that no
attribute matters at all.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

from katayori.frames import LABEL, NUMBER_OR_NONE, cells, flat, require
from katayori.metrics import ties
from katayori.metrics.verdicts import ENDS, TESTED, row_by_t

TEST_MORE = ("p", "n_rows", "n_rows_used", "n_levels", "draws")
MISSING_MORE = ("missing_low", "missing_high", "p_missing")
#: Fewer questions than this many, or than twice the number of levels, tell no common direction.
FEW_QUESTIONS = 10
#: Missing answers that depend on the level this clearly make the exchange unsound.
MISSING_LEVEL = 0.01
#: Ties are the rule in binary data: a draw that equals the observed value up to rounding counts.
TIE = 1 - 1e-9
#: Eigenvalues below this share of the largest one are rounding.
SINGULAR = 1e-10


def exchange_test(
    frame: pd.DataFrame,
    *,
    value: str,
    level: str,
    row: str | None = None,
    by: str | Sequence[str] = (),
    cluster: str = "question",
    draws: int = 999,
    seed: int = 0,
) -> pd.DataFrame:
    """Whether a factor changes the answers at all, and whether in one common direction.

    Answers are exchanged among the levels of the factor inside rows that differ in nothing else, so
    that effects of other factors do no harm.

    Args:
        frame: a row an answer. value: its column of numbers (0 or 1, or a probability), missing
            where invalid. level: of the levels of the factor that is tested.
        row: column of what tells the situations of one question apart, such as the other
            attributes; None: the answers to a question differ only in the level.
        by: columns whose values are tested apart, such as the factor.
        cluster: the question.
        draws, seed: number of exchanges, and of the generator that draws them anew for each cell.

    Returns:
        by..., test, value (the statistic), n, n_invalid, clusters, ci_low, ci_high (none: a test
        has no interval, `level_gaps.level_gaps` has), status, p, n_rows, n_rows_used, n_levels,
        draws, missing_low, missing_high (least and largest share of invalid answers of a level),
        p_missing. Two rows: `any_effect`, which also finds effects that change from question to
        question, and `common_direction`. status: `ok`; `constant`; `few_questions` (fewer than 10,
        or than twice the levels, that move; of `common_direction`); `one_row_a_question` (of
        `any_effect`); `one_level`; `no_pairable`; `missing_by_level` (p is not to be trusted).

    Formula: with T the sum of the answers of a question and level, each less the mean of its row,
    and n their number, any_effect = sum T^2 / n, answers exchanged inside rows; common_direction =
    Q m' C+ m of the questions' T / n (mean m, covariance C), labels permuted once a question. p =
    (1 + draws at or above the value) / (1 + draws), at least 1 / (1 + draws).

    p conditions on the questions, the rows and the answers of each row as they are: it says whether
    they are dealt to the levels by chance, not how other questions would do. Rows whose answers are
    all equal stay as they are in each draw: p of any_effect is the same without them, and so is p
    of common_direction without questions in which no level differs.

    Raises:
        KatayoriError: a column that is not there or holds something else.

    Source: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed., 2005, ch.
    5.

    Example:
        >>> frame = pd.DataFrame({"question": [1] * 4 + [2] * 4, "age": [20, 20, 80, 80] * 2})
        >>> frame = frame.assign(gender=list("fmfm") * 2, yes=[1, 0, 1, 0, 0, 1, 0, 1])
        >>> table = exchange_test(frame, value="yes", level="gender", row="age", draws=99)
        >>> table[["test", "n", "clusters", "status"]].to_numpy().tolist()
        [['any_effect', 8, 2, 'ok'], ['common_direction', 8, 2, 'few_questions']]
    """
    situation = [cluster] if row is None else [cluster, row]
    held = {value: NUMBER_OR_NONE} | dict.fromkeys([level, *situation], LABEL)
    names = require("exchange_test", frame, held, by)
    rows = []
    for key, cell in cells(frame.reset_index(drop=True), names):
        answers = _answers(cell, value, level, situation)
        common = _missing_by_level(cell, value, level) | {"draws": draws}
        common["n_invalid"] = int(cell[value].isna().sum())
        tests = _tests(answers, draws, seed, common["p_missing"] < MISSING_LEVEL)
        rows += [key | common | test for test in tests]
    return flat(rows, frame, names, ["test"], [*TEST_MORE, *MISSING_MORE])


class _Answers(NamedTuple):
    """Valid answers of the rows in use, as parallel arrays of numbers."""

    residual: np.ndarray  # less the mean of the row
    row: np.ndarray
    cell: np.ndarray  # of questions x levels
    shape: tuple[int, int]
    n_rows: int  # used or not

    def sums(self, residual: np.ndarray) -> np.ndarray:
        """Sum of the residuals in each question and level (questions x levels)."""
        return np.bincount(self.cell, residual, math.prod(self.shape)).reshape(self.shape)

    def counts(self) -> np.ndarray:
        """Number of answers in each question and level (questions x levels)."""
        return self.sums(np.ones(len(self.residual)))


def _answers(cell: pd.DataFrame, value: str, level: str, situation: list[str]) -> _Answers:
    """The answers of rows in which at least two levels were answered."""
    gaps = gaps_in_rows(cell, value, level, situation).dropna()
    used = cell.loc[gaps.index]
    row = used.groupby(situation, sort=False, observed=True).ngroup().to_numpy()
    question, questions = pd.factorize(used[situation[0]])
    # A level that nobody answered stays.
    levels = pd.Index(pd.unique(cell[level]))
    place = question * len(levels) + levels.get_indexer(pd.Index(used[level]))
    residual = gaps.mask(gaps.abs() < 1e-12, 0.0).to_numpy()
    n_rows = len(cell[situation].drop_duplicates())
    return _Answers(residual, row, place, (len(questions), len(levels)), n_rows)


def _tests(answers: _Answers, draws: int, seed: int, missing: bool) -> Iterator[dict[str, Any]]:
    """Both tests of a cell; `missing` where invalid answers depend on the level."""
    n_questions, n_levels = answers.shape
    n_rows_used = len(np.unique(answers.row))
    sizes = {"n": len(answers.row), "n_rows": answers.n_rows, "n_rows_used": n_rows_used}
    sizes |= {"n_levels": n_levels, "clusters": n_questions}
    rng = np.random.default_rng(seed)
    means = _direction_means(answers)
    for test in ("any_effect", "common_direction"):
        status, statistic, p = _status(answers, means, test), np.nan, np.nan
        if status == "ok":
            if test == "any_effect":
                statistic, p = _any_effect(answers, draws, rng)
            else:
                statistic, p = _common_direction(means, draws, rng)
            status = "missing_by_level" if missing else "ok"
        yield sizes | {"test": test, "value": statistic, "p": p, "status": status}


def _status(answers: _Answers, means: np.ndarray, test: str) -> str:
    """Why a test cannot be made; `ok` where it can."""
    n_questions, n_levels = answers.shape
    if n_levels < 2:
        return "one_level"
    if not len(answers.row):
        return "no_pairable"
    if not answers.residual.any():
        return "constant"
    if test == "any_effect":
        alone = len(np.unique(answers.row)) == n_questions
        return "one_row_a_question" if alone else "ok"
    moving = (np.abs(means) > 1e-12).any(axis=1).sum()
    if not moving:
        return "constant"
    return "few_questions" if moving < max(FEW_QUESTIONS, 2 * n_levels) else "ok"


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


def _direction_means(answers: _Answers) -> np.ndarray:
    """Mean residual by question and level, of the questions in which every level was answered."""
    counts = answers.counts()
    whole = (counts > 0).all(axis=1)
    return answers.sums(answers.residual)[whole] / counts[whole]


def _moments(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sums of products over the questions (second axis from the right), without the last
    level."""
    used = means[..., :-1]
    mean = used.mean(axis=-2)
    centred = used - mean[..., None, :]
    return mean, np.swapaxes(centred, -1, -2) @ centred


def _hotelling(means: np.ndarray) -> np.ndarray:
    """Q m' C+ m of the last two axes (questions x levels)."""
    n_questions = means.shape[-2]
    mean, products = _moments(means)
    inverse = np.linalg.pinv(products / (n_questions - 1), rcond=SINGULAR, hermitian=True)
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
    mean, products = _moments(means)
    projector = products @ np.linalg.pinv(products, rcond=SINGULAR, hermitian=True)
    outside = mean - np.einsum("...ij,...j->...i", projector, mean)
    return (np.abs(outside).max(axis=-1) > 1e-9).astype(float)


def _missing_by_level(cell: pd.DataFrame, value: str, level: str) -> dict[str, float]:
    """Whether answers are missing more often at some levels: shares and p of chi-square (NaN where
    none or all are missing)."""
    missing = cell[value].isna()
    share = missing.groupby(cell[level], observed=True).mean()
    counts = pd.crosstab(cell[level], missing)
    testable = min(counts.shape) > 1
    p = chi2_contingency(counts, correction=False).pvalue if testable else np.nan
    ends = {"missing_low": float(share.min()), "missing_high": float(share.max())}
    return ends | {"p_missing": float(p)}


def gaps_in_rows(cell: pd.DataFrame, value: str, level: str, situation: list[str]) -> pd.Series:
    """Each valid answer less the mean of its row; NaN where the row has not two answered levels.

    Args:
        situation: the columns that make a row.

    Example:
        >>> answers = pd.DataFrame({"question": [1, 1, 2], "gender": list("fmf"), "yes": [1, 0, 1]})
        >>> gaps_in_rows(answers, "yes", "gender", ["question"]).tolist()
        [0.5, -0.5, nan]
    """
    valid = cell[cell[value].notna()]
    valid = valid.assign(**{value: valid[value].astype(float)})
    rows = valid.groupby(situation, sort=False, observed=True)
    gaps = valid[value] - rows[value].transform("mean")
    return gaps.where(rows[level].transform("nunique") >= 2)


def largest_gap(
    frame: pd.DataFrame,
    *,
    value: str,
    level: str,
    by: str | Sequence[str] = (),
    cluster: str = "question",
    ordered: bool = False,
) -> pd.DataFrame:
    """The gap between the level that lies furthest out and the others, or along ordered levels.

    Args:
        frame, value, level, by, cluster: as of `exchange_test`. A level without any valid answer is
            left out, and so are clusters that lack one of the others.
        ordered: whether the levels have an order, which is that of the frame; the gap is then the
            straight line from the first to the last.

    Returns:
        by..., level (the furthest, of equal ones the first by name; of ordered levels such as
        `20 to 100`), value
        (mean over clusters of its mean less the mean of the other levels' means), n (valid
        answers), n_invalid, clusters, ci_low, ci_high (t over clusters; 95 % for all levels at
        once, as each is looked at), status as of `intervals.mean_interval` and `one_level`, limit
        (the true gap that this interval finds in 80 % of studies) and the other columns of
        `verdicts.line_test` at a line of 0, for `verdicts.verdict`. The largest of several gaps is
        large by chance, too: read beside it what neutral words with as many levels give.

        Where any answer of the frame is unreadable and all values lie between 0 and 1, two more
        rows a cell, as of `line_test`: the same level's gap if all these answers were `lowest` (0
        of this level, 1 of the others; of ordered levels 1 of the first half) or `highest`.

    Formula: ends value -+ t of 1 - .025/k times SE, with k gaps looked at (1 of ordered levels);
    limit (t of 1 - .025/k + t.80) SE, t on clusters - 1 degrees of freedom.

    Raises:
        KatayoriError: a column that is not there or holds something else.

    Source: Bonferroni's inequality; `intervals.detectable_effect`.

    Example:
        >>> frame = pd.DataFrame({"question": range(10), "gender": ["f", "m"] * 5})
        >>> frame = frame.assign(question=frame["question"] // 2, yes=[1, 0] * 5)
        >>> table = largest_gap(frame, value="yes", level="gender")
        >>> table[["level", "value", "n", "clusters", "status"]].to_numpy().tolist()
        [['f', 1.0, 10, 5, 'no_variation']]
    """
    held = {value: NUMBER_OR_NONE, level: LABEL, cluster: LABEL}
    names = require("largest_gap", frame, held, by)
    has_ends = frame[value].isna().any() and frame[value].dropna().between(0, 1).all()
    rows = []
    for key, cell in cells(frame, names):
        valid = cell[cell[value].notna()]
        means = _means(valid[value], valid[cluster], valid[level])
        levels = pd.unique(cell[level]) if ordered else sorted(pd.unique(cell[level]), key=str)
        answered = [one for one in levels if one in means]
        row = _tested(means[answered], ordered=ordered)
        row |= {"n": len(valid), "n_invalid": len(cell) - len(valid)}
        row |= {"status": "one_level"} if cell[level].nunique() < 2 else {}
        rows.append(key | row)
        own = cell[cell[level].isin(answered)]
        half = len(answered) / 2
        is_up = [
            k >= half if ordered else str(one) == row["level"] for k, one in enumerate(answered)
        ]
        ups = own[level].map(dict(zip(answered, is_up, strict=True)))
        for end in ENDS if has_ends else ():
            filled = own[value].astype(float).mask(own[value].isna(), ups.eq(end == "highest"))
            means = _means(filled, own[cluster], own[level])[answered]
            other = _tested(means, ordered=ordered, level=row["level"]) if row["level"] else row
            rows.append(key | row | other | {"unreadable": end})
    return flat(rows, frame, names, ["level"], TESTED)


def _means(values: pd.Series, clusters: pd.Series, levels: pd.Series) -> pd.DataFrame:
    """Clusters x levels."""
    return values.astype(float).groupby([clusters, levels]).mean().unstack()


def _tested(means: pd.DataFrame, *, ordered: bool, level: str = "") -> dict[str, Any]:
    """The largest gap, or that of a level, with what `verdicts.verdict` needs of it."""
    gaps = gaps_by_cluster(means, ordered=ordered)
    if gaps.empty:
        return {"level": ""} | row_by_t(np.array([]), np.array([]))
    # Of equal gaps the first.
    largest = ties.highest(gaps.mean().abs())
    place = int(np.argmax(gaps.columns.astype(str) == level if level else largest))
    values = gaps.iloc[:, place].to_numpy(float)
    row = row_by_t(values, values, looked_at=gaps.shape[1])
    # Answers differ by question and never by level: that is the model's doing and not the design's.
    row["alike"] = bool(np.allclose(gaps, 0, atol=1e-12) and np.ptp(means.mean(axis=1)) > 1e-12)
    return {"level": str(gaps.columns[place])} | row


def gaps_by_cluster(means: pd.DataFrame, *, ordered: bool) -> pd.DataFrame:
    """The gap of each level in each cluster that has all of them.

    Args:
        means: clusters x levels. ordered: whether the levels lie on a line, in their order.

    Returns:
        clusters x levels: each level less the mean of the others; of ordered levels one column, the
        straight line from the first to the last. Empty with fewer than two levels.

    Example:
        >>> gaps_by_cluster(pd.DataFrame({"a": [0.5], "b": [0.25]}), ordered=False).to_numpy()
        array([[ 0.25, -0.25]])
    """
    n_levels = means.shape[1]
    means = means.dropna() if n_levels > 1 else means.iloc[:0]
    if means.empty:
        return means
    if ordered:
        place = np.linspace(-0.5, 0.5, n_levels)
        slope = means.to_numpy(float) @ place / (place**2).sum()
        return pd.DataFrame({f"{means.columns[0]} to {means.columns[-1]}": slope}, means.index)
    others = (means.sum(axis=1).to_numpy()[:, None] - means) / (n_levels - 1)
    return means - others
