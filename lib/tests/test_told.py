"""Texts in the reader's language: how a catalogue is found, matched and left alone (issue 55)."""

import io
import json

import pandas as pd
import pytest

from katayori import language, paths
from katayori.errors import KatayoriError
from katayori.language import told
from katayori.report.tables import show, show_text
from katayori_tools import notebooks

pytestmark = pytest.mark.quick

HEADER = 'msgid ""\nmsgstr ""\n"Language: ja\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
MESSAGES = {
    "case": "事例",
    "neutral": "中立",
    "{some} of {all} cases": "{all} 事例のうち {some}",
    "{some} of {all} cases; {rest}": "{all} 事例のうち {some}。{rest}",
    "{n} times": "{n} 回",
    "Not yet. {why}": "まだです。{why}",
    "One sentence.": "一つの文。",
    "A heading 見出し": "見出し",
    "n {n} to {n_2}": "n = {n}〜{n_2}",
    "Found: {which}": "見つかったもの：{which}",
    "{which} (letters)": "{which}（文字）",
    "→ {model} writes": "→ {model}の回答",
    "lacks": "",
    r"^\S+\s+case\s+([0-9.]+)": r"^\S+\s+事例\s+([0-9.]+)",
}


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


@pytest.fixture
def japanese(tmp_path, monkeypatch):
    """Japanese from a catalogue of this test's."""
    folder = tmp_path / "locale" / "ja" / "LC_MESSAGES" / "notebooks"
    folder.mkdir(parents=True)
    lines = [f"msgid {quoted(one)}\nmsgstr {quoted(own)}\n" for one, own in MESSAGES.items()]
    lines.append('msgctxt "truth"\nmsgid "yes"\nmsgstr "はい"\n')
    lines.append('msgctxt "empty"\nmsgid "{what}: {why}."\nmsgstr "{what}：{why}。"\n')
    lines.append('#, fuzzy\nmsgid "doubtful"\nmsgstr "不確か"\n')
    (folder / "any.po").write_text("\n".join([HEADER, *lines]), encoding="utf-8")
    there = paths.registry
    where = {"locale": tmp_path / "locale"}
    monkeypatch.setattr(paths, "registry", lambda name: where.get(name) or there(name))
    monkeypatch.setenv("KATAYORI_LANG", "ja")
    for cache in (language._told, language._catalogue):
        cache.cache_clear()
    yield
    for cache in (language._told, language._catalogue):
        cache.cache_clear()


@pytest.mark.parametrize(
    ("english", "shown"),
    [
        ("case", "事例"),
        ("  case\n", "  事例\n"),
        ("1,284 of -0.050 cases", "-0.050 事例のうち 1,284"),
        # A list of texts of a catalogue; else a sentence, the one with more words of its own.
        ("1 of 2 cases; neutral", "2 事例のうち 1；中立"),
        ("1 of 2 cases; made up", "2 事例のうち 1。made up"),
        ("Not yet. Not yet. 3 of 4 cases", "まだです。まだです。4 事例のうち 3"),
        ("## A heading 見出し\n\n- One sentence.", "## 見出し\n\n- 一つの文。"),
        ("> One sentence.\n1. case", "> 一つの文。\n1. 事例"),
        ("One sentence. And another.", "One sentence. And another."),
        # A number alone, and lists of which every part is translated or Japanese.
        ("n 1,284 to 3", "n = 1,284〜3"),
        ("n one to 3", "n one to 3"),
        ("neutral, case", "中立、事例"),
        ("neutral, made up", "neutral, made up"),
        ("見出し; n 1 to 2, neutral", "見出し；n = 1〜2、中立"),
        ("a (letters), b (letters)", "a（文字）、b（文字）"),
        ("Found: a, b", "見つかったもの：a, b"),
        ("case: neutral.", "case: neutral."),
        ("a case", "a case"),
        ("lacks", "lacks"),
        ("doubtful", "doubtful"),
        ("yes", "yes"),
        ("", ""),
        ("{some} of {all} cases", "{all} 事例のうち {some}"),
        ("-1,284.5 times", "-1,284.5 回"),
        ("many times", "many times"),
        ("\\1 of \\g<0> cases", "\\g<0> 事例のうち \\1"),
    ],
)
@pytest.mark.usefixtures("japanese")
def test_a_text_is_translated_whole_or_stays(english, shown):
    assert told(english) == shown


