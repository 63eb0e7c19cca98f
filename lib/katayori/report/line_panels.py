"""Values with their intervals over a number, a panel a topic: for what may rise or fall."""

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from katayori.report.figures import WIDTH, use_style
from katayori.report.interval_figure import LINE_COLOUR, Axis
from katayori.report.looks import Look, looks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels a row, inches of a row of panels, and of what stands around them.
ACROSS, HIGH, AROUND = 2, 1.9, 0.9
#: How far the series of one number stand apart, in numbers.
APART = 0.12


def interval_lines(
    frame: "pd.DataFrame",
    axis: Axis,
    *,
    panel: str,
    over: str,
    over_label: str,
    dashed: Collection[str] = (),
    title: str | None = None,
) -> "Figure":
    """Lines with 95 % intervals over a whole number, a panel a level and a line a model.

    Args:
        frame: model, value, ci_low, ci_high and the columns `panel` and `over`.
        axis: of the values; its scale, label, reference and limits are used.
        panel: column of the panels. over: column of the numbers. over_label: what they count.
        dashed: names in the column model that no model has: what they would give without one.
        title: of the figure.

    Example:
        >>> import pandas as pd
        >>> rows = {"model": "m", "topic": "housing", "n_attributes": [1, 2], "value": [0.5, 0.6]}
        >>> frame = pd.DataFrame(rows | {"ci_low": [0.4, 0.5], "ci_high": [0.6, 0.7]})
        >>> how = {"panel": "topic", "over": "n_attributes", "over_label": "number of attributes"}
        >>> interval_lines(frame, Axis("accuracy"), **how).axes[0].get_title()
        'housing'
    """
    from matplotlib.figure import Figure

    use_style()
    names = list(dict.fromkeys(frame[panel]))
    lines = math.ceil(len(names) / ACROSS)
    size = (WIDTH / 2.54, AROUND + HIGH * lines)
    fig = Figure(figsize=size, layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    grid = fig.subplots(lines, min(ACROSS, len(names)), sharey=True, squeeze=False)
    look = looks(name for name in frame["model"] if name not in dashed)
    for ax, name in zip(grid.flat, names, strict=False):
        _draw_panel(ax, frame[frame[panel] == name], axis, look, over)
        _draw_dashed(ax, frame[frame[panel] == name], axis, dashed, over)
        ax.set_title(str(name))
        ax.set_xlabel(over_label)
    for ax in list(grid.flat)[len(names) :]:
        ax.remove()
    fig.supylabel(axis.label, fontsize=9)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return fig


def _draw_panel(
    ax: "Axes", rows: "pd.DataFrame", axis: Axis, look: dict[str, Look], over: str
) -> None:
    for place, (name, one) in enumerate(look.items()):
        mine = rows[(rows["model"] == name) & rows["value"].notna()].sort_values(over)
        values = axis.scale * mine["value"].astype(float)
        low = values - axis.scale * mine["ci_low"].astype(float)
        high = axis.scale * mine["ci_high"].astype(float) - values
        ax.errorbar(
            mine[over].astype(float) + APART * (place - (len(look) - 1) / 2),
            values,
            yerr=[low.clip(0).fillna(0), high.clip(0).fillna(0)],
            fmt=f"{one.marker}-",
            color=one.colour,
            markersize=4.5,
            linewidth=1.2,
            label=name,
        )
    if axis.reference is not None:
        ax.axhline(axis.scale * axis.reference, color=LINE_COLOUR, linewidth=1.2)
    if axis.limits is not None:
        ax.set_ylim(*axis.limits)
    ax.set_xticks(sorted(rows[over].astype(int).unique()))
    ax.grid(visible=False, axis="x")


def _draw_dashed(
    ax: "Axes", rows: "pd.DataFrame", axis: Axis, dashed: Collection[str], over: str
) -> None:
    """What no model is needed for: a dashed line each, in shades of grey."""
    for place, name in enumerate(dashed):
        mine = rows[rows["model"] == name].sort_values(over)
        ax.plot(
            mine[over].astype(float),
            axis.scale * mine["value"].astype(float),
            color=f"{0.35 + 0.25 * place:g}",
            linestyle=("--", ":", "-.")[place % 3],
            linewidth=1.4,
            label=name,
        )
