"""Blank and limit of detection beside every headline, or the reason why there is none.

The blank is what mere words do to the same measure; the limit is the smallest effect that 80 % of
draws find. Which limit belongs to which result stands in `calibration` of data/papers/<id>.yaml;
the limits themselves are those of `papers.limits`. A blank comes with its row, from the notebook.
"""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from katayori.data import paper_facts

if TYPE_CHECKING:
    import pandas as pd

#: Why a headline has no blank or no limit: status -> in words.
WHY = {
    "ok": "",
    "planted": "a simulated respondent: what it does is known",
    "other_answers": "measured on the recorded models only",
    "other_design": "measured on all items of our own set only",
    "by_other_prompt": "drawn from this model's probabilities under another prompt",
    "not_tried": "not tried for this model and prompt",
    "level_broken": "no limit: this reading finds too much where nothing is there",
    "never_reached": "no limit: not reached at the largest effect tried",
    "no_spike": "no limit was drawn for this measure",
    "undefined": "no limit: where nothing is there most tests cannot be made",
    "not_recorded": "meaningless words were not asked of this model under this prompt",
    "beside_content": "its blank stands beside the score by content of the same letters",
    "ambiguous_only": "meaningless words were asked in ambiguous passages only",
    "by_probability_only": "meaningless words were asked for probabilities only",
    "no_blank_made": "these items have no version with meaningless words",
    "not_a_bias": "not a measure of bias: it is read against chance",
    "no_effect_size": "not the size of an effect: it is read against what chance alone gives",
    "whole_set_only": "tried on all categories together only",
    "a_count": "a count",
    "not_stated": "nothing is stated for this measure",
}
#: What a limit of detection does not say.
LIMIT_NOTE = (
    "drawn from these probabilities with the model's own lean taken out; it says nothing of"
    " wording, noise that answers share or invalid answers, and a real bias need not shift log odds"
)
#: Reasons that speak of recorded answers only.
ASKED_ELSEWHERE = ("not_recorded", "beside_content", "ambiguous_only")
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
    entry = _entry(row)
    if not found["blank_status"]:
        found["blank_status"] = "ok" if found["blank"] is not None else _no_blank(row, entry)
    if not found["detects_status"]:
        if found["detects"] is None:
            found["detects"], found["detects_status"] = _limit(row, entry)
        else:
            found["detects_status"] = "ok"
    return found


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the paper's file says of this result; empty where it says nothing."""
    cell = row.get("cell") or {}
    for entry in _entries(row["paper"]):
        if entry["what"] == row["what"] and (entry.get("where") or {}).items() <= cell.items():
            return entry
    return {}


@lru_cache
def _entries(paper: str) -> list[dict[str, Any]]:
    return paper_facts.of(paper).get("calibration") or [] if paper in paper_facts.ids() else []


def _no_blank(row: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    told = str(entry.get("no_blank") or "not_stated")
    if told in ASKED_ELSEWHERE:
        return _not_measured_on(row) or told
    return told


def _not_measured_on(row: Mapping[str, Any]) -> str:
    """The status of answers that nothing was measured on; empty for recorded ones."""
    if row["source"] == "simulated":
        return "planted"
    return "" if row["source"] == "recorded" else "other_answers"


def _limit(row: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[float | None, str]:
    """The limit in the row's unit, and its status."""
    from katayori.papers.limits import detects  # lazy: an unchanged run needs no pandas

    of = entry.get("limit")
    if not of:
        return None, str(entry.get("no_limit") or _not_measured_on(row) or "not_stated")
    if elsewhere := _not_measured_on(row):
        return None, elsewhere
    if (row.get("dataset"), row.get("clusters")) != (of["dataset"], of["clusters"]):
        return None, "other_design"
    prompt_id = of.get("prompt") or row["prompt_id"]
    own_prompt = row["prompt_id"] or prompt_id
    method = of["method"].format(**row["cell"])
    value, status = detects(row["paper"], str(row["model"]), str(prompt_id), method)
    if math.isnan(value):
        return None, status
    if prompt_id != own_prompt:
        status = "by_other_prompt"
    return value * of.get("scale", 1), status


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
        >>> why({"blank_status": "not_recorded", "detects_status": "ok"})
        'blank: the answers to meaningless words are not recorded yet'
    """
    told = {name: WHY[row[f"{name}_status"]] for name in ("blank", "detects")}
    names = {"blank": "blank", "detects": "limit"}
    if told["blank"] == told["detects"]:
        return told["blank"]
    return "; ".join(f"{names[name]}: {words}" for name, words in told.items() if words)
