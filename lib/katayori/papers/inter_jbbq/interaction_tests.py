"""What a table of interaction tests can tell: tests that are one, effects it would find."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.intervals import detectable_effect
from katayori.papers.inter_jbbq.scores import MODEL, with_holm


def counted_once(
    tests: pd.DataFrame, frame: pd.DataFrame, by: Sequence[str], value: str = "correct"
) -> pd.DataFrame:
    """The tests of `intersectional.interactions` with Holm's family free of doubles.

    Two questions of a cell whose answers are the same in every item, or right in one exactly where
    the other is wrong (a model that names one person whichever way it is asked), give one
    likelihood ratio twice. The later one is marked and takes the adjusted p of the first, so that
    Holm counts them once.

    Args:
        tests: by..., question, p, p_holm.
        frame: the answers behind it, of `with_design`.
        by: the columns that make a cell, without question.
        value: the column that was tested.

    Returns:
        tests with one_test_with (the question whose test it repeats, or "") and p_holm anew.

    Example:
        >>> from katayori.papers.inter_jbbq import examples, scores
        >>> frame = examples.frame()
        >>> by = ["model", "source", "prompt_id", "topic", "ambiguity"]
        >>> tests, terms = scores.interactions(frame, "correct", [*by, "question"])
        >>> counted_once(tests, frame, by)["one_test_with"].tolist()
        ['', '', '', '']
    """
    wide = frame.pivot_table(index=[*by, "item"], columns="question", values=value, sort=False)
    same: dict[tuple, str] = {}
    for cell, one in wide.groupby(list(by), sort=False):
        key = cell if isinstance(cell, tuple) else (cell,)
        names = [name for name in one if one[name].notna().any()]
        for place, name in enumerate(names):
            twins = (first for first in names[:place] if _one_test(one[first], one[name]))
            same[(*key, name)] = str(next(twins, ""))
    keys = tests[[*by, "question"]].itertuples(index=False, name=None)
    marked = tests.assign(one_test_with=[same.get(key, "") for key in keys])
    single = with_holm(marked.assign(p=marked["p"].where(marked["one_test_with"] == "")))
    adjusted = single.set_index([*by, "question"])["p_holm"].to_dict()
    rows = marked[[*by, "question", "one_test_with"]].itertuples(index=False, name=None)
    p_holm = [adjusted[(*cell, first or own)] for *cell, own, first in rows]
    return marked.assign(p_holm=p_holm)


def _one_test(first: pd.Series, second: pd.Series) -> bool:
    known = first.notna() & second.notna()
    if not (known == (first.notna() | second.notna())).all():
        return False
    alike, opposed = first[known] - second[known], first[known] + second[known] - 1
    return bool((alike == 0).all() or (opposed == 0).all())


def detectable_pairs(
    tests: pd.DataFrame, terms: pd.DataFrame, by: Sequence[str] = (*MODEL, "topic")
) -> pd.DataFrame:
    """How many tests were done, what they found, and which effect of a pair they would have found.

    Args:
        tests: of `counted_once`.
        terms: of `intersectional.interactions`, with se; a pair's term is `age:gender`.
        by: the columns that make a row.

    Returns:
        by..., cells, tested (counted once), doubles, not_testable, p_smallest, p_holm_smallest,
        pair_detectable (median over pairs: the log-odds a single pair would need to be found by its
        own test, unadjusted, in four of five studies; NaN where no pair has an SE), clusters.

    Example:
        >>> from katayori.papers.inter_jbbq import examples, scores
        >>> frame = examples.frame()
        >>> by = ["model", "source", "prompt_id", "topic", "ambiguity"]
        >>> tests, terms = scores.interactions(frame, "correct", [*by, "question"])
        >>> tests = counted_once(tests, frame, by).assign(clusters=24)
        >>> table = detectable_pairs(tests, terms, by[:4])
        >>> table[["cells", "tested", "doubles"]].to_numpy().tolist()
        [[4, 4, 0]]
    """
    pairs = terms[terms["term"].str.contains(":") & terms["se"].gt(0)]
    rows = []
    for key, one in tests.groupby(list(by), sort=False):
        where = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        own_pairs = pairs[np.logical_and.reduce([pairs[name] == where[name] for name in by])]
        rows.append(where | _found(one) | _detectable(own_pairs, one))
    return pd.DataFrame(rows)


def _found(one: pd.DataFrame) -> dict[str, Any]:
    tested = one["p"].notna() & (one["one_test_with"] == "")
    doubles = one["p"].notna() & (one["one_test_with"] != "")
    counts = {"cells": len(one), "tested": int(tested.sum()), "doubles": int(doubles.sum())}
    smallest = {"p_smallest": one["p"].min(), "p_holm_smallest": one["p_holm"].min()}
    return counts | {"not_testable": int(one["p"].isna().sum())} | smallest


def _detectable(pairs: pd.DataFrame, tests: pd.DataFrame) -> dict[str, Any]:
    families = int(tests["clusters"].max())
    effects = [detectable_effect(float(se), families) for se in pairs["se"]]
    return {"pair_detectable": np.median(effects) if effects else np.nan, "clusters": families}
