"""report.html: nothing from the network, no scripts, Japanese right, hostile output as text.

In a real browser too.
"""

import base64
import re
from io import BytesIO

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from one_row import add_row
from PIL import Image

from katayori.report.explorers import explorer
from katayori.report.run import Run
from katayori.report.tables import show, show_text
from katayori_tools import environment, pages
from katayori_tools.pages import write_report

pytest_plugins = ["browser"]

HOSTILE = (
    "<script>alert(1)</script>"
    "<img src='https://evil.example/x.png' onerror='alert(2)'>\x1b[31m赤\x1b[0m"
)
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)


def shown(value):
    data = {"text/plain": repr(value), "text/html": value._repr_html_()}
    return new_output("execute_result", data=data, execution_count=1)


@pytest.fixture
def page(tmp_path):
    """(folder, parsed page, its text) of a notebook with everything it may hold, good and bad."""
    box = explorer({"factor": ["age"]}, lambda factor: f"<p>chosen {factor}</p>")
    bundle = dict(box._repr_mimebundle_())
    script = {"application/javascript": "fetch('https://evil.example')", "text/plain": "js"}
    raw = f"{HOSTILE}<style>@import 'https://evil.example/a.css';</style>"
    raw += "<iframe src='https://evil.example'></iframe>"
    raw += "<p style='background: url(https://evil.example/b.png); color: darkred'>kept words</p>"
    raw += "<svg onload='x()'></svg>"
    raw += f"<a href='javascript:alert(3)'>link</a><img src='data:image/png;base64,{PIXEL}'>"
    cells = [
        new_markdown_cell(
            "# 偏りを測る\n\nThe ratio $r = \\frac{k}{n}$ and\n\n"
            "$$\\alpha = 1 - \\frac{D_o}{D_e}$$\n"
        ),
        new_markdown_cell(
            "Code `$x$`, unknown $\\nosuchcommand{x}$, ![out](https://evil.example/c.png), "
            + HOSTILE
        ),
        new_markdown_cell("![own](own.png) [source](https://example.org/paper) | text"),
        new_code_cell(
            "x = 1 < 2  # 比較",
            execution_count=1,
            outputs=[
                new_output("stream", text=HOSTILE),
                new_output("stream", name="stderr", text="careful"),
                shown(show(pd.DataFrame({"要因": [HOSTILE], "value": [0.5]}))),
                shown(show_text(HOSTILE, "Prompt")),
                new_output("display_data", data={"text/html": raw}),
                new_output("display_data", data=script),
                new_output(
                    "display_data",
                    data={"image/png": PIXEL},
                    metadata={"image/png": {"alt": "picture words"}},
                ),
                new_output(
                    "display_data",
                    data={"image/svg+xml": "<svg onload='x()'><script>y()</script></svg>"},
                ),
                new_output("display_data", data={"text/latex": "$z$", "text/plain": "plain z"}),
                new_output("display_data", data=bundle),
                new_output(
                    "display_data",
                    data={"application/vnd.jupyter.widget-view+json": {"model_id": "1"}},
                ),
                new_output(
                    "error",
                    ename="ValueError",
                    evalue="x",
                    traceback=["\x1b[31mValueError\x1b[0m: <b>x</b>"],
                ),
            ],
        ),
        new_code_cell("", execution_count=None),
    ]
    metadata = {
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"a": "</script>"}}}
    }
    run = Run("p", tmp_path)
    add_row(run, "DE-24", "alpha", 0.5, source="recorded")
    run.save(answers_by_source={"recorded": 9450, "simulated": 100})
    (tmp_path / "own.png").write_bytes(base64.b64decode(PIXEL))
    nbformat.write(new_notebook(cells=cells, metadata=metadata), tmp_path / "01.ipynb")
    path = write_report(tmp_path / "01.ipynb", tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    return tmp_path, BeautifulSoup(text, "html.parser"), text


def test_nothing_is_asked_of_the_network_and_nothing_runs(page):
    _, soup, text = page
    assert not soup.find_all(
        ["script", "iframe", "link", "object", "embed", "form", "svg", "base", "video", "audio"]
    )
    for tag in soup.find_all(True):
        assert not [
            a
            for a in tag.attrs
            if a.startswith("on") or a in ("srcset", "srcdoc", "poster", "action")
        ]
        assert tag.get("src", "data:image/").startswith("data:image/")
        assert re.match(r"#|https?://", tag.get("href", "#")) and "url(" not in tag.get("style", "")
    assert len(soup.find_all("style")) == 1
    assert all(u.startswith("data:font/") for u in re.findall(r"url\(([^)]*)", soup.style.string))
    assert "@import" not in text.replace("&lt;", "") and "evil.example/a.css" not in text
    policy = soup.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "http" not in policy


def test_language_banner_and_footer(page):
    _, soup, _ = page
    assert (
        soup.html["lang"] == "en"
        and soup.meta["charset"] == "utf-8"
        and soup.title.string == "偏りを測る"
    )
    banners = [b.get_text() for b in soup.select(".banner")]
    assert banners[0].startswith("9,450 recorded answers: given by a real model")
    assert banners[1].startswith("100 simulated answers: made by a program") and len(banners) == 2
    assert "Made 20" in soup.footer.get_text()
    assert (
        "src: url(data:font/ttf;base64," in soup.style.string
        and '"Noto Sans CJK JP"' in soup.style.string
    )


def test_words_stay_and_hostile_text_is_text(page):
    _, soup, _ = page
    words = soup.main.get_text()
    assert (
        words.count("<script>alert(1)</script><img src='https://evil.example/x.png'") == 3
    )  # stream, table, text
    for kept in (
        "偏りを測る",
        "kept words",
        "careful",
        "要因",
        "plain z",
        "chosen age",
        "ValueError: <b>x</b>",
        "赤",
    ):
        assert kept in words
    assert "Interactive in the notebook" in words
    assert "\x1b" not in words and "¶" not in words
    assert [i["alt"] for i in soup.find_all("img") if i.get("src", "").endswith(PIXEL)][
        -1
    ] == "picture words"
    assert soup.find("img", alt="own")["src"].startswith("data:image/png")
    assert not soup.find("img", alt="out").get("src")


def test_code_that_computes_is_open_and_formulas_are_pictures(page):
    _, soup, _ = page
    (code,) = soup.select("details.code")
    assert (
        code.has_attr("open")
        and code.summary.get_text() == "code"
        and "x = 1 < 2  # 比較" in code.get_text()
    )
    assert [i["alt"] for i in soup.select("img.formula")] == [
        "r = \\frac{k}{n}",
        "\\alpha = 1 - \\frac{D_o}{D_e}",
    ]
    assert {"$x$", "\\nosuchcommand{x}"} <= {c.get_text() for c in soup.find_all("code")}


def test_no_path_of_this_machine_is_in_the_page(tmp_path):
    cells = [
        new_code_cell(
            f"output_dir = {str(tmp_path)!r}", metadata={"tags": ["injected-parameters"]}
        ),
        new_code_cell(
            "x", outputs=[new_output("stream", text=f"written to {tmp_path}/tables/a.csv")]
        ),
    ]
    path = tmp_path / "x.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    before = path.read_bytes()
    text = write_report(path, tmp_path / "x.html").read_text(encoding="utf-8")
    assert (
        str(tmp_path) not in text
        and "output_dir" not in text
        and "written to ./tables/a.csv" in text
    )
    assert path.read_bytes() == before


@pytest.mark.browser
def test_in_a_browser_offline(page, tab):
    file = page[0] / "report.html"
    tab.open(file.as_uri())
    seen = tab.js("document.body.textContent")
    assert "偏りを測る" in seen and "要因" in seen and "9,450 recorded answers" in seen
    assert [asked for asked in tab.asked if not asked.startswith("data:")] == [file.as_uri()]
    assert (tab.failed, tab.said) == ([], [])
    control = page[0] / "control.html"  # the same check must notice a page that does ask
    control.write_text("<img src='https://evil.example/x.png'>")
    tab.open(control.as_uri())
    assert "https://evil.example/x.png" in tab.asked and tab.failed and tab.errors


@pytest.mark.parametrize(
    "source",
    [
        "a = agreement.alpha(long, value='yes')",
        "table = answers.groupby('model')['yes'].mean()\nshow(table)",
        "by_hand = 1 - observed / expected\nprint(by_hand)",
        "print([a * b for a, b in pairs])",
        "for row in rows:\n    print(row)",
        "found = found[found['p'] < 0.05]\nshow(found)",
        "title = f'{len(a)} of {len(b)}'\nrun.figure('x', found, title=title)",
        "forced = study.answers('de_answer_prefix')",
        "beyond = run.keep('beyond', beyond)",
        "def mean(rows):\n    return sum(rows) / len(rows)",
        "%matplotlib inline",
    ],
)
def test_a_cell_that_computes_is_open(source):
    assert pages.shows_method(new_code_cell(source))
    assert not pages.shows_method(new_code_cell(source, metadata={"tags": ["hide-input"]}))


@pytest.mark.parametrize(
    "source",
    [
        "run.figure(alpha)",
        "look = {'kind': 'dots', 'x': 'value'}\nrun.figure('a', alpha, **look, title='Alpha')",
        "terms = glossary('x')\nshow(terms, columns=[*terms.columns])",
        "import numpy as np",
        "run = Run('x', output_dir)\nanswers = run.open().answers('y')",
        "def draw(k):\n    return show(k + 1)\n\n\nplayground({'k': (1, 2)}, draw)",
        "explorer({'k': [1]}, look_up)",
        "my_answer = ...\ncheck(1, 1, my_answer)",
        "saved = run.save()\nprint(saved['rows'].sum())",
    ],
)
def test_a_cell_that_only_draws_or_sets_up_is_folded(source):
    assert not pages.shows_method(new_code_cell(source))


TALL = "".join(f"<tr><td>{k}</td></tr>" for k in range(13))


@pytest.fixture
def small(tmp_path):
    """The report of a picture of 700 pixels, a table of 13 rows and one of 12."""
    picture = BytesIO()
    Image.new("RGB", (1400, 300), "white").save(picture, format="png")
    data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
    about = {"image/png": {"width": 700, "height": 150, "alt": "A wide picture"}}
    short = TALL.replace("<tr><td>0</td></tr>", "")
    outputs = [new_output("display_data", data, metadata=about)]
    for rows in (TALL, short):
        outputs.append(new_output("display_data", {"text/html": f"<table>{rows}</table>"}))
    cells = [new_markdown_cell("# Title"), new_code_cell("f(x)", outputs=outputs)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "x.ipynb")
    return write_report(tmp_path / "x.ipynb", tmp_path / "x.html")


@pytest.mark.browser
def test_a_tap_or_a_key_shows_a_figure_in_its_full_size(small, tab):
    """On a telephone, without a script of the page's: it fits, it grows, and it fits again."""
    tab.open(small.as_uri(), 390)
    picture = "document.querySelector('img')"
    width = f"{picture}.getBoundingClientRect().width"
    whole = "document.documentElement.scrollWidth"
    assert tab.js(width) <= 358 and tab.js(whole) <= 390
    tab.js(f"{picture}.focus()")
    assert tab.js(width) == 1400 and tab.js(f"{picture}.parentElement.scrollWidth") >= 1400
    assert tab.js(whole) <= 390  # the box scrolls, not the page
    tab.js("document.activeElement.blur()")
    assert tab.js(width) <= 358
    tab.open(small.as_uri(), 1280)
    assert tab.js(width) == 700
    tab.press("Tab", 9)
    tab.press("Tab", 9)
    assert tab.js(width) == 1400


@pytest.mark.slow_all
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_has_no_barriers(page, small, tab, width):
    """What axe finds for keyboards and readers of screens, with a figure in its full size."""
    environment.setup_site()
    tab.call("Page.setBypassCSP", enabled=True)  # for axe itself
    found = {}
    for file in (page[0] / "report.html", small):
        tab.open(file.as_uri(), width)
        tab.js("document.querySelector('img[tabindex]').focus()")
        found[file.name] = tab.barriers()
    tab.call("Page.setBypassCSP", enabled=False)
    assert found == {file: [] for file in found}
