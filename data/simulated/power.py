"""How often tests find an effect of planted size, and how often they find one where none is.

Draws power_rank_tests.csv, power_diff_bias.csv, power_concordance.csv, power_variation.csv,
power_case_accuracy.csv and power_case_accuracy_counterbalanced.csv. A row is a batch of repetitions
with a seed of its own. What is planted, and what the tests promise, stands in each `draw_`.
"""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import binomtest, chi2_contingency

from katayori.metrics import judges, ranks, shares
from katayori.metrics.factors import by_factor
from katayori.metrics.sign_swap import sign_swap_test
from katayori.metrics.variation import varies

LEVEL = 0.05
PROMISED = "level"
MANY = "level for many clusters"
ALONE = "level for independent answers"
#: 1 or 0 for every repetition by test, NaN where it is undefined.
Found = dict[str, np.ndarray]


class Curves(NamedTuple):
    """What is drawn of one measure; sizes: the paper's first, effects: 0 first."""

    draw: Callable[[np.random.Generator, float, tuple[int, int, int]], Found]
    clusters: tuple[int, ...]
    per_cluster: tuple[int, ...]
    effects: tuple[float, ...]
    promises: dict[str, str]
    repetitions: int = 20


def below(p: Any) -> np.ndarray:
    """1 where a test rejects at LEVEL, 0 where not, NaN where it is undefined."""
    p = np.asarray(p, float)
    return np.where(np.isnan(p), np.nan, p <= LEVEL + 1e-12)


def outside(found: pd.DataFrame, value: float = 0) -> np.ndarray:
    """1 where an interval leaves out the value, 0 where it holds it, NaN where it is undefined."""
    low, high = found["ci_low"], found["ci_high"]
    return np.where(low.isna(), np.nan, (low > value) | (high < value))


# -- 01 --------------------------------------------------------------------------------------------

#: The factors that are tested in each question, with their attributes.
TESTED = {name: [name] for name in ("age", "gender", "race")} | {"gender_race": ["gender", "race"]}


