"""What stands in topic files and lexicons, also a user's (data/study/inter_jbbq/README.md).

Here is checked what an entry says by itself; the paper checks the names that it uses.
"""

import re
from functools import partial
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator

from katayori.data.schema import Count, Lenient, Text

Groups = dict[str, list[str]]


def _two_lists(groups: Groups) -> Groups:
    words = [word for group in groups.values() for word in group]
    if len(groups) != 2 or not all(groups.values()) or len(set(words)) < len(words):
        raise ValueError("must be two lists, no word twice")
    return groups


def _with_slots(slots: tuple[str, ...], text: str) -> str:
    if set(re.findall(r"\{(.*?)\}", text)) != set(slots):
        wanted = ", ".join(f"{{{slot}}}" for slot in slots)
        raise ValueError(f"must hold the slots {wanted} and no other")
    return text


_Passage = Annotated[
    str, AfterValidator(partial(_with_slots, ("a", "b", "profile_a", "profile_b")))
]
_Sentence = Annotated[str, AfterValidator(partial(_with_slots, ("a", "b")))]


class _Attribute(Lenient):
    """Two groups of words, and the statistic they rest on."""

    source: Text
    groups: Annotated[Groups, AfterValidator(_two_lists)]


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
    ambiguous: _Passage
    disambiguating: _Sentence
    negative: _Sentence
    neutral: _Sentence
    stereotype: dict[str, str] = Field(default_factory=dict)
    families: dict[str, Count] = Field(default_factory=dict)
    items: None = None  # once a count of items; whole families are counted now
    exclusions: list[_Exclusion] = Field(default_factory=list)


class TopicFile(LexiconFile):
    """A topic."""

    topic: str
    language: str
    persons: list[str]
    unknown: list[str]
    profile: list[_Clause]
    contexts: list[_Context]

    @model_validator(mode="after")
    def _names_differ(self) -> "TopicFile":
        names = [*self.persons, *self.unknown]
        if len(self.persons) != 2 or len(names) < 3 or len(set(names)) < len(names):
            raise ValueError(
                "persons and unknown must be two names and other wordings of unknown, not"
                f" {', '.join(names)}"
            )
        return self
