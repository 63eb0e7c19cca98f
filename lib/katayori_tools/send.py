"""One request over the wire: the lean path behind the collector.

The openai client resolves base URL, authentication and headers and names the exceptions; the request itself goes
through aiohttp with orjson, about ten times cheaper an answer than the client's own call.
"""

import os
import time
from typing import Any
from urllib.parse import urlsplit

from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request
from katayori.prompting.store import Response
from katayori.prompting.verdicts import verdict_position


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


def read_completion(body: Any, request: Request) -> Response:
    """Turn a chat-completion object into a Response. Raises ValueError naming what is malformed or missing."""
    try:
        return _read(body, request)
    except (AttributeError, KeyError, TypeError, IndexError) as e:
        raise ValueError(f"malformed answer: {type(e).__name__} {e}") from None


def _read(body: Any, request: Request) -> Response:
    choices = body.get("choices") if isinstance(body, dict) else None
    if not choices or not isinstance(choices[0], dict):
        raise ValueError("no choices in the answer")
    choice, usage = choices[0], body.get("usage") or {}
    message, finish = choice.get("message") or {}, choice.get("finish_reason") or ""
    text = message.get("content") or ""
    if isinstance(text, list):  # some vendors send parts
        text = "".join(part.get("text") or "" for part in text)
    asks, top = bool(request.body.get("logprobs")), None
    if asks and (positions := (choice.get("logprobs") or {}).get("content")):
        last = request.answer_at == "last_letter"
        at = verdict_position([position["token"] for position in positions]) if last else 0
        top = [(t["token"], round(t["logprob"], 5)) for t in positions[at].get("top_logprobs", [])]
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    if finish == "content_filter":
        outcome = "filtered"
    elif message.get("refusal"):
        outcome, text = "refusal", text or message["refusal"]
    elif finish == "length" and limit != 1:
        outcome = "truncated"
    else:  # missing log probabilities are the endpoint's failure: asked again, and 20 in a row stop the run
        outcome = "error" if asks and not top else "ok"
    response = Response(
        outcome, str(text), finish, top, error="logprobs missing" if asks and not top else ""
    )
    response.prompt_tokens = _count(usage.get("prompt_tokens"))
    response.completion_tokens = _count(usage.get("completion_tokens"))
    response.model_answered, response.fingerprint = (
        str(body.get(k) or "") for k in ("model", "system_fingerprint")
    )
    return response


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
        self.base_url, self._key = endpoint.address(base_url), endpoint.key()
        self._session: Any = None
        self._reached = False

    async def __aenter__(self) -> "Sender":
        import aiohttp
        import openai
        from openai._models import FinalRequestOptions

        options: dict[str, Any] = {"api_key": self._key, "max_retries": 0}
        if self.endpoint.kind == "azure":
            options["api_version"] = os.environ.get(self.endpoint.api_version_env, "2024-10-21")
            self.client: Any = openai.AsyncAzureOpenAI(azure_endpoint=self.base_url, **options)
        else:
            self.client = openai.AsyncOpenAI(base_url=self.base_url, **options)
        # Built once by the client, so that Azure's deployment paths and every header are the client's own.
        body = {"model": self.model.vendor_id, "messages": []}
        asked = FinalRequestOptions.construct(
            method="post", url="/chat/completions", json_data=body
        )
        self._built = self.client._build_request(asked)
        self.url = str(self._built.url)
        skip = {"host", "content-length", "connection", "accept-encoding"}
        options = {
            "headers": {k: v for k, v in self._built.headers.items() if k.lower() not in skip}
        }
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
        """Ask once; no retry here. Raises openai.APIError subclasses; ValueError for an answer that is malformed."""
        import aiohttp
        import openai
        import orjson

        body = {"model": self.model.vendor_id, **request.body}
        if body["messages"][-1]["role"] == "assistant":
            body |= self.endpoint.extra_prefill
        started = time.perf_counter()
        try:
            # A redirect is an error: it could carry the key elsewhere.
            async with self._session.post(
                self.url, data=orjson.dumps(body), allow_redirects=False
            ) as reply:
                self._reached = True
                raw = self.mask(await reply.read())
                status, headers = reply.status, reply.headers
        except TimeoutError:
            raise openai.APITimeoutError(request=self._built) from None
        except aiohttp.ClientError as e:
            if isinstance(e, aiohttp.ClientConnectorError) and not self._reached:
                raise KatayoriError(
                    f"{self.endpoint.name} cannot be reached: {e}; is the server running?"
                ) from None
            raise openai.APIConnectionError(
                message=f"{type(e).__name__}: {e}", request=self._built
            ) from None
        try:
            parsed = orjson.loads(raw)
        except orjson.JSONDecodeError:
            parsed = None
        if status >= 300:
            import httpx2

            said = (parsed.get("error") if isinstance(parsed, dict) else None) or raw[:300].decode(
                "utf-8", "replace"
            )
            message = (
                f"{said.get('message')} [{said.get('code')}]" if isinstance(said, dict) else said
            )
            reply = httpx2.Response(status, headers=dict(headers), request=self._built)
            raise self.client._make_status_error(
                f"{status}: {message}", body=parsed, response=reply
            )
        if parsed is None:
            raise ValueError("the answer is not JSON")
        response = read_completion(parsed, request)
        response.latency = round(time.perf_counter() - started, 4)
        return response

    def mask(self, raw: bytes) -> bytes:
        """The body without the key, should a server or proxy echo it: what comes back is stored and shown."""
        key = self._key.encode()
        return raw.replace(key, b"[key]") if len(key) >= 8 and key in raw else raw
