"""What a careless or a hostile user types: one case an input, told in one line, and nothing lost.

Not repeated here, since tests of their own have them: kill -9 and two runs at once (test_collect),
an interrupt (test_stopping), full disks (test_inputs, test_servers), files without an end or
without rows (test_hostile_files), answers on a page in a real browser (test_security), every
variable of make at once (test_make).
"""

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence

import own_items
import pytest
from aiohttp import web
from api_double import Double, completion
from test_make import checkout, make  # noqa: F401 - a fixture

from katayori.prompting.store import store_path
from katayori_tools import cli, collect, reproduce

QUESTION = "- {id: 1, label: own, template: 'Should {a_person} get it?'}\n"
QUESTIONS = f"questions:\n{QUESTION}"
LEVELS = "bcdefghi"
#: Each level holds the one before nine times: 9 ** 9 words, should anything write them all out.
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("a" + LEVELS, LEVELS, strict=False)
)
#: Files of a user's own in place of our questions.
FILES: dict[str, str | bytes] = {
    "good.yaml": QUESTIONS,
    "empty.yaml": "",
    "cp932.yaml": QUESTIONS.replace("own", "実験の質問").encode("cp932"),
    "utf16.yaml": QUESTIONS.encode("utf-16"),
    "list.yaml": "- 1\n- 2\n",
    "broken.yaml": "questions: [{id: 1",
    "tag.yaml": "questions: !!python/object/apply:os.system ['touch ran']\n",
    "bomb.yaml": f"{BOMB}questions: *i\n",
    "bomb-beside.yaml": f"{BOMB}{QUESTIONS}",
    "endless.yaml": f"{QUESTIONS}more: &a [*a]\n",
    "deep.yaml": f"more: {'[' * 100_000}\n{QUESTIONS}",
    "no-date.yaml": f"{QUESTIONS}checked: 2026-99-99\n",
    "no-number.yaml": f"{QUESTIONS}n: {'9' * 5000}\n",
    "long-list.yaml": f"questions: [{[list(range(9))] * 9}]\n",
    "no-slot.yaml": QUESTIONS.replace("{a_person}", "she"),
    "twice.yaml": QUESTIONS + QUESTION,
    "path.yaml": QUESTIONS.replace("id: 1", "id: '../../etc/passwd'"),
    "class.yaml": QUESTIONS.replace("get it", "get {__class__}"),
    "script.yaml": QUESTIONS.replace("own", "'<script>alert(1)</script>'"),
    "header.csv": "item_id,question_id,question\n",
    "mine.jsonl": '{"text": "paid for"}\n',
    "own-profile.yaml": "mine: {items: study, answers: everywhere, size: 1}\n",
}
ESTIMATE = "estimate --models me@custom --limit 1"
LIVE = "live --models me@custom --limit 1 --papers 04"

# -- refused in one line ---------------------------------------------------------------------------

