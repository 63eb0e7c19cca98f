"""What is asked of whom: a paper's items and wording, a user's models and servers, as requests."""

import os
import socket
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise, product, zip_longest
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import urlsplit

from katayori import profiles
from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.papers import answers, get_paper, items as source, paper_ids
from katayori.papers.items import OwnItems
from katayori.prompting import prompts
from katayori.prompting.answer_store import Store
from katayori.prompting.models import (
    DEFAULT_PORT,
    LOOPBACK,
    UNKNOWN,
    Endpoint,
    Model,
    Server,
    at_server,
    get_model,
    label_of,
    registry,
)
from katayori.prompting.prompts import Prompt
from katayori.prompting.requests import Request, Response, build
from katayori.prompting.store import store_path
from katayori_tools.choices import LIGHT_ENGINE, LIGHT_MODEL, Asking, OwnServer
from katayori_tools.notebooks import LAST, names, own_items

if TYPE_CHECKING:
    import pandas as pd

LONG_ANSWER = "・" * 200  # stands for an earlier answer where requests are only counted
PART = 50  # rows whose requests are held at once, and sorted
FIRST_PART = 4  # rows; of few, so that the first answers are of every prompt
TIMEOUT = 5.0  # seconds that a server has to take a connection

Earlier = Callable[[list[Request]], list[Response | None]]

# -- items and prompts -----------------------------------------------------------------------------


def prompts_of(paper: str, dataset: str, own: OwnItems) -> str:
    """The data set whose prompts are asked: ours are Japanese, those of BBQ and PandaLM are
    English.
    """
    if own.in_place_of(paper):
        return "study"
    return get_paper(paper).asked_in if dataset == "official" else dataset


def load_rows(
    paper: str, dataset: str, *, limit: int | None = None, own: OwnItems | None = None
) -> "pd.DataFrame":
    """The rows to ask: `item_id`, `cluster` and the places that a paper's prompts are filled from.

    The items of `read_items` as they are asked: a judge's pairs in both orders, balanced sets rank
    by rank, and options in the orders that the user asks for. Raises as `papers.items.read_items`.
    """
    read = source.read_items(paper, dataset, limit=limit, own=own)
    room = get_paper(paper)
    rows = room.as_asked(read.items.assign(cluster=room.cluster_of(read.items)))
    return room.in_orders(rows, read.own)


def steps(paper: str, dataset: str) -> list[list[str]]:
    """The prompts a data set is asked, those that need no earlier answer first.

    They are those of the recording plan, which also has entries of samples: these do not count.
    """
    plan = get_paper(paper).about.get("recording") or []
    whole = [entry for entry in plan if entry["dataset"] == dataset and "sample" not in entry]
    return [list(step) for step in dict.fromkeys(tuple(entry["prompts"]) for entry in whole)]


@dataclass(frozen=True)
class Scope:
    """Which items of a paper are asked about, and how they are worded.

    `limit` counts clusters; `folder` holds prompt files that replace ours.
    """

    dataset: str = "study"
    limit: int | None = None
    own: OwnItems | None = None
    folder: str = ""


STUDY = Scope()


