"""`katayori batch`: requests as OpenAI Batch files, for endpoints with a batch interface and for
`vllm run-batch`.

    export FOLDER          what a run would still ask, in shards of --shard lines;
                           `batch.json` says what that was
    submit FOLDER          upload every shard and start its batch where the endpoint offers them
    fetch FOLDER           ask how the batches stand, download what is finished and import it
                           (--wait: until all are)
    import FOLDER [FILE…]  import result files, from wherever they come
                           (default: those in the folder)

A line's `custom_id` is the key its answer is stored under, so a result needs nothing but itself to
find its request, in any order, in any file, more than once. Answers go into the store of live
answers by the rules of `make live`: a stored success stays, a failed line is kept with its cause
and asked again by the next run, which sends what is missing.

A line of a result file is refused, and listed with its cause, if it cannot be read, is no result,
belongs to no request of this run (other items, wording, model or settings), or answers one
differently than before; a failed one is listed.
"""

import asyncio
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model, at_server, get_model, label_of
from katayori.prompting.requests import Request
from katayori.prompting.store import Response, Store, store_path
from katayori.report.tables import visible
from katayori_tools import recording, servers
from katayori_tools.asking import wanted
from katayori_tools.choices import Asking, OwnServer
from katayori_tools.notebooks import names
from katayori_tools.options import filled
from katayori_tools.send import Sender, cause_of, read_completion, wire_body

if TYPE_CHECKING:
    from openai.types import Batch

URL = "/v1/chat/completions"
STATE = "batch.json"
ASKED = ("papers", "profile", "models", "prompts", "limit", "engine")  # kept, with own items
LINES = 20_000  # of a shard; OpenAI takes 50,000
FINAL = ("completed", "failed", "expired", "cancelled")
POLL = 30.0  # seconds
LATEST = 2**33  # seconds since 1970; a greater number is no time
RETRIES = 5  # of the client, for each call about a batch
LISTED = 10  # places that a refusal names
STRAY = "belongs to no request of this run (other items, wording, model or settings)"
State = dict[str, Any]  # what batch.json holds: export, asked, servers, shards
Shard = dict[str, Any]  # model, requests, sha256; once submitted batch, status; then fetched
Refused = list[tuple[str, int, str]]  # file, line (or sample), cause


class Place(NamedTuple):
    """Where a row of a result file is."""

    file: Path
    number: int  # of the line, from 1
    start: int  # byte


def batch(
    step: str,
    folder: str,
    chosen: Asking,
    *,
    files: Sequence[str] = (),
    shard: int = LINES,
    wait: bool = False,
) -> int:
    """One step; see the module. Raises KatayoriError for a folder that is not at that step.

    Args:
        step: `export`, `submit`, `fetch` or `import`. folder: holds shards, state and results.
        chosen: what is exported; for the other steps only its server counts. files: what is
        imported in place of the folder's. shard: lines a file. wait: until every batch has ended.
    """
    place = Path(folder)
    if step == "export":
        return _export(place, chosen, shard)
    state = _state(place)
    base_url = chosen.server.base_url
    for name in ("papers", "models", "limit"):
        if getattr(chosen, name):
            raise KatayoriError(f"{place / STATE} says what was asked; leave out {name.upper()}=")
    if step == "submit":
        return asyncio.run(_submit(place, state, base_url))
    if step == "fetch":
        asyncio.run(_fetch(place, state, base_url, wait))
    return _import(state, [Path(file) for file in files] or _result_files(place))


def _result_files(folder: Path) -> list[Path]:
    """What `fetch` downloads, and what a user puts into the folder under such a name."""
    return sorted(
        file for file in folder.glob("*.jsonl") if file.name.startswith(("results", "errors"))
    )


def line(request: Request, model: Model, endpoint: Endpoint) -> bytes:
    """A request as a line of a batch file; its body is what `Sender` sends."""
    body = wire_body(request, model, endpoint)
    row = {"custom_id": request.key, "method": "POST", "url": URL, "body": body}
    return orjson.dumps(row) + b"\n"


# -- export ----------------------------------------------------------------------------------------


