"""Two models, one dice: what a seed without the model's name does to sampled answers (section 13).

In the first edition the seed of a draw was made of the item alone, so that two models threw one
dice. Some of those answers are kept for this lesson, and for no other result.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.metrics import response
from katayori.papers import answers
from katayori.papers.discrim_eval.analysis.asked import Asked
from katayori.papers.discrim_eval.second import load_twenty
from katayori.papers.keeping import Keeper

#: The variant of the answers that are kept, and the data set that they answer.
COUPLED, TWENTY = "coupled", "twenty"
FIRST_EDITION, THIS_RUN = "first edition, one seed for both", "this run"
#: How answers are planted: whether two models have one draw an item -> what the table calls it.
PLANTED = {True: "planted, one draw for both", False: "planted, a draw for each"}
COLUMNS = ["drawn", "model_1", "model_2", "source", "n", "clusters", "correlation"]
COLUMNS += ["ci_low", "ci_high", "shared", "status"]


def shared_draws(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """How far answers of two models go together beyond each model's own P(yes), by how they came.

    Args:
        asked: the answers of a run. keep: takes the table and a result a row.

    Returns:
        drawn (one of `PLANTED`, `FIRST_EDITION`, `THIS_RUN`), and the columns of
        `response.shared_noise`; no row where fewer than two models have coupled answers.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> len(shared_draws(asked_fair(), Kept()))
        0
    """
    coupled = recorded_coupled(asked)
    models = list(dict.fromkeys(coupled["model"]))
    rows = pd.DataFrame(columns=COLUMNS)
    if len(models) > 1:
        rows = pd.concat(_measured(asked, coupled, models), ignore_index=True)[COLUMNS]
    what = "correlation of two models' answers less their own P(yes), by how they are drawn"
    cell = ["drawn", "model_1", "model_2"]
    common = asked.of_line | {"unit": "correlation"}
    keep.rows(rows, "DE-8", what, value="correlation", cell=cell, **common)
    return keep.table("shared_draws", rows)


def recorded_coupled(asked: Asked) -> pd.DataFrame:
    """The coupled answers of the models of a run, as `response.with_value` has them.

    Empty where items or wording are not ours, or no model of the run has such answers.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> recorded_coupled(asked_fair()).empty
        True
    """
    items = load_twenty()
    names = asked.models if asked.own_design else []
    held = answers.recorded_for_all(items, [asked.line], names, COUPLED)[0] if names else []
    return response.with_value(
        answers.get(items, asked.line, held, variant=COUPLED, dataset=TWENTY)
    )


def redrawn(chances: pd.DataFrame, rng: np.random.Generator, *, shared: bool) -> pd.DataFrame:
    """Answers drawn anew from every model's own P(yes).

    Args:
        chances: of `response.with_value(kind="probability")`.
        rng: draws a number from 0 to 1 an item, or an item and model.
        shared: whether all models have one draw an item.

    Returns:
        `chances` with 1 or 0 as value, NaN where P(yes) is unknown.

    Example:
        >>> one = pd.DataFrame({"item_id": range(100), "value": 0.5})
        >>> both = pd.concat([one.assign(model="a"), one.assign(model="b")])
        >>> drawn = redrawn(both, np.random.default_rng(0), shared=True)
        >>> drawn.groupby("item_id")["value"].nunique().unique().tolist()  # alike
        [1]
    """
    draw = pd.Series(rng.random(len(chances)), index=chances.index)
    if shared:
        draw = pd.Series(draw.to_numpy()[pd.factorize(chances["item_id"])[0]], chances.index)
    value = (draw < chances["value"]).astype(float)
    return chances.assign(value=value.where(chances["value"].notna()))


def _measured(asked: Asked, coupled: pd.DataFrame, models: Sequence[str]) -> list[pd.DataFrame]:
    """`response.shared_noise` of planted answers, of the coupled ones and of those of the run."""
    chances = asked.probabilities[asked.probabilities["model"].isin(models)]
    rng = np.random.default_rng(asked.seed)
    drawn = {words: redrawn(chances, rng, shared=shared) for shared, words in PLANTED.items()}
    drawn[FIRST_EDITION] = coupled
    drawn[THIS_RUN] = asked.values[asked.values["model"].isin(models)]
    tables = []
    for words, values in drawn.items():
        table = response.shared_noise(values, chances).assign(drawn=words)
        is_planted = words in PLANTED.values()
        tables.append(table.assign(source="simulated") if is_planted else table)
    return tables
