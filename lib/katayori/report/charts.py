"""Six kinds of figures that serve all notebooks, each drawn from one flat frame by `draw`.

A frame of a verb has `value`, `ci_low`, `ci_high`, `status` and perhaps `control` (what the control
wording does), `limit` (of detection) and `line`: they are drawn where the number drawn is `value`,
because they belong to it and to nothing else.
"""

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from katayori.columns import FrameError
from katayori.frames import LABEL_OR_NONE, NUMBER_OR_NONE, reason_of, require
from katayori.report.chart_kinds import (
    DARK,
    KINDS,
    LETTER,
    LETTERS,
    LINE,
    STYLES,
    Chart,
    Look,
    Shared,
    balanced,
    looks,
    use_style,
    words_of,
    wrapped,
)
from katayori.report.names import human
from katayori.report.tables import width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a figure's width, and of its panels: beside names of rows, or without them.
WIDTH, BESIDE_ROWS, WITHOUT = 6.4, 4.3, 5.4
#: Inches of a lane of dots, a row of cells or bars, a row of answers, a panel of lines, a square.
LANE, ROW, ANSWERS, HIGH, SQUARE = 0.19, 0.32, 0.21, 2.3, 3.2
#: Letters of a row's name, of the title, and of what stands below all panels, in one line.
ROW_NAME, TITLE, BELOW = 24, 62, 70
NAMES = ("panel", "row", "series", "x")
#: What belongs to the column `value`, role -> column.
OF_VALUE = {"low": "ci_low", "high": "ci_high", "control": "control", "limit": "limit"}
OF_VALUE["line"] = "line"


