"""Every headline of a notebook over the settings it was run with: one panel a measure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from katayori.report.figures import WIDTH, use_style
from katayori.report.looks import looks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a panel, and of the legend and the names of settings below the last one.
PANEL, BELOW = 1.5, 1.3
#: Answers of respondents that were planted are no finding; a figure shows those that were asked.
ASKED = ("recorded", "live", "imported")
#: A line is one of these: a model's value of one prompt and one cell.
LINE = ("model", "prompt_id", "cell")


def headlines_over_settings(table: "pd.DataFrame", varied: Sequence[str]) -> "Figure | None":
    """Headlines over settings, a line a model, prompt and cell, with 95 % intervals.

    Args:
        table: rows of results.json of all settings: setting (its number), the varied parameters,
            what, unit, source, headline, model, prompt_id, cell, value, ci_low, ci_high.
        varied: the columns of the parameters that differ; they name the settings.

    Returns:
        the figure; None where no asked model has a headline with a value.

    Example:
        >>> import pandas as pd
        >>> rows = {"setting": [1, 2], "seed": ["1", "2"], "what": "gap", "unit": "points"}
        >>> rows |= {"source": "recorded", "headline": True, "model": "m", "prompt_id": "p"}
        >>> rows |= {"cell": "{}", "value": [0.1, 0.2], "ci_low": 0.0, "ci_high": 0.3}
        >>> figure = headlines_over_settings(pd.DataFrame(rows), ["seed"])
        >>> [text.get_text() for text in figure.axes[0].get_xticklabels()]
        ['seed 1', 'seed 2']
    """
    from matplotlib.figure import Figure

    shown = table[table["headline"].astype(bool) & table["source"].isin(ASKED)]
    shown = shown[shown["value"].notna()]
    if shown.empty:
        return None
    use_style()
    measures = list(dict.fromkeys(shown["what"]))
    height = PANEL * len(measures) + BELOW
    fig = Figure(figsize=(WIDTH / 2.54, height), layout="constrained")
    axes = fig.subplots(len(measures), 1, sharex=True, squeeze=False)[:, 0]
    colours = looks(dict.fromkeys(table.loc[shown.index, "model"].astype(str)))
    for ax, measure in zip(axes, measures, strict=True):
        rows = shown[shown["what"] == measure]
        _draw_lines(ax, rows, colours)
        unit = rows["unit"].dropna()
        ax.set_title(measure)
        ax.set_ylabel(str(unit.iloc[0]) if len(unit) else "value")
    _name_settings(axes[-1], table, varied)
    _legend(fig, axes)
    return fig


def _draw_lines(ax: "Axes", rows: "pd.DataFrame", colours: dict[str, Any]) -> None:
    """A line a model, prompt and cell; the models have their looks."""
    lines = rows.fillna({name: "" for name in LINE}).groupby(list(LINE), sort=False)
    for place, (key, line) in enumerate(lines):
        model = str(key[0])  # type: ignore[index]
        look = colours[model]
        value = line["value"].astype(float)
        low = (value - line["ci_low"].astype(float)).clip(0).fillna(0)
        high = (line["ci_high"].astype(float) - value).clip(0).fillna(0)
        # Beside one another, so that intervals of one setting can be told apart.
        beside = 0.5 * (place + 0.5) / lines.ngroups - 0.25
        ax.errorbar(
            line["setting"].astype(float) + beside,
            value,
            yerr=[low, high],
            fmt=look.marker,
            color=look.colour,
            linestyle="-",
            linewidth=0.8,
            markersize=3.5,
            label=model,
        )


def _name_settings(ax: "Axes", table: "pd.DataFrame", varied: Sequence[str]) -> None:
    """The varied parameters of each setting below the lowest panel."""
    settings = table.drop_duplicates("setting").sort_values("setting")
    names = [
        ", ".join(f"{name} {row[name]}" for name in varied) for row in settings.to_dict("records")
    ]
    turned = 90 if len(names) > 4 else 0
    ax.set_xticks(settings["setting"].astype(float), names, rotation=turned, fontsize=7)
    ax.set_xlabel("setting; bars are 95 % intervals")


def _legend(fig: "Figure", axes: Any) -> None:
    named: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    fig.legend(
        list(named.values()), list(named), loc="outside lower center", ncols=3, frameon=False
    )
