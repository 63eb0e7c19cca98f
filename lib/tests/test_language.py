"""Texts in Japanese: the catalogues are whole, say what the English says, and are Japanese."""

import json
import re
from functools import cache
from typing import Any, NamedTuple

import pytest
from babel.messages.pofile import read_po
from test_words import BOOKS, GAP, JAPANESE, ROOT

from katayori import language
from katayori_tools import notebooks, pages

FOLDER = ROOT / "data" / "locale" / "ja" / "LC_MESSAGES"
#: Notebooks that are whole in Japanese; the catalogues of the others are still to be filled.
WHOLE = ["01_discrim_eval", "04_jubaku_v2"]
#: Latin words that stand in Japanese texts: names, marks of statistics, what is written in code.
NAMES = """
    AI API AUC BBQ BH BS CSV Claude Fisher GPL GPT HTML HTTP Instruct JBBQ JBNLI JSON JSONL
    JUBAKU Katayori LLM METR MIT NIST OWASP OpenAI PDF Pearson Python Qwen README SD SSQA Sonnet
    Spearman Thinking URL UTF YAML Yates None abs answers basic basicP bn check error filtered
    invalid len log nan nb neutral ok oss permutation refusal test truncated
""".split()
#: Commands, which lines of the terminal show; there names of options and fields stand alone.
COMMANDS = re.compile(r"\b(?:make|git|pip|python|unset)( [a-z%-][^ 、。（）：；]*)+|Hugging Face")
#: What is no prose: code, places, links, names of files, prompts and simulated respondents.
NO_PROSE = re.compile(
    r"`[^`]*`|\$+[^$]+\$+|[A-Za-z]+\([^)]*\)|\{\w+\}|\]\([^)]*\)|https?://\S+|<[^>]*>"
    r"|[A-Za-z0-9]+(?:[-_/.=][A-Za-z0-9{}]+)+|[A-Z]+(?:_[A-Z]+)*=\S*"
)
WORD = re.compile("[A-Za-z]{2,}")
#: Half-width punctuation beside a Japanese letter: two letters, or a closing one.
HALF = re.compile(
    r"(?<=[ぁ-ヿ一-鿿々])(?:[,;:!?](?!\w)|[()]|\.(?=[ぁ-ヿ一-鿿々]|$))|[()](?=[ぁ-ヿ一-鿿々])"
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
    for one in filter(lambda one: one.japanese, messages()):
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


@pytest.mark.parametrize("book", WHOLE)
def test_a_notebook_says_the_same_numbers_and_marks(book):
    """Numbers in digits, code and bold words are those of the English; marks are seen as such."""

    def digits(text: str) -> list[float]:
        found = re.findall(r"(?<![A-Za-z0-9_.-])(?:\d[\d,]*)?\.?\d+", text)
        return sorted(float(one.replace(",", "")) for one in found)

    for one in messages():
        if one.file != f"notebooks/{book}.po" or one.english.startswith("^"):
            continue
        plain = [re.sub(r"`[^`]*`", "", text) for text in (one.english, one.japanese)]
        if "日本語の要約" not in one.english:
            assert digits(plain[0]) == digits(plain[1]), one
        codes = [sorted(re.findall(r"`[^`]*`", text)) for text in (one.english, one.japanese)]
        assert set(codes[0]) <= set(codes[1]), one
        seen = pages.tree(pages.markdown(one.japanese, FOLDER)).get_text()
        assert "**" not in seen, one
        assert JAPANESE.search(one.japanese) or not NO_PROSE.sub("", one.japanese), one
