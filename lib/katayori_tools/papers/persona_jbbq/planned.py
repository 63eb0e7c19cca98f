"""The items that were recorded, where they are not those that a study reads today."""

from typing import TYPE_CHECKING

from katayori.data.multiple_choice import balanced
from katayori.papers.persona_jbbq import PAPER, as_given, load_first

if TYPE_CHECKING:
    import pandas as pd


def planned(dataset: str, size: int | None) -> "pd.DataFrame":
    """A number of `study` items is of the first edition: so many were recorded, balanced."""
    if dataset == "study" and size is None:
        return PAPER.as_asked(as_given(2))
    of_first = dataset == "study" and size is not None
    items = load_first() if of_first else PAPER.read(dataset, {})[0]
    return PAPER.as_asked(balanced(items, size))
