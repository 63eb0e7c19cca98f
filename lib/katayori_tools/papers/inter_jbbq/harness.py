"""Intersectional questions under two prompts as a task of other harnesses."""

import pandas as pd

from katayori.metrics import qa_bias
from katayori.papers.inter_jbbq import family_direction, scores
from katayori.papers.inter_jbbq.analysis.asked import DIGITS, PROMPTS
from katayori_tools.harnesses.benchmarks import Benchmark, named

ROLES = ("role_0", "role_1", "role_2")
DESIGN = ("item", "topic", "focal_id", "focal", "subset", "n_attributes", "order")
UNKNOWN = ("unknown_position", "unknown")
BY = ("model", "source", "prompt_id", "ambiguity")


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of all answers, invalid ones as wrong; abstentions; Diff-bias where directed."""
    of_design = scores.with_design(frame)
    right = scores.cell_means(of_design, by=BY)
    clear = of_design[of_design["ambiguity"] == "dis"]
    unknown = scores.cell_means(clear, "unknown", BY)
    directed = of_design[of_design["has_target"]]
    lean = family_direction.directions(directed, BY[:3], ["diff_amb"])
    parts = [
        named(right, "acc_" + right["ambiguity"]),
        named(unknown, "unknown_dis"),
        named(lean, lean["metric"]),
    ]
    return pd.concat(parts, ignore_index=True)


BENCHMARKS = {
    "inter_jbbq": Benchmark(
        about="Questions about two persons of several attributes, made of templates.",
        prompts=tuple(PROMPTS.values()),
        columns=(*qa_bias.OF_ITEMS, *ROLES, *DESIGN, *UNKNOWN),
        **DIGITS,
        measures=("acc_amb", "acc_dis", "unknown_dis", "diff_amb"),
        measured=measured,
    )
}
