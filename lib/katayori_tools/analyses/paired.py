"""Two models, or two prompts, on the same items: is one of them right, or so, more often?"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from katayori.metrics import proportions
from katayori_tools.analyses.kinds import Section
from katayori_tools.analyses.rows import flat_rows, together, with_holm

#: More series than this are compared with the first one only.
MOST_PAIRS_OF = 6
ABOUT = (
    "The first less the second on the items that both were asked. The exact test (McNemar) takes"
    " every item as independent; the clustered one lets the difference of each cluster change its"
    " sign, and its interval is over clusters. Where several pairs are compared, p_holm is adjusted"
    " over the pairs."
)


def section(answers: Mapping[str, pd.DataFrame], title: str = "Paired tests") -> list[Section]:
    """Both tests of each pair of models, a section of the report; none for one model.

    Args:
        answers: what is compared, such as "right" -> a frame with model, cluster, item (missing
            where there are no ids) and value (0 or 1, missing where an answer is invalid).
        title: of the section.
    """
    parts = []
    for name, frame in answers.items():
        models = list(dict.fromkeys(frame["model"]))
        tables = [of_pair(frame, *pair) for pair in _pairs(models)]
        if tables:
            table = with_holm(together(tables), ["measure"])
            parts.append(flat_rows(table.assign(measure=f"{name}, " + table["measure"]), ["pair"]))
    if not parts:
        return []
    return [Section(title, ABOUT, together(parts), decides="paired clustered")]


def _pairs(models: Sequence[str]) -> list[tuple[str, str]]:
    if len(models) > MOST_PAIRS_OF:
        return [(models[0], other) for other in models[1:]]
    return list(combinations(models, 2))


def of_pair(frame: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The exact and the clustered comparison of one pair, a row each.

    Returns pair, measure (`paired exact`, `paired clustered`), value, n, n_invalid, clusters,
    ci_low, ci_high, p, status: as of `proportions.mcnemar`, and `no_item_ids`, `items_given_twice`,
    `no_common_items`.

    Example:
        >>> frame = pd.DataFrame({"model": list("aabb"), "item": [1, 2, 1, 2], "cluster": 1})
        >>> of_pair(frame.assign(value=[1, 1, 0, 1]), "a", "b")["value"].tolist()
        [0.5, 0.5]
    """
    one, two = (frame[frame["model"] == name] for name in (first, second))
    status = _standing(one, two)
    if status:
        named = {"pair": f"{first} - {second}", "measure": "paired exact", "status": status}
        blank = {"value": np.nan, "n": 0, "n_invalid": np.nan, "clusters": 0, "p": np.nan}
        return pd.DataFrame([named | blank])
    columns = ["item", "cluster", "value"]
    both = one[columns].merge(two[["item", "value"]], on="item", suffixes=("", "_second"))
    sides = both["value"].tolist(), both["value_second"].tolist()
    exact = proportions.mcnemar(*sides)
    clustered = proportions.mcnemar(*sides, cluster=both["cluster"].tolist())
    clustered = clustered.assign(p=clustered["p_cluster"])
    return pd.concat([exact, clustered]).assign(
        pair=f"{first} - {second}", measure=["paired exact", "paired clustered"]
    )


def _standing(one: pd.DataFrame, two: pd.DataFrame) -> str:
    """Why two series cannot be paired; empty where they can."""
    if one["item"].isna().any() or two["item"].isna().any():
        return "no_item_ids"
    if one["item"].duplicated().any() or two["item"].duplicated().any():
        return "items_given_twice"
    if not set(one["item"]) & set(two["item"]):
        return "no_common_items"
    return ""
