"""What is left open when verdicts are averaged, and in which readings the claim holds."""

from collections.abc import Mapping, Sequence

import pandas as pd

from katayori.metrics.multiverse import Choice, Multiverse, by_cluster, multiverse

CLAIM = "averaged probabilities agree more often with the labels than the baseline does"
COMPARED = Choice(
    "compared with",
    {
        "BS2": "a tie where the orders differ: the stronger baseline",
        "BS1": "no verdict where the orders differ, which agrees with nobody",
    },
)
COMPARISONS = Choice(
    "comparisons",
    {
        "all": "the paper's denominator",
        "decided": "where one answer is better: a tie is what the baseline says whatever it knows",
    },
)
PROBABILITIES = Choice(
    "probabilities",
    {
        "as given": "the paper's reading",
        "renormalised": "divided by what the three letters cover in each order",
    },
)
APPLIED = Choice(
    "averaged",
    {
        "always": "section 3 of the paper",
        "where orders differ": "its section 1",
    },
)
WEIGHT = Choice(
    "weight",
    {
        "answers": "every comparison weighs alike, as in the paper",
        "clusters": "every question weighs alike: its comparisons share their texts",
    },
)
TIE = "tie"


def multiverses(
    settled: Mapping[str, pd.DataFrame], annotators: Sequence[str], prompts: Mapping[str, str]
) -> dict[tuple[str, str], Multiverse]:
    """The claim under all readings and prompts, for every judge.

    Args:
        settled: reading of the probabilities (`as given`, `renormalised`) -> frame of
            `scores.judge_verdicts` with the columns of the annotators and question_id.
        annotators: columns of people's verdicts, or of the truth.
        prompts: id of a prompt -> its name.

    Returns:
        (model, claim) -> its multiverse; contributions are one number a question.

    Example:
        >>> multiverses({"as given": pd.DataFrame({"model": []})}, ["truth"], {})
        {}
    """
    given = settled["as given"]
    found = {}
    for model in given["model"].unique():
        own = {name: frame[frame["model"] == model] for name, frame in settled.items()}
        asked = [name for name in prompts if name in set(own["as given"]["prompt_id"])]
        wordings = Choice("prompt", {prompts[name]: "one of the paper's four" for name in asked})
        choices = [COMPARED, COMPARISONS, PROBABILITIES, APPLIED, wordings, WEIGHT]
        gains = _Gains(own, annotators, {prompts[name]: name for name in asked})
        found[str(model), CLAIM] = multiverse(choices, gains)
    return found


class _Gains:
    """Agreement of the averaged verdict less that of a baseline, one number a question."""

    def __init__(
        self,
        settled: Mapping[str, pd.DataFrame],
        annotators: Sequence[str],
        ids: Mapping[str, str],
    ) -> None:
        self.settled = settled
        self.annotators = annotators
        self.ids = ids

    def __call__(
        self,
        compared: str,
        comparisons: str,
        probabilities: str,
        applied: str,
        prompt: str,
        weight: str,
    ) -> pd.Series | None:
        if probabilities not in self.settled:
            return None
        frame = self.settled[probabilities]
        frame = frame[frame["prompt_id"] == self.ids[prompt]]
        averaged = "proposed" if applied == "always" else "proposed_biased_only"
        gain = pd.Series(0.0, frame.index)
        labels = pd.Series(0, frame.index)
        for person in self.annotators:
            counts = frame[person].notna()
            if comparisons == "decided":
                counts = counts & (frame[person] != TIE)
            hits = (frame[averaged] == frame[person]).astype(float)
            baseline = (frame[compared] == frame[person]).astype(float)
            gain = gain + (hits - baseline).where(counts, 0.0)
            labels = labels + counts.astype(int)
        mean = (gain / labels).where(labels > 0)
        return by_cluster(mean, frame["question_id"], weight)
