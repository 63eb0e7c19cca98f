"""The way back of `make plan`: results into the store, counts, what to ask again, answers files.

Results are taken from anywhere below the plan's folder, in any order and as often as one likes, by
the rules of `make batch import`. What failed, or is missing from a shard that has results, is
written as a further shard; a shard without any result counts as not run and stays as it is.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson

from katayori import paths
from katayori.errors import KatayoriError
from katayori.finish_reasons import USUAL
from katayori.prompting.requests import Request, Response
from katayori.report.tables import visible
from katayori_tools import batch, plan_jobs
from katayori_tools.answer_store import Store
from katayori_tools.asking import StepPlan
from katayori_tools.batch import Rows, ShardWriter

KEYS = 1000  # looked up at once
LINES = 50_000  # of a shard to ask again
IMPORTED = {"live": "imported", "live-official": "imported-official"}


class Shards:
    """In which shards the requests of a plan are, and whether these have results.

    The custom_ids are kept in a file of the database's own, which is gone with the process.
    """

    def __init__(self) -> None:
        self.db = sqlite3.connect("", isolation_level=None)
        self.db.execute("CREATE TABLE asked (key PRIMARY KEY, run) WITHOUT ROWID")

    def add(self, keys: Iterator[str], run: bool) -> None:
        """Notes a shard; a request that stands in several counts as run once one of them is."""
        insert = "INSERT INTO asked VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET run=MIN(run, ?)"
        self.db.execute("BEGIN")
        self.db.executemany(insert, ((key, run, run) for key in keys))
        self.db.execute("COMMIT")

    def run(self, keys: Sequence[str]) -> dict[str, bool]:
        """Whether the shard of each of these requests has results; without those in no shard."""
        query = "SELECT key, run FROM asked WHERE key IN (SELECT value FROM json_each(?))"
        found = self.db.execute(query, (orjson.dumps(keys).decode(),))
        return {key: bool(run) for key, run in found}

    def new(self, keys: Sequence[str]) -> list[str]:
        """Those of some keys that no shard so far holds."""
        known = self.run(keys)
        return [key for key in keys if key not in known]


@dataclass
class Tally:
    """What became of the requests of one model and paper.

    Attributes:
        answered: stored answers. failed: asked without one, with a cause. missing: in a shard that
            has results, but not in these. not_run: in a shard that has none. new: in no shard yet,
            since the earlier answer that they hold has only come now. doubled: answers beyond the
            first to one request. waiting: those whose earlier answer is not there yet.
    """

    planned: int = 0
    answered: int = 0
    failed: int = 0
    missing: int = 0
    not_run: int = 0
    new: int = 0
    doubled: int = 0
    made: int = field(default=0, repr=False)

    @property
    def waiting(self) -> int:
        return max(0, self.planned - self.made)

    def add(self, other: "Tally") -> None:
        """Adds the counts of another one."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def said(self) -> str:
        """The counts in words; those that are zero and say nothing are left out."""
        listed = {
            "failed": self.failed,
            "missing": self.missing,
            "not run yet": self.not_run,
            "can be asked now": self.new,
            "wait for an earlier answer": self.waiting,
            "doubled": self.doubled,
        }
        counted = [f"{n:,} {name}" for name, n in listed.items() if n]
        return ", ".join([f"{self.answered:,} of {self.planned:,} answered", *counted])


def collect(folder: Path) -> int:
    """Reads the results of a plan; 1 where there were rows and none of them could be used.

    Raises KatayoriError for a folder that holds no plan.
    """
    planned = _plan(folder)
    found = sorted({*folder.rglob("results*.jsonl"), *folder.rglob("errors*.jsonl")})
    rows = Rows(found)
    total = Tally()
    with Answers(folder / "answers") as answers:
        for place, requests in planned.items():
            tally = _collect_one(folder / place, requests, rows, answers)
            total.add(tally)
    n_strays = rows.refuse_strays()
    batch.list_refused(rows.refused)
    print(f"the plan: {total.said()}")
    for line in answers.remedies():
        print(line)
    return int(rows.n > 0 and n_strays == rows.n)


def _plan(folder: Path) -> dict[str, int]:
    """The folders of a plan and how many requests each was planned with."""
    try:
        return json.loads((folder / "plan.json").read_text(encoding="utf-8"))["folders"]
    except (OSError, ValueError, KeyError):
        raise KatayoriError(f"{folder} holds no plan; make one with MODELS=") from None


