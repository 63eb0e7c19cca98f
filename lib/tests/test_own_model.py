"""A model of one's own that behaves oddly: what it refuses is found out, what cannot be read stops.

Each case is a server as others met it; the words in it are ours, of the same kind.
"""

import asyncio
import json
from dataclasses import replace

import pytest
from aiohttp import web
from api_double import Double, completion, endpoint_for, model_for, requests_for

from katayori import provenance
from katayori.errors import KatayoriError
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Server
from katayori.prompting.replies import failure
from katayori.prompting.requests import Response
from katayori_tools import collect as collecting
from katayori_tools.collect import ask_one, collect_sync, cut_short
from katayori_tools.send import Sender

OWN = Server("mine")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "_wait_before_retry", lambda *_: 0)
    with Store(tmp_path / "answers.sqlite") as one:
        yield one


class Odd(Double):
    """A server that answers by a rule: body -> (status, JSON or text)."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    async def _reply(self, fault, body, http):
        status, said = self.rule(body)
        text = said if isinstance(said, str) else json.dumps(said)
        return web.Response(status=status, text=text, content_type="application/json")


def refusal(message, status=400, **more):
    return status, {"error": {"message": message} | more}


def own(url="", **changes):
    return endpoint_for(url, own=True, server=OWN, **changes)


def questions(n, **settings):
    """Requests to it; with log probabilities for an answer of a few tokens."""
    settings = {"max_tokens": 8} | settings
    if settings.get("logprobs"):
        settings |= {"top_logprobs": 20}
    made = requests_for(n)
    return [replace(one, server=OWN, body=one.body | settings) for one in made]


def asked(rule, **settings):
    """The response to one request of a user's own server, and the bodies it was asked with."""
    [request] = questions(1, **settings)

    async def main(double):
        async with Sender(model_for(), own(double.url), timeout=5) as sender:
            return await ask_one(sender, request, sleep=lambda _: asyncio.sleep(0))

    with Odd(rule) as double:
        return asyncio.run(main(double)), double.requests


def with_top(body):
    top = [
        {"token": "yes", "logprob": -0.1},
        *({"token": f"t{n}", "logprob": -5.0} for n in range(30)),
    ]
    top = top[: body.get("top_logprobs", 0)]
    return 200, completion(logprobs={"content": [{"token": "yes", "top_logprobs": top}]})


# --- what a server refuses is found out -----------------------------------------------------------

NUMBERED = [
    "top_logprobs must be less than or equal to {}",
    "Invalid value for 'top_logprobs': must be between 0 and {}.",
    "Requested sample logprobs of 20, which is greater than max allowed: {}",
    "top_logprobs: Input should be less than or equal to {}",
    "the number of top logprobs is limited to [1, {}]",
]


@pytest.mark.parametrize("status", [400, 403, 404, 422, 500])
@pytest.mark.parametrize("most", [3, 5, 10])
@pytest.mark.parametrize("words", NUMBERED)
def test_as_many_alternatives_are_asked_as_a_server_allows(words, most, status):
    def rule(body):
        if body.get("top_logprobs", 0) > most:
            return refusal(words.format(most), status)
        return with_top(body)

    response, bodies = asked(rule, logprobs=True)
    assert (response.outcome, len(response.top), len(bodies)) == ("ok", most, 2)


def test_without_a_number_fewer_are_tried():
    def rule(body):
        return refusal("top_logprobs too large") if body["top_logprobs"] > 5 else with_top(body)

    response, bodies = asked(rule, logprobs=True)
    assert (len(response.top), [body["top_logprobs"] for body in bodies]) == (5, [20, 10, 5])


def test_the_registry_knows_how_many_a_vendor_gives():
    [request] = requests_for(1, logprobs=True, top_logprobs=20)
    supports = {"logprobs": True, "top_logprobs_max": 5}

    async def main(double):
        endpoint = endpoint_for(double.url, supports=supports)
        async with Sender(model_for(), endpoint, timeout=5) as sender:
            return await ask_one(sender, request)

    with Odd(with_top) as double:
        assert len(asyncio.run(main(double)).top) == 5
    assert [body["top_logprobs"] for body in double.requests] == [5]


@pytest.mark.parametrize("status", [400, 403, 404, 422, 500, 501])
@pytest.mark.parametrize(
    "words", ["logprobs are not supported", "unknown parameter: top_logprobs", "no logprobs here"]
)
def test_a_server_without_log_probabilities_is_asked_without(words, status):
    def rule(body):
        return refusal(words, status) if "logprobs" in body else (200, completion())

    response, bodies = asked(rule, logprobs=True)
    assert (response.outcome, response.text, response.top) == ("ok", "Answer: yes", None)
    assert "logprobs" not in bodies[-1]
    assert "top_logprobs" not in bodies[-1]


