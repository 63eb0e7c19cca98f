"""Where the uncertainty of Diff_a lies: +1 for the stereotype, -1 for the other person."""

import pandas as pd

from katayori.metrics import bbq
from katayori_tools.precision import Measured


def _side(answers: pd.DataFrame) -> pd.DataFrame:
    names = {"answer": "answer", "label": "label", "context": "context_condition"}
    meant = bbq.with_role(answers, **names, option="role")
    return meant[meant["case"] == "ambiguous"].assign(value=meant["side"])


FACETS = {"template_id": "templates", "prompt_id": "prompts", "order": "orders"}
MEASURED = {"persona_jbbq": Measured("Diff_a", _side, FACETS, complete=("order",))}
