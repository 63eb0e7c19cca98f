"""What is left open when reasons are chosen, and which reading prefers the neutral one."""

import pandas as pd

from katayori.metrics.multiverse import Choice, Multiverse, by_cluster, multiverse

CLAIM = "the neutral reason is preferred"
HALF = 0.5
CHOICES = (
    Choice(
        "read by",
        {
            "letter": "what the model wrote, as in the paper",
            "likelier letter": "the letter with the higher probability: no sampling",
            "probability": "P(neutral): nothing is lost by taking the likelier",
        },
    ),
    Choice(
        "invalid answers",
        {
            "dropped": "the paper's denominator: parsed answers",
            "wrong": "no choice is no neutral choice",
            "half": "no choice prefers neither",
        },
    ),
    Choice(
        "instruction",
        {
            "all four": "the paper's mean over its instructions",
            "1": "the first alone",
            "2": "the second alone",
            "3": "the third alone",
            "4": "the fourth alone",
        },
    ),
    Choice(
        "orders",
        {
            "averaged": "both orders count, as in the paper",
            "agreeing only": "where the orders differ, the model chose a place and no reason",
        },
    ),
    Choice(
        "weight",
        {
            "answers": "every answer weighs alike, as in the paper",
            "clusters": "every case weighs alike",
        },
    ),
)


def multiverses(frame: pd.DataFrame) -> dict[tuple[str, str], Multiverse]:
    """The claim under all readings, for every model.

    Args:
        frame: of `scores.with_choice`: model, case_id, template, order, choice (None: invalid),
            and p_neutral where it is known.

    Returns:
        (model, claim) -> its multiverse; contributions are a case's share less one half.

    Example:
        >>> frame = pd.DataFrame({"case_id": [1, 1], "order": ["nb", "bn"], "template": 1})
        >>> frame = frame.assign(model="m", choice="neutral", p_neutral=0.9)
        >>> found = multiverses(frame)
        >>> len(found["m", CLAIM].table)
        180
    """
    found = {}
    for model, own in frame.groupby("model", sort=False):
        found[str(model), CLAIM] = multiverse(CHOICES, _Contributions(own))
    return found


class _Contributions:
    """One number a case for a combination of readings."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        p = frame["p_neutral"] if "p_neutral" in frame else frame["case_id"] * float("nan")
        letter = frame["choice"].map({"neutral": 1.0, "biased": 0.0})
        likelier = (p > HALF).astype(float).where(p.notna()).mask(p == HALF, HALF)
        self.values = {"letter": letter, "likelier letter": likelier, "probability": p}

    def __call__(
        self, read_by: str, invalid: str, instruction: str, orders: str, weight: str
    ) -> pd.Series | None:
        kept = self.frame[["case_id", "template"]].assign(value=self.values[read_by])
        if instruction != "all four":
            kept = kept[kept["template"].astype(str) == instruction]
        if kept["value"].isna().all():
            return None
        if invalid != "dropped":
            kept = kept.fillna({"value": 0.0 if invalid == "wrong" else HALF})
        if orders == "agreeing only":
            kept = kept[_agrees(kept)]
        return by_cluster(kept["value"] - HALF, kept["case_id"], weight)


def _agrees(frame: pd.DataFrame) -> pd.Series:
    """Rows of case and instruction whose orders lie on the same side of one half."""
    pairs = frame.groupby(["case_id", "template"])["value"]
    lowest, highest = pairs.transform("min"), pairs.transform("max")
    return (lowest > HALF) | (highest < HALF)
