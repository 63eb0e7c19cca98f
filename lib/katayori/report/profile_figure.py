"""The bias profile of models: a panel a measure, each on a scale of its own."""

import math
from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

from katayori.report.figures import WIDTH, use_style
from katayori.report.looks import Look, looks
from katayori.report.status_words import mark

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a row for each model in it, and of everything around the rows of a panel.
SERIES, AROUND = 0.13, 0.8
LINE_COLOUR = "#444444"
LIMIT_COLOUR = "#DDDDDD"
#: Levels as readers see them, where the name in results is short.
LEVELS = {"gender_race": "gender × race", "amb": "ambiguous", "dis": "disambiguated"}


def level_name(level: str) -> str:
    """A level of a result as readers see it.

    Example:
        >>> level_name("amb"), level_name("physical_appearance")
        ('ambiguous', 'physical appearance')
    """
    return LEVELS.get(level, level.replace("_", " "))


def profile(frame: "pd.DataFrame", panels: "pd.DataFrame", *, title: str | None = None) -> "Figure":
    """Models on several measures: a panel a measure, a row a level, a marker a model.

    A value whose status is not `ok` is hollow, and the status stands in its row in words, also
    where there is no value. Around the line of a panel, grey is too small to be detected, and a
    cross is what mere words do. A measure that none of the models has gets no panel.

    Args:
        frame: of `overview.bias_profile`. panels: of `overview.measures`. title: of the figure.

    Example:
        >>> import pandas as pd
        >>> row = {"model": "m", "measure": "share right", "level": "", "value": 0.6}
        >>> row |= {"ci_low": 0.5, "ci_high": 0.7, "blank": None, "detects": None, "status": "ok"}
        >>> panel = {"measure": "share right", "unit": "share", "limits": [0, 1], "reference": 0.5}
        >>> figure = profile(pd.DataFrame([row]), pd.DataFrame([panel | {"chance": "lots"}]))
        >>> figure.axes[0].get_title()
        'share right'
    """
    from matplotlib.figure import Figure

    use_style()
    asked = frame[frame["status"] != "missing"]
    shown = panels[panels["measure"].isin(asked["measure"])].to_dict("records")
    rows = [frame[frame["measure"] == panel["measure"]] for panel in shown]
    look = looks(frame["model"].astype(str))
    down = max(math.ceil(len(shown) / 2), 1)
    tall = [_height(rows[place : place + 2], len(look)) for place in range(0, 2 * down, 2)]
    fig = Figure(figsize=(WIDTH / 2.54, sum(tall) + 0.8), layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    axes = list(fig.subplots(down, 2, squeeze=False, height_ratios=tall).flat)
    for ax in axes[len(shown) :]:
        ax.axis("off")
    for ax, panel, own in zip(axes, shown, rows, strict=False):
        _draw_panel(ax, {str(name): value for name, value in panel.items()}, own, look)
    _legend(fig, axes)
    return fig


def _height(pair: list["pd.DataFrame"], models: int) -> float:
    """Inches of a row of panels: by the levels of the one that has most."""
    levels = max((rows["level"].nunique() for rows in pair), default=1)
    return AROUND + SERIES * levels * (models + 0.5)


def _draw_panel(
    ax: "Axes", panel: Mapping[str, Any], rows: "pd.DataFrame", look: Mapping[str, Look]
) -> None:
    levels = list(dict.fromkeys(rows.loc[rows["status"] != "missing", "level"]))
    step = 0.8 / max(len(look), 1)
    ax.set(xlim=panel["limits"], ylim=(len(levels) - 0.5, -0.5))
    for place, (model, one) in enumerate(look.items()):
        shift = step * (place - (len(look) - 1) / 2)
        for row in rows[rows["model"] == model].to_dict("records"):
            # A model without this measure is said to be missing once, in the first row.
            height = levels.index(row["level"]) if row["level"] in levels else 0
            _draw_row(ax, {str(name): value for name, value in row.items()}, height + shift, one)
            _draw_sizes(ax, panel["reference"], row, height + shift, step)
    if not math.isnan(panel["reference"]):
        ax.axvline(
            panel["reference"],
            color=LINE_COLOUR,
            linewidth=1.2,
            zorder=0.8,
            label="no bias, or lots",
        )
    ax.set(yticks=range(len(levels)), yticklabels=[fill(level_name(name), 28) for name in levels])
    ax.set_title(fill(panel["measure"], 44))
    ax.set_xlabel(fill(f"{panel['unit']} ({panel['chance']})", 46), fontsize=7.5)
    ax.grid(visible=False, axis="y")


def _draw_row(ax: "Axes", row: Mapping[str, Any], height: float, look: Look) -> None:
    """One value with its interval, or the words that stand in its place."""
    value = float(row["value"]) if row["value"] is not None else math.nan
    usable = row["status"] == "ok"
    if not math.isnan(value):
        ends = [float(row["ci_low"]), float(row["ci_high"])]
        spread = [[max(value - ends[0], 0.0)], [max(ends[1] - value, 0.0)]]
        ax.errorbar(
            [value],
            [height],
            xerr=None if any(map(math.isnan, ends)) else spread,
            fmt=look.marker,
            color=look.colour,
            markerfacecolor=look.colour if usable else "white",
            markersize=4.5,
            linewidth=1.2,
            label=str(row["model"]) if usable else None,
        )
    if not usable:
        _write(ax, mark(str(row["status"])), row, height, look.colour)


def _write(ax: "Axes", words: str, row: Mapping[str, Any], height: float, colour: str) -> None:
    """Words on the free side of a value and its interval, or in the middle where there is none."""
    low, high = ax.get_xlim()
    gap = 0.03 * (high - low)
    at, side = (low + high) / 2, "center"
    known = [row[name] for name in ("value", "ci_low", "ci_high") if row[name] == row[name]]
    ends = [float(number) for number in known if number is not None]
    if ends:
        is_right = min(ends) > (low + 2 * high) / 3
        at, side = (min(ends) - gap, "right") if is_right else (max(ends) + gap, "left")
    ax.text(at, height, words, ha=side, va="center", fontsize=6.5, color=colour, zorder=3)


def _draw_sizes(
    ax: "Axes", line: float, row: Mapping[Any, Any], height: float, thickness: float
) -> None:
    """Around the line: a pale bar over what the test would miss, a cross at what words do."""
    if math.isnan(line):
        return
    detects, blank = (float("nan" if row[n] is None else row[n]) for n in ("detects", "blank"))
    if detects > 0:
        ax.barh(
            height,
            2 * detects,
            0.8 * thickness,
            line - detects,
            color=LIMIT_COLOUR,
            linewidth=0,
            zorder=0.5,
            label="too small to be detected (80 %)",
        )
    if not math.isnan(blank):
        side = math.copysign(1, float(row["value"]) - line)
        ax.plot(
            [line + side * abs(blank)],
            [height],
            "x",
            color=LINE_COLOUR,
            markersize=4.5,
            linestyle="none",
            label="blank: words that mean nothing",
        )


def _legend(fig: "Figure", axes: "list[Axes]") -> None:
    once: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        once |= dict(zip(labels, handles, strict=True))
    names = [name for name in once if not name.startswith("_")]
    handles = [once[name] for name in names]
    fig.legend(handles, names, loc="outside lower center", ncols=2, frameon=False)
