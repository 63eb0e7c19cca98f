"""Blank and limit of detection beside every headline, or the reason why there is none.

The blank is what mere words do to the same measure; the limit is the smallest effect that 80 % of
draws find. Both come with their row, from the notebook.
"""

from collections.abc import Mapping
from typing import Any

#: Why a headline has no blank or no limit: status -> in words.
WHY = {
    "ok": "",
    "planted": "a simulated respondent: what it does is known",
    "other_answers": "measured on the recorded models only",
    "not_stated": "nothing is stated for this measure",
}
#: What a limit of detection does not say.
LIMIT_NOTE = (
    "the true effect that the interval shown would find in four of five studies; it says nothing of"
    " wording or of unreadable answers"
)
FIELDS = ("blank", "blank_status", "detects", "detects_status")
#: A row without a headline says nothing of it.
SILENT: dict[str, Any] = {"blank": None, "blank_status": "", "detects": None, "detects_status": ""}


def beside(row: Mapping[str, Any]) -> dict[str, Any]:
    """Blank and limit of one result, in its own unit.

    Args:
        row: fields of a result (`results.FIELDS`); what it has of blank or limit already is kept.

    Returns:
        blank, blank_status, detects, detects_status: numbers or None, and statuses of `WHY`; empty
        statuses where the row is no headline and has neither.

    Example:
        >>> row = {"paper": "p", "what": "accuracy", "source": "simulated", "headline": True}
        >>> beside(row)["detects_status"]
        'planted'
    """
    found = {name: row.get(name) for name in SILENT}
    for name in ("blank_status", "detects_status"):
        found[name] = found[name] or ""
    if not row["headline"]:
        return found
    unstated = _not_measured_on(row) or "not_stated"
    for name in ("blank", "detects"):
        if not found[f"{name}_status"]:
            found[f"{name}_status"] = unstated if found[name] is None else "ok"
    return found


def _not_measured_on(row: Mapping[str, Any]) -> str:
    """The status of answers that nothing was measured on; empty for recorded ones."""
    if row["source"] == "simulated":
        return "planted"
    return "" if row["source"] == "recorded" else "other_answers"
