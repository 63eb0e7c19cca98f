"""Two shares and their difference: of the same items (`mcnemar`), of other ones (`newcombe`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_test
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from katayori.errors import KatayoriError
from katayori.frames import flat
from katayori.metrics.intervals import contributions, mean_interval
from katayori.metrics.judges import question_swap_test

MORE = ("only_first", "only_second", "p", "chi2", "p_chi2", "p_yates", "p_cluster")


def mcnemar(
    first: Sequence[Any], second: Sequence[Any], *, cluster: Sequence[Any] | None = None
) -> pd.DataFrame:
    """Is the first right more often than the second, on the same items?

    Args:
        first, second: 0 or 1 (or False, True) of the same items in the same order, as lists,
            arrays or columns; missing where an answer is invalid.
        cluster: of each item what would be drawn anew in another study, such as its template. None:
            the items are independent.

    Returns:
        One row: measure (`first - second`), value (difference of the shares), n (pairs of two valid
        answers), n_invalid, clusters, ci_low, ci_high (without clusters Newcombe's interval for
        pairs, else t on the clusters' contributions), status, only_first, only_second (pairs of
        which one alone is right), p (exact, two-sided), chi2, p_chi2 (McNemar's statistic) and
        p_yates (with continuity correction), which all take items as independent; p_cluster (the
        difference of each cluster may change its sign, exact; NaN without clusters). status: `ok`;
        `no_difference` (no pair in which one alone is right: every p is NaN); `few_clusters`,
        `no_variation` (no interval); `no_valid_answer`.

    Raises:
        KatayoriError: other lengths, or values other than 0 and 1.

    Source: Q. McNemar, Psychometrika 12 (1947), 153-157; R. G. Newcombe, Statistics in Medicine
    17 (1998), 2635-2650, method 10.

    Example:
        >>> before, after = [1, 1, 1, 1, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1]
        >>> table = mcnemar(before, after)
        >>> table[["value", "only_first", "only_second", "p"]].to_numpy().tolist()
        [[0.625, 5.0, 0.0, 0.0625]]
    """
    one, two = _zero_or_one("first", first), _zero_or_one("second", second)
    groups = pd.Series(range(len(one)) if cluster is None else list(cluster), dtype=object)
    if not len(one) == len(two) == len(groups):
        raise KatayoriError(
            f"mcnemar: first has {len(one)} values, second {len(two)}, cluster {len(groups)}; give"
            " one value of each for every item, e.g. mcnemar([1, 0, 1], [0, 0, 1])"
        )
    valid = one.notna() & two.notna()
    frame = pd.DataFrame({"one": one, "two": two, "cluster": groups})[valid]
    row = {"measure": "first - second", "value": np.nan, "n": len(frame)}
    row |= {"n_invalid": int((~valid).sum()), "clusters": frame["cluster"].nunique()}
    if frame.empty:
        row["status"] = "no_valid_answer"
        return flat([row], pd.DataFrame(), names=["measure"], more=MORE)
    gain = frame["one"] - frame["two"]
    row |= {"value": float(gain.mean()), "status": "ok"} | _counted(frame)
    row |= _independent(frame) if cluster is None else _clustered(gain, frame["cluster"])
    if not gain.any():
        row["status"] = "no_difference"
    return flat([row], pd.DataFrame(), names=["measure"], more=MORE)


def _zero_or_one(name: str, values: Sequence[Any]) -> pd.Series:
    """The values as numbers, missing ones as NaN; KatayoriError for what is neither 0 nor 1."""
    try:
        column = pd.Series(values).reset_index(drop=True)
        column = column.astype(object).where(column.notna(), None).astype(float)
    except (TypeError, ValueError):
        raise KatayoriError(
            f"mcnemar: {name} must be a list of numbers, e.g. [1, 0, 1], not {values!r:.60}"
        ) from None
    wrong = column[column.notna() & ~column.isin([0.0, 1.0])]
    if len(wrong):
        raise KatayoriError(
            f"mcnemar: {name} holds {wrong.iloc[0]:g} in row {wrong.index[0]}; right is 1 or 0"
            " (True or False), or None where the answer is invalid"
        )
    return column


def _counted(frame: pd.DataFrame) -> dict[str, Any]:
    """The discordant pairs and the tests of their numbers."""
    only_first = int((frame["one"] > frame["two"]).sum())
    only_second = int((frame["two"] > frame["one"]).sum())
    out: dict[str, Any] = {"only_first": only_first, "only_second": only_second}
    if not only_first + only_second:
        return out
    table = [[0, only_first], [only_second, 0]]
    plain = mcnemar_test(table, exact=False, correction=False)
    return out | {
        "p": float(mcnemar_test(table, exact=True).pvalue),
        "chi2": float(plain.statistic),
        "p_chi2": float(plain.pvalue),
        "p_yates": float(mcnemar_test(table, exact=False, correction=True).pvalue),
    }


def _independent(frame: pd.DataFrame) -> dict[str, Any]:
    """Newcombe's interval for pairs: both score intervals, put together with their correlation.

    Its numerator has a continuity correction where it is above 0.
    """
    n, first, second = len(frame), frame["one"].sum(), frame["two"].sum()
    both = (frame["one"] * frame["two"]).sum()
    product = both * n - first * second
    if product > 0:
        product = max(product - n / 2, 0)
    spread = np.sqrt(first * (n - first) * second * (n - second))
    correlation = product / spread if spread else 0.0
    low_1, high_1 = proportion_confint(first, n, method="wilson")
    low_2, high_2 = proportion_confint(second, n, method="wilson")

    def distance(one: float, other: float) -> float:
        return float(np.sqrt(max(0.0, one**2 - 2 * correlation * one * other + other**2)))

    share, other, difference = first / n, second / n, (first - second) / n
    return {
        "ci_low": difference - distance(share - low_1, high_2 - other),
        "ci_high": difference + distance(high_1 - share, other - low_2),
    }


def _clustered(gain: pd.Series, cluster: pd.Series) -> dict[str, Any]:
    sums = gain.groupby(cluster, sort=False).agg(["sum", "size"])
    ratio = (sums["sum"].to_numpy(float), sums["size"].to_numpy(float))
    found = mean_interval(contributions(ratio).tolist())
    row = {name: found[name] for name in ("ci_low", "ci_high", "status")}
    return row | {"p_cluster": question_swap_test(sums["sum"].tolist())}


def newcombe(
    hits_first: int, n_first: int, hits_second: int, n_second: int, level: float = 0.95
) -> pd.DataFrame:
    """The difference of two shares of independent answers, by Newcombe's hybrid score interval.

    It takes every answer as independent of the others: for several answers to one question or
    template use `difference`.

    Args:
        hits_first, n_first: hits and answers of the first group; hits_second, n_second: of the
            second.
        level: of the interval.

    Returns:
        One row: measure (`first - second`), value, n (both together), n_invalid (0), clusters (n),
        ci_low, ci_high, status (`ok`, or `no_valid_answer` where a group has none).

    Raises:
        KatayoriError: counts that cannot be.

    Source: R. G. Newcombe, Statistics in Medicine 17 (1998), 873-890, method 10.

    Example:
        >>> newcombe(56, 70, 48, 80)[["value", "ci_low", "ci_high"]].round(4).to_numpy().tolist()
        [[0.2, 0.0524, 0.3339]]
    """
    for hits, n in ((hits_first, n_first), (hits_second, n_second)):
        if not 0 <= hits <= n:
            raise KatayoriError(
                f"newcombe: {hits} hits of {n} answers cannot be; give hits and answers of both"
                " groups, e.g. newcombe(56, 70, 48, 80)"
            )
    n = n_first + n_second
    row = {"measure": "first - second", "value": np.nan, "n": n, "n_invalid": 0, "clusters": n}
    row["status"] = "ok" if n_first and n_second else "no_valid_answer"
    if row["status"] == "ok":
        counts = hits_first, n_first, hits_second, n_second
        ends = confint_proportions_2indep(*counts, "newcomb", "diff", alpha=1 - level)
        row |= {"value": hits_first / n_first - hits_second / n_second}
        row |= {"ci_low": float(ends[0]), "ci_high": float(ends[1])}
    return flat([row], pd.DataFrame(), names=["measure"])
