"""Scores of planted respondents under four readings of the same answers.

* *letter*: the letter that was written;
* *probability*: the probabilities of the letters;
* *calibrated*: log p of each letter less what its place adds, learned from other templates;
* *permuted*: the mean log p of each content over all orders of its options.

Frames: one row an asked item, with template_id (the cluster), `answer` (the chosen place as text),
`p_0`, `role_0`, `p_1`, ... for the places, and for *permuted* base_id: one content in all orders.
`metrics.position` reads answers of models so; here each reading is counted as decision and as
soft score. Functions whose statements are hashed in `data/simulated/position_free.csv` stay as
they are.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frames import cells
from katayori.metrics import intervals
from katayori.metrics.calibration import calibrated_values, highest
from katayori.metrics.shares import cluster_share

MODEL = ("model", "prompt_id")
#: Where one place takes more of the letters, they say nothing of bias.
BOUND_SHARE = 0.9
DECISION = "decision"
SOFT = "soft"
COLUMNS = [
    *("reading", "score", "statistic", "value", "ci_low", "ci_high"),
    *("n", "n_invalid", "clusters", "slot_effect", "status"),
]


def places_of(frame: pd.DataFrame) -> list[int]:
    """The numbers of the places that the frame has roles for."""
    return list(range(sum(name.startswith("role_") for name in frame.columns)))


def _roles(frame: pd.DataFrame) -> np.ndarray:
    return frame[[f"role_{place}" for place in places_of(frame)]].to_numpy(object)


def log_probabilities(frame: pd.DataFrame) -> np.ndarray:
    """log p of the letters, (rows, places); a row that lacks a letter is NaN throughout."""
    p = frame[[f"p_{place}" for place in places_of(frame)]].to_numpy(float, copy=True)
    p[~(p > 0).all(axis=1)] = np.nan
    return np.log(p)


def calibrated_log_probabilities(frame: pd.DataFrame) -> tuple[np.ndarray, pd.Series]:
    """log p, centred inside the item, less what its place adds; and the status of each row."""
    places = places_of(frame)
    roles = frame[[f"role_{place}" for place in places]].to_numpy(object)
    values, status = calibrated_values(log_probabilities(frame), roles, frame["template_id"])
    return values, pd.Series(status, index=frame.index)


def readings(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Every item as letter, probability and calibrated, one row each.

    Returns:
        the columns without the places, reading, choice (the role; None where two share the highest
        value), soft_<role> (not of letters), status.
    """
    parts = []
    for _, cell in cells(frame, by):
        logp = log_probabilities(cell)
        whole = np.where(np.isfinite(logp).all(axis=1), "ok", "incomplete")
        parts.append(_letters(cell))
        parts.append(_by_value(cell, logp, pd.Series(whole), "probability"))
        parts.append(_by_value(cell, *calibrated_log_probabilities(cell), "calibrated"))
    return pd.concat(parts, ignore_index=True)


def _without_places(frame: pd.DataFrame) -> pd.DataFrame:
    places = places_of(frame)
    return frame.drop(columns=[f"{name}_{place}" for place in places for name in ("p", "role")])


def _letters(frame: pd.DataFrame) -> pd.DataFrame:
    """The role that stands at the place whose letter was written."""
    written = pd.to_numeric(frame["answer"], errors="coerce")
    valid = written.notna().to_numpy()
    choice = np.full(len(frame), None, dtype=object)
    choice[valid] = _roles(frame)[np.flatnonzero(valid), written[valid].astype(int)]
    status = np.where(valid, "ok", "invalid")
    return _without_places(frame).assign(reading="letter", choice=choice, status=status)


def _by_value(
    frame: pd.DataFrame, values: np.ndarray, status: pd.Series, reading: str
) -> pd.DataFrame:
    """Choice and soft scores by the highest of some values on the scale of log p."""
    roles = _roles(frame)
    names = sorted(set(roles.ravel()))
    of_role = np.stack([np.where(roles == name, values, 0.0).sum(axis=1) for name in names], axis=1)
    soft = pd.DataFrame(_softmax(of_role), frame.index, [f"soft_{name}" for name in names])
    out = _without_places(frame).assign(reading=reading, status=status.to_numpy())
    out["choice"] = highest(of_role, names)
    return out.join(soft)


def _softmax(values: np.ndarray) -> np.ndarray:
    top = np.exp(values - values.max(axis=1, keepdims=True))
    return top / top.sum(axis=1, keepdims=True)


