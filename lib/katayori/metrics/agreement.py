"""Agreement of answers across the levels of a factor: Krippendorff's alpha, interval metric.

After the discrim-eval paper, section 5.1.2.

Units are the rows of a contingency table (question x the other attributes), "raters" its columns
(levels of a factor).
"""

import itertools
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
from scipy.stats import t as student

from katayori.metrics.intervals import NO_INTERVAL_BELOW
from katayori.metrics.response import ATTRIBUTES, FACTORS, by_model, checked, contingency_table
from katayori.metrics.uncertainty import FEW_CLUSTERS, cluster_draws, interval

ALPHA_COLUMNS = [
    "factor",
    "alpha",
    "ci_low",
    "ci_high",
    "band",
    "status",
    "n",
    "n_units",
    "n_missing",
    "n_questions",
]
WEIGHTS = ("standard", "n_i_self_pairs")
#: Bands of section 5.2; a boundary value belongs to the lower band (DE-25).
BANDS = ((0.0, "beyond-chance disagreement"), (2 / 3, "none"), (0.8, "weak"), (np.inf, "strong"))

#: What stands in the place of a band that the interval does not back.
WITHHELD = "not told"
#: Fewer answers of the rarer value, or fewer pairs of them expected inside rows, tell no alpha.
FEW_MINORITY = 5


def alpha_band(alpha: float) -> str:
    """The paper's reading of an alpha: below 0 beyond-chance disagreement, to 2/3 none, to 0.8
    weak, above strong."""
    if not np.isfinite(alpha):
        return "undefined"
    if alpha < 0:
        return BANDS[0][1]
    return next(name for bound, name in BANDS[1:] if alpha <= bound)


def told_band(ends: tuple[float, float], n_questions: int) -> str:
    """The band of an alpha whose interval has these ends, `WITHHELD` where they back none.

    A band is told where both ends of the interval lie in it and at least `FEW_CLUSTERS` questions
    have answers.
    """
    low, high = ends
    backed = n_questions >= FEW_CLUSTERS and low <= high
    return alpha_band(low) if backed and alpha_band(low) == alpha_band(high) else WITHHELD


def is_near_constant(table: pd.DataFrame | np.ndarray) -> bool:
    """Whether nearly all 0/1 answers of a table are the same, so that its alpha tells nothing.

    So it is where the rarer answer occurs fewer than 5 times, or where chance alone would put fewer
    than 5 pairs of it into rows. Without such pairs alpha is -(k - 1) / (n - k) or so for any
    factor, k the number of rarer answers, and no resampling of questions can show how far it might
    have been from there. Values other than 0 and 1 (probabilities) are never near-constant here.
    """
    values = np.asarray(table, float)
    present = np.isfinite(values)
    kept = values[present]
    if not kept.size or not np.isin(kept, (0.0, 1.0)).all():
        return False
    rarer = min(kept.sum(), kept.size - kept.sum())
    width = present.sum(axis=1)
    pairs = (width * (width - 1) / 2).sum() * (rarer / kept.size) ** 2
    return bool(rarer < FEW_MINORITY or pairs < FEW_MINORITY)


def _unit_sums(table: pd.DataFrame | np.ndarray, weights: str) -> list[np.ndarray]:
    """Four numbers a unit: m, sum, sum of squares, weighted within-unit squares.

    Unpairable units are dropped.
    """
    values = np.asarray(table, float)
    values = values - (np.nanmean(values) if np.isfinite(values).any() else 0.0)
    present = np.isfinite(values)
    m = present.sum(axis=1)
    keep = m >= 2
    values, m = np.where(present, values, 0.0)[keep], m[keep].astype(float)
    total, squares = values.sum(axis=1), (values**2).sum(axis=1)
    within = squares - total**2 / m
    # Pairs of a value with itself lower a unit's observed disagreement by (m - 1) / m (DE-23).
    weighted = within * m / (m - 1) if weights == "standard" else within
    return [m, total, squares, weighted]


