"""Values with their intervals, side by side: the figure that most headlines need.

A row is what is measured (an attribute, a category), a marker is who or what was measured (a model,
a prompt, a method). Where a measure has a blank and a limit of detection, both are drawn.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.report.figures import WIDTH, use_style
from katayori.report.looks import Look, looks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a row for each series in it, and of everything around the rows.
SERIES, AROUND = 0.15, 1.25
LIMIT_COLOUR = "#DDDDDD"
LINE_COLOUR = "#444444"


@dataclass(frozen=True)
class Axis:
    """What the axis of values shows.

    Attributes:
        label: with the unit, in words. reference: a value at which a heavy line stands. named:
            what that line means. scale: values are drawn times this (100: points of a hundred).
            log: whether the axis is logarithmic. limits: lowest and highest value drawn.
    """

    label: str
    reference: float | None = None
    named: str = ""
    scale: float = 1
    log: bool = False
    limits: tuple[float, float] | None = None


def interval_dots(
    frame: "pd.DataFrame",
    axis: Axis,
    *,
    row: str = "factor",
    series: str = "model",
    kind: str = "model",
    title: str | None = None,
) -> "Figure":
    """Dots with 95 % intervals, a line a row and series.

    Args:
        frame: columns `row`, `series`, value, ci_low, ci_high; perhaps blank and detects, both
            in the unit of the value. Rows without a value are left out.
        axis: label, line of reference and scale.
        row: column of the rows. series: column of the markers. kind: of series (`looks.looks`).
        title: of the figure.

    Example:
        >>> import pandas as pd
        >>> rows = {"factor": ["age", "race"], "model": "m", "value": [0.0, 0.1]}
        >>> frame = pd.DataFrame(rows | {"ci_low": [-0.1, 0.0], "ci_high": [0.1, 0.2]})
        >>> figure = interval_dots(frame, Axis("gap in points", reference=0, scale=100))
        >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
        ['age', 'race']
    """
    from matplotlib.figure import Figure

    use_style()
    known = frame[frame["value"].notna()]
    names = list(dict.fromkeys(frame[row].astype(str)))
    look = looks(frame[series].astype(str), kind)
    is_crowded = bool((known.groupby(row)[series].nunique() > 1).any())
    lanes = max(len(look), 1) if is_crowded else 1  # a mark alone in its row stands in the middle
    height = AROUND + SERIES * len(names) * (lanes + 0.6)
    fig = Figure(figsize=(WIDTH / 2.54, height), layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    ax = fig.subplots()
    step = 0.8 / lanes
    for place, (name, one) in enumerate(look.items()):
        rows = known[known[series].astype(str) == name]
        shift = step * (place - (lanes - 1) / 2) if is_crowded else 0
        heights = [names.index(value) + shift for value in rows[row].astype(str)]
        _draw_limits(ax, rows, heights, axis.scale, step)
        _draw_values(ax, rows, heights, axis.scale, one, name)
        _draw_blanks(ax, rows, heights, axis.scale)
    _draw_axis(ax, axis, names)
    _legend(fig, ax)
    return fig


def _draw_values(
    ax: "Axes", rows: "pd.DataFrame", heights: list[float], scale: float, look: Look, name: str
) -> None:
    values = scale * rows["value"].astype(float)
    low = values - scale * rows["ci_low"].astype(float)
    high = scale * rows["ci_high"].astype(float) - values
    ax.errorbar(
        values,
        heights,
        xerr=[low.clip(0).fillna(0), high.clip(0).fillna(0)],
        fmt=look.marker,
        color=look.colour,
        markersize=4.5,
        linewidth=1.2,
        label=name,
    )


def _draw_limits(
    ax: "Axes", rows: "pd.DataFrame", heights: list[float], scale: float, thickness: float
) -> None:
    """A pale bar over the effects that the test would miss."""
    if "detects" not in rows:
        return
    for limit, height in zip(rows["detects"].astype(float), heights, strict=True):
        if limit == limit:
            ax.barh(
                height,
                2 * scale * limit,
                left=-scale * limit,
                height=0.8 * thickness,
                color=LIMIT_COLOUR,
                linewidth=0,
                zorder=0.5,
                label="smaller than what 80 % of draws find",
            )


def _draw_blanks(ax: "Axes", rows: "pd.DataFrame", heights: list[float], scale: float) -> None:
    """A cross where words that mean nothing lie, on the side of the value."""
    if "blank" not in rows:
        return
    signs = rows["value"].astype(float).ge(0).map({True: 1, False: -1})
    blanks = scale * signs * rows["blank"].astype(float).abs()
    ax.plot(
        blanks,
        heights,
        "x",
        color=LINE_COLOUR,
        markersize=4.5,
        linestyle="none",
        label="blank: words that mean nothing",
    )


def _draw_axis(ax: "Axes", axis: Axis, names: list[str]) -> None:
    if axis.log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    if axis.reference is not None:
        line = axis.scale * axis.reference
        ax.axvline(line, color=LINE_COLOUR, linewidth=1.2, label=axis.named or None)
    if axis.limits is not None:
        ax.set_xlim(*axis.limits)
    ax.set_xlabel(axis.label)
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    ax.grid(visible=False, axis="y")


def _legend(fig: "Figure", ax: "Axes") -> None:
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    fig.legend(
        list(once.values()),
        list(once),
        loc="outside lower center",
        ncols=min(len(once), 3),
        frameon=False,
    )
