"""The order in which a limit takes clusters where these are of groups, such as categories."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def in_turn(single: "pd.DataFrame", group: "pd.Series", place: "pd.Series") -> list[str]:
    """The clusters one of each group in turn, the groups in the order of `place`.

    So few clusters are spread over what there is.
    """
    turn = group.groupby(group).cumcount()
    placed = single.assign(turn=turn, place=place)
    return list(placed.sort_values(["turn", "place"], kind="stable")["cluster"])


def by_category(items: "pd.DataFrame") -> list[str]:
    """The clusters by category in turn, each category in the order of `rank`."""
    single = items.drop_duplicates("cluster").sort_values("rank", kind="stable")
    group = single["category"]
    place = group.map({name: n for n, name in enumerate(items["category"].unique())})
    return in_turn(single, group, place)
