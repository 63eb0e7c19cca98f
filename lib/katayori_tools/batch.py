"""Requests as OpenAI Batch files, for batch services and for `vllm run-batch`.

    make batch ARGS="export FOLDER"            what a run would still ask, in shards
    make batch ARGS="import FOLDER [FILE...]"  result files, from wherever they come
    make plan MODELS="gpt-4o my-model@vllm"    a folder a model below outputs/plan, and a table
    make plan ARGS="--collect outputs/plan/NAME"   its results, as often as you like

A line's `custom_id` is the key its answer is stored under, so a result needs nothing but itself to
find its request, in any order, in any file, more than once. Answers go into the store of live
answers by the rules of `make live`: a stored success stays, a failed line is kept with its cause
and asked again by the next run, which sends what is missing. `batch.json` says what was asked.

A line of a result file is refused, and listed with its cause, if it cannot be read, is no result,
belongs to no request of this run (other items, wording, model or settings), or answers one
differently than before; a failed one is listed.
"""

import math
import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import orjson

from katayori import paths, profiles
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.prompting.answer_store import Store, replace_file
from katayori.prompting.models import Endpoint, Model, at_server, get_model, label_of
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori.report.tables import visible
from katayori_tools.asking import LONG_ANSWER, Step, planned_steps
from katayori_tools.choices import Asking, OwnServer, Positive
from katayori_tools.notebooks import names
from katayori_tools.send import cause_of, failed, read_completion, wire_body

if TYPE_CHECKING:
    import pandas as pd

