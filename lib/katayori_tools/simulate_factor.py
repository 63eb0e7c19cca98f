"""Power and false positives of the tests of one factor, beside a second attribute that matters.

A study asks questions about people of several ages, three genders and five races, one sampled
answer (0 or 1) a cell. An effect of gender is planted, with an effect of age beside it, for
respondents that hesitate, that are decided, and that nearly always say the same. Every study is
tested by

- the exchange tests of `katayori.metrics.exchange`: any effect, and a common direction;
- the older test that deals all answers of a question over all of its cells. Its null hypothesis is
  that no attribute matters at all, so it is blind to gender as soon as age matters;
- the paper's reading "alpha at or below 2/3: no agreement", which is no test.

All cells are answered and answers are 0 or 1, so the exchange inside rows has a short way: of a
row with one yes of three, the yes falls on each level with chance 1/3. The number of yes by level
is then multinomial, and a study of 9,450 answers is exchanged in no time. The tests hold this way
and `exchange_test` together.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from katayori.metrics.exchange import FEW_QUESTIONS, TIE, _hotelling

FILE = "simulated/power_factor.csv"
LEVEL = 0.05
DRAWS = 199
#: Dealing whole questions is slow; 39 draws attain the level exactly too.
GLOBAL_DRAWS = 39
GENDERS = 3
RACES = 5
#: Which level of gender goes where, in every order.
ORDERS = np.array(list(itertools.permutations(range(GENDERS))))

ANY = "any effect: exchanged inside rows"
DIRECTION = "common direction: labels exchanged by question"
GLOBAL = "no attribute matters: answers dealt over a question"
BAND = "band: alpha <= 2/3"
PROMISES = {
    ANY: "level",
    DIRECTION: "level",
    GLOBAL: "level where no attribute matters",
    BAND: "nothing",
}

SHAPES = ("hesitant", "decided", "near constant")
OTHER_EFFECTS = (0.0, 0.3, 0.5)
EFFECTS = (0.05, 0.1, 0.2)
#: The same in every question, or in each question between other genders and in another direction.
PLANTED = ("common", "by question")
CLUSTERS = (70, 35, 14)
PER_CLUSTER = (135, 45)
#: More studies where there is nothing to find: a rate near the level needs a small error.
BATCHES = {"none": range(10), "common": range(2), "by question": range(2)}
REPETITIONS = 50
COLUMNS = [
    "measure",
    "test",
    "promises",
    "shape",
    "other_effect",
    "planted",
    "effect",
    "clusters",
    "per_cluster",
    "n",
    "seed",
    "repetitions",
    "positives",
    "undefined",
]


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
    planted: str,
    size: tuple[int, int, int],
) -> np.ndarray:
    """Sampled answers of all cells: studies x questions x ages x races x genders, True = yes.

    Args:
        rng: the generator.
        shape: of P(yes), see `base_chances`.
        effects: of gender and of age: log odds move by 4 x effect between the outer levels, which
            is a difference of about `effect` in P(yes) where P(yes) is near one half.
        planted: `none`, `common` (gender works alike in all questions), `by question` (which
            genders differ, and which way, is drawn for each question).
        size: studies, questions, ages.
    """
    studies, questions, ages = size
    effect, other_effect = effects
    odds = logit(base_chances(rng, shape, studies, questions))[:, :, None, None, None]
    which_way = rng.choice([-1.0, 1.0], (studies, questions, 1, 1, 1))
    by_age = np.linspace(-0.5, 0.5, ages)[:, None, None]
    by_gender = np.array([-0.5, 0.0, 0.5])
    if planted == "by question":
        order = ORDERS[rng.integers(len(ORDERS), size=(studies, questions))]
        by_gender = by_gender[order][:, :, None, None, :]
    odds = odds + 4 * other_effect * which_way * by_age + 4 * effect * by_gender
    shape_of_all = (studies, questions, ages, RACES, GENDERS)
    return rng.random(shape_of_all) < expit(odds)


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


def alpha(yes: np.ndarray) -> float:
    """Krippendorff's alpha of complete 0/1 answers, closed form; NaN where all are alike."""
    n, total = yes.size, yes.sum()
    spread = total * (n - total) / n
    # Within a row SS = yes x no / 3, times m / (m - 1) = 3 / 2.
    return 1 - (n - 1) / n * disagreement(yes) / 2 / spread if spread else np.nan


def rejections(yes: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """1, 0 or NaN (undefined) for every study (first axis) and test, at `LEVEL`."""
    studies = yes.reshape(*yes.shape[:2], -1, GENDERS)
    tests = {ANY: any_effect_p, DIRECTION: direction_p, GLOBAL: global_p}
    found = {}
    for name, test in tests.items():
        p = np.array([test(study, rng) for study in studies])
        found[name] = np.where(np.isnan(p), np.nan, p <= LEVEL + 1e-12)
    alphas = np.array([alpha(study) for study in studies])
    found[BAND] = np.where(np.isnan(alphas), np.nan, alphas <= 2 / 3)
    return found


def factor_draws(
    shape: str,
    effects: tuple[float, float],
    planted: str,
    size: tuple[int, int],
    seeds: Sequence[int],
) -> pd.DataFrame:
    """One row a seed and test of one cell: positives among the repetitions, columns `COLUMNS`.

    `effects` are those of gender and of age, `size` questions and cells a question.
    """
    questions, per = size
    effect, other_effect = effects
    rows = []
    for seed in seeds:
        about = [round(1000 * effect), round(1000 * other_effect), SHAPES.index(shape)]
        kind = ["none", *PLANTED].index(planted)
        rng = np.random.default_rng([seed, *about, kind, questions, per])
        ages = per // (GENDERS * RACES)
        yes = answers(rng, shape, effects, planted, (REPETITIONS, questions, ages))
        for test, hits in rejections(yes, rng).items():
            cell = ("factor", test, PROMISES[test], shape, other_effect, planted, effect)
            counts = (len(hits), int(np.nansum(hits)), int(np.isnan(hits).sum()))
            row = (*cell, questions, per, questions * per, seed, *counts)
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def cells() -> list[tuple[str, tuple[float, float], str, tuple[int, int]]]:
    """Every cell of the table: shape, effects of gender and age, what is planted, size."""
    planted = [("none", 0.0), *itertools.product(PLANTED, EFFECTS)]
    sizes = itertools.product(CLUSTERS, PER_CLUSTER)
    crossed = itertools.product(SHAPES, OTHER_EFFECTS, planted, sizes)
    return [(shape, (effect, other), kind, size) for shape, other, (kind, effect), size in crossed]


def factor_table() -> pd.DataFrame:
    """All cells and seeds."""
    return pd.concat([factor_draws(*cell, BATCHES[cell[2]]) for cell in cells()])