@dataclass(frozen=True)
class Step:
    """Prompts of a paper that can be asked at once, about which items, and of whom.

    `name` is the model as it was given. `unable`: prompts of the paper that its endpoint cannot be
    asked, in all steps.
    """

    paper: str
    name: str
    model: Model
    endpoint: Endpoint
    prompts: list[str]
    scope: Scope
    unable: tuple[Prompt, ...] = ()

    def parts(self, store: Store | None, stand_in: str = "") -> Iterator[list[Request]]:
        """The requests about `PART` rows at a time, those that begin alike next to each other.

        A server that keeps what it has read of a prompt then reads little of the next one, a run
        that is stopped holds whole blocks of items, and memory does not grow with the number of
        requests. Where a prompt holds the model's answer to an earlier one, it comes from the
        store; `stand_in` takes its place, and without that the item is left out, where the earlier
        prompt has not been asked yet. Seeds follow the newest rule; of what the store holds, the
        rule under which it lies there.
        """
        scope = self.scope
        wording = prompts.load_prompts(self.paper, scope.folder)
        for prompt_id in self.prompts:
            expect(prompt_id, wording, f"prompt of {self.paper}")
        asked = [wording[prompt_id] for prompt_id in self.prompts]
        once = {prompt.id for prompt in asked if prompt.per != "item_id"}
        items = load_rows(self.paper, scope.dataset, limit=scope.limit, own=scope.own)
        rows: Any = items.to_dict("records")  # pandas does not say that its columns have names
        dataset = source.request_dataset(self.paper, scope.dataset, scope.own or OwnItems())
        earlier = _earlier(store, stand_in)
        made: set[tuple[str, str]] = set()  # of prompts that are asked once for several items
        bounds = [0, *range(FIRST_PART, len(rows), PART), len(rows)]
        for some in (rows[start:end] for start, end in pairwise(bounds)):
            part = from_rows(some, asked, self.model, self.endpoint, earlier, dataset=dataset)
            new = [q for q in part if (q.prompt_id, q.item_id) not in made]
            made |= {(q.prompt_id, q.item_id) for q in new if q.prompt_id in once}
            new.sort(key=_beginning)
            yield answers.as_stored(store, new) if store else new

    def requests(self, store: Store | None = None, stand_in: str = "") -> list[Request]:
        """All of them together."""
        return [q for part in self.parts(store, stand_in) for q in part]


def _beginning(request: Request) -> tuple[list[str], int]:
    """What requests are sorted by: the texts of a prompt in their order, then the repetition."""
    return [message["content"] for message in request.body["messages"]], request.repetition


def _earlier(store: Store | None, stand_in: str) -> Earlier:
    """What gives the answers to earlier prompts: the store, and `stand_in` where it has none."""
    missing = Response("ok", stand_in) if stand_in else None

    def earlier(requests: list[Request]) -> list[Response | None]:
        if not store:
            return [missing] * len(requests)
        stored = store.get(answers.as_stored(store, requests))
        return [answer or missing for _, answer in stored]

    return earlier


def requests_of(
    paper: str, model: Model, endpoint: Endpoint, prompt_ids: list[str], scope: Scope = STUDY
) -> list[Request]:
    """Requests of some prompts to a paper's items, in the order of `Step.parts`."""
    return Step(paper, "", model, endpoint, prompt_ids, scope).requests()


def from_rows(
    rows: list[dict[str, Any]],
    asked: list[Prompt],
    model: Model,
    endpoint: Endpoint,
    earlier: Earlier,
    **options: Any,
) -> list[Request]:
    """Requests of some prompts to rows, the prompts of an item next to each other.

    `earlier` gives the answers to an earlier prompt (see `answers.with_earlier`), `options` go
    to `requests.build`.
    """
    repetitions = options.pop("repetitions", 1)
    built = []
    for prompt in asked:
        filled = answers.with_earlier(rows, prompt, model, endpoint, earlier, **options)
        built.append(build(filled, prompt, model, endpoint, repetitions=repetitions, **options))
    return [request for group in zip_longest(*built) for request in group if request]


def importable(paper: str, scope: Scope, wording: dict[str, Prompt]) -> list[str]:
    """The prompts that others can be asked: no forced start of the answer, no earlier answer in
    them, nothing to be scored.
    """
    its_steps = steps(paper, prompts_of(paper, scope.dataset, scope.own or OwnItems()))
    asked = [wording[prompt_id] for step in its_steps for prompt_id in step]
    return [p.id for p in asked if not (p.prefix or p.given) and p.kind == "chat"]


# -- what a user asks ------------------------------------------------------------------------------


