"""Reads a choice among options by their content, not by the place they stand at.

Four readings of the same answers, side by side:

* *letter*: the letter that the model wrote, as the papers read it;
* *probability*: the probabilities of the letters, renormalised over the options;
* *calibrated*: log p of each letter less what its place adds, learned from other templates;
* *permuted*: the mean log p of each content over all orders of its options.

Frames: one row an asked item, with model, prompt_id, template_id (the cluster), `answer` (the
number of the chosen place as text, None where invalid), for each of k places `p_0` ... (probability
of its letter; 0 or NaN where the letter is outside what the engine returned) and `role_0` ... (what
stands there, such as target, non_target, unknown). For *permuted* also `base_id`: one content in
all orders.

Reference: the idea of dividing out a prior of places is that of PriDe (C. Zheng et al., Large
Language Models Are Not Robust Multiple Choice Selectors, ICLR 2024). This is not PriDe, which
averages softmaxes over permutations of a small sample; here means are taken of log p.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics.position import calibrated_values, centred, highest
from katayori.metrics.uncertainty import cells

MODEL = ("model", "prompt_id")
#: Where one place takes more of the valid letters, letters say nothing of bias.
BOUND_SHARE = 0.9


def places_of(frame: pd.DataFrame) -> list[int]:
    """The numbers of the places that the frame has roles for: [0, 1, 2] with three options.

    Example:
        >>> places_of(pd.DataFrame(columns=["role_0", "role_1", "p_0", "p_1"]))
        [0, 1]
    """
    count = sum(name.startswith("role_") for name in frame.columns)
    return list(range(count))


def log_probabilities(frame: pd.DataFrame) -> np.ndarray:
    """log p of the letters, (rows, places); a row that lacks a letter is NaN throughout.

    A letter outside the top k has no known probability. Nothing is put in its place.

    Example:
        >>> frame = pd.DataFrame({"role_0": ["a", "a"], "role_1": "b"})
        >>> frame = frame.assign(p_0=[0.5, 0.9], p_1=[0.5, 0])
        >>> log_probabilities(frame).round(2).tolist()
        [[-0.69, -0.69], [nan, nan]]
    """
    columns = [f"p_{place}" for place in places_of(frame)]
    p = frame[columns].to_numpy(float)
    incomplete = ~(p > 0).all(axis=1)
    logp = np.log(np.where(p > 0, p, np.nan))
    logp[incomplete] = np.nan
    return logp


def calibrated_log_probabilities(frame: pd.DataFrame) -> tuple[np.ndarray, pd.Series]:
    """log p, centred inside the item, less the coefficient of the place, and a status a row.

    For the items of each template, least squares of centred log p on place and role over all
    *other* templates of the same model and prompt:

        y_ij = a_place(j) + b_role(i, j) + error,    calibrated_ij = y_ij - a_place(j)

    The role is in the model because a plain mean of a place would take up what roles stand there
    more often. In a design balanced by count both are the same.

    Args:
        frame: see above, of one model and prompt.

    Returns:
        values (rows, places), NaN where not `ok`; status: `ok`, `incomplete` (a letter has no
        probability), `not_calibrated` (fewer than 20 other templates, or places and roles cannot be
        told apart).

    Example:
        >>> from katayori.metrics import examples
        >>> values, status = calibrated_log_probabilities(examples.three_options())
        >>> status.unique().tolist(), values.shape
        (['ok'], (288, 3))
    """
    places = places_of(frame)
    roles = frame[[f"role_{place}" for place in places]].to_numpy(object)
    values, status = calibrated_values(log_probabilities(frame), roles, frame["template_id"])
    return values, pd.Series(status, index=frame.index)


def readings(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """Every item under the readings letter, probability and calibrated, one row each.

    Args:
        frame: see above.
        by: what is calibrated apart; model and prompt.

    Returns:
        the frame's columns without the places, plus reading, choice (the role; None where there is
        none, or two share the highest value), soft_<role> (0 to 1, sum 1; NaN for letters), status:
        `ok`, `invalid` (no letter), `incomplete`, `not_calibrated`.

    Example:
        >>> from katayori.metrics import examples
        >>> read = readings(examples.three_options())
        >>> biased = read["choice"].eq("biased").groupby(read["reading"]).mean()
        >>> biased.round(2).to_dict()
        {'calibrated': 0.77, 'letter': 0.41, 'probability': 0.41}
    """
    parts = []
    for _, cell in cells(frame, by):
        logp = log_probabilities(cell)
        complete = pd.Series(np.isfinite(logp).all(axis=1), index=cell.index)
        whole = complete.map({True: "ok", False: "incomplete"})
        parts.append(_letters(cell))
        parts.append(_by_value(cell, logp, whole, "probability"))
        parts.append(_by_value(cell, *calibrated_log_probabilities(cell), "calibrated"))
    return pd.concat(parts, ignore_index=True)


def _without_places(frame: pd.DataFrame) -> pd.DataFrame:
    places = places_of(frame)
    return frame.drop(columns=[f"{name}_{place}" for place in places for name in ("p", "role")])


def _letters(frame: pd.DataFrame) -> pd.DataFrame:
    """The role that stands at the place whose letter was written."""
    roles = frame[[f"role_{place}" for place in places_of(frame)]].to_numpy(object)
    written = pd.to_numeric(frame["answer"], errors="coerce")
    valid = written.notna().to_numpy()
    choice = np.full(len(frame), None, dtype=object)
    choice[valid] = roles[np.flatnonzero(valid), written[valid].astype(int)]
    status = np.where(valid, "ok", "invalid")
    return _without_places(frame).assign(reading="letter", choice=choice, status=status)


def _by_value(
    frame: pd.DataFrame, values: np.ndarray, status: pd.Series, reading: str
) -> pd.DataFrame:
    """Choice and soft scores by the highest of some values on the scale of log p."""
    roles = frame[[f"role_{place}" for place in places_of(frame)]].to_numpy(object)
    names = sorted(set(roles.ravel()))
    by_role = np.stack(
        [np.where(roles == name, values, np.nan) for name in names], axis=1
    )  # rows, roles, places
    one = np.nanmax(np.where(np.isnan(by_role), -np.inf, by_role), axis=2)
    one = np.where(np.isfinite(values).all(axis=1)[:, None], one, np.nan)
    out = _without_places(frame).assign(reading=reading, status=status.to_numpy())
    out["choice"] = highest(one, names)
    soft = _softmax(one)
    for number, name in enumerate(names):
        out[f"soft_{name}"] = soft[:, number]
    return out


def _softmax(values: np.ndarray) -> np.ndarray:
    top = np.exp(values - values.max(axis=1, keepdims=True))
    return top / top.sum(axis=1, keepdims=True)


def permuted(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """Every content by its mean log p over all orders of its options, one row a `base_id`.

    Args:
        frame: see above, with base_id; each order of the roles once.
        by: what is read apart; model and prompt.

    Returns:
        the columns of the first order without the places, reading (`permuted`), choice,
        soft_<role>, n_orders, status: `ok`, `lacks_an_order`, `incomplete` (a letter has no
        probability).

    Example:
        >>> from katayori.metrics import examples
        >>> whole = permuted(examples.three_options().assign(model="m"))
        >>> whole["n_orders"].unique().tolist(), whole["status"].unique().tolist()
        ([6], ['ok'])
    """
    places = places_of(frame)
    needed = math.factorial(len(places))
    roles = frame[[f"role_{place}" for place in places]].to_numpy(object)
    names = sorted(set(roles.ravel()))
    logp = log_probabilities(frame)
    work = _without_places(frame).assign(order=[" ".join(map(str, row)) for row in roles])
    for name in names:
        work[f"lp_{name}"] = np.where(roles == name, logp, 0.0).sum(axis=1)
    rows: list[dict[str, Any]] = []
    for _, cell in cells(work, [*by, "base_id"]):
        dropped = ["order", *(f"lp_{name}" for name in names)]
        first: dict[str, Any] = {}
        first |= {str(k): v for k, v in cell.iloc[0].items() if k not in dropped}
        first |= {"reading": "permuted", "n_orders": cell["order"].nunique()}
        means = cell[[f"lp_{name}" for name in names]].to_numpy(float).mean(axis=0)[None, :]
        first["status"] = "ok"
        if first["n_orders"] < needed:
            first["status"], means = "lacks_an_order", np.full_like(means, np.nan)
        elif not np.isfinite(means).all():
            first["status"] = "incomplete"
        first["choice"] = highest(means, names)[0]
        soft = _softmax(means)[0]
        rows.append(first | {f"soft_{name}": soft[n] for n, name in enumerate(names)})
    return pd.DataFrame(rows)


def slot_report(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """How far the places decide: shares of the letters, and the slot effect before and after.

    Returns:
        by..., n, n_invalid, share_0 ... (of the valid letters), slot_effect and slot_effect_left
        (highest less lowest mean of centred log p over the places, in nats, before and after
        calibration), n_incomplete, n_not_calibrated, status: `position_bound` where one place takes
        more than 90 % of the valid letters, else `ok`; `no_valid_answer`.

    Example:
        >>> from katayori.metrics import examples
        >>> slots = slot_report(examples.three_options())
        >>> slots[["share_1", "status"]].round(2).to_numpy().tolist()
        [[0.92, 'position_bound']]
    """
    rows = []
    for key, cell in cells(frame, by):
        places = places_of(cell)
        written = _written(cell)
        shares = [float((written == place).mean()) for place in places]
        values, status = calibrated_log_probabilities(cell)
        row: dict[str, Any] = {"n": len(written), "n_invalid": len(cell) - len(written)}
        row |= {f"share_{place}": share for place, share in zip(places, shares, strict=True)}
        row["slot_effect"] = _range_of_means(centred(log_probabilities(cell)))
        row["slot_effect_left"] = _range_of_means(values)
        row["n_incomplete"] = int((status == "incomplete").sum())
        row["n_not_calibrated"] = int((status == "not_calibrated").sum())
        row["status"] = "no_valid_answer" if written.empty else "ok"
        if _is_bound(written):
            row["status"] = "position_bound"
        rows.append(key | row)
    return pd.DataFrame(rows)


def _written(cell: pd.DataFrame) -> pd.Series:
    """The places of the valid letters."""
    return pd.to_numeric(cell["answer"], errors="coerce").dropna().astype(int)


def _is_bound(written: pd.Series) -> bool:
    """Whether one place takes more of these letters than a reading of bias may bear."""
    return bool(len(written) and written.value_counts(normalize=True).iloc[0] > BOUND_SHARE)


def _range_of_means(values: np.ndarray) -> float:
    complete = values[np.isfinite(values).all(axis=1)]
    if not len(complete):
        return math.nan
    return float(np.ptp(complete.mean(axis=0)))
