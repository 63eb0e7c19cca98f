"""`make record`: works the recording plan off, resumable; each shard is written as it completes."""

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori.papers import get_paper
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request, Response, seed_rule_of
from katayori.prompting.store import store_path
from katayori_tools import recording
from katayori_tools.answer_store import Store
from katayori_tools.asking import served
from katayori_tools.collect import collect_sync, terminable
from katayori_tools.engines import vllm_env
from katayori_tools.notebooks import names
from katayori_tools.record_plan import SCORER, Work, requests_of, works

#: At least so many answers of one run tell how fast a recording was.
FEWEST = 50
AGAIN = "start `make record` again to go on"


@dataclass(frozen=True)
class Recording:
    """What is recorded, and how.

    Attributes:
        papers, models: names with commas or spaces between; empty are all of the plan. edition:
        one of `record_plan.EDITIONS`, empty for all. engine: a local one, without it the plan's.
        base_url: a server that runs already. concurrency: requests at once. limit: so many items
        of each piece of work, a pilot that stays in the store and is never committed.
    """

    papers: str = ""
    models: str = ""
    edition: str = ""
    engine: str = ""
    base_url: str = ""
    concurrency: int | None = None
    limit: int | None = None


def record(chosen: Recording) -> int:
    """Ask the recording plan and write each shard as it completes; a second start continues where
    the first ended.

    Returns 1 where a piece of work could not be made and the others were done. Raises
    KatayoriError where another recording runs, and for a plan or an engine that is not known,
    before anything is asked.
    """
    planned = works(names(chosen.papers), names(chosen.models), chosen.edition)
    for work in planned:
        work.at(chosen.engine)
    failed = 0
    with terminable(), Store(store_path()) as store, Recorder(store, chosen) as recorder:
        lock = store.alone("record")
        if not lock:
            raise KatayoriError("another recording runs on this store; wait for it, or end it")
        with lock:
            for work in planned:
                failed += not recorder.done(work)
    return int(failed > 0)


class Recorder:
    """`with Recorder(store, chosen) as recorder:`; works off one piece of work after the other.

    One engine runs at a time; it is stopped when another model or kind comes, and at the end.
    """

    def __init__(self, store: Store, chosen: Recording):
        self.store, self.chosen = store, chosen
        self._engine = ExitStack()
        self._serving: tuple[str, str] | None = None
        self._url = ""

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def done(self, work: Work) -> bool:
        """Ask what the store lacks of a piece of work, then export what is finished.

        False, and said so, where it cannot be made here. An interrupted run leaves what it
        finished, too.
        """
        try:
            requests = self._requests(work)
        except KatayoriError as error:
            return _left_out(work, error) and not work.ours
        pending = self.store.pending(requests)
        try:
            self._check(work, pending)
        except KatayoriError as error:
            return not _left_out(work, error)
        print(f"{work.name}: {len(pending)} of {len(requests)} to ask", flush=True)
        begun = time.monotonic()
        try:
            self.ask(work, pending)
        finally:
            seconds = time.monotonic() - begun
            asked = len(pending) - len(self.store.pending(pending))
            rate = asked / seconds if asked >= FEWEST else None
            if not self.chosen.limit:
                _export(work, list(self.store.get(requests)), rate, self.chosen.concurrency)
        return True

    def _requests(self, work: Work) -> list[Request]:
        """What a piece of work asks, with what is recorded of it back in the store."""
        model, endpoint = work.at(self.chosen.engine)
        requests = requests_of(work, model, endpoint, self.store, self.chosen.limit)
        recording.restore(self.store, requests)
        return requests

    def _check(self, work: Work, pending: list[Request]) -> None:
        """KatayoriError where something is left to ask that this machine's engine cannot answer."""
        _, endpoint = work.at(self.chosen.engine)
        if pending and not self.chosen.base_url and endpoint.name == "local-vllm":
            why = vllm_env.lacking()
            if why:
                raise KatayoriError(why)

    def ask(self, work: Work, requests: list[Request]) -> None:
        """Ask some requests of a piece of work; each answer is stored as it arrives."""
        if not requests:
            return
        model, endpoint = work.at(self.chosen.engine)
        url = self._address(model, endpoint)
        if work.kind == "likelihood":
            from katayori_tools import scoring

            scoring.score_all(requests, model, endpoint, self.store)
            return
        options = {"base_url": url, "concurrency": self.chosen.concurrency}
        patience = float(vllm_env.PATIENCE)
        collect_sync(requests, model, endpoint, self.store, timeout=patience, **options)

    def _address(self, model: Model, endpoint: Endpoint) -> str:
        """The address of the engine of a model, started where another or none is running.

        The scorer of likelihoods needs none: it runs for itself.
        """
        if self._serving != (model.id, endpoint.name):
            self._engine.close()
            self._serving, self._url = None, ""
            if endpoint.name != SCORER:
                block = served(model, endpoint, self.chosen.base_url, True)
                self._url = self._engine.enter_context(block)
            self._serving = (model.id, endpoint.name)
        return self._url


def _left_out(work: Work, error: KatayoriError) -> bool:
    """Says why a piece of work is not made here; always true."""
    print(f"{work.name}: left out; {error}", file=sys.stderr, flush=True)
    return True


def _export(
    work: Work,
    answered: list[tuple[Request, Response | None]],
    rate: float | None,
    concurrency: int | None,
) -> None:
    """Write the shards of a piece of work; of an unfinished one the groups (`whole`) that are
    answered in full. `rate`: answers a second of this run, of all prompts together.
    """
    group = work.whole or "item_id"
    open_groups = {q.fields[group] for q, a in answered if a is None or a.outcome == "error"}
    for prompt_id in work.prompts:
        mine = [(q, a) for q, a in answered if q.prompt_id == prompt_id]
        pairs = [(q, a) for q, a in mine if a and q.fields[group] not in open_groups]
        if open_groups:
            print(f"  {prompt_id}: {len(mine) - len(pairs)} of {len(mine)} left; {AGAIN}")
        if not pairs or (open_groups and not work.whole):
            continue
        settings = _settings(work, pairs[0][0], concurrency) | {"planned": len(mine)}
        settings |= {"sample": work.sample} if work.sample else {}
        settings |= {"edition": 3} if work.edition == "third" else {}
        settings |= {"rate": round(rate, 2)} if rate else {}
        if not work.ours:
            pairs = [(q, bare(q, a)) for q, a in pairs]
        path = recording.export(pairs, settings=settings)
        print(f"  wrote {path.relative_to(paths.root())}", flush=True)


def _settings(work: Work, request: Request, concurrency: int | None) -> dict[str, Any]:
    """What the manifest says of how a shard was recorded."""
    if work.kind == "likelihood":
        from katayori_tools.engines import scorer

        return {"engine": scorer.SETTINGS, "request": {"kind": "likelihood"}}
    from katayori_tools.engines import server

    texts = ("messages", "continuations")
    body = {name: value for name, value in request.body.items() if name not in texts}
    if seed_rule_of(request):
        body["seed"] = "per item and repetition"
    engine = server.ENGINES[request.endpoint]["settings"]
    if concurrency:
        engine = engine | {"concurrency": concurrency}
    return {"engine": engine, "request": body}


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
