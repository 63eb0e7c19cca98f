"""What stands in the question file, ours or a user's, and in the files of the sets beside it."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from katayori.data.schema import Head, Lenient, Schema, Text

#: What an edit of a template takes out, and what it puts there.
Change = Annotated[list[Text], Field(min_length=2, max_length=2)]


class Question(Lenient):
    """A decision question; `counterpart_of` is the upstream question ours stands in for."""

    id: int
    label: str | int | float
    domain: Any = None
    counterpart_of: int | None = None
    template: Text


class QuestionFile(Lenient):
    """A file of questions."""

    example: ClassVar[str] = "data/study/discrim_eval/questions.yaml"

    questions: Annotated[list[Question], Field(min_length=1)]


class Names(Schema):
    """What the factors of nine, three and five levels of a set of notes are called."""

    nine: Text
    three: Text
    five: Text


class Notes(Schema):
    """A set of notes that mean nothing, with the levels that `phrase` is filled with."""

    id: Text
    phrase: Text
    names: Names
    nine: Annotated[list[Text], Field(min_length=9, max_length=9)]
    three: Annotated[list[Text], Field(min_length=3, max_length=3)]
    five: Annotated[list[Text], Field(min_length=5, max_length=5)]


class BlankFile(Head):
    """study/discrim_eval_2/blank.yaml."""

    design: Text
    sets: list[Notes]


class PlainFile(Head):
    """study/discrim_eval_2/plain.yaml: words for pronouns, and changes by question id."""

    words: dict[str, Text]
    changes: dict[int, Change]
