"""Agreement of labels: of a judge with people, and of people with each other.

Labels may be of any kind. Counts are kept as counts and divided once. What would be drawn anew in
another study, such as a question with several comparisons, is a cluster: intervals are over these.

References: J. L. Fleiss, Psychological Bulletin 76 (1971), 378-382; J. Cohen, Educational and
Psychological Measurement 20 (1960), 37-46; K. Krippendorff, Content Analysis (2004), ch. 11.
"""

from fractions import Fraction
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
from statsmodels.stats import inter_rater

from katayori.metrics.intervals import NO_INTERVAL_BELOW, mean_interval
from katayori.metrics.question_swaps import question_swap_test
from katayori.metrics.share_intervals import share_interval
from katayori.metrics.uncertainty import status_of

#: Those that a constant label leaves undefined are kappas and alpha, not these.
DEFINED_WHERE_CONSTANT = ("leave_one_out", "ceiling")


def sums_by_cluster(counted: np.ndarray, cluster: np.ndarray, n_clusters: int) -> np.ndarray:
    """Sums over the comparisons of each cluster: clusters x annotators.

    Args:
        counted: numbers or flags (shape: comparisons x annotators).
        cluster: the number of each comparison's cluster.

    Example:
        >>> sums_by_cluster(np.array([[1], [0], [1]]), np.array([0, 0, 1]), 2).tolist()
        [[1.0], [1.0]]
    """
    sums = np.zeros((n_clusters, counted.shape[1]))
    np.add.at(sums, cluster, counted)
    return sums


def mean_share(hits: np.ndarray, labels: np.ndarray, annotators: list[str]) -> dict[str, Any]:
    """The mean of the annotators' shares (exact, divided once) with its interval.

    Args:
        hits: labels that the judge agrees with (shape: clusters x annotators).
        labels: labels given, in the same shape.
        annotators: their names.

    Returns:
        value, ci_low, ci_high, ci_status (`share_interval` of all labels together), and
        the share of each annotator under its name.

    Example:
        >>> hits, labels = np.array([[1], [2], [2], [0], [1]]), np.full((5, 1), 2)
        >>> mean_share(hits, labels, ["ann"])["value"]
        0.6
    """
    n_correct = hits.sum(axis=0).astype(int).tolist()
    n_labels = labels.sum(axis=0).astype(int).tolist()
    each = [Fraction(h, n) if n else None for h, n in zip(n_correct, n_labels, strict=True)]
    shares = [share for share in each if share is not None]
    interval = share_interval(hits.sum(axis=1), labels.sum(axis=1))
    alone = [np.nan if share is None else float(share) for share in each]
    return {
        "value": float(sum(shares) / len(shares)),
        "ci_low": interval["ci_low"],
        "ci_high": interval["ci_high"],
        "ci_status": interval["status"],
        **dict(zip(annotators, alone, strict=True)),
    }


