"""Base models over completions, log probabilities as they come, long, slow and failing servers."""

import re

import pytest
from aiohttp import web
from api_double import PLAIN, Double, requests_for
from test_asking import chosen
from test_collect import ask, run

from katayori.papers import answers, discrim_eval, paper_ids
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Server, get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.replies import MAX_TEXT, read_completion
from katayori.prompting.requests import build
from katayori_tools import cli, live
from katayori_tools.asking import STUDY, Step
from katayori_tools.send import wire_body


class Base(Double):
    """A server of /v1/completions: it continues a text, with probabilities in that format."""

    async def _handle(self, http):
        assert http.path == "/v1/completions"
        return await super()._handle(http)

    async def _reply(self, fault, body, http):
        text = self.answer(body) if callable(self.answer) else self.answer
        choice = {"index": 0, "text": text, "finish_reason": "stop"}
        if body.get("logprobs"):
            top = {" no": -1.0, " yes": -0.5, " maybe": -2.0}
            choice["logprobs"] = {
                "tokens": [" yes", "\n"],
                "token_logprobs": [-0.5, -0.1],
                "top_logprobs": [top, {"\n": -0.1}],
                "text_offset": [0, 4],
            }
        usage = {"prompt_tokens": 50, "completion_tokens": 2}
        return web.json_response({"model": "base", "choices": [choice], "usage": usage})


def test_a_base_model_is_live_and_continues_a_forced_start(house, monkeypatch):
    """Both prompts of notebook 01: the texts joined by a blank line, a prefix continued."""
    monkeypatch.setattr("katayori_tools.reproduce.reproduce", lambda run: 0)
    with Base(answer=" yes") as double:
        given = {"models": "my-base@completions", "limit": 1, "base_url": double.url}
        live.live(chosen(**given))
        assert double.asked == 270
        live.live(chosen(**given))
        assert double.asked == 270
    forced = [body for body in double.requests if body.get("max_tokens") == 1]
    free = [body for body in double.requests if body.get("max_tokens") != 1]
    assert len(forced) == len(free) == 135
    assert all("messages" not in body and "top_logprobs" not in body for body in double.requests)
    assert all(body["prompt"].endswith("\n\nAnswer:") for body in forced)
    assert {body["logprobs"] for body in forced} == {20}
    assert not any("stop" in body for body in free) and {b["stop"][0] for b in forced} == {"\n"}
    monkeypatch.setenv("KATAYORI_BASE_URL", double.url)
    items = discrim_eval.load_study()
    items = items.assign(question=items["filled_template"])
    prompt = load_prompts("discrim_eval")["de_answer_prefix"]
    frame = answers.get(items, prompt, ["my-base@completions"], source="live")
    frame = frame[frame["note"] != "not asked yet"]
    assert (
        len(frame) == 135
        and set(frame["answer"]) == {"yes"}
        and frame["p_yes"].round(3).unique() == [0.607]
    )


@pytest.mark.parametrize("paper", paper_ids())
def test_every_paper_has_prompts_for_a_base_model(paper):
    """Of each prompt what is sent is one text; short answers end with their line."""
    model, endpoint = get_model("my-base@completions")
    chats = [prompt for prompt in load_prompts(paper).values() if prompt.kind == "chat"]
    for prompt in chats:
        places = {"item_id": "i", prompt.per: "i", **prompt.only}
        [request] = build([places], prompt, model, endpoint)
        body = wire_body(request, model, endpoint)
        parts = [message["content"] for message in request.body["messages"]]
        assert body["prompt"] == "\n\n".join(parts) and body["model"] == "my-base"
        short = prompt.settings.get("max_tokens", 99) <= 32
        assert body.get("stop") == (["\n"] if short else None)
        assert "messages" not in body and isinstance(body.get("logprobs", 1), int)


def test_the_probe_tells_of_log_probabilities(house, capsys, monkeypatch):
    with Base(answer=" yes") as double:
        monkeypatch.setenv("KATAYORI_BASE_URL", double.url)
        cli.main(["doctor", "--probe", "b@completions"])
    assert re.search(r"^ok +probe b@completions +3 alternatives$", capsys.readouterr().out, re.M)


# --- log probabilities ----------------------------------------------------------------------------


def own(requests):
    """The same requests, to a server of the user's own."""
    for request in requests:
        request.server = Server("", "http://127.0.0.1:1/v1")
    return requests


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as one:
        yield one


def texts(n):
    return own(several_tokens(n))


def several_tokens(n, start=0):
    """Requests whose text answers, with log probabilities beside it."""
    requests = requests_for(n, start=start, max_tokens=8)
    for request in requests:
        request.body |= {"logprobs": True, "top_logprobs": 20}
    return requests


