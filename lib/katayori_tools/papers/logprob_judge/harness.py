"""Two answers judged in both orders as a task of other harnesses."""

from functools import partial

import pandas as pd

from katayori.papers.logprob_judge import scores
from katayori.prompting.letters import LETTERS, parse_verdict, verdicts_frame
from katayori_tools.harnesses.benchmarks import Benchmark, named

LIKELIEST = "concordance_proposed"


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Agreement of the three methods with the labels, and robustness, over all tasks."""
    settled = scores.judge_verdicts(frame)
    agreeing = scores.concordance(settled)
    agreeing = agreeing[(agreeing["task"] == "all") & (agreeing["method"] != scores.GAIN)]
    steady = scores.robustness(settled)
    parts = [
        named(steady[steady["task"] == "all"], "robustness"),
        named(agreeing, "concordance_" + agreeing["method"]),
    ]
    return pd.concat(parts, ignore_index=True)


BENCHMARKS = {
    "logprob_judge": Benchmark(
        about="The verdict of a judge on two answers, in both orders.",
        prompts=("lj_verdict",),
        columns=("pair_id", "question_id", "task", "order", "truth"),
        parse=partial(parse_verdict, reason_first=False),
        options=LETTERS,
        measures=("robustness", "concordance_BS1", "concordance_BS2", LIKELIEST),
        measured=measured,
        by_probability=(LIKELIEST,),
        frame=verdicts_frame,
    )
}
