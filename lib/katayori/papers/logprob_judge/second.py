"""Second edition of logprob_judge: comparisons that no rule of length or overlap decides.

Tasks and references are the first edition's. The answers are new and chosen so that the longer
answer, the one nearer to the reference in length and the one that repeats more of it are the better
one in half of the pairs. `study2_same` shows one answer in both places: what is left is the place.
"""

from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd

from katayori import paths
from katayori.data.files import documents
from katayori.papers.logprob_judge import items as judge
from katayori.papers.logprob_judge.schema import SecondFile

FOLDER = "study/logprob_judge_2"


def load_pairs() -> pd.DataFrame:
    """The comparisons, a row a pair: 69 questions x 3 pairs of answers = 207, 50 of them ties.

    Columns as `judge.load_study_judge`, and points: our own criteria, a line each. They come from
    the checklist the truth was built with; unlike criteria a small model writes, none of them is a
    piece of the reference.

    Example:
        >>> pairs = load_pairs()
        >>> len(pairs), pairs["question_id"].nunique(), int((pairs["truth"] == "tie").sum())
        (207, 69, 50)
    """
    pairs = judge.load_study_judge(paths.data_dir() / FOLDER)
    return pairs.assign(points=pairs["question_id"].map(_points()))


def load_study2() -> pd.DataFrame:
    """Every comparison in both orders, 414 rows: `load_pairs` after `judge.in_both_orders`.

    Example:
        >>> len(load_study2()), sorted(load_study2()["order"].unique())
        (414, ['12', '21'])
    """
    return judge.in_both_orders(load_pairs())


def load_study2_same() -> pd.DataFrame:
    """One answer of each question against itself, 69 rows; columns as `load_study2`.

    The answer is the first, second or third in turn from question to question. Order is "12"
    throughout: exchanging the places of one text changes nothing. The truth is a tie.

    Example:
        >>> same = load_study2_same()
        >>> len(same), bool((same["answer_a"] == same["answer_b"]).all())
        (69, True)
    """
    firsts = load_pairs().drop_duplicates("question_id").reset_index(drop=True)
    rows = [_same(row, n) for n, row in enumerate(firsts.to_dict("records"))]
    return pd.DataFrame(rows)


def _same(row: dict[Hashable, Any], n: int) -> dict[Hashable, Any]:
    """The row of a question with its answer number n modulo 3 in both places."""
    chosen = _answers()[row["question_id"]][n % 3]
    name = row["question_id"].replace("lj2-", "lj2-same-")
    same = {"item_id": name, "pair_id": name, "order": "12", "truth": "tie"}
    for side in "12":
        same |= {f"answer_{side}": chosen["text"], f"system_{side}": chosen["system"]}
        same |= {f"quality_{side}": chosen["quality"]}
    return row | same | {"answer_a": chosen["text"], "answer_b": chosen["text"]}


def _answers() -> dict[str, list[dict[str, Any]]]:
    """The three answers of each question: system, text and quality."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for row in load_pairs().to_dict("records"):
        held = out.setdefault(row["question_id"], {})
        for side in "12":
            system = row[f"system_{side}"]
            held[system] = {
                "system": system,
                "text": row[f"answer_{side}"],
                "quality": row[f"quality_{side}"],
            }
    return {question: list(held.values()) for question, held in out.items()}


def _points() -> dict[str, str]:
    """The checklist of each question as a list in words."""
    return {
        question["id"]: "\n".join(f"・{point['says']}" for point in question["checklist"])
        for _, document in documents("", FOLDER, "task file", kind=SecondFile)
        for question in document["questions"]
    }


DATASETS: dict[str, Callable[[], pd.DataFrame]] = {
    "study2": load_study2,
    "study2_same": load_study2_same,
}
