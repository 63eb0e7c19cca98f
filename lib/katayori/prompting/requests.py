"""A request: what is asked of which model, the key under which its answer is kept; a response."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from katayori.errors import KatayoriError, expect
from katayori.prompting.models import NO_SERVER, UNKNOWN, Endpoint, Model, Server, abilities
from katayori.prompting.prompts import Prompt

#: The rules by which a request gets its seed (see `seed_for`); all new requests follow the last.
SEED_RULES = (1, 2)
SEED_RULE = SEED_RULES[-1]


@dataclass(slots=True)
class Request:
    """One question to one model.

    Not part of the key: `fields`, the item's row (for simulated respondents), and `answer_at` (see
    `Prompt`) and `continuations`, the item's columns that a likelihood request scores.
    """

    paper: str
    dataset: str
    item_id: str
    prompt_id: str
    prompt_hash: str
    variant: str
    model: str
    endpoint: str
    identity: str
    body: dict[str, Any]
    repetition: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    answer_at: str = "first"
    continuations: tuple[str, ...] = ()
    server: Server = NO_SERVER
    # Once worked out, since it is asked often.
    _key: str = field(default="", init=False, repr=False, compare=False)

    @property
    def one_token(self) -> bool:
        """Only one token is asked for: its probabilities answer, since there is no text to read."""
        return self.body.get("max_tokens") == 1

    @property
    def likelihood(self) -> bool:
        """Whether given continuations are to be scored; nothing is generated then."""
        return "continuations" in self.body

    @property
    def key(self) -> str:
        """sha256 of endpoint name, model identity, canonical body and repetition (golden test).

        Of a server of the user's own label or address follow, and the series if it is above 0.
        """
        if not self._key:
            import orjson

            parts = [self.endpoint, self.identity, self.body, self.repetition]
            parts += self.server.key_parts
            self._key = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return self._key


@dataclass(slots=True)
class Response:
    """What came back for one request. `top` is the answer position's [(token, logprob), ...], most
    likely first.
    """

    outcome: str
    text: str = ""
    finish_reason: str = ""
    top: list[tuple[str, float]] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model_answered: str = ""
    fingerprint: str = ""
    latency: float = 0.0
    attempts: int = 1
    error: str = ""
    created: float = 0.0


def seed_for(item_id: str, repetition: int = 0, *, identity: str = "", rule: int = 1) -> int:
    """A seed of its own for every item and repetition, from 0 to 2**31 - 1.

    Servers re-seed per request: one constant seed gives every prompt the same random draw, and
    sampled answers become a step function of P(yes). Rule 1 hashes item and repetition, so that two
    models share their draws; rule 2 hashes the model's `identity` before them. Rule 1 stays for
    what was recorded by it, all new requests follow rule 2.

    Raises KatayoriError for another rule, and for rule 2 without an identity.

        seed_for("q029-020-female-white")                              # 1950558536, of every model
        seed_for("q029-020-female-white", identity="0123", rule=2)     # of this model alone
    """
    if rule not in SEED_RULES:
        expect(str(rule), map(str, SEED_RULES), "seed rule")
    if rule == 1:
        text = f"{item_id}#{repetition}"
    elif identity:
        text = f"{identity}#{item_id}#{repetition}"
    else:
        raise KatayoriError("seed rule 2 needs the identity of the model")
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def seed_rule_of(request: Request) -> int:
    """The rule that a request's seed follows; 0 where it has none of its own.

    That is so of requests to APIs, with the paper's literal seed, and for a likelihood.
    """
    for rule in SEED_RULES:
        if request.body.get("seed") == _seed_of(request, rule):
            return rule
    return 0


def by_rule(request: Request, rule: int) -> Request:
    """The request with the seed of a rule; itself where it follows that rule, or none."""
    if seed_rule_of(request) in (0, rule):
        return request
    return replace(request, body=request.body | {"seed": _seed_of(request, rule)})


def _seed_of(request: Request, rule: int) -> int:
    return seed_for(request.item_id, request.repetition, identity=request.identity, rule=rule)


#: Sampling for local models: plain draws from the model's distribution. A truncated or sharpened
#: one (a common default) would turn the share of "yes" into a step function of P(yes) for small
#: models.
LOCAL_SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0}


def build_body(
    prompt: Prompt,
    model: Model,
    endpoint: Endpoint,
    item: Mapping[str, Any],
    repetition: int,
) -> dict[str, Any]:
    """Messages and settings of one request, fitted to what the endpoint supports.

    Local models get explicit sampling and a seed per item; API models get the paper's settings and
    their own defaults for the rest (DE-8). Fields an endpoint does not support (seed, logprobs) are
    left out (DE-9); a user's server of which nobody knows is asked for log probabilities, since
    only its answer can tell. A likelihood prompt has neither sampling nor seed: its body is the
    messages and the texts to be scored.
    """
    if prompt.kind == "likelihood":
        return _likelihood_body(prompt, item)
    settings = dict(prompt.settings)
    supports = abilities(model, endpoint)
    local = endpoint.kind == "local"
    literal = settings.get("seed") == "literal"
    if local:
        item_id = str(item["item_id"])
        seed = seed_for(item_id, repetition, identity=model.identity, rule=SEED_RULE)
        settings = LOCAL_SAMPLING | settings | {"seed": seed}
    if literal:
        settings["seed"] = 1
    if not supports.get("seed", True):
        settings.pop("seed", None)
    logprobs = supports.get("logprobs", True)
    if logprobs is None:  # rows of older stores were asked without
        logprobs = endpoint.own and endpoint.server.label != UNKNOWN
    if not logprobs:
        settings.pop("logprobs", None)
        settings.pop("top_logprobs", None)
    renamed = supports.get("max_tokens_field") or "max_tokens"
    if renamed != "max_tokens" and "max_tokens" in settings:
        settings[renamed] = settings.pop("max_tokens")
    if not local:
        settings |= model.extra_body
    if endpoint.kind == "completions" and settings.get("max_tokens", SHORT + 1) <= SHORT:
        settings.setdefault("stop", ["\n"])  # a base model would go on with a task of its own
    return {"messages": prompt.messages(**{k: str(v) for k, v in item.items()}), **settings}


def _likelihood_body(prompt: Prompt, item: Mapping[str, Any]) -> dict:
    """Messages and the item's texts to be scored. Raises KatayoriError where one is absent."""
    values = [item.get(column) for column in prompt.continuations]
    # NaN is the only value that differs from itself.
    texts = ["" if value is None or value != value else str(value) for value in values]
    for column, text in zip(prompt.continuations, texts, strict=True):
        if not text.strip():
            raise KatayoriError(
                f"prompt {prompt.id}: item {item.get('item_id')} has no text in column {column!r}"
            )
    messages = prompt.messages(**{k: str(v) for k, v in item.items()})
    return {"messages": messages, "continuations": texts}


