"""What the page of the explorer shows of one paper: choices, and texts and tables for each.

A room of a paper (`katayori_tools.papers`) says in its module `explorer` which sample is shown, and
calls the same functions as the explorer of its notebook.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError
from katayori.report.tables import as_text, visible

if TYPE_CHECKING:
    import pandas as pd

#: A part of a view as the script of the page reads it: text or table.
Part = dict[str, Any]
#: Name of a control -> (label, value) of what can be chosen.
Controls = Mapping[str, Sequence[tuple[str, Any]]]
#: More views than these would make the page slow.
MOST_VIEWS = 1000


@dataclass(frozen=True)
class Explored:
    """A sample of one paper.

    Attributes:
        sample: what is shown of how much, in words. controls: name -> (label, value) of the
            choices. look: the parts of a view for one value a control.
    """

    sample: str
    controls: Controls
    look: Callable[..., Sequence[Part]]


def text_part(title: str, text: str) -> Part:
    """A prompt, or a model's answer, as it is; control characters are spelt out.

    Example:
        >>> text_part("Prompt", "Yes or no?")
        {'title': 'Prompt', 'text': 'Yes or no?'}
    """
    return {"title": title, "text": visible(text)}


def table_part(title: str, frame: "pd.DataFrame", *, most: int = 12) -> Part:
    """A frame as `tables.show` writes it; of a longer one the first rows, and how many are left.

    Example:
        >>> import pandas as pd
        >>> table_part("Shares", pd.DataFrame({"level": ["20"], "value": [0.5]}))
        {'title': 'Shares', 'heads': ['level', 'value'], 'rows': [['20', '0.500']], 'left_out': 0}
    """
    heads, rows = as_text(frame, max_rows=most)
    shown = [[visible(cell) for cell in row] for row in rows]
    left_out = max(len(frame) - most, 0)
    return {"title": title, "heads": list(map(visible, heads)), "rows": shown, "left_out": left_out}


def as_data(one: Explored) -> dict[str, Any]:
    """All views of a sample, ready for JSON; parts that are equal stand there once.

    Returns:
        sample, controls (name and labels), parts, views: places of parts, a list a view, in the
        order in which the last control moves fastest.

    Raises:
        KatayoriError: a control without a choice, or more than `MOST_VIEWS` views.

    Example:
        >>> two = {"model": [("m", "m")], "case": [("first", 1), ("second", 2)]}
        >>> look = lambda model, case: [text_part("Prompt", "Why?"), text_part("Case", str(case))]
        >>> as_data(Explored("2 of 9", two, look))["views"]
        [[0, 1], [0, 2]]
    """
    choices = [[value for _, value in options] for options in one.controls.values()]
    views = list(product(*choices))
    if not 0 < len(views) <= MOST_VIEWS:
        raise KatayoriError(f"the explorer cannot show {len(views)} views: 1 to {MOST_VIEWS}")
    places: dict[str, int] = {}
    parts: list[Part] = []
    shown = []
    for values in views:
        named = dict(zip(one.controls, values, strict=True))
        shown.append([_place(part, places, parts) for part in one.look(**named)])
    controls = [
        {"name": name, "labels": [visible(label) for label, _ in options]}
        for name, options in one.controls.items()
    ]
    return {"sample": one.sample, "controls": controls, "parts": parts, "views": shown}


def _place(part: Part, places: dict[str, int], parts: list[Part]) -> int:
    """Where a part stands in the list, to which it is added when it is new."""
    key = repr(part)
    if key not in places:
        places[key] = len(parts)
        parts.append(part)
    return places[key]


def named(values: Sequence[Any]) -> list[tuple[str, Any]]:
    """Values as choices that are called by themselves."""
    return [(str(value), value) for value in values]


def spread(values: Sequence[Any], count: int) -> list[Any]:
    """So many of the values, at even distances, the first among them.

    Example:
        >>> spread([1, 2, 3, 4, 5, 6], 3)
        [1, 3, 5]
    """
    if len(values) <= count:
        return list(values)
    return [values[place * len(values) // count] for place in range(count)]
