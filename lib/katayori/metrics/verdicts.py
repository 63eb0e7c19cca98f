"""Verdicts of a judge asked in both orders: un-swapping, three ways to settle them, agreement with people (LJ-8 to 20).

A letter names a slot of one presentation; un-swapped it names a system, and only then may two orders be compared or
averaged. Counts are kept as counts and divided once (LJ-20); shares lie in [0, 1].

An output without a readable verdict, or an order that is not there, makes a comparison invalid: no method has a verdict
for it, it is not robust, and it agrees with nobody. It stays in every denominator and is counted as `n_invalid`.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
from statsmodels.stats import inter_rater

from katayori.errors import KatayoriError
from katayori.metrics.intervals import (
    NO_INTERVAL_BELOW,
    mean_interval,
    ratio_interval,
    share_interval,
)
from katayori.metrics.question_swaps import question_swap_test
from katayori.metrics.rank_tests import DIGITS
from katayori.metrics.uncertainty import cells, sign_test, status_of

BY = ("model", "source", "prompt_id")
#: What a letter means in each order: system 1 stands as A in order "12", as B in order "21" (LJ-8).
MEANING = {"12": {"A": "1", "B": "2", "C": "tie"}, "21": {"A": "2", "B": "1", "C": "tie"}}
#: The order in which equal means are settled: C, then A, then B (LJ-13).
VERDICTS = ("tie", "1", "2")
METHODS = ("BS1", "BS2", "proposed")
AMONG = ("all", "stable", "biased")
GAIN = "proposed - BS2"


# -- un-swapping -------------------------------------------------------------------------------------------------------


def unswapped(
    frame: pd.DataFrame, meaning: Mapping[str, Mapping[str, str]] = MEANING
) -> pd.DataFrame:
    """Raw letters kept, and beside them what they mean (LJ-8): `verdict`, and p_<meaning> for every p_<letter>.

    Args:
        frame: order, letter (None where there is none), outcome, and where known p_<letter>.
        meaning: order -> letter -> content; for two answers in both orders `MEANING`.

    Returns the frame with `verdict` (None unless outcome is ok) and the probabilities by content.

    Raises ValueError for an order, or a letter of an ok answer, that `meaning` does not know.
    """
    if unknown := set(frame["order"]) - set(meaning):
        raise ValueError(f"orders {sorted(map(str, unknown))}; known: {', '.join(meaning)}")
    ok, verdicts = (frame["outcome"] == "ok").to_numpy(), np.full(len(frame), None, dtype=object)
    shares: dict[str, np.ndarray] = {}
    for order, letters in meaning.items():
        here = (frame["order"] == order).to_numpy()
        if (odd := ~frame.loc[here & ok, "letter"].isin(letters)).any():
            raise ValueError(
                f"{odd.sum()} ok answers of order {order} have none of the letters {', '.join(letters)}"
            )
        verdicts[here & ok] = frame.loc[here & ok, "letter"].map(letters)
        for letter, content in letters.items():
            if f"p_{letter}" in frame:
                share = shares.setdefault(f"p_{content}", np.full(len(frame), np.nan))
                share[here] = frame.loc[here, f"p_{letter}"]
    return frame.assign(verdict=pd.Series(verdicts, frame.index, dtype=object), **shares)


def judge_verdicts(frame: pd.DataFrame, by: Sequence[str] = BY) -> pd.DataFrame:
    """Both orders of every pair side by side, and the final verdicts of the three methods (LJ-13, LJ-14).

    Args:
        frame: one row per `by`, pair_id and order, as of `prompting.verdicts.verdicts_frame`: letter, outcome, and
            where known p_A, p_B, p_C and mass.

    Returns:
        One row per `by` and pair_id; letters and verdicts are objects, None where there is none:
        letter_12, letter_21 (raw), verdict_12, verdict_21 (un-swapped);
        status: `ok`, `invalid` (an order without a verdict) or `missing_order`;
        consistent: both orders name the same;
        BS1: the common verdict, None where the orders differ. BS2: a tie where they differ;
        p_1, p_2, p_tie, mass: means over both orders, NaN where one is unknown;
        proposed: the likeliest by these means, whatever the letters say;
        proposed_biased_only: the same where the orders differ, else the common verdict (the reading of section 1);
        log_odds: ln P(1) / P(2), the mean of both orders, NaN where one of the four is 0 or unknown;
        proposed_status: `ok`; `tied_means`, equal to 12 digits, settled in the order of `VERDICTS`;
        `no_probabilities`, then without a verdict; or the status of the comparison.

    Raises:
        ValueError: two answers to one pair in one order, and as `unswapped`.

    Reference: the logprob-judge paper, sections 3 and 4.1.
    """
    keys, known = [*by, "pair_id"], unswapped(frame)
    if (twice := known.duplicated([*keys, "order"])).any():
        raise ValueError(
            f"{twice.sum()} answers are given twice, e.g. to {known.loc[twice, 'pair_id'].iloc[0]}"
        )
    index = pd.MultiIndex.from_frame(known[keys].drop_duplicates())
    sides = {
        order: known[known["order"] == order].set_index(keys).reindex(index) for order in MEANING
    }
    first, second = sides.values()
    out = pd.DataFrame(
        {
            f"{name}_{o}": _or_none(side[name])
            for name in ("letter", "verdict")
            for o, side in sides.items()
        }
    )
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
    means = out[shares].to_numpy(float).round(DIGITS)
    has_means = valid & ~np.isnan(means).any(axis=1) & (means > 0).any(axis=1)
    means = np.where(has_means.to_numpy()[:, None], means, 0.0)
    tied = (means == means.max(axis=1, keepdims=True)).sum(axis=1) > 1
    likeliest = pd.Series(np.array(VERDICTS, dtype=object)[means.argmax(axis=1)], out.index)
    out["proposed"] = _or_none(likeliest, has_means)
    either = out["BS1"].where(out["consistent"], out["proposed"])
    out["proposed_biased_only"] = _or_none(either)
    why = [~valid, ~has_means, tied]
    out["proposed_status"] = np.select(why, [out["status"], "no_probabilities", "tied_means"], "ok")
    return out.reset_index()


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


# -- agreement with people ---------------------------------------------------------------------------------------------


def annotators_of(comparisons: pd.DataFrame) -> list[str]:
    """The columns of people's verdicts or, without any, the truth by construction."""
    columns = [str(name) for name in comparisons.columns]
    people = [name for name in columns if name.startswith("annotator_")]
    return people or [name for name in columns if name == "truth"]


