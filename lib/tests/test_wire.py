"""Address, headers, waits and errors: as the openai package itself has them, by public means."""

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace

import openai
import pytest
from aiohttp import web
from api_double import KEY_ENV, Double, completion, endpoint_for, requests_for

from katayori.prompting.models import Model
from katayori.prompting.replies import ServerError
from katayori_tools import send
from katayori_tools.send import Sender

KEY = "a-test-key-of-some-length"
#: What differs by nature: the connection's own, and what the package says of its own retries.
OWN = {"host", "content-length", "connection", "accept", "accept-encoding"}
OWN |= {"x-stainless-retry-count", "x-stainless-read-timeout"}


class Mirror(Double):
    """Keeps path, query and headers of everything asked."""

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in http.headers.items()}
        self.seen = (http.path_qs, {k: v for k, v in headers.items() if k not in OWN})
        return await super()._handle(http)

    async def _reply(self, fault, body, http):
        return web.json_response(completion() | {"choices": [{"text": "yes"} | {"index": 0}]})


def client(base_url: str = "http://127.0.0.1:1/v1", **query: object) -> SimpleNamespace:
    """What `address` needs of a client."""
    return SimpleNamespace(base_url=base_url, default_query=query)


def by_the_package(double: Mirror, kind: str, model: str) -> tuple[str, dict[str, str]]:
    """What the openai package itself sends, through its documented calls."""

    async def ask() -> None:
        if kind == "azure":
            root = double.url.removesuffix("/v1")
            made = openai.AsyncAzureOpenAI(
                azure_endpoint=root, api_key=KEY, api_version="2025-01-01-preview", max_retries=0
            )
        else:
            made = openai.AsyncOpenAI(base_url=double.url, api_key=KEY, max_retries=0)
        async with made:
            if kind == "completions":
                await made.completions.create(model=model, prompt="x")
            else:
                await made.chat.completions.create(
                    model=model, messages=[{"role": "user", "content": "x"}]
                )

    asyncio.run(ask())
    return double.seen


def by_us(double: Mirror, kind: str, model: str) -> tuple[str, dict[str, str]]:
    root = double.url.removesuffix("/v1") if kind == "azure" else double.url
    more = {"api_version_env": "KATAYORI_TEST_VERSION"} if kind == "azure" else {}
    endpoint = endpoint_for(root, kind=kind, key_env=KEY_ENV, **more)

    async def ask() -> None:
        async with Sender(Model("m", model, "double"), endpoint) as sender:
            await sender.send(requests_for(1)[0])

    asyncio.run(ask())
    return double.seen


@pytest.mark.parametrize("kind", ["openai_compatible", "completions", "azure"])
@pytest.mark.parametrize("model", ["m", "org/m 1.5 版?a=b"])
def test_address_and_headers_are_those_of_the_package(kind, model, monkeypatch):
    monkeypatch.setenv(KEY_ENV, KEY)
    monkeypatch.setenv("KATAYORI_TEST_VERSION", "2025-01-01-preview")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-test")
    with Mirror() as double:
        assert by_us(double, kind, model) == by_the_package(double, kind, model)
        name = "api-key" if kind == "azure" else "authorization"
        assert KEY in double.seen[1][name] and double.seen[1]["openai-organization"] == "org-test"


def test_an_address_with_a_query_keeps_it():
    url = send.address(client("http://127.0.0.1:1/v1?tier=2&x=", y="あ"), "completions", "m")
    assert url == "http://127.0.0.1:1/v1/completions?tier=2&x=&y=%E3%81%82"


NOW = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110, section 5.6.7


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "inf"}, 0),
        ({"retry-after": "1e999"}, 0),
        ({"retry-after": ""}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "90"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "90"}, 90),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"}, 60),
        ({"retry-after": "Sunday, 06-Nov-94 08:50:37 GMT"}, 60),
        ({"retry-after": "Sun Nov  6 08:50:37 1994"}, 60),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:37 -0000"}, 60),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:36 GMT"}, 0),
        ({"retry-after": "Sun, 99 Nov 999999999999 08:49:36 GMT"}, 0),
    ],
)
def test_every_form_of_retry_after(headers, seconds, monkeypatch):
    """Seconds, milliseconds and the three forms of a date; a zone of this machine changes none."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert send.retry_after(headers, now=NOW) == pytest.approx(seconds)


def test_no_exception_holds_the_key(monkeypatch):
    monkeypatch.setenv(KEY_ENV, KEY)

    async def failing(double: Double) -> Exception:
        endpoint = endpoint_for(double.url, key_env=KEY_ENV)
        async with Sender(Model("m", "m", "double"), endpoint, timeout=0.3) as sender:
            with pytest.raises(ServerError) as caught:
                await sender.send(requests_for(1)[0])
            return caught.value

    for fault in ("server_error", "timeout", "cut"):
        with Double([fault]) as double:
            error = asyncio.run(failing(double))
            assert KEY in double.keys[0]
        assert KEY not in repr(error) + repr(vars(error))


def test_nothing_private_of_the_package_is_used():
    """No module with an underscore, no method with one of a client."""
    private = re.compile(r"\bopenai(\.\w+)*\._|\bclient\._\w")
    for file in Path(send.__file__).parents[1].rglob("*.py"):
        if "tests" not in file.parts:
            assert not private.search(file.read_text(encoding="utf-8")), file
