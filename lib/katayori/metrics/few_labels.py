"""Few human labels, many verdicts of a judge: what both together say, and how many labels it saves.

A judge's agreement with people is known on the labelled pairs only, and more verdicts add nothing
to it. What verdicts do add is precision of a *rate*, such as how often one system wins: where judge
and people go together, the many verdicts say which part of the few labels' error is chance.

A label and a verdict say of one comparison: 1 the system wins, 0 it loses, .5 a tie. A missing
label means that no person judged; a missing verdict is left out and counted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from katayori.frames import LABEL, NUMBER_OR_NONE, Column, cells, flat, require

#: Fewer labels than this, or fewer on either side, are too few for an interval that holds.
LEAST_LABELS, LEAST_OF_EACH_SIDE = 50, 10
FEW_CLUSTERS = 5
RESAMPLES = 400
WITH_JUDGE = (
    *("n_labels", "weight", "alone", "alone_low", "alone_high"),
    *("saved", "saved_low", "saved_high"),
)
CORRECTED = (
    *("n_labels", "n_tied", "sensitivity", "specificity"),
    *("informed", "informed_low", "informed_high", "raw"),
)


def power_tuned(
    labels: np.ndarray, verdicts: np.ndarray, unlabelled: np.ndarray
) -> tuple[float, float]:
    """The mean label with the judge's help (PPI++), and how much weight the judge gets.

    value = mean(label - w verdict) + w mean(unlabelled verdict), with the weight w that makes its
    variance least: cov(label, verdict) / (1 + n / N) / var(verdict), held inside 0 to 1. With w = 0
    it is the mean of the labels alone.

    Args:
        labels, verdicts: of the n labelled comparisons.
        unlabelled: verdicts on the N others.

    Reference: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: Efficient Prediction-Powered
    Inference, arXiv 2311.01453 (2023).

    Example:
        >>> value, weight = power_tuned(np.array([1.0, 0]), np.array([1.0, 0]), np.array([1.0, 1]))
        >>> round(value, 3), round(weight, 3)
        (0.75, 0.5)
    """
    together = np.concatenate([verdicts, unlabelled])
    spread = together.var(ddof=1) if len(together) > 1 else 0.0
    weight = 0.0
    if spread > 0 and len(unlabelled):
        shared = ((labels - labels.mean()) * (verdicts - verdicts.mean())).mean()
        weight = float(np.clip(shared / (1 + len(labels) / len(unlabelled)) / spread, 0, 1))
    rest = weight * unlabelled.mean() if len(unlabelled) else 0.0
    return float((labels - weight * verdicts).mean() + rest), weight


def win_rate(
    frame: pd.DataFrame,
    *,
    label: str,
    verdict: str,
    by: str | Sequence[str] = (),
    cluster: str = "question",
    seed: int = 0,
) -> pd.DataFrame:
    """How often a system wins (a tie counts one half), from few labels and many verdicts.

    Formula: `power_tuned`; its standard error adds up what each cluster contributes.

    Args:
        frame: a row a comparison.
        label: column of a person's label: 1, 0 or .5 (or a mean of several people); missing: none.
        verdict: column of the judge's verdict, in the same numbers; missing: none, left out.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study, such as the question, whose comparisons
            share their texts.
        seed: of the draws of clusters behind the interval of `saved`.

    Returns:
        by..., measure (`win_rate`), value (a share), n (comparisons with a verdict), n_invalid
        (without), clusters (with labels), ci_low, ci_high (95 %, t on the clusters less 1), status,
        n_labels, weight (of the judge, 0 to 1), alone, alone_low, alone_high (the labels without
        the judge), saved (the share of labels that the judge stands for: 1 - (width / width
        alone)^2), saved_low, saved_high (percentiles over clusters drawn anew). status: `ok`;
        `few_labels` (fewer than 50, or than 10 on either side of one half: no interval);
        `few_clusters`; `no_variation`; `no_labels` (no value).

    Coverage: for rates of .2 to .8 at least .91 of 500 draws, which is .93 within two standard
    errors (test_few_labels.py); not claimed outside.

    Raises:
        KatayoriError: a column that is lacking or holds something else than numbers.

    Source: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, arXiv 2311.01453 (2023); clusters and
    `saved` are ours.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> label = (rng.random(400) < 0.6).astype(float)
        >>> verdict = np.where(rng.random(400) < 0.9, label, 1 - label)
        >>> frame = pd.DataFrame({"person": label, "judge": verdict, "question": range(400)})
        >>> frame.loc[100:, "person"] = np.nan
        >>> table = win_rate(frame, label="person", verdict="judge")
        >>> table[["value", "n", "n_labels", "saved", "status"]].round(2).to_numpy().tolist()
        [[0.54, 400, 100, 0.53, 'ok']]
    """
    by = require("win_rate", frame, _columns(label, verdict, cluster), by)
    rows = [
        key | _win_rate(_arrays(cell, label, verdict, cluster), seed)
        for key, cell in cells(frame, by)
    ]
    return flat(rows, frame, by, ["measure"], WITH_JUDGE)


def _columns(label: str, verdict: str, cluster: str) -> dict[str, Column]:
    return {label: NUMBER_OR_NONE, verdict: NUMBER_OR_NONE, cluster: LABEL}


def _win_rate(given: "_Given", seed: int) -> dict[str, Any]:
    """The row of one cell."""
    kept = given.at(~np.isnan(given.verdict))
    has_label = ~np.isnan(kept.label)
    labels = kept.label[has_label]
    clusters = len(np.unique(kept.cluster[has_label]))
    out: dict[str, Any] = {"measure": "win_rate", "n_labels": len(labels), "clusters": clusters}
    out |= {"n": len(kept.label), "n_invalid": len(given.label) - len(kept.label)}
    if not len(labels):
        return out | {"status": "no_labels"}
    value, weight, error, error_alone = _estimate(kept)
    alone = float(labels.mean())
    out |= {"value": value, "weight": weight, "alone": alone}
    sides = min((labels > 0.5).sum(), (labels < 0.5).sum())
    few = len(labels) < LEAST_LABELS or sides < LEAST_OF_EACH_SIDE
    problems = {"few_labels": few, "few_clusters": clusters < FEW_CLUSTERS}
    out["status"] = _first_of(problems | {"no_variation": error_alone < 1e-12})
    if out["status"] != "ok":
        return out
    half = float(stats.t.ppf(0.975, clusters - 1))
    out |= _interval("ci", value, half * error) | _interval("alone", alone, half * error_alone)
    # Widths go as standard errors, since both intervals have the same degrees of freedom.
    out["saved"] = 1 - (error / error_alone) ** 2
    out["saved_low"], out["saved_high"] = np.quantile(_saved_anew(kept, seed), [0.025, 0.975])
    return out


def _first_of(problems: dict[str, Any]) -> str:
    """The name of the first problem that holds, `ok` where none does."""
    return next((status for status, holds in problems.items() if holds), "ok")


def _interval(name: str, value: float, half: float) -> dict[str, float]:
    return {f"{name}_low": max(0.0, value - half), f"{name}_high": min(1.0, value + half)}


class _Given(NamedTuple):
    """Labels and verdicts (NaN: none) of comparisons, and the numbers of their clusters."""

    label: np.ndarray
    verdict: np.ndarray
    cluster: np.ndarray

    def at(self, chosen: np.ndarray) -> "_Given":
        """Those of some comparisons, with their clusters numbered anew."""
        codes = pd.factorize(self.cluster[chosen])[0]
        return _Given(self.label[chosen], self.verdict[chosen], codes)


def _arrays(cell: pd.DataFrame, label: str, verdict: str, cluster: str) -> _Given:
    codes = pd.factorize(cell[cluster])[0]
    return _Given(cell[label].to_numpy(float), cell[verdict].to_numpy(float), codes)


def _estimate(given: _Given) -> tuple[float, float, float, float]:
    """The rate, the judge's weight, and the clustered standard error with and without the judge."""
    has_label = ~np.isnan(given.label)
    label, verdict = given.label[has_label], given.verdict[has_label]
    rest = given.verdict[~has_label]
    value, weight = power_tuned(label, verdict, rest)
    own, others = given.cluster[has_label], given.cluster[~has_label]
    both = np.concatenate([_influence(label - weight * verdict), weight * _influence(rest)])
    clusters = len(np.unique(own))
    small = clusters / max(clusters - 1, 1)
    sums = np.bincount(np.concatenate([own, others]), both), np.bincount(own, _influence(label))
    error, alone = (float(np.sqrt(small * (one**2).sum())) for one in sums)
    return value, weight, error, alone


