"""Tests of a judge by questions: right against wrong where one answer is better, and AUC.

Pairs of one question share their texts, so a question is the unit that is exchanged or left out.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import t

from katayori.metrics import ties
from katayori.metrics.intervals import mean_interval
from katayori.metrics.question_swaps import question_swap_test
from katayori.metrics.share_intervals import ratio_interval
from katayori.metrics.uncertainty import cells
from katayori.papers.logprob_judge.scores import BY, annotators_of, joined_labels

#: The two verdicts that name a winner.
WINNERS = ("1", "2")


def auc_interval(
    scores: Sequence[float], better: Sequence[bool], clusters: Sequence[Any], level: float = 0.95
) -> dict[str, Any]:
    """How often a score ranks a pair whose first answer is better above one whose second is.

    Args:
        scores: for the first answer over the second, such as log odds (shape: pairs).
        better: whether the first is the better one (shape: pairs).
        clusters: the question of each pair (shape: pairs).
        level: of the interval.

    Returns:
        value (the area under the ROC curve: .5 knows nothing, below .5 prefers the worse), ci_low,
        ci_high, se, clusters, n (pairs), status: as `intervals.mean_interval`, and `one_class`
        where only first or only second answers are better. The interval is by t on the jackknife
        over questions, on the scale of log odds (simulated at 10, 20 and 69 questions and areas of
        .5 to .955: coverage .945 and more). Ties of the score count one half.

    Reference: Hanley and McNeil, Radiology 143 (1982), 29-36; jackknife: Arvesen, Annals of
    Mathematical Statistics 40 (1969), 2076-2100.

    Example:
        >>> scores = [2.0, 1.0, 0.5, -0.5, -1.0, 0.7]
        >>> better = [True, True, True, False, False, False]
        >>> round(auc_interval(scores, better, clusters=range(6))["value"], 2)
        0.89
    """
    s, first = np.asarray(scores, float), np.asarray(better, bool)
    known = np.isfinite(s)
    s, first = s[known], first[known]
    question, names = pd.factorize(np.asarray(clusters, dtype=object)[known])
    out = mean_interval([], level) | {"n": len(s)}
    if not first.any() or first.all():
        return out | {"status": "one_class" if len(s) else "no_valid_answer"}
    # wins[i, j]: pair i (first better) is scored above pair j (second better).
    above, below = s[first][:, None], s[~first][None, :]
    wins = (1 + ties.sign(above - below, np.abs(s).max())) / 2
    member = np.arange(len(names))[:, None] == question
    ups, downs = member[:, first].astype(float), member[:, ~first].astype(float)
    total = wins.sum()
    # What is left of the sum, and of both counts, without one question after the other.
    own = np.einsum("qi,ij,qj->q", ups, wins, downs, optimize=True)
    left = total - ups @ wins.sum(axis=1) - downs @ wins.sum(axis=0) + own
    pairs_left = (first.sum() - ups.sum(axis=1)) * ((~first).sum() - downs.sum(axis=1))
    auc = total / wins.size
    if (pairs_left == 0).any():
        return out | {"value": float(auc), "clusters": len(names), "status": "few_clusters"}
    pseudo = len(names) * auc - (len(names) - 1) * left / pairs_left
    # The spread is the jackknife's, the value the plain one.
    interval = mean_interval(pseudo - pseudo.mean() + auc, level) | {
        "value": float(auc),
        "n": len(s),
    }
    if interval["status"] != "ok":
        return interval
    # On the log odds scale: a plain interval covers .86 for an area of .955 of 20 questions.
    middle = float(logit(auc))
    half = t.ppf((1 + level) / 2, len(names) - 1) * interval["se"] / (auc * (1 - auc))
    return interval | {
        "ci_low": float(expit(middle - half)),
        "ci_high": float(expit(middle + half)),
    }


def decided_pairs(
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame | None = None,
    annotators: Sequence[str] = (),
    *,
    method: str = "proposed",
    by: Sequence[str] = BY,
) -> pd.DataFrame:
    """Is a judge better or worse than lots where one answer is better? (addition, LJ-19)

    Drawing lots between the two answers is right as often as wrong, whatever the slots do, since
    every pair stands in both orders. A tie, or no verdict, is neither.

    Args:
        verdicts: of `verdicts.judge_verdicts`; the column `log_odds`, if there, gives the AUC.
        comparisons: of `papers.logprob_judge.items`, for other labels than the verdicts hold.
        annotators: columns of labels; default, those of `verdicts.annotators_of`.
        method: whose verdict counts.

    Returns:
        A row per cell of `by`: n (labels that name a winner), n_correct, n_wrong, n_neither,
        clusters; value, the excess (right - wrong) / 2 per label, 0 for lots, with ci_low,
        ci_high and status by questions (`ratio_interval`); p_cluster
        (`question_swap_test` of right minus wrong); auc, auc_low, auc_high, auc_status, n_auc: of
        the averaged log odds for the better answer, without any threshold.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> table = decided_pairs(examples.verdicts(), examples.comparisons(), ["truth"])
        >>> table[["n_correct", "n_wrong", "value", "status"]].to_numpy().tolist()
        [[23, 0, 0.5, 'no_variation']]
    """
    annotators = list(annotators) or annotators_of(verdicts if comparisons is None else comparisons)
    rows: list[dict[str, Any]] = []
    for key, cell in cells(joined_labels(verdicts, comparisons, annotators), by):
        long = cell.melt([c for c in cell if c not in annotators], annotators, "who", "label")
        long = long[long["label"].isin(WINNERS)]
        right = (long[method] == long["label"]).to_numpy(int)
        named = long[method].isin(WINNERS).to_numpy()
        wrong: np.ndarray = named - right
        each = pd.DataFrame({"gap": right - wrong, "n": 1}).groupby(
            long["question_id"].to_numpy(), sort=False
        )
        sums = each.sum()
        excess = ratio_interval((sums["gap"] / 2).tolist(), sums["n"].tolist())
        row: dict[str, Any] = {
            "n": len(long),
            "n_correct": int(right.sum()),
            "n_wrong": int(wrong.sum()),
        }
        row["n_neither"] = len(long) - row["n_correct"] - row["n_wrong"]
        row |= {"clusters": len(sums), "p_cluster": question_swap_test(sums["gap"].tolist())}
        row |= {name: excess[name] for name in ("value", "ci_low", "ci_high", "status")}
        scores = long["log_odds"] if "log_odds" in long else np.full(len(long), np.nan)
        first = (long["label"] == "1").tolist()
        area = auc_interval(list(scores), first, long["question_id"].tolist())
        row |= {"auc": area["value"], "auc_low": area["ci_low"], "auc_high": area["ci_high"]}
        rows.append(key | row | {"auc_status": area["status"], "n_auc": area["n"]})
    columns = [*by, "n", "n_correct", "n_wrong", "n_neither", "clusters", "value", "ci_low"]
    columns += ["ci_high", "p_cluster", "status", "auc", "auc_low", "auc_high", "auc_status"]
    return pd.DataFrame(rows, columns=[*columns, "n_auc"])


def paired_hits(
    one: pd.DataFrame, other: pd.DataFrame, comparisons: pd.DataFrame, annotators: Sequence[str]
) -> dict[str, Any]:
    """Which of two sets of verdicts agrees with people more often on the same comparisons.

    Args:
        one, other: pair_id and `proposed`, a row a pair; pairs that both hold are compared.

    Returns:
        value (share of `one` less that of `other`), ci_low, ci_high, clusters and status by
        questions, n (labels), p_cluster.

    Example:
        >>> from katayori.papers.logprob_judge import examples
        >>> fair, leaning = (examples.verdicts(f"sim-judge-{name}") for name in ("fair", "leaning"))
        >>> gain = paired_hits(fair, leaning, examples.comparisons(), ["truth"])
        >>> round(gain["value"], 3), gain["n"], gain["status"]
        (0.233, 30, 'ok')
    """
    both = one[["pair_id", "proposed"]].merge(
        other[["pair_id", "proposed"]], on="pair_id", suffixes=("", "_other")
    )
    joined = joined_labels(both, comparisons, annotators)
    labels = joined[list(annotators)]
    gap = labels.eq(joined["proposed"], axis=0).sum(axis=1)
    gap -= labels.eq(joined["proposed_other"], axis=0).sum(axis=1)
    sums = pd.DataFrame({"gap": gap, "n": labels.notna().sum(axis=1)})
    sums = sums.groupby(joined["question_id"], sort=False).sum()
    interval = ratio_interval(sums["gap"].tolist(), sums["n"].tolist())
    return interval | {
        "n": int(sums["n"].sum()),
        "p_cluster": question_swap_test(sums["gap"].tolist()),
    }
