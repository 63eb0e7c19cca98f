"""Intersectional items by what their profiles tell: how many attributes, which, and one more of them (IJ-15 to IJ-19).

Everything is a ratio of sums over answers, and its interval comes from whole families drawn with replacement. A family
is one pair of profiles over every subset of its attributes (IJ-8): its items share their words and were drawn together,
so it holds the item as a smaller cluster. Where no family is known (items of others) the item takes its place.
Shares lie in [0, 1]; points are made at display. An invalid answer counts as wrong (IJ-15) and as not "unknown".
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.logistic import likelihood_ratio, mixed_logit
from katayori.metrics.qa_bias import with_role
from katayori.metrics.rank_tests import holm
from katayori.metrics.uncertainty import cells, cluster_draws, interval, swap_test

MODEL = ("model", "source", "prompt_id")
CELL = (*MODEL, "topic", "ambiguity")
FEW = 30  # a cell with fewer answers is flagged (IJ-16)
_DESIGN = "item topic focal subset n_attributes order".split()


def with_design(answers: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """`qa_bias.with_role` plus what the design says of each item.

    Args:
        answers, items: as there; items have the columns of `data.inter_jbbq`.

    Returns:
        The frame of `with_role` and: item, topic, focal_id, focal, subset, n_attributes, order; cluster (the family, or
        the item); ambiguity (`amb`, `dis`); question (`negative`, `neutral`); choice (the letter of `order`: person a
        or b, or u; missing where invalid); right and unknown (1.0 or 0.0, and 0.0 where invalid); invalid.
    """
    told = items[["item_id", "focal_id", *_DESIGN]]
    frame = with_role(answers, items).merge(told, on="item_id", how="left")
    chosen = zip(frame["order"], frame["answer"], frame["outcome"] == "ok", strict=True)
    return frame.assign(
        cluster=frame["focal_id"].where(frame["focal_id"] != "", frame["item"]),
        ambiguity=np.where(frame["context_condition"] == "ambiguous", "amb", "dis"),
        question=frame["polarity"].replace("non_negative", "neutral"),
        choice=[order[int(answer)] if ok else None for order, answer, ok in chosen],
        right=frame["correct"].astype(float),
        unknown=(frame["role"] == "unknown").astype(float),
        invalid=frame["role"].isna(),
    )


def _cell(one: pd.DataFrame, n_resamples: int, stream: list[int]) -> dict[str, Any]:
    """One cell, whose value is sum(top) / sum(bottom) over the rows with a top, and its resampled values (`drawn`)."""
    told = one[one["top"].notna()]
    sums = told.groupby("cluster")[["top", "bottom"]].sum().to_numpy(float)
    total, n_invalid = sums.sum(axis=0), int(one["invalid"].sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        value, drawn = (
            total[0] / total[1],
            np.divide(*(cluster_draws(len(sums), n_resamples, stream) @ sums).T),
        )
    out = {"value": value, **interval(drawn), "n": len(told), "n_invalid": n_invalid}
    out |= {"invalid_rate": n_invalid / len(one), "n_families": len(sums), "few": len(told) < FEW}
    return out | {"status": "undefined" if np.isnan(value) else "ok", "drawn": drawn}


def _cells(frame: pd.DataFrame, by: Sequence[str], n_resamples: int, seed: int) -> pd.DataFrame:
    """A row a cell. Each draws for itself, so that a mean over cells does not move in step."""
    return pd.DataFrame(
        [key | _cell(one, n_resamples, [seed, i]) for i, (key, one) in enumerate(cells(frame, by))]
    )


def cell_means(
    frame: pd.DataFrame,
    value: str = "right",
    by: Sequence[str] = CELL,
    *,
    n_resamples: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """The mean of a column of `with_design` or `flips` in every cell of `by` (IJ-15 to IJ-17).

    Returns:
        by..., value (a share), ci_low, ci_high (95 %, NaN with one family), n (answers counted, of `right` and
        `unknown` all asked), n_invalid, invalid_rate, n_families, few (n < 30), status (`ok`, `undefined`). Where every
        family of a cell has the same mean the interval has no width; that is no certainty.
    """
    return _cells(frame.assign(top=frame[value], bottom=1.0), by, n_resamples, seed).drop(
        columns="drawn"
    )


def by_topic(
    frame: pd.DataFrame, value: str = "right", by: Sequence[str] = (*MODEL, "ambiguity"), *, n_resamples: int = 0,
    seed: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """`cell_means` by topic, with topic `overall`, the unweighted mean of the topics, as published (IJ-16, IJ-c7), and
    `pooled`, that of all answers. Families are drawn within each topic for `overall`."""
    rows = _cells(frame.assign(top=frame[value], bottom=1.0), [*by, "topic"], n_resamples, seed)
    overall = []
    for _, part in rows.groupby(list(by), sort=False):
        drawn = np.mean([one[: part["drawn"].str.len().min()] for one in part["drawn"]], axis=0)
        row = (
            part.iloc[0].to_dict()
            | part[["n", "n_invalid", "n_families"]].sum().to_dict()
            | interval(drawn)
        )
        row |= {
            "topic": "overall",
            "value": part["value"].mean(skipna=False),
            "status": "ok" if (part["status"] == "ok").all() else "undefined",
        }
        overall.append(
            row | {"invalid_rate": part["invalid_rate"].mean(), "few": bool(part["few"].any())}
        )
    pooled = cell_means(
        frame.assign(topic="pooled"), value, [*by, "topic"], n_resamples=n_resamples, seed=seed
    )
    return pd.concat([rows, pd.DataFrame(overall), pooled], ignore_index=True).drop(columns="drawn")


def trend(
    frame: pd.DataFrame, by: Sequence[str] = CELL, *, n_resamples: int = 0, seed: int = 0
) -> pd.DataFrame:
    """Does accuracy change with the number of attributes (IJ-19)? The Cochran-Armitage slope inside families.

    slope = sum (s - mean of s in the family) right / sum (s - mean of s in the family)^2, in shares per attribute. The
    test changes the sign of whole families (all patterns, or 9,999): numbers of attributes lie symmetrically in a whole
    family, so this is exact where an answer does not depend on how many are told. Longer profiles are longer texts:
    the slope cannot tell the two apart.

    Returns the columns of `cell_means`, value being the slope, and p, p_holm (over the cells of a model and prompt),
    status `no_families` where no family tells different numbers.
    """
    size = frame["n_attributes"] - frame.groupby([*by, "cluster"])["n_attributes"].transform("mean")
    frame = frame.assign(top=size * frame["right"], bottom=size**2)
    out = _cells(frame, by, n_resamples, seed).drop(columns="drawn")
    shares = [
        one.groupby("cluster")["top"].sum().to_numpy()
        for _, one in frame.groupby(list(by), sort=False)
    ]
    out["p"] = [swap_test(share, seed) for share in shares]
    out["status"] = out["status"].replace("undefined", "no_families")
    return out.assign(
        p_holm=out.groupby(list(MODEL), sort=False)["p"].transform(
            lambda p: holm(p.to_numpy(float))
        )
    )


def flips(frame: pd.DataFrame) -> pd.DataFrame:
    """Every pair of items of a family of which one tells one attribute more, asked alike (IJ-18).

    Returns:
        model, source, prompt_id, topic, ambiguity, question, cluster, added (the attribute), subset (with it),
        n_attributes (with it), choice_before, choice_after (persons, not positions), flip (1.0 where they differ, NaN
        where one of them is invalid), invalid, same_order: whether the options stood in the same order. They are
        shuffled item by item, so a model that answers by position flips where they do not.
    """
    keys = [*MODEL, "topic", "ambiguity", "question", "cluster"]
    keys += [c for c in ("repetition",) if c in frame]
    told = frame[[*keys, "subset", "choice", "order"]]
    after = frame[[*keys, "focal", "n_attributes", "subset", "choice", "order"]]
    after = after.assign(added=after["subset"].str.split("+")).explode("added")
    after = after[(after["added"] != after["focal"]) & (after["focal"] != "")]
    rest = [
        "+".join(n for n in s.split("+") if n != a)
        for s, a in zip(after["subset"], after["added"], strict=True)
    ]
    before = told.rename(columns={"subset": "rest"})
    pairs = after.assign(rest=rest).merge(
        before, on=[*keys, "rest"], suffixes=("_after", "_before")
    )
    invalid = pairs["choice_after"].isna() | pairs["choice_before"].isna()
    differ = (pairs["choice_after"] != pairs["choice_before"]).astype(float).mask(invalid)
    pairs = pairs.assign(
        flip=differ, invalid=invalid, same_order=pairs["order_after"] == pairs["order_before"]
    )
    return pairs.drop(columns=["focal", "rest", "order_after", "order_before"])


def interactions(
    frame: pd.DataFrame, value: str = "right", by: Sequence[str] = (*CELL, "question")
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
    """
    tests, terms = [], []
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
                term=large["term"].str.replace(r"Q\('(.*?)'\)", r"\1", regex=True), **where
            )
        )
    tests = pd.DataFrame(tests)
    tests["p_holm"] = tests.groupby(list(MODEL), sort=False)["p"].transform(
        lambda p: holm(p.to_numpy(float))
    )
    return tests, pd.concat(terms, ignore_index=True)