VARIABLES = {
    "unknown paper": ("estimate --papers discrimeval", "unknown paper 'discrimeval'; known: "),
    "paper without number": ("estimate --papers 06", "unknown paper '06'; known: "),
    "negative limit": ("estimate --limit -5", "'-5' is no whole number of clusters"),
    "limit in letters": ("estimate --limit abc", "'abc' is no whole number of clusters"),
    "limit zero": ("estimate --limit 0", "'0' is no whole number of clusters"),
    "endpoint nowhere": ("estimate --models me@nowhere", "unknown endpoint 'nowhere'; known: "),
    "model without endpoint": ("estimate --models me", "unknown model 'me'; nearest in "),
    "endpoint without model": ("estimate --models @custom", "unknown model '@custom'; nearest"),
    "simulated model asked": ("estimate --models sim-fair", "a simulated model costs nothing"),
}
QUESTION_FILES = {
    "empty.yaml": "it must be a block of named fields, not null; see data/study/",
    "cp932.yaml": "iconv -f CP932 -t UTF-8 cp932.yaml > utf8-cp932.yaml",
    "utf16.yaml": "iconv -f UTF-16 -t UTF-8 utf16.yaml > utf8-utf16.yaml",
    "list.yaml": "it must be a block of named fields, not [1, 2]",
    "broken.yaml": "not readable YAML",
    "tag.yaml": "could not determine a constructor for the tag",
    "bomb.yaml": "its aliases stand for too much; write the values out",
    "bomb-beside.yaml": "its aliases stand for too much; write the values out",
    "endless.yaml": "its aliases stand for too much; write the values out",
    "deep.yaml": "not readable YAML (values lie in more than 100 others)",
    "no-date.yaml": "not readable YAML (month must be in 1..12)",
    "no-number.yaml": "not readable YAML (Exceeds the limit (4300 digits)",
    "long-list.yaml": "not [[0, 1, 2, 3, 4, 5, ...], [0, 1, 2, 3, 4, 5, ...], ",
    "no-slot.yaml": "question 1 names nobody; use {a_person} or {person}",
    "twice.yaml": "question id 1 appears twice",
    "path.yaml": ".id must be a whole number, not '../../etc/passwd'",
    "class.yaml": "unknown slot {__class__} in a question; slots are ",
    "absent.yaml": "there is no {here}/absent.yaml; name a file that exists",
    "folder": "{here}/folder is a folder; name a file",
}
OWN_FILES = {
    "01 device": ("--papers 01 --questions /dev/zero", "zero is a device, a pipe or a socket"),
    "02 device": ("--papers 02 --jbbq /dev/zero", "zero is a device, a pipe or a socket"),
    "03 header": ("--papers 03 --comparisons {here}/header.csv", "has a header and no rows"),
    "03 cp932": ("--papers 03 --comparisons {here}/cp932.csv", "iconv -f CP932 -t UTF-8"),
    "03 bad truth": (
        "--papers 03 --comparisons {here}/truth.csv",
        "truth.csv row 1 ('p0') has in annotator_ito neither 1, 2, tie nor nothing",
    ),
    "02 empty folder": ("--papers 02 --jbbq {here}/folder", "no JBBQ files (*.jsonl) in folder"),
    "02 bad JSON": ("--papers 02 --jbbq {here}/cut", "Age.jsonl line 13 is not JSON"),
    "02 deep JSON": (
        "--papers 02 --jbbq {here}/deep",
        "Age.jsonl line 1 is not JSON (maximum recu",
    ),
    "05 without preset": (
        "--papers 05 --topics {here}/topics",
        "unknown preset 'published_counts'",
    ),
    "05 other preset": (
        "--papers 05 --topics {here}/topics --preset theirs",
        "unknown preset 'theirs'; known: mine",
    ),
    "04 other kind of file": (
        "--papers 04 --cases {here}/good.yaml",
        "lacks cases; see data/study/",
    ),
    "prompts empty": ("--papers 04 --prompts {here}/folder", "no prompts for jubaku_v2: folder/"),
    "prompts absent": ("--papers 04 --prompts {here}/none", "no prompts for jubaku_v2: none/"),
    "profile unknown": ("--papers 04 --profile bad", "no profile 'bad'; valid: recorded, smoke, "),
    "profile asks nobody": ("--papers 04 --profile recorded", "asks nobody (answers: recorded)"),
    "profile is a path": ("--papers 04 --profile /etc/passwd", "must hold named blocks of items"),
    "profile of nothing": (
        "--papers 04 --profile {here}/own-profile.yaml",
        "answers must be recorded, live, simulated or imported, not 'everywhere'",
    ),
    "prompts of 300 letters": (f"--papers 04 --prompts {'x' * 300}", "File name too long: xxx"),
    "profile of 300 letters": (f"--papers 04 --profile {'x' * 300}", "File name too long: xxx"),
    "option of another paper": (
        "--papers 04 --questions {here}/good.yaml",
        "--questions is for discrim_eval, which is not asked",
    ),
}
ADDRESSES = {
    "ftp": ("ftp://127.0.0.1/v1", "must begin with http:// or https://"),
    "user and password": ("http://me:secret@127.0.0.1:9/v1", "holds a user or a password"),
    "no scheme": ("127.0.0.1:8000/v1", "must begin with http:// or https://"),
    "port 99999": ("http://127.0.0.1:99999/v1", "look like http://host:8000/v1, not "),
    "port in letters": ("http://127.0.0.1:eight/v1", "look like http://host:8000/v1, not "),
    "no host": ("http://", "look like http://host:8000/v1, not 'http://'"),
    "bracket": ("http://[::1", "look like http://host:8000/v1, not 'http://[::1'"),
    "script": ("javascript:alert(1)", "must begin with http:// or https://"),
}
LIMITS = {
    "closed port": ("--base-url http://127.0.0.1:9/v1", "cannot be reached at 127.0.0.1:9 ("),
    "no address": ("", "endpoint custom needs an address: set KATAYORI_BASE_URL"),
    "nobody at once": ("--concurrency 0", "'0' is no whole number above 0"),
    "budget below nothing": ("--budget=-3", "'-3' is no number of US dollars from 0 to"),
    "budget no number": ("--budget nan", "'nan' is no number of US dollars from 0 to"),
    "no tokens": ("--max-tokens 0", "'0' is no whole number above 0"),
    "label with an escape": ("--label 'a\x1b[31mb'", r"LABEL='a\x1b[31mb' must be a short name"),
    "label of 300 letters": (f"--label {'l' * 300}", "must be a short name in one line"),
}
COMMANDS = {
    "frobnicate": ("frobnicate", "invalid choice: 'frobnicate' (choose from 'reproduce', "),
    "nothing": ("", "the following arguments are required: command"),
    "live of the overview": ("live --papers overview", "the overview asks nobody"),
    "compare unknown": ("compare unknown recorded", "nothing to compare under 'unknown'"),
    "compare a path": ("compare ../../../etc recorded", "nothing to compare under '../../../etc'"),
    "compare 300 letters": (f"compare {'x' * 300} recorded", "File name too long: xxx"),
    "analyse a path": ("analyse /etc/passwd", "passwd: known are .eval and .json (inspect_ai)"),
    "analyse a folder": ("analyse {here}/folder", "folder: known are .eval and .json"),
    "analyse absent": ("analyse {here}/none.jsonl", "log not found: none.jsonl"),
    "analyse nothing": ("analyse ''", "name a log: make analyse LOG=my.eval"),
    "convert absent": (
        "convert {here}/none.eval {here}/a.jsonl --papers 04 --models me@custom",
        "none.eval cannot be",
    ),
    "convert onto a log": (
        "convert {here}/mine.jsonl {here}/mine.jsonl --papers 04 --models me@custom",
        "{here}/mine.jsonl exists, and may hold answers; name another file or remove it",
    ),
    "convert to no folder": (
        "convert {here}/mine.jsonl {here}/none/a.jsonl --papers 04 --models me@custom",
        "{here}/none is no folder to write to; nothing was written",
    ),
    "template onto answers": (
        "template --papers 04 --models me@custom {here}/mine.jsonl",
        "{here}/mine.jsonl exists, and may hold answers; name another file or remove it",
    ),
    "convert a path": (
        "convert /etc/passwd {here}/a.jsonl --papers 04 --models me@custom",
        "passwd: known are .eval",
    ),
    "batch import absent": ("batch import {here}/none", "holds no batch.json that can be read"),
    "batch import empty": ("batch import {here}/folder", "holds no batch.json that can be read"),
    "template to no folder": (
        "template --papers 04 --models me@custom {here}/none/a.csv",
        "{here}/none is no folder to write to; nothing was written",
    ),
    "template .xlsx": (
        "template --papers 04 --models me@custom {here}/a.xlsx",
        "the file name must end in .jsonl or .csv",
    ),
    "template of nobody": ("template {here}/a.csv", "a template holds one paper and one model"),
    "site of a path": ("site --profile ../../etc", "no notebook of the profile '../../etc'"),
    "parameter unknown": ("reproduce --papers 04 -p x=1", "has a parameter 'x'; valid: "),
    "parameter no YAML": ("reproduce --papers 04 -p limit=[", "-p limit: not readable YAML ("),
    "parameter no date": (
        "reproduce --papers 04 -p limit=2026-99-99",
        "-p limit: not readable YAML (month must be in 1..12)",
    ),
    "parameter without value": ("reproduce --papers 04 -p x", "-p takes name=value, not 'x'"),
}


