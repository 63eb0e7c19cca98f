"""`check` says to a reader of a notebook whether an answer to an exercise is right.

Right answers, explanations and hints stand in data/exercises.yaml. A function that a reader writes
is tried on 50 inputs; data/exercise_cases.json has these with the right results and those of known
slips.
"""

import copy
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from katayori import paths
from katayori.data.files import ours, read_text
from katayori.errors import KatayoriError

#: What stands in data/exercises.yaml of one exercise; the head of that file explains its kinds.
Exercise: TypeAlias = Mapping[str, Any]
Function: TypeAlias = Callable[..., Any]
#: The inputs as "given"; as "results" the right ones as "right", and those of slips by their names.
Cases: TypeAlias = Mapping[str, Any]
#: A letter, in brackets or with a full stop or not.
LETTER = re.compile(r"[\s(]*([a-z])[\s).]*", re.IGNORECASE)
#: As far apart as this numbers are the same: those that a reader gives, and those of a function.
NEAR, TOLERANCE = 5e-4, 1e-6
#: What follows a hint that has a stronger one behind it.
ASK_FOR_MORE = "(For a stronger hint, write more=True as the last argument of check.)"
#: Characters of an error or a result that a message repeats.
LONGEST = 200
#: Inputs: plain ones, those in which something is missing, and those without a result. The name of
#: a kind stands for the slips that are not known, where no simpler kind goes wrong.
KINDS = ("", "gaps", "undefined")
#: A function makes a slip if both give the same for so many inputs of the kind.
ALIKE = 0.9
#: What slips that any number can have do to the right one.
GENERAL: dict[str, Function] = {
    "in_percent": lambda right: 100 * right,
    "one_minus": lambda right: 1 - right,
    "sign_turned": lambda right: -right,
    "without_sign": abs,
}


# --- what a reader is told ------------------------------------------------------------------------


def exercises(notebook: int) -> dict[int, Exercise]:
    """The exercises of a notebook, by number; those of functions have the common hints, too.

    Raises:
        KatayoriError: no such notebook.
    """
    file = ours("exercises.yaml")
    if notebook not in file["notebooks"]:
        raise KatayoriError(f"no notebook {notebook}; there are 0 to {max(file['notebooks'])}")
    return {
        number: one | {"slips": file["common"] | one["slips"]} if "compared" in one else one
        for number, one in file["notebooks"][notebook].items()
    }


def judged(exercise: Exercise, answer: Any, more: bool = False) -> str:
    """What is said of an answer: nothing before there is one (`...`); never an error."""
    if answer is ...:
        return ""
    [problem_of] = [judge for field, judge in JUDGES.items() if field in exercise]
    try:
        problem = problem_of(exercise, answer, more)
    except (Exception, SystemExit) as error:  # a reader's own code may raise anything
        problem = f"This raised {type(error).__name__}: {str(error)[:LONGEST]}"
    return f"Not yet. {problem}" if problem else f"Right. {exercise['why']}"


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


# --- what is wrong with an answer; nothing where it is right --------------------------------------


def _of_letter(exercise: Exercise, answer: Any, more: bool) -> str:
    match = LETTER.fullmatch(answer) if isinstance(answer, str) else None
    if match is None:
        return "The answer is one letter, such as 'a'."
    letter, right, hints = match[1].lower(), exercise["right"], exercise["hints"]
    options = ", ".join(sorted({right, *hints}))
    return "" if letter == right else hints.get(letter, f"Options: {options}.")


def _of_numbers(exercise: Exercise, answer: Any, more: bool) -> str:
    right = exercise["numbers"]
    n = len(right)
    counted = "The answer is one number" if n == 1 else f"The answer is {n} numbers, in order"
    try:
        given = _numbers(answer)
    except (OverflowError, TypeError, ValueError):
        return f"{counted}."
    if len(given) != n:
        return f"{counted}, not {len(given)}."
    said = [(right, ""), *((slip["gives"], slip["hint"]) for slip in exercise["slips"])]
    near = (hint for own, hint in said if np.allclose(given, own, rtol=0, atol=NEAR))
    return next(near, exercise["hint"])


def _numbers(answer: Any) -> list[float]:
    """One number or several as floats; text is read, booleans are no numbers."""
    if isinstance(answer, bool | bytes | dict | set):
        raise TypeError
    if isinstance(answer, str):
        answer = [part for part in re.split(r"[\s,;]+", answer.strip("[]() ")) if part]
    several = answer if hasattr(answer, "__len__") else [answer]
    return [float(value) for value in several]


def _of_function(exercise: Exercise, answer: Any, more: bool) -> str:
    """The first input on which a function is wrong, and a hint."""
    if not callable(answer):
        return "The answer is a function: its name, without brackets."
    name = exercise["compared"]
    found = difference(answer, cases()[name], READS.get(name, _as_numbers))
    if not found:
        return ""
    arguments, right, did, slip = found
    named = " and ".join(map(" = ".join, zip(exercise["given"], arguments, strict=True)))
    hint = exercise["slips"].get(slip, exercise)
    ends = hint["more"] if more else f"{hint['hint']} {ASK_FOR_MORE}"
    return f"For {named} {exercise['gives']} {right}; your function {did}. {ends}"


