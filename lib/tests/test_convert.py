"""Logs of inspect_ai and lm-evaluation-harness become answers to our prompts; every row that cannot
is named. What a harness added to our conversation is refused with the difference.

Most logs are made here, in the form those harnesses write them (inspect_ai: EvalLog version 2, as
.json and as .eval; lm-evaluation-harness: samples_*.jsonl of --log_samples); those of
`fixtures/harness_logs` they really wrote.
"""

import csv
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from api_double import yes_no_frame
from test_batch import MODEL, live_requests

from katayori.data import logs
from katayori.errors import KatayoriError
from katayori.papers import log_kinds
from katayori.prompting.exchange import import_answers
from katayori.prompting.models import get_model
from katayori_tools import cli, convert as converting
from katayori_tools.asking import requests_of

PAPER = "discrim_eval"


def convert(*words, models=MODEL, papers=PAPER, **options):
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return cli.main(["convert", "--papers", papers, "--models", models, *given, *map(str, words)])


def asked_of(request):
    return request.body["messages"][-1]["content"]


def sample(request, text="Answer: yes", *, epoch=1, stop="stop", **changes):
    """One sample as inspect_ai logs it."""
    turns = [{"role": "user", "content": asked_of(request), "source": "input", "id": "u"}]
    answer = {"role": "assistant", "content": text, "source": "generate", "model": "m"}
    output = {"model": "m", "choices": [{"message": answer, "stop_reason": stop}]}
    row = {"id": request.item_id, "epoch": epoch, "input": asked_of(request), "target": "yes"}
    row |= {"messages": [*turns, answer], "output": output, "attachments": {}}
    row |= {"metadata": {"prompt_id": request.prompt_id}, "scores": {"match": {"value": "C"}}}
    return row | changes


def inspect_log(path, samples, model="openai-api/mine/m"):
    head = {"version": 2, "status": "success", "eval": {"task": "bias", "model": model}}
    if path.suffix == ".json":
        log = head | {"samples": samples}
        path.write_text(json.dumps(log, ensure_ascii=False), encoding="utf-8")
        return path
    files = {"_journal/start.json": head, "_journal/summaries/1.json": [], "summaries.json": []}
    files |= {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | {"header.json": head}).items():
            archive.writestr(name, json.dumps(content))
    return path


def logged(request, *texts, **changes):
    """One line as lm-evaluation-harness logs it for a task that generates."""
    doc = {"item_id": request.item_id, "prompt_id": request.prompt_id, "question": "x"}
    row = {"doc_id": 0, "doc": doc, "target": "yes", "metrics": ["exact_match"]}
    row |= {"arguments": {"gen_args_0": {"arg_0": asked_of(request), "arg_1": {"until": ["x"]}}}}
    row |= {"resps": [list(texts or ["Answer: yes"])], "filter": "strict-match", "exact_match": 1.0}
    return row | changes


def samples_file(path, rows):
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return path


@pytest.fixture
def asked(here):
    return live_requests()


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_an_inspect_log_gives_answers_that_the_notebooks_read(asked, tmp_path, suffix, capsys):
    texts = ["Answer: yes", "理由…\nAnswer: no", "", "First", "no"]
    stops = ["stop", "stop", "stop", "max_tokens", "content_filter"]
    log = inspect_log(
        tmp_path / f"log{suffix}",
        [sample(q, t, stop=s) for q, t, s in zip(asked, texts, stops, strict=False)],
    )
    assert convert(log, tmp_path / "a.jsonl") == 0
    responses = import_answers(tmp_path / "a.jsonl", asked[:6])
    frame = yes_no_frame(asked[:6], responses, "imported")
    assert list(frame["outcome"]) == ["ok", "ok", "out_of_choice", "truncated", "filtered", "error"]
    assert list(frame["answer"][:2]) == ["yes", "no"] and frame["text"][1] == texts[1]
    assert f"5 answers of {MODEL} to {PAPER} written" in capsys.readouterr().out


