"""Answers to several variants of a case: every single one as a mark, and what varies as a stack."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from katayori.report.figures import WIDTH, use_style
from katayori.report.looks import looks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of a row of marks, of a bar, and of everything around the rows.
ROW, BAR, AROUND = 0.17, 0.34, 0.95
#: Colour and hatching of the parts of a stack, in their order.
PARTS = (("#CC79A7", ""), ("#8C5B80", "///"), ("#009E73", "..."), ("#DDDDDD", ""))


def variant_grid(frame: "pd.DataFrame", *, columns: str, title: str | None = None) -> "Figure":
    """Every answer as a mark: a column a case, a row a prompt, a panel a model.

    Args:
        frame: model, case_id, prompt, choice; rows and columns are drawn in order of appearance.
        columns: what a column is, in words, such as "case". title: of the figure.

    Example:
        >>> import pandas as pd
        >>> row = {"model": "m", "case_id": 1, "prompt": "first", "choice": "neutral reason"}
        >>> figure = variant_grid(pd.DataFrame([row]), columns="case")
        >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
        ['first']
    """
    models = list(dict.fromkeys(frame["model"]))
    prompts = list(dict.fromkeys(frame["prompt"]))
    cases = list(dict.fromkeys(frame["case_id"].astype(str)))
    height = AROUND + len(models) * (0.3 + ROW * len(prompts))
    fig = _figure(height, title)
    axes = fig.subplots(len(models), 1, squeeze=False, sharex=True)[:, 0]
    for ax, model in zip(axes, models, strict=True):
        _draw_marks(ax, frame[frame["model"] == model], prompts, cases)
        ax.set_title(model)
        ax.set(yticks=range(len(prompts)), yticklabels=prompts, ylim=(len(prompts) - 0.4, -0.6))
        ax.grid(visible=False)
    axes[-1].set(xticks=range(len(cases)), xlim=(-0.7, len(cases) - 0.3))
    axes[-1].set_xticklabels(cases, rotation=90, fontsize=7)
    axes[-1].set_xlabel(f"{columns} ({len(cases)})")
    _legend(fig, ncols=3)
    return fig


def _draw_marks(ax: "Axes", rows: "pd.DataFrame", prompts: list[str], cases: list[str]) -> None:
    for choice, look in looks(rows["choice"], "choice").items():
        chosen = rows[rows["choice"] == choice]
        ax.plot(
            [cases.index(case) for case in chosen["case_id"].astype(str)],
            [prompts.index(prompt) for prompt in chosen["prompt"]],
            look.marker,
            color=look.colour,
            markersize=5,
            linestyle="none",
            label=choice,
        )


def shares_stack(
    frame: "pd.DataFrame", parts: Mapping[str, str], *, label: str, title: str | None = None
) -> "Figure":
    """A bar a model, stacked to the whole, with the interval of the parts that count together.

    Args:
        frame: model, n, value, ci_low, ci_high (of all parts together, as shares of n; NaN: no
            interval), and counts in the columns of `parts`.
        parts: column -> what it counts, in words; what is left of n is drawn pale.
        label: of the axis of shares. title: of the figure.

    Example:
        >>> import pandas as pd
        >>> row = {"model": "m", "n": 4, "value": 0.5, "ci_low": 0.1, "ci_high": 0.9}
        >>> row |= {"a": 1, "b": 1}
        >>> figure = shares_stack(pd.DataFrame([row]), {"a": "order", "b": "both"}, label="cases")
        >>> [float(bar.get_width()) for bar in figure.axes[0].patches]
        [25.0, 25.0, 50.0]
    """
    models = list(frame["model"])
    fig = _figure(AROUND + BAR * len(models), title)
    ax = fig.subplots()
    left = 0 * frame["n"].astype(float)
    counts = {words: frame[column].astype(float) for column, words in parts.items()}
    counts["answered alike"] = frame["n"] - sum(counts.values())
    for (words, count), (colour, hatch) in zip(counts.items(), PARTS, strict=False):
        width = 100 * count / frame["n"]
        ax.barh(
            range(len(models)),
            width,
            0.55,
            left=left,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=words,
        )
        left = left + width
    _draw_whole(ax, frame)
    names = [f"{row['model']} (n = {row['n']})" for row in frame.to_dict("records")]
    ax.set(yticks=range(len(models)), yticklabels=names, ylim=(len(models) - 0.5, -0.5))
    ax.set(xlim=(0, 101), xlabel=label)
    ax.grid(visible=False, axis="y")
    _legend(fig, ncols=3)
    return fig


def _draw_whole(ax: "Axes", frame: "pd.DataFrame") -> None:
    """The interval of all parts together, where there is one."""
    for place, row in enumerate(frame.to_dict("records")):
        if row["ci_low"] == row["ci_low"]:
            value, low, high = (100 * row[name] for name in ("value", "ci_low", "ci_high"))
            ends = [[max(value - low, 0)], [max(high - value, 0)]]
            ax.errorbar(
                value,
                place,
                xerr=ends,
                fmt="D",
                color="black",
                markersize=4,
                capsize=3,
                linewidth=1.2,
                label="all that vary (95 % interval)",
            )


def _figure(height: float, title: str | None) -> "Figure":
    from matplotlib.figure import Figure

    use_style()
    fig = Figure(figsize=(WIDTH / 2.54, height), layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    return fig


def _legend(fig: "Figure", ncols: int) -> None:
    """One legend for all panels; a name that several have stands in it once."""
    once: dict[str, Artist] = {}
    for ax in fig.axes:
        handles, labels = ax.get_legend_handles_labels()
        once |= dict(zip(map(str, labels), handles, strict=True))
    names = list(once)
    fig.legend(
        [once[name] for name in names],
        names,
        loc="outside lower center",
        ncols=min(len(names), ncols),
        frameon=False,
    )
