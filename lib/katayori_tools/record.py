"""`make record`: works the recording plan off, resumable; each shard is written as it completes.

The plan is what data/papers/*.yaml list (`recording`, `second_edition`, `third_edition`), as
`Work`. `prompting.recordings` reads what is written here.
"""

import gzip
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.errors import KatayoriError, expect, within
from katayori.papers import answers, get_paper, items as source, paper_ids
from katayori.papers.paper import hash_of
from katayori.prompting import prompts, recordings
from katayori.prompting.answer_store import Store, replace_file
from katayori.prompting.models import Endpoint, Model, get_model
from katayori.prompting.parsing import answer_in
from katayori.prompting.replies import scored
from katayori.prompting.requests import Request, Response, seed_rule_of
from katayori.prompting.store import batches, store_path
from katayori_tools import asking, engines
from katayori_tools.choices import Papers, Positive
from katayori_tools.collect import Summary, collect_sync, progress_line, terminable
from katayori_tools.notebooks import names
from katayori_tools.send import check_can_score

if TYPE_CHECKING:
    import pandas as pd

#: The endpoint that scores continuations; chats go to the local engine that is named.
SCORER = "local-scorer"
#: The sections of the plan, by edition.
SECTIONS = {"first": "recording", "second": "second_edition", "third": "third_edition"}
BATCH = 64  # requests of a line to the scorer: neighbours share passages, and a kill loses these
#: What the manifest tells of a shard's requests, which agree in it.
IN_MANIFEST = "model prompt_id variant dataset prompt_hash endpoint identity".split()


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
        later = {
            (work.model, prompt_id, work.variant)
            for work in listed
            if work.edition != "first"
            for prompt_id in work.prompts
        }
        for work in listed:
            # What a later edition has, too, the first one lists for `make live`.
            is_later = (work.model, work.prompts[0], work.variant) in later
            if (not models or work.model in models) and not (work.edition == "first" and is_later):
                out.append(work)
    return sorted(out, key=lambda work: (work.priority, get_model(work.model)[0].size_b or 0.0))


def _listed(paper: str) -> Iterator[Work]:
    """What the plan of a paper lists, a piece of work an entry and model."""
    from katayori_tools import paper_files

    known, plan = prompts.load_prompts(paper), paper_files.of(paper)
    for edition, section in SECTIONS.items():
        for number, entry in enumerate(plan.get(section) or (), 1):
            given = {name: value for name, value in entry.items() if name != "models"}
            given["repetitions"] = tuple(given.get("repetitions", (0,)))
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


# -- items -----------------------------------------------------------------------------------------


def items_of(paper: str, dataset: str) -> "pd.DataFrame":
    """The items of a data set of the plan as they are asked, all of them.

    Of the third edition those that were written anew: answers to the others are there.
    """
    from katayori_tools import paper_files

    room = get_paper(paper)
    sets = room.sets()
    if dataset not in sets:
        expect(dataset, ("study", *room.theirs, *sets), f"data set of {paper}")
        return room.as_asked(room.read(dataset, {})[0])
    items = sets[dataset]()
    if paper_files.editions_of(paper).get(dataset) == paper_files.THIRD:
        items = paper_files.written_anew(paper, items)
    return items


def sample(items: "pd.DataFrame", size: int | None, whole: str = "item_id") -> "pd.DataFrame":
    """At least `size` items chosen by the hash of their ids, in their own order; None or a larger
    number keeps all.

    `whole` names a column whose groups are taken in full (a question with its whole cross of
    attributes): statistics that compare answers within a question need that.
    """
    if size is None or size >= len(items):
        return items
    counts = items.groupby(whole, sort=False).size()
    ranked = sorted(counts.index, key=hash_of)
    reached = counts[ranked].cumsum().searchsorted(size) + 1
    return items[items[whole].isin(ranked[:reached])].reset_index(drop=True)


