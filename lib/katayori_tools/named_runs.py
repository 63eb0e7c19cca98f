"""Runs and models by the names that users give them, for what shows any number side by side."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths, run_folders
from katayori.errors import KatayoriError
from katayori.report.headlines import headlines, read_results

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 40  # rows of a comparison
#: Where the answers come from of models that were asked.
ASKED = ("recorded", "live", "imported")
#: The name of a run, and its results.
Named = tuple[str, "pd.DataFrame"]


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        rows: its results. models: those that were asked, or the one that was named. folder: of the
            run.
    """

    rows: "pd.DataFrame"
    models: list[str]
    folder: Path

    def of_model(self) -> "Side":
        """The rows of its first model alone."""
        is_its = self.rows["model"] == self.models[0]
        return Side(self.rows[is_its], self.models[:1], self.folder)


def find_runs(name: str) -> list[Path]:
    """The runs that a name means: a folder, a profile, or a run's models or label."""
    for folder in (Path(name), paths.outputs_dir() / name) if name else ():
        if run_folders.is_paper(folder) or run_folders.is_run(folder):
            return [folder]
    parts = [paths.safe_name(part) for part in re.split(r"[,+\s]+", name) if part]
    names = {name, paths.safe_name(name), "+".join(parts)}
    below = sorted(paths.outputs_dir().glob("[!.]*/[!.]*/"))
    named = [path for path in below if path.name in names and run_folders.is_run(path)]
    return named or run_folders.runs_of(name)


def run_of(name: str) -> Side | None:
    """The run that a name means. KatayoriError if it means several."""
    runs = [folder for folder in find_runs(name) if len(read_results(folder))]
    if len(runs) > 1:
        names = ", ".join(path.relative_to(paths.outputs_dir()).as_posix() for path in runs)
        raise KatayoriError(f"'{name}' means several runs: {names}; name one of them")
    if not runs:
        return None
    rows = read_results(runs[0])
    asked = rows.loc[rows["source"].isin(ASKED), "model"].dropna().unique()
    return Side(rows, list(asked), runs[0])


def _model(name: str, runs: list[Path]) -> Side | None:
    """The rows of a model in the first of the runs that has any."""
    for folder in runs:
        rows = read_results(folder)
        of_model = rows[rows["model"] == name]
        if len(of_model):
            return Side(of_model, [name], folder)
    return None


def side_of(name: str, runs: list[Path]) -> Side:
    """What a name means: a run, or a model in the first of these runs that has it.

    KatayoriError, naming runs and models, where it means nothing.
    """
    side = run_of(name) or _model(name, runs)
    if side is not None:
        return side
    all_runs = [path.relative_to(paths.outputs_dir()).as_posix() for path in _all_runs()]
    rows = [read_results(folder) for folder in runs]
    models = sorted({model for frame in rows for model in frame["model"].dropna()})
    there = f"runs: {', '.join(all_runs) or 'none yet, see make reproduce'}"
    if models:
        there += f"; models in {', '.join(path.name for path in runs)}: {', '.join(models)}"
    raise KatayoriError(f"nothing to compare under '{name}'; {there}")


def _all_runs() -> list[Path]:
    folders = sorted(paths.outputs_dir().glob("[!.]*/"))
    return [run for folder in folders for run in run_folders.runs_of(folder.name)]


def plain_name(name: str) -> str:
    """The name of a run or model as part of a file's name."""
    return name.strip("/.").replace("/", "_").replace("@", "_")


def chosen(names: Sequence[str], profile: str, papers: Sequence[str] = ()) -> list[Named]:
    """What each name means: a run with all models that were asked, or one model of a run.

    Args:
        names: runs (a folder, a profile, a label) or models. profile: the run whose models can be
            named. papers: only these; empty, all.

    Raises:
        KatayoriError: a name that means nothing, or several runs; a run that holds no result, or
            none of these papers.
    """
    runs = find_runs(profile)
    return [_chosen(name, runs, papers) for name in dict.fromkeys(names)]


def _chosen(name: str, runs: list[Path], papers: Sequence[str]) -> Named:
    is_run = bool(find_runs(name))
    if is_run and run_of(name) is None:
        raise KatayoriError(f"the run '{name}' holds no results yet: see make reproduce, make live")
    side = side_of(name, runs)
    rows = read_results(side.folder)
    there = ", ".join(sorted(rows["paper"].unique()))
    if papers:
        rows = rows[rows["paper"].isin(papers)]
    if not is_run:  # all rows stay, as a row is known by its number among them
        rows = rows.assign(headline=rows["headline"] & (rows["model"] == name))
    one = label(side.folder), rows
    if side_by_side([one]).empty:
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


def side_by_side(runs: Iterable[tuple[str, "pd.DataFrame"]]) -> "pd.DataFrame":
    """The headlines of every model of any number of runs, a row a value; empty without any.

    Nothing is added up: there is no single score and no order of models.

    Args:
        runs: name and results (`read_results`) of each. Of a run in which models were
            asked these are shown, else its simulated respondents. A row that two entries of one
            run have is shown once.

    Returns:
        The columns of `headlines`, run, and name (the model, with its run where two runs have it).
        Papers, measures, runs and models stand in the order in which they first come.

    Example:
        >>> import pandas as pd
        >>> from katayori.report.run import FIELDS
        >>> row = dict.fromkeys(FIELDS) | {"paper": "mine", "model": "m", "source": "live"}
        >>> row |= {"what": "lean", "headline": True, "cell": {}, "value": 0.6, "n": 216}
        >>> rows = pd.DataFrame([row | {"status": "few_clusters"}])
        >>> shown = side_by_side([("a", rows), ("b", rows)])
        >>> shown[["name", "measure", "shown"]].values.tolist()
        [['m (a)', 'lean', 'too little data'], ['m (b)', 'lean', 'too little data']]
    """
    import pandas as pd

    frame = pd.concat([_of_models(rows).assign(run=run) for run, rows in runs])
    frame = frame.drop_duplicates(["run", "paper", "number"])
    names = frame.groupby("model")["run"].unique().to_dict()
    frame["name"] = [_with_run(row.model, row.run, names[row.model]) for row in frame.itertuples()]
    by_measure = frame.groupby(["paper", "measure"], sort=False).ngroup()
    return frame.iloc[by_measure.argsort(kind="stable")].reset_index(drop=True)


def _of_models(results: "pd.DataFrame") -> "pd.DataFrame":
    """The headlines of the models that were asked or, where nobody was, of the respondents."""
    found = headlines(results)
    is_asked = found["source"].isin(ASKED)
    return found[is_asked if is_asked.any() else found["source"] == "simulated"]


def _with_run(model: Any, run: Any, runs: Sequence[str]) -> str:
    """A model with the run where several have a model of that name.

    A run that is called by the model, as `live/my-model@custom`, is told by its first part, unless
    another run bears that name.
    """
    short = run.removesuffix(f"/{model}")
    return f"{model} ({run if short in runs else short})" if len(runs) > 1 else str(model)
