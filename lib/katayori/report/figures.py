"""Figures (X-9, DE-33): a Japanese font that is the same everywhere, colours that colour-blind readers tell apart.

Every function returns a `Figure` that pyplot does not know, so nothing is shown twice: `display(fig)` shows it,
`Run.figure` saves it.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from numbers import Number
from typing import Any

OKABE_ITO = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)  # less its yellow: too pale
MARKERS = ("o", "s", "^", "D", "v")
# DE-25: below 0, up to 2/3, up to 0.8, above; a boundary value belongs to the lower band.
BANDS = (
    ("α < 0: beyond-chance disagreement", "#D55E00"),
    ("0 ≤ α ≤ 2/3: no agreement", "#F7DFC4"),
    ("2/3 < α ≤ 0.8: weak", "#A6D3F0"),
    ("α > 0.8: strong", "#0072B2"),
)
NOT_TOLD_BAND = ("band not told: no interval, or one across two", "#E3E3E3")
FONTS = ["IPAexGothic", "DejaVu Sans"]  # the second for signs the first lacks, such as ≤
WIDTH = 17  # cm, the text width of a page
POINT = {"markersize": 4, "linewidth": 1}
Sources = Mapping[str, str] | None  # model -> "recorded", "simulated" ..., written with its name


def use_style() -> None:
    """Sets the theme, font and palette for all figures drawn afterwards; the figure functions call it themselves."""
    import matplotlib_fontja  # noqa: F401  (registers the font)
    import seaborn as sns

    small = {"font.size": 9, "axes.labelsize": 9, "axes.titlesize": 9.5, "legend.fontsize": 8}
    small |= {
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "figure.dpi": 80,
        "axes.grid": True,
        "grid.linewidth": 0.6,
    }
    sns.set_theme(style="whitegrid", font=FONTS, palette=OKABE_ITO, rc=small)


def display(fig: Any, alt: str | None = None) -> Any:
    """The figure as an inline PNG at 80 dpi (an IPython Image).

    `alt` is its text alternative for readers who cannot see. A figure that shows no value becomes
    a sentence (see `is_empty`).
    """
    from io import BytesIO

    from IPython.display import Image, Markdown

    about = alt or fig.get_suptitle() or "figure"
    if is_empty(fig):
        return Markdown(f"*No picture, as no value of it is defined: {about}.*")
    buffer = BytesIO()
    fig.savefig(buffer, format="png", dpi=80, metadata={"Software": None})
    return Image(buffer.getvalue(), alt=about)


def is_empty(fig: Any) -> bool:
    """Whether a figure has nothing in its axes but scales, names and lines of reference."""
    return bool(fig.axes) and not any(map(_shows_value, fig.axes))


def _shows_value(ax: Any) -> bool:
    """Whether an axes holds a word, a bar, or a finite point in the units of its data."""
    # A line of reference (axhline) goes by the axes' units in one direction: it is none of these.
    lines = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    bars = [(patch.get_x(), patch.get_width()) for patch in ax.patches if hasattr(patch, "get_x")]
    drawn = [*lines, *([bar] for bar in bars), *map(_points, ax.collections)]
    return bool(ax.texts or ax.images) or any(map(_any_finite, drawn))


def _points(collection: Any) -> Any:
    """The places of a scatter's marks or the values of a mesh; nothing of other collections."""
    from matplotlib.collections import PathCollection, QuadMesh

    if isinstance(collection, PathCollection):
        return collection.get_offsets()
    if isinstance(collection, QuadMesh):
        values = collection.get_array()
        return [] if values is None else values.reshape(-1, 1)
    return []


def _any_finite(points: Any) -> bool:
    """Whether all numbers of some point are finite; a masked one is not."""
    import numpy as np

    values: np.ndarray = np.ma.filled(np.ma.asarray(points, dtype=float), np.nan)
    return bool(values.size) and bool(np.isfinite(values).all(axis=-1).any())


def band(alpha: float) -> int | None:
    """Index into `BANDS` (DE-25), None for an undefined alpha."""
    return None if alpha != alpha else int(alpha >= 0) + int(alpha > 2 / 3) + int(alpha > 0.8)