def joined_labels(
    verdicts: pd.DataFrame, comparisons: pd.DataFrame, annotators: Sequence[str]
) -> pd.DataFrame:
    """Verdicts with question_id, task and the annotators' labels of their comparison.

    Raises ValueError for verdicts on unknown comparisons.
    """
    columns = ["item_id", "question_id", "task", *annotators]
    told = comparisons[columns].rename(columns={"item_id": "pair_id"})
    if lost := set(verdicts["pair_id"]) - set(told["pair_id"]):
        raise ValueError(f"{len(lost)} verdicts belong to no comparison, e.g. {min(lost)}")
    return verdicts.merge(told, on="pair_id", how="left", validate="many_to_one")


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
    comparisons: pd.DataFrame,
    annotators: Sequence[str] = (),
    *,
    among: str = "all",
    by: Sequence[str] = BY,
) -> pd.DataFrame:
    """Share of comparisons on which a method says what a person says, averaged over the people (LJ-17, eq. 1).

    Comparisons are pooled, never averaged over tasks, and no majority vote is taken. Additions to the paper (LJ-19):
    the choice of comparisons, the intervals, and the rows `proposed - BS2`.

    Args:
        verdicts: of `judge_verdicts`.
        comparisons: of `data.judge`.
        annotators: their columns; default, those of `annotators_of`. A missing label is left out for that person.
        among: `all`; `stable`, only comparisons whose orders agree; `biased`, only those whose orders differ.

    Returns:
        A row per cell of `by`, task ("all" pools them) and method: value; ci_low, ci_high (over
        questions: `intervals.share_interval` of all labels together; of the gain the interval of
        the questions' contributions, by t) and ci_status (`intervals`: `ok`, `few_clusters`,
        `no_variation`, ...); of the gain p_question (each question's gain may change its sign,
        exact) and p_sign (exact sign test over comparisons, by how many people each agrees with:
        McNemar's with one annotator; it takes comparisons as independent; NaN where none differs);
        n (labels), n_hits, n_comparisons, n_questions, n_invalid (comparisons whose orders, or for
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
    """
    annotators = list(annotators) or annotators_of(comparisons)
    if among not in AMONG or not annotators:
        raise ValueError(
            f"among {among!r} of {', '.join(AMONG)}, annotators {annotators}: one is not known"
        )
    rows: list[dict[str, Any]] = []
    for key, cell in _cells(joined_labels(verdicts, comparisons, annotators), by):
        kept = cell[_chosen(cell, among)]
        rows += [key | row for row in _agreement_rows(kept, annotators)]
    columns = [*by, "task", "method", "value", "ci_low", "ci_high", "ci_status", "p_question"]
    columns += ["p_sign", "n", "n_hits", "n_comparisons", "n_questions", "n_invalid", "n_missing"]
    frame = pd.DataFrame(rows, columns=[*columns, "status", *annotators])
    return frame.astype({"n_hits": "Int64"})


