"""Power curves: how often tests find a planted effect, a panel a measure, a curve a test."""

import math
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from katayori.report.figures import MARKERS, OKABE_ITO, WIDTH, use_style
from katayori.report.power_text import ALONE, LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS, HEIGHT = 2, 2.85
#: What a study should find, by a wide convention.
WANTED = 0.8
LINE_COLOUR = "#444444"


class Planted(NamedTuple):
    """What is planted for the tests of one measure: in words, and the unit of its effect."""

    title: str
    unit: str


#: Measures in the order of the notebooks; another one goes by its own name.
PLANTED = {
    "factor": Planted("gender, beside an effect of age", "points of P(yes)"),
    "rank_tests": Planted("gender, in one question", "points of P(yes)"),
    "diff_bias": Planted("lean under one prompt of two", "points of Diff-bias"),
    "concordance": Planted("gain of averaging a judge's verdicts", "points of concordance"),
    "case_accuracy": Planted("one model better than another", "points of accuracy"),
    "case_accuracy_counterbalanced": Planted(
        "one model better, both lean to a letter", "points of accuracy"
    ),
    "variation": Planted("cases that vary with the prompt", "points above 30 % of cases"),
}


def planted(measure: str) -> Planted:
    """What is planted for the tests of a measure.

    Example:
        >>> planted("rank_tests").title, planted("my_measure").title
        ('gender, in one question', 'my measure')
    """
    return PLANTED.get(measure, Planted(measure.replace("_", " "), "points"))


def in_order(measures: "pd.Series") -> list[str]:
    """The measures, each once, in the order of the notebooks; unknown ones last.

    Example:
        >>> import pandas as pd
        >>> in_order(pd.Series(["other", "variation", "factor", "factor"]))
        ['factor', 'variation', 'other']
    """
    there = list(dict.fromkeys(measures))
    return [name for name in PLANTED if name in there] + [n for n in there if n not in PLANTED]


def power_panels(curves: "pd.DataFrame", *, title: str | None = None) -> "Figure":
    """Share of simulated studies in which each test finds something, over the planted effect.

    Lines stand at 5 %, which a test may not exceed where nothing is planted, and at 80 %. A test
    that takes answers of one cluster as independent is orange and dashed.

    Args:
        curves: rows of `overview.power` at one size a measure, with effect 0.
        title: of the figure.

    Example:
        >>> import pandas as pd
        >>> rows = {"measure": "variation", "test": "t", "promises": "level", "effect": [0, 0.1]}
        >>> rows |= {"rate": [0.05, 0.8], "mc_low": [0.0, 0.7], "mc_high": [0.1, 0.9]}
        >>> figure = power_panels(pd.DataFrame(rows | {"clusters": 36, "per_cluster": 8}))
        >>> figure.axes[0].get_xlabel()
        'planted effect, points above 30 % of cases'
    """
    from matplotlib.figure import Figure

    use_style()
    measures = in_order(curves["measure"])
    down = max(math.ceil(len(measures) / ACROSS), 1)
    fig = Figure(figsize=(WIDTH / 2.54, HEIGHT * down + 0.3), layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    axes = list(fig.subplots(down, ACROSS, squeeze=False, sharey=True).flat)
    for ax in axes[len(measures) :]:
        ax.axis("off")
    for place, (ax, measure) in enumerate(zip(axes, measures, strict=False)):
        _draw_panel(ax, measure, curves[curves["measure"] == measure])
        if place % ACROSS == 0:
            ax.set_ylabel("studies that find it (%)")
    return fig


def _draw_panel(ax: "Axes", measure: str, rows: "pd.DataFrame") -> None:
    styles = [k for k in range(len(MARKERS)) if k != 1]
    for test, own in rows.groupby("test", sort=False):
        own = own.sort_values("effect")
        alone = (own["promises"] == ALONE).all()
        style = 1 if alone else styles.pop(0)
        ends = [own["rate"] - own["mc_low"], own["mc_high"] - own["rate"]]
        ax.errorbar(
            100 * own["effect"],
            100 * own["rate"],
            [(100 * end).clip(0) for end in ends],
            fmt=MARKERS[style],
            linestyle="--" if alone else "-",
            color=OKABE_ITO[style],
            markersize=4,
            linewidth=1,
            label=fill(str(test), 44),
        )
    _draw_lines(ax)
    n = rows[["clusters", "per_cluster"]].max()
    word = "cluster" if n["clusters"] == 1 else "clusters"
    ax.set_title(f"{planted(measure).title}\n{n['clusters']} {word} × {n['per_cluster']} answers")
    ax.set(xlabel=f"planted effect, {planted(measure).unit}", ylim=(-4, 104))
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.3), fontsize=7, frameon=False)


def _draw_lines(ax: "Axes") -> None:
    """The level and the power wanted, named at the right edge."""
    for height in (100 * LEVEL, 100 * WANTED):
        ax.axhline(height, color=LINE_COLOUR, linewidth=0.9, linestyle=":", zorder=0.5)
        ax.annotate(
            f"{height:.0f} %",
            (1, height),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=6.5,
        )


def power_curve(
    effects: "Sequence[float]", rates: "Sequence[float]", chosen: float, *, title: str
) -> "Figure":
    """One curve of power, with the effect that a reader has chosen.

    Args:
        effects: planted. rates: share of studies that find each. chosen: an effect between them.
        title: of the figure.

    Example:
        >>> figure = power_curve([0, 0.1], [0.05, 0.85], 0.05, title="a test")
        >>> figure.axes[0].lines[1].get_ydata().round(2).tolist()
        [45.0]
    """
    import numpy as np
    from matplotlib.figure import Figure

    use_style()
    fig = Figure(figsize=(WIDTH / 2.54, HEIGHT), layout="constrained")
    fig.suptitle(title, fontsize=10)
    ax = fig.subplots()
    percent = 100 * np.asarray(rates, float)
    ax.plot(effects, percent, MARKERS[0] + "-", color=OKABE_ITO[0], markersize=4, linewidth=1)
    at = np.interp(chosen, effects, percent)
    ax.plot([chosen], [at], MARKERS[3], color=OKABE_ITO[1], markersize=8)
    _draw_lines(ax)
    ax.set(xlabel="planted effect, a share", ylabel="studies that find it (%)", ylim=(-4, 104))
    return fig
