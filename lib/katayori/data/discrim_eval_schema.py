"""What stands in the question file, ours or a user's."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from katayori.data.schema import Lenient, Text


class _Question(Lenient):
    """A decision question; `counterpart_of` is the upstream question ours stands in for."""

    id: int
    label: str | int | float
    domain: Any = None
    counterpart_of: int | None = None
    template: Text


class QuestionFile(Lenient):
    """A file of questions."""

    example: ClassVar[str] = "data/study/discrim_eval/questions.yaml"

    questions: Annotated[list[_Question], Field(min_length=1)]
