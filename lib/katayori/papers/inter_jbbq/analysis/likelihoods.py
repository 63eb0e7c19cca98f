"""Bias by the likelihood of the persons' own words, without letters and without a list."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import paired_contrasts
from katayori.papers import person_words
from katayori.papers.inter_jbbq import words
from katayori.papers.inter_jbbq.analysis.asked import Asked
from katayori.papers.keeping import Keeper

SECOND_EDITION: dict[str, Any] = {"dataset": "study, second edition", "source": "recorded"}


@dataclass(frozen=True)
class Likelihood:
    """What likelihoods of words say; without rows where none are recorded.

    Attributes:
        reads: of `paired_contrasts.reads_the_sentence`. by_topic: of `words.bias_by_topic`.
        by_number: of `words.bias_by_number`.
    """

    reads: pd.DataFrame
    by_topic: pd.DataFrame
    by_number: pd.DataFrame


def likelihood(asked: Asked, keep: Keeper) -> Likelihood:
    """Whether the sentence is read, and how large the bias is by topic and number of attributes.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> likelihood(asked_additive(), Kept()).reads.empty  # simulated respondents have none
        True
    """
    prompt = asked.wording.get(words.PROMPT)
    models = [] if asked.study.official or prompt is None else list(asked.study.real)
    none = pd.DataFrame(columns=["model", "prompt_id", "category"])
    if prompt is None or not models:
        return Likelihood(none, none, none)
    scores = person_words.recorded_scores(words.PAPER, words.ITEMS, prompt, models)
    if scores.empty:
        return Likelihood(none, none, none)
    blank = person_words.recorded_scores(words.PAPER, words.BLANK, prompt, models)
    return kept(words.leans(scores), words.leans_of_blank(blank), keep)


def kept(leans: pd.DataFrame, blank: pd.DataFrame, keep: Keeper) -> Likelihood:
    """The tables of some leans, kept.

    Args:
        leans: of `words.leans`. blank: of `words.leans_of_blank`. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> from katayori.papers.keeping import Kept
        >>> found = kept(examples.leans(0.6), examples.leans_of_blank(), Kept())
        >>> found.reads["passes"].tolist()
        [True, True]
    """
    reads = keep.table("words_reads", paired_contrasts.reads_the_sentence(leans))
    what = "reads the sentence, by likelihood (addition)"
    keep.rows(reads, "IJ-17", what, unit="share", cell=["polarity"], **SECOND_EDITION)
    by_topic = words.with_blank(words.bias_by_topic(leans, blank), leans, blank)
    keep.table("words_bias_by_topic", by_topic)
    what = "bias by likelihood, in nats (addition)"
    leads = by_topic["category"] == words.TOPICS.whole
    told = by_topic.assign(headline=leads)
    keep.rows(told, "IJ-17", what, unit="nats", cell=["category"], **SECOND_EDITION)
    by_number = keep.table("words_bias_by_number", words.bias_by_number(leans, blank))
    own = by_number[by_number["category"] != words.NUMBERS.whole]
    what = "bias by likelihood and number of attributes, in nats (addition)"
    keep.rows(own, "IJ-18", what, unit="nats", cell=["category"], **SECOND_EDITION)
    return Likelihood(reads, by_topic, by_number)
