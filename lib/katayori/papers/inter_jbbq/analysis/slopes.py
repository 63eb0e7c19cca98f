"""What the slopes over the number of attributes say: rows of a figure, and sentences."""

import pandas as pd

from katayori.papers.inter_jbbq.analysis.asked import of
from katayori.papers.inter_jbbq.analysis.trends import Trends
from katayori.papers.inter_jbbq.analysis.words import ALPHA, below_holm, context

#: A difference below this is none.
SAME = 1e-9


def same_slopes(found: Trends, models: list[str]) -> pd.DataFrame:
    """How many slopes of accuracy are, to the digit, those of who always writes one number.

    Returns:
        model, same, cells.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> found = same_slopes(analysis_additive().trends, ["sim-inter-additive"])
        >>> found[["same", "cells"]].to_numpy().tolist()
        [[0, 4]]
    """
    key = ["model", "prompt", "topic", "ambiguity"]
    both = of(found.as_asked, models).merge(found.as_locked, on=key, suffixes=("", "_locked"))
    equal = (both["value"] - both["value_locked"]).abs() < SAME
    counted = both.assign(same=equal).groupby("model", sort=False)["same"].agg(["sum", "size"])
    return counted.set_axis(["same", "cells"], axis=1).reset_index()


def named_slopes(found: Trends, models: list[str]) -> pd.DataFrame:
    """Slopes of P(right) beyond the slots for a figure, basic prompt; `row` names the cell.

    Where no probability is known, the slopes of accuracy.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> named_slopes(analysis_additive().trends, ["sim-inter-additive"])["row"].tolist()
        ['housing, ambiguous', 'housing, disambiguated']
    """
    slopes = found.p_beyond if len(found.p_beyond) else found.beyond
    basic = of(slopes[slopes["prompt"] == "basic"], models)
    known = basic[basic["value"].notna()].sort_values(["topic", "ambiguity"], kind="stable")
    pairs = zip(known["topic"], known["ambiguity"], strict=True)
    return known.assign(row=[f"{topic}, {context(ambiguity)}" for topic, ambiguity in pairs])


def told(found: Trends, models: list[str]) -> list[str]:
    """What the tests of slopes found: one sentence, and a line for each slope that is left.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> told(analysis_additive().trends, ["sim-inter-additive"])[0][:38]
        'Slopes below .05 after Holm: as asked '
    """
    kinds = {"as asked": found.as_asked, "beyond the slots": found.beyond}
    if len(found.p_beyond):
        kinds["of P(right)"] = found.p_beyond
    tables = {name: of(table, models) for name, table in kinds.items()}
    counts = [
        f"{name} {table['p_holm'].lt(ALPHA).sum()} of {table['p_holm'].notna().sum()}"
        for name, table in tables.items()
    ]
    lines = [line for table in tables.values() for line in below_holm(table)]
    return [f"Slopes below .05 after Holm: {', '.join(counts)}.", *lines]
