"""Answers drawn for tests of agreement and of the exchange tests."""

import itertools

import numpy as np
import pandas as pd

KEY = ["question", "age", "level"]


def answers(seed=0, questions=12, levels="fmn", effect=0.0):
    """Answers to questions of two ages; the first level says yes more often by `effect`."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(itertools.product(range(questions), (20, 80), levels), columns=KEY)
    p = rng.uniform(0.2, 0.6, questions)[frame["question"]]
    p = p + effect * (frame["level"] == levels[0])
    return frame.assign(yes=(rng.random(len(frame)) < p).astype(float))