def beginning(start: str, cases: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Cases whose words follow the same beginning."""
    return {name: (f"{start} {words}", says) for name, (words, says) in cases.items()}


REFUSED = {
    **VARIABLES,
    **{
        f"01 {file}": (f"{ESTIMATE} --papers 01 --questions {{here}}/{file}", says)
        for file, says in QUESTION_FILES.items()
    },
    **beginning(ESTIMATE, OWN_FILES),
    **{
        f"{words.split()[0]} at {name}": (f"{words} --papers 04 --base-url '{url}'", says)
        for name, (url, says) in ADDRESSES.items()
        for words in (ESTIMATE, LIVE)
    },
    **beginning(LIVE, LIMITS),
    **COMMANDS,
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A user's folder with files to go wrong with, where no kernel may start."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "_run", lambda job: pytest.fail("a kernel would have started"))
    (tmp_path / "folder").mkdir()
    for name, content in FILES.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(raw)
    own_items.write("inter_jbbq", tmp_path)
    pairs = (tmp_path / own_items.write("logprob_judge", tmp_path)).read_text(encoding="utf-8")
    (tmp_path / "cp932.csv").write_bytes(pairs.encode("cp932"))
    (tmp_path / "truth.csv").write_text(pairs.replace(",1,mail", ",best,mail"), encoding="utf-8")
    rows = (
        shutil.copytree(own_items.write("persona_jbbq", tmp_path), tmp_path / "cut") / "Age.jsonl"
    )
    rows.write_text(rows.read_text(encoding="utf-8") + '{"example_id": 1', encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "Age.jsonl").write_text("[" * 100_000, encoding="utf-8")
    return tmp_path


def files(folder) -> dict:
    """Every file below a folder, and what it holds."""
    return {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def run(words: Sequence[str], capsys) -> tuple[int, str, list[str]]:
    """Exit code, screen and the lines of what is told of a command line."""
    capsys.readouterr()
    code = cli.main(list(words))
    out, err = capsys.readouterr()
    assert (out + err).replace("\n", "").isprintable()
    return code, out, err.splitlines()


def split(words: str, folder) -> list[str]:
    return [word.replace("{here}", str(folder)) for word in shlex.split(words)]


@pytest.mark.parametrize(("words", "says"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_in_one_line_and_nothing_is_written(words, says, here, capsys):
    before = files(here)
    code, out, told = run(split(words, here), capsys)
    assert (code, out, len(told)) == (2, "", 1), told
    assert told[0].startswith("katayori: ") and says.replace("{here}", str(here)) in told[0]
    assert len(told[0]) < 700
    assert files(here) == before


# -- accepted, and harmless ------------------------------------------------------------------------

TAKEN = {
    "no papers": ("--papers '' --models me@custom", "discrim_eval"),
    "no models": ("--papers 04 --models ''", "gpt-4o"),
    "model like a path": (
        "--papers 04 --models ../../etc/passwd@custom",
        "../../etc/passwd@custom",
    ),
    "model of 400 letters": (f"--papers 04 --models {'m' * 400}@custom", "m" * 400),
    "model in Japanese": ("--papers 04 --models モデル@custom", "モデル@custom"),
    "model like a script": ("--papers 04 --models '<script>@custom'", "<script>@custom"),
    "model with an escape": ("--papers 04 --models 'a\x1b[31mb@custom'", "a␛[31mb@custom"),
    "model with two @": ("--papers 04 --models a@b@custom", "a@b@custom"),
    "label like a path": ("--papers 04 --models me@custom --label ../../../x", "me@custom"),
    "closed port estimated": (
        "--papers 04 --models me@custom --base-url http://127.0.0.1:9",
        "me@custom",
    ),
    "script as label of a question": (
        "--papers 01 --models me@custom --questions {here}/script.yaml",
        "me@custom",
    ),
}


@pytest.mark.parametrize(("words", "shows"), TAKEN.values(), ids=TAKEN)
def test_it_is_taken_as_it_is_and_does_no_harm(words, shows, here, capsys):
    before = files(here)
    code, out, _ = run(split(f"estimate --limit 1 {words}", here), capsys)
    assert code == 0 and shows in out
    new = set(files(here)) - set(before)
    assert {one.parent for one in new} <= {here / "cache"}


def test_a_row_with_another_label_is_left_out_and_told_once(here, capsys):
    """A seventh option of three: the others are asked, and keep their ids."""
    file = here / "jbbq" / "Age.jsonl"
    file.write_text(file.read_text("utf-8").replace('"label": 2', '"label": 7', 1), "utf-8")
    code, out, told = run(split(f"{ESTIMATE} --papers 02 --jbbq {{here}}/jbbq", here), capsys)
    [line] = [one for one in [*told, *out.splitlines()] if "left out" in one]
    assert code == 0 and line in told
    assert "1 row(s) left out: label is 7, not one of 0, 1, 2 (Age.jsonl row " in line


def test_an_address_in_the_environment_is_checked_like_one_that_is_given(here, capsys, monkeypatch):
    monkeypatch.setenv("KATAYORI_BASE_URL", "ftp://127.0.0.1/v1")
    for words in (ESTIMATE, f"{ESTIMATE} --label mine", LIVE):
        code, _, told = run(split(f"{words} --papers 04", here), capsys)
        assert code == 2 and len(told) == 1 and "must begin with http:// or https://" in told[0]


# -- servers and answers that are none -------------------------------------------------------------

TO = {"Location": "http://127.0.0.1:9/elsewhere"}
#: Status, body and headers of every reply of a server, and what is told of it.
SERVERS: dict[str, tuple[int, str, Mapping[str, str], str]] = {
    **{
        f"redirect {status}": (status, "", TO, f"on to {TO['Location']} ({status}), and none is")
        for status in (301, 302, 307, 308)
    },
    "redirect nowhere": (302, "", {}, "sends requests on to no address (302)"),
    "redirect inside": (302, "", {"Location": "/login"}, "sends requests on to /login (302)"),
    "HTML": (200, "<html>login</html>", {}, "the answer is not JSON: <html>login</html>"),
    "bad JSON": (200, '{"choices": [{"message"', {}, "the answer is not JSON: "),
    "deep JSON": (200, "[" * 100_000, {}, "the answer is not JSON: [[[["),
    "no choices": (200, '{"choices": []}', {}, 'no choices in the answer: {"choices": []}'),
    "null": (200, "null", {}, "the answer is not JSON: null"),
    "nothing at all": (200, "", {}, "no choices in the answer: null"),
    "always 500": (500, '{"error": {"message": "broken"}}', {}, "status 500: broken"),
    "a key refused": (401, "{}", {}, "custom refused the key"),
    "null for a text": (
        200,
        json.dumps(completion(message={"content": None})),
        {},
        "(unreadable 8); most often: nothing was written",
    ),
    "3 MB for a letter": (
        200,
        json.dumps(completion("x" * 3_000_000)),
        {},
        "(cut 8); most often: longer than 1 MiB; ",
    ),
}
#: What a model says in place of its letter, and how the terminal shows it.
ANSWERS = {
    "script": ("<script>alert(1)</script>", "most often: <script>alert(1)</script>"),
    "escapes": ("\x1b[31mred\x1b[0m\x1b]0;title\x07", "most often: ␛[31mred␛[0m␛]0;title␇"),
    "formula": ('=HYPERLINK("http://x")', 'most often: =HYPERLINK("http://x")'),
    "sum": ("@SUM(1+1)", "most often: @SUM(1+1)"),
    "LaTeX": ("$\\href{javascript:x}{y}$", "most often: $\\href{javascript:x}{y}$"),
    "other direction": ("\u202eyes :rewsna", r"most often: \u202eyes :rewsna"),
    "NUL": ("yes\0no", "most often: yes␀no"),
    "prose": ("It depends.\nReally.", "most often: It depends. Really."),
}
REPLIES = SERVERS | {
    f"answer: {name}": (200, json.dumps(completion(text)), {}, says)
    for name, (text, says) in ANSWERS.items()
}


class Replying(Double):
    """A server with one reply to everything."""

    def __init__(self, status: int, body: str, headers: Mapping[str, str]):
        super().__init__()
        self.reply = {"status": status, "body": body.encode(), "headers": headers}

    async def _reply(self, fault, body, http) -> web.Response:
        return web.Response(content_type="application/json", **self.reply)


@pytest.mark.parametrize("name", REPLIES)
def test_a_server_without_answers_ends_a_run_in_one_line(name, here, capsys, monkeypatch):
    """What it said is kept, and no kernel starts."""
    monkeypatch.setattr(collect, "_wait_before_retry", lambda *_: 0)
    *reply, says = REPLIES[name]
    with Replying(*reply) as server:
        code, out, told = run(split(f"{LIVE} --base-url {server.url}", here), capsys)
        assert 0 < server.asked <= 8 * 7  # each of eight, and six times more
    assert code == 2 and "Traceback" not in out + "".join(told)
    [line] = [one for one in told if one.startswith("katayori: ")]
    assert line == told[-1] and says in line and len(line) < 700
    assert store_path().is_file() and not files(here / "outputs")


# -- make ------------------------------------------------------------------------------------------

#: A variable, what it holds, and what the program says of it (nothing where it is taken).
GIVEN_TO_MAKE = {
    "apostrophe": ("LABEL", "Anna's run", ""),
    "apostrophe and command": ("MODELS", "x'; touch ran; echo '@custom", 'unknown model "x\';"'),
    "quotation marks": ("LABEL", '"; touch ran; echo "', ""),
    "backticks": ("LABEL", "`touch ran`", ""),
    "function of make": ("LABEL", "$(shell touch ran)", ""),
    "dollar": ("LABEL", "$HOME $$HOME ${PATH}", ""),
    "path of O'Brien": ("PROMPTS", "/home/o'brien/mine", "no prompts for jubaku_v2: mine/"),
    "open quotation": ("ARGS", "--label Anna's", "ARGS cannot be split into words"),
    "line end": ("LABEL", "a\ntouch ran", "must be a short name in one line"),
}


@pytest.mark.parametrize(("name", "value", "says"), GIVEN_TO_MAKE.values(), ids=GIVEN_TO_MAKE)
def test_nothing_in_a_variable_of_make_is_run(name, value, says, checkout, here, capsys):
    (*_, command) = make(checkout, "estimate", f"{name}={value}")
    assert command == ["-m", "katayori", "estimate", f"--{name.lower()}={value}"]
    usual = {"--papers=04", "--models=me@custom", "--limit=1"}
    rest = sorted(one for one in usual if not one.startswith(f"--{name.lower()}="))
    code, _, told = run([*command[2:], *rest], capsys)
    assert code == (2 if says else 0) and len(told) == bool(says)
    assert not says or says in told[0]
    assert not list(here.rglob("ran"))


def test_a_misspelt_variable_of_make_is_named_with_the_valid_ones(checkout):
    with pytest.raises(
        AssertionError, match="unknown variable PAPER; valid: PYTHON PAPERS "
    ) as told:
        make(checkout, "estimate", "PAPER=01")
    assert len(str(told.value).splitlines()[0]) < 300


def test_make_refuses_a_language_that_nobody_wrote(checkout):
    with pytest.raises(AssertionError, match="unknown language KATAYORI_LANG=jp; valid: en ja"):
        make(checkout, "estimate", "KATAYORI_LANG=jp")


def test_they_are_eighty():
    cases = [*REFUSED, *TAKEN, *REPLIES, *GIVEN_TO_MAKE]
    assert len(cases) == len(set(cases)) >= 80