def requests_of(
    work: Work, model: Model, endpoint: Endpoint, store: Store, limit: int | None = None
) -> list[Request]:
    """The requests of a piece of work, by the seed rule of its shards; `limit` takes so many items.

    Where a prompt holds the model's answer to an earlier one that is not stored yet, the item is
    left out. What was recorded of a part of a set, or on a machine that holds less of others'
    items, is asked of the same part. Raises KatayoriError where the items are not here.
    """
    known = prompts.load_prompts(work.paper)
    items, asked_of = items_of(work.paper, work.dataset), {}
    whole = work.whole or "item_id"
    if whole not in items:
        raise KatayoriError(f"{work.name}: the items have no column {work.whole!r} (whole)")
    if limit:
        items = sample(items, limit, whole)
    elif not work.ours or work.size or work.sample:
        asked_of = {one: _recorded_ids(work, one) for one in work.prompts}
        if not all(asked_of.values()):
            items = sample(items, work.sample or work.size, whole)
    rows: Any = items.to_dict("records")  # pandas does not say that its columns have names

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
    kept = [q for q in built if not asked_of.get(q.prompt_id) or q.item_id in asked_of[q.prompt_id]]
    return answers.as_recorded(kept)


def _recorded_ids(work: Work, prompt_id: str) -> set[str]:
    """The items that a recording of other models, or of this one, asked; empty while one of ours is
    unfinished.
    """
    entries = recordings.shards(work.paper, prompt_id, work.variant)
    own = [entry for entry in entries if entry["model"] == work.model]
    if work.ours and any(one["count"] < one.get("planned", 0) for one in own or entries):
        return set()
    models = [entry["model"] for entry in own or entries]
    return recordings.item_ids(work.paper, prompt_id, work.variant, models)


# -- asking ----------------------------------------------------------------------------------------


def record(
    *,
    papers: Papers = "",
    models: str = "",
    engine: str = "",
    base_url: str = "",
    limit: Positive | None = None,
) -> int:
    """Ask the recording plan and write each shard as it completes; a second start continues where
    the first ended.

    Args:
        papers: by name or number, with commas or spaces between (all). models: names with commas or
            spaces between (all of the plan). engine: a local one, without it the plan's.
        base_url: a server that runs already. limit: so many items of each piece of work, a pilot
            that stays in the store and is never committed.

    Returns 1 where a piece of work could not be made and the others were done. Raises
    KatayoriError where another recording runs, and for a plan or an engine that is not known,
    before anything is asked.
    """
    failed = 0
    with terminable(), Store(store_path()) as store:
        planned = works(names(papers), names(models))
        # One engine for all that a model is asked in a row: it takes minutes to start.
        groups = [(at, list(found)) for at, found in groupby(planned, lambda one: one.at(engine))]
        lock = store.alone("record")
        if not lock:
            raise KatayoriError("another recording runs on this store; wait for it, or end it")
        with lock:
            for at, found in groups:
                failed += _done(found, at, store, limit, base_url)
    return int(failed > 0)


def _done(
    group: Iterable[Work],
    at: tuple[Model, Endpoint],
    store: Store,
    limit: int | None,
    base_url: str = "",
) -> int:
    """Ask what the store lacks of each piece of work of one model, then export what is finished.

    How many could not be made here, which is said. An interrupted run leaves what it finished, too.
    """
    by_vllm = at[1].name == "local-vllm" and not base_url
    lacking = engines.lacking() if by_vllm else ""
    failed, url = 0, ""
    with ExitStack() as engine:
        for work in group:
            try:
                requests = requests_of(work, *at, store, limit)
            except KatayoriError as error:
                print(f"{work.name}: left out; {error}", file=sys.stderr, flush=True)
                failed += work.ours
                continue
            restore(store, requests)
            pending = store.pending(requests)
            if pending and lacking:
                print(f"{work.name}: left out; {lacking}", file=sys.stderr, flush=True)
                failed += 1
                continue
            print(f"{work.name}: {len(pending)} of {len(requests)} to ask", flush=True)
            try:
                if at[1].name == SCORER:
                    score_all(pending, *at, store)
                elif pending:
                    url = url or engine.enter_context(asking.served(*at, base_url, True))
                    collect_sync(pending, *at, store, base_url=url, timeout=engines.PATIENCE)
            finally:
                if not limit:
                    _export(work, list(store.get(requests)))
    return failed


