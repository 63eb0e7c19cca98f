"""Six kinds of figures that serve all notebooks, each drawn from one flat frame by `draw`.

A frame of a verb has `value`, `ci_low`, `ci_high`, `status` and perhaps `control` (what the control
wording does), `limit` (of detection) and `line`: they are drawn where the number drawn is `value`,
because they belong to it and to nothing else.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from katayori.columns import FrameError
from katayori.errors import expect
from katayori.frames import LABEL_OR_NONE, NUMBER_OR_NONE, reason_of, require
from katayori.report.chart_kinds import (
    BESIDE_ROWS,
    DARK,
    KINDS,
    LETTER,
    LETTERS,
    Chart,
    Shared,
    column_names,
    width_of,
    words_of,
    wrapped,
)
from katayori.report.column_names import human
from katayori.report.looks import FIRST, Look, looks
from katayori.report.pictures import use_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a figure's width; of a lane of dots, a row of cells or bars, a row of answers, a panel
#: of lines, a square panel; of what stands around a panel.
WIDTH = 6.4
LANE, ROW, ANSWERS, HIGH, SQUARE, AROUND = 0.19, 0.32, 0.21, 2.3, 3.2, 0.65
#: Letters of a row's name and of the title in one line.
ROW_NAME, TITLE = 24, 70
#: The role of the number that a kind draws (`grid` draws none), what a kind needs beside x, and
#: what no two marks of it may share.
NUMBER = {"dots": "x", "heat": "value", "lines": "y", "stacked": "x", "scatter": "y"}
NEEDS = {
    "dots": (),
    "heat": ("row", "value"),
    "lines": ("y",),
    "stacked": ("row", "series"),
    "grid": ("row", "series"),
    "scatter": ("y",),
}
ALONE = {
    "dots": ["panel", "row", "series"],
    "heat": ["panel", "row", "x"],
    "lines": ["panel", "series", "x"],
    "stacked": ["panel", "row", "series"],
    "grid": ["panel", "row", "x"],
}
BESIDE = ("control", "limit", "line")


def draw(
    frame: pd.DataFrame,
    *,
    kind: str,
    x: str,
    row: str | None = None,
    series: str | None = None,
    panel: str | None = None,
    **details: Any,
) -> "Figure":
    """A figure of a flat frame; nothing is drawn of a frame without a value.

    Args:
        frame: a row a mark; rows, series and panels stand in the order of the frame.
        kind: `dots` (x is a number, with its interval, a line a row), `heat` (a number a cell, row
            by x), `lines` (y over x, with its interval), `stacked` (x is a share; those of a row
            add to 1), `grid` (an answer a cell, row by x), `scatter` (y against x).
        x: column of what lies along the horizontal axis.
        row: column of what stands below each other.
        series: column of what differs in colour and marker; of the answers in a `grid`, where a
            missing one is a small cross. A model looks the same in every figure.
        panel: column of small multiples.
        details: y (`lines`, `scatter`), value (`heat`): columns of numbers. interval: two columns;
            default, ci_low and ci_high where the number is `value`. title, label (of the axis of
            numbers; of the horizontal one in `scatter`), y_label (of the vertical one there).
            line: of reference: a number, a column of numbers (such as the mean of each panel), or
            several of both by name; default, the column `line`. bands: areas of reference by name,
            such as `{"reliable": (0.8, 1)}`. limits: ends of the axis of numbers. scale: numbers
            are drawn times this (100: points); lines, bands and limits are given in the unit of the
            frame. digits: of the numbers written. look: kind of the series (`looks.LISTED`);
            default, the name of the column. order: names of the series, for looks that do not
            depend on the frame. points (`lines`): series drawn as points with intervals. diagonal
            (`scatter`): what the line x = y means; "" where the units differ.

    Returns:
        the figure. Rows whose status is not `ok` have a hollow marker (a number in brackets in a
        `heat`); those without a value have the status in words.

    Raises:
        KatayoriError: an unknown kind; a column that is lacking or holds something else; two rows
            in one place; shares of a row that do not add to 1.
        TypeError: an unknown detail.

    Example:
        >>> rows = {"model": "m", "factor": ["age", "race"], "value": [0.0, 0.1]}
        >>> frame = pd.DataFrame(rows | {"ci_low": [-0.1, 0.0], "ci_high": [0.1, 0.2]})
        >>> figure = draw(frame, kind="dots", x="value", row="factor", series="model", line=0)
        >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
        ['age', 'race']
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    chart = chart_of(kind=kind, x=x, row=row, series=series, panel=panel, **details)
    use_style()
    if why_empty(frame, chart):
        blank = Figure(figsize=(WIDTH, 1))
        blank.subplots().set_axis_off()
        return blank
    marks = _marks(frame, chart)
    sizes: list[Any] = ["font.size", "axes.labelsize", "axes.titlesize", "legend.fontsize"]
    with rc_context(dict.fromkeys(sizes, LETTERS)):
        return _drawn(chart, Shared(marks, _looks(chart, marks)))


