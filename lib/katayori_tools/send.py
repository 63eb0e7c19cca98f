"""One request over the wire: the lean path behind the collector, and how replies are read.

The openai client resolves base URL, authentication and headers, by its public properties; the
request itself goes through aiohttp with orjson, about ten times cheaper an answer than the client's
own call.

A likelihood prompt (`kind: likelihood`) asks how likely a model finds given texts as its answer.
Nothing is generated; an answer is stored as the text `[[sum_logp, n_tokens], ...]`, one pair a
continuation, in their order. Of a vLLM server the log probabilities of a prompt's own tokens are
asked: the chat ends with a continuation as the assistant's unfinished turn, and
`prompt_logprobs: 0` returns those of the prompt's tokens and no others. The same call without it
says where the continuation begins. One token is generated, since a server generates at least one.
"""

import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from katayori.errors import KatayoriError
from katayori.finish_reasons import LONGEST, ended
from katayori.prompting.letters import letter_of, parse_verdict
from katayori.prompting.models import LOOPBACK, Endpoint, Model, can_score
from katayori.prompting.requests import Request, Response
from katayori.report.tables import visible

#: A reply keeps so much text; a server that never ends would fill the disk.
MAX_TEXT = 2**20  # bytes
#: In a cause: a filter stopped the request, which is the provider's own decision.
FILTERED = ("content_filter", "content management policy")
#: Statuses with which every request of a run would fail: key refused, model or address unknown.
FOR_ALL = (401, 403, 404)
#: What makes a chat's last message the unfinished turn of the assistant.
UNFINISHED = {"add_generation_prompt": False, "continue_final_message": True}
_SPECIAL = re.compile(r"<[^<>]{0,40}>")  # end-of-text tokens, which some servers list
_HOMES = re.compile(r"(/home|/Users|[A-Za-z]:\\Users)[/\\][^/\\\s\"']+")
_ended = lru_cache(1000)(ended)


class ServerError(ValueError):
    """A request without an answer, and why.

    `status`: of the reply, or what the failure has by its own word, 500 where nothing tells one: a
    broken connection is the server's trouble, too. `wait`: so many seconds the server asks to be
    left alone.
    """

    def __init__(self, cause: str, status: int = 500, wait: float = 0.0) -> None:
        super().__init__(cause)
        self.status, self.wait = status, wait


def failed(cause: str) -> Response:
    """What a request without an answer is stored as: what a filter stopped is no error."""
    filtered = any(words in cause for words in FILTERED)
    return Response("filtered" if filtered else "error", error=cause[:300])


def cause_of(said: Any) -> str:
    """What an `error` of a reply says, with its code where it has one."""
    if not isinstance(said, dict):
        return str(said)
    code = said.get("code")
    return f"{said.get('message') or 'no message'}" + (f" [{code}]" if code else "")


def refuse_failure(part: Any) -> None:
    """Raises ServerError where an answer, or a choice of it, holds an error."""
    said = part.get("error") if isinstance(part, dict) else None
    if not said:
        return
    cause = f"error within an answer: {cause_of(said)}"
    code = str(said.get("code")) if isinstance(said, dict) else ""
    status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500
    # A filter's decision is final, whatever its status.
    raise ServerError(cause, 400 if failed(cause).outcome == "filtered" else status)


# -- chats and completions -------------------------------------------------------------------------


def wire_body(request: Request, model: Model, endpoint: Endpoint) -> dict[str, Any]:
    """What is posted for a request: body and model's name, in the form of the endpoint's kind.

    Without chat the texts of all messages, a blank line between two, are what a base model
    continues, so that a forced start of the answer is simply the last of them.
    """
    body = {"model": model.vendor_id, **request.body}
    if endpoint.kind == "completions":
        messages = body.pop("messages")
        body["prompt"] = "\n\n".join(message["content"] for message in messages)
        number = body.pop("top_logprobs", 1)
        if body.pop("logprobs", False):
            body["logprobs"] = number
    elif body["messages"][-1]["role"] == "assistant":
        body |= endpoint.extra_prefill
    return body


