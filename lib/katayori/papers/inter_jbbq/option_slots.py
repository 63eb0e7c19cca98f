"""What the places of the options alone would give, in a shuffled and in a counterbalanced set.

A model that writes the same number whatever stands there has the accuracy of the items whose right
option happens to stand at that place. In a shuffled set that share differs from cell to cell, and
it may rise or fall with the number of attributes by chance of the shuffle. In a counterbalanced set
it is one third, and nothing of it changes inside a family. So every accuracy by number stands
beside that of a *slot-locked* answerer, and a slope is also taken beyond the order of the options,
the question, and the wording of "unknown" (IJ-11, IJ-19).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.share_intervals import ratio_interval
from katayori.metrics.uncertainty import cells, swap_test
from katayori.papers.inter_jbbq.scores import CELL, FEW, MODEL, note_of, with_holm

#: What else may change from item to item: it is taken out before a slope over the attributes is
#: read.
NUISANCE = (("order", "question"), ("unknown_wording",))
#: Why shares of places have no interval.
SHUFFLED, COUNTERBALANCED = "fixed_by_the_shuffle", "fixed_by_the_design"


def is_counterbalanced(items: pd.DataFrame) -> bool:
    """Whether every family keeps one order of the options and one wording of "unknown".

    Then nothing but the profile changes inside a family. Items without families (of others) are
    not counterbalanced, nor is a set in which no family has two items.

    Args:
        items: focal_id, item, order, unknown.

    Example:
        >>> items = pd.DataFrame({"focal_id": "f", "item": [1, 2], "unknown": "not known"})
        >>> is_counterbalanced(items.assign(order="abu"))
        True
        >>> is_counterbalanced(items.assign(order=["abu", "bua"]))
        False
    """
    of_families = items[items["focal_id"] != ""].groupby("focal_id")
    if not (of_families["item"].nunique() > 1).any():
        return False
    return bool((of_families[["order", "unknown"]].nunique() == 1).all(axis=None))


def steps(frame: pd.DataFrame) -> "pd.Series[int]":
    """The rank of an item in its family by its number of attributes; 0: the fewest.

    Args:
        frame: of `with_design`.

    Example:
        >>> frame = pd.DataFrame({"cluster": ["f", "f", "g"], "n_attributes": [2, 3, 4]})
        >>> steps(frame).tolist()
        [0, 1, 0]
    """
    return frame.groupby("cluster")["n_attributes"].rank(method="dense").astype(int) - 1


def between_families(frame: pd.DataFrame) -> pd.DataFrame:
    """Every pair of families of a passage whose options stand in another order, item by item.

    The items of a pair have the same rank in their families (`steps`) and the same question. Words
    of the profiles, wording of "unknown" and order of mention differ as well, so that this says how
    far answers differ where nothing is kept, beside pairs in which all but an attribute is.

    Args:
        frame: of `with_design`, of a counterbalanced set.

    Returns:
        model, source, prompt_id, topic, ambiguity, question, template_id, step, flip (1.0 where
        the persons chosen differ, NaN where an answer is invalid), invalid, cluster (the passage).

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> one = examples.frame().drop_duplicates("cluster").head(2)
        >>> same = one.assign(template_id="t", n_attributes=2, question="negative")
        >>> two = same.assign(ambiguity="amb", order=["abu", "bau"], choice=["a", "b"])
        >>> between_families(two)["flip"].tolist()
        [1.0]
    """
    keys = [*CELL, "question", "template_id", "step"]
    told = frame.assign(step=steps(frame))[[*keys, "cluster", "order", "choice"]]
    pairs = told.merge(told, on=keys, suffixes=("_one", "_other"))
    first = pairs["cluster_one"] < pairs["cluster_other"]
    pairs = pairs[first & (pairs["order_one"] != pairs["order_other"])]
    invalid = pairs["choice_one"].isna() | pairs["choice_other"].isna()
    differ = (pairs["choice_one"] != pairs["choice_other"]).astype(float).mask(invalid)
    return pairs[keys].assign(flip=differ, invalid=invalid, cluster=pairs["template_id"])


def slot_shares(items: pd.DataFrame, by: Sequence[str] = ("topic", "n_attributes")) -> pd.DataFrame:
    """Where "unknown" stands: the share of the items of a cell that have it at each place.

    It is the ambiguous accuracy of an answerer that always writes that number. In disambiguated
    items asked both ways its accuracy is half of the rest: each person is right once.

    Returns:
        by..., n (items), unknown_at_0, unknown_at_1, unknown_at_2 (shares, sum 1), status
        `fixed_by_the_shuffle` or, of a counterbalanced set, `fixed_by_the_design`: the set is what
        it is, so the shares have no interval.

    Example:
        >>> items = pd.DataFrame({"item": [1, 2], "topic": "age", "unknown_position": [0, 2]})
        >>> items = items.assign(focal_id="f", order=["uab", "abu"], unknown="not known")
        >>> slot_shares(items, ["topic"])[["unknown_at_0", "unknown_at_2"]].to_numpy().tolist()
        [[0.5, 0.5]]
    """
    one = items.drop_duplicates("item")
    places = one.groupby(list(by))["unknown_position"].value_counts(normalize=True)
    shares = places.unstack().reindex(columns=range(3)).fillna(0.0).add_prefix("unknown_at_")
    shares = shares.rename_axis(columns=None).assign(n=one.groupby(list(by)).size())
    status = COUNTERBALANCED if is_counterbalanced(items) else SHUFFLED
    return shares.reset_index().assign(status=status)


def slot_alone(items: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """The accuracy of an answerer that always writes one number, for each number.

    Args:
        items: context_condition, label. by: columns that make a cell.

    Returns:
        by..., ambiguity (`amb`, `dis`), place, value (share of the items whose right option stands
        there), n (items).

    Example:
        >>> items = pd.DataFrame({"context_condition": "ambiguous", "label": [0, 1, 2]})
        >>> slot_alone(items)["value"].round(2).tolist()
        [0.33, 0.33, 0.33]
    """
    ambiguous = items["context_condition"] == "ambiguous"
    told = items.assign(ambiguity=ambiguous.map({True: "amb", False: "dis"}))
    parts = []
    for place in range(3):
        right = told.assign(place=place, value=(told["label"].astype(int) == place).astype(float))
        cell = right.groupby([*by, "ambiguity", "place"])["value"].agg(["mean", "size"])
        parts.append(cell.reset_index().rename(columns={"mean": "value", "size": "n"}))
    return pd.concat(parts, ignore_index=True)


def slot_locked(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of `with_design` beside who always writes each model's commonest number.

    Returns:
        the frame plus locked (the commonest valid answer of its model and prompt, missing where it
        has none) and right_if_locked (1.0 where that place is right).

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> locked = slot_locked(examples.frame())
        >>> locked["locked"].unique().tolist(), round(float(locked["right_if_locked"].mean()), 2)
        (['2'], 0.34)
    """
    valid = frame[frame["outcome"] == "ok"]
    commonest = valid.groupby(list(MODEL), sort=False)["answer"].agg(lambda a: a.mode().iloc[0])
    commonest = commonest.astype(str).rename("locked")
    joined = frame.drop(columns="locked", errors="ignore").join(commonest, on=list(MODEL))
    right = (joined["locked"] == joined["label"].astype(str)).astype(float)
    return joined.assign(right_if_locked=right.where(joined["locked"].notna()))


