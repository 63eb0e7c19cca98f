"""Reports on paper: no column is lost on A4, nothing is cut in two, and the sections are listed."""

import base64
import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from katayori import paths
from katayori_tools import notebooks
from katayori_tools.pages import write_report

pytest_plugins = ["browser"]

# Read before conftest takes KATAYORI_OUTPUTS away: where `make reproduce` has just written.
OUTPUTS = paths.outputs_dir()
#: A4 less the margins of print.css (12 mm on both sides), in CSS pixels.
WIDTH, HEIGHT = round((210 - 24) / 25.4 * 96), round((297 - 28) / 25.4 * 96)
#: Tables and pictures that are wider than the page, or than their own box, each with its words.
TOO_WIDE = """Array.from(document.querySelectorAll('table, pre, img, nav'))
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1
        || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible'
        || Array.from(one.querySelectorAll('td, th')).some(
            (cell) => cell.getBoundingClientRect().right > innerWidth + 1))
    .map((one) => one.tagName + ' ' + (one.caption || one).textContent.slice(0, 60))"""
TOO_TALL = """Array.from(document.querySelectorAll('img, tr'))
    .filter((one) => one.getBoundingClientRect().height > PAGE)
    .map((one) => one.tagName)"""
KEPT = """Array.from(document.querySelectorAll('tr, img'))
    .every((one) => getComputedStyle(one).breakInside === 'avoid')"""


def report_of(cells, folder):
    nbformat.write(new_notebook(cells=cells), folder / "01_x.ipynb")
    return write_report(folder / "01_x.ipynb", folder / "report.html")


def on_paper(tab, path):
    """Opens a report as it is laid out for A4."""
    tab.open(path.as_uri(), WIDTH, HEIGHT)
    tab.call("Emulation.setEmulatedMedia", media="print")


def printed(tab) -> bytes:
    made = tab.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
    return base64.b64decode(made["data"])


@pytest.mark.browser
@pytest.mark.slow  # it needs the run that `make test` makes first
@pytest.mark.parametrize("paper", notebooks.registry())
def test_no_column_of_a_report_is_lost_on_a4(paper, tab):
    on_paper(tab, OUTPUTS / "recorded" / paper / "report.html")
    assert tab.js("document.querySelectorAll('table').length") > 3
    assert tab.js(TOO_WIDE) == []
    assert tab.js(TOO_TALL.replace("PAGE", str(HEIGHT))) == [] and tab.js(KEPT)
    pdf = printed(tab)
    boxes = set(re.findall(rb"/MediaBox ?\[([^\]]*)\]", pdf))
    assert {tuple(round(float(x)) for x in box.split()) for box in boxes} == {(0, 0, 595, 842)}


WIDE = "<table><tr>" + "<th>a_long_column_name</th>" * 16 + "</tr></table>"


@pytest.mark.browser
def test_a_column_that_leaves_the_page_is_noticed(tab, tmp_path):
    """The control of the test above: the same wide table, with and without the print style."""
    output = new_output("display_data", {"text/html": WIDE})
    path = report_of([new_markdown_cell("# x"), new_code_cell("t", outputs=[output])], tmp_path)
    on_paper(tab, path)
    assert tab.js(TOO_WIDE) == []
    tab.call("Emulation.setEmulatedMedia", media="screen")
    assert len(tab.js(TOO_WIDE)) == 1


def test_a_report_lists_its_sections(tmp_path):
    texts = ["# T", "## 1 · First 最初", "### Not listed", "## 2 · A <b>& b", "## 3 · Last"]
    cells = [new_markdown_cell(text) for text in texts]
    page = BeautifulSoup(report_of(cells, tmp_path).read_text(encoding="utf-8"), "html.parser")
    links = page.select("nav.contents a")
    assert [link.get_text() for link in links] == ["1 · First 最初", "2 · A & b", "3 · Last"]
    for link in links:
        target = page.find(id=link["href"].removeprefix("#"))
        assert target.name == "h2" and target.get_text().startswith(link.get_text()[:3])
