"""What a report about a user's model leaves out of the notebook, and the parameters it was really
run with.

The notebook teaches the method on recorded models; a user's report is about theirs. Cells tagged
`exercise` or `recorded` go, and so do warnings on stderr (they stay in the executed notebook),
sentences in the place of a table that this run cannot have, and what only introduced such things.
"""

import ast
import re
from pathlib import Path
from typing import Any

from katayori.report.tables import NOTHING
from katayori_tools.markup import tokens

LEFT_OUT = {"exercise", "recorded"}
INJECTED, PARAMETERS = "injected-parameters", "parameters"
#: A learner's paragraph in the first cell.
GOALS = "**You will learn**"
#: What `figures.display` says of a figure without any value.
NO_PICTURE = "*No picture, as no value"
HEADING = re.compile(r"(#{1,4}) .+")


def without_the_lesson(cells: list[Any]) -> list[Any]:
    """The cells of a user's report, in order; the cells given stay as they are.

    A text and the code cells up to the next text belong together. Where all they would show is left
    out, they go; a heading stays as long as its section still holds something.
    """
    groups = [_kept_group(group) for group in _groups(cells)]
    return [cell for group in _with_needed_headings(groups) for cell in group]


def _groups(cells: list[Any]) -> list[list[Any]]:
    """A text with the code cells that follow it."""
    groups: list[list[Any]] = []
    for cell in cells:
        if cell.cell_type == "markdown" or not groups:
            groups.append([])
        groups[-1].append(cell)
    return groups


def _kept_group(group: list[Any]) -> tuple[str, list[Any]]:
    """The heading a group opens with (empty if none), and what is kept of the group."""
    heading = HEADING.match(group[0].source) if group[0].cell_type == "markdown" else None
    kept = [_filtered(cell) for cell in group if not LEFT_OUT & set(_tags(cell))]
    showed = any(_visible(cell) for cell in group)
    if showed and not any(_visible(cell) for cell in kept):
        # Definitions that later cells need are code without a word for the reader.
        kept = []
    return (heading[0] if heading else ""), kept


def _tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def _visible(cell: Any) -> bool:
    """Whether a code cell shows something."""
    return cell.cell_type == "code" and any(_shows(output) for output in cell.outputs)


def _shows(output: Any) -> bool:
    return output.get("name") != "stderr"


def _filtered(cell: Any) -> Any:
    kept = cell.copy()
    if cell.cell_type != "code":
        paragraphs = cell.source.split("\n\n")
        kept.source = "\n\n".join(p for p in paragraphs if not p.startswith(GOALS))
        return kept
    kept.outputs = [o for o in cell.outputs if _shows(o) and not _is_nothing(o)]
    return kept


def _is_nothing(output: Any) -> bool:
    data = output.get("data", {})
    if "".join(data.get("text/markdown", "")).startswith(NO_PICTURE):
        return True
    starts = (t for t in tokens("".join(data.get("text/html", ""))) if t.kind != "other")
    return next((t.source for t in starts if t.tag != "div"), "") == NOTHING


def _with_needed_headings(groups: list[tuple[str, list[Any]]]) -> list[list[Any]]:
    """The kept groups, with the heading of one whose text is gone where its section goes on."""
    made: list[list[Any]] = []
    for i, (heading, kept) in enumerate(groups):
        has_text = bool(kept) and kept[0].cell_type == "markdown"
        if heading and not has_text and (kept or _section_goes_on(groups, i)):
            kept = [_heading_cell(heading), *kept]
        made.append(kept)
    return made


def _section_goes_on(groups: list[tuple[str, list[Any]]], i: int) -> bool:
    """Whether a later group below the heading of group i is kept."""
    level = _level(groups[i][0])
    for heading, kept in groups[i + 1 :]:
        if heading and _level(heading) <= level:
            return False
        if kept:
            return True
    return False


def _level(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#"))


def _heading_cell(heading: str) -> Any:
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(heading)


# -- parameters
# --------------------------------------------------------------------------------------------------


def with_given_parameters(cells: list[Any]) -> list[Any]:
    """The cells without the injected ones, whose values stand in the cell of parameters instead.

    The folder of the run is not among them, and of a path only its last part, so that no path of
    this machine shows.
    """
    given: dict[str, Any] = {}
    for cell in cells:
        if INJECTED in _tags(cell):
            given |= _assigned(cell.source)
    given.pop("output_dir", None)
    kept = [cell for cell in cells if INJECTED not in _tags(cell)]
    return [_with_values(cell, given) if PARAMETERS in _tags(cell) else cell for cell in kept]


def _assigned(source: str) -> dict[str, Any]:
    """Names and literals of the lines `name = literal`."""
    found = {}
    for line in ast.parse(source).body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            found[line.targets[0].id] = ast.literal_eval(line.value)
    return found


def _with_values(cell: Any, given: dict[str, Any]) -> Any:
    """The cell with each `name: type = value  # comment` as it was given, if it was."""
    lines = []
    for line in cell.source.splitlines():
        name = line.partition(":")[0]
        head, equals, rest = line.partition(" = ")
        if name in given and equals:
            comment = re.search(r"\s{2}# .*$", rest)
            line = f"{head} = {_without_path(given[name])!r}{comment[0] if comment else ''}"
        lines.append(line)
    changed = cell.copy()
    changed.source = "\n".join(lines)
    return changed


def _without_path(value: Any) -> Any:
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
