"""One request over the wire: the lean path behind the collector, in settings that a server takes.

The openai client resolves base URL, authentication and headers, by its public properties; the
request itself goes through aiohttp with orjson, about ten times cheaper an answer than the client's
own call.

For a likelihood prompt nothing is generated (`prompting.replies`). Of a vLLM server the log
probabilities of a prompt's own tokens are asked: the chat ends with a continuation as the
assistant's unfinished turn, and `prompt_logprobs: 0` returns those of the prompt's tokens and no
others. The same call without it says where the continuation begins. One token is generated, since a
server generates at least one.
"""

import os
import re
import sys
import time
from collections.abc import Sequence
from typing import Any, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from katayori.errors import KatayoriError
from katayori.prompting.models import LOOPBACK, Endpoint, Model, abilities, can_score
from katayori.prompting.replies import (
    NO_MONEY,
    ServerError,
    cause_of,
    failure,
    needs_logprobs,
    parsed,
    read_completion,
    read_scores,
    refuse_failure,
    retry_after,
    status_of,
)
from katayori.prompting.requests import Request, Response
from katayori.provenance import OTHERWISE
from katayori.report.tables import visible

#: Statuses with which every request of a run would fail: sent on to another address, key refused,
#: model or address unknown.
FOR_ALL = (301, 302, 303, 307, 308, 401, 403, 404)
#: What a server may refuse to be told, and what of it an answer can do without.
SETTINGS = ("temperature", "top_p", "top_k", "min_p", "seed", "stop")
#: Alternatives that are asked for, where a refusal names no number.
FEWER = (10, 5, 2, 1)
#: Words of a refusal, whatever its status.
UNABLE = (
    *("not support", "unsupported", "unknown", "unrecognized", "not allowed", "not permitted"),
    *("not accept", "not available", "deprecated", "instead", "unexpected", "extra inputs"),
)
LIMITS = ("max_tokens", "max_completion_tokens")
SHOWN = 100  # characters of what came in place of an answer
#: What makes a chat's last message the unfinished turn of the assistant.
UNFINISHED = {"add_generation_prompt": False, "continue_final_message": True}
_HOMES = re.compile(r"(/home|/Users|[A-Za-z]:\\Users)[/\\][^/\\\s\"']+")


def _names(said: str, setting: str) -> bool:
    """Whether a refusal names a setting."""
    end = "" if setting == "logprob" else r"\b"
    return re.search(rf"(?<![a-z]){setting}{end}", said) is not None


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


