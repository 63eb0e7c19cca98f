"""The recorder: asks one piece of work after the other and keeps each shard as it completes."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import get_paper
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request, Response, seed_rule_of
from katayori_tools import record_hours, recording
from katayori_tools.answer_store import Store
from katayori_tools.asking import served
from katayori_tools.collect import collect_sync
from katayori_tools.engines import vllm_env
from katayori_tools.record_plan import SCORER, Work, requests_of

AGAIN = "start `make record` again to go on"


@dataclass(frozen=True)
class How:
    """How a recording asks.

    `engine` is a local one, `base_url` a server that runs already; `limit` takes so many items of
    each piece of work, a pilot that is kept in the store and never becomes a committed recording.
    """

    engine: str = ""
    base_url: str = ""
    concurrency: int | None = None
    limit: int | None = None


def _ignore(pending: int, total: int) -> None:
    """Nobody is told that a piece of work begins."""


class Recorder:
    """`with Recorder(store, how) as recorder:`; works off one piece of work after the other.

    One engine runs at a time; it is stopped when another model or kind comes, and at the end.
    """

    def __init__(self, store: Store, how: How):
        self.store, self.how = store, how
        self._engine = ExitStack()
        self._serving: tuple[str, str] | None = None
        self._url = ""

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def requests(self, work: Work, stand_in: str = "") -> list[Request]:
        """What a piece of work asks, with what is recorded of it back in the store.

        Empty, and said so, where third-party items are not here. Raises KatayoriError where ours
        cannot be made.
        """
        model, endpoint = work.at(self.how.engine)
        try:
            requests = requests_of(work, model, endpoint, self.store, self.how.limit, stand_in)
        except KatayoriError as error:
            if work.ours:
                raise
            print(f"{work.paper} {work.model} {work.dataset}: left out; {error}", flush=True)
            return []
        recording.restore(self.store, requests)
        return requests

    def check(self, work: Work, requests: list[Request]) -> None:
        """KatayoriError where something is left to ask that this machine's engine cannot answer."""
        _, endpoint = work.at(self.how.engine)
        if self.how.base_url or endpoint.name != "local-vllm":
            return
        why = vllm_env.lacking()
        if why and self.store.pending(requests):
            raise KatayoriError(why)

    def do(
        self, work: Work, requests: list[Request], begin: Callable[[int, int], None] = _ignore
    ) -> None:
        """Ask what the store lacks of a piece of work, then export what is finished.

        `begin` is told how many requests are left of how many. An interrupted run leaves what it
        finished, too.
        """
        if not requests:
            return
        pending = self.store.pending(requests)
        left = f"{len(pending)} of {len(requests)} to ask"
        print(f"{work.paper} {work.model} {[*work.prompts]} {work.variant}: {left}", flush=True)
        begin(len(pending), len(requests))
        try:
            if pending:
                self.ask(work, pending)
        finally:
            if not self.how.limit:
                export(self.store, requests, work, self.how)

    def ask(self, work: Work, requests: list[Request]) -> None:
        """Ask some requests of a piece of work; each answer is stored as it arrives."""
        model, endpoint = work.at(self.how.engine)
        url = self.engine(model, endpoint)
        if work.kind == "likelihood":
            from katayori_tools import scoring

            scoring.score_all(requests, model, endpoint, self.store)
            return
        options = {"base_url": url, "concurrency": self.how.concurrency}
        patience = float(vllm_env.PATIENCE)
        collect_sync(requests, model, endpoint, self.store, timeout=patience, **options)

    def engine(self, model: Model, endpoint: Endpoint) -> str:
        """The address of the engine of a model, started where another or none is running.

        The scorer of likelihoods needs none: it runs for itself.
        """
        if self._serving != (model.id, endpoint.name):
            self._engine.close()
            self._serving, self._url = None, ""
            if endpoint.name != SCORER:
                block = served(model, endpoint, self.how.base_url, True)
                self._url = self._engine.enter_context(block)
            self._serving = (model.id, endpoint.name)
        return self._url


def export(store: Store, requests: list[Request], work: Work, how: How) -> None:
    """Write the shards of a piece of work; of an unfinished one the groups (`whole`) that are
    answered in full.
    """
    answered = list(store.get(requests))
    group = work.whole or "item_id"
    rate = record_hours.rate_of(a for _, a in answered)
    open_groups = {q.fields[group] for q, a in answered if a is None or a.outcome == "error"}
    for prompt_id in work.prompts:
        mine = [(q, a) for q, a in answered if q.prompt_id == prompt_id]
        pairs = [(q, a) for q, a in mine if a and q.fields[group] not in open_groups]
        if open_groups:
            print(f"  {prompt_id}: {len(mine) - len(pairs)} of {len(mine)} left; {AGAIN}")
        if not pairs or (open_groups and not work.whole):
            continue
        settings = _settings(work, pairs[0][0], how) | {"planned": len(mine)}
        settings |= {"sample": work.sample} if work.sample else {}
        settings |= {"edition": 3} if work.edition == "third" else {}
        settings |= {"rate": round(rate, 2)} if rate else {}  # of all prompts of the work together
        if not work.ours:
            pairs = [(q, bare(q, a)) for q, a in pairs]
        path = recording.export(pairs, settings=settings)
        print(f"  wrote {path.relative_to(paths.root())}", flush=True)


def _settings(work: Work, request: Request, how: How) -> dict[str, Any]:
    """What the manifest says of how a shard was recorded."""
    texts = ("messages", "continuations")
    body = {k: v for k, v in request.body.items() if k not in texts}
    if seed_rule_of(request):
        body["seed"] = "per item and repetition"
    if work.kind == "likelihood":
        from katayori_tools.engines import scorer

        return {"engine": scorer.SETTINGS, "request": {"kind": "likelihood"}}
    from katayori_tools.engines import server

    engine = server.ENGINES[request.endpoint]["settings"]
    return {
        "engine": engine | ({"concurrency": how.concurrency} if how.concurrency else {}),
        "request": body,
    }


def bare(request: Request, answer: Response) -> Response:
    """The answer to a third-party item without the prose, which may repeat text that is not ours to
    give out.
    """
    if request.one_token or request.likelihood:  # numbers only
        return answer
    if answer.outcome != "ok":
        return replace(answer, text="")
    paper = get_paper(request.paper)
    parse, form = paper.parse, paper.shortest
    parsed = parse(answer.text, answer.finish_reason)
    text = form.format(parsed.answer) if parsed.answer else ""
    return replace(answer, outcome=parsed.outcome, text=text)
