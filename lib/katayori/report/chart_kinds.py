"""How each of the six kinds of `charts.draw` puts its marks into one panel.

Marks are a frame with a row a mark, under the names of roles: look (whose colour and marker it
has), x, row and series (names), at (along the horizontal axis), height (of its row), lane (how far
from the middle of its row), value, low, high, control, limit, line, status.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from katayori.columns import FrameError
from katayori.errors import expect
from katayori.report.names import mark
from katayori.report.tables import width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
# What is not parted: a word, a number and its %, a wide letter and signs that begin no line.
_WIDE = "\u3000-\u9fff\uff00-\uffef"
_PART = re.compile(rf"\s|[（「『【]*[{_WIDE}][、。，．」』）】ー]*|[^\s{_WIDE}]+(?:\s%\S*)?")


def use_style() -> None:
    """Sets the theme, font and palette for all figures drawn afterwards."""
    import matplotlib_fontja  # noqa: F401  (registers the font)
    import seaborn as sns

    of_axes = "axes.labelsize", "axes.titlesize", "xtick.labelsize", "ytick.labelsize"
    letters = dict.fromkeys(
        ("font.size", "legend.fontsize", "legend.title_fontsize", *of_axes), LETTERS
    )
    rest = {"figure.dpi": 80, "grid.linewidth": 0.6}
    sns.set_theme(style="whitegrid", font=FONTS, palette=OKABE_ITO, rc=letters | rest)


class Look(NamedTuple):
    """A colour and a marker, as matplotlib names them."""

    colour: str
    marker: str


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
    wanted = list(dict.fromkeys(names))
    colours, markers = OF_MODELS if kind == "model" else OF_OTHERS
    order = list(dict.fromkeys([*LISTED.get(kind, ()), *wanted]))
    numbers = {name: order.index(name) for name in wanted}
    return {
        name: Look(colours[number % len(colours)], markers[number % len(markers)])
        for name, number in numbers.items()
    }


#: What a kind needs beside x.
NEEDS = {"heat": ["row", "value"], "lines": ["y"], "scatter": ["y"]}
NEEDS |= {kind: ["row", "series"] for kind in ("stacked", "grid")}


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
class Shared:
    """What all panels share: all marks, the look of each name, and their width in inches."""

    marks: pd.DataFrame
    looks: Mapping[str, Look]
    inches: float

    @property
    def columns(self) -> list[str]:
        """The names along the horizontal axis."""
        return list(dict.fromkeys(self.marks["x"]))

    def text(self, value: float) -> str:
        """A number as it is written, in digits that suit the largest one."""
        digits = 0 if self.marks["value"].abs().max() >= 10 else 2
        return f"{round(value, digits) + 0.0:.{digits}f}"


def words_of(statuses: "pd.Series") -> str:
    """Statuses other than `ok` in words.

    Example:
        >>> words_of(pd.Series(["ok", "few_clusters", "few_clusters"]))
        'too little data'
    """
    return ", ".join(dict.fromkeys(mark(one) for one in statuses if one != "ok"))


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


def balanced(text: str, width: int) -> str:
    """A text in as few lines as `wrapped`, of about the same length.

    Example:
        >>> balanced("a title that says what was found", 30).splitlines()
        ['a title that says', 'what was found']
    """
    fewest = wrapped(text, width).count("\n")
    tried = (wrapped(text, least) for least in range(width // 2, width + 1))
    return next(one for one in tried if one.count("\n") == fewest)


def name_columns(ax: "Axes", places: Sequence[float], names: Sequence[str], inches: float) -> None:
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


def _beside(ax: "Axes", marks: pd.DataFrame, at: pd.Series, *, is_x: bool) -> None:
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


def _say_what_lacks(ax: "Axes", marks: pd.DataFrame) -> None:
    """The status in words, at the left of a row without a value."""
    where: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "color": DARK}
    # A line of reference must not run through the words.
    where["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    for status, height in zip(marks["status"], marks["height"] + marks["lane"], strict=True):
        ax.text(0.02, height, mark(status) if status != "ok" else "no value", **where)


def _write(ax: "Axes", x: float, y: float, text: str, colour: Any) -> None:
    """A number in the middle of an area of this colour."""
    from seaborn.utils import relative_luminance

    ink = "black" if relative_luminance(colour) > 0.25 else "white"
    ax.text(x, y, text, ha="center", va="center", color=ink)


# --- the kinds ------------------------------------------------------------------------------------


def dots(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """Values with intervals, the series of a row beside each other, every second row on grey."""
    at = marks["height"] + marks["lane"]
    if shared.marks["lane"].any():
        for row in range(0, len(ax.get_yticks()), 2):
            ax.axhspan(row - 0.5, row + 0.5, color="black", alpha=0.05, linewidth=0, zorder=0.25)
    _beside(ax, marks, at, is_x=True)
    for _, some, style in _parts(marks, shared.looks):
        ax.errorbar(some["value"], at[some.index], xerr=_ends(some), elinewidth=1.8, **style)
    _say_what_lacks(ax, marks[marks["value"].isna()])


def lines(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
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
        name_columns(ax, list(ticks), list(ticks.values()), shared.inches)


def heat(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """A number in every cell; colours go both ways from a line of reference."""
    shape = range(len(ax.get_yticks())), range(len(shared.columns))
    cells = marks.pivot(index="height", columns="at", values="value")
    cells = cells.reindex(index=shape[0], columns=shape[1])
    edges = [[number - 0.5 for number in range(len(names) + 1)] for names in shape]
    style: dict[str, Any] = {"cmap": "Blues", "edgecolors": "white", "linewidth": 1}
    ends = shared.marks["value"].agg(["min", "max"])
    mesh = ax.pcolormesh(*edges[::-1], cells, vmin=ends["min"], vmax=ends["max"], **style)
    for one in marks.to_dict("records"):
        is_lost = math.isnan(one["value"])
        text = "—" if is_lost else shared.text(one["value"])
        text = text if is_lost or one["status"] == "ok" else f"({text})"
        _write(
            ax, one["at"], one["height"], text, "white" if is_lost else mesh.to_rgba(one["value"])
        )
    ax.grid(visible=False)
    name_columns(ax, shape[1], shared.columns, shared.inches)


def stacked(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
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


def grid(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
    """Every answer as a mark; a small cross where it is missing."""
    size = min(8.0, 0.6 * 72 * shared.inches / len(shared.columns))
    lost = marks[marks["series"] == ""]
    words = words_of(lost["status"]) or "no answer that can be read"
    for name, look in [*shared.looks.items(), (words, Look(DARK, "x"))]:
        mine = lost if name == words else marks[marks["series"] == name]
        style: dict[str, Any] = {"color": look.colour, "markersize": size / (1 + (name == words))}
        if len(mine):
            ax.plot(mine["at"], mine["height"], look.marker, label=name, **style)
    ax.grid(visible=False)
    ax.set_xlim(-0.5, len(shared.columns) - 0.5)
    name_columns(ax, range(len(shared.columns)), shared.columns, shared.inches)


def scatter(ax: "Axes", chart: Chart, marks: pd.DataFrame, shared: Shared) -> None:
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


KINDS = {one.__name__: one for one in (dots, heat, lines, stacked, grid, scatter)}
