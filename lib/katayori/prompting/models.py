"""The model registry: which models exist, where they are asked, what endpoints support."""

import hashlib
import os
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from katayori import paths
from katayori.data import files, paper_facts
from katayori.errors import KatayoriError, UnavailableError, expect, nearest

#: Label and address of rows that a store of schema 1 holds: it did not know whose they were.
UNKNOWN = "unknown"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Server:
    """Which server of the user's own answers: a fifth and sixth part of the store key.

    `label` is what the user calls it (LABEL=); without one the _normalised `address` tells servers
    apart. `series` counts how often everything was asked anew (FRESH=1). Vendors have neither.
    """

    label: str = ""
    address: str = ""
    series: int = 0

    @property
    def own(self) -> bool:
        """Whether this is a server of the user's own."""
        return bool(self.label or self.address)

    @property
    def identity(self) -> tuple[str, str]:
        """What tells servers apart, whatever the series: the label, else the address."""
        return (self.label, "") if self.label else ("", self.address)

    @property
    def key_parts(self) -> list[str | int]:
        """What follows the four parts of a key; nothing for vendors and older stores."""
        name = self.label or self.address
        if self.series:
            return [name, self.series]
        return [name] if name and name != UNKNOWN else []

    @property
    def shown(self) -> str:
        """How reports and listings name it: the label, or a hash in place of the address."""
        if self.label or not self.address:
            return self.label
        return UNKNOWN if self.address == UNKNOWN else f"own server {digest_of(self.address)}"


#: Of requests to vendors and to local engines.
NO_SERVER = Server()


def digest_of(address: str) -> str:
    """Eight hex digits that stand for an address where it must not be seen."""
    return hashlib.sha256(address.encode()).hexdigest()[:8]


def _normalised(url: str) -> str:
    """An address in the one form that keys use, without user, password and query.

    Scheme and host in lower case, the port always there, no slash at the end of the path; all
    names of this machine are one.
    """
    parts = urlsplit(url.strip())
    scheme, host = parts.scheme.lower(), (parts.hostname or "").rstrip(".")
    if host in LOOPBACK:
        host = "127.0.0.1"
    if ":" in host:
        host = f"[{host}]"
    return f"{scheme}://{host}:{parts.port or DEFAULT_PORT[scheme]}{parts.path.rstrip('/')}"


#: What an endpoint or a model may be able to do, and whether it is, or how much; null is unknown.
Ability = Literal["seed", "logprobs", "top_logprobs_max", "prefill", "system_role", "likelihood"]
Supports = dict[
    Ability | Literal["max_tokens_field"],
    bool | int | Literal["max_tokens", "max_completion_tokens"] | None,
]


@dataclass(frozen=True)
class Endpoint:
    """Where requests go: a block of data/models.yaml, whose head says what the fields mean.

    `name` is part of the store key; limits and time-outs are not. Of a vendor's endpoint the
    address is no part of the key either; of the user's own it is, or the label in its place: see
    `at_server`, which fills in `server`.
    """

    name: str
    kind: Literal["openai_compatible", "completions", "azure", "local", "simulated"]
    base_url: str | None = None
    base_url_env: str = ""
    api_version_env: str = ""
    key_env: str | None = None
    supports: Supports = field(default_factory=dict)
    extra_prefill: dict[str, Any] = field(default_factory=dict)
    limits: dict[Literal["concurrency", "rpm", "tpm"], int | None] = field(default_factory=dict)
    own: bool = False
    note: str = ""
    server: Server = NO_SERVER

    def address(self, given: str = "") -> str:
        """The base URL (or the `given` one in its place), checked.

        Raises UnavailableError where there is none, naming the variable to set or that the server
        must be started, and KatayoriError for what is no address.
        """
        url = given or os.environ.get(self.base_url_env or "-", "").strip() or self.base_url
        if not url:
            remedy = f"needs an address: set {self.base_url_env} to its base URL"
            if not self.base_url_env:
                remedy = "has no running server; `make live` and `make record` start one"
            raise UnavailableError(f"endpoint {self.name} {remedy}")
        try:
            parts = urlsplit(url)
            right = parts.scheme.lower() in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # a port that is no number
            right = False
        if not right:
            cause = f"the base URL of endpoint {self.name} must begin with http:// or https://"
            raise KatayoriError(f"{cause} and look like http://host:8000/v1, not {url!r}")
        if parts.username or parts.password:  # not repeated here: it holds a secret
            key = self.key_env or "the server's own settings"
            raise KatayoriError(
                f"the base URL of endpoint {self.name} holds a user or a password;"
                f" leave them out, a key belongs into {key}"
            )
        return url


