"""Both orders side by side, the three ways to settle them, and the two readings of averaging."""

import pandas as pd

from katayori.data import published
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge.analysis.asked import BY, PAPER, Asked

COUNTED = ("tied_means", "no_probabilities", "invalid", "missing_order")
ORDERS = ["order_1", "order_2", "mean"]


def averaged(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Keeps the verdicts, and on how many comparisons two readings of the paper differ (LJ-13).

    Args:
        asked: the verdicts of a run. keep: takes tables and results.

    Returns:
        model, source, prompt_id, prompt, n, differ, tied_means, no_probabilities, invalid,
        missing_order: counts of comparisons.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> averaged(asked_leaning(), Kept())["differ"].tolist()
        [0, 0, 0, 0, 0, 0]
    """
    settled = keep.table("verdicts", asked.settled)
    columns = ["proposed", "proposed_biased_only", "proposed_status"]
    readings = settled.groupby(BY, sort=False)[columns].apply(_two_readings).reset_index()
    keep.table("readings", readings)
    without = readings["invalid"] + readings["missing_order"]
    keep.rows(
        readings.assign(n_invalid=without, status="count", clusters=asked.questions),
        "LJ-13",
        "comparisons on which the two readings differ",
        value="differ",
        unit="comparisons",
        **asked.of_set,
    )
    agreed = settled[settled["consistent"] & settled["proposed"].notna()]
    keep.row(
        "LJ-15",
        "comparisons whose orders agree and whose methods differ",
        int((agreed["proposed"] != agreed["BS1"]).sum()),
        source="none",
        n=len(agreed),
        clusters=asked.questions,
        status="count",
        unit="comparisons",
        **asked.of_set,
    )
    return readings


def _two_readings(part: pd.DataFrame) -> pd.Series:
    both = part["proposed"].notna() & part["proposed_biased_only"].notna()
    unlike = part["proposed"] != part["proposed_biased_only"]
    statuses = part["proposed_status"].value_counts()
    counts = {"n": len(part), "differ": int(unlike[both].sum())}
    return pd.Series(counts | {name: int(statuses.get(name, 0)) for name in COUNTED})


def worked_example(keep: Keeper) -> pd.DataFrame:
    """The worked example that the paper prints, and its mean computed anew (LJ-23).

    Returns:
        order_1, order_2, mean x letters: percentages.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> int(worked_example(Kept()).loc["mean", "A"])
        55
    """
    printed = published.load(PAPER, "figure1_example")
    example = printed.pivot(index="order", columns="letter", values="probability_pct").loc[ORDERS]
    for letter, value in example.loc[ORDERS[:2]].mean().items():
        printed_mean = example[letter]["mean"]
        keep.row(
            "LJ-23",
            "mean of the worked example",
            value,
            source="published",
            cell={"letter": letter},
            published=printed_mean,
            unit="points",
            n=2,
            n_invalid=0,
        )
    return example