def locked_beside(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Accuracy of every cell beside that of the slot-locked answerer of its model and prompt.

    Args:
        frame: of `with_design`.
        by: the columns that make a cell; they hold those of `MODEL`.

    Returns:
        by..., locked, n, value, value_locked, gap (their difference), agree (share of the answers
        that are the locked number).

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> table = locked_beside(examples.frame(), ["model", "source", "prompt_id", "ambiguity"])
        >>> table[["ambiguity", "value", "value_locked", "n"]].round(2).to_numpy().tolist()
        [['amb', 0.75, 0.34, 768], ['dis', 0.88, 0.33, 768]]
    """
    answers = slot_locked(frame)
    answers = answers.assign(agree=(answers["answer"] == answers["locked"]).astype(float))
    made = answers.groupby([*by, "locked"], sort=False, dropna=False).agg(
        n=("correct", "size"),
        value=("correct", "mean"),
        value_locked=("right_if_locked", "mean"),
        agree=("agree", "mean"),
    )
    made = made.reset_index()
    return made.assign(gap=made["value"] - made["value_locked"])


def _without(values: np.ndarray, dummies: np.ndarray) -> np.ndarray:
    """What is left of columns of values when their fit by the dummies is taken away."""
    # The dummies overlap (each group sums to one), so the normal equations have a pseudo-inverse.
    inverse = np.linalg.pinv(dummies.T @ dummies, rcond=1e-10, hermitian=True)
    left = values - dummies @ (inverse @ (dummies.T @ values))
    return np.where(np.abs(left) < 1e-9, 0.0, left)


def _dummies(one: pd.DataFrame) -> np.ndarray:
    groups: list[np.ndarray] = [pd.factorize(one["cluster"])[0]]
    for names in NUISANCE:
        if set(names) <= set(one.columns):
            groups.append(one.groupby(list(names), sort=False).ngroup().to_numpy())
    return np.hstack([np.eye(codes.max() + 1)[codes] for codes in groups])


def trend_beyond_slots(
    frame: pd.DataFrame, value: str = "correct", by: Sequence[str] = CELL, *, seed: int = 0
) -> pd.DataFrame:
    """The slope of `intersectional.trend` beyond what order, question and wording give.

    A regression of the value on the number of attributes, with a constant for every family, every
    order and question, and every wording. Two steps: take those constants out of the number (x) and
    of the value (y); slope = sum x y / sum x^2. An answerer that follows the places alone has y = 0
    and no slope, whatever the shuffle did.

    Args:
        frame: of `with_design`.
        value: the column, of 0 and 1 or a probability.
        by: the columns that make a cell; they hold those of `MODEL`.
        seed: of the drawn signs.

    Returns:
        by..., value, ci_low, ci_high (t over families), n, n_invalid, n_families, few, note (both
        as in `cell_means`), p (whole families' x y change their sign, as in `trend`), p_holm (over
        the cells of a model and prompt), status: `ok`, `few_clusters`, `no_variation` (nothing is
        left to explain), `no_families` (the number does not vary beyond the rest).

    Reference: the score version of the wild cluster bootstrap, P. Kline and A. Santos, Journal of
    Econometric Methods 1 (2012) 23-41.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> table = trend_beyond_slots(examples.frame())
        >>> table[["ambiguity", "value", "status"]].round(3).to_numpy().tolist()
        [['amb', -0.052, 'ok'], ['dis', -0.007, 'ok']]
    """
    rows = []
    for key, one in cells(frame, by):
        counted = one[one[value].notna()]
        counts = {"n": len(counted), "n_invalid": int(one["invalid"].sum())}
        row = key | _slope(counted, value, seed) | counts | {"few": len(counted) < FEW}
        rows.append(row | {"note": note_of(row["clusters"])})
    return with_holm(pd.DataFrame(rows))


def _slope(counted: pd.DataFrame, value: str, seed: int) -> dict[str, Any]:
    none = {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan, "clusters": 0, "p": np.nan}
    if counted.empty:
        return none | {"status": "no_families"}
    columns = counted[["n_attributes", value]].to_numpy(float)
    x, y = _without(columns, _dummies(counted)).T
    family = pd.factorize(counted["cluster"])[0]
    top, bottom = np.bincount(family, x * y), np.bincount(family, x * x)
    slope = ratio_interval(top.tolist(), bottom.tolist()) | {"clusters": len(top)}
    if not bottom.any():
        return none | {"clusters": len(top), "status": "no_families"}
    kept = {name: slope[name] for name in ("value", "ci_low", "ci_high", "status", "clusters")}
    return kept | {"p": swap_test(top, seed)}
