"""The long simulations of scores of forced choices: variation over variants, two models."""

import numpy as np

from katayori.papers.jubaku_v2 import scores as forced_choice
from katayori_tools.simulate_power import (
    ALONE,
    PROMISED,
    Curves,
    Found,
    _below,
    _choices,
    _outside,
)


def draw_variation(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Cases vary with the order of the options at a rate of 0.3 + `effect`; the others keep to one role.

    The exact interval over cases promises to miss the planted rate in at most the level; power: it leaves out 0.3.
    """
    unsteady = rng.random((repetitions, clusters, 1)) < 0.3 + effect
    steady = rng.random(unsteady.shape) < 0.5  # keeps to the neutral role
    found = forced_choice.variation_rate(
        _choices(rng, np.where(unsteady, np.arange(per) % 2, steady), per)
    )
    return {"exact interval over cases": _outside(found["ci_low"], found["ci_high"], 0.3)}


def draw_case_accuracy(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Two models with accuracies 0.6 and 0.6 + `effect`; each has cases it mostly gets right and cases it mostly fails.

    The test that exchanges the models case by case promises its level; the paper's chi-square over all answers takes
    the variants of a case as independent and promises nothing here.
    """
    p_cluster, p_chi2 = [], []
    for _ in range(repetitions):
        chance = [
            rng.beta(1.5 * mean, 1.5 * (1 - mean), (1, clusters, 1)) for mean in (0.6, 0.6 + effect)
        ]
        frame = _choices(rng, np.concatenate(chance), per).replace(
            {"model": {0: "base", 1: "other"}}
        )
        found = forced_choice.compare_models(frame, "base", int(rng.integers(2**31))).iloc[0]
        p_cluster.append(found["p_cluster"])
        p_chi2.append(found.get("p_chi2", np.nan))
    return {"exchange over cases": _below(p_cluster), "chi-square over answers": _below(p_chi2)}


CURVES = {
    "variation": Curves(
        draw_variation,
        clusters=(27, 18, 9),
        per_cluster=(8,),
        effects=(0, 0.1, 0.2, 0.4),
        promises={"exact interval over cases": PROMISED},
    ),
    "case_accuracy": Curves(
        draw_case_accuracy,
        clusters=(27, 18, 9),
        per_cluster=(8, 4),
        effects=(0, 0.1, 0.2, 0.3),
        promises={"exchange over cases": PROMISED, "chi-square over answers": ALONE},
    ),
}
