"""Choices among options, read by their content and not by the position that they stand at.

Three ways to read the same answers:

    letters      the position that was written, as it is
    calibrated   log p of each position less what the position adds, learned from other clusters
    permuted     the mean log p of each content over all orders of its options

`calibrated` and `permuted` give the frame of answers with the position that is chosen so, so that
whatever reads letters reads them, too.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.columns import Column, FrameError
from katayori.errors import KatayoriError
from katayori.frames import LABEL, LABEL_OR_NONE, NUMBER_OR_NONE, cells, flat, require
from katayori.metrics import position_free as reading, ties
from katayori.metrics.position_free_scores import position_free_scores

_P = Column("probability", 0.25, may_miss=True)
LETTERS = "ABCDEFGHIJ"
#: The smallest log probability, less the largest of the item, that a number can hold.
LOWEST = -690.0
MORE = ("score", "slot_effect", "largest_share")


def calibrated(
    frame: pd.DataFrame,
    *,
    answer: str,
    option: str,
    p: str,
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """The answers as they are once what each position adds is taken off.

    Of log p, centred inside the item, y: least squares of y on position and content over all other
    clusters; calibrated = y less the coefficient of the position. The content is in the model since
    a plain mean of a position would take up what stands there more often.

    Args:
        frame: a row an item that was asked.
        answer: name of the column of the chosen position. option: how the columns of what stands
            at each position begin, such as `role` of role_0, role_1. p: how those of their
            probabilities begin; 0 or missing: not known.
        by: columns that are calibrated apart, such as model and prompt.
        cluster: what is left out when the positions are learned for it, such as the template.

    Returns:
        the frame with the column `answer` anew (the position of the highest value as text, missing
        where it cannot be read or two are equal), the probabilities anew (softmax of the values)
        and read_status: `ok`, `not_calibrated` (not more than 20 clusters, or positions and
        contents cannot be told apart), `incomplete` (an option without a probability).

    Raises:
        KatayoriError: a column that is lacking or holds something else.

    Source: the idea of a prior of positions is that of PriDe (C. Zheng et al., ICLR 2024), which
    averages softmaxes over permutations; here means are taken of log p.

    Example:
        >>> from katayori.metrics import examples
        >>> items = examples.three_options()
        >>> names = {"answer": "answer", "option": "role", "p": "p", "cluster": "template_id"}
        >>> read = calibrated(items, **names)
        >>> [(frame["answer"] == "1").mean().round(2).item() for frame in (items, read)]
        [0.92, 0.33]
    """
    options, shares, by = _named("calibrated", frame, option, p, by, {cluster: LABEL})
    parts = []
    for _, cell in cells(frame, by):
        logp = _logs(cell, shares)
        contents = cell[options].astype(str).to_numpy(object)
        values, status = reading.calibrated_values(logp, contents, cell[cluster])
        parts.append(_with_values(cell, values, status, answer, shares))
    return _together(parts, frame)


def permuted(
    frame: pd.DataFrame,
    *,
    answer: str,
    option: str,
    p: str,
    content: str,
    by: str | Sequence[str] = (),
) -> pd.DataFrame:
    """The answers by the mean log p of each content over all orders of its options.

    Args:
        frame: a row an item and order. answer, option, p, by: as of `calibrated`; what stands at
            the positions must tell the options of an item apart.
        content: column that is the same for one item in all orders of its options.

    Returns:
        a row a content, its first of the frame, with the columns that `calibrated` makes anew;
        read_status: `ok`, `incomplete`, `lacks_an_order` (not all k! orders of k options).

    Raises:
        KatayoriError: as `calibrated`; an item with two equal options.

    Example:
        >>> asked = pd.DataFrame({"item": ["i", "i"], "role_0": ["cat", "dog"], "answer": "0"})
        >>> asked = asked.assign(role_1=["dog", "cat"], p_0=[0.9, 0.8], p_1=[0.1, 0.2])
        >>> names = {"answer": "answer", "option": "role", "p": "p", "content": "item"}
        >>> permuted(asked, **names)[["answer", "p_0"]].round(2).to_numpy().tolist()
        [['0', 0.6]]
    """
    options, shares, by = _named("permuted", frame, option, p, by, {content: LABEL})
    parts = []
    for _, cell in cells(frame, by):
        contents = cell[options].astype(str).to_numpy(object)
        if any(len(set(row)) < len(row) for row in contents):
            raise FrameError("permuted: an item has two equal options; name columns that differ")
        codes = pd.factorize(cell[content])[0]
        first = np.unique(codes, return_index=True)[1]
        values = _means(_logs(cell, shares), contents, codes, first)
        orders = pd.Series(map(" ".join, contents)).groupby(codes).nunique().to_numpy()
        status = np.where(np.isfinite(values).all(axis=1), "ok", "incomplete").astype(object)
        status[orders < math.factorial(len(options))] = "lacks_an_order"
        values[status != "ok"] = np.nan
        parts.append(_with_values(cell.iloc[first], values, status, answer, shares))
    return _together(parts, frame)


def _means(
    logp: np.ndarray, contents: np.ndarray, codes: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """The mean log p of what stands at each position of the first row of each item."""
    names = sorted(set(contents.ravel()))
    of_name = [np.where(contents == name, logp, 0).sum(axis=1) for name in names]
    means = pd.DataFrame(dict(zip(names, of_name, strict=True))).groupby(codes).mean(skipna=False)
    at = np.array([[names.index(name) for name in row] for row in contents[first]])
    return np.take_along_axis(means.to_numpy(), at, axis=1)


def _named(
    verb: str,
    frame: pd.DataFrame,
    option: str,
    p: str,
    by: str | Sequence[str],
    more: dict[str, Column],
) -> tuple[list[str], list[str], list[str]]:
    """The columns of options and of probabilities, and those of `by`."""
    options = [str(name) for name in frame if re.fullmatch(rf"{re.escape(option)}_\d+", str(name))]
    shares = [f"{p}_{name.rsplit('_', 1)[1]}" for name in options]
    if frame.empty:
        return options, shares, [by] if isinstance(by, str) else list(by)
    if len(options) < 2:
        raise FrameError(f"{verb}: no columns {option}_0, {option}_1; name them by option=")
    wanted = dict.fromkeys(options, LABEL) | dict.fromkeys(shares, _P) | more
    return options, shares, require(verb, frame, wanted, by)


def _logs(cell: pd.DataFrame, shares: list[str]) -> np.ndarray:
    """log p; a row that lacks one is NaN throughout, since nothing is put in its place."""
    p = cell[shares].to_numpy(float, copy=True)
    p[~(p > 0).all(axis=1)] = np.nan
    return np.log(p)


def _with_values(
    cell: pd.DataFrame, values: np.ndarray, status: np.ndarray, answer: str, shares: list[str]
) -> pd.DataFrame:
    """The answers by the highest of the values of the positions."""
    with np.errstate(invalid="ignore"):
        top = np.exp(values - values.max(axis=1, keepdims=True))
    soft = top / top.sum(axis=1, keepdims=True)
    chosen = reading.highest(values, [name.rsplit("_", 1)[1] for name in shares])
    out = cell.copy()
    out[answer] = pd.Series(chosen, cell.index, dtype=object)
    out[shares] = soft
    return out.assign(read_status=status)


def _together(parts: list[pd.DataFrame], frame: pd.DataFrame) -> pd.DataFrame:
    """The cells one below the other; of an empty frame one with its reason."""
    if parts:
        return pd.concat(parts, ignore_index=True)
    out = frame.assign(read_status=pd.Series(dtype=object))
    out.attrs = dict(frame.attrs)
    return out


def position_free(
    frame: pd.DataFrame,
    favoured: str,
    against: str,
    *,
    gold: str | None = None,
    content: str | None = None,
    by: str | Sequence[str] = (),
    cluster: str = "question",
) -> pd.DataFrame:
    """How far one role is chosen before another, under every reading of the same answers.

    Args:
        frame: a row an item that was asked, with for each of k places `role_0`, `role_1`, ... (what
            stands there, in words that are the same in all items, such as `target`, `other`,
            `unknown`), `p_0` ... or `logp_0` ... (probability, or log probability, of the option at
            that place; missing where it is not known), and perhaps `answer` (the chosen place: 0, 1
            or A, B; missing where invalid; without the column the likeliest place).
        favoured, against: the two roles that are compared.
        gold: column that names the right role of each item; adds the accuracy.
        content: column that is the same for one item in all orders of its options; adds the reading
            `permuted`.
        by: columns whose values are measured and calibrated apart, such as a model.
        cluster: what would be drawn anew in another study, such as the template.

    Returns:
        by..., reading, measure, value, n (items read), n_invalid, clusters, ci_low, ci_high,
        status, score, slot_effect, largest_share. reading: `letter` (the answer as written),
        `probability`, `calibrated` (log p less what the place adds, learned from other clusters; it
        needs 20 of them), `permuted` (mean log p over all orders). measure: `difference` (share of
        favoured less share of against, -1 to 1) and, with gold, `accuracy`; score: `decision`
        (the likeliest) or `soft` (its probability). slot_effect: by how many nats the places still
        differ under this reading. largest_share: of the valid answers, of the place that is chosen
        most. status: `ok`; `position_bound` (one place takes more than 90 % of the answers: letters
        say nothing of the roles and get no value); `not_calibrated`, `incomplete` (an option
        without a probability), `lacks_an_order`, `no_valid_answer`, and those of
        `metrics.intervals`.

    Raises:
        KatayoriError: a column that is not there or holds something else; a role that no option
        has.

    Source: `metrics.position_free`.

    Example:
        >>> from katayori.metrics import examples
        >>> items = examples.three_options().query("context_condition == 'ambiguous'")
        >>> table = position_free(items, "biased", "counter_biased", cluster="template_id")
        >>> decisions = table[table["score"] == "decision"]
        >>> decisions[["reading", "value", "status"]].round(2).to_numpy().tolist()
        [['letter', nan, 'position_bound'], ['probability', 0.07, 'ok'], ['calibrated', 0.78, 'ok']]
    """
    kind = "logp" if "logp_0" in frame else "p"
    named = {"cluster": cluster, "gold": gold, "content": content}
    own = {name: column for name, column in named.items() if column is not None}
    wanted = dict.fromkeys(own.values(), LABEL)
    wanted |= {"answer": LABEL_OR_NONE} if "answer" in frame else {}
    names = require("position_free", frame, wanted, by)
    places = _places(frame)
    wanted = {f"role_{place}": LABEL for place in places}
    wanted |= {f"{kind}_{place}": NUMBER_OR_NONE if kind == "logp" else _P for place in places}
    require("position_free", frame, wanted)
    rows = []
    for key, cell in cells(frame.reset_index(drop=True), names):
        items = _items(cell, own, places, kind)
        shares = reading.slot_report(items, [])
        largest = shares[[f"share_{place}" for place in places]].max(axis=1).iloc[0]
        scores = position_free_scores(
            items, favoured, against, gold="gold" if gold else None, by=[]
        )
        scores = scores.rename(columns={"statistic": "measure"}).assign(largest_share=largest)
        rows += [key | row for row in scores.to_dict("records")]
    return flat(rows, frame, names, ["reading", "measure"], MORE)


def _places(frame: pd.DataFrame) -> list[int]:
    """The numbers of the places; KatayoriError where no role is named."""
    places = reading.places_of(frame)
    if len(places) < 2:
        there = ", ".join(map(repr, frame.columns))
        raise FrameError(
            "position_free: no columns 'role_0' and 'role_1' (what stands at each place, e.g."
            f" 'target' and 'other'); columns there: {there}"
        )
    return places


def _items(cell: pd.DataFrame, own: dict[str, str], places: list[int], kind: str) -> pd.DataFrame:
    """The frame that `metrics.position_free` takes; `own` names the columns of the user."""
    out = pd.DataFrame({"template_id": cell[own["cluster"]]})
    p = cell[[f"{kind}_{place}" for place in places]].to_numpy(float)
    p = _from_logs(p) if kind == "logp" else p
    for place in places:
        out[f"role_{place}"] = cell[f"role_{place}"].astype(str)
        out[f"p_{place}"] = p[:, place]
    out["answer"] = _answers(cell, p, len(places))
    roles = set(out[[f"role_{place}" for place in places]].to_numpy().ravel())
    lost = sorted(set(cell[own["gold"]].astype(str)) - roles) if "gold" in own else []
    if lost:
        raise KatayoriError(
            f"position_free: the right role {lost[0]!r} is the role of no option; roles:"
            f" {', '.join(sorted(roles))}"
        )
    for name, column in (("base_id", "content"), ("gold", "gold")):
        if column in own:
            out[name] = cell[own[column]].astype(str)
    return out


def _from_logs(logs: np.ndarray) -> np.ndarray:
    """Probabilities that add up to 1, of log probabilities that need not."""
    known = np.where(np.isfinite(logs).all(axis=1)[:, None], logs, np.nan)
    shifted = known - known.max(axis=1, keepdims=True)
    p = np.exp(np.maximum(shifted, LOWEST))
    return p / p.sum(axis=1, keepdims=True)


def _answers(cell: pd.DataFrame, p: np.ndarray, count: int) -> list[str | None]:
    """The number of each chosen place as text, None where invalid."""
    if "answer" not in cell:
        whole = np.isfinite(p).all(axis=1)
        chosen = ties.highest(p).argmax(axis=1)
        return [str(place) if known else None for place, known in zip(chosen, whole, strict=True)]
    return [_place(answer, count) for answer in cell["answer"]]


def _place(answer: Any, count: int) -> str | None:
    """A place as text, of 1, 1.0, "1" or "B"."""
    if pd.isna(answer):
        return None
    known = {str(place): str(place) for place in range(count)}
    known |= {LETTERS[place]: str(place) for place in range(min(count, len(LETTERS)))}
    known |= {f"{place}.0": str(place) for place in range(count)}
    text = str(answer).strip()
    if text not in known:
        raise KatayoriError(
            f"position_free: column 'answer' holds {text!r}; right is the number of the place, 0 to"
            f" {count - 1}, or its letter, A to {LETTERS[count - 1]}; missing where invalid"
        )
    return known[text]
