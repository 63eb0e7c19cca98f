"""The items that were recorded, where they are not those that a study reads today."""

from typing import TYPE_CHECKING

from katayori.papers.logprob_judge import PAPER
from katayori_tools.planned import sample

if TYPE_CHECKING:
    import pandas as pd


def planned(dataset: str, size: int | None) -> "pd.DataFrame":
    """Of ours so many rows, pairs in both orders; of others so many pairs."""
    items, _, _ = PAPER.read(dataset, {})
    if dataset == "study":
        return sample(PAPER.as_asked(items), size, whole="pair_id")
    return PAPER.as_asked(sample(items, size))