def with_prompts(chosen: Asking) -> list[str]:
    """The papers to ask. KatayoriError where only the overview is named, which asks nobody."""
    asked = [paper for paper in names(chosen.papers) or paper_ids() if paper != LAST]
    if not asked:
        models = f" MODELS='{chosen.models}'" if chosen.models else ""
        remedy = f"make reproduce PAPERS={LAST} PROFILE={chosen.profile}{models}"
        raise KatayoriError(f"the {LAST} asks nobody, it reads the results of the others: {remedy}")
    return asked


def wanted(
    chosen: Asking, stand_in: str = "", *, reach: bool = False
) -> Iterator[tuple[Step, list[Request]]]:
    """What `live` asks and `estimate` estimates: the steps of `planned_steps` with their requests.

    The requests of a step are made when the one before has been answered (`stand_in`: see
    `Step.parts`). Raises as `planned_steps`.
    """
    for step in planned_steps(chosen, reach=reach):
        with Store(store_path()) as store:
            requests = step.requests(store, stand_in)
        yield step, requests


def planned_steps(chosen: Asking, *, reach: bool = False) -> Iterator[Step]:
    """What is asked of whom, step by step, before any request is made.

    Prompts are those the recording plan asks of the whole set, step by step. Items and their
    number come from the profile (LIMIT= overrides the number, in clusters), the wording from
    PROMPTS=. Without MODELS= the smallest local model is asked. Everything of the user's is read
    before the first of them; then, with `reach`, the servers must answer.

    Raises KatayoriError for a profile whose answers are not live, and for what is wrong with the
    user's files.
    """
    profile = profiles.load(chosen.profile)
    if profile["answers"] != "live":
        reason = f"profile {profile['name']!r} asks nobody (answers: {profile['answers']})"
        raise KatayoriError(f"{reason}; use PROFILE=live, or live-official for the papers' items")
    papers = with_prompts(chosen)
    scope = scope_of(chosen, papers)
    real = [
        name for name in models_of(chosen.models, chosen.engine) if not get_model(name)[0].simulated
    ]
    papers = read_first(papers, scope)
    if reach:
        for name in names(chosen.models):
            _, endpoint = get_model(name)
            if endpoint.own:
                reached(endpoint, chosen.server.base_url)
    places = asked_at(chosen.server, real, papers)
    for paper in papers:
        wording = prompts.load_prompts(paper, scope.folder)
        its_steps = steps(paper, prompts_of(paper, scope.dataset, scope.own or OwnItems()))
        asked = [wording[prompt_id] for step in its_steps for prompt_id in step]
        for name in real:
            unable = tuple(one for one in asked if answers.why_unable(name, "live", one))
            for step in its_steps:
                able = [prompt_id for prompt_id in step if wording[prompt_id] not in unable]
                yield Step(paper, name, *places[paper, name], able, scope, unable)


def scope_of(chosen: Asking, papers: list[str]) -> Scope:
    """The items and the wording that a user chose; the user's own items are checked."""
    profile = profiles.load(chosen.profile)
    own = own_items(chosen.own, papers)
    return Scope(profile["items"], limit_of(chosen, profile), own, chosen.prompts)


def models_of(models: str, engine: str) -> list[str]:
    """The models named, without one the smallest by a local engine."""
    return names(models) or [LIGHT_MODEL + (engine or LIGHT_ENGINE)]


def limit_of(chosen: Asking, profile: dict[str, Any]) -> int | None:
    """How many clusters are asked about: LIMIT=, else a demonstration's where the light engine is
    asked, else the profile's.
    """
    is_light = profile["name"] == "live" and not chosen.models
    usual = profiles.DEMONSTRATION if is_light else profile["size"]
    return source.check_limit(chosen.limit) or usual


