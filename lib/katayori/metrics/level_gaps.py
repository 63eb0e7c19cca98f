"""How far each level of a factor lies from the mean of its rows, with intervals over clusters."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from katayori.frames import LABEL, NUMBER_OR_NONE, cells, flat, require
from katayori.metrics.exchange import gaps_in_rows
from katayori.metrics.intervals import detectable_effect, mean_interval


def level_gaps(
    frame: pd.DataFrame,
    *,
    value: str,
    level: str,
    row: str | None = None,
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """How far each level of a factor lies from the mean of its rows: the sizes behind the test.

    Args:
        frame, value, level, row, by, cluster: as of `exchange.exchange_test`.

    Returns:
        by..., level, value (mean over clusters of the answer less the mean of the valid answers of
        its row, in the unit of the answer), n, n_invalid (invalid, or in a row with fewer than two
        answered levels), clusters, ci_low, ci_high (95 %, t over clusters; each level on its own),
        status as of `intervals.mean_interval`, limit (the true gap that this interval finds in 80 %
        of studies: (t.975 + t.80) SE). Where all levels are answered their values add up to 0: one
        level cannot rise unless others fall.

    Raises:
        KatayoriError: a column that is not there or holds something else.

    Source: student's t over clusters, `intervals.mean_interval`, `intervals.detectable_effect`.

    Example:
        >>> frame = pd.DataFrame({"question": [1, 1, 2, 2], "gender": list("fmfm")})
        >>> table = level_gaps(frame.assign(yes=[1, 0, 1, 1]), value="yes", level="gender")
        >>> table[["level", "value", "n", "status"]].to_numpy().tolist()
        [['f', 0.25, 2, 'few_clusters'], ['m', -0.25, 2, 'few_clusters']]
    """
    situation = [cluster] if row is None else [cluster, row]
    held = {value: NUMBER_OR_NONE} | dict.fromkeys([level, *situation], LABEL)
    names = require("level_gaps", frame, held, by)
    rows = []
    for key, cell in cells(frame.reset_index(drop=True), names):
        gaps = gaps_in_rows(cell, value, level, situation).reindex(cell.index)
        for name in pd.unique(cell[level]):
            here = cell[level] == name
            rows.append(key | {"level": name} | _gap(gaps[here], cell.loc[here, cluster]))
    return flat(rows, frame, names, ["level"], ["limit"])


def _gap(gaps: pd.Series, cluster: pd.Series) -> dict[str, Any]:
    """The mean over clusters of one level's gaps, with the limit of detection of its interval."""
    row = mean_interval(gaps.groupby(cluster).mean().tolist())
    row |= {"limit": detectable_effect(row["se"], row["clusters"])}
    return row | {"n": int(gaps.notna().sum()), "n_invalid": int(gaps.isna().sum())}
