"""Diff-bias of intersectional items with an interval over families (IJ-17).

The values are those of `qa_bias.qa_scores`; families take the place of templates.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.intervals import NO_INTERVAL_BELOW, mean_interval
from katayori.metrics.uncertainty import cells

METRICS = ("diff_amb", "diff_dis", "p_diff_amb", "p_diff_dis")


def directions(
    frame: pd.DataFrame, by: Sequence[str], metrics: Sequence[str] = METRICS
) -> pd.DataFrame:
    """Diff-bias in ambiguous and in disambiguated items, over valid answers.

    diff_amb: share of biased less share of counter-biased answers in ambiguous items. diff_dis:
    share right in biased contexts less share right in counter-biased ones. p_*: the same with
    probabilities in place of counts.

    Args:
        frame: of `with_design`, rows with a direction (`has_target`).
        by: the columns that make a cell.
        metrics: of `METRICS`; those by probability only where the frame has them.

    Returns:
        by..., metric, value, ci_low, ci_high, n (answers), n_invalid, clusters (families),
        status, by t over the families' linearised contributions
        (`metrics.intervals.mean_interval`): `ok`, `few_clusters`, `no_variation`,
        `no_valid_answer`.

    Example:
        >>> frame = pd.DataFrame({"cluster": [1, 1, 2], "role": ["biased", "unknown", "biased"]})
        >>> frame = frame.assign(model="m", context_condition="ambiguous", correct=False)
        >>> directions(frame, ["model"], ["diff_amb"])[["value", "n", "status"]].round(2).to_numpy()
        array([[0.67, 3, 'few_clusters']], dtype=object)
    """
    known = [m for m in metrics if not m.startswith("p_") or "p_correct" in frame]
    rows = []
    for key, one in cells(frame, by):
        for metric in known:
            rows.append(key | {"metric": metric} | _score(one, metric))
    columns = ["metric", "value", "ci_low", "ci_high", "n", "n_invalid", "clusters", "status"]
    return pd.DataFrame(rows, columns=[*by, *columns])


def _parts(one: pd.DataFrame, metric: str) -> list[tuple[pd.DataFrame, pd.Series]]:
    """Rows and values of the part, or of the two parts whose means are taken from each other."""
    by_p = metric.startswith("p_")
    if metric.endswith("amb"):
        rows = one[one["context_condition"] == "ambiguous"]
        side = rows["role"].map({"biased": 1.0, "counter_biased": -1.0, "unknown": 0.0})
        return [(rows, rows["p_biased"] - rows["p_counter_biased"] if by_p else side)]
    parts = []
    for context in ("biased", "counter_biased"):
        rows = one[one["context_condition"] == context]
        right = rows["correct"].astype(float).where(rows["role"].notna())
        parts.append((rows, rows["p_correct"] if by_p else right))
    return parts


def _score(one: pd.DataFrame, metric: str) -> dict[str, Any]:
    parts = _parts(one, metric)
    families = pd.Index(pd.concat([rows["cluster"] for rows, _ in parts]).unique())
    n = 0
    n_invalid = 0
    value = 0.0
    spread = np.zeros(len(families))
    for (rows, values), sign in zip(parts, (1.0, -1.0), strict=False):
        valid = values.notna().to_numpy()
        n += int(valid.sum())
        n_invalid += int((~valid).sum())
        sums = values[valid].groupby(rows["cluster"][valid]).agg(["sum", "size"])
        right, asked = sums.reindex(families, fill_value=0.0).to_numpy(float).T
        if not asked.any():
            value = np.nan
            continue
        mean = right.sum() / asked.sum()
        value += sign * mean
        spread += sign * (right - mean * asked) / asked.mean()
    interval = mean_interval((value + spread).tolist() if np.isfinite(value) else [])
    if np.isfinite(value) and len(families) < NO_INTERVAL_BELOW:
        interval["status"] = "few_clusters"
    return {
        "value": interval["value"],
        "ci_low": interval["ci_low"],
        "ci_high": interval["ci_high"],
        "n": n,
        "n_invalid": n_invalid,
        "clusters": len(families),
        "status": interval["status"],
    }
