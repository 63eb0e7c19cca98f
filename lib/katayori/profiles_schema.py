"""What stands in a profile, ours or a user's."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from katayori.data.schema import Schema, written
from katayori.profiles import MOST, OF_CLUSTERS


def _is_size(size: Any) -> Any:
    if size != "full" and not (type(size) is int and 0 < size <= MOST):
        raise ValueError(
            f"must be full or a positive number {OF_CLUSTERS}, at most {MOST:,},"
            f" not {written(size)}"
        )
    return size


class Profile(Schema):
    """One profile, by its name. What is left out counts as null, so that what is valid is named."""

    example: ClassVar[str] = "data/profiles.yaml"

    items: Literal["study", "official"] = Field(None, validate_default=True)
    answers: Literal["recorded", "live", "simulated", "imported"] = Field(
        None, validate_default=True
    )
    #: A word or a number, so that one sentence says what is valid.
    size: Annotated[Any, AfterValidator(_is_size)] = Field(None, validate_default=True)
    about: Any = None
