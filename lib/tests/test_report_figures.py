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
    OKABE_ITO,
    averaging,
    coefficients,
    display,
    ratios as ratios_to_blank,
    surfacing,
)
from katayori.report.results import Run

MODELS = ["Qwen2.5-Coder-0.5B", "Qwen2.5-Coder-1.5B", "模型", "fair"]
SOURCES = dict(zip(MODELS, ["recorded", "recorded", "live", "simulated"], strict=True))
LEVELS = {
    "age": list(range(20, 101, 10)),
    "gender": ["male", "female", "non-binary"],
    "人種": ["white", "Black", "Hispanic", "Native American", "Asian"],
}


def drawn(title=None):
    """A figure, made anew."""
    table = pd.DataFrame({"model": "m", "factor": [*"abc"], "value": [2.0, 30.0, 4.0]})
    table = table.assign(ci_low=table["value"] / 2, ci_high=table["value"] * 2)
    return ratios_to_blank(table, title=title or "Ratios", label="times")


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


@pytest.mark.parametrize("n", [1, 2, 4])
def test_coefficients_have_a_panel_a_model(n):
    """DE-28: every model gets its panel with points and intervals; empty places stay blank."""
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


def test_files_are_the_same_twice(tmp_path):
    run = Run("p", tmp_path)
    fig = drawn()
    assert run.figure("one", fig) is None
    display(fig)
    run.figure("again", fig)
    run.figure("two", drawn())
    for kind in ("svg", "png"):
        one, again, two = (
            (tmp_path / f"figures/{n}.{kind}").read_bytes() for n in ("one", "again", "two")
        )
        assert one == again == two
    assert b"dc:date" not in (tmp_path / "figures/one.svg").read_bytes()


def test_display_is_a_sharp_picture_with_words():
    """192 dots an inch, shown at 96, in few colours, and the same bytes each time."""
    image = display(drawn("年齢 平均"))
    assert image.data.startswith(b"\x89PNG") and image.alt == "年齢 平均"
    width = int.from_bytes(image.data[16:20], "big")
    assert width == pytest.approx(17 / 2.54 * 192, abs=1) and image.width == width // 2
    again = display(drawn("年齢 平均"))
    assert image.data == again.data and len(image.data) < 60_000