def _chosen(cell: pd.DataFrame, among: str) -> pd.Series:
    """Which comparisons count: all, those whose orders agree, or those whose orders differ."""
    valid = cell["status"] == "ok"
    if among == "all":
        return valid | True
    return cell["consistent"] if among == "stable" else valid & ~cell["consistent"]


def _agreement_rows(kept: pd.DataFrame, annotators: list[str]) -> Iterator[dict[str, Any]]:
    """A row per method and one of the gain, of the comparisons of one cell."""
    given = kept[annotators].notna().to_numpy()
    hits = {m: kept[annotators].eq(kept[m], axis=0).to_numpy() & given for m in METHODS}
    question, names = pd.factorize(kept["question_id"])
    labels = _by_question(given, question, len(names))
    same = {"n": int(given.sum()), "n_comparisons": len(kept), "n_questions": len(names)}
    same["n_missing"] = given.size - same["n"]
    invalid = {m: kept["status"] != "ok" for m in METHODS} | {"proposed": kept["proposed"].isna()}
    sums = {m: _by_question(hits[m], question, len(names)) for m in METHODS}
    status = "ok"
    for method in METHODS:
        row = {"method": method, **same, "n_hits": int(hits[method].sum())}
        row["n_invalid"] = int(invalid[method].sum())
        why = {
            "no_comparisons": not len(kept),
            "no_labels": not same["n"],
            "no_valid_verdict": invalid[method].all(),
        }
        row["status"] = status = status_of(why)
        if status == "ok":
            row |= _share(sums[method], labels, annotators)
        yield row
    gain = {"method": GAIN, **same, "n_invalid": row["n_invalid"], "status": status}
    if status == "ok":
        gain |= _gain(sums["proposed"] - sums["BS2"], labels)
        more = (hits["proposed"].sum(axis=1, dtype=int)) - hits["BS2"].sum(axis=1, dtype=int)
        gain["p_sign"] = sign_test(int((more > 0).sum()), int((more < 0).sum()))
    yield gain


def _by_question(counted: np.ndarray, question: np.ndarray, n_questions: int) -> np.ndarray:
    """Sums over the comparisons of each question: questions x annotators."""
    sums = np.zeros((n_questions, counted.shape[1]))
    np.add.at(sums, question, counted)
    return sums


def _share(hits: np.ndarray, labels: np.ndarray, annotators: list[str]) -> dict[str, Any]:
    """The mean of the annotators' shares (exact, divided once) with its interval."""
    counts = zip(hits.sum(axis=0).astype(int), labels.sum(axis=0).astype(int), strict=True)
    each = [Fraction(int(h), int(n)) if n else None for h, n in counts]
    shares = [share for share in each if share is not None]
    found = share_interval(hits.sum(axis=1), labels.sum(axis=1))
    row = {"value": float(sum(shares) / len(shares)), "ci_status": found["status"]}
    row |= {"ci_low": found["ci_low"], "ci_high": found["ci_high"]}
    alone = [float(share) if share is not None else np.nan for share in each]
    return row | dict(zip(annotators, alone, strict=True))


