"""What a YAML file must hold, as pydantic models; what is wrong with one is said in one plain line.

A module that reads a YAML file of users states what stands in it as a dataclass or as a class of
`Schema`, and reads it with `katayori.data.files.read_as` or `read_checked`; most files of ours are
checked by a test. Values are never turned into other values: a number in quotes is a text, and `no`
without quotes is false.

Importing pydantic takes as long as starting the collector. Where a module is imported by commands
that may read nothing, its classes stand beside it in `*_schema.py`, imported when a file is read.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from reprlib import Repr
from typing import Annotated, Any, ClassVar, TypeVar, cast, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from katayori.errors import KatayoriError, within

Content = TypeVar("Content")


def _is_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


#: A text with something in it.
Text = Annotated[str, AfterValidator(_is_not_blank)]
#: A whole number from 1.
Count = Annotated[int, Field(ge=1)]

#: Characters of a value that a message repeats.
_SHOWN = 60
#: Writes little of a value that holds much: aliases in a kilobyte of YAML may stand for more words
#: than memory holds.
_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxlong = _BRIEF.maxother = 3 * _SHOWN
#: What pydantic calls an error -> what must stand there.
_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a block of named values",
    "model_type": "a block of named fields",
    "none_required": "null",
    "literal_error": "{expected}",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_short": "longer ({min_length} or more entries)",
    "too_long": "shorter (at most {max_length} entries)",
    "string_pattern_mismatch": "written like {pattern}",
}


class Schema(BaseModel):
    """A block of named fields in a YAML file. No other field may stand in it, and none changes.

    Example:
        >>> class Weights(Schema):
        ...     file: Text
        ...     bytes: Count
        >>> checked(Weights, {"file": "a.gguf", "bytes": "12"}, "weights.yaml")
        Traceback (most recent call last):
        katayori.errors.KatayoriError: weights.yaml: bytes must be a whole number, not '12'
    """

    #: Where a file of this kind is shown or described; messages end with it.
    example: ClassVar[str] = ""

    # Validators are built when they are first used: most commands read few of the files.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _has_known_fields(cls, given: Any) -> Any:
        """Names the valid fields where one is unknown, which pydantic's own error does not."""
        if not isinstance(given, Mapping) or cls.model_config["extra"] != "forbid":
            return given
        known = [field.alias or name for name, field in cls.model_fields.items()]
        unknown = [name for name in given if name not in known]
        if unknown:
            message = "unknown field {name}; known: {known}"
            context = {"name": repr(unknown[0]), "known": ", ".join(known)}
            raise PydanticCustomError("unknown_field", message, context)
        return given


class Lenient(Schema, extra="allow"):
    """A block in which more may stand than the code reads, as in files that users write."""


@cache
def block_of(kind: type) -> type[Schema]:
    """A dataclass as a block: its fields may stand in it, those without a default must."""
    hints = get_type_hints(kind)
    held: dict[str, Any] = {}
    for one in fields(kind):
        required = one.default is MISSING and one.default_factory is MISSING
        held[one.name] = (hints[one.name], ... if required else None)
    return create_model(kind.__name__, __base__=Schema, **held)


@cache
def _adapter(kind: Any) -> TypeAdapter:
    return TypeAdapter(block_of(cast(type, kind)) if is_dataclass(kind) else kind)


def checked(kind: type[Content], content: Any, where: str) -> Content:
    """The content of a YAML file as `kind`: a `Schema`, a list or dict of one, or a dataclass.

    Raises KatayoriError in one line: `where`, the place in the file (entries of a list are counted
    from 0), what stands there and what may.
    """
    try:
        found = _adapter(cast(Hashable, kind)).validate_python(content, strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False)
        example = getattr(kind, "example", "")
        see = f"; see {example}" if example else ""
        raise KatayoriError(f"{where}: {_explained(details, content)}{see}") from None
    if not is_dataclass(kind):
        return found
    with within(where):
        return kind(**found.model_dump(exclude_unset=True))


def _explained(details: list[ErrorDetails], content: Any) -> str:
    """The first thing that is wrong. Of the alternatives of a value, the one that fits furthest
    decides.
    """
    places = [_place(detail["loc"], content) for detail in details]
    alternatives = [place for place in places if place.startswith(places[0])]
    place = max(alternatives, key=len)
    here = [detail for detail, its in zip(details, places, strict=True) if its == place]
    if any(detail["type"] == "unknown_field" for detail in here):
        [message] = {detail["msg"] for detail in here if detail["type"] == "unknown_field"}
        return f"{place}: {message}" if place else message
    if absent := [str(detail["loc"][-1]) for detail in here if detail["type"] == "missing"]:
        return f"{place} lacks {', '.join(absent)}".strip()
    if here[0]["loc"] and here[0]["loc"][-1] == "[key]":
        block = _place(here[0]["loc"][:-2], content)
        name = f"the name {written(here[0]['input'])} {_must_be(here)}"
        return f"{block}: {name}" if block else name
    problem = _must_be(here)
    if not place and problem.startswith("must be"):
        return f"it {problem}"
    return f"{place} {problem}".strip()


def _must_be(here: list[ErrorDetails]) -> str:
    """What must stand at a place, and what stands there."""
    wanted = [
        _WANTED[detail["type"]].format(**detail.get("ctx", {})).replace("'", "")
        for detail in here
        if detail["type"] in _WANTED
    ]
    if not wanted:  # a check of a schema's own, whose message goes on where the place ends
        return here[0]["msg"].removeprefix("Value error, ")
    given = here[0]["input"]
    if here[0]["type"] == "too_short" and not given:
        return "must not be empty"
    # What YAML took for a number, a date or a truth may be meant as a text.
    is_unquoted = not isinstance(given, str | list | dict | None)
    hint = " (put it in quotes)" if "a text" in wanted and is_unquoted else ""
    return f"must be {' or '.join(dict.fromkeys(wanted))}, not {written(given)}{hint}"


def written(value: Any) -> str:
    """A value as YAML has it, cut where it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = _BRIEF.repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _place(loc: Sequence[Any], content: Any) -> str:
    """A place in a file as `models[3].supports`; pydantic's own steps in between are left out."""
    place = ""
    for step in loc:
        if isinstance(content, dict) and step in content:
            place += f".{step}" if place else str(step)
        elif isinstance(content, list) and isinstance(step, int) and step < len(content):
            place += f"[{step}]{_name_of(content[step])}"
        else:
            continue
        content = content[step]
    return place


def _name_of(entry: Any) -> str:
    """The id of an entry of a list, where it has one."""
    ident = entry.get("id") if isinstance(entry, dict) else None
    return f" ({ident})" if isinstance(ident, str | int) and len(str(ident)) < _SHOWN else ""
