"""The explorer as a page: what it shows is what the functions of the notebooks give."""

import json
import random
from importlib.resources import files

import pandas as pd
import pytest
from bs4 import BeautifulSoup

from katayori.data import paper_facts
from katayori.errors import KatayoriError, UnavailableError
from katayori_tools import environment, exploring, papers, site, site_explorer
from katayori_tools.exploring import Explored, as_data, table_part, text_part

pytestmark = pytest.mark.slow_all  # the whole site is built

pytest_plugins = ["browser"]

#: Barriers that stop a reader, as axe finds them.
GRAVE = """axe.run().then(r => r.violations
    .filter(v => ["critical", "serious"].includes(v.impact))
    .map(v => [v.id, v.nodes[0].html.slice(0, 200)]))"""
HOSTILE = "<script>document.title='hit'</script><img src=x onerror=\"document.title='hit'\">"
#: Letters of a cell that tables show.
CELL = 300
#: All data of the page together.
MOST_BYTES = 1_500_000
#: Papers whose explorer is in their notebook only.
LACKING = {"discrim_eval", "persona_jbbq", "logprob_judge", "inter_jbbq"}


# -- views as data ---------------------------------------------------------------------------------


def small(values=(1, 2)):
    """Two controls; what is shown names both."""

    def look(model, case):
        return [
            text_part("Prompt", "the same"),
            text_part("Answer", f"{model} {case}"),
            table_part("Table", pd.DataFrame({"case": [case], "p": [0.00001]})),
        ]

    return Explored(
        "a few", {"model": [("m", "m"), ("o", "o")], "case": exploring.named(values)}, look
    )


def test_views_stand_in_order_and_equal_parts_once():
    data = as_data(small())
    answers = [data["parts"][view[1]]["text"] for view in data["views"]]
    assert answers == ["m 1", "m 2", "o 1", "o 2"]
    assert {view[0] for view in data["views"]} == {0} and len(data["parts"]) == 1 + 4 + 2
    assert data["controls"][1] == {"name": "case", "labels": ["1", "2"]}


def test_a_control_without_a_choice_and_too_many_views_are_refused():
    for values in ((), range(exploring.MOST_VIEWS)):
        with pytest.raises(KatayoriError, match="cannot show"):
            as_data(small(values))


def test_a_long_table_says_how_many_rows_are_left_and_controls_are_visible():
    part = table_part("T\x1b", pd.DataFrame({"text": ["a\x07"] * 20}), most=5)
    assert len(part["rows"]) == 5 and part["left_out"] == 15 and part["rows"][0] == ["a␇"]
    assert text_part("T", "a\u202e")["text"] == "a\\u202e"


def test_what_is_not_here_is_said(monkeypatch, tmp_path):
    class Absent:
        @staticmethod
        def explored():
            raise UnavailableError("no recorded answers <here>")

    monkeypatch.setattr(papers, "modules", lambda name: {"jubaku_v2": Absent})
    page = str(site_explorer.explorer_page(site_explorer.views(), tmp_path))
    assert "no recorded answers &lt;here&gt;" in page and "explorer-jubaku_v2" not in page
    assert "--no-explorer" in str(site_explorer.explorer_page({}, tmp_path))


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def views():
    """The views of all papers."""
    return site_explorer.views()


def write(folder, shown):
    environment.setup_site()
    return site.write_one(folder, lambda source: site_explorer.explorer_page(shown, source))


@pytest.fixture(scope="module")
def page(views, tmp_path_factory):
    return write(tmp_path_factory.mktemp("explorer") / "page", views)


def test_every_paper_has_views_of_recorded_answers_and_all_stay_small(views, page):
    assert set(views) == set(paper_facts.ids()) - LACKING
    assert all(isinstance(data, dict) for data in views.values())
    kept = [file.read_bytes() for file in (page.parent / "_static" / "explorer").glob("*.js")]
    assert len(kept) == 1 and sum(map(len, kept)) < MOST_BYTES
    text = json.dumps(views, ensure_ascii=False)
    assert "sim-" not in text and "/work/" not in text
    parsed = BeautifulSoup(page.read_text("utf-8"), "html.parser").article
    assert "Content notice." in parsed.blockquote.get_text()
    assert [box["id"] for box in parsed.select("div.explorer")] == [
        f"explorer-{paper}" for paper in paper_facts.ids() if paper not in LACKING
    ]
    told = [one.get_text() for one in parsed.select("p.missing")]
    for line, number in zip(told, ("01", "02", "03", "05"), strict=True):
        assert f"The explorer of notebook {number} is to be used in JupyterLab" in line


def test_what_is_shown_is_what_the_functions_of_the_notebooks_give():
    """The replies of one item of each paper, from `play.look_up` of its notebook."""
    rooms = papers.modules("explorer")
    compared = 0
    for room in rooms.values():
        asked = room.recorded()
        asked = asked[0] if isinstance(asked, tuple) else asked
        explored = room.explored()
        chosen = {name: options[-1][1] for name, options in explored.controls.items()}
        words = json.dumps(explored.look(**chosen), ensure_ascii=False)
        for text in room.play.look_up(asked, **chosen).answers.iloc[:, 1]:
            assert json.dumps(text[:CELL], ensure_ascii=False)[1:-1] in words, (room, text)
            compared += 1
    assert compared > 5


