"""The long simulation of interactions, and what recorded letters and likelihoods detect.

inter_interaction.csv tells how often the test says that a combination of attributes is more than
the sum of its parts, for a respondent where it is not (`sim-inter-additive`: false positives) and
for one where it is (`sim-inter-interaction`: power), at the number of items behind the published
results.

The text of what draws is part of the hash in the table (see `simulate_hash`), so some lines stay
long until the table is drawn anew.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from katayori.metrics import logistic, share_intervals, spike, spike_statistics
from katayori.metrics.spike import Choices, Recorded, Statistic
from katayori.papers import answers, get_paper, person_words
from katayori.papers.inter_jbbq import (
    items as inter_jbbq,
    scores as intersectional,
    simulated,
    words,
)
from katayori.prompting import parsing
from katayori.prompting.prompts import load_prompts
from katayori_tools.simulate_hash import digest
from katayori_tools.simulate_methods import Method, Shard, of_leans, steps
from katayori_tools.simulate_power import LEVEL

FILE = "simulated/inter_interaction.csv"

RESPONDENTS = ("sim-inter-additive", "sim-inter-interaction")

SEEDS = range(200)

COLUMNS = ["model", "topic", "seed", "n", "lr", "df", "p", "status", "code"]

_CODE = (
    intersectional.interactions,
    logistic.mixed_logit,
    logistic.likelihood_ratio,
    simulated.inter_chances,
)


def code_hash() -> str:
    """sha256 (12 digits) over what draws and tests: it says which code wrote the file."""
    return digest([*_CODE, interaction_draws], str(simulated.INTER))


def interaction_draws(seeds: range | list[int]) -> pd.DataFrame:
    """The test on drawn answers to the ambiguous negative questions of the study set: a row a respondent, topic, seed.

    Each seed draws new right and wrong answers by the planted chances; the items stay. Columns `COLUMNS`.
    """
    items = inter_jbbq.generate()
    items = items[(items["context_condition"] == "ambiguous") & (items["polarity"] == "negative")]
    items = items.assign(
        cluster=items["focal_id"], source="simulated", prompt_id="none", invalid=False
    )
    frames = []
    for model in RESPONDENTS:
        chances = [
            # The statement is hashed: pandas does not say that its columns have names.
            simulated.inter_chances(model, row)[row["label"]]  # type: ignore[arg-type]
            for row in items.to_dict("records")
        ]
        for seed in seeds:
            right = np.random.default_rng(seed).random(len(items)) < chances
            drawn = items.assign(model=model, correct=right.astype(float))
            by = ("model", "source", "prompt_id", "topic")
            frames.append(intersectional.interactions(drawn, by=by)[0].assign(seed=seed))
    return pd.concat(frames, ignore_index=True).assign(code=code_hash())[COLUMNS]


def interaction_table() -> pd.DataFrame:
    """The table of the test of interactions; prints the shares of p < .05."""
    found = interaction_draws(SEEDS)
    tested = found.dropna(subset=["p"])
    positive = (tested["p"] < LEVEL).groupby([tested["model"], tested["topic"]])
    print(positive.agg(["mean", "size"]))
    return found


TABLES = {"inter_interaction": interaction_table}


# -- letters of recorded models --------------------------------------------------------------------

UP, DOWN = "biased", "counter_biased"
PLACES = (0, 1, 2)


@lru_cache
def _letters(shard: Shard) -> pd.DataFrame:
    """Letters' probabilities of ambiguous items with a direction, for `position_free`."""
    prompt = load_prompts("inter_jbbq")[shard.prompt_id]
    read = {"parse": parsing.parse_option, "options": ("0", "1", "2"), "variant": shard.variant}
    items, _, _ = get_paper("inter_jbbq").read("study", {})
    log = answers.get(items, prompt, [shard.model], **read)
    frame = intersectional.with_design(log)
    ambiguous = frame["context_condition"] == "ambiguous"
    frame = frame[frame["has_target"] & ambiguous & (frame["outcome"] == "ok")]
    columns = [
        "item_id",
        "answer",
        *(f"{name}_{place}" for name in ("p", "role") for place in PLACES),
    ]
    # The second effect: a liking for the middle place.
    liking = {f"second_{place}": float(place == 1) for place in PLACES}
    found = frame[columns].assign(model=shard.model, prompt_id=shard.prompt_id)
    found = found.assign(family=frame["cluster"])
    return found.assign(**liking).reset_index(drop=True)


