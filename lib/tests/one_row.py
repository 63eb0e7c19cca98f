"""A result on its own, as `Run.keep` adds it of a frame with one row."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from katayori.report.run import Run


def add_row(
    run: Run,
    requirement: str,
    what: str,
    value: Any,
    *,
    ci: tuple[Any, Any] = (None, None),
    cell: Mapping[str, Any] | None = None,
    **fields: Any,
) -> None:
    """Adds one result; the table that is kept with it is taken away."""
    cell = cell or {}
    row = {**cell, **fields, "value": value, "ci_low": ci[0], "ci_high": ci[1]}
    run.keep("row", pd.DataFrame([row]), what=what, by=list(cell), requirement=requirement)
    table = run.folder / "tables" / "row.csv"
    table.unlink()
    if not any(table.parent.iterdir()):
        table.parent.rmdir()
