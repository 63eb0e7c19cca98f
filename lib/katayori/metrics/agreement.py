"""Agreement of answers across the levels of a factor: Krippendorff's alpha, interval metric.

After the discrim-eval paper, section 5.1.2.

Units are the rows of a contingency table (question x the other attributes), "raters" its columns
(levels of a factor).
"""

import itertools
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import krippendorff
import numpy as np
import pandas as pd
from scipy.stats import t as student

from katayori.errors import expect
from katayori.frames import (
    LABEL,
    LABEL_OR_NONE,
    NUMBER_OR_NONE,
    FrameError,
    _known,
    cells,
    flat,
    require,
)
from katayori.metrics.intervals import FEW_CLUSTERS, NO_INTERVAL_BELOW
from katayori.metrics.unit_tables import UnitTable, codes, given_table, is_not_asked

_Sums: TypeAlias = np.ndarray | np.floating
SCALES = ("interval", "nominal")
WEIGHTS = ("standard", "n_i_self_pairs")
#: Stands in place of the weights where values are numbers of categories.
_NOMINAL = "nominal"
#: Bands of section 5.2; a boundary value belongs to the lower band.
BANDS = ((0.0, "beyond-chance disagreement"), (2 / 3, "none"), (0.8, "weak"), (np.inf, "strong"))

#: What stands in place of a band that the interval does not back.
WITHHELD = "undecided"
#: Fewer answers of the rarer value, or fewer pairs of them expected inside rows, tell no alpha.
FEW_MINORITY = 5
#: Below this share of the rarer value nearly all answers are the same.
_RARE = 0.1


def alpha_band(alpha: float) -> str:
    """The paper's reading of an alpha (section 5.2).

    Below 0 beyond-chance disagreement, to 2/3 none, to 0.8 weak, above strong.

    Example:
        >>> alpha_band(-0.1), alpha_band(0.8), alpha_band(np.nan)
        ('beyond-chance disagreement', 'weak', 'undefined')
    """
    if not np.isfinite(alpha):
        return "undefined"
    if alpha < 0:
        return BANDS[0][1]
    return next(name for bound, name in BANDS[1:] if alpha <= bound)


def told_band(ends: tuple[float, float], n_questions: int) -> str:
    """The band of an alpha whose interval has these ends, `WITHHELD` where they back none.

    A band is told where both ends of the interval lie in it and at least `FEW_CLUSTERS` questions
    have answers.

    Example:
        >>> told_band((0.1, 0.5), n_questions=70), told_band((0.5, 0.75), n_questions=70)
        ('none', 'undecided')
    """
    low, high = ends
    backed = n_questions >= FEW_CLUSTERS and low <= high
    return alpha_band(low) if backed and alpha_band(low) == alpha_band(high) else WITHHELD


def _tells_nothing(values: np.ndarray) -> str:
    """Why the alpha of a table of two values tells nothing; no word where it does.

    So it is where the rarer answer occurs fewer than 5 times, or where chance alone would put fewer
    than 5 pairs of it into rows. Without such pairs alpha is -(k - 1) / (n - k) or so for any
    factor, k the number of rarer answers, and no resampling of questions can show how far it might
    have been from there. Of more than two values (probabilities) nothing is said.
    """
    present = np.isfinite(values)
    found, counts = np.unique(values[present], return_counts=True)
    if len(found) != 2:
        return ""
    width = present.sum(axis=1)
    share = counts.min() / counts.sum()
    pairs = (width * (width - 1) / 2).sum() * share**2
    if counts.min() >= FEW_MINORITY and pairs >= FEW_MINORITY:
        return ""
    return "near_constant" if share < _RARE else "few_answers"