def _choices_of_families(shard: Shard, *, sampled: bool) -> Choices:
    return Choices(_letters(shard), UP, DOWN, sampled=sampled, cluster="family")


def _of_study(model: str) -> Shard:
    """The letters of the edition that `study` reads."""
    variant = get_paper("inter_jbbq").variant_of("study", "ij_basic_ja")
    return Shard("inter_jbbq", model, "ij_basic_ja", variant)


def _difference(_: Recorded, *, reading: str, soft: bool) -> Statistic:
    return spike_statistics.choice_difference(reading, UP, DOWN, soft=soft)


def _of_letters() -> dict[str, Method]:
    readings = {
        "letter": ("letter", False, False),
        "letter, sampled": ("letter", False, True),
        "probability": ("probability", True, False),
    }
    code: tuple[Callable, ...] = (
        *steps(Choices),
        spike._copies,
        spike_statistics.choice_difference,
        spike_statistics._values,
        spike_statistics._decided,
        share_intervals.ratio_interval,
    )
    shifts = {
        "probability": (0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1),
        "letter": (0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3),
    }
    sampled_shifts = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
    return {
        f"direction, {name}": Method(
            shard=_of_study,
            recorded=partial(_choices_of_families, sampled=sampled),
            statistic=partial(_difference, reading=reading, soft=soft),
            shifts=shifts.get(name, sampled_shifts),
            second=0.5,
            code=code,
        )
        for name, (reading, soft, sampled) in readings.items()
    }


# -- likelihoods of recorded models ----------------------------------------------------------------


@lru_cache
def _leans(shard: Shard) -> pd.DataFrame:
    """Leans of the ambiguous items with a direction, with what makes the bias of their passage."""
    prompt = load_prompts("inter_jbbq")[shard.prompt_id]
    scored = person_words.recorded_scores("inter_jbbq", shard.variant, prompt, [shard.model])
    return to_plant(words.leans(scored))


def to_plant(leans: pd.DataFrame) -> pd.DataFrame:
    """Leans as `spike.Leans` takes them: their sum of weight x value is the bias of a passage.

    Args:
        leans: of `words.leans`, of one model and prompt.

    Returns:
        template_id, value, exposure (1 for negative questions, -1 for others), weight,
        second_exposure: a liking for who is named first, in negative questions only. Passages in
        which no pair has a direction are left out.
    """
    rows = leans[leans["directed"] & (leans["context_condition"] == "ambiguous")]
    negative = np.where(rows["polarity"] == "negative", 1.0, -1.0)
    first = np.where(rows["mention"] == "target_first", 1.0, -1.0)
    pairs = rows.groupby("template_id")["pair_id"].transform("nunique")
    return pd.DataFrame(
        {
            "template_id": rows["template_id"].to_numpy(),
            "value": rows["lean"].to_numpy(),
            "exposure": negative,
            # Two questions in two orders of mention, a mean over the pairs of the passage.
            "weight": negative / (4 * pairs.to_numpy()),
            "second_exposure": first * (negative > 0),
        }
    )


def _of_likelihood() -> dict[str, Method]:
    method = of_leans(
        lambda model: Shard("inter_jbbq", model, words.PROMPT, words.ITEMS),
        _leans,
        shifts=(0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5),
        second=0.3,
    )
    return {"direction, likelihood": method}


METHODS = _of_letters() | _of_likelihood()