def draw(frame: pd.DataFrame, *, kind: str, x: str, **details: Any) -> "Figure":
    """A figure of a flat frame; nothing is drawn of a frame without a value.

    Args:
        frame: a row a mark; rows, series and panels stand in the order of the frame.
        kind: `dots` (x is a number, with its interval, a line a row), `heat` (a number a cell, row
            by x), `lines` (y over x, with its interval), `stacked` (x is a share; those of a row
            add to 1), `grid` (an answer a cell, row by x), `scatter` (y against x).
        x: column of what lies along the horizontal axis.
        details: row: column of what stands below each other. series: column of what differs in
            colour and marker; of the answers in a `grid`, where a missing one is a small cross. A
            model looks the same in every figure. panel: column of small multiples. y (`lines`,
            `scatter`), value (`heat`): columns of numbers. title: what is found, in at most 110
            letters. label (of the axis of numbers; of the horizontal one in
            `scatter`), y_label (of the vertical one there). line: of reference: a number, a column
            of numbers (such as the mean of each panel), or several of both by the names that stand
            at them; default, the column `line`. bands: areas of reference by name, such as
            `{"reliable": (0.8, 1)}`. limits: ends of the axis of numbers. scale: numbers are drawn
            times this (100: points); lines, bands and limits are given in the unit of the frame.
            look: kind of the series (of `chart_kinds.LISTED`); default, the name of the column.
            order: names of the series, for looks that do not depend on the frame. points (`lines`):
            series drawn as points with intervals. diagonal (`scatter`): what the line x = y means;
            "" where the units differ.

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
    from matplotlib.figure import Figure

    chart = Chart(kind, x, **details)
    use_style()
    if why_empty(frame, chart):
        return Figure(figsize=(WIDTH, 1))
    return _drawn(chart, _marks(frame, chart))


def drawn_columns(frame: pd.DataFrame, chart: Chart) -> pd.DataFrame:
    """The frame as it is drawn: the columns of the marks, and what tells how sure they are.

    Example:
        >>> frame = pd.DataFrame({"factor": ["age"], "value": 1.0, "n": 3, "seed": 7})
        >>> list(drawn_columns(frame, Chart("dots", "value", row="factor")))
        ['factor', 'value', 'n']
    """
    known = [name for name in ("n", "n_invalid", "clusters", "status") if name in frame]
    return frame[list(dict.fromkeys([*_columns(frame, chart).values(), *known]))]


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


def _columns(frame: pd.DataFrame, chart: Chart) -> dict[str, str]:
    """The columns that are drawn, by what they are to a mark: names first, then numbers."""
    is_name = chart.kind in ("heat", "grid", "lines")
    number = chart.value or chart.y or (None if chart.kind == "grid" else chart.x)
    found = {name: getattr(chart, name) for name in NAMES[:3]}
    found["x"] = chart.x if is_name else None
    found["at"] = chart.x if chart.kind == "scatter" else None
    found["value"] = number
    if number == "value":
        found |= {role: column for role, column in OF_VALUE.items() if column in frame}
    for name, at in chart.lines.items():
        column = "line" if at is None and "line" in found else at
        found |= {f"line {name}": column} if isinstance(column, str) else {}
    return {role: column for role, column in found.items() if column}


def _name(value: Any) -> str:
    """A value of a column as a name: whole numbers without a point, a missing value empty."""
    if pd.isna(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _marks(frame: pd.DataFrame, chart: Chart) -> pd.DataFrame:
    """A row a mark, under the names of the roles and in the unit that is drawn."""
    columns = _columns(frame, chart)
    holds = {role: LABEL_OR_NONE if role in NAMES else NUMBER_OR_NONE for role in columns}
    require("draw", frame, {columns[role]: what for role, what in holds.items()})
    frame = frame.reset_index(drop=True)
    roles = dict.fromkeys(NAMES, "") | dict.fromkeys(("value", *OF_VALUE), math.nan)
    marks = pd.DataFrame({"status": "ok", **roles}, index=frame.index)
    if "status" in frame:
        marks["status"] = frame["status"].map(_name).replace("", "ok")
    for role, column in columns.items():
        own = frame[column]
        marks[role] = own.map(_name) if role in NAMES else chart.scale * own.astype(float)
    # Nothing but models has a look where no series is asked for.
    models = frame["model"].map(_name) if "model" in (chart.row, chart.panel) else ""
    marks["look"] = marks["series"] if chart.series else models
    if chart.kind == "grid":
        marks["value"] = marks["series"].ne("").map({True: 1.0, False: math.nan})
    for name, at in chart.lines.items():
        if at is not None and not isinstance(at, str):
            marks[f"line {name}"] = chart.scale * at
    marks["line"] = marks.get(f"line {next(iter(chart.lines), '')}", marks["line"])
    if chart.kind != "scatter":
        is_number = chart.kind == "lines" and pd.api.types.is_numeric_dtype(frame[chart.x])
        marks["at"] = frame[chart.x].astype(float) if is_number else pd.factorize(marks["x"])[0]
    _look_at(chart, marks)
    return marks.assign(lane=_lanes(marks) if chart.kind == "dots" else 0.0)


def _lanes(marks: pd.DataFrame) -> pd.Series:
    """How far each mark lies from the middle of its row, so that all of a row have room."""
    order = pd.Series(pd.factorize(marks["series"])[0], index=marks.index)
    rows = order.groupby([marks["panel"], marks["row"]])
    middle = (rows.transform("size") - 1) / 2
    return (rows.rank("first") - 1 - middle) * 0.8 / rows.size().max()


def _look_at(chart: Chart, marks: pd.DataFrame) -> None:
    """FrameError where two marks lie in one place, or shares do not add to 1."""
    roles = ["panel", "row", "x", *([] if chart.kind == "grid" else ["series"])]
    twice = marks[marks.duplicated(roles)] if chart.kind != "scatter" else marks.head(0)
    if len(twice):
        said = ", ".join(f"{role} {name!r}" for role, name in twice[roles].iloc[0].items() if name)
        raise FrameError(
            f"draw: two rows of the frame have {said}; choose one, or name the column that tells"
            " them apart, e.g. panel='source'"
        )
    if chart.kind == "stacked":
        sums = marks.groupby(["panel", "row"], sort=False)["value"].sum(min_count=1) / chart.scale
        for name, total in sums[(sums - 1).abs() > 1e-6].items():
            raise FrameError(f"draw: the shares of {name} add to {total:.4g}; right is 1")


# --- the figure -----------------------------------------------------------------------------------


def _drawn(chart: Chart, marks: pd.DataFrame) -> "Figure":
    from matplotlib.figure import Figure

    groups = {str(name): own for name, own in marks.groupby("panel", sort=False)}
    rows = {name: list(dict.fromkeys(own["row"])) for name, own in groups.items()}
    every = list(dict.fromkeys(marks["row"]))
    # Panels that have no row in common, such as the levels of several factors, have their own.
    is_own = len(groups) > 1 and len(every) == sum(map(len, rows.values()))
    is_wide = chart.kind == "grid" or (chart.kind == "heat" and marks["x"].nunique() > 3)
    across = 1 if is_own or is_wide or len(groups) == 1 else 2
    has_rows = chart.kind not in ("lines", "scatter")
    width = (BESIDE_ROWS if has_rows else WITHOUT) / across
    names = [name for name in dict.fromkeys([*chart.order, *marks["look"]]) if name]
    found = looks(names, chart.look or chart.series or "model")
    shared = Shared(marks, found or {"": Look(DARK, "o")}, width)
    rows = rows if is_own else dict.fromkeys(groups, every)
    heights = [_height(chart, marks, rows[name]) for name in groups]
    down = math.ceil(len(groups) / across)
    fig = Figure(figsize=(WIDTH, 4 + sum(heights)), layout="constrained")
    shares: dict[str, Any] = {"sharex": chart.kind != "heat", "sharey": not is_own}
    axes: list[Axes] = list(
        fig.subplots(down, across, squeeze=False, height_ratios=heights[::across], **shares).flat
    )
    for ax in axes[len(groups) :]:
        ax.remove()
    for place, (ax, name) in enumerate(zip(axes, groups, strict=False)):
        _draw_panel(ax, chart, groups[name], shared, rows[name])
        ax.set_title(wrapped(name, BELOW // across), loc="left")
        is_lowest = place >= len(groups) - across
        ax.tick_params(labelbottom=is_lowest or chart.kind == "heat")
    below = _name_axes(fig, chart, across)
    for ax, own, height in zip(axes, groups.values(), heights, strict=False):
        _name_lines(ax, chart, own, shared, height)
    if chart.title:
        fig.suptitle(balanced(chart.title, TITLE), x=0.01, ha="left", fontsize=LETTERS + 2)
    _legend(fig, chart, shared, below)
    # What stands around the panels has its own height; the panels get theirs.
    fig.draw_without_rendering()
    whole = fig.get_figheight() * sum(
        ax.get_position(original=True).height for ax in axes[::across]
    )
    fig.set_figheight(fig.get_figheight() - whole + sum(heights[::across]))
    if chart.kind == "scatter" and chart.diagonal:
        for ax in fig.axes:
            ax.set_box_aspect(1)
    return fig


def _named(chart: Chart) -> list[str]:
    """The names of lines of reference, which stand above the first row."""
    return [name for name in chart.lines if name and chart.kind == "dots"]


def _height(chart: Chart, marks: pd.DataFrame, rows: list[str]) -> float:
    """Inches of a panel."""
    if chart.kind in ("lines", "scatter"):
        return HIGH if chart.kind == "lines" or chart.panel else SQUARE
    return _row(chart, marks, rows) * len(rows) + LINE * len(_named(chart))


def _row(chart: Chart, marks: pd.DataFrame, rows: list[str]) -> float:
    """Inches of a row of a panel."""
    lines = max(wrapped(name, ROW_NAME).count("\n") + 1 for name in rows)
    most = marks.groupby(["panel", "row"]).size().max()
    own = {"dots": 0.12 + LANE * most, "grid": ANSWERS}.get(chart.kind, ROW)
    return float(max(own, 0.06 + 0.19 * lines))


def _draw_panel(
    ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared, rows: list[str]
) -> None:
    """The rows' names, the marks, and what they are compared with."""
    if chart.kind not in ("lines", "scatter"):
        above = LINE * len(_named(chart)) / _row(chart, shared.marks, rows)
        names = [wrapped(name, ROW_NAME) for name in rows]
        ax.set(yticks=range(len(rows)), yticklabels=names, ylim=(len(rows) - 0.5, -0.5 - above))
        ax.grid(visible=False, axis="y")
    KINDS[chart.kind](ax, chart, marks.assign(height=marks["row"].map(rows.index)), shared)
    if chart.kind in ("heat", "grid", "scatter"):
        return
    is_x = chart.kind != "lines"
    area, line = (ax.axvspan, ax.axvline) if is_x else (ax.axhspan, ax.axhline)
    for place, (name, (low, high)) in enumerate(chart.bands.items()):
        shade = f"{0.92 - 0.08 * (place % 5):g}"
        area(chart.scale * low, chart.scale * high, color=shade, lw=0, zorder=0.2, label=name)
    for name, dashes in zip(chart.lines, STYLES, strict=False):
        for value in marks.get(f"line {name}", pd.Series()).dropna().unique():
            line(value, zorder=1.5, color=DARK, linestyle=dashes, linewidth=1.2)
    if chart.limits:
        ends = (chart.scale * chart.limits[0], chart.scale * chart.limits[1])
        (ax.set_xlim if is_x else ax.set_ylim)(ends)


