"""What stands in data/exercises.yaml."""

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from katayori.data.schema import Count, Number, Schema, Text


class Hints(Schema):
    """What is told of a wrong answer: `hint` at first, `more` to a reader who asks for more."""

    hint: Text
    more: Text


class Lettered(Schema):
    """A question with lettered options: the right letter, and a hint for each wrong one."""

    right: Text
    why: Text
    hints: dict[Text, Text]


class Slip(Schema):
    """Wrong numbers that a known slip gives."""

    gives: list[Number]
    hint: Text


class Numbered(Schema):
    """A question whose answer is numbers in order; `hint` is for an answer that no slip gives."""

    numbers: list[Number]
    why: Text
    hint: Text
    slips: list[Slip]


class Function(Hints):
    """A function to write; `hint` and `more` are for an answer that no slip explains.

    `compared` names the module of `report.written_exercises` that tries it, and whose slips have
    their hints here.
    """

    compared: Text = Field(pattern=r"^[a-z_]+$")
    why: Text
    slips: dict[Text, Hints]


def _kind(exercise: Any) -> str:
    """The field that tells what kind of exercise a block is; nothing where none does."""
    fields = exercise if isinstance(exercise, dict) else getattr(exercise, "model_fields_set", ())
    return next((f"has {name}" for name in ("right", "numbers", "compared") if name in fields), "")


Kind = Annotated[
    Annotated[Lettered, Tag("has right")]
    | Annotated[Numbered, Tag("has numbers")]
    | Annotated[Function, Tag("has compared")],
    Discriminator(
        _kind,
        custom_error_type="kind_of_exercise",
        custom_error_message="must have one of right, numbers, compared",
    ),
]


class ExercisesFile(Schema):
    """The exercises of each notebook, both by number; the notebook about all papers has 0."""

    notebooks: dict[Annotated[int, Field(ge=0)], dict[Count, Kind]]
