"""`check` says to a reader of a notebook whether an answer to an exercise is right.

Right answers, explanations and hints stand in data/exercises.yaml. A function that a reader writes
is compared with the right one on inputs that are drawn: `COMPARED` has an entry for each name in
that file, which has what its inputs are drawn of, and the hints of its slips.
"""

import copy
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from random import Random
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import Discriminator, Field, Tag

from katayori import paths
from katayori.data.files import read_as
from katayori.data.schema import Count, Number, Schema, Text
from katayori.errors import KatayoriError

Function: TypeAlias = Callable[..., Any]
#: The right result of an input as "right", and those of slips by their names.
Results: TypeAlias = dict[str, Any]
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


# --- what stands in data/exercises.yaml -----------------------------------------------------------


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
        said = [(self.numbers, ""), *((slip.gives, slip.hint) for slip in self.slips)]
        near = (hint for own, hint in said if np.allclose(given, own, rtol=0, atol=NEAR))
        return next(near, self.hint)


def _numbers(answer: Any) -> list[float]:
    """One number or several as floats; text is read, booleans are no numbers."""
    if isinstance(answer, bool | bytes | dict | set):
        raise TypeError
    if isinstance(answer, str):
        answer = [part for part in re.split(r"[\s,;]+", answer.strip("[]() ")) if part]
    several = answer if hasattr(answer, "__len__") else [answer]
    return [float(value) for value in several]


class Written(Hints):
    """A function to write; its own `hint` and `more` are for an answer that no slip explains.

    `compared` names an entry of `COMPARED`, `given` the arguments, and `gives` the result with its
    verb ("alpha is"). `drawn_of` and `sizes`: see `Comparison.inputs`.
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


def _kind_of(exercise: Any) -> str:
    """The field that says what kind of exercise a block is; nothing where none does."""
    fields = exercise if isinstance(exercise, dict) else getattr(exercise, "model_fields_set", ())
    return next((one for one in ("right", "numbers", "compared") if one in fields), "")


Exercise = Annotated[
    Annotated[Choice, Tag("right")]
    | Annotated[Numbers, Tag("numbers")]
    | Annotated[Written, Tag("compared")],
    Discriminator(
        _kind_of,
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


# --- what a reader is told ------------------------------------------------------------------------


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
    """What is said of an answer: nothing before there is one (`...`); never an error."""
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


class Comparison(NamedTuple):
    """What a reader's function is compared with.

    Attributes:
        formulas: gives the `Results` of the arguments of the reader's function; NaN is undefined.
        shape: the arguments, of a list that is drawn. wanted: which lists are kept.
        reads: brings a result into the form in which it is compared.
    """

    formulas: Function
    shape: Function = lambda one: (one,)
    wanted: Function = lambda one: True
    reads: Function = _as_numbers

    def inputs(self, drawn_of: Sequence[Any], sizes: Sequence[int], n: int = 50) -> list[Any]:
        """Arguments that are drawn at random, the same every time.

        Args:
            drawn_of: kinds of what a list may hold, simple ones first; equally many lists of each.
            sizes: how long a list may be. n: of all lists.
        """
        draw = Random(1)
        found: list[Any] = []
        for i, one_of_them in enumerate(drawn_of):
            values = [tuple(one) if isinstance(one, list) else one for one in one_of_them]
            while len(found) < n * (i + 1) // len(drawn_of):
                one = draw.choices(values, k=draw.choice(sizes))
                if self.wanted(one):
                    found.append(self.shape(one))
        return found

    def results(self, given: tuple[Any, ...]) -> Results:
        """What the formulas give for an input, in the form in which it is compared."""
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return {name: self.reads(one) for name, one in self.formulas(*given).items()}

    def _result(self, function: Function, given: tuple[Any, ...]) -> Any:
        """What a reader's function gives for an input, or the error that stopped it."""
        try:
            with warnings.catch_warnings(action="ignore"):
                result = function(*copy.deepcopy(given))
                return None if result is None else self.reads(result)
        except Exception as error:  # a reader's own code may raise anything
            return error

    def difference(
        self, answer: Function, inputs: Sequence[Any]
    ) -> tuple[list[str], str, str, str] | None:
        """The simplest input on which a reader's function is wrong; None where it is right.

        Returns:
            the arguments, the right result, what the function did, and the name of the slip or of
            the kind of inputs.
        """
        known = [self.results(given) for given in inputs]
        came = [self._result(answer, given) for given in inputs]
        rights = [one["right"] for one in known]
        wrong = [i for i, right in enumerate(rights) if not _same(right, came[i])]
        if not wrong:
            return None
        for one, right in zip(known, rights, strict=True):
            if isinstance(right, float):
                one |= {name: change(right) for name, change in GENERAL.items()}
        kinds = [_kind(*both) for both in zip(inputs, rights, strict=True)]
        first = min(wrong, key=lambda i: (kinds[i], len(repr(inputs[i]))))
        likeness = {KINDS[kinds[first]]: ALIKE}
        alike = [i for i, kind in enumerate(kinds) if kind <= kinds[first]]
        for name, result in known[first].items():
            if _same(result, came[first]):
                agree = sum(_same(known[i].get(name, rights[i]), came[i]) for i in alike)
                likeness[name] = agree / len(alike)
        given = [_as_text(one) for one in inputs[first]]
        right = "undefined (None)" if rights[first] is None else _as_text(rights[first])
        return given, right, _done(came[first]), max(likeness, key=lambda name: likeness[name])


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


