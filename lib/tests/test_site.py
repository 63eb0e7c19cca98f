"""`make site`: pages from a run folder of two small notebooks, by text and in a real browser, as files."""

import json
import re
import shutil
from urllib.parse import unquote, urlsplit

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from ipywidgets.embed import embed_data
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from katayori.report.results import Run
from katayori.report.tables import show, show_text
from katayori.report.widgets import explorer
from katayori_tools import cli
from katayori_tools.site import found, write_site

pytest_plugins = ["browser"]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = "<script>document.title='hit'</script><img src=x onerror=\"document.title='hit'\">"
ALPHA = "Krippendorff's alpha, sampled"
WIDE = pd.DataFrame({f"a_long_column_name_{n}": ["unbreakable" * 8] for n in range(12)})


def shown(value):
    return new_output(
        "execute_result", data={"text/html": value._repr_html_(), "text/plain": repr(value)}
    )


def picture(**metadata):
    return new_output(
        "display_data", data={"image/png": PIXEL, "text/plain": "figure"}, metadata=metadata
    )


def alphas(run, source, models):
    for model in models:
        for factor, value, ci in (("age", 0.123456, (0.1, 0.2)), ("race", 0.9, (0.8, 0.95))):
            told = {
                "model": model,
                "n": 1234,
                "n_invalid": 6,
                "headline": True,
                "cell": {"factor": factor},
            }
            run.row("DE-24", ALPHA, value, source=source, ci=ci, **told)


def claims(run):
    for source, verdict in (("published", "holds"), ("recorded", "contradicted")):
        frame = pd.DataFrame(
            [{"requirement": "DE-37", "statement": "A claim of <b>theirs</b>", "verdict": verdict}]
        )
        run.claims(frame, source=source)
    beside = {"model": "real-1", "n": 9, "verdict": "not comparable: other data and model"}
    run.row("X-4", "alpha beside published", 0.1, source="recorded", published=0.4, **beside)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """outputs/recorded with discrim_eval (tables, pictures, a widget, hostile text), jubaku_v2 skipped, an overview."""
    base = tmp_path_factory.mktemp("outputs") / "recorded"
    run = Run("discrim_eval", base / "discrim_eval")
    alphas(run, "recorded", ["real-1", "real-2"])
    alphas(run, "simulated", ["sim-fair"])
    claims(run)
    run.save(answers_by_source={"recorded": 2468, "simulated": 1234})
    box = explorer({"factor": ["age"]}, lambda factor: show(pd.DataFrame({"chosen": [factor]})))
    told = "クリッペンドルフのアルファ measures Agreement" + " inside a row" * 20
    hostile, words = pd.DataFrame({"要因": [HOSTILE]}), {"alt": "Deviations by age"}
    cells = [
        new_markdown_cell("# 01 · A title 題名\n\nAs notebook 00 says, $x^2$. " + HOSTILE),
        new_markdown_cell(f"## 1 · Agreement 一致度\n\n{told}"),
        new_code_cell("# Parameters\nx = 1", metadata={"tags": ["injected-parameters"]}),
        new_code_cell('run.rows(alpha, "DE-24")', outputs=[shown(show(hostile, caption="Alpha"))]),
        new_code_cell('run.figure("deviations_probability", f)', outputs=[picture(**{"image/png": words})]),
        new_code_cell("nameless", outputs=[picture()]),
        new_code_cell("show(wide)", outputs=[shown(show(WIDE, caption="Wide")), shown(show_text("x" * 500 + HOSTILE))]),
        new_code_cell("explorer()", outputs=[new_output("display_data", data=dict(box._repr_mimebundle_()))]),
        new_code_cell("print(y)", outputs=[new_output("stream", text=HOSTILE)]),
    ]  # fmt: skip
    kept = embed_data([box])["manager_state"]
    state = {"widgets": {"application/vnd.jupyter.widget-state+json": kept}}
    nbformat.write(
        new_notebook(cells=cells, metadata=state), base / "discrim_eval" / "01_discrim_eval.ipynb"
    )
    Run("overview", base / "overview").save()
    cells = [
        new_markdown_cell("# 00 · Overview"),
        new_markdown_cell("## Start\n\nSee Notebook 01 and notebook 99."),
    ]
    nbformat.write(new_notebook(cells=cells), base / "overview" / "00_overview.ipynb")
    (base / "jubaku_v2").mkdir()
    (base / "jubaku_v2" / "skipped.json").write_text(json.dumps({"reason": "no answers <yet>"}))
    return base


