"""Points in a plane: each name has its look, the scales are what is asked for."""

import numpy as np
import pandas as pd
import pytest

from katayori.report.looks import LISTED, looks
from katayori.report.plane_figure import Plane, points_in_plane

PROMPTS = LISTED["judge prompt"]
FRAME = pd.DataFrame(
    {
        "panel": ["a judge", "a judge", "another", "another"],
        "prompt": [PROMPTS[1], PROMPTS[0], PROMPTS[0], "mine"],
        "x": [1.0, 2.0, 50.0, np.nan],
        "y": [-3.0, 4.0, 0.0, 1.0],
        "y_low": [-4.0, 3.0, np.nan, 0.0],
        "y_high": [-2.0, 5.0, np.nan, 2.0],
    }
)


def drawn(axes, name):
    """The points of a series in one panel, and its colour."""
    (container,) = [one for one in axes.containers if one.get_label() == name]
    line = container.lines[0]
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True)), line.get_color()


def test_a_prompt_keeps_its_colour_over_panels_and_an_undefined_point_is_left_out():
    figure = points_in_plane(FRAME, Plane("x", "y"), series="prompt", kind="judge prompt")
    first, second = figure.axes
    points, colour = drawn(first, PROMPTS[0])
    assert points == [(2.0, 4.0)] and drawn(second, PROMPTS[0]) == ([(50.0, 0.0)], colour)
    assert colour == looks(PROMPTS[:1], "judge prompt")[PROMPTS[0]].colour
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(names) == set(PROMPTS[:2])


def test_one_scale_for_both_axes_and_an_axis_of_its_own():
    same = points_in_plane(
        FRAME, Plane("x", "y", same=True, equal="alike"), series="prompt", kind="judge prompt"
    )
    for ax in same.axes:
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        assert right - left == pytest.approx(high - low)
        assert left < 0 < right and low < 0 < high
    assert "alike" in [text.get_text() for text in same.legends[0].get_texts()]
    far = FRAME.assign(x=FRAME["x"] + 100)
    line = points_in_plane(far, Plane("x", "y", equal="e"), series="prompt", kind="truth")
    assert line.axes[0].get_xlim()[0] > 90, "a line must not draw the axis to zero"
    own = points_in_plane(FRAME, Plane("x", "y", own_x=True), series="prompt", kind="judge prompt")
    first, second = (ax.get_xlim() for ax in own.axes)
    assert first[1] < 3 < second[0]
    assert own.axes[0].get_ylim() == own.axes[1].get_ylim()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_any_number_of_panels(n):
    frame = pd.DataFrame({"panel": range(n), "x": 1.0, "y": 1.0, "prompt": "p"})
    figure = points_in_plane(frame, Plane("x", "y"), series="prompt", kind="judge prompt")
    assert sum(bool(ax.get_title()) for ax in figure.axes) == n


def test_kinds_of_the_judge_are_told_apart():
    for kind in ("judge prompt", "judge method", "truth"):
        assert len(set(looks(LISTED[kind], kind).values())) == len(LISTED[kind])
