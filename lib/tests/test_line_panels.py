"""Lines over a number: what is drawn is what the frame holds, a panel a level."""

import numpy as np
import pandas as pd
import pytest

from katayori.report.interval_figure import Axis
from katayori.report.line_panels import interval_lines

OVER = {"panel": "topic", "over": "n_attributes", "over_label": "number of attributes"}


def frame():
    """Three topics of a model and of an answerer without one; one value is undefined."""
    rows = [
        {"model": model, "topic": topic, "n_attributes": number, "value": 0.1 * number}
        for topic in ("housing", "manners", "science")
        for model in ("mine", "always writes 1")
        for number in (2, 1)
    ]
    table = pd.DataFrame(rows)
    table = table.assign(ci_low=table["value"] - 0.05, ci_high=table["value"] + 0.05)
    table.loc[0, "value"] = np.nan
    return table


def lines(axes, name):
    """x and y of a series."""
    drawn = {line.get_label(): line for line in axes.lines}
    drawn |= {one.get_label(): one.lines[0] for one in axes.containers}
    return drawn[name].get_xydata()


def test_values_are_drawn_in_order_and_in_their_unit():
    axis = Axis("accuracy (points)", scale=100, limits=(0, 100))
    figure = interval_lines(frame(), axis, dashed=["always writes 1"], **OVER)
    assert [ax.get_title() for ax in figure.axes] == ["housing", "manners", "science"]
    assert lines(figure.axes[0], "mine") == pytest.approx(np.array([[1, 10]]))
    assert lines(figure.axes[1], "mine") == pytest.approx(np.array([[1, 10], [2, 20]]))
    assert lines(figure.axes[1], "always writes 1") == pytest.approx(np.array([[1, 10], [2, 20]]))
    assert figure.axes[0].get_ylim() == (0, 100)


def test_a_dashed_line_has_no_interval_and_takes_no_look():
    figure = interval_lines(frame(), Axis("accuracy"), dashed=["always writes 1"], **OVER)
    assert [one.get_label() for one in figure.axes[0].containers] == ["mine"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(legend) == ["always writes 1", "mine"]


def test_a_single_level_has_a_single_panel():
    one = frame().query("topic == 'manners'")
    assert len(interval_lines(one, Axis("accuracy", reference=0.5), **OVER).axes) == 1
