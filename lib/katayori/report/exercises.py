"""`check` tells a reader of a notebook whether an answer to an exercise is right."""

from importlib import import_module
from typing import Any

from katayori.errors import KatayoriError
from katayori.papers import paper_ids
from katayori.papers.exercises import Exercise, judged

#: The notebook about all papers has number 0.
OVERVIEW = "katayori.report.overview_exercises"


def exercises(notebook: int) -> dict[int, Exercise]:
    """The exercises of a notebook, by number.

    Raises:
        KatayoriError: no such notebook, or one without exercises.
    """
    ids = paper_ids()
    if not 0 <= notebook <= len(ids):
        raise KatayoriError(f"no notebook {notebook}; there are 0 to {len(ids)}")
    module = f"katayori.papers.{ids[notebook - 1]}.exercises" if notebook else OVERVIEW
    try:
        found: dict[int, Exercise] = import_module(module).EXERCISES
    except ModuleNotFoundError as error:
        raise KatayoriError(f"notebook {notebook} has no exercises") from error
    return found


def check(notebook: int, number: int, answer: Any) -> None:
    """Prints whether an answer is right and why, or a hint; nothing before there is an answer.

    Args:
        notebook: its number. number: of the exercise. answer: the reader's, `...` for none.

    Raises:
        KatayoriError: no such exercise.
    """
    known = exercises(notebook)
    if number not in known:
        last = max(known)
        raise KatayoriError(f"notebook {notebook} has no exercise {number}; there are 1 to {last}")
    if told := judged(known[number], answer):
        print(told)