def _unit_sums(table: pd.DataFrame | np.ndarray, weights: str) -> list[np.ndarray]:
    """Numbers of each pairable unit: values m, squares, weighted squares within, sum.

    Of categories the values are whether it is one, summed over all but for the sum of each.
    """
    values = np.asarray(table, float)
    present = np.isfinite(values)
    pairable = present.sum(axis=1) >= 2
    m = present.sum(axis=1)[pairable].astype(float)
    if weights == _NOMINAL:
        parts = [(values[pairable] == one) * 1.0 for one in np.unique(values[present])]
    else:
        values = values - (np.nanmean(values) if present.any() else 0.0)
        parts = [np.where(present, values, 0.0)[pairable]]
    totals = [one.sum(axis=1) for one in parts]
    squares = sum(((one**2).sum(axis=1) for one in parts), np.zeros(len(m)))
    within = squares - sum(one**2 for one in totals) / m
    # Pairs of a value with itself lower a unit's observed disagreement by (m - 1) / m.
    weighted = within if weights == "n_i_self_pairs" else within * m / (m - 1)
    return [m, squares, weighted, *totals]


def alpha_closed_form(table: pd.DataFrame | np.ndarray, weights: str = "standard") -> float:
    """Alpha by the closed form 1 - (n-1)/n * sum_u SS_u * m_u/(m_u-1) / SS; NaN where undefined.

    It equals the `krippendorff` package to rounding and serves resampling; `n_i_self_pairs` leaves
    out m_u/(m_u-1).

    Example:
        >>> round(alpha_closed_form(np.array([[0, 0], [1, 1], [0, 1]])), 3)
        0.444
    """
    return float(_alpha(*(one.sum() for one in _unit_sums(table, weights))))


