"""Figures: what is drawn, that nothing overlaps, Japanese glyphs, repeatable files.

X-9, DE-25, DE-33.
"""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.text import Text

from katayori.data import published
from katayori.report.figures import (
    BANDS,
    NOT_TOLD_BAND,
    OKABE_ITO,
    age_fits,
    alpha_heatmap,
    averaging,
    band,
    coefficients,
    display,
    flow,
    grouped_bars,
    mean_ratios,
    rate_heatmap,
    ratios as ratios_to_blank,
    scatter,
    surfacing,
)
from katayori.report.results import Run

MODELS = ["Qwen2.5-Coder-0.5B", "Qwen2.5-Coder-1.5B", "模型", "fair"]
SOURCES = dict(zip(MODELS, ["recorded", "recorded", "live", "simulated"], strict=True))
ALPHA = pd.DataFrame(
    [[-0.1, 0.0, 2 / 3, 0.8], [0.81, 0.7, np.nan, 1], [0.1, 0.2, 0.3, 0.4], [0.9] * 4],
    index=MODELS,
    columns=["age", "gender", "人種", "gender_race"],
)
LEVELS = {
    "age": list(range(20, 101, 10)),
    "gender": ["male", "female", "non-binary"],
    "人種": ["white", "Black", "Hispanic", "Native American", "Asian"],
}
LEVELS["gender_race"] = [f"{g} {r}" for g in LEVELS["gender"] for r in LEVELS["人種"]]


def ratios(models=MODELS, factors=LEVELS):
    rows = [(f, v, m, 0.5, 0.4, 0.7) for f in factors for v in LEVELS[f] for m in models]
    return pd.DataFrame(rows, columns=["factor", "level", "model", "ratio", "ci_low", "ci_high"])


def boxes(fig):
    """The drawn extents of every visible, non-empty text of the figure."""
    fig.draw_without_rendering()
    ticks = [
        (axis, tick)
        for ax in fig.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in axis.get_major_ticks()
    ]
    beyond = [
        t.label1 for a, t in ticks if not min(v := a.get_view_interval()) <= t.get_loc() <= max(v)
    ]  # not drawn
    texts = [t for t in fig.findobj(Text) if t.get_visible() and t.get_text() and t not in beyond]
    shown = [t for t in texts if t.axes is None or t.axes.get_visible()]
    return {(t.get_text(), i): t.get_window_extent() for i, t in enumerate(shown)}


def assert_clear(fig):
    frame, found = fig.bbox, boxes(fig)
    for name, box in found.items():
        assert (
            box.x0 >= -1 and box.y0 >= -1 and box.x1 <= frame.x1 + 1 and box.y1 <= frame.y1 + 1
        ), name
    for (a, one), (b, other) in itertools.combinations(found.items(), 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        down = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert across <= 0.5 or down <= 0.5, f"{a} over {b}"


@pytest.fixture(autouse=True)
def _strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    assert not plt.get_fignums()  # a figure pyplot knows would be shown twice


@pytest.mark.parametrize(
    ("alpha", "code"),
    [
        (-1, 0),
        (-1e-9, 0),
        (0, 1),
        (2 / 3, 1),
        (0.667, 2),
        (0.8, 2),
        (0.8000001, 3),
        (1, 3),
        (float("nan"), None),
    ],
)
def test_bands_hold_their_upper_bound(alpha, code):
    assert band(alpha) == code


def test_heat_map_shows_bands_values_and_sources():
    status = ALPHA.isna().replace({True: "no variation", False: "ok"})
    fig = alpha_heatmap(ALPHA, sources=SOURCES, status=status, title="平均")
    assert_clear(fig)
    (ax,) = fig.axes
    texts = [t.get_text() for t in ax.texts]
    assert texts[:4] == ["-0.100", "0.000", "0.667", "0.800"] and len(texts) == 16
    assert " ".join(texts[-1].split()) == "no variation"
    colours = iter(ax.collections[0].get_facecolors())
    for value in ALPHA.to_numpy().ravel():
        colour = next(colours)
        if not np.isnan(value):
            assert tuple(colour) == to_rgba(BANDS[band(value)][1])
    assert [p.get_hatch() for p in ax.patches] == ["////"] and ax.patches[0].get_xy() == (2, 1)
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"{m}\n({SOURCES[m]})" for m in MODELS]
    assert [" ".join(t.get_text().split()) for t in ax.get_xticklabels()] == [
        "age",
        "gender",
        "人種",
        "gender × race",
    ]
    assert [t.get_text() for t in fig.legends[0].get_texts()] == [label for label, _ in BANDS]
    assert fig.get_figwidth() == pytest.approx(17 / 2.54)


