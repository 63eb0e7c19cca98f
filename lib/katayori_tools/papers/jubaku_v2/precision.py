"""Where the uncertainty of the share of neutral reasons lies."""

import pandas as pd

from katayori_tools.precision import Measured


def _neutral(answers: pd.DataFrame) -> pd.DataFrame:
    reason = answers["role_a"].where(answers["answer"] == "A", answers["role_b"])
    neutral = reason.eq("neutral").astype(float)
    return answers.assign(value=neutral.where(answers["answer"].notna()))


FACETS = {"case_id": "cases", "template": "prompts", "order": "orders"}
MEASURED = {"jubaku_v2": Measured("neutral reasons", _neutral, FACETS, complete=("order",))}
