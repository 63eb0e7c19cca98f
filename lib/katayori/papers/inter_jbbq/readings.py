"""What is left open about accuracy of intersectional items, and what holds in each reading."""

import pandas as pd

from katayori.metrics.multiverse import Choice, Multiverse, by_cluster, multiverse

DEBIAS = "the debias prompt raises accuracy in ambiguous contexts"
MORE = "accuracy in ambiguous contexts falls with more attributes"
READ = Choice(
    "read by",
    {
        "letter": "what the model wrote, as in the paper",
        "probability": "P(right): nothing is lost by taking the likeliest",
    },
)
INVALID = Choice(
    "invalid answers",
    {"wrong": "the paper's denominator: all items", "dropped": "valid answers only"},
)
POLARITY = Choice(
    "questions",
    {
        "both": "as in the paper's tables by topic",
        "negative": "the question that a stereotype answers",
        "non_negative": "its control",
    },
)
WEIGHT = Choice(
    "weight",
    {
        "answers": "every item weighs alike, as in the paper",
        "clusters": "every family of items weighs alike: its items share their text",
    },
)
NUMBER = Choice(
    "attributes",
    {"any": "all items", "one": "single attributes", "all": "all attributes of the context"},
)
COMPARED = Choice(
    "numbers compared",
    {"line": "a straight line over the numbers", "ends": "one against all, as in Table 4"},
)
PROMPT = Choice(
    "prompt", {"basic": "the plain request", "debias": "the request that names the danger"}
)


def multiverses(frame: pd.DataFrame) -> dict[tuple[str, str], Multiverse]:
    """Both claims under all readings, for every model that was asked with both prompts.

    Args:
        frame: of `scores.with_design`, with `prompt` (basic, debias): model, item_id, cluster,
            ambiguity, polarity, n_attributes, correct, invalid and, where known, template_id and
            p_correct.

    Returns:
        (model, claim) -> its multiverse; contributions are one number a family.

    Example:
        >>> columns = "model item_id cluster ambiguity polarity n_attributes correct prompt invalid"
        >>> multiverses(pd.DataFrame(columns=columns.split()))
        {}
    """
    found = {}
    ambiguous = frame[frame["ambiguity"] == "amb"]
    for model, own in ambiguous.groupby("model", sort=False):
        if {"basic", "debias"} <= set(own["prompt"]):
            answers = _Answers(own)
            found[str(model), DEBIAS] = multiverse(
                [READ, INVALID, POLARITY, NUMBER, WEIGHT], answers.gained
            )
            found[str(model), MORE] = multiverse(
                [READ, INVALID, POLARITY, COMPARED, PROMPT], answers.fallen
            )
    return found


class _Answers:
    """The answers of one model to ambiguous items, and one number a family under each reading."""

    def __init__(self, frame: pd.DataFrame) -> None:
        # A family of the balanced set tells three numbers of attributes, its passage tells all.
        passage = "template_id" if "template_id" in frame else "cluster"
        most = frame.groupby([passage, "polarity"])["n_attributes"].transform("max")
        self.frame = frame.assign(is_all=frame["n_attributes"] == most)

    def _kept(self, read_by: str, invalid: str, polarity: str) -> pd.DataFrame | None:
        kept = self.frame
        if polarity != "both":
            kept = kept[kept["polarity"] == polarity]
        if read_by == "letter":
            value = kept["correct"].astype(float)
            if invalid == "dropped":
                value = value.where(~kept["invalid"].astype(bool))
        elif "p_correct" in kept and kept["p_correct"].notna().any():
            value = kept["p_correct"].fillna(0.0) if invalid == "wrong" else kept["p_correct"]
        else:
            return None
        return kept.assign(value=value)

    def gained(
        self, read_by: str, invalid: str, polarity: str, number: str, weight: str
    ) -> pd.Series | None:
        """Accuracy under the debias prompt less that under the basic one, by family."""
        kept = self._kept(read_by, invalid, polarity)
        if kept is None:
            return None
        if number == "one":
            kept = kept[kept["n_attributes"] == 1]
        elif number == "all":
            kept = kept[kept["is_all"]]
        wide = kept.pivot(index=["item_id", "cluster"], columns="prompt", values="value")
        change = (wide["debias"] - wide["basic"]).reset_index("cluster", name="change")
        return by_cluster(change["change"], change["cluster"], weight)

    def fallen(
        self, read_by: str, invalid: str, polarity: str, compared: str, prompt: str
    ) -> pd.Series | None:
        """How far accuracy falls from one attribute to all, by family."""
        kept = self._kept(read_by, invalid, polarity)
        if kept is None:
            return None
        kept = kept[(kept["prompt"] == prompt) & kept["value"].notna()]
        means = kept.groupby(["cluster", "n_attributes"])["value"].mean().unstack()
        falls = means.apply(_fall if compared == "line" else _fall_of_ends, axis=1)
        return falls.dropna()


def _fall(means: pd.Series) -> float:
    """Fall from the fewest to the most attributes along a straight line over their numbers."""
    told = means.dropna()
    number = told.index.to_numpy(float)
    if len(told) < 2:
        return float("nan")
    apart = number - number.mean()
    slope = float(apart @ told.to_numpy()) / float(apart @ apart)
    return -slope * float(number.max() - number.min())


def _fall_of_ends(means: pd.Series) -> float:
    told = means.dropna()
    return float(told.iloc[0] - told.iloc[-1]) if len(told) > 1 else float("nan")
