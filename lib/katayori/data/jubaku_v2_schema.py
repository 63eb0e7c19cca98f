"""What stands in the case file, ours or a user's."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from katayori.data.schema import Lenient, Text


class CaseFile(Lenient):
    """A file of cases.

    `papers.jubaku_v2.case_problem` checks each, as drafts that are edited pass it too.
    """

    example: ClassVar[str] = "data/study/jubaku_v2/cases.yaml"

    language: Text = "ja"
    leak_words: list[Text] | None = None
    group_rule: Literal["held", "printed"] = "held"
    cases: Annotated[list[Any], Field(min_length=1)]
