"""What the schema of Every Eval Ever cannot say of a run, counted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from katayori_tools.exports import eee
from katayori_tools.exports.measures import measure

#: Why a row is in no file, or what a file cannot say of it: reason -> in words, in this order.
REASONS = {
    "undefined": "left out: an undefined value; the schema asks for a number",
    "no_model": "left out: a row about no model, as a count of items",
    "published": "left out: a figure printed in a paper, not computed from answers",
    "target_zero": "kept: 0 is the target and the sign has a meaning; the schema knows higher or"
    " lower",
    "describes": "kept: neither higher nor lower is better; the schema asks for one of them",
    "not_stated": "kept: no direction is stated; the schema asks for one",
    "status": "kept: a status beside the value; the schema has no field for it",
    "clusters": "kept: clusters behind the interval, not the same as n; the schema has no field",
    "invalid": "kept: invalid answers counted beside n; the schema has no field for them",
    "beside": "kept: a control or a limit of detection; the schema has no field for them",
}
COLUMNS = ("paper", "reason", "in_words", "rows")


def counted(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How many rows of each paper each reason meets; a row can be met by several.

    Returns dicts of `COLUMNS`.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts.update((row["paper"], reason) for reason in _reasons(row))
    order = list(REASONS)
    keys = sorted(counts, key=lambda key: (key[0], order.index(key[1])))
    return [
        {"paper": paper, "reason": reason, "in_words": REASONS[reason], "rows": counts[key]}
        for key in keys
        for paper, reason in [key]
    ]


def _reasons(row: Mapping[str, Any]) -> list[str]:
    if row["source"] == "published":
        return ["published"]
    if row["model"] is None or row["source"] not in eee.SOURCES:
        return ["no_model"]
    if row["value"] is None:
        return ["undefined"]
    return _of_kept(row)


def _of_kept(row: Mapping[str, Any]) -> list[str]:
    stated = measure(row["paper"], row["what"], row["unit"])
    better = stated.better if stated else None
    direction = {"zero": "target_zero", "neither": "describes", None: "not_stated"}.get(better)
    other_clusters = row["clusters"] is not None and row["clusters"] != row["n"]
    met = {
        "status": row["status"] != "ok",
        "clusters": other_clusters,
        "invalid": bool(row["n_invalid"]),
        "beside": row["control"] is not None or row["limit"] is not None,
    }
    return [name for name in (direction, *(key for key, is_so in met.items() if is_so)) if name]
