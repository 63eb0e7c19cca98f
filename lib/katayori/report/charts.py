"""Five kinds of figures that serve all notebooks, each drawn from one flat frame by `draw`.

A frame of a verb has `value`, `ci_low`, `ci_high`, `status` and perhaps `control` (what the control
wording does), `limit` (of detection) and `line`: they are drawn where the number drawn is `value`,
because they belong to it and to nothing else.

A frame becomes marks, a row a mark, under the names of roles: look (whose colour and marker it
has), x, row and series (names), at (along the horizontal axis), height (of its row), lane (how far
from the middle of its row), value, low, high, control, limit, line, status. `_drawn` lays out the
panels, and a function of each kind (`KINDS`) puts the marks into one.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from katayori import paths
from katayori.errors import expect
from katayori.frames import LABEL_OR_NONE, NUMBER_OR_NONE, FrameError, reason_of, require
from katayori.language import told
from katayori.report.tables import human, mark, width_of

#: Inches of a figure's width, and of its panels: beside names of rows, or without them.
WIDTH, BESIDE_ROWS, WITHOUT = 6.4, 4.3, 5.4
#: Inches of a lane of dots, a row of bars, a row of answers, a panel of lines, a square.
LANE, ROW, ANSWERS, HIGH, SQUARE = 0.19, 0.32, 0.21, 2.3, 3.2
#: Letters of a row's name, of the title, and of what stands below all panels, in one line.
ROW_NAME, TITLE, BELOW = 24, 62, 70
NAMES = ("panel", "row", "series", "x")
#: What belongs to the column `value`, role -> column.
OF_VALUE = {"low": "ci_low", "high": "ci_high"}
OF_VALUE |= {name: name for name in ("control", "limit", "line")}
# Less its yellow, which is too pale.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DARK, PALE = "#333333", "#D9D9D9"
FONTS = ["IPAexGothic", "DejaVu Sans"]  # the second for signs the first lacks, such as ≤
#: Points of all letters but the title's: 8 pixels where a picture is 358 pixels wide.
LETTERS = 11
#: Inches of a narrow letter (half of a wide one), and of a line of letters.
LETTER, LINE = 0.081, 1.15 * LETTERS / 72
#: The order is the look. Other kinds, such as "answer", go by order of appearance alone.
LISTED = {
    "model": ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"),
    "method": ("sampled answers", "P(yes)", "letters", "calibrated", "likelihood"),
    "judge method": ("BS1", "BS2", "proposed", "robustness"),
    "truth": ("answer 1 is better", "answer 2 is better", "equally good"),
    "test": ("chi-square over answers", "exchange over cases"),
}
#: The first three colours are no other kind's; after seven a colour comes with another marker.
OF_MODELS = (OKABE_ITO[:2] + OKABE_ITO[-1:] + OKABE_ITO[2:-1], "osph")
OF_OTHERS = ((*OKABE_ITO[2:-1], "#8C8C8C"), "^Dv<P>")
#: Series of more points than these are lines without markers.
MARKED = 25
STYLES = ("-", "--", ":", "-.") * 9
# What is not parted: a word, a number and its % or what it counts, a wide letter and signs that
# begin no line.
_WIDE = "\u3000-\u9fff\uff00-\uffef"
_PART = re.compile(
    rf"\s|[（「『【]*[{_WIDE}][、。，．」』）】ー]*|[^\s{_WIDE}]+(?:\s%\S*|(?<=\d)[{_WIDE}])?"
)
# The same in texts that are Japanese: a phrase, which ends with its Hiragana or a sign.
_OPEN, _CLOSE = "（「『【", "、。，：；」』）】"
_PHRASE = re.compile(
    rf"\s|[{_OPEN}]*(?:\s(?=[%値ぁ-ん])|[^\s{_OPEN}{_CLOSE}ぁ-ん])*[ぁ-ん]*[{_CLOSE}]*"
)
#: What a kind needs beside x.
NEEDS = {"lines": ["y"], "scatter": ["y"]}
NEEDS |= {kind: ["row", "series"] for kind in ("stacked", "grid")}


class Look(NamedTuple):
    """A colour and a marker, as matplotlib names them."""

    colour: str
    marker: str


@dataclass(frozen=True)
class Chart:
    """What `charts.draw` was asked for, where each word is explained."""

    kind: str
    x: str
    row: str | None = None
    series: str | None = None
    panel: str | None = None
    y: str | None = None
    title: str = ""
    label: str = ""
    y_label: str = ""
    line: float | str | Mapping[str, float | str] | None = None
    bands: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    limits: tuple[float, float] | None = None
    scale: float = 1
    look: str = ""
    order: Sequence[str] = ()
    points: Sequence[str] = ()
    diagonal: str = "the same in both"

    def __post_init__(self) -> None:
        expect(self.kind, tuple(KINDS), "kind of figure")
        for name in NEEDS.get(self.kind, ()):
            if getattr(self, name) is None:
                raise FrameError(f"draw: kind {self.kind!r} needs {name}=, the name of a column")

    @property
    def lines(self) -> Mapping[str, float | str | None]:
        """Name of a line of reference -> its number, or the column that holds it."""
        return self.line if isinstance(self.line, Mapping) else {"": self.line}


@dataclass(frozen=True)
class _Shared:
    """What all panels share.

    These are all marks, the look of each name, their width in inches, and the names along the
    horizontal axis.
    """

    marks: pd.DataFrame
    looks: Mapping[str, Look]
    inches: float
    columns: list[str]

    def text(self, value: float) -> str:
        """A number as it is written, in digits that suit the largest one."""
        digits = 0 if self.marks["value"].abs().max() >= 10 else 2
        return f"{round(value, digits) + 0.0:.{digits}f}"


def draw(frame: pd.DataFrame, *, kind: str, x: str, **details: Any) -> Figure:
    """A figure of a flat frame; nothing is drawn of a frame without a value.

    Args:
        frame: a row a mark; rows, series and panels stand in the order of the frame.
        kind: `dots` (x is a number, with its interval, a line a row), `lines` (y over x, with its
            interval), `stacked` (x is a share; those of a row add to 1), `grid` (an answer a
            cell, row by x), `scatter` (y against x).
        x: column of what lies along the horizontal axis.
        details: row: column of what stands below each other. series: column of what differs in
            colour and marker; of the answers in a `grid`, where a missing one is a small cross. A
            model looks the same in every figure. panel: column of small multiples. y (`lines`,
            `scatter`): column of numbers. title: what is found, in at most 110 letters. label (of
            the axis of numbers; of the horizontal one in `scatter`), y_label (of the vertical one
            there). line: of reference: a number, a column of numbers (such as the mean
            of each panel), or several of both by the names that stand at them; default, the column
            `line`. bands: areas of reference by name, such as
            `{"reliable": (0.8, 1)}`. limits: ends of the axis of numbers. scale: numbers are drawn
            times this (100: points); lines, bands and limits are given in the unit of the frame.
            look: kind of the series (of `LISTED`); default, the name of the column.
            order: names of the series, for looks that do not depend on the frame. points (`lines`):
            series drawn as points with intervals. diagonal (`scatter`): what the line x = y means;
            "" where the units differ.

    Returns:
        the figure. Rows whose status is not `ok` have a hollow marker; those without a value have
        the status in words.

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
    chart = Chart(kind, x, **details)
    _use_style()
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
    words = _words_of(marks["status"])
    return told("no value is defined" + (f" ({words})" if words else ""))