def _influence(values: np.ndarray) -> np.ndarray:
    """What each value adds to the error of their mean."""
    return (values - values.mean()) / len(values) if len(values) else values


def _saved_anew(given: _Given, seed: int) -> np.ndarray:
    """The share saved in studies with clusters drawn anew; those without labels are left out."""
    rng = np.random.default_rng(seed)
    rows_of = [np.flatnonzero(given.cluster == one) for one in range(given.cluster.max() + 1)]
    found = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(len(rows_of), size=len(rows_of))
        rows = np.concatenate([rows_of[one] for one in drawn])
        anew = np.repeat(np.arange(len(drawn)), [len(rows_of[one]) for one in drawn])
        if np.isfinite(given.label[rows]).sum() > 1:
            *_, error, alone = _estimate(_Given(given.label[rows], given.verdict[rows], anew))
            found += [1 - (error / alone) ** 2] if alone > 0 else []
    return np.array(found)


def corrected_rate(
    frame: pd.DataFrame,
    *,
    label: str,
    verdict: str,
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """The rate of wins that a judge's errors would hide, corrected by its known errors.

    Formula: (rate of verdicts + specificity - 1) / (sensitivity + specificity - 1), both errors
    from the labelled comparisons. Two classes only: ties of people or judge are left out and
    counted.

    Args:
        frame, label, verdict, by, cluster: as of `win_rate`.

    Returns:
        by..., measure (`corrected_rate`), value (a share), n (comparisons with a verdict and
        without a tie), n_invalid (without a verdict), clusters (with labels), ci_low, ci_high
        (95 %, jackknife over clusters, t; inside 0 to 1), status, n_labels, n_tied (left out),
        sensitivity, specificity, informed, informed_low, informed_high (sensitivity + specificity -
        1), raw (the rate of the verdicts). status: `ok`; `judge_uninformative` (the interval of
        `informed` does not lie above 0: no value); `few_labels`; `few_clusters`.

    Raises:
        KatayoriError: a column that is lacking or holds something else than numbers.

    Source: W. J. Rogan and B. Gladen, American Journal of Epidemiology 107 (1978), 71-76.

    Example:
        >>> label = pd.Series([1.0] * 60 + [0.0] * 60)
        >>> verdict = pd.Series([1.0] * 54 + [0.0] * 6 + [1.0] * 18 + [0.0] * 42)
        >>> frame = pd.DataFrame({"person": label, "judge": verdict, "question": range(120)})
        >>> table = corrected_rate(frame, label="person", verdict="judge")
        >>> table[["sensitivity", "specificity", "value"]].round(2).to_numpy().tolist()
        [[0.9, 0.7, 0.5]]
    """
    by = require("corrected_rate", frame, _columns(label, verdict, cluster), by)
    rows = [
        key | _corrected(_arrays(cell, label, verdict, cluster)) for key, cell in cells(frame, by)
    ]
    return flat(rows, frame, by, ["measure"], CORRECTED)


def _corrected(given: _Given) -> dict[str, Any]:
    """The row of one cell."""
    no_tie = np.isnan(given.label) | np.isin(given.label, [0.0, 1.0])
    two = given.at(np.isin(given.verdict, [0.0, 1.0]) & no_tie)
    labelled = ~np.isnan(two.label)
    clusters = len(np.unique(two.cluster[labelled]))
    n_verdicts = int((~np.isnan(given.verdict)).sum())
    out: dict[str, Any] = {"measure": "corrected_rate", "clusters": clusters}
    out |= {"n": len(two.label), "n_invalid": len(given.label) - n_verdicts}
    out |= {"n_labels": int(labelled.sum()), "n_tied": n_verdicts - len(two.label)}
    sums = _sums(two)
    total = sums.sum(axis=0)
    few = out["n_labels"] < LEAST_LABELS or min(total[1], total[3]) < LEAST_OF_EACH_SIDE
    out["status"] = _first_of({"few_labels": few, "few_clusters": clusters < FEW_CLUSTERS})
    if out["status"] != "ok":
        return out
    found, without = _rates(total), _rates(total - sums)
    out |= {name: float(rate) for name, rate in found.items()}
    # Standard errors from leaving out one cluster after the other.
    parts = np.array([without["informed"], without["value"]])
    squares = ((parts - parts.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    errors = np.sqrt((len(sums) - 1) / len(sums) * squares)
    informed, value = stats.t.ppf(0.975, clusters - 1) * errors
    out["informed_low"] = out["informed"] - informed
    out["informed_high"] = out["informed"] + informed
    if out["informed_low"] <= 0:
        return out | {"value": np.nan, "status": "judge_uninformative"}
    return out | _interval("ci", out["value"], value)


def _sums(two: _Given) -> np.ndarray:
    """Clusters x (true wins, wins, true losses, losses, verdicts of a win, verdicts)."""
    won, lost = two.label == 1, two.label == 0
    says_win = two.verdict == 1
    columns = [won & says_win, won, lost & ~says_win, lost, says_win, ~np.isnan(two.verdict)]
    return np.column_stack([np.bincount(two.cluster, one) for one in columns])


def _rates(total: np.ndarray) -> dict[str, np.ndarray]:
    """The rates of one total, or of many (rows)."""
    true_wins, wins, true_losses, losses, says_win, verdicts = total.T
    with np.errstate(divide="ignore", invalid="ignore"):
        sensitivity, specificity = true_wins / wins, true_losses / losses
        informed, raw = sensitivity + specificity - 1, says_win / verdicts
        corrected = np.where(informed == 0, np.nan, (raw + specificity - 1) / informed)
    rates = {"value": np.clip(corrected, 0, 1), "informed": informed, "raw": raw}
    return rates | {"sensitivity": sensitivity, "specificity": specificity}
