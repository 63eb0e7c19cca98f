"""The model registry: which models exist, where they are asked, and what their endpoints support."""

import os
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from katayori.data import files
from katayori.errors import KatayoriError, expect


@dataclass(frozen=True)
class Endpoint:
    """Where requests go. `name` is part of the store key; address, limits and time-outs are not."""

    name: str
    kind: str
    base_url: str = ""
    base_url_env: str = ""
    api_version_env: str = ""
    key_env: str = ""
    supports: dict[str, Any] = field(default_factory=dict)
    extra_prefill: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)

    def key(self) -> str:
        """The API key from the environment. Raises KatayoriError naming the variable, never its value."""
        if not self.key_env:
            return "none"
        key = os.environ.get(self.key_env, "").strip()
        if not key and self.key_env != "KATAYORI_API_KEY":  # a server of one's own may need none
            raise KatayoriError(
                f"endpoint {self.name} needs a key: set the environment variable {self.key_env}"
            )
        if not (key.isascii() and key.isprintable()):
            raise KatayoriError(f"{self.key_env} holds characters that no key has; set it again")
        return key or "none"

    def address(self, given: str = "") -> str:
        """The base URL (or the `given` one in its place), checked.

        Raises KatayoriError naming the variable to set, or that the server must be started.
        """
        url = given or self.base_url or os.environ.get(self.base_url_env or "-", "")
        if not url and self.base_url_env:
            raise KatayoriError(
                f"endpoint {self.name} needs an address: set {self.base_url_env} to its base URL"
            )
        if not url:
            raise KatayoriError(
                f"endpoint {self.name} has no running server; `make live` and `make record` start one"
            )
        try:
            parts = urlsplit(url)
            right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # a port that is no number
            right = False
        if not right:
            said = f"the base URL of endpoint {self.name} must begin with http:// or https://"
            raise KatayoriError(f"{said} and look like http://host:8000/v1, not {url!r}")
        return url


#: What the papers' tables group models by, where the registry does not say it (a user's model).
UNKNOWN = {"group": "unknown"}


@dataclass(frozen=True)
class Model:
    """One registry entry; `fields` holds what the papers' tables need (developer, release date, size ...)."""

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
    """All endpoints and models of `data/models.yaml`."""
    raw = files.ours("models.yaml")
    endpoints, models = {}, {}
    for name, e in raw["endpoints"].items():
        known = {k: v for k, v in e.items() if k in Endpoint.__dataclass_fields__ and v is not None}
        endpoints[name] = Endpoint(name=name, **known)
    for m in raw["models"]:
        first = m["endpoint"][0] if isinstance(m["endpoint"], list) else m["endpoint"]
        models[m["id"]] = Model(m["id"], m.get("vendor_id") or m["id"], first, UNKNOWN | m)
    return endpoints, models


def get_endpoint(name: str) -> Endpoint:
    """Endpoint by name; KatayoriError naming the valid ones."""
    endpoints, _ = registry()
    expect(name, endpoints, "endpoint")
    return endpoints[name]


def get_model(model_id: str) -> tuple[Model, Endpoint]:
    """A model and its endpoint. `name@endpoint` asks any model of a registered endpoint, e.g. `my-model@custom`.

    Raises KatayoriError naming the valid ids.
    """
    _, models = registry()
    name, _, endpoint = model_id.rpartition("@")
    if model_id in models:
        return models[model_id], get_endpoint(models[model_id].endpoint)
    if name:
        known = models.get(name)
        model = (
            Model(known.id, known.vendor_id, endpoint, known.fields)
            if known
            else Model(model_id, name, endpoint, dict(UNKNOWN))
        )
        return model, get_endpoint(endpoint)
    free = f"or name@endpoint with an endpoint of {', '.join(registry()[0])}"
    raise KatayoriError(f"unknown model {model_id!r}; known: {', '.join(models)}; {free}")
