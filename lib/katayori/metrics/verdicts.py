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
from scipy import stats
from statsmodels.stats import inter_rater

from katayori.metrics.rank_tests import DIGITS
from katayori.metrics.uncertainty import cells, cluster_draws, interval, sign_test, status_of

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
        One row per `by` and pair_id:
        letter_12, letter_21 (raw), verdict_12, verdict_21 (un-swapped);
        status: `ok`, `invalid` (an order without a verdict) or `missing_order`;
        consistent: both orders name the same;
        BS1: the common verdict, None where the orders differ. BS2: a tie where they differ;
        p_1, p_2, p_tie, mass: means over both orders, NaN where one is unknown;
        proposed: the likeliest by these means, whatever the letters say;
        proposed_biased_only: the same where the orders differ, else the common verdict (the reading of section 1);
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
        {f"{name}_{o}": side[name] for name in ("letter", "verdict") for o, side in sides.items()}
    )
    valid = first["verdict"].notna() & second["verdict"].notna()
    absent = first["outcome"].isna() | second["outcome"].isna()
    out["status"] = np.select([absent, ~valid], ["missing_order", "invalid"], "ok")
    out["consistent"] = valid & (first["verdict"] == second["verdict"])
    out["BS1"] = first["verdict"].astype(object).where(out["consistent"], None)
    out["BS2"] = out["BS1"].where(out["consistent"] | ~valid, "tie")
    shares = [f"p_{verdict}" for verdict in VERDICTS]
    for name in (*shares, "mass"):
        out[name] = (first[name] + second[name]) / 2 if name in known else np.nan
    means = out[shares].to_numpy(float).round(DIGITS)
    has_means = valid & ~np.isnan(means).any(axis=1) & (means > 0).any(axis=1)
    means = np.where(has_means.to_numpy()[:, None], means, 0.0)
    tied = (means == means.max(axis=1, keepdims=True)).sum(axis=1) > 1
    proposed = pd.Series(np.array(VERDICTS, dtype=object)[means.argmax(axis=1)], index=out.index)
    out["proposed"] = proposed.where(has_means, None)
    out["proposed_biased_only"] = out["BS1"].where(out["consistent"], out["proposed"])
    why = [~valid, ~has_means, tied]
    out["proposed_status"] = np.select(why, [out["status"], "no_probabilities", "tied_means"], "ok")
    return out.reset_index()


# -- agreement with people ---------------------------------------------------------------------------------------------


def annotators_of(comparisons: pd.DataFrame) -> list[str]:
    """The columns of people's verdicts or, without any, the truth by construction."""
    people = [c for c in comparisons if c.startswith("annotator_")]
    return people or [c for c in comparisons if c == "truth"]