# --- right formulas, and those of known slips -----------------------------------------------------


def _coverage(intervals: list[Any], truth: float) -> Results:
    known = [one for one in intervals if one is not None]
    held = sum(low <= truth <= high for low, high in known)
    inside = sum(low < truth < high for low, high in known)
    given, asked = np.float64(len(known)), np.float64(len(intervals))
    return {
        "right": held / given,
        "of_all": held / asked,
        "open_ends": inside / given,
        "not_divided": held,
    }


def _grim(percent: float, n: int) -> Results:
    shares = [100 * count / n for count in range(n + 1)]
    return {
        "right": percent in [round(share, 1) for share in shares],
        "floor": round(shares[int(percent / 100 * n)], 1) == percent,
        "not_rounded": percent in shares,
        "as_floats": percent / 100 in [round(share / 100, 3) for share in shares],
    }


def _alpha(rows: list[Any]) -> Results:
    """Gaps are left out, and rows with fewer than two values. `own` and `total` are the squared
    differences of all pairs in each row and in the whole table.
    """
    table = np.array(rows, float)
    kept = table[np.isfinite(table).sum(1) > 1]
    m = np.isfinite(kept).sum(1)
    n = m.sum()
    own, total = 2 * m**2 * np.nanvar(kept, 1), 2 * n**2 * np.nanvar(kept)
    return {
        "right": 1 - (own / (m - 1)).sum() * (n - 1) / total,
        "no_division": 1 - own.sum() * (n - 1) / total,
        "n_squared": 1 - (own / (m - 1)).sum() * n / total,
    }


def _holm(p: list[Any]) -> Results:
    """Those that are defined (k of them) are multiplied by k, k - 1, ..."""
    given = np.array(p, float)
    order = np.argsort(given, kind="stable")
    rank = np.argsort(order)
    k = np.isfinite(given).sum()
    products = given * (k - rank)
    highest = np.maximum.accumulate(products[order])[rank]
    return {
        "right": np.minimum(1, highest),
        "bonferroni": np.minimum(1, given * k),
        "in_order": np.sort(np.minimum(1, highest)),
        "no_maximum": np.minimum(1, products),
        "no_cap": highest,
    }


def _diff_bias(roles: list[str | None]) -> Results:
    b, c, lost = (roles.count(role) for role in ("biased", "counter_biased", None))
    valid, asked, persons = np.array([len(roles) - lost, len(roles), b + c], float)
    return {
        "right": (b - c) / valid,
        "unreadable_counted": (b - c) / asked,
        "unknown_left_out": (b - c) / persons,
        "not_divided": b - c,
        "score_of_bbq": persons / valid * (2 * b / persons - 1),
    }


def _between(low: float, high: float, values: Sequence[Any]) -> Any:
    """The values as an array; all are undefined where one is missing or not between these two."""
    given = np.array(values, float)
    return given if ((low < given) & (given < high)).all() else given * np.nan


def _by_content(log_p: list[Any], prior: list[float]) -> Results:
    p, of_prior = _between(-np.inf, 0, log_p), np.array(prior)
    undefined = 0 * p.sum()  # NaN where one is missing
    return {
        "right": np.argmax(p - of_prior) + undefined,
        "prior_ignored": np.argmax(p) + undefined,
        "prior_added": np.argmax(p + of_prior) + undefined,
        "prior_divided": np.argmax(p / of_prior) + undefined,
        "value": max(p - of_prior),
        "from_one": np.argmax(p - of_prior) + 1 + undefined,
    }


def _verdict(means: Any) -> str:
    """That with the highest mean of 1, 2 and tie; of equal ones tie, then 1."""
    return ("tie", "1", "2")[int(np.argmax(np.roll(means, 1)))]


