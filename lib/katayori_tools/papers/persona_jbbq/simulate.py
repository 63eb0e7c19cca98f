"""The long simulations of Diff-bias scores, and what recorded letters and likelihoods detect."""

import itertools
import json
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from katayori.metrics import intervals, position_free, qa_bias, spike, spike_statistics
from katayori.metrics.spike import Choices, Recorded, Statistic
from katayori.papers.persona_jbbq import second
from katayori.prompting.parsing import option_probabilities
from katayori_tools.simulate_methods import Method, Shard, of_leans, steps
from katayori_tools.simulate_power import (
    ALONE,
    MANY,
    PROMISED,
    Curves,
    Found,
    _below,
    _outside,
)


def draw_diff_bias(
    rng: np.random.Generator, effect: float, clusters: int, per: int, repetitions: int
) -> Found:
    """Ambiguous items under two prompts: Diff_a is `effect` under one, 0 under the other; each template has a lean too.

    The sign-swap test over templates promises its level. The bootstrap interval over templates promises it for many
    templates only; the binomial test, for contrast, takes items as independent and promises nothing here.
    """
    shape, person = (repetitions, clusters, per), 0.4
    own, frames = rng.normal(0, 0.12, shape[:2])[:, :, None], []
    item = np.indices(shape).reshape(3, -1)
    for prompt, planted in (("base", 0.0), ("other", effect)):
        lean = np.clip(0.5 + planted / person / 2 + own, 0, 1)
        role = np.where(rng.random(shape) < lean, "biased", "counter_biased")
        role = np.where(rng.random(shape) < person, role, "unknown").ravel()
        told = {
            "model": item[0],
            "template_id": item[1],
            "item_id": np.arange(role.size),
            "role": role,
        }
        frames.append(pd.DataFrame(told).assign(prompt_id=prompt, correct=role == "unknown"))
    same = {
        "source": "simulated",
        "category": "all",
        "context_condition": "ambiguous",
        "has_target": True,
    }
    frame = pd.concat(frames, ignore_index=True).assign(**same)  # type: ignore[arg-type]  # the statement is hashed
    one = qa_bias.qa_scores(frame[frame["prompt_id"] == "other"], metrics=["diff_amb"])
    changes = qa_bias.compare_prompts(frame, "base", seed=int(rng.integers(2**31)))
    two = changes[changes["metric"] == "diff_amb"]
    chosen = pd.crosstab(frames[1]["model"], frames[1]["role"])[["biased", "counter_biased"]]
    p = [binomtest(int(b), int(b + c)).pvalue for b, c in chosen.itertuples(index=False)]
    found = {"interval over templates": _outside(one["ci_low"], one["ci_high"])}
    return found | {
        "prompts swapped over templates": _below(two["p_cluster"]),
        "binomial over items": _below(p),
    }


CURVES = {
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
}

# -- choices between two persons -------------------------------------------------------------------

UP, DOWN = "biased", "counter_biased"
BASIC = "pj_basic_ja"
#: The methods whose limit stands at a headline; under the other prompts only they are tried.
HEADLINES = ("letter", "calibrated, decided", "permuted, decided")
PROMPTS = (BASIC, "pj_para_ja", "pj_cot_ja", "pj_neutral_ja", "pj_biased_ja")


@lru_cache
def _letters(shard: Shard, *, given: bool) -> pd.DataFrame:
    """Probabilities of the letters of the ambiguous items, as `position_free` reads them.

    In all orders of the options, or in the one that counts as given.
    """
    found = []
    for row in shard.rows():
        p = option_probabilities(row["top"], ("0", "1", "2"))
        written = row["text"].strip()
        told = {
            "item_id": row["item_id"],
            "answer": written if written in ("0", "1", "2") else None,
        }
        found.append(told | {f"p_{place}": p[str(place)] for place in range(3)})
    items = second.in_orders(second.as_given())
    items = items[items["context_condition"] == "ambiguous"]
    if given:
        items = items[items["order_number"] == 0]
    columns = ["item_id", "base_id", "template_id", "role_0", "role_1", "role_2"]
    frame = pd.DataFrame(found).merge(items[columns], on="item_id", validate="one_to_one")
    # The second effect: a liking for the middle place.
    return frame.assign(
        model=shard.model, prompt_id=shard.prompt_id, second_0=0.0, second_1=1.0, second_2=0.0
    )


