"""`katayori batch`: requests as OpenAI Batch files, for endpoints with a batch interface and for
`vllm run-batch`.

    export FOLDER          what a run would still ask, in shards of --shard lines;
                           `batch.json` says what that was
    submit FOLDER          upload every shard and start its batch where the endpoint offers them
    fetch FOLDER           ask how the batches stand, download what is finished and import it
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
import sqlite3
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import orjson

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model, at_server, get_model, label_of
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori.report.tables import visible
from katayori_tools import servers
from katayori_tools.answer_store import Store, replace_file
from katayori_tools.asking import LONG_ANSWER, StepPlan, planned_steps
from katayori_tools.choices import Asking, OwnServer, Positive
from katayori_tools.notebooks import names
from katayori_tools.send import Sender, cause_of, failed, read_completion, wire_body

URL = "/v1/chat/completions"
STATE = "batch.json"
LINES = 20_000  # of a shard; OpenAI takes 50,000
BYTES = 200_000_000  # of a shard at most, as OpenAI takes them
FINAL = ("completed", "failed", "expired", "cancelled")
LATEST = 2**33  # seconds since 1970; a greater number is no time
RETRIES = 5  # of the client, for each call about a batch
LISTED = 10  # places that a refusal names
STRAY = "belongs to no request of this run (other items, wording, model or settings)"
Refused = dict[str, list[str]]  # the places of rows that could not be used, by cause
#: What batch.json holds: export, asked, servers, shards; of a shard paper, model, requests, sha256,
#: once it is submitted batch, then fetched.
State = dict[str, Any]


def batch(
    step: Literal["export", "submit", "fetch", "import"],
    folder: str,
    files: Sequence[str] = (),
    *,
    chosen: Asking,
    shard: Positive = LINES,
) -> int:
    """One step; see the module. Raises KatayoriError for a folder that is not at that step.

    Args:
        step: what to do, in this order. folder: holds the shards, what was asked (batch.json) and
            the results. files: what is imported in place of the folder's results and errors.
        chosen: what is exported; for the other steps only its server counts.
        shard: export: lines a file; OpenAI takes 50000.
    """
    place = Path(folder)
    if step == "export":
        export(place, chosen, shard)
        return 0
    state = read_state(place)
    check_unasked(chosen, place / STATE)
    if step == "submit":
        asyncio.run(_submit(place, state, chosen.server.base_url))
        return 0
    if step == "fetch":
        asyncio.run(_fetch(place, state, chosen.server.base_url))
    rows = Rows([Path(file) for file in files] or result_files(place, "*.jsonl"))
    for one, counts in merged(state, rows):
        print(said(one, counts))
    return rows.listed()


def check_unasked(chosen: Asking, where: Path) -> None:
    """Raises KatayoriError where something is chosen that a folder says."""
    if given := [name.upper() for name in ("papers", "models", "limit") if getattr(chosen, name)]:
        raise KatayoriError(f"{where} says what was asked; leave out {'=, '.join(given)}=")


def file_name(name: str) -> str:
    """A name as the name of a file."""
    return re.sub(r"[^0-9A-Za-z.-]", "_", name)


def result_files(folder: Path, pattern: str) -> list[Path]:
    """What `fetch` downloads, and what a user puts into the folder under such a name."""
    return sorted(f for f in folder.glob(pattern) if f.name.startswith(("results", "errors")))


# -- export ----------------------------------------------------------------------------------------


def export(folder: Path, chosen: Asking, lines: int) -> list[dict[str, Any]]:
    """Writes what the store does not hold as shards, and then `batch.json`; a row of counts a step.

    Raises KatayoriError for a folder that holds a batch, and as `planned_steps`.
    """
    if (folder / STATE).exists():
        remedy = "name a new folder for what is left after importing it"
        raise KatayoriError(f"{folder} holds a batch; {remedy}")
    check_models(chosen)
    steps = list(planned_steps(chosen))
    state = {
        "export": secrets.token_hex(8),
        "asked": {name: value for name, value in asdict(chosen).items() if name != "server"},
        "servers": {f"{one.paper} {one.name}": asdict(one.endpoint.server) for one in steps},
        "shards": {},
    }
    folder.mkdir(parents=True, exist_ok=True)
    counted = []
    for one in steps:
        new, counts = add_shards(folder, state, one, lines)
        asked = ", ".join(one.prompts) or "left out: the endpoint cannot be asked these prompts"
        print(
            f"{one.paper} {one.name}: {counts['asked']} to ask, {counts['stored']} stored, "
            f"{counts['waiting']} wait for an earlier answer; {len(new)} shard(s) ({asked})"
        )
        counted.append({"model": one.name, "paper": one.paper, **counts})
    save_state(folder, state)
    return counted


def add_shards(
    folder: Path, state: State, step: StepPlan, lines: int
) -> tuple[list[str], Counter[str]]:
    """Writes what the store does not hold of a step as further shards, a part at a time.

    Returns their names, and how many requests are asked, are stored, or wait for an earlier answer.
    """
    counts = Counter(stored=0, asked=0)
    shards, new = state["shards"], []
    with Store(store_path()) as store:
        for _, group in groupby(_lines(step, store, counts, lines), itemgetter(0)):
            name = f"{len(shards) + 1:04d}-{step.paper}-{file_name(step.name)}.jsonl"
            part, n = folder / f"{name}.part", 0
            with part.open("wb") as file:
                for _, raw in group:
                    n += file.write(raw) > 0
            about = {"paper": step.paper, "model": step.name, "requests": n}
            shards[name] = about | {"sha256": paths.sha256(part)}
            part.replace(folder / name)
            new.append(name)
        counts["waiting"] = waiting(step, store, counts["made"])
    return new, counts


def _lines(
    step: StepPlan, store: Store, counts: Counter[str], lines: int
) -> Iterator[tuple[int, bytes]]:
    """The lines of a step's requests without an answer; what is the same to the letter, once.

    Each comes with the number of its shard, which has so many lines and bytes at most.
    """
    asked: set[bytes] = set()
    shard, n, size = 0, 0, 0
    for part in step.parts(store):
        left = store.pending(part)
        counts["made"] += len(part)
        counts["stored"] += len(part) - len(left)
        for request in left:
            key = bytes.fromhex(request.key)
            if key in asked or request.likelihood:
                continue
            asked.add(key)
            raw = line(request, step.model, step.endpoint)
            if n == lines or size + len(raw) > BYTES:
                shard, n, size = shard + 1, 0, 0
            n, size = n + 1, size + len(raw)
            counts["asked"] += 1
            yield shard, raw


def line(request: Request, model: Model, endpoint: Endpoint) -> bytes:
    """A request as a line of a batch file; its body is what `Sender` sends."""
    body = wire_body(request, model, endpoint)
    row = {"custom_id": request.key, "method": "POST", "url": URL, "body": body}
    return orjson.dumps(row) + b"\n"


def waiting(step: StepPlan, store: Store, made: int) -> int:
    """How many requests of a step wait for an earlier answer, beside those that were made."""
    wording = load_prompts(step.paper, step.scope.folder)
    if not any(wording[prompt_id].given for prompt_id in step.prompts):
        return 0
    return sum(map(len, step.parts(store, LONG_ANSWER))) - made


def check_models(chosen: Asking) -> None:
    """Raises KatayoriError for a base model, a simulated one, one that is named twice, and where a
    server of the user's own is not named.
    """
    label_of(chosen.server.label)
    seen: dict[tuple[str, str], str] = {}
    for name in names(chosen.models):
        model, endpoint = get_model(name)
        if endpoint.kind == "completions":
            raise KatayoriError(f"{name}: batches are of chats; ask base models with make live")
        if model.simulated:
            raise KatayoriError(f"{name} is simulated and asks nobody; make reproduce shows it")
        other = seen.setdefault((model.identity, endpoint.name), name)
        if other != name:
            raise KatayoriError(f"{other} and {name} are one model; name it once")
        at_server(endpoint, base_url=chosen.server.base_url, label=chosen.server.label)


def read_state(folder: Path) -> State:
    """What batch.json holds; KatayoriError where it does not say what was asked."""
    try:
        state = orjson.loads((folder / STATE).read_bytes())
        exported(state)
        return state | {"export": str(state["export"]), "shards": dict(state["shards"])}
    except (OSError, ValueError, TypeError, LookupError):
        problem = f"{folder} holds no {STATE} that can be read"
        raise KatayoriError(f"{problem}; begin with `batch export`") from None


def exported(state: State) -> Asking:
    """What was asked by an export, as its file says."""
    return Asking(**state["asked"], server=OwnServer(exported=state["servers"]))


def save_state(folder: Path, state: State) -> None:
    replace_file(folder / STATE, orjson.dumps(state, option=orjson.OPT_INDENT_2))


# -- submit and fetch ------------------------------------------------------------------------------


@asynccontextmanager
async def _client(name: str, base_url: str) -> AsyncIterator[tuple[Any, Sender]]:
    """The client of a model's endpoint; what it raises becomes one line, without the key."""
    import openai

    model, endpoint = get_model(name)
    if endpoint.kind == "local" and not base_url:
        remedy = "give its shards to `vllm run-batch` and import those"
        raise KatayoriError(f"{endpoint.name} offers no batches; {remedy}")
    if endpoint.own:
        servers.reached(endpoint, base_url)
    async with Sender(model, endpoint, base_url=base_url) as sender:
        try:
            yield sender.client.with_options(max_retries=RETRIES), sender
        except openai.APIError as error:
            problem = sender.mask(str(error).encode()).decode()[:300]
            remedy = "start again to go on"
            if isinstance(error, openai.NotFoundError):
                remedy = "where it offers none, run `vllm run-batch` or make live"
            raise KatayoriError(f"batches of {endpoint.name}: {problem}; {remedy}") from None


