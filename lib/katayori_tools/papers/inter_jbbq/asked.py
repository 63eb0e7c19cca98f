"""What is asked of families: those of the recording plan, and where the uncertainty of accuracy
lies.
"""

import pandas as pd

from katayori.data.samples import balanced
from katayori.metrics import bbq
from katayori.papers.inter_jbbq import BALANCED, PAPER
from katayori_tools.papers import Measured


def planned(dataset: str, size: int | None) -> pd.DataFrame:
    """The families of `study` are those of the second edition: they were recorded first."""
    items, _, _ = PAPER.read(dataset, {"preset": BALANCED})
    return PAPER.as_asked(balanced(items, size))


def _right(answers: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in silent passages; unreadable counts as wrong."""
    names = {"answer": "answer", "label": "label", "context": "context_condition"}
    meant = bbq.with_role(answers, **names, option="role")
    family = meant["focal_id"].where(meant["focal_id"] != "", meant["item"])
    meant = meant.assign(value=meant["right"].fillna(0.0), family=family)
    return meant[meant["case"] == "ambiguous"]


# About half of the families have silent passages. The two prompts are the paper's two conditions,
# not two drawn of many wordings.
FACETS = {"family": "ambiguous families", "prompt_id": "prompts", "polarity": "questions"}
FACETS |= {"order": "orders"}
COMPLETE = ("prompt_id", "polarity", "order")
MEASURED = {"inter_jbbq": Measured("accuracy (ambiguous)", _right, FACETS, complete=COMPLETE)}
