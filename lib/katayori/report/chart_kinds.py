"""How each of the six kinds of `charts.draw` puts its marks into one panel.

Marks are a frame with a row a mark, under the names of roles: look (whose colour and marker it
has), x, row and series (names), place (along the horizontal axis), height (of its row), value, low,
high, control, limit, line, status.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import pandas as pd

from katayori.report.looks import Look
from katayori.report.status_words import mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of letters, and inches of a narrow letter (half of a wide one).
LETTERS, LETTER = 11, 0.081
#: Inches of a panel beside the names of its rows.
BESIDE_ROWS = 4.3
#: Inches of a line of letters.
LINE = 1.15 * LETTERS / 72
DARK, PALE = "#333333", "#D9D9D9"
#: Series of more points than these are lines without markers, in a style of their own.
MARKED = 25
STYLES = ("-", "--", ":", "-.")
#: What is not parted: a word, or a wide letter with the signs that may not begin a line.
_WIDE = "\u3000-\u9fff\uff00-\uffef"
_PART = re.compile(rf"\s|[（「『【]*[{_WIDE}][、。，．」』）】ー]*|[^\s{_WIDE}]+")


@dataclass(frozen=True)
class Chart:
    """What `charts.draw` was asked for, where each word is explained."""

    kind: str
    x: str
    row: str | None = None
    series: str | None = None
    panel: str | None = None
    y: str | None = None
    value: str | None = None
    interval: tuple[str, str] | None = None
    title: str = ""
    label: str = ""
    y_label: str = ""
    line: float | str | Mapping[str, float | str] | None = None
    bands: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    limits: tuple[float, float] | None = None
    scale: float = 1
    digits: int | None = None
    look: str = ""
    order: Sequence[str] = ()
    points: Sequence[str] = ()
    diagonal: str = "the same in both"


@dataclass(frozen=True)
class Shared:
    """What all panels of a figure share: all its marks, and the look of each name."""

    marks: pd.DataFrame
    looks: Mapping[str, Look]

    @property
    def columns(self) -> list[str]:
        """The names along the horizontal axis."""
        return list(dict.fromkeys(self.marks["x"]))

    @property
    def lanes(self) -> dict[str, float]:
        """How far each series lies from the middle of its row; one alone in its row lies there."""
        names = list(dict.fromkeys(self.marks["series"]))
        if self.marks.groupby(["panel", "row"])["series"].nunique().max() < 2:
            return dict.fromkeys(names, 0.0)
        step = 0.8 / len(names)
        return {name: step * (place - (len(names) - 1) / 2) for place, name in enumerate(names)}

    def text(self, value: float, digits: int | None) -> str:
        """A number as it is written, by default in digits that suit the largest one."""
        if digits is None:
            digits = 0 if self.marks["value"].abs().max() >= 10 else 2
        return f"{round(value, digits) + 0.0:.{digits}f}"


def words_of(statuses: "pd.Series") -> str:
    """Statuses other than `ok` in words.

    Example:
        >>> words_of(pd.Series(["ok", "few_clusters", "few_clusters"]))
        'too little data'
    """
    return ", ".join(dict.fromkeys(mark(one) for one in statuses if one != "ok"))


def width_of(text: str) -> int:
    """The letters of a text, wide ones (Japanese) counted twice.

    Example:
        >>> width_of("age 年齢")
        8
    """
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def wrapped(text: str, width: int) -> str:
    """A text in lines of at most so many letters; Japanese is parted between its letters.

    Example:
        >>> wrapped("answers of 若い人、年を取った人", 12).splitlines()
        ['answers of', '若い人、年を', '取った人']
    """
    lines = [""]
    for part in _PART.findall(text):
        for piece in (part[n : n + width] for n in range(0, len(part), width)):
            if lines[-1].strip() and width_of(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece if lines[-1] or piece.strip() else ""
    return "\n".join(line.rstrip() for line in lines)


def column_names(names: Sequence[str], inches: float) -> tuple[list[str], bool]:
    """Names in lines as they stand below an axis of so many inches, and whether upright.

    They are upright where they have no room beside each other, even in lines of 10 letters.
    """
    room = int(inches / LETTER / max(len(names), 1)) - 1
    is_upright = max(map(width_of, names), default=0) > room and room < 10
    return [wrapped(name, 30 if is_upright else min(room, 24)) for name in names], is_upright


def name_columns(ax: "Axes", places: Sequence[float], names: Sequence[str], inches: float) -> None:
    """Names below an axis of so many inches.

    Upright names need a line each; where the columns are narrower, every second or third is named.
    """
    texts, is_upright = column_names(names, inches)
    step = math.ceil(len(names) * LINE / inches) if is_upright else 1
    ax.set_xticks(list(places)[::step], texts[::step], rotation=90 if is_upright else 0)


# --- what several kinds draw ----------------------------------------------------------------------


def _parts(
    marks: pd.DataFrame, looks: Mapping[str, Look]
) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Name, marks that have a value, and style of each look; hollow where the status is not ok."""
    for name, look in looks.items():
        mine = marks[marks["look"].eq(name) & marks["value"].notna()]
        is_ok = mine["status"].eq("ok")
        for face, some in ((look.colour, is_ok), ("white", ~is_ok)):
            style = {"color": look.colour, "markerfacecolor": face, "marker": look.marker}
            if some.any():
                yield name, mine[some], style | {"markersize": 5, "label": name or None}


