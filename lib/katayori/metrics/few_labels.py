"""Few human labels, many verdicts of a judge: what both together say, and how many labels it saves.

A judge's agreement with people is known on the labelled pairs only, and more verdicts add nothing
to it. What verdicts do add is precision of a *rate*, such as how often one system wins: where judge
and people go together, the many verdicts say which part of the few labels' error is chance.

Frames: one row a comparison, with `label` (of a person: 1 the first wins, 0 it loses, .5 a tie; NaN
where nobody judged), `verdict` (of the judge, in the same numbers; NaN: none, left out and
counted), and `cluster` (the question: its comparisons share their texts).
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from katayori.metrics.spike import require_columns
from katayori.metrics.uncertainty import status_of

#: Fewer labels than this, or fewer on either side, are too few for an interval that holds.
LEAST_LABELS, LEAST_OF_EACH_SIDE = 50, 10
FEW_CLUSTERS = 5
RESAMPLES = 400


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


def error_if_independent(
    labels: np.ndarray, verdicts: np.ndarray, unlabelled: np.ndarray, weight: float
) -> float:
    """Standard error of `power_tuned` if all comparisons were independent; they are not.

    It is what the package `ppi-python` gives, and is here to be checked against it.

    Example:
        >>> some = np.array([0.0, 1, 0, 1])
        >>> error_if_independent(some, some, some, 0.0)
        0.25
    """
    rectifier = (labels - weight * verdicts).std() / np.sqrt(len(labels))
    imputed = weight * unlabelled.std() / np.sqrt(len(unlabelled))
    return float(np.hypot(rectifier, imputed))


def win_rate(frame: pd.DataFrame, *, seed: int = 0) -> dict[str, Any]:
    """How often the first system wins (a tie counts one half), from few labels and many verdicts.

    Args:
        frame: see the module.
        seed: of the draws of clusters behind the interval of `saved`.

    Returns:
        value, ci_low, ci_high (95 %, t on the clusters with labels less 1), weight (of the judge, 0
        to 1), alone, alone_low, alone_high (the labels without the judge), saved (the share of
        labels that the judge stands for: 1 - (width / width alone)^2), saved_low, saved_high
        (percentiles over clusters drawn anew), n_labels, n (comparisons with a verdict), n_invalid
        (without), clusters, status: `ok`; `few_labels` (fewer than 50, or than 10 on either side of
        one half: no interval); `few_clusters`; `no_variation`; `no_labels`.

    Coverage: for rates of .2 to .8 at least .91 of 500 draws, which is .93 within two standard
    errors (test_few_labels.py); not claimed outside.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> label = (rng.random(400) < 0.6).astype(float)
        >>> verdict = np.where(rng.random(400) < 0.9, label, 1 - label)
        >>> frame = pd.DataFrame({"label": label, "verdict": verdict, "cluster": range(400)})
        >>> frame.loc[100:, "label"] = np.nan
        >>> found = win_rate(frame)
        >>> found["status"], found["n_labels"], 0.3 < found["saved"] < 0.6
        ('ok', 100, True)
    """
    require_columns(frame, ["label", "verdict", "cluster"])
    kept = frame[frame["verdict"].notna()]
    labelled = kept[kept["label"].notna()]
    label = labelled["label"].to_numpy(float)
    clusters = int(labelled["cluster"].nunique())
    out: dict[str, Any] = dict.fromkeys(_NUMBERS, np.nan)
    out |= {"n_labels": len(labelled), "n": len(kept), "n_invalid": len(frame) - len(kept)}
    out["clusters"] = clusters
    if not len(labelled):
        return out | {"status": "no_labels"}
    sides = min((label > 0.5).sum(), (label < 0.5).sum())
    few = len(labelled) < LEAST_LABELS or sides < LEAST_OF_EACH_SIDE
    estimate = _Estimate(*_arrays(kept))
    out |= {"value": estimate.value, "weight": estimate.weight, "alone": float(label.mean())}
    problems = {"few_labels": few, "few_clusters": clusters < FEW_CLUSTERS}
    problems["no_variation"] = estimate.error_alone < 1e-12
    out["status"] = status_of(problems)
    if out["status"] != "ok":
        return out
    half = float(stats.t.ppf(0.975, clusters - 1))
    out |= _interval("ci", estimate.value, half * estimate.error)
    out |= _interval("alone", float(label.mean()), half * estimate.error_alone)
    out["saved"] = estimate.saved()
    drawn = _saved_anew(kept, seed)
    out["saved_low"], out["saved_high"] = (float(end) for end in np.quantile(drawn, [0.025, 0.975]))
    return out


_NUMBERS = (
    *("value", "ci_low", "ci_high", "weight", "alone", "alone_low", "alone_high"),
    *("saved", "saved_low", "saved_high"),
)


def _interval(name: str, value: float, half: float) -> dict[str, float]:
    return {f"{name}_low": max(0.0, value - half), f"{name}_high": min(1.0, value + half)}


class _Estimate:
    """The estimate of a frame and its clustered standard error, with and without the judge."""

    def __init__(self, label: np.ndarray, verdict: np.ndarray, codes: np.ndarray) -> None:
        has_label = ~np.isnan(label)
        label = label[has_label]
        self.value, self.weight = power_tuned(label, verdict[has_label], verdict[~has_label])
        rectified = label - self.weight * verdict[has_label]
        influence = np.zeros(codes.max() + 1)
        np.add.at(influence, codes[has_label], _influence(rectified))
        if (~has_label).any():
            rest = self.weight * _influence(verdict[~has_label])
            np.add.at(influence, codes[~has_label], rest)
        alone = np.zeros(len(influence))
        np.add.at(alone, codes[has_label], _influence(label))
        clusters = len(np.unique(codes[has_label]))
        small = clusters / max(clusters - 1, 1)
        self.error = float(np.sqrt(small * (influence**2).sum()))
        self.error_alone = float(np.sqrt(small * (alone**2).sum()))

    def saved(self) -> float:
        """Widths go as standard errors, since both intervals have the same degrees of freedom."""
        return 1 - (self.error / self.error_alone) ** 2 if self.error_alone > 0 else np.nan


def _influence(values: np.ndarray) -> np.ndarray:
    """What each value adds to the error of their mean."""
    return (values - values.mean()) / len(values)


def _saved_anew(frame: pd.DataFrame, seed: int) -> np.ndarray:
    """The share saved in studies with clusters drawn anew; those without labels are left out."""
    rng = np.random.default_rng(seed)
    label, verdict, codes = _arrays(frame)
    rows_of = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    found = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(len(rows_of), size=len(rows_of))
        rows = np.concatenate([rows_of[code] for code in drawn])
        anew = np.repeat(np.arange(len(drawn)), [len(rows_of[code]) for code in drawn])
        if np.isfinite(label[rows]).sum() > 1:
            found.append(_Estimate(label[rows], verdict[rows], anew).saved())
    return np.array([share for share in found if np.isfinite(share)])


def _arrays(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels (NaN: none), verdicts, and the numbers of the clusters."""
    codes = pd.factorize(frame["cluster"])[0]
    return frame["label"].to_numpy(float), frame["verdict"].to_numpy(float), codes


