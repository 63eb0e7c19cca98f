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

from katayori.metrics import ties
from katayori.metrics.uncertainty import cells

MODEL = ("model", "prompt_id")
#: With fewer other templates the coefficients of the places are not learned.
TRAINING_TEMPLATES = 20
#: Eigenvalues below this share of the largest one are rounding.
ROUNDING = 1e-10
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


def _centred(values: np.ndarray) -> np.ndarray:
    """Less the mean over the places of the item (the second axis)."""
    return values - values.mean(axis=1, keepdims=True)


def _design(roles: np.ndarray) -> np.ndarray:
    """Dummies of place and role, centred inside the item: (rows, places, places + roles)."""
    rows, k = roles.shape
    names = np.array(sorted(set(roles.ravel())), dtype=object)
    place_dummies = np.broadcast_to(np.eye(k), (rows, k, k))
    role_dummies = (roles[:, :, None] == names).astype(float)
    return _centred(np.concatenate([place_dummies, role_dummies], axis=2))


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


def calibrated_values(
    logp: np.ndarray, roles: np.ndarray, clusters: Sequence[Any] | pd.Series
) -> tuple[np.ndarray, np.ndarray]:
    """As `calibrated_log_probabilities`, of arrays (rows, places) and the cluster of each row.

    Example:
        >>> values, status = calibrated_values(np.zeros((1, 2)), np.array([["a", "b"]]), ["t"])
        >>> status.tolist()
        ['not_calibrated']
    """
    y = _centred(logp)
    complete = np.isfinite(y).all(axis=1)
    k = y.shape[1]
    values = np.full_like(y, np.nan)
    status = np.where(complete, "not_calibrated", "incomplete").astype(object)
    codes, _ = pd.factorize(np.asarray(clusters, object))
    trained = np.unique(codes[complete])
    if len(trained) <= TRAINING_TEMPLATES:
        return values, status
    design = _design(roles)
    gram = np.einsum("ijp,ijq->ipq", design, design)
    moment = np.einsum("ijp,ij->ip", design, np.where(complete[:, None], y, 0.0))
    # One row a template: which items are of another one, and complete.
    others = ((codes != trained[:, None]) & complete).astype(float)
    left = np.tensordot(others, gram, axes=1)
    # The columns of places add up to 0, and so do those of roles: two eigenvalues are rounding.
    known = np.linalg.matrix_rank(left, hermitian=True, rtol=ROUNDING) >= 2 * (k - 1)
    inverse = np.linalg.pinv(left, rcond=ROUNDING, hermitian=True)
    solved = np.einsum("tpq,tq->tp", inverse, others @ moment)
    place = solved[:, :k] - solved[:, :k].mean(axis=1, keepdims=True)
    of_row = np.minimum(np.searchsorted(trained, codes), len(trained) - 1)
    used = complete & known[of_row]
    values[used] = y[used] - place[of_row[used]]
    status[used] = "ok"
    return values, status


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


def highest(values: np.ndarray, names: Sequence[str]) -> list[str | None]:
    """The name of the highest value of each row; None where two share it or a value is missing.

    Example:
        >>> highest(np.array([[0.3, 0.1 + 0.2], [0.1, 0.9], [np.nan, 1]]), ["cat", "dog"])
        [None, 'dog', None]
    """
    out: list[str | None] = []
    for row in values:
        first = np.flatnonzero(ties.highest(row))
        single = len(first) == 1 and not np.isnan(row).any()
        out.append(names[int(first[0])] if single else None)
    return out


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
        row["slot_effect"] = _range_of_means(_centred(log_probabilities(cell)))
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


