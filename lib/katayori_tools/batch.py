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
import hashlib
import re
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import orjson

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model, at_server, get_model, label_of
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import batches, store_path
from katayori.report.tables import visible
from katayori_tools import servers
from katayori_tools.answer_store import Store, replace_file
from katayori_tools.asking import LONG_ANSWER as STAND_IN, StepPlan, planned_steps
from katayori_tools.choices import Asking, OwnServer
from katayori_tools.notebooks import names
from katayori_tools.options import filled
from katayori_tools.send import Sender, cause_of, failed, read_completion, wire_body

if TYPE_CHECKING:
    from openai.types import Batch

URL = "/v1/chat/completions"
STATE = "batch.json"
ASKED = ("papers", "profile", "models", "prompts", "limit", "engine")  # kept, with own items
LINES = 20_000  # of a shard; OpenAI takes 50,000
BYTES = 200_000_000  # of a shard at most, as OpenAI takes them
FINAL = ("completed", "failed", "expired", "cancelled")
POLL = 30.0  # seconds
LATEST = 2**33  # seconds since 1970; a greater number is no time
RETRIES = 5  # of the client, for each call about a batch
LISTED = 10  # places that a refusal names
STRAY = "belongs to no request of this run (other items, wording, model or settings)"
State = dict[str, Any]  # what batch.json holds: export, asked, servers, shards
Shard = dict[str, Any]  # model, requests, sha256; once submitted batch, status; then fetched


class Refused:
    """Rows that could not be used: how many by cause, and the first places of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.places: dict[str, list[str]] = {}

    def append(self, row: tuple[str, int, str]) -> None:
        """Notes a row: its file, its line (or sample) and the cause."""
        file, number, cause = row
        self.counts[cause] += 1
        listed = self.places.setdefault(cause, [])
        if len(listed) < LISTED:
            listed.append(f"{file}:{number}")

    def __len__(self) -> int:
        return self.counts.total()


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
    state = read_state(place)
    base_url = chosen.server.base_url
    for name in ("papers", "models", "limit"):
        if getattr(chosen, name):
            raise KatayoriError(f"{place / STATE} says what was asked; leave out {name.upper()}=")
    if step == "submit":
        return asyncio.run(_submit(place, state, base_url))
    if step == "fetch":
        asyncio.run(_fetch(place, state, base_url, wait))
    return _import(state, [Path(file) for file in files] or result_files(place))


def result_files(folder: Path) -> list[Path]:
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
    for one in written(folder, chosen, lines):
        print(
            f"{one.step.paper} {one.step.name}: {one.pending} to ask, {one.stored} stored, "
            f"{one.waiting} wait for an earlier answer; "
            f"{one.shards} shard(s) so far"
        )
    return 0


class Written(NamedTuple):
    """What became of a step: requests to ask, stored, those that wait for an earlier answer.

    `shards`: how many files there are so far.
    """

    step: StepPlan
    pending: int
    stored: int
    waiting: int
    shards: int


#: What is shown every request of a step, in parts, the waiting ones with a stand-in.
Watch = Callable[[StepPlan, Sequence[Request]], None]


def written(
    folder: Path, chosen: Asking, lines: int = LINES, watch: Watch | None = None
) -> Iterator[Written]:
    """Writes what the store does not hold as shards, a part at a time, and then `batch.json`.

    Raises KatayoriError for a folder that holds a batch, and as `planned_steps`.
    """
    if (folder / STATE).exists():
        remedy = "name a new folder for what is left after importing it"
        raise KatayoriError(f"{folder} holds a batch; {remedy}")
    check_models(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    shards: dict[str, Shard] = {}
    addresses: dict[str, dict[str, Any]] = {}
    for step in planned_steps(chosen):
        addresses[f"{step.paper} {step.name}"] = asdict(step.endpoint.server)
        with Store(store_path()) as store, ShardWriter(folder, shards, lines) as writer:
            yield _write_step(step, store, writer, watch)
    state = {
        "export": secrets.token_hex(8),
        "asked": {name: getattr(chosen, name) for name in ASKED} | dict(chosen.own),
        "servers": addresses,
        "shards": shards,
    }
    save_state(folder, state)


def _write_step(
    step: StepPlan, store: Store, writer: "ShardWriter", watch: Watch | None
) -> Written:
    waits = _waits(step)
    made, pending, planned, stored = 0, 0, 0, 0
    for part in step.parts(store):
        made += len(part)
        left = store.pending(part)
        stored += len(part) - len(left)
        for request in left:
            if not request.likelihood:
                pending += writer.write(step, request)
        if watch and not waits:
            watch(step, part)
    # With a stand-in for earlier answers, the requests that wait for one are there, too.
    for part in step.parts(store, STAND_IN) if waits else ():
        planned += len(part)
        if watch:
            watch(step, part)
    waiting = planned - made if waits else 0
    return Written(step, pending, stored, waiting, len(writer.shards))


def _waits(step: StepPlan) -> bool:
    """Whether some prompt of a step holds an earlier answer."""
    wording = load_prompts(step.paper, step.scope.folder)
    return any(wording[prompt_id].given for prompt_id in step.prompts)


class ShardWriter:
    """Writes requests into shards of a folder, each of so many lines and bytes at most.

    What is finished is noted in `shards`, which numbers the files; a step begins a file of its own.
    Requests that are the same to the letter are written once: which there were is kept in a file of
    the database's own, which is gone with the process.
    """

    def __init__(self, folder: Path, shards: dict[str, Shard], lines: int) -> None:
        self.folder, self.shards, self.lines = folder, shards, lines
        self._file: IO[bytes] | None = None
        self._about: Shard = {}
        self._hash = hashlib.sha256()
        self._bytes = 0
        self._written = sqlite3.connect("", isolation_level=None)
        self._written.execute("CREATE TABLE keys (key PRIMARY KEY) WITHOUT ROWID")
        self._written.execute("BEGIN")

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._written.close()
        if kind is None:
            self._finish()
        elif self._file:
            self._file.close()

    def write(self, step: StepPlan, request: Request) -> bool:
        """Writes a request, unless it is there; into a new file where the present one is full."""
        insert = "INSERT OR IGNORE INTO keys VALUES (?)"
        if not self._written.execute(insert, (request.key,)).rowcount:
            return False
        raw = line(request, step.model, step.endpoint)
        full = self._about.get("requests", 0) >= self.lines or self._bytes + len(raw) > BYTES
        if self._file and full:
            self._finish()
        if not self._file:
            self._begin(step)
        assert self._file
        self._file.write(raw)
        self._hash.update(raw)
        self._bytes += len(raw)
        self._about["requests"] += 1
        return True

    def _begin(self, step: StepPlan) -> None:
        name = _shard_name(step.paper, step.name, len(self.shards) + 1)
        self._file = (self.folder / name).open("wb")
        self._about = {"file": name, "model": step.name, "requests": 0}
        self._hash = hashlib.sha256()
        self._bytes = 0

    def _finish(self) -> None:
        if not self._file:
            return
        self._file.close()
        self._file = None
        name = self._about.pop("file")
        self.shards[name] = self._about | {"sha256": self._hash.hexdigest()}


def _shard_name(paper: str, model: str, number: int) -> str:
    return f"{paper}-{re.sub(r'[^0-9A-Za-z.-]', '_', model)}-{number:04d}.jsonl"


def check_models(chosen: Asking) -> None:
    """Raises KatayoriError for a base model, and where a server of the user's own is not named."""
    label_of(chosen.server.label)
    for name in names(chosen.models):
        _, endpoint = get_model(name)
        if endpoint.kind == "completions":
            raise KatayoriError(f"{name}: batches are of chats; ask base models with make live")
        at_server(endpoint, base_url=chosen.server.base_url, label=chosen.server.label)


