"""Runs and models by the names that users give them, for what shows any number side by side."""

from collections.abc import Sequence
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError
from katayori.report.results import read_results
from katayori.report.side_by_side import Chosen
from katayori_tools.compare import run_of, side_of


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
