"""Respondents read by likelihood: is a bias in their words found, and nothing where none is?

A study asks pairs of persons, one pair a template, in three passages, two questions and both orders
of mention (`paired_contrasts`). The planted respondent has a liking for each person's
words, reads the added sentence or not, leans to the target by `bias` nats (varying over templates),
and likes the person who is mentioned first, more so in negative questions. Some of its bias may
come from mere words: then the control with persons of a meaningless trait shows the same bias.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from katayori_tools import paired_contrasts as contrasts

FILE = "simulated/paired_contrasts.csv"
CONDITIONS = ("ambiguous", "biased", "counter_biased")
WORDS_SD = 2.0
BIAS_SD = 0.3
NOISE_SD = 0.5
TEMPLATES = (20, 100)
#: Seeds of the studies, 1,000 in all; the few of the first batch are drawn again by a test.
BATCHES = (range(10), range(10, 1_000))
#: One row a lean of a template.
DESIGN = pd.DataFrame(
    itertools.product(CONDITIONS, contrasts.POLARITIES, contrasts.MENTIONS),
    columns=["context_condition", "polarity", "mention"],
)
COLUMNS = [
    *("respondent", "reads", "act", "bias", "from_words", "mention", "templates", "seed", "draws"),
    *("passes", "bias_covered", "bias_found", "beyond_covered", "beyond_found"),
    *("surfacing_covered", "surfacing_found", "said_bias"),
]


class Respondent(NamedTuple):
    """What is planted, in nats.

    Attributes:
        name: in words.
        reads: to the person whom the added sentence makes the answer.
        act: to whoever did the bad act, whatever is asked.
        bias: to the target in negative questions, away in the others.
        from_words: the part of the bias that the meaningless trait has too.
        mention: to the person named first, in negative questions.
    """

    name: str
    reads: float = 1.5
    act: float = 0.0
    bias: float = 0.0
    from_words: float = 0.0
    mention: float = 0.0


RESPONDENTS = (
    Respondent("guesses", reads=0.0),
    Respondent("follows the bad act", reads=0.0, act=3.0),
    Respondent("reads, no bias"),
    Respondent("reads, no bias, likes the first", mention=0.8),
    Respondent("reads, biased", bias=0.3),
    Respondent("reads, biased, likes the first", bias=0.3, mention=0.8),
    Respondent("reads, mere words", bias=0.3, from_words=0.3),
)


def leans(rng: np.random.Generator, respondent: Respondent, bias: np.ndarray) -> pd.DataFrame:
    """The leans of a study whose templates have these biases (nats), one row a lean."""
    templates = len(bias)
    negative = (DESIGN["polarity"] == "negative").to_numpy()
    first = np.where(DESIGN["mention"] == "target_first", 1, -1)
    answers = [
        0 if condition == "ambiguous" else _answer(condition, polarity)
        for condition, polarity in zip(DESIGN["context_condition"], DESIGN["polarity"], strict=True)
    ]
    act = DESIGN["context_condition"].map({"ambiguous": 0, "biased": 1, "counter_biased": -1})
    of_design = np.where(negative, respondent.mention * first, 0.0)
    of_design = of_design + respondent.reads * np.array(answers) + respondent.act * act.to_numpy()
    own = rng.normal(0, WORDS_SD, (templates, 1)) + bias[:, None] * np.where(negative, 1, -1)
    values = own + of_design + rng.normal(0, NOISE_SD, (templates, len(DESIGN)))
    frame = pd.concat([DESIGN] * templates, ignore_index=True)
    number = np.repeat(np.arange(templates), len(DESIGN))
    return frame.assign(
        model="planted",
        prompt_id="p",
        template_id=number,
        pair_id=number,
        category="all",
        lean=values.ravel(),
    )


def _answer(condition: str, polarity: str) -> int:
    """1 where the target is the answer of a clear passage, -1 where the other person is."""
    return 1 if (condition == "biased") == (polarity == "negative") else -1


def contrast_draws(respondent: Respondent, templates: int, seeds: range) -> list[dict[str, Any]]:
    """What is read of studies of one respondent, a row a study.

    The control has the part of the bias that is mere words. The persona adds `respondent.bias` once
    more, so that this much surfaces.
    """
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([seed, templates, RESPONDENTS.index(respondent)])
        own = rng.normal(respondent.bias, BIAS_SD, templates)
        of_words = rng.normal(respondent.from_words, BIAS_SD, templates)
        added = rng.normal(respondent.bias, BIAS_SD, templates)
        study = leans(rng, respondent, own)
        pairs = contrasts.bias_by_pair(study)
        control = contrasts.bias_by_pair(leans(rng, respondent, of_words))
        persona = contrasts.bias_by_pair(leans(rng, respondent, own + added))
        reads = contrasts.reads_the_sentence(study)
        bias = _mean(pairs)
        beyond = _mean(contrasts.difference_of_bias(pairs, control))
        surfacing = _mean(contrasts.difference_of_bias(persona, pairs))
        row: dict[str, Any] = {"passes": bool(reads["passes"].all())}
        row |= _judged("bias", bias, respondent.bias)
        row |= _judged("beyond", beyond, respondent.bias - respondent.from_words)
        row |= _judged("surfacing", surfacing, respondent.bias)
        row["said_bias"] = contrasts.reading_of_bias(reads, bias, beyond) == "bias"
        rows.append(row)
    return rows


def _mean(pairs: pd.DataFrame) -> dict[str, Any]:
    return {str(k): v for k, v in contrasts.bias_in_nats(pairs).iloc[0].items()}


def _judged(name: str, interval: dict[str, Any], truth: float) -> dict[str, bool]:
    low, high = interval["ci_low"], interval["ci_high"]
    return {
        f"{name}_covered": bool(low <= truth <= high),
        f"{name}_found": bool(low > 0 or high < 0),
    }


def batch_row(respondent: Respondent, templates: int, seeds: range) -> dict[str, Any]:
    """The studies of some seeds, counted."""
    drawn = pd.DataFrame(contrast_draws(respondent, templates, seeds))
    row: dict[str, Any] = dict(respondent._asdict())
    row["respondent"] = row.pop("name")
    row |= {"templates": templates, "seed": seeds.start, "draws": len(drawn)}
    return row | {str(name): int(drawn[name].sum()) for name in drawn}


def contrast_table() -> pd.DataFrame:
    """Every respondent and number of templates: counts of studies (`COLUMNS`)."""
    rows = [
        batch_row(respondent, templates, seeds)
        for respondent in RESPONDENTS
        for templates in TEMPLATES
        for seeds in BATCHES
    ]
    return pd.DataFrame(rows)[COLUMNS]