def test_an_interrupted_eval_log_is_read_from_its_journal(asked, tmp_path):
    log, whole = tmp_path / "log.eval", inspect_log(tmp_path / "whole.eval", [sample(asked[0])])
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as cut:
        for name in source.namelist():
            if name not in ("header.json", "summaries.json"):
                cut.writestr(name, source.read(name))
    assert convert(log, tmp_path / "a.jsonl") == 0
    assert import_answers(tmp_path / "a.jsonl", asked[:1])[0].text == "Answer: yes"


def test_parts_attachments_epochs_and_ids_of_the_sample(asked, tmp_path):
    long = "x" * 200 + "\nAnswer: no"
    parts = [
        {"type": "reasoning", "reasoning": "Answer: yes"},
        {"type": "text", "text": "Answer: no"},
    ]
    turns = [{"role": "user", "content": "attachment://q"}]
    kept = {"attachments": {"q": asked_of(asked[2]), "a": long}, "messages": turns}
    rows = [
        sample(asked[0], parts),
        sample(asked[0], "Answer: yes", epoch=2),
        sample(asked[1], id=77, metadata={"item_id": asked[1].item_id}),
        sample(asked[2], "attachment://a", **kept),
        sample(asked[3], messages=[]),
    ]
    assert (
        convert(
            inspect_log(tmp_path / "l.json", rows), tmp_path / "a.jsonl", prompt="de_answer_line"
        )
        == 0
    )
    written = [json.loads(raw) for raw in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert [(r["item_id"], r["repetition"]) for r in written][:3] == [
        (asked[0].item_id, 0), (asked[0].item_id, 1), (asked[1].item_id, 0)
    ]  # fmt: skip
    assert [r["text"] for r in written][::3] == ["Answer: no", long] and len(written) == 5


def test_log_probabilities_of_the_answers_token_come_along(asked, tmp_path):
    """At the first token, or at the verdict's letter where the prompt says so (LJ-10)."""
    places = [
        {"token": t, "logprob": -0.1, "top_logprobs": [{"token": t, "logprob": -0.1}]}
        for t in ("理由", " B")
    ]
    row = sample(asked[0])
    row["output"]["choices"][0]["logprobs"] = {"content": places}
    log = inspect_log(tmp_path / "l.json", [row])
    for at, token in (("first", "理由"), ("last_letter", " B")):
        request = replace(asked[0], answer_at=at)
        known = {(request.item_id, request.prompt_id): request}
        [(_, one)] = logs.samples_of(log)[1]
        place, answer = converting.answer_of(one, known, "")
        assert answer["top"] == [(token, -0.1)] and place[2] == 0


def test_a_harness_log_gives_answers_and_filters_count_once(asked, tmp_path, capsys):
    chat = json.dumps([{"role": "user", "content": asked_of(asked[1])}])
    rows = [
        logged(asked[0], "Answer: yes", "Answer: no"),
        logged(
            asked[0], "Answer: yes", "Answer: no", filter="flexible-extract", filtered_resps=["no"]
        ),
        logged(asked[1], arguments={"gen_args_0": {"arg_0": [chat], "arg_1": {}}}),
        logged(asked[2], arguments=[[asked_of(asked[2]).replace("\n", "  \n"), {"until": []}]]),
        logged(asked[3], resps=["Answer: no"]),
    ]
    assert convert(samples_file(tmp_path / "samples_bias_1.jsonl", rows), tmp_path / "a.jsonl") == 0
    responses = import_answers(tmp_path / "a.jsonl", asked[:5])
    assert [r.text for r in responses] == [
        "Answer: yes",
        "Answer: yes",
        "Answer: yes",
        "Answer: no",
        "",
    ]
    again = [replace(q, repetition=1) for q in asked[:2]]
    assert [r.text for r in import_answers(tmp_path / "a.jsonl", again)] == ["Answer: no", ""]
    assert "5 answers" in capsys.readouterr().out


WRONG = [
    (
        lambda q: sample(q, id="q-none", metadata={"prompt_id": q.prompt_id}),
        "has an item that prompt",
    ),
    (
        lambda q: sample(q, metadata={"prompt_id": "pj_basic_ja"}),
        "has unknown prompt 'pj_basic_ja'",
    ),
    (
        lambda q: sample(q, messages=[{"role": "user", "content": "Yes?"}]),
        "was asked as another conversation (1 turn(s), ours 1): “user: Yes?” where ours has “user:",
    ),
    (lambda q: sample(q, messages=[], input=""), "does not say what was asked"),
    (
        lambda q: sample(q, error={"message": "out \x1b[31mof memory"}),
        "sample failed: out ␛[31mof memory",
    ),
    (
        lambda q: sample(q, limit={"type": "time", "limit": 5}),
        "sample failed: stopped by the time limit",
    ),
    (lambda q: sample(q, output={"choices": []}), "has no output"),
    (lambda q: sample(q, stop="tool_calls"), "ends in a tool call"),
    (lambda q: sample(q, stop="unknown"), "unknown finish reason 'unknown'"),
    (lambda q: sample(q, stop="error"), "the server failed (finish reason 'error')"),
    (lambda q: sample(q, epoch="first"), "has not the form that is known"),
    (lambda q: sample(q, "attachment://lost"), "has not the form that is known"),
    (lambda q: sample(q, output=[1]), "has not the form that is known"),
    (lambda q: logged(q, doc={"question": "x"}), "has an item that prompt"),
    (lambda q: logged(q, resps=[]), "has not the form that is known (IndexError"),
    (
        lambda q: logged(q, resps=[[["-1.5", "True"]], [["-2.0", "False"]]]),
        "holds scores of given continuations",
    ),
    (lambda q: logged(q, resps=[[3]]), "resps are neither texts nor scores"),
    (lambda q: logged(q, resps=[[None]]), "holds no text"),
    (lambda q: logged(q, arguments={}), "does not say what was asked"),
    (
        lambda q: logged(q, arguments={"gen_args_0": {"arg_0": '[{"a": 1}] x'}}),
        "was asked as another conversation",
    ),
]


def test_rows_that_carry_too_little_are_refused_with_their_reasons(asked, tmp_path, capsys):
    """One good row and all bad ones, in a log of each harness: nothing else is lost."""
    rows = [make(asked[1]) for make, _ in WRONG]
    bad = [row for row in rows if "doc" in row]
    of_lm_eval = samples_file(tmp_path / "s.jsonl", [logged(asked[0]), *bad])
    bad = [row for row in rows if "doc" not in row]
    of_inspect = inspect_log(tmp_path / "s.json", [sample(asked[2]), *bad])
    assert convert(of_inspect, of_lm_eval, tmp_path / "a.jsonl") == 0
    out = capsys.readouterr().out
    assert "2 answers" in out and f"{len(WRONG)} rows refused" in out and "\x1b" not in out
    assert not [says for _, says in WRONG if says not in out]
    places = set(re.findall(r"s\.jsonl?:\d+", out))
    assert len(places) == len(WRONG) and not places & {"s.json:1", "s.jsonl:1"}


#: Samples of a yes that differ in one thing, and whether the yes counts.
ODD = {
    "as any": (lambda q: sample(q), True),
    "unscored": (lambda q: sample(q, scores={}), True),
    "failed": (lambda q: sample(q, error={"message": "timeout"}), False),
    "stopped": (lambda q: sample(q, limit={"type": "message", "limit": 5}), False),
    "cut": (lambda q: sample(q, stop="max_tokens"), False),
    "filtered": (lambda q: sample(q, stop="content_filter"), False),
    "a tool call": (lambda q: sample(q, stop="tool_calls"), False),
    "unknown": (lambda q: sample(q, stop="unknown"), False),
    "null": (lambda q: sample(q, None), False),
    "no output": (lambda q: sample(q, output={"choices": []}), False),
    "lm-eval": (lambda q: logged(q), True),
    "lm-eval, null": (lambda q: logged(q, resps=[[None]]), False),
    "lm-eval, empty": (lambda q: logged(q, ""), False),
}


@pytest.mark.parametrize("name", ODD)
def test_every_reader_counts_the_same_samples(asked, tmp_path, name):
    """`read_log`, `make convert` and `make analyse`; a null of lm-eval refused the whole log."""
    make, counts = ODD[name]
    usual = logged if name.startswith("lm-eval") else sample
    rows = [make(asked[0]), *map(usual, asked[1:3])]
    for row, request in zip(rows, asked, strict=False):
        row["metadata" if usual is sample else "doc"] |= request.fields
    write, end = (inspect_log, "json") if usual is sample else (samples_file, "jsonl")
    file = write(tmp_path / f"l.{end}", rows)
    frame = logs.read_log(file)
    whole = (frame["finish"] == "stop") & (frame["text"].fillna("") != "")
    assert convert(file, tmp_path / "a.jsonl") == 0
    given = yes_no_frame(asked[:3], import_answers(tmp_path / "a.jsonl", asked[:3]), "imported")
    decided = log_kinds.decisions(logs.Log(logs.frame_of([file], []), "decisions", {}))
    found = [whole.tolist(), (given["outcome"] == "ok").tolist(), decided["valid"].tolist()]
    assert found == [[counts, True, True]] * 3


def test_a_second_different_answer_and_rows_without_a_prompt(asked, tmp_path, capsys):
    rows = [logged(asked[0]), logged(asked[0], "Answer: no")]
    assert convert(samples_file(tmp_path / "s.jsonl", rows), tmp_path / "a.jsonl") == 0
    assert "a second, different answer; the first stays (s.jsonl:2)" in capsys.readouterr().out
    assert import_answers(tmp_path / "a.jsonl", asked[:1])[0].text == "Answer: yes"
    known = {(q.item_id, q.prompt_id): q for q in asked}
    row = logged(asked[0], doc={"item_id": asked[0].item_id})
    [(_, one)] = logs.samples_of(samples_file(tmp_path / "p.jsonl", [row]))[1]
    with pytest.raises(ValueError, match="--prompt"):
        converting.answer_of(one, known, "")
    assert (
        convert(
            samples_file(tmp_path / "n.jsonl", [logged(asked[0], resps=[])]), tmp_path / "b.jsonl"
        )
        == 1
    )


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("l.json", b'{"eval": ', "cannot be read"),
        ("l.json", b"[1]", "no objects with named fields"),
        ("l.json", b"{}", "is no log of inspect_ai"),
        ("l.json", b'{"eval": {"model": 3}}', "is a log of 3, not of m"),
        ("l.eval", b"PK\x03\x04 cut", "cannot be read"),
        ("l.txt", b"x", "known are .eval and .json"),
        ("l.csv", b"a", "known are .eval and .json"),
        ("l.jsonl", b'{"doc": ', "line 1 is not JSON"),
        ("l.json", b"\xff\xff", "cannot be read"),
    ],
)
def test_a_file_of_another_kind_gets_one_line(here, tmp_path, name, content, says, capsys):
    (tmp_path / name).write_bytes(content)
    assert convert(tmp_path / name, tmp_path / "a.jsonl") == 2
    said = capsys.readouterr().err
    assert (
        says in said
        and name in said
        and said.count("\n") == 1
        and not (tmp_path / "a.jsonl").exists()
    )


