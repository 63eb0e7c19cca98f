"""Choices among options, read by their content and not by the position that they stand at.

Three ways to read the same answers:

    letters      the position that was written, as it is
    calibrated   log p of each position less what the position adds (`calibration`)
    permuted     the mean log p of each content over all orders of its options

`calibrated` and `permuted` give the frame of answers with the position that is chosen so, so that
whatever reads letters reads them, too.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.frames import LABEL, FrameError, cells
from katayori.metrics.calibration import (
    _logs,
    _named,
    _together,
    _with_values,
    calibrated as calibrated,
)


def permuted(
    frame: pd.DataFrame,
    *,
    answer: str,
    option: str,
    p: str,
    content: str,
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """The answers by the mean log p of each content over all orders of its options.

    Args:
        frame: a row an item and order. answer, option, p, by: as of `calibrated`; what stands at
            the positions must tell the options of an item apart.
        content: column that is the same for one item in all orders of its options.

    Returns:
        a row a content, its first of the frame, with the columns that `calibrated` makes anew;
        read_status: `ok`, `incomplete`, `lacks_an_order` (not all k! orders of k options).

    Raises:
        KatayoriError: as `calibrated`; an item with two equal options.

    Example:
        >>> asked = pd.DataFrame({"item": ["i", "i"], "role_0": ["cat", "dog"], "answer": "0"})
        >>> asked = asked.assign(role_1=["dog", "cat"], p_0=[0.9, 0.8], p_1=[0.1, 0.2])
        >>> names = {"answer": "answer", "option": "role", "p": "p", "content": "item"}
        >>> permuted(asked, **names)[["answer", "p_0"]].round(2).to_numpy().tolist()
        [['0', 0.6]]
    """
    options, shares, by = _named("permuted", frame, option, p, by, {content: LABEL})
    parts = []
    for _, cell in cells(frame, by):
        contents = cell[options].astype(str).to_numpy(object)
        if any(len(set(row)) < len(row) for row in contents):
            raise FrameError("permuted: an item has two equal options; name columns that differ")
        codes = pd.factorize(cell[content])[0]
        first = np.unique(codes, return_index=True)[1]
        values = _means(_logs(cell, shares), contents, codes, first)
        orders = pd.Series(map(" ".join, contents)).groupby(codes).nunique().to_numpy()
        status = np.where(np.isfinite(values).all(axis=1), "ok", "incomplete").astype(object)
        status[orders < math.factorial(len(options))] = "lacks_an_order"
        values[status != "ok"] = np.nan
        parts.append(_with_values(cell.iloc[first], values, status, answer, shares))
    return _together(parts, frame)


def _means(
    logp: np.ndarray, contents: np.ndarray, codes: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """The mean log p of what stands at each position of the first row of each item."""
    names = sorted(set(contents.ravel()))
    of_name = [np.where(contents == name, logp, 0).sum(axis=1) for name in names]
    means = pd.DataFrame(dict(zip(names, of_name, strict=True))).groupby(codes).mean(skipna=False)
    at = np.array([[names.index(name) for name in row] for row in contents[first]])
    return np.take_along_axis(means.to_numpy(), at, axis=1)
