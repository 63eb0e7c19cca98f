"""Models side by side: results of any number of runs, told apart, and the page in a real browser.

What stands on the page is compared with results.json, which is read here by a second, plain way.
"""

import doctest
import json
import math
import re
from importlib.resources import files

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from katayori.errors import KatayoriError
from katayori.report import headlines, tables
from katayori.report.headlines import side_by_side
from katayori.report.results import read_results
from katayori.report.run import ADDED, FIELDS
from katayori_tools import (
    cli,
    environment,
    models_chart,
    named_runs,
    site,
    site_models,
)

pytestmark = pytest.mark.slow_all  # the whole site is built

pytest_plugins = ["browser"]

#: Barriers that stop a reader, as axe finds them.
GRAVE = """axe.run().then(r => r.violations
    .filter(v => ["critical", "serious"].includes(v.impact))
    .map(v => [v.id, v.nodes[0].html.slice(0, 200)]))"""
HOSTILE = "<img src=x onerror=\"document.title='hit'\">"
NEUTRAL = "accuracy on the neutral option"
NEUTRAL_LABEL = "neutral reason chosen"
GAP = "gap between levels, P(yes) (addition)"
LEAN = "Diff-bias, ambiguous, all categories"


def row(paper, what, model, value, **more):
    """A result as results.json holds it."""
    known = math.isfinite(value)
    made = dict.fromkeys(FIELDS)
    made |= {"paper": paper, "requirement": "X-1", "what": what, "model": model, "cell": {}}
    made |= {"source": "live", "headline": True, "unit": "share", "status": "ok", "n": 1234}
    made |= {"n_invalid": 6, "clusters": 27, "prompt_id": "p_one", "dataset": "study"}
    made |= {"value": value if known else None, "line": 0.0}
    made |= {"ci_low": value - 0.05 if known else None, "ci_high": value + 0.05 if known else None}
    return made | more


def rows_of(model, source, shift=0.0):
    """All five papers need not be there: three papers of a model, its marks among them."""
    common = {"source": source}
    gender = {"factor": "gender", "largest_at": "women"}
    sizes = {"control": 0.004, "limit": 0.01, "verdict": "present"}
    return [
        row("discrim_eval", GAP, model, 0.02 + shift, cell={"factor": "age", "largest_at": "60"},
            **sizes, **common),
        row("discrim_eval", GAP, model, -0.03, cell=gender, **common),
        row("persona_jbbq", LEAN, model, 0.1, cell={"prompt": "basicP"}, **common),
        row("persona_jbbq", LEAN, model, 0.0, cell={"prompt": "biased"}, verdict="position bound",
            status="position_bound", **common),
        row("jubaku_v2", NEUTRAL, model, 0.5 + shift, status="few_clusters", clusters=4, line=0.5,
            **common),
    ]  # fmt: skip


def write(folder, rows):
    """The results of a run, one file a paper."""
    for paper in {one["paper"] for one in rows}:
        (folder / paper).mkdir(parents=True, exist_ok=True)
        own = [one for one in rows if one["paper"] == paper]
        (folder / paper / "results.json").write_text(json.dumps(own), encoding="utf-8")


