"""Contrasts of the same words under two conditions: what likelihoods say without letters.

A likelihood request scores each person's own words as the answer: no letters, no list of options,
no position to prefer. Words have priors of their own, so that no single score is read, nor the lean
of one item (log p of one person's words less that of the other's). A contrast of two leans of the
same words cancels what is the same under both:

    reads the sentence   the lean after the sentence that makes one person the answer, less the lean
                         after the one that makes the other the answer: chance is one half above 0
    bias                 half the lean under the negative question less that under the other one, on
                         the same silent passage

A liking that depends on the question and on who is named first does not cancel. So both orders of
mention are averaged inside the pair, and a pair that lacks one of them has no contrast.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.frames import LABEL, NUMBER_OR_NONE, FrameError, require
from katayori.metrics import ties


def contrast(
    frame: pd.DataFrame,
    *,
    value: str,
    between: tuple[str, Any, Any],
    unit: str | Sequence[str],
    over: str = "",
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """The value of each unit under one condition less that under another.

    Args:
        frame: a row a measurement. value: its column of numbers, such as a lean in nats.
        between: a column and two of its values, the first and the second condition.
        unit: columns of what was measured under both, such as the pair of persons.
        over: column whose values are averaged first, such as the order of mention; all that are in
            the frame must be there under both conditions. Empty: none.
        by: columns that are kept apart, such as model and prompt.
        cluster: what would be drawn anew in another study, such as the template.

    Returns:
        a row a unit: by..., the columns of unit and cluster, contrast (in the unit of the value;
        missing where the unit lacks a value), above (1 where the contrast is above 0, 0 below, one
        half where both are equal; missing with it).

    Raises:
        KatayoriError: a column that is not there or holds something else; a condition that is
        nowhere in its column; two values of one unit under one condition.

    Source: ours, after minimal pairs of sentences (BLiMP: Warstadt et al., TACL 2020).

    Example:
        >>> leans = pd.DataFrame({"asked": ["bad", "good"] * 2, "lean": [0.9, 0.3] * 2})
        >>> leans = leans.assign(mention=["a", "a", "b", "b"], pair="p", template="t")
        >>> how = {"between": ("asked", "bad", "good"), "unit": "pair", "over": "mention"}
        >>> contrast(leans, value="lean", **how, cluster="template")["contrast"].round(2).tolist()
        [0.6]
    """
    column, first, second = between
    units = [unit] if isinstance(unit, str) else list(unit)
    wanted = {value: NUMBER_OR_NONE} | dict.fromkeys([column, cluster, *units], LABEL)
    wanted |= {over: LABEL} if over else {}
    names = require("contrast", frame, wanted, by, if_asked=True)
    keys = list(dict.fromkeys([*names, *units, cluster]))
    columns = [*keys, "contrast", "above"]
    if frame.empty:
        return frame.reindex(columns=columns)  # with the reason why it is empty
    used = frame[frame[column].isin([first, second])]
    inner = [column, over] if over else [column]
    _look_at(used, column, (first, second), [*keys, *inner])
    wide = used.set_index([*keys, *inner])[value].astype(float).unstack(inner)
    if over:
        both = pd.MultiIndex.from_product([[first, second], pd.unique(used[over])])
        wide = wide.reindex(columns=both)
    # A value that is missing must not leave the mean of the others in its place.
    means = [wide[[one]].mean(axis=1, skipna=False) for one in (first, second)]
    size = np.nan_to_num(wide.abs().max(axis=1).to_numpy(float))
    out = (means[0] - means[1]).rename("contrast").reset_index()
    return out.assign(above=(ties.sign(out["contrast"], size) + 1) / 2)[columns]


def _look_at(used: pd.DataFrame, column: str, conditions: tuple[Any, Any], keys: list[str]) -> None:
    """FrameError where a condition is nowhere, or a unit has two values under one."""
    for condition in conditions:
        if not used[column].eq(condition).any():
            there = ", ".join(map(repr, pd.unique(used[column]))) or "neither"
            raise FrameError(f"contrast: no {condition!r} in column {column!r}, which has {there}")
    if (twice := used.duplicated(keys)).any():
        said = ", ".join(f"{name} {used.loc[twice, name].iloc[0]!r}" for name in keys)
        raise FrameError(
            f"contrast: two rows have {said}; name what tells them apart in unit or by"
        )
