"""The pages in Japanese: a catalogue is whole, and says and links what the English does."""

import ast
import inspect
import itertools
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from babel.messages.pofile import read_po
from test_language import FOLDER, HALF, NAMES, NO_PROSE, WORD
from test_words import GAP

from katayori import language, paths
from katayori_tools import pages

CATALOGUES = sorted((FOLDER / "pages").glob("*.po"))
LINK = re.compile(r"\]\(([^)]*)\)|(\[\^\w+\])|(<https?://[^>]*>)")
CODE = re.compile(r"`[^`]*`")
NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)*(?!\.?\d)", re.ASCII)
WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
WORDS_OF = {str(n): word for n, word in enumerate(WORDS, 1)} | {"20": "twenty", "100": "hundred"}
#: Latin words of pages that are names, beside those of `test_language`.
OF_PAGES = """
    ARGS ARM AbleismBBQ Anthropic Azure BBQ BOM Batch CBBQ CI CPU CaBBQ CodeMeta Coder Colab
    Croissant Ctrl Debian EsBBQ EuroEval Excel GB GGUF GPU GitHub Google Graubard HELM HTTPS Haswell
    Jupyter JupyterLab KoBBQ Korn Linux MB Makefile Mann Markdown MiB NaN Nehalem Nejumi Ollama PNG
    POSIX QuantFactory SIGKILL SIGTERM SQLite SVG Safari SkylakeX SmolLM Sphinx Vega WSL Whitney
    Windows Zenodo Zstandard abcdef bfloat conda cpp export false float gettext id jsonschema kB
    krippendorff llama loglikelihood macOS make matplotlib mlcroissant mypy nbconvert nbval nh numpy
    official pandas pingouin pip px qwen recorded ruff scipy sha smollm statsmodels uv vLLM
""".split()
#: Names of several words, and what a button says.
PHRASES = re.compile(
    "Alibaba Cloud|Apache License|Every Eval Ever|Hugging Face|Japanese Vicuna QA"
    "|Keep a Changelog|Process Run Crate|Run All|「English」"
)


def messages(path):
    with path.open(encoding="utf-8") as file:
        return [(str(one.id), str(one.string)) for one in read_po(file) if one.id]


def numbers(text):
    return Counter(one.replace(",", "") for one in NUMBER.findall(prose(text)))


def prose(text):
    """A text without code and the places of links."""
    return LINK.sub("]", CODE.sub(" `` ", text))


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_a_page_says_and_links_the_same(path):
    for english, japanese in messages(path):
        assert japanese.strip(), english
        links, theirs = (sorted(map(str, LINK.findall(one))) for one in (english, japanese))
        assert links == theirs, (english, japanese)
        codes, theirs = (sorted(CODE.findall(one)) for one in (english, japanese))
        assert codes == theirs, (english, japanese)
        missing = numbers(english) - numbers(japanese)
        more = numbers(japanese) - numbers(english)
        words = english.lower()
        unsaid = {n for n in more if WORDS_OF.get(n, "-") not in words}
        assert not missing and not unsaid, (english, japanese, missing, unsaid)


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_a_page_is_japanese(path):
    wrong = []
    for _, japanese in messages(path):
        text = NO_PROSE.sub("", PHRASES.sub("", prose(japanese)))
        wrong += [(japanese, one) for one in WORD.findall(text) if one not in {*NAMES, *OF_PAGES}]
        wrong += [(japanese, gap) for gap in GAP.findall(japanese)]
        wrong += [(japanese, hit[0]) for hit in HALF.finditer(text)]
        seen = pages.tree(pages.markdown(CODE.sub("`-`", japanese), FOLDER)).get_text()
        wrong += [(japanese, mark) for mark in ("**", "](") if mark in seen]
        # Sphinx leaves in English what is no paragraph, such as a heading that begins "1. ".
        wrong += [(japanese, "list")] if re.match(r"(?:\d+[.)]|[-*+>#]+) ", japanese) else []
    assert wrong == []