async def _submit(folder: Path, state: State, base_url: str) -> None:
    """Start a batch a shard.

    One that was started before it could be noted is found again by the name it was given.
    """
    for file, shard in state["shards"].items():
        if "batch" in shard:
            continue
        name = {"katayori": f"{state['export']} {file}"}
        async with _client(shard["model"], base_url) as (client, _):
            newest = (await client.batches.list(limit=100)).data
            named = [started for started in newest if started.metadata == name]
            if not named and paths.sha256(folder / file) != shard["sha256"]:
                remedy = "export again to a new folder"
                raise KatayoriError(f"{file} is not as it was exported; {remedy}")
            started = named[0] if named else await _start(client, folder / file, name)
        shard["batch"] = started.id
        save_state(folder, state)
        print(f"{file}: {shard['requests']} requests submitted as {visible(started.id)}")


async def _start(client: Any, file: Path, name: dict[str, str]) -> Any:
    """Upload a shard and start its batch."""
    uploaded = await client.files.create(file=file, purpose="batch")
    return await client.batches.create(
        input_file_id=uploaded.id, endpoint=URL, completion_window="24h", metadata=name
    )


async def _fetch(folder: Path, state: State, base_url: str) -> None:
    """Says how each batch stands; puts the results and errors of what has ended into the folder."""
    submitted = {file: shard for file, shard in state["shards"].items() if "batch" in shard}
    if not submitted:
        raise KatayoriError(f"nothing of {folder} is submitted yet; begin with `batch submit`")
    for file, shard in submitted.items():
        if shard.get("fetched"):
            continue
        async with _client(shard["model"], base_url) as (client, sender):
            remote = await client.batches.retrieve(shard["batch"])
            outputs = {"results": remote.output_file_id, "errors": remote.error_file_id}
            for kind, file_id in outputs.items():
                if remote.status in FINAL and file_id:
                    content = (await client.files.content(file_id)).content
                    replace_file(folder / f"{kind}-{file}", sender.mask(content))
        shard["fetched"] = remote.status in FINAL
        save_state(folder, state)
        print(visible(f"{file}: {_progress(remote)}"))


