"""Any number of runs and models over the headlines of all papers, a row a value.

Nothing is added up: there is no single score and no order of models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.errors import KatayoriError
from katayori.report.headlines import headlines

if TYPE_CHECKING:
    import pandas as pd

ASKED = ("recorded", "live", "imported")


@dataclass(frozen=True)
class Chosen:
    """A run to show.

    Attributes:
        run: its name, which tells models of one name apart. rows: its results
            (`results.read_results`). models: those to show; empty, all that were asked, or all
            simulated respondents where nobody was.
    """

    run: str
    rows: "pd.DataFrame"
    models: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The models to show; of `models` those that have a headline here."""
        headlines = self.answers[self.answers["headline"].astype(bool)]
        there = headlines["model"].dropna()
        if self.models:
            return [name for name in self.models if name in set(there)]
        is_asked = headlines["source"].isin(ASKED)
        return sorted(there[is_asked].unique()) or sorted(there.unique())

    @property
    def answers(self) -> "pd.DataFrame":
        """The results of models and respondents, without published ones."""
        return self.rows[self.rows["source"].isin([*ASKED, "simulated"])]


def side_by_side(runs: Sequence[Chosen]) -> "pd.DataFrame":
    """The headlines of every model of every run.

    Args:
        runs: in the order in which they are shown. A model that two entries of one run name is
            shown once.

    Returns:
        The columns of `headlines.headlines`, run, and name (the model, with its run where two runs
        have it). Papers, measures, runs and models stand in the order in which they first come.

    Raises:
        KatayoriError: no run has a model with a headline.

    Example:
        >>> import pandas as pd
        >>> from katayori.report.run import FIELDS
        >>> row = dict.fromkeys(FIELDS) | {"paper": "mine", "model": "m", "source": "live"}
        >>> row |= {"what": "lean", "headline": True, "cell": {}, "value": 0.6, "n": 216}
        >>> rows = pd.DataFrame([row | {"status": "few_clusters"}])
        >>> shown = side_by_side([Chosen("a", rows), Chosen("b", rows)])
        >>> shown[["name", "measure", "shown"]].values.tolist()
        [['m (a)', 'lean', 'too little data'], ['m (b)', 'lean', 'too little data']]
    """
    import pandas as pd

    frames = [_of_run(one) for one in runs if one.names]
    if not frames:
        raise KatayoriError(
            "none of these runs has a value to show; run notebooks 01 to 05 first: make reproduce"
        )
    shown = pd.concat(frames, ignore_index=True)
    shown = shown.drop_duplicates(["run", "paper", "number"])
    shown["name"] = _names(shown)
    by_measure = shown.groupby(["paper", "measure"], sort=False)
    return pd.concat([rows for _, rows in by_measure], ignore_index=True)


def _of_run(one: Chosen) -> "pd.DataFrame":
    rows = headlines(one.rows)
    is_shown = rows["model"].isin(one.names) & rows["source"].isin([*ASKED, "simulated"])
    return rows[is_shown].assign(run=one.run)


def _names(shown: "pd.DataFrame") -> list[str]:
    """The models, with the run where two runs have a model of that name.

    A run that is called by the model, as `live/my-model@custom`, is told by its first part, unless
    another run bears that name.
    """
    runs = shown[["model", "run"]].drop_duplicates().groupby("model")["run"].agg(list)
    names = []
    for model, run in zip(shown["model"], shown["run"], strict=True):
        short = run.removesuffix(f"/{model}")
        told = run if short in runs[model] else short
        names.append(f"{model} ({told})" if len(runs[model]) > 1 else str(model))
    return names
