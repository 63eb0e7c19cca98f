"""Robustness, the lean to a slot, and what other readings of the probabilities change."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import scores
from katayori.papers.logprob_judge.analysis.asked import BY, Asked, with_status
from katayori.prompting import letters

#: Some endpoints return so many of the likeliest tokens only.
FEW_TOKENS = 5
BINS = 5


@dataclass(frozen=True)
class Steadiness:
    """Frames of steadiness.

    Attributes:
        robustness: `scores.robustness`, by task. leans: `scores.slot_lean`. scaled: the verdicts
            by probabilities that are divided by what the three letters cover.
    """

    robustness: pd.DataFrame
    leans: pd.DataFrame
    scaled: pd.DataFrame


def steadiness(asked: Asked, keep: Keeper, methods: pd.DataFrame) -> Steadiness:
    """How steady the judges are, and how they lean.

    Args:
        asked: the verdicts of a run. keep: takes tables and results.
        methods: agreement of the three methods, as of `agreement`.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.analysis.agreement import agreement
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> steady = steadiness(asked, Kept(), agreement(asked, Kept()).methods)
        >>> bool((steady.leans["value"] > 2).all())
        True
    """
    steady = _robustness(asked, keep)
    leans = keep.table("lean", scores.slot_lean(asked.log, by=BY))
    common: dict[str, Any] = {"cell": ["prompt"], **asked.of_set}
    keep.rows(leans, "LJ-19", "lean to the first slot (addition)", unit="log-odds", **common)
    _apart(asked, keep)
    _brier(asked, keep)
    return Steadiness(steady, leans, _other_readings(asked, keep, methods))


def _robustness(asked: Asked, keep: Keeper) -> pd.DataFrame:
    steady = scores.robustness(asked.settled, by=BY)
    steady = steady[steady["task"].isin(asked.cells)].reset_index(drop=True)
    keep.table("robustness", steady)
    common = {"headline": True, "unit": "share", **asked.of_set}
    kept = with_status(steady)
    keep.rows(kept, "LJ-18", "robustness", cell=["prompt", "task"], **common)
    columns = {
        "value": "robustness",
        "first_share": "value",
        "first_low": "ci_low",
        "first_high": "ci_high",
        "first_status": "status",
        "n_first": "n",
    }
    whole = steady.query("task == 'all'").drop(columns=["ci_low", "ci_high", "status", "n"])
    what = "share of A among A and B (addition)"
    first = whole.rename(columns=columns)
    keep.rows(first, "LJ-19", what, cell=["prompt"], unit="share", **asked.of_set)
    return steady


def _apart(asked: Asked, keep: Keeper) -> None:
    """Agreement where the orders agree, and where they differ."""
    parts = []
    for among in ("stable", "biased"):
        part = scores.concordance(asked.settled, by=BY, among=among)
        parts.append(part.query("task == 'all'").assign(among=among))
    apart = keep.table("biased_only", pd.concat(parts))
    what = "concordance among stable or position-biased comparisons (addition)"
    kept = with_status(apart).drop(columns=asked.people)
    cell = ["prompt", "method", "among"]
    keep.rows(kept, "LJ-19", what, cell=cell, unit="share", **asked.of_set)


def _brier(asked: Asked, keep: Keeper) -> None:
    reliable = scores.calibration(asked.settled, bins=BINS, by=BY)
    keep.table("calibration", reliable)
    parts = {
        "value": ("brier", "first"),
        "ci_low": ("brier_low", "first"),
        "ci_high": ("brier_high", "first"),
        "status": ("brier_status", "first"),
        "n": ("n", "sum"),
        "clusters": ("clusters", "first"),
        "n_invalid": ("n_invalid", "first"),
    }
    brier = reliable.groupby(BY, sort=False).agg(**parts).reset_index()
    what = "Brier score of mean probabilities (addition)"
    unit = "squared probability"
    keep.rows(brier, "LJ-19", what, cell=["prompt"], unit=unit, **asked.of_set)


def _other_readings(asked: Asked, keep: Keeper, methods: pd.DataFrame) -> pd.DataFrame:
    """Probabilities renormalised (LJ-12), and from fewer tokens (LJ-16); the former's verdicts."""
    scaled, renormalised = _in_another_way(asked, renormalise=True)
    few, top_5 = _in_another_way(asked, limit=FEW_TOKENS)
    plain = asked.settled["proposed"].fillna("none")
    changed = asked.settled.assign(changed=plain != scaled["proposed"].fillna("none"))
    averaged = methods.query("task == 'all' and method == 'proposed'").set_index(BY)
    options = averaged[["value", "n", "n_invalid"]].join(
        renormalised["value"].rename("renormalised")
    )
    options = options.join(changed.groupby(BY)["changed"].sum())
    options = options.join(top_5["value"].rename("top_5"))
    options = options.join(few.groupby(BY)["mass"].mean().rename("mass_of_top_5"))
    keep.table("renormalised", options.reset_index())
    of_method = "concordance of the proposed method"
    kept = {
        "LJ-12": (f"{of_method}, probabilities renormalised", renormalised),
        "LJ-16": (f"{of_method} from the five likeliest tokens", top_5),
    }
    for requirement, (what, rows) in kept.items():
        frame = with_status(rows.reset_index()).drop(columns=asked.people)
        keep.rows(frame, requirement, what, cell=["prompt"], unit="share", **asked.of_set)
    return scaled


def _in_another_way(asked: Asked, **read: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The verdicts by probabilities read in another way, and how the averaged ones agree."""
    other = scores.judge_verdicts(letters.with_probabilities(asked.log, **read), BY)
    agreeing = scores.concordance(other, by=BY)
    averaged = agreeing.query("task == 'all' and method == 'proposed'")
    return other, averaged.set_index(BY)