def _joined(
    verdicts: pd.DataFrame, comparisons: pd.DataFrame, annotators: Sequence[str]
) -> pd.DataFrame:
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
    n_resamples: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Share of comparisons on which a method says what a person says, averaged over the people (LJ-17, eq. 1).

    Comparisons are pooled, never averaged over tasks, and no majority vote is taken. Additions to the paper (LJ-19):
    the choice of comparisons, the intervals, and the rows `proposed - BS2`.

    Args:
        verdicts: of `judge_verdicts`.
        comparisons: of `data.judge`.
        annotators: their columns; default, those of `annotators_of`. A missing label is left out for that person.
        among: `all`; `stable`, only comparisons whose orders agree; `biased`, only those whose orders differ.
        n_resamples: resamples of the cluster bootstrap over question_id, paired over methods; percentile interval.

    Returns:
        A row per cell of `by`, task ("all" pools them) and method: value, ci_low, ci_high, p_sign (exact sign test of
        proposed against BS2 over comparisons, by how many people each agrees with: McNemar's with one annotator; it
        takes comparisons as independent; NaN where none differs), n (labels), n_hits, n_comparisons, n_questions,
        n_invalid (comparisons whose orders, or for `proposed` probabilities, are not there), n_missing (labels),
        status, and the share of each annotator under its name. status: `ok`; `no_comparisons`; `no_labels`;
        `no_valid_verdict`; all but `ok` with value NaN.

    Raises:
        ValueError: verdicts on unknown comparisons, no annotators, an unknown `among`.

    Reference: the logprob-judge paper, section 4.1; McNemar, Psychometrika 12 (1947), 153-157.
    """
    annotators = list(annotators) or annotators_of(comparisons)
    if among not in AMONG or not annotators:
        raise ValueError(
            f"among {among!r} of {', '.join(AMONG)}, annotators {annotators}: one is not known"
        )
    rows = []
    for key, cell in _cells(_joined(verdicts, comparisons, annotators), by):
        valid = cell["status"] == "ok"
        kept = cell[
            {
                "all": valid | True,
                "stable": cell["consistent"],
                "biased": valid & ~cell["consistent"],
            }[among]
        ]
        given = kept[annotators].notna().to_numpy()
        hits = np.stack(
            [kept[annotators].eq(kept[m], axis=0).to_numpy() & given for m in METHODS], axis=1
        )
        question, names = pd.factorize(kept["question_id"])
        sums = np.zeros((len(names), len(METHODS) + 1, len(annotators)))
        np.add.at(sums, question, np.concatenate([hits, given[:, None]], axis=1))
        drawn = _resampled(sums, n_resamples, seed)
        same = {"n": int(given.sum()), "n_comparisons": len(kept), "n_questions": len(names)}
        same["n_missing"] = given.size - same["n"]
        invalid = {m: kept["status"] != "ok" for m in METHODS} | {
            "proposed": kept["proposed"].isna()
        }
        values: dict[str, Any] = {}
        for i, method in enumerate(METHODS):
            pairs = [
                (int(h), int(n))
                for h, n in zip(hits[:, i].sum(axis=0), given.sum(axis=0), strict=True)
            ]
            shares = [Fraction(h, n) for h, n in pairs if n]
            row = {**key, "method": method, **same, "n_hits": sum(h for h, _ in pairs)}
            row["n_invalid"] = int(invalid[method].sum())
            why = {
                "no_comparisons": not len(kept),
                "no_labels": not shares,
                "no_valid_verdict": invalid[method].all(),
            }
            row["status"] = status_of(why)
            if row["status"] == "ok":
                values[method] = sum(shares) / len(shares)
                each = {
                    a: h / n if n else np.nan for a, (h, n) in zip(annotators, pairs, strict=True)
                }
                row |= {"value": float(values[method])} | each | interval(drawn[:, i])
            rows.append(row)
        row = {
            **key,
            "method": GAIN,
            **same,
            "n_invalid": row["n_invalid"],
            "status": row["status"],
        }
        if row["status"] == "ok":
            more = hits[:, 2].sum(axis=1, dtype=int) - hits[:, 1].sum(axis=1, dtype=int)
            row |= {"value": float(values["proposed"] - values["BS2"]), "n_hits": int(more.sum())}
            won, lost = int((more > 0).sum()), int((more < 0).sum())
            row |= {"p_sign": sign_test(won, lost)} | interval(drawn[:, 2] - drawn[:, 1])
        rows.append(row)
    counts = "n n_hits n_comparisons n_questions n_invalid n_missing status".split()
    columns = [*by, *"task method value ci_low ci_high p_sign".split(), *counts, *annotators]
    return pd.DataFrame(rows, columns=columns).astype({"n_hits": "Int64"})


def _resampled(sums: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Concordances (resamples x methods) of questions drawn with replacement; none for a single question."""
    total = np.tensordot(cluster_draws(len(sums), n_resamples, seed), sums, axes=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.ma.masked_invalid(total[:, :-1] / total[:, -1:])
    return shares.mean(axis=2).filled(np.nan)


def robustness(
    verdicts: pd.DataFrame, comparisons: pd.DataFrame, by: Sequence[str] = BY
) -> pd.DataFrame:
    """Share of comparisons whose two orders name the same (LJ-18), and where the others lean (addition, LJ-19).

    Returns a row per cell of `by` and task: value, n (all comparisons, invalid ones among them), n_invalid, both_first
    and both_second (the same slot in both orders), one_tie (a tie in one order only), first_share (A among the A and B
    of both orders; .5 without preference, since every pair stands both ways), n_first (those letters), status: `ok`, or
    `no_valid_verdict`, then with value NaN. first_share is NaN where only ties were given.
    """
    rows = []
    for key, cell in _cells(_joined(verdicts, comparisons, ()), by):
        valid = cell[cell["status"] == "ok"]
        a, b = valid["letter_12"], valid["letter_21"]
        row = {
            "value": valid["consistent"].sum() / len(cell) if len(valid) else np.nan,
            "n": len(cell),
        }
        row |= {"n_invalid": len(cell) - len(valid), "both_first": ((a == "A") & (b == "A")).sum()}
        row |= {
            "both_second": ((a == "B") & (b == "B")).sum(),
            "one_tie": ((a == "C") != (b == "C")).sum(),
        }
        slots = np.concatenate([a, b])
        n = int(np.isin(slots, ["A", "B"]).sum())
        row |= {"first_share": (slots == "A").sum() / n if n else np.nan, "n_first": n}
        rows.append(key | row | {"status": "ok" if len(valid) else "no_valid_verdict"})
    return pd.DataFrame(rows)


def slot_lean(
    frame: pd.DataFrame, comparisons: pd.DataFrame, by: Sequence[str] = BY
) -> pd.DataFrame:
    """How far a judge leans to the first slot, in log-odds (addition, LJ-19).

    ln P(A) / P(B), averaged over the two orders of a comparison and then over comparisons: what the judge makes of the
    two answers has opposite signs in the two orders and cancels, what it gives the slot stays.

    Returns a row per cell of `by`: value, ci_low, ci_high (t interval over the means of questions), n (comparisons),
    n_invalid (those where A or B has no probability in an order, left out), status (`ok` or `no_probabilities`).
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
    for key, cell in cells(_joined(each, comparisons, ()), by):
        valid = cell[cell["count"] == len(MEANING)]
        row = key | {"value": valid["mean"].mean(), "n": len(cell)}
        row |= {
            "n_invalid": len(cell) - len(valid),
            "status": "ok" if len(valid) else "no_probabilities",
        }
        of_questions = valid.groupby("question_id")["mean"].mean()
        if len(of_questions) > 1:
            middle, error = of_questions.mean(), stats.sem(of_questions)
            low, high = (
                stats.t.interval(0.95, len(of_questions) - 1, middle, error)
                if error
                else (middle, middle)
            )
            row |= {"ci_low": low, "ci_high": high}
        rows.append(row)
    return pd.DataFrame(rows, columns=[*by, *"value ci_low ci_high n n_invalid status".split()])


def calibration(
    verdicts: pd.DataFrame, comparisons: pd.DataFrame, annotators: Sequence[str] = (), *, bins: int = 10,
    by: Sequence[str] = BY,
) -> pd.DataFrame:  # fmt: skip
    """How often the proposed verdict is right where its mean probability is so and so (addition, LJ-19).

    Labels of all annotators count one by one. Probabilities are the means as they are, not renormalised.

    Returns a row per cell of `by` and bin of equal width: low, high, n (labels), mean_p, share_right, and, the same in
    every bin of a cell, brier (mean over labels of the squared differences to the label, summed over three verdicts:
    0 to 2) and n_invalid (comparisons without probabilities, left out). Empty bins have no row.

    Reference: G. W. Brier, Monthly Weather Review 78 (1950), 1-3.
    """
    annotators = list(annotators) or annotators_of(comparisons)
    rows, shares = [], [f"p_{verdict}" for verdict in VERDICTS]
    for key, cell in cells(_joined(verdicts, comparisons, annotators), by):
        known = cell[cell["proposed"].notna()]
        long = known.melt(["proposed", *shares], annotators, value_name="label").dropna(
            subset="label"
        )
        errors = [(long[f"p_{verdict}"] - (long["label"] == verdict)) ** 2 for verdict in VERDICTS]
        same = key | {"n_invalid": len(cell) - len(known), "brier": sum(errors).mean()}
        p = long[shares].max(axis=1)
        place = np.minimum((p * bins).astype(int), bins - 1)
        for number, one in long.assign(p=p, right=long["label"] == long["proposed"]).groupby(place):
            row = same | {"low": number / bins, "high": (number + 1) / bins, "n": len(one)}
            rows.append(row | {"mean_p": one["p"].mean(), "share_right": one["right"].mean()})
    return pd.DataFrame(
        rows, columns=[*by, *"low high n mean_p share_right brier n_invalid".split()]
    )


# -- agreement between people ------------------------------------------------------------------------------------------


def human_agreement(comparisons: pd.DataFrame, annotators: Sequence[str] = ()) -> pd.DataFrame:
    """How far people agree, by task and pooled ("all"): the paper's kappa (LJ-3) and additions (LJ-19).

    Measures: fleiss_kappa (statsmodels; comparisons with a missing label left out); cohen_kappa of each two people
    (statsmodels); krippendorff_alpha, nominal, which takes missing labels; leave_one_out, the concordance of one person
    in the place of the judge with the others, averaged over persons; ceiling, the highest concordance any judge could
    reach, by saying what most people say.

    Returns task, measure, between (the two people of a cohen_kappa, else all), value, n (comparisons used), n_left_out,
    status: `ok`; `one_annotator`; `no_comparisons`; `constant` (one verdict only, kappa undefined); NaN but for ok.

    References: J. L. Fleiss, Psychological Bulletin 76 (1971), 378-382; J. Cohen, Educational and Psychological
    Measurement 20 (1960), 37-46; K. Krippendorff, Content Analysis (2004), ch. 11.
    """
    annotators, rows = list(annotators) or annotators_of(comparisons), []
    pairs = [("cohen_kappa", list(two)) for two in itertools.combinations(annotators, 2)]
    measures = [
        (name, annotators)
        for name in ("fleiss_kappa", "krippendorff_alpha", "leave_one_out", "ceiling")
    ]
    for task, part in [("all", comparisons), *comparisons.groupby("task", sort=False)]:
        codes = (
            part[annotators]
            .apply(lambda labels: labels.map(VERDICTS.index, na_action="ignore"))
            .to_numpy(float)
        )
        for measure, people in measures + pairs:
            own = codes[:, [annotators.index(name) for name in people]]
            present = (~np.isnan(own)).sum(axis=1)
            kept = own[present >= (2 if measure == "krippendorff_alpha" else len(people))]
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
            value = _agreement(measure, kept) if status == "ok" else np.nan
            rows.append(
                (task, measure, " | ".join(people), value, len(kept), len(own) - len(kept), status)
            )
    return pd.DataFrame(rows, columns="task measure between value n n_left_out status".split())


def _agreement(measure: str, codes: np.ndarray) -> float:
    """One measure of comparisons x people, codes of `VERDICTS`; NaN (missing) only for Krippendorff's alpha."""
    if measure == "krippendorff_alpha":
        return float(krippendorff.alpha(reliability_data=codes.T, level_of_measurement="nominal"))
    counts = (codes[:, :, None] == np.arange(len(VERDICTS))).sum(axis=1)
    if measure == "fleiss_kappa":
        return float(inter_rater.fleiss_kappa(counts))
    if measure == "cohen_kappa":
        table = np.zeros((len(VERDICTS), len(VERDICTS)))
        np.add.at(table, tuple(codes.T.astype(int)), 1)
        return float(inter_rater.cohens_kappa(table, return_results=False))
    n, people = codes.shape
    agreeing = (
        counts.max(axis=1).sum()
        if measure == "ceiling"
        else (counts * (counts - 1)).sum() / (people - 1)
    )
    return float(agreeing / (n * people))
