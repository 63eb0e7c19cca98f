"""The chart of one measure for any number of models, in Vega-Altair: it answers to the mouse.

Every model has a row of its own under its level, so that nobody needs to tell colours apart. A
value that is no estimate has a shape of its own and words beside it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from katayori.report.looks import looks
from katayori.report.profile_figure import LIMIT_COLOUR, LINE_COLOUR, level_name

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

Record = dict[str, Any]

#: The shape of a value by its kind (`side_by_side.KINDS`).
SHAPES = {"ok": "circle", "position": "diamond", "few": "triangle-up", "other": "square"}
#: Pixels of a row; parts of a scale: free on both sides, and where a mark without a value stands.
ROW, FREE, EDGE = 20, 0.04, 0.015
#: Pixels of the longest label; the whole name is told where one points at a value.
LONGEST = 230
#: About so many numbers stand on a scale.
TICKS = 7
#: A row's name: digits that put rows in order, `h` for a head or `m` for a model, and its label.
IS_HEAD = "substring(datum.label, 4, 5) == 'h'"
LABEL = "substring(datum.label, 5)"
#: What a reader is told of a value that is pointed at: name of the field -> words.
TOLD = {
    "name": "model",
    "run": "run",
    "source": "answers",
    "of": "of",
    "shown": "value [95 %]",
    "n": "n",
    "n_invalid": "invalid",
    "clusters": "clusters",
    "blank": "blank",
    "detects": "detects",
    "prompt_id": "prompt",
    "status": "status",
}


def chart(rows: "pd.DataFrame", limits: Sequence[float]) -> "alt.LayerChart | alt.FacetChart":
    """The values of one measure: a row a level and model.

    Args:
        rows: of `side_by_side`, of one measure; those of kind `missing` are not drawn. limits: of
            the scale, which is wider where values lie outside them.

    Raises ValueError where there is nothing to draw.
    """
    import altair as alt

    drawn = rows[rows["kind"] != "missing"]
    if drawn.empty:
        raise ValueError("no value to draw")
    ends = domain(drawn, limits)
    records, names = records_of(drawn, ends)
    scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    title = str(drawn["unit"].iloc[0])
    of_x: dict[str, Any] = {"scale": scale, "title": title, "axis": alt.Axis(tickCount=TICKS)}
    y = alt.Y("row:N", sort=None, scale=alt.Scale(domain=names), axis=_axis(), title=None)
    layers = [
        layer.encode(y=y, x=alt.X(f"{field}:Q", **of_x))
        for field, layer in [*_sizes(records), *_values(records)]
    ]
    return alt.layer(*layers, width="container", height=ROW * len(names))


def _axis() -> "alt.Axis":
    """Labels without what puts the rows in order; levels are bold."""
    import altair as alt

    weight = {"condition": {"test": IS_HEAD, "value": "bold"}, "value": "normal"}
    return alt.Axis(
        labelExpr=LABEL,
        labelLimit=LONGEST,
        labelFontWeight=weight,
        ticks=False,
        domain=False,
        grid=False,
    )


def domain(drawn: "pd.DataFrame", limits: Sequence[float]) -> tuple[float, float]:
    """The ends of the scale: the limits, and whatever is drawn outside them.

    Example:
        >>> import pandas as pd
        >>> row = dict.fromkeys(("ci_low", "ci_high", "line", "detects"), float("nan"))
        >>> domain(pd.DataFrame([row | {"value": 2.0}]), (0.0, 1.0))
        (-0.08, 2.08)
    """
    known = [*limits]
    for name in ("value", "ci_low", "ci_high", "line"):
        known += drawn[name].dropna().tolist()
    for side in (-1, 1):
        known += (drawn["line"] + side * drawn["detects"]).dropna().tolist()
    low, high = min(known), max(known)
    free = FREE * (high - low)
    return low - free, high + free


def records_of(drawn: "pd.DataFrame", ends: tuple[float, float]) -> tuple[list[Record], list[str]]:
    """What is drawn of each value, and the names of all rows, from the top.

    Args:
        drawn: rows of `side_by_side`. ends: of the scale.
    """
    look = looks(drawn["name"])
    names: list[str] = []
    records = []
    level = ""
    for row in drawn.to_dict("records"):
        if row["level"] != level:
            level = row["level"]
            names.append(f"{len(names):04d}h{level_name(level)}")
        names.append(f"{len(names):04d}m{row['name']}")
        record = _told(row) | _placed(row, ends)
        colour = look[row["name"]].colour
        fill = colour if row["kind"] == "ok" else "white"
        records.append(record | {"row": names[-1], "colour": colour, "fill": fill})
    return records, names


def _told(row: Mapping[Any, Any]) -> Record:
    """What a reader is told of a value, in words."""
    span = ""
    if not math.isnan(row["ci_low"]):
        span = f" [{row['ci_low']:z.4f}, {row['ci_high']:z.4f}]"
    words = {name: _word(row[name]) for name in TOLD if name in row}
    status = f"{row['mark']} ({row['status']})" if row["mark"] else str(row["status"])
    return words | {
        "of": level_name(row["level"]) or "all",
        "shown": f"{_word(row['value'])}{span}",
        "status": status,
    }


def _word(value: Any) -> str:
    """A text, a number or a count as it is told; a dash for what is not there."""
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
    value = float(row["value"])
    line, detects, blank = (float(row[name]) for name in ("line", "detects", "blank"))
    known = [end for end in (value, row["ci_low"], row["ci_high"]) if not math.isnan(end)]
    at_right = bool(known) and min(known) > (ends[0] + 2 * ends[1]) / 3
    beside = (min if at_right else max)(known, default=edge)
    places = {
        "at": edge if math.isnan(value) else value,
        "ci_low": row["ci_low"],
        "ci_high": row["ci_high"],
        "line": line,
        "band_low": line - detects,
        "band_high": line + detects,
        "blank_at": line + math.copysign(1, value - line) * abs(blank),
        "beside": beside,
    }
    told = {f"x_{name}": _or_none(place) for name, place in places.items()}
    return told | {
        "kind": row["kind"],
        "words": row["mark"],
        "align": "right" if at_right else "left",
    }


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
    blank = _with(records, "x_blank_at").mark_text(
        aria=False, text="×", color=LINE_COLOUR, fontSize=15
    )
    return [
        ("x_band_low", band.encode(x2="x_band_high:Q")),
        ("x_line", line),
        ("x_blank_at", blank),
    ]


def _values(records: list[Record]) -> "list[tuple[str, alt.Chart]]":
    """Intervals, dots and words, each with its field on the scale."""
    import altair as alt

    told = [alt.Tooltip(f"{name}:N", title=words) for name, words in TOLD.items()]
    colour = alt.Color("colour:N", scale=None)
    shape = alt.Scale(domain=list(SHAPES), range=list(SHAPES.values()))
    interval = _with(records, "x_ci_low").mark_rule(aria=False, strokeWidth=2.5)
    dots = _with(records, "x_at").mark_point(aria=False, size=80, strokeWidth=2, opacity=1)
    encoded = dots.encode(
        stroke=alt.Stroke("colour:N", scale=None),
        fill=alt.Fill("fill:N", scale=None),
        shape=alt.Shape("kind:N", scale=shape, legend=None),
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
