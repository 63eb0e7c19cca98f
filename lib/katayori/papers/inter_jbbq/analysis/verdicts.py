"""The claims as checks, and two claims under many readings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.data import published
from katayori.metrics import multiverse
from katayori.papers import limits
from katayori.papers.claims import check_claims
from katayori.papers.inter_jbbq import claims, claims_answers, readings
from katayori.papers.inter_jbbq.analysis.asked import Asked, of
from katayori.papers.keeping import Keeper
from katayori.prompting.models import get_model

PAPER = "inter_jbbq"
#: Draws in which a claim is made empty by exchange.
NOISE_DRAWS = 400


@dataclass(frozen=True)
class Verdicts:
    """What holds of the paper's claims.

    Attributes:
        on_published, on_ours: of `check_claims`. summary: `multiverse.summaries` of the models
            asked. universes: (model, claim) -> the effects under every reading, of those models.
    """

    on_published: pd.DataFrame
    on_ours: pd.DataFrame
    summary: pd.DataFrame
    universes: Mapping[tuple[str, str], Any]


def verdicts(asked: Asked, keep: Keeper, topic_of_table_4: str) -> Verdicts:
    """Claim by claim, and reading by reading.

    Args:
        asked: the answers of a run. keep: takes tables and results.
        topic_of_table_4: whose profiles of one attribute are compared with those of all.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> len(analysis_additive().verdicts.on_ours) > 0
        True
    """
    printed = {name: published.load(PAPER, name) for name in published.names(PAPER)}
    on_published = check_claims(claims.CLAIMS, claims.from_published(printed), draws=0)
    on_published = keep.claims(on_published, source="published")
    families = claims_answers.gather(asked.frame, _about(asked.models), topic_of_table_4)
    draws = 0 if asked.source == "simulated" else NOISE_DRAWS
    on_ours = check_claims(claims_answers.CLAIMS, families, draws=draws)
    on_ours = keep.claims(on_ours, source=asked.source, dataset=asked.dataset)
    summary, universes = _multiverse(asked, keep)
    if asked.counterbalanced:
        keep.table("limits_of_detection", limits.brief(limits.limits(PAPER)))
    return Verdicts(on_published, on_ours, summary, universes)


def _about(models: list[str]) -> pd.DataFrame:
    """What the claims need to know of models: none is tuned on purpose, none the reference."""
    sizes = [get_model(name)[0].fields.get("size_b") for name in models]
    table = pd.DataFrame({"model": models, "group": "studied", "instruct": None, "size_b": sizes})
    return table.astype({"size_b": float})


def _multiverse(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, dict[tuple[str, str], Any]]:
    """Two claims under every combination of readings that could be defended."""
    universes = readings.multiverses(asked.frame)
    curves = multiverse.summaries(universes, asked.sources, seed=asked.seed)
    keep.table("multiverse_summary", curves)
    holds = multiverse.shares_that_hold(curves, asked.sources)
    what = "share of readings under which a claim holds (addition)"
    common: dict[str, Any] = {"cell": ["claim"], "unit": "share of readings"}
    keep.rows(holds, "IJ-20", what, dataset=asked.dataset, **common)
    summary = of(curves, asked.models)
    named = set(summary["model"])
    own = {key: one for key, one in universes.items() if key[0] in named}
    keep.table("multiverse", multiverse.together(own))
    return summary, own
