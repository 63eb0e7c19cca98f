"""Two answers judged in both orders as a task of other harnesses."""

from functools import partial

import pandas as pd

from katayori.metrics import judges
from katayori.prompting.letters import LETTERS, parse_verdict, verdicts_frame
from katayori_tools.harnesses.benchmarks import Benchmark, named

LIKELIEST = "concordance_proposed"


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Agreement of the three methods with the labels, and robustness, over all tasks."""
    names = {"pair": "pair_id", "order": "order", "letter": "letter", "p": "p"}
    read = frame.assign(letter=frame["answer"].where(frame["outcome"] == "ok"))
    settled = judges.settled(read, **names, keep=["question_id", "truth"])
    steady = judges.robustness(settled, cluster="question_id")
    agreeing = judges.concordance(
        settled, judge=judges.METHODS, people="truth", cluster="question_id"
    )
    parts = [named(steady, "robustness"), named(agreeing, "concordance_" + agreeing["judge"])]
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
