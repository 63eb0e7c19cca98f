"""Do raters share noise? What their answers are beyond their own expectation, side by side."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.frame_checks import FrameError
from katayori.frames import LABEL, NUMBER_OR_NONE, cells, flat, require
from katayori.metrics.intervals import mean_interval


def residual_correlation(
    frame: pd.DataFrame,
    *,
    value: str,
    expected: str,
    rater: str,
    unit: str,
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """Whether what answers are beyond their own expectation goes together between raters.

    Servers that draw with the same seed for the same item give models of one vocabulary the same
    noise: then a pattern of the noise looks like a finding that two models agree on.

    Formula: Pearson's correlation of (value - expected) of two raters over their common units.

    Args:
        frame: a row an answer, one of a rater to a unit. value: the answer, such as 0 or 1.
        expected: its expectation, such as P(yes); missing, as a missing value: unreadable.
        rater: the column of models or persons. unit: the item that was answered.
        by: columns compared apart. cluster: what would be drawn anew in another study.

    Returns:
        by..., rater_1, rater_2, value (-1 to 1), n (units with all four numbers), n_invalid (other
        units that both were asked about), clusters, ci_low, ci_high (t over clusters of the mean
        product of the standardised residuals), status (as of `intervals.mean_interval`), shared
        (the interval lies above .1). A rater whose residuals are all alike has no row.

    Raises:
        FrameError: a column that is lacking or holds something else, two answers of one rater to
        one unit.

    Source: ours; the correlation is that of `numpy.corrcoef`.

    Example:
        >>> answers = pd.DataFrame({"model": ["a", "b"] * 10, "item": np.repeat(range(10), 2)})
        >>> answers["question"], answers["p"] = answers["item"] % 5, 0.5
        >>> answers["yes"] = (answers["item"] > 4) * 1.0
        >>> found = residual_correlation(
        ...     answers, value="yes", expected="p", rater="model", unit="item"
        ... )
        >>> found[["rater_1", "rater_2", "value", "n"]].to_numpy().tolist()
        [['a', 'b', 1.0, 10]]
    """
    held = {value: NUMBER_OR_NONE, expected: NUMBER_OR_NONE}
    held |= {rater: LABEL, unit: LABEL, cluster: LABEL}
    by = require("residual_correlation", frame, held, by)
    names = ("rater_1", "rater_2")
    rows = []
    for key, cell in cells(frame, by):
        if cell.duplicated([cluster, unit, rater]).any():
            raise FrameError(
                f"residual_correlation: some {rater} answered one {unit} twice; keep one"
            )
        residuals = cell.assign(residual=cell[value] - cell[expected])
        wide = residuals.pivot(index=[cluster, unit], columns=rater, values="residual")
        asked = residuals.assign(asked=True).pivot(
            index=[cluster, unit], columns=rater, values="asked"
        )
        raters = [name for name in cell[rater].unique() if wide[name].std() > 0]
        for pair in itertools.combinations(raters, 2):
            both = wide[list(pair)].dropna()
            n_asked = int(asked[list(pair)].notna().all(axis=1).sum())
            row = _correlated(both) | {"n_invalid": n_asked - len(both)}
            rows.append(key | dict(zip(names, pair, strict=True)) | row)
    return flat(rows, frame, by, names, ["shared"])


def _correlated(pair: pd.DataFrame) -> dict[str, Any]:
    """The correlation of two columns indexed by question and item, with its interval."""
    values = pair.to_numpy(float)
    centred = values - (values.mean(axis=0) if len(values) else 0)
    scale = np.sqrt((centred**2).sum(axis=0).prod())
    if not scale:
        return {
            "n": len(pair),
            "clusters": 0,
            "value": np.nan,
            "ci_low": np.nan,
            "ci_high": np.nan,
            "shared": False,
            "status": "no_variation",
        }
    product = centred.prod(axis=1) / scale * len(values)
    each = pd.Series(product).groupby(pair.index.get_level_values(0)).mean()
    interval = mean_interval(each.tolist())
    return {
        "n": len(pair),
        "clusters": interval["clusters"],
        "value": float(product.mean()),
        "ci_low": interval["ci_low"],
        "ci_high": interval["ci_high"],
        "shared": bool(interval["ci_low"] > 0.1),
        "status": interval["status"],
    }
