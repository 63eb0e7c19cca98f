"""Verdicts of a judge asked in both orders: un-swapping, three ways to settle them, agreement with
people (LJ-8 to 20).

A letter names a slot of one presentation; un-swapped it names a system, and only then may two
orders be compared or averaged. Counts are kept as counts and divided once (LJ-20); shares lie in
[0, 1].

An output without a readable verdict, or an order that is not there, makes a comparison invalid: no
method has a verdict for it, it is not robust, and it agrees with nobody. It stays in every
denominator and is counted as `n_invalid`.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frame_checks import FrameError, check_frame, with_items
from katayori.metrics import ties
from katayori.metrics.choices import MEANING, unswapped
from katayori.metrics.label_agreement import (
    agreement_row,
    mean_gain,
    mean_share,
    sums_by_cluster,
)
from katayori.metrics.share_intervals import ratio_interval, share_interval
from katayori.metrics.uncertainty import cells, sign_test, status_of
from katayori.metrics.unit_tables import categories_of

BY = ("model", "source", "prompt_id")
#: The order in which equal means are settled: C, then A, then B (LJ-13).
VERDICTS = ("tie", "1", "2")
METHODS = ("BS1", "BS2", "proposed")
AMONG = ("all", "stable", "biased")
GAIN = "proposed - BS2"


def judge_verdicts(frame: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Both orders of every pair side by side, and the final verdicts of the three methods (LJ-13,
    LJ-14).

    Args:
        frame: frame "both orders" of `frame_checks`: one row per `by`, pair_id and order, as of
            `prompting.letters.verdicts_frame`: letter, outcome, and where known p_A, p_B, p_C and
            mass.

    Returns:
        One row per `by` and pair_id; letters and verdicts are objects, None where there is none:
        letter_12, letter_21 (raw), verdict_12, verdict_21 (un-swapped);
        status: `ok`, `invalid` (an order without a verdict) or `missing_order`;
        consistent: both orders name the same;
        BS1: the common verdict, None where the orders differ. BS2: a tie where they differ;
        p_1, p_2, p_tie, mass: means over both orders, NaN where one is unknown;
        proposed: the likeliest by these means, whatever the letters say;
        proposed_biased_only: the same where the orders differ, else the common verdict (the reading
            of section 1);
        log_odds: ln P(1) / P(2), the mean of both orders, NaN where one of the four is 0 or
            unknown;
        proposed_status: `ok`; `tied_means`, equal to 12 digits, settled in the order of `VERDICTS`;
        `no_probabilities`, then without a verdict; or the status of the comparison;
        and, where the frame holds them, what is known of the comparison (`labels_in`).

    Raises:
        FrameError: what `check_frame` finds wrong. ValueError: two answers to one pair in
        one order, and as `unswapped`.

    Reference: the logprob-judge paper, sections 3 and 4.1.

    Example:
        >>> both = pd.DataFrame({"pair_id": 1, "order": ["12", "21"], "letter": ["A", "A"]})
        >>> both = both.assign(model="m", outcome="ok", p_A=[0.9, 0.6], p_B=[0.1, 0.4], p_C=0.0)
        >>> judge_verdicts(both, by=["model"])[["BS2", "proposed"]].to_numpy().tolist()
        [['tie', '1']]
    """
    keys = [*by, "pair_id"]
    known = unswapped(check_frame(frame, "both orders"))
    twice = known.duplicated([*keys, "order"])
    if twice.any():
        raise ValueError(
            f"{twice.sum()} answers are given twice, e.g. to {known.loc[twice, 'pair_id'].iloc[0]}"
        )
    index = pd.MultiIndex.from_frame(known[keys].drop_duplicates())
    sides = {
        order: known[known["order"] == order].set_index(keys).reindex(index) for order in MEANING
    }
    first, second = sides.values()
    out = pd.DataFrame(index=index)
    for name in ("letter", "verdict"):
        for order, side in sides.items():
            out[f"{name}_{order}"] = _or_none(side[name])
    valid = first["verdict"].notna() & second["verdict"].notna()
    absent = first["outcome"].isna() | second["outcome"].isna()
    out["status"] = np.select([absent, ~valid], ["missing_order", "invalid"], "ok")
    out["consistent"] = valid & (first["verdict"] == second["verdict"])
    common = first["verdict"].astype(object)
    out["BS1"] = _or_none(common, out["consistent"])
    out["BS2"] = _or_none(common.where(out["consistent"], "tie"), valid)
    shares = [f"p_{verdict}" for verdict in VERDICTS]
    for name in (*shares, "mass"):
        out[name] = (first[name] + second[name]) / 2 if name in known else np.nan
    out["log_odds"] = (_log_odds(first) + _log_odds(second)) / 2
    means = out[shares].to_numpy(float)
    has_means = valid & ~np.isnan(means).any(axis=1) & (means > 0).any(axis=1)
    means = np.where(has_means.to_numpy()[:, None], means, 0.0)
    highest = ties.highest(means)
    tied = highest.sum(axis=1) > 1
    likeliest = pd.Series(np.array(VERDICTS, dtype=object)[highest.argmax(axis=1)], out.index)
    out["proposed"] = _or_none(likeliest, has_means)
    out["proposed_biased_only"] = _or_none(out["BS1"].where(out["consistent"], out["proposed"]))
    out["proposed_status"] = np.select(
        [~valid, ~has_means, tied], [out["status"], "no_probabilities", "tied_means"], "ok"
    )
    of_pair = known.drop_duplicates(keys).set_index(keys)[labels_in(frame)]
    return out.join(of_pair).reset_index()


