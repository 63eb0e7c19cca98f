"""What a playground of the pages is: sliders, a function of the library, a chart and a table.

A paper's own playground stands in the module `playground` of its room (`katayori_tools.papers`).
It calls the function that the notebook calls; nothing is computed by other means. States are
computed for every combination of the values of its sliders (`site_playgrounds`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair
    import pandas as pd

#: Of all draws, as the notebooks have it by default.
SEED = 20251121
#: Where the texts of all playgrounds stand.
PAGE = "playgrounds"
LINE_COLOUR = "#444444"


@dataclass(frozen=True)
class Control:
    """A slider: an argument of the function.

    Attributes:
        name: of the argument. label: in words. values: from lowest to highest. start: one of them.
        digits: behind the point, where a value is shown.
    """

    name: str
    label: str
    values: tuple[float, ...]
    start: float
    digits: int = 0


@dataclass(frozen=True)
class Column:
    """A column of the table of numbers.

    Attributes:
        name: in the frame. head: in words. digits: behind the point; None for a column of words.
        undefined: what a missing number means.
    """

    name: str
    head: str
    digits: int | None = None
    undefined: str = "undefined"


@dataclass(frozen=True)
class Answer:
    """What a state shows.

    Attributes:
        points: what the chart draws. numbers: what the table shows. told: its gist in words.
    """

    points: "pd.DataFrame"
    numbers: "pd.DataFrame"
    told: str


@dataclass(frozen=True)
class Sliders:
    """Sliders, and the function that answers at every combination of their values.

    Attributes:
        controls: the sliders. answer: (**values by name) -> what that state shows.
    """

    controls: tuple[Control, ...]
    answer: Callable[..., Answer]


@dataclass(frozen=True)
class Playground:
    """A playground: what a notebook computes when its sliders move.

    Attributes:
        title: of its section. about: what to try, as Markdown.
        choices: sliders by what is chosen above them; where there is no choice, one without name.
        chart: points of the state in which it starts -> the chart; its data are named "points".
        picture: what the chart shows, in words. columns: of the table. caption: of the table.
        choice: what is chosen above the sliders, in words.
    """

    title: str
    about: str
    choices: dict[str, Sliders]
    chart: Callable[["pd.DataFrame"], "altair.TopLevelMixin"]
    picture: str
    columns: tuple[Column, ...]
    caption: str
    choice: str = ""


def states(controls: Sequence[Control]) -> list[dict[str, float]]:
    """Every combination of the values, the last slider moving first.

    Example:
        >>> states([Control("a", "A", (0, 1), 0), Control("b", "B", (2, 3), 2)])[1]
        {'a': 0, 'b': 3}
    """
    names = [control.name for control in controls]
    together = product(*(control.values for control in controls))
    return [dict(zip(names, values, strict=True)) for values in together]


def start(controls: Sequence[Control]) -> int:
    """The place, among `states`, of the state in which all sliders start.

    Example:
        >>> start([Control("a", "A", (0, 1), 1), Control("b", "B", (2, 3), 2)])
        2
    """
    rest = [prod(len(later.values) for later in controls[k + 1 :]) for k in range(len(controls))]
    places = [control.values.index(control.start) for control in controls]
    return sum(place * size for place, size in zip(places, rest, strict=True))


def anchor(name: str) -> str:
    """Where the section of a playground stands on the page.

    Example:
        >>> anchor("a_paper")
        'play-a-paper'
    """
    return f"play-{name.replace('_', '-')}"


def link(name: str, words: str) -> str:
    """HTML of a link to the section of a playground."""
    return f'<a href="{PAGE}.html#{anchor(name)}">{words}</a>'


# -- charts ----------------------------------------------------------------------------------------


def named_points(points: "pd.DataFrame") -> "altair.InlineData":
    """Rows as data that a script can put others in the place of."""
    import altair

    known = points.astype(object).where(points.notna(), None)
    rows = [{str(name): value for name, value in row.items()} for row in known.to_dict("records")]
    return altair.InlineData(values=rows, name="points")