def test_what_an_error_says_in_japanese_is_what_commands_print():
    """Pieces of 「」 behind an error's code, between dots, are texts of the commands."""
    told = "\n".join(
        japanese for path in FOLDER.rglob("*.po") if path.parent == FOLDER
        for _, japanese in messages(path)
    )  # fmt: skip
    errors = [one for one in CATALOGUES if one.stem == "troubleshooting"]
    for english, japanese in itertools.chain.from_iterable(map(messages, errors)):
        if english.startswith("`") and english.endswith("`"):
            for quoted in re.findall("「([^」]*)」", japanese):
                for piece in re.split("[…（）]|'[^']*'", quoted):
                    assert piece.strip() in told, (piece, japanese)


def test_pages_are_no_texts_of_notebooks(monkeypatch):
    """`read` heads a column of the start page, and another one of a notebook."""
    monkeypatch.setenv("KATAYORI_LANG", "ja")
    assert language.told("read") == "読み取り方"
    assert language.told("Your own data") == "Your own data"


# -- pages of the interface ------------------------------------------------------------------------

INTERFACE = (paths.root() / "lib" / "pages" / "interface.md").read_text("utf-8")
#: A comment that documents names of a module, and these names.
DOCUMENTED = re.compile(r"((?:^#:.*\n)+)((?:\w+, )*\w+)\s*[:=]", re.MULTILINE)
#: What Python says of a field of a named tuple.
OF_A_FIELD = "Alias for field number {n}"


def documented(source: str) -> Iterator[str]:
    """The docstrings of a module that its page shows: its own, and those of public names."""

    def public(nodes):
        kinds = (ast.FunctionDef, ast.ClassDef)
        return [one for one in nodes if isinstance(one, kinds) and not one.name.startswith("_")]

    tree = ast.parse(source)
    names = public(tree.body)
    members = [public(one.body) for one in names if isinstance(one, ast.ClassDef)]
    yield from filter(None, map(ast.get_docstring, [tree, *names, *itertools.chain(*members)]))
    for comment, named in DOCUMENTED.findall(source):
        if not all(name.startswith("_") for name in named.split(", ")):
            yield comment.replace("#:", "")


def test_the_page_of_the_interface_is_in_its_catalogue():
    shown = re.sub("```.*?```", "", INTERFACE, flags=re.DOTALL).split("\n\n")
    english = [one for one, _ in messages(FOLDER / "pages" / "interface.po")]
    assert [" ".join(one.split()).removeprefix("# ") for one in shown if one.strip()] == english


def test_what_the_interface_says_of_a_name_is_in_its_catalogue():
    """The first paragraphs on the pages of the interface, each as one line, and no others."""
    files = [
        file
        for room in re.findall(r"katayori\.(\w+)", INTERFACE)
        for file in (paths.root() / "lib" / "katayori" / room).rglob("*.py")
        if not file.stem.endswith("schema")
    ]
    texts = itertools.chain(*(documented(file.read_text("utf-8")) for file in files))
    first = {" ".join(inspect.cleandoc(one).split("\n\n")[0].split()) for one in texts}
    held = {english for english, _ in messages(FOLDER / "interface.po")}
    assert {*first, OF_A_FIELD} - held == set()
    assert held - {*first, OF_A_FIELD} == set(), "left over"


def test_the_interface_shows_names_as_code():
    """Of a name Sphinx wants a blank or punctuation on both sides."""
    letter = "ぁ-ヺー-ヿ一-鿿々"
    for english, japanese in messages(FOLDER / "interface.po"):
        assert {*CODE.findall(english)} <= {*CODE.findall(japanese)}, (english, japanese)
        pieces = CODE.split(japanese)
        assert not any(re.match(rf"[{letter}（「]", one) for one in pieces[1:]), japanese
        assert not any(re.search(rf"[{letter}）」]$", one) for one in pieces[:-1]), japanese