def _progress(remote: Any) -> str:
    """How a batch stands, in words."""
    counts = remote.request_counts
    told = f"{remote.status}, {counts.completed} of {counts.total}" if counts else remote.status
    problems = [problem.message or "" for problem in (remote.errors and remote.errors.data) or ()]
    return f"{told}; {'; '.join(problems)[:300]}" if problems else told


# -- import ----------------------------------------------------------------------------------------


def merged(state: State, rows: "Rows") -> Iterator[tuple[StepPlan, Counter[str]]]:
    """Puts the rows that belong to an export into the store, step by step, a part at a time.

    The counts: rows by what became of them, and requests `made`, `left` and `waiting`.
    """
    for step in planned_steps(exported(state)):
        counts: Counter[str] = Counter()
        with Store(store_path()) as store:
            for part in step.parts(store):
                for request, place, row in rows.take(part):
                    kind, cause = _put(store, request, row)
                    counts[kind] += 1
                    if cause:
                        rows.refused[cause].append(place)
                counts["made"] += len(part)
                counts["left"] += len(store.pending(part))
            counts["waiting"] = waiting(step, store, counts["made"])
        yield step, counts


def said(step: StepPlan, counts: Counter[str]) -> str:
    """What became of the rows of a step, in words."""
    about = ("made", "left", "waiting")
    kinds = [f"{n} {kind}" for kind, n in sorted(counts.items()) if kind not in about]
    left = f"{counts['left']} of {counts['made']} requests still to ask"
    later = f", {counts['waiting']} wait for an earlier answer" if counts["waiting"] else ""
    return f"{step.paper} {step.name}: {', '.join(kinds) or 'no row'}; {left}{later}"


