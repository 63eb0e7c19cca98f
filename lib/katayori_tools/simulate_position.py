"""Respondents that like a place: is their lean found by content, and nothing where none is?

A study asks items with three options that stand for a target, another person and "unknown". The
planted respondent has a preference for places, in nats, and a lean to the target, which varies over
templates. It answers every item in all six orders of its options. `position_free_scores` reads the
difference target - other under every reading. The truth of a reading is what it gives, in the long
run, for the same respondent without any preference for places.

Respondents:
    locked: likes the second place by 6 nats, whatever stands there.
    unbalanced: the same, and the target stands at the liked place in three of four items.
    by wording: the liked place depends on the wording of "unknown"; two take turns over templates.
"""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from katayori_tools import position_free
from katayori_tools.position_free import position_free_scores

FILE = "simulated/position_free.csv"
ROLES = ("target", "non_target", "unknown")
#: Which role stands at each place, in every order (orders x places).
ORDERS = np.array(list(itertools.permutations(range(3))))
#: The target stands at the liked place in three of four.
UNBALANCED = np.array([(1, 0, 2), (2, 0, 1), (1, 0, 2), (0, 1, 2)])
PLACES = np.array([0.0, 6.0, 1.0])
#: What each of the two wordings of "unknown" adds to the places.
WORDINGS = np.array([(0.0, 6.0, 1.0), (5.0, 0.0, 1.0)])
LEAN_SD = 0.5
NOISE_SD = 0.4
RESPONDENTS = ("locked", "unbalanced", "by wording")
LEANS = (0.0, 0.6)
TEMPLATES = (30, 60)
#: Seeds of the studies, 1,000 in all; the few of the first batch are drawn again by a test.
BATCHES = (range(20), range(20, 1_000))
#: Contents from which the truth is worked out.
TRUTH_CONTENTS = 400_000
COLUMNS = [
    *("respondent", "reading", "score", "calibrated_within", "lean", "templates", "seed", "draws"),
    *("truth", "mean_value", "covered", "found", "defined", "flagged"),
]


def contents(rng: np.random.Generator, templates: int, lean: float) -> np.ndarray:
    """What a respondent finds of the roles of each template, in nats (templates x roles)."""
    values = rng.normal(0, NOISE_SD, (templates, 3))
    # Half to the target and half from the other person: without a lean both are exchangeable.
    half = rng.normal(lean, LEAN_SD, templates) / 2
    values[:, 0] += half
    values[:, 1] -= half
    return values


def study(rng: np.random.Generator, respondent: str, lean: float, templates: int) -> pd.DataFrame:
    """The answers of one planted respondent, as `position_free` reads them."""
    orders = UNBALANCED if respondent == "unbalanced" else ORDERS
    role = np.tile(orders, (templates, 1))
    template = np.repeat(np.arange(templates), len(orders))
    wording = template % 2
    places = WORDINGS[wording] if respondent == "by wording" else PLACES
    found = contents(rng, templates, lean)
    logits = np.take_along_axis(found[template], role, axis=1) + places
    logits = logits + rng.normal(0, NOISE_SD, logits.shape)
    p = _softmax(logits)
    columns: dict[str, Any] = {f"p_{place}": p[:, place] for place in range(3)}
    names = np.array(ROLES, dtype=object)
    columns |= {f"role_{place}": names[role[:, place]] for place in range(3)}
    return pd.DataFrame(columns).assign(
        model="planted",
        template_id=template,
        base_id=template,
        wording=wording,
        answer=p.argmax(axis=1).astype(str),
    )


def _softmax(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def truths(lean: float) -> dict[tuple[str, str], float]:
    """What every reading and score gives for a respondent that likes no place."""
    rng = np.random.default_rng(7)
    found = contents(rng, TRUTH_CONTENTS, lean)
    one = found + rng.normal(0, NOISE_SD, found.shape)
    # The mean over six orders of noise that is drawn anew in each.
    mean = found + rng.normal(0, NOISE_SD / np.sqrt(len(ORDERS)), found.shape)
    out = {}
    for reading, values in (("probability", one), ("calibrated", one), ("permuted", mean)):
        soft = _softmax(values)
        chosen = values.argmax(axis=1)
        out[reading, "soft"] = float((soft[:, 0] - soft[:, 1]).mean())
        out[reading, "decision"] = float(np.mean(chosen == 0) - np.mean(chosen == 1))
    out["letter", "decision"] = out["probability", "decision"]
    return out


def position_draws(
    respondent: str, lean: float, templates: int, within: bool, seeds: range
) -> list[dict[str, Any]]:
    """The scores of studies of one respondent, a row a study and reading.

    Args:
        within: places are learned apart for each wording of "unknown".
        seeds: one study each.
    """
    places_by = ["wording"] if within else []
    known = truths(lean)
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        rng = np.random.default_rng([seed, templates, RESPONDENTS.index(respondent)])
        frame = study(rng, respondent, lean, templates)
        if respondent == "unbalanced":  # it lacks orders: nothing can be permuted
            frame = frame.drop(columns="base_id")
        slots = position_free.slot_report(frame, ["model"])
        flagged = bool((slots["status"] == "position_bound").all())
        scores = position_free_scores(frame, by=("model",), places_by=places_by)
        rows += [_compared(score, known, flagged) for score in scores.to_dict("records")]
    return rows


def _compared(score: Any, known: dict[tuple[str, str], float], flagged: bool) -> dict[str, Any]:
    """One score of one study beside the truth."""
    truth = known[score["reading"], score["score"]]
    low, high = score["ci_low"], score["ci_high"]
    return {
        "reading": score["reading"],
        "score": score["score"],
        "truth": truth,
        "value": score["value"],
        "covered": bool(low <= truth <= high),
        "found": bool(low > 0 or high < 0),
        "defined": bool(np.isfinite(low)),
        "flagged": flagged,
    }


def cells() -> list[tuple[str, float, int, bool]]:
    """Respondent, lean, templates, and whether places are learned by wording."""
    plain = [
        (respondent, lean, templates, False)
        for respondent in RESPONDENTS
        for lean in LEANS
        for templates in TEMPLATES
    ]
    # With 30 templates a wording has 15, from which no place is learned.
    return [*plain, *(("by wording", lean, 60, True) for lean in LEANS)]


def batch_rows(
    respondent: str, lean: float, templates: int, within: bool, seeds: range
) -> list[dict[str, Any]]:
    """The studies of some seeds, counted: a row a reading and score."""
    drawn = pd.DataFrame(position_draws(respondent, lean, templates, within, seeds))
    rows = []
    for (reading, score), cell in drawn.groupby(["reading", "score"], sort=False):
        row: dict[str, Any] = {"respondent": respondent, "reading": reading, "score": score}
        row |= {"calibrated_within": "wording" if within else "", "lean": lean}
        row |= {"templates": templates, "seed": seeds.start, "draws": len(cell)}
        row |= {"truth": cell["truth"].iloc[0], "mean_value": cell["value"].mean()}
        counted = ("covered", "found", "defined", "flagged")
        row |= {name: int(cell[name].sum()) for name in counted}
        rows.append(row)
    return rows


def position_table() -> pd.DataFrame:
    """All cells: of each reading, how often the truth is covered and a lean is found.

    Returns:
        `COLUMNS`: truth and mean_value (of the difference target - other); covered, found, defined
        and flagged (studies of draws; defined: with an interval; flagged: `position_bound`).
    """
    rows = [row for cell in cells() for seeds in BATCHES for row in batch_rows(*cell, seeds)]
    return pd.DataFrame(rows)[COLUMNS]
