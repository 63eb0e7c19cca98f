"""The talks: what a notebook's cells say of slides, the page made of them, and it in a browser."""

import base64
import hashlib
import json
import re
import shutil

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools.cli import main
from katayori_tools.slides import fill, slides_of, write_talk

pytest_plugins = ["browser"]

BOOKS = sorted((paths.root() / "notebooks").glob("*.ipynb"))
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)
TABLE = (
    "<table><caption>Rows</caption><thead><tr><th>k</th></tr></thead><tbody>"
    + "\n".join(f"<tr><td>row {k}</td></tr>" for k in range(1, 10))
    + "</tbody></table>"
)
WIDGET = f'<p>words</p><img alt="of a widget" src="data:image/png;base64,{PIXEL}">{TABLE}'


def data(**bundle):
    return new_output("display_data", {k.replace("_", "/", 1): v for k, v in bundle.items()})


def slide(headline="Message", **more):
    return {"headline": headline, "notes": "Say it.", "minutes": 2} | more


def tagged(cell, *slides, tags=()):
    cell.metadata |= {"tags": ["slide", *tags], "talk": list(slides)}
    return cell


def cells():
    """One of each kind of cell that a talk takes slides from."""
    words = "alpha 0.533\nsim-hump  0.01 [-0.10, 0.12]  3%\n"
    stream = new_output("stream", text=words)
    picture = new_output(
        "display_data", {"image/png": PIXEL}, metadata={"image/png": {"alt": "a picture"}}
    )
    return [
        tagged(new_markdown_cell("# Title 偏り"), slide("Is it bias?", kind="title")),
        new_markdown_cell("## 1 · Section 節\n\nUnseen text."),
        tagged(
            new_code_cell("by_hand = 1", outputs=[stream]),
            slide(
                "Alpha is {{alpha}}",
                show="code",
                find={"alpha": r"^alpha ([0-9.]+)$"},
                otherwise="Alpha by hand",
                body="$a^2$ <script>alert(1)</script>",
            ),
            slide("How many?", kind="question"),
        ),
        tagged(new_code_cell("draw()", outputs=[picture]), slide(show="figure", source="answers")),
        tagged(
            new_code_cell("show()", outputs=[data(text_html=TABLE)]),
            slide("Three rows", show="table", source="published", rows=[1, 3, 99]),
        ),
        tagged(
            new_code_cell("play()", outputs=[data(text_html=WIDGET)]),
            slide("Play", show="figure", source="simulated"),
            tags=["recorded"],
        ),
    ]


# -- what stands in a cell -------------------------------------------------------------------------


def test_slides_are_filled_from_the_run():
    filled = fill(cells())
    assert [one.metadata.headline for one in filled] == [
        "Is it bias?",
        "Alpha is 0.533",
        "How many?",
        "Message",
        "Three rows",
        "Play",
    ]
    assert [one.metadata.section for one in filled] == ["", *["1"] * 5]
    assert filled[1].source == "by_hand = 1" and filled[1].outputs[0]["name"] == "stdout"
    table = filled[4].outputs[0]["data"]["text/html"]
    assert re.findall(r"row \d", table) == ["row 1", "row 3"] and "<th>k</th>" in table
    assert "of a widget" in filled[5].outputs[0]["data"]["text/html"]


def test_a_slide_shows_the_lines_of_code_and_the_columns_that_it_names():
    code = new_code_cell("a = 1\nb = 2\nc = 3")
    filled = fill([tagged(code, slide(show="code", rows=[1, 3]))])[0]
    assert filled.source == "a = 1\nc = 3"
    wide = "<table><thead><tr><th>k</th><th>n</th></tr></thead><tbody>"
    wide += "<tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></tbody></table>"
    cell = tagged(
        new_code_cell("t()", outputs=[data(text_html=wide)]),
        slide(show="table", source="answers", rows=[2], columns=[2]),
    )
    table = BeautifulSoup(fill([cell])[0].outputs[0].data["text/html"], "html.parser")
    assert [one.get_text() for one in table.select("th, td")] == ["n", "4"]


def test_what_a_run_does_not_have_is_left_out():
    changed = cells()
    changed[3].outputs = []
    assert len(fill(changed)) == 5
    filled = fill(changed, frozenset({"recorded"}))
    assert [one.metadata.headline for one in filled][-1] == "Three rows"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"headline": "", "show": "nothing"}, "needs a headline"),
        ({"minutes": 0}, "minutes must be above 0"),
        ({"show": "table"}, "must name its source"),
        ({"find": {"a": "(x"}}, "find"),
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"rows": [0], "show": "table", "source": "answers"}, "rows"),
    ],
)
def test_wrong_metadata_gets_one_line(change, named):
    cell = tagged(new_markdown_cell("x", id="here"), slide() | change)
    with pytest.raises(KatayoriError, match=re.escape(named)) as error:
        slides_of(cell)
    assert str(error.value).startswith("cell here, metadata talk: ")
    assert "\n" not in str(error.value)


