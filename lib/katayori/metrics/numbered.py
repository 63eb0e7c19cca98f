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
    for name in by:
        code, values = pd.factorize(frame[name].to_numpy())  # missing: -1
        number = pd.factorize(number * (len(values) + 1) + code + 1)[0]
    first = np.zeros(number.max(initial=-1) + 1, dtype=int)
    first[number[::-1]] = np.arange(len(number))[::-1]
    keys = {name: frame[name].array[first] for name in by}
    return number, pd.DataFrame(keys, index=pd.RangeIndex(len(first)))
