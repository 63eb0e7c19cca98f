"""Figures (X-9, DE-33).

A Japanese font that is the same everywhere, colours that colour-blind readers tell apart.

Every function returns a `Figure` that pyplot does not know, so nothing is shown twice:
`display(fig)` shows it, `Run.figure` saves it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
ACROSS = 3  # panels a row
POINT: dict[str, Any] = {"markersize": 4, "linewidth": 1}
Sources = Mapping[str, str] | None  # model -> "recorded", "simulated" ..., written with its name


class Panel(NamedTuple):
    """The axes of one model and its rows of the frame."""

    ax: "Axes"
    model: str
    rows: "pd.DataFrame"


def use_style() -> None:
    """Sets the theme, font and palette for all figures drawn afterwards.

    The figure functions call it themselves.
    """
    import matplotlib_fontja  # noqa: F401  (registers the font)
    import seaborn as sns

    small = {
        "font.size": 9,
        "axes.labelsize": 9,
        "axes.titlesize": 9.5,
        "legend.fontsize": 8,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "figure.dpi": 80,
        "axes.grid": True,
        "grid.linewidth": 0.6,
    }
    sns.set_theme(style="whitegrid", font=FONTS, palette=OKABE_ITO, rc=small)


#: Dots an inch of figures in notebooks: sharp in print; half of them are an inch on the screen.
DOTS = 192


def display(fig: "Figure", alt: str | None = None) -> Any:
    """The figure as an inline PNG of 192 dots an inch, shown at 96 (an IPython Image).

    `alt` is its text alternative for readers who cannot see. A figure that shows no value becomes
    a sentence (see `is_empty`).
    """
    from io import BytesIO

    from IPython.display import Image, Markdown

    about = alt or fig.get_suptitle() or "figure"
    if is_empty(fig):
        return Markdown(f"*No picture, as no value of it is defined: {about}.*")
    drawn = BytesIO()
    fig.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    return Image(with_few_colours(drawn.getvalue()), alt=about, retina=True)


def with_few_colours(png: bytes) -> bytes:
    """The same picture in 256 colours: a third of the size, and no difference that one sees."""
    from io import BytesIO

    from PIL import Image

    small = BytesIO()
    picture = Image.open(BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
    return small.getvalue()


def is_empty(fig: "Figure") -> bool:
    """Whether a figure has nothing in its axes but scales, names and lines of reference."""
    return bool(fig.axes) and not any(map(_shows_value, fig.axes))


def _shows_value(ax: "Axes") -> bool:
    """Whether an axes holds a word, a bar, or a finite point in the units of its data."""
    # A line of reference (axhline) goes by the axes' units in one direction: it is none of these.
    lines = [line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData]
    patches: list[Any] = list(ax.patches)  # of several kinds
    bars = [(patch.get_x(), patch.get_width()) for patch in patches if hasattr(patch, "get_x")]
    drawn = [*lines, *([bar] for bar in bars), *map(_points, ax.collections)]
    return bool(ax.texts or ax.images) or any(map(_any_finite, drawn))


def _points(collection: "Artist") -> Any:
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
    if math.isnan(alpha):
        return None
    if alpha < 0:
        return 0
    if alpha <= 2 / 3:
        return 1
    return 2 if alpha <= 0.8 else 3


def alpha_heatmap(
    frame: "pd.DataFrame",
    *,
    sources: Sources = None,
    status: "pd.DataFrame | None" = None,
    told: "pd.DataFrame | None" = None,
    title: str | None = None,
) -> "Figure":
    """Krippendorff's alpha in the bands of DE-25: rows models (index), columns factors (Fig 3a).

    Undefined cells are hatched and carry the word in `status` (a frame of the same shape;
    "undefined" without it). `told`, a frame of the same shape, says which bands the intervals back
    (True); the other cells stay grey, since a colour would claim a band. (DE-33)
    """
    from textwrap import fill

    import numpy as np
    import seaborn as sns
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    values = frame.to_numpy(dtype=float)
    many = len(frame.columns) > 6
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
        vmin=-0.5,
        vmax=len(legend) - 0.5,
        cbar=False,
        linewidths=1.5,
        linecolor="white",
        ax=ax,
    )
    for row, column in np.argwhere(np.isnan(values)):
        word = "undefined" if status is None else str(status.iloc[row, column])
        _hatch_cell(ax, row, column, "—" if many else fill(word, 10))
    ax.set(xlabel="", ylabel="")
    heads = [_title(name) if many else fill(_title(name), 30) for name in frame.columns]
    ax.set_xticklabels(heads, rotation=90 if many else 0)
    ax.set_yticklabels([_named(model, sources, "\n") for model in frame.index], rotation=0)
    handles = [Patch(facecolor=colour, label=label) for label, colour in legend]
    fig.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return fig


def _hatch_cell(ax: "Axes", row: int, column: int, word: str) -> None:
    """Marks a cell of a heat map as undefined, with a word over the hatching."""
    from matplotlib.patches import Rectangle

    cell = Rectangle(
        (column, row),
        1,
        1,
        facecolor="#F4F4F4",
        edgecolor="#BBBBBB",
        hatch="////",
        linewidth=0,
    )
    ax.add_patch(cell)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    ax.text(column + 0.5, row + 0.5, word, ha="center", va="center", fontsize=7, bbox=box)


@dataclass(frozen=True)
class _Factor:
    """What one panel of `mean_ratios` shows."""

    name: str
    rows: "pd.DataFrame"

    @property
    def levels(self) -> list[Any]:
        return list(dict.fromkeys(self.rows["level"]))

    @property
    def is_numeric(self) -> bool:
        # By value and not by dtype: factors share a column of numbers and words.
        return all(isinstance(level, Number) for level in self.rows["level"])

    @property
    def n_levels(self) -> int:
        return self.rows["level"].nunique()

    @property
    def needs_a_line(self) -> bool:
        """Whether its rows of points fill the width of the page."""
        return self.n_levels > 8 and not self.is_numeric

    def height(self, n_models: int) -> float:
        if self.is_numeric:
            return 1.9
        return 0.6 + max(0.26, 0.075 * n_models + 0.1) * self.n_levels


def mean_ratios(
    frame: "pd.DataFrame",
    *,
    value: str = "ratio",
    sources: Sources = None,
    label: str = "share of yes",
    limits: tuple[float, float] = (0, 1),
    title: str | None = None,
) -> "Figure":
    """Mean response ratio by group level and model, one panel a factor (DE-33, Figs 4 and 5).

    `frame`: factor, level, model, `value`; intervals are drawn where there are ci_low and ci_high.
    A factor whose levels are numbers becomes a line over them, any other a row of points a level.
    Simulated models are hollow.
    """
    edges = limits if all(map(math.isfinite, limits)) else None  # no value, no edge
    models = list(dict.fromkeys(frame["model"]))
    factors = [_Factor(str(name), rows) for name, rows in frame.groupby("factor", sort=False)]
    grid = _two_a_line(factors)
    heights = [max(factors[k].height(len(models)) for k in line) for line in grid]
    legend_lines = math.ceil(len(models) / 2)
    fig = _figure(sum(heights) + 0.2 * legend_lines + (0.05 if title else 0.1), title)
    mosaic: Any = [line * (2 // len(line)) for line in grid]  # a panel alone takes both places
    axes = fig.subplot_mosaic(mosaic, height_ratios=heights)
    for k, factor in enumerate(factors):
        ax = axes[k]
        for place, model in enumerate(models):
            # Models stand side by side around their level.
            shift = (place - (len(models) - 1) / 2) / (len(models) + 0.6)
            _draw_ratios(ax, factor, model, value, shift, _look(place, model, sources))
        if factor.is_numeric:
            ax.set(xlabel=_title(factor.name), ylabel=label, ylim=edges, xticks=factor.levels)
        else:
            ax.set(title=_title(factor.name), xlabel=label, xlim=edges)
            _rows(ax, factor.levels)
            for edge in range(1, len(factor.levels)):
                ax.axhline(edge - 0.5, color="#DDDDDD", linewidth=0.6, zorder=0)
            ax.grid(visible=False, axis="y")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return fig


def _two_a_line(factors: Sequence[_Factor]) -> list[list[int]]:
    """Places of factors by line of the figure: two a line, then those that need one each."""
    alone = [k for k, factor in enumerate(factors) if factor.needs_a_line]
    shared = [k for k in range(len(factors)) if k not in alone]
    return [shared[i : i + 2] for i in range(0, len(shared), 2)] + [[k] for k in alone]


def _look(place: int, model: str, sources: Sources) -> dict[str, Any]:
    """Colour, marker and line of a model; one that is simulated is hollow and dashed."""
    colour = OKABE_ITO[place % len(OKABE_ITO)]
    simulated = (sources or {}).get(model) == "simulated"
    return {
        "color": colour,
        "marker": MARKERS[place % len(MARKERS)],
        "markerfacecolor": "white" if simulated else colour,
        "linestyle": "--" if simulated else "-",
        "label": _named(model, sources, " "),
    }


def _draw_ratios(
    ax: "Axes", factor: _Factor, model: str, value: str, shift: float, look: dict[str, Any]
) -> None:
    """One model's points in the panel of a factor, beside its levels by `shift`."""
    rows = factor.rows[factor.rows["model"] == model]
    spread = _spread(rows, value)
    levels = factor.levels
    if factor.is_numeric:
        gap = min((high - low for low, high in pairwise(sorted(levels))), default=1)
        places = [level + 0.25 * gap * shift for level in rows["level"]]
        ax.errorbar(places, rows[value], yerr=spread, elinewidth=1, **look, **POINT)
    else:
        places = [levels.index(level) + 0.9 * shift for level in rows["level"]]
        look = look | {"linestyle": "none"}
        ax.errorbar(rows[value], places, xerr=spread, elinewidth=1, **look, **POINT)


