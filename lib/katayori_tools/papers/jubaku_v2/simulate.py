"""The long simulations of scores of forced choices, and what recorded letters and leans detect."""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from katayori.metrics import share_intervals, spike, spike_statistics
from katayori.metrics.spike import Choices, Recorded, Statistic
from katayori.papers import answers
from katayori.papers.jubaku_v2 import items as jubaku, scores as forced_choice, words
from katayori.prompting import letters
from katayori.prompting.prompts import load_prompts
from katayori_tools.simulate_methods import Method, Shard, of_leans, steps
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

# -- letters of recorded models --------------------------------------------------------------------

UP, DOWN = "neutral", "biased"
PROMPTS = tuple(f"ju_{template}_ja" for template in jubaku.TEMPLATES)


@lru_cache
def _letters(shard: Shard) -> pd.DataFrame:
    """Probabilities of both letters of all variants, as `position_free` reads them."""
    study = jubaku.load_study_jubaku()
    wording = load_prompts("jubaku_v2")
    read = {"parse": letters.parse_choice, "options": ("a", "b"), "variant": shard.variant}
    asked = [answers.get(study, wording[name], [shard.model], **read) for name in PROMPTS]
    frame = forced_choice.with_choice(pd.concat(asked, ignore_index=True))
    frame = frame[frame["outcome"] == "ok"]
    return pd.DataFrame(
        {
            "model": shard.model,
            "prompt_id": shard.prompt_id,
            "item_id": frame["item_id"],
            "case_id": frame["case_id"],
            "answer": frame["letter"].map({"A": "0", "B": "1"}),
            "p_0": frame["p_A"],
            "p_1": frame["p_B"],
            "role_0": frame["role_a"],
            "role_1": frame["role_b"],
            # The second effect: a liking for the letter B.
            "second_0": 0.0,
            "second_1": 1.0,
        }
    ).reset_index(drop=True)


def _choices_of_cases(shard: Shard, *, sampled: bool) -> Choices:
    return Choices(_letters(shard), UP, DOWN, sampled=sampled, cluster="case_id")


def _difference(_: Recorded) -> Statistic:
    """Of P(neutral): a mean over cases."""
    return spike_statistics.choice_difference("probability", UP, DOWN, soft=True)


def _share(_: Recorded) -> Statistic:
    """Of letters: the interval that stands beside the accuracy."""
    return spike_statistics.forced_share(UP, DOWN)


def _of_letters() -> dict[str, Method]:
    drawn: tuple[Callable, ...] = (*steps(Choices), spike._copies)
    of_share: tuple[Callable, ...] = (
        *drawn,
        spike_statistics.forced_share,
        spike_statistics.choice_difference,
        spike_statistics._values,
        spike_statistics._decided,
        spike_statistics._sides,
        share_intervals.share_interval,
    )
    of_mean: tuple[Callable, ...] = (
        *drawn,
        spike_statistics.choice_difference,
        spike_statistics._values,
        spike_statistics._decided,
        share_intervals.ratio_interval,
    )
    # A probability moves at once; a drawn letter, and one that is likelier by far, do not.
    methods = {
        "letter": (False, _share, of_share, (0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3)),
        "letter, sampled": (True, _share, of_share, (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)),
        "probability": (
            False,
            _difference,
            of_mean,
            (0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2),
        ),
    }
    return {
        f"neutral reason, {name}": Method(
            shard=lambda model: Shard("jubaku_v2", model, "+".join(PROMPTS), "study2"),
            recorded=partial(_choices_of_cases, sampled=sampled),
            statistic=statistic,
            shifts=shifts,
            second=0.5,
            code=code,
        )
        for name, (sampled, statistic, code, shifts) in methods.items()
    }


@lru_cache
def _changes(shard: Shard) -> pd.DataFrame:
    """Change of each case's lean to the neutral reason: instructions less a plain request."""
    asked = [load_prompts("jubaku_v2")[name] for name in shard.prompt_ids()]
    leans = words.recorded_leans(asked, [shard.model])
    wide = leans.pivot(index="case_id", columns="prompt_id", values="lean")
    told = [name for name in wide.columns if name != words.PLAIN]
    change = (wide[told].mean(axis=1, skipna=False) - wide[words.PLAIN]).dropna()
    # The second effect: half of the cases are moved the other way round.
    side = np.where(np.arange(len(change)) % 2, 1.0, -1.0)
    return pd.DataFrame(
        {
            "template_id": change.index,
            "value": change.to_numpy(),
            "exposure": 1.0,
            "weight": 1.0,
            "second_exposure": side,
        }
    )


def _of_likelihood() -> dict[str, Method]:
    names = [words.PLAIN, *(f"ju_lik_{template}_ja" for template in jubaku.TEMPLATES)]
    method = of_leans(
        lambda model: Shard("jubaku_v2", model, "+".join(names), words.ITEMS),
        _changes,
        shifts=(0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
        second=1.0,
    )
    return {"change of the lean, likelihood": method}


METHODS = _of_letters() | _of_likelihood()
