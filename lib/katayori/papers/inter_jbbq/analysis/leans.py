"""Both questions apart, abstaining, the person who is named, and the direction of errors."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import position_free
from katayori.papers.inter_jbbq import family_direction, mere_words, named_person, scores
from katayori.papers.inter_jbbq.analysis.asked import BY, BY_PROMPT, Asked, of
from katayori.papers.keeping import Keeper

#: Measures of `named_person.lean_and_gain` in words, with their units.
UNITS = {
    "names_later": "share",
    "lean": "share",
    "lean_p": "probability",
    "lean_odds": "log-odds",
}
OF_LETTERS = ["diff_amb", "diff_dis"]
OF_PROBABILITIES = ["p_diff_amb", "p_diff_dis"]


@dataclass(frozen=True)
class Leans:
    """Which way answers lean.

    Attributes:
        abstained: share of "unknown" in disambiguated items, by topic. lean: of
            `named_person.lean_and_gain`; empty where no item is asked in both kinds of context.
            without_place: items whose two questions together lean to the right persons.
            symmetric: whether the question alone tells nothing about who will be right.
            direction: Diff-bias where a direction is set, with blank where one is recorded.
        words: of `mere_words.beside_mere_words`; without rows where no blank is recorded.
    """

    abstained: pd.DataFrame
    lean: pd.DataFrame
    without_place: pd.DataFrame
    symmetric: bool
    direction: pd.DataFrame
    words: pd.DataFrame


def leans(asked: Asked, keep: Keeper) -> Leans:
    """Computes and keeps where answers lean.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> found = leans(asked_additive(), Kept())
        >>> found.symmetric, sorted(found.lean["part"].unique())
        (False, ['ambiguous', 'disambiguated', 'gain'])
    """
    _questions(asked, keep)
    lean, without_place = _lean(asked, keep)
    words = _mere_words(asked, keep)
    return Leans(
        abstained=_abstained(asked, keep),
        lean=lean,
        without_place=without_place,
        symmetric=named_person.is_symmetric(asked.items),
        direction=_direction(asked, keep, words),
        words=words,
    )


def _mere_words(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Diff-bias beside that of a meaningless trait, on the balanced set's passages."""
    models = list(asked.study.real) if asked.counterbalanced else []
    blank = mere_words.recorded_blank(asked.conditions["basic"], models)
    table = mere_words.beside_mere_words(asked.frame, blank)
    if len(table):
        keep.table("mere_words", table)
        common: dict[str, Any] = {"cell": ["metric", "what"], "unit": "share"}
        what = "Diff-bias beside mere words, over passages (addition)"
        # What is averaged are the means of passages.
        counted = table.assign(n=table["clusters"])
        keep.rows(counted, "IJ-17", what, dataset=asked.dataset, **common)
    return table


def _questions(asked: Asked, keep: Keeper) -> None:
    table = keep.table("by_question", scores.by_topic(asked.frame, by=[*BY, "question"]))
    cell = ["topic", "ambiguity", "question", "prompt"]
    what = "accuracy by question"
    keep.rows(table, "IJ-17", what, cell=cell, dataset=asked.dataset, unit="share")


def _abstained(asked: Asked, keep: Keeper) -> pd.DataFrame:
    clear = asked.frame[asked.frame["ambiguity"] == "dis"]
    table = keep.table("over_abstention", scores.by_topic(clear, "unknown", BY))
    common: dict[str, Any] = {"cell": ["topic", "prompt"], "unit": "share", "headline": True}
    keep.rows(table, "IJ-17", "unknown in disambiguated items", dataset=asked.dataset, **common)
    return table


def _lean(asked: Asked, keep: Keeper) -> tuple[pd.DataFrame, pd.DataFrame]:
    leaning = named_person.with_lean(asked.frame)
    lean = named_person.lean_and_gain(leaning, BY_PROMPT)
    if lean.empty:
        return lean, lean
    keep.table("lean_and_gain", lean)
    for measure, unit in UNITS.items():
        what = f"lean to the later-right person (addition): {measure}"
        common: dict[str, Any] = {"cell": ["part", "prompt"], "unit": unit}
        rows = lean[lean["measure"] == measure]
        keep.rows(rows, "IJ-17", what, dataset=asked.dataset, **common)
    if "lean_odds" not in leaning:
        return lean, lean.head(0)
    free = named_person.items_without_place(leaning, [*BY_PROMPT, "ambiguity"])
    if len(free):
        keep.table("lean_without_place", free)
        what = "items that lean to the later-right persons, place cancelled (addition)"
        common = {"cell": ["ambiguity", "prompt"], "unit": "share"}
        keep.rows(free, "IJ-17", what, dataset=asked.dataset, **common)
    return lean, free


def _direction(asked: Asked, keep: Keeper, words: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias by topic and pooled, by letters and by probabilities, where a direction is set."""
    directed = asked.frame[asked.frame["has_target"]]
    parts = [directed, directed.assign(topic="pooled")]
    by = [*BY_PROMPT, "topic"]
    both = pd.concat([family_direction.directions(part, by) for part in parts])
    both = mere_words.with_blank(both, words)
    bound = position_free.bound_letters(asked.frame, BY_PROMPT)
    letters = both[both["metric"].isin(OF_LETTERS)]
    letters = position_free.mark_bound(letters, bound, OF_LETTERS)
    cell = ["topic", "metric", "prompt"]
    if len(letters):
        keep.table("direction", letters)
        leads = (letters["topic"] == "pooled") & (letters["metric"] == "diff_amb")
        what = "Diff-bias where a direction is set"
        common: dict[str, Any] = {"cell": cell, "dataset": asked.dataset, "unit": "share"}
        keep.rows(letters.assign(headline=leads), "IJ-17", what, **common)
    pooled = both[both["metric"].isin(OF_PROBABILITIES) & (both["topic"] == "pooled")]
    of_models = of(pooled, asked.models)
    if len(of_models):
        leads = of_models["metric"] == "p_diff_amb"
        what = "Diff-bias by probabilities where a direction is set (addition)"
        common = {"cell": cell, "dataset": asked.dataset, "unit": "probability"}
        keep.rows(of_models.assign(headline=leads), "IJ-17", what, **common)
    return both