def read_state(folder: Path) -> State:
    try:
        return orjson.loads((folder / STATE).read_bytes())
    except (OSError, ValueError):
        problem = f"{folder} holds no {STATE} that can be read"
        raise KatayoriError(f"{problem}; begin with `batch export`") from None


def save_state(folder: Path, state: State) -> None:
    replace_file(folder / STATE, orjson.dumps(state, option=orjson.OPT_INDENT_2))


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
                    save_state(folder, state)
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
            save_state(folder, state)
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
                    replace_file(folder / f"{kind}-{file}", sender.mask(content))
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
    rows = Rows(files)
    for one in merged(state, rows):
        counted = ", ".join(f"{n} {kind}" for kind, n in sorted(one.counts.items())) or "no row"
        asked = f"{one.step.paper} {one.step.name}"
        print(f"{asked}: {counted}; {one.left} of {one.made} requests still to ask")
    n_strays = rows.refuse_strays()
    list_refused(rows.refused)
    return int(bool(rows.refused) and n_strays == rows.n)


class Merged(NamedTuple):
    """A step after its rows were stored: rows by what became of them, requests made and left.

    `doubled`: answers beyond the first to one request.
    """

    step: StepPlan
    counts: Counter[str]
    made: int
    left: int
    doubled: int


#: What is shown the requests of a step, in parts, once their rows are in the store.
Stored = Callable[[StepPlan, Sequence[Request], Store], None]


def merged(state: State, rows: "Rows", watch: Stored | None = None) -> Iterator[Merged]:
    """Puts the rows that belong to an export into the store, step by step, a part at a time."""
    for step in planned_steps(exported(state)):
        with Store(store_path()) as store:
            yield _merge_step(step, rows, store, watch)


