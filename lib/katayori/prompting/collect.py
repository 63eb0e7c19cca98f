"""The collector: many requests at once, within limits, one capped retry layer; interrupt and resume anywhere."""

import asyncio
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request
from katayori.prompting.send import Sender
from katayori.prompting.store import Response, Store, batches

MAX_WAIT = 60.0  # seconds between two tries, unless the server asks for more
MAX_RETRY_AFTER = 600.0
OVERLOADED = (429, 503, 529)  # the endpoint asks for fewer requests (529: one vendor's word for overloaded)


@dataclass
class Summary:
    """What a run did: requests in all, already stored, asked now, by outcome; tokens, cost (None: price unknown).

    `causes` counts what went wrong or looked odd by its first words, `cuts` how often the concurrency was halved.
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
    causes: dict[str, int] = field(default_factory=dict)
    cuts: int = 0


class RateLimit:
    """At most `per_minute` units in any 60 seconds, spread over the minute; None means no limit."""

    def __init__(self, per_minute: float | None):
        self.per_minute = per_minute
        self._at = 0.0

    async def wait(self, units: float = 1) -> None:
        if not self.per_minute:
            return
        now = time.monotonic()
        start = max(now, self._at)
        self._at = start + 60 * units / self.per_minute
        if start > now:
            await asyncio.sleep(start - now)

    def charge(self, units: float) -> None:
        """Units that a request took beyond those it waited for (fewer, if negative)."""
        if self.per_minute:
            self._at += 60 * units / self.per_minute


class Slots:
    """How many requests may be under way: halved when the endpoint is overloaded, one more after each round of answers.

    Additive increase and multiplicative decrease, as TCP does it (D.-M. Chiu and R. Jain, Computer Networks and ISDN
    Systems 17 (1989), 1-14).
    """

    def __init__(self, most: int):
        self.most, self.allowed, self.taken, self.cuts = most, float(most), 0, 0
        self._waiting: deque[asyncio.Future] = deque()

    async def take(self) -> int:
        """Wait for a slot. Returns the number of cuts so far, for `give_back`."""
        while self.taken >= int(self.allowed):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self.taken += 1
        return self.cuts

    def give_back(self, cuts: int, status: int) -> None:
        """Free a slot; `status` is that of the reply, 0 where there was none."""
        self.taken -= 1
        if status == 200:
            self.allowed = min(self.most, self.allowed + 1 / self.allowed)
        elif status in OVERLOADED and cuts == self.cuts:  # what was sent before a cut tells nothing about it
            self.allowed, self.cuts = max(1.0, self.allowed / 2), cuts + 1
        for _ in range(min(len(self._waiting), int(self.allowed) - self.taken)):
            if not (turn := self._waiting.popleft()).done():
                turn.set_result(None)


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
    wide = (len(text.encode()) - len(text)) // 2  # UTF-8 takes three bytes for a Japanese character, one for a Latin
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
    sender: Sender, request: Request, *, retries: int = 6, sleep: Callable = asyncio.sleep, send: Callable | None = None
) -> Response:
    """Ask with retries, the only layer of them. Failures become Responses with outcome `error` or `filtered` and cause.

    One request waits at most `retries` times `MAX_RETRY_AFTER` (or `MAX_WAIT`, where the server asks for no wait).
    `send` is called in place of the sender's own.
    Raises KatayoriError where every request would fail alike (key refused, no credit, model or address unknown).
    """
    import openai

    for attempt in count():
        try:
            response = await (send or sender.send)(request)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as e:
            hint = f" (key from {sender.endpoint.key_env})" if sender.endpoint.key_env else ""
            raise KatayoriError(f"{sender.endpoint.name} refused the key{hint}: status {e.status_code}") from None
        except openai.NotFoundError:
            said = f"{sender.endpoint.name} knows no model {sender.model.vendor_id!r}"
            raise KatayoriError(f"{said} (404): check its name and the base URL") from None
        except openai.BadRequestError as e:
            filtered = "content_filter" in str(e) or "content management policy" in str(e)
            response = Response("filtered" if filtered else "error", error=str(e)[:300])
        except (openai.APIError, ValueError) as e:
            if "insufficient_quota" in str(e):  # comes as 429, but no waiting helps
                raise KatayoriError(f"{sender.endpoint.name} says that the account has no credit left") from None
            status = getattr(e, "status_code", 500)  # a broken connection or answer is the server's trouble, too
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
    A run that is interrupted, or killed, loses at most the answers in flight; calling again continues it. What another
    process asks of the same store at the same time is left to it.

    Raises KatayoriError where no request can succeed; what was answered before stays in the store.
    """
    import openai

    summary = Summary(0, 0, cost=cost_of(model, 0, 0))
    can_force = (endpoint.supports | model.fields.get("supports", {})).get("prefill")

    def draw() -> Iterator[Request]:
        for batch in [requests] if isinstance(requests, Sequence) else batches(requests):
            left = store.pending(batch)
            summary.total += len(batch)
            summary.stored += len(batch) - len(left)
            forced = next((r for r in left if r.body["messages"][-1]["role"] == "assistant"), None)
            if forced and not can_force:
                said = f"endpoint {endpoint.name} cannot force the start of an answer"
                raise KatayoriError(f"{said} (prompt {forced.prompt_id})")
            yield from left

    pending, elsewhere = draw(), deque[Request]()  # the latter are being asked by another process
    if (first := next(pending, None)) is None:
        return summary
    if budget is not None and summary.cost is None:
        raise KatayoriError(f"no price is known for {model.id}: a spending limit cannot be kept (data/models.yaml)")
    pending = chain([first], pending)
    limits = limits_of(endpoint)
    concurrency = concurrency or limits["concurrency"] or 16
    slots, by_request, by_token = Slots(concurrency), RateLimit(limits["rpm"]), RateLimit(limits["tpm"])
    started, failures = time.monotonic(), 0
    shown = started

    async def paced(sender: Sender, request: Request) -> Response:
        """`send` within the limits. A request that waits before it is asked again holds no slot."""
        status, cuts = 0, await slots.take()
        try:
            tokens = approximate_tokens(request) if limits["tpm"] else 0
            await by_request.wait()
            await by_token.wait(tokens)
            response = await sender.send(request)
            status = 200
            by_token.charge((response.prompt_tokens or tokens) + (response.completion_tokens or 0) - tokens)
            return response
        except openai.APIStatusError as e:
            status = e.status_code
            raise
        finally:
            slots.give_back(cuts, status)

    async def work(sender: Sender) -> None:
        nonlocal failures, shown
        while not summary.stopped:
            if budget is not None and (summary.cost or 0) >= budget:
                summary.stopped = f"spending limit of ${budget:g} reached"
                return
            request = next(pending, None) or (elsewhere.popleft() if elsewhere else None)
            if request is None:
                return
            if not store.claim(request):
                if store.pending([request]):
                    elsewhere.append(request)
                    await asyncio.sleep(0.2)
                else:
                    summary.stored += 1
                continue
            try:
                response = await ask_one(sender, request, retries=retries, send=partial(paced, sender))
                store.put(request, response)
            finally:
                store.release(request)
            summary.asked += 1
            summary.outcomes[response.outcome] = summary.outcomes.get(response.outcome, 0) + 1
            if response.error:
                cause = response.error.partition(":")[0][:100]
                summary.causes[cause] = summary.causes.get(cause, 0) + 1
            if response.outcome != "error" or response.completion_tokens:  # without usage the cost is estimated
                summary.prompt_tokens += response.prompt_tokens or approximate_tokens(request)
                summary.completion_tokens += response.completion_tokens or len(response.text) // 2 + 1
            summary.cost = cost_of(model, summary.prompt_tokens, summary.completion_tokens)
            failures = failures + 1 if response.outcome == "error" else 0
            if failures >= 20:
                raise KatayoriError(f"{endpoint.name}: 20 failures in a row, the last: {response.error}")
            if progress and time.monotonic() - shown > 5:
                shown = time.monotonic()
                print(_progress_line(summary, model, started), file=sys.stderr, flush=True)

    async with Sender(model, endpoint, base_url=base_url, timeout=timeout, limit=concurrency) as sender:
        tasks = [asyncio.create_task(work(sender)) for _ in range(concurrency)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            summary.seconds, summary.cuts = time.monotonic() - started, slots.cuts
    if progress:
        print(_progress_line(summary, model, started), file=sys.stderr, flush=True)
    return summary


def _progress_line(summary: Summary, model: Model, started: float) -> str:
    seconds = max(time.monotonic() - started, 1e-9)
    rate, left = summary.asked / seconds, summary.total - summary.stored - summary.asked
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    eta = f"{left / rate / 60:.1f} min left" if rate else "no rate yet"
    outcomes = " ".join(f"{k} {v}" for k, v in sorted({**summary.outcomes, **summary.causes}.items()))
    return f"{model.id}: {summary.stored + summary.asked}/{summary.total}  {rate:.1f}/s  {eta}  {cost}  [{outcomes}]"


def collect_sync(*args: Any, **kwargs: Any) -> Summary:
    """`collect` for scripts, callbacks and cells, in a thread with a loop of its own.

    An interrupt stops the run, which keeps what was answered.
    """
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal:
        return portal.call(partial(collect, *args, **kwargs))
