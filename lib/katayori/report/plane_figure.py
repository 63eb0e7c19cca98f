"""Two measures of the same things, one over the other: points in a plane, a panel a judge.

Colour and marker are those of the name (`looks`), and not of the order of appearance.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from katayori.report.figures import WIDTH, use_style
from katayori.report.looks import Look, looks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 3
#: Inches of the panels of a row, and of everything around them; square panels of two in a row are
#: higher.
PANEL, SQUARE, AROUND = 2.1, 2.9, 0.9
LINE_COLOUR = "#444444"
#: So far beyond the outermost point an axis goes, as a share of its length.
MARGIN = 0.06


@dataclass(frozen=True)
class Plane:
    """What the axes of a plane show.

    Attributes:
        x, y: labels, with the unit, in words. same: whether both axes have one scale, so that the
            lines x = y (`equal`) and x = -y (`opposite`) can be drawn; these say what a line means,
            and nothing where it is not drawn. level: a height at which a line stands. named: what
            that line means. own_x: whether each panel has an x axis of its own.
    """

    x: str
    y: str
    same: bool = False
    equal: str = ""
    opposite: str = ""
    level: float | None = None
    named: str = ""
    own_x: bool = False


def points_in_plane(
    frame: "pd.DataFrame",
    plane: Plane,
    *,
    series: str,
    kind: str,
    joined: bool = False,
    title: str | None = None,
) -> "Figure":
    """Points of two measures, a panel a value of `panel`.

    Args:
        frame: panel, x, y, the column `series`, and perhaps y_low and y_high, the ends of 95 %
            intervals. Rows without x or y are left out.
        plane: labels and lines.
        series: column of the markers. kind: of series (`looks.looks`).
        joined: whether the points of a series are joined in order of x.
        title: of the figure.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"panel": "m", "x": [0.0, 1.0], "y": [1.0, 0.5], "who": "p"})
        >>> figure = points_in_plane(frame, Plane("x", "y"), series="who", kind="judge prompt")
        >>> figure.axes[0].get_title()
        'm'
    """
    from matplotlib.figure import Figure

    use_style()
    known = frame.dropna(subset=["x", "y"])
    look = looks(known[series].astype(str), kind)
    panels = list(known.groupby("panel", sort=False))
    down = max(1, math.ceil(len(panels) / ACROSS))
    across = max(1, min(ACROSS, len(panels)))
    height = SQUARE if plane.same else PANEL
    size = (WIDTH / 2.54, height * down + AROUND)
    fig = Figure(figsize=size, layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    grid = fig.subplots(down, across, squeeze=False, sharex=not plane.own_x, sharey=True)
    axes: list[Axes] = list(grid.flat)
    for ax in axes[len(panels) :]:
        ax.axis("off")
    for ax, (name, rows) in zip(axes, panels, strict=False):
        ax.set_title(str(name))
        for value, one in look.items():
            _draw_points(ax, rows[rows[series].astype(str) == value], one, value, joined)
        if plane.level is not None:
            ax.axhline(plane.level, color=LINE_COLOUR, linewidth=1, label=plane.named or None)
        ax.set_xlabel(plane.x)
    for row in grid:
        row[0].set_ylabel(plane.y)
    if plane.same and len(known):
        _same_scale(axes[: len(panels)], known)
    for ax in axes[: len(panels)]:
        _draw_slopes(ax, plane)
    _legend(fig, axes)
    return fig


def _draw_points(ax: "Axes", rows: "pd.DataFrame", look: Look, name: str, joined: bool) -> None:
    rows = rows.sort_values("x", kind="stable")
    spread = None
    if "y_low" in rows:
        low = (rows["y"] - rows["y_low"]).clip(0).fillna(0)
        high = (rows["y_high"] - rows["y"]).clip(0).fillna(0)
        spread = [low, high]
    ax.errorbar(
        rows["x"],
        rows["y"],
        yerr=spread,
        fmt=look.marker + ("-" if joined else ""),
        color=look.colour,
        alpha=0.7,
        markersize=3.5,
        linewidth=1,
        label=name,
    )


def _draw_slopes(ax: "Axes", plane: Plane) -> None:
    """The lines x = y and x = -y; what is seen of the axes stays as the points need it."""
    line: dict[str, Any] = {"color": LINE_COLOUR, "linewidth": 1, "zorder": 0.5}
    x_limits, y_limits = ax.get_xlim(), ax.get_ylim()
    if plane.equal:
        ax.axline((0, 0), slope=1, linestyle="--", label=plane.equal, **line)
    if plane.opposite:
        ax.axline((0, 0), slope=-1, label=plane.opposite, **line)
    ax.set(xlim=x_limits, ylim=y_limits)


def _same_scale(axes: "list[Axes]", known: "pd.DataFrame") -> None:
    """One scale for both axes: equally long, zero on both, as wide as all points need."""
    ends = [(min(known[name].min(), 0.0), max(known[name].max(), 0.0)) for name in ("x", "y")]
    length = max(high - low for low, high in ends) or 1.0
    half = (0.5 + MARGIN) * length
    middles = [(low + high) / 2 for low, high in ends]
    limits = [(middle - half, middle + half) for middle in middles]
    for ax in axes:
        ax.set(xlim=limits[0], ylim=limits[1])
        ax.set_box_aspect(1)


def _legend(fig: "Figure", axes: "list[Axes]") -> None:
    once: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        once |= dict(zip(labels, handles, strict=True))
    fig.legend(
        list(once.values()),
        list(once),
        loc="outside lower center",
        ncols=min(len(once), 3) or 1,
        frameon=False,
    )
