"""Logs that inspect_ai and lm-evaluation-harness really wrote are converted.

What a harness added to our conversation is refused with the difference; nothing is lost unsaid.
"""

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from katayori.errors import KatayoriError
from katayori.prompting.exchange import import_answers
from katayori.prompting.models import get_model
from katayori_tools import cli, harness_logs, importers
from katayori_tools.asking import requests_of

LOGS = Path(__file__).parent / "fixtures" / "harness_logs"
MODEL = "my-model@custom"
DECISIONS, JUDGE = "discrim_eval", "logprob_judge"


@pytest.fixture
def convert(tmp_path, capsys):
    """Converts one log: exit code, the answers written, what was printed."""

    def run(name, paper=DECISIONS, model=MODEL, log=None):
        target = tmp_path / "answers.jsonl"
        words = ["convert", "--papers", paper, "--models", model, str(log or LOGS / name)]
        code = cli.main([*words, str(target)])
        lines = target.read_text("utf-8").splitlines() if target.exists() else []
        return code, [json.loads(line) for line in lines], capsys.readouterr()

    return run


PLAIN = [
    ("inspect_plain.eval", 2),
    ("inspect_json.json", 2),
    ("inspect_epochs.eval", 6),
    ("lm_eval_plain.jsonl", 2),
    ("lm_eval_repeats.jsonl", 4),
    ("lm_eval_completions.jsonl", 2),
]


