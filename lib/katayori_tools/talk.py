"""The talk of a notebook: the slides that stand in the metadata of its cells, filled from a run.

A cell tagged `slide` holds a list of slides under `talk` (`talk_schema.Slide`). A slide can show
the cell's one picture, one small table, its printed text or its code. What a headline says of a
finding is found in what the run printed, so that it changes with the run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from katayori.data import schema
from katayori.errors import KatayoriError
from katayori_tools.talk_schema import NAME, Slide

TAG = "slide"
#: What a talk of 90 minutes keeps (`breaches`).
FEWEST, MOST, HEADLINE, ROWS, QUESTIONS, LONGEST = 20, 25, 90, 8, 2, 90
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
BODY = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
ROW = re.compile(r"<tr.*?</tr>", re.DOTALL)
PICTURE = re.compile(r"<img [^>]*>")
PRINTED = re.compile(r"<pre.*?</pre>", re.DOTALL)
NOT_FOUND = "—"

Cell = Any
Output = Any


@dataclass(frozen=True)
class Filled:
    """A slide with what a run has for it.

    Attributes:
        slide: as it is written. headline, body, notes: with what was found. exhibit: the output
            that it shows. code: the source that it shows. section: of the notebook.
        not_found: names that nothing was found for.
    """

    slide: Slide
    headline: str
    body: str
    notes: str
    exhibit: Output | None
    code: str
    section: str
    not_found: tuple[str, ...]


def fill(cells: list[Cell], leave_out: frozenset[str] = frozenset()) -> tuple[list[Filled], int]:
    """The slides of executed cells, and the number of those that the run has nothing for.

    Args:
        cells: of the notebook. leave_out: tags of cells whose slides do not belong to this run.

    Raises KatayoriError naming the cell whose metadata is wrong.
    """
    printed = "\n".join(text for cell in cells for text in _texts(cell))
    filled: list[Filled] = []
    section, lacking = "", 0
    for cell in cells:
        section = _section(cell) or section
        if leave_out & set(_tags(cell)):
            continue
        for slide in slides_of(cell):
            exhibit = exhibit_of(cell, slide)
            if exhibit is None and slide.show not in ("nothing", "code"):
                lacking += 1
                continue
            filled.append(_filled(slide, cell, exhibit, printed, section))
    return filled, lacking


def slides_of(cell: Cell) -> list[Slide]:
    """The slides of one cell; none where it is not tagged."""
    if TAG not in _tags(cell):
        return []
    where = f"cell {cell.get('id', '?')}, metadata talk"
    talk = cell["metadata"].get("talk")
    if not talk:
        raise KatayoriError(f"{where}: a cell tagged {TAG!r} needs a list of slides there")
    return schema.checked(list[Slide], _plain(talk), where)


def _plain(value: Any) -> Any:
    """Dicts and lists of nbformat as Python's own."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def _tags(cell: Cell) -> list[str]:
    return cell["metadata"].get("tags", [])


def _section(cell: Cell) -> str:
    """The heading that a text begins with."""
    heading = re.match(r"## (\d+) ·", "".join(cell["source"]))
    return heading[1] if heading and cell["cell_type"] == "markdown" else ""


def _filled(slide: Slide, cell: Cell, exhibit: Output, printed: str, section: str) -> Filled:
    found = {name: _find(pattern, printed) for name, pattern in slide.find.items()}
    not_found = tuple(name for name, text in found.items() if not text)
    return Filled(
        slide=slide,
        headline=_put(slide.otherwise if not_found else slide.headline, found),
        body=_put(slide.body, found),
        notes=_put(slide.notes, found),
        exhibit=exhibit,
        code="".join(cell["source"]) if slide.show == "code" else "",
        section=section,
        not_found=not_found,
    )


def _find(pattern: str, printed: str) -> str:
    match = re.search(pattern, printed, re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


def _put(text: str, found: dict[str, str]) -> str:
    """The text with each {{name}} replaced."""
    return NAME.sub(lambda hit: found[hit[1]] or NOT_FOUND, text)


# -- what a cell shows -----------------------------------------------------------------------------


def _outputs(cell: Cell) -> list[Output]:
    return cell.get("outputs", [])


def _html(output: Output) -> str:
    return "".join(output.get("data", {}).get("text/html", ""))


def _texts(cell: Cell) -> Iterator[str]:
    """What a cell printed, as plain text."""
    for output in _outputs(cell):
        plain = "".join(output.get("data", {}).get("text/plain", ""))
        yield "".join(output["text"]) if output.get("name") == "stdout" else plain


def exhibit_of(cell: Cell, slide: Slide) -> Output | None:
    """The output that a slide shows of its cell; None where this run has none."""
    finders = {"figure": _figure, "table": _table, "text": _printed, "code": _stream}
    if slide.show == "nothing":
        return None
    outputs = _outputs(cell)
    shown = next((one for one in map(finders[slide.show], outputs) if one is not None), None)
    if shown is not None and slide.rows:
        return _as_html(_with_rows(_html(shown), slide.rows))
    return shown


def _figure(output: Output) -> Output | None:
    if {"image/png", "image/svg+xml"} & set(output.get("data", ())):
        return output
    picture = PICTURE.search(_html(output))
    return _as_html(picture[0]) if picture else None


def _table(output: Output) -> Output | None:
    table = TABLE.search(_html(output))
    return _as_html(table[0]) if table else None


def _printed(output: Output) -> Output | None:
    text = PRINTED.search(_html(output))
    return _as_html(text[0]) if text else _stream(output)


def _stream(output: Output) -> Output | None:
    return output if output.get("name") == "stdout" else None


def _with_rows(table: str, rows: list[int]) -> str:
    """A table with these of its rows, counted from 1; one that it does not have is left out."""

    def chosen(body: re.Match[str]) -> str:
        every = ROW.findall(body[0])
        return "<tbody>" + "".join(every[row - 1] for row in rows if row <= len(every)) + "</tbody>"

    return BODY.sub(chosen, table)


def _as_html(markup: str) -> Output:
    from nbformat.v4 import new_output

    return new_output("display_data", {"text/html": markup})


# -- whether it can be given -----------------------------------------------------------------------


def minutes(talk: list[Filled]) -> float:
    """How long a talk takes."""
    return sum(one.slide.minutes for one in talk)


def breaches(talk: list[Filled]) -> Iterator[str]:
    """What keeps a talk from being one of 90 minutes that a room can follow; a line each."""
    if not FEWEST <= len(talk) <= MOST:
        yield f"{len(talk)} slides; {FEWEST} to {MOST} are right"
    kinds = [one.slide.kind for one in talk]
    if kinds.count("title") != 1 or kinds[0] != "title":
        yield "the first slide, and no other, must be of the kind `title`"
    if kinds.count("question") != QUESTIONS:
        yield f"{kinds.count('question')} questions to the room; {QUESTIONS} are right"
    if minutes(talk) > LONGEST:
        yield f"{minutes(talk):g} minutes; {LONGEST} are the most"
    for number, one in enumerate(talk, 1):
        length = len(one.headline)
        if length > HEADLINE:
            yield f"slide {number}: a headline of {length} characters; {HEADLINE} at most"
        rows = _rows_of(one)
        if rows > ROWS:
            yield f"slide {number}: a table of {rows} rows; {ROWS} at most"
        if one.not_found:
            yield f"slide {number}: nothing found for {', '.join(one.not_found)}"


def _rows_of(one: Filled) -> int:
    """The rows of the table a slide shows, without its head."""
    if one.slide.show != "table":
        return 0
    return sum("<td" in row for row in ROW.findall(_html(one.exhibit)))