def bound_letters(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """The cells in which one place takes more than 90 % of the valid letters.

    Their letters follow the place, so that no score of bias is read from them.

    Args:
        frame: answers with `answer`, the place that was written; probabilities are not needed.
        by: the columns that make a cell.

    Returns:
        the columns of `by`, a row a bound cell.

    Example:
        >>> first = pd.DataFrame({"model": "m", "prompt_id": "p", "answer": ["0"] * 19 + ["1"]})
        >>> even = first.assign(model="n", answer=["0", "1"] * 10)
        >>> bound_letters(pd.concat([first, even]))["model"].tolist()
        ['m']
    """
    rows = []
    for key, cell in cells(frame, by):
        if _is_bound(_written(cell)):
            rows.append(key)
    return pd.DataFrame(rows, columns=list(by))


def mark_bound(table: pd.DataFrame, bound: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """A table of scores with the status `position_bound` where letters follow the place.

    The paper's own score stays, since it is the paper's; its status says that it is no reading of
    bias. A score without a value keeps the status that says why.

    Args:
        table: rows with metric, value, status and the columns of `bound`.
        bound: of `bound_letters`.
        metrics: the scores of bias.

    Example:
        >>> table = pd.DataFrame({"model": ["m", "n"], "metric": "diff_amb", "value": 0.1})
        >>> table["status"] = "ok"
        >>> mark_bound(table, pd.DataFrame({"model": ["m"]}), ["diff_amb"])["status"].tolist()
        ['position_bound', 'ok']
    """
    if bound.empty or table.empty:
        return table
    marked = table.merge(bound.assign(bound=True), on=list(bound.columns), how="left")["bound"]
    is_bound = marked.notna().to_numpy() & table["metric"].isin(metrics)
    is_bound &= table["value"].notna()
    return table.assign(status=table["status"].mask(is_bound, "position_bound"))


def _range_of_means(values: np.ndarray) -> float:
    complete = values[np.isfinite(values).all(axis=1)]
    if not len(complete):
        return math.nan
    return float(np.ptp(complete.mean(axis=0)))


def answers_by_content(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """The answers as each reading gives them, in the shape they came in: any score takes them.

    Where a metric starts from answers (`qa_bias.with_role`, an exchange test), it runs on these in
    place of the letters, a reading at a time.

    Args:
        frame: see above, one row an item, with `outcome`.
        by: what is calibrated apart; model and prompt.

    Returns:
        the rows of the frame three times, with reading (`letter`, `probability`, `calibrated`);
        answer (the place whose content is chosen, as text), outcome (`out_of_choice` where there is
        no choice) and p_0 ... (softmax of the values of the places; NaN where not read), and
        read_status as in `readings`. Rows of the letters stay as they are.

    Example:
        >>> frame = pd.DataFrame({"model": "m", "prompt_id": "p", "template_id": ["t", "u"]})
        >>> frame = frame.assign(answer=["0", None], outcome=["ok", "refusal"])
        >>> frame = frame.assign(role_0="cat", role_1="dog", p_0=0.2, p_1=0.6)
        >>> read = answers_by_content(frame).iloc[1:3].round(2)
        >>> read[["reading", "outcome", "p_1"]].to_numpy().tolist()
        [['letter', 'refusal', 0.6], ['probability', 'ok', 0.75]]
    """
    parts = []
    for _, cell in cells(frame, by):
        logp = log_probabilities(cell)
        complete = pd.Series(np.isfinite(logp).all(axis=1), index=cell.index)
        whole = complete.map({True: "ok", False: "incomplete"})
        parts.append(cell.assign(reading="letter", read_status=cell["outcome"]))
        parts.append(_answers_of_values(cell, logp, whole, "probability"))
        parts.append(
            _answers_of_values(cell, *calibrated_log_probabilities(cell), reading="calibrated")
        )
    return pd.concat(parts, ignore_index=True)


def answers_in_all_orders(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """The answers as *permuted* gives them, in the shape of the order that was given.

    Args:
        frame: see above, one row an item and order, with base_id, order_number (0: as given) and
            `order` (where each option stands in the given order), as of `bbq.in_all_orders`.
        by: what is read apart; model and prompt.

    Returns:
        the rows of the given order, with answer, outcome and p_0 ... of the mean log p over all
        orders, reading (`permuted`) and read_status (`ok`; `lacks_an_order`; `incomplete`, where a
        letter has no probability in some order).

    Example:
        >>> frame = pd.DataFrame({"model": "m", "prompt_id": "p", "base_id": ["b", "b"]})
        >>> frame = frame.assign(order_number=[0, 1], order=["01", "10"], role_0=["cat", "dog"])
        >>> frame = frame.assign(role_1=["dog", "cat"], p_0=[0.9, 0.8], p_1=[0.1, 0.2])
        >>> answers_in_all_orders(frame)[["answer", "p_0"]].round(2).to_numpy().tolist()
        [['0', 0.6]]
    """
    places = places_of(frame)
    logp = log_probabilities(frame)
    before = np.array([[int(place) for place in order] for order in frame["order"]])
    of_options = np.empty_like(logp)
    np.put_along_axis(of_options, before, logp, axis=1)
    columns = [f"lp_{place}" for place in places]
    heads = [*by, "base_id"]
    asked = frame[[*heads, "order"]].assign(**dict(zip(columns, of_options.T, strict=True)))
    contents = asked.groupby(heads, sort=False)
    # A mean over orders of which one is missing would favour who stands well in the others.
    means = contents[columns].mean(skipna=False)
    means["n_orders"] = contents["order"].nunique()
    given = frame[frame["order_number"] == 0].reset_index(drop=True)
    found = given[heads].merge(means, left_on=heads, right_index=True, how="left")
    values = found[columns].to_numpy(float, copy=True)
    status = pd.Series("ok", index=given.index)
    status[~np.isfinite(values).all(axis=1)] = "incomplete"
    lacks = (found["n_orders"] < math.factorial(len(places))).to_numpy()
    status[lacks] = "lacks_an_order"
    values[lacks] = np.nan
    return _answers_of_values(given, values, status, "permuted")


def _answers_of_values(
    frame: pd.DataFrame, values: np.ndarray, status: pd.Series, reading: str
) -> pd.DataFrame:
    """Answers and probabilities by the highest of the values of the places."""
    places = places_of(frame)
    chosen = highest(values, [str(place) for place in places])
    outcome = ["out_of_choice" if answer is None else "ok" for answer in chosen]
    soft = _softmax(values)
    out = frame.assign(reading=reading, answer=pd.Series(chosen, frame.index), outcome=outcome)
    out["read_status"] = status.to_numpy()
    return out.assign(**{f"p_{place}": soft[:, place] for place in places})
