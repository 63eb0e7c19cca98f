"""What the playground and the explorer of notebook 03 show: frames and texts, no pictures."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from katayori.metrics import ties
from katayori.metrics.interval_text import with_interval
from katayori.papers.logprob_judge import scores, simulated
from katayori.papers.logprob_judge.analysis.asked import REASONING, Asked
from katayori.papers.logprob_judge.analysis.planted import BETTER, EQUAL
from katayori.prompting.letters import LETTERS

#: Comparisons of a question.
PAIRS = 3


@dataclass(frozen=True)
class Played:
    """A planted judge.

    Attributes:
        points: task (kind of truth), method (with robustness), value, ci_low, ci_high.
        statistics: the same in words, a row a kind of truth.
    """

    points: pd.DataFrame
    statistics: pd.DataFrame


@dataclass(frozen=True)
class Judge:
    """What is planted, in log odds.

    Attributes:
        quality: what the better answer gets. pull: what slot A gets, whatever stands there.
        noise: the standard deviation of a draw, anew for every call.
    """

    quality: float
    pull: float
    noise: float


def planted_judge(judge: Judge, *, true_ties: float, questions: int, seed: int) -> Played:
    """A judge that is drawn while one watches.

    Args:
        judge: what is planted. true_ties: share of comparisons that are equally good.
        questions: how many, of three comparisons each. seed: of all draws.

    Example:
        >>> fair = planted_judge(Judge(2.5, 0.0, 0.0), true_ties=0.0, questions=9, seed=1)
        >>> fair.points.set_index(["task", "method"]).loc[("all", "robustness"), "value"]
        np.float64(1.0)
    """
    rng = np.random.default_rng(seed)
    n = PAIRS * questions
    # 1: answer 1 is better, -1: answer 2 is, 0: neither.
    better = np.where(rng.random(n) < true_ties, 0, np.resize([1, -1], n))
    pairs = pd.DataFrame(
        {
            "item_id": range(n),
            "question_id": np.arange(n) // PAIRS,
            "task": np.where(better == 0, EQUAL, BETTER),
            "truth": np.array(["tie", "1", "2"])[better],
        }
    )
    # Of slot A over slot B, in orders 12 and 21.
    score = judge.quality * better[:, None] * np.array([1, -1]) + judge.pull
    score = score + judge.noise * rng.normal(size=(n, 2))
    settled = scores.judge_verdicts(_calls(score), ["judge"])
    agreeing = scores.concordance(settled, pairs, by=["judge"])
    agreeing = agreeing[agreeing["method"] != scores.GAIN]
    robust = scores.robustness(settled, pairs, by=["judge"]).assign(method="robustness")
    points = pd.concat([agreeing, robust]).sort_values("task", kind="stable")
    words = points.assign(text=points.apply(with_interval, axis=1))
    wide = words.pivot_table("text", "task", "method", aggfunc="first", sort=False)
    columns = ["task", "method", "value", "ci_low", "ci_high"]
    return Played(points[columns], wide.rename_axis(columns=None).reset_index())


def _calls(score: np.ndarray) -> pd.DataFrame:
    """Both calls of each pair, from the scores (pairs x orders)."""
    tie = np.full_like(score, simulated.JUDGE_TIE)
    weights = np.exp(np.stack([score / 2, -score / 2, tie], axis=-1)).reshape(-1, len(LETTERS))
    p = (1 - simulated.JUDGE_OTHER) * weights / weights.sum(axis=1, keepdims=True)
    return pd.DataFrame(p, columns=["p_A", "p_B", "p_C"]).assign(
        letter=np.array(LETTERS)[ties.highest(p).argmax(axis=1)],
        outcome="ok",
        pair_id=np.repeat(range(len(score)), 2),
        order=["12", "21"] * len(score),
        judge="planted judge",
    )


@dataclass(frozen=True)
class LookedUp:
    """One comparison under one judge and prompt.

    Attributes:
        shares: order x answer: percentages, and their mean; empty where there are none.
        verdict: how each method decides, beside the labels. texts: both prompts and replies.
    """

    shares: pd.DataFrame
    verdict: str
    texts: str


def look_up(asked: Asked, comparison: str, judge: str, prompt: str) -> LookedUp:
    """Both calls about one comparison.

    Args:
        asked: the verdicts of a run. comparison: its id. judge: its name. prompt: its kind.

    Example:
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> asked = asked_leaning()
        >>> pair, kind = asked.comparisons["item_id"].iloc[0], "no criteria; verdict only"
        >>> look_up(asked, pair, "sim-judge-leaning", kind).shares.index.tolist()
        ['answer 1 first', 'answer 2 first', 'mean']
    """
    settled = asked.settled
    same = (settled["model"] == judge) & (settled["prompt"] == prompt)
    rows = settled[same & (settled["pair_id"] == comparison)]
    if rows.empty:
        return LookedUp(pd.DataFrame(), "This judge was not asked so.", "")
    both = asked.unswapped[asked.unswapped["pair_id"] == comparison]
    both = both[(both["model"] == judge) & (both["prompt"] == prompt)].set_index("order")
    names = {"p_1": "answer 1", "p_2": "answer 2", "p_tie": "tie"}
    shares = pd.DataFrame()
    if set(names) <= set(both) and both[list(names)].notna().all(axis=None):
        shares = 100 * both[list(names)].rename(columns=names)
        shares = shares.rename(index={"12": "answer 1 first", "21": "answer 2 first"})
        shares.loc["mean"] = shares.mean()
    final = rows.iloc[0]
    methods = [f"{name}: {final[name] or 'none'}" for name in scores.METHODS]
    labels = [f"{who}: {final[who]}" for who in asked.people]
    return LookedUp(shares, " · ".join([*methods, *labels]), _texts(asked, both, judge, prompt))


def _texts(asked: Asked, both: pd.DataFrame, judge: str, prompt: str) -> str:
    items = asked.study.rows.set_index("item_id")
    parts = []
    for order, call in both.iterrows():
        fields = {str(name): str(value) for name, value in items.loc[call["item_id"]].items()}
        given = {
            "criteria": _written(asked.criteria, judge, fields["question_id"]),
            REASONING: _written(asked.first_turns, judge, call["item_id"]),
        }
        given = {place: text for place, text in given.items() if text}
        messages = asked.conditions[prompt].messages(**fields, **given)
        asked_text = "\n\n".join(message["content"] for message in messages)
        parts.append(f"[order {order}]\n{asked_text}\n→ {call['text']}")
    return "\n\n———\n\n".join(parts)


def _written(earlier: pd.DataFrame, judge: str, item: str) -> str:
    """What a judge answered earlier about an item or question; nothing where it wrote none."""
    if earlier.empty:
        return ""
    own = earlier[(earlier["model"] == judge) & (earlier["item_id"].astype(str) == item)]
    return str(own["text"].iloc[0]) if len(own) else ""
