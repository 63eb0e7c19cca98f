"""What stands in data/glossary.yaml and data/column_names.yaml."""

from typing import Literal

from katayori.data.schema import Schema, Text


class Term(Schema):
    """A term, the papers whose notebooks use it, and the function that computes it."""

    term: Text
    ja: Text
    papers: Literal["all"] | list[Text]
    see: Text | None
    meaning: Text


class ColumnNames(Schema):
    """What readers are told instead of columns' names and statuses; columns that make one together;
    what to do about a status.
    """

    names: dict[Text, Text]
    pairs: dict[Text, list[Text]]
    in_unit: list[Text]
    statuses: dict[Text, Text]
    remedies: dict[Text, Text]
