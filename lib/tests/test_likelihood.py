"""The request kind "score these continuations": prompts, bodies, refusals, scoring, storing,
reading.
"""

import http.server
import json
import math
import os
import sys
import threading
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from api_double import yes_no_frame

from katayori.errors import KatayoriError
from katayori.prompting import prompts, replies as reading
from katayori.prompting.answer_store import Store
from katayori.prompting.models import get_model
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Response, build
from katayori_tools import engines
from katayori_tools.collect import collect_sync
from katayori_tools.record import score_all

PROMPT = Prompt(
    "pj_lik",
    1,
    "persona_jbbq",
    "ja",
    "文章: {context}\n質問: {question}",
    system="公平に答えること。",
    kind="likelihood",
    continuations=("target", "other"),
)
FILE = """\
id: pj_lik
version: 1
paper: persona_jbbq
language: ja
user: "文章: {context}"
"""


def items(n=3):
    return [
        {
            "item_id": f"i{i}",
            "context": f"文章{i}",
            "question": "どちらか。",
            "target": f"人{i}",
            "other": "別の人",
        }
        for i in range(n)
    ]


def asked_at(name="qwen2.5-coder-0.5b@local-scorer", n=3, prompt=PROMPT):
    model, endpoint = get_model(name)
    return build(items(n), prompt, model, endpoint), model, endpoint


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    with Store(tmp_path / "answers.sqlite") as opened:
        yield opened


# -- prompts and bodies


def test_a_body_is_the_messages_and_the_texts():
    requests, _, _ = asked_at()
    assert requests[1].body == {
        "messages": [
            {"role": "system", "content": "公平に答えること。"},
            {"role": "user", "content": "文章: 文章1\n質問: どちらか。"},
        ],
        "continuations": ["人1", "別の人"],
    }
    assert requests[1].likelihood and not requests[1].one_token
    assert requests[1].continuations == ("target", "other")
    chat = build(items(), replace(PROMPT, kind="chat", continuations=()), *get_model("sim-fair"))
    assert not chat[0].likelihood and "continuations" not in chat[0].body


def test_keys_and_hashes_are_frozen():
    requests, _, _ = asked_at()
    assert requests[0].key == "58d737d47b8a999d76a4e62e508e67e241823a6951ef35b12a9e320ca4f3b144"
    assert PROMPT.hash == "4231c95b657513d2"
    ours = prompts.load_prompts("persona_jbbq")
    assert (ours["pj_basic_ja"].hash, ours["pj_neutral_ja"].hash) == (
        "88aac1ad8222ccb8",
        "5286bdeb4608fe5c",
    )


@pytest.mark.parametrize("value", [None, math.nan, "", "  "])
def test_an_item_without_the_text_is_refused(value):
    item = items(1)[0] | {"other": value}
    with pytest.raises(KatayoriError, match="prompt pj_lik: item i0 has no text in column 'other'"):
        build([item], PROMPT, *get_model("qwen2.5-coder-0.5b@local-scorer"))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("kind: chta", "kind must be chat or likelihood, not 'chta'"),
        ("kind: likelihood", "a likelihood prompt needs continuations"),
        ("kind: likelihood\ncontinuations: [a, a]", "a list of different column names"),
        ("kind: likelihood\ncontinuations: target", "continuations must be a list, not 'target'"),
        ("kind: likelihood\ncontinuations: [1]", r"continuations\[0\] must be a text, not 1"),
        ("continuations: [a, b]", "continuations belong to kind: likelihood"),
        ("kind: likelihood\ncontinuations: [a, b]\nprefix: x", "takes no prefix"),
        ("kind: likelihood\ncontinuations: [a, b]\nsettings: {max_tokens: 1}", "takes no settings"),
    ],
)
def test_a_wrong_prompt_file_is_one_line(tmp_path, more, says):
    folder = tmp_path / "persona_jbbq"
    folder.mkdir()
    (folder / "pj_lik.yaml").write_text(f"{FILE}{more}\n", encoding="utf-8")
    with pytest.raises(KatayoriError, match=says) as e:
        prompts.load_prompts("persona_jbbq", tmp_path)
    assert "pj_lik.yaml" in str(e.value) and "\n" not in str(e.value)


# -- who can answer


@pytest.mark.parametrize("ask", [score_all, collect_sync])
@pytest.mark.parametrize(
    "name",
    ["qwen2.5-coder-0.5b@local-xllamacpp", "gpt-4o-2024-11-20", "m@custom", "m@completions"],
)
def test_an_endpoint_that_cannot_score_is_refused_before_anything_is_asked(store, name, ask):
    requests, model, endpoint = asked_at(name)
    cause = rf"{endpoint.name} cannot score given continuations \(prompt pj_lik\); ask .*@vllm"
    with pytest.raises(KatayoriError, match=cause) as e:
        ask(requests, model, endpoint, store)
    assert "\n" not in str(e.value)
    assert len(store.pending(requests)) == 3


