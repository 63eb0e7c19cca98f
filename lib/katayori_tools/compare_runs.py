"""`make compare RUNS=`: any number of runs and models side by side, as a table and as a page."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.run import harmless
from katayori.report.tables import visible
from katayori_tools import notebooks, site
from katayori_tools.named_runs import SHOWN, chosen, plain_name, side_by_side
from katayori_tools.site_pages import models_page

if TYPE_CHECKING:
    import pandas as pd

IN_SHORT = ("paper", "measure", "name", "shown", "n")


def show(runs: str, profile: str, papers: Sequence[str]) -> int:
    """Prints the values, writes them to outputs/compare/<names>.csv, and makes the page of them in
    outputs/compare/<names>/.

    KatayoriError for fewer than two names, and where `chosen` has one.
    """
    names = list(dict.fromkeys(notebooks.names(runs)))
    if len(names) < 2:
        raise KatayoriError(
            'name two or more that differ: make compare RUNS="<run or model> <run or model>"'
        )
    frame = side_by_side(chosen(names, profile, papers))
    name = paths.safe_name("-".join(map(plain_name, names)))
    folder = paths.outputs_dir() / "compare" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f"{name}.csv")
    frame.astype(object).map(harmless).to_csv(path, index=False)
    _print(frame)
    print(f"{len(frame)} values of {frame['name'].nunique()} models: {path}", file=sys.stderr)
    print(f"open {site.write_one(folder, models_page(frame))}")
    return 0


def _print(frame: "pd.DataFrame") -> None:
    shown = frame.head(SHOWN)[list(IN_SHORT)]
    print(visible(shown.to_string(index=False, na_rep="-")))
    if len(frame) > SHOWN:
        print(f"... {len(frame) - SHOWN} more values in the file")
