"""One request over the wire: the lean path behind the collector.

The openai client resolves base URL, authentication and headers and names the exceptions; the
request itself goes through aiohttp with orjson, about ten times cheaper an answer than the client's
own call. Address, headers and query come from the client's public properties; nothing of the
package that is private is used, so that its next release changes nothing here.
"""

import email.utils
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from katayori.errors import KatayoriError
from katayori.finish_reasons import LONGEST, ended
from katayori.prompting.letters import letter_of, parse_verdict
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request, Response
from katayori.report.tables import visible
from katayori_tools import likelihood

#: A reply keeps so much text; a server that never ends would fill the disk.
MAX_TEXT = 2**20  # bytes
#: In a cause: a filter stopped the request, which is the provider's own decision.
FILTERED = ("content_filter", "content management policy")
#: What is asked, by the kind of an endpoint; all others are asked for chats.
PATHS = {"completions": "completions"}
#: The openai package's exception for a status; others below 500 are plain `APIStatusError`.
ERRORS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
_SPECIAL = re.compile(r"<[^<>]{0,40}>")  # end-of-text tokens, which some servers list
_HOMES = re.compile(r"(/home|/Users|[A-Za-z]:\\Users)[/\\][^/\\\s\"']+")


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


def _without_logprobs(body: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k not in ("logprobs", "top_logprobs")}


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
    message, finish = choice.get("message") or {}, _finish_reason(choice)
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
    response = Response(outcome, text, finish, top, error=error)
    response.prompt_tokens = _count(usage.get("prompt_tokens"))
    response.completion_tokens = _count(usage.get("completion_tokens"))
    response.model_answered = str(body.get("model") or "")
    response.fingerprint = str(body.get("system_fingerprint") or "")
    return response


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


def _finish_reason(choice: dict[str, Any]) -> str:
    word = choice.get("finish_reason")
    return "" if word is None else str(word)[:LONGEST]


def _outcome(
    request: Request, finish: str, message: dict[str, Any], *, lacking: bool
) -> tuple[str, str]:
    """Outcome and error of an answer that ended so; `lacking`: without its log probabilities.

    Raises ServerError where the word says that the server failed.
    """
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    found = ended(finish, one_token=limit == 1)
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


def cause_of(said: Any) -> str:
    """What an `error` of a reply says, with its code where it has one."""
    if not isinstance(said, dict):
        return str(said)
    code = said.get("code")
    return f"{said.get('message') or 'no message'}" + (f" [{code}]" if code else "")


def failed(cause: str) -> Response:
    """What a request without an answer is stored as: what a filter stopped is no error."""
    filtered = any(words in cause for words in FILTERED)
    return Response("filtered" if filtered else "error", error=cause[:300])


class ServerError(ValueError):
    """An answer of status 200 that says itself that the server failed.

    `status_code`: the status that the failure has by its own word, 500 where it tells none; a
    filter's is 400, which asking again cannot change.
    """

    def __init__(self, cause: str, status_code: int = 500) -> None:
        super().__init__(cause)
        self.status_code = status_code


def refuse_failure(part: Any) -> None:
    """Raises ServerError where an answer, or a choice of it, holds an error."""
    said = part.get("error") if isinstance(part, dict) else None
    if not said:
        return
    cause = f"error within an answer: {cause_of(said)}"
    code = str(said.get("code")) if isinstance(said, dict) else ""
    status = int(code) if re.fullmatch("[45][0-9][0-9]", code) else 500
    raise ServerError(cause, 400 if failed(cause).outcome == "filtered" else status)


def address(client: Any, kind: str, model: str) -> str:
    """The URL that requests to a model are posted to.

    `client` is an openai client, `kind` the endpoint's kind and `model` the vendor's name of the
    model; with `azure` that is the name of the deployment, which stands in the path:
    `{base}/deployments/{model}/chat/completions?api-version=...`, see "Azure OpenAI in Foundry
    Models REST API reference", Chat completions. An endpoint that names its deployment keeps it.

    >>> from types import SimpleNamespace as Client
    >>> address(Client(base_url="http://127.0.0.1/v1/", default_query={}), "completions", "m")
    'http://127.0.0.1/v1/completions'
    """
    base = urlsplit(str(client.base_url))
    path = base.path.rstrip("/")
    if kind == "azure" and "/deployments/" not in f"{path}/":
        path += f"/deployments/{quote(model, safe='')}"
    path += "/" + PATHS.get(kind, "chat/completions")
    query = dict(parse_qsl(base.query, keep_blank_values=True)) | client.default_query
    return urlunsplit((base.scheme, base.netloc, path, urlencode(query), ""))


def headers_of(client: Any) -> dict[str, str]:
    """The headers of every request, names in lower case; the key is among them.

    What the client marks as left out is no text, and is left out.

    >>> from types import SimpleNamespace as Client
    >>> made = Client(auth_headers={"Authorization": "Bearer k"}, default_headers={"X": object()})
    >>> headers_of(made)
    {'authorization': 'Bearer k'}
    """
    given = {**client.auth_headers, **client.default_headers}
    return {name.lower(): value for name, value in given.items() if isinstance(value, str)}


