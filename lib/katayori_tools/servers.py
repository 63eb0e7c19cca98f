"""Whose answers: which server of the user's own is asked or read, and whether it is there."""

import os
import socket
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from katayori.errors import KatayoriError
from katayori.prompting.models import (
    DEFAULT_PORT,
    UNKNOWN,
    Endpoint,
    Model,
    Server,
    at_server,
    get_model,
    label_of,
    normalised,
    registry,
)
from katayori.prompting.store import store_path
from katayori_tools.answer_store import Store
from katayori_tools.choices import OwnServer

TIMEOUT = 5.0  # seconds that a server has to take a connection


def asked_at(
    server: OwnServer, chosen: Iterable[str], papers: Iterable[str]
) -> dict[tuple[str, str], tuple[Model, Endpoint]]:
    """Model and endpoint by paper and name as given, each with its server and series.

    All are settled before anything is asked, so that a run stays within the series it began with.
    Of a server that is not named nothing is stored; who asks it finds that out from `reached`.
    """
    label_of(server.label)
    papers = list(papers)
    settled: dict[tuple[str, str], tuple[Model, Endpoint]] = {}
    for name in chosen:
        model, endpoint = get_model(name)
        if server.exported is not None:
            for paper in papers:
                which = f"{paper} {name}"
                settled[paper, name] = model, _as_exported(endpoint, server.exported, which)
            continue
        endpoint = at_server(endpoint, base_url=server.base_url, label=server.label, needed=False)
        for paper in papers:
            settled[paper, name] = model, _with_series(endpoint, model, paper, server.fresh)
    return settled


def _as_exported(endpoint: Endpoint, exported: Mapping[str, dict], which: str) -> Endpoint:
    """The endpoint with the server that a batch was exported for; older exports did not know it."""
    if not endpoint.own:
        return endpoint
    about = exported.get(which, {"label": UNKNOWN, "address": UNKNOWN})
    return replace(endpoint, server=Server(**about))


def _with_series(endpoint: Endpoint, model: Model, paper: str, is_fresh: bool) -> Endpoint:
    """The endpoint with the newest series of its server's answers, or with one that holds none."""
    if not endpoint.own:
        return endpoint
    with Store(store_path()) as store:
        endpoint = store.newest(endpoint, model, paper)
        return store.fresh(endpoint, model) if is_fresh else endpoint


def reach_all(models: Iterable[str], base_url: str) -> None:
    """Raises KatayoriError where a user's server is not there, before anything is asked."""
    for name in models:
        _, endpoint = get_model(name)
        if endpoint.own:
            reached(endpoint, base_url)


def reached(endpoint: Endpoint, base_url: str = "") -> str:
    """The address to ask, once something has taken a connection there. Raises KatayoriError.

    Behind a proxy only a request can tell, so nothing is tried there.
    """
    url = endpoint.address(base_url)
    parts = urlsplit(url)
    host, scheme = parts.hostname or "", parts.scheme.lower()
    loopback = host in ("localhost", "127.0.0.1", "::1")
    proxy = urllib.request.getproxies().get(scheme)
    if proxy and not loopback and not urllib.request.proxy_bypass(host):
        return url
    try:
        socket.create_connection((host, parts.port or DEFAULT_PORT[scheme]), TIMEOUT).close()
    except OSError as error:
        cause = error.strerror or str(error)
        raise KatayoriError(
            f"{endpoint.name} cannot be reached at {host}:{parts.port or DEFAULT_PORT[scheme]}"
            f" ({cause}): is the server running, and is the address right?"
        ) from None
    return url


def served(
    model: Model, endpoint: Endpoint, base_url: str, needed: Any
) -> AbstractContextManager[str]:
    """`with` it: the base URL to ask: given, the endpoint's, or of a local engine of this block.

    A server of the user's own must answer even where everything is stored: raises KatayoriError.
    """
    if endpoint.own:
        return nullcontext(reached(endpoint, base_url))
    if not needed:
        return nullcontext("")
    if base_url or endpoint.kind != "local":
        return nullcontext(endpoint.address(base_url))
    from katayori_tools import engines

    return engines.serve(model.id, endpoint.name)


def say_elsewhere(paper: str, name: str, model: Model, endpoint: Endpoint) -> None:
    """One line where answers of this model name lie under other servers, with what can be done."""
    if not endpoint.own:
        return
    with Store(store_path()) as store:
        others = store.elsewhere(paper, model, endpoint)
    if not others:
        return
    total = sum(n for _, n in others)
    listed = ", ".join(f"{n} under {server.shown}" for server, n in others)
    first = others[0][0]
    label = first.label or first.shown.rpartition(" ")[2]  # the hash stands for its address
    remedy = f"LABEL={label} reads these, without it they are asked anew here"
    print(f"{paper} {name}: {total} answers lie under other servers ({listed}); {remedy}")


@contextmanager
def environment(server: OwnServer) -> Iterator[None]:
    """LABEL= and BASE_URL= as environment variables within this block, for notebooks."""
    label_of(server.label)
    variables = {"KATAYORI_LABEL": server.label} if server.label else {}
    if server.base_url:
        own = [endpoint for endpoint in registry()[0].values() if endpoint.own]
        variables |= {endpoint.base_url_env: server.base_url for endpoint in own}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def check_same_server(endpoint: Endpoint, base_url: str, stored: Iterable[str]) -> None:
    """Raises KatayoriError where stored answers came from another address than is asked now.

    `stored`: the normalised addresses of the answers that are to be compared.
    """
    if not endpoint.own:
        return
    now = normalised(endpoint.address(base_url))
    for address in stored:
        if address and address != now:
            whose = "nobody knows which server" if address == UNKNOWN else "another server"
            raise KatayoriError(
                f"earlier answers to these requests came from {whose}, not from the one asked now:"
                " no difference would tell anything; ask the same server, or name another LABEL="
            )
