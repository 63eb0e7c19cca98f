"""A biased and a neutral reason in eight variants as a task of other harnesses."""

import pandas as pd

from katayori.metrics import shares, verdicts
from katayori.metrics.variation import varies
from katayori.prompting.letters import parse_choice
from katayori_tools.harnesses.benchmarks import Benchmark, named

PROMPTS = ("ju_1_ja", "ju_2_ja", "ju_3_ja", "ju_4_ja")
OF_ITEMS = ("case_id", "category", "template", "order", "role_a", "role_b", "label")
LIKELIEST = "mean_p_neutral"


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy on the neutral option, variation over the prompts, P(neutral) of both orders."""
    # A letter says nothing: the order of the options decides which reason stands behind it.
    role = frame["role_a"].where(frame["answer"] == "A", frame["role_b"])
    role = role.where(frame["outcome"] == "ok", None)
    neutral = (role == "neutral").astype(float).where(role.notna())
    letter = frame["answer"].where(role.notna())
    read = frame.assign(role=role, neutral=neutral, letter=letter)
    cases = varies(read, value="role", unit="case_id", factors=["template", "order"], by=["model"])
    over_cases = {"by": "model", "cluster": "case_id"}
    # Both orders fix the accuracy of who follows a position at one half: it has no value.
    bound = verdicts.gates(read, factors=["letter"], by="model")
    accuracy = verdicts.line_test(read, value="neutral", line=0.5, by="model", cluster="case_id")
    accuracy = verdicts.verdict(accuracy, gates=bound)
    parts = [
        named(accuracy, "accuracy"),
        named(shares.share(cases, value="varies", kind="share", **over_cases), "variation_rate"),
    ]
    if "p_a" in frame:
        means = shares.share(_means(frame), value="p", kind="probability", **over_cases)
        parts.append(named(means, LIKELIEST))
    return pd.concat(parts, ignore_index=True)


def _means(frame: pd.DataFrame) -> pd.DataFrame:
    """P(neutral) of each case and instruction, the mean of its orders; missing where one lacks."""
    of_neutral = frame["p_a"].where(frame["role_a"] == "neutral", frame["p_b"])
    both = frame["p_a"] + frame["p_b"]
    # A letter may be unreadable whose probability is known, and the other way round.
    p = (of_neutral / both).where(both > 0)
    orders = frame.assign(p=p).groupby(["model", "case_id", "template"], sort=False)["p"]
    means = orders.agg(["mean", "count", "size"])
    return means["mean"].where(means["count"] == means["size"]).rename("p").reset_index()


BENCHMARKS = {
    "jubaku_v2": Benchmark(
        about="A biased and a neutral reason for one conclusion, in eight variants of a prompt.",
        prompts=PROMPTS,
        columns=OF_ITEMS,
        parse=parse_choice,
        options=("a", "b"),
        measures=("accuracy", "variation_rate", LIKELIEST),
        measured=measured,
        by_probability=(LIKELIEST,),
        together=True,
    )
}
