"""Alpha from several answers a prompt: the noise of answering taken away by asking again (DE-12).

For models that were asked twenty of the questions four more times, with other draws. From such
answers alpha needs no probabilities, so that it can be had of any model; of ours both stand here.
"""

import pandas as pd

from katayori.metrics import agreement, response
from katayori.papers.blank_bias import recorded_answers
from katayori.papers.discrim_eval.analysis.asked import Asked
from katayori.papers.discrim_eval.analysis.shared_draws import TWENTY
from katayori.papers.keeping import Keeper

#: Which repetitions it holds; the first answer is that of the study.
AGAIN = (1, 2, 3, 4)


def alpha_repeated(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Alpha of the questions that were asked again, from repeated answers and from P(yes).

    Args:
        asked: the answers of a run. keep: takes the table and a result a row.

    Returns:
        of `agreement.alpha_without_noise`, on these questions alone; no row of a model that was not
        asked again as a whole.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> len(alpha_repeated(asked_fair(), Kept()))
        0
    """
    again = recorded_again(asked)
    table = agreement.alpha_without_noise(
        pd.concat([_of_same(asked.values, again), again], ignore_index=True),
        _of_same(asked.probabilities, again),
    )
    what = "Krippendorff's alpha of the questions that were asked again"
    keep.rows(table, "DE-12", what, value="alpha", cell=["factor", "by"], **asked.of_line)
    return keep.table("alpha_repeated", table)


def recorded_again(asked: Asked) -> pd.DataFrame:
    """The later answers of the models of a run, as `response.with_value` has them.

    Empty where answers, items or wording are not ours, or no model was asked again as a whole.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> recorded_again(asked_fair()).empty
        True
    """
    is_ours = asked.own_design and asked.study.source == "recorded"
    names = asked.shown if is_ours else []
    paper, line = asked.line.paper, asked.line
    return response.with_value(recorded_answers(paper, TWENTY, line, names, repetitions=AGAIN))


def _of_same(values: pd.DataFrame, again: pd.DataFrame) -> pd.DataFrame:
    """The rows of the models and prompts that were asked again."""
    same_model = values["model"].isin(again["model"])
    return values[same_model & values["item_id"].isin(again["item_id"])]
