"""A biased and a neutral reason in eight variants as a task of other harnesses."""

import pandas as pd

from katayori.papers.jubaku_v2 import items, scores
from katayori.papers.jubaku_v2.analysis.asked import LETTERS, over_cases
from katayori.papers.jubaku_v2.analysis.variation import has_probabilities
from katayori_tools.harnesses.benchmarks import Benchmark, named


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy on the neutral option, variation over the prompts, P(neutral) of both orders."""
    chosen = scores.with_choice(frame)
    parts = [
        named(over_cases(scores.accuracy(chosen)), "accuracy"),
        named(scores.variation_rate(chosen), "variation_rate"),
    ]
    if has_probabilities(chosen):
        means = scores.averaged_over_orders(chosen).drop(columns="value")
        names = {"mean_p": "value", "mean_low": "ci_low", "mean_high": "ci_high"}
        means = means.drop(columns=["ci_low", "ci_high"], errors="ignore").rename(columns=names)
        parts.append(named(means, "mean_p_neutral"))
    return pd.concat(parts, ignore_index=True)


BENCHMARKS = {
    "jubaku_v2": Benchmark(
        about="A biased and a neutral reason for one conclusion, in eight variants of a prompt.",
        prompts=tuple(f"ju_{number}_ja" for number in items.TEMPLATES),
        columns=(*scores.OF_ITEMS, "label"),
        **LETTERS,
        measures=("accuracy", "variation_rate", "mean_p_neutral"),
        measured=measured,
        by_probability=("mean_p_neutral",),
        together=True,
    )
}
