"""How the items were made: topics, lexicons, exclusions, review, counts, places of the options."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from katayori.data import published
from katayori.papers.inter_jbbq import items as inter_jbbq, option_slots
from katayori.papers.inter_jbbq.analysis.asked import Asked, Document
from katayori.papers.keeping import Keeper

PLACES = [f"unknown_at_{place}" for place in range(3)]
#: Of an edit that a proof-reader proposed (IJ-10).
EDIT_COLUMNS = ["topic", "passage", "before", "after", "decision", "reason"]
BEHIND = "behind the published results"


@dataclass(frozen=True)
class Made:
    """The items in numbers.

    Attributes:
        by_number: topic x number of attributes -> items, with `items` and `BEHIND` as last columns.
        doubles: `items.doubles`. slots: `option_slots.slot_shares`.
        n_exclusions: combinations that are not drawn. n_read: topic files that a native speaker
            has read. n_files: topic files.
    """

    by_number: pd.DataFrame
    doubles: pd.DataFrame
    slots: pd.DataFrame
    n_exclusions: int
    n_read: int
    n_files: int


def made(asked: Asked, keep: Keeper) -> Made:
    """Counts the items and keeps what they were made of.

    Args:
        asked: the answers of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> made(asked_additive(), Kept()).by_number["items"].to_dict()
        {'housing': 384}
    """
    n_exclusions = len(_texts(asked, keep))
    by_number = _numbers(asked, keep)
    doubles = inter_jbbq.doubles(asked.items)
    n_read = sum(bool(document.get("reviewed")) for document in asked.documents)
    found = Made(
        by_number=by_number,
        doubles=doubles,
        slots=_slots(asked, keep),
        n_exclusions=n_exclusions,
        n_read=n_read,
        n_files=len(asked.documents),
    )
    _keep_counts(asked, keep, found)
    return found


def _texts(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Keeps contexts, lexicons, exclusions, review and proof-reading; returns the exclusions."""
    documents = asked.documents
    keep.table("contexts", pd.DataFrame([row for one in documents for row in _contexts(one)]))
    used = {
        name: document["lexicon"][name]
        for document in documents
        for context in document["contexts"]
        for name in context["attributes"]
    }
    keep.table("lexicons", pd.DataFrame(list(_lexicons(used))))
    odd = pd.DataFrame([row for one in documents for row in _exclusions(one)]).drop_duplicates()
    keep.table("exclusions", odd)
    keep.table("review_log", pd.DataFrame([row for one in documents for row in _reviews(one)]))
    edits = [row for one in documents for row in _edits(one)]
    keep.table("proofreading", pd.DataFrame(edits, columns=EDIT_COLUMNS))
    return odd


def _contexts(document: Document) -> Iterator[dict[str, Any]]:
    for context in document["contexts"]:
        direction = context.get("stereotype", {}).items()
        yield {
            "topic": document["topic"],
            "context": context["id"],
            "label": context.get("label", ""),
            "attributes": ", ".join(context["attributes"]),
            "direction": ", ".join(f"{name}: {group}" for name, group in direction) or "none set",
            "on what ground": context.get("known") or document.get("known", ""),
        }


