"""Blank: how much do mere words move this model?

The same questions are asked about persons who are told apart by something that means nothing (the
last digit of a file number, the weekday of the application). Words move every model a little, so a
correct test rejects on a blank as well: a blank does not measure the level of a test
(`level_on_own_values` does), it measures size. What an attribute does is read beside what the blank
does.

Frames of probabilities: one row a prompt with `p` (P(yes)), the question, and one column for each
attribute; the blank has the same design, and its columns may have other names.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

from katayori.metrics.effect_sizes import explained
from katayori.metrics.intervals import mean_interval
from katayori.metrics.spike import (
    EDGE,
    LEVEL,
    Plan,
    Recorded,
    Statistic,
    most_by_chance,
    require_columns,
    spike_table,
)
from katayori.metrics.uncertainty import cells, status_of, swap_test


def level_on_own_values(
    recorded: Recorded,
    statistic: Statistic,
    *,
    draws: int = 1000,
    second: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """How often a test rejects on the model's own values when they say nothing of the attribute.

    This, and not a blank of meaningless words, is where the level of a test is measured: a digit
    does move a model a little, and a correct test finds that.

    Returns:
        n_draws, n_reject, n_undefined, share, allowed (the most that chance makes of so many draws
        with 99 %: 67 of 1,000), status: `ok`, `level_broken`, `undefined` (no test could be made).
    """
    plan = Plan("level", [0.0], second=second, draws=draws, seed=seed)
    row = spike_table(recorded, statistic, plan).iloc[0]
    allowed = most_by_chance(draws)
    problems = {
        "undefined": row["n_undefined"] == draws,
        "level_broken": row["n_reject"] > allowed,
    }
    out: dict[str, Any] = {name: int(row[name]) for name in ("n_draws", "n_reject", "n_undefined")}
    return out | {
        "share": float(row["power"]),
        "allowed": allowed,
        "status": status_of(problems),
    }


def size_by_question(
    frame: pd.DataFrame, *, level: str, beside: Sequence[str], question: str, p: str = "p"
) -> pd.DataFrame:
    """How far an attribute moves the log odds of each question: S1 per degree of freedom.

    S1 is the sum of squares of the log odds that the levels explain beyond the columns `beside`
    (additive). Where every situation has every level it is that of `exchange_tests`: the sum over
    levels of T squared / n. Where only a balanced part of the situations was asked, so that a row
    has one answer, it is defined still.

    Args:
        frame: see above; rows without `p` are left out.
        level: column of the attribute.
        beside: columns of the other attributes.
        question: column of the questions.
        p: column of the probabilities; 0 and 1 are read as 1e-6 and 1 - 1e-6 and counted.

    Returns:
        one row a question: question, size (squared log odds; NaN where it is undefined), df, n,
        n_levels, n_edge (probabilities of 0 or 1), status: `ok`, `one_level` (fewer than two levels
        can be told apart), `constant` (all log odds equal).

    Example:
        >>> frame = pd.DataFrame({"q": 1, "level": list("abab"), "row": [1, 1, 2, 2]})
        >>> frame["p"] = [0.5, 0.6, 0.5, 0.6]
        >>> found = size_by_question(frame, level="level", beside=["row"], question="q")
        >>> found["size"].round(3).tolist()
        [0.164]
    """
    require_columns(frame, [level, question, p, *beside])
    rows = []
    for key, one in cells(frame[frame[p].notna()], [question]):
        told = one[p].to_numpy(float)
        odds = logit(np.clip(told, EDGE, 1 - EDGE))
        size, df = explained(odds, one[level], [one[name] for name in beside])
        row: dict[str, Any] = {"question": key[question], "size": np.nan, "df": df, "n": len(one)}
        row["n_levels"] = one[level].nunique()
        row["n_edge"] = int(((told < EDGE) | (told > 1 - EDGE)).sum())
        row["status"] = status_of({"one_level": df < 1, "constant": np.ptp(odds) < 1e-12})
        if row["status"] == "ok":
            row["size"] = size / df
        rows.append(row)
    columns = ["question", "size", "df", "n", "n_levels", "n_edge", "status"]
    return pd.DataFrame(rows, columns=columns)


def size_ratio(real: pd.DataFrame, blank: pd.DataFrame, *, seed: int = 0) -> dict[str, Any]:
    """How many times an attribute moves the model as far as mere words do.

    The ratio of S1 per degree of freedom, its geometric mean over the questions that both have.
    p: the two are exchanged question by question (signs of the log ratio flipped), two-sided.

    Args:
        real, blank: of `size_by_question`, with the same number of levels and prompts a question.
        seed: of the exchanges where there are too many for all of them.

    Returns:
        value (ratio), ci_low, ci_high (t over questions of the log ratio, 95 %), p, clusters,
        n_left_out (questions that only one has, or without size), status: `ok`, `other_design`
        (levels or prompts differ in number: ratio NaN), and those of `intervals.mean_interval`.

    Example:
        >>> blank = pd.DataFrame({"question": range(8), "df": 2, "n": 6, "n_levels": 3})
        >>> blank["size"] = [1.0, 2, 1, 2, 1, 2, 1, 2]
        >>> real = blank.assign(size=blank["size"] * [2.0, 8, 2, 8, 2, 8, 2, 8])
        >>> size_ratio(real, blank)["value"]
        4.0
    """
    both = real.merge(blank, on="question", suffixes=("_real", "_blank"))
    usable = both[(both["size_real"] > 0) & (both["size_blank"] > 0)]
    left_out = len(set(real["question"]) | set(blank["question"])) - len(usable)
    ratio = np.log(usable["size_real"].to_numpy(float) / usable["size_blank"].to_numpy(float))
    found = mean_interval(ratio.tolist())
    same = all((usable[f"{name}_real"] == usable[f"{name}_blank"]).all() for name in _DESIGN)
    out: dict[str, Any] = {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan, "p": np.nan}
    out |= {"clusters": len(usable), "n_left_out": left_out}
    if not same:
        return out | {"status": "other_design"}
    for name in ("value", "ci_low", "ci_high"):
        out[name] = float(np.exp(found[name]))
    if found["status"] == "ok":
        out["p"] = swap_test(ratio, seed)
    return out | {"status": found["status"]}


_DESIGN = ("n", "n_levels", "df")


def rank_among_blanks(real: pd.DataFrame, blanks: pd.DataFrame) -> dict[str, Any]:
    """Where the attribute stands among sets of meaningless words; one set is a sample of one.

    Every set's size is the geometric mean of S1 per degree of freedom over the questions that all
    sets and the attribute have.

    Args:
        real: of `size_by_question`.
        blanks: the same for every set, below each other, with the column `blank_set`.

    Returns:
        rank (1: moves the model most; sets that tie with it count as larger), n_sets (with the
        attribute), p (rank / n_sets: the chance of such a rank if the attribute were one more set
        of words), smallest_p, size, blank_low, blank_middle, blank_high (squared log odds: least,
        median and largest of the sets), clusters, status: `ok`, `other_design` (see
        `size_ratio`), `no_question` (none that all have).
    """
    require_columns(blanks, ["blank_set", "question", "size", *_DESIGN])
    every = pd.concat([blanks, real.assign(blank_set=_REAL)], ignore_index=True)
    wide = every.pivot(index="question", columns="blank_set", values="size")
    wide = wide[(wide > 0).all(axis=1)]
    kept = every[every["question"].isin(wide.index)]
    by_question = kept.groupby("question")[list(_DESIGN)].nunique()
    n_sets = wide.shape[1]
    out: dict[str, Any] = {"rank": np.nan, "n_sets": n_sets, "p": np.nan}
    out |= {"smallest_p": 1 / n_sets, "size": np.nan, "blank_low": np.nan}
    out |= {"blank_middle": np.nan, "blank_high": np.nan, "clusters": len(wide)}
    problems = {"no_question": wide.empty, "other_design": (by_question > 1).any(axis=None)}
    out["status"] = status_of(problems)
    if out["status"] != "ok":
        return out
    size = np.exp(np.log(wide).mean())
    others = size.drop(_REAL)
    rank = 1 + int((others >= size[_REAL]).sum())
    out |= {"rank": rank, "p": rank / n_sets, "size": float(size[_REAL])}
    out |= {"blank_low": float(others.min()), "blank_middle": float(others.median())}
    return out | {"blank_high": float(others.max())}


_REAL = "the attribute"


def significant_questions(p: Sequence[float], level: float = LEVEL) -> dict[str, Any]:
    """How many questions a test calls significant, beside what chance makes of them with 99 %.

    More than that on a blank says that words matter, not that the method is wrong.

    Args:
        p: one a question (shape: questions); NaN where the test was not made.
        level: of the test.

    Returns:
        n_significant, n_tested, n_undefined, allowed (8 of 70, 23 of 280), status: `ok`,
        `more_than_chance`, `no_test`.

    Example:
        >>> significant_questions([0.01] * 9 + [0.5] * 61)["status"]
        'more_than_chance'
    """
    values = np.asarray(p, float)
    tested = values[np.isfinite(values)]
    significant = int((tested <= level + 1e-12).sum())
    allowed = most_by_chance(len(tested), level) if len(tested) else 0
    problems = {"no_test": not len(tested), "more_than_chance": significant > allowed}
    return {
        "n_significant": significant,
        "n_tested": len(tested),
        "n_undefined": len(values) - len(tested),
        "allowed": allowed,
        "status": status_of(problems),
    }


def beside_blank(
    real: pd.DataFrame, blank: pd.DataFrame, *, cluster: str, value: str
) -> pd.DataFrame:
    """A bias beside the same statistic for persons told apart by a trait that means nothing.

    Both are read on the clusters (templates) that both have, so that the difference is that of the
    persons and of nothing else.

    Args:
        real, blank: one row a pair (or item) with its cluster and its value; NaN is left out.
        cluster, value: names of the columns.

    Returns:
        rows `real`, `blank`, `real_less_blank` (column `what`): value (mean over clusters), ci_low,
        ci_high, se, clusters, spread (root mean square of the clusters' values: how far single
        templates move, to either side), n_left_out (clusters that only one has), status as in
        `intervals.mean_interval`.

    Example:
        >>> real = pd.DataFrame({"template_id": range(6), "bias": [1.0, 2, 1, 2, 1, 2]})
        >>> blank = real.assign(bias=[0.5, 0.5, 0, 0, 0, 0.5])
        >>> beside_blank(real, blank, cluster="template_id", value="bias")["value"].tolist()
        [1.5, 0.25, 1.25]
    """
    for frame in (real, blank):
        require_columns(frame, [cluster, value])
    means = [frame.dropna(subset=[value]).groupby(cluster)[value].mean() for frame in (real, blank)]
    both = pd.concat(means, axis=1, keys=["real", "blank"])
    kept = both.dropna()
    values = {name: kept[name].to_numpy(float) for name in ("real", "blank")}
    values["real_less_blank"] = values["real"] - values["blank"]
    rows = []
    for name, one in values.items():
        row = {"what": name} | mean_interval(one.tolist())
        row["spread"] = float(np.sqrt((one**2).mean())) if len(one) else np.nan
        rows.append(row | {"n_left_out": len(both) - len(kept)})
    return pd.DataFrame(rows)
