"""Logistic models: the averages and lines of earlier scorings, which the discrim-eval paper
examines (sec. 2.2, 4).

`mixed_logit` is a general logistic model with one random intercept; the rest are the paper's uses
of it and the two vendor-style scores, kept to show what each of them hides.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from patsy import EvalEnvironment, PatsyError, dmatrices
from scipy.optimize import linprog, minimize
from scipy.special import expit, log_expit, logsumexp, xlogy
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

_OF_MODEL = ("p", "se", "z", "mean_se", "dropped_levels")
_OF_MEANS = (
    *("coefficients", "significant", "positive", "negative", "smallest_significant"),
    "averaging_hides",
)
_OF_SCALED = ("coefficients", "models", "mean_signed")
_SD = "SD of intercepts"
#: Deviances that differ by less are those of one fit, but for rounding.
_SAME_FIT = 1e-9
#: Of the intervals of single fits: 97.5 % point of the normal distribution.
_WALD = 1.96
_CERTAIN = 30  # beyond this a row's answer is certain to 13 digits, so it cannot slow a fit down


# -- maximum likelihood ----------------------------------------------------------------------------


class _Fits(NamedTuple):
    """Logistic fits side by side; each array has a row a fit."""

    beta: np.ndarray
    covariance: np.ndarray
    deviance: np.ndarray
    status: np.ndarray


def _newton(x: np.ndarray, yes: np.ndarray, n: np.ndarray) -> _Fits:
    """Logistic fits side by side: x (fits, cells, terms) of full rank, yes and n (fits, cells).

    Returns coefficients, covariances, deviance of the single 0/1 answers (its limit under
    separation), and statuses:
    `ok`, `separation` (linear predictors run to infinity), `not_converged`.

    A large linear predictor alone is no separation: a steep hump in age reaches 90 and has a finite
    maximum. `is_separated` decides where one became large.
    """
    beta = np.zeros((len(x), x.shape[2], 1))
    ridge = 1e-14 * np.eye(x.shape[2])  # keeps a fit that separates invertible
    for _ in range(1000):
        eta = (x @ beta)[:, :, 0]
        p = expit(eta)
        certain = np.abs(eta) > _CERTAIN
        weighted = x * (n * p * (1 - p))[:, :, None]
        information = np.swapaxes(weighted, 1, 2) @ x + ridge
        slope = np.swapaxes(x, 1, 2) @ (yes - n * p)[:, :, None]
        step = np.linalg.solve(information, slope)
        moved = np.abs(x @ step)[:, :, 0]
        change = np.where((n > 0) & ~certain, moved, 0).max(axis=1)
        # No uncertain linear predictor moves by more than 1 at a time: then every step goes uphill.
        beta = beta + step / np.maximum(change, 1)[:, None, None]
        if (change < 1e-7).all():
            break
    deviance = -2 * (yes * log_expit(eta) + (n - yes) * log_expit(-eta)).sum(axis=1)
    # Every separated fit has certain rows at the end, but not every fit with certain rows is one.
    separated = np.asarray((certain & (n > 0)).any(axis=1))
    for fit in np.flatnonzero(separated):
        separated[fit] = is_separated(x[fit], yes[fit], n[fit])
    status = np.select([separated, change >= 1e-7], ["separation", "not_converged"], "ok")
    return _Fits(beta[:, :, 0], np.linalg.inv(information), deviance, status)


def is_separated(x: np.ndarray, yes: np.ndarray, n: np.ndarray) -> bool:
    """Whether a logistic fit has no finite maximum: complete or quasi-complete separation, exactly.

    Args:
        x: design (cells x terms).
        yes, n: number of yes and of answers in each cell (shape: cells).

    A direction d separates where x'd is at least 0 in all cells with a yes, at most 0 in all cells
    with a no, and not 0 in all of them. The linear programme looks for the largest such d within
    [-1, 1].

    Reference: A. Albert and J. A. Anderson, Biometrika 71 (1984) 1-10.

    Example:
        >>> age = np.array([20, 40, 60, 80])
        >>> design = np.column_stack([np.ones(4), age])
        >>> is_separated(design, yes=np.array([5, 5, 0, 0]), n=np.full(4, 5))
        True
        >>> is_separated(design, yes=np.array([5, 4, 1, 0]), n=np.full(4, 5))
        False
    """
    scaled = x / np.maximum(np.abs(x).max(axis=0), 1e-300)
    forward = np.unique(np.vstack([scaled[yes > 0], -scaled[yes < n]]), axis=0)
    largest = linprog(
        -forward.sum(axis=0),
        A_ub=-forward,
        b_ub=np.zeros(len(forward)),
        bounds=[(-1, 1)] * x.shape[1],
    )
    return bool(-largest.fun > 1e-7)


class _Likelihood:
    """Marginal log-likelihood of rows sorted by group, with its exact gradient in (beta, sigma).

    eta_i = x_i'beta + sigma b_g, b_g ~ N(0, 1); a row i holds yes_i of n_i answers (n_i = 1 unless
    given; without the binomial coefficient, so that the value is that of the single answers). The
    integral over b_g is taken by k Gauss-Hermite nodes around the mode of each group (k = 1:
    Laplace). The modes of the last call are where the next one starts.
    """

    def __init__(
        self,
        x: np.ndarray,
        yes: np.ndarray,
        groups: np.ndarray,
        nodes: int,
        n: np.ndarray | float = 1.0,
    ):
        self.x = x
        self.yes = yes
        self.n = n
        _, self.starts, self.sizes = np.unique(groups, return_index=True, return_counts=True)
        z, weight = np.polynomial.hermite.hermgauss(nodes)
        # Nodes stand in the first axis, groups (or rows) in the last.
        self.z = z[:, None]
        self.log_weight = np.log(weight)[:, None]
        self.mode = np.zeros(len(self.sizes))

    def _rows(self, per_group: np.ndarray) -> np.ndarray:
        """Each group's value at each of its rows."""
        return np.repeat(per_group, self.sizes, axis=-1)

    def _sums(self, per_row: np.ndarray) -> np.ndarray:
        """The sum over the rows of each group."""
        return np.add.reduceat(per_row, self.starts, axis=-1)

    def _find_modes(self, fixed: np.ndarray, sigma: float) -> np.ndarray:
        """The b_g at which each group's integrand is largest."""
        for _ in range(1000):
            p = expit(fixed + sigma * self._rows(self.mode))
            slope = sigma * self._sums(self.yes - self.n * p) - self.mode
            step = slope / (1 + sigma**2 * self._sums(self.n * p * (1 - p)))
            # Uphill, as in `_newton`.
            self.mode = self.mode + step / np.maximum(1, sigma * np.abs(step))
            if np.abs(step).max() < 1e-11:
                break
        return self.mode

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-likelihood at theta = (beta, sigma), and its gradient."""
        sigma = theta[-1]
        fixed = self.x @ theta[:-1]
        mode = self._find_modes(fixed, sigma)
        p = expit(fixed + sigma * self._rows(mode))
        # Of each row at the mode: the variance of its answers, and their third central moment.
        variance = self.n * p * (1 - p)
        skew = variance * (1 - 2 * p)
        missed = self._sums(self.yes - self.n * p)
        variances = self._sums(variance)
        skews = self._sums(skew)
        tau = 1 / np.sqrt(1 + sigma**2 * variances)
        # From here on with an axis of nodes in front.
        at = mode + np.sqrt(2) * tau * self.z
        eta = fixed + sigma * self._rows(at)
        answers = self.yes * eta + self.n * log_expit(-eta)
        terms = self._sums(answers) - at**2 / 2 + self.z**2 + self.log_weight
        each = logsumexp(terms, axis=0)
        share = np.exp(terms - each)
        residual = self.yes - self.n * expit(eta)
        slope = sigma * self._sums(residual) - at
        # Nodes move with theta through the mode and the width tau: d mode = tau^2 h_b,theta and
        # d tau = tau^3 / 2 (h_bb,theta + h_bbb d mode), gathered per group before they meet the
        # rows.
        by_width = ((share * np.sqrt(2) * self.z * slope).sum(axis=0) + 1 / tau) * tau**3 / 2
        by_mode = ((share * slope).sum(axis=0) - by_width * sigma**3 * skews) * tau**2
        per_row = (self._rows(share) * residual).sum(axis=0)
        per_row -= self._rows(by_mode) * sigma * variance + self._rows(by_width) * sigma**2 * skew
        by_sigma = (share * at * self._sums(residual)).sum(axis=0)
        by_sigma = by_sigma + by_mode * (missed - sigma * mode * variances)
        by_sigma -= by_width * (2 * sigma * variances + sigma**2 * mode * skews)
        value = (each + np.log(tau) - np.log(np.pi) / 2).sum()
        return float(value), np.append(self.x.T @ per_row, by_sigma.sum())


#: Where the search for the standard deviation of the intercepts begins, one after the other.
_SIGMA_STARTS = (1.0, 0.3, 0.1)
#: The search is on log sigma, so that it cannot step onto 0, where the gradient is 0 for any data.
_SIGMA_RANGE = (1e-4, 1e3)
#: A log-likelihood this much higher than without random intercepts is more than rounding.
_HIGHER = 1e-7


class _Maximum(NamedTuple):
    """Where the likelihood is largest: theta = (beta, sigma) and its covariance."""

    theta: np.ndarray
    covariance: np.ndarray
    loglik: float
    status: str


def _scales(n_terms: int, n_groups: int) -> np.ndarray:
    """About one standard error of each of (beta, log sigma); the design has orthonormal columns."""
    return np.append(np.ones(n_terms), 1 / np.sqrt(2 * n_groups))


def _search(likelihood: _Likelihood, beta: np.ndarray, sigma: float) -> np.ndarray:
    """(beta, sigma) at a maximum of the likelihood, searched from the given values."""
    unit = _scales(len(beta), len(likelihood.sizes))

    def cost(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        theta = scaled * unit
        theta[-1] = np.exp(theta[-1])
        value, gradient = likelihood(theta)
        gradient[-1] *= theta[-1]
        return -value, -gradient * unit

    start = np.append(beta, np.log(sigma)) / unit
    low, high = np.log(_SIGMA_RANGE) / unit[-1]
    minimum = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * len(beta) + [(low, high)],
        options={"ftol": 1e-13, "gtol": 1e-7},
    )
    theta = minimum.x * unit
    theta[-1] = np.exp(theta[-1])
    return theta


def _fit(likelihood: _Likelihood, start: np.ndarray, covariance: np.ndarray) -> _Maximum:
    """The maximum by (beta, sigma), searched from the coefficients of the pooled fit.

    `singular` is accepted only where no start finds a higher likelihood than sigma = 0 has.
    """
    pooled_theta = np.append(start, 0.0)
    pooled = likelihood(pooled_theta)[0]
    for sigma in _SIGMA_STARTS:
        likelihood.mode[:] = 0.0
        theta = _search(likelihood, start, sigma)
        if likelihood(theta)[0] - pooled > _HIGHER:
            return _polished(likelihood, theta)
    without_sd = np.pad(covariance, (0, 1), constant_values=np.nan)
    return _Maximum(pooled_theta, without_sd, pooled, "singular")


def _polished(likelihood: _Likelihood, theta: np.ndarray) -> _Maximum:
    """Newton steps from a maximum found by search; the inverse of the joint Hessian there."""
    unit = _scales(len(theta) - 1, len(likelihood.sizes))
    for _ in range(20):
        value, gradient = likelihood(theta)
        # Second derivatives by central differences of the exact gradient, never across sigma = 0.
        width = np.minimum(1e-3 * unit, np.append(np.full(len(theta) - 1, np.inf), theta[-1] / 4))
        ahead = np.array([likelihood(theta + change)[1] for change in np.diag(width)])
        behind = np.array([likelihood(theta - change)[1] for change in np.diag(width)])
        information = (behind - ahead) / (2 * width[:, None])
        information = (information + information.T) / 2
        if np.linalg.eigvalsh(information * np.outer(unit, unit))[0] <= 1e-10:
            break
        step = np.linalg.solve(information, gradient)
        if step @ gradient < 1e-16:  # within 1e-8 standard errors of the maximum
            if theta[-1] > _CERTAIN:
                break
            return _Maximum(theta, np.linalg.inv(information), value, "ok")
        theta = theta + step
        theta[-1] = max(theta[-1], _SIGMA_RANGE[0])
    unknown = np.full((len(theta), len(theta)), np.nan)
    # With such an SD nearly every group answers alike throughout: the likelihood is flat.
    status = "nearly_separated" if theta[-1] > _CERTAIN else "not_converged"
    return _Maximum(theta, unknown, np.nan, status)


def _basis(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns that make x orthonormal, and which coefficients x determines; works for any rank and
    any units."""
    length = np.linalg.norm(x, axis=0)
    length[length == 0] = 1
    _, s, vt = np.linalg.svd(x / length, full_matrices=False)
    kept = vt[s > 1e-9 * s[0]]
    columns = (kept / s[: len(kept), None]).T / length[:, None]
    return columns, (kept**2).sum(axis=0) > 1 - 1e-8


