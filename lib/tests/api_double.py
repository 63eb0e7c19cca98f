"""An OpenAI-compatible server for tests only: loopback, random port, scripted faults, counts of what was asked.

    with Double(script=["rate_limit", None]) as double:   # the first request is refused, the rest is answered
        ... double.url, double.asked

A script is a list (fault of the 1st, 2nd ... request; None answers) or a function (body, how often this body was asked
before) -> fault. Plain helpers below make the requests, model and endpoint that go with it.
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

from aiohttp import web

from katayori.prompting.answer_store import Store
from katayori.prompting.frames import answers_frame
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.parsing import answer_in, parse_yes_no
from katayori.prompting.requests import Request

KEY_ENV = "KATAYORI_TEST_KEY"
SUPPORTS = {"seed": True, "logprobs": True, "prefill": True, "max_tokens_field": "max_tokens"}
RETRY_AFTER = 7

#: What a server has written when it fails midway.
HALF = "Answer: yes would be half"
#: status, body and headers of the faults that are plain HTTP answers
PLAIN: dict[str, tuple[int, str, dict[str, str]]] = {
    "rate_limit": (429, '{"error": {"message": "slow down"}}', {"Retry-After": str(RETRY_AFTER)}),
    "rate_limit_soon": (429, '{"error": {"message": "slow down"}}', {"Retry-After": "1"}),
    "overloaded": (503, "{}", {}),
    "overloaded_529": (529, "{}", {}),
    "rate_limit_ms": (429, "{}", {"retry-after-ms": "1500", "Retry-After": "90"}),
    "rate_limit_date": (429, "{}", {"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}),
    "rate_limit_past": (429, "{}", {"Retry-After": "Sat, 01 Jan 2000 00:00:00 GMT"}),
    "rate_limit_nonsense": (429, "{}", {"Retry-After": "nan"}),
    "server_error": (500, '{"error": {"message": "broken inside"}}', {}),
    "bad_gateway_html": (502, "<html><b>bad gateway</b></html>", {}),
    "malformed": (200, '{"choices": [{"message": {"content": "Answ', {}),
    "empty_choices": (200, '{"choices": []}', {}),
    "no_choices": (200, '{"object": "list"}', {}),
    "error_200": (200, '{"error": {"message": "no provider is up", "code": 502}}', {}),
    "credit_200": (200, '{"error": {"message": "out of credit", "code": 402}}', {}),
    "filtered_200": (200, '{"error": {"message": "no", "code": "content_filter"}}', {}),
    "message_is_text": (200, '{"choices": [{"message": "Answer: yes"}]}', {}),
    "not_an_object": (200, "[1, 2]", {}),
    "filtered_400": (400, '{"error": {"message": "refused", "code": "content_filter"}}', {}),
    "bad_request": (400, '{"error": {"message": "unknown field: seed"}}', {}),
    "unprocessable": (422, '{"error": {"message": "no"}}', {}),
    "unauthorized": (401, '{"error": {"message": "Incorrect API key provided"}}', {}),
    "forbidden": (403, '{"error": {"message": "not for you"}}', {}),
    "not_found": (404, '{"error": {"message": "The model does not exist"}}', {}),
    "redirect": (307, "", {"Location": "http://127.0.0.1:9/elsewhere"}),
}


def completion(text: str = "Answer: yes", *, with_logprobs: bool = False, **changes) -> dict:
    """A well-formed answer; `changes` replace fields of the choice (finish_reason, message ...) or of the whole."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    if with_logprobs:
        top = [{"token": " yes", "logprob": -0.5}, {"token": " no", "logprob": -1.0}]
        choice["logprobs"] = {"content": [{"token": " yes", "logprob": -0.5, "top_logprobs": top}]}
    choice |= {k: changes.pop(k) for k in ("finish_reason", "message", "logprobs") if k in changes}
    usage = {"prompt_tokens": 50, "completion_tokens": 4}
    return {
        "id": "x",
        "model": "m-vendor",
        "choices": [choice],
        "usage": usage,
        "system_fingerprint": "fp",
    } | changes


def failed_choice() -> dict:
    """A choice as OpenRouter sends it where a provider breaks off."""
    [choice] = completion(HALF, finish_reason="error")["choices"]
    return choice | {"error": {"code": 502, "message": "provider disconnected"}}