def test_heat_map_colours_only_the_bands_that_are_told():
    """Alpha -0.0004 with an interval across 0 is grey and reads 0.000, not an alarm at -0.000."""
    near = ALPHA.copy()
    near.iloc[0, 0] = -0.0004
    told = near.notna()
    told.iloc[0, 0] = False
    fig = alpha_heatmap(near, sources=SOURCES, told=told)
    assert_clear(fig)
    (ax,) = fig.axes
    assert ax.texts[0].get_text() == "0.000"
    colours = ax.collections[0].get_facecolors()
    assert tuple(colours[0]) == to_rgba(NOT_TOLD_BAND[1])
    assert tuple(colours[1]) == to_rgba(BANDS[band(near.iloc[0, 1])][1])
    legend = [text.get_text() for text in fig.legends[0].get_texts()]
    assert legend == [label for label, _ in (*BANDS, NOT_TOLD_BAND)]


def test_heat_map_of_undefined_values_only():
    fig = alpha_heatmap(ALPHA.iloc[1:2, 2:3])
    assert_clear(fig)
    assert [t.get_text() for t in fig.axes[0].texts] == ["undefined"]


@pytest.mark.parametrize("factors", [list(LEVELS), ["age"], ["gender", "人種"], ["gender_race"]])
def test_mean_ratios_by_level_and_model(factors):
    fig = mean_ratios(ratios(factors=factors), sources=SOURCES)
    assert_clear(fig)
    assert len(fig.axes) == len(factors)
    for ax, factor in zip(fig.axes, factors, strict=True):
        assert len(ax.containers) == len(MODELS)
        name = factor.replace("_", " × ")
        if factor == "age":
            assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim()) == (
                name,
                "share of yes",
                (0, 1),
            )
        else:
            assert (ax.get_title(), ax.get_xlabel(), ax.get_xlim()) == (
                name,
                "share of yes",
                (0, 1),
            )
            assert [t.get_text() for t in ax.get_yticklabels()] == LEVELS[factor]
        for model, drawn in zip(MODELS, ax.containers, strict=True):
            line, _, (bars,) = drawn
            across, along = (line.get_xdata(), line.get_ydata())[:: 1 if factor == "age" else -1]
            assert len(along) == len(LEVELS[factor]) and set(along) == {0.5}
            expected = LEVELS[factor] if factor == "age" else range(len(LEVELS[factor]))
            assert np.abs(np.array(across) - list(expected)).max() < (5 if factor == "age" else 0.5)
            ends = np.array(bars.get_segments())[:, :, 1 if factor == "age" else 0]
            assert np.allclose(ends, [0.4, 0.7])
            assert (line.get_markerfacecolor() == "white") == (SOURCES[model] == "simulated")
    assert [t.get_text() for t in fig.legends[0].get_texts()] == [
        f"{m} ({SOURCES[m]})" for m in MODELS
    ]


