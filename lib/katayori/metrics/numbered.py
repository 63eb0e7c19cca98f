"""The cells of a frame by number, for verbs that take all cells at once."""

from collections.abc import Sequence

import numpy as np
import pandas as pd


def numbered(frame: pd.DataFrame, by: Sequence[str]) -> tuple[np.ndarray, pd.DataFrame]:
    """The number of each row's cell, and the keys of the cells.

    Cells and missing values are as in `frames.cells`.

    Example:
        >>> number, keys = numbered(pd.DataFrame({"model": ["b", "a", "b"]}), ["model"])
        >>> number.tolist(), keys["model"].tolist()
        ([0, 1, 0], ['b', 'a'])
    """
    number = np.zeros(len(frame), dtype=int)
    if by:
        groups = frame.groupby(list(by), sort=False, dropna=False, observed=True)
        number = groups.ngroup().to_numpy()
    first = np.unique(number, return_index=True)[1]
    return number, frame[list(by)].iloc[first].reset_index(drop=True)