def alpha_heatmap(
    frame: Any,
    *,
    sources: Sources = None,
    status: Any = None,
    told: Any = None,
    title: str | None = None,
) -> Any:
    """Heat map of Krippendorff's alpha in the bands of DE-25: rows models (index), columns factors (DE-33, Fig 3a).

    Undefined cells are hatched and carry the word in `status` (a frame of the same shape; "undefined" without it).
    `told`, a frame of the same shape, says which bands the intervals back (True); the other cells
    stay
    grey, since a colour would claim a band.
    """
    from textwrap import fill

    import numpy as np
    import seaborn as sns
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch, Rectangle

    values, many = frame.to_numpy(dtype=float), len(frame.columns) > 6
    fig = _figure(0.42 * len(frame) + (1.6 if many else 0.55) + 0.1 * len(BANDS), title)
    ax = fig.subplots()
    digits = 2 if many else 3
    # Adding 0 after rounding turns -0.0 into 0.0: "-0.000" looks like disagreement.
    words = np.vectorize(f"{{:.{digits}f}}".format)(np.round(values, digits) + 0.0)
    bands = frame.map(band).astype(float)
    legend = list(BANDS)
    if told is not None:
        bands = bands.where(told.to_numpy(bool) | bands.isna(), len(BANDS))
        legend.append(NOT_TOLD_BAND)
    sns.heatmap(
        bands,
        annot=words if values.size else None,
        fmt="",
        annot_kws={"fontsize": 7 if many else 8},
        cmap=ListedColormap([colour for _, colour in legend]),
        **{
            "vmin": -0.5,
            "vmax": len(legend) - 0.5,
            "cbar": False,
            "linewidths": 1.5,
            "linecolor": "white",
            "ax": ax,
        },
    )
    for i, j in np.argwhere(np.isnan(values)):
        ax.add_patch(
            Rectangle(
                (j, i), 1, 1, facecolor="#F4F4F4", edgecolor="#BBBBBB", hatch="////", linewidth=0
            )
        )
        word = "—" if many else fill("undefined" if status is None else str(status.iloc[i, j]), 10)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(j + 0.5, i + 0.5, word, ha="center", va="center", fontsize=7, bbox=box)
    ax.set(xlabel="", ylabel="")
    heads = [_title(c) if many else fill(_title(c), 30) for c in frame.columns]
    ax.set_xticklabels(heads, rotation=90 if many else 0)
    ax.set_yticklabels([_named(m, sources, "\n") for m in frame.index], rotation=0)
    handles = [Patch(facecolor=colour, label=label) for label, colour in legend]
    fig.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return fig


