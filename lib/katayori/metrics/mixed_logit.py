"""Logistic regression with one normal random intercept.

Each fit says whether its numbers can be trusted: separation, an SD of intercepts at 0, a likelihood
that is flat.
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from patsy import EvalEnvironment, PatsyError, dmatrices
from scipy.optimize import linprog, minimize
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import norm

from katayori.frames import FrameError

#: Deviances that differ by less are those of one fit, but for rounding.
SAME_FIT = 1e-9
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
    maximum. `_is_separated` decides where one became large.
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
        separated[fit] = _is_separated(x[fit], yes[fit], n[fit])
    status = np.select([separated, change >= 1e-7], ["separation", "not_converged"], "ok")
    return _Fits(beta[:, :, 0], np.linalg.inv(information), deviance, status)


def _is_separated(x: np.ndarray, yes: np.ndarray, n: np.ndarray) -> bool:
    """Whether a logistic fit has no finite maximum: complete or quasi-complete separation, exactly.

    Args:
        x: design (cells x terms).
        yes, n: number of yes and of answers in each cell (shape: cells).

    A direction d separates where x'd is at least 0 in all cells with a yes, at most 0 in all cells
    with a no, and not 0 in all of them. The linear programme looks for the largest such d within
    [-1, 1].

    Reference: A. Albert and J. A. Anderson, Biometrika 71 (1984) 1-10.
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

    eta_i = x_i'beta + sigma b_g, b_g ~ N(0, 1); yes_i is 0 or 1. The integral over b_g is taken by
    k Gauss-Hermite nodes around the mode of each group (k = 1: Laplace). The modes of the last call
    are where the next one starts.
    """

    def __init__(self, x: np.ndarray, yes: np.ndarray, groups: np.ndarray, nodes: int):
        self.x = x
        self.yes = yes
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
            slope = sigma * self._sums(self.yes - p) - self.mode
            step = slope / (1 + sigma**2 * self._sums(p * (1 - p)))
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
        # Of each row at the mode: the variance of its answer, and the third central moment.
        variance = p * (1 - p)
        skew = variance * (1 - 2 * p)
        missed = self._sums(self.yes - p)
        variances = self._sums(variance)
        skews = self._sums(skew)
        tau = 1 / np.sqrt(1 + sigma**2 * variances)
        # From here on with an axis of nodes in front.
        at = mode + np.sqrt(2) * tau * self.z
        eta = fixed + sigma * self._rows(at)
        answers = self.yes * eta + log_expit(-eta)
        terms = self._sums(answers) - at**2 / 2 + self.z**2 + self.log_weight
        each = logsumexp(terms, axis=0)
        share = np.exp(terms - each)
        residual = self.yes - expit(eta)
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


#: Where the likelihood is largest: theta = (beta, sigma), its covariance, log-likelihood, status.
_Maximum = tuple[np.ndarray, np.ndarray, float, str]


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
    return pooled_theta, without_sd, pooled, "singular"


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
            return theta, np.linalg.inv(information), value, "ok"
        theta = theta + step
        theta[-1] = max(theta[-1], _SIGMA_RANGE[0])
    unknown = np.full((len(theta), len(theta)), np.nan)
    # With such an SD nearly every group answers alike throughout: the likelihood is flat.
    status = "nearly_separated" if theta[-1] > _CERTAIN else "not_converged"
    return theta, unknown, np.nan, status


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
    frame: pd.DataFrame, formula: str, group: str
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Design, answers and code of the group of the complete rows, sorted by group."""
    kept = _used_columns(frame, formula, group)
    try:  # names are columns, never variables of this module
        y, x = dmatrices(formula, kept, EvalEnvironment([{"np": np}]), return_type="dataframe")
    except PatsyError as error:
        raise ValueError(f"formula {formula!r}: {str(error).splitlines()[0]}") from error
    yes = y.to_numpy(float)[:, 0]
    if list(y) != y.design_info.term_names or not np.isin(yes, (0, 1)).all():
        raise ValueError(f"the left side of {formula!r} must be 0 or 1 (or missing) in every row")
    codes = np.unique(kept.loc[x.index, group].astype(str), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return x.iloc[order], yes[order], codes[order]


def _used_columns(frame: pd.DataFrame, formula: str, group: str) -> pd.DataFrame:
    """The rows that have a value in every column the model uses, as patsy is to read them."""
    if group not in frame:
        columns = ", ".join(map(str, frame.columns))
        raise ValueError(f"no column {group!r} for the random intercept; columns: {columns}")
    in_formula = [name for name in frame if re.search(rf"\b{re.escape(str(name))}\b", formula)]
    kept = frame[list(dict.fromkeys([*in_formula, group]))].dropna(ignore_index=True)
    if kept.empty:
        kept = frame.copy()  # patsy finds the terms, and no row
    for column in in_formula:
        if kept[column].dtype == bool:
            kept[column] = kept[column].astype(int)
        elif kept[column].dtype in ("str", "object", "category"):
            # A level without any valid row is no level.
            kept[column] = kept[column].astype("category").cat.remove_unused_categories()
    return kept


def mixed_logit(frame: pd.DataFrame, formula: str, group: str, *, nodes: int = 1) -> pd.DataFrame:
    """Logistic regression with fixed effects by a formula, one normal random intercept by group.

    Args:
        frame: one row an answer; rows with a missing value in a used column are left out and
            counted.
        formula: of patsy, such as `value ~ age + C(race)`, with a left side of 0 and 1 or bool.
        group: column whose values share an intercept, such as the question.
        nodes: 1: Laplace's approximation (as lme4's glmer); k > 1: adaptive Gauss-Hermite
            quadrature, 25 is ample.

    Returns:
        One row a term, the last one `sd(<group>)` without z and p: term, estimate (log odds), se,
        z, p (two-sided Wald), ci_low, ci_high (95 %, Wald; that of the SD on the log scale, NaN
        where the SD is far below its standard error), status, and the same in every row: n,
        n_invalid, n_groups, loglik, nodes. Standard errors come from the joint Hessian of
        coefficients and SD. Groups with equal answers stay in: they inform intercept and SD.

        status: `ok`; `singular` (the SD is 0; the numbers are those of a model without random
        intercepts); `separation` (a term, or every term where the groups alone explain all answers:
        the estimate runs to infinity, NaN here; the other terms are those of the limit); `aliased`
        (not determined by the data, such as an empty cell); `nearly_separated` (the SD of the
        intercepts is above 30 log odds: nearly all groups answer alike throughout, the likelihood
        is flat and its approximation poor, so that no digit of an estimate is told by the data);
        `constant`, `one_group`, `no_valid_answer`, `not_converged`, all NaN.

    Raises:
        ValueError: unknown columns, a formula that cannot be read, a left side other than 0 and 1,
        nodes that are none.

    Source: the discrim-eval paper, section 4.1; J. C. Pinheiro and E. C. Chao, Journal of
    Computational and Graphical Statistics 15 (2006) 58-81, for the quadrature.

    Example:
        >>> answers = pd.DataFrame({"asked": [0, 1] * 10, "question": np.repeat(range(5), 4)})
        >>> answers["yes"] = [0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1]
        >>> fit = mixed_logit(answers, "yes ~ asked", "question")
        >>> fit[["term", "n", "n_groups"]].to_numpy().tolist()
        [['Intercept', 20, 5], ['asked', 20, 5], ['sd(question)', 20, 5]]
    """
    if nodes not in range(1, 101):  # above that the weights of the nodes overflow
        raise FrameError(f"nodes={nodes!r}; give 1 (Laplace's approximation) to 100, e.g. nodes=25")
    x, yes, codes = _design(frame, formula, group)
    estimate, covariance, status, loglik = _estimate(x.to_numpy(float), yes, codes, nodes)
    defined = np.isin(status, ("ok", "singular"))
    estimate = np.where(defined, estimate, np.nan)
    covariance = np.where(defined & defined[:, None], covariance, np.nan)
    with np.errstate(invalid="ignore"):
        se = np.sqrt(np.diagonal(covariance))
    z, half = estimate / se, norm.ppf(0.975) * se
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
        {
            "term": [*x.columns, f"sd({group})"],
            "estimate": estimate,
            "se": se,
            "z": z,
            "p": 2 * norm.sf(np.abs(z)),
            "ci_low": low,
            "ci_high": high,
            "status": status,
            "n": len(yes),
            "n_invalid": len(frame) - len(yes),
            "n_groups": len(np.unique(codes)),
            "loglik": loglik,
            "nodes": nodes,
        }
    )
    # A list: pandas compares attributes where frames are joined, and an array has no truth value.
    out.attrs["covariance"] = covariance.tolist()
    return out


