"""The items that were recorded, where they are not those that a study reads today."""

from typing import TYPE_CHECKING

from katayori.data.multiple_choice import balanced
from katayori.papers.inter_jbbq import BALANCED, PAPER

if TYPE_CHECKING:
    import pandas as pd


def planned(dataset: str, size: int | None) -> "pd.DataFrame":
    """The families of `study` are those of the second edition: they were recorded first."""
    items, _, _ = PAPER.read(dataset, {"preset": BALANCED})
    return PAPER.as_asked(balanced(items, size))
