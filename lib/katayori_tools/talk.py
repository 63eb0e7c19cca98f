"""The talk of a notebook: the slides that stand in the metadata of its cells, filled from a run.

A cell tagged `slide` holds a list of slides under `talk` (`Slide`). A slide can show the cell's one
picture, one small table, its printed text or its code. What a headline says of a finding is found
in what the run printed, so that it changes with the run.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from nbformat.v4 import new_output
from pydantic import AfterValidator, Field, model_validator

from katayori.data.schema import Count, Number, Schema, Text, checked
from katayori.errors import KatayoriError
from katayori_tools.markup import tree

TAG = "slide"
#: What a talk of 90 minutes keeps (`breaches`).
FEWEST, MOST, HEADLINE, ROWS, QUESTIONS, LONGEST = 20, 25, 100, 8, 2, 90
#: A name in a text, which stands for what was found: {{gap}}.
NAME = re.compile(r"\{\{(\w+)\}\}")
#: The heading that a section begins with.
HEADING = re.compile(r"## (\d+) ·")
#: The outputs that a slide shows whole, and the element that it takes out of an output's HTML.
WHOLE = {"figure": {"image/png", "image/svg+xml"}, "text": {"stdout"}, "code": {"stdout"}}
PART = {"figure": "img", "table": "table", "text": "pre"}


def _with_one_group(pattern: str) -> str:
    with suppress(re.error):
        if re.compile(pattern).groups == 1:
            return pattern
    raise ValueError("must be a regular expression with one group")


class Slide(Schema):
    """One slide, as it stands in the metadata of a cell.

    Attributes:
        headline: the message, at most 100 characters; {{name}} stands for what `find` finds. A
            slide that shows a figure needs none: the figure's title is its message.
        notes: for the speaker, in markdown. minutes: how long it takes.
        kind: title (the first one), question (to the room) or plain.
        body: a short text below the headline, in markdown. show: what of the cell stands below.
        source: whose answers these are (`answers`: those of the run, whatever their source);
            needed where something but code is shown.
        rows: which rows of a table, or lines of the code, are shown, from 1 (empty: all).
        columns: the same of a table's columns.
        find: name -> regular expression with one group, searched in what the notebook printed.
        otherwise: the headline of a run in which one of them is not found.
    """

    notes: Text
    minutes: Annotated[Number, Field(gt=0)]
    headline: str = ""
    kind: Literal["plain", "title", "question"] = "plain"
    body: str = ""
    show: Literal["nothing", "figure", "table", "text", "code"] = "nothing"
    source: Literal["answers", "simulated", "published", "example"] | None = None
    rows: list[Count] = Field(default_factory=list)
    columns: list[Count] = Field(default_factory=list)
    find: dict[str, Annotated[str, AfterValidator(_with_one_group)]] = Field(default_factory=dict)
    otherwise: str = ""

    @model_validator(mode="after")
    def _is_complete(self) -> "Slide":
        if not self.headline and self.show != "figure":
            raise ValueError("needs a headline: only a figure has a title of its own")
        if self.show in PART and self.source is None:
            raise ValueError(f"shows a {self.show} and must name its source")
        if self.find and not self.otherwise:
            raise ValueError("must say in `otherwise` what stands there if nothing is found")
        unknown = set(NAME.findall(self.headline + self.body + self.notes)) - set(self.find)
        if unknown:
            raise ValueError(f"names {', '.join(sorted(unknown))}, which `find` does not have")
        return self


@dataclass(frozen=True)
class Filled:
    """A slide with what a run has for it.

    Attributes:
        slide: its texts with what was found. outputs, code: what it shows of its cell.
        section: of the notebook. not_found: names that nothing was found for.
    """

    slide: Slide
    outputs: list[Any]
    code: str
    section: str
    not_found: list[str]


def fill(cells: list[Any], leave_out: frozenset[str] = frozenset()) -> tuple[list[Filled], int]:
    """The slides of executed cells, and the number of those that the run has nothing for.

    Args:
        cells: of the notebook. leave_out: tags of cells whose slides do not belong to this run.

    Raises KatayoriError naming the cell whose metadata is wrong.
    """
    printed = "\n".join(_printed(output) for cell in cells for output in cell.get("outputs", []))
    filled: list[Filled] = []
    section, lacking = "", 0
    for cell in cells:
        section = heading[1] if (heading := HEADING.match(cell.source)) else section
        for slide in slides_of(cell, leave_out):
            outputs = exhibit(cell, slide)
            if slide.show in PART and not outputs:
                lacking += 1
                continue
            lines = enumerate(cell.source.split("\n") if slide.show == "code" else [], 1)
            code = "\n".join(line for n, line in lines if not slide.rows or n in slide.rows)
            found = {name: _find(pattern, printed) for name, pattern in slide.find.items()}
            not_found = [name for name, text in found.items() if not text]
            said = _said(slide, found)
            said = said if said.headline else said.model_copy(update={"headline": title(outputs)})
            filled.append(Filled(said, outputs, code, section, not_found))
    return filled, lacking


def slides_of(cell: Any, leave_out: frozenset[str] = frozenset()) -> list[Slide]:
    """The slides of one cell; none where it is not tagged, or with a tag that is left out."""
    tags = cell.metadata.get("tags", [])
    if TAG not in tags or leave_out & set(tags):
        return []
    where = f"cell {cell.get('id', '?')}, metadata talk"
    talk = cell.metadata.get("talk")
    if not talk:
        raise KatayoriError(f"{where}: a cell tagged {TAG!r} needs a list of slides there")
    return checked(list[Slide], json.loads(json.dumps(talk)), where)


def exhibit(cell: Any, slide: Slide) -> list[Any]:
    """The output that a slide shows of its cell; empty where it shows none or the run has none."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if WHOLE.get(slide.show, set()) & {output.get("name"), *data}:
            return [output]
        page = tree(data.get("text/html", ""))
        if slide.show in PART and (part := page.select_one(PART[slide.show])):
            _leave_out(part, slide)
            return [new_output("display_data", {"text/html": str(part)})]
    return []


