"""Scores of a choice among options under every reading of `position_free`, with intervals.

The letter is the papers' own reading and always stands first. The others take the place of the
option out: `probability` not at all, `calibrated` by what is learned from other templates,
`permuted` by asking every order. Two kinds of scores:

* *decision*: each item counts for the role that is chosen;
* *soft*: each item counts for the probability of each role.

Intervals are those of the whole project, over templates (`qa_intervals`). How often they cover the
lean of planted respondents that like a place, and find nothing where there is none, is in
data/simulated/position_free.csv, 1,000 studies a cell: coverage .93 to .97, false findings at most
6.8 %. Where roles are unbalanced over places, the places learned err alike for all templates, which
the interval does not hold: coverage .927 and more. Where the liked place depends on a wording, name
the wording in `places_by` or ask all orders; without, the lean is shrunk (none is made).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from katayori.errors import KatayoriError
from katayori.metrics import position_free, qa_intervals, share_intervals
from katayori.metrics.position_free import MODEL
from katayori.metrics.uncertainty import cells

DECISION = "decision"
SOFT = "soft"
READINGS = ("letter", "probability", "calibrated", "permuted")
#: The statuses under which a reading of an item has a choice.
READ = "ok"
COLUMNS = [
    *("reading", "score", "statistic", "value", "ci_low", "ci_high"),
    *("n", "n_invalid", "clusters", "slot_effect", "status"),
]


def check_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    """Raises KatayoriError that names the columns that are not there.

    Example:
        >>> check_columns(pd.DataFrame({"answer": ["0"]}), ["answer"])
    """
    missing = [name for name in needed if name not in frame]
    if missing:
        raise KatayoriError(
            f"the frame lacks the column {', '.join(map(repr, missing))}; it has"
            f" {', '.join(map(str, frame.columns))}. Needed are template_id, answer (the number of"
            " the chosen place as text), and p_0, role_0, p_1, role_1, ... for the places"
        )


def _known(frame: pd.DataFrame, by: Sequence[str]) -> list[str]:
    """The columns of `by` that are there: a frame without `model` holds one model."""
    return [name for name in by if name in frame]


def all_readings(frame: pd.DataFrame, by: Sequence[str] = MODEL) -> pd.DataFrame:
    """Every item under all readings; `permuted` where base_id says which items are one content.

    Args:
        frame: see `position_free`; with base_id, the orders of each content.
        by: what is calibrated apart. Where the places are liked differently under different
            wordings, name the column of the wording too.

    Returns:
        as `position_free.readings`, followed by the rows of `position_free.permuted`.

    Raises:
        KatayoriError: a column that is not there.

    Example:
        >>> frame = pd.DataFrame({"model": "m", "prompt_id": "p", "template_id": ["t", "u"]})
        >>> frame = frame.assign(answer=["0", "1"], role_0="cat", role_1="dog", p_0=0.9, p_1=0.1)
        >>> all_readings(frame).query("reading == 'letter'")["choice"].tolist()
        ['cat', 'dog']
    """
    places = position_free.places_of(frame)
    needed = [f"{name}_{place}" for place in places or [0] for name in ("p", "role")]
    check_columns(frame, ["template_id", "answer", *needed])
    by = _known(frame, by)
    read = position_free.readings(frame, by)
    if "base_id" not in frame:
        return read
    return pd.concat([read, position_free.permuted(frame, by)], ignore_index=True)


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

    Statistics, as decision and as soft score:
        difference: mean over items of (favoured) - (against), from -1 to 1; other roles count 0.
            In ambiguous contexts, with a stereotype's target favoured, it is Diff-bias.
        accuracy: mean of the role that is right, only with `gold`.

    Args:
        frame: see `position_free`: one row an asked item.
        favoured, against: the two roles that are compared.
        gold: the column that names the right role of each item.
        by: what is calibrated apart.
        within: columns of the items that are reported apart, such as context_condition.
        places_by: columns by whose values the places are learned apart and reported together, such
            as the wording of "unknown" where a model's liked place depends on it.

    Returns:
        by..., within..., reading, score (`decision`, `soft`), statistic, value, ci_low, ci_high
        (95 %, t over templates), n (items read), n_invalid (items asked that this reading cannot
        use), clusters (templates), slot_effect (nats that the places still differ by after this
        reading; NaN for letters and permuted), status: `ok`; `position_bound` (one place takes more
        than 90 % of the letters: letters get no value for the difference); `no_valid_answer`;
        `not_calibrated`, `incomplete` or `lacks_an_order` where no item can be read, and the
        statuses of `qa_intervals`.

    Raises:
        KatayoriError: a column or a role that is not there.

    Example:
        >>> frame = pd.DataFrame({"model": "m", "template_id": [f"t{n}" for n in range(6)]})
        >>> frame = frame.assign(answer="0", p_0=0.7, p_1=0.3, role_0="cat", role_1="dog")
        >>> frame.loc[:2, ["role_0", "role_1"]] = ["dog", "cat"]
        >>> scores = position_free_scores(frame, "cat", "dog")
        >>> scores.loc[scores["reading"] == "letter", ["value", "status"]].to_numpy().tolist()
        [[nan, 'position_bound']]
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
            rows.append({**common, **_row("difference", cell, sides, qa_intervals.difference)})
            if key["reading"] == "letter" and slot["status"] == "position_bound":
                rows[-1] |= {"value": np.nan, "status": "position_bound", **qa_intervals.none()}
            if gold:
                right = _accuracy(cell, gold, score)
                rows.append({**common, **_row("accuracy", cell, right, qa_intervals.probability)})
    return pd.DataFrame(rows)[[*by, *within, *COLUMNS]]


def _places_that_decide(
    frame: pd.DataFrame, by: Sequence[str], apart: Sequence[str]
) -> dict[tuple[Any, ...], dict[Any, Any]]:
    """The slot report of every cell of `by`, with the largest slot effects of its parts."""
    effects = ["slot_effect", "slot_effect_left"]
    out = {}
    parts = position_free.slot_report(frame, apart)
    for row in position_free.slot_report(frame, by).to_dict("records"):
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
    used = (cell["status"] == READ) & values.notna()
    row: dict[str, Any] = {"statistic": statistic, "value": np.nan, **qa_intervals.none()}
    row |= {"n": int(used.sum()), "n_invalid": int((~used).sum()), "clusters": 0}
    if not used.any():
        reasons = cell["status"].value_counts().index
        reason = "no_valid_answer" if reasons[0] in (READ, "invalid") else str(reasons[0])
        return row | {"status": reason}
    by_template = values[used].groupby(cell.loc[used, "template_id"]).agg(["sum", "count"])
    ratio = (by_template["sum"].to_numpy(float), by_template["count"].to_numpy(float))
    row |= {"value": float(values[used].mean()), "clusters": len(by_template)}
    if interval is qa_intervals.probability and set(values[used]) <= {0.0, 1.0}:
        return row | share_intervals.share(ratio)
    return row | interval(qa_intervals.contributions(ratio), len(by_template))