def _choices(shard: Shard, *, sampled: bool, given: bool) -> Choices:
    return Choices(_letters(shard, given=given), UP, DOWN, sampled=sampled)


def _difference(_: Recorded, *, reading: str, soft: bool) -> Statistic:
    return spike_statistics.choice_difference(reading, UP, DOWN, soft=soft)


def _of_letters() -> dict[str, Method]:
    readings = {
        "letter": ("letter", False, False),
        "letter, sampled": ("letter", False, True),
        "probability": ("probability", True, False),
        "calibrated, decided": ("calibrated", False, False),
        "calibrated, soft": ("calibrated", True, False),
        "permuted, decided": ("permuted", False, False),
        "permuted, soft": ("permuted", True, False),
    }
    code: tuple[Callable, ...] = (
        *steps(Choices),
        spike._copies,
        spike_statistics.choice_difference,
        spike_statistics._values,
        spike_statistics._decided,
        spike_statistics._permuted_scores,
        position_free.calibrated_log_probabilities,
        intervals.ratio_interval,
    )
    # Letters that hardly differ from slot to slot turn at a small shift; drawn ones do not. A shift
    # at which all templates answer alike is too large: nothing can be tested there.
    shifts = {"letter, sampled": (0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6)}
    shifts |= dict.fromkeys(("letter", "probability"), (0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    shifts["permuted, decided"] = (0, 0.002, 0.004, 0.006, 0.01, 0.02, 0.03, 0.05)
    calibrated = (0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1)
    found = {}
    for prompt_id, (name, (reading, soft, sampled)) in itertools.product(PROMPTS, readings.items()):
        if prompt_id != BASIC and name not in HEADLINES:
            continue
        found[name if prompt_id == BASIC else f"{name} ({prompt_id})"] = Method(
            shard=partial(_shard, prompt_id=prompt_id),
            recorded=partial(_choices, sampled=sampled, given=reading == "letter"),
            statistic=partial(_difference, reading=reading, soft=soft),
            shifts=shifts.get(name, calibrated),
            second=0.5,
            code=code,
        )
    return found


def _shard(model: str, *, prompt_id: str) -> Shard:
    return Shard("persona_jbbq", model, prompt_id, second.STUDY)


@lru_cache
def _leans(shard: Shard) -> pd.DataFrame:
    """Leans of the ambiguous items in nats, with what makes the bias of a pair of them."""
    found = []
    for row in shard.rows():
        (target, _), (other, _) = json.loads(row["text"])
        found.append({"item_id": row["item_id"], "value": target - other})
    items = second.DATASETS[shard.variant]()
    items = items[items["context_condition"] == "ambiguous"]
    columns = ["item_id", "template_id", "polarity", "mention"]
    frame = pd.DataFrame(found).merge(items[columns], on="item_id", validate="one_to_one")
    sign = np.where(frame["polarity"] == "negative", 1.0, -1.0)
    first = np.where(frame["mention"] == "target_first", 1.0, -1.0)
    # The second effect: who is named first is liked, in negative questions only.
    return frame[["template_id", "value"]].assign(
        exposure=sign, weight=sign / 4, second_exposure=first * (sign > 0)
    )


def _of_likelihood() -> dict[str, Method]:
    method = of_leans(
        lambda model: Shard("persona_jbbq", model, "pj_lik_basic_ja", "study2"),
        _leans,
        shifts=(0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3),
        second=0.3,
    )
    return {"likelihood": method}


METHODS = _of_letters() | _of_likelihood()