def _or_none(values: pd.Series, known: "pd.Series | None" = None) -> pd.Series:
    """The values as objects, None where they are missing or not `known`: one form of missing."""
    held = values.notna() if known is None else values.notna() & known
    objects = [value if kept else None for value, kept in zip(values, held, strict=True)]
    return pd.Series(objects, values.index, dtype=object)


def _log_odds(side: pd.DataFrame) -> "pd.Series | float":
    """ln P(1) / P(2) of one order; NaN where one of them is 0 or unknown."""
    if "p_1" not in side:
        return np.nan
    one, two = (side[name].where(side[name] > 0) for name in ("p_1", "p_2"))
    return np.log(one) - np.log(two)


def order_log_odds(frame: pd.DataFrame) -> pd.DataFrame:
    """ln P(1) / P(2) of every call, un-swapped: how much a judge prefers system 1 in that order.

    Args:
        frame: frame "both orders" of `frame_checks`, with model.

    Returns:
        model, pair_id, order, log_odds (NaN where a probability is 0 or unknown).

    Example:
        >>> both = pd.DataFrame({"pair_id": 1, "order": ["12", "21"], "letter": "A", "p_A": 0.8})
        >>> both = both.assign(model="m", outcome="ok", p_B=0.2)
        >>> order_log_odds(both)["log_odds"].round(2).tolist()
        [1.39, -1.39]
    """
    known = unswapped(check_frame(frame, "both orders"))
    return known[["model", "pair_id", "order"]].assign(log_odds=_log_odds(known))


# -- agreement with people -------------------------------------------------------------------------


def annotators_of(comparisons: pd.DataFrame) -> list[str]:
    """The columns of people's verdicts or, without any, the truth by construction.

    Example:
        >>> annotators_of(pd.DataFrame(columns=["item_id", "annotator_a", "annotator_b"]))
        ['annotator_a', 'annotator_b']
    """
    columns = [str(name) for name in comparisons.columns]
    people = [name for name in columns if name.startswith("annotator_")]
    return people or [name for name in columns if name == "truth"]


