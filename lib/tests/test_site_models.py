"""Models side by side: results of any number of runs, told apart, and the page in a real browser.

What stands on the page is compared with results.json, which is read here by a second, plain way.
"""

import json
import math
import operator

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from katayori.errors import KatayoriError
from katayori.report.headlines import ADDED, read_results, side_by_side
from katayori.report.run import FIELDS
from katayori.report.tables import human
from katayori_tools import cli, compare, environment, site

pytestmark = pytest.mark.slow_all  # the whole site is built

pytest_plugins = ["browser"]

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
    return side_by_side(compare.chosen(NAMES, "recorded"))


def wanted(outputs):
    """What the page must show, read from the files: a tuple a value."""
    shown = []
    for run in ("recorded", "live/gpu-2", "imported/old"):
        for path in sorted((outputs / run).glob("*/results.json")):
            for one in json.loads(path.read_text("utf-8")):
                if one["source"] != "simulated":
                    shown.append((run, one))
    return shown


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


def test_simulated_respondents_are_shown_only_alone_or_when_named(outputs, frame):
    assert "simulated" not in set(frame["source"])
    for name, run in (("simulated", "simulated"), ("sim-fair", "recorded")):
        shown = side_by_side(compare.chosen([name], "recorded"))
        assert set(shown["model"]) == {"sim-fair"} and set(shown["run"]) == {run}


def test_published_figures_are_no_model(outputs, tmp_path, monkeypatch):
    rows = rows_of("real-1", "recorded") + rows_of("their-model", "published")
    write(tmp_path / "recorded", rows)
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    shown = side_by_side(compare.chosen(["recorded"], "recorded"))
    assert set(shown["model"]) == {"real-1"}
    with pytest.raises(KatayoriError, match="'their-model' has no headline to compare"):
        compare.chosen(["their-model"], "recorded")


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


def test_the_command_writes_every_value_as_a_table(outputs, frame, capsys):
    assert cli.main(["compare", "--runs", ", ".join(NAMES)]) == 0
    told = capsys.readouterr()
    file = outputs / "compare" / "recorded-gpu-2-imported_old.csv"
    assert str(file) in told.err
    kept = pd.read_csv(file)
    assert list(kept.columns) == list(frame.columns) and len(kept) == len(frame)
    assert kept["value"].dropna().tolist() == pytest.approx(frame["value"].dropna().tolist())
    assert "answers by position" in told.out


def test_nothing_to_show_is_said(tmp_path):
    page = site.models_page(side_by_side([("empty", read_results(tmp_path))]))
    assert "No model to show" in page


def test_control_characters_of_a_name_are_spelt_out(frame):
    names = {"name": "a\x1b[2Kb\u202e" + frame["name"], "measure": "x\x07" + frame["measure"]}
    odd = frame.assign(**names)
    page = site.models_page(odd)
    assert "x␇" in page and "a␛[2Kb" in page
    shown = "".join(_texts(page))
    assert not [bad for bad in ("\x1b", "\x07", "\u202e") if bad in shown]


def _texts(page):
    """The words and titles of a page's cells."""
    for cell in json.loads(page)["cells"]:
        yield "".join(cell["source"])
        yield from ("".join(one["data"]["text/html"]) for one in cell.get("outputs", ()))


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(outputs, frame):
    """The file of the page."""
    environment.setup_site()
    return site.write_pages(outputs / "page", {}, {"index": site.models_page(frame)}, {})


def test_the_tables_hold_the_values_of_the_results(outputs, page):
    """Every row of results.json that belongs here, digit by digit, and no other."""
    parsed = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    lines = []
    for table in parsed.select("article table"):
        heads = [head.get_text() for head in table.select("thead th")]
        for row in table.select("tbody tr"):
            lines.append(dict(zip(heads, (td.get_text() for td in row("td")), strict=True)))
    empty, other = ("", "—"), ("paper", "measure", "means")
    known = [{k: t for k, t in line.items() if k not in other and t not in empty} for line in lines]
    needed = [_line(run, one) for run, one in wanted(outputs)]
    in_order = operator.itemgetter("model", "run", "value [95 % interval]")
    assert sorted(known, key=in_order) == sorted(needed, key=in_order)


def _line(run, one):
    """A result as the page must write it."""
    model = one["model"]
    shown = {"position_bound": "answers by position", "few_clusters": "too little data"}
    ends = [one[k] for k in ("value", "ci_low", "ci_high")]
    digits = "+.3f" if one.get("line") == 0 else ".3f"
    value, low, high = (f"{round(end, 3) + 0.0:{digits}}" for end in ends)
    line = {"model": f"{model} ({run})" if model == "real-1" else model, "run": run}
    line |= {"answers of": one["source"], "prompt": "p_one", "answers": "1234", "unreadable": "6"}
    line["value [95 % interval]"] = shown.get(one["status"], f"{value} [{low}, {high}]")
    line["verdict"] = one.get("verdict") or ""
    line |= {human(k): f"{one[k]:.4f}" if one.get(k) else "—" for k in ("control", "limit")}
    line["clusters"] = "—" if one.get("clusters") is None else str(one["clusters"])
    return {name: text for name, text in line.items() if text not in ("", "—")}


def test_the_page_names_models_and_has_no_ranking(page):
    parsed = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    names = {row("td")[3].get_text() for row in parsed.select("article tbody tr")}
    assert names == {"real-1 (recorded)", "real-2", "real-1 (live/gpu-2)", HOSTILE}
    assert "no single score and no order of models" in parsed.article.get_text()
    assert not parsed.article.find_all(["script", "iframe"])


# -- in a real browser -----------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_page_is_sound_at_any_width_and_has_no_grave_barrier(page, tab, mode):
    tab.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": mode}]
    )
    for width in (1280, 390):
        tab.open(page.as_uri(), width)
        assert tab.js("document.documentElement.scrollWidth") <= width
        grave = ("critical", "serious")
        assert [one for one in tab.barriers() if one[0] in grave] == []
    assert tab.js("document.title") != "hit" and tab.errors == []
    tab.call("Emulation.setEmulatedMedia", features=[])
