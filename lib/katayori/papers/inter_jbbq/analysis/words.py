"""Values with their intervals as texts of tables, as notebook 05 prints and keeps them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from katayori.metrics.interval_text import with_interval

Row = Mapping[Any, Any]

#: What to know of a value, by status.
MARKS = {
    "same_in_every_cluster": " =",
    "few_clusters": " (under 5 families)",
    "no_variation": " (no change)",
}
ALPHA = 0.05
#: Families between 5 and 9 give shaky intervals.
FEW_FAMILIES = " ‡"


def marked(row: Row, digits: int = 1) -> str:
    """A value in points with its interval, and what to know about it (`MARKS`).

    Example:
        >>> marked({"value": 0.5, "ci_low": 0.5, "ci_high": 0.5, "status": "same_in_every_cluster"})
        '50.0 [50.0, 50.0] ='
    """
    text = with_interval(row, digits) + MARKS.get(row.get("status", ""), "")
    return text + (FEW_FAMILIES if row.get("note") else "")


def across(
    table: pd.DataFrame,
    rows: Sequence[str],
    columns: str | Sequence[str],
    keep: Sequence[str] = ("n", "n_invalid"),
    text: Callable[[Row], str] = marked,
) -> pd.DataFrame:
    """One text a level of `columns`, in the order of the table; of `keep` the most of a row.

    Example:
        >>> table = pd.DataFrame({"model": "m", "topic": ["s", "t"], "value": [0.5, 0.6], "n": 4})
        >>> across(table.assign(ci_low=0.4, ci_high=0.7), ["model"], "topic", []).iloc[0].tolist()
        ['50.0 [40.0, 70.0]', '60.0 [40.0, 70.0]']
    """
    part = table.assign(text=[text(row) for row in table.to_dict("records")])
    part = part.astype({c: pd.CategoricalDtype(list(table[c].unique())) for c in rows})
    made = part.pivot(index=rows, columns=columns, values="text")
    made.columns = pd.Index([" / ".join(c) if isinstance(c, tuple) else c for c in made.columns])
    return made.join(part.groupby(list(rows), observed=True)[list(keep)].max())


def below_holm(table: pd.DataFrame) -> list[str]:
    """The slopes of a table below .05 after Holm, a line each.

    Args:
        table: model, prompt, topic, ambiguity, value (a share), ci_low, ci_high, p_holm.

    Example:
        >>> row = {"model": "m", "prompt": "basic", "topic": "t", "ambiguity": "amb"}
        >>> row |= {"value": 0.02, "ci_low": 0.01, "ci_high": 0.03, "p_holm": 0.01}
        >>> below_holm(pd.DataFrame([row, row | {"p_holm": 0.06}]))
        ['  m, basic, t, ambiguous: +2.00 [+1.00, +3.00] points']
    """
    return [
        f"  {row['model']}, {row['prompt']}, {row['topic']}, {context(row['ambiguity'])}:"
        f" {with_interval(row, 2, signed=True)} points"
        for row in table[table["p_holm"] < ALPHA].to_dict("records")
    ]


def context(ambiguity: str) -> str:
    """The kind of context in a word.

    Example:
        >>> context("amb"), context("dis")
        ('ambiguous', 'disambiguated')
    """
    return {"amb": "ambiguous", "dis": "disambiguated"}[ambiguity]


def with_p(tests: pd.DataFrame) -> list[str]:
    """p and p after Holm of each test as one text; empty where there is none.

    Example:
        >>> with_p(pd.DataFrame({"p": [0.01, None], "p_holm": [0.02, None]}))
        ['p 0.0100, 0.0200 after Holm', '']
    """
    return [
        f"p {p:.4f}, {adjusted:.4f} after Holm" if pd.notna(p) else ""
        for p, adjusted in zip(tests["p"], tests["p_holm"], strict=True)
    ]
