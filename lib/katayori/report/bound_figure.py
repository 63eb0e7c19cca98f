"""Accuracy against Diff-bias: only errors can lean, and what cannot be is grey."""

from typing import TYPE_CHECKING

from katayori.report.figures import WIDTH, use_style
from katayori.report.looks import Look, looks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IMPOSSIBLE = "#E8E8E8"
LINE_COLOUR = "#444444"
#: Inches of a row of panels, and of everything around the panels.
PANEL, AROUND = 2.6, 0.9
ACROSS = 2
ACCURACY = "accuracy in ambiguous contexts (points)"
LEAN = "Diff-bias (points)"


def accuracy_and_lean(frame: "pd.DataFrame", *, title: str | None = None) -> "Figure":
    """Diff-bias over accuracy in ambiguous contexts, a panel a model, a look a prompt.

    No point can lie in the grey: where answers are right there are no errors that could lean.

    Args:
        frame: model, prompt, acc_amb, diff_amb (points of a hundred); perhaps ci_low and ci_high,
            the 95 % interval of diff_amb. Rows that lack a value are left out.
        title: of the figure.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"model": "m", "prompt": ["basicP", "biased"]})
        >>> figure = accuracy_and_lean(frame.assign(acc_amb=[90, 20], diff_amb=[2, 40]))
        >>> figure.axes[0].get_title()
        'm'
    """
    from matplotlib.figure import Figure

    use_style()
    models = list(dict.fromkeys(frame["model"].astype(str)))
    look = looks(frame["prompt"].astype(str), "prompt")
    across = min(max(len(models), 1), ACROSS)
    down = -(-len(models) // across) or 1
    fig = Figure(figsize=(WIDTH / 2.54, PANEL * down + AROUND), layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    axes = list(fig.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
    for ax in axes[len(models) :]:
        ax.axis("off")
    for ax, model in zip(axes, models, strict=False):
        ax.set_title(model)
        _draw_what_cannot_be(ax)
        of_model = frame[frame["model"].astype(str) == model]
        for name, one in look.items():
            _draw_points(ax, of_model[of_model["prompt"].astype(str) == name], one, name)
        ax.set(xlim=(0, 100), ylim=(-100, 100), xlabel=ACCURACY)
    axes[0].set_ylabel(LEAN)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return fig


def _draw_what_cannot_be(ax: "Axes") -> None:
    for edge in (100, -100):
        ax.fill_between([0, 100], [edge, 0], edge, color=IMPOSSIBLE, linewidth=0, zorder=0)
    ax.axhline(0, color=LINE_COLOUR, linewidth=0.8, zorder=1)


def _draw_points(ax: "Axes", rows: "pd.DataFrame", look: Look, name: str) -> None:
    known = rows[rows["acc_amb"].notna() & rows["diff_amb"].notna()]
    spread = None
    if {"ci_low", "ci_high"} <= set(known):
        below = (known["diff_amb"] - known["ci_low"]).clip(lower=0).fillna(0)
        above = (known["ci_high"] - known["diff_amb"]).clip(lower=0).fillna(0)
        spread = [below, above]
    ax.errorbar(
        known["acc_amb"],
        known["diff_amb"],
        yerr=spread,
        fmt=look.marker,
        color=look.colour,
        markersize=5,
        linewidth=1.2,
        label=name,
    )