URL = "/v1/chat/completions"
STATE = "batch.json"
LINES = 50_000  # of a shard at most, and
BYTES = 200_000_000  # of a shard at most, as OpenAI takes them
RATE = 10.0  # requests a second, where none is given
LATEST = 2**33  # seconds since 1970; a greater number is no time
LISTED = 10  # places that a refusal names
STRAY = "belongs to no request of this run (other items, wording, model or settings)"
Refused = dict[str, list[str]]  # the places of rows that could not be used, by cause
#: What batch.json holds: asked, servers, shards; of a shard paper, model, requests.
State = dict[str, Any]
JOB = r"""#!/bin/sh
# In this folder: sh job.sh, or on a cluster one shard an array index:
#     sbatch --gres=gpu:1 --time=24:00:00 --array=1-$(ls [0-9]*.jsonl | wc -l) job.sh
# Shards that have results are passed over, so start it again after a crash or a time limit.
# WEIGHTS= names the weights (a folder, or a name that vLLM can load); VLLM= further options of it.
set -eu
for shard in $(ls [0-9]*.jsonl | sed -n "${SLURM_ARRAY_TASK_ID:-1,\$}p"); do
  [ ! -e "results-$shard" ] || continue
  vllm run-batch -i "$shard" -o "results-$shard.part" --model "${WEIGHTS:-@NAME@}" \
    --served-model-name @NAME@ --max-logprobs 20 ${VLLM:-} < /dev/null
  mv "results-$shard.part" "results-$shard"
done
"""


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
        step: what to do. folder: holds the shards, what was asked (batch.json) and the results.
        files: what is imported in place of the folder's results and errors.
        chosen: what is exported. shard: export: lines a file.
    """
    place = Path(folder)
    if step == "export":
        export(place, chosen, shard)
        return 0
    state = read_state(place)
    _check_unasked(chosen, place / STATE)
    rows = Rows([Path(file) for file in files] or _result_files(place, "*.jsonl"))
    for one, counts in merged(state, rows):
        print(said(one, counts))
    return rows.listed()


def plan(
    chosen: Asking,
    *,
    name: str = "",
    rate: float = RATE,
    shard: Positive = LINES,
    collect: str = "",
) -> int:
    """The papers' full designs for some models, as files that run elsewhere, and a table; or
    collects them; see the module.

    Items are all of the profile's unless LIMIT= says how many. What the store holds is not asked
    again, what an endpoint cannot be asked is left out and said so.

    Args:
        chosen: papers, models, profile, limit, wording, own items and server.
        name: of the folder in outputs/plan, without it the models'.
        rate: requests a second of one model, for the hours. shard: lines a file at most.
        collect: the folder of a plan whose results are read.

    Raises:
        KatayoriError: for a name that no model has, a folder that exists, and a wrong rate.
    """
    if collect:
        _check_unasked(chosen, Path(collect))
        return _collect(Path(collect))
    models = list(dict.fromkeys(names(chosen.models)))
    if not models:
        raise KatayoriError('a plan is of models you name: MODELS="gpt-4o my-model@vllm"')
    _check_models(chosen)
    if not 0 < rate < math.inf:
        raise KatayoriError(f"--rate is requests a second, above 0, not {rate:g}")
    folder = paths.outputs_dir() / "plan" / paths.safe_name(name or "-".join(models))
    if folder.exists():
        remedy = f'collect it with ARGS="--collect {folder}", or give another name with --name'
        raise KatayoriError(f"{folder} is a plan already; {remedy}")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of one that was stopped: it was never run
    rows: list[dict[str, Any]] = []
    for one in models:
        place = part / paths.safe_name(one)
        asked = replace(chosen, models=one, limit=chosen.limit or profiles.MOST)
        rows += export(place, asked, shard)
        model, endpoint = get_model(one)
        if endpoint.own or endpoint.kind == "local":
            (place / "job.sh").write_text(JOB.replace("@NAME@", quote(model.vendor_id)), "utf-8")
    table = _table(rows, rate)
    table.to_csv(part / "plan.csv", index=False, lineterminator="\n")
    part.rename(folder)
    print(table.to_string(index=False))
    print(f"hours: of one model alone at {rate:g} requests a second (--rate)")
    print(f"written to {folder}; lib/COLLECTING.md, 5, says how it is run and collected")
    return 0


def _table(rows: list[dict[str, Any]], rate: float) -> "pd.DataFrame":
    """A row a model and paper: requests beside those of the paper, and hours."""
    import pandas as pd

    columns = ["stored", "asked", "waiting"]
    table = pd.DataFrame(rows).groupby(["model", "paper"], sort=False)[columns].sum().reset_index()
    designs = [paper_facts.of(paper).get("design") or {} for paper in table["paper"]]
    table["in_paper"] = [design.get("requests") for design in designs]
    table["hours"] = ((table["asked"] + table["waiting"]) / rate / 3600).round(2)
    return table


def _collect(folder: Path) -> int:
    """Imports the results below a plan's folder, and writes what is left once all shards have some.

    Returns 1 where there were rows and none of them could be used. Raises KatayoriError for a
    folder that holds no plan.
    """
    places = sorted(state.parent for state in folder.glob("*/batch.json"))
    if not places:
        raise KatayoriError(f"{folder} holds no plan; make one with MODELS=")
    found = _result_files(folder, "**/*.jsonl")
    rows = Rows(found)
    results = {file.name for file in found}
    answered = planned = 0
    for place in places:
        state = read_state(place)
        not_run = [
            (shard["paper"], name)
            for name, shard in state["shards"].items()
            if not {f"results-{name}", f"errors-{name}"} & results
        ]
        for step, counts in merged(state, rows):
            answered += counts["made"] - counts["left"]
            planned += counts["made"] + counts["waiting"]
            told = said(step, counts)
            if waiting := [name for paper, name in not_run if paper == step.paper]:
                told += f"; without results: {', '.join(waiting)}"
            elif counts["left"]:
                new, _ = _add_shards(place, state, step, LINES)
                save_state(place, state)
                told += f", now in {', '.join(new)}"
            print(visible(told))
    print(f"the plan: {answered:,} of {planned:,} answered")
    return rows.listed()


def _check_unasked(chosen: Asking, where: Path) -> None:
    """Raises KatayoriError where something is chosen that a folder says."""
    if given := [name.upper() for name in ("papers", "models", "limit") if getattr(chosen, name)]:
        raise KatayoriError(f"{where} says what was asked; leave out {'=, '.join(given)}=")


def _result_files(folder: Path, pattern: str) -> list[Path]:
    """What a user puts into the folder under such a name."""
    return sorted(f for f in folder.glob(pattern) if f.name.startswith(("results", "errors")))


# -- export ----------------------------------------------------------------------------------------


def export(folder: Path, chosen: Asking, lines: int) -> list[dict[str, Any]]:
    """Writes what the store does not hold as shards, and then `batch.json`; a row of counts a step.

    Raises KatayoriError for a folder that holds a batch, and as `planned_steps`.
    """
    if (folder / STATE).exists():
        remedy = "name a new folder for what is left after importing it"
        raise KatayoriError(f"{folder} holds a batch; {remedy}")
    _check_models(chosen)
    steps = list(planned_steps(chosen))
    state = {
        "asked": {name: value for name, value in asdict(chosen).items() if name != "server"},
        "servers": {f"{one.paper} {one.name}": asdict(one.endpoint.server) for one in steps},
        "shards": {},
    }
    folder.mkdir(parents=True, exist_ok=True)
    counted = []
    for one in steps:
        new, counts = _add_shards(folder, state, one, lines)
        asked = ", ".join(one.prompts) or "left out: the endpoint cannot be asked these prompts"
        print(
            f"{one.paper} {one.name}: {counts['asked']} to ask, {counts['stored']} stored, "
            f"{counts['waiting']} wait for an earlier answer; {len(new)} shard(s) ({asked})"
        )
        counted.append({"model": one.name, "paper": one.paper, **counts})
    save_state(folder, state)
    return counted


def _add_shards(
    folder: Path, state: State, step: Step, lines: int
) -> tuple[list[str], Counter[str]]:
    """Writes what the store does not hold of a step as further shards, a part at a time.

    Returns their names, and how many requests are asked, are stored, or wait for an earlier answer.
    """
    counts = Counter(stored=0, asked=0)
    shards, new = state["shards"], []
    with Store(store_path()) as store:
        for _, group in groupby(_lines(step, store, counts, lines), itemgetter(0)):
            name = f"{len(shards) + 1:04d}-{step.paper}-{paths.safe_name(step.name)}.jsonl"
            part, n = folder / f"{name}.part", 0
            with part.open("wb") as file:
                for _, raw in group:
                    n += file.write(raw) > 0
            shards[name] = {"paper": step.paper, "model": step.name, "requests": n}
            part.replace(folder / name)
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
        return state | {"shards": dict(state["shards"])}
    except (OSError, ValueError, TypeError, LookupError):
        problem = f"{folder} holds no {STATE} that can be read"
        raise KatayoriError(f"{problem}; begin with `batch export`") from None


def exported(state: State) -> Asking:
    """What was asked by an export, as its file says."""
    return Asking(**state["asked"], server=OwnServer(exported=state["servers"]))


def save_state(folder: Path, state: State) -> None:
    replace_file(folder / STATE, orjson.dumps(state, option=orjson.OPT_INDENT_2))


# -- import ----------------------------------------------------------------------------------------


def merged(state: State, rows: "Rows") -> Iterator[tuple[Step, Counter[str]]]:
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
            counts["waiting"] = _waiting(step, store, counts["made"])
        yield step, counts


def said(step: Step, counts: Counter[str]) -> str:
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
