"""Where the uncertainty of a judge's agreement with the labels lies."""

import pandas as pd

from katayori.metrics import judges
from katayori_tools.precision import Measured


def _agrees(answers: pd.DataFrame) -> pd.DataFrame:
    calls = judges.unswapped(answers, order="order", letter="answer")
    known = calls["verdict"].notna() & calls["truth"].notna()
    return calls.assign(value=(calls["verdict"] == calls["truth"]).astype(float).where(known))


FACETS = {"pair_id": "pairs", "prompt_id": "prompts", "order": "orders"}
OURS = ("lj_verdict", "lj_verdict_criteria", "lj_reason", "lj_reason_criteria", "lj_reason_turns")
PROMPTS = (*OURS, "lj_pandalm_verdict_en", "lj_pandalm_reason_en")
AGREEMENT = Measured("agreement", _agrees, FACETS, complete=("order",), prompts=PROMPTS)
MEASURED = {"logprob_judge": AGREEMENT}
