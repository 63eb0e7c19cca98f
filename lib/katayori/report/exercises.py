"""`check` says to a reader of a notebook whether an answer to an exercise is right.

Right answers, explanations and hints stand in data/exercises.yaml.
"""

from typing import Any

from katayori import paths
from katayori.data.files import read_as
from katayori.errors import KatayoriError
from katayori.report.exercises_schema import Choice, ExercisesFile, Numbers, Written


def exercises(notebook: int) -> dict[int, Choice | Numbers | Written]:
    """The exercises of a notebook, by number; those of functions have the common hints, too.

    Raises:
        KatayoriError: no such notebook.
    """
    file = read_as(ExercisesFile, paths.registry("exercises.yaml"))
    if notebook not in file.notebooks:
        raise KatayoriError(f"no notebook {notebook}; there are 0 to {max(file.notebooks)}")
    return {
        number: one.model_copy(update={"slips": file.common | one.slips})
        if isinstance(one, Written)
        else one
        for number, one in file.notebooks[notebook].items()
    }


def judged(exercise: Choice | Numbers | Written, answer: Any, more: bool = False) -> str:
    """What is said of an answer: nothing before there is one; never an error.

    Args:
        exercise: the question. answer: the reader's; `...` where there is none yet.
        more: whether a function that is not right yet gets the stronger hint.

    Example:
        >>> question = Choice(right="b", why="Both are tiny.", hints={"a": "Compare the two."})
        >>> judged(question, ...)
        ''
        >>> judged(question, " (B) ")
        'Right. Both are tiny.'
        >>> judged(question, "a")
        'Not yet. Compare the two.'
    """
    if answer is ...:
        return ""
    try:
        problem = exercise.problem(answer, more)
    except (Exception, SystemExit) as error:  # a reader's own code may raise anything
        problem = f"This raised {type(error).__name__}: {str(error)[:200]}"
    return f"Not yet. {problem}" if problem else f"Right. {exercise.why}"


def check(notebook: int, number: int, answer: Any, *, more: bool = False) -> None:
    """Prints whether an answer is right and why, or a hint; nothing before there is an answer.

    Args:
        notebook: its number. number: of the exercise. answer: the reader's, `...` for none.
        more: whether a function that is not right yet gets a stronger hint.

    Raises:
        KatayoriError: no such exercise.

    Example:
        >>> check(4, 4, "a")
        Not yet. An answer that cannot be read names no reason. What can it differ from?
    """
    known = exercises(notebook)
    if number not in known:
        last = max(known)
        raise KatayoriError(f"notebook {notebook} has no exercise {number}; there are 1 to {last}")
    if said := judged(known[number], answer, more):
        print(said)
