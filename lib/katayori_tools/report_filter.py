"""What a report about a user's model leaves out of the notebook, and the parameters it was really
run with.

The notebook teaches the method on recorded models; a user's report is about theirs. Cells tagged
`exercise` or `recorded` go, and so do warnings on stderr (they stay in the executed notebook),
sentences in the place of a table that this run cannot have, and what only introduced such things.
"""

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from katayori.report.tables import NOTHING

LEFT_OUT = {"exercise", "recorded"}
INJECTED, PARAMETERS = "injected-parameters", "parameters"
#: A learner's paragraph in the first cell.
GOALS = "**You will learn**"
#: What earlier versions said of a figure without any value; their runs may still be read.
NO_PICTURE = "*No picture, as no value"
#: The markup of `nothing`, in the boxes that a notebook puts around it.
IS_NOTHING = re.compile(rf"\s*(<div[^>]*>\s*)*{re.escape(NOTHING)}")
HEADING = re.compile(r"(#{1,4}) .+")
#: Deeper than any heading.
NO_HEADING = 9


def without_the_lesson(cells: list[Any]) -> list[Any]:
    """The cells of a user's report, in order; the cells given stay as they are.

    A text and the code cells up to the next text belong together. Where all they would show is left
    out, they go; a heading stays as long as its section still holds something.
    """
    starts = [n for n, cell in enumerate(cells) if n == 0 or cell.cell_type == "markdown"]
    after: list[Any] = []
    for start, end in reversed([*pairwise([*starts, len(cells)])]):
        after = _with_heading(cells[start], _kept(cells[start:end]), after)
    return after


def _kept(group: list[Any]) -> list[Any]:
    """What is kept of a text and its code cells."""
    kept = [_filtered(cell) for cell in group if not LEFT_OUT & set(_tags(cell))]
    # Definitions that later cells need are code without a word for the reader.
    is_emptied = any(map(shown, group)) and not any(map(shown, kept))
    return [] if is_emptied else kept


def _with_heading(first: Any, kept: list[Any], after: list[Any]) -> list[Any]:
    """What is kept of a group, the cells after it, and its heading where the section goes on."""
    from nbformat.v4 import new_markdown_cell

    level = _level(first)
    lost = level < NO_HEADING and not (kept and kept[0].cell_type == "markdown")
    goes_on = bool(kept or (after and _level(after[0]) > level))
    opening = [new_markdown_cell(first.source.partition("\n")[0])] if lost and goes_on else []
    return [*opening, *kept, *after]


def _level(cell: Any) -> int:
    """The level of the heading that a cell opens with."""
    heading = HEADING.match(cell.source) if cell.cell_type == "markdown" else None
    return len(heading[1]) if heading else NO_HEADING


def _tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def shown(cell: Any) -> list[Any]:
    """The outputs of a cell, without warnings."""
    return [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]


def _filtered(cell: Any) -> Any:
    kept = cell.copy()
    if cell.cell_type == "code":
        kept.outputs = [one for one in shown(cell) if not _is_nothing(one)]
    else:
        paragraphs = cell.source.split("\n\n")
        kept.source = "\n\n".join(p for p in paragraphs if not p.startswith(GOALS))
    return kept


def _is_nothing(output: Any) -> bool:
    data = output.get("data", {})
    html, text = ("".join(data.get(f"text/{kind}", "")) for kind in ("html", "markdown"))
    return bool(IS_NOTHING.match(html)) or text.startswith(NO_PICTURE)


# -- parameters
# --------------------------------------------------------------------------------------------------


def with_given_parameters(cells: list[Any]) -> list[Any]:
    """The cells without the injected ones, whose values stand in the cell of parameters instead.

    The folder of the run is not among them, and of a path only its last part, so that no path of
    this machine shows.
    """
    injected = "\n".join(cell.source for cell in cells if INJECTED in _tags(cell))
    lines = [line for line in ast.parse(injected).body if isinstance(line, ast.Assign)]
    values = {ast.unparse(line.targets[0]): ast.literal_eval(line.value) for line in lines}
    given = {name: _without_path(one) for name, one in values.items() if name != "output_dir"}
    # `name: type = value  # comment`
    setting = re.compile(rf"(?m)^(({'|'.join(given) or '(?!)'}):.*? = ).*?(\s\s# .*)?$")
    kept = [cell.copy() for cell in cells if INJECTED not in _tags(cell)]
    for cell in kept:
        if PARAMETERS in _tags(cell):
            cell.source = setting.sub(lambda m: f"{m[1]}{given[m[2]]!r}{m[3] or ''}", cell.source)
    return kept


def _without_path(value: Any) -> Any:
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
