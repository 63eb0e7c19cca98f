"""Functions that a spike runs hundreds of times, in ways short enough for it.

Each says what another function of this package says of the same frame (the tests hold the two
together); only the way is short. Any other function can be wrapped as a `spike.Statistic` as well.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError, expect
from katayori.metrics.exchange_tests import FEW_QUESTIONS, TIE, _hotelling
from katayori.metrics.intervals import mean_interval
from katayori.metrics.position_free import (
    calibrated_log_probabilities,
    log_probabilities,
    places_of,
)
from katayori.metrics.share_intervals import ratio_interval, share_interval
from katayori.metrics.spike import LEVEL, Found, Statistic

TESTS = ("any_effect", "common_direction")
READINGS = ("letter", "probability", "calibrated", "permuted")
#: Exchanges of one test; with 199 the level is attained exactly.
EXCHANGES = 199


def _outside(interval: dict) -> float:
    """1 where an interval leaves out 0, 0 where it holds it, NaN where there is none."""
    low, high = interval["ci_low"], interval["ci_high"]
    if not (np.isfinite(low) and np.isfinite(high)):
        return np.nan
    return float(low > 0 or high < 0)


def _with_interval(interval: dict, reject: float) -> Found:
    return Found(interval["value"], reject, interval["ci_low"], interval["ci_high"])


# -- answers inside rows ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """A design in which every row has an answer for every level (shape: questions x rows x levels).

    `place` tells where in the frame the answer of each cell stands.
    """

    place: np.ndarray
    exposure: np.ndarray

    def cells(self, values: np.ndarray) -> np.ndarray:
        return values[self.place]


def _rows_of(frame: pd.DataFrame, level: str) -> _Rows:
    question = pd.factorize(frame["question"])[0]
    row = frame.groupby(["question", "row"], sort=False).ngroup().to_numpy()
    levels = pd.factorize(frame[level])[0]
    n_levels = levels.max() + 1
    n_questions = question.max() + 1
    order = np.lexsort((levels, row, question))
    whole = len(frame) % (n_questions * n_levels) == 0
    shape = (n_questions, -1, n_levels)
    if whole:
        place = order.reshape(shape)
        whole = bool((levels[place] == np.arange(n_levels)).all())
        whole = whole and bool((np.ptp(row[place], axis=2) == 0).all())
        whole = whole and bool((question[place] == np.arange(n_questions)[:, None, None]).all())
    if not whole:
        raise KatayoriError("a row lacks a level; keep the rows in which every level is answered")
    return _Rows(place, frame["exposure"].to_numpy(float)[place])


def _slopes(rows: _Rows, values: np.ndarray) -> np.ndarray:
    """Slope of the value on the exposure inside rows, one a question."""
    exposure = rows.exposure - rows.exposure.mean(axis=2, keepdims=True)
    across = (exposure * rows.cells(values)).sum(axis=(1, 2))
    return across / (exposure**2).sum(axis=(1, 2))


def rejects_any_effect(
    answers: np.ndarray, rng: np.random.Generator, exchanges: int = EXCHANGES
) -> float:
    """Whether `exchange_test` says any effect at level .05: 1, 0, or NaN where nothing varies.

    Exchanges end as soon as too many reach the observed value: the decision is that of all.

    Args:
        answers: questions x rows x levels, every cell answered.
        rng: of the exchanges.
        exchanges: at most.

    Example:
        >>> answers = np.zeros((8, 5, 3))
        >>> answers[:, :, 0] = 1
        >>> rejects_any_effect(answers, np.random.default_rng(0))
        1.0
    """
    flat = answers.reshape(-1, answers.shape[2])
    moving = np.ptp(flat, axis=1) > 0
    if not moving.any():
        return np.nan
    residual = flat - flat.mean(axis=1, keepdims=True)

    def statistic(values: np.ndarray) -> float:
        return float((values.reshape(answers.shape).sum(axis=1) ** 2).sum())

    observed = statistic(residual) * TIE
    most = int(np.floor(LEVEL * (1 + exchanges) + 1e-9)) - 1
    extreme = 0
    for _ in range(exchanges):
        extreme += statistic(rng.permuted(residual, axis=1)) >= observed
        if extreme > most:
            return 0.0
    return 1.0


def rejects_common_direction(
    answers: np.ndarray, rng: np.random.Generator, exchanges: int = EXCHANGES
) -> float:
    """Whether `exchange_test` says a common direction at level .05; NaN with too few questions.

    Args:
        answers: questions x rows x levels, every cell answered.
        rng: of the exchanges.
        exchanges: all at once.

    Example:
        >>> answers = np.zeros((8, 5, 3))
        >>> answers[:, :, 0] = 1
        >>> rejects_common_direction(answers, np.random.default_rng(0))
        nan
    """
    means = (answers - answers.mean(axis=2, keepdims=True)).mean(axis=1)
    moving = int((np.abs(means) > 1e-12).any(axis=1).sum())
    if moving < max(FEW_QUESTIONS, 2 * answers.shape[2]):
        return np.nan
    chance = rng.random((exchanges, *means.shape))
    drawn = np.take_along_axis(
        np.broadcast_to(means, chance.shape), chance.argsort(axis=-1), axis=-1
    )
    extreme = int((_hotelling(drawn) >= float(_hotelling(means)) * TIE).sum())
    return float((1 + extreme) / (1 + exchanges) <= LEVEL + 1e-12)


def exchange_statistic(
    frame: pd.DataFrame, level: str, test: str = "any_effect", exchanges: int = EXCHANGES
) -> Statistic:
    """An exchange test of an attribute, with the mean difference in the answer beside it.

    The estimate is the slope of the answer on the exposure inside rows, its mean over questions and
    its interval over questions (t). With exposure 1 for one level and 0 for the others it is the
    difference between that level and the others.

    Args:
        frame: of `spike.YesNo`; every row has every level.
        level: column of the attribute that is tested.
        test: `any_effect` or `common_direction`.
        exchanges: of each test.

    Raises:
        KatayoriError: an unknown test, or a row that lacks a level.
    """
    expect(test, TESTS, "test")
    rows = _rows_of(frame, level)
    rejects = rejects_any_effect if test == "any_effect" else rejects_common_direction

    def found(drawn: pd.DataFrame, rng: np.random.Generator) -> Found:
        values = drawn["value"].to_numpy(float)
        interval = mean_interval(_slopes(rows, values).tolist())
        return _with_interval(interval, rejects(rows.cells(values), rng, exchanges))

    def expected(planted: pd.DataFrame) -> float:
        return float(_slopes(rows, planted["value"].to_numpy(float)).mean())

    return Statistic(found, expected, "difference in P(yes)")


# -- sums over clusters ----------------------------------------------------------------------------


def clustered_mean(unit: str) -> Statistic:
    """A statistic that is linear in the values: the mean over clusters of sum weight x value.

    Rejects where its interval over clusters (t) leaves out 0. A bias in nats is the case with the
    weights 1/4 for negative and -1/4 for other questions, one pair a template in both orders of
    mention. A cluster with a missing value has none.

    Args:
        unit: of the estimate.

    The frame has `cluster`, `value` and `weight`.
    """

    def contributions(frame: pd.DataFrame) -> np.ndarray:
        product = frame["value"].to_numpy(float) * frame["weight"].to_numpy(float)
        return np.bincount(frame["cluster"].to_numpy(), product)

    def found(frame: pd.DataFrame, _: np.random.Generator) -> Found:
        interval = mean_interval(contributions(frame).tolist())
        return _with_interval(interval, _outside(interval))

    def expected(frame: pd.DataFrame) -> float:
        return float(np.nanmean(contributions(frame)))

    return Statistic(found, expected, unit)


# -- choices among options -------------------------------------------------------------------------


def choice_difference(reading: str, up: str, down: str, *, soft: bool = False) -> Statistic:
    """How much oftener one role is chosen than another, in points, under a reading of the letters.

    Rejects where its interval over clusters leaves out 0. For letters that are drawn the
    expectation is read from the probabilities.

    Args:
        reading: `letter`, `probability`, `calibrated` or `permuted`, see `position_free`.
        up, down: the two roles.
        soft: the difference of the soft scores in place of the decisions (not for letters).

    The frame is that of `spike.Choices`, of one model and prompt.
    """
    expect(reading, READINGS, "reading")
    if soft and reading == "letter":
        raise KatayoriError("letters have no soft score; take the reading probability")

    def scores(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        if reading == "permuted":
            return _permuted_scores(frame, up, down, soft=soft)
        values = _values(frame, reading)
        side = _sides(frame, up, down)
        score = (_softmax(values) * side).sum(axis=1) if soft else _decided(values, side)
        return score, frame["cluster"].to_numpy()

    def found(frame: pd.DataFrame, _: np.random.Generator) -> Found:
        score, cluster = scores(frame)
        kept = np.isfinite(score)
        size = int(frame["cluster"].max()) + 1
        sums = np.bincount(cluster[kept], 100 * score[kept], size)
        counts = np.bincount(cluster[kept], minlength=size)
        interval = ratio_interval(sums.tolist(), counts.tolist())
        return _with_interval(interval, _outside(interval))

    def expected(frame: pd.DataFrame) -> float:
        chances = _softmax(_values(frame, "probability"))
        return float(100 * np.nanmean((chances * _sides(frame, up, down)).sum(axis=1)))

    return Statistic(found, expected, "points")


def forced_share(up: str, down: str) -> Statistic:
    """The same difference of letters of two options, tested as a share of forced choices is.

    Rejects where the interval of the share of `up` over clusters (`share_interval`, which
    never takes answers as more than independent) leaves out one half.

    Args:
        up, down: the two roles.

    The frame is that of `spike.Choices`, of one model and prompt.

    Example:
        >>> roles = {"role_0": ["good", "bad"] * 8, "role_1": ["bad", "good"] * 8}
        >>> frame = pd.DataFrame(roles).assign(cluster=np.repeat(range(8), 2), p_0=0.8, p_1=0.2)
        >>> frame["answer"] = ["0", "1"] * 8
        >>> found = forced_share("good", "bad").found(frame, np.random.default_rng(0))
        >>> found.value, found.reject
        (100.0, 1.0)
    """
    difference = choice_difference("letter", up, down)

    def found(frame: pd.DataFrame, _: np.random.Generator) -> Found:
        score = _decided(_values(frame, "letter"), _sides(frame, up, down))
        kept = np.isfinite(score)
        cluster = frame["cluster"].to_numpy()
        size = int(cluster.max()) + 1
        hits = np.bincount(cluster[kept], (1 + score[kept]) / 2, size)
        counts = np.bincount(cluster[kept], minlength=size)
        interval = share_interval(hits.tolist(), counts.tolist())
        names = ("value", "ci_low", "ci_high")
        in_points = {name: 200 * (interval[name] - 0.5) for name in names}
        return _with_interval(in_points, _outside(in_points))

    return Statistic(found, difference.expected, difference.unit)


def _sides(frame: pd.DataFrame, up: str, down: str) -> np.ndarray:
    """1 where the role `up` stands, -1 where `down` does, else 0 (rows x places)."""
    roles = frame[[f"role_{place}" for place in places_of(frame)]].to_numpy(object)
    return (roles == up).astype(float) - (roles == down).astype(float)


def _values(frame: pd.DataFrame, reading: str) -> np.ndarray:
    """What is compared over the places (rows x places); NaN throughout where it is not known."""
    if reading == "probability":
        return log_probabilities(frame)
    if reading == "calibrated":
        return calibrated_log_probabilities(frame)[0]
    written = pd.to_numeric(frame["answer"], errors="coerce").to_numpy(float)[:, None]
    places = np.arange(len(places_of(frame)))
    return np.where(np.isnan(written), np.nan, (written == places).astype(float))


def _softmax(values: np.ndarray) -> np.ndarray:
    weight = np.exp(values - values.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)


def _decided(values: np.ndarray, side: np.ndarray) -> np.ndarray:
    """The side of the highest value; 0 where two share it, NaN where it is not known."""
    highest = values == values.max(axis=1, keepdims=True)
    alone = highest.sum(axis=1) == 1
    score = np.where(alone, (highest * side).sum(axis=1), 0.0)
    return np.where(np.isnan(values).any(axis=1), np.nan, score)


def _permuted_scores(
    frame: pd.DataFrame, up: str, down: str, *, soft: bool
) -> tuple[np.ndarray, np.ndarray]:
    """As `position_free.permuted`, one score a base item of each copy of a cluster."""
    places = places_of(frame)
    flat, names = pd.factorize(frame[[f"role_{n}" for n in places]].to_numpy(object).ravel())
    roles = flat.reshape(len(frame), len(places))
    logp = log_probabilities(frame)
    # Copies of a template have the same base items.
    item = frame.groupby(["cluster", "base_id"], sort=False).ngroup().to_numpy()
    order = (roles * len(names) ** np.arange(len(places))).sum(axis=1)
    told = pd.DataFrame({"item": item, "order": order}).drop_duplicates()["item"]
    whole = np.bincount(told) == math.factorial(len(places))
    by_role = np.where(roles[:, :, None] == np.arange(len(names)), logp[:, :, None], 0.0).sum(
        axis=1
    )
    sums = np.stack([np.bincount(item, one) for one in by_role.T], axis=1)
    values = np.where(whole[:, None], sums / np.bincount(item)[:, None], np.nan)
    side = np.broadcast_to((names == up) * 1.0 - (names == down) * 1.0, values.shape)
    score = (_softmax(values) * side).sum(axis=1) if soft else _decided(values, side)
    first = np.unique(item, return_index=True)[1]
    return score, frame["cluster"].to_numpy()[first]
