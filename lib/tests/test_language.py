"""Texts in Japanese: the catalogues are whole, say what the English says, and are Japanese."""

import ast
import contextlib
import io
import json
import re
import sys
import types
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd
import pytest
from babel.messages.pofile import read_po
from matplotlib.text import Text
from test_words import BOOKS, GAP, JAPANESE, ROOT

from katayori import language, paths
from katayori.report import Run, charts, tables
from katayori.report.tables import Shown
from katayori_tools import notebooks, pages
from katayori_tools.choices import NotebookRun
from katayori_tools.reproduce import planned

FOLDER = ROOT / "data" / "locale" / "ja" / "LC_MESSAGES"
#: Notebooks that are whole in Japanese; the catalogues of the others are still to be filled.
WHOLE = [
    "00_overview",
    "01_discrim_eval",
    "02_persona_jbbq",
    "03_logprob_judge",
    "04_jubaku_v2",
    "05_inter_jbbq",
]
#: Latin words that stand in Japanese texts: names, marks of statistics, what is written in code.
NAMES = """
    AI API AUC BBQ BH BS Claude CoT CSV EuroEval Fisher Gladen GPL GPT GRIM HELM HTML HTTP
    Instruct JBBQ JBNLI JSON JSONL JUBAKU Katayori KoBBQ LLM METR MIT Nejumi NIST None NumPy OoC
    OpenAI OWASP PandaLM Parrish PDF Pearson PNG PPI Python QA Qwen README Rogan SD Sonnet Spearman
    SQLite SSQA Thinking URL UTF Vicuna WAL YAML Yates abs al answers basic basicP biased bn check
    debias error et filtered invalid len ln log nan nb neutral ok oss paraP permutation prior
    refusal test truncated unknown
""".split()
#: Commands, which lines of the terminal show; there names of options and fields stand alone.
COMMANDS = re.compile(
    r"\b(?:make|git|pip|python|unset)( [a-z%-][^ 、。（）：；]*)+|Hugging Face|Every Eval Ever"
    "|Japanese Vicuna QA"
)
#: What is no prose: code, formulas, places, links, names of files, prompts, made-up respondents.
NO_PROSE = re.compile(
    r"`[^`]*`|\$+[^$]+\$+|[A-Za-z.]+\([^)]*\)|\{\w+\}|\]\([^)]*\)|https?://\S+|<[^>]*>"
    r"|[A-Za-z0-9]+(?:[-_/.=][A-Za-z0-9{}]+)+|[A-Z]+(?:_[A-Z]+)*=\S*|[a-z]+ = \{\w+\}"
    r"|[a-z]+(?: [-+=] \(?[a-z]+)+\)?|%\(\w+\)s"
)
WORD = re.compile("[A-Za-z]{2,}")
#: Half-width punctuation beside a Japanese letter: two letters, or a closing one.
HALF = re.compile(
    r"(?<=[ぁ-ヿ一-鿿々])(?:[,;:!?](?!\w)|[()]|\.(?=[ぁ-ヿ一-鿿々]|$))|[()](?=[ぁ-ヿ一-鿿々])"
)
#: Japanese letters beside which a Latin word (or `code`) has a blank, and a number has none.
_OWN = "[ぁ-ヺー-ヿ一-鿿々]"
BLANKS = re.compile(
    rf"(?<={_OWN})[A-Za-z`]|[A-Za-z`](?={_OWN}(?<!さ)|さ(?!ん))"  # Aさん stands in items
    rf"|(?<={_OWN}) (?=\d+(?:[.,]\d+)*(?:{_OWN}|[、。）]|$))"
    rf"|(?<![A-Za-z)\]] )(?<![\w.,-])\d[\d.,]* (?={_OWN})"  # in "Python 3.11 以上" it ends a name
    rf"|(?<={_OWN}) (?=\{{n(?:_\d)?\}}(?! [A-Z]))|(?<![A-Za-z)\]] )\{{n(?:_\d)?\}} (?={_OWN})"
)


class Message(NamedTuple):
    """A message, and its catalogue."""

    file: str
    context: str
    english: str
    japanese: str


@cache
def messages() -> list[Message]:
    found = []
    for path in sorted(FOLDER.rglob("*.po")):
        if path.parent.name == "pages":  # see test_language_pages
            continue
        with path.open(encoding="utf-8") as file:
            for one in read_po(file):
                if one.id:
                    name = str(path.relative_to(FOLDER))
                    context = one.context or ""
                    found.append(Message(name, context, str(one.id), str(one.string)))
    return found


