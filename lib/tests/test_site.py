"""`make site`: pages from a run folder of two small notebooks, by text and in a real browser, as
files.

Sphinx is not part of the environment of other tests; what it needs is added on first use.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

import nbformat
import pandas as pd
import pytest
from babel.messages.pofile import read_po
from bs4 import BeautifulSoup
from ipywidgets.embed import embed_data
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from one_row import add_row

from katayori import paths
from katayori.papers import paper_ids
from katayori.report.explorers import explorer
from katayori.report.run import Run
from katayori.report.tables import show, show_text
from katayori_tools import cli, environment, site as site_module

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
            add_row(run, "DE-24", ALPHA, value, source=source, ci=ci, **told)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """outputs/recorded with discrim_eval (tables, pictures, a widget, hostile text), jubaku_v2 skipped, an overview."""
    base = tmp_path_factory.mktemp("outputs") / "recorded"
    run = Run("discrim_eval", base / "discrim_eval")
    alphas(run, "recorded", ["real-1", "real-2"])
    alphas(run, "simulated", ["sim-fair"])
    run.table("kept", WIDE)
    run.save(answers_by_source={"recorded": 2468, "simulated": 1234})
    box = explorer({"factor": ["age"]}, lambda factor: show(pd.DataFrame({"chosen": [factor]})))
    told = "クリッペンドルフのアルファ measures Agreement" + " inside a row" * 20
    hostile, words = pd.DataFrame({"要因": [HOSTILE]}), {"alt": "Deviations by age"}
    cells = [
        new_markdown_cell("# 01 · A title 題名\n\nAs notebook 00 says, $x^2$. " + HOSTILE),
        new_markdown_cell(f"## 1 · Agreement 一致度\n\n{told}"),
        new_code_cell("# Parameters\nx = 1", metadata={"tags": ["injected-parameters"]}),
        new_code_cell('run.keep("alpha", alpha, "DE-24")', outputs=[shown(show(hostile, caption="Alpha"))]),
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


class Site(NamedTuple):
    """The folder of the pages, the pages by file name, and what Sphinx warned of."""

    folder: Path
    pages: dict
    warnings: list


@pytest.fixture(scope="module")
def site(base):
    """The pages of the run, made with no other program within reach."""
    environment.setup_site()
    warnings = []
    build = site_module.build

    def listening(source, target):
        if source.parent.name == ".en":
            command = [
                sys.executable,
                "-m",
                "sphinx",
                "-qb",
                "gettext",
                source,
                base.parent / "pot",
            ]
            subprocess.run(command, capture_output=True, check=True)
        warnings.extend(build(source, target))
        return warnings

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KATAYORI_OUTPUTS", str(base.parent))
        patch.setenv("PATH", "")
        patch.setattr(site_module, "build", listening)
        patch.setattr(site_module, "_scripts", lambda papers: {})
        assert cli.main(["site", "--no-interface"]) == 0
    return Site(base / "site", read(base / "site"), warnings)


@pytest.fixture(scope="module")
def japanese(site):
    """The same pages in Japanese, of a run that was made in English alone."""
    return Site(site.folder / "ja", read(site.folder / "ja"), site.warnings)


def read(folder):
    return {
        path.name: BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in folder.glob("*.html")
    }


def article(site, name):
    """What a page says, without what all pages share."""
    return site.pages[name].find("article")


def test_sphinx_has_nothing_to_warn_of(site):
    assert site.warnings == []


def links(page):
    """Every address that a page names, with the tag that names it."""
    for tag in page.find_all(True):
        for name in ("href", "src", "action"):
            if name in tag.attrs:
                yield tag, tag[name]


def test_every_page_is_there_in_both_languages_and_leads_to_the_other(site, japanese):
    assert {*site.pages} == {*japanese.pages} and len(site.pages) > 40
    for pages, spoken, before, other in (
        (site.pages, "en", "ja/", "日本語"),
        (japanese.pages, "ja", "../", "English"),
    ):
        for name, page in pages.items():
            assert page.html["lang"] == spoken, name
            switches = page.select("a.language")  # in the head, and in the list of small windows
            assert {(one["href"], one.get_text()) for one in switches} == {(before + name, other)}


def test_catalogues_have_every_text_of_the_pages(base, site):
    """What Sphinx finds to translate is there in Japanese, and nothing else is.

    The page of functions is not made here; `test_language_pages` looks at its texts.
    """
    folder = paths.data_dir() / "locale/ja/LC_MESSAGES/pages"
    pages = {path.stem for path in site_module.TEXTS.glob("*.md")} - {"interface"}
    pages |= {*site_module.ELSEWHERE, *paper_ids(), "models"}
    assert {path.stem for path in folder.glob("*.po")} == pages | {"interface", "sphinx"}
    for name in pages:
        texts, ours = (
            {str(one.id) for one in read_po(path.open(encoding="utf-8")) if one.id}
            for path in (base.parent / "pot" / f"{name}.pot", folder / f"{name}.po")
        )
        texts = {one for one in texts if not one.startswith("These pages show the run")}
        assert (texts - ours, ours - texts) == (set(), set()), name


def test_pages_of_a_run_that_was_not_made_in_japanese_say_how_to_make_it(japanese):
    for name in ("01_discrim_eval.html", "discrim_eval.html"):
        told = article(japanese, name).get_text()
        assert "PAPERS=discrim_eval PROFILE=recorded KATAYORI_LANG=ja" in told, name
        assert "まだここでは実行していません" in told, name


@pytest.mark.parametrize("language", ["site", "japanese"])
def test_every_link_leads_to_an_anchor_that_is_there_and_nothing_is_fetched_elsewhere(
    request, language
):
    folder, pages, _ = request.getfixturevalue(language)
    leads = 0
    for name, page in pages.items():
        for tag, address in links(page):
            file, _, anchor = address.partition("#")
            file = file.partition("?")[0]
            if urlsplit(file).scheme in ("http", "https"):  # to be followed by a reader only
                assert tag.name == "a", (name, tag)
                continue
            if file.startswith("data:image/") and tag.name == "img":
                continue
            assert not urlsplit(file).scheme and (folder / unquote(file or name)).is_file(), tag
            if anchor and file.endswith((".html", "")) and (file or name) in pages:
                assert pages[file or name].find(id=unquote(anchor)), (name, address)
            leads += 1
        for tag in page.find_all(True):
            active = [one for one in tag.attrs if one.startswith("on")]
            assert not active and not {"srcset", "srcdoc", "poster", "background"} & set(tag.attrs)
            assert "url(" not in tag.get("style", "")
        assert not page.find_all(["iframe", "object", "embed", "base", "video", "audio"])
        assert {form["action"] for form in page.find_all("form")} <= {"search.html", "", "#"}
    assert leads > 1000


def test_no_style_or_script_of_the_pages_names_another_place(site):
    for path in (site.folder / "_static").rglob("*.css"):
        text = path.read_text("utf-8")
        targets = re.findall(r"url\(\s*[\"']?([^)\"']*)", text)
        assert not [one for one in targets if re.match(r"(https?:)?//", one)], path
        assert not re.search(r"@import\s+(url\()?[\"']?(https?:)?//", text), path


def test_every_page_has_a_policy_that_names_its_scripts(site, japanese):
    for name, page in [*site.pages.items(), *japanese.pages.items()]:
        first = page.head.find(True)
        assert first["http-equiv"] == "Content-Security-Policy", name
        rules = dict(one.strip().split(" ", 1) for one in first["content"].split(";"))
        assert rules["default-src"] == rules["base-uri"] == "'none'"
        assert "unsafe" not in rules["script-src"] and "http" not in first["content"]
        assert rules["script-src"].startswith("'self' file: 'sha256-")
        inside = [tag.string for tag in page.find_all("script") if not tag.get("src")]
        assert inside and all(_source(code) in rules["script-src"] for code in inside)
        assert not article(site, name) or not article(site, name).find_all("script")


def test_outputs_of_a_notebook_stand_below_their_cells(site):
    page = article(site, "01_discrim_eval.html")
    outputs = page.select("div.cell_output")
    assert [img["alt"] for img in page.select(".cell_output img:not(.formula)")] == [
        "Deviations by age",
        "Figure",
    ]
    for img in page.select(".cell_output img:not(.formula)"):  # a tap lets it grow
        link = img.find_parent("a")  # to the file, where Sphinx knows the width
        assert link["href"] == img["src"] if link else img["tabindex"] == "0"
    shown = "".join(one.get_text() for one in outputs)
    assert HOSTILE in shown and "chosen" in shown  # the words; the widget's fallback
    region = page.select_one("div.scroll")
    assert region["tabindex"] == "0" and region["aria-label"] == "Alpha"
    contents = site.pages["01_discrim_eval.html"].select_one(".bd-sidebar-secondary").get_text()
    assert "1 · Agreement 一致度" in contents
    assert "2,468 recorded answers" in page.select_one("div.banner").get_text()


def test_a_papers_page_shows_the_headlines_of_its_run(site):
    page = article(site, "discrim_eval.html")
    rows = page.find(id="what-it-found-here").select("tbody tr")
    cells = [[td.get_text() for td in row.find_all("td")] for row in rows]
    assert {row[2] for row in cells} == {"real-1", "real-2"}  # who was asked speaks
    assert cells[0][0] == "agreement over age (alpha)" and "recorded" in cells[0]
    assert "0.123 [0.100, 0.200]" in cells[0] and "1234" in cells[0]
    assert len(page.find(id="the-method").ol.find_all("li")) == 5 and page.find("p", lang="ja")
    assert len(page.find(id="what-it-cannot-see").find_all("li")) == 3
    assert "make reproduce PAPERS=discrim_eval" in page.find(id="how-to-run-it").get_text()


def test_papers_without_a_run_say_why(site):
    assert "Skipped: no answers <yet>" in article(site, "jubaku_v2.html").get_text()
    absent = article(site, "inter_jbbq.html").get_text()
    assert "Not run here yet: make reproduce PAPERS=inter_jbbq" in absent


@pytest.fixture
def without_sphinx(monkeypatch):
    """The sources themselves, the English ones, stand in for what Sphinx would make of them."""
    kept = {}

    def build(source, target):
        if source.parent.name == ".en":
            kept.update({path.name: path.read_text("utf-8") for path in source.glob("*.*")})
        target.mkdir()
        (target / "index.html").write_text("made")
        return []

    monkeypatch.setattr(site_module, "build", build)
    return kept


def test_simulated_respondents_speak_where_nobody_was_asked_and_an_older_site_goes(
    base, tmp_path, monkeypatch, without_sphinx
):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    monkeypatch.setattr(site_module, "_scripts", lambda papers: {})
    shutil.copytree(base / "discrim_eval", tmp_path / "mine" / "discrim_eval")
    path = tmp_path / "mine" / "discrim_eval" / "results.json"
    rows = [row for row in json.loads(path.read_text()) if row["source"] == "simulated"]
    path.write_text(json.dumps(rows))
    assert cli.main(["site", "--profile", "mine"]) == 0
    assert "sim-fair" in without_sphinx["discrim_eval.ipynb"]
    (tmp_path / "mine/site/old.html").write_text("x")
    assert cli.main(["site", "--profile", "mine"]) == 0
    assert not (tmp_path / "mine/site/old.html").exists()
    assert not (tmp_path / "mine/.site").exists()


def test_a_run_that_is_not_there_is_one_clear_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    assert cli.main(["site", "--profile", "smoke"]) == 2
    told = "no notebook of the profile 'smoke' has been run: make reproduce PROFILE=smoke"
    assert told in capsys.readouterr().err


# -- the parts, without Sphinx ---------------------------------------------------------------------


def test_links_of_a_text_are_led_to_pages_and_code_stays(tmp_path):
    text = tmp_path / "a.md"
    text.write_text("[b](b.md#x) [n](no.yaml) [w](https://w)\n```\n[c](b.md)\n```\n[`b.md`](b.md)")
    pages = {(tmp_path / "b.md").resolve(): "page-b.md"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KATAYORI_ROOT", str(tmp_path))
        led = site_module.led(text, pages, tmp_path / "site")
    first, _, code, _, last = led.split("\n")
    assert first == "[b](page-b.md#x) n (`no.yaml`) [w](https://w)"
    assert code == "[c](b.md)" and last == "[`b.md`](page-b.md)"


@pytest.mark.parametrize(
    ("bad", "kept"),
    [
        ("<img src='https://x.example/a.png' alt='a'>", ""),
        ("<img src='//x.example/a.png'>", ""),
        ("<img src='pictures/a.png'>", '<img src="pictures/a.png">'),
        ("<img src='data:text/html,x'>", ""),
        ("<img src=x>", ""),
        ("<b title='a > <img>'>b</b>", '<b title="a &gt; &lt;img&gt;">b</b>'),
        ("<a href='javascript:x'>a</a>", "<a>a</a>"),
        ("<a href='own-data.html#a'>a</a>", '<a href="own-data.html#a">a</a>'),
        ("<b onclick=x>b</b><script>x</script><svg onload=x></svg>", "<b>b</b>"),
        ("<math onload=x><mi>x</mi></math>", ""),
        ("<form action=x><input></form>", ""),
    ],
)
def test_the_body_of_a_page_keeps_nothing_that_acts(bad, kept):
    environment.setup_site()
    from katayori_tools.site_sphinx import safe

    assert safe(bad) == kept


def _source(code):
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


FOLLOWED = (
    "```{eval-rst}\n.. include:: /secret\n```",
    "```{include} /secret\n```",
    "{download}`/secret` [words](/secret) ![words](/secret.png)",
    "### A {download}`/secret` [heading](/secret)",
)


@pytest.mark.parametrize("text", FOLLOWED)
def test_no_directive_role_or_link_of_a_run_reaches_sphinx(text, tmp_path):
    """Its headings come with every sign escaped, all other text as HTML that is made safe."""
    (tmp_path / "discrim_eval").mkdir()
    path = tmp_path / "discrim_eval" / "01_discrim_eval.ipynb"
    shown = new_output("display_data", data={"text/markdown": text, "text/plain": "x"})
    cells = [new_markdown_cell(f"# A title\n\n{text}"), new_code_cell("x", outputs=[shown])]
    nbformat.write(new_notebook(cells=cells), path)
    page = json.loads(site_module.notebook_page("discrim_eval", path))
    markdown = ["".join(one["source"]) for one in page["cells"] if one["cell_type"] == "markdown"]
    assert markdown[0] == "# A title"
    assert all(re.fullmatch(r"#+ (\\[!-/:-@\[-`{-~]|[\w\s])+", one) for one in markdown)
    outputs = [out for one in page["cells"] for out in one.get("outputs", ())]
    assert all(set(out["data"]) == {"text/html"} for out in outputs)
    assert len(outputs) >= 3  # banner, output and foot


# -- in a real browser -----------------------------------------------------------------------------


def look(tab, path, width):
    """What is wrong with one page at one width, as sentences."""
    wrong = []
    tab.open(path.as_uri(), width)
    beside = ("data:", path.parent.as_uri())
    wrong += [f"asks for {url[:80]}" for url in tab.asked if not url.startswith(beside)]
    wrong += [f"failed request: {failed}" for failed in tab.failed]
    wrong += [f"says ({level}) {text[:200]}" for level, text in tab.said if level != "log"]
    inner, wide = tab.js("[innerWidth, document.documentElement.scrollWidth]")
    if inner != width or wide > width:
        worst = tab.js(f"""[...document.querySelectorAll("body *")].filter(e => !e.closest("table, pre") &&
            e.getBoundingClientRect().right > {width}).map(e => e.outerHTML.slice(0, 120)).slice(0, 3)""")
        wrong.append(f"{wide} px wide in a window of {inner}: {worst}")
    tab.js("[...document.images].forEach(i => { i.loading = 'eager' })")
    tab.js("Promise.allSettled([...document.images].map(i => i.decode())).then(() => true)")
    nameless = tab.js("""[...document.images].filter(i => i.hasAttribute("src"))
        .filter(i => !i.alt.trim() || !i.complete || !i.naturalWidth)
        .map(i => i.outerHTML.slice(0, 120))""")
    wrong += [f"picture without words or not drawn: {one}" for one in nameless]
    narrow = """[...document.querySelectorAll("td")].filter(c => c.offsetWidth && c.offsetWidth < 150
        && c.innerText.length > 60).map(c => c.offsetWidth + " px for " + c.innerText.slice(0, 60))"""
    wrong += [f"squeezed text: {one}" for one in tab.js(narrow)]
    cut = f"""[...document.querySelectorAll(":is(p, li) > code")].filter(c => !c.closest("table, pre")
        && c.getBoundingClientRect().right > {width}).map(c => c.innerText)"""
    wrong += [f"cut at the right: {one}" for one in tab.js(cut)]
    return wrong


@pytest.mark.slow_all
@pytest.mark.browser
@pytest.mark.parametrize("language", ["site", "japanese"])
def test_every_page_is_sound_in_a_real_browser(request, language, tab):
    """At any width no request, message or overflow, no squeezed text, every picture drawn and named."""
    site, wrong, titles = request.getfixturevalue(language), {}, []
    for path in (site.folder / name for name in sorted(site.pages)):
        for width in (1280, 390, 1920):
            wrong[path.name, width] = look(tab, path, width)
        titles.append(tab.js("document.title"))
    assert {place: told for place, told in wrong.items() if told} == {}
    assert len(wrong) == 3 * len(site.pages) > 90
    assert "hit" not in titles  # the hostile text of the notebook did nothing


#: Barriers that stop a reader; axe calls others moderate or minor.
GRAVE = ("critical", "serious")
LOOKED_AT = ("index", "discrim_eval", "01_discrim_eval", "papers", "glossary", "search")
LOOKED_AT += ("models",)


@pytest.mark.slow_all
@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_pages_have_no_grave_barriers(site, tab, mode):
    """What axe finds for keyboards and readers of screens, in the light and in the dark."""
    media = [{"name": "prefers-color-scheme", "value": mode}]
    tab.call("Emulation.setEmulatedMedia", features=media)
    barriers = {}
    for name in LOOKED_AT:
        tab.open((site.folder / f"{name}.html").as_uri())
        assert tab.js("document.documentElement.dataset.theme") == mode
        if grave := [one for one in tab.barriers() if one[0] in GRAVE]:
            barriers[name] = grave
    tab.call("Emulation.setEmulatedMedia", features=[])
    assert barriers == {}


@pytest.mark.browser
def test_what_a_command_prints_keeps_its_columns_on_a_narrow_page(site, tab):
    """Lines that were broken at the edge hid which number stands below which name."""
    assert look(tab, site.folder / "own-model.html", 390) == []
    lines = """[...document.querySelectorAll("section > .highlight-text pre")].map(p =>
        p.innerText.trimEnd().split("\\n").length * parseFloat(getComputedStyle(p).lineHeight)
        + 2 * parseFloat(getComputedStyle(p).paddingTop) + 2 - p.clientHeight)"""
    gaps = tab.js(lines)
    assert gaps and all(abs(gap) < 12 for gap in gaps), gaps


@pytest.mark.browser
def test_search_in_a_real_browser(site, tab):
    """The form of any page finds English and Japanese; what was typed is never markup."""
    seen = {}
    made = set()
    typed = (
        "agreement",
        "1 一致度",
        "ペルソナ",
        "ｱﾙﾌｧ ",
        "ノイズ",
        "題",
        HOSTILE,
    )
    for words in (*typed, "nosuchword"):
        tab.open((site.folder / "index.html").as_uri(), 390)
        tab.forget()
        box = "document.querySelector('form[action=\"search.html\"] input[name=q]')"
        sent = f"{box}.value = {json.dumps(words)}; setTimeout(() => {box}.form.submit(), 0)"
        tab.js(sent)
        tab.loaded()
        tab.wait("document.querySelector('.search-summary, #search-results p')?.innerText"
                 ".match(/found|did not match/)")  # fmt: skip
        listed = "[...document.querySelectorAll('#search-results li a')].map(a => a.href)"
        seen[words] = [link.rpartition("/")[2] for link in tab.js(listed)]
        made.add(tab.js("document.querySelectorAll('article img').length + document.title"))
        assert not tab.errors, words
    wanted = {
        "agreement": "01_discrim_eval.html",
        "1 一致度": "01_discrim_eval.html",
        "ｱﾙﾌｧ ": "01_discrim_eval.html",
        "ノイズ": "index.html",
        "ペルソナ": "persona_jbbq.html",
        "題": "01_discrim_eval.html",
    }
    lost = [
        (words, seen[words])
        for words, page in wanted.items()
        if not any(link.partition("#")[0] == page for link in seen[words])
    ]
    assert lost == [] and seen["nosuchword"] == []
    assert len(made) == 1 and next(iter(made)).startswith("0")


@pytest.mark.browser
def test_search_in_japanese_pages(japanese, tab):
    """Words of the Japanese text are found, whichever width they are typed in, and it is said so."""
    found = {}
    for words in ("入れ替え検定", "ﾍﾟﾙｿﾅ", "Docker", "nosuchword"):
        tab.open((japanese.folder / "search.html").as_uri() + f"?q={quote(words)}", 390)
        said = tab.wait("document.querySelector('.search-summary')?.innerText")
        listed = "[...document.querySelectorAll('#search-results li a')].map(a => a.innerText)"
        found[words] = tab.js(listed)
        count = f"{len(found[words])}ページが見つかりました。"
        assert said == count or said.startswith("当てはまるページはありません"), said
        assert not tab.errors
    assert found["入れ替え検定"] and any("ペルソナ" in one for one in found["ﾍﾟﾙｿﾅ"]), found
    assert not found["nosuchword"]
