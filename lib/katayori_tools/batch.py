"""Requests as OpenAI Batch files, for batch services and for `vllm run-batch`.

    make batch MODELS="gpt-4o my-model@vllm" ARGS="export FOLDER"   what a run would still ask
    make batch ARGS="import FOLDER [FILE...]"   result files, as often as you like

A line's `custom_id` is the key its answer is stored under, so a result needs nothing but itself to
find its request, in any order, in any file, more than once. Answers go into the store of live
answers by the rules of `make live`: a stored success stays, a failed line is kept with its cause
and asked again by the next run, which sends what is missing. `batch.json` says what was asked.

A line of a result file is refused, and listed with its cause, if it cannot be read, is no result,
belongs to no request of this run (other items, wording, model or settings), or answers one
differently than before; a failed one is listed.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import orjson

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.answer_store import Store, replace_file
from katayori.prompting.models import Endpoint, Model, at_server, get_model, label_of
from katayori.prompting.prompts import load_prompts
from katayori.prompting.replies import cause_of, failed, read_completion
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori_tools.asking import LONG_ANSWER, Step, planned_steps
from katayori_tools.choices import Asking, OwnServer, Positive
from katayori_tools.notebooks import names
from katayori_tools.send import wire_body

URL = "/v1/chat/completions"
STATE = "batch.json"
LINES = 50_000  # of a shard at most, and
BYTES = 200_000_000  # of a shard at most, as OpenAI takes them
LATEST = 2**33  # seconds since 1970; a greater number is no time
LISTED = 10  # places that a refusal names
STRAY = "belongs to no request of this run (other items, wording, model or settings)"
Refused = dict[str, list[str]]  # the places of rows that could not be used, by cause
#: What batch.json holds: asked, servers, shards; of a shard paper, model, requests.
State = dict[str, Any]
#: What answers a model's shards on GPUs of one's own.
JOB = Path(__file__).with_name("job.sh")


def batch(
    step: Literal["export", "import"],
    folder: str,
    files: Sequence[str] = (),
    *,
    chosen: Asking,
    shard: Positive = LINES,
) -> int:
    """One step; see the module. Raises KatayoriError for a folder that is not at that step.

    Args:
        step: what to do. folder: holds a folder a model with its shards and their results, and what
            was asked (batch.json).
        files: what is imported in place of the folder's results and errors.
        chosen: what is exported. shard: export: lines a file at most.
    """
    place = Path(folder)
    if step == "export":
        export(place, chosen, shard)
        return 0
    if given := [name.upper() for name in ("papers", "models", "limit") if getattr(chosen, name)]:
        raise KatayoriError(f"{place / STATE} says what was asked; leave out {'=, '.join(given)}=")
    return merge(place, [Path(file) for file in files])


# -- export ----------------------------------------------------------------------------------------


def export(folder: Path, chosen: Asking, lines: int) -> None:
    """Writes what the store does not hold as shards, a folder a model, and what was asked.

    Where own GPUs may answer, `job.sh` lies beside them. Raises KatayoriError for a folder that
    exists, and as `planned_steps`.
    """
    if folder.exists():
        raise KatayoriError(f"{folder} exists; import its results, or name a new folder")
    _check_models(chosen)
    steps = list(planned_steps(chosen))
    state = {
        "asked": {name: value for name, value in asdict(chosen).items() if name != "server"},
        "servers": {f"{one.paper} {one.name}": asdict(one.endpoint.server) for one in steps},
        "shards": {},
    }
    for one in steps:
        new, counts = _add_shards(folder, state, one, lines)
        asked = ", ".join(one.prompts) or "left out: the endpoint cannot be asked these prompts"
        print(
            f"{one.paper} {one.name}: {counts['asked']} to ask, {counts['stored']} stored, "
            f"{counts['waiting']} wait for an earlier answer; {len(new)} shard(s) ({asked})"
        )
        if one.endpoint.own or one.endpoint.kind == "local":
            job = JOB.read_text("utf-8").replace("@NAME@", quote(one.model.vendor_id))
            (folder / paths.safe_name(one.name) / "job.sh").write_text(job, "utf-8")
    replace_file(folder / STATE, orjson.dumps(state))  # last: what was stopped before is no batch
    print(f"written to {folder}; lib/COLLECTING.md says how it is run")


def _add_shards(
    folder: Path, state: State, step: Step, lines: int
) -> tuple[list[str], Counter[str]]:
    """Writes what the store does not hold of a step as further shards, a part at a time.

    Returns their names, and how many requests are asked, are stored, or wait for an earlier answer.
    """
    counts = Counter(stored=0, asked=0)
    shards, new = state["shards"], []
    place = folder / paths.safe_name(step.name)
    place.mkdir(parents=True, exist_ok=True)
    with Store(store_path()) as store:
        for _, group in groupby(_lines(step, store, counts, lines), itemgetter(0)):
            number = 1 + sum(shard["model"] == step.name for shard in shards.values())
            name = f"{number:04d}-{step.paper}-{place.name}.jsonl"
            part, n = place / f"{name}.part", 0
            with part.open("wb") as file:
                for _, raw in group:
                    n += file.write(raw) > 0
            shards[name] = {"paper": step.paper, "model": step.name, "requests": n}
            part.replace(place / name)
            new.append(name)
        counts["waiting"] = _waiting(step, store, counts["made"])
    return new, counts


def _lines(
    step: Step, store: Store, counts: Counter[str], lines: int
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


def _waiting(step: Step, store: Store, made: int) -> int:
    """How many requests of a step wait for an earlier answer, beside those that were made."""
    wording = load_prompts(step.paper, step.scope.folder)
    if not any(wording[prompt_id].given for prompt_id in step.prompts):
        return 0
    return sum(map(len, step.parts(store, LONG_ANSWER))) - made


def _check_models(chosen: Asking) -> None:
    """Raises KatayoriError without models, for a base model, a simulated one, one that is named
    twice, and where a server of the user's own is not named.
    """
    if not names(chosen.models):
        raise KatayoriError('a batch is of models you name: MODELS="gpt-4o my-model@vllm"')
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


def read_state(folder: Path) -> tuple[State, Asking]:
    """What batch.json holds, and what was asked as it says; KatayoriError where it does not."""
    try:
        state = orjson.loads((folder / STATE).read_bytes())
        asked = Asking(**state["asked"], server=OwnServer(exported=state["servers"]))
        return state | {"shards": dict(state["shards"])}, asked
    except (OSError, ValueError, TypeError, LookupError):
        problem = f"{folder} holds no {STATE} that can be read"
        raise KatayoriError(f"{problem}; begin with `batch export`") from None


# -- import ----------------------------------------------------------------------------------------


def merge(folder: Path, files: Sequence[Path]) -> int:
    """Puts the rows of an export's results into the store, a part at a time, and says what became
    of them.

    What is left of a step is written as further shards once all that it has have results. Returns 1
    where there were rows and none of them could be used.
    """
    state, asked = read_state(folder)
    found = files or sorted(
        file for file in folder.rglob("*.jsonl") if file.name.startswith(("results", "errors"))
    )
    rows, results = Rows(found), {file.name for file in found}
    not_run = {
        name: shard
        for name, shard in state["shards"].items()
        if not {f"results-{name}", f"errors-{name}"} & results
    }
    answered = planned = 0
    for step in planned_steps(asked):
        counts: Counter[str] = Counter()
        about = Counter(made=0, left=0)
        with Store(store_path()) as store:
            for part in step.parts(store):
                counts.update(_put_all(store, rows, part))
                about.update(made=len(part), left=len(store.pending(part)))
            waiting = _waiting(step, store, about["made"])
        answered += about["made"] - about["left"]
        planned += about["made"] + waiting
        told = f"{', '.join(f'{n} {kind}' for kind, n in sorted(counts.items())) or 'no row'}; "
        told += f"{about['left']} of {about['made']} requests still to ask"
        told += f", {waiting} wait for an earlier answer" if waiting else ""
        own = {"paper": step.paper, "model": step.name}
        waits = [name for name, shard in not_run.items() if own.items() <= shard.items()]
        if about["left"] and waits:
            told += f"; without results: {', '.join(waits)}"
        elif about["left"]:
            new, _ = _add_shards(folder, state, step, LINES)
            replace_file(folder / STATE, orjson.dumps(state))
            told += f", now in {', '.join(new)}"
        print(f"{step.paper} {step.name}: {told}")
    print(f"{answered:,} of {planned:,} answered")
    return rows.listed()


def _put_all(store: Store, rows: "Rows", requests: Sequence[Request]) -> Iterator[str]:
    """Stores the rows that answer some requests; what became of each."""
    for request, place, row in rows.take(requests):
        kind, cause = _put(store, request, row)
        if cause:
            rows.refused[cause].append(place)
        yield kind


def list_refused(refused: Refused) -> None:
    """Print rows that could not be used: each cause once, with the first ten places, and how many
    more there are.
    """
    for cause, where in refused.items():
        more = f" and {len(where) - LISTED} more" if len(where) > LISTED else ""
        text = f"  {len(where)} row(s) {cause} ({', '.join(where[:LISTED])}{more})"
        print(text.replace("\n", " "))


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
            raise KatayoriError(f"no result file {path}: absent, or a folder, a device or a pipe")
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
        return failed(f"batch: {cause_of(failure) if failure else f'status {status}'}")
    try:
        response = read_completion(body, request)
    except ValueError as error:
        return failed(f"batch: {error}")
    created = body.get("created") if body else None
    if isinstance(created, int) and 0 < created < LATEST:
        response.created = float(created)
    return response


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