def labels_in(frame: pd.DataFrame) -> list[str]:
    """The columns that say what is known of a comparison: question, task and people's verdicts.

    Example:
        >>> labels_in(pd.DataFrame(columns=["item_id", "task", "annotator_1", "answer_a"]))
        ['task', 'annotator_1']
    """
    names = [str(name) for name in frame.columns]
    shared = ("question_id", "task", "truth")
    return [name for name in names if name in shared or name.startswith("annotator_")]


def joined_labels(
    verdicts: pd.DataFrame, comparisons: pd.DataFrame | None, annotators: Sequence[str]
) -> pd.DataFrame:
    """Verdicts with question_id, task and the annotators' labels of their comparison.

    Those of `comparisons` if given (other labels than those of the items asked, or verdicts that no
    judge of ours gave), else those that the verdicts hold.

    Raises FrameError for verdicts on unknown comparisons, and for labels that are not there.

    Example:
        >>> texts = pd.DataFrame({"item_id": [1], "question_id": 7, "task": "x", "truth": "tie"})
        >>> joined_labels(pd.DataFrame({"pair_id": [1]}), texts, ["truth"])["truth"].tolist()
        ['tie']
    """
    if comparisons is not None:
        columns = ["question_id", "task", *annotators]
        verdicts = with_items(verdicts, comparisons, columns, on="pair_id")
    joined = check_frame(verdicts, "labelled verdicts")
    if absent := [name for name in annotators if name not in joined]:
        raise FrameError(f"the verdicts lack the labels {absent[0]!r}; give the comparisons")
    return joined.reset_index(drop=True)


def _people(verdicts: pd.DataFrame, comparisons: pd.DataFrame | None) -> list[str]:
    """The columns of people's verdicts, where they are to be taken from."""
    return annotators_of(verdicts if comparisons is None else comparisons)