@pytest.fixture
def asked():
    """The step that a line on its outcome names."""
    model, endpoint = get_model("m@custom")
    return Step("discrim_eval", "m@custom", model, endpoint, [], STUDY)


def test_a_server_that_refuses_the_field_is_asked_without_it(store, capfd, monkeypatch, asked):
    """Said once; the answers lie under the keys of the requests as planned."""
    monkeypatch.setitem(
        PLAIN, "refused", (400, '{"error": {"message": "logprobs is not supported"}}', {})
    )
    with Double(lambda body, before: "refused" if "logprobs" in body else None) as double:
        done = run(double, store, texts(30), concurrency=1, progress=True)
        assert done.outcomes == {"ok": 30} and double.asked == 31
        assert run(double, store, texts(30)).asked == 0
    said = capfd.readouterr().err
    assert said.count("refuses log probabilities (status 400: logprobs is not supported)") == 1
    live._say(done, asked, list(store.get(texts(30))))
    assert "30 of 30 answers came without log probabilities" in capfd.readouterr().out


def test_what_comes_back_decides_not_the_name(store, capfd, asked):
    """Some answers of one server without: counted. Of a vendor a missing one is a failure."""
    with Double(["no_logprobs", None, "empty_logprobs", None]) as double:
        done = run(double, store, texts(4), concurrency=1)
    assert done.outcomes == {"ok": 4}
    live._say(done, asked, list(store.get(texts(4))))
    assert "2 of 4 answers came without log probabilities" in capfd.readouterr().out
    with Double(["no_logprobs"]) as double:
        assert run(double, store, several_tokens(1, start=50)).outcomes == {"error": 1}
    with Double(["no_logprobs"]) as double:  # one token has no text to read
        one_token = own(requests_for(1, start=60, logprobs=True))
        assert run(double, store, one_token).outcomes == {"error": 1}


def test_servers_of_the_users_own_are_asked_for_log_probabilities():
    prompt = load_prompts("persona_jbbq")["pj_basic_ja"]
    item = {"item_id": "i"}
    [request] = build([item], prompt, *get_model("m@custom"))
    assert request.body["logprobs"] is True and request.body["top_logprobs"] == 20
    [request] = build([item], prompt, *get_model("m@gemini"))  # unknown of a vendor
    assert "logprobs" not in request.body


# --- long, slow and failing servers ---------------------------------------------------------------


def test_a_reply_keeps_one_mebibyte():
    [request] = requests_for(1)
    for text in ("x" * (MAX_TEXT + 1), "あ" * MAX_TEXT):
        body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        response = read_completion(body, request)
        assert (response.outcome, response.error) == ("truncated", "longer than 1 MiB")
        assert MAX_TEXT - 3 < len(response.text.encode()) <= MAX_TEXT
        assert text.startswith(response.text)
    body = {"choices": [{"message": {"content": "x" * MAX_TEXT}, "finish_reason": "stop"}]}
    assert read_completion(body, request).outcome == "ok"


def test_a_long_wait_and_a_first_failure_are_said_once(capfd):
    with Double(["rate_limit_date", "server_error", "rate_limit_date"]) as double:
        response, waits = ask(double)
    assert response.outcome == "ok" and waits[0] == 600
    said = capfd.readouterr().err
    assert said.count("Retry-After") == 1 and "asked again after 600 s" in said
    assert said.count("asked again, up to 6 times") == 1


def test_a_failing_server_is_told_while_nothing_is_answered(store, capfd, monkeypatch):
    from katayori_tools import collect as collecting

    monkeypatch.setattr(collecting, "TICK", 0.02)
    monkeypatch.setattr(collecting, "LONG_WAIT", 0.02)
    monkeypatch.setattr(collecting, "_wait_before_retry", lambda *_: 0.2)
    with Double(lambda body, before: "server_error" if before < 2 else None) as double:
        run(double, store, requests_for(1), progress=True)
    lines = capfd.readouterr().err.splitlines()
    assert any("500: broken inside; asked again" in line for line in lines)
    assert sum("m: 0/1" in line for line in lines) > 1


# --- the recording beside it ----------------------------------------------------------------------


def test_a_forced_start_is_said_to_be_left_out(house, monkeypatch, capsys):
    monkeypatch.setattr("katayori_tools.reproduce.reproduce", lambda run: 0)
    with Double(answer="Answer: no") as double:
        live.live(chosen(models="m@custom", limit=1, base_url=double.url))
    said = capsys.readouterr().out
    assert "not asked: de_answer_prefix; custom is not known to continue" in said
    assert "vllm, llamacpp and completions" in said
