"""The exercises in data/exercises.yaml: what is right, and what is said of a wrong answer."""

import re
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from katayori.data.schema import Count, Number, Schema, Text

#: A letter, in brackets or with a full stop or not.
LETTER = re.compile(r"[\s(]*([a-z])[\s).]*", re.IGNORECASE)
#: Numbers as far apart as this are the same.
TOLERANCE = 5e-4
#: What follows a hint that has a stronger one behind it.
ASK_FOR_MORE = "(For a stronger hint, write more=True as the last argument of check.)"


class Hints(Schema):
    """What is said of a wrong answer: `hint` at first, `more` to a reader who asks for more."""

    hint: Text
    more: Text


class Choice(Schema):
    """A question with lettered options: the right letter, and a hint for each wrong one."""

    right: Text
    why: Text
    hints: dict[Text, Text]

    def problem(self, answer: Any, more: bool) -> str:
        """What is wrong with an answer; nothing where it is right."""
        match = LETTER.fullmatch(answer) if isinstance(answer, str) else None
        if match is None:
            return "The answer is one letter, such as 'a'."
        letter = match[1].lower()
        options = ", ".join(sorted({self.right, *self.hints}))
        return "" if letter == self.right else self.hints.get(letter, f"Options: {options}.")


class Slip(Schema):
    """Wrong numbers that a known slip gives."""

    gives: list[Number]
    hint: Text


class Numbers(Schema):
    """A question whose answer is numbers in order; `hint` is for an answer that no slip gives."""

    numbers: list[Number]
    why: Text
    hint: Text
    slips: list[Slip]

    def problem(self, answer: Any, more: bool) -> str:
        """What is wrong with an answer; nothing where it is right."""
        n = len(self.numbers)
        counted = "The answer is one number" if n == 1 else f"The answer is {n} numbers, in order"
        try:
            given = _numbers(answer)
        except (OverflowError, TypeError, ValueError):
            return f"{counted}."
        if len(given) != n:
            return f"{counted}, not {len(given)}."
        if _are_near(given, self.numbers):
            return ""
        return next((s.hint for s in self.slips if _are_near(given, s.gives)), self.hint)


def _numbers(answer: Any) -> list[float]:
    """One number or several as floats; text is read, booleans are no numbers."""
    if isinstance(answer, bool | bytes | dict | set):
        raise TypeError
    if isinstance(answer, str):
        answer = [part for part in re.split(r"[\s,;]+", answer.strip("[]() ")) if part]
    several = answer if hasattr(answer, "__len__") else [answer]
    return [float(value) for value in several]


def _are_near(given: list[float], wanted: list[Number]) -> bool:
    return all(abs(a - b) <= TOLERANCE for a, b in zip(given, wanted, strict=True))


class Written(Hints):
    """A function to write; its own `hint` and `more` are for an answer that no slip explains.

    `compared` names an entry of `report.written_exercises.COMPARED`, `given` the arguments, and
    `gives` the result with its verb ("alpha is"). `drawn_of` and `sizes`: see `Comparison.inputs`.
    """

    compared: Text
    given: list[Text]
    gives: Text
    drawn_of: list[list[Any]]
    sizes: list[int]
    why: Text
    slips: dict[Text, Hints]

    def problem(self, answer: Any, more: bool) -> str:
        """The first input on which a function is wrong, and a hint; nothing where it is right."""
        from katayori.report.written_exercises import COMPARED

        if not callable(answer):
            return "The answer is a function: its name, without brackets."
        comparison = COMPARED[self.compared]
        found = comparison.difference(answer, comparison.inputs(self.drawn_of, self.sizes))
        if not found:
            return ""
        arguments, right, did, slip = found
        named = " and ".join(map(" = ".join, zip(self.given, arguments, strict=True)))
        hint = self.slips.get(slip, self)
        ends = hint.more if more else f"{hint.hint} {ASK_FOR_MORE}"
        return f"For {named} {self.gives} {right}; your function {did}. {ends}"


def _kind(exercise: Any) -> str:
    """The field that says what kind of exercise a block is; nothing where none does."""
    fields = exercise if isinstance(exercise, dict) else getattr(exercise, "model_fields_set", ())
    return next((f"has {one}" for one in ("right", "numbers", "compared") if one in fields), "")


Exercise = Annotated[
    Annotated[Choice, Tag("has right")]
    | Annotated[Numbers, Tag("has numbers")]
    | Annotated[Written, Tag("has compared")],
    Discriminator(
        _kind,
        custom_error_type="kind_of_exercise",
        custom_error_message="must have one of right, numbers, compared",
    ),
]


class ExercisesFile(Schema):
    """The exercises of each notebook, both by number; the notebook about all papers has 0.

    `common` are the hints of slips that functions of any kind share, by slip.
    """

    common: dict[Text, Hints]
    notebooks: dict[Annotated[int, Field(ge=0)], dict[Count, Exercise]]
