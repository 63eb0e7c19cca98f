"""What figures plot, as numbers: every kind of mark is there, and a moved one is noticed."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from katayori import paths
from katayori.report.interval_figure import Axis, interval_dots
from katayori.report.plotted import COLUMNS, MOST_LETTERS, plotted
from katayori.report.results import Run
from katayori_tools import expected

ROWS = pd.DataFrame(
    {
        "factor": ["age", "race"],
        "model": ["m", "m"],
        "value": [0.1, -0.25],
        "ci_low": [0.0, -0.5],
        "ci_high": [0.2, 0.0],
        "blank": [0.05, 0.05],
        "detects": [0.1, np.nan],
    }
)


def dots(rows=ROWS, title="Gaps"):
    return interval_dots(rows, Axis("points", reference=0, scale=100), title=title)


def marks(fig, part):
    found = plotted(fig)
    return found[found["part"] == part]


def test_dots_intervals_limits_and_words():
    fig = dots()
    found = plotted(fig)
    assert tuple(found.columns) == COLUMNS
    marker = found[(found["part"] == "marker") & (found["name"] == "m")]
    assert marker[["x", "y"]].to_numpy().tolist() == [[10.0, 0.0], [-25.0, 1.0]]
    interval = marks(fig, "interval")
    assert interval[["x", "to_x"]].to_numpy().tolist() == [[0.0, 20.0], [-50.0, 0.0]]
    assert set(interval["name"]) == {"m"}
    assert marks(fig, "bar")[["x", "to_x"]].to_numpy().tolist() == [[-10.0, 10.0]]
    blanks = found[found["name"] == "blank: words that mean nothing"]
    assert blanks["x"].tolist() == [5.0, -5.0]
    assert marks(fig, "y tick")["text"].tolist() == ["age", "race"]
    assert marks(fig, "title")["text"].tolist() == ["Gaps"]
    assert marks(fig, "x label")["text"].tolist() == ["points"]
    assert "m" in marks(fig, "legend")["text"].tolist()


def test_cells_of_a_heat_map_and_bars():
    fig = Figure()
    ax = fig.subplots()
    ax.pcolormesh([[0.9, np.nan], [-0.1, 0.5]])
    ax.text(0.5, 0.5, "0.900")
    cells = marks(fig, "cell")
    assert sorted(cells[["x", "y"]].to_numpy().tolist()) == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert cells["value"].isna().sum() == 1
    assert "0.900" in set(marks(fig, "text")["text"])
    bars = Figure()
    bars.subplots().bar([0], [40.0], label="a")
    assert marks(bars, "bar")["to_y"].tolist() == [40.0]


def test_other_marks_are_named_too():
    fig = Figure()
    ax = fig.subplots()
    ax.scatter([1, 2], [3, 4], label="points")
    ax.fill_between([0, 1], [0, 0], [1, 2])
    ax.imshow([[1.0, 3.0]])
    ax.pie([1])
    found = plotted(fig)
    assert found[found["part"] == "point"]["name"].tolist() == ["points"] * 2
    assert len(found[found["part"] == "area"]) > 4
    assert found[found["part"] == "image"]["value"].tolist() == [2.0]
    assert "Wedge" in set(found["part"])


@pytest.mark.parametrize("column", ["value", "ci_low", "ci_high", "blank", "detects"])
def test_a_changed_value_under_an_unchanged_caption_fails(column, tmp_path):
    """The breach: title, labels and names are the same, one number is 1 % off."""
    changed = ROWS.assign(**{column: ROWS[column].where(ROWS.index != 0, ROWS[column] * 1.01)})
    if column == "ci_low":
        changed.loc[0, "ci_low"] = -0.01
    for name, rows in {"a": ROWS, "same": ROWS.copy(), "b": changed}.items():
        run = Run("p", tmp_path / name)
        run.figure("gaps", dots(rows))
        run.save()
    tables = {name: expected.read_run(tmp_path / name) for name in ("a", "same", "b")}
    assert list(expected.compare_tables("p", tables["a"], tables["same"])) == []
    found = list(expected.compare_tables("p", tables["a"], tables["b"]))
    assert found and {one.table for one in found} == {"figures/gaps"}


def test_a_figure_more_or_less_is_a_difference(tmp_path):
    run = Run("p", tmp_path)
    run.save()
    before = expected.read_run(tmp_path)
    run.figure("gaps", dots())
    (found,) = expected.compare_tables("p", before, expected.read_run(tmp_path))
    assert str(found) == "p/figures/gaps: table new"
    assert set(expected.read_tables(tmp_path)) == set(before)


def many(values):
    fig = Figure()
    fig.subplots().plot(range(len(values)), values, label="draws")
    return fig


def test_a_figure_of_many_marks_is_summed_up():
    values = np.random.default_rng(1).random(5000)
    found = plotted(many(values)).set_index(["part", "name"])
    assert len(found.to_csv()) < MOST_LETTERS
    assert found.loc[("mean line", "draws"), "y"] == pytest.approx(values.mean())
    assert found.loc[("highest line", "draws"), "text"] == "of 5000"


def _one_value(values):
    values[7] += 0.01


def _two_places(values):
    values[[7, 4000]] = values[[4000, 7]]


@pytest.mark.parametrize("change", [_one_value, _two_places])
def test_a_summary_tells_a_changed_value(change, tmp_path):
    values = np.random.default_rng(1).random(5000)
    other = values.copy()
    change(other)
    for name, one in {"a": values, "b": other}.items():
        run = Run("p", tmp_path / name)
        run.figure("draws", many(one))
        run.save()
    tables = [expected.read_run(tmp_path / name) for name in ("a", "b")]
    assert list(expected.compare_tables("p", *tables))


def test_a_figure_without_a_value_has_no_file(tmp_path):
    run = Run("p", tmp_path)
    run.figure("empty", interval_dots(ROWS.iloc[:0], Axis("points")))
    assert not (tmp_path / "figures").exists()


def test_what_is_committed_of_a_figure_is_small():
    files = list((paths.data_dir() / expected.FOLDER).glob("*/figures/*.csv"))
    assert files and max(file.stat().st_size for file in files) <= MOST_LETTERS
