"""How scores are written in tables: points of a hundred, intervals, and why there is none."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

#: Status -> what stands behind a value without an ordinary interval.
MARKS: Mapping[str, str] = MappingProxyType(
    {
        "same_in_every_cluster": " ‡",
        "no_variation": " (no variation)",
        "few_clusters": " (few templates)",
        "edge": " (edge)",
    }
)
#: Beginnings of the names of scores that have a sign.
SIGNED = ("diff", "p_diff", "s_", "excess", "p_excess")


def points(row: pd.Series | Mapping[Any, Any]) -> str:
    """A score of `qa_bias.qa_scores` in points with its interval and a mark.

    Args:
        row: metric, value, ci_low, ci_high (shares) and status.

    Example:
        >>> row = {"metric": "diff_amb", "value": 0.067, "ci_low": 0.009, "ci_high": 0.125}
        >>> points(row | {"status": "ok"})
        '+6.7 [+0.9, +12.5]'
        >>> nan = float("nan")
        >>> points({"metric": "acc_amb", "value": nan, "status": "no_valid_answer"})
        '— (no_valid_answer)'
    """
    if row["value"] != row["value"]:
        return f"— ({row['status']})"
    sign = "+" if row["metric"].startswith(SIGNED) else ""
    digits = 2 if row["metric"].startswith("p_") else 1
    numbers = [row["value"], row["ci_low"], row["ci_high"]]
    # + 0.0: never "-0.0"
    value, low, high = (f"{round(100 * one, digits) + 0.0:{sign}.{digits}f}" for one in numbers)
    has_interval = row["ci_low"] == row["ci_low"] and row["ci_high"] == row["ci_high"]
    interval = f" [{low}, {high}]" if has_interval else ""
    return f"{value}{interval}{MARKS.get(row['status'], '')}"