def permuted(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """Every content by its mean log p over all orders of its options, one row a `base_id`."""
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


def slot_report(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """How far the places decide, before and after calibration.

    Returns:
        by..., slot_effect and slot_effect_left (highest less lowest mean of centred log p over the
        places, in nats), status: `position_bound` where one place takes more than 90 % of the
        letters, `no_valid_answer`, else `ok`.
    """
    rows = []
    for key, cell in cells(frame, by):
        written = cell["answer"].dropna()
        logp = log_probabilities(cell)
        row = {"slot_effect": _range_of_means(logp - logp.mean(axis=1, keepdims=True))}
        row["slot_effect_left"] = _range_of_means(calibrated_log_probabilities(cell)[0])
        shares = written.value_counts(normalize=True)
        bound = "position_bound" if len(shares) and shares.iloc[0] > BOUND_SHARE else "ok"
        rows.append(key | row | {"status": bound if len(shares) else "no_valid_answer"})
    return pd.DataFrame(rows)


def _range_of_means(values: np.ndarray) -> float:
    complete = values[np.isfinite(values).all(axis=1)]
    return float(np.ptp(complete.mean(axis=0))) if len(complete) else math.nan


def check_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    """KatayoriError that names the columns that are not there."""
    if missing := [name for name in needed if name not in frame]:
        raise KatayoriError(f"the frame lacks the column {', '.join(map(repr, missing))}")


def _known(frame: pd.DataFrame, by: Sequence[str]) -> list[str]:
    """The columns of `by` that are there: a frame without `model` holds one model."""
    return [name for name in by if name in frame]


def all_readings(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Every item under all readings; `permuted` where base_id says which items are one content."""
    read = readings(frame, by)
    if "base_id" not in frame:
        return read
    return pd.concat([read, permuted(frame, by)], ignore_index=True)


def position_free_scores(
    frame: pd.DataFrame,
    favoured: str = "target",
    against: str = "non_target",
    *,
    gold: str | None = None,
    by: Sequence[str] = MODEL,
    within: Sequence[str] = (),
    places_by: Sequence[str] = (),
) -> pd.DataFrame:
    """How far the favoured role is chosen before the other one, under every reading.

    Statistics, as decision and as soft score: difference, the mean over items of (favoured) -
    (against), other roles 0; with `gold`, a column of roles, also accuracy.

    Returns:
        by..., within..., reading, score, statistic, value, ci_low, ci_high (t over templates), n,
        n_invalid, clusters, slot_effect (nats that the places still differ by), status.
    """
    check_columns(frame, [*within, *places_by, *([gold] if gold else [])])
    by = _known(frame, by)
    apart = [*by, *places_by]
    read = all_readings(frame, apart)
    if missing := [role for role in (favoured, against) if f"soft_{role}" not in read]:
        soft = [str(name) for name in read if str(name).startswith("soft_")]
        roles = [name.removeprefix("soft_") for name in soft]
        raise KatayoriError(f"no option has the role {missing[0]!r}; roles: {', '.join(roles)}")
    slots = _places_that_decide(frame, by, apart)
    rows: list[dict[str, Any]] = []
    for key, cell in cells(read, [*by, *within, "reading"]):
        slot = slots[_key(key, by)]
        for score in (DECISION, SOFT):
            if score == SOFT and key["reading"] == "letter":
                continue
            common = {**key, "score": score, "slot_effect": _slot_effect(key["reading"], slot)}
            sides = _difference(cell, favoured, against, score)
            rows.append({**common, **_row("difference", cell, sides, intervals.difference)})
            if key["reading"] == "letter" and slot["status"] == "position_bound":
                rows[-1] |= {"value": np.nan, "status": "position_bound", **intervals.none()}
            if gold:
                right = _accuracy(cell, gold, score)
                rows.append({**common, **_row("accuracy", cell, right, intervals.probability)})
    return pd.DataFrame(rows)[[*by, *within, *COLUMNS]]


def _places_that_decide(
    frame: pd.DataFrame, by: Sequence[str], apart: Sequence[str]
) -> dict[tuple[Any, ...], dict[Any, Any]]:
    """The slot report of every cell of `by`, with the largest slot effects of its parts."""
    effects = ["slot_effect", "slot_effect_left"]
    out = {}
    parts = slot_report(frame, apart)
    for row in slot_report(frame, by).to_dict("records"):
        own = parts
        for name in by:
            own = own[own[name] == row[name]]
        out[_key(row, by)] = row | own[effects].max().to_dict()
    return out


def _key(row: dict[Any, Any], by: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in by)


def _slot_effect(reading: str, slot: dict[Any, Any]) -> float:
    """What the places still differ by, in nats, where that can be said."""
    names = {"probability": "slot_effect", "calibrated": "slot_effect_left"}
    return float(slot[names[reading]]) if reading in names else np.nan


def _difference(cell: pd.DataFrame, favoured: str, against: str, score: str) -> pd.Series:
    if score == SOFT:
        return cell[f"soft_{favoured}"] - cell[f"soft_{against}"]
    return (cell["choice"] == favoured).astype(float) - (cell["choice"] == against)


def _accuracy(cell: pd.DataFrame, gold: str, score: str) -> pd.Series:
    if score == DECISION:
        return (cell["choice"] == cell[gold]).astype(float)
    out = pd.Series(np.nan, index=cell.index)
    for role, rows in cell.groupby(gold).groups.items():
        out[rows] = cell.loc[rows, f"soft_{role}"]
    return out


def _row(
    statistic: str,
    cell: pd.DataFrame,
    values: pd.Series,
    interval: Callable[[np.ndarray, int], dict[str, Any]],
) -> dict[str, Any]:
    """One statistic of one cell; items that this reading cannot use are counted."""
    used = (cell["status"] == "ok") & values.notna()
    row: dict[str, Any] = {"statistic": statistic, "value": np.nan, **intervals.none()}
    row |= {"n": int(used.sum()), "n_invalid": int((~used).sum()), "clusters": 0}
    if not used.any():
        reasons = cell["status"].value_counts().index
        reason = "no_valid_answer" if reasons[0] in ("ok", "invalid") else str(reasons[0])
        return row | {"status": reason}
    by_template = values[used].groupby(cell.loc[used, "template_id"]).agg(["sum", "count"])
    ratio = (by_template["sum"].to_numpy(float), by_template["count"].to_numpy(float))
    row |= {"value": float(values[used].mean()), "clusters": len(by_template)}
    if interval is intervals.probability and set(values[used]) <= {0.0, 1.0}:
        found = cluster_share(ratio[0].tolist(), ratio[1].tolist(), floor=1.0)
        return row | {name: found[name] for name in ("ci_low", "ci_high", "status")}
    return row | interval(intervals.contributions(ratio), len(by_template))
