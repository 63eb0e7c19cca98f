"""Power and false positives of the tests of one factor, beside a second attribute that matters.

A study asks questions about people of several ages, three genders and five races, one sampled
answer (0 or 1) a cell. An effect of gender is planted, with an effect of age beside it. Without an
effect of gender, respondents hesitate, are decided, or nearly always say the same; with one they
hesitate, and age has an effect of .3. Every study is tested by

- the exchange tests of `katayori.metrics.exchange`: any effect, and a common direction;
- the older test that deals all answers of a question over all of its cells. Its null hypothesis is
  that no attribute matters at all, so it is blind to gender as soon as age matters.

All cells are answered and answers are 0 or 1, so the exchange inside rows has a short way: of a
row with one yes of three, the yes falls on each level with chance 1/3. The number of yes by level
is then multinomial, and a study of 9,450 answers is exchanged in no time. The tests hold this way
and `exchange_test` together.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from katayori.metrics.exchange import FEW_QUESTIONS, TIE, _hotelling

LEVEL = 0.05
DRAWS = 199
#: Dealing whole questions is slow; 39 draws attain the level exactly too.
GLOBAL_DRAWS = 39
GENDERS = 3
RACES = 5
#: Which level of gender goes where, in every order.
ORDERS = np.array(list(itertools.permutations(range(GENDERS))))
REPETITIONS = 50
SHAPES = ("hesitant", "decided", "near constant")
ANY = "any effect: exchanged inside rows"
DIRECTION = "common direction: labels exchanged by question"
GLOBAL = "no attribute matters: answers dealt over a question"
PROMISES = {ANY: "level", DIRECTION: "level", GLOBAL: "level where no attribute matters"}


def base_chances(rng: np.random.Generator, shape: str, studies: int, questions: int) -> np.ndarray:
    """P(yes) of each question of each study (studies x questions), before any effect.

    hesitant: uniform on .2 to .8; decided: Beta(.2, .2), most near 0 or 1; near constant: .0025
    in every question of one half of the studies, .9975 in the other half.
    """
    if shape == "hesitant":
        return rng.uniform(0.2, 0.8, (studies, questions))
    if shape == "decided":
        return np.clip(rng.beta(0.2, 0.2, (studies, questions)), 1e-6, 1 - 1e-6)
    either = np.where(np.arange(studies) % 2, 0.9975, 0.0025)
    return np.repeat(either[:, None], questions, axis=1)


def answers(
    rng: np.random.Generator,
    shape: str,
    effects: tuple[float, float],
    size: tuple[int, int, int],
) -> np.ndarray:
    """Sampled answers of all cells: studies x questions x ages x races x genders, True = yes.

    Args:
        rng: the generator.
        shape: of P(yes), see `base_chances`.
        effects: of gender and of age: log odds move by 4 x effect between the outer levels, which
            is a difference of about `effect` in P(yes) where P(yes) is near one half. Gender works
            alike in all questions, age one way or the other.
        size: studies, questions, ages.
    """
    studies, questions, ages = size
    odds = logit(base_chances(rng, shape, studies, questions))[:, :, None, None, None]
    which_way = rng.choice([-1.0, 1.0], (studies, questions, 1, 1, 1))
    by_age = np.linspace(-0.5, 0.5, ages)[:, None, None]
    by_gender = np.array([-0.5, 0.0, 0.5])
    odds = odds + 4 * effects[1] * which_way * by_age + 4 * effects[0] * by_gender
    return rng.random((studies, questions, ages, RACES, GENDERS)) < expit(odds)


def any_effect_p(yes: np.ndarray, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """p of `exchange_test`'s any effect for one study (questions x rows x genders); NaN: constant.

    The yes answers of a question stay as many, so S1 grows with the sum of squared counts by
    level, which are whole numbers: no tie is lost to rounding.
    """
    of_row = yes.sum(axis=-1)
    if not ((of_row > 0) & (of_row < GENDERS)).any():
        return np.nan
    one, two = (of_row == 1).sum(axis=-1), (of_row == 2).sum(axis=-1)
    always = (of_row == GENDERS).sum(axis=-1)[:, None]
    thirds = np.full(GENDERS, 1 / GENDERS)
    size = (draws, len(one))
    lone_yes = rng.multinomial(one, thirds, size)
    lone_no = rng.multinomial(two, thirds, size)
    counts = always + lone_yes + two[:, None] - lone_no
    drawn = (counts**2).sum(axis=(1, 2))
    observed = (yes.sum(axis=1) ** 2).sum()
    return (1 + (drawn >= observed).sum()) / (1 + draws)


def direction_p(yes: np.ndarray, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """p of `exchange_test`'s common direction for one study; NaN with too few moving questions."""
    counts = yes.sum(axis=1)
    means = (counts - counts.mean(axis=1, keepdims=True)) / yes.shape[1]
    moving = (np.ptp(counts, axis=1) > 0).sum()
    if moving < max(FEW_QUESTIONS, 2 * GENDERS):
        return np.nan
    order = ORDERS[rng.integers(len(ORDERS), size=(draws, len(means)))]
    exchanged = np.take_along_axis(np.broadcast_to(means, order.shape), order, axis=-1)
    observed = float(_hotelling(means))
    return (1 + (_hotelling(exchanged) >= observed * TIE).sum()) / (1 + draws)