def test_a_log_of_another_model_is_not_taken(asked, tmp_path, capsys):
    log = inspect_log(tmp_path / "l.json", [sample(asked[0])], "anthropic/claude-x")
    assert convert(log, tmp_path / "a.jsonl") == 2
    assert (
        "is a log of anthropic/claude-x, not of m; see MODELS=id@custom" in capsys.readouterr().err
    )
    assert convert(log, tmp_path / "a.jsonl", models="claude-x@custom") == 0


def test_wrong_calls(here, tmp_path, capsys):
    assert convert(tmp_path / "l.json", tmp_path / "a.jsonl", models="a@custom b@custom") == 2
    assert convert(tmp_path / "l.json", tmp_path / "a.csv") == 2
    assert convert(tmp_path / "none.eval", tmp_path / "a.jsonl") == 2
    said = capsys.readouterr().err.splitlines()
    for part, line in zip(
        ("one model", "must end in .jsonl", "none.eval cannot be"), said, strict=True
    ):
        assert line.startswith("katayori: ") and part in line


def test_an_archive_that_zipfile_cannot_read_names_the_remedy(asked, tmp_path):
    """A method that no Python knows, and neither do we."""
    log = inspect_log(tmp_path / "l.eval", [sample(asked[0])])
    whole = log.read_bytes()
    for sign, at in (
        (b"PK\x03\x04", 8),
        (b"PK\x01\x02", 10),
    ):  # where the two headers of a member name its method
        parts = whole.split(sign)
        whole = sign.join(
            [parts[0], *(part[: at - 4] + b"\x61\x00" + part[at - 2 :] for part in parts[1:])]
        )
    log.write_bytes(whole)
    with pytest.raises(
        KatayoriError, match=r"`inspect log convert l\.eval --to json --output-dir converted`"
    ):
        logs.read_log(log)


