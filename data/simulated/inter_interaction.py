"""How often the test of interactions says that a combination is more than the sum of its parts.

For a respondent where it is not (`sim-inter-additive`: false positives) and for one where it is
(`sim-inter-interaction`: power), at the number of items behind the published results. A row is a
respondent, topic and seed; each seed draws new right and wrong answers to the ambiguous negative
questions of the first edition by the planted chances.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from katayori.metrics.interactions import interactions
from katayori.papers import inter_jbbq

RESPONDENTS = ("sim-inter-additive", "sim-inter-interaction")


def table(
    seeds: Iterable[int] = range(200), respondents: Iterable[str] = RESPONDENTS
) -> pd.DataFrame:
    """The likelihood-ratio test of every respondent, topic and seed."""
    items = inter_jbbq.generate()
    items = items[(items["context_condition"] == "ambiguous") & (items["polarity"] == "negative")]
    told = items["subset"].str.get_dummies("+")
    shown = items[["topic", "template_id", "focal_id"]].join(told)
    tests = []
    for model in respondents:
        rows = [{str(name): one for name, one in row.items()} for row in items.to_dict("records")]
        chances = [inter_jbbq.inter_chances(model, row)[row["label"]] for row in rows]
        for seed in seeds:
            right = np.random.default_rng(seed).random(len(items)) < chances
            drawn = shown.assign(right=right.astype(float))
            found = interactions(
                drawn,
                [str(name) for name in told],
                value="right",
                fixed="template_id",
                by="topic",
                cluster="focal_id",
            )
            tests.append(found[found["kind"] == "test"].assign(model=model, seed=seed))
    columns = ["model", "topic", "seed", "n", "lr", "df", "p", "status"]
    return pd.concat(tests, ignore_index=True).rename(columns={"value": "lr"})[columns]


if __name__ == "__main__":
    table().to_csv(Path(__file__).with_suffix(".csv"), index=False, float_format="%.10g")
