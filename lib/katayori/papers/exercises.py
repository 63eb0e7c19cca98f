"""Exercises: what counts as right, a hint for each wrong answer, and why the right one is right.

Exercises stand by number in data/exercises.yaml. `report.exercises.check` tells a reader what
`judged` says.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: A letter, in brackets or with a full stop or not.
LETTER = re.compile(r"[\s(]*([a-z])[\s).]*", re.IGNORECASE)
NO_LETTER = "The answer is one letter, such as 'a'."


@dataclass(frozen=True)
class Choice:
    """A question with lettered options.

    Attributes:
        right: its letter. why: the explanation. hints: letter of a wrong option -> what to look at.
    """

    right: str
    why: str
    hints: Mapping[str, str]

    def problem(self, answer: Any) -> str:
        """What is wrong with an answer; nothing where it is right."""
        match = LETTER.fullmatch(answer) if isinstance(answer, str) else None
        if match is None:
            return NO_LETTER
        letter = match[1].lower()
        options = ", ".join(sorted({self.right, *self.hints}))
        return "" if letter == self.right else self.hints.get(letter, f"Options: {options}.")


@dataclass(frozen=True)
class Numbers:
    """A question whose answer is one number or several, in order.

    Attributes:
        right: the numbers. why: the explanation. hint: for an answer that no slip explains.
        slips: wrong numbers -> what was done to get them. tolerance: of each number.
    """

    right: Sequence[float]
    why: str
    hint: str
    slips: Mapping[Sequence[float], str] = field(default_factory=dict)
    tolerance: float = 5e-4

    def problem(self, answer: Any) -> str:
        """What is wrong with an answer; nothing where it is right."""
        try:
            given = _numbers(answer)
        except (TypeError, ValueError):
            return f"The answer is {_counted(len(self.right))}."
        if len(given) != len(self.right):
            return f"The answer is {_counted(len(self.right))}, not {len(given)}."
        if self._near(given, self.right):
            return ""
        slips = [what for wrong, what in self.slips.items() if self._near(given, wrong)]
        return slips[0] if slips else self.hint

    def _near(self, given: Sequence[float], wanted: Sequence[float]) -> bool:
        return all(abs(a - b) <= self.tolerance for a, b in zip(given, wanted, strict=True))


@dataclass(frozen=True)
class Written:
    """A function that the reader writes.

    Attributes:
        tries: calls the reader's function; returns what is wrong, or nothing. why: the explanation.
    """

    tries: Callable[[Any], str]
    why: str

    def problem(self, answer: Any) -> str:
        """What is wrong with an answer; nothing where it is right."""
        if not callable(answer):
            return "The answer is a function: its name, without brackets."
        return self.tries(answer)


Exercise = Choice | Numbers | Written


def judged(exercise: Exercise, answer: Any) -> str:
    """What a reader is told of an answer: nothing before there is one; never an error.

    Args:
        exercise: the question. answer: the reader's; `...` where there is none yet.

    Example:
        >>> question = Choice("b", "Both are tiny.", {"a": "Compare the two quotients."})
        >>> judged(question, ...)
        ''
        >>> judged(question, " (B) ")
        'Right. Both are tiny.'
        >>> judged(question, "a")
        'Not yet. Compare the two quotients.'
        >>> judged(Numbers([0.5], "Half of them.", "Count again."), "0.5")
        'Right. Half of them.'
    """
    if answer is ...:
        return ""
    try:
        problem = exercise.problem(answer)
    except Exception as error:  # a reader's own code may raise anything
        problem = f"This raised {type(error).__name__}: {str(error)[:200]}"
    return f"Not yet. {problem}" if problem else f"Right. {exercise.why}"


def _numbers(answer: Any) -> list[float]:
    """One number or several as floats; text is read, booleans are no numbers."""
    if isinstance(answer, bool | bytes | dict):
        raise TypeError
    if isinstance(answer, str):
        answer = [part for part in re.split(r"[\s,;]+", answer.strip("[]() ")) if part]
    several = answer if hasattr(answer, "__len__") else [answer]
    return [float(value) for value in several]


def _counted(n: int) -> str:
    return "one number" if n == 1 else f"{n} numbers, in order"
