"""Bias by the likelihood of the persons' own words, without letters and without a list."""

from dataclasses import dataclass

import pandas as pd

from katayori.metrics import paired_contrasts
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq import words
from katayori.papers.persona_jbbq.analysis.asked import Asked

BASIC = "pj_lik_basic_ja"
SECOND_EDITION = {"dataset": "study, second edition", "source": "recorded"}


@dataclass(frozen=True)
class Likelihood:
    """What likelihoods of words say; without rows where none are recorded.

    Attributes:
        leans: of `words.all_leans`. reads: of `paired_contrasts.reads_the_sentence`.
        bias: of `words.bias_by_category`. surfacing: of `words.surfacing`.
    """

    leans: pd.DataFrame
    reads: pd.DataFrame
    bias: pd.DataFrame
    surfacing: pd.DataFrame


def likelihood(asked: Asked, keep: Keeper) -> Likelihood:
    """Whether the sentence is read, how large the bias is, and whether a persona moves it.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> likelihood(asked_leaning(), Kept()).reads.empty  # simulated respondents have none
        True
    """
    prompts = [p for p in asked.wording.values() if p.kind == "likelihood" and asked.own_design]
    models = asked.real
    leans = words.all_leans(words.ITEMS, prompts if models else [], models)
    if leans.empty:
        none = pd.DataFrame(columns=["model", "prompt_id", "category"])
        return Likelihood(leans, none, none, none)
    controls = words.all_controls(prompts, models)
    reads = keep.table("words_reads", paired_contrasts.reads_the_sentence(leans))
    what = "reads the sentence, by likelihood (addition)"
    keep.rows(reads, "PJ-19", what, unit="share", cell=["polarity"], **SECOND_EDITION)
    controlled = leans["prompt_id"].isin(controls["prompt_id"])
    bias = words.with_blank(words.bias_by_category(leans[controlled], controls), controls)
    keep.table("words_bias", bias)
    told = bias.assign(headline=bias["category"] == words.ALL)
    what = "bias by likelihood, in nats (addition)"
    keep.rows(told, "PJ-19", what, unit="nats", cell=["category"], **SECOND_EDITION)
    surfacing = keep.table("words_surfacing", words.surfacing(leans, BASIC))
    what = "change of the bias by likelihood from the basic prompt (addition)"
    keep.rows(surfacing, "PJ-21", what, unit="nats", cell=["category"], **SECOND_EDITION)
    return Likelihood(leans, reads, bias, surfacing)