@pytest.mark.parametrize(("name", "count"), PLAIN)
def test_what_was_asked_as_ours_is_taken(convert, name, count):
    code, answers, printed = convert(name)
    assert code == 0 and len(answers) == count
    assert f"{count} answers of {MODEL} to {DECISIONS}" in printed.out
    assert "0 rows refused" in printed.out
    assert {row["text"] for row in answers} == {"Answer: yes"}
    assert {row["repetition"] for row in answers} == set(range(count // 2))
    plain = "2 row(s) in the harness's form of our text: one user message as plain text"
    assert (plain in printed.out) == (name == "lm_eval_completions.jsonl")


OTHER = [
    ("inspect_system.eval", "with 1 added turn(s) (system): “Always answer with no.”"),
    ("inspect_turn.eval", "with 1 added turn(s) (user): “Are you sure? Answer again.”"),
    ("inspect_wording.eval", "with another text than prompt de_answer_line: “of this price and"),
    ("lm_eval_system.jsonl", "with 1 added turn(s) (system): “Answer no.”"),
    ("lm_eval_fewshot.jsonl", "with 2 added turn(s) (user, assistant): “A 20-year-old"),
]


@pytest.mark.parametrize(("name", "says"), OTHER)
def test_what_was_added_is_refused_with_the_difference(convert, name, says):
    code, answers, printed = convert(name)
    assert code == 1 and answers == []
    assert f"0 answers of {MODEL}" in printed.out and "2 rows refused" in printed.out
    counted = re.search(r"^  2 row\(s\) was asked (.*)$", printed.out, re.M)
    assert counted and says in f"was asked {counted[1]}", printed.out
    assert f"({name}:1, {name}:2)" in printed.out


def test_the_changed_words_are_shown_beside_ours(convert):
    *_, printed = convert("inspect_wording.eval")
    assert "“of this price and has never" in printed.out
    assert "where ours has “of the price and has never" in printed.out


@pytest.mark.parametrize("model", ["my-model@custom", "my-model@vllm"])
def test_the_log_decides_about_log_probabilities_not_the_endpoint(convert, model, tmp_path, capsys):
    code, answers, printed = convert("inspect_judge_logprobs.eval", JUDGE, model)
    assert code == 0 and [row["top"] for row in answers] == [[["B", -0.1], ["A", -2.5]]] * 2
    assert "lj_verdict: 2 of 2 answers with log probabilities\n" in printed.out
    asked = requests_of(JUDGE, *get_model(model), ["lj_verdict"])
    capsys.readouterr()
    read = import_answers(tmp_path / "answers.jsonl", asked)
    assert sum(bool(response.top) for response in read) == 2 and not capsys.readouterr().out


@pytest.mark.parametrize("name", ["inspect_judge.eval", "lm_eval_judge.jsonl"])
def test_answers_without_log_probabilities_are_counted(convert, name):
    code, answers, printed = convert(name, JUDGE)
    assert code == 0 and len(answers) == 2 and not any("top" in row for row in answers)
    assert "lj_verdict: 0 of 2 answers with log probabilities; the log holds no" in printed.out


@pytest.mark.parametrize("model", ["my-model@custom", "my-model@vllm"])
def test_imported_answers_without_log_probabilities_say_so(convert, model, tmp_path, capsys):
    convert("inspect_judge.eval", JUDGE, model)
    asked = requests_of(JUDGE, *get_model(model), ["lj_verdict"])
    capsys.readouterr()
    import_answers(tmp_path / "answers.jsonl", asked)
    line = "answers.jsonl: 0 of 2 answers with log probabilities (a .csv holds none, a .jsonl row"
    assert capsys.readouterr().out.startswith(line)


def test_the_archive_is_packed_as_inspect_packs_today():
    """Every member of a log by method 93, which Python before 3.14 cannot read."""
    with zipfile.ZipFile(LOGS / "inspect_plain.eval") as archive:
        assert {member.compress_type for member in archive.infolist()} == {harness_logs.ZSTANDARD}


@pytest.mark.parametrize("member", ["header.json", "samples/"])
@pytest.mark.parametrize("behind", [100, 0, None])
def test_a_damaged_zstandard_archive_gets_one_line(tmp_path, member, behind):
    """Overwritten within a member, at its local head, or cut off there."""
    log = tmp_path / "l.eval"
    content = bytearray((LOGS / "inspect_plain.eval").read_bytes())
    at = content.index(member.encode())
    if behind is None:
        del content[at:]
    else:
        start = at + behind - (0 if behind else 30)
        content[start : start + 25] = b"\xff" * 25
    log.write_bytes(content)
    model = get_model(MODEL)[0]
    with pytest.raises(KatayoriError, match=r"l\.eval cannot be read \("):
        list(importers.rows_of(log, model))


def test_a_zstandard_member_cannot_burst_the_memory(monkeypatch):
    monkeypatch.setattr(harness_logs, "MAX_MEMBER", 100)
    with pytest.raises(KatayoriError, match="unpacks to more than 100 bytes"):
        list(importers.rows_of(LOGS / "inspect_plain.eval", get_model(MODEL)[0]))


def test_a_log_of_another_model_is_refused(convert):
    code, answers, printed = convert("inspect_plain.eval", model="other@custom")
    assert code == 2 and answers == []
    assert "is a log of openai-api/mine/my-model, not of other" in printed.err


def test_no_name_of_a_machine_is_in_the_logs(tmp_path):
    """What make.py scrubs: home folders, temporary folders, user names, ports."""
    import zstandard

    shutil.copytree(LOGS, tmp_path / "logs")
    for file in (tmp_path / "logs").iterdir():
        texts = [file.read_bytes()] if file.suffix in (".json", ".jsonl", ".yaml") else []
        if file.suffix == ".eval":
            with zipfile.ZipFile(file) as archive:
                packed = [harness_logs.unpacked(archive, member) for member in archive.infolist()]
            texts = [*packed, *(name.encode() for name in archive.namelist())]
            assert zstandard and texts
        for text in texts:
            assert not re.search(rb"/(?:root|home|tmp|Users|work)/|127\.0\.0\.1:(?!8000)", text)


OURS = [("system", "s"), ("user", "one two three")]


@pytest.mark.parametrize(
    ("asked", "rules"),
    [
        (OURS, []),
        ([("system", "s  "), ("user", "one two three\n")], [importers.SPACES]),
        ([("system", "s"), ("user", "one  two three")], None),
        ([("user", "one two three")], None),
        ([("system", "s"), ("user", "one two three"), ("user", "four")], None),
        ([("user", "s"), ("system", "one two three")], None),
        ([("", "s\n\none two three")], None),
        ([], None),
    ],
)
def test_the_rules_by_which_a_conversation_is_ours(asked, rules):
    assert importers.rules_between(OURS, asked) == rules
    if rules is None:
        kind, words = importers.difference(OURS, asked)
        assert kind and len(words) < 200


def test_one_user_message_may_be_plain_text_but_nothing_more():
    ours = [("user", "one\ntwo")]
    assert importers.rules_between(ours, [("", "one\ntwo")]) == [importers.PLAIN]
    both = [importers.PLAIN, importers.SPACES]
    assert importers.rules_between(ours, [("", "one \r\ntwo ")]) == both
    assert importers.rules_between(ours, [("", "Q: one\ntwo")]) is None
    assert importers.rules_between(ours, [("assistant", "one\ntwo")]) is None
