"""What stands in topic files and lexicons, also a user's (data/study/inter_jbbq/README.md).

The paper checks what an entry says, with its names at hand.
"""

from typing import Any, ClassVar

from pydantic import Field

from katayori.data.schema import Lenient


class _Attribute(Lenient):
    """Two groups of words, and the statistic they rest on."""

    source: str | None = None
    groups: dict[str, list[str]]


class _Exclusion(Lenient):
    """Words that no profile holds together, by attribute."""

    words: dict[str, list[str]]


class LexiconFile(Lenient):
    """Attributes and exclusions that hold for every topic beside the file."""

    example: ClassVar[str] = "data/study/inter_jbbq/README.md"

    attributes: dict[str, _Attribute] = Field(default_factory=dict)
    exclusions: list[_Exclusion] = Field(default_factory=list)


class _Clause(Lenient):
    """A part of the sentence on a person: its wording for every subset of its attributes."""

    attributes: list[str]
    opening: str = ""
    join: str
    end: str
    forms: dict[str, str]


class _Context(Lenient):
    """A passage, its questions, and how many families are drawn for a preset."""

    id: str | int
    attributes: list[str]
    ambiguous: str
    disambiguating: str
    negative: str
    neutral: str
    stereotype: dict[str, str] = Field(default_factory=dict)
    families: dict[str, Any] = Field(default_factory=dict)
    items: dict[str, Any] = Field(default_factory=dict)
    exclusions: list[_Exclusion] = Field(default_factory=list)


class TopicFile(LexiconFile):
    """A topic."""

    topic: str
    language: str
    persons: list[str]
    unknown: list[str]
    profile: list[_Clause]
    contexts: list[_Context]