@pytest.fixture(scope="module")
def site(base):
    """(folder, parsed pages by file name), made with no other program within reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KATAYORI_OUTPUTS", str(base.parent))
        patch.setenv("PATH", "")
        folder = write_site("recorded").parent
    return folder, {
        path.name: BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in folder.iterdir()
    }


def test_there_is_a_page_for_each_paper_and_each_executed_notebook(site):
    papers = {"discrim_eval", "persona_jbbq", "logprob_judge", "jubaku_v2", "inter_jbbq"}
    assert set(site[1]) == {
        f"{name}.html" for name in papers | {"index", "search", "00_overview", "01_discrim_eval"}
    }


def test_every_link_leads_to_an_anchor_that_is_there_and_nothing_to_the_network(site):
    _, pages = site
    leads = 0
    for name, page in pages.items():
        for tag in page.find_all(True):
            assert not [
                a
                for a in tag.attrs
                if a.startswith("on") or a in ("srcset", "srcdoc", "poster", "background")
            ]
            assert tag.get("src", "data:image/").startswith(
                "data:image/"
            ) and "url(" not in tag.get("style", "")
        for link in page.find_all(href=True):
            file, _, anchor = link["href"].partition("#")
            assert link.name == "a" and not urlsplit(file).scheme, (name, link)
            assert not anchor or pages[file or name].find(id=unquote(anchor)), (name, link["href"])
            assert (file or name) in pages
            leads += 1
        for style in page.find_all("style"):
            assert all(
                u.startswith("data:font/") for u in re.findall(r"url\(([^)]*)", style.string)
            )
            assert "@import" not in style.string
        assert {form["action"] for form in page.find_all("form")} == {"search.html"}
        assert not page.find_all(["link", "iframe", "object", "embed", "base", "video", "audio"])
    assert leads > 80


def test_only_the_search_page_runs_a_script_and_its_policy_names_it(site):
    for name, page in site[1].items():
        policy = page.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
        assert policy.startswith("default-src 'none'; img-src data:")
        assert (
            bool(page.find_all("script"))
            == (name == "search.html")
            == ("script-src 'sha256-" in policy)
        )
        assert (
            "unsafe-eval" not in policy
            and "'unsafe-inline'" not in policy.partition("script-src")[2]
        )


def test_figures_and_tables_are_numbered_and_lead_to_their_cell(site):
    page = site[1]["01_discrim_eval.html"]
    made = {box["id"]: box for box in page.select("div.made")}
    assert list(made) == ["table-1", "figure-1", "figure-2", "table-2", "table-3"]
    told = {
        "table-1": "DE-24",
        "figure-1": "deviations_probability",
        "table-2": "show(wide)",
        "table-3": "explorer()",
    }
    for name, source in told.items():
        own, cell = (link["href"] for link in made[name].select("p.origin a"))
        code = page.find(id=cell[1:])
        assert own == f"#{name}" and source in code.get_text() and code.parent.name == "details"
    assert [i["alt"] for i in page.select("div.made img")] == ["Deviations by age", "Figure 2"]
    assert (
        "chosen" in made["table-3"].get_text() and "Parameters" not in page.get_text()
    )  # the widget's fallback
    contents = page.select_one("aside").get_text(" ", strip=True)
    assert (
        "1 · Agreement 一致度" in contents
        and "Figure 1 Deviations by age" in contents
        and "Table 1 Alpha" in contents
    )


def test_notebooks_named_in_the_text_are_links(site):
    linked = {a.get_text(): a["href"] for a in site[1]["00_overview.html"].main.find_all("a")}
    assert linked == {"Notebook 01": "01_discrim_eval.html"}
    assert (
        site[1]["01_discrim_eval.html"].main.find("a", string="notebook 00")["href"]
        == "00_overview.html"
    )


def test_a_papers_page_computes_what_it_says(site):
    page = site[1]["discrim_eval.html"]
    items = [
        li.get_text(" ", strip=True) for li in page.find(id="found").find_next("ul").find_all("li")
    ]
    assert "is 0.12 to 0.90; 2 of 4 intervals lie wholly above 2/3, 2 wholly below" in items[0]
    assert (
        items[0].startswith("recorded")
        and "real-1, real-2; n = 1,234" in items[0]
        and "sim-fair" not in items[0]
    )
    assert "holds no value of questions with a significant factor" in items[1]
    assert page.find(id="found").find_next("ul").a["href"].startswith("01_discrim_eval.html#code-")
    assert len(page.select("#method ~ ol")[0].find_all("li")) == 5 and page.find("p", lang="ja")
    assert page.figure.img["alt"] == "Deviations by age" and "#figure-1" in page.figure.a["href"]
    claim = page.find("td", string="A claim of <b>theirs</b>").parent.get_text("|")
    assert claim == "A claim of <b>theirs</b>|holds|contradicted (recorded)"
    assert "1 × not comparable: other data and model" in page.get_text()
    assert "make reproduce PAPERS=discrim_eval" in page.pre.get_text()


def test_papers_without_a_run_say_why(site):
    assert "Skipped: no answers <yet>" in site[1]["jubaku_v2.html"].get_text()
    assert (
        "Not run here yet: make reproduce PAPERS=inter_jbbq"
        in site[1]["inter_jbbq.html"].get_text()
    )
    assert "no answers <yet>" in site[1]["index.html"].get_text()


def test_the_index_lists_headlines_with_source_and_n(site):
    listed, heads = site[1]["index.html"].find_all("table")
    rows = [[td.get_text() for td in tr.find_all("td")] for tr in heads.find_all("tr")[1:]]
    age = next(row for row in rows if row[0] == "real-1" and row[2] == "age")
    assert age[1].startswith("discrim_eval: ") and age[3:] == [
        "0.123",
        "0.100 to 0.200",
        "—",
        "—",
        "1,234",
        "6",
        "recorded",
    ]
    assert ["real-2", "— (missing)"] in [[row[0], row[3]] for row in rows] and not any(
        "sim" in row[0] for row in rows
    )
    assert (
        "2,468 recorded answers, 1,234 simulated answers" in listed.get_text()
        and len(listed.find_all("tr")) == 6
    )


def test_simulated_respondents_speak_only_where_nobody_was_asked(base, tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    shutil.copytree(base / "discrim_eval", tmp_path / "mine" / "discrim_eval")
    path = tmp_path / "mine" / "discrim_eval" / "results.json"
    rows = [row for row in json.loads(path.read_text()) if row["source"] == "simulated"]
    path.write_text(json.dumps(rows))
    assert cli.main(["site", "--profile", "mine"]) == 0
    page = BeautifulSoup(
        (tmp_path / "mine/site/discrim_eval.html").read_text("utf-8"), "html.parser"
    )
    first = page.find(id="found").find_next("li")
    assert first.find("span")["class"] == ["source", "simulated"] and "sim-fair" in first.get_text()
    index = BeautifulSoup((tmp_path / "mine/site/index.html").read_text("utf-8"), "html.parser")
    assert {span.get_text() for span in index.select("span.source")} >= {"simulated"}
    (tmp_path / "mine/site/old.html").write_text("x")
    assert (
        cli.main(["site", "--profile", "mine"]) == 0
        and not (tmp_path / "mine/site/old.html").exists()
    )


def test_a_run_that_is_not_there_is_one_clear_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    assert cli.main(["site", "--profile", "smoke"]) == 2
    assert (
        "no notebook of the profile 'smoke' has been run: make reproduce PROFILE=smoke"
        in capsys.readouterr().err
    )


def test_a_finding_counts_intervals_on_each_side_and_skips_undefined_values():
    class Book:
        file = "x.html"
        cell_of = staticmethod(lambda words: f"x.html#{words}")

    row = {
        "what": "w",
        "cell": {"a": 1},
        "verdict": None,
        "source": "live",
        "model": "<m>",
        "requirement": "R",
    }
    ends = [(0.2, 0.1, 0.3), (-0.2, -0.3, -0.1), (0.0, -0.1, 0.1), (None, None, None)]
    rows = [
        row | {"value": v, "ci_low": a, "ci_high": b, "n": 10, "n_invalid": 0, "status": "ok"}
        for v, a, b in ends
    ]
    rows[-1]["status"] = "too few"
    says = "{rows} {span:+.1f} {intervals} {above} {below} {nonzero}"
    told = found({"what": "w", "where": {"a": 1}, "says": says}, rows, Book)
    assert (
        "3 -0.2 to +0.2 3 1 1 2" in told
        and "— (too few)" in told
        and "&lt;m&gt;" in told
        and "<m>" not in told
    )
    assert "; n = 10;" in told
    third = [
        row
        | {"value": 1 / 3, "ci_low": 0.33333333333333337, "ci_high": 1 / 3, "n": 3, "n_invalid": 0}
    ]
    told = found({"what": "w", "reference": "1/3", "says": "[{above} {below}]"}, third, Book)
    assert "[0 0]" in told  # an interval of no width at chance lies on neither side of it
    assert (
        found({"what": "w", "says": "{span:.0%}"}, rows[:1], Book).count("20%") == 1
    )  # one value is no span
    assert "holds no value" in found({"what": "w", "where": {"a": 2}, "says": says}, rows, Book)


def look(tab, path, width):
    """What is wrong with one page at one width, as sentences."""
    wrong = []
    tab.open(path.as_uri(), width)
    wrong += [
        f"asks for {url[:80]}" for url in tab.asked if not url.startswith(("data:", path.as_uri()))
    ]
    wrong += [f"failed request: {failed}" for failed in tab.failed]
    wrong += [f"says ({level}) {text[:200]}" for level, text in tab.said]
    inner, wide = tab.js("[innerWidth, document.documentElement.scrollWidth]")
    if inner != width or wide > width:
        worst = tab.js(f"""[...document.querySelectorAll("body *")].filter(e => !e.closest("table, pre") &&
            e.getBoundingClientRect().right > {width}).map(e => e.outerHTML.slice(0, 120)).slice(0, 3)""")
        wrong.append(f"{wide} px wide in a window of {inner}: {worst}")
    nameless = tab.js("""[...document.images].filter(i => i.hasAttribute("src"))
        .filter(i => !i.alt.trim() || !i.complete || !i.naturalWidth)
        .map(i => i.outerHTML.slice(0, 120))""")
    wrong += [f"picture without words or not drawn: {one}" for one in nameless]
    narrow = """[...document.querySelectorAll("td")].filter(c => c.offsetWidth && c.offsetWidth < 150
        && c.innerText.length > 60).map(c => c.offsetWidth + " px for " + c.innerText.slice(0, 60))"""
    wrong += [f"squeezed text: {one}" for one in tab.js(narrow)]
    return wrong


@pytest.mark.browser
def test_every_page_is_sound_in_a_real_browser(site, tab):
    """At any width no request, message or overflow, no squeezed text, every picture drawn and named."""
    wrong, titles = {}, []
    for path in sorted(site[0].glob("*.html")):
        for width in (1280, 390, 1920):
            wrong[path.name, width] = look(tab, path, width)
        titles.append(tab.js("document.title"))
    assert {place: told for place, told in wrong.items() if told} == {}
    assert len(wrong) == 27 and "hit" not in titles  # the hostile text of the notebook did nothing
    tab.open((site[0] / "01_discrim_eval.html").as_uri(), 1920)
    wide, main = tab.js(
        "[document.querySelector('#table-2 table'), document.querySelector('main')].map(e => e.offsetWidth)"
    )
    assert wide > main + 100  # a wide table uses the window beyond the text


@pytest.mark.browser
def test_the_look_sees_what_it_is_for(tmp_path, tab):
    """A page with each fault is told of each."""
    bad = (
        "<img src='gone.png'><div style='width: 2000px'>wide</div><script>throw Error('x')</script>"
    )
    bad += f"<table><td width=50>{'so ' * 30}</table>"
    (tmp_path / "bad.html").write_text(
        f"<!DOCTYPE html><meta name=viewport content='width=device-width'>{bad}"
    )
    told = look(tab, tmp_path / "bad.html", 1280)
    starts = [
        "asks for",
        "failed request",
        "says (error) Error: x",
        "2008 px wide",
        "picture without words",
        "squeezed",
    ]
    assert [start for start in starts if not any(one.startswith(start) for one in told)] == []


@pytest.mark.browser
def test_search_in_a_real_browser(site, tab):
    """The form of any page finds English and Japanese; what was typed is never markup."""
    seen, state, made = {}, {}, set()
    for words in (
        "agreement",
        "1 一致度",
        "ペルソナ",
        "ｱﾙﾌｧ ",
        "deviations age",
        "nosuchword",
        HOSTILE,
    ):
        tab.open((site[0] / "index.html").as_uri(), 390)
        tab.forget()
        typed = f"document.querySelector('input').value = {json.dumps(words)}"
        tab.js(f"{typed}; setTimeout(() => document.querySelector('button').click(), 0)")
        tab.loaded()
        seen[words] = tab.js(
            "[...document.querySelectorAll('#results li')].map(li => [li.innerText, li.firstChild.href])"
        )
        state[words] = tab.js("document.querySelector('#state').innerText")
        made.add(tab.js("document.images.length + document.title"))
    ends = [
        ("agreement", "01_discrim_eval.html#section-2", "Agreement 一致度"),
        ("ｱﾙﾌｧ ", "", "アルファ"),
    ]
    # Found by its heading, told from its start.
    ends += [("1 一致度", "", "クリッペンドルフの"), ("ペルソナ", "persona_jbbq.html#question", "")]
    ends += [("deviations age", "01_discrim_eval.html#figure-1", "")]
    assert [
        one
        for one in ends
        if not any(one[2] in text and link.endswith(one[1]) for text, link in seen[one[0]])
    ] == []
    assert seen["nosuchword"] == [] and state["nosuchword"] == "0 found"
    assert made == {"0Search · Katayori"}


@pytest.mark.browser
def test_unfolding_and_japanese_in_a_real_browser(site, tab):
    """A link unfolds the code, Japanese is drawn with a font."""
    tab.open((site[0] / "01_discrim_eval.html").as_uri())
    unfolded = "[...document.querySelectorAll('details[open]')].map(d => d.innerText)"
    assert tab.js(unfolded) == []
    tab.js("document.querySelector('#figure-1 .origin a:last-child').click()")
    [code] = tab.js(unfolded)
    assert "deviations_probability" in code
    root = tab.call("DOM.getDocument")["root"]["nodeId"]
    node = tab.call("DOM.querySelector", nodeId=root, selector="h2")["nodeId"]
    fonts = tab.call("CSS.getPlatformFontsForNode", nodeId=node)["fonts"]
    japanese = re.compile("CJK|JP|IPA|Hiragino|Yu Gothic")
    assert sum(font["glyphCount"] for font in fonts if japanese.search(font["familyName"])) >= len(
        "一致度"
    )
