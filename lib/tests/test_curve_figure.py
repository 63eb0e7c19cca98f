"""The picture of a specification curve shows every defined reading and says what is left out."""

import pandas as pd

from katayori.metrics.multiverse import Choice, multiverse
from katayori.report.curve_figure import HOLDS, OPEN, OPPOSITE, specification_curve

READ = Choice("read by", {"letter": "", "probability": "", "calibrated": ""})
WEIGHT = Choice("weight", {"answers": "", "clusters": ""})


def universes():
    values = {"letter": [1.0, 2, 1, 2, 1, 2], "probability": [-1.0, -2, -1, -2, -1, -2]}

    def told(read_by, weight):
        if read_by == "calibrated":
            return None
        series = pd.Series(values[read_by])
        return series if weight == "answers" else series - series.mean()

    return multiverse([READ, WEIGHT], told)


def test_the_curve_is_sorted_coloured_and_counts_what_is_left_out():
    fig = specification_curve({"m": universes()}, unit="change", title="a claim")
    above, below = fig.axes
    points = [line for line in above.lines if line.get_marker() == "o"]
    heights = [point.get_ydata()[0] for point in points]
    assert heights == sorted(heights) and len(heights) == 4
    assert [point.get_color() for point in points] == [OPPOSITE, OPEN, OPEN, HOLDS]
    assert above.get_title() == "m\n4 readings; 2 without interval"
    names = [text.get_text() for text in below.get_yticklabels()]
    assert names == [
        "read by: letter",
        "read by: probability",
        "read by: calibrated",
        "weight: answers",
        "weight: clusters",
    ]
    dots = {
        line.get_ydata()[0]: list(line.get_xdata()) for line in below.lines if len(line.get_xdata())
    }
    assert dots[1][0] == 0 and dots[0][-1] == 3 and 2 not in dots


def test_nothing_is_drawn_where_no_reading_has_an_interval():
    nothing = multiverse([READ], lambda read_by: None)
    assert specification_curve({"m": nothing}, unit="x", title="y") is None
    fig = specification_curve({"m": nothing, "n": universes()}, unit="x", title="y")
    assert len(fig.axes) == 2
