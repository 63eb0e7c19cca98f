"""Respondents that like a position: is their lean found by content, and nothing where none is?

A study asks items with three options that stand for a target, another person and "unknown". The
planted respondent has a preference for positions, in nats, and a lean to the target, which varies
over templates. It answers every item in all six orders of its options. The difference target -
other is read by letters, by their probabilities, and by `position.calibrated` and
`position.permuted`. The truth of a reading is what it gives, in the long run, for the same
respondent without any preference for positions.

Respondents:
    locked: likes the second position by 6 nats, whatever stands there.
    unbalanced: the same, and the target stands at the liked position in three of four items.
    by wording: the liked position depends on the wording of "unknown"; two take turns over
        templates.

Columns: truth and mean_value (of the difference target - other); covered, found, defined and
flagged (studies of draws; defined: with an interval; flagged: bound to a position).
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import softmax

from katayori.metrics import position, shares
from katayori.metrics.verdicts import BOUND_ABOVE

ROLES = np.array(("target", "non_target", "unknown"), dtype=object)
#: Which role stands at each position, in every order (orders x positions).
ORDERS = np.array(list(itertools.permutations(range(3))))
#: The target stands at the liked position in three of four.
UNBALANCED = np.array([(1, 0, 2), (2, 0, 1), (1, 0, 2), (0, 1, 2)])
#: What each position adds, in nats; `by wording`: with each of the two wordings of "unknown".
LIKED = np.array([(0.0, 6.0, 1.0), (0.0, 6.0, 1.0)])
LIKED_BY_WORDING = np.array([(0.0, 6.0, 1.0), (5.0, 0.0, 1.0)])
LEAN_SD = 0.5
NOISE_SD = 0.4
RESPONDENTS = ("locked", "unbalanced", "by wording")
#: Seeds of the studies, 1,000 in all; the few of the first batch are drawn again by a test.
BATCHES = (range(20), range(20, 1_000))
#: Contents from which the truth is worked out.
TRUTH_CONTENTS = 400_000
P = ["p_0", "p_1", "p_2"]
NAMES = {"answer": "answer", "option": "role", "p": "p"}


class Cell(NamedTuple):
    """A respondent and a size; within: positions are learned apart for each wording."""

    respondent: str
    lean: float
    templates: int
    within: bool = False


def contents(rng: np.random.Generator, templates: int, lean: float) -> np.ndarray:
    """What a respondent finds of the roles of each template, in nats (templates x roles)."""
    values = rng.normal(0, NOISE_SD, (templates, 3))
    # Half to the target and half from the other person: without a lean both are exchangeable.
    half = rng.normal(lean, LEAN_SD, templates) / 2
    values[:, 0] += half
    values[:, 1] -= half
    return values


def study(rng: np.random.Generator, cell: Cell) -> pd.DataFrame:
    """The answers of one planted respondent, a row an item and order."""
    orders = UNBALANCED if cell.respondent == "unbalanced" else ORDERS
    role = np.tile(orders, (cell.templates, 1))
    template = np.repeat(np.arange(cell.templates), len(orders))
    liked = LIKED_BY_WORDING if cell.respondent == "by wording" else LIKED
    found = contents(rng, cell.templates, cell.lean)
    logits = np.take_along_axis(found[template], role, axis=1) + liked[template % 2]
    p = softmax(logits + rng.normal(0, NOISE_SD, logits.shape), axis=1)
    frame = pd.DataFrame(p, columns=P).join(pd.DataFrame(ROLES[role]).add_prefix("role_"))
    answer = p.argmax(axis=1).astype(str)
    return frame.assign(template=template, wording=template % 2, answer=answer)


def truths(lean: float) -> dict[tuple[str, str], float]:
    """What every reading and score gives for a respondent that likes no position."""
    rng = np.random.default_rng(7)
    found = contents(rng, TRUTH_CONTENTS, lean)
    one = found + rng.normal(0, NOISE_SD, found.shape)
    # The mean over six orders of noise that is drawn anew in each.
    mean = found + rng.normal(0, NOISE_SD / np.sqrt(len(ORDERS)), found.shape)
    out = {}
    for reading, values in (("probability", one), ("calibrated", one), ("permuted", mean)):
        soft = softmax(values, axis=1)
        chosen = values.argmax(axis=1)
        out[reading, "decision"] = float(np.mean(chosen == 0) - np.mean(chosen == 1))
        out[reading, "soft"] = float((soft[:, 0] - soft[:, 1]).mean())
    return {("letter", "decision"): out["probability", "decision"]} | out


def readings(frame: pd.DataFrame, cell: Cell) -> Iterator[tuple[str, pd.DataFrame]]:
    """The answers by each reading."""
    by = ["wording"] if cell.within else []
    yield "letter", frame
    yield "probability", frame
    yield "calibrated", position.calibrated(frame, **NAMES, by=by, cluster="template")
    if cell.respondent != "unbalanced":  # it lacks orders: nothing can be permuted
        yield "permuted", position.permuted(frame, **NAMES, by=by, content="template")


def score(read: pd.DataFrame, kind: str) -> dict[Any, Any]:
    """Target less other by the position that is chosen, or by the probabilities."""
    roles = read[["role_0", "role_1", "role_2"]].to_numpy(object)
    sides = (roles == "target") * 1.0 - (roles == "non_target")
    if kind == "soft":
        side = (read[P].to_numpy(float) * sides).sum(axis=1)
    else:
        side = sides[np.arange(len(read)), read["answer"].astype(int)]
    told = read[["template"]].assign(side=side)
    return shares.share(told, value="side", kind="mean", cluster="template").iloc[0].to_dict()


def draws(cell: Cell, seeds: range) -> pd.DataFrame:
    """The scores of studies of one respondent, a row a study, reading and score."""
    known = truths(cell.lean)
    rows = []
    for seed in seeds:
        number = RESPONDENTS.index(cell.respondent)
        frame = study(np.random.default_rng([seed, cell.templates, number]), cell)
        flagged = bool(frame["answer"].value_counts(normalize=True).max() > BOUND_ABOVE)
        read = dict(readings(frame, cell))
        for reading, kind in known:
            if reading not in read:
                continue
            found = score(read[reading], kind)
            if reading == "letter" and flagged:  # letters of a bound model have no value
                found |= {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan}
            truth, low, high = known[reading, kind], found["ci_low"], found["ci_high"]
            row = {"reading": reading, "score": kind, "truth": truth, "value": found["value"]}
            row |= {"covered": low <= truth <= high, "found": low > 0 or high < 0}
            rows.append(row | {"defined": bool(np.isfinite(low)), "flagged": flagged})
    return pd.DataFrame(rows)


def cells() -> list[Cell]:
    """All cells; with 30 templates a wording has 15, from which no position is learned."""
    plain = itertools.product(RESPONDENTS, (0.0, 0.6), (30, 60))
    return [
        *itertools.starmap(Cell, plain),
        *(Cell("by wording", lean, 60, True) for lean in (0.0, 0.6)),
    ]


def counts(cell: Cell, seeds: range) -> list[dict[str, Any]]:
    """The studies of some seeds, counted: a row a reading and score."""
    rows = []
    for (reading, kind), own in draws(cell, seeds).groupby(["reading", "score"], sort=False):
        row: dict[str, Any] = {"respondent": cell.respondent, "reading": reading, "score": kind}
        row |= {"calibrated_within": "wording" if cell.within else "", "lean": cell.lean}
        row |= {"templates": cell.templates, "seed": seeds.start, "draws": len(own)}
        row |= {"truth": own["truth"].iloc[0], "mean_value": own["value"].mean()}
        names = ("covered", "found", "defined", "flagged")
        rows.append(row | {name: int(own[name].sum()) for name in names})
    return rows


def table() -> pd.DataFrame:
    """All cells: of each reading, how often the truth is covered and a lean is found."""
    return pd.DataFrame(
        [row for cell in cells() for seeds in BATCHES for row in counts(cell, seeds)]
    )


if __name__ == "__main__":
    table().to_csv(Path(__file__).with_suffix(".csv"), index=False, float_format="%.10g")