# --- the marks ------------------------------------------------------------------------------------


def _columns(frame: pd.DataFrame, chart: Chart) -> dict[str, str]:
    """The columns that are drawn, by what they are to a mark: names first, then numbers."""
    is_name = chart.kind in ("grid", "lines")
    number = chart.y or (None if chart.kind == "grid" else chart.x)
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
    _check(chart, marks)
    return marks.assign(lane=_lanes(marks) if chart.kind == "dots" else 0.0)


def _lanes(marks: pd.DataFrame) -> pd.Series:
    """How far each mark lies from the middle of its row, so that all of a row have room."""
    order = pd.Series(pd.factorize(marks["series"])[0], index=marks.index)
    rows = order.groupby([marks["panel"], marks["row"]])
    middle = (rows.transform("size") - 1) / 2
    return (rows.rank("first") - 1 - middle) * 0.8 / rows.size().max()


def _check(chart: Chart, marks: pd.DataFrame) -> None:
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


def _drawn(chart: Chart, marks: pd.DataFrame) -> Figure:
    groups = {str(name): own for name, own in marks.groupby("panel", sort=False)}
    rows = {name: list(dict.fromkeys(own["row"])) for name, own in groups.items()}
    every = list(dict.fromkeys(marks["row"]))
    # Panels that have no row in common, such as the levels of several factors, have their own.
    is_own = len(groups) > 1 and len(every) == sum(map(len, rows.values()))
    across = 1 if is_own or chart.kind == "grid" or len(groups) == 1 else 2
    has_rows = chart.kind not in ("lines", "scatter")
    width = (BESIDE_ROWS if has_rows else WITHOUT) / across
    names = [name for name in dict.fromkeys([*chart.order, *marks["look"]]) if name]
    found = looks(names, chart.look or chart.series or "model")
    columns = list(dict.fromkeys(marks["x"]))
    shared = _Shared(marks, found or {"": Look(DARK, "o")}, width, columns)
    rows = rows if is_own else dict.fromkeys(groups, every)
    heights = [_height(chart, marks, rows[name]) for name in groups]
    down = math.ceil(len(groups) / across)
    fig = Figure(figsize=(WIDTH, 4 + sum(heights)), layout="constrained")
    shares: dict[str, Any] = {"sharex": True, "sharey": not is_own, "squeeze": False}
    axes: list[Axes] = list(
        fig.subplots(down, across, height_ratios=heights[::across], **shares).flat
    )
    for ax in axes[len(groups) :]:
        ax.remove()
    for place, (ax, name) in enumerate(zip(axes, groups, strict=False)):
        _draw_panel(ax, chart, groups[name], shared, rows[name])
        ax.set_title(wrapped(told(name, chart.panel or ""), BELOW // across), loc="left")
        is_lowest = place >= len(groups) - across
        ax.tick_params(labelbottom=is_lowest)
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
    lines = max(_row_name(chart, name).count("\n") + 1 for name in rows)
    most = marks.groupby(["panel", "row"]).size().max()
    own = {"dots": 0.12 + LANE * most, "grid": ANSWERS}.get(chart.kind, ROW)
    return float(max(own, 0.06 + 0.19 * lines))


def _row_name(chart: Chart, name: str) -> str:
    return wrapped(told(name, chart.row or ""), ROW_NAME)


def _draw_panel(
    ax: Axes, chart: Chart, marks: pd.DataFrame, shared: _Shared, rows: list[str]
) -> None:
    """The rows' names, the marks, and what they are compared with."""
    if chart.kind not in ("lines", "scatter"):
        above = LINE * len(_named(chart)) / _row(chart, shared.marks, rows)
        names = [_row_name(chart, name) for name in rows]
        ax.set(yticks=range(len(rows)), yticklabels=names, ylim=(len(rows) - 0.5, -0.5 - above))
        ax.grid(visible=False, axis="both" if chart.kind == "grid" else "y")
    KINDS[chart.kind](ax, chart, marks.assign(height=marks["row"].map(rows.index)), shared)
    if chart.kind in ("grid", "scatter"):
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


def _name_axes(fig: Figure, chart: Chart, across: int) -> str:
    """Names axes left of the leftmost panels, and below one; gives the name below several."""
    column = chart.y or chart.x
    number = chart.label or human(column)
    below = number if chart.kind in ("dots", "stacked") else human(chart.x)
    beside = number if chart.kind == "lines" else ""
    if chart.kind == "scatter":
        below, beside = chart.label or human(chart.x), told(chart.y_label, "axis") or human(column)
    if across == 1:
        fig.axes[-1].set_xlabel(balanced(below, BELOW if beside else BELOW - ROW_NAME))
    for ax in fig.axes[::across]:
        ax.set_ylabel(balanced(beside, 24))
    return balanced(below, BELOW) if across > 1 else ""


def _name_lines(
    ax: Axes, chart: Chart, marks: pd.DataFrame, shared: _Shared, height: float
) -> None:
    """The name of each line of reference at its line: in a strip of its own above the rows."""
    known: dict[str, Any] = {"color": DARK, "zorder": 4}
    for place, line in enumerate(filter(None, chart.lines)):
        at, name = float(marks[f"line {line}"].iloc[0]), told(line)
        if chart.kind == "lines":
            ax.text(0.01, at, name, va="bottom", transform=ax.get_yaxis_transform(), **known)
        elif chart.kind == "dots":
            low, high = ax.get_xlim()
            half = LETTER * (width_of(name) + 1) / shared.inches / 2
            x = min(max((at - low) / (high - low), half), 1 - half)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            where: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "center"}
            ax.text(x, 1 - (place + 0.5) * LINE / height, name, bbox=box, **where, **known)


def _legend(fig: Figure, chart: Chart, shared: _Shared, below: str) -> None:
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
    handles, own = [once[name] for name in names], chart.series or ""
    texts = [wrapped(told(name, own), TITLE) for name in names]
    where: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "title": below}
    for columns in range(min(len(names), 4), 0, -1):
        legend = fig.legend(handles, texts, ncols=columns, **where)
        if columns == 1 or legend.get_window_extent().width < fig.bbox.width:
            return
        legend.remove()
    fig.supxlabel(below, fontsize=LETTERS)


