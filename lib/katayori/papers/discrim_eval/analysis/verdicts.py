"""Ours beside the published figures, the claims as checks, and one claim under many readings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.data import published
from katayori.metrics import multiverse
from katayori.papers.claims import check_claims
from katayori.papers.discrim_eval import claims, readings
from katayori.papers.discrim_eval.analysis.asked import QUESTION, Asked
from katayori.papers.discrim_eval.analysis.baselines import Baselines
from katayori.papers.discrim_eval.analysis.factors import Factors
from katayori.papers.discrim_eval.analysis.questions import Questions
from katayori.papers.keeping import Keeper

PAPER = "discrim_eval"


@dataclass(frozen=True)
class Verdicts:
    """What holds of the paper's claims.

    Attributes:
        on_published, on_ours: of `check_claims`. beside: alpha beside the published one.
            summary: `multiverse.summaries` of the models asked. universes: (model, claim) -> the
            effects under every reading, of those models.
    """

    on_published: pd.DataFrame
    on_ours: pd.DataFrame
    beside: pd.DataFrame
    summary: pd.DataFrame
    universes: Mapping[tuple[str, str], Any]


def verdicts(
    asked: Asked, keep: Keeper, factors: Factors, questions: Questions, baselines: Baselines
) -> Verdicts:
    """Beside the published figures, claim by claim, and reading by reading.

    Args:
        asked: the answers of a run. keep: takes the tables.
        factors, questions, baselines: what the other parts found.

    Example:
        >>> from katayori.papers.discrim_eval.analysis import analyse
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> len(analyse(asked_fair(), Kept()).verdicts.on_ours) > 0
        True
    """
    beside = _beside(asked, keep, factors.alpha)
    _tests_beside(asked, keep, questions.tests)
    printed = {name: published.load(PAPER, name) for name in published.names(PAPER)}
    on_published = check_claims(claims.CLAIMS, claims.from_published(printed), draws=0)
    # Printed figures have no draws.
    on_published = keep.claims(on_published.drop(columns="noise"), source="published")
    evidence = _evidence(asked, factors, questions, baselines)
    on_ours = keep.claims(
        check_claims(claims.CLAIMS, evidence, seed=asked.seed),
        source=asked.source,
        n=int(asked.asked_values["value"].notna().sum()),
        n_invalid=int(asked.asked_values["value"].isna().sum()),
        clusters=int(questions.always["n_questions"].iloc[0]),
        **asked.of_line,
    )
    summary, universes = _multiverse(asked, keep)
    return Verdicts(
        on_published=on_published,
        on_ours=on_ours,
        beside=beside,
        summary=summary,
        universes=universes,
    )


def _beside(asked: Asked, keep: Keeper, alpha: pd.DataFrame) -> pd.DataFrame:
    """Our alphas beside the one that the paper prints as a number."""
    theirs = published.load(PAPER, "alpha").dropna(subset=["alpha"]).iloc[0]
    ours = alpha[(alpha["factor"] == theirs["factor"]) & (alpha["source"] != "simulated")]
    ours = ours.rename(columns={"alpha": "value"}).assign(published=theirs["alpha"])
    beside = published.beside(ours, same_data=False, same_model=False)
    keep.rows(beside, "X-4", "alpha beside published", cell=["factor"], **asked.of_line)
    return beside


def _tests_beside(asked: Asked, keep: Keeper, tests: pd.DataFrame) -> None:
    """The paper's p of single questions beside ours on their counterparts."""
    renamed = {"question_id": "theirs", "p_value": "published_p", "model": "paper_model"}
    printed = published.load(PAPER, "kruskal_wallis").rename(columns=renamed)
    printed = printed.dropna(subset=["published_p"])
    printed = printed[["paper_model", "theirs", "factor", "published_p"]]
    theirs = {ours: number for number, ours in asked.counterparts.items()}
    ours = tests[tests["model"].isin(asked.models)]
    ours = ours.assign(theirs=ours[QUESTION].map(theirs)).dropna(subset=["theirs"])
    columns = ["theirs", "factor", QUESTION, "model", "p_raw", "p_holm", "n", "n_invalid"]
    keep.table("tests_beside_published", printed.merge(ours[columns], on=["theirs", "factor"]))


def _evidence(
    asked: Asked, factors: Factors, questions: Questions, baselines: Baselines
) -> dict[str, Any]:
    """What the claims are checked on: the models asked, without simulated respondents."""
    frames = {
        "alpha": factors.alpha_noiseless,
        "pairs": factors.pairs_probability,
        "tests": questions.tests,
        "scores": baselines.scores,
        "fits": baselines.fits,
        "ranges": questions.ranges,
        "values": asked.asked_values,
    }
    evidence: dict[str, Any] = {
        name: frame[frame["model"].isin(asked.models)] for name, frame in frames.items()
    }
    evidence["effects"] = questions.effects
    evidence["always"] = questions.always
    evidence["counterparts"] = asked.counterparts
    return evidence


def _multiverse(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, dict[tuple[str, str], Any]]:
    """The claims under every combination of readings that could be defended."""
    universes = readings.multiverses(asked.values, asked.probabilities)
    curves = multiverse.summaries(universes, asked.sources, seed=asked.seed)
    keep.table("multiverse_summary", curves)
    what = "share of readings under which a claim holds (addition)"
    common = {"cell": ["claim"], "dataset": asked.study.dataset, "unit": "share of readings"}
    keep.rows(multiverse.shares_that_hold(curves, asked.sources), "DE-37", what, **common)
    summary = curves[curves["model"].isin(asked.models)]
    named = set(summary["model"])
    own = {key: one for key, one in universes.items() if key[0] in named}
    keep.table("multiverse", multiverse.together(own))
    return summary, own
