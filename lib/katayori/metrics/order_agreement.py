"""Would another order of the options have told the same? Readings of one order and of several.

`permuted` takes every preference for a place out, also one that depends on the item; `calibrated`
takes out what all templates share, from one order. Where both are known, they are compared here:

* `repeatability`: how often a reading chooses the same content when it is made anew from other
  orders: calibrated from one order and from another, permuted from three orders and from the other
  three. The reading that repeats itself is the one to trust where two differ.
* `places_by`: what each place adds under each wording (or in each category). As far as it changes,
  calibrated is wrong in the same way for all items of a wording, and permuted is not.

Frames are those of `metrics.position_free`, with base_id: one content in all orders.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from katayori.metrics import position_free, qa_intervals, ties
from katayori.metrics.position_free import MODEL
from katayori.metrics.position_free_scores import READ, check_columns
from katayori.metrics.uncertainty import cells

COLUMNS = [
    *("reading", "orders", "same_choice", "ci_low", "ci_high", "soft_correlation"),
    *("n", "n_invalid", "clusters", "status"),
]


def repeatability(
    frame: pd.DataFrame,
    favoured: str = "target",
    against: str = "non_target",
    by: Sequence[str] = MODEL,
) -> pd.DataFrame:
    """How often a reading chooses the same content once more, from other orders of the options.

    Args:
        frame: see above. favoured, against: roles whose difference is the soft score.
        by: what is calibrated apart.

    Returns:
        by..., reading (`letter`, `probability`, `calibrated`: of one order; `permuted`: of one
        half of the orders, in which each content stands at each place equally often), orders (of
        which a reading is made), same_choice with ci_low, ci_high (share of pairs of readings of a
        content, over templates), soft_correlation (Pearson's r of the soft differences of these
        pairs; NaN for letters), n (contents), n_invalid (contents of which fewer than two readings
        have a choice), clusters (templates), status. No row `permuted` with two options, whose
        halves are single orders.

    Raises:
        KatayoriError: a column that is not there.

    Example:
        >>> from katayori.metrics import examples
        >>> table = repeatability(examples.three_options().assign(model="m"), "biased", "unknown")
        >>> table.set_index("reading")["same_choice"].round(2).to_dict()
        {'letter': 0.24, 'probability': 0.24, 'calibrated': 0.62, 'permuted': 0.98}
    """
    check_columns(frame, ["base_id"])
    read = position_free.readings(frame, by)
    single = read[read["status"] == READ].assign(orders=1)
    halves = _halves(frame, by)
    both = pd.concat([single, halves], ignore_index=True)
    both["lean"] = both[f"soft_{favoured}"] - both[f"soft_{against}"]
    contents = frame.drop_duplicates([*by, "base_id"]).groupby(list(by)).size()
    rows = []
    for key, cell in cells(both, [*by, "reading", "orders"]):
        asked = int(contents.loc[tuple(key[name] for name in by)])
        rows.append(key | _repeated(cell, asked))
    return pd.DataFrame(rows, columns=[*by, *COLUMNS])


def _halves(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Each content read from its even orders and from its odd ones, a row each.

    With three options and more, each content stands at each place equally often in both.
    """
    places = position_free.places_of(frame)
    roles = frame[[f"role_{place}" for place in places]].to_numpy(object)
    names = sorted(set(roles.ravel()))
    if len(places) < 3:
        return pd.DataFrame(columns=["reading", "orders"])
    logp = position_free.log_probabilities(frame)
    columns = [f"lp_{name}" for name in names]
    of_roles = np.stack([np.where(roles == name, logp, 0).sum(axis=1) for name in names], axis=1)
    work = frame[[*by, "base_id", "template_id"]].assign(half=_parity(roles, names))
    work[columns] = of_roles
    keys = [*by, "base_id", "template_id", "half"]
    means = work.groupby(keys, sort=False)[columns].mean()
    size = work.groupby(keys, sort=False).size()
    whole = means[(size == len(_orders(len(places))) // 2) & means.notna().all(axis=1)]
    values = whole.to_numpy(float)
    out = whole.reset_index().drop(columns=columns)
    out[[f"soft_{name}" for name in names]] = softmax(values, axis=1)
    out["choice"] = position_free.highest(values, names)
    return out.assign(reading="permuted", orders=len(_orders(len(places))) // 2)


def _orders(k: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(k)))


def _parity(roles: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """0 for orders that an even number of exchanges makes from the names in their order, else 1."""
    numbers = np.searchsorted(np.array(names, dtype=str), roles.astype(str))
    exchanged = np.zeros(len(roles), int)
    for i, j in itertools.combinations(range(roles.shape[1]), 2):
        exchanged += numbers[:, i] > numbers[:, j]
    return exchanged % 2


def _repeated(cell: pd.DataFrame, asked: int) -> dict[str, Any]:
    """Pairs of readings of each content: how many there are, and how many choose the same."""
    chosen = cell[cell["choice"].notna()]
    content = ["template_id", "base_id"]
    counts = chosen.groupby([*content, "choice"], sort=False).size()
    same = (counts * (counts - 1)).groupby(content).sum()
    readings = chosen.groupby(content).size()
    pairs = readings * (readings - 1)
    some = pairs[pairs > 0]
    # Every content weighs alike, however many of its readings have a choice.
    share = (same[some.index] / some).groupby("template_id").sum().to_numpy(float)
    n = some.groupby("template_id").size().to_numpy(float)
    row: dict[str, Any] = {"n": len(some), "n_invalid": asked - len(some), "clusters": len(n)}
    row |= qa_intervals.share((share, n)) if len(some) else qa_intervals.none()
    row["same_choice"] = float(share.sum() / n.sum()) if len(some) else np.nan
    if not len(some):
        row["status"] = "no_valid_answer"
    return row | {"soft_correlation": _correlation(cell)}


def _correlation(cell: pd.DataFrame) -> float:
    """Pearson's r of the soft differences over all pairs of readings of one content."""
    known = cell[cell["lean"].notna()]
    known = known.assign(turn=known.groupby("base_id").cumcount())
    wide = known.pivot(index="base_id", columns="turn", values="lean").to_numpy(float)
    if not wide.size:
        return float("nan")
    one, other = [], []
    for i, j in itertools.permutations(range(wide.shape[1]), 2):
        both = np.isfinite(wide[:, i]) & np.isfinite(wide[:, j])
        one.append(wide[both, i])
        other.append(wide[both, j])
    first = np.concatenate(one) if one else np.array([])
    if len(first) < 3 or not ties.varies(first):
        return float("nan")
    return float(np.corrcoef(first, np.concatenate(other))[0, 1])


def places_by(frame: pd.DataFrame, column: str, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """What each place adds to log p, apart for each value of a column, such as a wording.

    The mean of centred log p at a place is what the place adds only where each content stands at
    each place equally often, so contents that lack an order are left out.

    Args:
        frame: see above. column: of the items. by: what is read apart.

    Returns:
        by..., column, place_0, place_1, ... (nats, mean 0), apart (nats: the largest difference of
        a place from the same place under all values together), n (contents), n_invalid (contents
        that lack an order or a probability), clusters.

    Example:
        >>> from katayori.metrics import examples
        >>> frame = examples.three_options().assign(model="m")
        >>> table = places_by(frame, "polarity")
        >>> table[["polarity", "place_1", "apart", "n"]].round(1).to_numpy().tolist()
        [['negative', 1.5, 0.1, 24], ['non_negative', 1.2, 0.1, 24]]
    """
    check_columns(frame, ["base_id", column])
    places = position_free.places_of(frame)
    logp = position_free.log_probabilities(frame)
    centred = logp - logp.mean(axis=1, keepdims=True)
    names = [f"place_{place}" for place in places]
    work = frame[[*dict.fromkeys([*by, "base_id", "template_id", column])]].copy()
    work[names] = centred
    complete = np.isfinite(centred).all(axis=1)
    held = work.assign(complete=complete).groupby([*by, "base_id"])["complete"].transform("sum")
    whole = held == len(_orders(len(places)))
    rows = []
    for key, cell in cells(work, by):
        used = cell[whole[cell.index]]
        together = used[names].mean()
        for value, own in cell.groupby(column, sort=False):
            kept = own[whole[own.index]]
            means = kept[names].mean()
            row = key | {column: value} | means.to_dict()
            row["apart"] = float((means - together).abs().max())
            row["n"] = kept["base_id"].nunique()
            row["n_invalid"] = own["base_id"].nunique() - row["n"]
            rows.append(row | {"clusters": kept["template_id"].nunique()})
    return pd.DataFrame(rows)