def lines(text: str) -> list[str]:
    """The lines of a text as they are looked up, without the signs of lists and headings."""
    whole = [language._BEFORE.sub("", line, count=1).rstrip() for line in text.splitlines()]
    return [line for line in whole if line]


def shown(book: dict[str, Any]) -> list[str]:
    """Every line of Markdown and slides in a notebook, and what its slides search for."""
    found = []
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            found += lines("".join(cell["source"]))
        for slide in cell["metadata"].get("talk", ()):
            for name in sorted(notebooks.IN_SLIDES & slide.keys()):
                found += lines(slide[name])
            found += slide.get("find", {}).values()
    return found


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_a_notebook_is_in_its_catalogue(book):
    english = shown(json.loads(book.read_text("utf-8")))
    held = {one.english: one.japanese for one in messages()}
    own = {one.english for one in messages() if one.file == f"notebooks/{book.stem}.po"}
    assert [line for line in english if line not in held] == []
    assert own - set(english) == set(), "left over"
    assert book.stem not in WHOLE or [line for line in english if not held[line].strip()] == []


def test_a_catalogue_has_one_line_a_text_and_nothing_fuzzy():
    form = re.compile(r'#|$|msg(?:ctxt|id|str) ".*"$|"(?:Language|Content-Type): ')
    for path in sorted(FOLDER.rglob("*.po")):
        text = path.read_text("utf-8")
        assert [line for line in text.splitlines() if not form.match(line)] == [], path.name
        assert ", fuzzy" not in text and "\r" not in text
    empty = {one.file for one in messages() if not one.japanese.strip()}
    assert {file for file in empty if not file.startswith("notebooks/")} == set()


def test_places_are_the_same_each_once():
    for one in filter(lambda one: one.japanese and "\\" not in one.english, messages()):
        places, theirs = (re.findall(r"\{(\w+)\}", text) for text in (one.english, one.japanese))
        assert sorted(places) == sorted(theirs), one
        assert len(set(places)) == len(places), one


def test_a_message_has_one_translation():
    seen: dict[tuple[str, str], Message] = {}
    for one in messages():
        first = seen.setdefault((one.context, one.english), one)
        assert first.japanese == one.japanese, (first, one)


def test_a_translation_is_japanese():
    """No English but names, no blank between Japanese letters, punctuation of full width."""
    wrong = []
    for one in messages():
        prose = NO_PROSE.sub("", one.japanese)
        if one.japanese.startswith("^"):  # a regular expression
            continue
        if one.file == "tools.po":
            english = re.findall("[A-Za-z]{2,} [A-Za-z]{2,}", COMMANDS.sub("", prose))
        else:
            english = [word for word in WORD.findall(prose) if word not in NAMES]
        wrong += [(one.file, one.japanese, english)] if english else []
        gaps = (gap for line in one.japanese.splitlines() for gap in GAP.findall(line))
        wrong += [(one.file, one.japanese, gap) for gap in gaps]
        wrong += [(one.file, one.japanese, hit[0]) for hit in HALF.finditer(prose)]
    assert wrong == []


def test_a_blank_stands_beside_latin_words_and_none_beside_numbers():
    """In all catalogues, the first page of a report, and the README."""
    readme = (ROOT / "README.md").read_text("utf-8").partition("\n## 日本語")[2]
    texts = {"README.md": re.sub(r"```.*?```|\[0\d ", "", readme, flags=re.DOTALL)}
    page = (FOLDER.parent / "first_page.txt").read_text("utf-8")
    texts["first_page.txt"] = re.sub(r"\{[{%#].*?[}%#]\}", "・", page, flags=re.DOTALL)
    for path in FOLDER.rglob("*.po"):
        with path.open(encoding="utf-8") as file:
            own = [re.sub("`[^`]*`", "`", str(one.string)) for one in read_po(file) if one.id]
        texts[path.name] = "\n".join(one for one in own if not one.startswith(("^", "(?")))
    wrong = [
        (name, line[max(0, hit.start() - 8) : hit.end() + 8])
        for name, text in texts.items()
        for line in text.splitlines()
        for hit in BLANKS.finditer(re.sub(r"^(?:\*\*)?\d+\. ", "", line))
    ]
    assert wrong == []


