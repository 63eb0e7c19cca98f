"""Pilots: times some requests of each entry of a later edition, for the table of hours."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting import recordings
from katayori.prompting.models import get_model
from katayori.prompting.requests import Request
from katayori_tools import record_hours, recording
from katayori_tools.record_plan import Work
from katayori_tools.recorder import Recorder

#: Where a rate comes from that was not measured of the entry itself.
BORROWED = "same paper"
UNMEASURED = ("plan", BORROWED)


def pilot(recorder: Recorder, works: Sequence[Work], n: int, edition: str) -> list[dict[str, Any]]:
    """Ask `n` requests of each piece of work of an edition, time them, print and write its table.

    What is asked stays in the store: the recording does not ask it again. Without pilots (`n` 0),
    and where nothing is left to be timed, rates are those at which the store's answers came, else
    those measured before, else those of the same paper, model and kind, else the planned ones. The
    engine's start is not counted.
    """
    before, rows = record_hours.read_table(edition), []
    for work in works:
        row = _row(work, len(recorder.requests(work, stand_in="・" * 200)), before)
        row |= _rate(recorder, work, n)
        rows.append(row)
    _borrow(works, rows)
    record_hours.fit(rows, record_hours.MOST_HOURS[edition])
    record_hours.write(rows, edition)
    _into_manifests(works, rows)
    print(record_hours.shown(rows, edition))
    return rows


def _into_manifests(works: Sequence[Work], rows: list[dict[str, Any]]) -> None:
    """What is recorded bears the rate and the hours of the table, too."""
    told: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
    for work, row in zip(works, rows, strict=True):
        for prompt_id in work.prompts:
            name = recordings.shard_name(work.model, prompt_id, work.variant)
            told[work.paper][name] = row["rate"], row["rate_from"]
    for paper, rates in told.items():
        recording.tell_rates(paper, rates)


def _borrow(works: Sequence[Work], rows: list[dict[str, Any]]) -> None:
    """Gives rows with a planned rate the one measured of the same paper, model and kind, if any."""
    requests: Counter[tuple[str, ...]] = Counter()
    seconds: Counter[tuple[str, ...]] = Counter()
    kinds = [(work.paper, work.model, work.kind) for work in works]
    for kind, row in zip(kinds, rows, strict=True):
        if row["rate_from"] not in UNMEASURED:
            requests[kind] += row["requests"]
            seconds[kind] += row["requests"] / row["rate"]
    for kind, row in zip(kinds, rows, strict=True):
        if row["rate_from"] in UNMEASURED and seconds[kind]:
            row |= {"rate": requests[kind] / seconds[kind], "rate_from": BORROWED}


def _rate(recorder: Recorder, work: Work, n: int) -> dict[str, Any]:
    """Rate and where it is from, by a pilot or by what is recorded; empty where both are silent."""
    requests = recorder.requests(work)
    if n and _askable(recorder, work, requests):
        rate = _timed(recorder, work, requests, n)
        if rate:
            return {"rate": rate, "rate_from": f"pilot of {n}"}
    rate = _recorded(recorder, requests)
    return {"rate": rate, "rate_from": "recording"} if rate else {}


def _askable(recorder: Recorder, work: Work, requests: list[Request]) -> bool:
    """Whether requests can be asked on this machine; said so, where their engine cannot run."""
    try:
        recorder.check(work, requests)
    except KatayoriError as error:
        print(f"{work.name}: not timed; {error}", file=sys.stderr, flush=True)
        return False
    return True


def _recorded(recorder: Recorder, requests: list[Request]) -> float:
    """Requests a second of those that are recorded; 0 where this is not known."""
    stored = recorder.store.get(requests)
    return record_hours.rate_of(answer for _, answer in stored)


def _row(
    work: Work, requests: int, before: dict[tuple[str, ...], dict[str, str]]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "paper": work.paper,
        "dataset": work.dataset,
        "prompts": "+".join(work.prompts),
        "model": work.model,
        "requests": requests,
        "priority": work.priority,
    }
    known = before.get((row["paper"], row["dataset"], row["prompts"], row["model"]))
    if known and known["rate_from"] not in UNMEASURED:
        return row | {"rate": float(known["rate"]), "rate_from": known["rate_from"]}
    large = (get_model(work.model)[0].fields.get("size_b") or 0) >= 1
    return row | {"rate": record_hours.PLANNED[work.kind][large], "rate_from": "plan"}


def _timed(recorder: Recorder, work: Work, requests: list[Request], n: int) -> float:
    """Requests a second of `n` of those that are not answered yet, spread over all of them; 0 where
    none is left to be timed.
    """
    pending = recorder.store.pending(requests)
    chosen = pending[:: max(1, len(pending) // n)][:n]
    if not chosen:
        return 0.0
    recorder.engine(*work.at(recorder.how.engine))
    begun = time.monotonic()
    recorder.ask(work, chosen)
    seconds = time.monotonic() - begun
    answered = len(chosen) - len(recorder.store.pending(chosen))
    return answered / seconds
