"""What the place does: one answer in both places, and verdicts whose place is taken out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from katayori.metrics import position_free, position_free_scores
from katayori.metrics.intervals import mean_interval
from katayori.metrics.share_intervals import share_interval
from katayori.papers import answers, get_paper
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge.analysis.asked import BY, PAPER, Asked, verdicts_of
from katayori.papers.logprob_judge.judge_tests import WINNERS

#: The data set, and the variant of its recordings, that shows one answer in both places.
TWICE = "study2_same"
ONE_ANSWER = "one answer in both places"
#: The roles of the two answers of a decided pair.
BETTER, WORSE = "better", "worse"
#: Letters that name a place -> its number; C, a tie, names none.
PLACES = {"A": "0", "B": "1"}


@dataclass(frozen=True)
class Places:
    """Frames of what the place does; empty where nothing is known of it.

    Attributes:
        twice: a row a recorded judge that saw one answer in both places: model, source, prompt,
            value (ln P(A) / P(B), 0 without a lean), ci_low, ci_high, n, n_invalid, clusters,
            status; ties (share of C) with ties_low and ties_high.
        by_content: `position_free_scores` of the decided pairs, with prompt.
        slots: `position_free.slot_report` of the same calls, with prompt.
    """

    twice: pd.DataFrame
    by_content: pd.DataFrame
    slots: pd.DataFrame


def places(asked: Asked, keep: Keeper) -> Places:
    """How much the place decides, and what is left without it.

    Args:
        asked: the verdicts of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> found = places(asked_leaning(), Kept())
        >>> found.by_content["reading"].unique().tolist()
        ['letter', 'probability', 'calibrated', 'permuted']
    """
    decided = by_role(asked)
    if decided.empty:
        return Places(_twice(asked, keep), decided, decided)
    by_content = position_free_scores.position_free_scores(decided, BETTER, WORSE, by=BY)
    keep.table("by_content", by_content)
    what = "right less wrong on decided pairs, by content (addition)"
    common: dict[str, Any] = {"unit": "share", **asked.of_set}
    keep.rows(by_content, "LJ-19", what, cell=["prompt", "reading", "score"], **common)
    slots = keep.table("slots", position_free.slot_report(decided, by=BY))
    agreement = position_free_scores.agreement_with_permuted(decided, BETTER, WORSE, by=BY)
    keep.table("agreement_with_permuted", agreement)
    return Places(_twice(asked, keep), by_content, slots)


def by_role(asked: Asked) -> pd.DataFrame:
    """The calls on decided pairs as `metrics.position_free` takes them.

    A pair is decided where all its labels name the same winner. The places are A and B; a tie
    names no place and counts as no answer there.

    Returns:
        model, source, prompt_id, prompt, template_id (the question), base_id (the pair), answer
        ("0", "1" or None), p_0, p_1, role_0, role_1 (`BETTER` or `WORSE`).

    Example:
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> by_role(asked_leaning())["role_0"].value_counts().tolist()
        [54, 54]
    """
    labels = asked.comparisons.set_index("item_id")[asked.people]
    agreed = (labels.nunique(axis=1) == 1) & labels.bfill(axis=1).iloc[:, 0].isin(WINNERS)
    winner = labels.bfill(axis=1).iloc[:, 0][agreed]
    calls = asked.log[asked.log["pair_id"].isin(winner.index)]
    shown_first = calls["order"].str[0]
    first_is_better = (calls["pair_id"].map(winner) == shown_first).to_numpy()
    return calls[BY].assign(
        template_id=calls["question_id"],
        base_id=calls["pair_id"],
        answer=calls["letter"].map(PLACES).astype(object),
        p_0=calls["p_A"],
        p_1=calls["p_B"],
        role_0=np.where(first_is_better, BETTER, WORSE),
        role_1=np.where(first_is_better, WORSE, BETTER),
    )


def _twice(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """The pure lean to a slot of recorded judges."""
    prompt = asked.lead
    if not asked.own_design or not asked.real:
        return pd.DataFrame()
    items = get_paper(PAPER).second_edition()[TWICE]()
    logs = []
    for name in asked.real:
        by = answers.recorded_subset
        log = verdicts_of(items, prompt, name, by, variant=TWICE, dataset=TWICE)
        logs += [] if log is None else [log]
    if not logs:
        return pd.DataFrame()
    calls = pd.concat(logs, ignore_index=True)
    rows = [
        _lean(part) | dict(zip(BY[:3], key, strict=True)) for key, part in calls.groupby(BY[:3])
    ]
    twice = keep.table("one_answer_twice", pd.DataFrame(rows).assign(prompt=ONE_ANSWER))
    common: dict[str, Any] = {"dataset": f"{asked.study.dataset}, {ONE_ANSWER}"}
    what = "pure lean to the first slot (addition)"
    keep.rows(twice, "LJ-19", what, unit="log-odds", **common)
    names = {"ties": "value", "ties_low": "ci_low", "ties_high": "ci_high", "n_ties": "n"}
    ties = twice.drop(columns=[*names.values()]).rename(columns=names)
    ties = ties.assign(status=ties["ties_status"])
    keep.rows(ties, "LJ-19", "ties called on one answer twice (addition)", unit="share", **common)
    return twice


def _lean(calls: pd.DataFrame) -> dict[str, Any]:
    """The mean log odds of A over B with its interval over questions, and the share of ties."""
    p_first = calls["p_A"].where(calls["p_A"] > 0)
    p_second = calls["p_B"].where(calls["p_B"] > 0)
    odds = np.log(p_first) - np.log(p_second)
    lean = mean_interval(odds.groupby(calls["question_id"]).mean().tolist())
    known = int(odds.notna().sum())
    valid = calls[calls["letter"].notna()]
    counts = (valid["letter"] == "C").groupby(valid["question_id"]).agg(["sum", "size"])
    ties = share_interval(counts["sum"].tolist(), counts["size"].tolist())
    row = {name: lean[name] for name in ("value", "ci_low", "ci_high", "clusters", "status")}
    row |= {"n": known, "n_invalid": len(calls) - known, "n_ties": len(valid)}
    row |= {"ties": ties["value"], "ties_low": ties["ci_low"], "ties_high": ties["ci_high"]}
    return row | {"ties_status": ties["status"]}
