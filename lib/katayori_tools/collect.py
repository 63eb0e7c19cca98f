"""The collector: many requests at once, within limits, one capped retry layer; interrupt and resume anywhere."""

import asyncio
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request
from katayori.prompting.store import Response, Store, batches
from katayori_tools.send import Sender

MAX_WAIT = 60.0  # seconds between two tries, unless the server asks for more
MAX_RETRY_AFTER = 600.0


@dataclass
class Summary:
    """What a run did: requests in all, already stored, asked now, by outcome; tokens, cost (None: price unknown).

    `cuts`: how often the number of requests at once was halved because the endpoint was overloaded.
    """

    total: int
    stored: int
    asked: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    stopped: str = ""
    cuts: int = 0


class RateLimit:
    """At most `per_minute` units in any 60 seconds, spread over the minute; None means no limit."""

    def __init__(self, per_minute: float | None):
        self.seconds = 60 / per_minute if per_minute else 0.0  # a unit takes
        self.next = 0.0

    async def wait(self, units: float = 1) -> None:
        start = max(time.monotonic(), self.next)
        self.next = start + units * self.seconds
        if (left := start - time.monotonic()) > 0:
            await asyncio.sleep(left)


class PacedSender(Sender):
    """A Sender that keeps to the limits of its endpoint and finds out how many requests at once it can carry.

    Requests under way are halved when the endpoint is overloaded, and grow by one with each round of answers: additive
    increase and multiplicative decrease, as TCP does it (D.-M. Chiu and R. Jain, Computer Networks and ISDN Systems 17
    (1989), 1-14). A request that waits before it is asked again is not under way.
    """

    def __init__(
        self, model: Model, endpoint: Endpoint, *, limit: int | None = None, **options: Any
    ):
        limits = limits_of(endpoint)
        super().__init__(model, endpoint, limit=limit or limits["concurrency"] or 16, **options)
        self.allowed, self.under_way, self.cuts = float(self.limit), 0, 0
        self.by_request, self.by_token = RateLimit(limits["rpm"]), RateLimit(limits["tpm"])

    async def send(self, request: Request) -> Response:
        import openai

        while self.under_way >= int(
            self.allowed
        ):  # only while fewer are allowed than the collector has slots
            await asyncio.sleep(0.02)
        self.under_way, cuts, tokens = self.under_way + 1, self.cuts, approximate_tokens(request)
        try:
            await self.by_request.wait()
            await self.by_token.wait(tokens)
            response = await super().send(request)
        except openai.APIStatusError as e:
            # 529 is one vendor's word for overloaded. What was sent before a cut tells nothing about it.
            if e.status_code in (429, 503, 529) and cuts == self.cuts:
                self.allowed, self.cuts = max(1.0, self.allowed / 2), cuts + 1
            raise
        finally:
            self.under_way -= 1
        self.allowed = min(self.limit, self.allowed + 1 / self.allowed)
        used = (response.prompt_tokens or tokens) + (response.completion_tokens or 0)
        self.by_token.next += (
            used - tokens
        ) * self.by_token.seconds  # those beyond what it waited for
        return response


def limits_of(endpoint: Endpoint) -> dict[str, int | None]:
    """Requests at once (`concurrency`) and requests and tokens a minute (`rpm`, `tpm`); None where unlimited.

    They depend on the account: the variables KATAYORI_RPM_<ENDPOINT> and so on come before data/models.yaml.
    """
    limits = {}
    for name in ("concurrency", "rpm", "tpm"):
        variable = f"KATAYORI_{name}_{endpoint.name}".upper().replace("-", "_")
        given = os.environ.get(variable, "").strip()
        if given and not (given.isdecimal() and int(given)):
            raise KatayoriError(f"{variable} must be a whole number above 0, not {given!r}")
        limits[name] = int(given) if given else endpoint.limits.get(name)
    return limits


def approximate_tokens(request: Request) -> int:
    """Rough count of input tokens: 4 characters each in Latin script, 1 each in Japanese."""
    text = "".join(m["content"] for m in request.body["messages"])
    wide = (
        len(text.encode()) - len(text)
    ) // 2  # UTF-8 takes three bytes for a Japanese character, one for a Latin
    return wide + (len(text) - wide) // 4 + 8


def cost_of(model: Model, prompt_tokens: int, completion_tokens: int) -> float | None:
    """US dollars from the registry's prices per million tokens; None where a price is unknown."""
    if model.endpoint == "simulated" or model.endpoint.startswith("local"):
        return 0.0
    price_in, price_out = model.fields.get("price_input"), model.fields.get("price_output")
    if price_in is None or price_out is None:
        return None
    return (prompt_tokens * price_in + completion_tokens * price_out) / 1e6


