"""What stands in a profile, ours or a user's."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from katayori.data.schema import Schema


class Profile(Schema):
    """One profile, by its name. What is left out counts as null, so that what is valid is named."""

    example: ClassVar[str] = "data/profiles.yaml"

    items: Literal["study", "official"] = Field(None, validate_default=True)
    answers: Literal["recorded", "live", "simulated", "imported"] = Field(
        None, validate_default=True
    )
    #: A word or a number: `profiles` says in one sentence which are valid.
    size: Any = None
    about: Any = None
