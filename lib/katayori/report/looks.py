"""The look of what figures compare: one colour and one marker a name, the same everywhere.

A model, a prompt or a method keeps its look over all notebooks. A name that stands in no list, such
as a user's own model, takes a look that no listed name of its kind has, by order of appearance.
"""

from collections.abc import Iterable
from typing import NamedTuple

from katayori.report.pictures import MARKERS, OKABE_ITO

#: The order is the look: the first name has the first colour and the first marker.
LISTED: dict[str, tuple[str, ...]] = {
    "model": ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"),
    "method": ("sampled answers", "P(yes)", "letters", "calibrated", "likelihood", "probabilities"),
    "flip": ("counted", "expected of two throws"),
    "prompt": ("basicP", "paraP", "CoT", "neutral", "biased"),
    "person": ("the person of the stereotype", "the other person", "unknown"),
    "control": ("bias", "bias less mere words"),
    "judge prompt": (
        "no criteria; verdict only",
        "criteria; verdict only",
        "no criteria; reasons first",
        "criteria; reasons first",
    ),
    "judge method": ("BS1", "BS2", "proposed", "robustness"),
    "truth": ("answer 1 is better", "answer 2 is better", "equally good"),
    "letters": ("as given", "divided"),
    "choice": ("biased reason", "neutral reason", "no valid answer"),
    "unit": ("over answers", "over cases", "planted"),
    "test": ("chi-square over answers", "exchange over cases"),
    "answer": ("no", "yes"),
}
#: Where a kind begins in the palette, so that methods are not taken for models.
FIRST = {
    "model": 0,
    "method": 2,
    "flip": 2,
    "study": 6,
    "prompt": 2,
    "person": 3,
    "control": 5,
    "judge prompt": 2,
    "judge method": 9,
    "truth": 16,
    "letters": 12,
    "choice": 4,
    "unit": 2,
    "test": 2,
    "answer": 2,
    "other": 2,  # anything that is no model
}


class Look(NamedTuple):
    """A colour and a marker, as matplotlib names them."""

    colour: str
    marker: str


def looks(names: Iterable[str], kind: str = "model") -> dict[str, Look]:
    """The look of each name.

    Args:
        names: of models, prompts or methods, in any order. kind: of a list of `LISTED`; a kind
            without a list goes by order of appearance.

    Example:
        >>> both = looks(["my-model", "qwen2.5-coder-1.5b"])
        >>> both["qwen2.5-coder-1.5b"].marker, both["my-model"].marker
        ('s', '^')
    """
    listed = LISTED.get(kind, ())
    wanted = list(dict.fromkeys(names))
    others = [name for name in wanted if name not in listed]
    first = FIRST.get(kind, 0)
    places = {name: first + place for place, name in enumerate((*listed, *others))}
    return {
        name: Look(
            OKABE_ITO[places[name] % len(OKABE_ITO)],
            MARKERS[places[name] % len(MARKERS)],
        )
        for name in wanted
    }