def chart_of(*, kind: str, **details: Any) -> Chart:
    """What `draw` is asked for, with its arguments and errors."""
    expect(kind, tuple(KINDS), "kind of figure")
    chart = Chart(kind, **details)
    for name in NEEDS[kind]:
        if getattr(chart, name) is None:
            raise FrameError(f"draw: kind {kind!r} needs {name}=, the name of a column")
    return chart


def drawn_columns(frame: pd.DataFrame, chart: Chart) -> pd.DataFrame:
    """The frame as it is drawn: the columns of the marks, and what tells how sure they are.

    Example:
        >>> frame = pd.DataFrame({"factor": ["age"], "value": 1.0, "n": 3, "seed": 7})
        >>> list(drawn_columns(frame, chart_of(kind="dots", x="value", row="factor")))
        ['factor', 'value', 'n']
    """
    known = [name for name in ("n", "n_invalid", "clusters", "status") if name in frame]
    return frame[list(dict.fromkeys([*_names(chart), *_numbers(frame, chart), *known]))]


def why_empty(frame: pd.DataFrame, chart: Chart) -> str:
    """Why nothing can be drawn of a frame, in a few words; empty where something can."""
    if frame.empty:
        return reason_of(frame) or "no answers of this run belong here"
    marks = _marks(frame, chart)
    if marks["value"].notna().any():
        return ""
    words = words_of(marks["status"])
    return "no value is defined" + (f" ({words})" if words else "")


# --- the marks ------------------------------------------------------------------------------------


def _number(chart: Chart) -> str | None:
    """The column of the number that is drawn."""
    return getattr(chart, NUMBER[chart.kind]) if chart.kind in NUMBER else None


def _belonging(frame: pd.DataFrame, chart: Chart) -> dict[str, str]:
    """What belongs to that number, role -> column: the ends of its interval and what is beside."""
    ends = chart.interval
    if _number(chart) == "value" and not ends and {"ci_low", "ci_high"} <= set(frame):
        ends = "ci_low", "ci_high"
    if _number(chart) != "value" and not ends:
        return {}
    found = dict(zip(("low", "high"), ends or (), strict=False))
    return found | {name: name for name in BESIDE if name in frame}


def _names(chart: Chart) -> list[str]:
    """The columns of names."""
    roles = (chart.panel, chart.row, chart.series)
    own = chart.x if chart.kind in ("heat", "grid", "lines") else None
    return [column for column in (*roles, own) if column]


def _numbers(frame: pd.DataFrame, chart: Chart) -> list[str]:
    """The columns of numbers."""
    own = [chart.x] if chart.kind == "scatter" else []
    own += [column for column in [_number(chart)] if column]
    lines = [at for at in _lines(frame, chart).values() if isinstance(at, str)]
    return [*own, *_belonging(frame, chart).values(), *lines]


def _lines(frame: pd.DataFrame, chart: Chart) -> dict[str, float | str]:
    """Name of a line of reference -> its number, or the column that holds it."""
    if isinstance(chart.line, Mapping):
        return dict(chart.line)
    if chart.line is None:
        return {"": "line"} if "line" in _belonging(frame, chart) else {}
    return {"": chart.line}


