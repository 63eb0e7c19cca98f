"""Intersectional items by what their profiles tell: how many attributes, which, and one more of
them (IJ-15 to IJ-19).

Everything is a ratio of sums over answers, and its interval comes from whole families. A family is
one pair of profiles over every subset of its attributes (IJ-8): its items share their words and
were drawn together, so it holds the item as a smaller cluster. Where no family is known (items of
others) the item takes its place. The passages are fixed: an interval over families says what other
words in the same passages would give, not what other passages would.

Shares lie in [0, 1]; points are made at display. An invalid answer counts as wrong (IJ-15) and as
not "unknown".
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from katayori.frame_checks import check_frame
from katayori.metrics.intervals import FEW_CLUSTERS, NO_INTERVAL_BELOW, probability_interval
from katayori.metrics.logistic import likelihood_ratio, mixed_logit
from katayori.metrics.qa_bias import with_role
from katayori.metrics.ranks import holm
from katayori.metrics.share_intervals import ratio_interval, share_interval
from katayori.metrics.uncertainty import cells, swap_test

MODEL = ("model", "source", "prompt_id")
CELL = (*MODEL, "topic", "ambiguity")
FEW = 30  # a cell with fewer answers is flagged (IJ-16)
#: What a column holds: answers counted (0 or 1), probabilities, or any other number.
KINDS = ("share", "probability", "mean")
_ENDS = ("value", "ci_low", "ci_high", "status")


def with_design(answers: pd.DataFrame) -> pd.DataFrame:
    """`qa_bias.with_role` plus what the design says of each item.

    Args:
        answers: frame "profiles" of `frame_checks`: as there, with item, topic, focal_id, focal,
            subset, n_attributes, order, unknown_position (the place of "unknown") and unknown (its
            wording) of `papers.inter_jbbq.items`.

    Returns:
        The frame of `with_role` and: unknown_wording (what `unknown` was, which now counts);
        cluster (the family, or the item); ambiguity (`amb`, `dis`); question (`negative`,
        `neutral`); choice (the letter of `order`: person a or b, or u; missing where invalid);
        correct and unknown (1.0 or 0.0, and 0.0 where invalid); invalid.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> frame = examples.frame()
        >>> sorted(frame["choice"].unique()), sorted(frame["ambiguity"].unique())
        (['a', 'b', 'u'], ['amb', 'dis'])
    """
    frame = with_role(check_frame(answers, "profiles")).reset_index(drop=True)
    frame["unknown_wording"] = frame["unknown"]
    chosen = zip(frame["order"], frame["answer"], frame["outcome"] == "ok", strict=True)
    letters: list[Any] = [order[int(answer)] if ok else None for order, answer, ok in chosen]
    return frame.assign(
        cluster=frame["focal_id"].where(frame["focal_id"] != "", frame["item"]),
        ambiguity=np.where(frame["context_condition"] == "ambiguous", "amb", "dis"),
        question=frame["polarity"].replace("non_negative", "neutral"),
        choice=letters,
        correct=frame["correct"].astype(float),
        unknown=(frame["role"] == "unknown").astype(float),
        invalid=frame["role"].isna(),
    )


def _cell(one: pd.DataFrame, kind: str) -> dict[str, Any]:
    """One cell: sum(top) / sum(bottom) over the rows with a top, by the interval of its kind."""
    counted = one[one["top"].notna()]
    sums = counted.groupby("cluster")[["top", "bottom"]].sum()
    tops = sums["top"].tolist()
    bottoms = sums["bottom"].tolist()
    interval = share_interval(tops, bottoms) if kind == "share" else ratio_interval(tops, bottoms)
    out = {name: interval[name] for name in _ENDS}
    if kind == "probability":
        by_family = probability_interval((sums["top"] / sums["bottom"]).tolist())
        out |= {name: by_family[name] for name in by_family if name.startswith("log_odds")}
        if by_family["status"] == "edge" and out["status"] == "ok":
            out |= {"ci_low": np.nan, "ci_high": np.nan, "status": "edge"}
    n_invalid = int(one["invalid"].sum())
    return out | {
        "n": len(counted),
        "n_invalid": n_invalid,
        "invalid_rate": n_invalid / len(one),
        "clusters": len(sums),
        "few": len(counted) < FEW,
        "note": note_of(len(sums)),
    }


def note_of(n_families: int) -> str:
    """What to know of an interval over so few families: "few clusters", or nothing.

    Example:
        >>> note_of(9), note_of(10)
        ('few clusters', '')
    """
    return "few clusters" if NO_INTERVAL_BELOW <= n_families < FEW_CLUSTERS else ""


def _kind(values: pd.Series) -> str:
    """What a column holds, by its values."""
    return "share" if values.dropna().isin([0.0, 1.0]).all() else "probability"


#: What a row of `cell_means` tells of its cell.
MEASURES = [
    "value",
    "ci_low",
    "ci_high",
    "status",
    "n",
    "n_invalid",
    "invalid_rate",
    "clusters",
    "few",
    "note",
]


def _cells(frame: pd.DataFrame, by: Sequence[str], kind: str) -> pd.DataFrame:
    rows = [key | _cell(one, kind) for key, one in cells(frame, by)]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=[*by, *MEASURES])


def cell_means(
    frame: pd.DataFrame, value: str = "correct", by: Sequence[str] = CELL, kind: str = ""
) -> pd.DataFrame:
    """The mean of a column of `with_design` or `flips` in every cell of `by` (IJ-15 to IJ-17).

    Args:
        frame: one row an answer (or a pair of answers), with cluster and invalid.
        value: the column; its missing values do not count.
        by: the columns that make a cell.
        kind: of `KINDS`; empty: a share where all values are 0 or 1, else a probability.

    Returns:
        by..., value, ci_low, ci_high (95 %: `share_interval` or `ratio_interval` over families),
        status, n (values counted), n_invalid, invalid_rate, clusters, few (n < 30), note ("few
        clusters": 5 to 9 families, whose interval is shaky). A probability has log_odds with its
        interval as well. status: `ok`; those of `metrics.intervals` (`few_clusters`,
        `same_in_every_cluster`, `no_variation`, `no_valid_answer`); `edge` (a mean probability
        below .05 or above .95 has its interval in log-odds alone). Without an answer no rows.

    Raises:
        ValueError: unknown kind.

    Example:
        >>> frame = pd.DataFrame({"cluster": [1, 1, 2], "correct": [1.0, 0.0, 1.0]})
        >>> frame = frame.assign(model="m", invalid=False)
        >>> cell_means(frame, by=["model"])[["value", "n", "clusters"]].round(2).iloc[0].tolist()
        [0.67, 3.0, 2.0]
    """
    if kind and kind not in KINDS:
        raise ValueError(f"kind {kind!r}; known: {', '.join(KINDS)}")
    return _cells(frame.assign(top=frame[value], bottom=1.0), by, kind or _kind(frame[value]))


def mean_of_parts(parts: pd.DataFrame) -> dict[str, Any]:
    """The unweighted mean of independent values (one row a part: a topic), with its interval.

    The distance of the end from the mean is the root of the summed squares of the parts' own
    distances, over the number of parts. So it is as lopsided as they are, and never 0 at a share of
    0 or 1 (MOVER).

    Args:
        parts: value, ci_low, ci_high, status.

    Returns:
        value, ci_low, ci_high, status: `ok`, `same_in_every_cluster` (every part is), or the status
        of the first part without a value, else of the first without an interval.

    Reference: G. Y. Zou and A. Donner, Construction of confidence limits about effect measures,
    Statistics in Medicine 27 (2008) 1693-1702.

    Example:
        >>> parts = pd.DataFrame({"value": [0.5, 0.7], "ci_low": [0.4, 0.4], "ci_high": [0.6, 0.8]})
        >>> whole = mean_of_parts(parts.assign(status="ok"))
        >>> round(float(whole["value"]), 2), round(float(whole["ci_low"]), 3), whole["status"]
        (0.6, 0.442, 'ok')
    """
    value, low, high = parts[["value", "ci_low", "ci_high"]].to_numpy(float).T
    out: dict[str, Any] = {"value": value.mean(), "ci_low": np.nan, "ci_high": np.nan}
    lacking = np.isnan(value) if np.isnan(value).any() else np.isnan(low)
    if lacking.any():
        return out | {"status": parts["status"][lacking].iloc[0]}
    out["ci_low"] = out["value"] - np.sqrt(((value - low) ** 2).sum()) / len(value)
    out["ci_high"] = out["value"] + np.sqrt(((high - value) ** 2).sum()) / len(value)
    fixed = (parts["status"] == "same_in_every_cluster").all()
    return out | {"status": "same_in_every_cluster" if fixed else "ok"}


def by_topic(
    frame: pd.DataFrame,
    value: str = "correct",
    by: Sequence[str] = (*MODEL, "ambiguity"),
    kind: str = "",
) -> pd.DataFrame:
    """`cell_means` by topic, with the topics `overall` and `pooled` added.

    `overall` is the unweighted mean of the topics, as published (IJ-16, IJ-c7), with the interval
    of `mean_of_parts`; `pooled` is that of all answers, whose families are drawn from all topics.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> table = by_topic(examples.frame())
        >>> table[["topic", "ambiguity", "value", "n"]].head(2).round(2).to_numpy().tolist()
        [['housing', 'amb', 0.75, 768], ['housing', 'dis', 0.88, 768]]
    """
    kind = kind or _kind(frame[value])
    rows = cell_means(frame, value, [*by, "topic"], kind)
    overall = []
    for _, part in rows.groupby(list(by), sort=False, dropna=False):
        row = part.iloc[0].to_dict() | mean_of_parts(part)
        row["topic"] = "overall"
        for name in ("n", "n_invalid", "clusters"):
            row[name] = part[name].sum()
        row["invalid_rate"] = part["invalid_rate"].mean()
        row["few"] = bool(part["few"].any())
        if kind == "probability":
            row |= dict.fromkeys(("log_odds", "log_odds_low", "log_odds_high"), np.nan)
        overall.append(row)
    pooled = cell_means(frame.assign(topic="pooled"), value, [*by, "topic"], kind)
    return pd.concat([rows, pd.DataFrame(overall), pooled], ignore_index=True)


def trend(frame: pd.DataFrame, by: Sequence[str] = CELL, *, seed: int = 0) -> pd.DataFrame:
    """Does accuracy change with the number of attributes (IJ-19)? The slope inside families.

    slope = sum (s - mean of s in the family) right / sum (s - mean of s in the family)^2, in shares
    per attribute, the Cochran-Armitage statistic stratified by family. The test changes the sign of
    whole families (all patterns, or 9,999): numbers of attributes lie symmetrically in a whole
    family, so this is exact where an answer does not depend on how many are told. Longer profiles
    are longer texts, and the options of each item stand in an order of their own: the slope cannot
    tell these apart (for the order see `option_slots.trend_beyond_slots`).

    Returns:
        the columns of `cell_means`, value being the slope with an interval by t over families; p,
        p_holm (over the cells of a model and prompt). status: `no_families` where no family tells
        different numbers; `no_variation` where no answer changes with the number in any family.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> table = trend(examples.frame())
        >>> table[["ambiguity", "value", "p", "status"]].round(3).to_numpy().tolist()
        [['amb', -0.053, 0.004, 'ok'], ['dis', -0.008, 0.584, 'ok']]
    """
    if frame.empty:
        return pd.DataFrame(columns=[*by, *_ENDS, "n", "n_invalid", "clusters", "p", "p_holm"])
    mean = frame.groupby([*by, "cluster"])["n_attributes"].transform("mean")
    size = frame["n_attributes"] - mean
    frame = frame.assign(top=size * frame["correct"], bottom=size**2)
    out = _cells(frame, by, "mean")
    p = []
    for _, one in frame.groupby(list(by), sort=False):
        of_families = one.groupby("cluster")["top"].sum()
        p.append(swap_test(of_families.to_numpy(), seed))
    out["p"] = p
    out["status"] = out["status"].replace("no_valid_answer", "no_families")
    return with_holm(out)


def with_holm(tests: pd.DataFrame) -> pd.DataFrame:
    """`tests` with p_holm: adjusted over the tests of one model, source and prompt.

    Example:
        >>> tests = pd.DataFrame({"model": "m", "source": "recorded", "p": [0.01, 0.04]})
        >>> with_holm(tests.assign(prompt_id=1))["p_holm"].tolist()
        [0.02, 0.04]
    """
    families = tests.groupby(list(MODEL), sort=False)["p"]
    return tests.assign(p_holm=families.transform(lambda p: holm(p.to_numpy(float))))


def flips(frame: pd.DataFrame) -> pd.DataFrame:
    """Every pair of items of a family of which one tells one attribute more, same question (IJ-18).

    Returns:
        model, source, prompt_id, topic, ambiguity, question, cluster, added (the attribute), subset
        (with it), n_attributes (with it), choice_before, choice_after (persons, not positions),
        flip (1.0 where they differ, NaN where one of them is invalid), invalid, same_order: whether
        the options stood in the same order, same_wording: whether "unknown" was worded alike,
        clean: both. Order and wording are drawn item by item, so more than the attribute changes in
        every pair that is not clean: a model that answers by position flips where the order
        changes.

    Example:
        >>> from katayori.papers.inter_jbbq import examples
        >>> pairs = flips(examples.frame())
        >>> len(pairs), round(float(pairs["flip"].mean()), 2)
        (3072, 0.29)
    """
    keys = [*MODEL, "topic", "ambiguity", "question", "cluster"]
    if "repetition" in frame:
        keys.append("repetition")
    changing = ["subset", "choice", "order", "unknown_wording"]
    after = frame[[*keys, "focal", "n_attributes", *changing]]
    after = after.assign(added=after["subset"].str.split("+")).explode("added")
    after = after[(after["added"] != after["focal"]) & (after["focal"] != "")]
    rest = [
        "+".join(name for name in subset.split("+") if name != added)
        for subset, added in zip(after["subset"], after["added"], strict=True)
    ]
    before = frame[[*keys, *changing]].rename(columns={"subset": "rest"})
    pairs = after.assign(rest=rest).merge(
        before, on=[*keys, "rest"], suffixes=("_after", "_before")
    )
    invalid = pairs["choice_after"].isna() | pairs["choice_before"].isna()
    differ = (pairs["choice_after"] != pairs["choice_before"]).astype(float).mask(invalid)
    same_order = pairs["order_after"] == pairs["order_before"]
    same_wording = pairs["unknown_wording_after"] == pairs["unknown_wording_before"]
    pairs = pairs.assign(
        flip=differ,
        invalid=invalid,
        same_order=same_order,
        same_wording=same_wording,
        clean=same_order & same_wording,
    )
    compared = ["order_after", "order_before", "unknown_wording_after", "unknown_wording_before"]
    return pairs.drop(columns=["focal", "rest", *compared])


def interactions(
    frame: pd.DataFrame, value: str = "correct", by: Sequence[str] = (*CELL, "question")
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Is the combination of attributes more than the sum of its parts? (Addition, after the paper's section 4.2.)

    Two mixed logistic models of every cell: each attribute told or not (and the context), then all pairs of attributes
    as well; both with a random intercept by family. Additive in log-odds means that no pair is needed. The two
    questions are tested apart, for one item's answers to both go together. Combinations of three and more are not
    tested.

    Returns:
        tests: by..., lr, df, p, p_holm (over the cells of a model and prompt), status (see `likelihood_ratio`), n,
            n_invalid.
        terms: by... and the rows of `mixed_logit` of the larger model; a pair is `age:gender`, names sorted.
    """  # noqa: E501 (the stored simulations hash this docstring)
    # A type in a comment, since the stored simulations hash these statements.
    tests, terms = [], []  # type: Any, list[pd.DataFrame]
    for key, one in frame.groupby(list(by), sort=False):
        told = one["subset"].str.get_dummies("+")
        names = [f"Q({name!r})" for name in told if told[name].nunique() > 1]
        context = ["C(template_id)"] if one["template_id"].nunique() > 1 else []
        main = f"{value} ~ " + " + ".join([*names, *context] or ["1"])
        pairs = "".join(f" + {a}:{b}" for a, b in combinations(names, 2))
        data = told.assign(**{column: one[column] for column in (value, "cluster", "template_id")})
        small, large = (mixed_logit(data, formula, "cluster") for formula in (main, main + pairs))
        where = dict(zip(by, key, strict=True))
        n_invalid = int(one["invalid"].sum())
        tests.append(
            where | likelihood_ratio(small, large) | {"n": len(one), "n_invalid": n_invalid}
        )
        terms.append(
            large.assign(
                term=large["term"].str.replace(r"Q\('(.*?)'\)", r"\1", regex=True),
                **where,  # type: ignore[arg-type]
            )
        )
    tests = pd.DataFrame(tests)
    tests["p_holm"] = tests.groupby(list(MODEL), sort=False)["p"].transform(
        lambda p: holm(p.to_numpy(float))
    )
    return tests, pd.concat(terms, ignore_index=True)