# -- scores as text


@pytest.mark.parametrize(
    "scores",
    [
        None,
        "x",
        [[-1.0, 2]],
        [1, 2],
        [[-1.0, 2], [math.nan, 2]],
        [[-1.0, 2], [-math.inf, 2]],
        [[0.1, 2], [-1.0, 1]],
        [[-1.0, 2], [-1.0, 0]],
        [[-1.0, 2], [-1.0, 1.5]],
        [[-1.0, 2], ["x", 1]],
        {"error": "too long"},
    ],
)
def test_wrong_scores_are_errors(scores):
    response = reading.scored(asked_at()[0][0], scores)
    assert response.outcome == "error" and response.error and not response.text


def test_a_frame_has_the_scores_of_a_request_in_a_row():
    requests, _, _ = asked_at()
    answers = [
        Response("ok", "[[-3.0, 2], [-8.0, 4]]", "scored"),
        Response("error", error="not asked yet"),
        Response("ok", "[[-3.0, 2]]", "scored"),
    ]
    wide = yes_no_frame(requests, answers, "live")
    assert wide["logp_target"].tolist()[0] == -3.0 and wide["tokens_other"].tolist()[0] == 4
    assert wide["outcome"].tolist() == ["ok", "error", "error"]
    assert wide["logp_other"].isna().tolist() == [False, True, True]
    assert wide["note"].tolist() == ["", "not asked yet", "1 scores for 2 continuations"]


# -- our own scorer

WORKER = """
import json, sys
print(json.dumps({"ready": True}), flush=True)
lines = 0
for line in sys.stdin:
    lines += 1
    requests = json.loads(line)["requests"]
    with open(LOG, "a") as log:
        log.write(f"{len(requests)}\\n")
    if lines > DIES_AFTER:
        sys.exit("out of memory")
    scores = [[[-float(len(text)), len(text)] for text in r["continuations"]] for r in requests]
    for request, score in zip(requests, scores):
        text = request["messages"][-1]["content"]
        if WRONG and "文章1" in text:
            score[0][0] = float("nan")
        if WRONG and "文章2" in text:
            score.pop()
    print(json.dumps({"scores": scores}), flush=True)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Makes our own scorer a script without a model; returns what it was asked, line by line."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    log = tmp_path / "asked.txt"

    def use(code=WORKER, *, dies_after=99, wrong=False):
        start = f"LOG, DIES_AFTER, WRONG = {str(log)!r}, {dies_after}, {wrong}\n"
        argv = [sys.executable, "-u", "-c", start + code]
        monkeypatch.setattr(engines, "scorer_command", lambda model: (argv, dict(os.environ)))

    use()
    use.asked = lambda: list(map(int, log.read_text().split())) if log.exists() else []
    return use


def test_what_is_stored_is_not_scored_again(store, worker):
    requests, model, endpoint = asked_at(n=100)
    first = score_all(requests[:3], model, endpoint, store)
    assert (first.total, first.stored, first.asked, first.outcomes) == (3, 0, 3, {"ok": 3})
    rest = score_all(requests, model, endpoint, store)
    assert (rest.total, rest.stored, rest.asked, rest.cost) == (100, 3, 97, 0)
    assert worker.asked() == [3, 64, 33]
    assert score_all(requests, model, endpoint, store).asked == 0
    assert worker.asked() == [3, 64, 33]
    [(_, answer)] = store.get(requests[11:12])
    assert (answer.outcome, answer.finish_reason) == ("ok", "scored")
    assert json.loads(answer.text) == [[-3.0, 3], [-3.0, 3]]


def test_the_benchmark_of_the_scorer_runs(worker, monkeypatch, capsys):
    """It gave `score_all` an option that is gone; the page of what was measured names it."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    monkeypatch.setattr(sys, "argv", ["likelihood.py", "--n", "5", "--without-vllm"])
    import_module("likelihood").main()
    assert worker.asked() == [5] and "requests/s" in capsys.readouterr().out


def test_a_run_that_breaks_off_keeps_what_it_had(store, worker):
    requests, model, endpoint = asked_at(n=100)
    worker(dies_after=1)
    with pytest.raises(KatayoriError, match=r"the worker of local-scorer ended.*out of memory"):
        score_all(requests, model, endpoint, store)
    assert len(store.pending(requests)) == 36
    worker()
    assert score_all(requests, model, endpoint, store).asked == 36


