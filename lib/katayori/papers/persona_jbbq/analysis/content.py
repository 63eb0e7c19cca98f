"""Letters beside contents: what the answers say once the place of an option is taken out."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import position_free_scores, qa_by_content
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq.analysis.asked import BASELINE, OVERALL, Asked

NOTHING_READ = pd.DataFrame(
    columns=["model", "prompt", "metric", "reading", "value", "ci_low", "ci_high", "status"]
)


@dataclass(frozen=True)
class Content:
    """Scores by letter and by content; without rows where no prompt gave probabilities.

    Attributes:
        scores: of `qa_by_content.scores_by_reading`, with prompt. changes: of
            `qa_by_content.changes_by_reading`, with prompt.
    """

    scores: pd.DataFrame
    changes: pd.DataFrame


def content(asked: Asked, keep: Keeper) -> Content:
    """The paper's scores by letter, by probability, calibrated and, in all orders, permuted.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> found = content(asked_leaning(), Kept())
        >>> found.scores["reading"].unique().tolist()
        ['letter', 'probability', 'calibrated']
    """
    log = asked.with_probabilities
    if log.empty:
        return Content(NOTHING_READ, NOTHING_READ)
    everything = None
    if "order_number" in asked.in_all_orders:
        everything = qa_by_content.has_probabilities(asked.in_all_orders)
        _keep_agreement(keep, everything)
    read = qa_by_content.roles_by_reading(log, in_all_orders=everything)
    scores = asked.named(qa_by_content.scores_by_reading(read))
    keep.table("scores_by_content", scores)
    common: dict[str, Any] = {"dataset": asked.dataset, "unit": "share"}
    keep.rows(
        scores.assign(headline=scores["metric"] == "diff_amb"),
        "PJ-17",
        "score by content (addition)",
        cell=["metric", "prompt", "reading"],
        **common,
    )
    return Content(scores, _changes(asked, keep, read))


def _keep_agreement(keep: Keeper, everything: pd.DataFrame) -> None:
    """How often one order of the options chooses what all orders choose."""
    agreement = position_free_scores.agreement_with_permuted(
        everything, "biased", "counter_biased", OVERALL
    )
    keep.table("agreement_with_permuted", agreement)


def _changes(asked: Asked, keep: Keeper, read: pd.DataFrame) -> pd.DataFrame:
    """Every prompt against basicP under each reading."""
    baseline = asked.conditions[BASELINE].id
    prompts = set(asked.with_probabilities["prompt_id"])
    if baseline not in prompts or len(prompts) < 2:
        return NOTHING_READ
    seed = asked.choices.seed
    changes = asked.named(qa_by_content.changes_by_reading(read, baseline, seed=seed))
    return keep.table("changes_by_content", changes)
