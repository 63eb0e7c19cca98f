"""How often rules that read no meaning pick the better answer of a pair."""

from pathlib import Path

import numpy as np
import pandas as pd

from katayori.data.comparisons import RULES, rule_scores
from katayori.metrics.share_intervals import share_interval
from katayori_tools.audit_items import Audited

#: So far from one half may a rule be that an audit lets pass.
OFF_CHANCE = 0.05


def surface_rules(items: pd.DataFrame, folder: Path) -> list[Audited]:
    """How often the rules pick the better answer of pairs with a truth, whose ties are left out.

    Args:
        items: item_id, question_id, answer_1, answer_2, reference and truth. Where both orders have
            a row of their own (pair_id), a pair counts once. folder: of these items; not read.

    Returns:
        one a rule of `RULES`: the share of decided pairs, a rule's tie counting one half, with its
        interval over questions; the limit is `OFF_CHANCE` from one half. Pairs without a reference
        are left out of rules that need one. Nothing of items that are no pairs.
    """
    if not {"answer_1", "answer_2", "truth"} <= set(items):
        return []
    pairs = items.drop_duplicates("pair_id") if "pair_id" in items else items
    decided = pairs[pairs["truth"].astype(str).isin(["1", "2"])].reset_index(drop=True)
    better = np.where(decided["truth"].astype(str) == "1", 1, -1)
    scores = rule_scores(decided)
    found = []
    for name in RULES:
        score = scores[name]
        right = ((np.sign(score) * better + 1) / 2)[score.notna()]
        if right.empty:
            continue
        sums = right.groupby(decided["question_id"]).agg(["sum", "size"])
        share = share_interval(sums["sum"].tolist(), sums["size"].tolist())
        ends = share["ci_low"], share["ci_high"]
        holds = abs(share["value"] - 0.5) <= OFF_CHANCE
        limit = f"within {OFF_CHANCE} of .5"
        found.append(
            Audited(name, "decided pairs", share["n"], share["value"], *ends, limit, holds)
        )
    return found