def score_all(
    requests: Sequence[Request], model: Model, endpoint: Endpoint, store: Store
) -> Summary:
    """Score by our own scorer what the store does not hold yet; each batch is stored as it comes.

    A run that is killed loses at most the batch under way; calling again continues it. Raises
    KatayoriError, before anything is asked, where the endpoint cannot score continuations, and
    where the worker ends.
    """
    check_can_score(requests, model, endpoint)
    pending = store.pending(requests)
    summary = Summary(len(requests), len(requests) - len(pending), cost=0.0)
    if not pending:
        return summary
    started = time.monotonic()
    with engines.scorer(model.id) as score:
        for batch in batches(pending, BATCH):
            began = time.monotonic()
            found = [
                scored(*pair) for pair in zip(batch, score([q.body for q in batch]), strict=True)
            ]
            each = round((time.monotonic() - began) / len(batch), 4)
            store.put_all(zip(batch, (replace(one, latency=each) for one in found), strict=True))
            summary.outcomes.update(one.outcome for one in found)
            summary.asked += len(batch)
            print(f"{model.id}: {progress_line(summary, started)}", file=sys.stderr, flush=True)
    return summary


# -- shards ----------------------------------------------------------------------------------------


def _export(work: Work, answered: list[tuple[Request, Response | None]]) -> None:
    """Write the shards of a piece of work; of an unfinished one the groups (`whole`) that are
    answered in full.
    """
    group = work.whole or "item_id"
    open_groups = {q.fields[group] for q, a in answered if a is None or a.outcome == "error"}
    for prompt_id in work.prompts:
        mine = [(q, a) for q, a in answered if q.prompt_id == prompt_id]
        pairs = [(q, a) for q, a in mine if a and q.fields[group] not in open_groups]
        if open_groups:
            left = f"{len(mine) - len(pairs)} of {len(mine)} left"
            print(f"  {prompt_id}: {left}; start `make record` again to go on")
        if not pairs or (open_groups and not work.whole):
            continue
        settings = _settings(work, pairs[0][0]) | {"planned": len(mine)}
        settings |= {"sample": work.sample} if work.sample else {}
        settings |= {"edition": 3} if work.edition == "third" else {}
        if not work.ours:
            pairs = [(q, bare(q, a)) for q, a in pairs]
        path = export(pairs, settings=settings)
        print(f"  wrote {path.relative_to(paths.root())}", flush=True)


def _settings(work: Work, request: Request) -> dict[str, Any]:
    """What the manifest says of how a shard was recorded."""
    told = engines.settings(request.endpoint)
    if work.kind == "likelihood":
        return {"engine": told, "request": {"kind": "likelihood"}}
    body = {name: value for name, value in request.body.items() if name != "messages"}
    if seed_rule_of(request):
        body["seed"] = "per item and repetition"
    return {"engine": told, "request": body}


def bare(request: Request, answer: Response) -> Response:
    """The answer to a third-party item without the prose, which may repeat text that is not ours to
    give out.
    """
    if request.one_token or request.likelihood:  # numbers only
        return answer
    if answer.outcome != "ok":
        return replace(answer, text="")
    paper = get_paper(request.paper)
    parsed = answer_in(paper.parse, answer.text, answer.finish_reason)
    text = paper.shortest.format(parsed.answer) if parsed.answer else ""
    return replace(answer, outcome=parsed.outcome, text=text)


