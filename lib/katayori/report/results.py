"""Reads the results of run folders (`run.Run` writes them)."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError
from katayori.report.run import ADDED, DROPPED, FIELDS

if TYPE_CHECKING:
    import pandas as pd


def read_results(path: Path) -> "pd.DataFrame":
    """The rows of a run folder, or of all run folders in a profile's: columns `FIELDS`.

    Empty where nothing has run. KatayoriError for a damaged file.
    """
    import pandas as pd

    file = path / "results.json"
    files = [file] if file.is_file() else sorted(path.glob("[!.]*/results.json"))
    rows = [row for file in files for row in _rows_of(file)]
    return pd.DataFrame(rows, columns=list(FIELDS))


def _rows_of(file: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        damaged = any((set(row) | ADDED) - DROPPED != set(FIELDS) for row in rows)
    except (ValueError, TypeError):
        damaged = True
    if damaged:
        raise KatayoriError(
            f"{file} is not a results file of this version: delete it and run `make reproduce`."
        )
    return rows