def global_p(yes: np.ndarray, rng: np.random.Generator, draws: int = GLOBAL_DRAWS) -> float:
    """p of "no attribute matters" for one study: alpha is low when rows hold both answers.

    All answers of a question are dealt over its cells; the share of draws whose rows disagree at
    least as much as the observed ones. NaN where all answers are alike.
    """
    if yes.all() or not yes.any():
        return np.nan
    flat = yes.reshape(len(yes), -1)
    observed = disagreement(yes)
    extreme = 0
    for _ in range(draws):
        dealt = rng.permuted(flat, axis=1).reshape(yes.shape)
        extreme += disagreement(dealt) >= observed
    return (1 + extreme) / (1 + draws)


def disagreement(yes: np.ndarray) -> int:
    """Sum over rows of yes times no."""
    of_row = yes.sum(axis=-1)
    return int((of_row * (GENDERS - of_row)).sum())


def draws(
    shape: str, effects: tuple[float, float], size: tuple[int, int], seed: int
) -> list[dict[str, Any]]:
    """A row a test of one batch: positives among the repetitions.

    `effects` are those of gender and of age, `size` questions and cells a question.
    """
    effect, other_effect = effects
    questions, per = size
    about = [round(1000 * effect), round(1000 * other_effect), SHAPES.index(shape)]
    rng = np.random.default_rng([seed, *about, int(effect > 0), questions, per])
    yes = answers(rng, shape, effects, (REPETITIONS, questions, per // (GENDERS * RACES)))
    studies = yes.reshape(REPETITIONS, questions, -1, GENDERS)
    rows = []
    for test, p_of in {ANY: any_effect_p, DIRECTION: direction_p, GLOBAL: global_p}.items():
        p = np.array([p_of(study, rng) for study in studies])
        row: dict[str, Any] = {"measure": "factor", "test": test, "promises": PROMISES[test]}
        row |= {"shape": shape, "other_effect": other_effect}
        row["planted"] = "common" if effect else "none"
        row |= {"effect": effect, "clusters": questions, "per_cluster": per}
        row |= {"n": questions * per, "seed": seed, "repetitions": REPETITIONS}
        row |= {"positives": int((p <= LEVEL + 1e-12).sum()), "undefined": int(np.isnan(p).sum())}
        rows.append(row)
    return rows


def cells() -> list[tuple[str, tuple[float, float], tuple[int, int]]]:
    """Every cell of the table: shape, effects of gender and age, size."""
    planted = [(shape, (0.0, other)) for shape in SHAPES for other in (0.0, 0.3, 0.5)]
    planted += [("hesitant", (effect, 0.3)) for effect in (0.05, 0.1, 0.2)]
    sizes = itertools.product((70, 35, 14), (135, 45))
    return [(*one, size) for one, size in itertools.product(planted, sizes)]


def table() -> pd.DataFrame:
    """All batches; more where there is nothing to find: a rate near the level needs small error."""
    batches = [(cell, range(2 if cell[1][0] else 10)) for cell in cells()]
    rows = [draws(*cell, seed) for cell, seeds in batches for seed in seeds]
    return pd.DataFrame([row for batch in rows for row in batch])


if __name__ == "__main__":
    table().to_csv(Path(__file__).with_suffix(".csv"), index=False, float_format="%.10g")
