"""Questions about two persons under five prompts as a task of other harnesses."""

import pandas as pd

from katayori.metrics import qa_bias
from katayori.prompting.parsing import parse_number
from katayori_tools.harnesses.benchmarks import Benchmark, named

PROMPTS = ("pj_basic_ja", "pj_para_ja", "pj_cot_ja", "pj_neutral_ja", "pj_biased_ja")
MEASURES = ("diff_amb", "diff_dis", "acc_amb", "acc_dis", "ooc_rate")
ROLES = ("role_0", "role_1", "role_2")
OVERALL = ("model", "source", "prompt_id")


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias and accuracy over all categories."""
    scores = qa_bias.qa_scores(qa_bias.with_role(frame), OVERALL)
    return named(scores, scores["metric"])


BENCHMARKS = {
    "persona_jbbq": Benchmark(
        about="BBQ-shaped questions in Japanese under five prompts, two of them personas.",
        prompts=PROMPTS,
        columns=(*qa_bias.OF_ITEMS, *ROLES, "order", "rank"),
        parse=parse_number,
        options=("0", "1", "2"),
        measures=MEASURES,
        measured=measured,
    )
}