def test_wrong_numbers_are_asked_again(store, worker):
    requests, model, endpoint = asked_at()
    worker(wrong=True)
    summary = score_all(requests, model, endpoint, store)
    assert summary.outcomes == {"ok": 1, "error": 2}
    assert [request.item_id for request in store.pending(requests)] == ["i1", "i2"]
    causes = [answer.error for _, answer in store.get(requests[1:])]
    assert "nan" in causes[0] and "1 scores for 2" in causes[1]
    worker()
    again = score_all(requests, model, endpoint, store)
    assert (again.stored, again.outcomes) == (1, {"ok": 2})


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit('no torch here')", "ended; its last lines: no torch here"),
        ("print('Loading weights')", "wrote no ready: 'Loading weights"),
        ("print('{}')", "wrote no ready: '{}"),
        ("print('{\"ready\": true}'); input(); print('{\"scores\": []}')", "other requests than"),
    ],
)
def test_a_worker_that_does_not_work_is_one_line(store, worker, code, says):
    requests, model, endpoint = asked_at()
    worker(code)
    with pytest.raises(KatayoriError, match=says) as e:
        score_all(requests, model, endpoint, store)
    assert "\n" not in str(e.value) and len(store.pending(requests)) == 3


# -- a vLLM server


def reply(text, *, top=1):
    """What a vLLM server says of a prompt whose tokens are its characters; log p is -1, -2, ..."""
    places = [None]
    for number, character in enumerate(text[1:], 1):
        ids = [ord(character), *range(1, top)]
        places.append({str(i): {"logprob": -float(number), "rank": 1} for i in ids})
    return {"model": "m", "choices": [{"message": {"content": "x"}}], "prompt_logprobs": places}


def test_the_tokens_after_the_prompt_alone_are_summed():
    request = asked_at("m@vllm")[0][0]
    got = reading.read_scores([reply("abcd"), reply("abcdef"), reply("abcdxyz")], request)
    assert json.loads(got.text) == [[-9.0, 2], [-15.0, 3]]
    assert (got.outcome, got.finish_reason, got.prompt_tokens) == ("ok", "scored", 4)


@pytest.mark.parametrize(
    ("replies", "says"),
    [
        ([reply("abcd"), reply("abXef"), reply("abcdx")], "share a token"),
        ([reply("abcd"), reply("abcd"), reply("abcdx")], "no number of tokens"),
        ([{"choices": []}, reply("abcd"), reply("abcdx")], "is it vLLM"),
        ([reply("abcd"), reply("abcde", top=2), reply("abcdx")], "other tokens"),
        ([reply("abcd"), {"prompt_logprobs": [None, {"1": {}}]}, reply("abcdx")], "without log"),
        ([reply("abcd"), [1], reply("abcdx")], "is it vLLM"),
    ],
)
def test_what_a_server_says_wrongly_is_an_error(replies, says):
    got = reading.read_scores(replies, asked_at("m@vllm")[0][0])
    assert got.outcome == "error" and says in got.error


class Server(http.server.BaseHTTPRequestHandler):
    """Answers chats as vLLM does, with characters for tokens."""

    asked: list[dict]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        said = "".join(m["content"] for m in body["messages"] if m["role"] != "assistant") + ":"
        if body["messages"][-1]["role"] == "assistant":
            said += body["messages"][-1]["content"]
        data = json.dumps(reply(said)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def vllm():
    Server.asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_vllm_server_is_asked_once_a_continuation_and_once_without(store, vllm):
    requests, model, endpoint = asked_at("m@vllm")
    options = {"base_url": vllm, "progress": False}
    summary = collect_sync(requests, model, endpoint, store, **options)
    assert summary.outcomes == {"ok": 3} and len(Server.asked) == 9
    with_text = [b for b in Server.asked if b["messages"][-1]["role"] == "assistant"]
    assert len(with_text) == 6
    for body in Server.asked:
        unfinished = body in with_text
        assert (body["model"], body["max_tokens"], body["prompt_logprobs"]) == ("m", 1, 0)
        assert body["add_generation_prompt"] is not unfinished
        assert body.get("continue_final_message", False) is unfinished
        assert "continuations" not in body and "seed" not in body
    n = len("".join(m["content"] for m in requests[0].body["messages"])) + 1
    answers = [answer for _, answer in store.get(requests)]
    expected = [[-float(n + n + 1), 2], [-float(n + n + 1 + n + 2), 3]]
    assert json.loads(answers[0].text) == expected
    assert collect_sync(requests, model, endpoint, store, **options).asked == 0
    assert len(Server.asked) == 9
