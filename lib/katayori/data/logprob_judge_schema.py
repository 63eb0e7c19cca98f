"""What stands in a task file, ours or a user's; the header of our files tells how it is used."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from katayori.data.schema import Lenient, Text


class _Point(Lenient):
    """A point a good answer meets: a text it holds, or one it must not hold."""

    point: Text
    says: str = ""
    needs: str = ""
    forbids: str = ""


class _Edit(Lenient):
    """A change of the base, which breaks `point` unless it is a paraphrase."""

    kind: Text
    point: Text = ""
    find: Text
    put: str


class _Answer(Lenient):
    """An answer of known quality."""

    quality: int
    base: Literal["reference", "variant"]
    edits: list[_Edit]


class _Task(Lenient):
    """A task, its reference, the same in other words, and answers that are made of these."""

    id: Text
    task: Text
    question: Text
    reference: Text
    variant: Text
    checklist: Annotated[list[_Point], Field(min_length=1)]
    answers: Annotated[dict[str, _Answer], Field(min_length=1)]


class TaskFile(Lenient):
    """A file of tasks for judges."""

    example: ClassVar[str] = "data/study/logprob_judge/writing.yaml"

    questions: list[_Task]
