"""`make record`: works the recording plan off, resumable; each shard is written as it completes.

The plan is what data/papers/*.yaml list (`recording`, `second_edition`, `third_edition`), as
`Work`. `prompting.recordings` reads what is written here.
"""

import calendar
import gzip
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.errors import KatayoriError, expect, within
from katayori.papers import answers, get_paper, items as source, paper_ids
from katayori.prompting import prompts, recordings
from katayori.prompting.models import Endpoint, Model, get_model
from katayori.prompting.requests import Request, Response, seed_rule_of
from katayori.prompting.store import store_path
from katayori_tools import asking, paper_files, vllm_env
from katayori_tools.answer_store import Store, replace_file
from katayori_tools.choices import Papers, Positive
from katayori_tools.collect import Summary, collect_sync, progress_line, terminable
from katayori_tools.likelihood import check_can_score, to_response
from katayori_tools.notebooks import names
from katayori_tools.servers import served

if TYPE_CHECKING:
    import pandas as pd

#: The endpoint that scores continuations; chats go to the local engine that is named.
SCORER = "local-scorer"
AGAIN = "start `make record` again to go on"
#: The sections of the plan, by edition.
SECTIONS = {"first": "recording", "second": "second_edition", "third": "third_edition"}
BATCH = 64  # requests of a line to the scorer: neighbours share passages, and a kill loses these
#: What the manifest tells of a shard's requests, which agree in it.
IN_MANIFEST = (
    "model",
    "prompt_id",
    "variant",
    "dataset",
    "prompt_hash",
    "endpoint",
    "identity",
)