def _alpha(n: _Sums, squares: _Sums, weighted: _Sums, *totals: _Sums) -> np.ndarray:
    """Alpha from sums over units, one or many side by side; NaN where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = squares - sum(one**2 for one in totals) / n
        alpha = 1 - (n - 1) / n * weighted / spread
    # Equal values leave a rest after rounding, as .1 + .2 and .3 do: below 1e-12 it is none.
    smallest = np.maximum(1e-12 * squares, 1e-24 * n)
    return np.where(spread > smallest, alpha, np.nan)


def _estimate(values: np.ndarray, weights: str) -> dict[str, Any]:
    """alpha, status, n_units (pairable rows), n (values in them), n_invalid (cells without one).

    The `krippendorff` package gives it where distinct values are few enough, the closed form
    elsewhere; tests hold the two together.
    """
    pairable = values[np.isfinite(values).sum(axis=1) >= 2]
    kept = pairable[np.isfinite(pairable)]
    status = "ok"
    alpha = np.nan
    if not kept.size:
        status = "no_pairable"
    elif np.ptp(kept) < 1e-12:
        status = "constant"
    elif weights != "n_i_self_pairs" and len(np.unique(kept)) <= 20:
        scale: Literal["interval", "nominal"] = "nominal" if weights == _NOMINAL else "interval"
        alpha = float(krippendorff.alpha(reliability_data=pairable.T, level_of_measurement=scale))
    else:
        alpha = alpha_closed_form(pairable, weights)
    return {
        "alpha": alpha,
        "status": status,
        "n_units": len(pairable),
        "n": int(kept.size),
        "n_invalid": int(np.isnan(values).sum()),
    }


def alpha_jackknife(table: pd.DataFrame, *, weights: str = "standard") -> dict[str, Any]:
    """95 % interval of alpha over questions (first index level), an addition to the paper.

    Each question is left out once; z = log(1 - alpha), whose pseudo-values have the mean and the
    spread of a t interval on Q - 1 degrees of freedom around the z of all questions. On this scale
    the interval stays below 1 and holds near it, where the bootstrap over questions is too narrow.

    Coverage (data/simulated/interval_coverage.csv; 5 to 50 questions of 12 or 45 answers): 7 of 32
    cells below 93 %, lowest .910 (5 questions, P(yes) between .2 and .8); 9 with an interval in
    fewer than 80 % of studies, nearly all of them with nearly constant answers: none is given.
    The bootstrap falls to .74 with 5 questions.

    Returns ci_low, ci_high, clusters, status: `ok`; `few_clusters` (fewer than 5 questions with
    pairs); `no_variation` (alpha is 1 or the same without any question: no interval of width 0);
    `undefined` (no alpha); `one_question_decides` (without it nothing varies, or nobody disagrees);
    all but `ok` with NaN bounds.

    Example:
        >>> index = pd.MultiIndex.from_product([range(10), range(4)], names=["question", "row"])
        >>> left = np.arange(40) % 3 == 0
        >>> right = left ^ (np.arange(40) % 7 == 0)
        >>> table = pd.DataFrame({"a": left, "b": right}, index).astype(float)
        >>> found = alpha_jackknife(table)
        >>> found["status"], round(float(found["ci_low"]), 2), round(float(found["ci_high"]), 2)
        ('ok', 0.42, 0.83)
    """
    pairable = np.isfinite(table.to_numpy(float)).sum(axis=1) >= 2
    questions = table.index.get_level_values(0)[pairable]
    codes = pd.factorize(questions)[0]
    sums = np.column_stack([np.bincount(codes, one) for one in _unit_sums(table, weights)])
    n_questions = len(sums)
    out = {"ci_low": np.nan, "ci_high": np.nan, "clusters": n_questions}
    if n_questions < NO_INTERVAL_BELOW:
        return out | {"status": "few_clusters"}
    total = sums.sum(axis=0)
    disagreement = 1 - np.append(_alpha(*total), _alpha(*(total - sums).T))
    if np.isnan(disagreement[0]):
        return out | {"status": "undefined"}
    if disagreement[0] < 1e-13 or np.ptp(disagreement) < 1e-9 * disagreement.max():
        return out | {"status": "no_variation"}
    if not disagreement.min() >= 1e-13:  # nor where one is NaN
        return out | {"status": "one_question_decides"}
    z, without = np.log(disagreement[0]), np.log(disagreement[1:])
    pseudo_values = n_questions * z - (n_questions - 1) * without
    error = pseudo_values.std(ddof=1) / np.sqrt(n_questions)
    half = student.ppf(0.975, n_questions - 1) * error
    ends = {"ci_low": 1 - np.exp(z + half), "ci_high": 1 - np.exp(z - half)}
    return out | ends | {"status": "ok"}


# -- verbs -----------------------------------------------------------------------------------------

_MORE = ("n_units", "band")
_Names: TypeAlias = str | Sequence[str]


def alpha(
    frame: Any,
    *,
    value: str | None = None,
    unit: _Names = (),
    rater: str | None = None,
    by: _Names = (),
    cluster: Any = "question",
    scale: str = "interval",
    weights: str = "standard",
) -> pd.DataFrame:
    """Krippendorff's alpha: do raters, or the levels of a factor, agree on the same units?

    Args:
        frame: a row an answer; or, without value and rater, a table of units x raters (a frame, an
            array, a list of rows), in which each column is a rater.
        value: column of the answers, missing where invalid: numbers, or labels of any kind with
            `scale="nominal"`, where the texts of missing values (`nan`, an empty one) are missing,
            too. Several numbers of one unit and rater count as their mean.
        unit: columns that make a unit inside a cluster, such as the other attributes; none: each
            cluster is one unit.
        rater: column of the raters, or of the levels that are compared. One without any valid
            answer is left out.
        by: columns whose values are measured apart.
        cluster: what would be drawn anew in another study. Of a table the column that holds it, or
            a list; without a column `question`, or with None, each unit is a cluster. In a table
            `question` is never a rater.
        scale: `interval` (squared difference) or `nominal` (equal or not).
        weights: `standard`, or `n_i_self_pairs`, in which a value pairs with itself, too (the
            discrim-eval paper's printed 1/n_i; interval only).

    Returns:
        by..., value (at most 1; 0: as good as chance), n (values of units with two or more),
        n_invalid (units x raters without a value), clusters (of such units), ci_low, ci_high (95 %,
        jackknife over clusters of log(1 - alpha)), status, n_units, band (`told_band`). status:
        `ok`; `constant` (all values equal: alpha is undefined, not 1); `no_pairable`;
        `near_constant` (of two values one is so rare that alpha tells nothing), `few_answers` (of
        two values, too few to tell anything), `few_clusters` (fewer than 5), `no_variation`,
        `one_question_decides` (without it nothing varies, or nobody disagrees): no interval.

    Formula: 1 - D_o / D_e; D_o is the mean disagreement of pairs inside units, D_e of all pairs.
    With one sampled answer a cell it mixes the noise of answering with disagreement
    (`alpha_from_repeats`); it is no test of a factor (`exchange.exchange_test`).

    Raises:
        KatayoriError: a column that is not there or holds something else; texts on an interval
        scale; two labels of one unit and rater; an unknown scale or weights.

    Source: K. Krippendorff, Content Analysis, 2004, ch. 11; the discrim-eval paper, section 5.1.2.

    Example:
        >>> answers = pd.DataFrame({"question": [1, 1, 2, 2, 3, 3], "level": ["f", "m"] * 3})
        >>> found = alpha(answers.assign(yes=[0, 0, 1, 1, 0, 1]), value="yes", rater="level")
        >>> found[["value", "n", "n_units", "status"]].round(3).to_numpy().tolist()
        [[0.444, 6, 3, 'few_clusters']]
        >>> alpha([[0, 0], [1, 1], [0, 1]])["value"].round(3).tolist()
        [0.444]
    """
    expect(scale, SCALES, "scale")
    expect(weights, WEIGHTS if scale == "interval" else WEIGHTS[:1], f"weights of scale {scale}")
    if value is None or rater is None:
        if value is not None or rater is not None or by or unit:
            raise FrameError(
                "alpha: a frame with a row an answer needs value= and rater=; a table of units x"
                " raters has none of value, unit, rater and by"
            )
        return _alpha_of_table(frame, cluster, scale, weights)
    units = _unit_columns(cluster, unit)
    holds = NUMBER_OR_NONE if scale == "interval" else LABEL_OR_NONE
    names = require("alpha", frame, {value: holds} | dict.fromkeys([rater, *units], LABEL), by)
    rows = [
        key | _alpha_row(_unit_table(cell, value, units, rater, scale), scale, weights)
        for key, cell in cells(frame, names)
    ]
    return flat(rows, frame, names, more=_MORE)


def _unit_columns(cluster: str, unit: _Names) -> list[str]:
    """The columns that make a unit, the cluster first."""
    names = [unit] if isinstance(unit, str) else list(unit)
    return list(dict.fromkeys([cluster, *names]))


def _alpha_of_table(table: Any, cluster: Any, scale: str, weights: str) -> pd.DataFrame:
    """`alpha` of units x raters."""
    if is_not_asked(table):
        return flat([], table, more=_MORE)
    own = given_table("alpha", table, cluster)
    return flat([_alpha_row(own, scale, weights)], pd.DataFrame(), more=_MORE)


def _unit_table(
    frame: pd.DataFrame, value: str, unit: list[str], rater: str, scale: str
) -> UnitTable:
    """Units x raters of a frame with a row an answer, the first column of `unit` as clusters.

    Both in the order of the frame; a rater without any valid answer is left out.
    """
    row = frame.groupby(unit, sort=False, observed=True).ngroup().to_numpy()
    column, raters = pd.factorize(frame[rater])
    cell = row * len(raters) + column
    labels = frame[value] if scale == "interval" else _known(frame[value])
    known = labels.notna().to_numpy()
    counts = np.bincount(cell[known], minlength=(row.max() + 1) * len(raters))
    if scale == "interval":
        sums = np.bincount(cell, frame[value].to_numpy(float, na_value=0.0), len(counts))
        values = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    elif (counts > 1).any():
        raise FrameError(
            f"alpha: two labels of one {', '.join(unit)} and {rater}; keep one of each, or name in"
            " unit= what tells them apart"
        )
    else:
        values = np.full(len(counts), None, dtype=object)
        values[cell[known]] = labels.to_numpy(object)[known]
    table = pd.DataFrame(values.reshape(-1, len(raters)), columns=list(raters))
    clusters = frame[unit[0]].to_numpy()[np.unique(row, return_index=True)[1]]
    return UnitTable(table.dropna(axis=1, how="all"), clusters)


def _alpha_row(own: UnitTable, scale: str, weights: str) -> dict[str, Any]:
    """One row of `alpha`."""
    if scale == "interval":
        values = _checked_numbers(own.labels)
    else:
        values, weights = codes(own.labels)[0], _NOMINAL
    found = _estimate(values, weights)
    ends = alpha_jackknife(pd.DataFrame(values, pd.Index(own.cluster)), weights=weights)
    row = ends | found | {"value": found["alpha"], "band": "undefined"}
    if found["status"] == "ok":
        few = ends["status"] == "few_clusters"
        row["status"] = ends["status"] if few else _tells_nothing(values) or ends["status"]
    if row["status"] != "ok":
        row |= {"ci_low": np.nan, "ci_high": np.nan}
    if np.isfinite(row["value"]):
        row["band"] = told_band((row["ci_low"], row["ci_high"]), row["clusters"])
    return row


def _checked_numbers(labels: pd.DataFrame) -> np.ndarray:
    if labels.select_dtypes("number").shape == labels.shape:
        return labels.to_numpy(float)
    for one in labels.to_numpy(object).ravel():
        if not isinstance(one, int | float | np.number | np.bool_) and not pd.isna(one):
            raise FrameError(
                f"alpha: {one!r} is no number, which scale='interval' needs; for labels use"
                " scale='nominal'"
            )
    return labels.astype(object).where(labels.notna(), np.nan).to_numpy(float)


def alpha_pairs(
    frame: pd.DataFrame,
    *,
    value: str,
    rater: str,
    unit: _Names = (),
    by: _Names = (),
    cluster: str = "question",
    reference: Any = None,
) -> pd.DataFrame:
    """Krippendorff's alpha of every pair of raters or levels, on numbers.

    Args:
        frame, value, rater, unit, by, cluster: as of `alpha`.
        reference: a rater, which is compared with each other one; no other pairs are made. Where it
            has no valid answer there are no rows.

    Returns:
        by..., level_1, level_2, then as of `alpha`. Neither interval nor band is adjusted for the
        number of pairs.

    Raises:
        KatayoriError: as of `alpha`; a reference that is nowhere in the column of raters.

    Source: the discrim-eval paper, section 5.1.2, figure 3b.

    Example:
        >>> answers = pd.DataFrame({"question": [1, 1, 1, 2, 2, 2], "race": list("abc") * 2})
        >>> answers["yes"] = [0, 0, 1, 1, 1, 0]
        >>> pairs = alpha_pairs(answers, value="yes", rater="race", reference="a")
        >>> pairs[["level_1", "level_2", "value"]].to_numpy().tolist()
        [['a', 'b', 1.0], ['a', 'c', -0.5]]
    """
    units = _unit_columns(cluster, unit)
    columns = {value: NUMBER_OR_NONE} | dict.fromkeys([rater, *units], LABEL)
    names = require("alpha_pairs", frame, columns, by)
    if reference is not None and len(frame) and not frame[rater].eq(reference).any():
        there = ", ".join(map(repr, pd.unique(frame[rater])[:8]))
        raise FrameError(f"alpha_pairs: no {reference!r} in column {rater!r}, which has {there}")
    rows = []
    for key, cell in cells(frame, names):
        own = _unit_table(cell, value, units, rater, "interval")
        for first, second in _pairs(list(own.labels), reference):
            pair = own._replace(labels=own.labels[[first, second]])
            named = {"level_1": first, "level_2": second}
            rows.append(key | named | _alpha_row(pair, "interval", "standard"))
    return flat(rows, frame, names, ["level_1", "level_2"], _MORE)


def _pairs(levels: list[Any], reference: Any) -> list[tuple[Any, Any]]:
    """All pairs of levels, or the reference with each other one."""
    if reference is None:
        return list(itertools.combinations(levels, 2))
    others = [level for level in levels if level != reference]
    return [(reference, other) for other in others] if reference in levels else []
