"""Tasks for the judge's systems, and the pairs of what recorded models answered to them."""

import itertools
from collections.abc import Mapping

import pandas as pd

from katayori.data.comparisons import COLUMNS, in_both_orders
from katayori.data.files import ours
from katayori.papers.logprob_judge import EXTRA, STUDY_FOLDER
from katayori.prompting import recordings

PAPER = "logprob_judge"


def load_more(dataset: str, size: int | None) -> pd.DataFrame:
    """The tasks, or for `answers` the pairs in both orders; all of them, whatever the size."""
    tasks = load_extra_tasks()
    if dataset == "tasks":
        return tasks
    answers: dict[str, dict[str, str]] = {}
    for name in (entry["model"] for entry in recordings.shards(PAPER, "lj_task")):
        rows = recordings.read(PAPER, name, "lj_task")
        answers[name] = {row["item_id"]: row["text"] for row in rows}
    return in_both_orders(pairs_of_answers(tasks, answers))


def load_extra_tasks() -> pd.DataFrame:
    """Our tasks for models to answer; their answers are pairs for a judge (`pairs_of_answers`).

    Returns:
        item_id, question_id, task, title, question, reference.

    Example:
        >>> tasks = load_extra_tasks()
        >>> len(tasks), list(tasks.columns)
        (20, ['item_id', 'question_id', 'task', 'title', 'question', 'reference'])
    """
    tasks = ours(f"{STUDY_FOLDER}/{EXTRA}")["questions"]
    rows = [{"item_id": one["id"], "question_id": one["id"], **one} for one in tasks]
    columns = ["item_id", "question_id", "task", "title", "question", "reference"]
    return pd.DataFrame(rows, columns=columns)


def pairs_of_answers(tasks: pd.DataFrame, answers: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """The pairs of what models answered to tasks; nobody's verdict is known.

    Args:
        tasks: item_id, question_id, task, question and reference. answers: model -> item_id ->
            text; a task that one of two models left out gives no pair of theirs.

    Returns:
        columns `COLUMNS`.

    Example:
        >>> import pandas as pd
        >>> task = {"item_id": "t1", "question_id": "t1", "task": "mail", "question": "Why?"}
        >>> tasks = pd.DataFrame([task | {"reference": "Because."}])
        >>> said = {"a": {"t1": "One."}, "b": {"t1": "Two."}}
        >>> pairs_of_answers(tasks, said)[["system_1", "system_2", "answer_1"]].to_numpy().tolist()
        [['a', 'b', 'One.']]
    """
    rows = []
    for task in tasks.to_dict("records"):
        task_id = task["item_id"]
        answered = [name for name in sorted(answers) if task_id in answers[name]]
        for first, second in itertools.combinations(answered, 2):
            pair = {
                "item_id": f"{task_id}-{first}-{second}",
                "system_1": first,
                "system_2": second,
                "answer_1": answers[first][task_id],
                "answer_2": answers[second][task_id],
                "note": "",
            }
            rows.append(task | pair)
    return pd.DataFrame(rows, columns=COLUMNS)