def _ends(marks: pd.DataFrame) -> list[pd.Series]:
    """How far the ends of the intervals lie from the values."""
    low, high = marks["value"] - marks["low"], marks["high"] - marks["value"]
    return [low.clip(0).fillna(0), high.clip(0).fillna(0)]


def _limits(draw_ranges: Callable[..., Any], at: pd.Series, marks: pd.DataFrame) -> None:
    """A pale bar around the line of reference: effects that the interval would often miss."""
    known = marks[marks["limit"].notna() & marks["line"].notna()]
    if len(known):
        ends = known["line"] - known["limit"], known["line"] + known["limit"]
        style: dict[str, Any] = {"color": PALE, "linewidth": 9, "zorder": 0.5}
        draw_ranges(at[known.index], *ends, label="below the limit of detection", **style)


def _controls(ax: "Axes", x: pd.Series, y: pd.Series) -> None:
    """A cross where the control wording lies."""
    known = x.notna() & y.notna()
    if known.any():
        style: dict[str, Any] = {"color": DARK, "markersize": 6, "markeredgewidth": 1.6}
        ax.plot(x[known], y[known], "x", label="control wording", zorder=3, **style)


def _say_what_lacks(ax: "Axes", marks: pd.DataFrame, heights: pd.Series) -> None:
    """The status in words, at the left of a row without a value."""
    where: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "color": DARK}
    # A line of reference must not run through the words.
    where["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    for status, height in zip(marks["status"], heights, strict=True):
        said = mark(status) if status != "ok" else "no value"
        ax.text(0.02, height, said, fontsize=LETTERS - 1, **where)


# --- the kinds ------------------------------------------------------------------------------------


def dots(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """Values with intervals, the series of a row beside each other."""
    heights = marks["height"] + marks["series"].map(shared.lanes)
    if any(shared.lanes.values()):
        for edge in range(int(marks["height"].max())):
            ax.axhline(edge + 0.5, color=PALE, linewidth=0.8, zorder=0.3)
    _limits(ax.hlines, heights, marks)
    for _, some, style in _parts(marks, shared.looks):
        at = heights[some.index]
        ax.errorbar(some["value"], at, xerr=_ends(some), linestyle="", elinewidth=1.3, **style)
    _controls(ax, marks["control"], heights)
    lost = marks["value"].isna()
    _say_what_lacks(ax, marks[lost], heights[lost])


def lines(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """Values over x with pale areas between the ends of the intervals; points without a line."""
    _limits(ax.vlines, marks["place"], marks)
    longest = marks["look"].value_counts()
    for place, (name, look) in enumerate(shared.looks.items()):
        mine = marks[marks["look"] == name].sort_values("place")
        if name in chart.points or mine["value"].isna().all():
            continue
        at, is_long = mine["place"], longest[name] > MARKED
        ax.fill_between(at, mine["low"], mine["high"], color=look.colour, alpha=0.18, linewidth=0)
        dashes = STYLES[place % len(STYLES)] if is_long else "-"
        label = (name or None) if is_long else None
        ax.plot(at, mine["value"], dashes, color=look.colour, linewidth=1.5, label=label)
    for name, some, style in _parts(marks, shared.looks):
        if name in chart.points:
            ax.errorbar(some["place"], some["value"], yerr=_ends(some), linestyle="", **style)
        elif longest[name] <= MARKED:
            ax.plot(some["place"], some["value"], linestyle="", **style)
    _controls(ax, marks["place"], marks["control"])
    ticks = dict(zip(shared.marks["place"], shared.marks["x"], strict=True))
    if len(ticks) <= 12:
        name_columns(ax, list(ticks), list(ticks.values()), 3.2 if chart.panel else 5.4)


def heat(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """A number in every cell; colours go both ways from a line of reference."""
    import numpy as np
    import seaborn as sns

    names = [label.get_text() for label in ax.get_yticklabels()]
    values = np.full((len(names), len(shared.columns)), math.nan)
    texts = np.full(values.shape, "", dtype=object)
    places = marks["x"].map(shared.columns.index).astype(int)
    for one, column in zip(marks.itertuples(), places, strict=True):
        row, value = int(float(str(one.height))), float(str(one.value))
        values[row, column] = value
        text = "—" if math.isnan(value) else shared.text(value, chart.digits)
        texts[row, column] = text if one.status == "ok" or text == "—" else f"({text})"
        if text == "—":
            ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=DARK)
    low, high, colours = _colours(chart, shared.marks)
    style: dict[str, Any] = {"cmap": colours, "vmin": low, "vmax": high, "annot": texts}
    look: dict[str, Any] = {"annot_kws": {"fontsize": LETTERS}, "linewidths": 1, "cbar": False}
    sns.heatmap(np.ma.masked_invalid(values), fmt="", ax=ax, **style, **look)
    ax.grid(visible=False)
    ax.set(yticks=[row + 0.5 for row in range(len(names))], ylim=(len(names), 0))
    ax.set_yticklabels(names, rotation=0)
    name_columns(ax, [n + 0.5 for n in range(len(shared.columns))], shared.columns, BESIDE_ROWS)


def _colours(chart: Chart, marks: pd.DataFrame) -> tuple[float, float, str]:
    """Ends and name of the scale of colours."""
    ends = chart.limits or (marks["value"].min() / chart.scale, marks["value"].max() / chart.scale)
    low, high = (chart.scale * end for end in ends)
    middle = marks["line"].dropna()
    if middle.empty:
        return low, high, "Blues"
    reach = max(abs(low - middle.iloc[0]), abs(high - middle.iloc[0])) or 1.0
    return middle.iloc[0] - reach, middle.iloc[0] + reach, "vlag"


def stacked(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """Shares of a row behind each other, the number in each that has room for it."""
    from seaborn.utils import relative_luminance

    known = marks[marks["value"].notna()].sort_values("height", kind="stable")
    known = known.sort_values("series", key=lambda names: names.map(list(shared.looks).index))
    starts = known.groupby("height")["value"].cumsum() - known["value"]
    for name, look in shared.looks.items():
        mine = known[known["series"] == name]
        style: dict[str, Any] = {"color": look.colour, "edgecolor": "white", "label": name}
        ax.barh(mine["height"], mine["value"], 0.7, left=starts[mine.index], **style)
        ink = "black" if relative_luminance(look.colour) > 0.25 else "white"
        middles = starts[mine.index] + mine["value"] / 2
        for x, y, value in zip(middles, mine["height"], mine["value"], strict=True):
            text = shared.text(value, chart.digits)
            if value / chart.scale > 0.02 * len(text):
                ax.text(x, y, text, ha="center", va="center", color=ink)
    ax.set_xlim(0, chart.scale)
    lost = marks[~marks["height"].isin(known["height"])].drop_duplicates("height")
    _say_what_lacks(ax, lost, lost["height"])


def grid(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """Every answer as a mark; a small cross where it is missing."""
    size = min(8.0, 0.6 * 72 * BESIDE_ROWS / len(shared.columns))
    for name, look in shared.looks.items():
        mine = marks[marks["series"] == name]
        style: dict[str, Any] = {"color": look.colour, "markersize": size, "label": name}
        ax.plot(mine["place"], mine["height"], look.marker, **style)
    lost = marks[marks["series"] == ""]
    if len(lost):
        words = words_of(lost["status"]) or "no answer that can be read"
        ax.plot(lost["place"], lost["height"], "x", color=DARK, markersize=size / 2, label=words)
    ax.grid(visible=False)
    ax.set_xlim(-0.5, len(shared.columns) - 0.5)
    name_columns(ax, range(len(shared.columns)), shared.columns, BESIDE_ROWS)


def scatter(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """One column against the other, with the line on which both are the same."""
    for _, some, style in _parts(marks, shared.looks):
        ax.plot(some["place"], some["value"], linestyle="", alpha=0.7, **style)
    if not chart.diagonal:
        return
    every = shared.marks[["place", "value"]].dropna()
    low, high = float(every.min().min()), float(every.max().max())
    room = 0.06 * (high - low or 1.0)
    ends = (low - room, high + room)
    if chart.limits:
        ends = (chart.scale * chart.limits[0], chart.scale * chart.limits[1])
    line: dict[str, Any] = {"color": DARK, "linewidth": 1, "linestyle": "--", "zorder": 0.5}
    ax.axline((0, 0), slope=1, label=chart.diagonal, **line)
    ax.set(xlim=ends, ylim=ends, box_aspect=1)


KINDS = {one.__name__: one for one in (dots, heat, lines, stacked, grid, scatter)}
