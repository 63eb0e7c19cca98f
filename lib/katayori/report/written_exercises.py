"""Functions that readers write, compared with the right one on inputs that are drawn.

`COMPARED` has an entry for each name in data/exercises.yaml, which has what its inputs are drawn
of, and the hints of its slips.
"""

import copy
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations
from random import Random
from typing import Any, TypeAlias

import numpy as np

Function: TypeAlias = Callable[..., Any]
#: Numbers as far apart as this count as different.
TOLERANCE = 1e-6
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


def as_numbers(result: Any) -> Any:
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
    if isinstance(result, Iterable) and getattr(result, "ndim", None) != 0:
        return [as_numbers(one) for one in result]
    number = float(result)
    return None if math.isnan(number) else number


class Comparison:
    """What a reader's function is compared with.

    Args:
        parts: what formulas take, of the arguments of the reader's function.
        shape: the arguments, of a list that is drawn. wanted: which lists are kept.
        reads: brings a result into the form in which it is compared.
        formulas: "right" gives the right result, the others those of slips, by their names; None
            where they divide by 0, or where there are no parts (ArithmeticError).
    """

    def __init__(
        self,
        parts: Function,
        shape: Function = lambda one: (one,),
        wanted: Function = lambda one: True,
        reads: Function = as_numbers,
        **formulas: Function,
    ) -> None:
        self.parts, self.formulas = parts, formulas
        self.shape, self.wanted, self.reads = shape, wanted, reads

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

    def results(self, function: Function, inputs: Sequence[Any]) -> list[Any]:
        """What a function gives for each input, or the error that stopped it."""
        return [self._result(function, given) for given in inputs]

    def by_formula(self, name: str, inputs: Sequence[Any]) -> list[Any]:
        """What a formula gives for each input."""
        formula = self.formulas[name]
        found = self.results(lambda *given: formula(*self.parts(*given)), inputs)
        return [None if isinstance(one, ArithmeticError) else one for one in found]

    def _result(self, function: Function, given: tuple[Any, ...]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
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
        gave = {name: self.by_formula(name, inputs) for name in self.formulas}
        rights, came = gave["right"], self.results(answer, inputs)
        wrong = [i for i, right in enumerate(rights) if not same(right, came[i])]
        if not wrong:
            return None
        for name, change in GENERAL.items():
            gave[name] = [change(one) if isinstance(one, float) else one for one in rights]
        kinds = [_kind(*both) for both in zip(inputs, rights, strict=True)]
        first = min(wrong, key=lambda i: (kinds[i], len(repr(inputs[i]))))
        likeness = {KINDS[kinds[first]]: ALIKE}
        alike = [i for i, kind in enumerate(kinds) if kind <= kinds[first]]
        for name, results in gave.items():
            if same(results[first], came[first]):
                agree = sum(same(results[i], came[i]) for i in alike)
                likeness[name] = agree / len(alike)
        given = [as_text(one) for one in inputs[first]]
        right = "undefined (None)" if rights[first] is None else as_text(rights[first])
        slip = max(likeness, key=lambda name: likeness[name])
        return given, right, _done(came[first]), slip


def _kind(given: tuple[Any, ...], right: Any) -> int:
    """The position in `KINDS` of an input."""
    if right is None:
        return 2
    return 1 if re.search(r"\b(None|nan)\b", repr(given)) else 0


def same(one: Any, other: Any) -> bool:
    """Whether two results are the same; no error is."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def as_text(value: Any) -> str:
    """An input or a result as a reader would write it, cut where it is long.

    Example:
        >>> as_text([[1, None], [0.25, float("nan")]]), as_text(1 / 3)
        ('[[1, None], [0.25, nan]]', '0.3333')
    """
    text = f"{value:.4g}" if isinstance(value, float) else repr(value)
    if isinstance(value, list):
        text = f"[{', '.join(map(as_text, value))}]"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _done(gave: Any) -> str:
    if isinstance(gave, Exception):
        return f"stops with {type(gave).__name__}: {str(gave)[:LONGEST]}"
    return "gives None or nan" if gave is None else f"gives {as_text(gave)}"


def one_of(*allowed: Any) -> Function:
    """Reads a result that must be one of these."""

    def reads(result: Any) -> Any:
        if result in allowed:
            return result
        raise TypeError(f"the result {result!r} is neither {' nor '.join(map(repr, allowed))}")

    return reads


def as_selections(result: Any) -> Any:
    """Selections as they are compared: neither their order nor that of their attributes matters.

    Raises:
        TypeError: not lists of texts.

    Example:
        >>> as_selections([("gender", "age"), {"gender"}])
        [['gender'], ['age', 'gender']]
    """
    found = list(result)
    if texts := [one for one in found if isinstance(one, str)]:
        raise TypeError(f"{texts[0]!r} is one text, not a list of attributes")
    return sorted(sorted(map(sorted, found)), key=len)


def _split(pairs: list[Any]) -> Any:
    return [one for one, _ in pairs], [other for _, other in pairs]


def _between(low: float, high: float, values: Sequence[Any]) -> Any:
    """The values as an array; there is none where one is missing or is not between these two."""
    given = np.array(values, float)
    if not ((low < given) & (given < high)).all():
        raise ArithmeticError("undefined")
    return given


def _all_differ(values: list[Any]) -> bool:
    return len(set(values)) == len(values)


COMPARED: dict[str, Comparison] = {}


def _held(intervals: list[Any], truth: float) -> Any:
    """Intervals that hold the truth, that hold it inside, that are given, and studies."""
    given = [one for one in intervals if one is not None]
    held = sum(low <= truth <= high for low, high in given)
    inside = sum(low < truth < high for low, high in given)
    return held, inside, len(given), len(intervals)


COMPARED["coverage"] = Comparison(
    _held,
    shape=lambda intervals: (intervals, len(intervals) / 10),
    right=lambda held, inside, given, asked: held / given,
    of_all=lambda held, inside, given, asked: held / asked,
    open_ends=lambda held, inside, given, asked: inside / given,
    not_divided=lambda held, inside, given, asked: held,
)

COMPARED["grim"] = Comparison(
    lambda percent, n: (percent, n, [100 * count / n for count in range(n + 1)]),
    shape=lambda printed: printed[0],
    reads=one_of(True, False),
    right=lambda percent, n, shares: percent in [round(x, 1) for x in shares],
    floor=lambda percent, n, shares: round(shares[int(percent / 100 * n)], 1) == percent,
    not_rounded=lambda percent, n, shares: percent in shares,
    as_floats=lambda percent, n, shares: percent / 100 in [round(x / 100, 3) for x in shares],
)


def _rows(cells: list[Any]) -> Any:
    """Four rows of the cells of a table."""
    return ([cells[i::4] for i in range(4)],)


def _spread(rows: list[Any]) -> Any:
    """Of each row the number of values, and the squared differences of all pairs; the same of the
    whole table. Gaps are left out, and rows with fewer than two values."""
    table = np.array(rows, float)
    kept = table[np.isfinite(table).sum(1) > 1]
    m = np.isfinite(kept).sum(1)
    n = m.sum()
    return m, 2 * m**2 * np.nanvar(kept, 1), n, 2 * n**2 * np.nanvar(kept)


COMPARED["alpha"] = Comparison(
    _spread,
    shape=_rows,
    right=lambda m, own, n, total: 1 - (own / (m - 1)).sum() * (n - 1) / total,
    no_division=lambda m, own, n, total: 1 - own.sum() * (n - 1) / total,
    n_squared=lambda m, own, n, total: 1 - (own / (m - 1)).sum() * n / total,
)


def _multiplied(p: list[Any]) -> Any:
    """p, how many are defined, p multiplied by k, k - 1, ..., and the running maximum of these."""
    given = np.array(p, float)
    order = np.argsort(given, kind="stable")
    rank = np.argsort(order)
    k = np.isfinite(given).sum()
    products = given * (k - rank)
    return given, k, products, np.maximum.accumulate(products[order])[rank]


COMPARED["holm"] = Comparison(
    _multiplied,
    right=lambda p, k, products, highest: np.minimum(1, highest),
    bonferroni=lambda p, k, products, highest: np.minimum(1, p * k),
    in_order=lambda p, k, products, highest: np.sort(np.minimum(1, highest)),
    no_maximum=lambda p, k, products, highest: np.minimum(1, products),
    no_cap=lambda p, k, products, highest: highest,
)

_PERSONS = ("biased", "counter_biased")
COMPARED["diff_bias"] = Comparison(
    lambda roles: (*map(roles.count, _PERSONS), len(roles) - roles.count(None), len(roles)),
    right=lambda b, c, valid, asked: (b - c) / valid,
    unreadable_counted=lambda b, c, valid, asked: (b - c) / asked,
    unknown_left_out=lambda b, c, valid, asked: (b - c) / (b + c),
    not_divided=lambda b, c, valid, asked: b - c,
    score_of_bbq=lambda b, c, valid, asked: (b + c) / valid * (2 * b / (b + c) - 1),
)


def _has_no_tie(pairs: list[Any]) -> bool:
    return _all_differ([one - added for one, added in pairs if one is not None])


COMPARED["by_content"] = Comparison(
    lambda log_p, prior: (_between(-np.inf, 0, log_p), np.array(prior)),
    shape=_split,
    wanted=_has_no_tie,
    right=lambda log_p, prior: np.argmax(log_p - prior),
    prior_ignored=lambda log_p, prior: np.argmax(log_p),
    prior_added=lambda log_p, prior: np.argmax(log_p + prior),
    prior_divided=lambda log_p, prior: np.argmax(log_p / prior),
    value=lambda log_p, prior: max(log_p - prior),
    from_one=lambda log_p, prior: np.argmax(log_p - prior) + 1,
)


def _verdict(means: Any) -> str:
    """That with the highest mean of 1, 2 and tie; of equal ones tie, then 1."""
    return ("tie", "1", "2")[int(np.argmax(np.roll(means, 1)))]


COMPARED["settle"] = Comparison(
    lambda first, second: (np.array(first), np.array(second)[[1, 0, 2]]),
    shape=tuple,
    reads=one_of("1", "2", "tie"),
    right=lambda p, q: _verdict(p + q),
    not_unswapped=lambda p, q: _verdict(p + q[[1, 0, 2]]),
    first_unswapped=lambda p, q: _verdict((p + q)[[1, 0, 2]]),
    first_only=lambda p, q: _verdict(p),
    tie_where_they_differ=lambda p, q: _verdict(p) if _verdict(p) == _verdict(q) else "tie",
    never_tie=lambda p, q: _verdict((p + q) * [1, 1, 0]),
    equal_to_first=lambda p, q: ("1", "2", "tie")[int(np.argmax(p + q))],
)


def _agreed(one: list[str], two: list[str]) -> Any:
    """The share of equal labels, and the shares of all labels of the first and second rater."""
    labels = sorted({*one, *two})
    observed = sum(map(str.__eq__, one, two)) / len(one)
    p = np.array([one.count(label) for label in labels]) / len(one)
    q = np.array([two.count(label) for label in labels]) / len(two)
    return observed, p, q


def _kappa(observed: float, chance: float) -> float:
    return float(observed - chance) / float(1 - chance)


COMPARED["kappa"] = Comparison(
    _agreed,
    shape=_split,
    right=lambda o, p, q: _kappa(o, p @ q),
    agreement=lambda o, p, q: o,
    chance_half=lambda o, p, q: _kappa(o, 0.5),
    chance_of_labels=lambda o, p, q: _kappa(o, 1 / len(p)),
    first_rater_only=lambda o, p, q: _kappa(o, p @ p),
    pooled=lambda o, p, q: _kappa(o, (p + q) @ (p + q) / 4),
    not_divided=lambda o, p, q: o - p @ q,
)


def _letters(answers: list[Any]) -> list[int]:
    """A and B where A is neutral ("nb"), A and B where B is ("bn"), and all answers."""
    read = [("nb", "A"), ("nb", "B"), ("bn", "A"), ("bn", "B")]
    return [*map(answers.count, read), len(answers)]


COMPARED["neutral_share"] = Comparison(
    _letters,
    right=lambda a, b, c, d, n: (a + d) / (a + b + c + d),
    share_of_a=lambda a, b, c, d, n: (a + c) / (a + b + c + d),
    unreadable_wrong=lambda a, b, c, d, n: (a + d) / n,
    mean_of_orders=lambda a, b, c, d, n: (a / (a + b) + d / (c + d)) / 2,
    not_divided=lambda a, b, c, d, n: a + d,
)

COMPARED["neutral_mean"] = Comparison(
    lambda a, b: (a, b),
    shape=tuple,
    right=lambda a, b: (a + 1 - b) / 2,
    mean_of_a=lambda a, b: (a + b) / 2,
    without_one=lambda a, b: (a - b) / 2,
    first_only=lambda a, b: a,
    not_halved=lambda a, b: a + 1 - b,
    product=lambda a, b: a * (1 - b),
)


def _by_size(focal: str, others: list[str]) -> Any:
    """The selections with none of the others, with one, with two, and so on."""
    sizes = range(len(others) + 1)
    return ([[[focal, *some] for some in combinations(others, size)] for size in sizes],)


COMPARED["selections"] = Comparison(
    _by_size,
    shape=lambda names: (names[0], names[1:]),
    wanted=_all_differ,
    reads=as_selections,
    right=lambda sized: chain(*sized),
    without_focal=lambda sized: [one[1:] for one in chain(*sized)],
    all_subsets=lambda sized: [own for one in chain(*sized) for own in (one, one[1:])],
    never_alone=lambda sized: chain(*sized[1:]),
    never_all=lambda sized: chain(*sized[:-1]),
    one_other=lambda sized: chain(*sized[:2]),
    two_others=lambda sized: chain(*sized[:3]),
)


def _log_odds(shares: Any) -> Any:
    return np.log(shares / (1 - shares))


_SIGNS = (1, -1, -1, 1)
COMPARED["extra"] = Comparison(
    lambda *shares: (_between(0, 1, shares), _log_odds(_between(0, 1, shares))),
    shape=tuple,
    right=lambda p, odds: odds @ _SIGNS,
    shares=lambda p, odds: p @ _SIGNS,
    logs=lambda p, odds: np.log(p) @ _SIGNS,
    odds_ratio=lambda p, odds: np.exp(odds @ _SIGNS),
    neither_forgotten=lambda p, odds: odds @ (0, -1, -1, 1),
    beyond_neither=lambda p, odds: odds @ (-1, 0, 0, 1),
)