def export(pairs: Iterable[tuple[Request, Response | None]], *, settings: dict[str, Any]) -> Path:
    """Write the answered requests of one paper, model, prompt and variant as a shard and enter it
    in the manifest; where the same answers are there, it keeps the settings it was made with.

    `settings` describes how it was recorded (engine, versions, sampling, item and prompt versions).
    The bytes depend on the answers alone, so the same recording gives the same file. Raises
    KatayoriError where nothing is answered.
    """
    kept = [(q, a) for q, a in pairs if a is not None and a.outcome != "error"]
    if not kept:
        raise KatayoriError("nothing to export: no request of this shard is answered in the store")
    kept.sort(key=lambda pair: (pair[0].item_id, pair[0].repetition))
    lines = [_line(request, answer) for request, answer in kept]
    shard = [getattr(kept[0][0], name) for name in ("model", "prompt_id", "variant")]
    path = recordings.shard_path(kept[0][0].paper, *shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    entries, name = recordings.manifest(kept[0][0].paper), recordings.shard_name(*shard)
    before = gzip.decompress(path.read_bytes()).split(b"\n")[:-1] if name in entries else []
    if before == lines:
        return path
    data = gzip.compress(b"\n".join(lines) + b"\n", 9, mtime=0)
    replace_file(path, data)
    new = _entry(kept, data) | settings
    if set(before) & set(lines):  # resumed: the engines of the earlier answers are named
        used = entries[name].get("engines", [entries[name].get("engine")])
        used += [new["engine"]] if new.get("engine") not in used else []
        new |= {"engines": used} if len(used) > 1 else {}
    listed = dict(sorted({**entries, name: new}.items()))
    text = json.dumps(listed, indent=1, ensure_ascii=False)
    replace_file(path.parents[1] / "manifest.json", text.encode() + b"\n")
    return path


def _line(request: Request, answer: Response) -> bytes:
    """An answer as a line of a shard."""
    row: dict[str, Any] = {"item_id": request.item_id, "key": request.key[:16]}
    row["outcome"] = answer.outcome
    row |= {"repetition": request.repetition} if request.repetition else {}
    row |= {"text": answer.text, "finish": answer.finish_reason}
    row["tokens"] = [answer.prompt_tokens, answer.completion_tokens]
    if answer.top:
        row["top"] = [[token, round(logprob, 4)] for token, logprob in answer.top]
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def _entry(kept: list[tuple[Request, Response]], data: bytes) -> dict[str, Any]:
    """What the manifest says of a shard's answers and bytes."""
    first = kept[0][0]
    new: dict[str, Any] = {field: getattr(first, field) for field in IN_MANIFEST}
    new["count"] = len(kept)
    new["outcomes"] = dict(sorted(Counter(a.outcome for _, a in kept).items()))
    rule = seed_rule_of(first)
    new |= {"seed_rule": rule} if rule > 1 else {}  # absent: rule 1, or no seed of its own
    new |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    newest = datetime.fromtimestamp(max(answer.created for _, answer in kept), UTC)
    return new | {"recorded": f"{newest:%Y-%m-%d}"}


def restore(store: Store, requests: Iterable[Request]) -> None:
    """Put recorded answers back into the store, so that a recording continues on another machine.

    Only rows whose key is that of the request count; what the store holds already stays as it is.
    """
    found: dict[tuple[str, ...], tuple[dict[tuple[str, int], Any], float]] = {}
    for request in store.pending(requests):
        shard = (request.paper, request.model, request.prompt_id, request.variant)
        if shard not in found:
            day = (recordings.entry(*shard) or {}).get("recorded")
            at = datetime.fromisoformat(f"{day}T00:00Z").timestamp() if day else 0.0
            found[shard] = recordings.by_request(*shard) if day else {}, at
        rows, created = found[shard]
        row = rows.get((request.item_id, request.repetition))
        if row and row["key"] == request.key[:16]:
            store.put(request, replace(recordings.to_response(row), created=created))
