"""What the answers show, the paper's claims as checks, and one claim under many readings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.data import published
from katayori.metrics import multiverse
from katayori.papers import limits
from katayori.papers.claims import check_claims
from katayori.papers.jubaku_v2 import claims, readings, scores
from katayori.papers.jubaku_v2.analysis.accuracy import Accuracies, names_in_paper
from katayori.papers.jubaku_v2.analysis.asked import PAPER, Asked
from katayori.papers.jubaku_v2.analysis.benchmarks import Benchmarks
from katayori.papers.jubaku_v2.analysis.variation import has_probabilities
from katayori.papers.keeping import Keeper


@dataclass(frozen=True)
class Verdicts:
    """What holds.

    Attributes:
        on_models: what the answers of each model show. on_published, on_ours: the paper's claims.
            All three of `check_claims`. summary: `multiverse.summaries` of the models.
            universes: (model, claim) -> the effects under every reading.
    """

    on_models: pd.DataFrame
    on_published: pd.DataFrame
    on_ours: pd.DataFrame
    summary: pd.DataFrame
    universes: Mapping[tuple[str, str], Any]


def verdicts(asked: Asked, keep: Keeper, found: Accuracies, others: Benchmarks) -> Verdicts:
    """Claim by claim, and reading by reading.

    Args:
        asked: the answers of a run. keep: takes the verdicts. found: accuracies of the answers.
        others: the other benchmarks.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> examples.analysed().verdicts.on_models["verdict"].tolist()[0]
        'not found'
    """
    common: dict[str, Any] = {"source": asked.source, "dataset": asked.dataset}
    own = [claim for model in asked.models for claim in claims.model_claims(model)]
    draws = asked.draws if asked.real else 0
    on_models = keep.claims(check_claims(own, _known(asked, found), draws=draws), **common)
    tables = {name: published.load(PAPER, name) for name in published.names(PAPER)}
    of_print = check_claims(claims.CLAIMS, claims.from_published(tables), draws=0)
    on_published = keep.claims(of_print, source="published")
    evidence = _evidence(asked, others)
    on_ours = keep.claims(check_claims(claims.CLAIMS, evidence, draws=asked.draws), **common)
    summary, universes = _multiverse(asked, keep)
    if asked.real and not asked.study.official:
        keep.table("limits_of_detection", limits.brief(limits.limits(PAPER)))
    return Verdicts(on_models, on_published, on_ours, summary, universes)


def _known(asked: Asked, found: Accuracies) -> dict[str, Any]:
    """The evidence of `claims.model_claims`."""
    neutral, parsed = scores.case_counts(asked.frame)
    known: dict[str, Any] = {"neutral": neutral, "parsed": parsed}
    known |= {"beyond": found.less_rule, "rule": asked.best_rule[0]}
    if asked.group_words:
        in_both = [asked.is_named_in_both(name) for name in asked.group_words]
        known["shared"] = next((cases for cases in in_both if cases), [])  # by the word: more cases
    if has_probabilities(asked.frame):
        known["p"] = _mean_p(asked.frame)
    return known


def _mean_p(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean P(neutral) of each case (rows) and model (columns), both orders together."""
    means = {}
    for model, one in frame.groupby("model", sort=False):
        pairs = scores.paired_probabilities(one)
        means[model] = pairs.loc[pairs["complete"], "mean"].groupby("case_id").mean()
    return pd.DataFrame(means)


def _evidence(asked: Asked, others: Benchmarks) -> dict[str, Any]:
    """The evidence of the paper's claims, by the names that the paper gives models."""
    names = names_in_paper(asked)
    renamed = {name: known for name, known in names.items() if known}
    neutral, parsed = scores.case_counts(asked.frame)
    varying = {}
    for name, known in renamed.items():
        of_one = asked.frame[asked.frame["model"] == name]
        varying[known] = scores.variation_of_cases(of_one)["any"].astype(float)
    evidence: dict[str, Any] = {
        "neutral": neutral.rename(columns=renamed),
        "parsed": parsed.rename(columns=renamed),
        "varying": pd.DataFrame(varying, index=neutral.index),
    }
    if asked.study.official:
        measured = others.scores.assign(model=others.scores["model"].map(renamed))
        measured = measured.dropna(subset="model")
        wide = measured.pivot(index="model", columns="benchmark", values="value")
        evidence["scores"] = wide
    return evidence


def _multiverse(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, dict[tuple[str, str], Any]]:
    """The claim under every combination of readings that could be defended."""
    universes = readings.multiverses(asked.frame)
    curves = multiverse.summaries(universes, asked.sources, seed=asked.seed)
    keep.table("multiverse_summary", curves)
    what = "share of readings under which a claim holds (addition)"
    common: dict[str, Any] = {"cell": ["claim"], "dataset": asked.dataset}
    common |= {"unit": "share of readings"}
    keep.rows(multiverse.shares_that_hold(curves, asked.sources), "JU-13", what, **common)
    summary = curves[curves["model"].isin(asked.models)]
    named = set(summary["model"])
    own = {key: one for key, one in universes.items() if key[0] in named}
    keep.table("multiverse", multiverse.together(own))
    return summary, own