@pytest.mark.parametrize("book", WHOLE)
def test_a_notebook_says_the_same_numbers_and_marks(book):
    """Numbers in digits, code and bold words are those of the English; marks are seen as such."""

    def digits(text: str) -> list[float]:
        found = re.findall(r"(?<![A-Za-z0-9_.-])(?:\d[\d,]*)?\.?\d+", text)
        return sorted(float(one.replace(",", "")) for one in found)

    for one in messages():
        if one.file != f"notebooks/{book}.po" or one.english.startswith(("^", "(?")):
            continue
        plain = [re.sub(r"`[^`]*`", "", text) for text in (one.english, one.japanese)]
        if "日本語の要約" not in one.english:
            assert digits(plain[0]) == digits(plain[1]), one
        codes = [sorted(re.findall(r"`[^`]*`", text)) for text in (one.english, one.japanese)]
        assert set(codes[0]) <= set(codes[1]), one
        seen = pages.tree(pages.markdown(one.japanese, FOLDER)).get_text()
        assert "**" not in seen, one
        is_word = re.search(r"[^\W\d]{2}", NO_PROSE.sub("", one.japanese))
        assert JAPANESE.search(one.japanese) or not is_word, one


# --- what cells show ------------------------------------------------------------------------------


#: Columns of items, answers and published models, whose texts stay as they are.
DATA = {"filled_template", "text", "question", "answer", "developer", "model", "finish_reason"}


class Seen(NamedTuple):
    """What the cells of a notebook show and write in a language, and the texts that are data."""

    texts: list[str]
    tables: list[list[list[str]]]
    files: dict[str, bytes]
    data: set[str]
    figures: list[charts.Figure]


def taken(seen: Seen, value: Any) -> None:
    """Notes what a value shows: a table's cells, a figure's texts, a widget's parts."""
    if isinstance(value, charts.Figure):
        seen.figures.append(value)
        seen.texts.extend(one.get_text() for one in value.findobj(Text))
    for part in getattr(value, "children", ()):
        seen.texts.append(str(getattr(part, "description", "")))
        taken(seen, part)
    held = getattr(value, "label", getattr(value, "value", ""))
    markup = value._repr_html_() if isinstance(value, Shown) else held
    page = pages.tree(markup if isinstance(markup, str) else "")
    for table in page.find_all("table"):
        rows = [row.find_all(["th", "td"]) for row in table.find_all("tr")]
        seen.tables.append([[one.get_text() for one in row] for row in rows])
        seen.texts.extend(one.get_text() for one in table.find_all("caption"))
        table.extract()
    seen.texts.append(re.sub(r"\.katayori-rows.*|@media.*", "", page.get_text("\n")))


def run_in(paper: str, chosen: str, folder: Any, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """A notebook on its recorded answers, cell by cell in this process."""
    runs = paths.outputs_dir()
    monkeypatch.setenv("KATAYORI_LANG", chosen)
    if chosen != "en":  # the overview reads what the others wrote, the same files in each language
        (folder / "runs").mkdir()
        (folder / "runs" / chosen).symlink_to(runs, target_is_directory=True)
        monkeypatch.setenv("KATAYORI_OUTPUTS", str(folder / "runs"))
        folder = folder / "own"
        folder.mkdir()
    (job,) = planned(NotebookRun(papers=paper))
    seen, printed = Seen([], [], {}, set(), []), io.StringIO()
    module = types.ModuleType("notebook")
    vars(module)["display"] = lambda value: taken(seen, value)
    monkeypatch.setitem(sys.modules, "notebook", module)
    monkeypatch.setattr(
        Run, "figure", lambda run, name, frame, **drawing: charts.draw(frame, **drawing)
    )
    monkeypatch.chdir(job.notebook.parent)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        for cell in json.loads(job.notebook.read_text("utf-8"))["cells"]:
            if cell["cell_type"] != "code":
                continue
            body = ast.parse("".join(cell["source"])).body
            last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), "cell", "exec"), vars(module))
            if last:
                taken(seen, eval(compile(ast.Expression(last.value), "cell", "eval"), vars(module)))
            if "parameters" in cell["metadata"].get("tags", ()):
                vars(module).update(job.parameters | {"output_dir": str(folder)})
    seen.texts.append(printed.getvalue())
    written = [*folder.rglob("*.csv"), folder / "results.json"]
    seen.files.update({str(one.relative_to(folder)): one.read_bytes() for one in written})
    frames = [one for one in vars(module).values() if isinstance(one, pd.DataFrame)]
    columns = (frame[name].dropna().unique() for frame in frames for name in DATA & {*frame})
    own = {*chain(*columns), *(one.user for one in module.study.prompts.values())}
    lines = {line.strip() for text in own for line in str(text).splitlines()}
    words = {one.english for one in messages() if not one.context}  # ours, wherever they stand
    seen.data.update(lines - words, getattr(module, "asked", ()))  # and names of prompts
    return seen