def test_many_models_without_intervals_stay_apart():
    models = [f"model {i}" for i in range(12)]
    frame = ratios(models, ["gender", "人種"]).drop(columns=["ci_low", "ci_high"])
    frame.loc[0, "ratio"] = np.nan
    fig = mean_ratios(frame, title="比率", limits=(0.4, 0.6))
    assert_clear(fig)
    looks = {(c[0].get_color(), c[0].get_marker()) for c in fig.axes[0].containers}
    assert len(looks) == 12 and fig.axes[0].get_xlim() == (0.4, 0.6)


def test_files_are_the_same_twice(tmp_path):
    run = Run("p", tmp_path)
    fig = alpha_heatmap(ALPHA, sources=SOURCES)
    assert run.figure("one", fig) is None
    display(fig)
    run.figure("again", fig)
    run.figure("two", alpha_heatmap(ALPHA, sources=SOURCES))
    for kind in ("svg", "png"):
        one, again, two = (
            (tmp_path / f"figures/{n}.{kind}").read_bytes() for n in ("one", "again", "two")
        )
        assert one == again == two
    assert b"dc:date" not in (tmp_path / "figures/one.svg").read_bytes()


def test_display_is_a_sharp_picture_with_words():
    """192 dots an inch, shown at 96, in few colours, and the same bytes each time."""
    image = display(alpha_heatmap(ALPHA, title="α 平均"))
    assert image.data.startswith(b"\x89PNG") and image.alt == "α 平均"
    width = int.from_bytes(image.data[16:20], "big")
    assert width == pytest.approx(17 / 2.54 * 192, abs=1) and image.width == width // 2
    again = display(alpha_heatmap(ALPHA, title="α 平均"))
    assert image.data == again.data and len(image.data) < 60_000


def test_a_wide_heat_map_turns_its_heads():
    """DE-33, Fig 3b: fourteen columns stay readable at column width."""
    columns = [f"{gender}-{race}" for gender in LEVELS["gender"] for race in LEVELS["人種"]][1:]
    wide = pd.DataFrame(np.linspace(-0.2, 1, 56).reshape(4, 14), index=MODELS, columns=columns)
    wide.iloc[0, 0] = np.nan
    fig = alpha_heatmap(wide, sources=SOURCES, title="男性・白人との比較")
    assert_clear(fig)
    texts = {name for name, _ in boxes(fig)}
    assert {"non-binary-Asian", "-0.18", "1.00"} <= texts and fig.axes[0].get_xticklabels()[
        0
    ].get_rotation() == 90


def test_the_flow_diagram_holds_its_texts():
    """DE-33, Fig 1: every box shows its heading and text, nothing overlaps."""
    steps = [
        ("Prompts", "70 questions x 9 ages"),
        ("回答", "yes or no, counted by kind"),
        ("Table", "rows and columns"),
    ]
    fig = flow(steps, title="From prompts to verdicts")
    assert_clear(fig)
    shown = " ".join(name.replace("\n", " ") for name, _ in boxes(fig))
    assert all(head in shown and text in shown for head, text in steps)


def fitted(models):
    ages = np.arange(20, 101, 10)
    observed = pd.DataFrame([(m, a, 0.5, 0.3, 0.7) for m in models for a in ages])
    observed.columns = ["model", "age", "ratio", "ci_low", "ci_high"]
    rows = [
        (m, fit, a, a / 200, "p = 0.717")
        for m in models
        for fit in ("linear", "quadratic")
        for a in ages
    ]
    return observed, pd.DataFrame(rows, columns=["model", "fit", "age", "ratio", "told"])


