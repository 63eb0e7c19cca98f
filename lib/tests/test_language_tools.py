"""What commands print, and the first page of a report, where KATAYORI_LANG=ja."""

import ast
import io
import itertools
import os
import re
import subprocess
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from test_first_page import answers, made

import katayori
import katayori_tools
from katayori import language, paths
from katayori.errors import KatayoriError
from katayori.language import print_in_language
from katayori.papers.answers import how_to_ask
from katayori.report import first_page, headlines
from katayori.report.tables import width_of
from katayori_tools import cli, doctor, pages, planning
from katayori_tools.collect import Summary, cut_short, progress_line

KANA = re.compile("[ぁ-ヿ一-鿿（：]")
#: Two words of English one after the other, of which no name and no command is made.
ENGLISH = re.compile(
    r"\b(?:the|an?|is|are|was|were|of|to|in|by|not|no|and|or|be|must|cannot|can|has|have|it|its|"
    r"that|which|with|from|for|at|on|than|only|answers?|share) [a-z]{2,}|[a-z]{2,} (?:is|are|of) "
)
#: Where what is refused is written: every module but those that run in an environment of their own.
REFUSING = [
    (package, str(path.relative_to(package.__path__[0]).with_suffix("")))
    for package in (katayori_tools, katayori)
    for path in sorted(Path(package.__path__[0]).rglob("*.py"))
    if not path.stem.startswith("__") and path.stem != "scorer_worker"
]
REFUSALS = {"KatayoriError", "UnavailableError"}
#: What functions give that others end their texts with.
CALLED = {"how_to_ask": how_to_ask("p", "m@custom"), "_remedy": ""}


@pytest.fixture
def japanese(monkeypatch):
    monkeypatch.setenv("KATAYORI_LANG", "ja")


def printed(line):
    """A line as a terminal shows it."""
    stream = io.StringIO()
    language._Printed(stream).write(line)
    return stream.getvalue()


# -- errors ----------------------------------------------------------------------------------------


