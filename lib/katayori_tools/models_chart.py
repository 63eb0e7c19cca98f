"""The chart of one measure for any number of models, in Vega-Altair: it answers to the mouse.

Every model has a row of its own, so that nobody needs to tell colours apart. What is no estimate
has a shape of its own and words in place of its value.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from katayori.report.looks import looks
from katayori.report.tables import unwrap

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

Record = dict[str, Any]

#: The shape by what stands in place of a value; a square for any other words.
SHAPES = {"": "circle", "answers by position": "diamond", "too little data": "triangle-up"}
OTHER = "square"
LINE_COLOUR, LIMIT_COLOUR = "#444444", "#DDDDDD"
COUNTS = ("n", "n_invalid", "clusters")
#: Pixels of a row; parts of a scale: free on both sides, and where a mark without a value stands.
ROW, FREE, EDGE = 20, 0.04, 0.015
#: Pixels of the longest label; the whole name is told where one points at a value.
LONGEST = 230
#: About so many numbers stand on a scale.
TICKS = 7
#: A row's name: four digits that put rows in order, and its label.
LABEL = "substring(datum.label, 4)"
#: What a reader is told of a value that is pointed at: name of the field -> words.
TOLD = {
    "name": "model",
    "run": "run",
    "source": "answers",
    "shown": "value [95 %]",
    "n": "n",
    "n_invalid": "invalid",
    "clusters": "clusters",
    "control": "control",
    "limit": "limit",
    "prompt_id": "prompt",
    "verdict": "verdict",
}


def chart(rows: "pd.DataFrame") -> "alt.LayerChart | alt.FacetChart":
    """The values of one measure: a row a model.

    Args:
        rows: of `side_by_side`, of one measure.
    """
    import altair as alt

    ends = domain(rows)
    records = records_of(rows, ends)
    names = [record["row"] for record in records]
    scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    title = str(rows["unit"].fillna("").iloc[0])
    of_x: dict[str, Any] = {"scale": scale, "title": title, "axis": alt.Axis(tickCount=TICKS)}
    y = alt.Y("row:N", sort=None, scale=alt.Scale(domain=names), axis=_axis(), title=None)
    layers = [
        layer.encode(y=y, x=alt.X(f"{field}:Q", **of_x))
        for field, layer in [*_sizes(records), *_values(records)]
    ]
    return alt.layer(*layers, width="container", height=ROW * len(names))


def _axis() -> "alt.Axis":
    """Labels without what puts the rows in order."""
    import altair as alt

    return alt.Axis(labelExpr=LABEL, labelLimit=LONGEST, ticks=False, domain=False, grid=False)


def domain(rows: "pd.DataFrame") -> tuple[float, float]:
    """The ends of the scale: whatever is drawn, and something free on both sides.

    Example:
        >>> import pandas as pd
        >>> row = dict.fromkeys(("ci_low", "ci_high", "limit", "control"), float("nan"))
        >>> domain(pd.DataFrame([row | {"value": 2.0, "line": 0.0, "instead": ""}]))
        (-0.08, 2.08)
    """
    estimates = rows.loc[rows["instead"] == "", ["value", "ci_low", "ci_high"]].to_numpy().ravel()
    away = rows[["limit", "control"]].abs().max(axis=1).where(rows["instead"] == "").fillna(0)
    drawn = [*estimates, *(rows["line"] - away), *(rows["line"] + away)]
    known = [float(end) for end in drawn if not math.isnan(end)] or [0.0]
    low, high = min(known), max(known)
    free = FREE * (high - low or 1)
    return low - free, high + free


def records_of(rows: "pd.DataFrame", ends: tuple[float, float]) -> list[Record]:
    """What is drawn of each value, from the top.

    Args:
        rows: of `side_by_side`. ends: of the scale.
    """
    look = looks(rows["name"])
    records = []
    for number, row in enumerate(rows.to_dict("records")):
        colour = look[row["name"]].colour
        told = {name: _word(row[name]) for name in TOLD} | _placed(row, ends)
        fill = "white" if row["instead"] else colour
        shape = SHAPES.get(row["instead"], OTHER)
        told |= {"row": f"{number:04d}{row['name']}", "shape": shape}
        records.append(told | {"colour": colour, "fill": fill})
    return records


def _word(value: Any) -> str:
    """A text, a number or a count as it is told; a dash for what is not there."""
    value = unwrap(value)
    if value is None or value != value or value == "":
        return "—"
    if isinstance(value, float):
        return f"{value:z.4f}"
    return value if isinstance(value, str) else f"{value:,}"


def _placed(row: Mapping[Any, Any], ends: tuple[float, float]) -> Record:
    """Where everything of a value lies; None for what is not there.

    A mark without a value stands at the left edge, so that it is not taken for one.
    """
    edge = ends[0] + EDGE * (ends[1] - ends[0])
    line, limit, control = (float(row[name]) for name in ("line", "limit", "control"))
    value, low, high = (float(row[name]) for name in ("value", "ci_low", "ci_high"))
    if row["instead"]:
        value = low = high = limit = control = math.nan
    known = [end for end in (value, low, high) if not math.isnan(end)]
    at_right = bool(known) and min(known) > (ends[0] + 2 * ends[1]) / 3
    places = {
        "at": edge if row["instead"] else value,
        "ci_low": low,
        "ci_high": high,
        "line": line,
        "band_low": line - limit,
        "band_high": line + limit,
        "control": line + math.copysign(1, value - line) * abs(control),
        "beside": (min if at_right else max)(known, default=edge),
    }
    told = {f"x_{name}": _or_none(place) for name, place in places.items()}
    return told | {"words": row["instead"], "align": "right" if at_right else "left"}


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _with(records: list[Record], *fields: str) -> "alt.Chart":
    """A chart of the records that have all these fields."""
    import altair as alt

    there = [one for one in records if all(one[field] not in (None, "") for field in fields)]
    return alt.Chart(alt.Data(values=there))


def _sizes(records: list[Record]) -> "list[tuple[str, alt.Chart]]":
    """What lies behind the values, each with its field on the scale."""
    band = _with(records, "x_band_low").mark_bar(
        aria=False, color=LIMIT_COLOUR, height={"band": 0.8}
    )
    line = _with(records, "x_line").mark_tick(
        aria=False, color=LINE_COLOUR, thickness=1.5, height={"band": 1}, orient="vertical"
    )
    control = _with(records, "x_control").mark_text(
        aria=False, text="×", color=LINE_COLOUR, fontSize=15
    )
    return [
        ("x_band_low", band.encode(x2="x_band_high:Q")),
        ("x_line", line),
        ("x_control", control),
    ]


def _values(records: list[Record]) -> "list[tuple[str, alt.Chart]]":
    """Intervals, dots and words, each with its field on the scale."""
    import altair as alt

    told = [alt.Tooltip(f"{name}:N", title=words) for name, words in TOLD.items()]
    colour = alt.Color("colour:N", scale=None)
    interval = _with(records, "x_ci_low").mark_rule(aria=False, strokeWidth=2.5)
    dots = _with(records, "x_at").mark_point(aria=False, size=80, strokeWidth=2, opacity=1)
    encoded = dots.encode(
        stroke=alt.Stroke("colour:N", scale=None),
        fill=alt.Fill("fill:N", scale=None),
        shape=alt.Shape("shape:N", scale=None),
        tooltip=told,
    )
    made = [
        ("x_ci_low", interval.encode(x2="x_ci_high:Q", color=colour, tooltip=told)),
        ("x_at", encoded),
    ]
    sides: list[tuple[Literal["left", "right"], int]] = [("left", 9), ("right", -9)]
    for align, away in sides:
        side = [one for one in records if one["align"] == align]
        words = _with(side, "words").mark_text(aria=False, align=align, dx=away, fontSize=12)
        made.append(("x_beside", words.encode(text="words:N")))
    return made
