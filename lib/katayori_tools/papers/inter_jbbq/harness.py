"""Intersectional questions under two prompts as a task of other harnesses."""

import pandas as pd

from katayori.metrics import bbq, shares
from katayori.prompting.parsing import parse_option
from katayori_tools.analyses.rows import together
from katayori_tools.harnesses.benchmarks import Benchmark, named
from katayori_tools.papers.persona_jbbq import analyse

PROMPTS = ("ij_basic_ja", "ij_debias_ja")
OF_ITEMS = ("category", "template_id", "context_condition", "polarity", "label")
ROLES = ("role_0", "role_1", "role_2")
DESIGN = ("item", "topic", "focal_id", "focal", "subset", "n_attributes", "order")
UNKNOWN = ("unknown_position", "unknown")


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of all answers, invalid ones as wrong; abstentions; Diff-bias where directed.

    Undefined where answers follow a position.
    """
    read = frame.assign(answer=frame["answer"].where(frame["outcome"] == "ok"), placed=True)
    names = {"answer": "answer", "option": "role", "label": "label", "context": "context_condition"}
    meant = bbq.with_role(read, **names)
    families = meant["focal_id"].where(meant["focal_id"] != "", meant["item"])
    meant = meant.assign(context=meant["case"], cluster=families, right=meant["right"].fillna(0.0))
    meant = meant.assign(abstains=(meant["role"] == "unknown").astype(float))
    clear = meant[meant["contexts"] == "clear"]
    unknown = shares.share(clear, value="abstains", kind="share", by="model", cluster="cluster")
    unknown = analyse.held_back(unknown.assign(measure="unknown_dis"), meant)
    scores = together([analyse.of_letters(meant), unknown])
    return named(scores, scores["measure"])


BENCHMARKS = {
    "inter_jbbq": Benchmark(
        about="Questions about two persons of several attributes, made of templates.",
        prompts=PROMPTS,
        columns=(*OF_ITEMS, *ROLES, *DESIGN, *UNKNOWN),
        parse=parse_option,
        options=("0", "1", "2"),
        measures=("acc_amb", "acc_dis", "unknown_dis", "diff_amb"),
        measured=measured,
    )
}
