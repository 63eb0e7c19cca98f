"""Letters beside contents: what the answers say once the place of an option is taken out."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import order_agreement, position_free_scores, qa_by_content
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq import mere_words
from katayori.papers.persona_jbbq.analysis.asked import BASELINE, OVERALL, Asked

NOTHING_READ = pd.DataFrame(
    columns=["model", "prompt", "metric", "reading", "value", "ci_low", "ci_high", "status"]
)
SIDES = ("biased", "counter_biased")
#: The column of our items that holds the wording of "unknown"; of the first edition, of the second.
WORDINGS = ("unknown", "unknown_words")


@dataclass(frozen=True)
class Content:
    """Scores by letter and by content; without rows where no prompt gave probabilities.

    Attributes:
        scores: of `qa_by_content.scores_by_reading`, with prompt, and with blank where one is
            recorded. changes: of `qa_by_content.changes_by_reading`, with prompt.
        gain: of `qa_by_content.gain_by_reading`, with prompt. agreement: of
            `position_free_scores.agreement_with_permuted`, and repeated: of
            `order_agreement.repeatability`, both with prompt; without rows where only one order was
            asked. words: of `beside_blank`, see `mere_words`; without rows where no blank is
            recorded.
    """

    scores: pd.DataFrame
    changes: pd.DataFrame
    gain: pd.DataFrame
    agreement: pd.DataFrame
    repeated: pd.DataFrame
    words: pd.DataFrame


def content(asked: Asked, keep: Keeper) -> Content:
    """The paper's scores by letter, by probability, calibrated and, in all orders, permuted.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> found = content(asked_leaning(), Kept())
        >>> found.scores["reading"].unique().tolist()
        ['letter', 'letter_over_orders', 'probability', 'calibrated', 'permuted']
    """
    log = asked.with_probabilities
    if log.empty:
        return Content(*[NOTHING_READ] * 6)
    everything = qa_by_content.has_probabilities(asked.in_all_orders)
    in_all_orders = everything if qa_by_content.has_other_orders(everything) else None
    read = qa_by_content.roles_by_reading(log, in_all_orders=in_all_orders)
    words = _mere_words(asked, keep, read)
    scores = asked.named(qa_by_content.scores_by_reading(read))
    scores = keep.table("scores_by_content", mere_words.with_blank(scores, words))
    common: dict[str, Any] = {"dataset": asked.dataset, "unit": "share"}
    keep.rows(
        scores.assign(headline=scores["metric"] == "diff_amb"),
        "PJ-17",
        "score by content (addition)",
        cell=["metric", "prompt", "reading"],
        **common,
    )
    agreement, repeated = _agreement(asked, keep, in_all_orders)
    return Content(
        scores=scores,
        changes=_changes(asked, keep, read),
        gain=_gain(asked, keep, everything),
        agreement=agreement,
        repeated=repeated,
        words=words,
    )


def _gain(asked: Asked, keep: Keeper, everything: pd.DataFrame) -> pd.DataFrame:
    """How much likelier a clear passage makes its right person than the same passage before."""
    gain = asked.named(qa_by_content.gain_by_reading(everything))
    if gain.empty:
        return gain
    keep.table("gain_from_context", gain)
    what = "gain of the right person from an ambiguous to a clear context (addition)"
    common: dict[str, Any] = {"cell": ["prompt", "reading"], "unit": "probability"}
    return keep.rows(gain, "PJ-16", what, dataset=asked.dataset, **common)


def _agreement(
    asked: Asked, keep: Keeper, in_all_orders: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How often one order chooses what all orders choose, and which reading repeats itself."""
    if in_all_orders is None:
        return NOTHING_READ, NOTHING_READ
    agreement = position_free_scores.agreement_with_permuted(in_all_orders, *SIDES, OVERALL)
    if agreement.empty:  # no item has all its orders
        return NOTHING_READ, NOTHING_READ
    agreement = asked.named(agreement)
    repeated = asked.named(order_agreement.repeatability(in_all_orders, *SIDES, OVERALL))
    keep.table("agreement_with_permuted", agreement)
    keep.table("repeatability", repeated)
    common: dict[str, Any] = {"dataset": asked.dataset, "unit": "share", "value": "same_choice"}
    cell = ["prompt", "reading"]
    what = "share of readings of one order with the choice of all orders (addition)"
    keep.rows(agreement, "PJ-17", what, cell=cell, **common)
    what = "share of readings that repeat themselves from other orders (addition)"
    keep.rows(repeated, "PJ-17", what, cell=cell, **common)
    wording = next((name for name in WORDINGS if name in in_all_orders), None)
    if wording:
        places = order_agreement.places_by(in_all_orders, wording, OVERALL)
        keep.table("places_by_wording", asked.named(places))
    return agreement, repeated


def _mere_words(asked: Asked, keep: Keeper, read: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias beside that of persons told apart by a trait that means nothing."""
    prompts = list(asked.conditions.values()) if asked.own_design else []
    blank = mere_words.recorded_blank(prompts, asked.real)
    words = mere_words.beside_mere_words(read, blank)
    if words.empty:
        return words
    keep.table("mere_words", asked.named(words))
    common: dict[str, Any] = {"cell": ["reading", "what"], "unit": "share"}
    what = "Diff-bias beside mere words, over templates (addition)"
    keep.rows(words, "PJ-17", what, dataset=asked.dataset, **common)
    return words


def _changes(asked: Asked, keep: Keeper, read: pd.DataFrame) -> pd.DataFrame:
    """Every prompt against basicP under each reading."""
    baseline = asked.conditions[BASELINE].id
    prompts = set(asked.with_probabilities["prompt_id"])
    if baseline not in prompts or len(prompts) < 2:
        return NOTHING_READ
    seed = asked.choices.seed
    changes = asked.named(qa_by_content.changes_by_reading(read, baseline, seed=seed))
    return keep.table("changes_by_content", changes)