def corrected_rate(frame: pd.DataFrame) -> dict[str, Any]:
    """The rate of wins that a judge's errors would hide, corrected by its known errors.

    (rate of verdicts + specificity - 1) / (sensitivity + specificity - 1), both errors from the
    labelled comparisons. Two classes only: ties of people or judge are left out and counted.

    Args:
        frame: see the module.

    Returns:
        value, ci_low, ci_high (95 %, jackknife over clusters, t; inside 0 to 1), sensitivity,
        specificity, informed, informed_low, informed_high (sensitivity + specificity - 1), raw (the
        rate of the verdicts), n_labels, n, n_tied, clusters, status: `ok`; `judge_uninformative`
        (the interval of `informed` does not lie above 0: no value); `few_labels`; `few_clusters`.

    Reference: W. J. Rogan and B. Gladen, American Journal of Epidemiology 107 (1978), 71-76.

    Example:
        >>> label = pd.Series([1.0] * 60 + [0.0] * 60)
        >>> verdict = pd.Series([1.0] * 54 + [0.0] * 6 + [1.0] * 18 + [0.0] * 42)
        >>> frame = pd.DataFrame({"label": label, "verdict": verdict, "cluster": range(120)})
        >>> found = corrected_rate(frame)
        >>> round(found["sensitivity"], 2), round(found["specificity"], 2), round(found["value"], 2)
        (0.9, 0.7, 0.5)
    """
    require_columns(frame, ["label", "verdict", "cluster"])
    two = frame[frame["verdict"].isin([0.0, 1.0])]
    two = two[two["label"].isna() | two["label"].isin([0.0, 1.0])]
    labelled = two["label"].notna()
    clusters = int(two.loc[labelled, "cluster"].nunique())
    out: dict[str, Any] = dict.fromkeys(_CORRECTED, np.nan)
    tied = int((frame["verdict"].notna()).sum() - len(two))
    out |= {"n_labels": int(labelled.sum()), "n": len(two), "n_tied": tied, "clusters": clusters}
    sums = _sums(two)
    total = sums.sum(axis=0)
    least = min(total[1], total[3]) if len(sums) else 0
    problems = {
        "few_labels": out["n_labels"] < LEAST_LABELS or least < LEAST_OF_EACH_SIDE,
        "few_clusters": clusters < FEW_CLUSTERS,
    }
    out["status"] = status_of(problems)
    if out["status"] != "ok":
        return out
    found = _rates(total)
    out |= found
    informed = _jackknifed(sums, "informed")
    half = float(stats.t.ppf(0.975, clusters - 1))
    out["informed_low"] = found["informed"] - half * informed
    out["informed_high"] = found["informed"] + half * informed
    if out["informed_low"] <= 0:
        return out | {"value": np.nan, "status": "judge_uninformative"}
    out |= _interval("ci", found["value"], half * _jackknifed(sums, "value"))
    return out