@dataclass(frozen=True)
class Model:
    """An entry of data/models.yaml, whose head says what the fields mean; null is unknown."""

    id: str
    vendor_id: str
    endpoint: str
    name_in_paper: dict[str, str] = field(default_factory=dict)
    papers: list[str] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    developer: str = ""
    release_date: str | None = None
    size_b: int | float | None = None
    access: Literal["closed", "open"] | None = None
    thinking: Literal["none", "off", "on", "always", "n/a"] | None = None
    thinking_how: str = ""
    extra_body: dict[str, Any] = field(default_factory=dict)
    supports: Supports = field(default_factory=dict)
    price_input: int | float | None = None
    price_output: int | float | None = None
    price_note: str = ""
    group: Literal["global", "japanese"] | None = None
    tag: str = ""
    quantisation: str = ""
    base_model: bool = False
    weights: str = ""
    digest: str = ""
    description: str = ""
    note: str = ""

    @property
    def identity(self) -> str:
        """What the store key holds: the weights' sha256 where we know it, else the id as asked."""
        return self.digest or self.vendor_id

    @property
    def simulated(self) -> bool:
        return self.endpoint == "simulated"


@dataclass(frozen=True)
class ModelsFile:
    """data/models.yaml: endpoints by name, and models."""

    endpoints: dict[str, dict[str, Any]]
    models: list[dict[str, Any]]


@cache
def registry() -> tuple[dict[str, Endpoint], dict[str, Model]]:
    """All endpoints and models of `data/models.yaml`, and the papers' simulated respondents."""
    from katayori.data.schema import checked

    file = paths.registry("models.yaml")
    listed, where = files.read_as(ModelsFile, file), f"data file {file.name}"
    endpoints = {
        name: checked(Endpoint, {"name": name} | block, f"{where}, endpoint {name}")
        for name, block in listed.endpoints.items()
    }
    models = {}
    for entry in listed.models:
        name, asked_at = entry.get("id"), entry.get("endpoint")
        given = entry | {"vendor_id": entry.get("vendor_id") or name}
        if isinstance(asked_at, list):
            given["endpoint"] = asked_at[0]
        model = checked(Model, given, f"{where}, model {name}")
        models[model.id] = model
    for paper in paper_facts.every():
        for name, what in (paper.get("simulated") or {}).items():
            models[name] = Model(
                name,
                name,
                "simulated",
                access="open",
                price_input=0,
                price_output=0,
                description=what,
            )
    return endpoints, models


def get_endpoint(name: str) -> Endpoint:
    """Endpoint by name; KatayoriError naming the valid ones."""
    endpoints, _ = registry()
    expect(name, endpoints, "endpoint")
    return endpoints[name]


def get_model(model_id: str) -> tuple[Model, Endpoint]:
    """A model and its endpoint. `name@endpoint` asks any model of a registered endpoint, e.g.
    `my-model@custom`.

    Which server of the user's own it is, is not known yet: see `at_server`. Raises KatayoriError
    naming the ids most like it.
    """
    if model_id.encode(errors="replace").decode() != model_id:
        raise KatayoriError(f"the model's name {model_id!a} is not UTF-8, and could not be stored")
    _, models = registry()
    name, _, endpoint = model_id.rpartition("@")
    if model_id in models:
        return models[model_id], get_endpoint(models[model_id].endpoint)
    if name in models:
        return replace(models[name], endpoint=endpoint), get_endpoint(endpoint)
    if name:
        model = Model(model_id, name, endpoint)
        return model, get_endpoint(endpoint)
    free = f"or name@endpoint with an endpoint of {', '.join(registry()[0])}"
    near = f"nearest in data/models.yaml: {nearest(model_id, models)}"
    raise KatayoriError(f"unknown model {model_id!r}; {near}; {free}")


def label_of(given: str = "") -> str:
    """The label of the user's server, given or from KATAYORI_LABEL.

    Raises KatayoriError for what could be taken for an address, or cannot be shown in one line.
    """
    label = (given or os.environ.get("KATAYORI_LABEL", "")).strip()
    if "://" in label or len(label) > 80 or not label.isprintable():
        raise KatayoriError(
            f"LABEL={label[:80]!r} must be a short name in one line, such as my-checkpoint-3"
        )
    return label


def at_server(
    endpoint: Endpoint, *, base_url: str = "", label: str = "", needed: bool = True
) -> Endpoint:
    """The endpoint with its `server`: the label, else the address, given or from the environment.

    Vendors' endpoints, and one whose server is known, are returned as they are. A label without an
    address is enough to read the store. Where there is neither, raises UnavailableError naming the
    variable; with `needed=False` no stored answer is that server's. KatayoriError for what is no
    address.
    """
    if not endpoint.own or endpoint.server.own:
        return endpoint
    label = label_of(label)
    try:
        address = _normalised(endpoint.address(base_url))
    except UnavailableError:
        if needed and not label:
            raise
        address = "" if label else "not named"
    if label == UNKNOWN:
        address = UNKNOWN
    return replace(endpoint, server=Server(label, address))


def abilities(model: Model, endpoint: Endpoint) -> dict[Any, Any]:
    """What an endpoint supports, with the exceptions of one model."""
    return {**endpoint.supports, **model.supports}


def can_score(model: Model, endpoint: Endpoint) -> bool:
    """Whether a model's endpoint can say how likely given continuations are."""
    return abilities(model, endpoint).get("likelihood") is True