def _estimate(
    x: np.ndarray, yes: np.ndarray, codes: np.ndarray, nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Estimates and covariance (coefficients, then the SD), their statuses, the log-likelihood."""
    status = np.full(x.shape[1] + 1, "ok", object)
    of_terms = status[:-1]  # a view: without the SD
    undefined = np.full(len(status), np.nan)
    without = np.full((len(status), len(status)), np.nan)
    problem = _no_fit(yes, codes)
    if problem:
        return undefined, without, np.full(len(status), problem, object), np.nan
    why = "aliased"
    while len(set(codes)) > 1 and np.intersect1d(codes[yes == 1], codes[yes == 0]).size:
        basis, determined = _basis(x)
        of_terms[~determined & (of_terms == "ok")] = why
        pooled = _newton((x @ basis)[None], yes[None], np.ones((1, len(yes))))
        beta = pooled.beta[0]
        if pooled.status[0] != "separation":
            likelihood = _Likelihood(x @ basis, yes, codes, nodes)
            theta, joint, loglik, word = _fit(likelihood, beta, pooled.covariance[0])
            status[status == "ok"] = word
            estimate = np.append(basis @ theta[:-1], theta[-1])
            whole = np.zeros((len(estimate), len(theta)))
            whole[:-1, :-1] = basis
            whole[-1, -1] = 1
            return estimate, _through(whole, joint), status, loglik
        # In the limit these rows are certain and say nothing more; the others decide the terms they
        # determine.
        why = "separation"
        left = np.abs(x @ basis @ beta) <= _CERTAIN
        x, yes, codes = x[left], yes[left], codes[left]
    status[status == "ok"] = "separation"  # groups and terms explain every answer
    return undefined, without, status, np.nan


def _no_fit(yes: np.ndarray, codes: np.ndarray) -> str:
    """Why there is nothing to fit, empty where there is."""
    if not len(yes):
        return "no_valid_answer"
    if np.ptp(yes) == 0:
        return "constant"
    return "one_group" if len(set(codes)) == 1 else ""


def _through(whole: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """whole joint whole', where the last row and column of joint (of the SD) may be NaN."""
    out = np.full((len(whole), len(whole)), np.nan)
    out[:-1, :-1] = whole[:-1, :-1] @ joint[:-1, :-1] @ whole[:-1, :-1].T
    if np.isfinite(joint).all():
        out = whole @ joint @ whole.T
    return out
