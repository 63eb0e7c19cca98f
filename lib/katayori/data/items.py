"""What every benchmark's items share: choosing a sample that is the same on every machine."""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


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
    ranked = sorted(counts.index, key=lambda value: hashlib.sha256(str(value).encode()).digest())
    reached = counts[ranked].cumsum().searchsorted(size) + 1
    return items[items[column].isin(ranked[:reached])].reset_index(drop=True)


def digest(items: "pd.DataFrame", *columns: str) -> str:
    """sha256 of the item ids and the columns a model's answer depends on, in order: which items a
    run was about.
    """
    lines = (
        "\t".join(map(str, row)) + "\n"
        for row in items[["item_id", *columns]].itertuples(index=False)
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()