@pytest.mark.parametrize("n", [1, 2, 4])
def test_fits_and_coefficients_have_a_panel_a_model(n):
    """DE-28, DE-30: every model gets its panel with points, intervals and curves.

    Empty places stay blank.
    """
    observed, curves = fitted(MODELS[:n])
    fig = age_fits(observed, curves, sources=SOURCES, title="質問 101")
    assert_clear(fig)
    used = [ax for ax in fig.axes if ax.get_title()]
    assert len(used) == n and all(len(ax.lines) == 3 and ax.containers for ax in used)
    undrawn = age_fits(observed, curves[curves["fit"] == "linear"].iloc[:0])
    assert all(len(ax.lines) == 1 for ax in undrawn.axes if ax.get_title())
    rows = [
        (m, race, 0.1 * k, 0.1 * k - 1, 0.1 * k + 1)
        for m in MODELS[:n]
        for k, race in enumerate(LEVELS["人種"])
    ]
    frame = pd.DataFrame(rows, columns=["model", "level", "estimate", "ci_low", "ci_high"])
    frame.loc[0, "estimate"] = np.nan  # undefined: left out, its place stays
    fig = coefficients(frame, dict.fromkeys(MODELS, 0.2), sources=SOURCES, title="人種の係数")
    assert_clear(fig)
    used = [ax for ax in fig.axes if ax.get_title()]
    assert len(used) == n and len(used[0].get_yticks()) == 5
    assert {name for name, _ in boxes(fig)} >= {"white", "mean of the coefficients"}


@pytest.mark.parametrize("n", [1, 3, 4])
def test_surfacing_shows_every_change_and_labels_each_column(n):
    """PJ-21: a point a category and score, undefined ones left out.

    The lowest panel of a column has its label.
    """
    rows = [
        (m, s, c, 10 * k, 10 * k - 5, 10 * k + 5)
        for m in MODELS[:n]
        for s in ("Acc_a", "Diff_a")
        for k, c in enumerate(["age", "容姿"])
    ]
    frame = pd.DataFrame(
        rows, columns=["model", "metric", "category", "difference", "ci_low", "ci_high"]
    )
    frame.loc[0, ["difference", "ci_low", "ci_high"]] = np.nan
    fig = surfacing(frame, sources=SOURCES, title="偏りの表出")
    assert_clear(fig)
    used = [ax for ax in fig.axes if ax.get_title()]
    assert len(used) == n and [len(c[0].get_xdata()) for c in used[0].containers] == [1, 2]
    assert sum(ax.get_xlabel() == "change in points" for ax in used) == min(n, 3)
    assert {name for name, _ in boxes(fig)} >= {"age", "容姿", "Acc_a", "Diff_a"}


def test_heat_map_of_rates():
    """IJ-18: a panel a model, one scale, a number in every cell that has one, grey elsewhere."""
    rows = [
        (m, t, a, 0.1 * k)
        for m in MODELS
        for t in ("housing", "入居")
        for k, a in enumerate(("age", "gender", "年収"))
    ]
    frame = pd.DataFrame(rows, columns=["model", "topic", "added", "value"]).drop(index=[1])
    fig = rate_heatmap(frame, "topic", "added", sources=SOURCES, title="flips")
    panels = [ax for ax in fig.axes if ax.axison]
    assert len(panels) == len(MODELS) and {ax.collections[0].get_clim() for ax in panels} == {
        (0, 20)
    }
    assert sorted(t.get_text() for t in panels[1].texts) == ["0", "0", "10", "10", "20", "20"]
    assert len(panels[0].texts) == 5 and to_rgba(panels[0].get_facecolor()) == to_rgba("#E8E8E8")
    assert_clear(fig)


def test_averaging_fills_the_likeliest_verdict():
    """LJ-21, LJ-23: both orders and the mean of the paper's Figure 1.

    Values are printed, one bar is filled a panel.
    """
    example = published.load("logprob_judge", "figure1_example")
    frame = example.pivot(index="order", columns="letter", values="probability_pct").loc[
        ["order_1", "order_2", "mean"]
    ]
    fig = averaging(frame, title="平均")
    assert_clear(fig)
    assert [ax.get_title() for ax in fig.axes] == list(frame.index)
    filled = [[p.get_facecolor() == to_rgba(OKABE_ITO[0]) for p in ax.patches] for ax in fig.axes]
    assert filled == [[True, False, False], [False, True, False], [True, False, False]]
    assert {t.get_text() for t in fig.axes[2].texts} == {"55", "35", "8"}