def read_first(papers: list[str], scope: Scope) -> list[str]:
    """The papers that can be asked, with every prompt and item that is not ours read once.

    So a bad file of one paper is found before another is asked. Of several papers one whose items
    are not on this machine is left out, and said so; what is odd about items is said, too.
    """
    able = []
    own = scope.own or OwnItems()
    for paper in papers:
        prompts.load_prompts(paper, scope.folder)
        if scope.dataset != "study" or own.of(paper):
            try:
                read = source.read_items(paper, scope.dataset, limit=scope.limit, own=own)
            except UnavailableError as error:
                if own.of(paper) or len(papers) == 1:
                    raise
                print(f"{paper:<16} left out: {error}", file=sys.stderr)
                continue
            for note in read.notes:
                print(f"{paper:<16} {note}", file=sys.stderr)
        able.append(paper)
    return able


def n_clusters(requests: list[Request]) -> int:
    """How many clusters some requests are about."""
    return len({q.fields["cluster"] for q in requests})


# -- servers of the user's own ---------------------------------------------------------------------


def asked_at(
    server: OwnServer, chosen: Iterable[str], papers: Iterable[str]
) -> dict[tuple[str, str], tuple[Model, Endpoint]]:
    """Model and endpoint by paper and name as given, each with its server and series.

    All are settled before anything is asked, so that a run stays within the series it began with:
    the newest of its server's answers, or one that holds none; of a batch that of its export.
    Of a server that is not named nothing is stored; who asks it finds that out from `reached`.
    """
    label_of(server.label)
    settled: dict[tuple[str, str], tuple[Model, Endpoint]] = {}
    for (name, (model, endpoint)), paper in product(
        [(name, get_model(name)) for name in chosen], papers
    ):
        if endpoint.own and server.exported is not None:  # older exports did not know it
            about = server.exported.get(f"{paper} {name}", {"label": UNKNOWN, "address": UNKNOWN})
            endpoint = replace(endpoint, server=Server(**about))
        elif endpoint.own:
            given = {"base_url": server.base_url, "label": server.label}
            endpoint = at_server(endpoint, **given, needed=False)
            with Store(store_path()) as store:
                endpoint = store.newest(endpoint, model, paper)
                endpoint = store.fresh(endpoint, model) if server.fresh else endpoint
        settled[paper, name] = model, endpoint
    return settled


def reached(endpoint: Endpoint, base_url: str = "") -> str:
    """The address to ask, once something has taken a connection there. Raises KatayoriError.

    Behind a proxy only a request can tell, so nothing is tried there.
    """
    url = endpoint.address(base_url)
    parts = urlsplit(url)
    host, scheme = parts.hostname or "", parts.scheme.lower()
    proxy = urllib.request.getproxies().get(scheme)
    if proxy and host not in LOOPBACK and not urllib.request.proxy_bypass(host):
        return url
    port = parts.port or DEFAULT_PORT[scheme]
    try:
        socket.create_connection((host, port), TIMEOUT).close()
    except OSError as error:
        cause = error.strerror or str(error)
        raise KatayoriError(
            f"{endpoint.name} cannot be reached at {host}:{port} ({cause}):"
            " is the server running, and is the address right?"
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


def say_elsewhere(step: Step) -> None:
    """One line where answers of this model name lie under other servers, with what can be done."""
    if not step.endpoint.own:
        return
    with Store(store_path()) as store:
        servers = store.servers(step.endpoint.name, step.model.identity, step.paper)
    others = sorted({one.shown for one in servers if one.identity != step.endpoint.server.identity})
    if others:
        label = others[0].removeprefix("own server ")  # the hash stands for its address
        remedy = f"LABEL={label} reads these, without it they are asked anew here"
        told = f"answers lie under other servers ({', '.join(others)}); {remedy}"
        print(f"{step.paper} {step.name}: {told}")


@contextmanager
def environment(server: OwnServer) -> Iterator[None]:
    """LABEL= and BASE_URL= as environment variables within this block, for notebooks."""
    label_of(server.label)
    variables = {"KATAYORI_LABEL": server.label} if server.label else {}
    if server.base_url:
        own = [endpoint for endpoint in registry()[0].values() if endpoint.own]
        variables |= {endpoint.base_url_env: server.base_url for endpoint in own}
    with patch.dict(os.environ, variables):
        yield