def list_refused(refused: Refused) -> None:
    """Print rows that could not be used: each cause once, with the first ten places, and how many
    more there are.
    """
    for cause, where in refused.items():
        more = f" and {len(where) - LISTED} more" if len(where) > LISTED else ""
        text = f"  {len(where)} row(s) {cause} ({', '.join(where[:LISTED])}{more})"
        print(visible(text).replace("\n", " "))


class Rows:
    """Where the rows of result files are, by custom_id; a row that was taken is no longer there.

    The places are kept in a file of the database's own, which is gone with the process, so that
    memory does not grow with their number. `refused`: lines and rows that could not be used.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.refused: Refused = defaultdict(list)
        self.used = 0
        self.db = sqlite3.connect("", isolation_level=None)
        self.db.execute("CREATE TABLE rows (key, path, number, start)")
        self.db.execute("BEGIN")
        for file in files:
            self.db.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", self._rows_of(file))
        self.db.execute("CREATE INDEX of_key ON rows (key)")
        self.db.execute("COMMIT")

    def _rows_of(self, path: Path) -> Iterator[tuple[str, str, int, int]]:
        if not path.is_file():
            raise KatayoriError(f"no result file {path}")
        start = 0
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                key, cause = _key(raw)
                if cause:
                    self.refused[cause].append(f"{path.name}:{number}")
                elif key:
                    yield key, str(path), number, start
                start += len(raw)

    def take(self, requests: Sequence[Request]) -> Iterator[tuple[Request, str, dict[str, Any]]]:
        """The rows that answer some requests, each with its place, in the order of the files."""
        by_key = {request.key: request for request in requests}
        query = "DELETE FROM rows WHERE key IN (SELECT value FROM json_each(?)) RETURNING *, rowid"
        found = self.db.execute(query, (orjson.dumps(list(by_key)).decode(),)).fetchall()
        self.used += len(found)
        for path, places in groupby(sorted(found, key=itemgetter(-1)), itemgetter(1)):
            with open(path, "rb") as file:
                for key, _, number, start, _ in places:
                    file.seek(start)
                    yield by_key[key], f"{Path(path).name}:{number}", orjson.loads(file.readline())

    def listed(self) -> int:
        """Prints what was refused, with the rows that no request took; 1 if none was of use."""
        for path, number in self.db.execute("SELECT path, number FROM rows ORDER BY rowid"):
            self.refused[STRAY].append(f"{Path(path).name}:{number}")
        list_refused(self.refused)
        return int(bool(self.refused) and not self.used)


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
    answer = row["response"] if isinstance(row.get("response"), dict) else {}
    body, status = answer.get("body"), answer.get("status_code")
    failure = row.get("error") or (isinstance(body, dict) and body.get("error"))
    if failure or status not in (200, None):
        return failed(f"batch: {_cause(failure) or f'status {status}'}")
    try:
        response = read_completion(body, request)
    except ValueError as error:
        return failed(f"batch: {error}")
    created = body.get("created") if body else None
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