#: Up to so many tokens a prompt expects a short answer, in one line.
SHORT = 32


def build(
    items: Iterable[Mapping[str, Any]],
    prompt: Prompt,
    model: Model,
    endpoint: Endpoint,
    *,
    dataset: str = "study",
    variant: str = "",
    repetitions: int | Sequence[int] = 1,
) -> list[Request]:
    """Requests for every item and repetition, in the given order.

    An item is a mapping with `item_id` and the prompt's places. A prompt with `per` is asked once
    each value of that column, which then is the item's id; one with `only`, of the items that have
    these values.
    `repetitions` says how many, or which ones. Seeds follow the newest rule (see `by_rule`).
    `variant="seed1"` asks with the paper's literal seed 1 instead of a seed per item (DE-8).
    """
    which = range(repetitions) if isinstance(repetitions, int) else repetitions
    asked = prompt
    if variant == "seed1":
        asked = replace(prompt, settings=prompt.settings | {"seed": "literal"})
    prompt_hash, identity = prompt.hash, model.identity  # worked out once, not for every request
    out = []
    items = [
        item for item in items if all(item.get(k) == value for k, value in prompt.only.items())
    ]
    if prompt.per != "item_id":
        items = {item[prompt.per]: {**item, "item_id": item[prompt.per]} for item in items}.values()
    for item in items:
        for n in which:
            body = build_body(asked, model, endpoint, item, n)
            request = Request(
                paper=prompt.paper,
                dataset=dataset,
                item_id=str(item["item_id"]),
                prompt_id=prompt.id,
                prompt_hash=prompt_hash,
                variant=variant,
                model=model.id,
                endpoint=endpoint.name,
                identity=identity,
                body=body,
                repetition=n,
                fields=item,
                answer_at=prompt.answer_at,
                continuations=tuple(prompt.continuations),
                server=endpoint.server,
            )
            out.append(request)
    return out
