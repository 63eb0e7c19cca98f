"""The long simulations of variation, and of two models that answer the same cases."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import chi2_contingency

from katayori.metrics import shares
from katayori.metrics.sign_swap import sign_swap_test
from katayori.metrics.variation import varies
from katayori_tools.simulate_power import (
    ALONE,
    PROMISED,
    Curves,
    Found,
    _below,
    _choices,
    _outside,
)

#: How the variants of a case go together.
AGREE, BALANCED = "variants agree", "counterbalanced"
#: Tests and what they promise; the paper's chi-square takes all answers as independent.
TESTS = {"exchange over cases": PROMISED, "chi-square over answers": ALONE}
#: Log odds of the letter A, whatever stands behind it.
LEAN = 1.2


def draw_variation(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Cases vary with the order of the options at a rate of 0.3 + `effect`; the others keep a role.

    The interval over cases promises to miss the planted rate in at most the level; power: it leaves
    out 0.3.
    """
    unsteady = rng.random((repetitions, clusters, 1)) < 0.3 + effect
    steady = rng.random(unsteady.shape) < 0.5  # keeps to the neutral role
    frame = _choices(rng, np.where(unsteady, np.arange(per) % 2, steady), per)
    cases = varies(frame, value="choice", unit="case_id", by="model")
    found = shares.share(cases, value="varies", kind="share", by="model", cluster="case_id")
    return {"interval over cases": _outside(found["ci_low"], found["ci_high"], 0.3)}


def agreeing(rng: np.random.Generator, accuracy: float, shape: tuple[int, int, int]) -> np.ndarray:
    """Chance of the neutral reason: each case is mostly right or mostly wrong, in all variants."""
    of_cases = rng.beta(1.5 * accuracy, 1.5 * (1 - accuracy), shape[:2])
    return np.broadcast_to(of_cases[:, :, None], shape)


def counterbalanced(accuracy: float, shape: tuple[int, int, int]) -> np.ndarray:
    """Chance of the neutral reason: the lean helps where it is A and harms where it is B.

    Every case has the same accuracy over both orders.
    """
    # Odds x without a lean, of which (x k + 2 x^2) / (1 + x k + x^2) is twice the accuracy.
    k, part = 2 * np.cosh(LEAN), 1 - 2 * accuracy
    root = np.sqrt((k * part) ** 2 + 16 * accuracy * (1 - accuracy))
    odds = (root - k * part) / (4 * (1 - accuracy))
    of_orders = expit(np.log(odds) + LEAN * np.array([1, -1]))
    return np.broadcast_to(of_orders[np.arange(shape[2]) % 2], shape)


def p_chi_square(hits: np.ndarray, answers: int) -> float:
    """p of the paper's test of two models over all answers; NaN where all answers are alike."""
    total = hits.sum()
    if total in (0, 2 * answers):
        return np.nan
    return float(chi2_contingency([hits, answers - hits], correction=False).pvalue)


def compared(rng: np.random.Generator, chances: Sequence[np.ndarray], design: str) -> Found:
    """Both tests of two models that name the neutral reason by these chances, for each repetition.

    Args:
        chances: of each model (shape: repetitions x cases x variants). design: in words.
    """
    sums = [(rng.random(chance.shape) < chance).sum(axis=2) for chance in chances]
    swapped = [sign_swap_test(one, int(rng.integers(2**31)))["p"] for one in sums[1] - sums[0]]
    answers = chances[0][0].size
    tested = [p_chi_square(hits, answers) for hits in np.stack(sums).sum(axis=2).T]
    found = zip(TESTS, (swapped, tested), strict=True)
    return {f"{test}, {design}": _below(p) for test, p in found}


def draw_case_accuracy(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Accuracies .6 and .6 + `effect`; each model has cases it mostly gets right and mostly fails.

    The exchange of both models inside each case promises its level. Chi-square promises nothing
    here: it takes the variants of a case as independent, and alarms too often.
    """
    shape = (repetitions, clusters, per)
    return compared(rng, [agreeing(rng, mean, shape) for mean in (0.6, 0.6 + effect)], AGREE)


def draw_case_accuracy_counterbalanced(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Accuracies .5 and .5 + `effect`, alike in all cases; both models lean to the letter A.

    Chi-square alarms too rarely: the lean makes the share of each case steadier than independent
    answers would.
    """
    shape = (repetitions, clusters, per)
    return compared(rng, [counterbalanced(mean, shape) for mean in (0.5, 0.5 + effect)], BALANCED)


SIZES: dict[str, Any] = {"clusters": (36, 18, 9), "per_cluster": (8,), "repetitions": 1000}
CURVES = {
    "variation": Curves(
        draw_variation,
        clusters=(36, 18, 9),
        per_cluster=(8,),
        effects=(0, 0.1, 0.2, 0.4),
        promises={"interval over cases": PROMISED},
    ),
    "case_accuracy": Curves(
        draw_case_accuracy,
        effects=(0, 0.1, 0.2),
        promises={f"{test}, {AGREE}": promise for test, promise in TESTS.items()},
        **SIZES,
    ),
    "case_accuracy_counterbalanced": Curves(
        draw_case_accuracy_counterbalanced,
        # The recorded models differ by .06.
        effects=(0, 0.06, 0.12),
        promises={f"{test}, {BALANCED}": promise for test, promise in TESTS.items()},
        **SIZES,
    ),
}
