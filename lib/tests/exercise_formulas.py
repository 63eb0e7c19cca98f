"""The formulas of functions that readers write, right ones and those of known slips, and the cases
that they give: what stands in data/exercise_cases.json.

    python lib/tests/exercise_formulas.py    writes that file anew
"""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

import numpy as np
import yaml

from katayori import paths
from katayori.report.exercises import READS, as_numbers

Function = Callable[..., Any]
#: The right result of an input as "right", and those of slips by their names; NaN is undefined.
Results = dict[str, Any]
CASES = paths.root() / "data" / "exercise_cases.json"
#: Name -> what inputs are drawn of, and how many of them.
DRAWN = yaml.safe_load(
    (paths.root() / "lib/tests/fixtures/exercise_inputs.yaml").read_text("utf-8")
)


class Formulas(NamedTuple):
    """What a reader's function is compared with.

    Attributes:
        name: of the exercise. formulas: gives the `Results` of the arguments of the reader's
        function. shape: the arguments, of a list that is drawn. wanted: which lists are kept.
    """

    name: str
    formulas: Function
    shape: Function = lambda one: (one,)
    wanted: Function = lambda one: True

    def inputs(self, n: int = 50) -> list[Any]:
        """Arguments that are drawn at random, the same every time; equally many lists of each kind
        of what a list may hold, simple ones first.
        """
        draw, drawn = Random(1), DRAWN[self.name]
        found: list[Any] = []
        for i, one_of_them in enumerate(drawn["drawn_of"]):
            values = [tuple(one) if isinstance(one, list) else one for one in one_of_them]
            while len(found) < n * (i + 1) // len(drawn["drawn_of"]):
                one = draw.choices(values, k=draw.choice(drawn["sizes"]))
                if self.wanted(one):
                    found.append(self.shape(one))
        return found

    def results(self, given: tuple[Any, ...]) -> Results:
        """What the formulas give for an input, in the form in which it is compared."""
        reads = READS.get(self.name, as_numbers)
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return {name: reads(one) for name, one in self.formulas(*given).items()}

    def cases(self) -> dict[str, Any]:
        """All inputs with their results, as the file has them."""
        inputs = self.inputs()
        found = [self.results(given) for given in inputs]
        results = {name: [one[name] for one in found] for name in found[0]}
        return {"given": inputs, "results": results}


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
    one.name: one
    for one in (
        Formulas("coverage", _coverage, lambda intervals: (intervals, len(intervals) / 10)),
        Formulas("grim", _grim, lambda printed: printed[0]),
        Formulas("alpha", _alpha, lambda cells: ([cells[i::4] for i in range(4)],)),
        Formulas("holm", _holm),
        Formulas("diff_bias", _diff_bias),
        Formulas("by_content", _by_content, _split, _has_no_tie),
        Formulas("settle", _settle, tuple),
        Formulas("kappa", _kappa, _split),
        Formulas("neutral_share", _neutral_share),
        Formulas("neutral_mean", _neutral_mean, tuple),
        Formulas("selections", _selections, lambda names: (names[0], names[1:]), _all_differ),
        Formulas("extra", _extra, tuple),
    )
}


def written(value: Any) -> Any:
    """A value as JSON: tuples, which readers get as such, are marked."""
    if isinstance(value, tuple):
        return {"tuple": written(list(value))}
    if isinstance(value, list):
        return [written(one) for one in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def as_file() -> str:
    """The text of data/exercise_cases.json: a line for all inputs, and for each formula."""
    blocks = []
    for name, one in COMPARED.items():
        cases = one.cases()
        results = [f'"{slip}": {_json(found)}' for slip, found in cases["results"].items()]
        given = _json([list(given) for given in cases["given"]])
        inner = ",\n".join(results)
        blocks.append(f'"{name}": {{"given": {given},\n"results": {{\n{inner}}}}}')
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(written(value), separators=(",", ":"))


if __name__ == "__main__":
    CASES.write_text(as_file(), encoding="utf-8")
