"""The claims as checks, one claim under many readings, and what was found in sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from katayori.data import published
from katayori.metrics import multiverse, qa_by_content
from katayori.papers import person_words
from katayori.papers.claims import check_claims
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq import (
    by_content,
    claims,
    findings,
    mere_words,
    readings,
    sums,
    words,
)
from katayori.papers.persona_jbbq.analysis.asked import PAPER, Asked
from katayori.papers.persona_jbbq.analysis.content import Content
from katayori.papers.persona_jbbq.analysis.likelihood import Likelihood
from katayori.papers.persona_jbbq.analysis.prompts import Prompts
from katayori.papers.persona_jbbq.analysis.scores import Scores
from katayori.prompting.models import get_model

#: Kinds of endpoints whose models belong to no group of the paper.
IN_NO_GROUP = ("local", "simulated")


@dataclass(frozen=True)
class Verdicts:
    """What holds of the paper's claims.

    Attributes:
        on_published, on_ours: of `check_claims`. summary: of `multiverse.summaries`, of the models
            spoken of. universes: (model, claim) -> the effects under every reading, of those.
    """

    on_published: pd.DataFrame
    on_ours: pd.DataFrame
    summary: pd.DataFrame
    universes: Mapping[tuple[str, str], Any]


def verdicts(asked: Asked, keep: Keeper) -> Verdicts:
    """Claim by claim on the printed figures and on the answers, and reading by reading.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> found = verdicts(asked_leaning(), Kept())
        >>> len(found.on_published) == len(found.on_ours)
        True
    """
    printed = published.tables(PAPER)
    evidence = claims.from_published(printed)
    on_published = keep.claims(
        check_claims(claims.CLAIMS, evidence, draws=0),
        source="published",
        dataset="JBBQ",
        n=len(printed["results"]),
    )
    of_models = asked.of_focus(asked.frame)
    groups = {name: _group(name) for name in asked.focus}
    sizes = {name: _size(name) for name in asked.focus}
    own = sums.from_answers(of_models, groups, sizes)
    on_ours = keep.claims(
        check_claims(claims.CLAIMS, own, seed=asked.choices.seed),
        source=asked.source,
        dataset=asked.dataset,
        n=len(of_models),
        clusters=asked.templates,
    )
    summary, universes = _multiverse(asked, keep)
    return Verdicts(on_published, on_ours, summary, universes)


def _group(name: str) -> str | None:
    model, endpoint = get_model(name)
    if endpoint.kind in IN_NO_GROUP:
        return endpoint.kind
    return model.fields.get("group")


def _size(name: str) -> float:
    """Billions of parameters; NaN where they are not known."""
    return float(get_model(name)[0].fields.get("size_b") or np.nan)


def _multiverse(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, dict[tuple[str, str], Any]]:
    """The claim on the biased persona under every combination of readings."""
    known = qa_by_content.has_probabilities(asked.in_all_orders)
    universes = readings.multiverses(known if len(known) else asked.log, asked.names)
    curves = multiverse.summaries(universes, asked.sources, seed=asked.choices.seed)
    keep.table("multiverse_summary", curves)
    keep.rows(
        multiverse.shares_that_hold(curves, asked.sources),
        "PJ-19",
        "share of readings under which a claim holds (addition)",
        cell=["claim"],
        dataset=asked.dataset,
        unit="share of readings",
    )
    summary = asked.of_focus(curves)
    named = set(summary["model"])
    own = {key: one for key, one in universes.items() if key[0] in named}
    keep.table("multiverse", multiverse.together(own))
    return summary, own


def sentences(
    asked: Asked, scores: Scores, prompts: Prompts, content: Content, likelihood: Likelihood
) -> pd.DataFrame:
    """What each part of the analysis found, in sentences computed from its tests.

    Returns:
        about, finding; a row a sentence.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.analysis import analyse
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> kept = Kept()
        >>> found = analyse(asked_leaning(), kept)
        >>> kept.tables["findings"]["about"].unique().tolist()
        ['clear contexts', 'biased persona', 'categories', 'by content', 'gain from context',
         'orders compared']
    """
    focus = asked.focus
    of_bias = [
        *findings.categories(prompts.categories, focus, asked.names),
        findings.leaning(prompts.leaning),
    ]
    parts: list[tuple[str, Iterable[str]]] = [
        ("clear contexts", findings.chance(scores.chance, focus, asked.names)),
        ("biased persona", findings.persona_effect(prompts.pooled, focus)),
        ("categories", of_bias),
        ("CoT in two steps", prompts.two_steps),
        ("by content", _by_content(asked, content)),
        ("gain from context", by_content.gains(asked.of_focus(content.gain))),
        ("orders compared", _orders_compared(asked, content)),
        ("mere words", mere_words.counted(content.words)),
        ("by likelihood", _by_likelihood(likelihood)),
    ]
    rows = [(about, line) for about, lines in parts for line in lines]
    return pd.DataFrame(rows, columns=["about", "finding"])


def _by_content(asked: Asked, content: Content) -> list[str]:
    return by_content.findings(asked.of_focus(content.scores), asked.of_focus(content.changes))


def _orders_compared(asked: Asked, content: Content) -> list[str]:
    return by_content.orders_compared(
        asked.of_focus(content.agreement), asked.of_focus(content.repeated)
    )


def _by_likelihood(found: Likelihood) -> list[str]:
    if found.reads.empty:
        return []
    return [*person_words.findings(found.reads, found.bias), *words.surfaced(found.surfacing)]
