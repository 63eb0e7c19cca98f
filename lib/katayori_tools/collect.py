"""The collector: many requests at once, within limits, one capped retry layer.

It can be interrupted and resumed anywhere.
"""

import asyncio
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait as wait_for
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import IO, Any

from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model, abilities, digest_of
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import batches
from katayori_tools.answer_store import Store
from katayori_tools.likelihood import check_can_score
from katayori_tools.send import Sender, ServerError, failed, retry_after

MAX_WAIT = 60.0  # seconds between two tries, unless the server asks for more
MAX_RETRY_AFTER = 600.0
LONG_WAIT = 30.0  # seconds; a longer wait that a server asks for is said on the screen
GRACE = 10.0  # seconds that requests under way have after an interrupt
TICK = 5.0  # seconds between two lines of progress


@dataclass
class Summary:
    """What a run did: requests in all, already stored, asked now, by outcome; tokens and cost.

    A cost of None: the price is unknown.
    `cuts`: how often the number of requests at once was halved because the endpoint was overloaded.
    `refuses_logprobs`: in which words a user's server refused to return log probabilities.
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
    refuses_logprobs: str = ""


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
    """A Sender that keeps to the limits of its endpoint.

    It finds out how many requests at once the endpoint can carry. Requests under way are halved
    when the endpoint is overloaded, and grow by one with each round of answers: additive increase
    and multiplicative decrease, as TCP does it (D.-M. Chiu and R. Jain, Computer Networks and ISDN
    Systems 17 (1989), 1-14). A request that waits before it is asked again is not under way.
    """

    def __init__(
        self, model: Model, endpoint: Endpoint, *, limit: int | None = None, **options: Any
    ):
        limits = limits_of(endpoint)
        super().__init__(model, endpoint, limit=limit or limits["concurrency"] or 16, **options)
        self.allowed, self.under_way, self.cuts = float(self.limit), 0, 0
        self.by_request, self.by_token = RateLimit(limits["rpm"]), RateLimit(limits["tpm"])
        self.on_the_wire: set[asyncio.Task | None] = set()

    async def send(self, request: Request) -> Response:
        import openai

        while self.under_way >= int(
            self.allowed
        ):  # only while fewer are allowed than the collector has slots
            await asyncio.sleep(0.02)
        self.under_way, cuts, tokens = self.under_way + 1, self.cuts, approximate_tokens(request)
        task = asyncio.current_task()
        try:
            await self.by_request.wait()
            await self.by_token.wait(tokens)
            self.on_the_wire.add(task)
            response = await super().send(request)
        except (openai.APIStatusError, ServerError) as e:
            # 529 is one vendor's word for overloaded. What was sent before a cut tells nothing
            # about it.
            if e.status_code in (429, 503, 529) and cuts == self.cuts:
                self.allowed, self.cuts = max(1.0, self.allowed / 2), cuts + 1
            raise
        finally:
            self.under_way -= 1
            self.on_the_wire.discard(task)
        self.allowed = min(self.limit, self.allowed + 1 / self.allowed)
        used = (response.prompt_tokens or tokens) + (response.completion_tokens or 0)
        self.by_token.next += (
            used - tokens
        ) * self.by_token.seconds  # those beyond what it waited for
        return response


def limits_of(endpoint: Endpoint) -> dict[str, int | None]:
    """Requests at once (`concurrency`) and requests and tokens a minute (`rpm`, `tpm`).

    None where unlimited. They depend on the account: the variables KATAYORI_RPM_<ENDPOINT> and so
    on come before data/models.yaml.
    """
    limits = {}
    for name in ("concurrency", "rpm", "tpm"):
        variable = f"KATAYORI_{name}_{endpoint.name}".upper().replace("-", "_")
        given = os.environ.get(variable, "").strip()
        if given and not (given.isdecimal() and int(given)):
            raise KatayoriError(f"{variable} must be a whole number above 0, not {given!r}")
        limit = int(given) if given else endpoint.limits.get(name)
        if limit is not None and limit < 1:
            raise KatayoriError(f"{name} of endpoint {endpoint.name} must be above 0, not {limit}")
        limits[name] = limit
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
    price_in, price_out = model.price_input, model.price_output
    if price_in is None or price_out is None:
        return None
    return (prompt_tokens * price_in + completion_tokens * price_out) / 1e6


def _wait_before_retry(sender: Sender, error: Exception, attempt: int) -> float:
    """Seconds: what the server asks for (see `retry_after`), or our back-off."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    asked = retry_after(headers)
    backoff = min(MAX_WAIT, 0.5 * 2**attempt) * (0.5 + random.random() / 2)
    wait = min(MAX_RETRY_AFTER, max(backoff, asked))
    if asked > LONG_WAIT:
        sender.announce("wait", f"it asks to be left alone for {asked:.0f} s (Retry-After); "
                        f"a request that hears this is asked again after {wait:.0f} s")  # fmt: skip
    return wait