def _lexicons(used: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, entry in used.items():
        for group, words in entry["groups"].items():
            yield {
                "attribute": name,
                "label": entry.get("label", ""),
                "group": group,
                "words": "、".join(map(str, words)),
                "statistic": entry["source"],
            }


def _exclusions(document: Document) -> Iterator[dict[str, Any]]:
    places = [("all", document["exclusions"])]
    places += [(one["id"], one.get("exclusions", [])) for one in document["contexts"]]
    for where, some in places:
        for exclusion in some:
            sides = ("/".join(map(str, words)) for words in exclusion["words"].values())
            yield {
                "where": where,
                "never together": " + ".join(sides),
                "reason": exclusion.get("reason", ""),
            }


def _reviews(document: Document) -> Iterator[dict[str, Any]]:
    read = "yes" if document.get("reviewed") else "not yet"
    for entry in document.get("review", []):
        told = {name: str(entry.get(name, "")) for name in ("round", "by", "note")}
        yield {"topic": document["topic"], "read by a native speaker": read, **told}


def _edits(document: Document) -> Iterator[dict[str, Any]]:
    for edit in document.get("proofreading", []):
        yield {"topic": document["topic"], **edit}


def _numbers(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Items by topic and number of attributes, beside the counts behind the published results."""
    counts = keep.table("manifest", inter_jbbq.manifest(asked.items))
    counts = counts[counts["what"] == "n_attributes"]
    by_number = counts.pivot(index="topic", columns="value", values="n").fillna(0).astype(int)
    by_number["items"] = by_number.sum(axis=1)
    printed = published.load("derived", "inter_jbbq_counts").groupby("topic")["n_items"].sum()
    by_number[BEHIND] = printed.reindex(by_number.index).astype("Int64")
    return by_number


def _slots(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Where "unknown" stands, by topic and number of attributes."""
    slots = keep.table("slot_shares", option_slots.slot_shares(asked.items))
    long = slots.melt(["topic", "n_attributes", "n", "status"], PLACES, "place", "value")
    long["clusters"] = long["topic"].map(asked.families_of)
    common: dict[str, Any] = {"source": "none", "dataset": asked.dataset, "unit": "share"}
    what = "share of items with unknown at a place"
    keep.rows(long, "IJ-11", what, cell=["topic", "n_attributes", "place"], **common)
    return slots


def _keep_counts(asked: Asked, keep: Keeper, found: Made) -> None:
    items = asked.items
    single = items.drop_duplicates("item")
    counted: dict[str, Any] = {"source": "none", "dataset": asked.dataset, "status": "counted"}
    whole = counted | {"n": len(single), "clusters": asked.n_families}
    _keep_by_topic(asked, keep, found, counted)
    passages = items["template_id"].nunique()
    keep.row("IJ-2", "contexts (passages)", passages, unit="passages", **whole)
    keep.row("IJ-9", "prompts of a model and prompt type", len(items), unit="prompts", **whole)
    n = found.n_exclusions
    keep.row("IJ-10", "combinations that are not drawn", n, n=n, unit="exclusions", **counted)
    what = "topic files read by a native speaker"
    keep.row("IJ-12", what, found.n_read, n=found.n_files, unit="files", **counted)
    for row in found.doubles.to_dict("records"):
        cell = {"what": row["what"]}
        common = counted | {"cell": cell, "n": row["n"], "unit": "texts"}
        keep.row("IJ-8", "texts that are another's double", row["doubles"], **common)
    wordings = single.groupby("topic")["unknown"].value_counts().groupby("topic").agg(np.ptp)
    what = "largest difference between wordings of unknown in a topic"
    keep.row("IJ-11", what, int(wordings.max()), unit="items", **whole)


def _keep_by_topic(asked: Asked, keep: Keeper, found: Made, counted: dict[str, Any]) -> None:
    by_number = found.by_number
    printed = by_number[BEHIND].to_dict()
    known = asked.items["focal_id"].replace("", None)
    families = known.groupby(asked.items["topic"]).nunique().to_dict()
    for topic, n in by_number["items"].to_dict().items():
        behind = None if pd.isna(printed[topic]) else printed[topic]
        common = counted | {"cell": {"topic": topic}, "unit": "items"}
        common |= {"published": behind, "clusters": families[topic]}
        keep.row("IJ-8", "items", n, n=n, **common)
    numbers = by_number.drop(columns=["items", BEHIND])
    for topic, row in numbers.to_dict("index").items():
        for number, n in row.items():
            common = counted | {"cell": {"topic": topic, "n_attributes": number}}
            common |= {"clusters": asked.families_of.to_dict()[topic], "unit": "items"}
            keep.row("IJ-7", "items by number of attributes", n, n=n, **common)
