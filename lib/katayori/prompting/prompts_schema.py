"""What stands in a prompt file, ours or a user's (PROMPTS=); see `prompting.prompts.Prompt`."""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from katayori.data.schema import Lenient, Schema, Text


class Element(Lenient):
    """An element that a requirement lists, and the line of the prompt that carries it."""

    requirement: str = ""
    element: str = ""
    line: str = ""


class PromptFile(Schema):
    """One wording. An empty text is as good as none."""

    example: ClassVar[str] = "data/prompts"

    id: str
    version: int | float | str  # only shown
    paper: str
    language: str
    kind: Literal["chat", "likelihood"] = "chat"
    continuations: list[Text] = Field(default_factory=list)
    user: str
    system: str = ""
    prefix: str = ""
    follow_up: str = ""
    per: str = "item_id"
    answer_at: str = "first"
    only: dict[str, Any] = Field(default_factory=dict)
    given: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    elements: list[Element] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> "PromptFile":
        """Continuations and what is generated exclude each other."""
        if self.kind == "chat":
            if self.continuations:
                raise ValueError("continuations belong to kind: likelihood")
            return self
        if not self.continuations or len(set(self.continuations)) < len(self.continuations):
            message = "a likelihood prompt needs continuations, a list of different column names"
            raise ValueError(message)
        if unused := [name for name in ("prefix", "settings") if getattr(self, name)]:
            raise ValueError(f"a likelihood prompt takes no {unused[0]}: nothing is generated")
        return self