def read_completion(body: Any, request: Request) -> Response:
    """Turn a chat-completion object into a Response.

    Raises ValueError naming what is malformed or missing.
    """
    try:
        return _read(body, request)
    except (AttributeError, KeyError, TypeError, IndexError) as e:
        raise ValueError(f"malformed answer: {type(e).__name__} {e}") from None


def _read(body: Any, request: Request) -> Response:
    refuse_failure(body)
    choices = body.get("choices") if isinstance(body, dict) else None
    if not choices or not isinstance(choices[0], dict):
        raise ValueError("no choices in the answer")
    choice, usage = choices[0], body.get("usage") or {}
    refuse_failure(choice)  # as OpenRouter sends it, beside half a text
    message = choice.get("message") or {}
    word = choice.get("finish_reason")
    finish = "" if word is None else str(word)[:LONGEST]
    text = message.get("content") or choice.get("text") or ""
    if isinstance(text, list):  # some vendors send parts
        text = "".join(part.get("text") or "" for part in text)
    asks = bool(request.body.get("logprobs"))
    top = _top(choice.get("logprobs"), request) if asks else None
    outcome, error = _outcome(request, finish, message, lacking=asks and not top)
    if outcome == "refusal":
        text = text or message.get("refusal") or ""
    text = str(text)
    if len(text) > MAX_TEXT // 4 and len(raw := text.encode("utf-8", "replace")) > MAX_TEXT:
        text = raw[:MAX_TEXT].decode("utf-8", "ignore")
        outcome, error = "truncated", "longer than 1 MiB"
    return Response(
        outcome,
        text,
        finish,
        top,
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        str(body.get("model") or ""),
        str(body.get("system_fingerprint") or ""),
        error=error,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


def _outcome(
    request: Request, finish: str, message: dict[str, Any], *, lacking: bool
) -> tuple[str, str]:
    """Outcome and error of an answer that ended so; `lacking`: without its log probabilities.

    Raises ServerError where the word says that the server failed.
    """
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    found = _ended(finish, one_token=limit == 1)
    if found.again:
        raise ServerError(found.note)
    if message.get("refusal") and found.outcome != "filtered":
        return "refusal", ""
    if found.outcome == "ok" and lacking and _needs_logprobs(request):
        return "error", "logprobs missing"
    return found.outcome, found.note if found.outcome == "error" else ""


def _needs_logprobs(request: Request) -> bool:
    """Whether an answer without log probabilities is a failure, which is asked again.

    One token has no text to read. Of a vendor it is known that they come; what a server of the
    user's own returns decides, and its texts can be read without them.
    """
    return request.one_token or not request.server.own


def _top(logprobs: Any, request: Request) -> list[tuple[str, float]] | None:
    """The likeliest tokens at the answer's position, from the form of chats or completions."""
    if not logprobs:
        return None
    last_letter = request.answer_at == "last_letter"
    if positions := logprobs.get("content"):  # chats
        at = verdict_position([place["token"] for place in positions]) if last_letter else 0
        likeliest = [(t["token"], t["logprob"]) for t in positions[at].get("top_logprobs", [])]
    elif tokens := logprobs.get("tokens"):  # completions: a mapping for each token
        at = verdict_position(tokens) if last_letter else 0
        found = (logprobs.get("top_logprobs") or [{}] * len(tokens))[at] or {}
        likeliest = sorted(found.items(), key=lambda pair: -pair[1])
    else:
        return None
    return [(token, round(logprob, 5)) for token, logprob in likeliest]


def verdict_position(tokens: Sequence[str]) -> int:
    """Which token of an output is the verdict's (LJ-10).

    It is the last letter with only punctuation behind it, or else the letter of a final form
    ("[[B]]です。"). Without either it is the first token that is not white space, where a
    verdict-only output has its verdict.
    """
    for n in reversed(range(len(tokens))):
        if letter_of(tokens[n]):
            return n
        if re.search(r"[^\W_]", _SPECIAL.sub("", tokens[n])):
            break
    letter = parse_verdict(_SPECIAL.sub("", "".join(tokens))).answer
    named = [n for n, token in enumerate(tokens) if letter and letter_of(token) == letter]
    return named[-1] if named else next((n for n, t in enumerate(tokens) if t.strip()), 0)


# -- likelihoods -----------------------------------------------------------------------------------


def check_can_score(requests: Sequence[Request], model: Model, endpoint: Endpoint) -> None:
    """Raises KatayoriError where some request needs scores that the endpoint cannot give."""
    first = next((request for request in requests if request.likelihood), None)
    if first is None or can_score(model, endpoint):
        return
    ours = f"NAME@local-scorer{'' if endpoint.kind == 'local' else ' (a model of our own)'}"
    raise KatayoriError(
        f"{endpoint.name} cannot score given continuations (prompt {first.prompt_id});"
        f" ask {ours} or a vLLM server of yours as NAME@vllm"
    )


def scored(request: Request, scores: Any) -> Response:
    """Scores that came for a request as the Response to be stored: log probabilities to five
    decimals.

    What is not one finite pair a continuation becomes the outcome `error`, which is asked again.
    """
    if isinstance(scores, dict):
        return Response("error", error=str(scores.get("error") or "no cause given")[:300])
    n = len(request.body["continuations"])
    try:
        pairs = [[round(float(logp), 5), tokens] for logp, tokens in scores]
        if len(pairs) != n:
            raise ValueError(f"{len(pairs)} scores for {n} continuations")
        for logp, tokens in pairs:
            if not math.isfinite(logp) or logp > 0:
                raise ValueError(f"{logp} is no log probability")
            if type(tokens) is not int or tokens < 1:
                raise ValueError(f"{tokens!r} is no number of tokens")
    except (TypeError, ValueError, OverflowError) as e:
        return Response("error", error=f"wrong scores: {e}"[:300])
    return Response("ok", json.dumps(pairs), "scored")


def scoring_bodies(request: Request, model: Model) -> list[dict[str, Any]]:
    """What is posted to a vLLM server: the prompt alone, then the prompt with each continuation."""
    messages = request.body["messages"]
    shared = {"model": model.vendor_id, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    posted = [shared | {"messages": messages, "add_generation_prompt": True}]
    for text in request.body["continuations"]:
        turn = {"role": "assistant", "content": text}
        posted.append(shared | {"messages": [*messages, turn]} | UNFINISHED)
    return posted


def read_scores(replies: Sequence[Any], request: Request) -> Response:
    """The Response from the replies to `scoring_bodies`; what cannot be read is an `error`.

    The tokens of the prompt alone must begin each prompt with a continuation: elsewhere the
    tokenizer joins both, or the template writes something else there.
    """
    try:
        alone, *others = [_tokens(reply) for reply in replies]
        start = [token for token, _ in alone]
        if any([token for token, _ in one[: len(start)]] != start for one in others):
            raise ValueError("prompt and continuation share a token: their border cannot be told")
    except ValueError as e:
        return Response("error", error=str(e))
    rest = [[logp for _, logp in one[len(start) :]] for one in others]
    response = scored(request, [(sum(logps), len(logps)) for logps in rest])
    response.prompt_tokens = len(alone) + 1  # of the first token there is no log probability
    response.model_answered = str(replies[0].get("model") or "")
    return response


def _tokens(reply: Any) -> list[tuple[str, float]]:
    """Token id and log probability of each token of a prompt but the first."""
    found = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
    if not isinstance(found, list) or not all(found[1:]):
        raise ValueError("the server returns no prompt_logprobs: is it vLLM?")
    tokens = []
    for place in found[1:]:
        try:
            [(token, about)] = place.items()
            tokens.append((str(token), float(about["logprob"])))
        except (AttributeError, KeyError, TypeError, ValueError):
            cause = "a token without log probability, or other tokens than the prompt's own"
            raise ValueError(f"prompt_logprobs holds {cause}") from None
    return tokens


# -- address, key, headers -------------------------------------------------------------------------


def address(client: Any, kind: str, model: str) -> str:
    """The URL that requests to a model are posted to.

    `client` is an openai client, `kind` the endpoint's kind and `model` the vendor's name of the
    model; with `azure` that is the name of the deployment, which stands in the path:
    `{base}/deployments/{model}/chat/completions?api-version=...`, see "Azure OpenAI in Foundry
    Models REST API reference", Chat completions. An endpoint that names its deployment keeps it.
    """
    base = urlsplit(str(client.base_url))
    path = base.path.rstrip("/")
    if kind == "azure" and "/deployments/" not in f"{path}/":
        path += f"/deployments/{quote(model, safe='')}"
    path += "/completions" if kind == "completions" else "/chat/completions"
    query = dict(parse_qsl(base.query, keep_blank_values=True)) | client.default_query
    return urlunsplit((base.scheme, base.netloc, path, urlencode(query), ""))


def headers_of(client: Any) -> dict[str, str]:
    """The headers of every request, names in lower case; the key is among them.

    What the client marks as left out is no text, and is left out.
    """
    given = {**client.auth_headers, **client.default_headers}
    return {name.lower(): value for name, value in given.items() if isinstance(value, str)}


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float:
    """Seconds that a server asks to be left alone; 0 where it says nothing that can be read.

    `headers` finds names in lower case. `retry-after-ms` (milliseconds, some vendors) comes before
    `retry-after` (seconds, or a date; RFC 9110, section 10.2.3). `now` is a time in seconds since
    1970, by default the present one.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) / unit
            return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(headers.get("retry-after", ""))
        # One of its three forms names no zone; all mean GMT, never this machine's.
        at = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
        return max(0.0, at - (time.time() if now is None else now))
    return 0.0


def key_of(endpoint: Endpoint) -> str:
    """The API key from the environment.

    Raises KatayoriError naming the variable, never its value.
    """
    variable = endpoint.key_env
    key = os.environ.get(variable or "-", "").strip()
    if variable and not key and variable != "KATAYORI_API_KEY":  # one's own server may need none
        raise KatayoriError(
            f"endpoint {endpoint.name} needs a key: set the environment variable {variable}"
        )
    if not (key.isascii() and key.isprintable()):
        raise KatayoriError(f"{variable} holds characters that no key has; set it again")
    return key or "none"


# -- sending ---------------------------------------------------------------------------------------


class Sender:
    """Sends requests of one model to one endpoint: `async with Sender(model, endpoint) as sender`.

    Raises KatayoriError at once where the key is missing.
    """

    def __init__(
        self,
        model: Model,
        endpoint: Endpoint,
        *,
        base_url: str = "",
        timeout: float = 600,
        limit: int = 64,
    ):
        self.model, self.endpoint, self.timeout, self.limit = model, endpoint, timeout, limit
        self.base_url, self._key = endpoint.address(base_url), key_of(endpoint)
        self._reached = self.quiet = self.refuses_logprobs = False
        self._announced: set[str] = set()

    async def __aenter__(self) -> Self:
        import aiohttp
        import openai

        options: dict[str, Any] = {"api_key": self._key, "max_retries": 0}
        if self.endpoint.kind == "azure":
            options["api_version"] = os.environ.get(self.endpoint.api_version_env, "2024-10-21")
            self.client: Any = openai.AsyncAzureOpenAI(azure_endpoint=self.base_url, **options)
        else:
            self.client = openai.AsyncOpenAI(base_url=self.base_url, **options)
        self.url = address(self.client, self.endpoint.kind, self.model.vendor_id)
        connect = min(30, self.timeout)
        self._session = aiohttp.ClientSession(
            headers=headers_of(self.client),
            timeout=aiohttp.ClientTimeout(total=self.timeout, sock_connect=connect),
            connector=aiohttp.TCPConnector(limit=self.limit),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Proxies of the environment, as the client does; they have no business with loopback.
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self.client.close()

    async def send(self, request: Request) -> Response:
        """Ask once; no retry here.

        Raises ServerError for what is no answer, ValueError for one that is malformed, and
        KatayoriError where every request would fail alike. A likelihood request takes one call a
        continuation and one for the prompt alone.
        """
        started = time.perf_counter()
        if request.likelihood:
            bodies = scoring_bodies(request, self.model)
            response = read_scores([await self._post(body) for body in bodies], request)
        else:
            body = wire_body(request, self.model, self.endpoint)
            if self.refuses_logprobs and self._may_leave_out_logprobs(request):
                body = {k: v for k, v in body.items() if k not in ("logprobs", "top_logprobs")}
            response = read_completion(await self._post(body), request)
        response.latency = round(time.perf_counter() - started, 4)
        return response

    async def _post(self, body: dict[str, Any]) -> Any:
        """One call: the parsed answer. Raises as `send` does."""
        import aiohttp
        import orjson

        try:
            # A redirect is an error: it could carry the key elsewhere.
            async with self._session.post(
                self.url, data=orjson.dumps(body), allow_redirects=False
            ) as reply:
                self._reached = True
                raw = self.mask(await reply.read())
                status, headers = reply.status, reply.headers
        except TimeoutError:
            raise ServerError(f"TimeoutError: no answer within {self.timeout:g} s") from None
        except aiohttp.ClientError as e:
            if isinstance(e, aiohttp.ClientConnectorError) and not self._reached:
                raise KatayoriError(
                    f"{self.endpoint.name} cannot be reached: {e}; is the server running?"
                ) from None
            raise ServerError(f"{type(e).__name__}: {e}") from None
        try:
            parsed = orjson.loads(raw)
        except orjson.JSONDecodeError:
            parsed = None
        if status in FOR_ALL:
            raise KatayoriError(self._why_none(status))
        if status >= 300:
            said = parsed.get("error") if isinstance(parsed, dict) else None
            cause = cause_of(said or raw[:300].decode("utf-8", "replace"))
            raise ServerError(f"status {status}: {cause}", status, retry_after(headers))
        if parsed is None:
            raise ValueError("the answer is not JSON")
        refuse_failure(parsed)
        return parsed

    def _why_none(self, status: int) -> str:
        """Why every request fails alike, in one line."""
        name = self.endpoint.name
        if status == 404:
            cause = f"{name} knows no model {self.model.vendor_id!r}"
            return f"{cause} (404): check its name and the base URL"
        hint = f" (key from {self.endpoint.key_env})" if self.endpoint.key_env else ""
        return f"{name} refused the key{hint}: status {status}"

    def leave_out_logprobs(self, request: Request, error: Exception) -> bool:
        """Whether to ask again without log probabilities: a user's server refused that field."""
        refused = "logprob" in str(error) and self._may_leave_out_logprobs(request)
        if refused:
            self.refuses_logprobs = True
            said = self.hide(str(error))[:200]
            told = f"it refuses log probabilities ({said}); the others are asked without them"
            self.announce("logprobs", told)
        return refused

    @staticmethod
    def _may_leave_out_logprobs(request: Request) -> bool:
        return bool(request.body.get("logprobs")) and not _needs_logprobs(request)

    def announce(self, topic: str, text: str) -> None:
        """One line on the screen, once a topic."""
        if topic not in self._announced and not self.quiet:
            self._announced.add(topic)
            print(f"{self.endpoint.name}: {visible(text)}", file=sys.stderr, flush=True)

    def hide(self, text: str) -> str:
        """An error without what no report may hold: the server's address, homes of its disk."""
        if self.endpoint.own:
            place = urlsplit(self.base_url)
            for name in (self.base_url, place.netloc, place.hostname or ""):
                text = text.replace(name, "[server]") if len(name) > 3 else text
        return _HOMES.sub(r"\1/[user]", text)

    def mask(self, raw: bytes) -> bytes:
        """The body without the key, should a server or proxy echo it.

        What comes back is stored and shown.
        """
        key = self._key.encode()
        return raw.replace(key, b"[key]") if len(key) >= 8 and key in raw else raw