def texts(node, known):
    """The texts that an expression may be, a number in place of what is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return joined([texts(part, known) for part in parts])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return joined([texts(left, known), texts(right, known)])
        case ast.IfExp(body=body, orelse=other):
            return texts(body, known) + texts(other, known)
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            return [CALLED[name]]
        case ast.FormattedValue(value=value):
            return texts(value, known)
    return ["71"]


def joined(alternatives):
    return ["".join(parts) for parts in itertools.product(*alternatives)]


def refusals(package, name):
    """Every text that a module may refuse something with."""
    constants = vars(import_module(f"{package.__name__}.{name.replace('/', '.')}"))
    tree = ast.parse((Path(package.__path__[0]) / f"{name}.py").read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        known = {name: [one] for name, one in constants.items() if isinstance(one, str)}
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if (found := texts(value, known)) != ["71"]:
                        known[name] = known.get(name, []) + found
                case ast.AugAssign(target=ast.Name(id=name), value=value) if name in known:
                    known[name] = joined([known[name], texts(value, known)])
        for node in ast.walk(function):
            match node:
                case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[text, *_])):
                    if name in REFUSALS:
                        yield from texts(text, known)
                case ast.Call(func=ast.Name(id="expect"), args=[_, _, what]):
                    yield from (f"unknown {one} '71'; known: 71" for one in texts(what, known))


@pytest.mark.parametrize("package, name", REFUSING, ids=lambda one: getattr(one, "__name__", one))
def test_every_error_is_japanese(japanese, package, name):
    for text in refusals(package, name):
        if re.search("[a-z]{4}", text):
            shown = printed(f"katayori: {text}")
            assert KANA.search(shown), text
            assert not ENGLISH.search(re.sub("`[^`]*`", "", shown)), shown


@pytest.mark.parametrize(
    "words, shown",
    [
        (["live", "--papers", "99"], "論文 '99' はありません。使えるもの：overview, discrim_eval"),
        (["live", "--wat"], "live に --wat は指定できません"),
        (["live", "--limit", "0"], "引数 --limit：'0' は使えません。"),
        (["live", "--models", "gtp-4o"], "モデル 'gtp-4o' は登録されていません"),
        (["estimate", "--profile", "recorded"], "プロファイル 'recorded' は誰にも尋ねません"),
    ],
)
def test_an_error_is_one_japanese_line(japanese, monkeypatch, capsys, words, shown):
    assert cli.main(words) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"katayori: {shown}") and told.count("\n") == 1
    assert not ENGLISH.search(told)


def test_what_others_wrote_is_never_translated(japanese):
    shown = printed("custom: no money is left: present; what was answered is kept, pay and go on")
    assert shown.startswith("custom: 残高がありません：present。")


def test_an_unknown_language_is_said_in_english(monkeypatch, capsys):
    monkeypatch.setenv("KATAYORI_LANG", "fr")
    assert cli.main(["doctor"]) == 2
    assert "unknown language (KATAYORI_LANG) 'fr'" in capsys.readouterr().err


# -- lines and tables ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, shown",
    [
        ("jubaku_v2        to run (not run yet)\n", "jubaku_v2        実行予定（未実行）\n"),
        ("  24 x status 500\n", "  24 x ステータス500\n"),
        ("custom: it gives at most 5 alternatives of a token", "custom: 一つのトークンの候補は"),
        ("m@custom: 3 asked, 0 already stored, {'ok': 3}, price unknown, 1 s", "m@custom: 3件を"),
        ("results: /tmp/out", "結果：/tmp/out"),
        ("an English line of a server", "an English line of a server"),
        (
            "  値：0.523 [0.360, 0.683]、検出限界 0.2; 3",
            "  値：0.523 [0.360, 0.683]、検出限界 0.2; 3",
        ),
    ],
)
def test_who_speaks_stands_before_a_printed_line(japanese, line, shown):
    assert printed(line).startswith(shown)


def test_progress_is_japanese(japanese):
    summary = Summary(total=9, asked=4, cost=0.5)
    summary.read.update(ok=3, out_of_choice=1)
    shown = printed(f"m: {progress_line(summary, 0.0)}")
    assert "$0.5000" in shown and "[無効回答 1 読み取れた 3]" in shown.replace(
        "読み取れた 3 無効回答 1", "無効回答 1 読み取れた 3"
    )
    assert not re.search("left|unknown|/s", shown)
    assert cut_short([]) == ""


def test_columns_stay_straight(japanese):
    table = pd.DataFrame({"paper": ["a", "bb"], "calls": [1, 20_000], "cost_usd": ["不明", "1.00"]})
    lines = planning.straight(table).splitlines()
    assert len({width_of(line) for line in lines}) == 1
    assert "論文" in lines[0] and "要求数" in lines[0]


def test_the_doctor_speaks_japanese(japanese, monkeypatch, capsys):
    monkeypatch.setattr(
        doctor, "_machine", lambda _: iter([("ok", "disk, cache", "9.0 GB free at x")])
    )
    monkeypatch.setattr(doctor, "_data", lambda _: iter([]))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    doctor.doctor()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["正常", "ディスク、キャッシュ", "空き9.0", "GB（x）"]
    [openai] = [line for line in lines if "API キーが必要です。環境変数 OPENAI_API_KEY" in line]
    assert width_of(lines[0].partition("空き")[0]) == width_of(openai.partition("API")[0]) == 36
    assert not any(ENGLISH.search(line) for line in lines)


def test_several_lines_may_be_one_message(japanese):
    stream = io.StringIO()
    language._Printed(stream).write(planning.HALF_WIDTH + "\n")
    assert stream.getvalue().startswith("半幅：") and stream.getvalue().count("\n") == 3


def test_streams_are_wrapped_once(japanese, monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}", io.StringIO())
    print_in_language()
    print_in_language()
    print("up to date")
    import sys

    assert sys.stdout.getvalue() == "最新です\n"


def test_a_notebook_shows_an_error_in_japanese(japanese, monkeypatch):
    """Only what IPython shows: the message itself stays English."""
    own = SimpleNamespace(structured_traceback=lambda kind, error, _: ["----> 1", f"{error}"])
    shell = SimpleNamespace(InteractiveTB=own)
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    monkeypatch.setattr(KatayoriError, "_render_traceback_", None, raising=False)
    print_in_language()
    error = KatayoriError("unknown paper '9'; known: a")
    shown = ["----> 1", "論文 '9' はありません。使えるもの：a"]
    assert error._render_traceback_() == shown and str(error).startswith("unknown")


# -- the first page --------------------------------------------------------------------------------


def both(monkeypatch, folder):
    """The page in English and in Japanese: as HTML, and in short."""
    found = []
    for chosen in ("en", "ja"):
        monkeypatch.setenv("KATAYORI_LANG", chosen)
        page = BeautifulSoup(first_page.markup(folder, "heading"), "html.parser")
        found.append((page, first_page.in_short(folder)))
    return found


#: Words of the page that are names: of models, prompts, variables, of Katayori.
NAMES = (
    r"my-model|p_ja|no letter|custom|study v3|Katayori|make trace RESULT|LIMIT|heading|jubaku_v2"
)


@pytest.mark.parametrize(
    "valid, clusters, few",
    [(100, 50, ""), (70, 50, ""), (0, 50, ""), (95, 3, "データ不足"), (95, 2, "見本")],
)
def test_the_first_page_holds_the_same_numbers(tmp_path, monkeypatch, valid, clusters, few):
    folder = made(tmp_path, answers(valid), clusters=clusters)
    (page, lines), (japanese, short) = both(monkeypatch, folder)
    for one, other in zip(page.find_all("td"), japanese.find_all("td"), strict=True):
        assert sorted(numbers(one.get_text(" "))) == sorted(numbers(other.get_text(" ")))
    assert sorted(numbers(page.get_text(" "))) == sorted(numbers(japanese.get_text(" ")))
    assert len(lines) == len(short)
    for told in (japanese.get_text(" "), *short):
        left = re.sub(NAMES, "", told)
        assert not re.search(r"[A-Za-z]{3}", left), left
    if few:
        assert any(few in line for line in short)


def numbers(text):
    return re.findall(r"\d[\d.,]*\d|\d", text)


def test_every_macro_stands_in_both_languages(monkeypatch):
    macros = {}
    for folder in (paths.data_dir() / "locale" / "ja", Path(first_page.__file__).parent):
        text = (folder / "first_page.txt").read_text(encoding="utf-8")
        macros[folder.name] = (
            re.findall(r"macro (\w+\([^)]*\))", text),
            re.findall(r"%- set (\w+(?:, \w+)*) =", text),
            sorted(re.findall(r"\| (percent|counted|one_line)", text)),
        )
    assert macros["ja"] == macros["report"]


def test_the_rest_of_a_report_is_japanese(tmp_path, japanese):
    folder = made(tmp_path)
    told = pages.in_language(pages.banner(folder) + f"<p>{pages.footer(folder)}</p>")
    assert "ライブの回答100件" in told and ("に作成" in told or "から作成" in told)
    assert not ENGLISH.search(BeautifulSoup(told, "html.parser").get_text())


def test_what_is_written_to_files_stays_english(tmp_path, monkeypatch):
    """Headlines go into tables of notebooks and CSV files of `make compare`."""
    folder, found = made(tmp_path, clusters=3), []
    for chosen in ("en", "ja"):
        monkeypatch.setenv("KATAYORI_LANG", chosen)
        results = headlines.read_results(folder).assign(status="few_clusters")
        found.append(headlines.headlines(results))
    pd.testing.assert_frame_equal(*found)
    assert "too little data" in set(found[1]["shown"])


@pytest.mark.parametrize("command", [[], *([one] for one in cli.COMMANDS)], ids=" ".join)
def test_help_is_japanese(japanese, monkeypatch, capsys, command):
    with pytest.raises(SystemExit):
        cli.main([*command, "--help"])
    lines = printed(capsys.readouterr().out).splitlines()
    assert [line for line in lines if ENGLISH.search(line)] == []
    assert sum(bool(KANA.search(line)) for line in lines) >= 3


def test_make_tells_its_targets_in_japanese():
    """Every line of `make help`; a target without a translation fails."""
    told = {}
    for chosen in ("en", "ja"):
        run = subprocess.run(
            ["make", "-s", "help"],
            cwd=paths.root(),
            env=os.environ | {"KATAYORI_LANG": chosen},
            capture_output=True,
            text=True,
            check=True,
        )
        told[chosen] = run.stdout.splitlines()
    assert len(told["en"]) == len(told["ja"]) > 20
    assert [line for line in told["ja"] if not re.search("[ぁ-ヿ]|変数", line)] == []