def _name_axes(fig: "Figure", chart: Chart, across: int) -> str:
    """Names axes left of the leftmost panels, and below one; gives the name below several."""
    column = chart.value or chart.y or chart.x
    number = chart.label or human(column)
    below = number if chart.kind in ("dots", "stacked") else human(chart.x)
    beside = number if chart.kind == "lines" else ""
    if chart.kind == "scatter":
        below, beside = chart.label or human(chart.x), chart.y_label or human(column)
    if across == 1:
        fig.axes[-1].set_xlabel(balanced(below, BELOW if beside else BELOW - ROW_NAME))
    for ax in fig.axes[::across]:
        ax.set_ylabel(balanced(beside, 24))
    return balanced(below, BELOW) if across > 1 else ""


def _name_lines(
    ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared, height: float
) -> None:
    """The name of each line of reference at its line: in a strip of its own above the rows."""
    known: dict[str, Any] = {"color": DARK, "zorder": 4}
    for place, name in enumerate(filter(None, chart.lines)):
        at = float(marks[f"line {name}"].iloc[0])
        if chart.kind == "lines":
            ax.text(0.01, at, name, va="bottom", transform=ax.get_yaxis_transform(), **known)
        elif chart.kind == "dots":
            low, high = ax.get_xlim()
            half = LETTER * (width_of(name) + 1) / shared.inches / 2
            x = min(max((at - low) / (high - low), half), 1 - half)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            where: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "center"}
            ax.text(x, 1 - (place + 0.5) * LINE / height, name, bbox=box, **where, **known)


