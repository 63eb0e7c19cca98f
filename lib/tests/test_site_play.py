"""Playgrounds of the pages: their states are what the notebooks' own cells show."""

import doctest
import json
from itertools import product

import pytest
from bs4 import BeautifulSoup

from katayori_tools import environment, notebooks, pages, site

pytest_plugins = ["browser"]

#: A notebook of one slider and what its cells draw.
CELLS = [
    "import math\nunused = math.nowhere",
    "from katayori.report.run import Run\nfrom katayori.report.explorers import playground",
    "from katayori.report.tables import show\nimport pandas as pd\nfactor = 2\nother = 1 / 0",
    "def doubled(a):\n    return factor * a",
    """def draw(a, b_of_it):
    frame = pd.DataFrame({"value": [doubled(a) + b_of_it], "name": ["<b>"]})
    picture = Run("x").figure("", frame, kind="dots", x="value", row="name", title=f"a {a:g}")
    return [show(frame, columns=["name", "value"], caption="Twice"), picture]


sliders = {"a": (0, 4, 1, 1), "b_of_it": (0.0, 1.0, 0.5, 0.0)}
playground(sliders, draw)""",
]
ARROWS = {"ArrowRight": 39, "ArrowLeft": 37}


def test_examples_of_docstrings():
    assert doctest.testmod(site).failed == 0


def test_only_what_the_last_cell_needs_is_run():
    code = site.sliced(CELLS)
    assert "nowhere" not in code and "1 / 0" not in code and "factor = 2" in code
    assert code.index("factor = 2") < code.index("def doubled") < code.index("def draw")
    assert site.sliced(["a = 1", "a = a + 1", "print(a)"]) == "a = 1\na = a + 1\nprint(a)"


@pytest.mark.parametrize("most", [1, 2, 7, 60, 500])
def test_a_grid_holds_the_start_and_keeps_within_the_sliders(most):
    sliders = {"a": (0, 4, 1, 1), "b": (0.0, 1.0, 0.25, 1.0), "c": (5, 70, 5, 20)}
    values = site.grid(sliders, most)
    assert len(list(product(*values.values()))) <= most
    for name, (low, high, step, start) in sliders.items():
        own = values[name]
        assert own == sorted(set(own)) and start in own and low <= own[0] and own[-1] <= high
        assert all(((one - low) / step) == pytest.approx(round((one - low) / step)) for one in own)


def test_states_are_what_draw_shows(tmp_path):
    made = site.states(site.sliced(CELLS), 15)
    assert [one["name"] for one in made["sliders"]] == ["a", "b_of_it"]
    assert [len(one["values"]) for one in made["sliders"]] == [5, 3]
    assert [one["values"][one["start"]] for one in made["sliders"]] == [1, 0.0]
    shown = [BeautifulSoup(one["html"], "html.parser").select("td") for one in made["states"]]
    wanted = [2 * a + b for a, b in product(range(5), (0.0, 0.5, 1.0))]
    assert [float(cells[1].get_text()) for cells in shown] == wanted
    assert all(cells[0].get_text() == "<b>" for cells in shown)
    assert made["states"][-1]["alt"] == "a 4" and made["states"][-1]["svg"].startswith("<?xml")


def of_notebooks():
    found = {paper: site.program(path) for paper, path in notebooks.registry().items()}
    return {paper: code for paper, code in found.items() if code}


def words(markup):
    return " ".join(BeautifulSoup(markup, "html.parser").get_text(" ").split())


@pytest.mark.parametrize("paper", notebooks.registry())
def test_the_start_is_what_the_committed_notebook_shows(paper):
    """The program cut out of the notebook gives the table that the whole notebook gave."""
    [state] = site.states(of_notebooks()[paper], 1)["states"]
    cells = pages.load(notebooks.registry()[paper]).cells
    [cell] = [one for one in cells if site.CALL in one.source]
    shown = "".join(one.get("data", {}).get("text/html", "") for one in cell.outputs)
    assert words(state["html"]) and words(shown).startswith(words(state["html"]))
    assert state["alt"] in shown and state["svg"]


# -- in a real browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with the playground of `CELLS`, made by Sphinx."""
    environment.setup_site()
    markup = '<div class="playground" id="playground-small"><p>START</p></div>'
    source = site.page([site.new_markdown_cell("# Page"), site.html(markup)])
    script = site.script("small", site.sliced(CELLS))
    folder = tmp_path_factory.mktemp("site") / "site"
    return site.write_pages(folder, {}, {"index": source}, {"small": script})


@pytest.fixture
def opened(page, tab):
    tab.open(page.as_uri())
    return tab


PLACE = "document.querySelector('.playground')"
SEEN = f"""[[...{PLACE}.querySelectorAll('input')].map(i => i.getAttribute('aria-valuetext')),
    {PLACE}.querySelectorAll('td')[1].innerText, {PLACE}.querySelector('img').alt]"""


@pytest.mark.browser
def test_every_state_is_picked_by_its_sliders(opened):
    assert "START" not in opened.js(f"{PLACE}.innerText")
    for a, b in product(range(5), (0, 0.5, 1)):
        opened.js(f"""[{a}, {2 * b}].forEach((value, k) => {{
            const slider = {PLACE}.querySelectorAll('input')[k];
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
        }})""")
        values, shown, alt = opened.js(SEEN)
        assert [float(one) for one in values] == [a, b]
        assert (float(shown), alt) == (2 * a + b, f"a {a}")
    opened.wait(f"{PLACE}.querySelector('img').naturalWidth > 0")
    assert [text for level, text in opened.said if level != "log"] == [] and opened.failed == []
    assert [url[:80] for url in opened.asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.browser
def test_sliders_have_names_and_move_with_the_keys(opened):
    labels = f"[...{PLACE}.querySelectorAll('input')].map(i => i.labels[0].innerText)"
    assert opened.js(labels) == ["a", "b of it"]
    before = opened.js(SEEN)
    opened.js(f"{PLACE}.querySelector('input').focus()")
    for key in ("ArrowRight", "ArrowLeft"):
        opened.press(key, ARROWS[key])
        opened.wait(f"{json.dumps(before)}.toString() {'!=' if key[5] == 'R' else '=='}= {SEEN}+''")
    assert opened.js(SEEN) == before
