"""Figures (X-9, DE-33).

A Japanese font that is the same everywhere, colours that colour-blind readers tell apart.

Every function returns a `Figure` that pyplot does not know, so nothing is shown twice:
`display(fig)` shows it, `Run.figure` saves it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from katayori.report.pictures import (
    DOTS as DOTS,
    FONTS as FONTS,
    MARKERS as MARKERS,
    OKABE_ITO as OKABE_ITO,
    WIDTH as WIDTH,
    display as display,
    is_empty as is_empty,
    use_style as use_style,
    with_few_colours as with_few_colours,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 3  # panels a row
POINT: dict[str, Any] = {"markersize": 4, "linewidth": 1}
Sources = Mapping[str, str] | None  # model -> "recorded", "simulated" ..., written with its name


class Panel(NamedTuple):
    """The axes of one model and its rows of the frame."""

    ax: "Axes"
    model: str
    rows: "pd.DataFrame"


def coefficients(
    frame: "pd.DataFrame",
    means: Mapping[str, float],
    *,
    sources: Sources = None,
    title: str | None = None,
) -> "Figure":
    """Coefficients with intervals, and their mean as a line: what averaging hides (DE-28, DE-31).

    One panel a model. `frame`: model, level, estimate, ci_low, ci_high; undefined ones are left
    out. `means`: model -> mean score.
    """
    levels = list(dict.fromkeys(frame["level"]))
    fig, panels = _panels(frame, sources, 0.8 + 0.2 * len(levels), title)
    for ax, model, rows in panels:
        defined = rows[rows["estimate"].notna()]
        places = defined["level"].map(levels.index)
        spread = _spread(defined, "estimate")
        ax.errorbar(defined["estimate"], places, xerr=spread, fmt="o", color=OKABE_ITO[0], **POINT)
        ax.axvline(0, color="#444444", linewidth=0.8)
        ax.axvline(
            means[model],
            color=OKABE_ITO[1],
            linewidth=1.4,
            linestyle="--",
            label="mean of the coefficients",
        )
        _rows(ax, levels)
    return _below(fig, panels, "coefficient (log-odds of yes)")


def surfacing(
    frame: "pd.DataFrame",
    *,
    sources: Sources = None,
    title: str | None = None,
    unit: str = "change in points",
) -> "Figure":
    """Change of scores from one prompt to another, one panel a model, one row a category (PJ-21).

    `frame`: model, metric, category, difference, ci_low, ci_high, in `unit`; undefined changes are
    left out.
    """
    metrics = list(dict.fromkeys(frame["metric"]))
    levels = list(dict.fromkeys(frame["category"]))
    fig, panels = _panels(frame, sources, 0.8 + 0.3 * len(levels), title)
    for ax, _, rows in panels:
        for k, metric in enumerate(metrics):
            changes = rows[(rows["metric"] == metric) & rows["difference"].notna()]
            shift = 0.3 * (k - (len(metrics) - 1) / 2)
            ax.errorbar(
                changes["difference"],
                [levels.index(category) + shift for category in changes["category"]],
                xerr=_spread(changes, "difference"),
                fmt=MARKERS[k],
                color=OKABE_ITO[k],
                label=metric,
                **POINT,
            )
        ax.axvline(0, color="#444444", linewidth=0.8)
        _rows(ax, levels)
    return _below(fig, panels, unit)


def ratios(
    frame: "pd.DataFrame",
    *,
    sources: Sources = None,
    title: str | None = None,
    label: str = "times as much",
) -> "Figure":
    """Ratios on a log axis with a line at 1, one panel a model, one row a factor.

    `frame`: model, factor, value, ci_low, ci_high; undefined ratios are left out.
    """
    levels = list(dict.fromkeys(frame["factor"]))
    fig, panels = _panels(frame, sources, 0.8 + 0.35 * len(levels), title)
    for place, (ax, _, rows) in enumerate(panels):
        known = rows[rows["value"].notna()]
        ax.errorbar(
            known["value"],
            [levels.index(factor) for factor in known["factor"]],
            xerr=_spread(known, "value"),
            fmt=MARKERS[place % len(MARKERS)],
            color=OKABE_ITO[place % len(OKABE_ITO)],
            **POINT,
        )
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.axvline(1, color="#444444", linewidth=0.8)
        _rows(ax, levels)
    return _below(fig, panels, label)


def averaging(frame: "pd.DataFrame", *, title: str | None = None) -> "Figure":
    """Probabilities of the verdicts in both orders and their mean (LJ-21, Fig 1).

    The likeliest is filled. `frame`: one row a panel, named by the index, in the order shown;
    columns are the verdicts, values percentages.
    """
    verdicts = list(frame.columns)
    top = 1.2 * frame.to_numpy().max()
    fig = _figure(1.9, title)
    axes = fig.subplots(1, len(frame), sharey=True)
    for ax, (name, shares) in zip(axes, frame.iterrows(), strict=True):
        bars = ax.bar(verdicts, shares, color="#D8D8D8", edgecolor="#666666", linewidth=0.8)
        bars[int(shares.to_numpy().argmax())].set_facecolor(OKABE_ITO[0])
        ax.bar_label(bars, fmt="%.3g", fontsize=8)
        ax.set(title=name, ylim=(0, top))
        ax.grid(visible=False, axis="x")
    axes[0].set_ylabel("probability (%)")
    return fig


def _figure(height: float, title: str | None) -> "Figure":
    """An empty figure in our style; the title gets room of its own."""
    from matplotlib.figure import Figure

    use_style()
    fig = Figure(figsize=(WIDTH / 2.54, height + (0.3 if title else 0)), layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    return fig


def _panels(
    frame: "pd.DataFrame", sources: Sources, height: float, title: str | None
) -> tuple["Figure", list[Panel]]:
    """A figure with one titled panel a model, `ACROSS` a row, each `height` inches high."""
    parts = list(frame.groupby("model", sort=False))
    across = min(len(parts), ACROSS)
    down = math.ceil(len(parts) / across)
    fig = _figure(height * down + 0.3, title)
    axes = list(fig.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
    for ax in axes[len(parts) :]:
        ax.axis("off")
    panels = [Panel(ax, str(model), rows) for ax, (model, rows) in zip(axes, parts, strict=False)]
    for panel in panels:
        panel.ax.set_title(_named(panel.model, sources, "\n"))
    return fig, panels


def _is_lowest(place: int, panels: Sequence[Panel]) -> bool:
    """Whether no used panel lies under this one."""
    return place >= len(panels) - min(len(panels), ACROSS)


def _below(fig: "Figure", panels: Sequence[Panel], label: str) -> "Figure":
    """Labels left of a row and under the lowest used panel of a column; then the legend.

    Also above a blank place.
    """
    for place, panel in enumerate(panels):
        panel.ax.label_outer()
        if _is_lowest(place, panels):
            panel.ax.tick_params(labelbottom=True)
            panel.ax.set_xlabel(label)
    handles, labels = panels[0].ax.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False)
    return fig


def _rows(ax: "Axes", levels: Sequence[Any]) -> None:
    """Names the rows of a panel, the first on top."""
    ax.set(yticks=range(len(levels)), yticklabels=map(str, levels), ylim=(len(levels) - 0.5, -0.5))


def _spread(rows: "pd.DataFrame", value: str) -> "list[np.ndarray] | None":
    """How far the ends of intervals lie from the values, for error bars; None without intervals."""
    if "ci_low" not in rows:
        return None
    middle, low, high = rows[[value, "ci_low", "ci_high"]].to_numpy(dtype=float).T
    return [(middle - low).clip(0), (high - middle).clip(0)]


def _named(model: Any, sources: Sources, gap: str) -> str:
    source = (sources or {}).get(model)
    return f"{model}{gap}({source})" if source else str(model)
