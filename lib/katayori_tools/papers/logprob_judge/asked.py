"""What is asked of pairs: those of the recording plan, the tasks for the judge's systems and the
pairs of what recorded models answered to them, and where the uncertainty of agreement lies.
"""

import itertools
from collections.abc import Mapping

import pandas as pd

from katayori.data.comparisons import COLUMNS, in_both_orders
from katayori.data.files import ours
from katayori.metrics import judges
from katayori.papers.logprob_judge import EXTRA, PAPER, STUDY_FOLDER
from katayori.prompting import recordings
from katayori_tools.asking import sample
from katayori_tools.papers import Measured


def planned(dataset: str, size: int | None) -> pd.DataFrame:
    """Of ours so many rows, pairs in both orders; of others so many pairs; of `tasks` and `answers`
    all, whatever the size.
    """
    if dataset == "tasks":
        return load_extra_tasks()
    if dataset == "answers":
        answers: dict[str, dict[str, str]] = {}
        for name in (entry["model"] for entry in recordings.shards(PAPER.id, "lj_task")):
            rows = recordings.read(PAPER.id, name, "lj_task")
            answers[name] = {row["item_id"]: row["text"] for row in rows}
        return in_both_orders(pairs_of_answers(load_extra_tasks(), answers))
    items, _, _ = PAPER.read(dataset, {})
    if dataset == "study":
        return sample(PAPER.as_asked(items), size, whole="pair_id")
    return PAPER.as_asked(sample(items, size))


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


def _agrees(answers: pd.DataFrame) -> pd.DataFrame:
    calls = judges.unswapped(answers, order="order", letter="answer")
    known = calls["verdict"].notna() & calls["truth"].notna()
    return calls.assign(value=(calls["verdict"] == calls["truth"]).astype(float).where(known))


FACETS = {"pair_id": "pairs", "prompt_id": "prompts", "order": "orders"}
OURS = ("lj_verdict", "lj_verdict_criteria", "lj_reason", "lj_reason_criteria", "lj_reason_turns")
PROMPTS = (*OURS, "lj_pandalm_verdict_en", "lj_pandalm_reason_en")
AGREEMENT = Measured("agreement", _agrees, FACETS, complete=("order",), prompts=PROMPTS)
MEASURED = {"logprob_judge": AGREEMENT}
