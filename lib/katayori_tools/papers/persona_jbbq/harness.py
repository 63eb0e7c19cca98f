"""Questions about two persons under five prompts as a task of other harnesses."""

import pandas as pd

from katayori.metrics import bbq
from katayori.prompting.parsing import parse_number
from katayori_tools.analyses.rows import together
from katayori_tools.harnesses.benchmarks import Benchmark, named
from katayori_tools.papers.persona_jbbq import analyse

PROMPTS = ("pj_basic_ja", "pj_para_ja", "pj_cot_ja", "pj_neutral_ja", "pj_biased_ja")
MEASURES = ("diff_amb", "diff_dis", "acc_amb", "acc_dis", "ooc_rate")
OF_ITEMS = ("category", "template_id", "context_condition", "polarity", "label")
ROLES = ("role_0", "role_1", "role_2")


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Diff-bias and accuracy over all categories; undefined where answers follow a position."""
    read = frame.assign(answer=frame["answer"].where(frame["outcome"] == "ok"), placed=True)
    names = {"answer": "answer", "option": "role", "label": "label", "context": "context_condition"}
    meant = bbq.with_role(read, **names)
    meant = meant.assign(
        context=meant["case"], cluster=meant["template_id"], valid=meant["role"].notna()
    )
    scores = together([analyse.of_letters(meant), analyse.unreadable(meant)])
    return named(scores, scores["measure"])


BENCHMARKS = {
    "persona_jbbq": Benchmark(
        about="BBQ-shaped questions in Japanese under five prompts, two of them personas.",
        prompts=PROMPTS,
        columns=(*OF_ITEMS, *ROLES, "order", "rank"),
        parse=parse_number,
        options=("0", "1", "2"),
        measures=MEASURES,
        measured=measured,
    )
}
