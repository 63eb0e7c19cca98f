"""Blank and limit of detection beside every headline, or the reason why there is none.

The blank is what mere words do to the same measure; the limit is the smallest effect that 80 % of
draws find. Both come with their row, from the notebook.
"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

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
#: Units that are told in points of a hundred.
AS_POINTS = ("share", "probability")
#: What `table` has of a headline; `of` is its cell in words.
COLUMNS = (
    *("what", "model", "source", "prompt_id", "of", "value", "ci_low", "ci_high", "unit"),
    *("status", "blank", "detects", "why"),
)
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


def table(rows: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    """The headlines with blank and limit.

    Args:
        rows: results with the fields of `beside`; those that are no headline are left out.

    Returns:
        `COLUMNS`: what, model, source, prompt_id, of (the cell in words), value, ci_low, ci_high,
        unit, blank, detects, why (in words: why there is no blank or no limit).

    Example:
        >>> list(table([]).columns)[:3]
        ['what', 'model', 'source']
    """
    import pandas as pd

    out = []
    for row in rows:
        if row["headline"]:
            levels = [str(level).replace("_", " ") for level in row["cell"].values()]
            out.append({**row, "of": ", ".join(levels), "why": why(row)})
    frame = pd.DataFrame(out, columns=list(COLUMNS))
    numbers = ["value", "ci_low", "ci_high", "blank", "detects"]
    return frame.astype(dict.fromkeys(numbers, float))


def measured(headlines: "pd.DataFrame") -> "pd.DataFrame":
    """Those of the headlines that have a blank or a limit, for a reader.

    Args:
        headlines: of `table`.

    Returns:
        what, model, of, `value [95 %]` (in words), blank, detects, unit, why; shares and
        probabilities are told in points of a hundred.

    Example:
        >>> row = dict.fromkeys(COLUMNS) | {"what": "bias", "model": "m", "of": "", "why": ""}
        >>> row |= {"value": 0.067, "ci_low": 0.012, "ci_high": 0.123, "unit": "share"}
        >>> import pandas as pd
        >>> shown = measured(pd.DataFrame([row | {"blank": 0.021, "detects": 0.04}]))
        >>> shown[["value [95 %]", "blank", "detects"]].to_numpy().tolist()
        [['+6.70 [+1.20, +12.30]', '2.10', '4.00']]
    """
    import pandas as pd

    found = headlines[headlines["blank"].notna() | headlines["detects"].notna()]
    rows = []
    for row in found.to_dict("records"):
        scale = 100 if row["unit"] in AS_POINTS else 1
        sizes = {name: _size(row[name], scale) for name in ("blank", "detects")}
        told = {"what": row["what"], "model": row["model"], "of": row["of"]}
        told["value [95 %]"] = _with_interval(row, scale)
        unit = "points" if scale == 100 else row["unit"]
        rows.append(told | sizes | {"unit": unit, "why": row["why"]})
    names = ["what", "model", "of", "value [95 %]", "blank", "detects", "unit", "why"]
    return pd.DataFrame(rows, columns=names)


def _size(value: float, scale: float) -> str:
    return "—" if math.isnan(value) else f"{scale * value:.2f}"


def _with_interval(row: Mapping[Any, Any], scale: float) -> str:
    """`+6.70 [+1.20, +12.30]`, or what there is of it."""
    value, low, high = (scale * row[name] for name in ("value", "ci_low", "ci_high"))
    if math.isnan(value):
        return f"— ({row['status'].replace('_', ' ')})"
    return f"{value:+.2f}" if math.isnan(low) else f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def without(headlines: "pd.DataFrame") -> list[str]:
    """Why the other headlines of models that were asked have neither, a line a reason.

    Args:
        headlines: of `table`.

    Example:
        >>> import pandas as pd
        >>> row = {"what": "accuracy", "source": "live", "blank": None, "detects": None}
        >>> without(pd.DataFrame([row | {"why": "no measure of bias"}]))
        ['no measure of bias: accuracy (1)']
    """
    rest = headlines[headlines["blank"].isna() & headlines["detects"].isna()]
    rest = rest[rest["source"] != "simulated"]
    lines = []
    for reason, rows in rest.groupby("why", sort=False):
        counted = [f"{what} ({n})" for what, n in rows["what"].value_counts(sort=False).items()]
        lines.append(f"{reason}: {', '.join(counted)}")
    return lines


def why(row: Mapping[str, Any]) -> str:
    """Why a headline has no blank or no limit, in words; empty where it has both.

    Example:
        >>> why({"blank_status": "not_stated", "detects_status": "ok"})
        'blank: nothing is stated for this measure'
    """
    told = {name: WHY[row[f"{name}_status"]] for name in ("blank", "detects")}
    names = {"blank": "blank", "detects": "limit"}
    if told["blank"] == told["detects"]:
        return told["blank"]
    return "; ".join(f"{names[name]}: {words}" for name, words in told.items() if words)