def _merge_step(step: StepPlan, rows: "Rows", store: Store, watch: Stored | None) -> Merged:
    counts: Counter[str] = Counter()
    made, left, doubled = 0, 0, 0
    for part in step.parts(store):
        made += len(part)
        places = rows.take(part)
        for request in part:
            answers = 0
            for place in places.pop(request.key, ()):
                kind, cause = _put(store, request, rows.read(place))
                counts[kind] += 1
                answers += kind != "failed"
                if cause:
                    rows.refused.append((place.file.name, place.number, cause))
            doubled += max(0, answers - 1)
        left += len(store.pending(part))
        if watch:
            watch(step, part, store)
    return Merged(step, counts, made, left, doubled)


def exported(state: State) -> Asking:
    """What was asked by an export, as its file says; older ones hold null for what was not given.

    Exports of before servers were told apart name none.
    """
    asked = {name: value for name, value in state["asked"].items() if value}
    own = {name: value for name, value in asked.items() if name not in ASKED}
    server = OwnServer(exported=state.get("servers", {}))
    return replace(filled(Asking, asked), own=own, server=server)


class Rows:
    """Where the rows of result files are, by custom_id; and the lines that are no results.

    The places are kept in a file of the database's own, which is gone with the process, so that
    memory does not grow with their number.

    Attributes:
        n: rows that are results. refused: lines and rows that could not be used.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = list(files)
        self.refused = Refused()
        self._open: dict[Path, IO[bytes]] = {}
        self.db = sqlite3.connect("", isolation_level=None)
        self.db.execute("CREATE TABLE rows (key, file, number, start, used DEFAULT 0)")
        insert = "INSERT INTO rows (key, file, number, start) VALUES (?, ?, ?, ?)"
        self.db.execute("BEGIN")
        for number, file in enumerate(self.files):
            self.db.executemany(insert, self._rows_of(number, file))
        self.db.execute("CREATE INDEX of_key ON rows (key)")
        self.db.execute("COMMIT")
        [self.n] = self.db.execute("SELECT COUNT(*) FROM rows").fetchone()

    def _rows_of(self, of_file: int, path: Path) -> Iterator[tuple[str, int, int, int]]:
        if not path.is_file():
            raise KatayoriError(f"no result file {path}")
        with path.open("rb") as file:
            start = 0
            for number, raw in enumerate(file, 1):
                key, cause = _key(raw)
                if cause:
                    self.refused.append((path.name, number, cause))
                elif key:
                    yield key, of_file, number, start
                start += len(raw)

    def take(self, requests: Iterable[Request]) -> dict[str, list[Place]]:
        """The places of the rows that answer some requests, by key, in the order of the files."""
        found: dict[str, list[Place]] = {}
        for part in batches(requests):
            keys = orjson.dumps([request.key for request in part]).decode()
            held = "key IN (SELECT value FROM json_each(?))"
            query = f"SELECT key, file, number, start FROM rows WHERE {held} ORDER BY rowid"
            for key, file, number, start in self.db.execute(query, (keys,)):
                found.setdefault(key, []).append(Place(self.files[file], number, start))
            self.db.execute(f"UPDATE rows SET used=1 WHERE {held}", (keys,))
        return found

    def holds(self, keys: Sequence[str]) -> bool:
        """Whether there is a row of one of these custom_ids."""
        query = "SELECT 1 FROM rows WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1"
        return self.db.execute(query, (orjson.dumps(keys).decode(),)).fetchone() is not None

    def read(self, place: Place) -> dict[str, Any]:
        """The row at a place."""
        file = self._open.get(place.file)
        if file is None:
            file = self._open[place.file] = place.file.open("rb")
        file.seek(place.start)
        return orjson.loads(file.readline())

    def refuse_strays(self) -> int:
        """Notes every row that no request took; how many."""
        strays = self.db.execute("SELECT file, number FROM rows WHERE used=0 ORDER BY rowid")
        count = 0
        for file, number in strays:
            self.refused.append((self.files[file].name, number, STRAY))
            count += 1
        return count


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
        return failed(f"batch: {_cause(failure) or f'status {status}'}")
    try:
        response = read_completion(body, request)
    except ValueError as error:
        return failed(f"batch: {error}")
    created = body.get("created") if isinstance(body, dict) else None
    response.created = 0.0
    if isinstance(created, int) and 0 < created < LATEST:
        response.created = float(created)
    return response


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
    for cause, where in refused.places.items():
        number = refused.counts[cause]
        more = f" and {number - len(where)} more" if number > len(where) else ""
        text = f"  {number} row(s) {cause} ({', '.join(where)}{more})"
        print(visible(text).replace("\n", " "))