def title(outputs: list[Any]) -> str:
    """The title of the picture that a slide shows."""
    [shown] = outputs
    picture: Any = tree(shown.data.get("text/html", "")).img or {}
    about = shown.metadata.get("image/png") or picture
    return str(about.get("alt", ""))


def _leave_out(part: Any, slide: Slide) -> None:
    """Takes out of a table the rows and columns that its slide does not name."""
    for parts, numbers in (("tbody tr", slide.rows), ("tr > *", slide.columns)):
        named = ", ".join(f":nth-child({number})" for number in numbers)
        for one in part.select(f"{parts}:not({named})") if numbers else []:
            one.decompose()


def _printed(output: Any) -> str:
    """What an output says as plain text."""
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def _find(pattern: str, printed: str) -> str:
    match = re.search(pattern, printed, re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


def _said(slide: Slide, found: dict[str, str]) -> Slide:
    """The slide with each {{name}} replaced; its other headline where something is not found."""
    headline = slide.headline if all(found.values()) else slide.otherwise
    texts = {"headline": headline, "body": slide.body, "notes": slide.notes}
    put = {key: NAME.sub(lambda hit: found[hit[1]] or "—", text) for key, text in texts.items()}
    return slide.model_copy(update=put)


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
        if (length := len(one.slide.headline)) > HEADLINE:
            yield f"slide {number}: a headline of {length} characters; {HEADLINE} at most"
        if (rows := _rows_of(one)) > ROWS:
            yield f"slide {number}: a table of {rows} rows; {ROWS} at most"
        if one.not_found:
            yield f"slide {number}: nothing found for {', '.join(one.not_found)}"


def _rows_of(one: Filled) -> int:
    """The rows of the table a slide shows, without its head."""
    tables = [output.data["text/html"] for output in one.outputs if one.slide.show == "table"]
    return sum("<td" in row for table in tables for row in table.split("<tr"))