#: Papers whose notebooks are run in both languages, all but one in `make test-all` only.
SLOW_ALL = ("discrim_eval", "persona_jbbq", "logprob_judge", "inter_jbbq", "overview")
#: The answer in a line about it, and, in brackets behind a measure, the prompt that was asked.
RAW = re.compile(r"(?<= の回答：)\S+|（(?:basic|biased|debias|neutral)）")
SLOW = [pytest.param(one, marks=pytest.mark.slow_all) for one in SLOW_ALL]


@pytest.fixture(scope="module", params=[*SLOW, "jubaku_v2"])
def both(request, tmp_path_factory):
    """What a notebook shows in English and in Japanese."""
    found = []
    for chosen in ("en", "ja"):
        with pytest.MonkeyPatch.context() as patch:
            found.append(run_in(request.param, chosen, tmp_path_factory.mktemp(chosen), patch))
    return found


def numbers(text: str) -> list[str]:
    """The numbers of a text, in the order of the English or another."""
    plain = text.replace("Fisher's p", "").replace("squared", "")
    plain = plain.replace("below zero", "0")
    plain = re.sub(r"(?<!\d)\.(?=\d)", "0.", plain)
    return sorted(re.findall(r"(?<![A-Za-z0-9.-])-?\d[\d.,e-]*\d|(?<![A-Za-z\d.-])\d", plain))


def test_numbers_are_the_same_in_both_languages(both):
    english, japanese = both
    assert english.files == japanese.files and len(english.files) > 10
    assert len(english.tables) == len(japanese.tables) > 10
    for one, own in zip(english.tables, japanese.tables, strict=True):
        if "meaning" in one[0]:  # the glossary has numbers in words
            continue
        assert [len(row) for row in one] == [len(row) for row in own]
        for cells in zip(chain(*one), chain(*own), strict=True):
            assert numbers(cells[0]) == numbers(cells[1]), cells


@pytest.mark.slow_all
def test_japanese_readers_see_the_picture_that_notebook_01_makes(tmp_path, monkeypatch):
    """The English one is compared in `test_run`."""
    seen = run_in("discrim_eval", "ja", tmp_path, monkeypatch)
    [picture] = (ROOT / "notebooks" / "images").glob("*.ja.png")
    assert picture.read_bytes() in [tables.display(one).data for one in seen.figures]
    assert (ROOT / "README.md").read_text("utf-8").count(f"notebooks/images/{picture.name}") == 1


def is_data(text: str, data: set[str]) -> bool:
    """Whether a text is of an item, an answer or a prompt, or the beginning of one."""
    cut = text.strip().removesuffix("…")
    return cut in data or (cut != text.strip() and any(one.startswith(cut) for one in data))


def test_no_english_is_left_in_what_a_notebook_shows(both):
    _, japanese = both
    # The glossary has English terms on purpose, and where the library defines them.
    tables = [table for table in japanese.tables if "英語" not in table[0]]
    assert len(tables) == len(japanese.tables) - 1
    texts = [*japanese.texts, *(cell for table in tables for row in table for cell in row)]
    # In tables these are words of ours, which have Japanese ones, where they name no prompt.
    ours = {*"answers basic biased error filtered neutral prior unknown".split()}
    names = {*NAMES} - (ours - japanese.data) | {"acc"}
    left = set()
    for line in RAW.sub("", "\n".join(texts)).splitlines():
        ours = "：".join(part for part in line.split("：") if not is_data(part, japanese.data))
        left |= {(word, line) for word in WORD.findall(NO_PROSE.sub("", ours)) if word not in names}
    assert left == set()
