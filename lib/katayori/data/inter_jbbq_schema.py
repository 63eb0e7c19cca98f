"""What stands in topic files and lexicons; data/study/inter_jbbq/README.md tells how."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from katayori.data.schema import Head, Lenient, Note, Schema, Text

#: Of the first edition and of users; the paper checks what an entry says, with its names at hand.


class Attribute(Lenient):
    """Two groups of words, and the statistic they rest on."""

    source: str | None = None
    groups: dict[str, list[str]]


class Exclusion(Lenient):
    """Words that no profile holds together, by attribute."""

    words: dict[str, list[str]]


class LexiconFile(Lenient):
    """Attributes and exclusions that hold for every topic beside the file."""

    example: ClassVar[str] = "data/study/inter_jbbq/README.md"

    attributes: dict[str, Attribute] = Field(default_factory=dict)
    exclusions: list[Exclusion] = Field(default_factory=list)


class Clause(Lenient):
    """A part of the sentence on a person: its wording for every subset of its attributes."""

    attributes: list[str]
    opening: str = ""
    join: str
    end: str
    forms: dict[str, str]


class Context(Lenient):
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
    exclusions: list[Exclusion] = Field(default_factory=list)


class TopicFile(LexiconFile):
    """A topic."""

    topic: str
    language: str
    persons: list[str]
    unknown: list[str]
    profile: list[Clause]
    contexts: list[Context]


#: Of the second edition, which is ours alone.


class ExcludedWords(Schema):
    """Words that no profile holds together, and why."""

    words: dict[str, list[Text]]
    reason: Text


class Words(Schema):
    """An attribute, the statistic it rests on, and its two groups of words."""

    label: Text
    source: Text
    groups: dict[str, list[Text]]


class Trait(Schema):
    """A trait that means nothing."""

    label: Text
    form: Text
    groups: dict[str, list[Text]]


class SecondLexicon(Head):
    """study/inter_jbbq_2/lexicons.yaml."""

    attributes: dict[str, Words]
    blanks: list[Trait]
    exclusions: list[ExcludedWords]
    review: list[Note]


class SecondClause(Schema):
    """A part of the sentence on a person."""

    attributes: list[Text]
    opening: Text = ""
    inner: Text = ""
    join: Text
    end: Text
    forms: dict[str, Text]


class Passage(Schema):
    """A passage in its parts, which are told in both orders."""

    id: Text
    label: Text
    attributes: list[Text]
    setting: Text
    lead: Text
    good: Text
    bad: Text
    good_fact: Text
    bad_fact: Text
    negative: Text
    neutral: Text
    stereotype: dict[str, Text]


class Edit(Schema):
    """A change of a passage's words that a proof-reader proposed, and what became of it."""

    passage: Text
    before: Text
    after: Text
    decision: Literal["refused", "next version"]
    reason: Text


class ThirdTopic(Head):
    """What was written anew of a topic of the second edition."""

    topic: Text
    profile: list[SecondClause] = Field(default_factory=list)
    contexts: list[Passage] = Field(default_factory=list)
    review: list[Note]


class SecondTopic(Head):
    """A topic of the second edition."""

    topic: Text
    label: Text
    persons: list[Text]
    unknown: list[Text]
    known: Text
    profile: list[SecondClause]
    contexts: list[Passage]
    exclusions: list[ExcludedWords] = Field(default_factory=list)
    review: list[Note]
    proofreading: list[Edit] = Field(default_factory=list)