def retry_after(headers: Mapping[str, str] | None, now: float | None = None) -> float:
    """Seconds that a server asks to be left alone; 0 where it says nothing that can be read.

    `headers` finds names in lower case. `retry-after-ms` (milliseconds, some vendors) comes before
    `retry-after` (seconds, or a date; RFC 9110, section 10.2.3). `now` is a time in seconds since
    1970, by default the present one.

    >>> retry_after({"retry-after": "1.5"})
    1.5
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=0)
    60.0
    """
    given = headers or {}
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(given.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else 0.0
    at = _seconds_of(given.get("retry-after", ""))
    return max(0.0, at - (time.time() if now is None else now))


def _seconds_of(date: str) -> float:
    """A date of HTTP in seconds since 1970; 0 where it is none."""
    parsed = email.utils.parsedate_tz(date)
    if parsed is None:
        return 0.0
    try:
        # One of its three forms names no zone; all mean GMT, never this machine's.
        return float(email.utils.mktime_tz((*parsed[:9], parsed[9] or 0)))
    except (ValueError, OverflowError, OSError):
        return 0.0


def status_error(
    status: int, message: str, *, url: str, headers: Mapping[str, str], body: Any
) -> Exception:
    """The openai package's exception for a status that is no answer, with the reply's headers.

    The request in it holds the address only: no key can be printed with the exception.
    """
    import httpx2
    import openai

    usual = "InternalServerError" if status >= 500 else "APIStatusError"
    kind: type[openai.APIStatusError] = getattr(openai, ERRORS.get(status, usual))
    reply = httpx2.Response(status, headers=dict(headers), request=posted(url))
    told = body.get("error", body) if isinstance(body, dict) else body
    return kind(message, response=reply, body=told)


def posted(url: str) -> Any:
    """The request that the openai package's exceptions carry, without headers and body."""
    import httpx2

    return httpx2.Request("POST", url)


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


class Sender:
    """Sends requests of one model to one endpoint: `async with Sender(model, endpoint) as sender`.

    Raises openai's exception types from `send`, and KatayoriError at once where the key is missing.
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
        self._session: Any = None
        self._reached = False
        self.refuses_logprobs = ""  # in the server's own words
        self.quiet = False
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
        options = {"headers": headers_of(self.client)}
        options["timeout"] = aiohttp.ClientTimeout(
            total=self.timeout, sock_connect=min(30, self.timeout)
        )
        options |= {
            "connector": aiohttp.TCPConnector(limit=self.limit),
            "cookie_jar": aiohttp.DummyCookieJar(),
        }
        # Proxies of the environment, as the client does; they have no business with loopback.
        options["trust_env"] = urlsplit(self.url).hostname not in ("127.0.0.1", "localhost", "::1")
        self._session = aiohttp.ClientSession(**options)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self.client.close()

    async def send(self, request: Request) -> Response:
        """Ask once; no retry here.

        Raises openai.APIError subclasses; ValueError for an answer that is malformed. A likelihood
        request takes one call a continuation and one for the prompt alone.
        """
        started = time.perf_counter()
        if request.likelihood:
            response = await self._score(request)
        else:
            body = wire_body(request, self.model, self.endpoint)
            if self.refuses_logprobs and self._may_leave_out_logprobs(request):
                body = _without_logprobs(body)
            response = read_completion(await self._post(body), request)
        response.latency = round(time.perf_counter() - started, 4)
        return response

    async def _score(self, request: Request) -> Response:
        """Scores the continuations by the log probabilities of prompts that end with them."""
        bodies = likelihood.bodies(request, self.model)
        replies = [await self._post(body) for body in bodies]
        return likelihood.read(replies, request)

    async def _post(self, body: dict[str, Any]) -> Any:
        """One call: the parsed answer. Raises as `send` does."""
        import aiohttp
        import openai
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
            raise openai.APITimeoutError(request=posted(self.url)) from None
        except aiohttp.ClientError as e:
            if isinstance(e, aiohttp.ClientConnectorError) and not self._reached:
                raise KatayoriError(
                    f"{self.endpoint.name} cannot be reached: {e}; is the server running?"
                ) from None
            raise openai.APIConnectionError(
                message=f"{type(e).__name__}: {e}", request=posted(self.url)
            ) from None
        try:
            parsed = orjson.loads(raw)
        except orjson.JSONDecodeError:
            parsed = None
        if status >= 300:
            said = parsed.get("error") if isinstance(parsed, dict) else None
            message = f"{status}: {cause_of(said or raw[:300].decode('utf-8', 'replace'))}"
            raise status_error(status, message, url=self.url, headers=headers, body=parsed)
        if parsed is None:
            raise ValueError("the answer is not JSON")
        refuse_failure(parsed)
        return parsed

    def leave_out_logprobs(self, request: Request, error: Exception) -> bool:
        """Whether to ask again without log probabilities: a user's server refused that field."""
        refused = "logprob" in str(error) and self._may_leave_out_logprobs(request)
        if refused and not self.refuses_logprobs:
            self.refuses_logprobs = self.hide(str(error))[:200]
            self.announce("logprobs", f"it refuses log probabilities ({self.refuses_logprobs}); "
                          "the others are asked without them")  # fmt: skip
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
