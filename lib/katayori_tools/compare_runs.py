"""`make compare RUNS=`: any number of runs and models side by side, as a table and as a page."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.results import harmless, read_results
from katayori.report.side_by_side import Chosen, side_by_side
from katayori_tools import notebooks
from katayori_tools.compare import SHOWN, plain_name, run_of, side_of

if TYPE_CHECKING:
    import pandas as pd

IN_SHORT = ("paper", "measure", "level", "name", "value", "ci_low", "ci_high", "n", "status")


def chosen(names: Sequence[str], profile: str, papers: Sequence[str] = ()) -> list[Chosen]:
    """What each name means: a run with all models that were asked, or one model of a run.

    Args:
        names: runs (a folder, a profile, a label) or models. profile: the run whose models can be
            named. papers: only these; empty, all.

    Raises:
        KatayoriError: a name that means nothing, or several runs; a run that holds no result, or
            none of these papers.
    """
    runs = paths.find_runs(profile)
    return [_chosen(name, runs, papers) for name in dict.fromkeys(names)]


def _chosen(name: str, runs: list[Path], papers: Sequence[str]) -> Chosen:
    is_run = bool(paths.find_runs(name))
    if is_run and run_of(name) is None:
        raise KatayoriError(f"the run '{name}' holds no results yet: see make reproduce, make live")
    side = side_of(name, runs)
    rows = read_results(side.folder)
    there = ", ".join(sorted(rows["paper"].unique()))
    if papers:
        rows = rows[rows["paper"].isin(papers)]
    one = Chosen(label(side.folder), rows, [] if is_run else [name])
    if not one.names:
        wanted = f" of {', '.join(papers)}" if papers else ""
        raise KatayoriError(f"'{name}' has no headline{wanted} to compare; it has {there}")
    return one


def label(run: Path) -> str:
    """The name of a run: its folder below `outputs`, or its path where it lies elsewhere.

    Example:
        >>> label(paths.outputs_dir() / "live" / "my-model@custom")
        'live/my-model@custom'
    """
    outputs = paths.outputs_dir().resolve()
    folder = run.resolve()
    return (folder.relative_to(outputs) if folder.is_relative_to(outputs) else folder).as_posix()


def show(runs: str, profile: str, papers: Sequence[str]) -> int:
    """Prints the values, writes them to outputs/compare/<names>.csv, and makes the page of them in
    outputs/compare/<names>/.

    KatayoriError for fewer than two names, and where `chosen` has one.
    """
    from katayori_tools.site_models import write_page

    names = list(dict.fromkeys(notebooks.names(runs)))
    if len(names) < 2:
        raise KatayoriError('name two or more: make compare RUNS="<run or model> <run or model>"')
    frame = side_by_side(chosen(names, profile, papers))
    name = paths.safe_name("-".join(map(plain_name, names)))
    path = paths.outputs_dir() / "compare" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.astype(object).map(harmless).to_csv(path, index=False)
    _print(frame)
    print(f"{len(frame)} values of {frame['name'].nunique()} models: {path}", file=sys.stderr)
    print(f"open {write_page(frame, path.with_suffix(''))}")
    return 0


def _print(frame: "pd.DataFrame") -> None:
    known = frame[frame["kind"] != "missing"]
    shown = known.head(SHOWN)[list(IN_SHORT)]
    print(shown.to_string(index=False, na_rep="-", float_format="{:.4g}".format, max_colwidth=48))
    if len(known) > SHOWN:
        print(f"... {len(known) - SHOWN} more values in the file")
