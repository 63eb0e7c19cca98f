"""The specification curve: every reading's effect, sorted, above the readings that gave it.

Reference: U. Simonsohn, J. P. Simmons and L. D. Nelson, Nature Human Behaviour 4 (2020), 1208-1214.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from katayori.metrics.multiverse import Multiverse
from katayori.report.figures import OKABE_ITO, WIDTH, use_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOLDS, OPPOSITE, OPEN = OKABE_ITO[0], OKABE_ITO[1], "0.6"
#: Inches of the curve, and of one line of the grid below it.
CURVE, LINE = 2.0, 0.17


def specification_curve(
    found: Mapping[str, Multiverse], *, unit: str, title: str
) -> "Figure | None":
    """One claim under every reading, a panel a model.

    Above, the effects from the lowest to the highest with their 95 % intervals; below, which
    reading of each choice an effect comes from. Readings without an interval are left out, and
    counted in the heading of the panel.

    Args:
        found: model -> the multiverse of the claim; all with the same choices.
        unit: of the effects.
        title: of the figure.

    Returns:
        the figure; None where no reading has an interval.
    """
    from matplotlib.figure import Figure

    drawn = {name: one for name, one in found.items() if (one.table["status"] == "ok").any()}
    if not drawn:
        return None
    use_style()
    labels = _labels(next(iter(drawn.values())))
    height = CURVE + LINE * len(labels) + 0.9
    fig = Figure(figsize=(WIDTH / 2.54, height), layout="constrained")
    fig.suptitle(title, fontsize=10)
    ratios = (CURVE, LINE * len(labels))
    axes = fig.subplots(2, len(drawn), squeeze=False, sharex="col", height_ratios=ratios)
    for column, (model, one) in enumerate(drawn.items()):
        above, below = axes[0, column], axes[1, column]
        defined = one.table[one.table["status"] == "ok"]
        # Effects that are equal but for rounding stay in the order of the choices.
        defined = defined.sort_values("value", key=lambda v: v.round(12), kind="stable")
        _draw_effects(above, defined)
        left_out = len(one.table) - len(defined)
        more = f"; {left_out} without interval" if left_out else ""
        above.set_title(f"{model}\n{len(defined)} readings{more}")
        _draw_readings(below, defined, labels, named=column == 0)
    low = min(ax.get_ylim()[0] for ax in axes[0])
    high = max(ax.get_ylim()[1] for ax in axes[0])
    for ax in axes[0]:
        ax.set_ylim(low, high)
    axes[0, 0].set_ylabel(unit)
    fig.supxlabel(
        "readings, from the lowest effect to the highest "
        "(blue: holds, orange: the opposite, grey: neither)",
        fontsize=7.5,
    )
    return fig


def _labels(one: Multiverse) -> list[tuple[str, str]]:
    """Choice and reading of each line of the grid."""
    return [(name, str(level)) for name in one.choices for level in one.table[name].unique()]


def _draw_effects(ax: "Axes", rows) -> None:  # type: ignore[no-untyped-def]
    for place, row in enumerate(rows.to_dict("records")):
        opposite = row["value"] < 0 and row["p"] < 0.05
        colour = HOLDS if row["holds"] else OPPOSITE if opposite else OPEN
        ax.plot([place, place], [row["ci_low"], row["ci_high"]], color=colour, linewidth=0.7)
        ax.plot(place, row["value"], "o", color=colour, markersize=2.2)
    ax.axhline(0, color="#CC0000", linewidth=1, linestyle="--")


def _draw_readings(ax, rows, labels, *, named) -> None:  # type: ignore[no-untyped-def]
    """Dots where a reading was taken; choices are told apart by bands."""
    choices = list(dict.fromkeys(name for name, _ in labels))
    for line, (name, level) in enumerate(labels):
        if choices.index(name) % 2 == 0:
            ax.axhspan(line - 0.5, line + 0.5, color="0.94", zorder=0)
        places = [k for k, taken in enumerate(rows[name].astype(str)) if taken == level]
        ax.plot(places, [line] * len(places), "|", color="0.25", markersize=4)
    texts = [f"{name}: {level}" for name, level in labels] if named else []
    ax.set_yticks(range(len(labels)) if named else [], texts, fontsize=6.5)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xticks([])
    ax.grid(False)


def curve_table(summary: "pd.DataFrame") -> "pd.DataFrame":
    """Each claim of each model under every reading, for a reader: a row a model and claim.

    Args:
        summary: of `multiverse.summaries`.

    Returns:
        claim, model, holds and opposite (the share of readings that can be computed and their
        number), `p of the curve` (the whole curve against exchanged ones, with its Monte Carlo
        error), `moved most by` (the choice that moves the effect most, and its share of the
        variance).

    Example:
        >>> import pandas as pd
        >>> row = {"claim": "more yes", "model": "m", "share_holds": 0.25, "n_against": 2}
        >>> row |= {"n_universes": 8, "n_undefined": 0, "p_median": 0.2, "mc_error": 0.02}
        >>> row |= {"moved_most": "weight", "moved_share": 0.6, "status": "ok"}
        >>> curve_table(pd.DataFrame([row])).to_numpy().tolist()[0][2:]
        ['25 % of 8', '2', '0.200 ± 0.020', 'weight, 60 %']
    """
    import pandas as pd

    columns = ["claim", "model", "holds", "opposite", "p of the curve", "moved most by"]
    rows = [_in_words(row) for row in summary.to_dict("records")]
    return pd.DataFrame(rows, columns=columns)


def _in_words(row: Mapping[Any, Any]) -> list[str]:
    named = [row["claim"], row["model"]]
    if row["status"] == "undefined":
        return [*named, "no reading has an interval", "", "", ""]
    n = row["n_universes"] - row["n_undefined"]
    holds, p = f"{100 * row['share_holds']:.0f} % of {n}", f"{row['p_median']:.3f}"
    moved = f"{row['moved_most']}, {100 * row['moved_share']:.0f} %"
    told = [holds, str(row["n_against"]), f"{p} ± {row['mc_error']:.3f}"]
    return [*named, *told, moved if row["status"] == "ok" else ""]
