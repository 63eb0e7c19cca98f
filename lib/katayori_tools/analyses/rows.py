"""The flat rows of results.csv: a measure of a cell, or a test, with what it rests on."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from katayori.metrics.ranks import holm

#: Where every answer comes from: somebody else's log.
SOURCE = "imported"
COLUMNS = (
    *("source", "measure", "cell", "value", "n", "n_invalid", "clusters"),
    *("ci_low", "ci_high", "p", "p_holm", "status", "why"),
)
#: What the figure needs beside them: whose answers, and the line that they stand on.
OF_FIGURE = ("model", "line")
#: What a status says of a value or an interval that is not there.
WHY = {
    "few_clusters": "fewer than 5 clusters give no interval",
    "no_variation": "all clusters give the same, so that no interval is known",
    "same_in_every_cluster": "the share is the same in every cluster: answers count as independent",
    "edge": "a mean probability near 0 or 1 has no symmetric interval",
    "constant": "all answers are the same",
    "near_constant": "nearly all answers are the same",
    "position_bound": "one position takes more than 90 % of the answers, whoever stands there",
    "no_places": "the options were not shown, so that every score is free of a position",
    "no_probabilities": "the log holds no probabilities of all options",
    "incomplete": "an option has no probability in the log",
    "not_calibrated": "too few clusters: calibrating needs more than 20; ask 21 or more",
    "lacks_an_order": "no item was asked in all orders of its options",
    "no_valid_answer": "no answer could be read",
    "no_valid_verdict": "no comparison has a verdict in both orders",
    "no_labels": "no label of a person is there",
    "no_person_chosen": "no answer chose a person",
    "no_orders": "the log does not say in which order the two answers were shown",
    "one_order": "no comparison was asked in both orders",
    "no_item_ids": "the log has no ids by which answers can be paired",
    "items_given_twice": "an item was answered twice by one model, so that pairs are not known",
    "no_common_items": "the two answered no item in common",
    "no_difference": "no item on which one alone is right",
    "missing_by_level": "invalid answers depend on the level, so that p is not to be trusted",
    "few_questions": "a common direction needs 10 questions, and twice as many as levels",
    "one_row_a_question": "a question was asked in one row only, which leaves nothing to exchange",
    "one_level": "the factor has one level",
    "no_pairable": "no two answers differ in the level alone",
    "undefined": "the tool gives no number",
}


def why(status: str) -> str:
    """What a status means, in words; empty for `ok`.

    Example:
        >>> why("few_clusters"), why("no_biased_items")
        ('fewer than 5 clusters give no interval', 'no biased contexts were asked')
    """
    if status in ("ok", ""):
        return ""
    if status in WHY:
        return WHY[status]
    if status.startswith("no_") and status.endswith("_items"):
        part = status.removeprefix("no_").removesuffix("_items").removeprefix("targeted_")
        return f"no {part.replace('_', '-')} contexts were asked"
    return status.replace("_", " ")


def flat_rows(table: pd.DataFrame, cell: Sequence[str] = ("model",)) -> pd.DataFrame:
    """The table of a measure as rows of results.csv.

    Args:
        table: measure, value, n, n_invalid, clusters, status, and where there are any ci_low,
            ci_high, p, p_holm. cell: its columns that tell rows of one measure apart.

    Returns:
        `COLUMNS` and `OF_FIGURE`; `cell` as "model=a; gender=woman". What is not there is NaN; the
        line is the measure where the table names none.

    Example:
        >>> table = pd.DataFrame({"measure": ["share"], "model": "a", "value": 0.5, "n": 2})
        >>> rows = flat_rows(table.assign(status="few_clusters"))
        >>> rows[["cell", "value", "why"]].to_numpy().tolist()
        [['model=a', 0.5, 'fewer than 5 clusters give no interval']]
    """
    names = [*COLUMNS, *OF_FIGURE]
    out = pd.DataFrame(index=range(len(table)), columns=names, dtype=object)
    for name in names:
        if name in table:
            out[name] = table[name].to_numpy()
    if "line" not in table:
        out["line"] = out["measure"]
    levels = table[list(cell)].astype(str).to_numpy(object)
    out["cell"] = [
        "; ".join(f"{name}={level}" for name, level in zip(cell, row, strict=True))
        for row in levels
    ]
    out["source"] = SOURCE
    out["why"] = [why(str(status)) for status in out["status"]]
    numbers = ["value", "n", "n_invalid", "clusters", "ci_low", "ci_high", "p", "p_holm"]
    out[numbers] = out[numbers].astype(float)
    return out


def undefined(measure: str, models: Sequence[str], status: str, n: int = 0) -> pd.DataFrame:
    """A row a model for a measure that the log cannot give.

    Example:
        >>> rows = undefined("slot_lean", ["a"], "no_probabilities")
        >>> rows[["value", "status"]].to_numpy().tolist()
        [[nan, 'no_probabilities']]
    """
    table = pd.DataFrame({"model": list(models)})
    table = table.assign(measure=measure, value=np.nan, n=n, n_invalid=np.nan, clusters=0)
    return flat_rows(table.assign(status=status))


def with_holm(table: pd.DataFrame, family: Sequence[str]) -> pd.DataFrame:
    """The table with p_holm: p adjusted over the tests of one family; undefined tests are none.

    Args:
        table: with p. family: the columns that are the same in one family.

    Example:
        >>> table = pd.DataFrame({"model": ["a", "a", "b"], "p": [0.01, 0.04, 0.04]})
        >>> with_holm(table, ["model"])["p_holm"].tolist()
        [0.02, 0.04, 0.04]
    """
    p = table["p"].astype(float)
    if not len(table):
        return table.assign(p_holm=p)
    groups = p.groupby([table[name] for name in family], sort=False)
    return table.assign(p_holm=groups.transform(lambda one: holm(one.to_numpy(float))))


def together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables one below the other; columns that a table lacks are NaN."""
    filled = [part for part in parts if len(part)]
    if not filled:
        return pd.DataFrame(columns=list(COLUMNS))
    columns = list(dict.fromkeys(name for part in filled for name in part))
    listed = [row for part in filled for row in part.to_dict("records")]
    return pd.DataFrame(listed, columns=columns)