def _legend(fig: "Figure", chart: Chart, shared: Shared, below: str) -> None:
    """One legend below all panels, series first, in as many columns as there is room for.

    The name of several panels' axes is its title: a label of the figure would lie upon it.
    """
    once: dict[str, Any] = {}
    for ax in fig.axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            once.setdefault(str(name), handle)
    once |= _remarks(chart, shared.marks)
    names = [name for name in shared.looks if name in once and chart.series]
    names += [name for name in once if name not in shared.looks]
    handles, texts = [once[name] for name in names], [wrapped(name, TITLE) for name in names]
    where: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "title": below}
    for columns in range(min(len(names), 4), 0, -1):
        legend = fig.legend(handles, texts, ncols=columns, **where)
        if columns == 1 or legend.get_window_extent().width < fig.bbox.width:
            return
        legend.remove()
    fig.supxlabel(below, fontsize=LETTERS)


def _remarks(chart: Chart, marks: pd.DataFrame) -> dict[str, Any]:
    """What hollow markers, brackets and dashes mean."""
    from matplotlib.lines import Line2D

    if chart.kind in ("stacked", "grid"):
        return {}
    with_value, is_heat = marks["value"].notna(), chart.kind == "heat"
    hollow, lost = words_of(marks[with_value]["status"]), words_of(marks[~with_value]["status"])
    said = {"( )": hollow, "—": lost} if is_heat else {"hollow": hollow}
    style: dict[str, Any] = {"linestyle": "", "color": DARK, "markerfacecolor": "white"}
    sign = Line2D([], [], marker="" if is_heat else "o", **style)
    return {f"{name}: {words}": sign for name, words in said.items() if words}
