"""What stands in the registries of asking: data/models.yaml, prompt files and profiles.

The head of data/models.yaml says what each of its fields means. Imported when a file is read.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from katayori.data.schema import Count, Lenient, Number, Schema, Sha256, Text

#: Kinds of endpoints: how requests to them are sent.
Kind = Literal["openai_compatible", "completions", "azure", "local", "simulated"]


class Supports(Schema):
    """What an endpoint or a model can do; null is unknown."""

    seed: bool | None = None
    logprobs: bool | None = None
    top_logprobs_max: int | None = None
    prefill: bool | None = None
    system_role: bool | None = None
    max_tokens_field: Text | None = None
    likelihood: bool | None = None


class Limits(Schema):
    """Requests at once, requests and tokens a minute; null is unknown."""

    concurrency: Count
    rpm: Count | None = None
    tpm: Count | None = None


class EndpointEntry(Schema):
    """One endpoint, by its name."""

    kind: Kind
    base_url: Text | None = None
    base_url_env: Text = ""
    api_version_env: Text = ""
    key_env: Text | None = None
    own: bool = False
    supports: Supports
    extra_prefill: dict[str, Any] = Field(default_factory=dict)
    limits: Limits
    note: Text = ""


class ModelEntry(Schema):
    """One model."""

    id: Text
    name_in_paper: dict[str, Text]
    papers: list[Text]
    roles: dict[str, Text] = Field(default_factory=dict)
    vendor_id: Text | None
    endpoint: Text | list[Text]
    developer: Text
    release_date: Text | None
    size_b: Number | None
    access: Literal["closed", "open"]
    thinking: Literal["none", "off", "on", "always", "n/a"] | None
    thinking_how: Text = ""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    supports: Supports = Supports()
    price_input: Number | None
    price_output: Number | None
    price_note: Text = ""
    group: Literal["global", "japanese"] | None
    tag: Text = ""
    quantisation: Text = ""
    base_model: bool = False
    weights: Text = ""
    digest: Sha256 = ""
    description: Text = ""
    note: Text = ""


class ModelsFile(Schema):
    """The whole registry."""

    endpoints: dict[str, EndpointEntry]
    models: list[ModelEntry]


class Element(Lenient):
    """An element that a requirement lists, and the line of the prompt that carries it."""

    requirement: str = ""
    element: str = ""
    line: str = ""


class PromptFile(Schema):
    """One wording, ours or a user's (PROMPTS=); see `prompts.Prompt`. An empty text is as good as
    none.
    """

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
