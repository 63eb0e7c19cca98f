"""What stands in data/glossary.yaml."""

from typing import Literal

from katayori.data.schema import Schema, Text


class Term(Schema):
    """A term, the papers whose notebooks use it, and the function that computes it."""

    term: Text
    ja: Text
    papers: Literal["all"] | list[Text]
    see: Text | None
    meaning: Text
