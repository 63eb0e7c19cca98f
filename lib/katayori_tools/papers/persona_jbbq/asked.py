"""What is asked of BBQ-shaped items: those of the recording plan, and where the uncertainty of
Diff_a lies.
"""

import pandas as pd

from katayori.data.samples import balanced
from katayori.metrics import bbq
from katayori.papers.persona_jbbq import PAPER, as_given, load_first
from katayori_tools.papers import Measured


def planned(dataset: str, size: int | None) -> pd.DataFrame:
    """A number of `study` items is of the first edition: so many were recorded, balanced."""
    if dataset == "study" and size is None:
        return PAPER.as_asked(as_given(2))
    items = load_first() if dataset == "study" else PAPER.read(dataset, {})[0]
    return PAPER.as_asked(balanced(items, size))


def _side(answers: pd.DataFrame) -> pd.DataFrame:
    """+1 for the stereotype, -1 for the other person."""
    names = {"answer": "answer", "label": "label", "context": "context_condition"}
    meant = bbq.with_role(answers, **names, option="role")
    return meant[meant["case"] == "ambiguous"].assign(value=meant["side"])


FACETS = {"template_id": "templates", "prompt_id": "prompts", "order": "orders"}
MEASURED = {"persona_jbbq": Measured("Diff_a", _side, FACETS, complete=("order",))}