def mean_ratios(
    frame: Any, *, value: str = "ratio", sources: Sources = None, label: str = "share of yes",
    limits: tuple[float, float] = (0, 1), title: str | None = None,
) -> Any:  # fmt: skip
    """Mean response ratio by group level and model, one panel a factor (DE-33, Figs 4 and 5).

    `frame`: factor, level, model, `value`; intervals are drawn where there are ci_low and ci_high. A factor whose
    levels are numbers becomes a line over them, any other a row of points a level. Simulated models are hollow.
    """
    edges = limits if all(map(math.isfinite, limits)) else None  # no value, no edge
    models, parts = list(dict.fromkeys(frame["model"])), list(frame.groupby("factor", sort=False))
    numeric = [
        all(isinstance(v, Number) for v in part["level"]) for _, part in parts
    ]  # factors share a mixed column
    counts = [part["level"].nunique() for _, part in parts]
    alone = [k for k, count in enumerate(counts) if count > 8 and not numeric[k]]
    shared = [k for k in range(len(parts)) if k not in alone]
    grid = [shared[i : i + 2] for i in range(0, len(shared), 2)] + [[k] for k in alone]
    row = max(0.26, 0.075 * len(models) + 0.1)
    heights = [
        1.9 if lines else 0.6 + row * count for lines, count in zip(numeric, counts, strict=True)
    ]
    tall = [max(heights[k] for k in line) for line in grid]
    fig = _figure(sum(tall) + 0.2 * -(-len(models) // 2) + (0.05 if title else 0.1), title)
    axes = fig.subplot_mosaic([line * (2 // len(line)) for line in grid], height_ratios=tall)
    for k, (name, part) in enumerate(parts):
        ax, lines, levels = axes[k], numeric[k], list(dict.fromkeys(part["level"]))
        gap = min((b - a for a, b in pairwise(sorted(levels))), default=1) if lines else 1
        for j, who in enumerate(models):
            mine = part[part["model"] == who]
            shift = (j - (len(models) - 1) / 2) / (len(models) + 0.6)
            places = [
                v + 0.25 * gap * shift if lines else levels.index(v) + 0.9 * shift
                for v in mine["level"]
            ]
            colour, hollow = OKABE_ITO[j % len(OKABE_ITO)], (sources or {}).get(who) == "simulated"
            look = {"color": colour, "marker": MARKERS[j % len(MARKERS)], "elinewidth": 1, **POINT}
            look |= {
                "markerfacecolor": "white" if hollow else colour,
                "label": _named(who, sources, " "),
            }
            look["linestyle"] = ("--" if hollow else "-") if lines else "none"
            xy = (places, mine[value]) if lines else (mine[value], places)
            ax.errorbar(*xy, **{"yerr" if lines else "xerr": _spread(mine, value)}, **look)
        if lines:
            ax.set(xlabel=_title(name), ylabel=label, ylim=edges, xticks=levels)
        else:
            ax.set(title=_title(name), xlabel=label, xlim=edges)
            _rows(ax, levels)
            for edge in range(1, len(levels)):
                ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
            ax.grid(visible=False, axis="y")
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )
    return fig


def flow(steps: Any, *, title: str | None = None) -> Any:
    """A method as a row of boxes joined by arrows (DE-33, Fig 1): `steps` is a list of (heading, text)."""
    from textwrap import fill

    from matplotlib.patches import FancyBboxPatch

    texts = [(head, fill(text, int(WIDTH * 4.3 / len(steps)))) for head, text in steps]
    fig = _figure(0.75 + 0.155 * max(text.count("\n") for _, text in texts), title)
    ax = fig.subplots()
    ax.set(xlim=(0, len(steps)), ylim=(0, 1))
    ax.axis("off")
    for k, (head, text) in enumerate(texts):
        box = FancyBboxPatch(
            (k + 0.06, 0.06),
            width=0.84,
            height=0.88,
            boxstyle="round,pad=0.02,rounding_size=0.04",
            facecolor="#EAF3FA",
            edgecolor=OKABE_ITO[0],
        )
        ax.add_patch(box)
        ax.text(k + 0.48, 0.86, head, ha="center", va="top", fontsize=9)
        ax.text(k + 0.48, 0.36, text, ha="center", va="center", fontsize=8)
        if k:
            ax.annotate(
                "",
                (k + 0.03, 0.5),
                (k - 0.07, 0.5),
                arrowprops={"arrowstyle": "->", "color": "#444444"},
            )
    return fig


def age_fits(
    observed: Any, curves: Any, *, sources: Sources = None, title: str | None = None
) -> Any:
    """Observed ratio by age and the fitted linear and quadratic logistic curves, one panel a model (DE-30, Fig 2).

    `observed`: model, age, ratio, ci_low, ci_high. `curves`: model, fit (linear, quadratic), age, ratio, and `told`, a
    text for the legend such as "p = .72"; a fit without rows is not drawn.
    """
    fig, panels = _panels(observed, sources, 2.6, title)
    for ax, who, mine in panels:
        ax.errorbar(
            mine["age"], mine["ratio"], _spread(mine, "ratio"), fmt="o", color="black", **POINT
        )
        for colour, (name, fit) in zip(
            OKABE_ITO, curves[curves["model"] == who].groupby("fit"), strict=False
        ):
            look = {
                "linestyle": "--" if name == "linear" else "-",
                "label": f"{name}, {fit['told'].iloc[0]}",
            }
            ax.plot(fit["age"], fit["ratio"], color=colour, linewidth=1.4, **look)
        ax.set(ylim=(-0.03, 1.03), xlabel="age", ylabel="share of yes")
        ax.label_outer()
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize=7, frameon=False, loc="best")
    return fig


def coefficients(
    frame: Any, means: Mapping[str, float], *, sources: Sources = None, title: str | None = None
) -> Any:
    """Coefficients with intervals, one panel a model, and their mean as a line: what averaging hides (DE-28, DE-31).

    `frame`: model, level, estimate, ci_low, ci_high; undefined ones are left out. `means`: model -> mean score.
    """
    levels = list(dict.fromkeys(frame["level"]))
    fig, panels = _panels(frame, sources, 0.8 + 0.2 * len(levels), title)
    for ax, who, mine in panels:
        mine = mine[mine["estimate"].notna()]
        spread, places = _spread(mine, "estimate"), mine["level"].map(levels.index)
        ax.errorbar(mine["estimate"], places, xerr=spread, fmt="o", color=OKABE_ITO[0], **POINT)
        ax.axvline(0, color="#444444", linewidth=0.8)
        ax.axvline(
            means[who],
            color=OKABE_ITO[1],
            linewidth=1.4,
            linestyle="--",
            label="mean of the coefficients",
        )
        _rows(ax, levels)
    return _below(fig, panels, "coefficient (log-odds of yes)")


def surfacing(frame: Any, *, sources: Sources = None, title: str | None = None) -> Any:
    """Change of scores from one prompt to another, one panel a model, one row a category (PJ-21).

    `frame`: model, metric, category, difference, ci_low, ci_high, in points; undefined changes are left out.
    """
    metrics, levels = (list(dict.fromkeys(frame[c])) for c in ("metric", "category"))
    fig, panels = _panels(frame, sources, 0.8 + 0.3 * len(levels), title)
    for ax, _, rows in panels:
        for j, metric in enumerate(metrics):
            mine = rows[(rows["metric"] == metric) & rows["difference"].notna()]
            places = [
                levels.index(v) + 0.3 * (j - (len(metrics) - 1) / 2) for v in mine["category"]
            ]
            look = {"fmt": MARKERS[j], "color": OKABE_ITO[j], "label": metric, **POINT}
            ax.errorbar(mine["difference"], places, xerr=_spread(mine, "difference"), **look)
        ax.axvline(0, color="#444444", linewidth=0.8)
        _rows(ax, levels)
    return _below(fig, panels, "change in points")


def accuracy_against_bias(frame: Any, *, sources: Sources = None, title: str | None = None) -> Any:
    """Diff_a over Acc_a, one panel a model, one point a prompt and category; what cannot be (PJ-18) is grey.

    `frame`: model, prompt, acc_amb, diff_amb, in points.
    """
    prompts = list(dict.fromkeys(frame["prompt"]))
    fig, panels = _panels(frame, sources, 2.3, title)
    for ax, _, rows in panels:
        for sign in (1, -1):
            ax.fill_between(
                [0, 100], [sign * 100, 0], sign * 100, color="#E8E8E8", linewidth=0, zorder=0
            )
        for prompt, colour, marker in zip(prompts, OKABE_ITO, MARKERS, strict=False):
            mine = rows[rows["prompt"] == prompt]
            ax.scatter(
                mine["acc_amb"],
                mine["diff_amb"],
                16,
                colour,
                marker=marker,
                label=prompt,
                alpha=0.8,
            )
        ax.set(xlim=(0, 100), ylim=(-100, 100), ylabel="Diff_a (points)")
    return _below(fig, panels, "Acc_a (points)")


def rate_heatmap(
    frame: Any, rows: str, columns: str, *, sources: Sources = None, title: str | None = None
) -> Any:
    """Rates in points, one panel a `model`, a cell a level of `rows` and of `columns`; grey where there is none.

    `frame`: model, the two columns and value, a share; panels share their scale, from 0 to the highest rate.
    """
    import seaborn as sns

    across = list(dict.fromkeys(frame[columns]))
    fig, panels = _panels(frame, sources, 0.9 + 0.32 * frame[rows].nunique(), title)
    for k, (ax, _, mine) in enumerate(panels):
        cells = mine.pivot(index=rows, columns=columns, values="value") * 100
        look = {
            "vmin": 0,
            "vmax": 100 * frame["value"].max(),
            "cmap": "Blues",
            "cbar": False,
            "linewidths": 1,
        }
        sns.heatmap(
            cells[across], annot=True, fmt=".0f", annot_kws={"fontsize": 6.5}, ax=ax, **look
        )
        ax.grid(visible=False)
        ax.set(xlabel="", ylabel="", facecolor="#E8E8E8")
        ax.tick_params(axis="x", rotation=90, labelbottom=_lowest(ax, k, panels))
    return fig


def averaging(frame: Any, *, title: str | None = None) -> Any:
    """Probabilities of the verdicts in both orders and their mean, the likeliest filled (LJ-21, Fig 1).

    `frame`: one row a panel, named by the index, in the order shown; columns are the verdicts, values percentages.
    """
    fig = _figure(1.9, title)
    axes = fig.subplots(1, len(frame), sharey=True)
    for ax, (name, shares) in zip(axes, frame.iterrows(), strict=True):
        bars = ax.bar(
            list(frame.columns), shares, color="#D8D8D8", edgecolor="#666666", linewidth=0.8
        )
        bars[int(shares.to_numpy().argmax())].set_facecolor(OKABE_ITO[0])
        ax.bar_label(bars, fmt="%.3g", fontsize=8)
        ax.set(title=name, ylim=(0, 1.2 * frame.to_numpy().max()))
        ax.grid(visible=False, axis="x")
    axes[0].set_ylabel("probability (%)")
    return fig


def scatter(
    frame: Any, x: str, y: str, by: str, *, labels: tuple[str, str], sources: Sources = None, diagonal: bool = False,
    limits: Mapping[str, tuple[float, float]] | None = None, joined: bool = False, title: str | None = None,
) -> Any:  # fmt: skip
    """Points of two columns, one panel a `model`, one colour and marker a level of `by`; undefined ones are left out.

    `labels`: of x and y. `limits`: xlim and ylim, where they are not to follow the points. Intervals of y are drawn
    where there are ci_low and ci_high. `diagonal` draws the line x = y, `joined` joins a level's points in order of x.
    """
    frame = frame.dropna(subset=[x, y])
    levels = list(dict.fromkeys(frame[by]))
    fig, panels = _panels(frame, sources, 2.4, title)
    for ax, _, rows in panels:
        if diagonal:
            ax.axline((0, 0), slope=1, color="#888888", linewidth=0.8, linestyle="--", zorder=0)
        for k, level in enumerate(levels):
            mine = rows[rows[by] == level].sort_values(x, kind="stable")
            look = {
                "fmt": MARKERS[k % len(MARKERS)] + ("-" if joined else ""),
                "color": OKABE_ITO[k % len(OKABE_ITO)],
            }
            ax.errorbar(
                mine[x], mine[y], _spread(mine, y), label=str(level), alpha=0.8, **look, **POINT
            )
        ax.set(ylabel=labels[1], **(limits or {}))
    return _below(fig, panels, labels[0])


def grouped_bars(
    frame: Any, series: str, *, sources: Sources = None, label: str = "accuracy (%)", line: float | None = None,
    title: str | None = None,
) -> Any:  # fmt: skip
    """A group of bars a model, one a level of `series`, with intervals and a line at `line`, chance (JU-20, Fig 1).

    `frame`: model, `series`, value, and where there are intervals ci_low, ci_high, in percent. A bar that is undefined
    is left out; models whose bars are simulated are hatched.
    """
    models, levels = (list(dict.fromkeys(frame[c])) for c in ("model", series))
    named = [_named(who, sources, "\n") for who in models]
    crowded = 3 * len(models) > WIDTH
    upright = (
        0.075 * max(len(line) for name in named for line in name.split("\n")) if crowded else 0
    )  # inches it takes
    fig = _figure(2.6 + upright + 0.2 * -(-len(levels) // 3), title)
    ax, wide = fig.subplots(), 0.8 / len(levels)
    for k, level in enumerate(levels):
        mine = frame[(frame[series] == level) & frame["value"].notna()]
        places = [models.index(who) + wide * (k - (len(levels) - 1) / 2) for who in mine["model"]]
        look = {
            "color": OKABE_ITO[k % len(OKABE_ITO)],
            "edgecolor": "white",
            "linewidth": 0.5,
            "label": str(level),
        }
        look |= {"yerr": _spread(mine, "value"), "error_kw": {"elinewidth": 1, "capsize": 2}}
        for bar, who in zip(
            ax.bar(places, mine["value"], wide, **look), mine["model"], strict=True
        ):
            bar.set_hatch("///" if (sources or {}).get(who) == "simulated" else None)
    if line is not None:
        ax.axhline(line, color="#CC0000", linewidth=1.2, linestyle="--", label="chance")
    ax.set(ylabel=label, ylim=(0, 104), xticks=range(len(models)), xlim=(-0.6, len(models) - 0.4))
    ax.set_xticklabels(named, rotation=90 if crowded else 0)
    ax.grid(visible=False, axis="x")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return fig


def profile(frame: Any, panels: Any, *, title: str | None = None) -> Any:
    """One model on several measures: a panel a measure on a scale of its own, a row a level; missing ones say so.

    `frame`: measure, level, value, ci_low, ci_high, status, source. `panels`: measure, limits, reference (NaN: no
    line), means (of the line, or why there is none), in the order shown.
    """
    from textwrap import fill

    parts = [(one, frame[frame["measure"] == one["measure"]]) for one in panels.to_dict("records")]
    down = -(-len(parts) // 2)
    fig = _figure((1.1 + 0.2 * max(len(part) for _, part in parts)) * down, title)
    axes = list(fig.subplots(down, 2, squeeze=False).flat)
    for ax in axes[len(parts) :]:
        ax.axis("off")
    for ax, (one, part) in zip(axes, parts, strict=False):
        places, ends = range(len(part)), part[["ci_low", "ci_high"]].to_numpy(float).T
        spread = abs(ends - part["value"].to_numpy(float))
        ax.errorbar(
            part["value"],
            places,
            xerr=spread,
            fmt="o",
            color=OKABE_ITO[0],
            markersize=4,
            linewidth=1,
        )
        _say_status(ax, one["limits"], part)
        if one["reference"] == one["reference"]:  # NaN: no line
            ax.axvline(one["reference"], color="#CC0000", linewidth=1, linestyle="--")
        ax.set(
            xlim=one["limits"],
            yticks=places,
            yticklabels=part["level"],
            ylim=(len(part) - 0.5, -0.5),
        )
        ax.set_title(
            fill(one["measure"], 40)
            + "".join(f"\n({name})" for name in part["source"].dropna().unique())
        )
        means = str(one["means"])
        said = means if means.startswith("no line") else f"line: {means}"
        ax.set_xlabel(fill(said, 44), fontsize=7.5)
    return fig


def _say_status(ax: Any, limits: Any, part: Any) -> None:
    """Names the status of rows that are not ok: in the middle, or beside the value where one is."""
    from textwrap import fill

    low, high = limits
    box = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    for place, (status, value) in enumerate(zip(part["status"], part["value"], strict=True)):
        if status == "ok":
            continue
        known = value == value
        right = known and value < (low + high) / 2
        where = high if right else low if known else (low + high) / 2
        side = "right" if right else "left" if known else "center"
        text = fill(str(status).replace("_", " "), 40)
        if known:  # above the line of its point, which it must not hide
            ax.text(where, place - 0.08, text, ha=side, va="bottom", fontsize=7)
        else:
            ax.text(where, place, text, ha=side, va="center", bbox=box)


def _figure(height: float, title: str | None) -> Any:
    """An empty figure in our style; the title gets room of its own."""
    from matplotlib.figure import Figure

    use_style()
    fig = Figure(figsize=(WIDTH / 2.54, height + (0.3 if title else 0)), layout="constrained")
    if title:
        fig.suptitle(title, fontsize=10)
    return fig


def _panels(
    frame: Any, sources: Sources, tall: float, title: str | None
) -> tuple[Any, list[tuple[Any, str, Any]]]:
    """A figure with one titled panel a model, three a row; and of each panel its axes, model and rows of the frame."""
    parts = list(frame.groupby("model", sort=False))
    across = min(len(parts), 3)
    down = -(-len(parts) // across)
    fig = _figure(tall * down + 0.3, title)
    axes = list(fig.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
    for place, ax in enumerate(axes):
        who = parts[place][0] if place < len(parts) else ""
        if who:
            ax.set_title(_named(who, sources, "\n"))
        else:
            ax.axis("off")
    return fig, [(ax, who, rows) for ax, (who, rows) in zip(axes, parts, strict=False)]


def _lowest(ax: Any, place: int, panels: list) -> bool:
    """Whether no used panel lies under this one."""
    return place >= len(panels) - ax.get_subplotspec().get_gridspec().ncols


def _below(fig: Any, panels: list, label: str) -> Any:
    """Labels left of a row and under the lowest used panel of a column, also above a blank place; then the legend."""
    for k, (ax, *_) in enumerate(panels):
        ax.label_outer()
        if _lowest(ax, k, panels):
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(label)
    found = panels[0][0].get_legend_handles_labels()
    fig.legend(*found, loc="outside lower center", ncols=len(found[0]), frameon=False)
    return fig


def _rows(ax: Any, levels: list) -> None:
    """Names the rows of a panel, the first on top."""
    ax.set(yticks=range(len(levels)), yticklabels=map(str, levels), ylim=(len(levels) - 0.5, -0.5))


def _spread(rows: Any, value: str) -> Any:
    """How far the ends of intervals lie from the values, for error bars; None where there are no intervals."""
    if "ci_low" not in rows:
        return None
    middle, low, high = rows[[value, "ci_low", "ci_high"]].to_numpy(dtype=float).T
    return [(middle - low).clip(0), (high - middle).clip(0)]


def _named(model: Any, sources: Sources, gap: str) -> str:
    source = (sources or {}).get(model)
    return f"{model}{gap}({source})" if source else str(model)


def _title(factor: Any) -> str:
    return str(factor).replace("_", " × ")