def _cells(
    joined: pd.DataFrame, by: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Every cell of `by`: all comparisons pooled, then task by task."""
    for key, one in cells(joined, by):
        yield key | {"task": "all"}, one
        for task, part in one.groupby("task", sort=False):
            yield key | {"task": task}, part


def concordance(
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame | None = None,
    annotators: Sequence[str] = (),
    *,
    among: str = "all",
    by: Sequence[str] = BY,
) -> pd.DataFrame:
    """Share of comparisons on which a method says what a person says, averaged over the people
    (LJ-17, eq. 1).

    Comparisons are pooled, never averaged over tasks, and no majority vote is taken. Additions to
    the paper (LJ-19):
    the choice of comparisons, the intervals, and the rows `proposed - BS2`.

    Args:
        verdicts: of `judge_verdicts`.
        comparisons: of `papers.logprob_judge.items`, for other labels than the verdicts hold.
        annotators: their columns; default, those of `annotators_of`. A missing label is left out
            for that person.
        among: `all`; `stable`, only comparisons whose orders agree; `biased`, only those whose
            orders differ.

    Returns:
        A row per cell of `by`, task ("all" pools them) and method: value; ci_low, ci_high (over
        questions: `share_interval` of all labels together; of the gain the interval of
        the questions' contributions, by t) and ci_status (`intervals`: `ok`, `few_clusters`,
        `no_variation`, ...); of the gain p_cluster (each question's gain may change its sign,
        exact) and p_sign (exact sign test over comparisons, by how many people each agrees with:
        McNemar's with one annotator; it takes comparisons as independent; NaN where none differs);
        n (labels), n_correct, n_comparisons, clusters, n_invalid (comparisons whose orders, or for
        `proposed` probabilities, are not there), n_missing (labels), status, and the share of each
        annotator under its name. status: `ok`; `no_comparisons`; `no_labels`; `no_valid_verdict`;
        all but `ok` with value NaN.

    Coverage of the gain (data/simulated/interval_coverage.csv; 5 to 50 questions of 1 or 3 pairs):
    4 of 16 cells below 93 %, .88 for a gain of 6 points over 20 questions of one pair, .92 to .93
    in the others; 4 with an interval in fewer than 80 % of studies (5 or 10 questions of one pair,
    where no two questions differ).

    Raises:
        ValueError: verdicts on unknown comparisons, no annotators, an unknown `among`.

    Reference: the logprob-judge paper, section 4.1; McNemar, Psychometrika 12 (1947), 153-157.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> table = concordance(examples.verdicts(), examples.comparisons(), ["truth"])
        >>> table.query("task == 'all'")[["method", "value", "n"]].round(3).to_numpy().tolist()
        [['BS1', 0.233, 30], ['BS2', 0.467, 30], ['proposed', 0.767, 30],
         ['proposed - BS2', 0.3, 30]]
    """
    annotators = list(annotators) or _people(verdicts, comparisons)
    if among not in AMONG or not annotators:
        raise ValueError(
            f"among {among!r} of {', '.join(AMONG)}, annotators {annotators}: one is not known"
        )
    rows: list[dict[str, Any]] = []
    for key, cell in _cells(joined_labels(verdicts, comparisons, annotators), by):
        kept = cell[_chosen(cell, among)]
        rows += [key | row for row in _agreement_rows(kept, annotators)]
    columns = [*by, "task", "method", "value", "ci_low", "ci_high", "ci_status", "p_cluster"]
    columns += ["p_sign", "n", "n_correct", "n_comparisons", "clusters", "n_invalid", "n_missing"]
    frame = pd.DataFrame(rows, columns=[*columns, "status", *annotators])
    return frame.astype({"n_correct": "Int64"})


def _chosen(cell: pd.DataFrame, among: str) -> pd.Series:
    """Which comparisons count: all, those whose orders agree, or those whose orders differ."""
    if among == "all":
        return pd.Series(True, cell.index)
    if among == "stable":
        return cell["consistent"]
    return (cell["status"] == "ok") & ~cell["consistent"]


def _agreement_rows(kept: pd.DataFrame, annotators: list[str]) -> Iterator[dict[str, Any]]:
    """A row per method and one of the gain, of the comparisons of one cell."""
    given = kept[annotators].notna().to_numpy()
    question, names = pd.factorize(kept["question_id"])
    labels = sums_by_cluster(given, question, len(names))
    n = int(given.sum())
    same = {
        "n": n,
        "n_comparisons": len(kept),
        "clusters": len(names),
        "n_missing": given.size - n,
    }
    hits = {}
    sums = {}
    for method in METHODS:
        hits[method] = kept[annotators].eq(kept[method], axis=0).to_numpy() & given
        sums[method] = sums_by_cluster(hits[method], question, len(names))
        invalid = kept["proposed"].isna() if method == "proposed" else kept["status"] != "ok"
        problems = {
            "no_comparisons": not len(kept),
            "no_labels": not n,
            "no_valid_verdict": invalid.all(),
        }
        status = status_of(problems)
        row: dict[str, Any] = {
            "method": method,
            **same,
            "n_correct": int(hits[method].sum()),
            "n_invalid": int(invalid.sum()),
            "status": status,
        }
        if status == "ok":
            row |= mean_share(sums[method], labels, annotators)
        yield row
    # What is invalid for `proposed`, the last of the methods, is so for the gain.
    gain = {"method": GAIN, **same, "n_invalid": row["n_invalid"], "status": status}
    if status == "ok":
        gain |= mean_gain(sums["proposed"] - sums["BS2"], labels)
        more = hits["proposed"].sum(axis=1, dtype=int) - hits["BS2"].sum(axis=1, dtype=int)
        gain["p_sign"] = sign_test(int((more > 0).sum()), int((more < 0).sum()))
    yield gain


def robustness(
    verdicts: pd.DataFrame, comparisons: pd.DataFrame | None = None, by: Sequence[str] = BY
) -> pd.DataFrame:
    """Share of comparisons whose two orders name the same (LJ-18), and where the others lean
    (addition, LJ-19).

    Returns a row per cell of `by` and task: value, ci_low, ci_high, ci_status (over questions:
    `share_interval`), n (all comparisons, invalid ones among them), clusters,
    n_invalid, both_first and both_second (the same slot in both orders), one_tie (a tie in one
    order only), first_share (A among the A and B of both orders; .5 without preference, since every
    pair stands both ways) with first_low, first_high and first_status, n_first (those letters),
    status: `ok`, or `no_valid_verdict`, then with value NaN. first_share is NaN where only ties
    were given.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> table = robustness(examples.verdicts(), examples.comparisons()).query("task == 'all'")
        >>> table[["value", "n", "both_first", "both_second"]].round(3).to_numpy().tolist()
        [[0.233, 30.0, 8.0, 0.0]]
    """
    rows = []
    for key, cell in _cells(joined_labels(verdicts, comparisons, ()), by):
        valid = cell["status"] == "ok"
        letters = cell.loc[valid, ["letter_12", "letter_21"]]
        one = letters["letter_12"]
        other = letters["letter_21"]
        each = pd.DataFrame({"steady": cell["consistent"], "n": 1, "first": 0, "slots": 0})
        each.loc[valid, "first"] = (letters == "A").sum(axis=1)
        each.loc[valid, "slots"] = letters.isin(["A", "B"]).sum(axis=1)
        sums = each.astype(float).groupby(cell["question_id"], sort=False).sum()
        steady = share_interval(sums["steady"].tolist(), sums["n"].tolist())
        first = share_interval(sums["first"].tolist(), sums["slots"].tolist())
        if not valid.any():
            unknown = {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan}
            steady |= {**unknown, "status": "no_valid_verdict"}
        row = {
            "value": steady["value"],
            "ci_low": steady["ci_low"],
            "ci_high": steady["ci_high"],
            "ci_status": steady["status"],
            "n": len(cell),
            "clusters": len(sums),
            "n_invalid": int((~valid).sum()),
            "both_first": int(((one == "A") & (other == "A")).sum()),
            "both_second": int(((one == "B") & (other == "B")).sum()),
            "one_tie": int(((one == "C") != (other == "C")).sum()),
            "first_share": first["value"],
            "n_first": int(sums["slots"].sum()),
            "first_low": first["ci_low"],
            "first_high": first["ci_high"],
            "first_status": first["status"],
            "status": "ok" if valid.any() else "no_valid_verdict",
        }
        rows.append(key | row)
    return pd.DataFrame(rows)


def slot_lean(
    frame: pd.DataFrame, comparisons: pd.DataFrame | None = None, by: Sequence[str] = BY
) -> pd.DataFrame:
    """How far a judge leans to the first slot, in log-odds (addition, LJ-19).

    ln P(A) / P(B), averaged over the two orders of a comparison and then over comparisons: what the
    judge makes of the two answers has opposite signs in the two orders and cancels, what it gives
    the slot stays.

    Returns a row per cell of `by`: value, ci_low, ci_high (by t over the questions' contributions),
    n (comparisons), clusters (those with a value), n_invalid (comparisons where A or B has no
    probability in an order, left out), status: `ok`, `no_probabilities`, `few_clusters`, or
    `no_variation` (all questions alike: no interval).

    Example:
        >>> calls = pd.DataFrame({"model": "m", "source": "s", "prompt_id": "p"}, range(6))
        >>> calls = calls.assign(task="t", order=["12", "21"] * 3, pair_id=list("aabbcc"))
        >>> calls = calls.assign(question_id=calls["pair_id"], p_A=[0.8, 0.5, 0.7, 0.6, 0.9, 0.4])
        >>> slot_lean(calls.assign(p_B=1 - calls["p_A"]))[["value", "n", "status"]].round(2)
           value  n        status
        0   0.74  3  few_clusters
    """
    p_first = frame["p_A"].where(frame["p_A"] > 0)
    p_second = frame["p_B"].where(frame["p_B"] > 0)
    odds = frame.assign(odds=np.log(p_first) - np.log(p_second))
    by_pair = odds.groupby([*by, "pair_id"], sort=False)
    each = by_pair["odds"].agg(["mean", "count"])
    each = each.join(by_pair[labels_in(frame)].first()).reset_index()
    rows = []
    for key, cell in cells(joined_labels(each, comparisons, ()), by):
        valid = cell[cell["count"] == len(MEANING)]
        sums = valid.groupby("question_id", sort=False)["mean"].agg(["sum", "size"])
        interval = ratio_interval(sums["sum"].tolist(), sums["size"].tolist())
        row = {
            "value": interval["value"],
            "ci_low": interval["ci_low"],
            "ci_high": interval["ci_high"],
            "n": len(cell),
            "clusters": len(sums),
            "n_invalid": len(cell) - len(valid),
            "status": interval["status"] if len(valid) else "no_probabilities",
        }
        rows.append(key | row)
    columns = [*by, "value", "ci_low", "ci_high", "n", "clusters", "n_invalid", "status"]
    return pd.DataFrame(rows, columns=columns)


def calibration(
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame | None = None,
    annotators: Sequence[str] = (),
    *,
    bins: int = 10,
    by: Sequence[str] = BY,
) -> pd.DataFrame:
    """How often the proposed verdict is right where its mean probability is so and so (addition,
    LJ-19).

    Labels of all annotators count one by one. Probabilities are the means as they are, not
    renormalised.

    Returns a row per cell of `by` and bin of equal width: low, high, n (labels), mean_p,
    share_correct, and, the same in every bin of a cell, brier (mean over labels of the squared
    differences to the label, summed over three verdicts:
    0 to 2) with brier_low, brier_high and brier_status over questions (`ratio_interval`),
    clusters, and n_invalid (comparisons without probabilities, left out). Empty bins have no
    row.

    Reference: G. W. Brier, Monthly Weather Review 78 (1950), 1-3.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> table = calibration(examples.verdicts(), examples.comparisons(), ["truth"], bins=2)
        >>> table[["low", "high", "n", "mean_p", "share_correct"]].round(3).to_numpy().tolist()
        [[0.0, 0.5, 13.0, 0.41, 0.462], [0.5, 1.0, 17.0, 0.628, 1.0]]
    """
    annotators = list(annotators) or _people(verdicts, comparisons)
    shares = [f"p_{verdict}" for verdict in VERDICTS]
    rows = []
    for key, cell in cells(joined_labels(verdicts, comparisons, annotators), by):
        known = cell[cell["proposed"].notna()]
        columns = ["question_id", "proposed", *shares]
        long = known.melt(columns, annotators, value_name="label").dropna(subset="label")
        squares = [(long[f"p_{v}"] - (long["label"] == v)) ** 2 for v in VERDICTS]
        brier = _brier(pd.concat(squares, axis=1).sum(axis=1), long["question_id"])
        p = long[shares].max(axis=1)
        number = (p * bins).astype(int).clip(upper=bins - 1).to_numpy()
        judged = long.assign(p=p, right=long["label"] == long["proposed"])
        for place in np.unique(number):
            one = judged[number == place]
            row = {
                "low": place / bins,
                "high": (place + 1) / bins,
                "n": len(one),
                "mean_p": one["p"].mean(),
                "share_correct": one["right"].mean(),
                "n_invalid": len(cell) - len(known),
            }
            rows.append(key | brier | row)
    names = [*by, "low", "high", "n", "mean_p", "share_correct", "brier", "brier_low", "brier_high"]
    return pd.DataFrame(rows, columns=[*names, "brier_status", "clusters", "n_invalid"])


def _brier(errors: pd.Series, question: pd.Series) -> dict[str, Any]:
    """The mean squared error of labels with its interval over questions."""
    sums = errors.groupby(question, sort=False).agg(["sum", "size"])
    interval = ratio_interval(sums["sum"].tolist(), sums["size"].tolist())
    return {
        "brier": errors.mean(),
        "brier_low": interval["ci_low"],
        "brier_high": interval["ci_high"],
        "brier_status": interval["status"],
        "clusters": len(sums),
    }


# -- agreement between people ----------------------------------------------------------------------


#: Measures of `human_agreement` over all people; Cohen's kappa is of two.
_OF_ALL = ("fleiss_kappa", "krippendorff_alpha", "leave_one_out", "ceiling")


def human_agreement(comparisons: pd.DataFrame, annotators: Sequence[str] = ()) -> pd.DataFrame:
    """How far people agree, by task and pooled ("all"): the paper's kappa (LJ-3) and additions
    (LJ-19).

    Measures: fleiss_kappa (statsmodels; comparisons with a missing label left out); cohen_kappa of
    each two people (statsmodels); krippendorff_alpha, nominal, which takes missing labels;
    leave_one_out, the concordance of one person in the place of the judge with the others, averaged
    over persons; ceiling, the highest concordance any judge could reach, by saying what most people
    say.

    Labels may be of any kind, such as "1", "2", "tie", letters, or numbers of categories; every
    value that occurs is a category. Without a column `task` only the pooled rows are given.

    Returns task, measure, between (the two people of a cohen_kappa, else all), value, ci_low,
    ci_high and ci_status (of the pooled rows, where there is a column question_id: by t on the
    jackknife over questions; else `not_computed`), clusters, n (comparisons used), n_left_out,
    status: `ok`; `one_annotator`; `no_comparisons`; `constant` (one verdict only, kappa undefined);
    NaN but for ok.

    References: J. L. Fleiss, Psychological Bulletin 76 (1971), 378-382; J. Cohen, Educational and
    Psychological Measurement 20 (1960), 37-46; K. Krippendorff, Content Analysis (2004), ch. 11.

    Raises KatayoriError, naming what is there, without any column of labels and for one that is not
    there.

    Example:
        >>> labels = pd.DataFrame({"annotator_a": list("1122"), "annotator_b": list("1121")})
        >>> human_agreement(labels).set_index("measure").loc["cohen_kappa", "value"]
        np.float64(0.5)
    """
    annotators = list(annotators) or annotators_of(comparisons)
    _require_labels(comparisons, annotators)
    categories = categories_of(comparisons[annotators])
    measures = [(name, annotators) for name in _OF_ALL]
    measures += [("cohen_kappa", list(two)) for two in itertools.combinations(annotators, 2)]
    parts: list[tuple[Any, pd.DataFrame]] = [("all", comparisons)]
    if "task" in comparisons:
        parts += list(comparisons.groupby("task", sort=False))
    rows = []
    for task, part in parts:
        for measure, people in measures:
            labels = [part[name].map(categories, na_action="ignore") for name in people]
            codes = np.column_stack([label.to_numpy(float) for label in labels])
            question = part.get("question_id") if task == "all" else None
            row = agreement_row(measure, codes, question, len(categories))
            rows.append({"task": task, "measure": measure, "between": " | ".join(people), **row})
    columns = ["task", "measure", "between", "value", "ci_low", "ci_high", "ci_status"]
    columns += ["clusters", "n", "n_left_out", "status"]
    frame = pd.DataFrame(rows, columns=columns).astype({"clusters": "Int64"})
    frame["ci_status"] = frame["ci_status"].astype(object).fillna("not_computed")
    return frame


def _require_labels(comparisons: pd.DataFrame, annotators: list[str]) -> None:
    there = ", ".join(map(str, comparisons.columns))
    absent = [name for name in annotators if name not in comparisons]
    if absent:
        raise KatayoriError(f"no column {absent[0]} of labels; the columns are {there}")
    if not annotators:
        raise KatayoriError(
            f"no column annotator_<name> or truth among {there}; name them with `annotators`"
        )