def scoring_bodies(request: Request, model: Model) -> list[dict[str, Any]]:
    """What is posted to a vLLM server: the prompt alone, then the prompt with each continuation."""
    messages = request.body["messages"]
    shared = {"model": model.vendor_id, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    posted = [shared | {"messages": messages, "add_generation_prompt": True}]
    for text in request.body["continuations"]:
        turn = {"role": "assistant", "content": text}
        posted.append(shared | {"messages": [*messages, turn]} | UNFINISHED)
    return posted


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
        max_tokens: int = 0,
    ):
        self.model, self.endpoint, self.timeout, self.limit = model, endpoint, timeout, limit
        self.base_url, self._key = endpoint.address(base_url), key_of(endpoint)
        self.max_tokens = max_tokens
        self._reached = self.quiet = False
        self._announced: set[str] = set()
        #: What the server has refused: fields to leave out, or another name of one.
        self._refused: dict[str, str] = {}
        self._most = abilities(model, endpoint).get("top_logprobs_max") or 0  # 0: not known

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
            body = self._fitted(wire_body(request, self.model, self.endpoint), request)
            try:
                response = read_completion(await self._post(body), request)
            except ServerError as error:
                error.sent = body
                raise
            self._note(response, body, request)
        response.latency = round(time.perf_counter() - started, 4)
        return response

    def _fitted(self, body: dict[str, Any], request: Request) -> dict[str, Any]:
        """The body in the settings that the server is known to take."""
        if self.max_tokens and not request.one_token:
            body |= {name: self.max_tokens for name in LIMITS if name in body}
        number = "logprobs" if self.endpoint.kind == "completions" else "top_logprobs"
        if self._most and body.get(number, 0) > self._most:
            body[number] = self._most
        renamed = {name: other for name, other in self._refused.items() if name in body}
        for name, other in renamed.items():
            value = body.pop(name)
            body |= {other: value} if other else {}
        return body

    def _note(self, response: Response, body: dict[str, Any], request: Request) -> None:
        """What an answer tells of how it was asked, where that is not as its request says."""
        lacking = [name for name in SETTINGS if name in request.body and name not in body]
        if lacking and response.outcome in ("ok", "truncated"):
            response.error = f"{OTHERWISE} {' and '.join(lacking)}, which the server refuses"
        limit = max((body.get(name) or 0 for name in LIMITS), default=0)
        if response.outcome == "truncated":  # so that a higher limit asks again
            response.completion_tokens = max(response.completion_tokens or 0, limit)

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
                status, headers = reply.status, reply.headers
                # Where it leads tells more of it than its page.
                target = headers.get("Location", "no address") if 300 <= status < 400 else ""
                raw = self.mask(target.encode("utf-8", "replace") or await reply.read())
        except TimeoutError:
            raise ServerError(f"TimeoutError: no answer within {self.timeout:g} s") from None
        except aiohttp.ClientError as e:
            if isinstance(e, aiohttp.ClientConnectorError) and not self._reached:
                raise KatayoriError(
                    f"{self.endpoint.name} cannot be reached: {e}; is the server running?"
                ) from None
            raise ServerError(f"{type(e).__name__}: {e}") from None
        said = parsed(raw)
        if status >= 300:
            error = said.get("error") if isinstance(said, dict) else None
            cause = cause_of(error or raw[:300].decode("utf-8", "replace"))
            told = f"status {status}: {cause}"
            if status in FOR_ALL and not (failure(cause) or self._names_a_setting(cause, body)):
                raise KatayoriError(self._why_none(status, cause))
            raise ServerError(told, status_of(told, status), retry_after(headers))
        refuse_failure(said, raw)
        return said

    def _why_none(self, status: int, cause: str) -> str:
        """Why every request fails alike, in one line."""
        name, said = self.endpoint.name, f" ({visible(self.hide(cause))[:SHOWN]})"
        if status < 400:
            told = (
                f"{name} sends requests on to {visible(cause)} ({status}), and none is sent there"
            )
            return f"{told}; if that server is yours, name it in BASE_URL="
        if status == 404:
            told = f"{name} knows no model {self.model.vendor_id!r}"
            return f"{told} (404): check its name and the base URL{said}"
        hint = f" (key from {self.endpoint.key_env})" if self.endpoint.key_env else ""
        return f"{name} refused the key{hint}: status {status}{said}"

    # -- settings that a server refuses --

    def adapt(self, request: Request, error: Exception) -> bool:
        """Whether to ask again in other settings: the server refused one of them.

        Of log probabilities it asks for as many as are allowed, and leaves them out where texts can
        be read without; the limit of tokens gets its other name. A temperature and the like are
        left out for models of a user's own, and each of their answers says so.
        """
        sent, status = getattr(error, "sent", None), getattr(error, "status", 0)
        if sent is None or status in (NO_MONEY, 408, 409, 429):
            return False
        now = self._fitted(wire_body(request, self.model, self.endpoint), request)
        if now != sent:  # another request has found it out
            return True
        said = str(error).casefold()
        if "logprob" in said and sent.get("logprobs"):
            return self._adapt_logprobs(request, said, sent)
        first, other = LIMITS
        refused = any(words in said for words in UNABLE)
        if first in sent and _names(said, first) and refused:
            return self._leave(first, other, f"it wants {other} in place of {first}")
        # A server in trouble may speak of the temperature of its own.
        own = (self.endpoint.own or "@" in self.model.id) and (refused or 400 <= status < 500)
        named = [name for name in SETTINGS if own and name in sent and _names(said, name)]
        if named:
            told = f"it refuses {named[0]} ({self.hide(str(error))[:SHOWN]}); asked without it"
            return self._leave(named[0], "", told)
        return False

    def _adapt_logprobs(self, request: Request, said: str, sent: dict[str, Any]) -> bool:
        number = "logprobs" if self.endpoint.kind == "completions" else "top_logprobs"
        asked = int(sent.get(number) or 0)
        numbers = [int(n) for n in re.findall(r"(?<![\w.])\d{1,2}(?![\w])", said)]
        allowed = [n for n in numbers if 0 < n < asked]
        if not allowed and "top_logprobs" in said and not any(w in said for w in UNABLE):
            allowed = [n for n in FEWER if n < asked][:1]
        if allowed:
            self._most = max(allowed)
            self.announce(
                f"most {self._most}", f"it gives at most {self._most} alternatives of a token"
            )
            return True
        if needs_logprobs(request):
            return False
        self._refused |= {"top_logprobs": ""}
        told = f"it refuses log probabilities ({self.hide(said)[:200]})"
        return self._leave("logprobs", "", f"{told}; the others are asked without them")

    def _leave(self, name: str, other: str, told: str) -> bool:
        self._refused[name] = other
        self.announce(name, told)
        return True

    def _names_a_setting(self, cause: str, body: dict[str, Any]) -> bool:
        said = cause.casefold()
        asked = ["logprob", *(name for name in (*LIMITS, *SETTINGS) if name in body)]
        return any(_names(said, name) for name in asked)

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
