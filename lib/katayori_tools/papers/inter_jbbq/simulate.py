"""The long simulation of the test of interactions.

inter_interaction.csv tells how often the test says that a combination of attributes is more than
the sum of its parts, for a respondent where it is not (`sim-inter-additive`: false positives) and
for one where it is (`sim-inter-interaction`: power), at the number of items behind the published
results.
"""

import numpy as np
import pandas as pd

from katayori.metrics import interactions
from katayori.papers import inter_jbbq
from katayori.papers.inter_jbbq import inter_chances
from katayori_tools.simulate_power import LEVEL

FILE = "simulated/inter_interaction.csv"

RESPONDENTS = ("sim-inter-additive", "sim-inter-interaction")

SEEDS = range(200)

COLUMNS = ["model", "topic", "seed", "n", "lr", "df", "p", "status"]


def interaction_draws(seeds: range | list[int]) -> pd.DataFrame:
    """The test on drawn answers to the ambiguous negative questions of the first edition.

    A row a respondent, topic and seed. Each seed draws new right and wrong answers by the planted
    chances; the items stay. Columns `COLUMNS`.
    """
    items = inter_jbbq.generate()
    items = items[(items["context_condition"] == "ambiguous") & (items["polarity"] == "negative")]
    told = items["subset"].str.get_dummies("+")
    shown = items[["topic", "template_id", "focal_id"]].join(told)
    frames = []
    for model in RESPONDENTS:
        rows = items.to_dict("records")
        chances = [inter_chances(model, row)[row["label"]] for row in rows]  # type: ignore[arg-type]
        for seed in seeds:
            right = np.random.default_rng(seed).random(len(items)) < chances
            table = interactions.interactions(
                shown.assign(right=right.astype(float)),
                [str(name) for name in told],
                value="right",
                fixed="template_id",
                by="topic",
                cluster="focal_id",
            )
            tests = table[table["kind"] == "test"]
            frames.append(tests.rename(columns={"value": "lr"}).assign(model=model, seed=seed))
    return pd.concat(frames, ignore_index=True)[COLUMNS]


def interaction_table() -> pd.DataFrame:
    """The table of the test of interactions; prints the shares of p < .05."""
    found = interaction_draws(SEEDS)
    tested = found.dropna(subset=["p"])
    positive = (tested["p"] < LEVEL).groupby([tested["model"], tested["topic"]])
    print(positive.agg(["mean", "size"]))
    return found


TABLES = {"inter_interaction": interaction_table}