async def ask_one(
    sender: Sender, request: Request, *, retries: int = 6, sleep: Callable = asyncio.sleep
) -> Response:
    """Ask with retries, the only layer of them.

    Failures become Responses with outcome `error` or `filtered` and cause. The waits of one request
    add up to at most `retries` times `MAX_RETRY_AFTER` (`MAX_WAIT`, where no server asks). Raises
    KatayoriError where every request would fail alike (key refused, model or address unknown).
    """
    import openai

    attempt = -1
    while True:
        attempt += 1
        try:
            response = await sender.send(request)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as e:
            hint = f" (key from {sender.endpoint.key_env})" if sender.endpoint.key_env else ""
            raise KatayoriError(
                f"{sender.endpoint.name} refused the key{hint}: status {e.status_code}"
            ) from None
        except openai.NotFoundError:
            cause = f"{sender.endpoint.name} knows no model {sender.model.vendor_id!r}"
            raise KatayoriError(f"{cause} (404): check its name and the base URL") from None
        except openai.BadRequestError as e:
            if sender.leave_out_logprobs(request, e) and attempt <= retries:
                continue
            response = failed(sender.hide(str(e)))
        except (openai.APIError, ValueError) as e:
            named = "" if isinstance(e, ServerError) else f"{type(e).__name__}: "
            cause = sender.hide(f"{named}{e}")[:300]
            status = getattr(
                e, "status_code", 500
            )  # a broken connection or answer is the server's trouble, too
            if attempt < retries and (status in (408, 409, 429) or status >= 500):
                wait = _wait_before_retry(sender, e, attempt)
                sender.announce("retry", f"{cause[:200]}; asked again, up to {retries} times")
                await sleep(wait)
                continue
            response = failed(cause)
        response.attempts = attempt + 1
        return response


@dataclass
class Options:
    """How a run asks; see `collect`.

    `stop`, set in the loop of the run, ends it: requests under way are awaited, none begins.
    """

    base_url: str = ""
    concurrency: int | None = None
    budget: float | None = None
    retries: int = 6
    timeout: float = 600
    progress: bool = True
    stop: asyncio.Event = field(default_factory=asyncio.Event)


