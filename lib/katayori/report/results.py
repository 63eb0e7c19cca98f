"""The run folder of notebooks that have not moved: results row by row, claims, ready figures.

`run.Run` is what a moved notebook has.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError
from katayori.report import calibration, run
from katayori.report.run import (
    ADDED as ADDED,
    COUNTS as COUNTS,
    FIELDS as FIELDS,
    KEY as KEY,
    NUMBERS as NUMBERS,
    OF_VERDICT as OF_VERDICT,
    SOURCES as SOURCES,
    harmless as harmless,
    plain as plain,
)

if TYPE_CHECKING:
    import pandas as pd

#: The value of a claim by its verdict; others have none.
OUTCOMES = {"holds": 1, "contradicted": 0}
STATUSES = ("blank_status", "detects_status")


class Run(run.Run):
    """A run folder with blank and limit of detection beside every headline (`calibration`)."""

    def _beside(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if any(row[name] is not None for name in (*OF_VERDICT, "variant")):
            return super()._beside(row)
        found = calibration.beside(row)
        for name in STATUSES:
            if found[name] and found[name] not in calibration.WHY:
                known = ", ".join(calibration.WHY)
                raise ValueError(f"{name} {found[name]!r} is not one of {known}")
        return found

    def claims(self, checked: "pd.DataFrame", *, source: str, **common: Any) -> "pd.DataFrame":
        """Adds the frame of `check_claims` and returns it.

        The value is 1 where a claim holds, 0 where it is contradicted, and null else, with the
        verdict as its status.
        """
        for claim in checked.to_dict("records"):
            verdict = claim["verdict"]
            value = OUTCOMES.get(verdict)
            self.row(
                claim["requirement"],
                claim["statement"],
                value,
                source=source,
                status=verdict if value is None else "ok",
                verdict=verdict,
                **common,
            )
        return checked

    def figure(self, name: str, frame: Any, **drawing: Any) -> Any:
        """As `run.Run.figure`; a ready Figure is kept with what is plotted as its csv."""
        from katayori.report.figures import is_empty
        from katayori.report.plotted import plotted

        if not hasattr(frame, "savefig"):
            return super().figure(name, frame, **drawing)
        if not is_empty(frame):
            self._keep_figure(name, frame, plotted(frame))
        return None


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
        damaged = any(set(row) | ADDED != set(FIELDS) for row in rows)
    except (ValueError, TypeError):
        damaged = True
    if damaged:
        raise KatayoriError(
            f"{file} is not a results file of this version: delete it and run `make reproduce`."
        )
    return rows
