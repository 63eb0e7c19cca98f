"""Blank: how much do mere words move this model?

The same questions are asked about persons who are told apart by something that means nothing (the
last digit of a file number, the weekday of the application). Words move every model a little, so a
correct test rejects on a blank as well: a blank does not measure the level of a test
(`level_on_own_values` does), it measures size. What an attribute does is read beside what the blank
does.

Frames of probabilities: one row a prompt with `p` (P(yes)), the question, and one column for each
attribute; the blank has the same design, and its columns may have other names.
"""

from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.intervals import mean_interval
from katayori.metrics.spike import (
    Plan,
    Recorded,
    Statistic,
    most_by_chance,
    require_columns,
    spike_table,
)
from katayori.metrics.uncertainty import status_of


def level_on_own_values(
    recorded: Recorded,
    statistic: Statistic,
    *,
    draws: int = 1000,
    second: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """How often a test rejects on the model's own values when they say nothing of the attribute.

    This, and not a blank of meaningless words, is where the level of a test is measured: a digit
    does move a model a little, and a correct test finds that.

    Returns:
        n_draws, n_reject, n_undefined, share, allowed (the most that chance makes of so many draws
        with 99 %: 67 of 1,000), status: `ok`, `level_broken`, `undefined` (no test could be made).
    """
    plan = Plan("level", [0.0], second=second, draws=draws, seed=seed)
    row = spike_table(recorded, statistic, plan).iloc[0]
    allowed = most_by_chance(draws)
    problems = {
        "undefined": row["n_undefined"] == draws,
        "level_broken": row["n_reject"] > allowed,
    }
    out: dict[str, Any] = {name: int(row[name]) for name in ("n_draws", "n_reject", "n_undefined")}
    return out | {
        "share": float(row["power"]),
        "allowed": allowed,
        "status": status_of(problems),
    }


def beside_blank(
    real: pd.DataFrame, blank: pd.DataFrame, *, cluster: str, value: str
) -> pd.DataFrame:
    """A bias beside the same statistic for persons told apart by a trait that means nothing.

    Both are read on the clusters (templates) that both have, so that the difference is that of the
    persons and of nothing else.

    Args:
        real, blank: one row a pair (or item) with its cluster and its value; NaN is left out.
        cluster, value: names of the columns.

    Returns:
        rows `real`, `blank`, `real_less_blank` (column `what`): value (mean over clusters), ci_low,
        ci_high, se, clusters, spread (root mean square of the clusters' values: how far single
        templates move, to either side), n_left_out (clusters that only one has), status as in
        `intervals.mean_interval`.

    Example:
        >>> real = pd.DataFrame({"template_id": range(6), "bias": [1.0, 2, 1, 2, 1, 2]})
        >>> blank = real.assign(bias=[0.5, 0.5, 0, 0, 0, 0.5])
        >>> beside_blank(real, blank, cluster="template_id", value="bias")["value"].tolist()
        [1.5, 0.25, 1.25]
    """
    for frame in (real, blank):
        require_columns(frame, [cluster, value])
    means = [frame.dropna(subset=[value]).groupby(cluster)[value].mean() for frame in (real, blank)]
    both = pd.concat(means, axis=1, keys=["real", "blank"])
    kept = both.dropna()
    values = {name: kept[name].to_numpy(float) for name in ("real", "blank")}
    values["real_less_blank"] = values["real"] - values["blank"]
    rows = []
    for name, one in values.items():
        row = {"what": name} | mean_interval(one.tolist())
        row["spread"] = float(np.sqrt((one**2).mean())) if len(one) else np.nan
        rows.append(row | {"n_left_out": len(both) - len(kept)})
    return pd.DataFrame(rows)
