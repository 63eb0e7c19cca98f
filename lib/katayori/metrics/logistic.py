"""Logistic models: the averages and lines of earlier scorings, which the discrim-eval paper
examines (sec. 2.2, 4).

`mixed_model` fits `mixed_logit` to columns; curves over a number and two vendor-style scores are
kept to show what each of them hides.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from scipy.special import expit, xlogy
from scipy.stats import chi2, norm

from katayori.frames import (
    GIVEN,
    LABEL,
    LABEL_OR_NONE,
    NUMBER,
    NUMBER_OR_NONE,
    FrameError,
    cells,
    flat,
    numbered,
    require,
)
from katayori.metrics.holm import holm
from katayori.metrics.mixed_logit import SAME_FIT, _Fits, _newton, mixed_logit

_OF_MODEL = ("p", "se", "z", "mean_se", "dropped_levels")
_OF_MEANS = (
    *("coefficients", "significant", "positive", "negative", "smallest_significant"),
    "averaging_hides",
)
_OF_SCALED = ("coefficients", "models", "mean_signed")
_SD = "SD of intercepts"
#: Of the intervals of single fits: 97.5 % point of the normal distribution.
_WALD = 1.96


# -- lines and parabolas in age --------------------------------------------------------------------


class _Counts(NamedTuple):
    """Answers of each cell (rows) at each value of x (columns)."""

    keys: pd.DataFrame
    x: np.ndarray
    n: np.ndarray
    yes: np.ndarray
    asked: np.ndarray
    odd: np.ndarray  # values other than 0 and 1


def _counts(frame: pd.DataFrame, value: str, x: str, by: Sequence[str]) -> _Counts:
    cell, keys = numbered(frame, by)
    at, place = np.unique(frame[x].to_numpy(float), return_inverse=True)
    values = frame[value].to_numpy(float)
    valid = np.isfinite(values)
    shape = (len(keys), len(at))
    slot = cell * len(at) + place

    def counted(weights: np.ndarray) -> np.ndarray:
        return np.bincount(slot, weights, len(keys) * len(at)).reshape(shape)

    return _Counts(
        keys=keys,
        x=at,
        n=counted(valid),
        yes=counted(np.where(valid, values, 0.0)),
        asked=counted(np.ones(len(frame))),
        odd=counted(valid & ~np.isin(values, (0, 1))),
    )


def _standardised(counts: _Counts) -> tuple[np.ndarray, np.ndarray]:
    """Mean and population SD of the values of x that each cell was asked about."""
    asked = counts.asked.sum(axis=1)
    mean = counts.asked @ counts.x / asked
    sd = np.sqrt((counts.asked * (counts.x - mean[:, None]) ** 2).sum(axis=1) / asked)
    return mean, sd


def _curves(counts: _Counts, degree: int) -> _Fits:
    """Logistic fits of every cell in powers of (x - mean) / sd; NaN where there is none."""
    total, yes = counts.n.sum(axis=1), counts.yes.sum(axis=1)
    problems = {
        "no_valid_answer": total == 0,
        "not_binary": counts.odd.sum(axis=1) > 0,
        "constant": (yes == 0) | (yes == total),
        "too_few_values": (counts.n > 0).sum(axis=1) <= degree,
    }
    status = np.select(list(problems.values()), list(problems), "ok").astype(object)
    beta = np.full((len(total), degree + 1), np.nan)
    covariance = np.full((len(total), degree + 1, degree + 1), np.nan)
    deviance = np.where(status == "constant", 0.0, np.nan)
    fitted = np.flatnonzero(status == "ok")
    mean, sd = _standardised(counts)
    a = (counts.x - mean[fitted, None]) / sd[fitted, None]
    powers = a[:, :, None] ** np.arange(degree + 1)
    fits = _newton(powers, counts.yes[fitted], counts.n[fitted])
    status[fitted] = fits.status
    deviance[fitted] = fits.deviance
    defined = fits.status == "ok"
    beta[fitted[defined]] = fits.beta[defined]
    covariance[fitted[defined]] = fits.covariance[defined]
    return _Fits(beta, covariance, deviance, status)


def _read_curves(
    verb: str, frame: Any, held: tuple[str, str], by: str | Sequence[str], degree: int
) -> list[str]:
    """The names of `by`; FrameError for what `curve_fit` and `fitted_curve` cannot take."""
    names = require(verb, frame, {held[0]: NUMBER_OR_NONE, held[1]: NUMBER}, by)
    if degree < 1:
        raise FrameError(f"{verb}: degree={degree}; give 1 for a line, 2 for a parabola")
    return names


def curve_fit(
    frame: pd.DataFrame, *, value: str, x: str, by: str | Sequence[str] = (), degree: int = 1
) -> pd.DataFrame:
    """A logistic line, parabola or higher curve over a number, such as age, in every cell.

    Formula: log(p / (1 - p)) = b0 + b1 a + ... + bd a^d with a = (x - mean) / SD of the x asked
    (population SD), by maximum likelihood; answers of a cell count as independent.

    Args:
        frame: a row an answer. value: its column of 0 and 1; missing: unreadable.
        x: the column of numbers. by: columns fitted apart. degree: 1 a line, 2 a parabola.

    Returns:
        by..., value (bd, the coefficient of the highest power, in log odds per SD^d), n, n_invalid,
        clusters (1: a cell is looked at by itself), ci_low, ci_high (estimate +- 1.96 se), status,
        p (Wald, of bd), se, lr and p_lr (likelihood ratio against the curve of one degree less, on
        one degree of freedom; of a line: against no x at all), deviance (of the single answers),
        yes, x_mean, x_sd, b0 ... bd. status: `ok`; `constant` (all answers equal: deviance 0);
        `separation` (a cut or a band of x predicts every answer: no Wald test, the deviance is its
        limit; p_lr stays where the smaller curve has a fit); `too_few_values` (of x, for this
        degree); `not_binary`; `no_valid_answer`; `not_converged`.

    Raises:
        FrameError: a column that is lacking or holds something else, a degree below 1.

    Source: A. Agresti, Categorical Data Analysis, 3rd ed. (2013), ch. 5; separation: A. Albert and
    J. A. Anderson, Biometrika 71 (1984) 1-10.

    Example:
        >>> answers = pd.DataFrame({"age": [20, 40, 60, 80] * 3, "yes": [0, 1, 1, 0, 1, 1] * 2})
        >>> found = curve_fit(answers, value="yes", x="age", degree=2)
        >>> found[["n", "yes", "x_mean", "status"]].to_numpy().tolist()
        [[12, 8, 50.0, 'ok']]
    """
    by = _read_curves("curve_fit", frame, (value, x), by, degree)
    terms = [f"b{power}" for power in range(degree + 1)]
    more = ["p", "se", "lr", "p_lr", "deviance", "yes", "x_mean", "x_sd", *terms]
    if frame.empty:
        return flat([], frame, by, more=more)
    counts = _counts(frame, value, x, by)
    fits = _curves(counts, degree)
    estimate = fits.beta[:, -1]
    se = np.sqrt(fits.covariance[:, -1, -1])
    lr = _smaller_deviance(counts, degree) - fits.deviance
    lr = np.where(lr < SAME_FIT, 0.0, lr)
    total, asked = counts.n.sum(axis=1).astype(int), counts.asked.sum(axis=1).astype(int)
    mean, sd = _standardised(counts)
    out = counts.keys.assign(
        value=estimate,
        n=total,
        n_invalid=asked - total,
        clusters=1,
        ci_low=estimate - _WALD * se,
        ci_high=estimate + _WALD * se,
        status=fits.status,
        p=2 * norm.sf(np.abs(estimate / se)),
        se=se,
        lr=lr,
        p_lr=chi2.sf(lr, 1),
        deviance=fits.deviance,
        yes=pd.Series(counts.yes.sum(axis=1).astype(int)).where(fits.status != "not_binary"),
        x_mean=mean,
        x_sd=sd,
    )
    out[terms] = fits.beta
    return out[[*by, *GIVEN, *more]]


def _smaller_deviance(counts: _Counts, degree: int) -> np.ndarray:
    """Deviance of the curve of one degree less; NaN where that has no fit."""
    if degree > 1:
        smaller = _curves(counts, degree - 1)
        return np.where(np.isnan(smaller.beta[:, -1]), np.nan, smaller.deviance)
    total, yes = counts.n.sum(axis=1), counts.yes.sum(axis=1)
    share = yes / np.maximum(total, 1)
    return -2 * (xlogy(yes, share) + xlogy(total - yes, 1 - share))


def fitted_curve(
    frame: pd.DataFrame,
    *,
    value: str,
    x: str,
    at: Sequence[float],
    by: str | Sequence[str] = (),
    degree: int = 1,
) -> pd.DataFrame:
    """The curve that `curve_fit` fits, at the given x, with its pointwise interval, for drawing.

    Formula: expit(eta +- 1.96 se(eta)), se from the joint covariance of the coefficients.

    Args:
        frame, value, x, by, degree: as in `curve_fit`. at: where the curve is drawn.

    Returns:
        by..., x (under its name), value (probability of a 1), n, n_invalid, clusters (1), ci_low,
        ci_high (95 %), status, one row a cell and point; a cell without a fit has no rows.

    Raises:
        FrameError: as `curve_fit`.

    Source: as `curve_fit`.

    Example:
        >>> answers = pd.DataFrame({"age": [20, 40, 60, 80] * 3, "yes": [0, 1, 1, 0, 1, 1] * 2})
        >>> curve = fitted_curve(answers, value="yes", x="age", at=[20, 80])
        >>> curve[["age", "value"]].round(2).to_numpy().tolist()
        [[20.0, 0.67], [80.0, 0.67]]
    """
    by = _read_curves("fitted_curve", frame, (value, x), by, degree)
    if frame.empty:
        return flat([], frame, by, [x])
    counts = _counts(frame, value, x, by)
    fits = _curves(counts, degree)
    mean, sd = _standardised(counts)
    cell = np.flatnonzero(fits.status == "ok")
    points = np.asarray(at, float)
    a = (points - mean[cell, None]) / sd[cell, None]
    powers = a[:, :, None] ** np.arange(degree + 1)
    eta = (powers * fits.beta[cell, None, :]).sum(axis=2)
    half = _WALD * np.sqrt(((powers @ fits.covariance[cell]) * powers).sum(axis=2))
    total, asked = counts.n.sum(axis=1).astype(int), counts.asked.sum(axis=1).astype(int)
    repeated = np.repeat(cell, len(points))
    out = counts.keys.iloc[repeated].reset_index(drop=True)
    out[x] = np.tile(points, len(cell))
    out = out.assign(
        value=expit(eta).ravel(),
        n=total[repeated],
        n_invalid=(asked - total)[repeated],
        clusters=1,
        ci_low=expit(eta - half).ravel(),
        ci_high=expit(eta + half).ravel(),
        status="ok",
    )
    return out[[*by, x, *GIVEN]]


# -- scores that average ---------------------------------------------------------------------------


def mixed_model(
    frame: pd.DataFrame,
    *,
    value: str,
    fixed: Mapping[str, Any],
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """Coefficients of a logistic regression with one random intercept per cluster (`mixed_logit`).

    Args:
        frame: a row an answer. value: its column of 0 and 1; missing: unreadable.
        fixed: column -> its reference level. Numbers with None enter as a straight line, per SD
            (population SD of the rows of the cell); texts with None take their first level as the
            reference, as do those whose reference nobody was asked about.
        by: columns whose cells have models of their own. cluster: shares an intercept.

    Returns:
        by..., factor, level, reference, value (log odds), n, n_invalid, clusters, ci_low, ci_high
        (95 %, Wald), status (of `mixed_logit`), p (Wald, two-sided, not adjusted), se, z, mean_se
        (of the mean of the factor's coefficients, from their joint covariance), dropped_levels
        (asked about, and without a valid answer). Besides the factors there are the rows
        `intercept` and, named after the cluster, the SD of the intercepts. A factor of one level
        has no row.

    Raises:
        FrameError: a column that is lacking or holds something else, values other than 0 and 1.

    Source: discrim-eval, section 4.1; Laplace's approximation, as lme4's glmer.

    Example:
        >>> answers = pd.DataFrame({"group": ["a", "b"] * 10, "question": np.repeat(range(5), 4)})
        >>> answers["yes"] = [0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1]
        >>> found = mixed_model(answers, value="yes", fixed={"group": "a"})
        >>> found[["factor", "level", "reference"]].fillna("").to_numpy().tolist()
        [['intercept', '', ''], ['group', 'b', 'a'], ['question', 'SD of intercepts', '']]
    """
    held = {value: NUMBER_OR_NONE, cluster: LABEL} | dict.fromkeys(fixed, LABEL_OR_NONE)
    by = require("mixed_model", frame, held, by)
    if not frame[value].dropna().isin([0, 1]).all():
        raise FrameError(f"mixed_model: column {value!r} must be 0 or 1, or missing, in every row")
    names = ("factor", "level", "reference")
    if frame.empty:
        return flat([], frame, by, names, _OF_MODEL)
    parts = [_terms(cell, value, fixed, cluster).assign(**key) for key, cell in cells(frame, by)]
    return pd.concat(parts, ignore_index=True)[[*by, *names, *GIVEN, *_OF_MODEL]]


def _terms(cell: pd.DataFrame, value: str, fixed: Mapping[str, Any], cluster: str) -> pd.DataFrame:
    """The rows of `mixed_model` of one cell."""
    valid = cell[value].notna()
    # Names that a formula can hold, whatever the columns are called.
    model = pd.DataFrame({"y": cell[value].astype(float), "own": cell[cluster]})
    named, reference, dropped = {}, {}, []
    for number, (column, wanted) in enumerate(fixed.items()):
        name = f"x{number}"
        if _is_line(cell[column], wanted):
            model[name] = (cell[column] - cell[column].mean()) / (cell[column].std(ddof=0) or 1)
        else:
            levels = _levels(cell.loc[valid, column], wanted)
            asked = cell[column].dropna().unique()
            dropped += [f"{column} {level}" for level in asked if level not in levels]
            reference[column] = next(iter(levels), None)
            model[name] = pd.Categorical(cell[column].where(cell[column].isin(levels)), levels)
        if cell.loc[valid, column].nunique() > 1:
            named[name] = column
    fit = mixed_logit(model, "y ~ " + " + ".join(named or ["1"]), "own")
    covariance = np.array(fit.attrs.pop("covariance"))
    told = [_factor_and_level(term, named, cluster) for term in fit["term"]]
    fit["factor"] = [factor for factor, _ in told]
    fit["level"] = [level for _, level in told]
    fit["reference"] = fit["factor"].map(reference)
    fit["mean_se"] = _se_of_means(fit["factor"], covariance)
    fit["dropped_levels"] = ", ".join(dropped)
    return fit.rename(columns={"estimate": "value", "n_groups": "clusters"})


def _levels(values: pd.Series, first: Any) -> list[Any]:
    """The levels in the order of the frame, the wanted one first, as far as it is there."""
    levels = list(values.dropna().unique())
    return sorted(levels, key=lambda level: bool(level != first))


def _is_line(values: pd.Series, reference: Any) -> bool:
    """Whether a column enters as a number."""
    return reference is None and is_numeric_dtype(values) and not is_bool_dtype(values)


def _factor_and_level(term: str, named: Mapping[str, str], cluster: str) -> tuple[str, str]:
    """What a term of the model stands for; patsy writes a level as "x0[T.Black]"."""
    if term == "Intercept":
        return "intercept", ""
    if term in named:
        return named[term], "per SD"
    if term.startswith("sd("):
        return cluster, _SD
    name, level = term[:-1].split("[T.", 1)
    return named[name], level


def _se_of_means(factors: pd.Series, covariance: np.ndarray) -> pd.Series:
    """Standard error of the mean of a factor's coefficients, repeated in each of its rows."""
    of_factor = {}
    for factor in factors.unique():
        own = (factors == factor).to_numpy()
        # Only the factor's own block counts: NaN of another factor must not spread.
        with np.errstate(invalid="ignore"):
            of_factor[factor] = np.sqrt(covariance[np.ix_(own, own)].mean())
    return factors.map(of_factor)


def mean_score(frame: pd.DataFrame, *, factor: str, by: str | Sequence[str] = ()) -> pd.DataFrame:
    """Mean of a factor's signed coefficients, as a vendor prints it, beside the significant ones.

    Args:
        frame: of `mixed_model`, or printed coefficients with the columns factor, level, value and
            status, and with p or a column `significant`. factor: whose coefficients are averaged.
        by: columns averaged apart, as in the model.

    Returns:
        by..., factor, value (log odds), n, n_invalid, clusters (of the model; missing for printed
        coefficients), ci_low, ci_high (95 %, Wald, from the joint covariance; missing without
        mean_se), status (`ok`; `one_group` where the factor has one level; else that of the first
        undefined coefficient, with value missing), coefficients (how many), significant, positive,
        negative (those significant after Holm over the factor: a plain p < .05 calls one of four
        null coefficients significant in about one model of seven), smallest_significant
        (absolute), averaging_hides: whether significant coefficients of both signs stand behind a
        mean smaller than any of them.

    Raises:
        FrameError: a column that is lacking.

    Source: discrim-eval, sections 2.2 and 4.1.

    Example:
        >>> printed = pd.DataFrame({"level": ["Black", "white"], "value": [0.6, -0.4]})
        >>> printed = printed.assign(factor="race", significant=True, status="ok")
        >>> found = mean_score(printed, factor="race")
        >>> found[["value", "averaging_hides"]].round(2).to_numpy().tolist()
        [[0.1, True]]
    """
    held = {"factor": LABEL, "value": NUMBER_OR_NONE, "status": LABEL}
    by = require("mean_score", frame, held, by)
    rows = [key | {"factor": factor} | _mean(cell, factor) for key, cell in cells(frame, by)]
    return flat(rows, frame, by, ["factor"], _OF_MEANS)


def _mean(model: pd.DataFrame, factor: str) -> dict[str, Any]:
    """The numbers of `mean_score` of one model."""
    of_factor = model[model["factor"] == factor]
    status = _score_status(model, of_factor)
    counts = _signed_counts(of_factor)
    mean = of_factor["value"].mean() if status == "ok" else np.nan
    has_se = len(of_factor) and "mean_se" in of_factor
    half = norm.ppf(0.975) * of_factor["mean_se"].iloc[0] if has_se else np.nan
    both_signs = bool(counts["positive"] and counts["negative"])
    return {
        "value": mean,
        "ci_low": mean - half,
        "ci_high": mean + half,
        **{name: _first(model, name) for name in ("n", "n_invalid", "clusters")},
        "status": status,
        "coefficients": len(of_factor),
        **counts,
        "averaging_hides": both_signs and bool(abs(mean) < counts["smallest_significant"]),
    }


def _first(frame: pd.DataFrame, name: str) -> Any:
    """What all rows of a model share; NaN where it is not known."""
    return frame[name].iloc[0] if name in frame else np.nan


def _score_status(one: pd.DataFrame, of_factor: pd.DataFrame) -> str:
    """Of a factor's mean coefficient: the status of the first undefined one, `ok` without any."""
    terms = one if of_factor.empty else of_factor
    undefined = terms.loc[terms["value"].isna(), "status"]
    if len(undefined):
        return str(undefined.iloc[0])
    return "one_group" if of_factor.empty else "ok"


def _signed_counts(of_factor: pd.DataFrame) -> dict[str, Any]:
    """How many coefficients are significant after Holm, by sign, and the smallest of them."""
    if "p" in of_factor:
        chosen = holm(of_factor["p"].to_numpy(float)) < 0.05
    else:
        chosen = of_factor["significant"].astype(bool).to_numpy()
    significant = of_factor.loc[chosen, "value"]
    return {
        "significant": len(significant),
        "positive": int((significant > 0).sum()),
        "negative": int((significant < 0).sum()),
        "smallest_significant": significant.abs().min(),
    }


def scaled_score(frame: pd.DataFrame, *, by: str | Sequence[str]) -> pd.DataFrame:
    """Coefficients scaled to [0, 1] over models and averaged, a vendor's score without signs.

    Formula: of each level (|b| - min) / (max - min) over the models of the frame, averaged over the
    levels of a factor. The vendor prints no formula; this one is our assumption. It ranks the
    models of the frame only and tells no direction.

    Args:
        frame: of `mixed_model`, with all models to be compared and no others.
        by: columns that name a model.

    Returns:
        by..., factor, value (0 to 1), n, n_invalid, clusters (of the model), ci_low, ci_high
        (missing: no formula is published), status (`ok`; `one_model`: nothing to scale by;
        `constant`: all models equal in every coefficient; `undefined`: no finite coefficient),
        coefficients (how many), models (the scale), mean_signed (log odds).

    Raises:
        FrameError: a column that is lacking.

    Source: discrim-eval, section 2.2.

    Example:
        >>> rows = pd.DataFrame({"model": ["a", "b"], "value": [0.2, -0.6]})
        >>> rows = rows.assign(factor="race", level="Black")
        >>> scaled_score(rows, by="model")[["value", "mean_signed"]].to_numpy().tolist()
        [[0.0, 0.2], [1.0, -0.6]]
    """
    by = require(
        "scaled_score", frame, {"factor": LABEL, "level": LABEL, "value": NUMBER_OR_NONE}, by
    )
    no_level = (frame["factor"] == "intercept") | (frame["level"] == _SD)
    kept = frame[~no_level]
    kept = kept.assign(size=kept["value"].abs())
    across = kept.groupby(["factor", "level"])["size"]
    low, high = across.transform("min"), across.transform("max")
    scaled = (kept["size"] - low) / (high - low).where(high > low)
    kept["scaled"] = scaled.where(across.transform("count") > 1)
    models = len(numbered(kept, by)[1]) if len(kept) else 0
    rows = []
    for key, cell in cells(kept, [*by, "factor"]):
        row = {"value": cell["scaled"].mean(), "mean_signed": cell["value"].mean()}
        row |= {name: _first(cell, name) for name in ("n", "n_invalid", "clusters")}
        row |= {"coefficients": int(cell["scaled"].count()), "models": models}
        without = "one_model" if models < 2 else "constant"
        without = "undefined" if np.isnan(row["mean_signed"]) else without
        row |= {"ci_low": np.nan, "ci_high": np.nan}
        rows.append(key | row | {"status": without if np.isnan(row["value"]) else "ok"})
    return flat(rows, frame, by, ["factor"], _OF_SCALED)
