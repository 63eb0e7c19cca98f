"""The long simulations of yes or no about persons: rank tests, and what recorded P(yes) detect."""

import itertools
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from katayori.frames import by_factor
from katayori.metrics import exchange_tests, ranks, spike_statistics
from katayori.metrics.spike import Recorded, Statistic, YesNo
from katayori.papers import discrim_eval
from katayori.prompting.parsing import option_probabilities
from katayori_tools.simulate_methods import EXCHANGES, Method, Shard, steps
from katayori_tools.simulate_power import PROMISED, Curves, Found, _below, _design

#: The factors that are tested in each question, with their attributes.
TESTED = {name: [name] for name in ("age", "gender", "race")} | {"gender_race": ["gender", "race"]}


def draw_rank_tests(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """One question with P(yes) near one half; two genders differ by `effect`. Every repetition is a question.

    Holm over the four factors promises at most the level for all of them together; chi-square approximates H.
    """
    frame = _design(repetitions, per // 15, clusters)
    chance = 0.5 + effect / 2 * (frame["gender"] - 1)
    frame["value"] = (rng.random(len(frame)) < chance).astype(float)
    question = "decision_question_id"
    long = by_factor(frame, TESTED)
    tests = ranks.kruskal(long, value="value", level="level", by=[question, "factor"])
    tests = ranks.adjust(tests, p="p", family=question)
    p = tests.pivot(index=question, columns="factor", values="p_holm")
    return {
        "planted factor after Holm": _below(p["gender"]),
        "any of four factors after Holm": _below(p.min(axis=1)),
    }


CURVES = {
    "rank_tests": Curves(
        draw_rank_tests,
        clusters=(1,),
        per_cluster=(135, 75, 45),
        effects=(0, 0.15, 0.3, 0.45),
        promises={
            "planted factor after Holm": PROMISED,
            "any of four factors after Holm": PROMISED,
        },
        repetitions=100,
    ),
}

# -- P(yes) of questions about persons -------------------------------------------------------------

#: Each factor with the column of its levels, those that make a row, and a second attribute.
FACTORS = {
    "age": ("age", ("gender", "race"), "gender"),
    "gender": ("gender", ("age", "race"), "age"),
    "race": ("race", ("age", "gender"), "age"),
}


@lru_cache
def _p_yes(shard: Shard) -> pd.DataFrame:
    """P(yes) of P(yes) + P(no), one row a prompt of the study set."""
    found = []
    for row in shard.rows():
        p = option_probabilities(row["top"], ("yes", "no"))
        found.append({"item_id": row["item_id"], "p": p["yes"] / p["mass"]})
    items = discrim_eval.load_study().rename(columns={"decision_question_id": "question"})
    columns = ["item_id", "question", "age", "gender", "race"]
    return pd.DataFrame(found).merge(items[columns], on="item_id", validate="one_to_one")


def _pattern(column: pd.Series) -> np.ndarray:
    """How a shift lies over levels: straight from -1/2 to 1/2 over ages, else one level (1)."""
    codes, levels = pd.factorize(column, sort=True)
    if pd.api.types.is_numeric_dtype(column):
        return codes / (len(levels) - 1) - 0.5
    return (codes == 0).astype(float)


def _persons(shard: Shard, *, factor: str, sampled: bool) -> YesNo:
    level, beside, other = FACTORS[factor]
    values = _p_yes(shard)
    row = values[beside[0]].astype(str) + "-" + values[beside[1]].astype(str)
    frame = values[["question", "p"]].assign(
        row=row,
        level=values[level],
        exposure=_pattern(values[level]),
        second_exposure=_pattern(values[other]),
    )
    return YesNo(frame, sampled=sampled)


def _exchange(recorded: Recorded, *, test: str) -> Statistic:
    assert isinstance(recorded, YesNo)
    return spike_statistics.exchange_statistic(recorded.frame, "level", test, EXCHANGES)


def _of_persons() -> dict[str, Method]:
    found = {}
    kinds = {"sampled": (0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8)}
    kinds["P(yes)"] = (0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
    code: tuple[Callable, ...] = (
        *steps(YesNo),
        spike_statistics.exchange_statistic,
        spike_statistics.rejects_any_effect,
        spike_statistics.rejects_common_direction,
        spike_statistics._slopes,
        exchange_tests._hotelling,
    )
    for factor, (kind, shifts), test in itertools.product(
        FACTORS, kinds.items(), spike_statistics.TESTS
    ):
        found[f"{factor}, {kind}, {test}"] = Method(
            shard=lambda model: Shard("discrim_eval", model, "de_answer_prefix"),
            recorded=partial(_persons, factor=factor, sampled=kind == "sampled"),
            statistic=partial(_exchange, test=test),
            shifts=shifts,
            second=1.2,
            code=code,
        )
    return found


METHODS = _of_persons()
