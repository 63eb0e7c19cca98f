"""How far a factor moves answers, whatever the direction: a size to compare, not a test."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.frames import LABEL, NUMBER_OR_NONE, cells, flat, require
from katayori.metrics.intervals import mean_interval


def effect_size(
    frame: pd.DataFrame,
    *,
    value: str,
    level: str,
    beside: Sequence[str] = (),
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """The variance that the levels of a factor explain in a cluster, per degree of freedom.

    Formula: in each cluster the sum of squares that the levels explain beyond the columns `beside`
    (additive), over the degrees of freedom they add; the value is the geometric mean over clusters.
    Two factors with as many levels, asked about the same clusters, can be compared: words that mean
    nothing move every model a little, and show what size means nothing.

    Args:
        frame: a row an answer. value: its column of numbers, such as log odds; missing: unreadable.
        level: the column of the factor. beside: columns of the other attributes.
        by: columns measured apart. cluster: what would be drawn anew in another study.

    Returns:
        by..., value (in squared units of the value), n, n_invalid, clusters, ci_low, ci_high (95 %
        by t of the mean logarithm), status: `ok`; `few_clusters` (fewer than 5: no interval);
        `no_variation`; `no_valid_answer` (no cluster in which the levels explain anything).

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: ours; where every row has every level the sum of squares is that of
    `exchange.exchange_test`.

    Example:
        >>> answers = pd.DataFrame({"odds": [0.0, 2, 0, 4], "group": list("abab")})
        >>> answers["question"] = [1, 1, 2, 2]
        >>> effect_size(answers, value="odds", level="group")["value"].round(3).tolist()
        [4.0]
    """
    columns = {value: NUMBER_OR_NONE, level: LABEL, cluster: LABEL} | dict.fromkeys(beside, LABEL)
    by = require("effect_size", frame, columns, by)
    rows = []
    for key, cell in cells(frame, by):
        valid = cell.dropna(subset=[value])
        logs = []
        for _, one in cells(valid, [cluster]):
            others = [one[name] for name in beside]
            size, df = _explained(one[value].to_numpy(float), one[level], others)
            if df and size / df > 1e-12:
                logs.append(np.log(size / df))
        found = mean_interval(logs)
        row = {name: float(np.exp(found[name])) for name in ("value", "ci_low", "ci_high")}
        row |= {"clusters": found["clusters"], "n": len(valid), "n_invalid": len(cell) - len(valid)}
        rows.append(key | row | {"status": found["status"] if logs else "no_valid_answer"})
    return flat(rows, frame, by)


def _explained(
    values: np.ndarray, level: pd.Series, beside: Sequence[pd.Series]
) -> tuple[float, int]:
    """Sum of squares and degrees of freedom of the level beyond the other columns."""
    others = np.hstack([np.ones((len(values), 1)), *map(_dummies, beside)])
    basis = _basis(others)
    own = _dummies(level)
    own = own - basis @ (basis.T @ own)
    added = _basis(own)
    return float(((added.T @ values) ** 2).sum()), added.shape[1]


def _dummies(column: pd.Series) -> np.ndarray:
    codes = pd.factorize(column)[0]
    return np.eye(codes.max() + 1)[codes]


def _basis(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the space of some columns."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, singular > 1e-8 * max(1.0, singular[0])]
