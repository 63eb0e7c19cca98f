"""Whether two paired conditions differ: their labels are exchanged inside each cluster."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.frames import LABEL, NUMBER_OR_NONE, FrameError, cells, flat, require
from katayori.metrics.intervals import mean_interval
from katayori.metrics.verdicts import sign_swap_test


def swap_test(
    frame: pd.DataFrame,
    *,
    value: str,
    group: tuple[str, Any, Any],
    by: str | Sequence[str] = (),
    cluster: str = "question",
    seed: int = 0,
) -> pd.DataFrame:
    """Whether two paired conditions differ: their labels are exchanged inside each cluster.

    Args:
        frame: a row an answer. value: its column of numbers, missing where invalid.
        group: a column and two of its values, the first and the second condition.
        by: columns whose values are tested apart.
        cluster: what was asked under both conditions; one with a single condition is left out.
        seed: of patterns drawn, with more than 13 clusters that differ.

    Returns:
        by..., value (mean over clusters of the mean of the first condition less that of the
        second), n, n_invalid, clusters, ci_low, ci_high (95 %, t over clusters), status, p
        (two-sided), smallest_p (2/2^differ, the smallest that so many can give), differ (clusters
        whose difference is not 0; the others decide nothing and are left out of the test). status:
        `ok`; `no_difference` (no cluster differs: no p); `no_valid_answer` (no cluster with both);
        `few_clusters`, `no_variation`: a p, but no interval.

    Formula: `verdicts.sign_swap_test` of the clusters' differences. Its null is that the labels are
    exchangeable inside each cluster, for paired conditions only.

    Raises:
        KatayoriError: a column that is not there or holds something else; a condition that is
        nowhere in its column.

    Source: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed., 2005.

    Example:
        >>> frame = pd.DataFrame({"question": [1, 1, 2, 2, 3, 3, 4, 4], "asked": ["a", "b"] * 4})
        >>> frame["yes"] = [1, 0, 1, 0, 1, 0, 1, 1]
        >>> table = swap_test(frame, value="yes", group=("asked", "a", "b"))
        >>> table[["value", "p", "smallest_p", "differ"]].to_numpy().tolist()
        [[0.75, 0.25, 0.25, 3.0]]
    """
    column, first, second = group
    held = {value: NUMBER_OR_NONE, column: LABEL, cluster: LABEL}
    names = require("swap_test", frame, held, by)
    for condition in (first, second):
        if len(frame) and not frame[column].eq(condition).any():
            there = ", ".join(map(repr, pd.unique(frame[column])[:8]))
            raise FrameError(f"swap_test: no {condition!r} in column {column!r}, which has {there}")
    rows = []
    for key, cell in cells(frame, names):
        used = cell[cell[column].isin([first, second])]
        row = {"n": int(used[value].notna().sum()), "n_invalid": int(used[value].isna().sum())}
        means = used[value].astype(float).groupby([used[cluster], used[column]]).mean().unstack()
        means = means.reindex(columns=[first, second])
        rows.append(key | row | _swapped((means[first] - means[second]).dropna().tolist(), seed))
    return flat(rows, frame, names, more=["p", "smallest_p", "differ"])


def _swapped(differences: list[float], seed: int) -> dict[str, Any]:
    """The test and the interval of the clusters' differences."""
    test = sign_swap_test(differences, seed)
    found = mean_interval(differences)
    if not differences or test["status"] == "ok":
        return test | found
    return test | found | {"status": test["status"], "ci_low": np.nan, "ci_high": np.nan}
