"""What stands in data/glossary.yaml and data/column_names.yaml."""

from typing import Literal

from katayori.data.schema import Schema, Text


class Term(Schema):
    """A term, the papers whose notebooks use it, the function that computes it, other names."""

    term: Text
    ja: Text
    papers: Literal["all"] | list[Text]
    see: Text | None
    meaning: Text
    also: list[Text] | None = None


class ColumnNames(Schema):
    """What readers see in place of columns' names and statuses; columns that make one together;
    what to do about a status.
    """

    names: dict[Text, Text]
    pairs: dict[Text, list[Text]]
    in_unit: list[Text]
    statuses: dict[Text, Text]
    remedies: dict[Text, Text]
