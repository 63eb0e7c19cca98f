"""How long the second edition takes: a table of requests, rate and hours, measured on pilots."""

import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.models import get_model
from katayori.prompting.requests import Request
from katayori_tools.record_plan import Work
from katayori_tools.recorder import Recorder
from katayori_tools.recording import replace_file

#: Hours on two cores that the second edition may take; what is beyond them is cut from the end.
MOST_HOURS = 14.0
#: Requests a second to plan with, before a pilot: by kind, for a model below 1 billion parameters
#: and for a larger one.
PLANNED = {"chat": (7.0, 2.0), "likelihood": (8.0, 1.5)}
COLUMNS = (
    *("paper", "dataset", "prompts", "model", "requests", "rate", "hours", "priority", "kept"),
    "rate_from",
)


def table_file() -> Path:
    """The table of the second edition, committed beside the recordings."""
    return paths.data_dir() / "recorded" / "plan_second.csv"


def read_table() -> dict[tuple[str, ...], dict[str, str]]:
    """Rows of the table by paper, data set, prompts and model; empty where there is none yet."""
    if not table_file().exists():
        return {}
    with table_file().open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {tuple(row[name] for name in COLUMNS[:4]): row for row in rows}


def hours_of(works: Sequence[Sequence[str]]) -> float | None:
    """The hours that the table gives some rows (by its first four columns) that are kept.

    None where it lacks one of them.
    """
    known = read_table()
    rows = [known.get(tuple(each)) for each in works]
    if any(row is None for row in rows):
        return None
    return sum(float(row["hours"]) for row in rows if row and row["kept"] == "kept")


def pilot(recorder: Recorder, works: Sequence[Work], n: int) -> list[dict[str, Any]]:
    """Ask `n` requests of each piece of work and time them; print and write the table.

    What is asked stays in the store: the recording does not ask it again. Without pilots (`n` 0)
    rates are those measured before, else the planned ones. The engine's start is not counted.
    """
    before, rows = read_table(), []
    for work in works:
        row = _row(work, len(recorder.requests(work, stand_in="・" * 200)), before)
        requests = _askable(recorder, work) if n else []
        if requests and (rate := _measured(recorder, work, requests, n)):
            row |= {"rate": rate, "rate_from": f"pilot of {n}"}
        rows.append(row)
    fit(rows)
    _write(rows)
    print(_shown(rows))
    return rows


def _askable(recorder: Recorder, work: Work) -> list[Request]:
    """What can be asked on this machine; nothing, and said so, where its engine cannot run."""
    requests = recorder.requests(work)
    try:
        recorder.check(work, requests)
    except KatayoriError as error:
        print(f"{work.name}: not timed; {error}", file=sys.stderr, flush=True)
        return []
    return requests


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
    measured = known and known["rate_from"].startswith("pilot")
    if known and measured:
        return row | {"rate": float(known["rate"]), "rate_from": known["rate_from"]}
    large = (get_model(work.model)[0].fields.get("size_b") or 0) >= 1
    return row | {"rate": PLANNED[work.kind][large], "rate_from": "plan"}


def _measured(recorder: Recorder, work: Work, requests: list[Request], n: int) -> float:
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


def fit(rows: list[dict[str, Any]]) -> None:
    """Gives rows, which are in the order of priority, their hours, and whether they are kept.

    From the first that goes beyond `MOST_HOURS` on, all are cut.
    """
    total = 0.0
    for row in rows:
        row["hours"] = row["requests"] / row["rate"] / 3600
        total += row["hours"]
        row["kept"] = "kept" if total <= MOST_HOURS else "cut"


def _write(rows: list[dict[str, Any]]) -> None:
    if not rows:
        raise KatayoriError("the recording plan lists no second edition of these papers")
    file = table_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(COLUMNS), *(",".join(_cells(row)) for row in rows)]
    replace_file(file, ("\n".join(lines) + "\n").encode())


def _cells(row: dict[str, Any]) -> list[str]:
    """A row as text: rates and hours with so many places as they are worth."""
    shown = row | {"rate": f"{row['rate']:.2f}", "hours": f"{row['hours']:.3f}"}
    return [f"{shown[name]:g}" if name == "priority" else str(shown[name]) for name in COLUMNS]


def _shown(rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    frame = pd.DataFrame([_cells(row) for row in rows], columns=list(COLUMNS))
    kept = sum(row["hours"] for row in rows if row["kept"] == "kept")
    total = sum(row["hours"] for row in rows)
    sums = f"{kept:.1f} h kept of {total:.1f} h; at most {MOST_HOURS:.0f} h"
    return f"{frame.to_string(index=False)}\n{sums}\nwritten to {table_file().name}"
