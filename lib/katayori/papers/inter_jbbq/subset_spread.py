"""How far apart the accuracies of subsets of attributes lie, against exchange in families."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.intervals import NO_INTERVAL_BELOW
from katayori.metrics.uncertainty import cells

#: Ties are the rule where few items are right or wrong.
_TIE = 1 - 1e-9
#: Rows of a block of draws, so that memory stays small.
_BLOCK = 250


def subset_spread(
    frame: pd.DataFrame, by: Sequence[str], *, draws: int = 999, seed: int = 0
) -> pd.DataFrame:
    """The SD of accuracy over subsets of attributes, and what chance alone would give (IJ-18).

    A subset has few answers, so its accuracy scatters even where attributes do not matter. The
    reference exchanges the items of a family among its subsets: whatever a family, its words or its
    passage do, and however the answers to the questions of one item hang together, stays as it is.
    p = (1 + draws with an SD at least as large) / (1 + draws).

    Args:
        frame: of `with_design`; item, subset, cluster, correct, invalid.
        by: the columns that make a cell (model, prompt, topic, ambiguity).
        draws: exchanges.
        seed: of the exchanges.

    Returns:
        by..., value (the SD), sd_by_chance (mean over the draws), lowest, highest, subsets, p, n
        (answers), n_invalid, clusters, status: `exchange_test` (the SD has a p and no interval);
        `one_subset`; `few_clusters` (fewer than 5 families); `no_variation` (every item is right
        equally often). Without `exchange_test` no p.

    Example:
        >>> frame = pd.DataFrame({"item": range(4), "subset": list("abab")})
        >>> frame = frame.assign(model="m", cluster=[1, 1, 2, 2], correct=[1, 0] * 2, invalid=False)
        >>> subset_spread(frame, ["model"])[["lowest", "highest", "status"]].to_numpy().tolist()
        [[0.0, 1.0, 'few_clusters']]
    """
    rows = []
    for key, one in cells(frame, by):
        counts = {"n": len(one), "n_invalid": int(one["invalid"].sum())}
        rows.append(key | _spread(one, draws, seed) | counts)
    return pd.DataFrame(rows)


def _spread(one: pd.DataFrame, draws: int, seed: int) -> dict[str, Any]:
    item = one.groupby(["cluster", "subset", "item"], sort=True)["correct"].mean().reset_index()
    subset, names = pd.factorize(item["subset"])
    family, families = pd.factorize(item["cluster"])
    right = item["correct"].to_numpy(float)
    means = _subset_means(right[None, :], subset, len(names))[0]
    out = {"value": np.nan, "sd_by_chance": np.nan, "lowest": means.min(), "highest": means.max()}
    out |= {"subsets": len(names), "p": np.nan, "clusters": len(families)}
    if len(names) < 2:
        return out | {"status": "one_subset"}
    out["value"] = float(means.std(ddof=1))
    if np.ptp(right) == 0:
        return out | {"status": "no_variation"}
    if len(families) < NO_INTERVAL_BELOW:
        return out | {"status": "few_clusters"}
    drawn = _exchanged(right, family, subset, draws, np.random.default_rng(seed))
    p = (1 + (drawn >= out["value"] * _TIE).sum()) / (1 + draws)
    return out | {"sd_by_chance": float(drawn.mean()), "p": float(p), "status": "exchange_test"}


def _subset_means(right: np.ndarray, subset: np.ndarray, size: int) -> np.ndarray:
    """Mean of each subset (draws x subsets) of rows of items (draws x items)."""
    member = np.eye(size)[subset]
    return right @ member / member.sum(axis=0)


def _exchanged(
    right: np.ndarray,
    family: np.ndarray,
    subset: np.ndarray,
    draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """SDs over subsets when items change their subsets inside families (shape: draws)."""
    # The items stand family by family: sorting by family and chance shuffles inside families.
    spreads = []
    for start in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - start)
        order = np.argsort(family + rng.random((size, len(right))), axis=1)
        means = _subset_means(right[order], subset, subset.max() + 1)
        spreads.append(means.std(axis=1, ddof=1))
    return np.concatenate(spreads)
