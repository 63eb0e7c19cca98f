"""What stands in data/models.yaml; the head of that file says what each field means."""

from typing import Any, Literal

from pydantic import Field

from katayori.data.schema import Count, Number, Schema, Sha256, Text

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
