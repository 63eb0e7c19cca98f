"""A choice by letters, asked in several orders: what each letter stands for."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

#: What a letter means in each order: system 1 stands as A in order "12", as B in order "21" (LJ-8).
MEANING = {"12": {"A": "1", "B": "2", "C": "tie"}, "21": {"A": "2", "B": "1", "C": "tie"}}


def unswapped(
    frame: pd.DataFrame, meaning: Mapping[str, Mapping[str, str]] = MEANING
) -> pd.DataFrame:
    """Raw letters kept, and beside them what they mean (LJ-8): `verdict`, and p_<meaning> for every
    p_<letter>.

    Args:
        frame: order, letter (None where there is none), outcome, and where known p_<letter>.
        meaning: order -> letter -> content; for two answers in both orders `MEANING`.

    Returns the frame with `verdict` (None unless outcome is ok) and the probabilities by content.

    Raises ValueError for an order, or a letter of an ok answer, that `meaning` does not know.

    Example:
        >>> both = pd.DataFrame({"order": ["12", "21"], "letter": ["A", "A"], "outcome": "ok"})
        >>> unswapped(both)["verdict"].tolist()
        ['1', '2']
    """
    if unknown := set(frame["order"]) - set(meaning):
        raise ValueError(f"orders {sorted(map(str, unknown))}; known: {', '.join(meaning)}")
    ok = (frame["outcome"] == "ok").to_numpy()
    verdicts = np.full(len(frame), None, dtype=object)
    shares: dict[str, np.ndarray] = {}
    for order, letters in meaning.items():
        here = (frame["order"] == order).to_numpy()
        odd = ~frame.loc[here & ok, "letter"].isin(letters)
        if odd.any():
            raise ValueError(
                f"{odd.sum()} ok answers of order {order} have none of the letters"
                f" {', '.join(letters)}"
            )
        verdicts[here & ok] = frame.loc[here & ok, "letter"].map(letters)
        for letter, content in letters.items():
            if f"p_{letter}" in frame:
                share = shares.setdefault(f"p_{content}", np.full(len(frame), np.nan))
                share[here] = frame.loc[here, f"p_{letter}"]
    return frame.assign(verdict=pd.Series(verdicts, frame.index, dtype=object), **shares)
