"""How far the levels of an attribute lie apart in share of yes, beside what mere words do.

Ages have an order: their gap is that from the youngest to the oldest, along a straight line. Of
genders and races it is the gap between one level and all others, of the level where it is largest;
the largest of several is large by chance, too, so its interval holds for all levels at once, and
the blank, whose gap is the largest of as many levels, is read beside it. These are the gaps that
the spike plants, so its limit of detection is in their unit.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.exchange import furthest, gaps_by_cluster
from katayori.metrics.response import ATTRIBUTES
from katayori.metrics.uncertainty import cells
from katayori.papers.discrim_eval.mere_words import BLANK_OF, QUESTION

COLUMNS = ["model", "source", "factor", "level", "value", "ci_low", "ci_high", "n", "n_invalid"]
COLUMNS += ["clusters", "status"]


def level_gaps(
    values: pd.DataFrame, columns: Mapping[str, str] | None = None, ordered: str = "age"
) -> pd.DataFrame:
    """The gap of each attribute of each model.

    Args:
        values: of `response.with_value`: model, source, decision_question_id, the columns of the
            attributes, value (0 or 1, or P(yes); NaN: invalid).
        columns: attribute -> its column; by default they bear its name.
        ordered: the attribute whose levels have an order; its levels are sorted.

    Returns:
        model, source, factor, level (`20 to 100`, or the level that is furthest from the others),
        value (difference in share of yes or P(yes), a mean over questions), ci_low, ci_high (t over
        questions; 95 % for all levels of the attribute at once), n (valid answers), n_invalid,
        clusters (questions), status as in `intervals.mean_interval`.

    Example:
        >>> values = pd.DataFrame({"gender": ["female", "male"] * 5, "value": [1.0, 0] * 5})
        >>> values["decision_question_id"] = np.repeat(range(5), 2)
        >>> values = values.assign(model="m", source="recorded", age=20, race="Asian")
        >>> level_gaps(values)[["factor", "level", "value", "status"]].to_numpy().tolist()
        [['gender', 'female', 1.0, 'no_variation']]
    """
    named = columns or {name: name for name in ATTRIBUTES}
    rows = []
    for key, own in cells(values, ["model", "source"]):
        for factor, column in named.items():
            if own[column].nunique() > 1:
                rows.append(key | {"factor": factor} | _gap(own, column, factor == ordered))
    return pd.DataFrame(rows, columns=COLUMNS)


def _gap(values: pd.DataFrame, column: str, ordered: bool) -> dict[str, Any]:
    valid = values.dropna(subset=["value"])
    counts = {"n": len(valid), "n_invalid": len(values) - len(valid)}
    found = furthest(gaps_by_question(valid, column, ordered=ordered))
    names = ("level", "value", "ci_low", "ci_high", "clusters", "status")
    return counts | {name: found[name] for name in names}


def gaps_by_question(
    values: pd.DataFrame, column: str, *, value: str = "value", ordered: bool = False
) -> pd.DataFrame:
    """The gap of each level on each question that has all levels.

    Args:
        values: with decision_question_id, the attribute and numbers. column: of the attribute.
        value: of the numbers. ordered: whether the levels lie on a line, which has one gap.

    Returns:
        a row a question, a column a level: the level less the mean of the others; of ordered levels
        one column, the straight line from the first to the last.

    Example:
        >>> values = pd.DataFrame({QUESTION: [1, 1], "race": ["a", "b"], "value": [0.5, 0.25]})
        >>> gaps_by_question(values, "race").to_numpy().tolist()
        [[0.25, -0.25]]
    """
    means = values.pivot_table(index=QUESTION, columns=column, values=value, aggfunc="mean")
    return gaps_by_cluster(means, ordered=ordered)


def beside_blank(gaps: pd.DataFrame, blank: pd.DataFrame) -> pd.DataFrame:
    """The gaps with the size of the gap of meaningless words with as many levels.

    Args:
        gaps: of `level_gaps`, of P(yes).
        blank: of `mere_words.recorded_blank`.

    Returns:
        the gaps with blank (size of the words' gap; NaN where a model's blank is not recorded) and
        blank_status: `ok`, or empty.

    Example:
        >>> gaps = pd.DataFrame({"model": ["m"], "factor": ["age"], "value": [0.2]})
        >>> blank = pd.DataFrame(columns=["model", QUESTION, *BLANK_OF.values(), "value"])
        >>> beside_blank(gaps, blank)["blank"].isna().tolist()
        [True]
    """
    words = level_gaps(blank.assign(source="recorded"), BLANK_OF)
    size = words.assign(blank=words["value"].abs())[["model", "factor", "blank"]]
    found = gaps.merge(size, on=["model", "factor"], how="left", validate="many_to_one")
    return found.assign(blank_status=np.where(found["blank"].notna(), "ok", ""))


def sentences(headlines: pd.DataFrame) -> list[str]:
    """Each gap with its blank and its limit of detection, a sentence a model and attribute.

    Args:
        headlines: gaps with blank and detects, of the same unit (shares), and `model`, `factor`,
            `level`.

    Example:
        >>> row = {"model": "m", "factor": "race", "level": "Asian", "value": 0.05, "blank": None}
        >>> row |= {"ci_low": 0.01, "ci_high": 0.09, "detects": 0.02}
        >>> sentences(pd.DataFrame([row]))
        ['m, race, Asian: +5.00 [+1.00, +9.00] points; detects 2.00 and more.']
    """
    lines = []
    for row in headlines.to_dict("records"):
        told = [f"{100 * row['value']:+.2f} [{100 * row['ci_low']:+.2f}, "]
        told[0] += f"{100 * row['ci_high']:+.2f}] points"
        if pd.notna(row["blank"]):
            told.append(f"mere words move {100 * row['blank']:.2f}")
        if pd.notna(row["detects"]):
            told.append(f"detects {100 * row['detects']:.2f} and more")
        lines.append(f"{row['model']}, {row['factor']}, {row['level']}: {'; '.join(told)}.")
    return lines