def test_a_reasoning_model_gets_its_own_settings_and_the_answer_says_so():
    def rule(body):
        if "max_tokens" in body:
            return refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        if body.get("temperature") != 1 and "temperature" in body:
            return refusal("'temperature' does not support 0, only the default (1)")
        if "seed" in body:
            return refusal("unknown field: seed", 422)
        return 200, completion()

    response, bodies = asked(rule, temperature=0, seed=1, max_tokens=9)
    assert response.outcome == "ok"
    assert bodies[-1].keys() == {"model", "messages", "max_completion_tokens"}
    assert response.error == "asked without temperature and seed, which the server refuses"


def test_a_model_of_the_registry_keeps_its_papers_settings():
    [request] = requests_for(1, temperature=0)

    async def main(double):
        async with Sender(model_for(), endpoint_for(double.url), timeout=5) as sender:
            return await ask_one(sender, request)

    with Odd(lambda body: refusal("temperature must be 1")) as double:
        assert asyncio.run(main(double)).outcome == "error"
    assert double.asked == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (503, "GPU temperature is too high"),
        (400, "maximum context length is 4096 tokens, you asked for 9000 in max_tokens"),
        (402, "this request requires more credits, or fewer max_tokens"),
    ],
)
def test_a_setting_that_is_only_spoken_of_stays(status, words):
    try:
        _, bodies = asked(lambda _: refusal(words, status), temperature=0, max_tokens=9)
    except KatayoriError:
        assert status == 402
        return
    assert bodies[0] == bodies[-1]


def test_a_rate_limit_that_names_a_setting_changes_nothing():
    said = iter([refusal("too many requests with logprobs", 429)])
    response, bodies = asked(
        lambda body: next(said, with_top(body)), logprobs=True, top_logprobs=20
    )
    assert (response.outcome, len(response.top)) == ("ok", 20)
    assert bodies[0] == bodies[1]


# --- thoughts, limits and what came in place of an answer -----------------------------------------


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_beside_the_answer_move_its_place(field):
    def place(token, *top):
        return {"token": token, "top_logprobs": [{"token": t, "logprob": p} for t, p in top]}

    thought = [place("A", ("A", -0.01)), place(" or", (" or", -0.1))]
    content = [*thought, place("B", ("B", -0.3), ("A", -1.4))]
    message = {"content": "B", field: "A or"}
    body = completion(message=message, logprobs={"content": content})
    response, _ = asked(lambda _: (200, body), logprobs=True)
    assert response.top == [("B", -0.3), ("A", -1.4)]


@pytest.mark.parametrize(
    ("tokens", "place"),
    [
        (["\n", "B", "<|im_end|>"], 0),
        (["B", "<|eot_id|>"], 0),
        (["<think>", "A", "</think>", "\n\n", "B", "<|im_end|>"], 4),
        (["\n", "<think>", "A", "</think>", "B"], 4),
        (["<|channel|>", "analysis", "<|message|>", "A", "<|end|>", "<|start|>", "assistant",
          "<|channel|>", "final", "<|message|>", "B"], 10),
    ],
)  # fmt: skip
def test_log_probabilities_are_read_behind_thoughts_in_the_text(tokens, place):
    content = [
        {"token": token, "top_logprobs": [{"token": str(n), "logprob": -0.5}]}
        for n, token in enumerate(tokens)
    ]
    body = completion("".join(tokens), logprobs={"content": content})
    response, _ = asked(lambda _: (200, body), logprobs=True)
    assert response.top == [(str(place), -0.5)]


def test_thoughts_alone_are_no_answer():
    body = completion(message={"content": None, "reasoning_content": "hm"})
    response, _ = asked(lambda _: (200, body))
    assert (response.text, response.error) == ("", "thoughts without an answer behind them")


def cut_below(limit):
    """A server that thinks for so many tokens."""

    def rule(body):
        given = body.get("max_tokens") or body.get("max_completion_tokens")
        if given < limit:
            return 200, completion("", finish_reason="length")
        return 200, completion()

    return rule


def collected(rule, store, requests, **options):
    with Odd(rule) as double:
        how = {"progress": False, "concurrency": 4, "base_url": double.url} | options
        return collect_sync(requests, model_for(), own(double.url), store, **how)


def test_cut_answers_are_asked_again_with_a_higher_limit_and_no_others(store):
    requests = questions(30)
    assert collected(cut_below(64), store, requests).outcomes == {"truncated": 30}
    answers = [answer for _, answer in store.get(requests)]
    assert "30 answers are cut at a limit of up to 8 tokens" in cut_short(answers)
    assert "MAX_TOKENS=2000" in cut_short(answers)
    assert collected(cut_below(64), store, requests).asked == 0
    assert collected(cut_below(64), store, requests[:20], max_tokens=2000).outcomes == {"ok": 20}
    assert collected(cut_below(64), store, requests, max_tokens=2000).asked == 10
    assert collected(cut_below(64), store, requests, max_tokens=2000).asked == 0


def by_text(answered):
    return ["ok" if "yes" in answer.text else "out_of_choice" for _, answer in answered]


