"""The model registry: which models exist, where they are asked, what endpoints support."""

import hashlib
import os
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from katayori import paths
from katayori.data import files, paper_facts
from katayori.errors import KatayoriError, expect, nearest

#: Label and address of rows that a store of schema 1 holds: it did not know whose they were.
UNKNOWN = "unknown"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Server:
    """Which server of the user's own answers: a fifth and sixth part of the store key.

    `label` is what the user calls it (LABEL=); without one the normalised `address` tells servers
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


def normalised(url: str) -> str:
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


@dataclass(frozen=True)
class Endpoint:
    """Where requests go. `name` is part of the store key; limits and time-outs are not.

    Of a vendor's endpoint the address is no part of the key either; of the user's own it is, or
    the label in its place: see `at_server`, which fills in `server`.
    """

    name: str
    kind: str
    base_url: str = ""
    base_url_env: str = ""
    api_version_env: str = ""
    key_env: str = ""
    supports: dict[str, Any] = field(default_factory=dict)
    extra_prefill: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    own: bool = False
    server: Server = NO_SERVER

    def address(self, given: str = "") -> str:
        """The base URL (or the `given` one in its place), checked.

        Raises KatayoriError naming the variable to set, or that the server must be started.
        """
        url = given or os.environ.get(self.base_url_env or "-", "").strip() or self.base_url
        if not url and self.base_url_env:
            raise KatayoriError(
                f"endpoint {self.name} needs an address: set {self.base_url_env} to its base URL"
            )
        if not url:
            raise KatayoriError(
                f"endpoint {self.name} has no running server;"
                " `make live` and `make record` start one"
            )
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


#: What the papers' tables group models by, where the registry does not say it (a user's model).
UNREGISTERED = {"group": "unknown"}
#: What the registry says of every simulated respondent; which there are, the papers say.
SIMULATED: dict[str, Any] = {
    "name_in_paper": {},
    "papers": [],
    "endpoint": "simulated",
    "developer": "ours",
    "release_date": None,
    "size_b": None,
    "access": "open",
    "thinking": "n/a",
    "price_input": 0,
    "price_output": 0,
    "group": None,
}


@dataclass(frozen=True)
class Model:
    """One registry entry; `fields` holds what the papers' tables need (developer, release date,
    size ...).
    """

    id: str
    vendor_id: str
    endpoint: str
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What the store key holds: the weights' sha256 where we know it, else the id as asked."""
        return self.fields.get("digest") or self.vendor_id

    @property
    def simulated(self) -> bool:
        return self.endpoint == "simulated"


@cache
def registry() -> tuple[dict[str, Endpoint], dict[str, Model]]:
    """All endpoints and models of `data/models.yaml`, and the papers' simulated respondents."""
    from katayori.prompting.registry_schema import ModelsFile

    listed = files.read_as(ModelsFile, paths.registry("models.yaml"))
    endpoints, models = {}, {}
    for name, entry in listed.endpoints.items():
        fields = {
            key: value
            for key, value in entry.as_written().items()
            if key in Endpoint.__dataclass_fields__ and value is not None
        }
        endpoints[name] = Endpoint(name=name, **fields)
    for model in listed.models:
        asked_at = model.endpoint
        first = asked_at[0] if isinstance(asked_at, list) else asked_at
        vendor_id = model.vendor_id or model.id
        models[model.id] = Model(model.id, vendor_id, first, UNREGISTERED | model.as_written())
    for paper in paper_facts.every():
        for name, description in (paper.get("simulated") or {}).items():
            fields = UNREGISTERED | SIMULATED | {"id": name, "description": description}
            models[name] = Model(name, name, "simulated", fields | {"vendor_id": name})
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
    _, models = registry()
    name, _, endpoint = model_id.rpartition("@")
    if model_id in models:
        return models[model_id], get_endpoint(models[model_id].endpoint)
    if name in models:
        return replace(models[name], endpoint=endpoint), get_endpoint(endpoint)
    if name:
        model = Model(model_id, name, endpoint, dict(UNREGISTERED))
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
    address is enough to read the store. Where there is neither, raises KatayoriError naming the
    variable; with `needed=False` no stored answer is that server's.
    """
    if not endpoint.own or endpoint.server.own:
        return endpoint
    label = label_of(label)
    try:
        address = normalised(endpoint.address(base_url))
    except KatayoriError:
        if needed and not label:
            raise
        address = "" if label else "not named"
    if label == UNKNOWN:
        address = UNKNOWN
    return replace(endpoint, server=Server(label, address))


def can_score(model: Model, endpoint: Endpoint) -> bool:
    """Whether a model's endpoint can say how likely given continuations are."""
    supports = endpoint.supports | model.fields.get("supports", {})
    return supports.get("likelihood") is True
