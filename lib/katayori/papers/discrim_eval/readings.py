"""What is left open when ages and genders are compared, and what holds in each reading.

The paper shows such averages as what hides effects of both signs; here they show how much an
average depends on what is counted.
"""

import numpy as np
import pandas as pd
from scipy.special import logit

from katayori.metrics.multiverse import Choice, Multiverse, multiverse

OLDER = "yes becomes rarer with age"
WOMEN = "yes is commoner for women than for others"
QUESTION = "decision_question_id"
SHARED = (
    Choice(
        "read by",
        {
            "sampled": "one drawn answer a person, as in the paper",
            "P(yes)": "the probability behind it, without the noise of drawing",
        },
    ),
    Choice(
        "invalid answers",
        {
            "dropped": "the paper's denominator",
            "no": "who gets no clear yes gets nothing",
        },
    ),
    Choice(
        "scale",
        {
            "share": "points of the share of yes: what applicants feel",
            "log odds": "a step counts as much near 0 and 1 as in the middle; at the mean share",
        },
    ),
    Choice(
        "questions",
        {
            "all": "the paper's set",
            "with both answers": "a question that is always answered alike can show nothing",
        },
    ),
)
COMPARED = {
    OLDER: Choice(
        "ages compared",
        {
            "line": "a straight line over all nine ages",
            "thirds": "20 to 40 against 80 to 100: no line is assumed",
        },
    ),
    WOMEN: Choice(
        "genders compared",
        {
            "men": "women against men",
            "others": "women against men and non-binary persons together",
        },
    ),
}
THIRD = 3


def multiverses(
    sampled: pd.DataFrame, probability: pd.DataFrame
) -> dict[tuple[str, str], Multiverse]:
    """Both claims under all readings, for every model with both kinds of answers.

    Args:
        sampled, probability: of `response.with_value`: model, decision_question_id, age, gender,
            race, value (NaN: invalid).

    Returns:
        (model, claim) -> its multiverse; contributions are one number a question.

    Example:
        >>> from katayori.metrics import examples
        >>> found = multiverses(examples.yes_no(), examples.yes_no())
        >>> sorted(claim for _, claim in found)
        ['yes becomes rarer with age', 'yes is commoner for women than for others']
    """
    found = {}
    for model in sampled["model"].unique():
        own = {
            "sampled": sampled[sampled["model"] == model],
            "P(yes)": probability[probability["model"] == model],
        }
        if all(len(frame) for frame in own.values()):
            for claim in COMPARED:
                found[str(model), claim] = _of_claim(own, claim)
    return found


def _of_claim(frames: dict[str, pd.DataFrame], claim: str) -> Multiverse:
    column = "age" if claim == OLDER else "gender"
    tables: dict[tuple[str, str, str], pd.DataFrame] = {}
    for name, frame in frames.items():
        for invalid in SHARED[1].readings:
            filled = frame if invalid == "dropped" else frame.fillna({"value": 0.0})
            for scale in SHARED[2].readings:
                tables[name, invalid, scale] = _by_level(filled, column, scale)
    varied = {name: _with_both(frame) for name, frame in frames.items()}

    def contributions(
        read_by: str, invalid: str, scale: str, questions: str, compared: str
    ) -> pd.Series | None:
        table = tables[read_by, invalid, scale]
        if questions != "all":
            table = table[table.index.isin(varied[read_by])]
        return _compared(table, claim, compared)

    return multiverse([*SHARED, COMPARED[claim]], contributions)


def _by_level(values: pd.DataFrame, column: str, scale: str) -> pd.DataFrame:
    """Questions x levels: the share of yes, or its log odds with half an answer on each side.

    Log odds are told in shares, at the mean share of all: so both scales have one unit.
    """
    valid = values.dropna(subset=["value"])
    groups = valid.groupby([QUESTION, column])["value"]
    share = groups.mean().unstack()
    if scale == "share":
        return share
    n = groups.size().unstack()
    middle = valid["value"].mean()
    return pd.DataFrame(logit((share * n + 0.5) / (n + 1)) * middle * (1 - middle))


def _with_both(values: pd.DataFrame) -> set[int]:
    """Questions that were answered with both yes and no (P(yes) above and below one half)."""
    span = values.groupby(QUESTION)["value"].agg(["min", "max"])
    return set(span.index[(span["min"] < 0.5) & (span["max"] > 0.5)])


def _compared(table: pd.DataFrame, claim: str, how: str) -> pd.Series | None:
    """One number a question, above 0 for the claim; None where a needed level is not there."""
    if claim == WOMEN:
        if not {"female", "male"} <= set(table.columns):
            return None
        others = ["male"] if how == "men" else [name for name in table if name != "female"]
        return table["female"] - table[others].mean(axis=1, skipna=False)
    n_levels = table.shape[1]
    if n_levels < 2 * THIRD:
        return None
    if how == "thirds":
        return table.iloc[:, :THIRD].mean(axis=1) - table.iloc[:, -THIRD:].mean(axis=1)
    place = np.linspace(0.5, -0.5, n_levels)
    return pd.Series(table.to_numpy(float) @ place / (place**2).sum(), table.index)
