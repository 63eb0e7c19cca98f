"""The items, and what became of the requests (section 2)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from katayori.data import published
from katayori.metrics import outcomes
from katayori.papers.keeping import Keeper
from katayori.papers.persona_jbbq.analysis.asked import COUNTED, PAPER, Asked

SIDES = ("unknown", "biased", "counter_biased")


@dataclass(frozen=True)
class Design:
    """What was asked and what came back.

    Attributes:
        counted: of `outcomes.outcome_table`. by_position: of `outcomes.answer_shares`.
        invalid: of `outcomes.commonest_invalid`.
    """

    counted: pd.DataFrame
    by_position: pd.DataFrame
    invalid: pd.DataFrame


def design(asked: Asked, keep: Keeper) -> Design:
    """Counts items, places of roles, outcomes and numbers written, and keeps them.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> kept = Kept()
        >>> design(asked_leaning(), kept).counted["ok"].tolist(), len(kept.tables["items"])
        ([300, 300], 5)
    """
    _items(asked, keep)
    _right_answers(asked, keep)
    _places(asked, keep)
    of_models = asked.of_focus(asked.frame)
    columns = ["model", "source", "prompt", "outcome", "note", "text"]
    invalid = outcomes.commonest_invalid(of_models, told=columns)
    return Design(
        counted=keep.table("outcomes", outcomes.outcome_table(asked.frame)),
        by_position=keep.table("by_position", outcomes.answer_shares(asked.frame)),
        invalid=keep.table("commonest_invalid", invalid),
    )


def _items(asked: Asked, keep: Keeper) -> None:
    items = asked.items
    by = ["category", "context_condition", "polarity"]
    sizes = items.groupby(by).size().unstack(["context_condition", "polarity"], fill_value=0)
    sizes = sizes.sort_index(axis=1).loc[items["category"].unique()]
    sizes.columns = [" / ".join(levels) for levels in sizes.columns]
    printed = published.load(PAPER, "dataset_counts").set_index("category")["n_items"]
    counts = sizes.reset_index()
    available = asked.study.everything["category"].value_counts()
    counts["asked"] = counts.iloc[:, 1:].sum(axis=1)
    counts["available"] = counts["category"].map(available)
    counts["jbbq_published"] = counts["category"].map(printed)
    keep.table("items", counts)
    templates = items.groupby("category")["template_id"].nunique()
    for row in counts.to_dict("records"):
        keep.row(
            "PJ-1",
            "items asked",
            int(row["asked"]),
            source="none",
            dataset=asked.dataset,
            cell={"category": row["category"]},
            n=int(row["asked"]),
            unit="items",
            clusters=int(templates[row["category"]]),
            status=COUNTED,
        )


def _right_answers(asked: Asked, keep: Keeper) -> None:
    """Counts items whose right answer is not the one that their context names."""
    items = asked.items
    roles = items[["role_0", "role_1", "role_2"]].to_numpy()
    right = roles[np.arange(len(items)), items["label"]]
    named = items["context_condition"].replace("ambiguous", "unknown").to_numpy()
    odd = (right != named) & np.isin(named, SIDES)
    keep.row(
        "PJ-4",
        "items whose right answer does not follow from their context",
        int(odd.sum()),
        source="none",
        dataset=asked.dataset,
        n=len(items),
        unit="items",
        clusters=asked.templates,
        status=COUNTED,
    )


def _places(asked: Asked, keep: Keeper) -> None:
    items = asked.items
    counts = {
        f"position {place}": items[f"role_{place}"].replace("", "no target").value_counts()
        for place in range(3)
    }
    places = pd.DataFrame(counts).rename_axis("role").fillna(0).astype(int)
    keep.table("positions", places)
    long = places.reset_index().melt("role", var_name="position")
    keep.rows(
        long.assign(n=len(items)),
        "PJ-3",
        "items with a role at a position",
        cell=["role", "position"],
        source="none",
        dataset=asked.dataset,
        unit="items",
        clusters=asked.templates,
        status=COUNTED,
    )
