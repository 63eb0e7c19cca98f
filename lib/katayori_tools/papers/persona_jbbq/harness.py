"""Questions about two persons under five prompts as a task of other harnesses."""

import pandas as pd

from katayori.metrics import qa_bias
from katayori.papers.persona_jbbq.analysis.asked import DIGITS, OVERALL, STEMS
from katayori_tools.harnesses.benchmarks import Benchmark, named

MEASURES = ("diff_amb", "diff_dis", "acc_amb", "acc_dis", "ooc_rate")
ROLES = ("role_0", "role_1", "role_2")


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias and accuracy over all categories."""
    scores = qa_bias.qa_scores(qa_bias.with_role(frame), OVERALL)
    return named(scores, scores["metric"])


BENCHMARKS = {
    "persona_jbbq": Benchmark(
        about="BBQ-shaped questions in Japanese under five prompts, two of them personas.",
        prompts=tuple(f"pj_{stem}_ja" for stem in STEMS.values()),
        columns=(*qa_bias.OF_ITEMS, *ROLES, "order", "rank"),
        **DIGITS,
        measures=MEASURES,
        measured=measured,
    )
}