def _collect_one(place: Path, planned: int, rows: Rows, answers: "Answers") -> Tally:
    """Collects one model and paper, and writes what is to be asked again."""
    state = batch.read_state(place)
    shards = _shards(place, state, rows)
    tally = Tally(planned=planned)
    before = set(state["shards"])
    with ShardWriter(place, state["shards"], LINES) as again:

        def watch(step: StepPlan, part: Sequence[Request], store: Store) -> None:
            _sort(step, store.get(part), shards, tally, again, answers)

        for one in batch.merged(state, rows, watch):
            tally.doubled += one.doubled
            tally.made += one.made
            step = one.step
    answers.note(step, state["asked"]["profile"])
    new = [name for name in state["shards"] if name not in before]
    batch.save_state(place, state)
    plan_jobs.add_shards(place, step.model, step.endpoint, new)
    to_ask = f"; to ask again: {', '.join(new)}" if new else ""
    print(visible(f"{step.paper} {step.name}: {tally.said()}{to_ask}"))
    return tally


def _shards(place: Path, state: batch.State, rows: Rows) -> Shards:
    """Which requests are in which shards. Says which of these were changed."""
    shards = Shards()
    found = {file.name for file in rows.files}
    for name, about in state["shards"].items():
        file = place / name
        if not file.is_file():
            print(f"{file}: is not there; what it held is asked again")
            continue
        if paths.sha256(file) != about["sha256"]:
            print(f"{file}: is not as it was written (cut off?); what it lacks is asked again")
        ran = any(f"{kind}-{name}" in found for kind in ("results", "errors"))
        if not ran:  # results of another name tell it, too, but for what an earlier shard held
            ran = any(rows.holds(shards.new(keys)) for keys in _keys(file))
        shards.add((key for keys in _keys(file) for key in keys), ran)
    return shards


def _keys(file: Path) -> Iterator[list[str]]:
    """The custom_ids of a shard, in lists; what cannot be read is passed over."""
    with file.open("rb") as lines:
        readable = (key for raw in lines if (key := _key(raw)))
        while keys := list(islice(readable, KEYS)):
            yield keys


def _key(raw: bytes) -> str:
    try:
        return str(orjson.loads(raw)["custom_id"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ""


def _sort(
    step: StepPlan,
    pairs: Iterator[tuple[Request, Response | None]],
    shards: Shards,
    tally: Tally,
    again: ShardWriter,
    answers: "Answers",
) -> None:
    """Counts requests by what became of them; writes answers, and what is to be asked again."""
    open_ones: list[tuple[Request, Response | None]] = []
    for request, answer in pairs:
        if answer and answer.outcome != "error":
            tally.answered += 1
            answers.write(request, answer)
        elif not request.likelihood:
            open_ones.append((request, answer))
    run = shards.run([request.key for request, _ in open_ones])
    for request, answer in open_ones:
        kind = _kind(run.get(request.key), answer)
        setattr(tally, kind, getattr(tally, kind) + 1)
        if kind != "not_run":
            again.write(step, request)


def _kind(run: bool | None, answer: Response | None) -> str:
    """How a request without an answer is counted; `run`: whether its shard has results."""
    if run is False:
        return "not_run"
    if answer:
        return "failed"
    return "missing" if run else "new"


def _finish_reason(answer: Response) -> str:
    """How an answer ended, also where its own word was lost."""
    if answer.outcome == "ok":
        return answer.finish_reason
    return USUAL.get(answer.outcome, answer.finish_reason)


class Answers:
    """The answers of a plan as files that PROFILE=imported reads, one a paper, all models in it.

    They are written beside the ones of before and take their place once all is read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, IO[bytes]] = {}
        self._asked: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> "Answers":
        self.folder.mkdir(exist_ok=True)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for paper, file in self._files.items():
            file.close()
            if kind is None:
                self._part(paper).replace(self.path(paper))

    def path(self, paper: str) -> Path:
        return self.folder / f"{paper}.jsonl"

    def _part(self, paper: str) -> Path:
        return self.folder / f"{paper}.jsonl.part"

    def write(self, request: Request, answer: Response) -> None:
        """Writes one answer in the form of `exchange.import_answers`."""
        file = self._files.get(request.paper)
        if file is None:
            file = self._files[request.paper] = self._part(request.paper).open("wb")
        row: dict[str, Any] = {
            "item_id": request.item_id,
            "prompt_id": request.prompt_id,
            "model": request.model,
            "repetition": request.repetition,
            "text": answer.text,
            "finish_reason": _finish_reason(answer),
        }
        if answer.top:
            row["top"] = answer.top
        file.write(orjson.dumps(row) + b"\n")

    def note(self, step: StepPlan, profile: str) -> None:
        """Notes that a model was asked a paper, and the profile of its requests."""
        asked = self._asked.setdefault(step.paper, {"models": [], "profile": IMPORTED[profile]})
        asked["models"].append(step.name)

    def remedies(self) -> Iterator[str]:
        """How the notebook of each paper with answers is run on them."""
        for paper in self._files:
            asked = self._asked[paper]
            yield (
                f"make reproduce PAPERS={paper} PROFILE={asked['profile']}"
                f" MODELS='{' '.join(asked['models'])}'"
                f' ARGS="-p answers_file={self.path(paper).resolve()}"'
            )