def older(rows):
    """Rows as version 1 of the schema has them: without clusters, control and limit."""
    return [{name: value for name, value in one.items() if name not in ADDED} for one in rows]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A recorded run of two models and a simulated one; a live run of a model with the name of one
    of them; an older run; a run in which nobody was asked."""
    outputs = tmp_path_factory.mktemp("outputs")
    recorded = rows_of("real-1", "recorded") + rows_of("real-2", "recorded", 0.1)
    write(outputs / "recorded", recorded + rows_of("sim-fair", "simulated", 0.2))
    write(outputs / "live" / "gpu-2", rows_of("real-1", "live", 0.3))
    write(outputs / "imported" / "old", older(rows_of(HOSTILE, "imported", -0.2)))
    write(outputs / "simulated", rows_of("sim-fair", "simulated"))
    (outputs / "skipped" / "jubaku_v2").mkdir(parents=True)
    (outputs / "skipped" / "jubaku_v2" / "skipped.json").write_text('{"reason": "no answers"}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KATAYORI_OUTPUTS", str(outputs))
        yield outputs


NAMES = ("recorded", "gpu-2", "imported/old")


@pytest.fixture(scope="module")
def frame(outputs):
    return side_by_side(named_runs.chosen(NAMES, "recorded"))


def wanted(outputs):
    """What the page must show, read from the files: a tuple a value."""
    shown = []
    for run in ("recorded", "live/gpu-2", "imported/old"):
        for path in sorted((outputs / run).glob("*/results.json")):
            for one in json.loads(path.read_text("utf-8")):
                if one["source"] != "simulated":
                    shown.append((run, one))
    return shown


@pytest.mark.parametrize("module", [headlines, tables, named_runs, models_chart])
def test_the_examples_of_docstrings_run(module):
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


# -- the values ------------------------------------------------------------------------------------


def test_every_value_of_every_run_is_there_once(outputs, frame):
    made = [
        (one["run"], one["model"], one["paper"], one["what"], one["value"], one["status"])
        for one in frame.astype(object).where(frame.notna(), None).to_dict("records")
    ]
    there = [
        (run, one["model"], one["paper"], one["what"], one["value"], one["status"])
        for run, one in wanted(outputs)
    ]
    assert sorted(made, key=str) == sorted(there, key=str)


def test_models_of_one_name_are_told_apart_by_their_run(frame):
    assert set(frame["name"]) == {"real-1 (recorded)", "real-1 (live/gpu-2)", "real-2", HOSTILE}


def test_words_stand_in_place_of_what_is_no_value(frame):
    shown = frame.drop_duplicates("status").set_index("status")["shown"].to_dict()
    assert shown["position_bound"] == "answers by position"
    assert shown["few_clusters"] == "too little data" and shown["ok"] == "+0.020 [-0.030, +0.070]"
    age = frame[(frame["measure"] == "gap in P(yes) by age: 60") & (frame["name"] == "real-2")]
    assert age[["line", "control", "limit"]].values.tolist() == [[0, 0.004, 0.01]]


def test_models_stand_below_each_other_under_each_measure(frame):
    names = ["real-1 (recorded)", "real-2", "real-1 (live/gpu-2)", HOSTILE]
    assert frame["name"].tolist() == names * 5
    assert (frame["measure"] == frame["measure"].shift()).sum() == 15


def test_rows_of_an_older_schema_have_no_limit(frame):
    own = frame[frame["name"] == HOSTILE]
    assert own[["control", "limit", "clusters"]].isna().all(axis=None)
    assert own["value"].notna().sum() == 5


def test_simulated_respondents_are_shown_only_alone_or_when_named(outputs, frame):
    assert "simulated" not in set(frame["source"])
    for name, run in (("simulated", "simulated"), ("sim-fair", "recorded")):
        shown = side_by_side(named_runs.chosen([name], "recorded"))
        assert set(shown["model"]) == {"sim-fair"} and set(shown["run"]) == {run}


def test_published_figures_are_no_model(outputs, tmp_path, monkeypatch):
    rows = rows_of("real-1", "recorded") + rows_of("their-model", "published")
    write(tmp_path / "recorded", rows)
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    shown = side_by_side(named_runs.chosen(["recorded"], "recorded"))
    assert set(shown["model"]) == {"real-1"}
    with pytest.raises(KatayoriError, match="'their-model' has no headline to compare"):
        named_runs.chosen(["their-model"], "recorded")


def test_a_model_and_its_run_show_it_once(outputs):
    twice = side_by_side(named_runs.chosen(["recorded", "real-1"], "recorded"))
    once = side_by_side(named_runs.chosen(["recorded"], "recorded"))
    assert len(twice) == len(once)


def test_a_run_that_is_called_by_its_model_is_told_in_short(outputs, frame):
    rows = read_results(outputs / "recorded").query("model == 'real-1'")
    shown = side_by_side([("live/real-1", rows), ("recorded", rows)])
    assert set(shown["name"]) == {"real-1 (live)", "real-1 (recorded)"}
    shown = side_by_side([("live/real-1", rows), ("live", rows)])
    assert set(shown["name"]) == {"real-1 (live/real-1)", "real-1 (live)"}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("recorded nosuch", "nothing to compare under 'nosuch'; runs: imported/old"),
        ("recorded skipped", "the run 'skipped' holds no results yet"),
        ("recorded", "name two or more"),
        ("recorded recorded", "name two or more"),
    ],
)
def test_a_wrong_name_is_one_clear_line(outputs, capsys, names, said):
    assert cli.main(["compare", "--runs", names]) == 2
    told = capsys.readouterr()
    assert said in told.err and len(told.err.splitlines()) == 1 and told.out == ""


def test_a_paper_that_a_run_lacks_is_one_clear_line(outputs, capsys):
    assert cli.main(["compare", "--runs", "recorded gpu-2", "--papers", "05"]) == 2
    told = capsys.readouterr().err
    assert "'recorded' has no headline of inter_jbbq to compare; it has discrim_eval" in told


def test_the_command_writes_every_value_as_a_table(outputs, frame, monkeypatch, capsys):
    pages = {}
    monkeypatch.setattr(site, "write_one", lambda folder, make: pages.setdefault("made", folder))
    assert cli.main(["compare", "--runs", ", ".join(NAMES)]) == 0
    told = capsys.readouterr()
    file = outputs / "compare" / "recorded-gpu-2-imported_old.csv"
    assert str(file) in told.err and pages["made"] == file.with_suffix("")
    kept = pd.read_csv(file)
    assert list(kept.columns) == list(frame.columns) and len(kept) == len(frame)
    assert kept["value"].dropna().tolist() == pytest.approx(frame["value"].dropna().tolist())
    assert "answers by position" in told.out


def test_nothing_to_show_is_said(outputs, tmp_path):
    page = site_models.of_runs([("empty", read_results(tmp_path))], tmp_path)
    assert "No model to show" in str(page)


#: As they are, and as JSON and Python write them.
CONTROLS = ("\x1b", "\\u001b", "\\x1b", "\x07", "\\u0007", "\\x07", "\u202e")


def test_control_characters_of_a_name_are_spelt_out_in_table_and_chart(frame, tmp_path):
    odd = frame.assign(name="a\x1b[2Kb\u202e", measure="x\x07")
    page = str(site_models.models_page(odd, tmp_path))
    specs = [path.read_text("utf-8") for path in (tmp_path / "_static/charts").glob("*.js")]
    assert "x␇" in page and specs
    for told in (page, *specs):
        assert "a␛[2Kb" in told
        assert not [bad for bad in CONTROLS if bad in told]


# -- the chart -------------------------------------------------------------------------------------


def of(frame, measure):
    return frame[frame["measure"] == measure]


def test_a_mark_without_a_value_stands_at_the_edge_and_words_inside(frame):
    records = models_chart.records_of(of(frame, "Diff-bias, ambiguous (biased)"), (-0.3, 0.3))
    assert [one["x_at"] for one in records] == pytest.approx([-0.291] * 4)
    told = {(one["words"], one["shape"], one["fill"], one["x_ci_low"]) for one in records}
    assert told == {("answers by position", "diamond", "white", None)}
    right = of(frame, NEUTRAL_LABEL).assign(value=0.29, ci_low=0.25, ci_high=0.3, instead="")
    records = models_chart.records_of(right, (-0.3, 0.3))
    assert {(one["align"], one["x_beside"]) for one in records} == {("right", 0.25)}


def test_band_and_control_lie_around_the_line(frame):
    rows = of(frame, "gap in P(yes) by age: 60").query("name == 'real-2'")
    [record] = models_chart.records_of(rows, (-1, 1))
    places = [record[f"x_{name}"] for name in ("band_low", "line", "band_high", "control")]
    assert places == pytest.approx([-0.01, 0, 0.01, 0.004])
    [below] = models_chart.records_of(rows.assign(value=-0.1), (-1, 1))
    assert below["x_control"] == pytest.approx(-0.004)


def test_the_scale_holds_whatever_is_drawn(frame):
    rows = of(frame, "gap in P(yes) by age: 60").assign(value=5.0, ci_low=-7.0, ci_high=9.0)
    low, high = models_chart.domain(rows)
    assert -8 < low < -7 and 9 < high < 10
    bound = rows.assign(instead="answers by position")
    assert models_chart.domain(bound) == pytest.approx((-0.04, 0.04))
    assert models_chart.domain(rows.assign(limit=20.0))[1] > 20


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(outputs, frame):
    """The file of the page, as `make compare RUNS=` makes it."""
    environment.setup_site()
    folder = outputs / "compare" / "page"
    folder.parent.mkdir(exist_ok=True)
    return site.write_one(folder, lambda source: site_models.models_page(frame, source))


def test_the_tables_hold_the_values_of_the_results(outputs, page):
    """Every row of results.json that belongs here, digit by digit, and no other."""
    parsed = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    made = []
    for table in parsed.select(".side-by-side table"):
        lines = [[td.get_text() for td in tr.find_all("td")] for tr in table.select("tbody tr")]
        made += lines
    assert sorted(made) == sorted(_line(run, one) for run, one in wanted(outputs))


def _line(run, one):
    """A result as the page must write it."""
    model = one["model"]
    name = f"{model} ({run})" if model == "real-1" else model
    shown = {"position_bound": "answers by position", "few_clusters": "too little data"}
    ends = [one[k] for k in ("value", "ci_low", "ci_high")]
    digits = "+.3f" if one.get("line") == 0 else ".3f"
    value, low, high = (f"{round(end, 3) + 0.0:{digits}}" for end in ends)
    sizes = [f"{one[k]:.4f}" if one.get(k) else "—" for k in ("control", "limit")]
    clusters = "—" if one.get("clusters") is None else str(one["clusters"])
    head = [name, shown.get(one["status"], f"{value} [{low}, {high}]"), *sizes]
    return [*head, "1,234", "6", clusters, "p_one", one.get("verdict") or "—", one["source"]]


def test_the_page_names_models_runs_and_sources_and_has_no_ranking(page):
    parsed = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    listed = parsed.find("table")
    lines = [[td.get_text() for td in tr.find_all("td")] for tr in listed.select("tbody tr")]
    assert [line[:3] for line in lines] == [
        ["real-1 (recorded)", "recorded", "recorded"],
        ["real-2", "recorded", "recorded"],
        ["real-1 (live/gpu-2)", "live/gpu-2", "live"],
        [HOSTILE, "imported/old", "imported"],
    ]
    assert "no single score and no order of models" in parsed.article.get_text()
    assert not parsed.article.find_all(["script", "img", "iframe"])


def test_a_model_that_lacks_a_measure_is_named(frame, tmp_path):
    lacks = (frame["name"] == "real-2") & (frame["measure"] == NEUTRAL_LABEL)
    page = str(site_models.models_page(frame[~lacks], tmp_path))
    assert page.count("Not among the headlines of: real-2.") == 1


# -- in a real browser -----------------------------------------------------------------------------

DOTS = "[...document.querySelectorAll('.chart .mark-symbol.role-mark path')]"
TIP = "document.querySelector('#vg-tooltip-element.visible')"

#: A dot in the middle of the window, and where it lies.
WHERE = """(() => {
    const dot = DOT;
    dot.scrollIntoView({block: "center"});
    const box = dot.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2]
})()"""


def opened(tab, page, width=1280):
    """The page with all its charts drawn."""
    tab.open(page.as_uri(), width)
    charts = len(re.findall(r'id="chart-', page.read_text("utf-8")))
    tab.wait(f"document.querySelectorAll('.chart svg[role=img]').length === {charts}")
    return charts


@pytest.mark.browser
def test_every_value_has_a_dot_and_every_mark_its_shape_and_words(outputs, page, tab):
    assert opened(tab, page) == 5
    marked = [one["status"] for _, one in wanted(outputs)]
    shapes = tab.js(f"{DOTS}.map(one => one.getAttribute('d').replace(/[^A-Za-z]/g, ''))")
    assert len(shapes) == len(marked) == 20
    by_shape = sorted(shapes.count(shape) for shape in set(shapes))
    assert by_shape == [4, 4, 12] == sorted(marked.count(status) for status in set(marked))
    words = tab.js(
        "[...document.querySelectorAll('.chart .mark-text text')].map(t => t.textContent)"
    )
    assert words.count("answers by position") == words.count("too little data") == 4
    assert words.count("×") == 3  # the older run has no control
    assert [one for one in tab.said if one[0] != "log"] == []
    assert all(url.startswith(("file:", "data:")) for url in tab.asked)


@pytest.mark.browser
def test_pointing_at_a_dot_tells_model_source_n_invalid_prompt_and_verdict(outputs, page, tab):
    opened(tab, page)
    told = []
    for place in range(20):
        box = tab.js(WHERE.replace("DOT", f"{DOTS}[{place}]"))
        for x, y in ((1, 1), box):
            tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        tab.wait(f"!!{TIP} && {TIP}.innerText.includes('verdict')")
        told.append(re.sub(r"\s+", " ", tab.js(f"{TIP}.innerText")))
    assert all(
        " n 1,234 " in one and " invalid 6 " in one and " prompt p_one " in one for one in told
    )
    assert sum("answers by position" in one for one in told) == 4
    assert sum("too little data" in one for one in told) == 4
    assert sum("answers live" in one for one in told) == 5
    assert sum(HOSTILE in one for one in told) == 5  # as text
    assert tab.js("document.title") != "hit" and tab.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_page_is_sound_at_any_width_and_has_no_grave_barrier(page, tab, mode):
    script = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    tab.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": mode}]
    )
    for width in (1280, 390):
        opened(tab, page, width)
        assert tab.js("document.documentElement.scrollWidth") <= width
        tab.js(f"{script}; true")
        grave = tab.js(GRAVE)
        assert grave == []
    tab.call("Emulation.setEmulatedMedia", features=[])