def flow(steps: Sequence[tuple[str, str]], *, title: str | None = None) -> "Figure":
    """A method as a row of boxes joined by arrows (DE-33, Fig 1): `steps` are (heading, text)."""
    from textwrap import fill

    from matplotlib.patches import FancyBboxPatch

    letters = int(WIDTH * 4.3 / len(steps))
    texts = [(head, fill(text, letters)) for head, text in steps]
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
            arrow = {"arrowstyle": "->", "color": "#444444"}
            ax.annotate("", (k + 0.03, 0.5), (k - 0.07, 0.5), arrowprops=arrow)
    return fig


def age_fits(
    observed: "pd.DataFrame",
    curves: "pd.DataFrame",
    *,
    sources: Sources = None,
    title: str | None = None,
) -> "Figure":
    """Observed ratio by age and the fitted logistic curves, one panel a model (DE-30, Fig 2).

    `observed`: model, age, ratio, ci_low, ci_high. `curves`: model, fit (linear, quadratic), age,
    ratio, and `told`, a text for the legend such as "p = .72"; a fit without rows is not drawn.
    """
    fig, panels = _panels(observed, sources, 2.6, title)
    for ax, model, rows in panels:
        spread = _spread(rows, "ratio")
        ax.errorbar(rows["age"], rows["ratio"], spread, fmt="o", color="black", **POINT)
        fits = curves[curves["model"] == model].groupby("fit")
        for colour, (name, fit) in zip(OKABE_ITO, fits, strict=False):
            ax.plot(
                fit["age"],
                fit["ratio"],
                color=colour,
                linewidth=1.4,
                linestyle="--" if name == "linear" else "-",
                label=f"{name}, {fit['told'].iloc[0]}",
            )
        ax.set(ylim=(-0.03, 1.03), xlabel="age", ylabel="share of yes")
        ax.label_outer()
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize=7, frameon=False, loc="best")
    return fig


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


