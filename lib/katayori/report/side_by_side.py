"""Any number of runs and models over the measures of all papers, a row a value.

Nothing is added up: there is no single score and no order of models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError
from katayori.report import overview
from katayori.report.status_words import mark

if TYPE_CHECKING:
    import pandas as pd

ASKED = ("recorded", "live", "imported")
#: Of the results themselves, and what is told of each value.
ALSO = ("what", "prompt_id", "dataset")
COLUMNS = (
    *("paper", "what", "measure", "level", "name", "model", "run", "source"),
    *("value", "ci_low", "ci_high", "line", "blank", "detects", "unit", "chance", "means"),
    *("n", "clusters", "n_invalid", "invalid_rate", "prompt_id", "dataset", "status", "kind"),
    "mark",
)
#: What can be drawn of a value by its status; any other status is `other`.
KINDS = {"ok": "ok", "position_bound": "position", "few_clusters": "few", "missing": "missing"}


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
    """The measures of the papers (`profile` in data/papers/*.yaml) of every model of every run.

    Args:
        runs: in the order in which they are shown. A model that two entries of one run name is
            shown once.

    Returns:
        `COLUMNS`, a row a value, in the order of papers, measures, levels, runs and models: name
        (the model, with its run where two runs have it), line (the value without bias or by
        chance; NaN without one), kind (of `KINDS`, or `other`: how the value is marked), mark (in
        words; empty for `ok`), the rest as of `overview.bias_profile` and `overview.measures`.
        A model without a measure has one row of kind `missing` there.

    Raises:
        KatayoriError: no run has a model with any of these measures.

    Example:
        >>> import pandas as pd
        >>> from katayori.report.results import FIELDS
        >>> from katayori.papers import paper_ids
        >>> paper = paper_ids()[3]
        >>> row = dict.fromkeys(FIELDS) | {"paper": paper, "model": "m", "source": "live"}
        >>> row |= {"what": "accuracy on the neutral option", "headline": True, "cell": {}}
        >>> rows = pd.DataFrame([row | {"value": 0.6, "n": 216, "status": "few_clusters"}])
        >>> shown = side_by_side([Chosen("a", rows), Chosen("b", rows)])
        >>> shown.loc[shown["paper"] == paper, ["name", "line", "mark"]].values.tolist()
        [['m (a)', 0.5, 'too little data'], ['m (b)', 0.5, 'too little data']]
    """
    import pandas as pd

    frames = [_of_run(one) for one in runs if one.names]
    if not frames:
        raise KatayoriError(
            "none of these runs has a value to show; run notebooks 01 to 05 first: make reproduce"
        )
    shown = pd.concat(frames, ignore_index=True)
    identity = ["run", "model", "paper", "measure", "level", "prompt_id", "source"]
    shown = shown.drop_duplicates(identity)
    shown["name"] = _names(shown)
    shown["kind"] = shown["status"].map(KINDS).fillna("other")
    shown["mark"] = ["" if status == "ok" else mark(status) for status in shown["status"]]
    return _sorted(shown)[list(COLUMNS)].reset_index(drop=True)


def _of_run(chosen: Chosen) -> "pd.DataFrame":
    """The values of one run, each with the unit and the line of its panel."""
    panels = overview.measures(chosen.rows).rename(columns={"reference": "line"})
    about = panels[["paper", "measure", "line", "unit", "chance", "means"]]
    page = overview.bias_profile(chosen.answers, chosen.names, also=ALSO)
    return page.merge(about, on=["paper", "measure"], how="left").assign(run=chosen.run)


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


def _sorted(shown: "pd.DataFrame") -> "pd.DataFrame":
    """By paper, measure and level as they come first; runs and models keep their order.

    What is missing stands last.
    """
    places: dict[str, Any] = {}
    for name in ("measure", "level", "name"):
        order = {value: place for place, value in enumerate(dict.fromkeys(shown[name]))}
        places[f"place_{name}"] = shown[name].map(order)
    by = ["place_measure", "is_missing", "place_level", "place_name"]
    placed = shown.assign(is_missing=shown["kind"] == "missing", **places)
    return placed.sort_values(by, kind="stable")
