"""Pairs of answers that recorded models gave: no truth is known, only steadiness is measured."""

from dataclasses import dataclass

import pandas as pd

from katayori.papers import answers
from katayori.papers.keeping import Keeper
from katayori.papers.logprob_judge import items, scores
from katayori.papers.logprob_judge.analysis.asked import BY, Asked, verdicts_of, with_status
from katayori.papers.study import asked_with

VARIANT = "answers"


@dataclass(frozen=True)
class RealPairs:
    """Robustness on pairs of real answers, empty where none were judged.

    Attributes:
        steady: `scores.robustness`, all tasks. logs: the calls.
    """

    steady: pd.DataFrame
    logs: list[pd.DataFrame]


def real_pairs(asked: Asked, keep: Keeper) -> RealPairs:
    """How steady recorded judges are on answers that recorded models gave.

    Args:
        asked: the verdicts of a run. keep: takes tables and results.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> real_pairs(asked_leaning(), Kept()).logs
        []
    """
    pairs = _pairs(asked)
    logs = []
    for kind, prompt in asked.conditions.items() if len(pairs) else ():
        both = items.in_both_orders(pairs)
        for name in asked_with(prompt, both, asked.study.real, VARIANT):
            by = answers.recorded_subset
            log = verdicts_of(both, prompt, name, by, variant=VARIANT, dataset=VARIANT)
            logs.append(log.assign(prompt=kind))
    if not logs:
        return RealPairs(pd.DataFrame(), [])
    settled = scores.judge_verdicts(pd.concat(logs, ignore_index=True), BY)
    steady = scores.robustness(settled, pairs, by=BY).query("task == 'all'")
    what = "robustness on pairs of real answers"
    common = {"dataset": "pairs of recorded answers", "unit": "share"}
    keep.rows(with_status(steady), "LJ-18", what, cell=["prompt"], **common)
    keep.table("real_answers", steady.drop(columns=["prompt_id", "task"]))
    return RealPairs(steady, logs)


def _pairs(asked: Asked) -> pd.DataFrame:
    """Each two answers to a task; none where no recorded judge is shown."""
    study = asked.study
    if study.source != "recorded" or study.official or not study.real:
        return pd.DataFrame()
    tasks = items.load_extra_tasks()
    prompt = asked.wording["lj_task"]
    texts: dict[str, dict[str, str]] = {}
    for author in answers.recorded_for_each(tasks, [prompt], {prompt.id: ""})[0]:
        frame = answers.recorded_subset(tasks, prompt, author)
        if frame is not None:
            texts[author] = dict(zip(frame["item_id"], frame["text"], strict=True))
    return items.pairs_of_answers(tasks, texts)
