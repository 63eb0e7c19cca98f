"""Reads results and tables of run folders (`run.Run` writes them)."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths, profiles
from katayori.errors import KatayoriError
from katayori.report.run import ADDED, DROPPED, FIELDS

if TYPE_CHECKING:
    import pandas as pd


def run_folder(profile: str, models: Sequence[str] = ()) -> Path:
    """The folder of the run of this profile and these models, with a folder for each notebook.

    Raises:
        KatayoriError: an unknown profile; several runs are there and no model says which is meant.
    """
    return paths.only_run(profiles.load(profile), models, paths.run_label())


def read_results(path: Path) -> "pd.DataFrame":
    """The rows of a run folder, or of all run folders in a profile's: columns `FIELDS`.

    Empty where nothing has run. KatayoriError for a damaged file.
    """
    import pandas as pd

    file = path / "results.json"
    files = [file] if file.is_file() else sorted(path.glob("[!.]*/results.json"))
    rows = [row for file in files for row in _rows_of(file)]
    return pd.DataFrame(rows, columns=list(FIELDS))


def _rows_of(file: Path) -> Any:
    with suppress(ValueError, TypeError):
        rows = json.loads(file.read_text(encoding="utf-8"))
        if all((set(row) | ADDED) - DROPPED == set(FIELDS) for row in rows):
            return rows
    remedy = "delete it and run `make reproduce`."
    raise KatayoriError(f"{file} is not a results file of this version: {remedy}")


def read_tables(folder: Path, name: str, columns: Sequence[str]) -> "pd.DataFrame":
    """The kept tables of one name of all notebooks of a run, one below the other.

    Args:
        folder: of the run. name: of the tables. columns: those wanted.

    Returns:
        paper (the id) and the columns; those that no table has are empty.

    Example:
        >>> read_tables(Path("no run"), "components", ["model", "share"]).columns.tolist()
        ['paper', 'model', 'share']
    """
    import pandas as pd

    files = sorted(folder.glob(f"[!.]*/tables/{name}.csv"))
    tables = [pd.read_csv(file).assign(paper=file.parents[1].name) for file in files]
    none = pd.DataFrame(columns=["paper", *columns], dtype=object)
    whole = pd.concat(tables or [none], ignore_index=True)
    # Columns that are lacking may be of texts, which notebooks join and compare.
    return whole.join(none[none.columns.difference(whole.columns)])[["paper", *columns]]