_CORRECTED = (
    *("value", "ci_low", "ci_high", "sensitivity", "specificity"),
    *("informed", "informed_low", "informed_high", "raw"),
)


def _sums(two: pd.DataFrame) -> np.ndarray:
    """Clusters x (true wins, wins, true losses, losses, verdicts of a win, verdicts)."""
    won, lost = two["label"] == 1, two["label"] == 0
    says_win = two["verdict"] == 1
    columns = [won & says_win, won, lost & ~says_win, lost, says_win, two["verdict"].notna()]
    counts = pd.concat(columns, axis=1).astype(float).to_numpy()
    codes = pd.factorize(two["cluster"])[0]
    sums = np.zeros((codes.max() + 1 if len(codes) else 0, len(columns)))
    np.add.at(sums, codes, counts)
    return sums


def _rates(total: np.ndarray) -> dict[str, float]:
    sensitivity, specificity = total[0] / total[1], total[2] / total[3]
    informed = sensitivity + specificity - 1
    raw = total[4] / total[5]
    corrected = (raw + specificity - 1) / informed if informed else np.nan
    return {
        "value": float(np.clip(corrected, 0, 1)),
        "sensitivity": float(sensitivity),
        "specificity": float(specificity),
        "informed": float(informed),
        "raw": float(raw),
    }


def _jackknifed(sums: np.ndarray, name: str) -> float:
    """Standard error of a rate, from leaving out one cluster after the other."""
    total = sums.sum(axis=0)
    values = np.array([_rates(total - own)[name] for own in sums])
    n = len(values)
    return float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))
