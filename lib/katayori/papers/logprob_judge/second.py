"""Second edition of logprob_judge: comparisons that no rule of length or overlap decides.

The answers are chosen so that the longer answer, the one nearer to the reference in length and the
one that repeats more of it are the better one in half of the pairs. `study2_same` shows one answer
in both places: what is left is the place.
"""

from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd

from katayori.papers.logprob_judge import items as judge


def load_study2() -> pd.DataFrame:
    """Every comparison in both orders, 414 rows: `load_study_judge` after `in_both_orders`.

    Example:
        >>> len(load_study2()), sorted(load_study2()["order"].unique())
        (414, ['12', '21'])
    """
    return judge.in_both_orders(judge.load_study_judge())


def load_study2_same() -> pd.DataFrame:
    """One answer of each question against itself, 69 rows; columns as `load_study2`.

    The answer is the first, second or third in turn from question to question. Order is "12"
    throughout: exchanging the places of one text changes nothing. The truth is a tie.

    Example:
        >>> same = load_study2_same()
        >>> len(same), bool((same["answer_a"] == same["answer_b"]).all())
        (69, True)
    """
    pairs = judge.load_study_judge()
    answers = _answers(pairs)
    firsts = pairs.drop_duplicates("question_id").to_dict("records")
    rows = [_same(row, answers[row["question_id"]][n % 3]) for n, row in enumerate(firsts)]
    return pd.DataFrame(rows)


def _same(row: dict[Hashable, Any], chosen: dict[str, Any]) -> dict[Hashable, Any]:
    """The row of a question with one of its answers in both places."""
    name = row["question_id"].replace("lj2-", "lj2-same-")
    same = {"item_id": name, "pair_id": name, "order": "12", "truth": "tie"}
    for side in "12":
        same |= {f"answer_{side}": chosen["text"], f"system_{side}": chosen["system"]}
        same |= {f"quality_{side}": chosen["quality"]}
    return row | same | {"answer_a": chosen["text"], "answer_b": chosen["text"]}


def _answers(pairs: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The three answers of each question: system, text and quality."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for row in pairs.to_dict("records"):
        held = out.setdefault(row["question_id"], {})
        for side in "12":
            system = row[f"system_{side}"]
            held[system] = {
                "system": system,
                "text": row[f"answer_{side}"],
                "quality": row[f"quality_{side}"],
            }
    return {question: list(held.values()) for question, held in out.items()}


DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "study2": load_study2,
    "study2_same": load_study2_same,
}
