"""Choices among options, read by their content and not by the place that they stand at."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.frame_checks import Column, FrameError
from katayori.measure.columns import Wanted, as_frame, flat, taken, wanted_cluster
from katayori.metrics import position_free as reading, ties
from katayori.metrics.position_free_scores import position_free_scores

_ROLE = Column("label", "target")
_P = Column("probability", 0.25, may_miss=True)
_LOGP = Column("number", -1.4, may_miss=True)
_ANSWER = Column("label", "0", required=False, may_miss=True)
_CONTENT = Column("label", "item-1")
LETTERS = "ABCDEFGHIJ"
#: The smallest log probability, less the largest of the item, that a number can hold.
LOWEST = -690.0
MORE = ("score", "slot_effect", "largest_share")


def position_free(
    frame: Any,
    favoured: str,
    against: str,
    *,
    gold: str | None = None,
    cluster: str | None = "template",
    content: str | None = None,
    by: str | Sequence[str] = (),
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
        cluster: what would be drawn anew in another study, such as the template; None: every row.
        content: column that is the same for one item in all orders of its options; adds the reading
            `permuted`.
        by: columns whose values are measured and calibrated apart, such as a model.

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

    Reference: `metrics.position_free`.

    Example:
        >>> from katayori.metrics import examples
        >>> items = examples.three_options().query("context_condition == 'ambiguous'")
        >>> table = position_free(items, "biased", "counter_biased", cluster="template_id")
        >>> decisions = table[table["score"] == "decision"]
        >>> decisions[["reading", "value", "status"]].round(2).to_numpy().tolist()
        [['letter', nan, 'position_bound'], ['probability', 0.07, 'ok'], ['calibrated', 0.78, 'ok']]
    """
    given = as_frame("position_free", frame)
    places = _places(given)
    kind, column = ("logp", _LOGP) if "logp_0" in given else ("p", _P)
    wanted = {"cluster": wanted_cluster(cluster)}
    for place in places:
        role, p = f"role_{place}", f"{kind}_{place}"
        wanted[role] = Wanted(role, _ROLE, f"what stands at place {place}")
        wanted[p] = Wanted(p, column, f"probability of place {place}; logp_{place} is taken too")
    wanted["answer"] = Wanted("answer", _ANSWER, "the chosen place")
    wanted["content"] = Wanted(content, _CONTENT, "one item in all orders of its options")
    wanted["gold"] = Wanted(gold, _ROLE, "the right role")
    own = taken("position_free", given, wanted, by)
    rows = []
    for key, cell in own.cells():
        items = _items(cell, places, kind)
        shares = reading.slot_report(items, [])
        largest = shares[[f"share_{place}" for place in places]].max(axis=1).iloc[0]
        scores = position_free_scores(
            items, favoured, against, gold="gold" if gold else None, by=[]
        )
        scores = scores.rename(columns={"statistic": "measure"}).assign(largest_share=largest)
        rows += [key | row for row in scores.to_dict("records")]
    return flat(rows, by, before=("reading", "measure"), after=MORE)


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


def _items(cell: pd.DataFrame, places: list[int], kind: str) -> pd.DataFrame:
    """The frame that `metrics.position_free` takes."""
    out = pd.DataFrame({"template_id": cell["cluster"]})
    p = cell[[f"{kind}_{place}" for place in places]].to_numpy(float)
    p = _from_logs(p) if kind == "logp" else p
    for place in places:
        out[f"role_{place}"] = cell[f"role_{place}"].astype(str)
        out[f"p_{place}"] = p[:, place]
    out["answer"] = _answers(cell, p, len(places))
    roles = set(out[[f"role_{place}" for place in places]].to_numpy().ravel())
    if "gold" in cell and not set(cell["gold"].astype(str)) <= roles:
        lost = sorted(set(cell["gold"].astype(str)) - roles)
        raise KatayoriError(
            f"position_free: the right role {lost[0]!r} is the role of no option; roles:"
            f" {', '.join(sorted(roles))}"
        )
    for name, own in (("base_id", "content"), ("gold", "gold")):
        if own in cell:
            out[name] = cell[own].astype(str)
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