class Double:
    """The server in a thread of its own. `bodies` counts requests by canonical body, `keys` lists credentials seen."""

    def __init__(
        self,
        script: list | Callable | None = None,
        answer: str | Callable = "Answer: yes",
        delay: float = 0,
    ):
        self.script, self.answer, self.delay = script, answer, delay
        self.bodies: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.requests: list[dict] = []
        self.keys: list[str] = []
        self.now = self.most_at_once = 0

    @property
    def asked(self) -> int:
        return len(self.requests)

    def __enter__(self) -> "Double":
        ready = threading.Event()
        self._loop = asyncio.new_event_loop()

        async def start() -> None:
            app = web.Application(client_max_size=2**26)
            app.router.add_route("*", "/{path:.*}", self._handle)
            self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await self._runner.setup()
            site = web.TCPSite(self._runner, "127.0.0.1", 0)
            await site.start()
            self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1"
            ready.set()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(start())
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert ready.wait(10), "the double did not start"
        return self

    def __exit__(self, *_: object) -> None:
        async def stop() -> None:
            await self._runner.cleanup()
            left = asyncio.all_tasks() - {
                asyncio.current_task()
            }  # replies that are still being held back
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        key = json.dumps(body, sort_keys=True, ensure_ascii=False)
        before, n = self.bodies[key], len(self.requests)
        self.bodies[key] += 1
        self.requests.append(body)
        self.keys.append(http.headers.get("Authorization", "") + http.headers.get("api-key", ""))
        self.now += 1
        self.most_at_once = max(self.most_at_once, self.now)
        try:
            await asyncio.sleep(self.delay)
            if callable(self.script):
                fault = self.script(body, before)
            else:
                fault = self.script[n] if self.script and n < len(self.script) else None
            reply = await self._reply(fault, body, http)
            if fault is None:
                self.answered[key] += 1
            return reply
        finally:
            self.now -= 1

    async def _reply(self, fault: str | None, body: dict, http: web.Request) -> web.StreamResponse:
        asks = bool(body.get("logprobs"))
        text = self.answer(body) if callable(self.answer) else self.answer
        if fault in PLAIN:
            status, content, headers = PLAIN[fault]
            kind = "text/html" if content.startswith("<") else "application/json"
            return web.Response(status=status, text=content, headers=headers, content_type=kind)
        if fault and fault.startswith("echo_"):  # a careless proxy repeats the caller's headers
            status = int(fault.removeprefix("echo_"))
            said = f"bad header Authorization: {self.keys[-1]}"
            if status == 200:
                return web.json_response(completion(said))
            return web.json_response({"error": {"message": said}}, status=status)
        if fault and fault.startswith("ends_"):  # whole or half, the word alone tells
            word = fault.removeprefix("ends_")
            return web.json_response(completion(HALF, finish_reason=word, with_logprobs=asks))
        if fault == "timeout":
            await asyncio.sleep(20)
        if fault == "cut":
            http.transport.abort()
        if fault == "cut_midway":
            half = web.StreamResponse(headers={"Content-Length": "1000"})
            await half.prepare(http)
            await half.write(b'{"choices": [')
            http.transport.abort()
            return half
        made = {
            None: lambda: completion(text, with_logprobs=asks),
            "no_logprobs": lambda: completion(text),
            "empty_logprobs": lambda: completion(text, logprobs={"content": []}),
            "filtered": lambda: completion("", finish_reason="content_filter"),
            "refusal": lambda: completion(
                "", message={"role": "assistant", "content": None, "refusal": "I can't help."}
            ),
            "truncated": lambda: completion("First, Answer: yes might", finish_reason="length"),
            "error_beside": lambda: completion(HALF) | {"error": {"message": "upstream broke"}},
            "error_in_choice": lambda: {"choices": [failed_choice()]},
            "wrong_model": lambda: completion(text, with_logprobs=asks, model="another-model"),
            "no_usage": lambda: completion(text, usage=None),
            "odd_usage": lambda: completion(
                text, usage={"prompt_tokens": "many", "completion_tokens": 2**80}
            ),
            "parts": lambda: completion(
                text, message={"role": "assistant", "content": [{"type": "text", "text": text}]}
            ),
        }
        return web.json_response(made.get(fault, made[None])())


def endpoint_for(url: str = "", **changes) -> Endpoint:
    """An endpoint named `double`; its key, if any, comes from KEY_ENV."""
    return Endpoint(
        **{
            "name": "double",
            "kind": "openai_compatible",
            "base_url": url,
            "key_env": "",
            "supports": SUPPORTS,
        }
        | changes
    )


def model_for(name: str = "m", **fields) -> Model:
    prices = {"price_input": 1.0, "price_output": 1.0}
    return Model(name, f"{name}-vendor", "double", **(prices | fields))


def requests_for(
    n: int, model: Model | None = None, *, logprobs: bool = False, start: int = 0, **settings
) -> list:
    """`n` requests with different questions."""
    model = model or model_for()
    if logprobs:
        settings |= {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}
    return [
        Request(
            "discrim_eval", "study", f"q{i:05d}", "p", "0" * 16, "", model.id, "double", model.identity,
            {"messages": [{"role": "user", "content": f"Question number {i}?"}], **settings},
        )
        for i in range(start, start + n)
    ]  # fmt: skip


def counts(store: Store) -> dict[str, int]:
    """Number of stored answers by outcome."""
    return dict(store.db.execute("SELECT outcome, COUNT(*) FROM answers GROUP BY outcome"))


#: The frame of answers to a question of yes or no.


def of_raw(parse):
    """A parser of texts as they came: `parse(text, finish_reason, **options)`."""
    return lambda text, finish="stop", **how: answer_in(partial(parse, **how), text, finish)


yes_no_frame = partial(answers_frame, parse=parse_yes_no, options=("yes", "no"))
