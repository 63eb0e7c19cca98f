"""Agreement with the labels: three methods, and what averaging gains."""

from dataclasses import dataclass

import pandas as pd

from katayori.metrics.ranks import holm
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import scores
from katayori.papers.logprob_judge.analysis.asked import BY, Asked, percent, with_status


@dataclass(frozen=True)
class Agreement:
    """Frames of agreement, as of `scores.concordance`.

    Attributes:
        methods: of the three methods, by task. gains: of the averaged verdict over a tie, all
            tasks, with p_holm.
    """

    methods: pd.DataFrame
    gains: pd.DataFrame


def agreement(asked: Asked, keep: Keeper) -> Agreement:
    """How often each method says what a person says.

    Args:
        asked: the verdicts of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> kept = Kept()
        >>> agreeing = agreement(asked_leaning(), kept)
        >>> sorted(agreeing.methods["method"].unique()), "gains" in kept.tables
        (['BS1', 'BS2', 'proposed'], True)
    """
    every = scores.concordance(asked.settled, by=BY)
    every = every[every["task"].isin(asked.cells)].reset_index(drop=True)
    keep.table("concordance", every)
    methods = every[every["method"] != scores.GAIN]
    common = {"headline": True, "unit": "share", **asked.of_set}
    kept = with_status(methods).drop(columns=asked.people)
    keep.rows(kept, "LJ-17", "concordance", cell=["prompt", "method", "task"], **common)
    for model in asked.focus:
        keep.table(f"table_2_{model}", _table_2(asked, methods[methods["model"] == model]))
    gained = every[every["method"] == scores.GAIN]
    kept = with_status(gained).drop(columns=asked.people)
    keep.rows(kept, "LJ-19", "proposed minus BS2 (addition)", cell=["prompt", "task"], **common)
    gains = gained[gained["task"] == "all"].copy()
    of_source = gains.groupby(gains["source"] == "simulated")["p_cluster"]
    gains["p_holm"] = of_source.transform(holm)
    keep.table("gains", gains)
    return Agreement(methods, gains)


def _table_2(asked: Asked, rows: pd.DataFrame) -> pd.DataFrame:
    """In the layout of the paper's Table 2: percent, the best of a prompt with a star."""
    best = rows.groupby(["prompt", "task"])["value"].transform("max")
    marked = [
        text + "*" * (value == highest)
        for text, value, highest in zip(percent(rows), rows["value"], best, strict=True)
    ]
    index = ["prompt", "method"]
    cells = rows.assign(text=marked)
    wide = cells.pivot_table("text", index, "task", aggfunc="first", sort=False)
    whole = rows[rows["task"] == "all"].set_index(index)
    return wide[asked.cells].join(whole[["n", "n_invalid"]]).reset_index()