@pytest.mark.parametrize("n", [1, 4])
def test_scatter_has_a_panel_a_model_and_a_colour_a_level(n):
    """LJ-18, LJ-19: points with intervals and the line x = y; undefined points are left out."""
    rows = [
        (m, p, 0.2 * k, 0.3, 0.1, 0.4)
        for m in MODELS[:n]
        for p in ("verdict", "理由")
        for k in range(4)
    ]
    frame = pd.DataFrame(
        rows, columns=["model", "prompt", "robustness", "gain", "ci_low", "ci_high"]
    )
    frame.loc[0, "gain"] = np.nan
    where = {"labels": ("robustness", "gain"), "limits": {"xlim": (0, 1), "ylim": (-0.5, 0.5)}}
    fig = scatter(
        frame, "robustness", "gain", "prompt", **where, sources=SOURCES, diagonal=True, joined=True
    )
    assert_clear(fig)
    used = [ax for ax in fig.axes if ax.get_title()]
    assert len(used) == n and [len(c[0].get_xdata()) for c in used[0].containers] == [3, 4]
    assert used[0].containers[1][0].get_linestyle() == "-" and len(used[0].lines) == 3
    assert {"xlim": used[0].get_xlim(), "ylim": used[0].get_ylim()} == where["limits"]
    bare = scatter(
        frame.drop(columns=["ci_low", "ci_high"]), "robustness", "gain", "prompt", labels=("x", "y")
    )
    assert bare.axes[0].containers[0][0].get_linestyle() == "None" and len(bare.axes[0].lines) == 2


@pytest.mark.parametrize("intervals", [True, False])
def test_grouped_bars_show_models_benchmarks_intervals_and_chance(intervals):
    """JU-20, Fig 1: a bar a model and benchmark at its value, none where undefined.

    The line is at chance.
    """
    names = [f"m{k}" for k in range(3)] + ["模型"]
    rows = [
        (m, b, 40.0 + 10 * k, 30.0 + 10 * k, 55.0 + 10 * k)
        for k, m in enumerate(names)
        for b in ("JUBAKU-v2", "人種")
    ]
    frame = pd.DataFrame(rows, columns=["model", "benchmark", "value", "ci_low", "ci_high"])
    frame.loc[1, "value"] = np.nan
    frame = frame if intervals else frame.drop(columns=["ci_low", "ci_high"])
    fig = grouped_bars(frame, "benchmark", sources={"m0": "simulated"}, line=50, title="図")
    assert_clear(fig)
    (ax,) = fig.axes
    assert [p.get_height() for p in ax.patches] == [40, 50, 60, 70, 50, 60, 70]
    assert [bool(p.get_hatch()) for p in ax.patches] == [True] + [False] * 6
    assert [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"] == [50]
    segments = [s for c in ax.collections for s in c.get_segments()]
    assert len(segments) == (7 if intervals else 0)
    assert not intervals or segments[0][:, 1].tolist() == [30, 55]
    assert {t.get_text() for t in fig.legends[0].get_texts()} == {"JUBAKU-v2", "人種", "chance"}


def test_ratios_stand_on_a_log_axis_beside_a_line_at_one():
    """Undefined ratios are left out; the ticks are numbers, not powers."""
    table = pd.DataFrame({"model": ["m"] * 3, "factor": list("abc"), "value": [2.0, 30.0, np.nan]})
    table = table.assign(ci_low=table["value"] / 2, ci_high=table["value"] * 2)
    fig = ratios_to_blank(table, title="Ratios", label="times")
    assert_clear(fig)
    [ax] = fig.axes
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "times"
    [drawn] = ax.containers
    assert drawn[0].get_xdata().tolist() == [2.0, 30.0]
    assert [line.get_xdata() for line in ax.lines if len(set(line.get_xdata())) == 1][-1][0] == 1
    assert "10" in [label.get_text() for label in ax.get_xticklabels()]
