"""The long simulation of interactions.

inter_interaction.csv tells how often the test says that a combination of attributes is more than
the sum of its parts, for a respondent where it is not (`sim-inter-additive`: false positives) and
for one where it is (`sim-inter-interaction`: power), at the number of items behind the published
results.

The text of what draws is part of the hash in the table (see `simulate_hash`), so some lines stay
long until the table is drawn anew.
"""

import numpy as np
import pandas as pd

from katayori.metrics import logistic
from katayori.papers.inter_jbbq import (
    items as inter_jbbq,
    scores as intersectional,
    simulated,
)
from katayori_tools.simulate_hash import digest
from katayori_tools.simulate_power import LEVEL

FILE = "simulated/inter_interaction.csv"

RESPONDENTS = ("sim-inter-additive", "sim-inter-interaction")

SEEDS = range(200)

COLUMNS = ["model", "topic", "seed", "n", "lr", "df", "p", "status", "code"]

_CODE = (
    intersectional.interactions,
    logistic.mixed_logit,
    logistic.likelihood_ratio,
    simulated.inter_chances,
)


def code_hash() -> str:
    """sha256 (12 digits) over what draws and tests: it says which code wrote the file."""
    return digest([*_CODE, interaction_draws], str(simulated.INTER))


def interaction_draws(seeds: range | list[int]) -> pd.DataFrame:
    """The test on drawn answers to the ambiguous negative questions of the study set: a row a respondent, topic, seed.

    Each seed draws new right and wrong answers by the planted chances; the items stay. Columns `COLUMNS`.
    """
    items = inter_jbbq.generate()
    items = items[(items["context_condition"] == "ambiguous") & (items["polarity"] == "negative")]
    items = items.assign(
        cluster=items["focal_id"], source="simulated", prompt_id="none", invalid=False
    )
    frames = []
    for model in RESPONDENTS:
        chances = [
            # The statement is hashed: pandas does not say that its columns have names.
            simulated.inter_chances(model, row)[row["label"]]  # type: ignore[arg-type]
            for row in items.to_dict("records")
        ]
        for seed in seeds:
            right = np.random.default_rng(seed).random(len(items)) < chances
            drawn = items.assign(model=model, correct=right.astype(float))
            by = ("model", "source", "prompt_id", "topic")
            frames.append(intersectional.interactions(drawn, by=by)[0].assign(seed=seed))
    return pd.concat(frames, ignore_index=True).assign(code=code_hash())[COLUMNS]


def interaction_table() -> pd.DataFrame:
    """The table of the test of interactions; prints the shares of p < .05."""
    found = interaction_draws(SEEDS)
    tested = found.dropna(subset=["p"])
    positive = (tested["p"] < LEVEL).groupby([tested["model"], tested["topic"]])
    print(positive.agg(["mean", "size"]))
    return found


TABLES = {"inter_interaction": interaction_table}