class _Run:
    """One run: what is left to ask, the workers that ask it, and what came of it."""

    def __init__(
        self,
        requests: Iterable[Request],
        model: Model,
        endpoint: Endpoint,
        store: Store,
        options: Options,
    ):
        self.requests, self.model, self.endpoint = requests, model, endpoint
        self.store, self.options = store, options
        self.summary = Summary(0, 0, cost=cost_of(model, 0, 0))
        self.asking: set[str] = set()
        self.failures = 0
        self.started = time.monotonic()
        self.pending: Iterator[Request] = self._draw()

    def _draw(self) -> Iterator[Request]:
        """What the store does not hold yet, counted as it is drawn."""
        supports = abilities(self.model, self.endpoint)
        in_parts: Iterable[Sequence[Request]]
        if isinstance(self.requests, Sequence):
            in_parts = [self.requests]
        else:
            in_parts = batches(self.requests)
        for batch in in_parts:
            left = [r for r in self.store.pending(batch) if r.key not in self.asking]
            self.summary.total += len(batch)
            self.summary.stored += len(batch) - len(left)
            check_can_score(left, self.model, self.endpoint)
            forced = next((r for r in left if r.body["messages"][-1]["role"] == "assistant"), None)
            if forced and not supports.get("prefill"):
                cause = f"cannot force the start of an answer (prompt {forced.prompt_id})"
                raise KatayoriError(f"{self.endpoint.name} {cause}")
            yield from left

    async def alone(self) -> IO:
        """The lock on asking this model of this server; a process that holds it is waited for."""
        name = f"{self.endpoint.name} {self.model.identity}"
        if self.endpoint.server.own:
            name += f" {digest_of(self.endpoint.server.label or self.endpoint.server.address)}"
        waited = 0
        while not (lock := self.store.alone(name)):
            if self.options.progress and waited % 60 == 0:
                cause = "another process is asking it for this store; waiting"
                print(f"{self.model.id}: {cause}", file=sys.stderr, flush=True)
            waited += 1
            await asyncio.sleep(1)
        return lock

    async def ask_all(self) -> Summary:
        """Asks until nothing is left, the budget is reached or the run is to stop."""
        if (first := next(self.pending, None)) is None:
            return self.summary
        budget = self.options.budget
        if budget is not None and self.summary.cost is None:
            cause = f"no price is known for {self.model.id}: a spending limit cannot be kept"
            raise KatayoriError(f"{cause} (data/models.yaml)")
        self.pending = chain([first], self.pending)
        async with PacedSender(
            self.model,
            self.endpoint,
            base_url=self.options.base_url,
            timeout=self.options.timeout,
            limit=self.options.concurrency,
        ) as sender:
            sender.quiet = not self.options.progress
            workers = [asyncio.create_task(self._work(sender)) for _ in range(sender.limit)]
            others = [asyncio.create_task(self._tell_progress())]
            others.append(asyncio.create_task(self._stop_when_asked(sender, workers)))
            try:
                await asyncio.gather(*workers)
            except asyncio.CancelledError:  # ours, of a worker that had nothing under way
                if not self.options.stop.is_set() or _is_cancelled():
                    raise
                await asyncio.gather(*workers, return_exceptions=True)
            finally:
                for task in (*workers, *others):
                    task.cancel()
                await asyncio.gather(*workers, *others, return_exceptions=True)
                self.summary.seconds = time.monotonic() - self.started
                self.summary.cuts = sender.cuts
                self.summary.refuses_logprobs = sender.refuses_logprobs
        self._say_progress()
        return self.summary

    async def _work(self, sender: "PacedSender") -> None:
        """One after the other: ask, store, count."""
        budget, stop = self.options.budget, self.options.stop
        while not self.summary.stopped and not stop.is_set():
            if budget is not None and (self.summary.cost or 0) >= budget:
                self.summary.stopped = f"spending limit of ${budget:g} reached"
                return
            if (request := next(self.pending, None)) is None:
                return
            self.asking.add(request.key)
            response = await ask_one(
                sender, request, retries=self.options.retries, sleep=self._pause
            )
            self.store.put(request, response)
            self.asking.discard(request.key)
            self._count(request, response)

    async def _pause(self, seconds: float) -> None:
        """The wait before a request is asked again; a run that is to stop does not wait."""
        if self.options.stop.is_set():
            raise asyncio.CancelledError
        await asyncio.sleep(seconds)

    def _count(self, request: Request, response: Response) -> None:
        """Adds an answer to the summary. Raises KatayoriError where twenty in a row have failed."""
        summary = self.summary
        summary.asked += 1
        summary.outcomes[response.outcome] = summary.outcomes.get(response.outcome, 0) + 1
        # An answer without usage has its tokens estimated.
        if response.outcome != "error" or response.completion_tokens:
            summary.prompt_tokens += response.prompt_tokens or approximate_tokens(request)
            summary.completion_tokens += response.completion_tokens or len(response.text) // 2 + 1
        summary.cost = cost_of(self.model, summary.prompt_tokens, summary.completion_tokens)
        self.failures = self.failures + 1 if response.outcome == "error" else 0
        if self.failures >= 20:
            cause = f"20 failures in a row, the last: {response.error}"
            raise KatayoriError(f"{self.endpoint.name}: {cause}")

    async def _tell_progress(self) -> None:
        """A line every few seconds while answers come, every half minute while none does."""
        asked_before, silent = self.summary.asked, 0.0
        while True:
            await asyncio.sleep(TICK)
            silent += TICK
            if self.summary.asked != asked_before or silent >= LONG_WAIT:
                asked_before, silent = self.summary.asked, 0.0
                self._say_progress()

    def _say_progress(self) -> None:
        if self.options.progress:
            line = progress_line(self.summary, self.model, self.started)
            print(line, file=sys.stderr, flush=True)

    async def _stop_when_asked(self, sender: "PacedSender", workers: list[asyncio.Task]) -> None:
        """After an interrupt: what only waits ends, what is under way has ten seconds to arrive."""
        await self.options.stop.wait()
        under_way = {worker for worker in workers if worker in sender.on_the_wire}
        for worker in set(workers) - under_way:
            worker.cancel()
        if not under_way:
            return
        wait = f"waiting up to {GRACE:.0f} s for {len(under_way)} request(s) under way"
        again = "interrupt again to stop at once"
        print(f"{self.model.id}: stopping; {wait}; {again}", file=sys.stderr, flush=True)
        await asyncio.wait(under_way, timeout=GRACE)
        for worker in workers:
            worker.cancel()


