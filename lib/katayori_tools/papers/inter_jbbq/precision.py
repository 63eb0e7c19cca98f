"""Where the uncertainty of the accuracy in silent passages lies; unreadable counts as wrong."""

import pandas as pd

from katayori.metrics import bbq
from katayori_tools.precision import Measured


def _right(answers: pd.DataFrame) -> pd.DataFrame:
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