# -- the talks that are committed ------------------------------------------------------------------


def committed(book):
    return fill(nbformat.read(book, as_version=4).cells)


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_a_committed_talk_can_be_given_in_ninety_minutes(book):
    filled = committed(book)
    told = [cell.metadata for cell in filled]
    assert 20 <= len(told) <= 25
    kinds = [one.kind for one in told]
    assert kinds.count("question") == 2 and kinds.count("title") == 1 and kinds[0] == "title"
    assert sum(one.minutes for one in told) <= 90
    assert max(len(one.headline) for one in told) <= 100
    assert not [one for one in told if "—" in one.headline + one.body + one.notes]
    listed = [one for cell in nbformat.read(book, as_version=4).cells for one in slides_of(cell)]
    assert len(listed) == len(told) and all(one.otherwise for one in listed if one.find)
    plan = (paths.root() / "notebooks/teaching-plan.md").read_text("utf-8")
    asked = [one.headline for one in told if one.kind == "question"]
    assert '**Ask.** "{}" and "{}"'.format(*asked).replace("“unknown”", "*unknown*") in plan
    tables = [
        out.data["text/html"]
        for c, t in zip(filled, told, strict=True)
        for out in c.outputs
        if t.show == "table"
    ]
    assert all(sum("<td" in row for row in table.split("<tr")) <= 8 for table in tables)


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """(file, parsed page, what was said) of the talk of a small notebook."""
    folder = tmp_path_factory.mktemp("talk")
    nbformat.write(new_notebook(cells=cells()), folder / "01_discrim_eval.ipynb")
    path = folder / "01_discrim_eval.html"
    told = write_talk(path.with_suffix(".ipynb"), path)
    return path, BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser"), told


def test_a_slide_has_its_message_its_exhibit_and_notes_with_minutes(page):
    _, soup, told = page
    slides = soup.select("main > section.slide")
    assert len(slides) == 6 and told == "01_discrim_eval: 6 slides, 12 minutes"
    assert [one.h1.get_text() for one in slides][:2] == ["Is it bias?", "Alpha is 0.533"]
    assert all(len(one.select(".face > .label, .notes")) >= 1 for one in slides)
    notes = [one.select_one(".notes").get_text(" ", strip=True) for one in slides]
    assert notes[2] == "Slide 3 of 6 · minutes 4 to 6 of 12 Say it."
    assert slides[3].select_one(".exhibit img")["alt"] == "a picture"
    assert "by_hand = 1" in slides[1].select_one(".exhibit").get_text()
    assert slides[1].select_one("img.formula")["alt"] == "a^2"
    assert [row.get_text() for row in slides[4].select("td")] == ["row 1", "row 3"]
    assert slides[5].select_one(".exhibit img") and not slides[5].table
    assert "question" in slides[2]["class"] and "Unseen" not in soup.main.get_text()


def test_a_run_names_the_source_of_its_answers_and_leaves_out_the_recorded(page, tmp_path):
    book = tmp_path / "01_discrim_eval.ipynb"
    shutil.copy(page[0].with_suffix(".ipynb"), book)
    about = {"answers": {"live": 9, "simulated": 3}}
    (tmp_path / "provenance.json").write_text(json.dumps(about))
    write_talk(book, tmp_path / "x.html")
    soup = BeautifulSoup((tmp_path / "x.html").read_text(encoding="utf-8"), "html.parser")
    labels = [one.get_text() for one in soup.select(".label")]
    assert len(labels) == 5 and labels[3].startswith("live answers · ")


def test_the_title_names_the_paper(page):
    words = page[1].select_one(".title").get_text("\n")
    assert "Tatsuhiro Aoshima, Mitsuaki Akiyama: Towards Quantifying" in words
    assert "(2025)" in words


def test_only_our_script_may_run_in_a_talk(page):
    """The page's policy names the script by its hash; everything else stays forbidden."""
    path, soup, _ = page
    digest = base64.b64encode(hashlib.sha256(soup.script.string.encode()).digest()).decode()
    policy = soup.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    assert "default-src 'none'" in policy and policy.endswith(f"script-src 'sha256-{digest}'")
    assert len(soup.find_all("script")) == 1
    assert "<script>alert(1)" not in path.read_text(encoding="utf-8")