# -- the plan --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """One entry of the plan for one model, which gives a shard a prompt.

    Attributes:
        paper, dataset, variant: whose items, which, and how they are told apart from others (a
            later edition's data set stands for its variant, too). edition: `first` and so on.
        model, prompts, kind: who is asked what, and how: `chat`, the model writes
            an answer, or `likelihood`, it scores given continuations.
        repetitions: which ones are asked; (0,) is asking once.
        size, sample: so many items make up the set, or are a part for show.
        whole: the column whose groups an unfinished recording keeps.
        priority: 0 for the first edition, then the order of the later ones.
    """

    paper: str
    edition: str
    dataset: str
    model: str
    prompts: tuple[str, ...]
    variant: str = ""
    kind: str = "chat"
    repetitions: tuple[int, ...] = (0,)
    size: int | None = None
    sample: int | None = None
    whole: str = ""
    priority: float = 0

    @property
    def name(self) -> str:
        """The work in one line."""
        what = f"{self.dataset}@{self.variant}" if self.variant else self.dataset
        return f"{self.paper} {self.model} {what} {','.join(self.prompts)}"

    @property
    def ours(self) -> bool:
        """Whether the items' texts are this project's own."""
        return get_paper(self.paper).is_ours(self.dataset)

    def at(self, engine: str = "") -> tuple[Model, Endpoint]:
        """The model and the local endpoint it is asked at."""
        place = SCORER if self.kind == "likelihood" else f"local-{engine or 'vllm'}"
        return get_model(f"{self.model}@{place}")


def works(papers: Sequence[str] = (), models: Sequence[str] = ()) -> list[Work]:
    """The pieces of work of some papers and models (default: all), in the order they are done: by
    priority, and of one priority with the smaller model first.

    Raises KatayoriError for names that the plan lacks, and for what is wrong with an entry, before
    anything is asked.
    """
    out: list[Work] = []
    for paper in papers or paper_ids():
        listed = list(_listed(paper))
        known = dict.fromkeys(work.model for work in listed)
        for name in sorted(set(models)):
            expect(name, known, f"model of the recording plan of {paper}")
        out += [work for work in listed if not models or work.model in models]
    return sorted(out, key=lambda work: (work.priority, get_model(work.model)[0].size_b or 0.0))


def _listed(paper: str) -> Iterator[Work]:
    """What the plan of a paper lists, a piece of work an entry and model."""
    known, plan = prompts.load_prompts(paper), paper_files.of(paper)
    for edition, section in SECTIONS.items():
        for number, entry in enumerate(plan.get(section) or (), 1):
            given = {name: value for name, value in entry.items() if name != "models"}
            times = given.get("repetitions", 1)
            given["repetitions"] = tuple(range(times) if type(times) is int else times)
            given["prompts"] = tuple(given["prompts"])
            if edition != "first":
                given.setdefault("variant", entry["dataset"])
            with within(f"papers/{paper}.yaml, {section}, entry {number}"):
                for prompt_id in entry["prompts"]:
                    expect(prompt_id, known, f"prompt of {paper}")
                    if known[prompt_id].kind != entry.get("kind", "chat"):
                        kind = known[prompt_id].kind
                        raise KatayoriError(f"prompt {prompt_id} is of kind {kind}")
            for model in entry["models"]:
                yield Work(paper=paper, edition=edition, model=model, **given)


def rows_of(work: Work, size: int | None) -> list[dict[str, Any]]:
    """The items to ask; a part of a data set of a later edition keeps groups (`whole`) together.

    Of the third edition those are asked that were written anew: answers to the others are there.
    """
    from katayori_tools.asked import sample

    room = get_paper(work.paper)
    later = room.sets()
    recorded_in = work.variant in later and room.recorded_in(work.dataset)
    dataset = work.variant if recorded_in else work.dataset
    if dataset not in later:
        return asking.items_of(work.paper, dataset, size, is_recorded=True)
    items = later[dataset]()
    if paper_files.editions_of(work.paper).get(dataset) == paper_files.THIRD:
        items = paper_files.written_anew(work.paper, items)
    known = work.whole if work.whole in items else None
    if size is not None and known == room.cluster_column:
        items = _in_turn(work.paper, items, size)
    else:
        items = sample(items, size, whole=known)
    rows: Any = items.to_dict("records")  # pandas does not say that its columns have names
    return rows


def _in_turn(paper: str, items: "pd.DataFrame", size: int) -> "pd.DataFrame":
    """Whole clusters as the paper ranks them, as many as it takes to reach `size` items.

    So a part is balanced over what the paper's ranks are balanced over, such as categories.
    """
    room = get_paper(paper)
    clusters = room.cluster_of(items)
    sizes = clusters.value_counts()
    kept: set[str] = set()
    for cluster in room.ranked(items.assign(cluster=clusters)):
        if sizes[list(kept)].sum() >= size:
            break
        kept.add(cluster)
    return items[clusters.isin(kept)].reset_index(drop=True)


def requests_of(
    work: Work, model: Model, endpoint: Endpoint, store: Store, limit: int | None = None
) -> list[Request]:
    """The requests of a piece of work, by the seed rule of its shards; `limit` takes so many items.

    Where a prompt holds the model's answer to an earlier one that is not stored yet, the item is
    left out. A machine that holds more of a third-party set than the first recording asks what that
    one asked. Raises KatayoriError where the items are not here.
    """
    known = prompts.load_prompts(work.paper)
    rows = rows_of(work, limit or work.sample or work.size)
    if work.whole and rows and work.whole not in rows[0]:
        raise KatayoriError(f"{work.name}: the items have no column {work.whole!r} (whole)")

    def earlier(asked: list[Request]) -> list[Response | None]:
        return [answer for _, answer in store.get(answers.as_recorded(asked))]

    built = asking.from_rows(
        rows,
        [known[prompt_id] for prompt_id in work.prompts],
        model,
        endpoint,
        earlier,
        dataset=source.request_dataset(work.paper, work.dataset, source.OwnItems()),
        variant=work.variant,
        repetitions=work.repetitions,
    )
    if not work.ours:
        first = recordings.item_ids(work.paper, work.prompts[0], work.variant)
        built = [q for q in built if not first or q.item_id in first]
    return answers.as_recorded(built)


# -- asking ----------------------------------------------------------------------------------------


def record(
    *,
    papers: Papers = "",
    models: str = "",
    engine: str = "",
    base_url: str = "",
    concurrency: int | None = None,
    limit: Positive | None = None,
) -> int:
    """Ask the recording plan and write each shard as it completes; a second start continues where
    the first ended.

    Args:
        papers: by name or number, with commas or spaces between (all). models: names with commas or
            spaces between (all of the plan). engine: a local one, without it the plan's.
        base_url: a server that runs already. concurrency: requests at once.
        limit: so many items of each piece of work, a pilot that stays in the store and is never
            committed.

    Returns 1 where a piece of work could not be made and the others were done. Raises
    KatayoriError where another recording runs, and for a plan or an engine that is not known,
    before anything is asked.
    """
    failed = 0
    with terminable(), Store(store_path()) as store:
        planned = works(names(papers), names(models))
        for work in planned:
            work.at(engine)
        lock = store.alone("record")
        if not lock:
            raise KatayoriError("another recording runs on this store; wait for it, or end it")
        with lock, Recorder(store, engine, base_url, concurrency, limit) as recorder:
            for work in planned:
                failed += not recorder.done(work)
    return int(failed > 0)


class Recorder:
    """`with Recorder(store) as recorder:`; works off one piece of work after the other.

    One engine runs at a time; it is stopped when another model or kind comes, and at the end. The
    other arguments are those of `record`.
    """

    def __init__(
        self,
        store: Store,
        engine: str = "",
        base_url: str = "",
        concurrency: int | None = None,
        limit: int | None = None,
    ):
        self.store, self.engine, self.base_url = store, engine, base_url
        self.concurrency, self.limit = concurrency, limit
        self._running = ExitStack()
        self._serving: tuple[str, str] | None = None
        self._url = ""

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def done(self, work: Work) -> bool:
        """Ask what the store lacks of a piece of work, then export what is finished.

        False, and said so, where it cannot be made here. An interrupted run leaves what it
        finished, too.
        """
        model, endpoint = work.at(self.engine)
        try:
            requests = requests_of(work, model, endpoint, self.store, self.limit)
        except KatayoriError as error:
            print(f"{work.name}: left out; {error}", file=sys.stderr, flush=True)
            return not work.ours
        restore(self.store, requests)
        pending = self.store.pending(requests)
        by_vllm = endpoint.name == "local-vllm" and not self.base_url
        if pending and by_vllm and (why := vllm_env.lacking()):
            print(f"{work.name}: left out; {why}", file=sys.stderr, flush=True)
            return False
        print(f"{work.name}: {len(pending)} of {len(requests)} to ask", flush=True)
        try:
            if pending:
                self._ask(pending, model, endpoint)
        finally:
            if not self.limit:
                _export(work, list(self.store.get(requests)), self.concurrency)
        return True

    def _ask(self, requests: list[Request], model: Model, endpoint: Endpoint) -> None:
        """Ask one model, whose engine is started where another or none is running.

        The scorer of likelihoods runs for itself.
        """
        if self._serving != (model.id, endpoint.name):
            self._running.close()
            self._serving, self._url = None, ""
            if endpoint.name != SCORER:
                block = served(model, endpoint, self.base_url, True)
                self._url = self._running.enter_context(block)
            self._serving = model.id, endpoint.name
        if endpoint.name == SCORER:
            score_all(requests, model, endpoint, self.store)
            return
        options = {"base_url": self._url, "concurrency": self.concurrency}
        patience = float(vllm_env.PATIENCE)
        collect_sync(requests, model, endpoint, self.store, timeout=patience, **options)


def score_all(
    requests: Sequence[Request],
    model: Model,
    endpoint: Endpoint,
    store: Store,
    *,
    progress: bool = True,
) -> Summary:
    """Score by our own scorer what the store does not hold yet; each batch is stored as it comes.

    A run that is killed loses at most the batch under way; calling again continues it. Raises
    KatayoriError, before anything is asked, where the endpoint cannot score continuations or a
    request asks for words, and where the worker ends.
    """
    from katayori_tools import engines

    check_can_score(requests, model, endpoint)
    if words := next((request for request in requests if not request.likelihood), None):
        cause = f"prompt {words.prompt_id} asks for words, and scoring generates none"
        raise KatayoriError(f"{cause}; ask it with make live or make record")
    pending = store.pending(requests)
    summary = Summary(len(requests), len(requests) - len(pending), cost=0.0)
    if not pending:
        return summary
    started = time.monotonic()
    with terminable(), engines.scorer(model.id) as score:
        for start in range(0, len(pending), BATCH):
            batch = pending[start : start + BATCH]
            began = time.monotonic()
            scores = score([request.body for request in batch])
            each = (time.monotonic() - began) / len(batch)
            for request, found in zip(batch, scores, strict=True):
                response = to_response(request, found)
                response.latency = round(each, 4)
                store.put(request, response)
                summary.outcomes[response.outcome] = summary.outcomes.get(response.outcome, 0) + 1
            summary.asked += len(batch)
            summary.seconds = time.monotonic() - started
            if progress:
                print(progress_line(summary, model, started), file=sys.stderr, flush=True)
    return summary


# -- shards ----------------------------------------------------------------------------------------


def _export(
    work: Work, answered: list[tuple[Request, Response | None]], concurrency: int | None
) -> None:
    """Write the shards of a piece of work; of an unfinished one the groups (`whole`) that are
    answered in full.
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
        if not work.ours:
            pairs = [(q, bare(q, a)) for q, a in pairs]
        path = export(pairs, settings=settings)
        print(f"  wrote {path.relative_to(paths.root())}", flush=True)


def _settings(work: Work, request: Request, concurrency: int | None) -> dict[str, Any]:
    """What the manifest says of how a shard was recorded."""
    from katayori_tools import engines

    if work.kind == "likelihood":
        return {"engine": engines.SCORER, "request": {"kind": "likelihood"}}
    body = {name: value for name, value in request.body.items() if name != "messages"}
    if seed_rule_of(request):
        body["seed"] = "per item and repetition"
    engine = engines.ENGINES[request.endpoint]["settings"]
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
    parsed = paper.parse(answer.text, answer.finish_reason)
    text = paper.shortest.format(parsed.answer) if parsed.answer else ""
    return replace(answer, outcome=parsed.outcome, text=text)


def export(pairs: Iterable[tuple[Request, Response | None]], *, settings: dict[str, Any]) -> Path:
    """Write the answered requests of one paper, model, prompt and variant as a shard and enter it
    in the manifest.

    `settings` describes how it was recorded (engine, versions, sampling, item and prompt versions).
    The bytes depend on the answers alone, so the same recording gives the same file. Raises
    KatayoriError where nothing is answered.
    """
    kept = [(q, a) for q, a in pairs if a is not None and a.outcome != "error"]
    if not kept:
        raise KatayoriError("nothing to export: no request of this shard is answered in the store")
    kept.sort(key=lambda pair: (pair[0].item_id, pair[0].repetition))
    first, lines = kept[0][0], []
    for request, answer in kept:
        row: dict[str, Any] = {"item_id": request.item_id, "key": request.key[:16]}
        row["outcome"] = answer.outcome
        row |= {"repetition": request.repetition} if request.repetition else {}
        row |= {"text": answer.text, "finish": answer.finish_reason}
        row["tokens"] = [answer.prompt_tokens, answer.completion_tokens]
        if answer.top:
            row["top"] = [[token, round(logprob, 4)] for token, logprob in answer.top]
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode())
    path = recordings.shard_path(first.paper, first.model, first.prompt_id, first.variant)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parents[1]):
        return _write(kept, lines, path, settings)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Within the block no other process changes a paper's manifest: a recorder and an export may
    come together.
    """
    import fcntl

    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _write(
    kept: list[tuple[Request, Response]],
    lines: list[bytes],
    path: Path,
    settings: Mapping[str, Any],
) -> Path:
    """The shard and its entry in the manifest; neither where the same answers are there."""
    first = kept[0][0]
    name = recordings.shard_name(first.model, first.prompt_id, first.variant)
    entries = recordings.manifest(first.paper)
    before = gzip.decompress(path.read_bytes()).split(b"\n")[:-1] if name in entries else []
    if before == lines:
        return path  # the same recording keeps the settings it was made with
    data = gzip.compress(b"\n".join(lines) + b"\n", 9, mtime=0)
    replace_file(path, data)
    new = {field: getattr(first, field) for field in IN_MANIFEST}
    new["count"] = len(kept)
    new["outcomes"] = dict(sorted(Counter(a.outcome for _, a in kept).items()))
    rule = seed_rule_of(first)
    new |= {"seed_rule": rule} if rule > 1 else {}  # absent: rule 1, or no seed of its own
    new |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    newest = max(answer.created for _, answer in kept)
    new |= {"recorded": time.strftime("%Y-%m-%d", time.gmtime(newest)), **settings}
    if set(before) & set(lines):  # resumed: the engines of the earlier answers are named, too
        old = entries[name]
        used = old.get("engines", [old.get("engine")])
        used += [new["engine"]] if new.get("engine") not in used else []
        new |= {"engines": used} if len(used) > 1 else {}
    text = json.dumps(dict(sorted({**entries, name: new}.items())), indent=1, ensure_ascii=False)
    replace_file(path.parents[1] / "manifest.json", text.encode() + b"\n")
    return path


def restore(store: Store, requests: Iterable[Request]) -> int:
    """Put recorded answers back into the store, so that a recording continues on another machine;
    how many.

    Only rows whose key is that of the request count; what the store holds already stays as it is.
    """
    found: dict[tuple, tuple[dict, float]] = {}
    restored = 0
    for request in store.pending(requests):
        shard = (request.paper, request.model, request.prompt_id, request.variant)
        if shard not in found:
            known = recordings.entry(*shard)
            rows = recordings.by_request(*shard) if known else {}
            day = known["recorded"] if known else "1970-01-01"
            found[shard] = rows, float(calendar.timegm(time.strptime(day, "%Y-%m-%d")))
        rows, created = found[shard]
        row = rows.get((request.item_id, request.repetition))
        if row and row["key"] == request.key[:16]:
            store.put(request, replace(recordings.to_response(row), created=created))
            restored += 1
    return restored