def rate_heatmap(
    frame: "pd.DataFrame",
    rows: str,
    columns: str,
    *,
    sources: Sources = None,
    title: str | None = None,
) -> "Figure":
    """Rates in points, a panel a `model`, a cell a level of `rows` and `columns`; grey for none.

    `frame`: model, the two columns and value, a share; panels share their scale, from 0 to the
    highest rate.
    """
    import seaborn as sns

    across = list(dict.fromkeys(frame[columns]))
    fig, panels = _panels(frame, sources, 0.9 + 0.32 * frame[rows].nunique(), title)
    for place, (ax, _, of_model) in enumerate(panels):
        cells = of_model.pivot(index=rows, columns=columns, values="value") * 100
        sns.heatmap(
            cells[across],
            annot=True,
            fmt=".0f",
            annot_kws={"fontsize": 6.5},
            vmin=0,
            vmax=100 * frame["value"].max(),
            cmap="Blues",
            cbar=False,
            linewidths=1,
            ax=ax,
        )
        ax.grid(visible=False)
        ax.set(xlabel="", ylabel="", facecolor="#E8E8E8")
        ax.tick_params(axis="x", rotation=90, labelbottom=_is_lowest(place, panels))
    return fig


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


def scatter(
    frame: "pd.DataFrame",
    x: str,
    y: str,
    by: str,
    *,
    labels: tuple[str, str],
    sources: Sources = None,
    diagonal: bool = False,
    limits: Mapping[str, tuple[float, float]] | None = None,
    joined: bool = False,
    title: str | None = None,
) -> "Figure":
    """Points of two columns, one panel a `model`, one colour and marker a level of `by`.

    Undefined points are left out. `labels`: of x and y. `limits`: xlim and ylim, where they are not
    to follow the points. Intervals of y are drawn where there are ci_low and ci_high. `diagonal`
    draws the line x = y, `joined` joins a level's points in order of x.
    """
    frame = frame.dropna(subset=[x, y])
    levels = list(dict.fromkeys(frame[by]))
    line = "-" if joined else ""
    x_label, y_label = labels
    fig, panels = _panels(frame, sources, 2.4, title)
    for ax, _, rows in panels:
        if diagonal:
            ax.axline((0, 0), slope=1, color="#888888", linewidth=0.8, linestyle="--", zorder=0)
        for k, level in enumerate(levels):
            points = rows[rows[by] == level].sort_values(x, kind="stable")
            ax.errorbar(
                points[x],
                points[y],
                _spread(points, y),
                fmt=MARKERS[k % len(MARKERS)] + line,
                color=OKABE_ITO[k % len(OKABE_ITO)],
                label=str(level),
                alpha=0.8,
                **POINT,
            )
        ax.set(ylabel=y_label, **(limits or {}))
    return _below(fig, panels, x_label)