# -- the mixed model -------------------------------------------------------------------------------


def _design(
    frame: pd.DataFrame, formula: str, group: str, weights: str | None
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Design, number of yes, number of answers and code of the group, of the complete rows."""
    kept = _used_columns(frame, formula, group, weights)
    try:  # names are columns, never variables of this module
        y, x = dmatrices(formula, kept, EvalEnvironment([{"np": np}]), return_type="dataframe")
    except PatsyError as error:
        raise ValueError(f"formula {formula!r}: {str(error).splitlines()[0]}") from error
    one_column = list(y) == y.design_info.term_names
    if weights is None:
        n = np.ones(len(y))
        if not one_column or not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"the left side of {formula!r} must be 0 or 1 (or missing) in every row"
            )
        yes = y.to_numpy(float)[:, 0]
    else:
        n = kept.loc[x.index, weights].to_numpy(float)
        yes = y.to_numpy(float)[:, 0] * n
        if not one_column or not _are_counts(yes, n):
            raise ValueError(
                f"the left side of {formula!r} must be a share, so that it times {weights!r} is a"
                " number of answers"
            )
        yes = yes.round()
    codes = np.unique(kept.loc[x.index, group].astype(str), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    order = order[n[order] > 0]
    return x.iloc[order], yes[order], n[order], codes[order]


def _used_columns(
    frame: pd.DataFrame, formula: str, group: str, weights: str | None
) -> pd.DataFrame:
    """The rows that have a value in every column the model uses, as patsy is to read them."""
    if group not in frame:
        columns = ", ".join(map(str, frame.columns))
        raise ValueError(f"no column {group!r} for the random intercept; columns: {columns}")
    if weights is not None and weights not in frame:
        raise ValueError(f"no column {weights!r} for the number of answers of a row")
    in_formula = [name for name in frame if re.search(rf"\b{re.escape(str(name))}\b", formula)]
    used = [*in_formula, group] if weights is None else [*in_formula, group, weights]
    kept = frame[list(dict.fromkeys(used))].dropna(ignore_index=True)
    if kept.empty:
        kept = frame.copy()  # patsy finds the terms, and no row
    for column in in_formula:
        if kept[column].dtype == bool:
            kept[column] = kept[column].astype(int)
        elif kept[column].dtype in ("str", "object", "category"):
            # A level without any valid row is no level.
            kept[column] = kept[column].astype("category").cat.remove_unused_categories()
    return kept


def _are_counts(yes: np.ndarray, n: np.ndarray) -> bool:
    """Whether these are whole numbers of yes among n answers, up to rounding."""
    whole = np.abs(yes - yes.round()).max(initial=0) < 1e-6
    return bool(whole and ((yes >= 0) & (yes <= n + 1e-6) & (n >= 0)).all())


def mixed_logit(
    frame: pd.DataFrame,
    formula: str,
    group: str,
    *,
    nodes: int = 1,
    level: float = 0.95,
    weights: str | None = None,
) -> pd.DataFrame:
    """Logistic regression with fixed effects from a formula and one normal random intercept per `group`.

    Args:
        frame: one row an answer; rows with a missing value in a used column are left out and counted.
        formula: patsy formula such as `value ~ age + C(race)`, left side 0/1 or bool.
        group: column whose values share an intercept, e.g. the question.
        nodes: 1 = Laplace approximation (as lme4's glmer); k > 1 = adaptive Gauss-Hermite quadrature, 25 is ample.
        level: of the confidence intervals.
        weights: column with the number of answers that a row stands for (n yes of n); the left
        side is
            then the share of yes among them. The result is that of the single answers.

    Returns:
        One row a term, the last one `sd(<group>)` without z and p: term, estimate (log-odds), se, z, p (two-sided
        Wald), ci_low, ci_high (Wald; that of the SD on the log scale, NaN where the SD is far below
        its standard error), status, and the same in every row: n, n_invalid,
        n_groups, loglik, nodes. Standard errors come from the joint Hessian of coefficients and SD. Groups with equal
        answers stay in: they inform intercept and SD.

        status: `ok`; `singular` (the SD is 0; the numbers are those of a model without random intercepts);
        `separation` (a term, or every term where the groups alone explain all answers: the estimate runs to infinity,
        NaN here; the other terms are those of the limit); `aliased` (not determined by the data, e.g. an empty cell);
        `nearly_separated` (the SD of the intercepts is above 30 log-odds: nearly all groups answer alike throughout, the
        likelihood is flat and its approximation poor, so that no digit of an estimate is told by the data);
        `constant`, `one_group`, `no_valid_answer`, `not_converged`, all NaN.

    Raises:
        ValueError: unknown columns, a formula that cannot be read, or a left side other than 0 and 1.

    Reference: the discrim-eval paper, section 4.1 (DE-28); J. C. Pinheiro and E. C. Chao 2006 for the quadrature.
    """  # noqa: E501 (the stored simulations hash this docstring)
    x, yes, n, codes = _design(frame, formula, group, weights)
    estimate, covariance, status, loglik = _estimate(x.to_numpy(float), (yes, n), codes, nodes)
    defined = np.isin(status, ("ok", "singular"))
    estimate = np.where(defined, estimate, np.nan)
    covariance = np.where(defined & defined[:, None], covariance, np.nan)
    with np.errstate(invalid="ignore"):
        se = np.sqrt(np.diagonal(covariance))
    z, half = estimate / se, norm.ppf((1 + level) / 2) * se
    z[-1] = np.nan
    low, high = estimate - half, estimate + half
    # The interval of the SD is that of its logarithm; an SD that is small against its own standard
    # error has none.
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = half[-1] / estimate[-1]
    bounded = bool(relative < 20)
    low[-1] = estimate[-1] * np.exp(-relative) if bounded else np.nan
    high[-1] = estimate[-1] * np.exp(relative) if bounded else np.nan
    out = pd.DataFrame(
        {"term": [*x.columns, f"sd({group})"], "estimate": estimate, "se": se, "z": z}
    )
    out = out.assign(p=2 * norm.sf(np.abs(z)), ci_low=low, ci_high=high, status=status)
    out["n"] = int(n.sum())
    asked = len(frame) if weights is None else int(frame[weights].sum())
    constant = {
        "n_invalid": asked - int(n.sum()),
        "n_groups": len(np.unique(codes)),
        "loglik": loglik,
        "nodes": nodes,
    }
    out = out.assign(**constant)
    # A list: pandas compares attributes where frames are joined, and an array has no truth value.
    out.attrs["covariance"] = covariance.tolist()
    return out


def likelihood_ratio(small: pd.DataFrame, large: pd.DataFrame) -> dict[str, Any]:
    """Likelihood-ratio test of two nested models of the same answers, from the frames of `mixed_logit`.

    Returns lr = 2 (loglik of large - loglik of small), df (terms that the data determine, large less small), p
    (chi-square), status: `ok`; `no_df` where the larger model determines no more; else what is wrong with a term of
    either (`separation`, `constant`, ...), with the numbers NaN. ValueError for different numbers of answers.
    """  # noqa: E501 (the stored simulations hash this docstring)
    if small["n"].iloc[0] != large["n"].iloc[0]:
        raise ValueError(
            f"{small['n'].iloc[0]} and {large['n'].iloc[0]} answers:"
            " compare models of the same ones"
        )
    df = int(large["estimate"].notna().sum() - small["estimate"].notna().sum())
    # A type in a comment, since the stored simulations hash these statements.
    wrong = pd.concat([small, large])["status"]  # type: Any
    wrong = wrong[~wrong.isin(["ok", "singular", "aliased"])].tolist() or (
        ["no_df"] if df < 1 else []
    )
    lr: float = np.nan if wrong else 2 * (large["loglik"].iloc[0] - small["loglik"].iloc[0])
    # Near 0 the p of one degree of freedom changes with the root of the statistic.
    lr = 0.0 if lr < _SAME_FIT else lr
    out = {"lr": lr, "df": np.nan if wrong else df, "p": float(chi2.sf(lr, max(df, 1)))}
    return out | {"status": wrong[0] if wrong else "ok"}


def _estimate(
    x: np.ndarray, answers: tuple[np.ndarray, np.ndarray], codes: np.ndarray, nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Estimates and covariance (coefficients, then the SD), their statuses, and the log-likelihood.

    `answers`: number of yes and of answers in each row.
    """
    yes, n = answers
    status = np.full(x.shape[1] + 1, "ok", object)
    of_terms = status[:-1]  # a view: without the SD
    undefined = np.full(len(status), np.nan)
    without = np.full((len(status), len(status)), np.nan)
    problem = _no_fit(yes, n, codes)
    if problem:
        return undefined, without, np.full(len(status), problem, object), np.nan
    why = "aliased"
    while len(set(codes)) > 1 and np.intersect1d(codes[yes > 0], codes[yes < n]).size:
        basis, determined = _basis(x)
        of_terms[~determined & (of_terms == "ok")] = why
        pooled = _newton((x @ basis)[None], yes[None], n[None])
        beta = pooled.beta[0]
        if pooled.status[0] != "separation":
            likelihood = _Likelihood(x @ basis, yes, codes, nodes, n)
            best = _fit(likelihood, beta, pooled.covariance[0])
            status[status == "ok"] = best.status
            estimate = np.append(basis @ best.theta[:-1], best.theta[-1])
            whole = np.zeros((len(estimate), len(best.theta)))
            whole[:-1, :-1] = basis
            whole[-1, -1] = 1
            return estimate, _through(whole, best.covariance), status, best.loglik
        # In the limit these rows are certain and say nothing more; the others decide the terms they
        # determine.
        why = "separation"
        left = np.abs(x @ basis @ beta) <= _CERTAIN
        x, yes, n, codes = x[left], yes[left], n[left], codes[left]
    status[status == "ok"] = "separation"  # groups and terms explain every answer
    return undefined, without, status, np.nan


def _no_fit(yes: np.ndarray, n: np.ndarray, codes: np.ndarray) -> str:
    """Why there is nothing to fit, empty where there is."""
    if not n.sum():
        return "no_valid_answer"
    if yes.sum() in (0, n.sum()):
        return "constant"
    return "one_group" if len(set(codes)) == 1 else ""


def _through(whole: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """whole joint whole', where the last row and column of joint (of the SD) may be NaN."""
    out = np.full((len(whole), len(whole)), np.nan)
    out[:-1, :-1] = whole[:-1, :-1] @ joint[:-1, :-1] @ whole[:-1, :-1].T
    if np.isfinite(joint).all():
        out = whole @ joint @ whole.T
    return out


# -- lines and parabolas in age --------------------------------------------------------------------


def _less(small: np.ndarray, large: np.ndarray) -> np.ndarray:
    """By how much the deviance of the larger model is less; 0 where both fit alike."""
    gain = np.asarray(small, float) - np.asarray(large, float)
    return np.where(gain < _SAME_FIT, 0.0, gain)


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


class _Curves(NamedTuple):
    """Logistic fits of every cell in powers of (x - mean) / sd; NaN where there is none."""

    beta: np.ndarray  # cells x terms
    covariance: np.ndarray
    deviance: np.ndarray
    status: np.ndarray


def _standardised(counts: _Counts) -> tuple[np.ndarray, np.ndarray]:
    """Mean and population SD of the values of x that each cell was asked about."""
    asked = counts.asked.sum(axis=1)
    mean = counts.asked @ counts.x / asked
    sd = np.sqrt((counts.asked * (counts.x - mean[:, None]) ** 2).sum(axis=1) / asked)
    return mean, sd


def _curves(counts: _Counts, degree: int) -> _Curves:
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
    return _Curves(beta, covariance, deviance, status)


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
    lr = _less(_smaller_deviance(counts, degree), fits.deviance)
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
    nodes: int = 1,
) -> pd.DataFrame:
    """Coefficients of a logistic regression with one random intercept per cluster (`mixed_logit`).

    Args:
        frame: a row an answer. value: its column of 0 and 1; missing: unreadable.
        fixed: column -> its reference level. Numbers with None enter as a straight line, per SD
            (population SD of the rows of the cell); texts with None take their first level as the
            reference, as do those whose reference nobody was asked about.
        by: columns whose cells have models of their own. cluster: shares an intercept.
        nodes: 1 is Laplace's approximation (as lme4's glmer); more are adaptive Gauss-Hermite
            quadrature.

    Returns:
        by..., factor, level, reference, value (log odds), n, n_invalid, clusters, ci_low, ci_high
        (95 %, Wald), status (of `mixed_logit`), p (Wald, two-sided, not adjusted), se, z, mean_se
        (of the mean of the factor's coefficients, from their joint covariance), dropped_levels
        (asked about, and without a valid answer). Besides the factors there are the rows
        `intercept` and, named after the cluster, the SD of the intercepts. A factor of one level
        has no row.

    Raises:
        FrameError: a column that is lacking or holds something else, values other than 0 and 1.

    Source: discrim-eval, section 4.1; J. C. Pinheiro and E. C. Chao, Journal of Computational and
    Graphical Statistics 15 (2006) 58-81 for the quadrature.

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
    parts = [
        _terms(cell, value, fixed, cluster, nodes).assign(**key) for key, cell in cells(frame, by)
    ]
    return pd.concat(parts, ignore_index=True)[[*by, *names, *GIVEN, *_OF_MODEL]]


def _terms(
    cell: pd.DataFrame, value: str, fixed: Mapping[str, Any], cluster: str, nodes: int
) -> pd.DataFrame:
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
    fit = mixed_logit(model, "y ~ " + " + ".join(named or ["1"]), "own", nodes=nodes)
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
