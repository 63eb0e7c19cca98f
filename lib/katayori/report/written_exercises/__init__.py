"""Functions that readers write, compared with the right one on inputs that go from simple to hard.

Each module holds one `COMPARISON`; data/exercises.yaml names it and has the hints of its slips.
"""

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Result: TypeAlias = float | str | list[Any] | None
#: Numbers as far apart as this count as different.
TOLERANCE = 1e-6
#: Characters of an error or a result that a message repeats.
LONGEST = 200


def as_numbers(result: Any) -> Result:
    """A result as a number, None for an undefined one, or a list of these.

    Raises:
        TypeError: something that is not a number.

    Example:
        >>> as_numbers((1, float("nan"), None))
        [1.0, None, None]
    """
    if result is None:
        return None
    if isinstance(result, str | bytes | bool | dict):
        raise TypeError(f"the result {result!r} is not a number")
    is_scalar = getattr(result, "ndim", None) == 0
    if isinstance(result, Iterable) and not is_scalar:
        return [as_numbers(one) for one in result]
    number = float(result)
    return None if math.isnan(number) else number


class Outcome(NamedTuple):
    """What a function gave: a result, or what stopped it."""

    result: Result = None
    stopped: str = ""

    def agrees(self, other: "Outcome") -> bool:
        """Whether both gave the same, or were stopped by errors of the same kind."""
        if self.stopped or other.stopped:
            return self.stopped.split(":")[0] == other.stopped.split(":")[0]
        return _same(self.result, other.result)


@dataclass(frozen=True)
class Comparison:
    """What a reader's function is compared with.

    Attributes:
        given: the name of an input, or several with a comma and a space between them.
        gives: the name of a result, with its verb ("alpha is").
        inputs: draws all inputs, simple ones first, so that one slip shows at a time; a tuple holds
            the arguments of a function that takes several.
        right: the right result of an input: a number, None where undefined, or a list of these.
        slips: name -> the result of an input for who makes this slip.
        reads: brings a result into the form in which it is compared.
    """

    given: str
    gives: str
    inputs: Callable[[], Sequence[Any]]
    right: Callable[..., Result]
    slips: Mapping[str, Callable[..., Result]]
    reads: Callable[[Any], Result] = as_numbers

    def problem(self, answer: Any, hints: Mapping[str, str], otherwise: str) -> str:
        """The first input on which a function is wrong, and a hint; nothing where it is right.

        Args:
            answer: the reader's function. hints: slip -> what is told of it.
            otherwise: what is told where no slip gives the same.
        """
        inputs = self.inputs()
        rights = [outcome(self.right, one, self.reads) for one in inputs]
        came = [outcome(answer, one, self.reads) for one in inputs]
        wrong = [i for i, right in enumerate(rights) if not came[i].agrees(right)]
        if not wrong:
            return ""
        first = wrong[0]
        slip = self._slip(inputs, came, wrong)
        right = rights[first].result
        wanted = "undefined (None)" if right is None else _cut(as_text(right))
        return (
            f"For {self._told(inputs[first])} {self.gives} {wanted}; your function"
            f" {_done(came[first])}. {hints[slip] if slip else otherwise}"
        )

    def _told(self, given: Any) -> str:
        """An input with its name: rows = [[1, 0]]."""
        named = zip(self.given.split(", "), _arguments(given), strict=True)
        return " and ".join(f"{name} = {as_text(one)}" for name, one in named)

    def _slip(self, inputs: Sequence[Any], came: Sequence[Outcome], wrong: Sequence[int]) -> str:
        """The slip that gives the same on the first wrong input, most wrong ones, most of all."""
        agreeing = {}
        for name, slip in self.slips.items():
            gave = [outcome(slip, one, self.reads) for one in inputs]
            same = [one.agrees(own) for one, own in zip(gave, came, strict=True)]
            if same[wrong[0]]:
                agreeing[name] = (sum(same[i] for i in wrong), sum(same))
        return max(agreeing, key=lambda name: agreeing[name], default="")


def outcome(
    function: Callable[..., Any], given: Any, reads: Callable[[Any], Result] = as_numbers
) -> Outcome:
    """What a function gives for an input of its own, or the error that stopped it.

    Args:
        function: what is called. given: its argument, or a tuple of several arguments.
        reads: brings the result into the form in which it is compared.

    Example:
        >>> outcome(lambda rows: 1 / len(rows), [])
        Outcome(result=None, stopped='ZeroDivisionError: division by zero')
        >>> outcome(lambda one, two: one + two, (1, 2))
        Outcome(result=3.0, stopped='')
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Outcome(reads(function(*_arguments(copy.deepcopy(given)))))
    except Exception as error:  # a reader's own code may raise anything
        return Outcome(stopped=f"{type(error).__name__}: {str(error)[:LONGEST]}")


def _arguments(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)


def _same(one: Result, other: Result) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, list) or isinstance(other, list) or one is None or other is None:
        return one is None and other is None
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def as_text(value: Any) -> str:
    """An input or a result as a reader would write it.

    Example:
        >>> as_text([[1, None], [0.25, float("nan")]]), as_text(1 / 3)
        ('[[1, None], [0.25, nan]]', '0.3333')
        >>> print(as_text(["unknown", None]))
        ['unknown', None]
    """
    if isinstance(value, list):
        return f"[{', '.join(as_text(one) for one in value)}]"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def _done(came: Outcome) -> str:
    if came.stopped:
        return f"stops with {came.stopped}"
    return "gives None or nan" if came.result is None else f"gives {_cut(as_text(came.result))}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
