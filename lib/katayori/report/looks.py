"""The look of what figures compare: one colour and one marker a name, the same everywhere.

A model keeps its look over all notebooks, and nothing but a model has a model's marker. A name that
stands in no list, such as a user's own model, takes the next look, by order of appearance.
"""

from collections.abc import Iterable
from typing import NamedTuple

from katayori.report.pictures import OKABE_ITO

#: The order is the look. Other kinds, such as "answer", go by order of appearance alone.
LISTED = {
    "model": ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"),
    "method": ("sampled answers", "P(yes)", "letters", "calibrated", "likelihood"),
    "judge method": ("BS1", "BS2", "proposed", "robustness"),
    "truth": ("answer 1 is better", "answer 2 is better", "equally good"),
    "test": ("chi-square over answers", "exchange over cases"),
}
#: The first three colours are no other kind's; after seven a colour comes with another marker.
OF_MODELS = (OKABE_ITO[:2] + OKABE_ITO[-1:] + OKABE_ITO[2:-1], "osph")
OF_OTHERS = ((*OKABE_ITO[2:-1], "#8C8C8C"), "^Dv<P>")


class Look(NamedTuple):
    """A colour and a marker, as matplotlib names them."""

    colour: str
    marker: str


def looks(names: Iterable[str], kind: str = "model") -> dict[str, Look]:
    """The look of each name.

    Args:
        names: of models, prompts or methods, in any order.
        kind: what they are; of `LISTED` where it has a list.

    Example:
        >>> both = looks(["my-model", "qwen2.5-coder-1.5b"])
        >>> both["qwen2.5-coder-1.5b"].marker, both["my-model"].marker
        ('s', 'p')
    """
    wanted = list(dict.fromkeys(names))
    colours, markers = OF_MODELS if kind == "model" else OF_OTHERS
    order = list(dict.fromkeys([*LISTED.get(kind, ()), *wanted]))
    numbers = {name: order.index(name) for name in wanted}
    return {
        name: Look(colours[number % len(colours)], markers[number % len(markers)])
        for name, number in numbers.items()
    }