def test_english_needs_no_catalogue(monkeypatch):
    monkeypatch.setattr(paths, "registry", lambda _: pytest.fail("a catalogue was looked for"))
    for chosen in ("", "en"):
        monkeypatch.setenv("KATAYORI_LANG", chosen)
        assert told("case") == "case"
        assert paths.outputs_dir().name == "outputs"


def test_a_language_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("KATAYORI_LANG", "jp")
    with pytest.raises(KatayoriError, match=r"unknown language .* 'jp'; known: en, ja"):
        told("case")


@pytest.mark.usefixtures("japanese")
def test_a_table_translates_our_words_and_no_words_of_a_model():
    frame = pd.DataFrame({"case": ["neutral", "x"], "answer": ["neutral", "yes"], "ok": True})
    shown = show(frame.assign(text="case", value=[0.25, 0.125]), caption="1 of 2 cases")
    lines = repr(shown).splitlines()
    assert lines[0] == "2 事例のうち 1" and lines[1].split()[0] == "事例"
    assert lines[2].split() == ["中立", "neutral", "はい", "case", "0.250"]
    assert lines[3].split() == ["x", "yes", "はい", "case", "0.125"]
    assert repr(show_text("case", title="case")) == "事例\ncase"
    assert repr(show_text("case\n→ m writes\ncase")) == "case\n→ mの回答\ncase"
    assert repr(show_text("case\n  neutral", ours=True)) == "事例\n  中立"
    assert repr(show(frame.head(0), caption="case", missing="neutral")) == "事例：中立。"
    counted = pd.DataFrame({"model": "m", "value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": [1, 2]})
    shown = show(counted, columns=["model", "value", "ci_low", "ci_high"], caption="case")
    assert repr(shown).startswith("事例；n = 1〜2\n")


@pytest.mark.usefixtures("japanese")
def test_what_is_printed_is_translated_line_by_line(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    language.print_in_language()
    language.print_in_language()  # a second time changes nothing
    print("case\n3 of 4 cases")
    print("One sentence.", end="")
    assert stream.getvalue() == "事例\n4 事例のうち 3\n一つの文。"


@pytest.mark.usefixtures("japanese")
def test_a_notebook_keeps_its_code(tmp_path):
    slide = {"headline": "case", "kind": "case", "find": {"n": r"^\S+\s+case\s+([0-9.]+)"}}
    book = {
        "cells": [
            {"cell_type": "markdown", "source": ["## A heading 見出し\n", "\n", "case"]},
            {"cell_type": "code", "source": ["'case'"], "outputs": []},
        ]
    }
    book["cells"][0]["metadata"] = {"talk": [slide], "tags": ["case"]}
    book["cells"][1]["metadata"] = {}
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps(book), encoding="utf-8")
    first, code = json.loads(notebooks.in_language(path))["cells"]
    assert first["source"] == "## 見出し\n\n事例" and code == book["cells"][1]
    assert first["metadata"]["tags"] == ["case"]
    assert first["metadata"]["talk"] == [
        {"headline": "事例", "kind": "case", "find": {"n": r"^\S+\s+事例\s+([0-9.]+)"}}
    ]


@pytest.mark.parametrize("chosen", ["", "ja"])
def test_copies_lie_beside_those_of_the_other_language(tmp_path, monkeypatch, capsys, chosen):
    monkeypatch.setenv("KATAYORI_LANG", chosen)
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    notebooks.copies()
    folder = tmp_path / chosen / "work"
    names = [path.name for path in notebooks.registry().values()]
    assert sorted(path.name for path in folder.iterdir()) == names
    (folder / names[0]).write_text("mine")
    notebooks.copies()
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1 and names[0] in said[0]
    assert (folder / names[0]).read_text() == "mine"