def _remarks(chart: Chart, marks: pd.DataFrame) -> dict[str, Any]:
    """What hollow markers mean."""
    if chart.kind in ("stacked", "grid"):
        return {}
    words = _words_of(marks[marks["value"].notna()]["status"])
    style: dict[str, Any] = {"linestyle": "", "color": DARK, "markerfacecolor": "white"}
    return {f"hollow: {words}": Line2D([], [], marker="o", **style)} if words else {}


# --- looks and texts ------------------------------------------------------------------------------


def _use_style() -> None:
    """Sets the theme, font and palette for all figures drawn afterwards."""
    import matplotlib_fontja  # noqa: F401  (registers the font)
    import seaborn as sns

    of_axes = "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize"
    letters = dict.fromkeys(
        ("font.size", "legend.fontsize", "legend.title_fontsize", *of_axes), LETTERS
    )
    rest = {"figure.dpi": 80, "grid.linewidth": 0.6}
    sns.set_theme(style="whitegrid", font=FONTS, palette=OKABE_ITO, rc=letters | rest)


def looks(names: Iterable[str], kind: str = "model") -> dict[str, Look]:
    """The look of each name: one colour and one marker, the same in every figure.

    Nothing but a model has a model's marker. A name that stands in no list, such as a user's own
    model, takes the next look, by order of appearance.

    Args:
        names: of models, prompts or methods, in any order.
        kind: what they are; of `LISTED` where it has a list.

    Example:
        >>> both = looks(["my-model", "qwen2.5-coder-1.5b"])
        >>> both["qwen2.5-coder-1.5b"].marker, both["my-model"].marker
        ('s', 'p')
    """
    wanted = list(names)
    colours, markers = OF_MODELS if kind == "model" else OF_OTHERS
    order = dict.fromkeys([*LISTED.get(kind, ()), *wanted])
    every = dict(zip(order, map(Look, cycle(colours), cycle(markers)), strict=False))
    return {name: every[name] for name in wanted}


