"""Figures of a frame: what is drawn equals the frame, and nothing breaks one."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from matplotlib.collections import LineCollection

from katayori.errors import KatayoriError
from katayori.frames import not_asked
from katayori.report import charts
from katayori.report.charts import (
    Chart,
    draw,
    looks,
    why_empty,
    wrapped,
)
from katayori.report.run import Run
from katayori.report.tables import width_of

OURS = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
#: Pixels of a figure's width on a telephone of 390 pixels.
TELEPHONE = 358
#: Words of `draw` that suit the frame of `made`, by kind.
WORDS = {
    "dots": {"x": "value", "row": "place", "series": "who"},
    "lines": {"x": "place", "y": "value", "series": "who"},
    "stacked": {"x": "share", "row": "place", "series": "who"},
    "grid": {"x": "who", "row": "place", "series": "answer"},
    "scatter": {"x": "other", "y": "value", "series": "who"},
}
LONG = "外国にルーツのある高齢の女性が、駅から近い部屋を借りたいと申し出る場面（仲介の店で）"


def made(places, names, value=0.25):
    """A row a place and name; every kind can draw it."""
    rows = [{"place": place, "who": name} for place in places for name in names]
    numbers = {"value": value, "ci_low": -0.5, "ci_high": 1.0, "other": 0.5, "answer": "yes"}
    return pd.DataFrame(rows).assign(share=1 / len(names), status="ok", **numbers)


def render(figure):
    """Lays it out as it would be saved."""
    figure.draw_without_rendering()
    return figure


def marks_of(figure, marker):
    """The places of all marks of a look in all panels, but for those of the legend."""
    lines = [line for ax in figure.axes for line in ax.lines if line.get_marker() == marker]
    places = [place for line in lines for place in line.get_xydata().tolist()]
    return [place for place in places if np.isfinite(place).all()]


def pixels(points, figure, width):
    """How high letters of so many points are where a figure is so many pixels wide."""
    return points / 72 * width / figure.get_figwidth()


def words_of(figure):
    """Everything that is written in a figure."""
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


@pytest.mark.parametrize("kind", charts.KINDS)
@pytest.mark.filterwarnings("error")
def test_every_kind_draws_nothing_one_row_nothing_known_and_long_names(kind):
    one = made(["a"], ["m"])
    assert render(draw(one, kind=kind, **WORDS[kind])).axes
    assert not draw(one.head(0), kind=kind, **WORDS[kind]).axes
    assert not draw(not_asked("none was asked"), kind=kind, **WORDS[kind]).axes
    unknown = one.assign(value=np.nan, share=np.nan, answer=None, status="few_clusters")
    assert not draw(unknown, kind=kind, **WORDS[kind]).axes
    assert "too little data" in why_empty(unknown, Chart(kind, **WORDS[kind]))
    two = made(["a", "b"], ["m", "n"])
    gap = two["place"].eq("b")
    partly = two.assign(
        value=two["value"].mask(gap),
        share=two["share"].mask(gap),
        answer=two["answer"].mask(gap),
        status=gap.map({True: "position_bound", False: "ok"}),
    )
    assert render(draw(partly, kind=kind, **WORDS[kind])).axes
    long = made([f"{LONG}{n}" for n in range(3)], [LONG, f"Org/{'Model-' * 12}7B"])
    figure = render(draw(long, kind=kind, title=LONG * 3, label=LONG, **WORDS[kind]))
    assert figure.get_suptitle().count("\n") >= 2
    box = figure.get_tightbbox()
    assert min(box.x0, box.y0, figure.get_figwidth() - box.x1) > -0.03
    texts = figure.findobj(matplotlib.text.Text)
    smallest = min(text.get_fontsize() for text in texts if text.get_text())
    assert pixels(smallest, figure, TELEPHONE) >= 8
    assert pixels(smallest, figure, figure.get_figwidth() * 96) >= 9


@settings(max_examples=6, deadline=None)
@given(
    kind=st.sampled_from(list(charts.KINDS)),
    names=st.lists(
        st.sampled_from([*OURS, "私のモデル", "m", "x y", "$a_b$"]), unique=True, min_size=1
    ),
    places=st.integers(1, 4),
    value=st.floats(-1e6, 1e6) | st.just(np.nan),
)
def test_no_frame_breaks_a_figure(kind, names, places, value):
    frame = made([f"place {n}" for n in range(places)], names, value)
    render(draw(frame, kind=kind, scale=100, **WORDS[kind]))


def test_dots_are_the_values_in_their_unit_with_their_intervals():
    frame = made(["age", "race"], OURS).assign(value=[0.1, 0.2, 0.3, np.nan])
    frame["status"] = ["ok", "few_clusters", "ok", "position_bound"]
    figure = draw(frame, kind="dots", scale=100, line={"no gap": 0}, look="model", **WORDS["dots"])
    blue, orange = looks(OURS).values()
    assert [x for x, _ in marks_of(figure, blue.marker)] == pytest.approx([10, 30])
    assert [x for x, _ in marks_of(figure, orange.marker)] == pytest.approx([20])
    hollow = [one for one in figure.axes[0].lines if one.get_markerfacecolor() == "white"]
    assert [one.get_marker() for one in hollow if len(one.get_xdata())] == [orange.marker]
    segments = [
        segment[:, 0].tolist()
        for part in figure.axes[0].collections
        if isinstance(part, LineCollection)
        for segment in part.get_segments()
    ]
    assert segments == [pytest.approx([-50, 100])] * 3
    said = words_of(figure)
    assert {"answers by position", "hollow: too little data", "no gap", *OURS} <= set(said)


def test_control_and_limit_belong_to_the_interval_shown():
    frame = made(["age"], OURS).assign(control=[0.05, -0.05], limit=[0.2, np.nan])
    figure = draw(frame, kind="dots", line={"no gap": 0.1}, scale=100, **WORDS["dots"])
    assert sorted(x for x, _ in marks_of(figure, "x")) == pytest.approx([-5, 5])
    bars = [one for one in figure.axes[0].collections if one.get_label().startswith("below")]
    (bar,) = bars
    assert bar.get_segments()[0][:, 0].tolist() == pytest.approx([-10, 30])
    for other in (frame.drop(columns=["control", "limit"]), frame.rename(columns={"value": "gap"})):
        x = "gap" if "gap" in other else "value"
        without = draw(other, kind="dots", line=0, **WORDS["dots"] | {"x": x})
        assert not marks_of(without, "x")
        assert not [one for one in without.axes[0].collections if "limit" in one.get_label()]


def test_a_line_of_reference_is_a_number_or_a_column_with_a_value_a_panel():
    frame = made(["a", "b"], OURS).assign(mean=[0.1, 0.2] * 2)
    words = {"x": "value", "row": "place", "panel": "who"}
    figure = draw(frame, kind="dots", line={"none": 0, "mean": "mean"}, **words)
    across = [
        [line for line in ax.lines if line.get_transform() != ax.transData] for ax in figure.axes
    ]
    assert [[line.get_xdata()[0] for line in lines] for lines in across] == [[0, 0.1], [0, 0.2]]
    own = draw(frame.assign(line=0.5), kind="dots", **words)
    assert [0.5, 0.5] in [list(line.get_xdata()) for line in own.axes[0].lines]


def test_a_model_has_its_look_in_every_kind_and_nothing_else_has_it():
    frame = made([1, 2, 3], OURS[1:]).assign(who=OURS[1])
    look = looks(OURS)[OURS[1]]
    for kind in ("dots", "lines", "scatter"):
        figure = draw(
            frame.rename(columns={"who": "model"}), kind=kind, **WORDS[kind] | {"series": "model"}
        )
        assert len(marks_of(figure, look.marker)) == 3, kind
    by_panel = draw(
        frame.rename(columns={"who": "model"}), kind="dots", x="value", row="place", panel="model"
    )
    assert len(marks_of(by_panel, look.marker)) == 3
    assert not by_panel.legends  # the panels are called by its name already
    models = looks([*OURS, *"abcdefghijk"]).values()
    methods = [*"abcdefghijk", "letters"]
    assert not {one.marker for one in models} & {one.marker for one in looks(methods, "a").values()}
    assert len(set(models)) == 13 and len(set(looks(methods, "method").values())) == 12
    figure = draw(made(["a"], ["letters", "new"]), kind="dots", **WORDS["dots"])
    colours = {line.get_color() for line in figure.axes[0].lines if line.get_marker() in "^DvP<>"}
    assert len(colours) == 2 and not colours & {
        one.colour for one in looks([*OURS, "own"]).values()
    }


def test_lines_are_the_values_and_points_have_no_line():
    curve = pd.DataFrame({"fit": "parabola", "age": np.arange(20, 101.0), "value": 0.5})
    seen = pd.DataFrame({"fit": "observed", "age": [20.0, 60, 100], "value": [0.2, 0.4, 0.6]})
    frame = pd.concat([seen.assign(ci_low=0.1, ci_high=0.7), curve])
    figure = draw(frame, kind="lines", x="age", y="value", series="fit", points=["observed"])
    observed, parabola = looks(["observed", "parabola"], "other").values()
    assert marks_of(figure, observed.marker) == [[20, 0.2], [60, 0.4], [100, 0.6]]
    assert not marks_of(figure, parabola.marker)
    long = [one for one in figure.axes[0].lines if len(one.get_xdata()) == len(curve)]
    assert len(long) == 1
    assert not [
        one
        for one in figure.axes[0].lines
        if one.get_color() == observed.colour and one.get_linestyle() == "-"
    ]


def test_stacked_shares_begin_where_the_last_one_ends():
    frame = pd.DataFrame({"row": ["a", "a", "b", "b"], "part": ["p", "q"] * 2})
    frame["share"] = [0.25, 0.75, 1.0, 0.0]
    figure = draw(frame, kind="stacked", x="share", row="row", series="part", scale=100)
    bars = [(bar.get_x(), bar.get_width()) for bar in figure.axes[0].patches]
    assert bars == [(0, 25), (0, 100), (25, 75), (100, 0)]
    assert [one.get_text() for one in figure.axes[0].texts] == ["25", "100", "75"]
    with pytest.raises(KatayoriError, match=r"add to 0\.75; right is 1"):
        draw(frame.tail(3), kind="stacked", x="share", row="row", series="part")


def test_the_grid_has_a_mark_an_answer_and_a_cross_where_one_is_missing():
    frame = made([20, 30, 40], ["f", "m"]).assign(answer=[1, 0, 1, np.nan, 0, 1])
    figure = draw(frame, kind="grid", **WORDS["grid"])
    one, zero = (looks(["1", "0"], "answer")[name].marker for name in "10")
    assert marks_of(figure, one) == [[0, 0], [0, 1], [1, 2]]
    assert marks_of(figure, zero) == [[1, 0], [0, 2]]
    assert marks_of(figure, "x") == [[1, 1]]
    assert "no answer that can be read" in words_of(figure)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"kind": "pie", "x": "value"}, "pie"),
        ({"kind": "scatter", "x": "value"}, "needs y="),
        ({"kind": "dots", "x": "gap"}, "no column 'gap'"),
        ({"kind": "dots", "x": "who"}, "holds 'm'"),
        ({"kind": "dots", "x": "value", "line": "mean"}, "no column 'mean'"),
        ({"kind": "dots", "x": "value", "row": "place"}, "two rows of the frame have .*'a'"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(words, told):
    with pytest.raises(KatayoriError, match=told):
        draw(made(["a"], ["m", "n"]), **words)


@given(st.text(), st.integers(2, 40))
def test_wrapped_text_loses_nothing_and_is_narrow(text, width):
    lines = wrapped(text, width).split("\n")
    kept = "".join("".join(line.split()) for line in lines)
    assert kept == "".join(text.split())
    assert all(width_of(line) <= max(2 * width, 8) for line in lines)


def test_japanese_lines_end_with_a_phrase_where_all_texts_are_japanese(monkeypatch):
    text = "最良のルールは長いほうの理由、P(neutral) の平均 %：50.0（両順序）"
    parted = wrapped(text, 24).split("\n")
    monkeypatch.setenv("KATAYORI_LANG", "ja")
    lines = wrapped(text, 24).split("\n")
    assert lines == ["最良のルールは長いほうの", "理由、P(neutral) の", "平均 %：50.0（両順序）"]
    assert parted != lines and len({"".join(one).replace(" ", "") for one in (parted, lines)}) == 1
    assert wrapped("カタカナ" * 9, 24).count("\n") == 2  # no phrase is wider than a line


def test_several_reasons_are_a_list_in_the_language_of_the_reader(monkeypatch):
    frame = made(["a", "b"], ["m"]).assign(value=np.nan, status=["few_clusters", "missing"])
    chart = Chart(kind="dots", **WORDS["dots"])
    assert why_empty(frame, chart) == "no value is defined (too little data, no answers)"
    monkeypatch.setenv("KATAYORI_LANG", "ja")
    assert why_empty(frame, chart) == "定義される値がない（データ不足、回答なし）"


def test_every_kind_explains_itself_in_its_example():
    """The example of `draw` and of its small helpers run as they stand."""
    import doctest

    from katayori.report import tables

    for module in (charts, tables):
        found = doctest.testmod(module)
        assert found.attempted and not found.failed


@pytest.fixture
def run(tmp_path):
    return Run("discrim_eval", tmp_path / "run")


def test_a_run_keeps_the_picture_and_the_frame_that_it_shows(run):
    frame = made(["a", "b"], ["m"]).assign(n=3, seed=7)
    words = {"kind": "dots", "title": "no gap", **WORDS["dots"]}
    shown = run.figure("gaps/of=m", frame, **words)
    assert shown.alt == "no gap" and shown.data.startswith(b"\x89PNG")
    width = int.from_bytes(shown.data[16:20], "big")
    assert width == pytest.approx(charts.WIDTH * 192, abs=1) and shown.width == width // 2
    files = {file.suffix: file for file in (run.folder / "figures").iterdir()}
    assert set(files) == {".png", ".svg", ".csv"}
    kept = pd.read_csv(files[".csv"])
    columns = "place who value ci_low ci_high n status".split()
    pd.testing.assert_frame_equal(kept, frame[columns])
    before = files[".svg"].read_bytes()
    run.figure("gaps/of=m", frame, **words)
    assert files[".svg"].read_bytes() == before and b"dc:date" not in before
