"""A request's way out and back as plain values: address, headers, waits and errors.

Nothing here opens a connection. Address, headers and query come from the public properties of the
openai client; nothing of the package that is private is used, so that its next release changes
nothing here.
"""

import email.utils
import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

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


def headers(client: Any) -> dict[str, str]:
    """The headers of every request, names in lower case; the key is among them.

    What the client marks as left out is no text, and is left out.

    >>> from types import SimpleNamespace as Client
    >>> headers(Client(auth_headers={"Authorization": "Bearer k"}, default_headers={"X": object()}))
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
