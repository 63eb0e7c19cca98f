"""Values with intervals: what is drawn is what the frame holds, in the look of its name."""

import numpy as np
import pandas as pd
import pytest

from katayori.report.interval_figure import Axis, interval_dots
from katayori.report.looks import looks

FRAME = pd.DataFrame(
    {
        "factor": ["age", "race", "age", "race"],
        "model": ["qwen2.5-coder-1.5b"] * 2 + ["mine"] * 2,
        "value": [0.01, -0.02, 0.03, np.nan],
        "ci_low": [0.0, -0.03, np.nan, np.nan],
        "ci_high": [0.02, -0.01, np.nan, np.nan],
        "blank": [0.004, 0.004, np.nan, np.nan],
        "detects": [0.005, np.nan, np.nan, np.nan],
    }
)


def drawn(figure, name):
    """The values drawn of a series."""
    axes = figure.axes[0]
    containers = [one for one in axes.containers if one.get_label() == name]
    return containers[0].lines[0].get_xdata().tolist()


def test_values_are_drawn_in_their_unit_and_undefined_ones_are_left_out():
    figure = interval_dots(FRAME, Axis("points", reference=0, scale=100))
    assert drawn(figure, "qwen2.5-coder-1.5b") == pytest.approx([1, -2])
    assert drawn(figure, "mine") == pytest.approx([3])
    assert [one.get_text() for one in figure.axes[0].get_yticklabels()] == ["age", "race"]


def test_blank_and_limit_are_drawn_where_there_are_any():
    figure = interval_dots(FRAME, Axis("points", scale=100))
    axes = figure.axes[0]
    (bar,) = axes.patches
    assert (bar.get_x(), bar.get_width()) == pytest.approx((-0.5, 1.0))
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    values = [value for line in crosses for value in line.get_xdata() if np.isfinite(value)]
    assert values == pytest.approx([0.4, -0.4])
    without = interval_dots(FRAME.drop(columns=["blank", "detects"]), Axis("points"))
    assert not without.axes[0].patches
    assert all(line.get_marker() != "x" for line in without.axes[0].lines)


def test_a_name_keeps_its_look_whoever_stands_beside_it():
    alone = looks(["qwen2.5-coder-1.5b"])
    beside = looks(["mine", "qwen2.5-coder-1.5b", "theirs"])
    assert alone["qwen2.5-coder-1.5b"] == beside["qwen2.5-coder-1.5b"]
    assert len(set(beside.values())) == 3
    assert not set(looks(["P(yes)", "sampled answers"], "method").values()) & set(
        looks(["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]).values()
    )


def test_a_choice_has_one_look_and_no_model_has_it():
    alone = looks(["biased reason"], "choice")
    both = looks(["neutral reason", "biased reason"], "choice")
    assert alone["biased reason"] == both["biased reason"]
    models = looks(["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"])
    assert not set(both.values()) & set(models.values())


def test_a_mark_alone_in_its_row_stands_in_the_middle():
    alone = {"who": ["rule", "model"], "kind": ["rule", "model"], "value": [0.9, 0.5]}
    frame = pd.DataFrame(alone).assign(ci_low=0.1, ci_high=0.95)
    axes = interval_dots(frame, Axis("share"), row="who", series="kind").axes[0]
    heights = [one.lines[0].get_ydata().tolist() for one in axes.containers]
    assert heights == [[0], [1]]