#: The field that tells what kind of exercise it is -> what judges answers to it.
JUDGES = {"right": _of_letter, "numbers": _of_numbers, "compared": _of_function}


# --- functions that readers write -----------------------------------------------------------------


def _as_numbers(result: Any) -> Any:
    """A result as a number, None for an undefined one, or a list of these.

    TypeError for something that is not a number.
    """
    if result is None:
        return None
    if isinstance(result, str | bytes | bool | dict):
        raise TypeError(f"the result {result!r} is not a number")
    if isinstance(result, Iterable) and getattr(result, "ndim", None) != 0:
        return [_as_numbers(one) for one in result]
    number = float(result)
    return None if math.isnan(number) else number


def _as_selections(result: Any) -> Any:
    """Selections as they are compared: neither their order nor that of their attributes matters.

    TypeError for something that is not lists of texts.
    """
    found = list(result)
    if texts := [one for one in found if isinstance(one, str)]:
        raise TypeError(f"{texts[0]!r} is one text, not a list of attributes")
    return sorted(sorted(map(sorted, found)), key=len)


def _one_of(*allowed: Any) -> Function:
    """Reads a result that must be one of these."""

    def reads(result: Any) -> Any:
        if result in allowed:
            return result
        raise TypeError(f"the result {result!r} is neither {' nor '.join(map(repr, allowed))}")

    return reads


#: How results are read that are no numbers.
READS: dict[str, Function] = {
    "grim": _one_of(True, False),
    "selections": _as_selections,
    "settle": _one_of("1", "2", "tie"),
}


@lru_cache
def cases() -> Mapping[str, Cases]:
    """The cases of each function that readers write, by the name of its exercise."""
    text = read_text(paths.registry("exercise_cases.json"), "cases of exercises")
    return json.loads(text, object_hook=_with_tuples)


def _with_tuples(block: dict[str, Any]) -> Any:
    """A block of JSON; what was a tuple is one again."""
    return tuple(block["tuple"]) if "tuple" in block else block


def difference(
    answer: Function, cases: Cases, reads: Function = _as_numbers
) -> tuple[list[str], str, str, str] | None:
    """The simplest input on which a reader's function is wrong; None where it is right.

    Args:
        answer: the function. cases: to try. reads: brings a result into the form of the cases.

    Returns:
        the arguments, the right result, what the function did, and the name of the slip or of the
        kind of inputs.
    """
    inputs, rights = cases["given"], cases["results"]["right"]
    came = [_result(answer, given, reads) for given in inputs]
    wrong = [i for i, right in enumerate(rights) if not _same(right, came[i])]
    if not wrong:
        return None
    gave = dict(cases["results"])
    for name, change in GENERAL.items():
        gave[name] = [change(one) if isinstance(one, float) else one for one in rights]
    kinds = [_kind(*both) for both in zip(inputs, rights, strict=True)]
    first = min(wrong, key=lambda i: (kinds[i], len(repr(inputs[i]))))
    likeness = {KINDS[kinds[first]]: ALIKE}
    alike = [i for i, kind in enumerate(kinds) if kind <= kinds[first]]
    for name, results in gave.items():
        if _same(results[first], came[first]):
            likeness[name] = sum(_same(results[i], came[i]) for i in alike) / len(alike)
    given = [_as_text(one) for one in inputs[first]]
    right = "undefined (None)" if rights[first] is None else _as_text(rights[first])
    return given, right, _done(came[first]), max(likeness, key=lambda name: likeness[name])


def _result(function: Function, given: Iterable[Any], reads: Function) -> Any:
    """What a reader's function gives for an input, or the error that stopped it."""
    try:
        with warnings.catch_warnings(action="ignore"):
            result = function(*copy.deepcopy(given))
            return None if result is None else reads(result)
    except Exception as error:  # a reader's own code may raise anything
        return error


def _kind(given: tuple[Any, ...], right: Any) -> int:
    """The position in `KINDS` of an input."""
    if right is None:
        return 2
    return 1 if re.search(r"\b(None|nan)\b", repr(given)) else 0


def _same(one: Any, other: Any) -> bool:
    """Whether two results are the same; no error is."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def _as_text(value: Any) -> str:
    """An input or a result as a reader would write it, cut where it is long."""
    text = f"{value:.4g}" if isinstance(value, float) else repr(value)
    if isinstance(value, list):
        text = f"[{', '.join(map(_as_text, value))}]"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _done(gave: Any) -> str:
    if isinstance(gave, Exception):
        return f"stops with {type(gave).__name__}: {str(gave)[:LONGEST]}"
    return "gives None or nan" if gave is None else f"gives {_as_text(gave)}"
