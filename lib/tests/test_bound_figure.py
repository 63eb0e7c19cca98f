"""Accuracy against Diff-bias: every point is drawn, and what cannot be is grey (PJ-18, PJ-21)."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from katayori.report.bound_figure import accuracy_and_lean
from katayori.report.looks import looks

PROMPTS = ["basicP", "paraP", "CoT", "neutral", "biased"]


def frame(models):
    rows = [
        (model, prompt, 80 - 10 * place, 5 * step - 5)
        for model in models
        for place, prompt in enumerate(PROMPTS)
        for step in range(3)
    ]
    return pd.DataFrame(rows, columns=["model", "prompt", "acc_amb", "diff_amb"])


def drawn(axes):
    """Name of a prompt -> its points in a panel."""
    containers = axes.containers
    return {
        one.get_label(): np.column_stack([one.lines[0].get_xdata(), one.lines[0].get_ydata()])
        for one in containers
    }


@pytest.mark.parametrize("models", [["a"], ["a", "b", "c"]])
def test_every_panel_has_the_points_of_its_model_in_the_look_of_their_prompt(models):
    figure = accuracy_and_lean(frame(models), title="正答率とバイアス")
    used = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in used] == models
    look = looks(PROMPTS, "prompt")
    for axes in used:
        points = drawn(axes)
        assert {name: len(rows) for name, rows in points.items()} == dict.fromkeys(PROMPTS, 3)
        for one in axes.containers:
            colour = to_hex(one.lines[0].get_color()).upper()
            assert colour == look[one.get_label()].colour.upper()


def test_no_point_lies_in_the_grey_and_what_would_is_caught():
    axes = accuracy_and_lean(frame(["a"])).axes[0]
    grey = [path for one in axes.collections for path in one.get_paths()]
    points = np.concatenate(list(drawn(axes).values()))
    assert not any(path.contains_point(point) for path in grey for point in points)
    for impossible in ((90, 50), (90, -50)):
        assert any(path.contains_point(impossible) for path in grey)


def test_values_that_are_missing_are_left_out_and_intervals_are_drawn():
    some = frame(["a"]).head(2).assign(ci_low=[-8.0, np.nan], ci_high=[-2.0, np.nan])
    some.loc[1, "diff_amb"] = np.nan
    figure = accuracy_and_lean(some)
    (container,) = figure.axes[0].containers
    assert container.lines[0].get_ydata().tolist() == [-5]
    (bars,) = container.lines[2]
    assert bars.get_segments()[0][:, 1].tolist() == [-8, -2]