def _name(value: Any) -> str:
    """A value of a column as a name: whole numbers without a point, a missing value empty."""
    if pd.isna(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _marks(frame: pd.DataFrame, chart: Chart) -> pd.DataFrame:
    """A row a mark, under the names of the roles and in the unit that is drawn."""
    wanted = dict.fromkeys(_names(chart), LABEL_OR_NONE)
    require("draw", frame, wanted | dict.fromkeys(_numbers(frame, chart), NUMBER_OR_NONE))
    frame = frame.reset_index(drop=True)
    marks = pd.DataFrame({"status": "ok"}, index=frame.index)
    if "status" in frame:
        marks["status"] = frame["status"].map(_name).replace("", "ok")
    for role in ("panel", "row", "series", "x"):
        column = getattr(chart, role)
        marks[role] = frame[column].map(_name) if column else ""
    # Nothing but models has a look where no series is asked for.
    models = frame["model"].map(_name) if "model" in (chart.row, chart.panel) else ""
    marks["look"] = marks["series"] if chart.series else models
    columns = {"value": _number(chart)} | _belonging(frame, chart)
    for role in ("value", "low", "high", *BESIDE):
        column = columns.get(role)
        marks[role] = chart.scale * frame[column].astype(float) if column else math.nan
    if chart.kind == "grid":
        marks["value"] = marks["series"].ne("").astype(float).replace(0, math.nan)
    for number, (name, at) in enumerate(_lines(frame, chart).items()):
        marks[f"line {name}"] = chart.scale * (frame[at] if isinstance(at, str) else at)
        marks["line"] = marks[f"line {name}"] if number == 0 else marks["line"]
    marks["place"] = _places(frame, chart, marks["x"])
    _look_at(chart, marks)
    return marks


def _places(frame: pd.DataFrame, chart: Chart, names: pd.Series) -> pd.Series:
    """Where marks lie along the horizontal axis: at their numbers, or one behind the other."""
    if chart.kind == "scatter":
        return chart.scale * frame[chart.x].astype(float)
    if chart.kind == "lines" and pd.api.types.is_numeric_dtype(frame[chart.x]):
        return frame[chart.x].astype(float)
    return names.map({name: place for place, name in enumerate(dict.fromkeys(names))})


def _look_at(chart: Chart, marks: pd.DataFrame) -> None:
    """FrameError where two marks lie in one place, or shares do not add to 1."""
    roles = ALONE.get(chart.kind, [])
    twice = marks[marks.duplicated(roles)] if roles else marks.head(0)
    if len(twice):
        said = ", ".join(f"{role} {twice.iloc[0][role]!r}" for role in roles)
        raise FrameError(
            f"draw: two rows of the frame have {said}; choose one, or name the column that tells"
            " them apart, e.g. panel='source'"
        )
    if chart.kind == "stacked":
        sums = marks.groupby(["panel", "row"], sort=False)["value"].sum(min_count=1) / chart.scale
        wrong = sums[(sums - 1).abs() > 1e-6]
        for name, total in wrong.items():
            raise FrameError(f"draw: the shares of {name} add to {total:.4g}; right is 1")


def _looks(chart: Chart, marks: pd.DataFrame) -> dict[str, Look]:
    """The look of each name: the same in all panels."""
    names = [name for name in dict.fromkeys([*chart.order, *marks["look"]]) if name]
    kind = chart.look or chart.series or "model"
    return looks(names, kind if kind in FIRST else "other") or {"": Look(DARK, "o")}


# --- the figure -----------------------------------------------------------------------------------


def _drawn(chart: Chart, shared: Shared) -> "Figure":
    from matplotlib.figure import Figure

    groups = {str(name): own for name, own in shared.marks.groupby("panel", sort=False)}
    rows = {name: list(dict.fromkeys(own["row"])) for name, own in groups.items()}
    every = list(dict.fromkeys(shared.marks["row"]))
    # Panels that have no row in common, such as the levels of several factors, have their own.
    is_own = len(groups) > 1 and len(every) == sum(map(len, rows.values()))
    is_wide = chart.kind == "grid" or (chart.kind == "heat" and len(shared.columns) > 3)
    across = 1 if is_own or is_wide or len(groups) == 1 else 2
    down = math.ceil(len(groups) / across)
    heights = [_height(chart, shared, rows[name] if is_own else every) for name in groups]
    height = sum(heights[::across]) + AROUND * down + 0.2 + _below(chart, shared, down)
    fig = Figure(figsize=(WIDTH, height), layout="constrained")
    shares: dict[str, Any] = {"sharex": chart.kind != "heat", "sharey": not is_own}
    axes: list[Axes] = list(
        fig.subplots(down, across, squeeze=False, height_ratios=heights[::across], **shares).flat
    )
    for place, (name, marks) in enumerate(groups.items()):
        ax = axes[place]
        _draw_panel(ax, chart, marks, shared, rows[name] if is_own else every)
        ax.set_title(wrapped(name, TITLE // across))
        _name_axes(ax, chart, place, across, is_lowest=place >= len(groups) - across)
    for ax in axes[len(groups) :]:
        ax.remove()
    if chart.title:
        fig.suptitle(wrapped(chart.title, TITLE), fontsize=LETTERS + 1)
    _legend(fig, chart, shared)
    return fig


def _height(chart: Chart, shared: Shared, rows: list[str]) -> float:
    """Inches of a panel."""
    if chart.kind in ("lines", "scatter"):
        return HIGH if chart.kind == "lines" or chart.panel else SQUARE
    lines = max(wrapped(name, ROW_NAME).count("\n") + 1 for name in rows)
    lanes = len(shared.lanes) if any(shared.lanes.values()) else 1
    own = {"dots": 0.12 + LANE * lanes, "grid": ANSWERS}.get(chart.kind, ROW)
    return max(own, 0.06 + 0.19 * lines) * len(rows)


def _below(chart: Chart, shared: Shared, down: int) -> float:
    """Inches of what stands above and below the panels: the title, and names of columns."""
    title = 0.2 * wrapped(chart.title, TITLE).count("\n")
    if chart.kind not in ("heat", "grid"):
        return title
    names, is_upright = column_names(shared.columns, BESIDE_ROWS)
    lines = [line for name in names for line in name.split("\n")]
    room = LETTER * max(map(width_of, lines)) if is_upright else 0.19 * len(lines) / len(names)
    return title + room * (down if chart.kind == "heat" else 1)


def _draw_panel(
    ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared, rows: list[str]
) -> None:
    """The rows' names, the marks, and what they are compared with."""
    if chart.kind not in ("lines", "scatter"):
        names = [wrapped(name, ROW_NAME) for name in rows]
        ax.set(yticks=range(len(rows)), yticklabels=names, ylim=(len(rows) - 0.5, -0.5))
        ax.grid(visible=False, axis="y")
    KINDS[chart.kind](ax, chart, marks.assign(height=marks["row"].map(rows.index)), shared)
    ax.tick_params(labelsize=LETTERS)
    if chart.kind in ("heat", "grid", "scatter"):
        return
    is_x = NUMBER[chart.kind] == "x"
    area, line = (ax.axvspan, ax.axvline) if is_x else (ax.axhspan, ax.axhline)
    for place, (name, (low, high)) in enumerate(chart.bands.items()):
        shade = f"{0.92 - 0.08 * (place % 5):g}"
        area(chart.scale * low, chart.scale * high, color=shade, lw=0, zorder=0.2, label=name)
    styles = iter(("-", "--", ":", "-.") * len(marks.columns))
    for column in map(str, marks.filter(regex="^line ")):
        style: dict[str, Any] = {"color": DARK, "linestyle": next(styles), "linewidth": 1.2}
        for value in marks[column].dropna().unique():
            line(value, zorder=1.5, label=column.removeprefix("line ") or None, **style)
    if chart.limits:
        ends = (chart.scale * chart.limits[0], chart.scale * chart.limits[1])
        (ax.set_xlim if is_x else ax.set_ylim)(ends)


def _name_axes(ax: "Axes", chart: Chart, place: int, across: int, *, is_lowest: bool) -> None:
    """Names of axes: below the lowest panels, and left of the leftmost."""
    number = chart.label or human(_number(chart) or chart.x)
    is_x = chart.kind in ("dots", "stacked")
    below = number if is_x else human(chart.x)
    beside = number if chart.kind == "lines" else ""
    if chart.kind == "scatter":
        below, beside = chart.label or human(chart.x), chart.y_label or human(chart.y or "")
    room = (TITLE if chart.kind == "lines" else TITLE - ROW_NAME) // across
    ax.set_xlabel(wrapped(below, room) if is_lowest else "")
    ax.set_ylabel(wrapped(beside, 24) if place % across == 0 else "")
    ax.tick_params(labelbottom=is_lowest or chart.kind == "heat")


def _legend(fig: "Figure", chart: Chart, shared: Shared) -> None:
    """One legend below all panels, series first, in as many columns as there is room for."""
    once: dict[str, Any] = {}
    for ax in fig.axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            once.setdefault(str(name), handle)
    once |= _remarks(chart, shared.marks)
    names = [name for name in shared.looks if name in once and chart.series]
    names += [name for name in once if name not in shared.looks]
    if not names:
        return
    texts = [wrapped(name, TITLE - 8) for name in names]
    columns = next(n for n in (4, 3, 2, 1) if n == 1 or _inches(texts, n) < WIDTH)
    lines = math.ceil(len(texts) / columns) + sum(text.count("\n") for text in texts)
    fig.set_figheight(fig.get_figheight() + 0.24 * lines)
    where: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "ncols": columns}
    fig.legend([once[name] for name in names], texts, **where)


def _inches(texts: list[str], columns: int) -> float:
    """The width of a legend, which is filled column by column."""
    import numpy as np

    widths = [max(map(width_of, text.split("\n"))) for text in texts]
    return sum(0.073 * max(part) + 0.6 for part in np.array_split(widths, columns) if len(part))


def _remarks(chart: Chart, marks: pd.DataFrame) -> dict[str, Any]:
    """What hollow markers, brackets and dashes mean."""
    from matplotlib.lines import Line2D

    if chart.kind in ("stacked", "grid"):
        return {}
    with_value = marks["value"].notna()
    hollow, lost = words_of(marks[with_value]["status"]), words_of(marks[~with_value]["status"])
    if chart.kind == "heat":
        said = {"( )": hollow, "—": lost}
        nothing = Line2D([], [], linestyle="")
        return {f"{sign}: {words}": nothing for sign, words in said.items() if words}
    circle = Line2D([], [], marker="o", linestyle="", color=DARK, markerfacecolor="white")
    return {f"hollow: {hollow}": circle} if hollow else {}
