"""What stands under `talk` in the metadata of a notebook's cell: its slides."""

import re
from typing import Annotated, Literal

from pydantic import Field, model_validator

from katayori.data.schema import Count, Number, Schema, Text

#: A name in a text, which stands for what was found: {{gap}}.
NAME = re.compile(r"\{\{(\w+)\}\}")
Show = Literal["nothing", "figure", "table", "text", "code"]
#: Whose answers a slide shows; `answers` are those of the run, whatever their source.
Source = Literal["answers", "simulated", "published", "example"]


class Slide(Schema):
    """One slide.

    Attributes:
        headline: the message, at most 90 characters; {{name}} stands for what `find` finds.
        notes: for the speaker, in markdown. minutes: how long it takes.
        kind: title (the first one), question (to the room) or plain.
        body: a short text below the headline, in markdown. show: what of the cell stands below.
        source: whose answers these are; needed where something but code is shown.
        rows: which rows of a table are shown, from 1 (empty: all).
        find: name -> regular expression with one group, searched in what the notebook printed.
        otherwise: the headline of a run in which one of them is not found.
    """

    headline: Text
    notes: Text
    minutes: Annotated[Number, Field(gt=0)]
    kind: Literal["plain", "title", "question"] = "plain"
    body: str = ""
    show: Show = "nothing"
    source: Source | None = None
    rows: list[Count] = Field(default_factory=list)
    find: dict[str, Text] = Field(default_factory=dict)
    otherwise: str = ""

    @model_validator(mode="after")
    def _is_complete(self) -> "Slide":
        if self.show in ("figure", "table", "text") and self.source is None:
            raise ValueError(f"shows a {self.show} and must name its source")
        if self.find and not self.otherwise:
            raise ValueError("must say in `otherwise` what stands there if nothing is found")
        for name, pattern in self.find.items():
            if not _has_one_group(pattern):
                raise ValueError(f"`find` {name} must be a regular expression with one group")
        unknown = set(NAME.findall(self.headline + self.body + self.notes)) - set(self.find)
        if unknown:
            raise ValueError(f"names {', '.join(sorted(unknown))}, which `find` does not have")
        return self


def _has_one_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False