def _words_of(statuses: pd.Series) -> str:
    """Statuses other than `ok` in words."""
    between = ", " if paths.language() == "en" else "、"
    return between.join(dict.fromkeys(mark(one) for one in statuses if one != "ok"))


def wrapped(text: str, width: int) -> str:
    """A text in lines of at most so many letters; Japanese is parted between its letters, or, where
    readers see all texts in Japanese, between phrases.

    Example:
        >>> wrapped("answers of 若い人、年を取った人", 12).splitlines()
        ['answers of', '若い人、年を', '取った人']
    """
    lines = [""]
    for part in _parted(told(text), width):
        for piece in (part[n : n + width] for n in range(0, len(part), width)):
            if lines[-1].strip() and width_of(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece if lines[-1] or piece.strip() else ""
    return "\n".join(line.rstrip() for line in lines)


def _parted(text: str, width: int) -> list[str]:
    """What a text is put together of, in lines of at most so many letters."""
    if paths.language() == "en":
        return _PART.findall(text)
    phrases = [(one, width_of(one) <= width) for one in _PHRASE.findall(text)]
    return [part for one, fits in phrases for part in ([one] if fits else _PART.findall(one))]


def balanced(text: str, width: int) -> str:
    """A text in as few lines as `wrapped`, of about the same length.

    Example:
        >>> balanced("a title that says what was found", 30).splitlines()
        ['a title that says', 'what was found']
    """
    fewest = wrapped(text, width).count("\n")
    tried = (wrapped(text, least) for least in range(width // 2, width + 1))
    return next(one for one in tried if one.count("\n") == fewest)


def _name_columns(ax: Axes, places: Sequence[float], names: Sequence[str], inches: float) -> None:
    """Names below an axis of so many inches, upright where they have no room beside each other.

    Upright names need a line each; where the columns are narrower, every second or third is named.
    """
    room = int(inches / LETTER / len(names)) - 1
    is_upright = max(map(width_of, names)) > room and room < 10
    texts = [wrapped(name, 30 if is_upright else min(room, 24)) for name in names]
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
        for face, some in ((look.colour, mine[is_ok]), ("white", mine[~is_ok])):
            style = {"color": look.colour, "markerfacecolor": face, "marker": look.marker}
            if len(some):
                yield name, some, style | {"markersize": 6, "linestyle": "", "label": name}


def _ends(marks: pd.DataFrame) -> list[pd.Series]:
    """How far the ends of the intervals lie from the values."""
    low, high = marks["value"] - marks["low"], marks["high"] - marks["value"]
    return [low.clip(0).fillna(0), high.clip(0).fillna(0)]


def _beside(ax: Axes, marks: pd.DataFrame, at: pd.Series, *, is_x: bool) -> None:
    """A pale bar around the line of reference, as far as effects that the interval would often
    miss, and a cross where the control wording lies.
    """
    known = marks[marks["limit"].notna() & marks["line"].notna()]
    if len(known):
        ends = known["line"] - known["limit"], known["line"] + known["limit"]
        bars: Callable[..., Any] = ax.hlines if is_x else ax.vlines
        pale: dict[str, Any] = {"color": PALE, "linewidth": 9, "zorder": 0.5}
        bars(at[known.index], *ends, label="below the limit of detection", **pale)
    control = marks["control"].dropna()
    if len(control):
        place = (control, at[control.index]) if is_x else (at[control.index], control)
        cross: dict[str, Any] = {"color": DARK, "markersize": 6, "markeredgewidth": 1.6}
        ax.plot(*place, "x", label="control wording", zorder=3, **cross)


def _say_what_lacks(ax: Axes, marks: pd.DataFrame) -> None:
    """The status in words, at the left of a row without a value."""
    where: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "color": DARK}
    # A line of reference must not run through the words.
    where["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    for status, height in zip(marks["status"], marks["height"] + marks["lane"], strict=True):
        ax.text(0.02, height, mark(status) if status != "ok" else told("no value"), **where)


def _write(ax: Axes, x: float, y: float, text: str, colour: Any) -> None:
    """A number in the middle of an area of this colour."""
    from seaborn.utils import relative_luminance

    ink = "black" if relative_luminance(colour) > 0.25 else "white"
    ax.text(x, y, text, ha="center", va="center", color=ink)


# --- the kinds ------------------------------------------------------------------------------------


def _dots(ax: Axes, chart: Chart, marks: pd.DataFrame, shared: _Shared) -> None:
    """Values with intervals, the series of a row beside each other, every second row on grey."""
    at = marks["height"] + marks["lane"]
    if shared.marks["lane"].any():
        for row in range(0, len(ax.get_yticks()), 2):
            ax.axhspan(row - 0.5, row + 0.5, color="black", alpha=0.05, linewidth=0, zorder=0.25)
    _beside(ax, marks, at, is_x=True)
    for _, some, style in _parts(marks, shared.looks):
        ax.errorbar(some["value"], at[some.index], xerr=_ends(some), elinewidth=1.8, **style)
    _say_what_lacks(ax, marks[marks["value"].isna()])


def _lines(ax: Axes, chart: Chart, marks: pd.DataFrame, shared: _Shared) -> None:
    """Values over x with pale areas between the ends of the intervals; points without a line."""
    _beside(ax, marks, marks["at"], is_x=False)
    is_point = marks["look"].isin(chart.points)
    for (name, look), dashes in zip(shared.looks.items(), STYLES, strict=False):
        mine = marks[marks["look"].eq(name) & ~is_point].sort_values("at")
        if mine["value"].isna().all():
            continue
        style: dict[str, Any] = {"color": look.colour, "linestyle": dashes, "label": name}
        style["marker"] = look.marker if len(mine) <= MARKED else ""
        ax.plot(mine["at"], mine["value"], **style)
        ax.fill_between(mine["at"], mine["low"], mine["high"], color=look.colour, alpha=0.18)
    alone = marks[is_point | marks["status"].ne("ok")]
    for _, some, style in _parts(alone, shared.looks):
        ax.errorbar(some["at"], some["value"], yerr=_ends(some), **style)
    ticks = dict(zip(shared.marks["at"], shared.marks["x"], strict=True))
    if len(ticks) <= 12:
        _name_columns(ax, list(ticks), list(ticks.values()), shared.inches)


def _stacked(ax: Axes, chart: Chart, marks: pd.DataFrame, shared: _Shared) -> None:
    """Shares of a row behind each other, the number in each that has room for it."""
    ends = dict.fromkeys(marks["height"], 0.0)
    for name, look in shared.looks.items():
        mine = marks[marks["series"].eq(name) & marks["value"].notna()]
        starts = [ends[row] for row in mine["height"]]
        style: dict[str, Any] = {"color": look.colour, "edgecolor": "white"}
        style["label"] = name if mine["value"].any() else None
        ax.barh(mine["height"], mine["value"], 0.7, left=starts, **style)
        for row, start, value in zip(mine["height"], starts, mine["value"], strict=True):
            ends[row] += value
            text = shared.text(value)
            if value / chart.scale * shared.inches > LETTER * (len(text) + 1):
                _write(ax, start + value / 2, row, text, look.colour)
    ax.set_xlim(0, chart.scale)
    known = marks.loc[marks["value"].notna(), "height"]
    _say_what_lacks(ax, marks[~marks["height"].isin(known)].drop_duplicates("height"))


def _grid(ax: Axes, chart: Chart, marks: pd.DataFrame, shared: _Shared) -> None:
    """Every answer as a mark; a small cross where it is missing."""
    size = min(8.0, 0.6 * 72 * shared.inches / len(shared.columns))
    lost = marks[marks["series"] == ""]
    words = _words_of(lost["status"]) or "no answer that can be read"
    for name, look in [*shared.looks.items(), (words, Look(DARK, "x"))]:
        mine = lost if name == words else marks[marks["series"] == name]
        style: dict[str, Any] = {"color": look.colour, "markersize": size / (1 + (name == words))}
        if len(mine):
            ax.plot(mine["at"], mine["height"], look.marker, label=name, **style)
    ax.set_xlim(-0.5, len(shared.columns) - 0.5)
    _name_columns(ax, range(len(shared.columns)), shared.columns, shared.inches)


def _scatter(ax: Axes, chart: Chart, marks: pd.DataFrame, shared: _Shared) -> None:
    """One column against the other, with the line on which both are the same."""
    for _, some, style in _parts(marks, shared.looks):
        ax.plot(some["at"], some["value"], alpha=0.7, **style)
    if not chart.diagonal:
        return
    every = shared.marks[["at", "value"]].dropna()
    low, high = float(every.min().min()), float(every.max().max())
    room = 0.06 * (high - low or 1.0)
    ends = (low - room, high + room)
    ax.axline((0, 0), slope=1, color=DARK, linewidth=1, linestyle="--", zorder=0.5)
    ax.set(xlim=ends, ylim=ends)
    along: dict[str, Any] = {"rotation": 45, "rotation_mode": "anchor", "va": "bottom"}
    said = wrapped(chart.diagonal, 18)
    ax.text(0.86, 0.88, said, ha="right", color=DARK, transform=ax.transAxes, **along)


KINDS = {one.__name__[1:]: one for one in (_dots, _lines, _stacked, _grid, _scatter)}