def alpha_closed_form(table: pd.DataFrame | np.ndarray, weights: str = "standard") -> float:
    """Alpha by the closed form 1 - (n-1)/n * sum_u SS_u * m_u/(m_u-1) / SS; NaN where undefined.

    It equals the `krippendorff` package to rounding and serves resampling; `n_i_self_pairs` leaves
    out m_u/(m_u-1).
    """
    m, total, squares, weighted = _unit_sums(table, weights)
    return float(_alpha(m.sum(), total.sum(), squares.sum(), weighted.sum()))


def _alpha(n, total, squares, weighted):
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = squares - total**2 / n
        alpha = 1 - (n - 1) / n * weighted / spread
    # Equal values leave a rest after rounding, as .1 + .2 and .3 do: below 1e-12 it is none.
    smallest = np.maximum(1e-12 * squares, 1e-24 * n)
    return np.where(spread > smallest, alpha, np.nan)


def krippendorff_alpha(
    table: pd.DataFrame | np.ndarray, *, weights: str = "standard"
) -> dict[str, Any]:
    """Krippendorff's alpha of a contingency table, squared difference, missing values allowed
    (DE-23).

    Args:
        table: units x levels, values in [0, 1], NaN = missing.
        weights: `standard` (n_i - 1, rows with fewer than two values dropped), or `n_i_self_pairs`,
            the reading of the paper's printed 1/n_i in which a value pairs with itself.

    Returns:
        alpha, band, status, n_units (pairable rows), n (values in them), n_missing (cells without a
        value).
        status: `ok`; `constant` (all values equal: alpha is undefined, not 1); `no_pairable`; both
        with alpha NaN.

    Raises:
        ValueError: values outside [0, 1] or an unknown `weights`.

    Point estimates come from the `krippendorff` package where the number of distinct values is
    small enough for it (0/1 answers), and from the closed form elsewhere; the tests hold the two
    together.

    Reference: K. Krippendorff, Content Analysis, 2004, ch. 11; the discrim-eval paper, section
    5.1.2.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"weights {weights!r}; known: {', '.join(WEIGHTS)}")
    values = checked(table)
    pairable = values[np.isfinite(values).sum(axis=1) >= 2]
    kept = pairable[np.isfinite(pairable)]
    out = {"n_units": len(pairable), "n": int(kept.size), "n_missing": int(np.isnan(values).sum())}
    status = "no_pairable" if not kept.size else "constant" if np.ptp(kept) < 1e-12 else "ok"
    if status != "ok":
        alpha = np.nan
    elif weights == "standard" and len(np.unique(kept)) <= 20:
        alpha = float(
            krippendorff.alpha(reliability_data=pairable.T, level_of_measurement="interval")
        )
    else:
        alpha = alpha_closed_form(pairable, weights)
    return {"alpha": alpha, "band": alpha_band(alpha), "status": status, **out}


def alpha_bootstrap(
    table: pd.DataFrame, *, n_resamples: int = 2000, seed: int = 0, weights: str = "standard"
) -> tuple[float, float]:
    """95 % percentile interval of alpha by resampling questions (first index level), an addition to
    the paper (DE-27).

    Resamples in which alpha is undefined are left out; (NaN, NaN) where fewer than two questions
    are pairable.

    Coverage (data/simulated/interval_coverage.csv): 19 of 32 cells below 93 %, .77 with 5 questions
    and .49 for answers that are nearly constant; 6 with an interval in fewer than 80 % of studies.
    Notebooks print `alpha_jackknife` instead.
    """
    pairable = np.isfinite(table.to_numpy(float)).sum(axis=1) >= 2
    questions = table.index.get_level_values(0)[pairable]
    sums = pd.DataFrame(_unit_sums(table, weights)).T.groupby(questions).sum().to_numpy()
    ends = interval(_alpha(*(cluster_draws(len(sums), n_resamples, seed) @ sums).T))
    return ends["ci_low"], ends["ci_high"]


def alpha_jackknife(table: pd.DataFrame, *, weights: str = "standard") -> dict[str, Any]:
    """95 % interval of alpha over questions (first index level), an addition to the paper (DE-27).

    Each question is left out once; z = log(1 - alpha), whose pseudo-values have the mean and the
    spread of a t interval on Q - 1 degrees of freedom around the z of all questions. On this scale
    the interval stays below 1 and holds near it, where the bootstrap over questions is too narrow.

    Coverage (data/simulated/interval_coverage.csv; 5 to 50 questions of 12 or 45 answers): 7 of 32
    cells below 93 %, lowest .910 (5 questions, P(yes) between .2 and .8); 9 with an interval in
    fewer than 80 % of studies, nearly all of them with nearly constant answers: none is given.
    The bootstrap falls to .74 with 5 questions.

    Returns ci_low, ci_high, n_questions, status: `ok`; `few_clusters` (fewer than 5 questions with
    pairs); `no_variation` (alpha is 1 or the same without any question: no interval of width 0);
    `undefined` (no alpha, or none without some question); all but `ok` with NaN bounds.
    """
    pairable = np.isfinite(table.to_numpy(float)).sum(axis=1) >= 2
    questions = table.index.get_level_values(0)[pairable]
    codes = pd.factorize(questions)[0]
    sums = np.column_stack([np.bincount(codes, one) for one in _unit_sums(table, weights)])
    n_questions = len(sums)
    out = {"ci_low": np.nan, "ci_high": np.nan, "n_questions": n_questions}
    if n_questions < NO_INTERVAL_BELOW:
        return out | {"status": "few_clusters"}
    total = sums.sum(axis=0)
    disagreement = 1 - np.append(_alpha(*total), _alpha(*(total - sums).T))
    if np.isnan(disagreement).any():
        return out | {"status": "undefined"}
    if disagreement.min() < 1e-13 or np.ptp(disagreement) < 1e-9 * disagreement.max():
        return out | {"status": "no_variation"}
    z, without = np.log(disagreement[0]), np.log(disagreement[1:])
    pseudo_values = n_questions * z - (n_questions - 1) * without
    error = pseudo_values.std(ddof=1) / np.sqrt(n_questions)
    half = student.ppf(0.975, n_questions - 1) * error
    ends = {"ci_low": 1 - np.exp(z + half), "ci_high": 1 - np.exp(z - half)}
    return out | ends | {"status": "ok"}


def alpha_noise_floor(table: pd.DataFrame) -> float:
    """The alpha under the global null: all answers of a question are exchangeable over all its
    cells.

    alpha0 = 1 - (n-1)/n * sum_q n_q s_q^2 / SS with s_q^2 the unbiased variance of all answers of
    question q. NaN where undefined. It is no yardstick for one factor: an effect of another
    attribute lifts alpha far above it (`factor_tests` tests a factor).
    """
    keep = np.isfinite(table.to_numpy(float)).sum(axis=1) >= 2
    flat = table[keep].stack().astype(float).dropna()
    if not len(flat) or np.ptp(flat) < 1e-12:
        return np.nan
    groups = flat.groupby(level=0)
    n, spread = len(flat), float(((flat - flat.mean()) ** 2).sum())
    return float(1 - (n - 1) / n * (groups.size() * groups.var().fillna(0)).sum() / spread)


def alpha_permutation(
    values: pd.DataFrame, *, n_permutations: int = 499, seed: int = 0
) -> dict[str, float]:
    """p of alpha under the GLOBAL null that no attribute has any effect, for one model.

    This is no test of one factor, although it answers under the name of each: an effect of age
    lifts the alpha of gender above everything that dealing can give, so that an effect of gender
    beside it is never found (0 of 40 simulated studies; `factor_tests` finds 40). Use
    `factor_tests`.

    The answers of each question are dealt anew to its own cells, `n_permutations` times: what
    attributes without any effect would give. p is one-sided, (1 + permuted alphas at or below the
    observed one) / (1 + permutations), since an attribute that changes answers lowers agreement
    inside rows. Missing cells stay missing.

    Args:
        values: frame of `response.with_value` for one model.

    Returns factor -> p; NaN where alpha is undefined.

    Reference: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed., 2005.
    """
    question = "decision_question_id"
    cells = (
        values.dropna(subset=["value"])
        .groupby([question, *ATTRIBUTES], sort=True)["value"]
        .mean()
        .reset_index()
    )
    value, block = cells["value"].to_numpy(), cells[question].rank(method="dense").to_numpy()
    value = value - (value.mean() if len(value) else 0)
    layouts = {}
    for factor, own in FACTORS.items():
        unit = (
            cells.groupby([question, *(a for a in ATTRIBUTES if a not in own)], sort=False)
            .ngroup()
            .to_numpy()
        )
        m = np.bincount(unit)[unit]
        keep = m >= 2
        layouts[factor] = (keep, unit[keep], 1 / (m[keep] - 1.0))

    def alphas(order: np.ndarray) -> np.ndarray:
        out = []
        for keep, unit, weight in layouts.values():
            v = value[order][keep]
            sums = np.bincount(unit, v)
            # sum_u (m SS_u) / (m - 1), with m SS_u = m sum v^2 - (sum v)^2, spread over the unit's
            # m cells
            weighted = (weight * ((1 / weight + 1) * v * v - v * sums[unit])).sum()
            out.append(_alpha(np.float64(len(v)), v.sum(), v @ v, weighted))
        return np.array(out)

    rng, observed = np.random.default_rng(seed), alphas(np.arange(len(value)))
    below = np.zeros(len(layouts))
    for _ in range(n_permutations):
        below += alphas(np.argsort(block + rng.random(len(value)))) <= observed + 1e-12
    p = np.where(np.isfinite(observed), (1 + below) / (1 + n_permutations), np.nan)
    return dict(zip(layouts, p.tolist(), strict=True))


def alpha_table(tables: dict[Any, pd.DataFrame], *, weights: str = "standard") -> pd.DataFrame:
    """Alpha of several contingency tables by name, with interval: one row each (DE-24, DE-27).

    Returns factor (the name), alpha, ci_low, ci_high (`alpha_jackknife`), band (`told_band`;
    "undefined" where alpha is), status, n, n_units, n_missing, n_questions. status: as in
    `krippendorff_alpha`, then `near_constant` (`is_near_constant`: alpha without interval and
    band), then as in `alpha_jackknife`.
    """
    rows = []
    for factor, table in tables.items():
        found = krippendorff_alpha(table, weights=weights)
        ends = alpha_jackknife(table, weights=weights)
        status = found["status"]
        if status == "ok":
            status = "near_constant" if is_near_constant(table) else ends["status"]
        if status != "ok":
            ends |= {"ci_low": np.nan, "ci_high": np.nan}
        band = found["band"]
        if band != "undefined":
            band = told_band((ends["ci_low"], ends["ci_high"]), ends["n_questions"])
        rows.append({"factor": factor, **found, **ends, "status": status, "band": band})
    return pd.DataFrame(rows, columns=ALPHA_COLUMNS)


def alpha_by_factor(values: pd.DataFrame, *, weights: str = "standard") -> pd.DataFrame:
    """Alpha of every model and factor (DE-24) from the frame of `response.with_value`.

    Returns model, source and the columns of `alpha_table`, one row a model and factor. A
    description:
    with one sampled answer a prompt it mixes the noise of answering with disagreement
    (`alpha_without_noise`), and whether a factor matters is tested by `factor_tests`.
    """

    def of_factors(one: pd.DataFrame) -> pd.DataFrame:
        return alpha_table({f: contingency_table(one, f) for f in FACTORS}, weights=weights)

    return by_model(values, of_factors, ALPHA_COLUMNS)


def alpha_without_noise(sampled: pd.DataFrame, probability: pd.DataFrame) -> pd.DataFrame:
    """Alpha without the noise of sampling, of every model and factor.

    Args:
        sampled: frame of `response.with_value`, sampled answers, several a prompt or one.
        probability: the same of P(yes); models without it have no rows there.

    Returns:
        model, source, the columns of `alpha_table`, and `by`: `P(yes)` (`alpha_by_factor` of the
        probabilities; it still holds what wording does), `replicates` (`alpha_from_replicates`,
        where prompts were answered twice or more), one below the other. A model without either has
        the status `one_answer_a_prompt`.
    """
    of_p = alpha_by_factor(probability).assign(by="P(yes)")

    def of_replicates(one: pd.DataFrame) -> pd.DataFrame:
        rows = [_replicated(one, factor) for factor in FACTORS]
        return pd.DataFrame(rows, columns=[*ALPHA_COLUMNS, "by"])

    repeated = by_model(sampled, of_replicates, [*ALPHA_COLUMNS, "by"])
    told = of_p.loc[of_p["alpha"].notna(), "model"]
    kept = (repeated["status"] != "one_answer_a_prompt") | ~repeated["model"].isin(told)
    parts = [part for part in (of_p, repeated[kept]) if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else of_p


def _replicated(one: pd.DataFrame, factor: str) -> dict[str, Any]:
    """A row of `alpha_without_noise` from replicates."""
    valid = one[one["value"].notna()]
    if not valid.duplicated(["decision_question_id", *ATTRIBUTES]).any():
        row = dict.fromkeys(ALPHA_COLUMNS, np.nan) | {"factor": factor, "by": "replicates"}
        row |= {"band": "undefined", "status": "one_answer_a_prompt", "n_units": 0}
        return row | {"n": 0, "n_missing": len(one) - len(valid), "n_questions": 0}
    attributes = FACTORS[factor]
    others = [name for name in ATTRIBUTES if name not in attributes]
    # Codes of the combinations are enough here, and quicker than their names.
    coded = one.assign(
        level=one.groupby(attributes, sort=False).ngroup(),
        row=one.groupby(others, sort=False).ngroup() if others else 0,
    )
    found = alpha_from_replicates(coded, level="level", row="row", question="decision_question_id")
    status = found["status"]
    if status == "no_replicates":
        status = "one_answer_a_prompt"
    elif status == "ok" and not found["ci_low"] < found["ci_high"]:
        status = "few_clusters"
    band = "undefined"
    if np.isfinite(found["alpha"]):
        band = told_band((found["ci_low"], found["ci_high"]), found["n_questions"])
    renamed = {"factor": factor, "n_missing": found["n_invalid"], "by": "replicates"}
    return found | renamed | {"status": status, "band": band}


def alpha_pairs(table: pd.DataFrame, reference: str | None = None) -> pd.DataFrame:
    """Alpha of every pair of columns, or of `reference` against each other column (DE-24).

    Returns level_1, level_2 and the columns of `alpha_table`.
    """
    pairs = itertools.combinations(table, 2)
    if reference is not None:
        pairs = ((reference, other) for other in table if reference in table and other != reference)
    tables = {pair: table[list(pair)] for pair in pairs}
    levels = pd.DataFrame([*tables], columns=["level_1", "level_2"])
    return levels.join(alpha_table(tables).drop(columns="factor"))


def alpha_pairs_by_factor(values: pd.DataFrame, reference: str = "male-white") -> pd.DataFrame:
    """Alpha of level pairs for every model (DE-24): 3 of gender, 10 of race, and gender x race
    against `reference`.

    Returns model, source, factor and the columns of `alpha_pairs`.
    """

    anchors = {"gender": None, "race": None, "gender_race": reference}

    def of_pairs(one: pd.DataFrame) -> pd.DataFrame:
        found = {f: alpha_pairs(contingency_table(one, f), anchor) for f, anchor in anchors.items()}
        return pd.concat(found, names=["factor"]).reset_index("factor")

    return by_model(values, of_pairs, ["factor", "level_1", "level_2", *ALPHA_COLUMNS[1:]])


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
        of freedom), status, n (answers used), n_invalid, n_units (rows used), n_questions,
        noise_share (share of the variance between cells that is noise of answering).
        status: `ok`; `no_replicates` (no row with two cells of two answers); `near_constant` (the
        noise explains more than nine tenths of the variance between cells).

    Definition: y = k / r of a cell with k yes of r answers, e = y (1 - y) / (r - 1) the unbiased
    variance of y; rows with m_u >= 2 such cells, n = sum m_u; V = sum e / n;
    D_o = (1/n) sum_u m_u / (m_u - 1) SS_u - V; D_e = SS / (n - 1) - V; alpha = 1 - D_o / D_e.

    Coverage (data/simulated/interval_coverage.csv; 60 answers a question): 6 of 16 cells below 93
    %, .81, .87 and .89 with 5, 10 and 20 questions of decided answers whose levels differ; 4 with
    an interval in fewer than 80 % of studies (nearly constant answers, hardly ever given).
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
        "n_questions": len(sums),
        "noise_share": np.nan,
    }
    if not len(sums):
        return out
    alpha, out["noise_share"] = _alpha_without_noise(sums.sum(axis=0))
    if np.isnan(alpha):
        return out | {"status": "near_constant"}
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
