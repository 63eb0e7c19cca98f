"""More attributes, other accuracy? Slopes as asked and beyond the slots; readings by content."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import position_free_scores, qa_by_content
from katayori.papers import get_paper
from katayori.papers.inter_jbbq import option_slots, scores
from katayori.papers.inter_jbbq.analysis.asked import BY, Asked
from katayori.papers.keeping import Keeper

BY_TOPIC = [*BY, "topic"]
CELL = ["topic", "ambiguity", "prompt"]
#: What is averaged of the probabilities: in words -> column and kind of context.
MEASURES = {
    "P(right), ambiguous": ("p_correct", "amb"),
    "P(right), disambiguated": ("p_correct", "dis"),
    "P(unknown), disambiguated": ("p_unknown", "dis"),
}
ROLES = ["role_0", "role_1", "role_2"]


@dataclass(frozen=True)
class Trends:
    """Slopes of accuracy over the number of attributes, inside families.

    Attributes:
        as_asked: `scores.trend`. beyond: `option_slots.trend_beyond_slots`. as_locked: slopes of
            who always writes a model's commonest number. p_beyond: slopes of P(right) beyond the
            slots; empty without probabilities. by_probability: mean probabilities by topic.
            readings: scores by letter and by content; empty without probabilities.
    """

    as_asked: pd.DataFrame
    beyond: pd.DataFrame
    as_locked: pd.DataFrame
    p_beyond: pd.DataFrame
    by_probability: pd.DataFrame
    readings: pd.DataFrame


def trends(asked: Asked, keep: Keeper) -> Trends:
    """Computes and keeps slopes and readings.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> found = trends(asked_additive(), Kept())
        >>> found.as_asked["value"].head(2).round(3).tolist(), len(found.p_beyond) > 0
        ([-0.094, -0.009], True)
    """
    seed = asked.seed
    as_asked = keep.table("trend", scores.trend(asked.frame, BY_TOPIC, seed=seed))
    common: dict[str, Any] = {"cell": CELL, "dataset": asked.dataset, "unit": "share"}
    keep.rows(as_asked, "IJ-19", "change of accuracy per attribute more", **common)
    beyond = option_slots.trend_beyond_slots(asked.frame, by=BY_TOPIC, seed=seed)
    keep.table("trend_beyond_slots", beyond)
    what = "change of accuracy per attribute more, beyond order and wording"
    keep.rows(beyond, "IJ-19", what, **common)
    by_probability, p_beyond = _probabilities(asked, keep)
    return Trends(
        as_asked=as_asked,
        beyond=beyond,
        as_locked=_as_locked(asked),
        p_beyond=p_beyond,
        by_probability=by_probability,
        readings=_readings(asked, keep),
    )


def _as_locked(asked: Asked) -> pd.DataFrame:
    locked = option_slots.slot_locked(asked.frame)
    locked = locked.assign(correct=locked["right_if_locked"]).dropna(subset=["correct"])
    return scores.trend(locked, BY_TOPIC, seed=asked.seed)


def _probabilities(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean probabilities, and the slopes of P(right); empty where no probability is known."""
    frame = asked.of_models
    likely = frame[frame["p_correct"].notna()] if "p_correct" in frame else frame.head(0)
    if likely.empty:
        return pd.DataFrame(), pd.DataFrame()
    made = [
        scores.by_topic(likely[likely["ambiguity"] == where], value, BY).assign(measure=name)
        for name, (value, where) in MEASURES.items()
    ]
    by_p = keep.table("by_probability", pd.concat(made, ignore_index=True))
    common: dict[str, Any] = {"dataset": asked.dataset, "unit": "probability"}
    cell = ["topic", "measure", "prompt"]
    keep.rows(by_p, "IJ-17", "mean probability (addition)", cell=cell, **common)
    with_p = likely.assign(correct=likely["p_correct"])
    slopes = keep.table("trend_by_probability", scores.trend(with_p, BY_TOPIC, seed=asked.seed))
    what = "change of P(right) per attribute more (addition)"
    keep.rows(slopes, "IJ-19", what, cell=CELL, **common)
    beyond = option_slots.trend_beyond_slots(likely, "p_correct", BY_TOPIC, seed=asked.seed)
    keep.table("trend_by_probability_beyond_slots", beyond)
    what = "change of P(right) per attribute more, beyond order and wording (addition)"
    keep.rows(beyond, "IJ-19", what, cell=CELL, **common)
    return by_p, beyond


def _readings(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Scores by letter and by content; empty where no probability is known."""
    with_p = qa_by_content.has_probabilities(asked.log)
    if with_p.empty:
        return pd.DataFrame()
    every = qa_by_content.has_probabilities(asked.in_all_orders) if asked.orders else None
    read = qa_by_content.roles_by_reading(with_p, in_all_orders=every)
    read = read.assign(template_id=get_paper(asked.study.paper).cluster_of(read))
    readings = qa_by_content.scores_by_reading(read)
    readings["prompt"] = readings["prompt_id"].map(asked.named_prompts)
    keep.table("scores_by_content", readings)
    cell = ["metric", "prompt", "reading"]
    what = "score by content (addition)"
    keep.rows(readings, "IJ-16", what, cell=cell, dataset=asked.dataset, unit="share")
    if every is not None:
        _keep_agreement(asked, keep, every)
    return readings


def _keep_agreement(asked: Asked, keep: Keeper, every: pd.DataFrame) -> None:
    """How often one order chooses what all orders choose."""
    with_target = every[(every[ROLES] != "").all(axis=1)]
    agreement = position_free_scores.agreement_with_permuted(
        with_target, "biased", "counter_biased", ["model", "source", "prompt_id"]
    )
    keep.table("agreement_with_permuted", agreement)