def _gain(gained: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """The mean over annotators of (hits gained / labels), from questions x annotators.

    The contribution of a question is, for each annotator, (gained - share x labels) over the mean
    number of labels: their spread is that of the gain (linearised, as `ratio_interval`).
    """
    heard = labels.sum(axis=0) > 0
    gained, labels = gained[:, heard], labels[:, heard]
    totals = labels.sum(axis=0)
    shares = [Fraction(int(g), int(n)) for g, n in zip(gained.sum(axis=0), totals, strict=True)]
    value = float(sum(shares) / len(shares))
    each = np.array([float(share) for share in shares])
    parts = (gained - each * labels) / (totals / len(labels))
    found = mean_interval(value + parts.mean(axis=1)[labels.sum(axis=1) > 0])
    row = {"value": value, "n_hits": int(gained.sum()), "ci_status": found["status"]}
    row |= {"ci_low": found["ci_low"], "ci_high": found["ci_high"]}
    return row | {"p_question": question_swap_test(gained.sum(axis=1))}


def robustness(
    verdicts: pd.DataFrame, comparisons: pd.DataFrame, by: Sequence[str] = BY
) -> pd.DataFrame:
    """Share of comparisons whose two orders name the same (LJ-18), and where the others lean (addition, LJ-19).

    Returns a row per cell of `by` and task: value, ci_low, ci_high, ci_status (over questions:
    `intervals.share_interval`), n (all comparisons, invalid ones among them), n_questions,
    n_invalid, both_first and both_second (the same slot in both orders), one_tie (a tie in one
    order only), first_share (A among the A and B of both orders; .5 without preference, since every
    pair stands both ways) with first_low, first_high and first_status, n_first (those letters),
    status: `ok`, or `no_valid_verdict`, then with value NaN. first_share is NaN where only ties
    were given.
    """
    rows = []
    for key, cell in _cells(joined_labels(verdicts, comparisons, ()), by):
        valid = cell["status"] == "ok"
        letters = cell.loc[valid, ["letter_12", "letter_21"]]
        a, b = letters["letter_12"], letters["letter_21"]
        per = pd.DataFrame({"steady": cell["consistent"], "n": 1, "first": 0, "slots": 0})
        per.loc[valid, "first"] = (letters == "A").sum(axis=1)
        per.loc[valid, "slots"] = letters.isin(["A", "B"]).sum(axis=1)
        sums = per.astype(float).groupby(cell["question_id"], sort=False).sum()
        steady = share_interval(sums["steady"].tolist(), sums["n"].tolist())
        first = share_interval(sums["first"].tolist(), sums["slots"].tolist())
        known = bool(valid.any())
        row = key | {"value": steady["value"] if known else np.nan}
        row |= {name: steady[name] if known else np.nan for name in ("ci_low", "ci_high")}
        row |= {"ci_status": steady["status"] if known else "no_valid_verdict", "n": len(cell)}
        row |= {"n_questions": len(sums), "n_invalid": int((~valid).sum())}
        row |= {"both_first": int(((a == "A") & (b == "A")).sum())}
        row |= {"both_second": int(((a == "B") & (b == "B")).sum())}
        row |= {"one_tie": int(((a == "C") != (b == "C")).sum())}
        row |= {"first_share": first["value"], "n_first": int(sums["slots"].sum())}
        row |= {"first_low": first["ci_low"], "first_high": first["ci_high"]}
        row |= {"first_status": first["status"]}
        rows.append(row | {"status": "ok" if known else "no_valid_verdict"})
    return pd.DataFrame(rows)


def slot_lean(
    frame: pd.DataFrame, comparisons: pd.DataFrame, by: Sequence[str] = BY
) -> pd.DataFrame:
    """How far a judge leans to the first slot, in log-odds (addition, LJ-19).

    ln P(A) / P(B), averaged over the two orders of a comparison and then over comparisons: what the judge makes of the
    two answers has opposite signs in the two orders and cancels, what it gives the slot stays.

    Returns a row per cell of `by`: value, ci_low, ci_high (by t over the questions' contributions),
    n (comparisons), n_questions (those with a value), n_invalid (comparisons where A or B has no
    probability in an order, left out), status: `ok`, `no_probabilities`, `few_clusters`, or
    `no_variation` (all questions alike: no interval).
    """
    odds = np.log(frame["p_A"].where(frame["p_A"] > 0)) - np.log(
        frame["p_B"].where(frame["p_B"] > 0)
    )
    each = (
        frame.assign(odds=odds)
        .groupby([*by, "pair_id"], sort=False)["odds"]
        .agg(["mean", "count"])
        .reset_index()
    )
    rows = []
    for key, cell in cells(joined_labels(each, comparisons, ()), by):
        valid = cell[cell["count"] == len(MEANING)]
        sums = valid.groupby("question_id", sort=False)["mean"].agg(["sum", "size"])
        found = ratio_interval(sums["sum"].tolist(), sums["size"].tolist())
        row = key | {name: found[name] for name in ("value", "ci_low", "ci_high")}
        row |= {"n": len(cell), "n_questions": len(sums), "n_invalid": len(cell) - len(valid)}
        rows.append(row | {"status": found["status"] if len(valid) else "no_probabilities"})
    columns = [*by, "value", "ci_low", "ci_high", "n", "n_questions", "n_invalid", "status"]
    return pd.DataFrame(rows, columns=columns)


def calibration(
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame,
    annotators: Sequence[str] = (),
    *,
    bins: int = 10,
    by: Sequence[str] = BY,
) -> pd.DataFrame:
    """How often the proposed verdict is right where its mean probability is so and so (addition, LJ-19).

    Labels of all annotators count one by one. Probabilities are the means as they are, not renormalised.

    Returns a row per cell of `by` and bin of equal width: low, high, n (labels), mean_p, share_right, and, the same in
    every bin of a cell, brier (mean over labels of the squared differences to the label, summed over three verdicts:
    0 to 2) with brier_low, brier_high and brier_status over questions (`intervals.ratio_interval`),
    n_questions, and n_invalid (comparisons without probabilities, left out). Empty bins have no row.

    Reference: G. W. Brier, Monthly Weather Review 78 (1950), 1-3.
    """
    annotators = list(annotators) or annotators_of(comparisons)
    rows, shares = [], [f"p_{verdict}" for verdict in VERDICTS]
    for key, cell in cells(joined_labels(verdicts, comparisons, annotators), by):
        known = cell[cell["proposed"].notna()]
        columns = ["question_id", "proposed", *shares]
        long = known.melt(columns, annotators, value_name="label").dropna(subset="label")
        each = [(long[f"p_{v}"] - (long["label"] == v)) ** 2 for v in VERDICTS]
        errors = pd.concat(each, axis=1).sum(axis=1)
        brier = _brier(errors, long["question_id"]) | {"n_invalid": len(cell) - len(known)}
        p = long[shares].max(axis=1)
        place = np.minimum((p * bins).astype(int), bins - 1).to_numpy()
        judged = long.assign(p=p, right=long["label"] == long["proposed"])
        for number in np.unique(place):
            one = judged[place == number]
            row = key | brier | {"low": number / bins, "high": (number + 1) / bins, "n": len(one)}
            rows.append(row | {"mean_p": one["p"].mean(), "share_right": one["right"].mean()})
    names = [*by, "low", "high", "n", "mean_p", "share_right", "brier", "brier_low", "brier_high"]
    names += ["brier_status", "n_questions", "n_invalid"]
    return pd.DataFrame(rows, columns=names)


def _brier(errors: pd.Series, question: pd.Series) -> dict[str, Any]:
    """The mean squared error of labels with its interval over questions."""
    sums = errors.groupby(question, sort=False).agg(["sum", "size"])
    found = ratio_interval(sums["sum"].tolist(), sums["size"].tolist())
    row = {"brier": errors.mean(), "brier_low": found["ci_low"], "brier_high": found["ci_high"]}
    return row | {"brier_status": found["status"], "n_questions": len(sums)}


# -- agreement between people ------------------------------------------------------------------------------------------


def human_agreement(comparisons: pd.DataFrame, annotators: Sequence[str] = ()) -> pd.DataFrame:
    """How far people agree, by task and pooled ("all"): the paper's kappa (LJ-3) and additions (LJ-19).

    Measures: fleiss_kappa (statsmodels; comparisons with a missing label left out); cohen_kappa of each two people
    (statsmodels); krippendorff_alpha, nominal, which takes missing labels; leave_one_out, the concordance of one person
    in the place of the judge with the others, averaged over persons; ceiling, the highest concordance any judge could
    reach, by saying what most people say.

    Labels may be of any kind, such as "1", "2", "tie", letters, or numbers of categories; every
    value that occurs is a category. Without a column `task` only the pooled rows are given.

    Returns task, measure, between (the two people of a cohen_kappa, else all), value, ci_low, ci_high and ci_status
    (of the pooled rows, where there is a column question_id: by t on the jackknife over questions; else
    `not_computed`), n_questions, n (comparisons used), n_left_out, status: `ok`; `one_annotator`; `no_comparisons`; `constant` (one verdict only, kappa undefined); NaN but for ok.

    References: J. L. Fleiss, Psychological Bulletin 76 (1971), 378-382; J. Cohen, Educational and Psychological
    Measurement 20 (1960), 37-46; K. Krippendorff, Content Analysis (2004), ch. 11.

    Raises KatayoriError, naming what is there, without any column of labels and for one that is
    not there.
    """
    annotators, rows = list(annotators) or annotators_of(comparisons), []
    if lost := [name for name in annotators if name not in comparisons]:
        there = ", ".join(map(str, comparisons.columns))
        raise KatayoriError(f"no column {lost[0]} of labels; the columns are {there}")
    if not annotators:
        there = ", ".join(map(str, comparisons.columns))
        raise KatayoriError(
            f"no column annotator_<name> or truth among {there}; name them with `annotators`"
        )
    categories = _categories(comparisons[annotators])
    pairs = [("cohen_kappa", list(two)) for two in itertools.combinations(annotators, 2)]
    measures = [
        (name, annotators)
        for name in ("fleiss_kappa", "krippendorff_alpha", "leave_one_out", "ceiling")
    ]
    parts: list[tuple[Any, pd.DataFrame]] = [("all", comparisons)]
    parts += list(comparisons.groupby("task", sort=False)) if "task" in comparisons else []
    for task, part in parts:
        codes = np.column_stack(
            [part[name].map(categories, na_action="ignore").to_numpy(float) for name in annotators]
        )
        for measure, people in measures + pairs:
            own = codes[:, [annotators.index(name) for name in people]]
            present = (~np.isnan(own)).sum(axis=1)
            used = present >= (2 if measure == "krippendorff_alpha" else len(people))
            kept = own[used]
            constant = len(np.unique(kept[~np.isnan(kept)])) < 2 and measure not in (
                "leave_one_out",
                "ceiling",
            )
            why = {
                "one_annotator": len(people) < 2,
                "no_comparisons": not len(kept),
                "constant": constant,
            }
            status = status_of(why)
            value = _agreement(measure, kept, len(categories)) if status == "ok" else np.nan
            row = {"task": task, "measure": measure, "between": " | ".join(people), "value": value}
            row |= {"n": len(kept), "n_left_out": len(own) - len(kept), "status": status}
            if task == "all" and status == "ok" and "question_id" in part:
                question = part.loc[used, "question_id"]
                row |= _jackknife(measure, kept, question, len(categories))
            rows.append(row)
    columns = ["task", "measure", "between", "value", "ci_low", "ci_high", "ci_status"]
    columns += ["n_questions", "n", "n_left_out", "status"]
    frame = pd.DataFrame(rows, columns=columns).astype({"n_questions": "Int64"})
    frame["ci_status"] = frame["ci_status"].astype(object).fillna("not_computed")
    return frame


def _jackknife(
    measure: str, codes: np.ndarray, question: pd.Series, categories: int
) -> dict[str, Any]:
    """The interval of a measure of agreement, by t on the pseudo-values of questions left out."""
    number, names = pd.factorize(question)
    whole = _agreement(measure, codes, categories)
    if len(names) < NO_INTERVAL_BELOW:
        return {"ci_status": "few_clusters", "n_questions": len(names)}
    left = np.array(
        [_agreement(measure, codes[number != q], categories) for q in range(len(names))]
    )
    pseudo = len(names) * whole - (len(names) - 1) * left
    found = mean_interval(pseudo - pseudo.mean() + whole)
    row = {"ci_low": found["ci_low"], "ci_high": found["ci_high"], "ci_status": found["status"]}
    return row | {"n_questions": len(names)}


def _categories(labels: pd.DataFrame) -> dict[Any, int]:
    """A number for every label that occurs, in the order of their names."""
    held = pd.unique(pd.Series(labels.to_numpy(dtype=object).ravel()).dropna())
    return {label: code for code, label in enumerate(sorted(held, key=str))}


def _agreement(measure: str, codes: np.ndarray, categories: int) -> float:
    """One measure of comparisons x people, codes of categories; NaN (missing) only for Krippendorff's alpha."""
    if measure == "krippendorff_alpha":
        return float(krippendorff.alpha(reliability_data=codes.T, level_of_measurement="nominal"))
    counts = (codes[:, :, None] == np.arange(categories)).sum(axis=1)
    if measure == "fleiss_kappa":
        return float(inter_rater.fleiss_kappa(counts))
    if measure == "cohen_kappa":
        table = np.zeros((categories, categories))
        np.add.at(table, tuple(codes.T.astype(int)), 1)
        return float(inter_rater.cohens_kappa(table, return_results=False))
    n, people = codes.shape
    agreeing = (
        counts.max(axis=1).sum()
        if measure == "ceiling"
        else (counts * (counts - 1)).sum() / (people - 1)
    )
    return float(agreeing / (n * people))