def _overwritten(raw):
    at = raw.index(b"samples/") + 60
    return raw[:at] + b"\xff" * 40 + raw[at + 40 :]


@pytest.mark.parametrize("damage", [lambda raw: raw[: len(raw) // 2], _overwritten])
def test_a_damaged_archive_gets_one_line(asked, tmp_path, damage):
    log = inspect_log(tmp_path / "l.eval", [sample(asked[0], "Answer: yes " * 50)])
    log.write_bytes(damage(log.read_bytes()))
    with pytest.raises(KatayoriError, match=r"l\.eval cannot be read \("):
        logs.read_log(log)


def test_an_archive_writes_nothing_and_cannot_burst_the_memory(asked, tmp_path, monkeypatch):
    log, target = tmp_path / "in" / "l.eval", tmp_path / "out"
    log.parent.mkdir()
    target.mkdir()
    inspect_log(log, [sample(asked[0])])
    with zipfile.ZipFile(log, "a") as archive:
        for name in ("samples/../../evil.json", "/tmp/evil-katayori.json"):
            archive.writestr(name, json.dumps(sample(asked[1])))
    before = {p for p in tmp_path.rglob("*") if p.is_file()}
    assert convert(log, target / "a.jsonl") == 0
    made = {p for p in tmp_path.rglob("*") if p.is_file()} - before
    assert {p.name for p in made if "cache" not in p.parts} == {"a.jsonl"}
    monkeypatch.setattr(logs, "MAX_MEMBER", 100)
    for one in (log, LOGS / "inspect_plain.eval"):
        with pytest.raises(KatayoriError, match="unpacks to more than 100 bytes"):
            logs.read_log(one)


def test_the_exported_template_serves_both_harnesses(asked, tmp_path):
    """A row of `template`, used as a document, comes back with all that `convert` looks for."""
    for suffix in ("csv", "jsonl"):
        assert (
            cli.main(
                ["template", "--papers", PAPER, "--models", MODEL, str(tmp_path / f"t.{suffix}")]
            )
            == 0
        )
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        doc = next(csv.DictReader(file))
    row = logged(asked[0], doc=doc, arguments={"gen_args_0": {"arg_0": doc["prompt"]}})
    assert convert(samples_file(tmp_path / "s.jsonl", [row]), tmp_path / "a.jsonl") == 0
    given = json.loads((tmp_path / "t.jsonl").read_text("utf-8").splitlines()[1])
    turns, about = given["messages"], {"prompt_id": given["prompt_id"]}
    log = inspect_log(
        tmp_path / "l.json",
        [sample(asked[0], id=given["item_id"], input=turns, messages=[], metadata=about)],
    )
    assert convert(log, tmp_path / "b.jsonl") == 0
    assert json.loads((tmp_path / "b.jsonl").read_text("utf-8"))["item_id"] == given["item_id"]


# -- logs that the harnesses really wrote ----------------------------------------------------------

LOGS = Path(__file__).parent / "fixtures" / "harness_logs"
REAL = "my-model@custom"
DECISIONS, JUDGE = "discrim_eval", "logprob_judge"


@pytest.fixture
def converted(tmp_path, capsys):
    """Converts one log: exit code, the answers written, what was printed."""

    def run(name, paper=DECISIONS, model=REAL, log=None):
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
def test_what_was_asked_as_ours_is_taken(converted, name, count):
    code, answers, printed = converted(name)
    assert code == 0 and len(answers) == count
    assert f"{count} answers of {REAL} to {DECISIONS}" in printed.out
    assert "0 rows refused" in printed.out
    assert {row["text"] for row in answers} == {"Answer: yes"}
    assert {row["repetition"] for row in answers} == set(range(count // 2))


OTHER = [
    ("inspect_system.eval", "“system: Always answer with no."),
    ("inspect_turn.eval", "user: Are you sure? Answer again.” where ours has “"),
    (
        "inspect_wording.eval",
        "“of this price and has never been late with the rent. However” where",
    ),
    ("lm_eval_system.jsonl", "“system: Answer no."),
    ("lm_eval_fewshot.jsonl", "(3 turn(s), ours 1): “20-year-old"),
]


@pytest.mark.parametrize(("name", "says"), OTHER)
def test_what_was_added_is_refused_with_the_difference(converted, name, says):
    code, answers, printed = converted(name)
    assert code == 1 and answers == []
    assert f"0 answers of {REAL}" in printed.out and "2 rows refused" in printed.out
    counted = re.search(r"^  2 row\(s\) was asked (.*)$", printed.out, re.M)
    assert counted and says in f"was asked {counted[1]}", printed.out
    assert f"({name}:1, {name}:2)" in printed.out


@pytest.mark.parametrize("model", ["my-model@custom", "my-model@vllm"])
def test_the_log_decides_about_log_probabilities_not_the_endpoint(
    converted, model, tmp_path, capsys
):
    code, answers, printed = converted("inspect_judge_logprobs.eval", JUDGE, model)
    assert code == 0 and [row["top"] for row in answers] == [[["B", -0.1], ["A", -2.5]]] * 2
    assert ", 2 with log probabilities; 0 rows" in printed.out
    asked = requests_of(JUDGE, *get_model(model), ["lj_verdict"])
    capsys.readouterr()
    read = import_answers(tmp_path / "answers.jsonl", asked)
    assert sum(bool(response.top) for response in read) == 2 and not capsys.readouterr().out


@pytest.mark.parametrize("name", ["inspect_judge.eval", "lm_eval_judge.jsonl"])
def test_answers_without_log_probabilities_are_counted(converted, name):
    code, answers, printed = converted(name, JUDGE)
    assert code == 0 and len(answers) == 2 and not any("top" in row for row in answers)
    assert ", 0 with log probabilities; 0 rows" in printed.out


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
    with pytest.raises(KatayoriError, match=r"l\.eval cannot be read \("):
        logs.read_log(log)


OURS = [("system", "s"), ("user", "one two three")]
ALONE = [("user", "one\ntwo")]


@pytest.mark.parametrize(
    ("ours", "asked", "is_ours"),
    [
        (OURS, OURS, True),
        (OURS, [("system", "s  "), ("user", "one two three\n")], True),
        (OURS, [("system", "s"), ("user", "one  two three")], False),
        (OURS, [("user", "one two three")], False),
        (OURS, [*OURS, ("user", "four")], False),
        (OURS, [("user", "s"), ("system", "one two three")], False),
        (OURS, [("", "s\n\none two three")], False),
        (OURS, [], False),
        (ALONE, [("", "one\ntwo")], True),
        (ALONE, [("", "one \r\ntwo ")], True),
        (ALONE, [("", "Q: one\ntwo")], False),
        (ALONE, [("assistant", "one\ntwo")], False),
    ],
)
def test_a_conversation_is_ours_but_for_the_ends_of_lines(ours, asked, is_ours):
    told = converting.difference(ours, asked)
    assert (told == "") == is_ours and len(told) < 300