# -- in a real browser -----------------------------------------------------------------------------


def place_of(paper):
    return f"document.getElementById('explorer-{paper}')"


def opened(tab, page, width=1280):
    tab.open(page.as_uri(), width)
    tab.wait("!!document.querySelector('div.explorer select')")


def choose(tab, paper, places):
    """Chooses by the places in the dropdowns, as a reader does."""
    tab.js(f"""[...{place_of(paper)}.querySelectorAll('select')].forEach((one, n) => {{
        one.selectedIndex = {json.dumps(places)}[n];
        one.dispatchEvent(new Event('change', {{bubbles: true}}))
    }})""")


SHOWN = """[...PLACE.querySelector('.view').children].map(box => {
    const table = box.querySelector('table');
    if (!table) return {title: box.querySelector('p').textContent,
                        text: box.querySelector('pre').textContent};
    const cells = row => [...row.cells].map(cell => cell.textContent);
    return {title: table.caption.textContent, heads: cells(table.tHead.rows[0]),
            rows: [...table.tBodies[0].rows].map(cells)}
})"""


@pytest.mark.browser
def test_the_page_shows_what_python_computes_for_thirty_choices(page, tab):
    """Drawn with a seed over all papers; the parts are computed anew by `look`."""
    rng = random.Random(20251121)
    rooms = papers.modules("explorer")
    opened(tab, page)
    for number in range(30):
        paper = list(rooms)[number % len(rooms)]
        explored = rooms[paper].explored()
        places = [rng.randrange(len(options)) for options in explored.controls.values()]
        choose(tab, paper, places)
        options = zip(explored.controls.items(), places, strict=True)
        chosen = {name: values[place] for (name, values), place in options}
        parts = explored.look(**{name: value for name, (_, value) in chosen.items()})
        wanted = [{k: v for k, v in part.items() if k != "left_out"} for part in parts]
        assert tab.js(SHOWN.replace("PLACE", place_of(paper))) == wanted, (paper, chosen)
        status = tab.js(f"{place_of(paper)}.querySelector('[role=status]').textContent")
        told = "; ".join(f"{name}: {label}" for name, (label, _) in chosen.items())
        assert status == f"Shown for {told}"
    assert tab.errors == [] and all(url.startswith(("file:", "data:")) for url in tab.asked)


@pytest.mark.browser
def test_the_keys_alone_change_what_is_shown(page, tab):
    opened(tab, page)
    place = place_of("jubaku_v2")
    tab.js(f"{place}.querySelector('select').focus()")
    before = tab.js(f"{place}.querySelector('.view').innerText")
    label = tab.js(f"{place}.querySelector('select').labels[0].textContent")
    tab.press("ArrowDown", 40)
    tab.wait(f"{place}.querySelector('.view').innerText !== {json.dumps(before)}")
    assert label == "case"
    second = tab.js(f"{place}.querySelector('select').options[1].text")
    told = tab.js(f"{place}.querySelector('[role=status]').textContent")
    assert second in told


@pytest.mark.browser
def test_hostile_answers_are_text(tmp_path, tab):
    """A model's answer, a label and a title that look like HTML do nothing and are shown whole."""
    frame = pd.DataFrame({HOSTILE: [HOSTILE, "</script><script>document.title='hit'</script>"]})
    parts = [text_part(HOSTILE, HOSTILE), table_part(HOSTILE, frame)]
    hostile = as_data(Explored(HOSTILE, {HOSTILE: [(HOSTILE, 1)]}, lambda **of: parts))
    page = write(tmp_path / "hostile", {"jubaku_v2": hostile})
    opened(tab, page)
    place = place_of("jubaku_v2")
    assert tab.js(f"{place}.querySelector('pre').textContent") == HOSTILE
    assert tab.js(f"[...{place}.querySelectorAll('td')].map(one => one.textContent)")[0] == HOSTILE
    assert tab.js(f"{place}.querySelectorAll('script, img').length") == 0
    assert tab.js("document.title") != "hit" and tab.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_page_is_sound_at_any_width_and_has_no_grave_barrier(page, tab, mode):
    script = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    media = [{"name": "prefers-color-scheme", "value": mode}]
    tab.call("Emulation.setEmulatedMedia", features=media)
    for width in (1280, 390):
        opened(tab, page, width)
        assert tab.js("document.documentElement.scrollWidth") <= width
        tab.js(f"{script}; true")
        grave = tab.js(GRAVE)
        assert grave == []
    tab.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.browser
def test_print_shows_the_view_and_for_what_and_no_controls(page, tab):
    opened(tab, page)
    tab.call("Emulation.setEmulatedMedia", media="print")
    shown = "name => getComputedStyle(document.querySelector(`.explorer ${name}`)).display"
    assert tab.js(f"['.choices', '.shown-for', '.view'].map({shown})") == ["none", "block", "block"]
    tab.call("Emulation.setEmulatedMedia", media="")