def _is_cancelled() -> bool:
    """Whether the task itself was cancelled, not only one that it waits for."""
    task = asyncio.current_task()
    return bool(task and task.cancelling())


async def collect(
    requests: Iterable[Request], model: Model, endpoint: Endpoint, store: Store, **options: Any
) -> Summary:
    """Ask what the store does not hold yet; every answer is written before its slot asks the next.

    `requests` that are no list are drawn as they are asked, so that a million need little memory.
    Options (see `Options`): base_url, concurrency, budget (US dollars; stops the run cleanly when
    reached, or before it starts where no price is known), retries, timeout, progress, stop.
    A run that is interrupted loses nothing that arrives within ten seconds, one that is killed at
    most the answers under way; calling again continues it. Another process that is asking the same
    model for the same store is waited for: nothing is asked twice.

    Raises KatayoriError where no request can succeed; what was answered before stays in the store.
    """
    run = _Run(requests, model, endpoint, store, Options(**options))
    with await run.alone():
        return await run.ask_all()


def progress_line(summary: Summary, model: Model, started: float) -> str:
    seconds = max(time.monotonic() - started, 1e-9)
    rate, left = summary.asked / seconds, summary.total - summary.stored - summary.asked
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    eta = f"{left / rate / 60:.1f} min left" if rate else "no rate yet"
    outcomes = " ".join(f"{k} {v}" for k, v in sorted(summary.outcomes.items()))
    done = f"{summary.stored + summary.asked}/{summary.total}"
    return f"{model.id}: {done}  {rate:.1f}/s  {eta}  {cost}  [{outcomes}]"


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as an interrupt does."""


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM as an exception within this block, where nobody else has taken it."""
    usual = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def result_of(running: Future[Summary], every: float = 0.5) -> Summary:
    """What a future ends with, while signals are seen.

    A thread that waits without a limit sleeps through a signal that came to another thread, or just
    before it began to wait; so it wakes up now and then.

    Args:
        running: the future.
        every: seconds between two looks.
    """
    while not running.done():
        wait_for([running], timeout=every)
    return running.result()


def collect_sync(*args: Any, **options: Any) -> Summary:
    """`collect` for scripts, callbacks and cells, in a thread with a loop of its own.

    An interrupt (Ctrl-C, SIGTERM) stops the run: requests under way are awaited up to ten seconds
    and stored. A second one stops at once. Both keep what was answered.
    """
    from anyio.from_thread import start_blocking_portal

    with terminable(), start_blocking_portal() as portal:
        stop = portal.call(asyncio.Event)
        running = portal.start_task_soon(partial(collect, *args, stop=stop, **options))
        try:
            return result_of(running)
        except KeyboardInterrupt:
            portal.call(stop.set)
            result_of(running)
            raise