def draw_rank_tests(rng: np.random.Generator, effect: float, shape: tuple[int, int, int]) -> Found:
    """A question with P(yes) near one half; two genders differ by `effect`.

    Holm over the four factors promises at most the level for all of them together; chi-square
    approximates H.
    """
    questions, _, per = shape
    levels = [range(questions), range(per // 15), range(3), range(5)]
    frame = pd.DataFrame(itertools.product(*levels), columns=["question", "age", "gender", "race"])
    chance = 0.5 + effect / 2 * (frame["gender"] - 1)
    frame["value"] = (rng.random(len(frame)) < chance).astype(float)
    long = by_factor(frame, TESTED)
    tests = ranks.kruskal(long, value="value", level="level", by=["question", "factor"])
    tests = ranks.adjust(tests, p="p", family="question")
    p = tests.pivot(index="question", columns="factor", values="p_holm")
    return {
        "planted factor after Holm": below(p["gender"]),
        "any of four factors after Holm": below(p.min(axis=1)),
    }


# -- 02 --------------------------------------------------------------------------------------------

PERSON = 0.4  # of the answers name a person
PATTERNS = 9999  # of signs, drawn at most


def draw_diff_bias(rng: np.random.Generator, effect: float, shape: tuple[int, int, int]) -> Found:
    """Ambiguous items: Diff_a is `effect` under one prompt, 0 under the other; templates lean, too.

    Signs swapped over templates promise the level; the interval over templates promises it for many
    of them. The binomial test, for contrast, takes items as independent and promises nothing here.
    """
    own = rng.normal(0, 0.12, shape[:2])[:, :, None]
    sides = []
    for planted in (0.0, effect):
        lean = np.clip(0.5 + planted / PERSON / 2 + own, 0, 1)
        side = np.where(rng.random(shape) < lean, 1, -1)
        sides.append(np.where(rng.random(shape) < PERSON, side, 0))
    basic, other = sides
    model, template, _ = np.indices(shape).reshape(3, -1)
    frame = pd.DataFrame({"model": model, "template": template, "side": other.ravel()})
    named = {"value": "side", "kind": "mean", "by": "model", "cluster": "template"}
    changes = (other - basic).sum(axis=2) / (shape[1] * shape[2])
    seed = int(rng.integers(2**31))
    chosen = zip((other > 0).sum(axis=(1, 2)), (other != 0).sum(axis=(1, 2)), strict=True)
    return {
        "interval over templates": outside(shares.share(frame, **named)),
        "prompts swapped over templates": below([swapped_p(one, seed) for one in changes]),
        "binomial over items": below([binomtest(int(k), int(n)).pvalue for k, n in chosen]),
    }


def swapped_p(changes: np.ndarray, seed: int) -> float:
    """p of a sum whose parts may each change their sign; NaN where all parts are 0.

    Unlike `sign_swap_test` it draws a sign for the parts that are 0, too.
    """
    if np.abs(changes).max() < 1e-12:
        return np.nan
    observed = abs(changes.sum()) - 1e-12
    n = len(changes)
    if 2**n <= PATTERNS:
        signs = np.array(list(itertools.product([1.0, -1.0], repeat=n)))
        return float((np.abs(signs @ changes) >= observed).mean())
    signs = np.random.default_rng(seed).choice([1.0, -1.0], (PATTERNS, n))
    return float((1 + (np.abs(signs @ changes) >= observed).sum()) / (1 + PATTERNS))


# -- 03 --------------------------------------------------------------------------------------------


def judged(rng: np.random.Generator, effect: float, shape: tuple[int, int, int]) -> pd.DataFrame:
    """Verdicts of judges, and labels of three people, right in 85 % of cases.

    A judge's two orders differ on 27.5 % of the pairs. There BS2 says tie, and the averaged verdict
    is right more often by what makes the concordance of the averaged verdict exceed that of BS2 by
    `effect`; half of the pairs of a question go right or wrong together.

    Returns:
        a row a judge and pair: model, question, proposed, BS2 and the labels annotator_1 to
        annotator_3.
    """
    differ, right = 0.275, 0.85
    truth, names = rng.integers(0, 3, shape), np.array(judges.VERDICTS, dtype=object)
    wrong = (truth + rng.integers(1, 3, shape)) % 3
    shared = np.where(rng.random(shape) < 0.5, rng.random(shape[:2])[:, :, None], rng.random(shape))
    hit = 1 / 3 + effect / differ / (right - (1 - right) / 2)
    own, agree = np.where(shared < hit, truth, wrong), rng.random(shape) >= differ
    settled = np.where(agree, np.where(rng.random(shape) < 0.8, truth, wrong), own)
    model, question, _ = np.indices(shape).reshape(3, -1)
    frame = pd.DataFrame({"model": model, "question": question, "proposed": names[settled].ravel()})
    frame["BS2"] = frame["proposed"].where(agree.ravel(), "tie")
    for k in (1, 2, 3):
        other = (truth + rng.integers(1, 3, shape)) % 3
        said = np.where(rng.random(shape) < right, truth, other)
        frame[f"annotator_{k}"] = names[said].ravel()
    return frame


def gains(frame: pd.DataFrame) -> pd.DataFrame:
    """What the averaged verdict gains over BS2, a row a judge of `judged`."""
    people = ["annotator_1", "annotator_2", "annotator_3"]
    found = judges.concordance(
        frame, judge=["proposed", "BS2"], people=people, by="model", baseline="BS2"
    )
    return found[found["measure"] == "gain over BS2"]


def draw_concordance(rng: np.random.Generator, effect: float, shape: tuple[int, int, int]) -> Found:
    """Judges whose averaged verdict is right more often than BS2 by `effect`, see `judged`.

    The interval over questions promises its level for many questions only; the sign test takes
    comparisons as independent.
    """
    gain = gains(judged(rng, effect, shape))
    return {
        "interval over questions": outside(gain),
        "sign test over comparisons": below(gain["p_sign"]),
    }


# -- 04 --------------------------------------------------------------------------------------------

#: How the variants of a case go together.
AGREE, BALANCED = "variants agree", "counterbalanced"
#: Tests and what they promise; the paper's chi-square takes all answers as independent.
TESTS = {"exchange over cases": PROMISED, "chi-square over answers": ALONE}
#: Log odds of the letter A, whatever stands behind it.
LEAN = 1.2


def draw_variation(rng: np.random.Generator, effect: float, shape: tuple[int, int, int]) -> Found:
    """Cases vary with the order of the options at a rate of 0.3 + `effect`; the others keep a role.

    The interval over cases promises to miss the planted rate in at most the level; power: it leaves
    out 0.3.
    """
    unsteady = rng.random((*shape[:2], 1)) < 0.3 + effect
    steady = rng.random(unsteady.shape) < 0.5  # keeps to the neutral role
    neutral = rng.random(shape) < np.where(unsteady, np.arange(shape[2]) % 2, steady)
    model, case, _ = np.indices(shape).reshape(3, -1)
    frame = pd.DataFrame({"model": model, "case_id": case, "neutral": neutral.ravel()})
    cases = varies(frame, value="neutral", unit="case_id", by="model")
    found = shares.share(cases, value="varies", kind="share", by="model", cluster="case_id")
    return {"interval over cases": outside(found, 0.3)}


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


def chi_square_p(hits: np.ndarray, answers: int) -> float:
    """p of the paper's test of two models over all answers; NaN where all answers are alike."""
    if hits.sum() in (0, 2 * answers):
        return np.nan
    return float(chi2_contingency([hits, answers - hits], correction=False).pvalue)


def compared(rng: np.random.Generator, chances: list[np.ndarray], design: str) -> Found:
    """Both tests of two models that name the neutral reason by these chances.

    Args:
        chances: of each model (shape: repetitions x cases x variants). design: in words.
    """
    sums = [(rng.random(chance.shape) < chance).sum(axis=2) for chance in chances]
    swapped = [sign_swap_test(one, int(rng.integers(2**31)))["p"] for one in sums[1] - sums[0]]
    answers = chances[0][0].size
    tested = [chi_square_p(hits, answers) for hits in np.stack(sums).sum(axis=2).T]
    found = zip(TESTS, (swapped, tested), strict=True)
    return {f"{test}, {design}": below(p) for test, p in found}


def draw_case_accuracy(
    rng: np.random.Generator, effect: float, shape: tuple[int, int, int]
) -> Found:
    """Accuracies .6 and .6 + `effect`; each model has cases it mostly gets right and mostly fails.

    The exchange of both models inside each case promises its level. Chi-square promises nothing
    here: it takes the variants of a case as independent, and alarms too often.
    """
    return compared(rng, [agreeing(rng, mean, shape) for mean in (0.6, 0.6 + effect)], AGREE)


def draw_counterbalanced(
    rng: np.random.Generator, effect: float, shape: tuple[int, int, int]
) -> Found:
    """Accuracies .5 and .5 + `effect`, alike in all cases; both models lean to the letter A.

    Chi-square alarms too rarely: the lean makes the share of each case steadier than independent
    answers would.
    """
    return compared(rng, [counterbalanced(mean, shape) for mean in (0.5, 0.5 + effect)], BALANCED)


# -- the tables ------------------------------------------------------------------------------------

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
    "diff_bias": Curves(
        draw_diff_bias,
        clusters=(40, 16, 6),
        per_cluster=(48, 12),
        effects=(0, 0.03, 0.06, 0.12),
        promises={
            "prompts swapped over templates": PROMISED,
            "interval over templates": MANY,
            "binomial over items": ALONE,
        },
    ),
    "concordance": Curves(
        draw_concordance,
        clusters=(69, 35, 12),
        per_cluster=(3, 1),
        effects=(0, 0.03, 0.06, 0.1),
        promises={"interval over questions": MANY, "sign test over comparisons": ALONE},
    ),
    "variation": Curves(
        draw_variation,
        clusters=(36, 18, 9),
        per_cluster=(8,),
        effects=(0, 0.1, 0.2, 0.4),
        promises={"interval over cases": PROMISED},
    ),
    "case_accuracy": Curves(
        draw_case_accuracy,
        clusters=(36, 18, 9),
        per_cluster=(8,),
        effects=(0, 0.1, 0.2),
        promises={f"{test}, {AGREE}": promise for test, promise in TESTS.items()},
        repetitions=1000,
    ),
    "case_accuracy_counterbalanced": Curves(
        draw_counterbalanced,
        clusters=(36, 18, 9),
        per_cluster=(8,),
        effects=(0, 0.06, 0.12),  # the recorded models differ by .06
        promises={f"{test}, {BALANCED}": promise for test, promise in TESTS.items()},
        repetitions=1000,
    ),
}


def draws(measure: str, effect: float, clusters: int, per: int, seed: int) -> list[dict[str, Any]]:
    """A row a test of one batch: positives among the repetitions."""
    curves = CURVES[measure]
    rng = np.random.default_rng([seed, round(1000 * effect), clusters, per])
    found = curves.draw(rng, effect, (curves.repetitions, clusters, per))
    return [
        {
            "measure": measure,
            "test": test,
            "promises": curves.promises[test],
            "effect": effect,
            "clusters": clusters,
            "per_cluster": per,
            "n": clusters * per,
            "seed": seed,
            "repetitions": len(hits),
            "positives": int(np.nansum(hits)),
            "undefined": int(np.isnan(hits).sum()),
        }
        for test, hits in found.items()
    ]


def table(measure: str) -> pd.DataFrame:
    """All batches; more where there is no effect, since a rate near the level needs small error."""
    curves = CURVES[measure]
    cells = itertools.product(curves.effects, curves.clusters, curves.per_cluster)
    rows = [draws(measure, *cell, seed) for cell in cells for seed in range(3 if cell[0] else 10)]
    return pd.DataFrame([row for batch in rows for row in batch])


if __name__ == "__main__":
    for name in CURVES:
        file = Path(__file__).with_name(f"power_{name}.csv")
        table(name).to_csv(file, index=False, float_format="%.10g")
