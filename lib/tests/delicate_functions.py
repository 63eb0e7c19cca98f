"""Functions whose numbers once hung on a processor's last bits; prints what they give as JSON.

Run in a process of its own by test_processors.py, since a process keeps the kernels of linear
algebra with which it started. The frames are made so that something is equal on paper only:
preferences that cancel, answers alike throughout, effects of 0.
"""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
from made_bbq import design

from katayori.metrics import (
    agreement,
    exchange,
    logistic,
    position,
    ranks,
    words,
)
from katayori.metrics.mixed_logit import mixed_logit

#: What places and roles add to log p. Two roles are liked equally, and what is left when the places
#: are taken out is the same in every item.
PLACES = (0.61, 0.28, -0.7)
LIKED = {"biased": 0.37, "counter_biased": 0.37, "unknown": -0.9}
READ = {"answer": "answer", "option": "role", "p": "p"}


def locked(roles: float, noise: float = 0.0) -> pd.DataFrame:
    """A model that follows the place, and by `roles` the role, in all orders of 24 templates."""
    frame = design(24)
    rng = np.random.default_rng(0)
    weights = np.empty((len(frame), 3))
    for place, added in enumerate(PLACES):
        liked = frame[f"role_{place}"].map(LIKED).to_numpy(float)
        weights[:, place] = np.exp(added + roles * liked + rng.normal(0, noise, len(frame)))
    frame[["p_0", "p_1", "p_2"]] = weights / weights.sum(axis=1, keepdims=True)
    return frame.assign(answer="0")


def alike_within_families(spread: float) -> pd.DataFrame:
    """Yes and no of 60 families of three, told by the family but for a few answers."""
    rng = np.random.default_rng(4)
    family = np.repeat(np.arange(60), 3)
    frame = pd.DataFrame({"family": family, "one": rng.integers(0, 2, 180)})
    frame["other"] = rng.integers(0, 2, 180)
    own = rng.normal(0, spread, 60)[family]
    frame["value"] = (own + frame["one"] - 0.5 + rng.logistic(size=180) > 0).astype(float)
    return frame


def equal_probabilities() -> pd.DataFrame:
    """P(yes) as sums of spellings that are equal on paper, of 12 questions and three levels."""
    rng = np.random.default_rng(1)
    rows = []
    for question in range(12):
        for row in range(4):
            parts = rng.dirichlet(np.ones(4)) * 0.9
            sums = [parts.sum(), parts[::-1].sum(), parts[[1, 3, 0, 2]].sum()]
            rows += [(question, f"r{row}", level, sums[level]) for level in range(3)]
    return pd.DataFrame(rows, columns=["question", "row", "level", "value"])


def one_direction() -> pd.DataFrame:
    """Answers of 12 questions that agree in one direction: the covariance has no inverse."""
    frame = equal_probabilities()
    return frame.assign(value=frame["value"] * 0 + 0.1 * frame["level"] + 0.3)


def yes_no() -> pd.DataFrame:
    """Answers about persons; a white person gets more yes on every other question."""
    levels = [range(8), (20, 40, 60), ("female", "male"), ("Asian", "black", "white")]
    index = pd.MultiIndex.from_product(levels, names=["question", "age", "gender", "race"])
    frame = index.to_frame(index=False)
    lean = 0.35 * (frame["race"] == "white") * np.where(frame["question"] % 2, -1, 1)
    chance = np.random.default_rng(0).random(len(frame))
    return frame.assign(yes=(chance < 0.5 + lean).astype(float))


def results() -> Iterator[tuple[str, pd.DataFrame]]:
    """Name and table of each function."""
    by_model = {"leaning": locked(1, noise=0.5), "locked": locked(0), "two alike": locked(1)}
    for name, frame in by_model.items():
        yield f"calibrated, {name}", position.calibrated(frame, **READ, cluster="template")
        yield f"permuted, {name}", position.permuted(frame, **READ, content="item")
    for spread in (1.0, 60.0):
        answers = alike_within_families(spread)
        fit = mixed_logit(answers, "value ~ one * other", "family")
        yield f"mixed model, SD {spread:g}", fit
    people = yes_no()
    of_question = {"value": "yes", "by": "question"}
    yield "lines in age", logistic.curve_fit(people, x="age", **of_question)
    columns = {"value": "value", "level": "level", "row": "row"}
    for name, frame in (("equal", equal_probabilities()), ("one direction", one_direction())):
        yield f"exchange, {name}", exchange.exchange_test(frame, **columns, draws=199)
    yield "ranks", ranks.kruskal(people, level="race", **of_question)
    yield "alpha", agreement.alpha(people, value="yes", unit=["age", "gender"], rater="race")
    pairs = pd.MultiIndex.from_product([range(10), ("target", "other")], names=["pair", "told"])
    no_lean = pairs.to_frame(index=False).assign(lean=[0.3, 0.1 + 0.2] * 10)
    told = {"value": "lean", "between": ("told", "target", "other"), "unit": "pair"}
    yield "contrasts of likelihoods", words.contrast(no_lean, **told, cluster="pair")


if __name__ == "__main__":
    tables = {name: table.astype(object).map(str).to_dict("list") for name, table in results()}
    print(json.dumps(tables))
