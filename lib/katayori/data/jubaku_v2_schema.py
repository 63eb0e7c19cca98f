"""What stands in the case file, ours or a user's."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from katayori.data.schema import Count, Head, Lenient, Schema, Text


class CaseFile(Lenient):
    """A file of cases.

    `papers.jubaku_v2.case_problem` checks each, as drafts that are edited pass it too.
    """

    example: ClassVar[str] = "data/study/jubaku_v2/cases.yaml"

    language: Text = "ja"
    leak_words: list[Text] | None = None
    group_rule: Literal["held", "printed"] = "held"
    cases: Annotated[list[Any], Field(min_length=1)]


class Checklist(Schema):
    """What makes a case of ours one: which group is judged, by which words, at which line."""

    group: Text
    asserted: Text
    unchecked: Text
    line: Count
    words: Text
    shared: Text = ""


class StudyCase(Schema):
    """A case of ours; in the third edition one that `replaces` a case of the second is new."""

    id: Text
    replaces: Text = ""
    category: Text
    definition: Literal[1, 2]
    context: list[Text]
    proposal: Text
    biased: Text
    neutral: Text
    checklist: Checklist


class StudyCases(Head):
    """The case file of an edition of ours."""

    definitions: dict[int, Text]
    construction: Text
    leak_words: list[Text]
    group_rule: Literal["held", "printed"] = "held"
    cases: list[StudyCase]