def mean_gain(gained: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """The mean over annotators of (hits gained / labels), with its interval and test.

    The contribution of a cluster is, for each annotator, (gained - share x labels) over the mean
    number of labels: their spread is that of the gain (linearised, as `ratio_interval`).

    Args:
        gained: hits of one judge less those of another (shape: clusters x annotators).
        labels: labels given, in the same shape.

    Returns:
        value, n_correct (hits gained), ci_low, ci_high, ci_status (by t over clusters), p_cluster
        (`question_swaps.question_swap_test`).

    Example:
        >>> mean_gain(np.array([[1], [2], [0], [1], [1]]), np.full((5, 1), 2))["value"]
        0.5
    """
    heard = labels.sum(axis=0) > 0
    gained = gained[:, heard]
    labels = labels[:, heard]
    totals = labels.sum(axis=0)
    shares = [Fraction(int(g), int(n)) for g, n in zip(gained.sum(axis=0), totals, strict=True)]
    value = float(sum(shares) / len(shares))
    each = np.array([float(share) for share in shares])
    parts = (gained - each * labels) / (totals / len(labels))
    interval = mean_interval(value + parts.mean(axis=1)[labels.sum(axis=1) > 0])
    return {
        "value": value,
        "n_correct": int(gained.sum()),
        "ci_low": interval["ci_low"],
        "ci_high": interval["ci_high"],
        "ci_status": interval["status"],
        "p_cluster": question_swap_test(gained.sum(axis=1)),
    }


def agreement_row(
    measure: str, codes: np.ndarray, question: pd.Series | None, categories: int
) -> dict[str, Any]:
    """One measure of comparisons x people, with its interval where clusters are given.

    Args:
        measure: `fleiss_kappa`, `cohen_kappa` (of two people), `krippendorff_alpha` (nominal),
            `leave_one_out` or `ceiling`.
        codes: numbers of categories, NaN for a missing label (shape: comparisons x people).
        question: the cluster of each comparison; None: no interval.
        categories: how many there are.

    Returns:
        value, n (comparisons used), n_left_out, status: `ok`; `one_annotator`; `no_comparisons`;
        `constant` (one category only); NaN but for ok; with clusters also ci_low, ci_high,
        ci_status (t on the jackknife over clusters) and clusters.

    Example:
        >>> codes = np.array([[0, 0], [0, 0], [1, 1], [1, 0.0]])
        >>> row = agreement_row("cohen_kappa", codes, None, 2)
        >>> round(row["value"], 2), row["n"], row["status"]
        (0.5, 4, 'ok')
    """
    n_people = codes.shape[1]
    least = 2 if measure == "krippendorff_alpha" else n_people
    used = (~np.isnan(codes)).sum(axis=1) >= least
    kept = codes[used]
    one_verdict = len(np.unique(kept[~np.isnan(kept)])) < 2
    problems = {
        "one_annotator": n_people < 2,
        "no_comparisons": not len(kept),
        "constant": one_verdict and measure not in DEFINED_WHERE_CONSTANT,
    }
    status = status_of(problems)
    row: dict[str, Any] = {
        "value": np.nan,
        "n": len(kept),
        "n_left_out": len(codes) - len(kept),
        "status": status,
    }
    if status != "ok":
        return row
    row["value"] = _agreement(measure, kept, categories)
    if question is not None:
        row |= _jackknife(measure, kept, question[used], categories)
    return row


def _jackknife(
    measure: str, codes: np.ndarray, question: pd.Series, categories: int
) -> dict[str, Any]:
    """The interval of a measure of agreement, by t on the pseudo-values of questions left out."""
    number, names = pd.factorize(question)
    if len(names) < NO_INTERVAL_BELOW:
        return {"ci_status": "few_clusters", "clusters": len(names)}
    whole = _agreement(measure, codes, categories)
    left = [_agreement(measure, codes[number != place], categories) for place in range(len(names))]
    pseudo = len(names) * whole - (len(names) - 1) * np.array(left)
    interval = mean_interval(pseudo - pseudo.mean() + whole)
    return {
        "ci_low": interval["ci_low"],
        "ci_high": interval["ci_high"],
        "ci_status": interval["status"],
        "clusters": len(names),
    }


def _agreement(measure: str, codes: np.ndarray, categories: int) -> float:
    """One measure of comparisons x people, codes of categories; NaN (missing) only for
    Krippendorff's alpha."""
    if measure == "krippendorff_alpha":
        return float(krippendorff.alpha(reliability_data=codes.T, level_of_measurement="nominal"))
    counts = (codes[:, :, None] == np.arange(categories)).sum(axis=1)
    if measure == "fleiss_kappa":
        return float(inter_rater.fleiss_kappa(counts))
    if measure == "cohen_kappa":
        table = np.zeros((categories, categories))
        np.add.at(table, tuple(codes.T.astype(int)), 1)
        return float(inter_rater.cohens_kappa(table, return_results=False))
    if measure == "ceiling":
        agreeing = counts.max(axis=1).sum()
    else:
        # Leave one out: each person's label beside those of the others.
        agreeing = (counts * (counts - 1)).sum() / (codes.shape[1] - 1)
    return float(agreeing / codes.size)
