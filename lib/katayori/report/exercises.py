"""`check` tells a reader of a notebook whether an answer to an exercise is right.

Right answers, explanations and hints stand in data/exercises.yaml.
"""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.data.files import read_as
from katayori.errors import KatayoriError
from katayori.papers.exercises import Choice, Exercise, Numbers, Written, judged

if TYPE_CHECKING:
    from katayori.report.exercises_schema import Function, Lettered, Numbered

#: What a reader is told beside a hint that has a stronger one behind it.
ASK_FOR_MORE = "(For a stronger hint, write more=True as the last argument of check.)"


def exercises(notebook: int, more: bool = False) -> dict[int, Exercise]:
    """The exercises of a notebook, by number.

    Args:
        notebook: its number. more: whether functions get the stronger hints.

    Raises:
        KatayoriError: no such notebook.
    """
    from katayori.report.exercises_schema import ExercisesFile

    notebooks = read_as(ExercisesFile, paths.registry("exercises.yaml")).notebooks
    if notebook not in notebooks:
        raise KatayoriError(f"no notebook {notebook}; there are 0 to {max(notebooks)}")
    return {number: _exercise(one, more) for number, one in notebooks[notebook].items()}


def _exercise(given: "Lettered | Numbered | Function", more: bool) -> Exercise:
    """An exercise as the file has it."""
    from katayori.report.exercises_schema import Lettered, Numbered

    if isinstance(given, Lettered):
        return Choice(given.right, given.why, given.hints)
    if isinstance(given, Numbered):
        slips: dict[Sequence[float], str] = {tuple(slip.gives): slip.hint for slip in given.slips}
        return Numbers(given.numbers, given.why, given.hint, slips)
    comparison = import_module(f"katayori.report.written_exercises.{given.compared}").COMPARISON
    ends = (lambda one: one.more) if more else (lambda one: f"{one.hint} {ASK_FOR_MORE}")
    hints = {name: ends(slip) for name, slip in given.slips.items()}
    return Written(partial(comparison.problem, hints=hints, otherwise=ends(given)), given.why)


def check(notebook: int, number: int, answer: Any, *, more: bool = False) -> None:
    """Prints whether an answer is right and why, or a hint; nothing before there is an answer.

    Args:
        notebook: its number. number: of the exercise. answer: the reader's, `...` for none.
        more: whether a function that is not right yet gets a stronger hint.

    Raises:
        KatayoriError: no such exercise.
    """
    known = exercises(notebook, more)
    if number not in known:
        last = max(known)
        raise KatayoriError(f"notebook {notebook} has no exercise {number}; there are 1 to {last}")
    if told := judged(known[number], answer):
        print(told)
