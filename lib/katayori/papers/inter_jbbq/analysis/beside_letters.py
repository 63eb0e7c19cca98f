"""Letters beside contents: accuracy and bias as written, calibrated, and with the place cancelled.

Only of a set whose orders are counterbalanced; elsewhere no place cancels.
"""

from typing import Any

import pandas as pd

from katayori.papers.inter_jbbq import option_slots, place_free
from katayori.papers.inter_jbbq.analysis.asked import BY, BY_PROMPT, Asked
from katayori.papers.inter_jbbq.analysis.words import context
from katayori.papers.keeping import Keeper

#: Metric of `qa_by_content` -> its name in the figure.
NAMES = {
    "acc_amb": "accuracy, ambiguous",
    "acc_dis": "accuracy, disambiguated",
    "diff_amb": "Diff-bias, ambiguous",
}
LETTERS = "letters"
READINGS = {"letter": LETTERS, "calibrated": "calibrated", "permuted": "over all orders"}
PLACE_FREE = "place cancelled"
COLUMNS = ["model", "prompt", "metric", "reading", "value", "ci_low", "ci_high", "n", "clusters"]


def contents(asked: Asked, readings: pd.DataFrame, keep: Keeper) -> pd.DataFrame:
    """Accuracy and Diff-bias under every reading, a row a model, prompt, metric and reading.

    Args:
        asked: the answers of a run. readings: of `Trends`. keep: takes tables and results.

    Returns:
        `COLUMNS` and status; reading is `letters`, `calibrated`, `over all orders` or
        `PLACE_FREE`. Without rows where orders are not counterbalanced.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> from katayori.papers.keeping import Kept
        >>> contents(asked_additive(), pd.DataFrame(), Kept()).empty
        True
    """
    if not asked.counterbalanced or readings.empty:
        return pd.DataFrame(columns=[*COLUMNS, "status"])
    free = _place_free(asked)
    common: dict[str, Any] = {"cell": ["metric", "prompt"], "unit": "share"}
    what = "score with the place cancelled by the design (addition)"
    keep.rows(free, "IJ-16", what, dataset=asked.dataset, **common)
    wanted = readings["metric"].isin(list(NAMES)) & readings["reading"].isin(list(READINGS))
    known = readings[wanted]
    known = known.assign(reading=known["reading"].map(READINGS))
    both = pd.concat([known, free], ignore_index=True)
    return keep.table("letters_beside_contents", both[[*COLUMNS, "status"]])


def _place_free(asked: Asked) -> pd.DataFrame:
    """The scores without the place; without rows where no probability is known."""
    accuracy = place_free.accuracy_over_orders(asked.frame, BY)
    direction = place_free.direction_over_questions(asked.frame, BY_PROMPT)
    metric = "acc_" + accuracy["ambiguity"].astype(str)
    parts = [accuracy.assign(metric=metric), direction.assign(metric="diff_amb")]
    return pd.concat(parts, ignore_index=True).assign(reading=PLACE_FREE)


def slot_told(asked: Asked) -> str:
    """What a slot alone gives in these items: one sentence.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import asked_additive
        >>> slot_told(asked_additive())[:44]
        'Who always writes one number is right in 33 '
    """
    alone = option_slots.slot_alone(asked.items, ["topic"])
    spans = {}
    for ambiguity, one in alone.groupby("ambiguity", sort=False):
        low, high = f"{100 * one['value'].min():.0f}", f"{100 * one['value'].max():.0f}"
        spans[context(str(ambiguity))] = low if low == high else f"{low} to {high}"
    told = [f"{span} % of the {name}" for name, span in spans.items()]
    return f"Who always writes one number is right in {' and '.join(told)} items."
