"""Alpha without the noise of answering, from several answers a cell."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from katayori.frames import LABEL, NUMBER_OR_NONE, cells, flat, require
from katayori.metrics.agreement import _MORE, _Names, _unit_columns, told_band
from katayori.metrics.intervals import NO_INTERVAL_BELOW


def _told_of_repeats(alpha: dict[str, Any]) -> dict[str, Any]:
    """What `alpha_from_replicates` gives with its band, and a status where it has no interval."""
    status = alpha["status"]
    if status == "no_replicates":
        status = "one_answer_a_prompt"
    elif status == "ok" and not alpha["ci_low"] < alpha["ci_high"]:
        enough = alpha["clusters"] >= NO_INTERVAL_BELOW
        status = "one_question_decides" if enough else "few_clusters"
        alpha = alpha | {"ci_low": np.nan, "ci_high": np.nan}
    band = "undefined"
    if np.isfinite(alpha["alpha"]):
        band = told_band((alpha["ci_low"], alpha["ci_high"]), alpha["clusters"])
    return alpha | {"band": band, "status": status}


def alpha_from_replicates(
    answers: pd.DataFrame,
    *,
    level: str,
    row: str,
    question: str,
    value: str = "value",
) -> dict[str, Any]:
    """Alpha of the true probabilities, from cells that were asked two times or more.

    With one answer a cell, alpha mixes the noise of answering with disagreement between levels;
    repeated answers tell how large the noise is, and it is taken away.

    Args:
        answers: one row an answer (0 or 1, NaN = missing), several a cell.
        level: column of the factor's levels; row: of the situations; question: of the clusters.

    Returns:
        alpha (not truncated), ci_low, ci_high (jackknife over questions, t on questions - 1 degrees
        of freedom), status, n (answers used), n_invalid, n_units (rows used), clusters,
        noise_share (share of the variance between cells that is noise of answering).
        status: `ok`; `no_replicates` (no row with two cells of two answers); `constant`;
        `mostly_noise` (the noise explains more than nine tenths of the variance between cells).

    Definition: y = k / r of a cell with k yes of r answers, e = y (1 - y) / (r - 1) the unbiased
    variance of y; rows with m_u >= 2 such cells, n = sum m_u; V = sum e / n;
    D_o = (1/n) sum_u m_u / (m_u - 1) SS_u - V; D_e = SS / (n - 1) - V; alpha = 1 - D_o / D_e.

    Coverage (data/simulated/interval_coverage.csv; 60 answers a question): 6 of 16 cells below
    93 %, .81, .87 and .89 with 5, 10 and 20 questions of decided answers whose levels differ;
    4 with an interval in fewer than 80 % of studies (nearly constant answers, hardly ever given).

    Example:
        >>> import itertools
        >>> cells = itertools.product(range(10), range(3), "ab", range(4))
        >>> answers = pd.DataFrame(cells, columns=["question", "row", "level", "repetition"])
        >>> answers["value"] = (answers["repetition"] <= answers["question"] % 4).astype(float)
        >>> found = alpha_from_replicates(answers, level="level", row="row", question="question")
        >>> found["n"], found["n_units"], found["status"]
        (240, 30, 'ok')
    """
    valid = answers[answers[value].notna()]
    cells = valid.groupby([question, row, level], sort=False)[value].agg(["mean", "size"])
    cells = cells[cells["size"] >= 2].reset_index()
    cells["noise"] = cells["mean"] * (1 - cells["mean"]) / (cells["size"] - 1)
    width = cells.groupby([question, row], sort=False)["mean"].transform("size")
    cells = cells[width >= 2]
    sums = _replicate_sums(cells, question, row)
    out = {"alpha": np.nan, "ci_low": np.nan, "ci_high": np.nan, "status": "no_replicates"}
    out |= {
        "n": int(cells["size"].sum()),
        "n_invalid": int(answers[value].isna().sum()),
        "n_units": int(cells.groupby([question, row]).ngroups),
        "clusters": len(sums),
        "noise_share": np.nan,
    }
    if not len(sums):
        return out
    alpha, share = _alpha_without_noise(sums.sum(axis=0))
    out["noise_share"] = share
    if np.isnan(alpha):
        return out | {"status": "constant" if np.isnan(share) else "mostly_noise"}
    out |= {"alpha": alpha, "status": "ok"}
    left_out = [_alpha_without_noise(sums.sum(axis=0) - one)[0] for one in sums]
    n_questions = len(sums)
    # From fewer than five questions no interval is given (`status` stays ok: alpha itself is).
    if n_questions < NO_INTERVAL_BELOW or np.isnan(left_out).any():
        return out
    pseudo_values = n_questions * alpha - (n_questions - 1) * np.array(left_out)
    error = pseudo_values.std(ddof=1) / np.sqrt(n_questions)
    half = student.ppf(0.975, n_questions - 1) * error
    return out | {"ci_low": alpha - half, "ci_high": alpha + half}


def _replicate_sums(cells: pd.DataFrame, question: str, row: str) -> np.ndarray:
    """Five numbers a question: cells, sum, sum of squares, weighted squares in rows, noise."""
    values = cells["mean"] - cells["mean"].mean()
    cells = cells.assign(centred=values, square=values**2)
    rows = cells.groupby([question, row], sort=False).agg(
        m=("centred", "size"),
        total=("centred", "sum"),
        squares=("square", "sum"),
        noise=("noise", "sum"),
    )
    within = rows["squares"] - rows["total"] ** 2 / rows["m"]
    rows["weighted"] = within * rows["m"] / (rows["m"] - 1)
    columns = ["m", "total", "squares", "weighted", "noise"]
    return rows.groupby(level=0, sort=False)[columns].sum().to_numpy(float)


def _alpha_without_noise(sums: np.ndarray) -> tuple[float, float]:
    """(alpha, share of noise) from the five sums; alpha is NaN where the noise is nearly all."""
    n, total, squares, weighted, noise = sums
    variance = (squares - total**2 / n) / (n - 1)
    own_noise = noise / n
    if variance <= 0:
        return np.nan, np.nan
    expected = variance - own_noise
    share = own_noise / variance
    if expected <= 0 or share > 0.9:
        return np.nan, float(share)
    observed = weighted / n - own_noise
    return float(1 - observed / expected), float(share)


def alpha_from_repeats(
    frame: pd.DataFrame,
    *,
    value: str,
    rater: str,
    unit: _Names = (),
    by: _Names = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """Krippendorff's alpha of the probabilities behind the answers, which were asked repeatedly.

    With one answer a cell, alpha mixes the noise of answering with disagreement between levels;
    repeated answers tell how large the noise is, and it is taken away.

    Args:
        frame: a row an answer (0 or 1, missing where invalid), several of one unit and rater.
        value, rater, unit, by, cluster: as of `alpha`.

    Returns:
        by..., value (alpha, not truncated), n (answers used), n_invalid, clusters, ci_low, ci_high
        (95 %, jackknife over clusters by t), status, n_units, band, noise_share (share of the
        variance between cells that is noise). status: `ok`; `one_answer_a_prompt` (no unit with two
        cells of two answers: no value); `constant` and `mostly_noise` (noise explains more than
        nine tenths: no value); `one_question_decides` (without one cluster alpha is not defined)
        and `few_clusters` (fewer than 5): no interval.

    Formula, coverage and errors: `alpha_from_replicates`, `alpha`.

    Example:
        >>> import itertools
        >>> cells = itertools.product(range(10), range(3), "ab", range(4))
        >>> answers = pd.DataFrame(cells, columns=["question", "row", "level", "repetition"])
        >>> places = answers["question"] + answers["row"] * (answers["level"] == "b")
        >>> answers["yes"] = (answers["repetition"] <= places % 4).astype(float)
        >>> found = alpha_from_repeats(answers, value="yes", unit="row", rater="level")
        >>> found[["n", "n_units", "clusters", "status"]].to_numpy().tolist()
        [[240, 30, 10, 'ok']]
    """
    units = _unit_columns(cluster, unit)
    columns = {value: NUMBER_OR_NONE} | dict.fromkeys([rater, *units], LABEL)
    names = require("alpha_from_repeats", frame, columns, by)
    rows = []
    for key, cell in cells(frame, names):
        # Codes of the units are quicker than their names.
        coded = pd.DataFrame(
            {
                "value": cell[value].astype(float),
                "level": pd.factorize(cell[rater])[0],
                "row": cell.groupby(units, sort=False, observed=True).ngroup(),
                "question": cell[cluster],
            }
        )
        found = alpha_from_replicates(coded, level="level", row="row", question="question")
        if found["status"] == "no_replicates":
            found |= {"n": 0, "n_units": 0, "clusters": 0}
        rows.append(key | {"value": found["alpha"]} | _told_of_repeats(found))
    return flat(rows, frame, names, more=[*_MORE, "noise_share"])