def _export(folder: Path, chosen: Asking, lines: int) -> int:
    if (folder / STATE).exists():
        remedy = "name a new folder for what is left after importing it"
        raise KatayoriError(f"{folder} holds a batch; {remedy}")
    _check_models(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    # With a stand-in for earlier answers, the requests that wait for one are there, too.
    planned = [len(requests) for *_, requests in wanted(chosen, "-")]
    shards: dict[str, Shard] = {}
    addresses: dict[str, dict[str, Any]] = {}
    asked = zip(wanted(chosen), planned, strict=True)
    for (paper, name, model, endpoint, requests), n_planned in asked:
        with Store(store_path()) as store:
            pending = [request for request in store.pending(requests) if not request.likelihood]
        addresses[f"{paper} {name}"] = asdict(endpoint.server)
        for start in range(0, len(pending), lines):
            file = folder / _shard_name(paper, name, len(shards) + 1)
            chunk = pending[start : start + lines]
            file.write_bytes(b"".join(line(request, model, endpoint) for request in chunk))
            sha256 = paths.sha256(file)
            shards[file.name] = {"model": name, "requests": len(chunk), "sha256": sha256}
        print(
            f"{paper} {name}: {len(pending)} to ask, {len(requests) - len(pending)} stored, "
            f"{n_planned - len(requests)} wait for an earlier answer; "
            f"{len(shards)} shard(s) so far"
        )
    state = {
        "export": secrets.token_hex(8),
        "asked": {name: getattr(chosen, name) for name in ASKED} | dict(chosen.own),
        "servers": addresses,
        "shards": shards,
    }
    _save(folder, state)
    return 0


def _shard_name(paper: str, model: str, number: int) -> str:
    return f"{paper}-{re.sub(r'[^0-9A-Za-z.-]', '_', model)}-{number:04d}.jsonl"


def _check_models(chosen: Asking) -> None:
    """Raises KatayoriError for a base model, and where a server of the user's own is not named."""
    label_of(chosen.server.label)
    for name in names(chosen.models):
        _, endpoint = get_model(name)
        if endpoint.kind == "completions":
            raise KatayoriError(f"{name}: batches are of chats; ask base models with make live")
        at_server(endpoint, base_url=chosen.server.base_url, label=chosen.server.label)


def _state(folder: Path) -> State:
    try:
        return orjson.loads((folder / STATE).read_bytes())
    except (OSError, ValueError):
        problem = f"{folder} holds no {STATE} that can be read"
        raise KatayoriError(f"{problem}; begin with `batch export`") from None


def _save(folder: Path, state: State) -> None:
    recording.replace_file(folder / STATE, orjson.dumps(state, option=orjson.OPT_INDENT_2))


# -- submit and fetch ------------------------------------------------------------------------------


@contextmanager
def _in_one_line(sender: Sender) -> Iterator[None]:
    """What the client raises as one line, without the key."""
    import openai

    name = sender.endpoint.name
    try:
        yield
    except openai.NotFoundError:
        problem = f"{name} offers no batches, or not this one (404)"
        remedy = "import results that `vllm run-batch` or another service made of the shards"
        raise KatayoriError(f"{problem}; {remedy}, or use make live") from None
    except openai.APIError as error:
        problem = sender.mask(str(error).encode()).decode()[:300]
        raise KatayoriError(f"batches of {name}: {problem}; start again to go on") from None


def _sender(name: str, base_url: str) -> Sender:
    model, endpoint = get_model(name)
    if endpoint.kind == "local" and not base_url:
        remedy = "give its shards to `vllm run-batch` and import those"
        raise KatayoriError(f"{endpoint.name} offers no batches; {remedy}")
    if endpoint.own:
        servers.reached(endpoint, base_url)
    return Sender(model, endpoint, base_url=base_url)


async def _submit(folder: Path, state: State, base_url: str) -> int:
    """Start a batch a shard.

    One that was started before it could be noted is found again by the name it was given.
    """
    waiting = {file: shard for file, shard in state["shards"].items() if "batch" not in shard}
    for model in dict.fromkeys(shard["model"] for shard in waiting.values()):
        async with _sender(model, base_url) as sender:
            client = sender.client.with_options(max_retries=RETRIES)
            with _in_one_line(sender):
                newest = (await client.batches.list(limit=100)).data
                by_name = {(started.metadata or {}).get("katayori"): started for started in newest}
                for file, shard in waiting.items():
                    if shard["model"] != model:
                        continue
                    name = f"{state['export']} {file}"
                    started = by_name.get(name)
                    if not started:
                        started = await _start(client, folder / file, shard["sha256"], name)
                    shard |= {"batch": started.id, "status": started.status}
                    _save(folder, state)
                    number = visible(started.id)
                    print(f"{file}: {shard['requests']} requests submitted as {number}")
    return 0


async def _start(client: Any, file: Path, sha256: str, name: str) -> "Batch":
    """Upload a shard and start its batch. Raises KatayoriError where the file was changed."""
    if paths.sha256(file) != sha256:
        raise KatayoriError(f"{file.name} is not as it was exported; export again to a new folder")
    uploaded = await client.files.create(file=file, purpose="batch")
    return await client.batches.create(
        input_file_id=uploaded.id,
        endpoint=URL,
        completion_window="24h",
        metadata={"katayori": name},
    )


async def _fetch(folder: Path, state: State, base_url: str, wait: bool) -> None:
    """Download the results and errors of every batch that has ended."""
    submitted = {file: shard for file, shard in state["shards"].items() if "batch" in shard}
    if not submitted:
        raise KatayoriError(f"nothing of {folder} is submitted yet; begin with `batch submit`")
    while True:
        under_way = {file: shard for file, shard in submitted.items() if not shard.get("fetched")}
        for file, shard in under_way.items():
            remote = await _download(folder, file, shard, base_url)
            shard |= {"status": remote.status, "fetched": remote.status in FINAL}
            _save(folder, state)
            print(visible(f"{file}: {_progress(remote)}"))
        if not wait or all(shard["fetched"] for shard in under_way.values()):
            return
        await asyncio.sleep(POLL)


async def _download(folder: Path, file: str, shard: Shard, base_url: str) -> "Batch":
    """How the batch of a shard stands; once it has ended, its files are put into the folder."""
    async with _sender(shard["model"], base_url) as sender:
        client = sender.client.with_options(max_retries=RETRIES)
        with _in_one_line(sender):
            remote = await client.batches.retrieve(shard["batch"])
            outputs = {"results": remote.output_file_id, "errors": remote.error_file_id}
            for kind, file_id in outputs.items():
                if remote.status in FINAL and file_id:
                    content = (await client.files.content(file_id)).content
                    recording.replace_file(folder / f"{kind}-{file}", sender.mask(content))
    return remote


def _progress(remote: "Batch") -> str:
    """How a batch stands, in words."""
    text: str = remote.status
    if remote.request_counts:
        text += f", {remote.request_counts.completed} of {remote.request_counts.total}"
    problems = [problem.message or "" for problem in (remote.errors and remote.errors.data) or ()]
    if problems:
        text += f"; {'; '.join(problems)[:300]}"
    return text


# -- import ----------------------------------------------------------------------------------------


def _import(state: State, files: list[Path]) -> int:
    """Merge result files into the store; 1 if rows were refused and none was read."""
    places, refused = _index(files)
    n_rows = sum(map(len, places.values()))
    for paper, name, requests in _exported(state):
        with Store(store_path()) as store:
            counts: Counter[str] = Counter()
            for request in requests:
                for place in places.pop(request.key, ()):
                    kind, cause = _put(store, request, _read(place.file, place.start))
                    counts[kind] += 1
                    if cause:
                        refused.append((place.file.name, place.number, cause))
            left = len(store.pending(requests))
        counted = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "no row"
        print(f"{paper} {name}: {counted}; {left} of {len(requests)} requests still to ask")
    strays = [place for rows in places.values() for place in rows]
    refused += [(place.file.name, place.number, STRAY) for place in strays]
    list_refused(refused)
    return int(bool(refused) and len(strays) == n_rows)


def _exported(state: State) -> Iterator[tuple[str, str, list[Request]]]:
    """Paper, name and requests of an export, with the keys it gave them."""
    for step in wanted(exported(state)):
        yield step.paper, step.name, step.requests


def exported(state: State) -> Asking:
    """What was asked by an export, as its file says; older ones hold null for what was not given.

    Exports of before servers were told apart name none.
    """
    asked = {name: value for name, value in state["asked"].items() if value}
    own = {name: value for name, value in asked.items() if name not in ASKED}
    server = OwnServer(exported=state.get("servers", {}))
    return replace(filled(Asking, asked), own=own, server=server)


def _index(files: Iterable[Path]) -> tuple[dict[str, list[Place]], Refused]:
    """Where each custom_id's rows are; and the lines that are no results."""
    places: dict[str, list[Place]] = {}
    refused: Refused = []
    for path in files:
        if not path.is_file():
            raise KatayoriError(f"no result file {path}")
        with path.open("rb") as file:
            start = 0
            for number, raw in enumerate(file, 1):
                key, cause = _key(raw)
                if cause:
                    refused.append((path.name, number, cause))
                elif key:
                    places.setdefault(key, []).append(Place(path, number, start))
                start += len(raw)
    return places, refused


def _key(raw: bytes) -> tuple[str, str]:
    """The custom_id of a line, and why the line is no result; both empty for an empty line."""
    try:
        row = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return "", "is not JSON; is the file cut off?" if raw.strip() else ""
    if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
        return "", "has no custom_id"
    is_result = "response" in row or "error" in row
    return row["custom_id"], "" if is_result else "is a request, not a result"


def _read(path: Path, start: int) -> dict[str, Any]:
    with path.open("rb") as file:
        file.seek(start)
        return orjson.loads(file.readline())


def to_response(row: dict[str, Any], request: Request) -> Response:
    """A row of a result file as the Response that asking would have given.

    Failures have outcome error or filtered.
    """
    answer = row.get("response") or {}
    readable = isinstance(answer, dict)
    body = answer.get("body") if readable else None
    status = answer.get("status_code") if readable else None
    failure = row.get("error") or (isinstance(body, dict) and body.get("error"))
    if failure or status not in (200, None):
        return _failed(_cause(failure) or f"status {status}")
    try:
        response = read_completion(body, request)
    except ValueError as error:
        return Response("error", error=f"batch: {error}"[:300])
    created = body.get("created") if isinstance(body, dict) else None
    response.created = 0.0
    if isinstance(created, int) and 0 < created < LATEST:
        response.created = float(created)
    return response


def _failed(cause: str) -> Response:
    """A failed row as a Response: what a filter stopped is no error."""
    filtered = "content_filter" in cause or "content management policy" in cause
    return Response("filtered" if filtered else "error", error=f"batch: {cause}"[:300])


def _cause(error: Any) -> str:
    """What an `error` says: a text, {message, code}, or such a thing within another `error`."""
    if isinstance(error, dict):
        return _cause(error.get("error")) or cause_of(error)
    return str(error or "")


def _put(store: Store, request: Request, row: dict[str, Any]) -> tuple[str, str]:
    """Store a row's answer unless it is there.

    Returns what became of it, and why it is refused or failed.
    """
    response = to_response(row, request)
    [(_, before)] = store.get([request])
    if response.outcome == "error":
        # A success stays; the same failure is not noted twice.
        if before is None or (before.outcome == "error" and before.error != response.error):
            store.put(request, response)
        return "failed", f"failed: {response.error}"
    if before and before.outcome != "error":
        stored = (before.outcome, before.text, before.top)
        if stored == (response.outcome, response.text, response.top):
            return "already stored", ""
        return "refused", "a second, different answer; the first stays"
    store.put(request, response)
    return response.outcome, ""


def list_refused(refused: Refused) -> None:
    """Print rows that could not be used: each cause once, with the first ten places, and how many
    more there are.
    """
    places: dict[str, list[str]] = {}
    for file, number, cause in refused:
        places.setdefault(cause, []).append(f"{file}:{number}")
    for cause, where in places.items():
        listed = ", ".join(where[:LISTED])
        more = f" and {len(where) - LISTED} more" if len(where) > LISTED else ""
        text = f"  {len(where)} row(s) {cause} ({listed}{more})"
        print(visible(text).replace("\n", " "))
