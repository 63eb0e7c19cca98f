"""Samples of items that are balanced over what the items differ in."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def balanced(items: "pd.DataFrame", size: int | None) -> "pd.DataFrame":
    """At least `size` items, balanced over category, context, polarity and order; None or a larger
    number keeps all.

    Items are taken by whole ranks, so a smaller sample is a part of every larger one. In the study
    set a rank is one combination of pair, order of options and order of mention per template, with
    all six contexts and questions. Of fewer items than one rank holds, whole templates are taken,
    one of each category in turn.
    """
    if size is None or size >= len(items):
        return items
    level = items["rank"]
    if size < (level == 0).sum():
        items = items[level == 0]
        level = items.groupby("category")["template_id"].transform(lambda ids: ids.factorize()[0])
    counts = level.value_counts().sort_index().cumsum()
    last = counts.index[int(counts.searchsorted(size))]
    return items[level <= last].reset_index(drop=True)
