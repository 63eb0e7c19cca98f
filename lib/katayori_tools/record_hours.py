"""How long a later edition takes: the table of requests, rate and hours, and what fits."""

import csv
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.requests import Response
from katayori_tools.recording import replace_file

#: Hours on two cores that an edition may take; what is beyond them is cut from the end.
MOST_HOURS = {"second": 14.0, "third": 4.0}
#: Requests a second to plan with, before a pilot: by kind, for a model below 1 billion parameters
#: and for a larger one.
PLANNED = {"chat": (7.0, 2.0), "likelihood": (8.0, 1.5)}
#: Seconds of a day: the time of an answer from a shard is a multiple of it.
DAY = 86400
#: A longer pause between two answers, in seconds, is no work: the recorder was off, or an engine
#: started.
LONGEST_GAP = 120.0
#: At least so many answers tell how fast a recording was.
FEWEST = 50
COLUMNS = (
    *("paper", "dataset", "prompts", "model", "requests", "rate", "hours", "priority", "kept"),
    "rate_from",
)


def table_file(edition: str) -> Path:
    """The table of a later edition, committed beside the recordings."""
    return paths.data_dir() / "recorded" / f"plan_{edition}.csv"


def read_table(edition: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Rows of the table by paper, data set, prompts and model; empty where there is none yet."""
    if not table_file(edition).exists():
        return {}
    with table_file(edition).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {tuple(row[name] for name in COLUMNS[:4]): row for row in rows}


def hours_of(works: Sequence[Sequence[str]]) -> float | None:
    """The hours that the tables give some rows (by their first four columns) that are kept.

    None where they lack one of them. What two editions list, the later one asks.
    """
    known = {key: row for edition in MOST_HOURS for key, row in read_table(edition).items()}
    rows = [known.get(tuple(each)) for each in works]
    if any(row is None for row in rows):
        return None
    return sum(float(row["hours"]) for row in rows if row and row["kept"] == "kept")


def fit(rows: list[dict[str, Any]], most: float) -> None:
    """Gives rows, which are in the order of priority, their hours, and whether they are kept.

    From the first that goes beyond `most` hours on, all are cut.
    """
    total = 0.0
    for row in rows:
        # As it is written, so that the hours follow from the table's own columns.
        row["rate"] = max(round(row["rate"], 2), 0.01)
        row["hours"] = row["requests"] / row["rate"] / 3600
        total += row["hours"]
        row["kept"] = "kept" if total <= most else "cut"


def rate_of(answers: Iterable[Response | None]) -> float:
    """Answers a second while they were recorded; 0 where this is not known (`pace`).

    Scores come a batch at once, each with its share of the batch's seconds (`latency`), so that
    times of arrival say little: those shares count. Answers in words come side by side, and their
    times of arrival count.
    """
    known = [answer for answer in answers if answer]
    spent = [a.latency for a in known if a.finish_reason == "scored" and a.latency]
    if len(spent) >= FEWEST:
        return len(spent) / sum(spent)
    return pace(a.created for a in known if a.finish_reason != "scored")


def pace(created: Iterable[float]) -> float:
    """Answers a second while they were recorded, by the times at which they came.

    Pauses longer than `LONGEST_GAP` do not count. 0 below `FEWEST` answers, and of answers that
    were put back from a shard, which tells their day and no time.

    Example:
        >>> pace(1000.0 + n / 2 for n in range(101))
        2.0
    """
    times = sorted(moment for moment in created if moment % DAY)
    gaps = [after - before for before, after in pairwise(times)]
    worked = [gap for gap in gaps if gap <= LONGEST_GAP]
    seconds = sum(worked)
    return len(worked) / seconds if len(worked) >= FEWEST and seconds else 0.0


def write(rows: list[dict[str, Any]], edition: str) -> None:
    if not rows:
        raise KatayoriError(f"the recording plan lists no {edition} edition of these papers")
    file = table_file(edition)
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(COLUMNS), *(",".join(_cells(row)) for row in rows)]
    replace_file(file, ("\n".join(lines) + "\n").encode())


def _cells(row: dict[str, Any]) -> list[str]:
    """A row as text: rates and hours with so many places as they are worth."""
    shown = row | {"rate": f"{row['rate']:.2f}", "hours": f"{row['hours']:.3f}"}
    return [f"{shown[name]:g}" if name == "priority" else str(shown[name]) for name in COLUMNS]


def shown(rows: list[dict[str, Any]], edition: str) -> str:
    import pandas as pd

    frame = pd.DataFrame([_cells(row) for row in rows], columns=list(COLUMNS))
    kept = sum(row["hours"] for row in rows if row["kept"] == "kept")
    total = sum(row["hours"] for row in rows)
    sums = f"{kept:.1f} h kept of {total:.1f} h; at most {MOST_HOURS[edition]:.0f} h"
    return f"{frame.to_string(index=False)}\n{sums}\nwritten to {table_file(edition).name}"