def test_a_run_stops_where_the_first_twenty_cannot_be_read(store):
    requests = questions(90)
    prose = lambda body: (200, completion("It \x1b[31mdepends."))  # noqa: E731
    with pytest.raises(KatayoriError, match=r"of the first 20 .*unreadable 20.*It .*depends") as e:
        collected(prose, store, requests, read=by_text)
    assert str(e.value).isprintable()
    kept = sum(1 for _, answer in store.get(requests) if answer)
    assert 20 <= kept < 40
    summary = collected(prose, store, requests, read=by_text, first=0)
    assert (summary.read, kept + summary.asked) == ({"out_of_choice": summary.asked}, 90)


def test_one_readable_answer_among_the_first_is_enough(store):
    requests = questions(40)
    said = iter(["yes"])
    summary = collected(
        lambda body: (200, completion(next(said, "it depends"))), store, requests, read=by_text
    )
    assert summary.read == {"ok": 1, "out_of_choice": 39}


@pytest.mark.parametrize(
    ("came", "shown"),
    [
        ('data: {"choices": []}\n\ndata: [DONE]', 'not JSON: data: {"choices": []} data: [DONE]'),
        ("<html>\x1b[2Jlogin</html>", "not JSON: <html>"),
        ({"detail": "model is loading"}, '{"detail": "model is loading"}'),
        ({"object": "error", "message": "no GPU"}, "no GPU"),
    ],
)
def test_what_came_in_place_of_an_answer_is_shown(came, shown):
    response, bodies = asked(lambda _: (200, came))
    assert response.outcome == "error"
    assert shown in response.error
    assert response.error.isprintable() and len(response.error) < 200
    assert len(bodies) == 7


@pytest.mark.parametrize("start", ["\ufeff", " \n"])
def test_a_byte_order_mark_is_no_fault(start):
    text = start + json.dumps(completion())
    assert asked(lambda _: (200, text))[0].outcome == "ok"


def test_a_number_that_is_none_beside_the_answer_is_no_fault():
    text = json.dumps(completion() | {"usage": {"cost": float("nan"), "prompt_tokens": 3}})
    assert asked(lambda _: (200, text))[0].outcome == "ok"


# --- errors by their words ------------------------------------------------------------------------

WORDS = {
    "money": [
        (429, "You exceeded your current quota, please check your plan. [insufficient_quota]"),
        (402, "Insufficient Balance"),
        (403, "Your credit balance is too low to access the API"),
        (400, "billing_hard_limit_reached"),
        (402, "this request requires more credits, or fewer max_tokens"),
        (400, "Access denied: your account is in arrears"),
        (402, ""),
        (429, "Your prepayment credits are depleted."),
        (403, "exceeded your monthly included credits"),
        (400, "ExceededBudget: over the budget of this key"),
        (400, "账户余额不足"),
    ],
    "filtered": [
        (400, "The response was filtered due to Azure OpenAI's content management policy"),
        (400, "Input data may contain inappropriate content. [data_inspection_failed]"),
        (400, "Content Exists Risk"),
        (403, "the chosen model requires moderation and your input was flagged"),
        (400, "Your request was rejected as a result of our safety system"),
        (422, "content-filter: blocked"),
        (400, "CONTENT_POLICY_VIOLATION"),
        (400, "input contains sensitive content"),
    ],
    "": [
        (429, "Rate limit reached for requests"),
        (429, "You exceeded your current quota. Please retry in 34 s."),
        (503, "The model is overloaded"),
        (500, "busy"),
        (400, "unknown field"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "status", "words"), [(kind, *one) for kind, all_ in WORDS.items() for one in all_]
)
@pytest.mark.parametrize("inside", [False, True], ids=["status", "in 200"])
def test_a_failure_is_known_by_its_words(kind, status, words, inside, store):
    assert failure(words, status) == kind
    code = {"code": status} if inside else {}
    rule = lambda _: refusal(words, 200 if inside else status, **code)  # noqa: E731
    requests = questions(1)
    if kind == "money":
        with pytest.raises(KatayoriError, match=r"no money is left.*what was answered is kept"):
            collected(rule, store, requests)
        return
    collected(rule, store, requests)
    [(_, answer)] = store.get(requests)
    assert answer.outcome == (kind or "error")
    again = kind == "" and status != 400
    assert answer.attempts == (7 if again else 1)


def test_a_note_of_how_it_was_asked_stands_beside_the_answer():
    from katayori.prompting.frames import answers_frame
    from katayori.prompting.parsing import parse_yes_no

    told = "asked without temperature, which the server refuses"
    responses = [Response("ok", text, error=told) for text in ("Answer: yes", "it depends")]
    responses += [Response("ok", "Answer: no"), Response("truncated", error=told)]
    how = {"parse": parse_yes_no, "options": ("yes", "no")}
    frame = answers_frame(requests_for(4), responses, "live", **how)
    assert frame["outcome"].tolist() == ["ok", "out_of_choice", "ok", "truncated"]
    assert frame["note"].str.startswith(told).tolist() == [True, True, False, True]
    [counted] = provenance.outcomes(frame)["prompts"]
    assert counted["otherwise"] == {told: 3}