def test_make_slides_takes_committed_notebooks_or_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    assert main(["slides", "--papers", "discrim_eval"]) == 0
    text = (tmp_path / "slides" / "01_discrim_eval.html").read_text(encoding="utf-8")
    assert "Towards Quantifying" in text and "25 slides, " in capsys.readouterr().out
    assert main(["slides", "--papers", "discrim_eval", "--profile", "smoke"]) == 2
    assert "profile smoke holds no run of discrim_eval" in capsys.readouterr().err
    run = tmp_path / "smoke" / "discrim_eval"
    run.mkdir(parents=True)
    shutil.copy(paths.root() / "notebooks" / "01_discrim_eval.ipynb", run)
    assert main(["slides", "--papers", "discrim_eval", "--profile", "smoke"]) == 0
    assert main(["slides", "--profile", "smoke"]) == 0  # those that were run
    made = [path.name for path in (tmp_path / "slides" / "smoke").iterdir()]
    assert made == ["01_discrim_eval.html"]
    assert main(["slides", "--profile", "../smoke"]) == 2


# -- in a browser ----------------------------------------------------------------------------------

TURN = "document.getElementById('turn').textContent"
SHOWN = "Array.from(document.querySelectorAll('.slide')).findIndex(one => !one.hidden) + 1"
NOTES = "Array.from(document.querySelectorAll('.notes')).filter(one => one.offsetHeight).length"
#: Of each slide: whether something is cut off, its smallest letters, those of its code, and how
#: many times the size of the notebook its picture has.
SEEN = """Array.from(document.querySelectorAll('.slide'), (slide) => {
    slide.hidden = false;
    const face = slide.querySelector('.face');
    const parts = [face, ...face.querySelectorAll('.exhibit')];
    const smallest = (of) => Math.min(100, ...Array.from(face.querySelectorAll(of),
        (one) => parseFloat(getComputedStyle(one).fontSize)));
    const cut = parts.some((one) =>
        one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1);
    const picture = face.querySelector('img:not(.formula)');
    const [wide, high] = picture ? [picture.naturalWidth, picture.naturalHeight] : [1, 1];
    const scale = picture
        ? 2 * Math.min(picture.clientWidth / wide, picture.clientHeight / high) : 2;
    slide.hidden = true;
    return [cut, smallest('h1, p:not(.label), li, td, th, pre'), smallest('.highlight pre'), scale];
})"""


def opened(tab, path, width=1280, height=720):
    tab.open(path.as_uri(), width, height)
    return tab.wait(TURN)


@pytest.mark.browser
def test_a_talk_turns_its_slides_by_keys_and_shows_notes_by_a_key(page, tab):
    """From a file, without a request; N shows and hides the notes."""
    tab.open(page[0].as_uri() + "#2")
    assert (tab.wait(TURN), tab.js(SHOWN)) == ("2 / 6", 2)
    keys = [("ArrowRight", 39, 3), ("ArrowDown", 40, 4), ("ArrowLeft", 37, 3), ("Home", 36, 1)]
    for key, code, then in keys:
        tab.press(key, code)
        assert tab.js(SHOWN) == then
    assert tab.js(NOTES) == 0
    tab.press("n", 78)
    assert tab.js(NOTES) == 1
    tab.press("n", 78)
    assert tab.js(NOTES) == 0
    tab.press("End", 35)
    tab.press("ArrowRight", 39)
    assert tab.js(SHOWN) == 6 and tab.js("document.documentElement.scrollWidth <= innerWidth")
    assert tab.errors == [] and tab.failed == []
    assert [asked for asked in tab.asked if not asked.startswith("data:")] == [page[0].as_uri()]


@pytest.fixture(scope="module")
def talks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("talks")
    for book in BOOKS:
        write_talk(book, folder / f"{book.stem}.html")
    return [folder / f"{book.stem}.html" for book in BOOKS]


@pytest.mark.slow_all
@pytest.mark.browser
def test_nothing_of_a_committed_talk_is_cut_off(talks, tab):
    """On 1280 x 720 every slide is seen whole: letters of at least 20 px, code of at least 24, and
    pictures so large that their letters of 11 points have at least 9.
    """
    for path in talks:
        opened(tab, path)
        for number, (cut, letters, code, scale) in enumerate(tab.js(SEEN), 1):
            where = f"{path.stem}, slide {number}"
            assert not cut and letters >= 20 and code >= 24, where
            assert scale * 11 * 96 / 72 >= 9, where


@pytest.mark.browser
def test_what_does_not_fit_on_a_slide_is_noticed(tmp_path, tab):
    """The control of the test above: a table of 60 rows is cut off, whatever its letters."""
    rows = "".join(f"<tr><td>{k}</td></tr>" for k in range(60))
    cell = new_code_cell("t()", outputs=[data(text_html=f"<table><tbody>{rows}</tbody></table>")])
    cell = tagged(cell, slide(show="table", source="answers"))
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "01_x.ipynb")
    write_talk(tmp_path / "01_x.ipynb", tmp_path / "x.html")
    opened(tab, tmp_path / "x.html")
    assert tab.js(SEEN)[0][0]
