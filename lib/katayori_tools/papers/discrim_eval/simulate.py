"""The power of the rank tests of yes or no about persons."""

import numpy as np

from katayori.metrics import ranks
from katayori.metrics.factors import by_factor
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