def _wait_before_retry(sender: Sender, error: Exception, attempt: int) -> float:
    """Seconds: what the server asks for, in any form the client reads (None, or NaN, elsewhere), or our back-off."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    asked = sender.client._parse_retry_after_header(headers) or 0
    backoff = min(MAX_WAIT, 0.5 * 2**attempt) * (0.5 + random.random() / 2)
    return min(MAX_RETRY_AFTER, max(backoff, asked))


async def ask_one(
    sender: Sender, request: Request, *, retries: int = 6, sleep: Callable = asyncio.sleep
) -> Response:
    """Ask with retries, the only layer of them. Failures become Responses with outcome `error` or `filtered` and cause.

    The waits of one request add up to at most `retries` times `MAX_RETRY_AFTER` (`MAX_WAIT`, where no server asks).
    Raises KatayoriError where every request would fail alike (key refused, model or address unknown).
    """
    import openai

    for attempt in count():
        try:
            response = await sender.send(request)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as e:
            hint = f" (key from {sender.endpoint.key_env})" if sender.endpoint.key_env else ""
            raise KatayoriError(
                f"{sender.endpoint.name} refused the key{hint}: status {e.status_code}"
            ) from None
        except openai.NotFoundError:
            said = f"{sender.endpoint.name} knows no model {sender.model.vendor_id!r}"
            raise KatayoriError(f"{said} (404): check its name and the base URL") from None
        except openai.BadRequestError as e:
            filtered = "content_filter" in str(e) or "content management policy" in str(e)
            response = Response("filtered" if filtered else "error", error=str(e)[:300])
        except (openai.APIError, ValueError) as e:
            status = getattr(
                e, "status_code", 500
            )  # a broken connection or answer is the server's trouble, too
            if attempt < retries and (status in (408, 409, 429) or status >= 500):
                await sleep(_wait_before_retry(sender, e, attempt))
                continue
            response = Response("error", error=f"{type(e).__name__}: {e}"[:300])
        response.attempts = attempt + 1
        return response


async def collect(
    requests: Iterable[Request],
    model: Model,
    endpoint: Endpoint,
    store: Store,
    *,
    base_url: str = "",
    concurrency: int | None = None,
    budget: float | None = None,
    retries: int = 6,
    timeout: float = 600,
    progress: bool = True,
) -> Summary:
    """Ask what the store does not hold yet; every answer is written before its slot asks the next.

    `requests` that are no list are drawn as they are asked, so that a million need little memory.
    `budget` (US dollars) stops the run cleanly when reached, or before it starts where no price is known.
    A run that is interrupted, or killed, loses at most the answers in flight; calling again continues it. Another
    process that is asking the same model for the same store is waited for: nothing is asked twice.

    Raises KatayoriError where no request can succeed; what was answered before stays in the store.
    """
    summary, asking, failures = Summary(0, 0, cost=cost_of(model, 0, 0)), set(), 0

    def draw() -> Iterator[Request]:
        for batch in [requests] if isinstance(requests, Sequence) else batches(requests):
            left = [r for r in store.pending(batch) if r.key not in asking]
            summary.total += len(batch)
            summary.stored += len(batch) - len(left)
            forced = next((r for r in left if r.body["messages"][-1]["role"] == "assistant"), None)
            if forced and not (endpoint.supports | model.fields.get("supports", {})).get("prefill"):
                raise KatayoriError(
                    f"{endpoint.name} cannot force the start of an answer (prompt {forced.prompt_id})"
                )
            yield from left

    started = shown = time.monotonic()

    async def work(sender: Sender) -> None:
        nonlocal failures, shown
        while not summary.stopped:
            if budget is not None and (summary.cost or 0) >= budget:
                summary.stopped = f"spending limit of ${budget:g} reached"
                return
            if (request := next(pending, None)) is None:
                return
            asking.add(request.key)
            response = await ask_one(sender, request, retries=retries)
            store.put(request, response)
            asking.discard(request.key)
            summary.asked += 1
            summary.outcomes[response.outcome] = summary.outcomes.get(response.outcome, 0) + 1
            if (
                response.outcome != "error" or response.completion_tokens
            ):  # without usage the cost is estimated
                summary.prompt_tokens += response.prompt_tokens or approximate_tokens(request)
                summary.completion_tokens += (
                    response.completion_tokens or len(response.text) // 2 + 1
                )
            summary.cost = cost_of(model, summary.prompt_tokens, summary.completion_tokens)
            failures = failures + 1 if response.outcome == "error" else 0
            if failures >= 20:
                raise KatayoriError(
                    f"{endpoint.name}: 20 failures in a row, the last: {response.error}"
                )
            if progress and time.monotonic() - shown > 5:
                shown = time.monotonic()
                print(_progress_line(summary, model, started), file=sys.stderr, flush=True)

    while not (alone := store.alone(f"{endpoint.name} {model.identity}")):
        if progress and time.monotonic() >= shown:
            shown += 60
            print(
                f"{model.id}: another process is asking it for this store; waiting",
                file=sys.stderr,
                flush=True,
            )
        await asyncio.sleep(1)
    with alone:
        pending = draw()
        if (first := next(pending, None)) is None:
            return summary
        if budget is not None and summary.cost is None:
            raise KatayoriError(
                f"no price is known for {model.id}: a spending limit cannot be kept (data/models.yaml)"
            )
        pending = chain([first], pending)
        async with PacedSender(
            model, endpoint, base_url=base_url, timeout=timeout, limit=concurrency
        ) as sender:
            tasks = [asyncio.create_task(work(sender)) for _ in range(sender.limit)]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                summary.seconds, summary.cuts = time.monotonic() - started, sender.cuts
    if progress:
        print(_progress_line(summary, model, started), file=sys.stderr, flush=True)
    return summary


def _progress_line(summary: Summary, model: Model, started: float) -> str:
    seconds = max(time.monotonic() - started, 1e-9)
    rate, left = summary.asked / seconds, summary.total - summary.stored - summary.asked
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    eta = f"{left / rate / 60:.1f} min left" if rate else "no rate yet"
    outcomes = " ".join(f"{k} {v}" for k, v in sorted(summary.outcomes.items()))
    return f"{model.id}: {summary.stored + summary.asked}/{summary.total}  {rate:.1f}/s  {eta}  {cost}  [{outcomes}]"


def collect_sync(*args: Any, **kwargs: Any) -> Summary:
    """`collect` for scripts, callbacks and cells, in a thread with a loop of its own.

    An interrupt stops the run, which keeps what was answered.
    """
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal:
        return portal.call(lambda: collect(*args, **kwargs))