def _settle(first: list[float], second: list[float]) -> Results:
    p, q = np.array(first), np.array(second)[[1, 0, 2]]
    return {
        "right": _verdict(p + q),
        "not_unswapped": _verdict(p + second),
        "first_unswapped": _verdict((p + q)[[1, 0, 2]]),
        "first_only": _verdict(p),
        "tie_where_they_differ": _verdict(p) if _verdict(p) == _verdict(q) else "tie",
        "never_tie": _verdict((p + q) * [1, 1, 0]),
        "equal_to_first": ("1", "2", "tie")[int(np.argmax(p + q))],
    }


def _kappa(one: list[str], two: list[str]) -> Results:
    labels = sorted({*one, *two})
    o = sum(map(str.__eq__, one, two)) / len(one)
    p, q = (np.array([own.count(label) for label in labels]) / len(own) for own in (one, two))
    chances: dict[str, Any] = {
        "right": p @ q,
        "chance_half": 0.5,
        "chance_of_labels": 1 / len(p),
        "first_rater_only": p @ p,
        "pooled": (p + q) @ (p + q) / 4,
    }
    found = {name: (o - one) / (1 - one) if one < 1 else None for name, one in chances.items()}
    return found | {"agreement": o, "not_divided": o - p @ q}


def _neutral_share(answers: list[Any]) -> Results:
    """Letters A and B where A is the neutral reason ("nb"), and where B is ("bn")."""
    read = [("nb", "A"), ("nb", "B"), ("bn", "A"), ("bn", "B")]
    a, b, c, d = np.array([answers.count(one) for one in read], float)
    return {
        "right": (a + d) / (a + b + c + d),
        "share_of_a": (a + c) / (a + b + c + d),
        "unreadable_wrong": (a + d) / np.float64(len(answers)),
        "mean_of_orders": (a / (a + b) + d / (c + d)) / 2,
        "not_divided": a + d,
    }


def _neutral_mean(a: float, b: float) -> Results:
    return {
        "right": (a + 1 - b) / 2,
        "mean_of_a": (a + b) / 2,
        "without_one": (a - b) / 2,
        "first_only": a,
        "not_halved": a + 1 - b,
        "product": a * (1 - b),
    }


def _selections(focal: str, others: list[str]) -> Results:
    sizes = range(len(others) + 1)  # with none of the others, with one, with two, and so on
    every = [[focal, *some] for size in sizes for some in combinations(others, size)]
    return {
        "right": every,
        "without_focal": [one[1:] for one in every],
        "all_subsets": [own for one in every for own in (one, one[1:])],
        "never_alone": every[1:],
        "never_all": every[:-1],
        "one_other": [one for one in every if len(one) <= 2],
        "two_others": [one for one in every if len(one) <= 3],
    }


def _extra(*shares: float) -> Results:
    p, signs = _between(0, 1, shares), (1, -1, -1, 1)
    odds = np.log(p / (1 - p))
    return {
        "right": odds @ signs,
        "shares": p @ signs,
        "logs": np.log(p) @ signs,
        "odds_ratio": np.exp(odds @ signs),
        "neither_forgotten": odds @ (0, -1, -1, 1),
        "beyond_neither": odds @ (-1, 0, 0, 1),
    }


def _split(pairs: list[Any]) -> Any:
    return [one for one, _ in pairs], [other for _, other in pairs]


def _all_differ(values: Iterable[Any]) -> bool:
    values = list(values)
    return len(set(values)) == len(values)


def _has_no_tie(pairs: list[Any]) -> bool:
    return _all_differ(one - added for one, added in pairs if one is not None)


COMPARED = {
    "coverage": Comparison(_coverage, lambda intervals: (intervals, len(intervals) / 10)),
    "grim": Comparison(_grim, lambda printed: printed[0], reads=_one_of(True, False)),
    "alpha": Comparison(_alpha, lambda cells: ([cells[i::4] for i in range(4)],)),
    "holm": Comparison(_holm),
    "diff_bias": Comparison(_diff_bias),
    "by_content": Comparison(_by_content, _split, _has_no_tie),
    "settle": Comparison(_settle, tuple, reads=_one_of("1", "2", "tie")),
    "kappa": Comparison(_kappa, _split),
    "neutral_share": Comparison(_neutral_share),
    "neutral_mean": Comparison(_neutral_mean, tuple),
    "selections": Comparison(
        _selections, lambda names: (names[0], names[1:]), _all_differ, _as_selections
    ),
    "extra": Comparison(_extra, tuple),
}