def grouped_bars(
    frame: "pd.DataFrame",
    series: str,
    *,
    sources: Sources = None,
    label: str = "accuracy (%)",
    line: float | None = None,
    title: str | None = None,
) -> "Figure":
    """A group of bars a model, one a level of `series`, with intervals (JU-20, Fig 1).

    `frame`: model, `series`, value, and where there are intervals ci_low, ci_high, in percent. A
    bar that is undefined is left out; models whose bars are simulated are hatched. `line`: where
    chance lies.
    """
    models = list(dict.fromkeys(frame["model"]))
    levels = list(dict.fromkeys(frame[series]))
    names = [_named(model, sources, "\n") for model in models]
    crowded = 3 * len(models) > WIDTH
    longest = max(len(part) for name in names for part in name.split("\n"))
    upright = 0.075 * longest if crowded else 0  # inches that names on end take
    fig = _figure(2.6 + upright + 0.2 * math.ceil(len(levels) / 3), title)
    ax = fig.subplots()
    width = 0.8 / len(levels)
    for k, level in enumerate(levels):
        rows = frame[(frame[series] == level) & frame["value"].notna()]
        shift = width * (k - (len(levels) - 1) / 2)
        bars = ax.bar(
            [models.index(model) + shift for model in rows["model"]],
            rows["value"],
            width,
            color=OKABE_ITO[k % len(OKABE_ITO)],
            edgecolor="white",
            linewidth=0.5,
            label=str(level),
            yerr=_spread(rows, "value"),
            error_kw={"elinewidth": 1, "capsize": 2},
        )
        for bar, model in zip(bars, rows["model"], strict=True):
            simulated = (sources or {}).get(model) == "simulated"
            bar.set_hatch("///" if simulated else None)
    if line is not None:
        ax.axhline(line, color="#CC0000", linewidth=1.2, linestyle="--", label="chance")
    ax.set(ylabel=label, ylim=(0, 104), xticks=range(len(models)), xlim=(-0.6, len(models) - 0.4))
    ax.set_xticklabels(names, rotation=90 if crowded else 0)
    ax.grid(visible=False, axis="x")
    handles, labels = ax.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
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


def _title(factor: Any) -> str:
    return str(factor).replace("_", " × ")
