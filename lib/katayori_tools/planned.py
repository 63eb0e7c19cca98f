"""The items of the recording plan: frozen as they were recorded, whatever a study reads today."""

from typing import TYPE_CHECKING

from katayori.papers import get_paper
from katayori.papers.paper import hash_of
from katayori_tools.papers import modules

if TYPE_CHECKING:
    import pandas as pd


def as_planned(paper: str, dataset: str, size: int | None) -> "pd.DataFrame":
    """The items of an entry of the plan, whose size counts items, as they are asked."""
    own = modules("planned")
    if paper in own:
        frozen: pd.DataFrame = own[paper].planned(dataset, size)
        return frozen
    room = get_paper(paper)
    return room.as_asked(sample(room.read(dataset, {})[0], size))


def sample(items: "pd.DataFrame", size: int | None, *, whole: str | None = None) -> "pd.DataFrame":
    """At least `size` items chosen by the hash of their ids, in their own order; None or a larger
    number keeps all.

    `whole` names a column whose groups are taken in full (a question with its whole cross of
    attributes), as many groups as it takes to reach `size`: statistics that compare answers within
    a question need that.
    """
    if size is None or size >= len(items):
        return items
    column = whole or "item_id"
    counts = items.groupby(column, sort=False).size()
    ranked = sorted(counts.index, key=hash_of)
    reached = counts[ranked].cumsum().searchsorted(size) + 1
    return items[items[column].isin(ranked[:reached])].reset_index(drop=True)
