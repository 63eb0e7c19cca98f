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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any

from katayori.errors import KatayoriError
from katayori.language import told
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Endpoint, Model, abilities, digest_of
from katayori.prompting.replies import NO_MONEY, ServerError, failed
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import batches
from katayori.report.tables import visible
from katayori_tools.send import Sender, check_can_score

Answered = tuple[Request, Response]
#: Gives each answer's outcome as its paper reads it.
Reads = Callable[[Sequence[Answered]], list[str]]
#: Outcomes of what can be read: an answer, or a text for a later prompt.
READABLE = {"ok", "written"}
#: Words of progress.
AS_SHOWN = {
    "ok": "readable",
    "truncated": "cut",
    "refusal": "refused",
    "out_of_choice": "unreadable",
}
MAX_WAIT = 60.0  # seconds between two tries, unless the server asks for more
MAX_RETRY_AFTER = 600.0
LONG_WAIT = 30.0  # seconds; a longer wait that a server asks for is said on the screen
FIRST = 20  # answers, of which one must be readable
ENOUGH = 2000  # tokens that a usual thought and an answer take
GRACE = 10.0  # seconds that requests under way have after an interrupt
TICK = 5.0  # seconds between two lines of progress
AT_ONCE = 16  # requests, where an endpoint has no limit
FAILURES = 20  # in a row, after which nothing more is asked
CHANGES = 12  # of settings, for one request


@dataclass
class Summary:
    """What a run did: requests in all, already stored, asked now, by outcome as it came and, where
    answers are read while asking, as they are read; tokens and cost.

    A cost of None: the price is unknown.
    `cuts`: how often the number of requests at once was halved because the endpoint was overloaded.
    """

    total: int = 0
    stored: int = 0
    asked: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
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
        super().__init__(
            model, endpoint, limit=limit or limits["concurrency"] or AT_ONCE, **options
        )
        self.allowed, self.under_way, self.cuts = float(self.limit), 0, 0
        self.by_request, self.by_token = RateLimit(limits["rpm"]), RateLimit(limits["tpm"])
        self.on_the_wire: set[asyncio.Task | None] = set()

    async def send(self, request: Request) -> Response:
        while self.under_way >= int(self.allowed):  # only while fewer are allowed than have slots
            await asyncio.sleep(0.02)
        self.under_way, cuts, tokens = self.under_way + 1, self.cuts, 0
        if self.by_token.seconds:
            tokens = approximate_tokens(request)
        task = asyncio.current_task()
        try:
            await self.by_request.wait()
            await self.by_token.wait(tokens)
            self.on_the_wire.add(task)
            response = await super().send(request)
        except ServerError as e:
            # 529 is one vendor's word for overloaded. What was sent before a cut tells nothing
            # about it.
            if e.status in (429, 503, 529) and cuts == self.cuts:
                self.allowed, self.cuts = max(1.0, self.allowed / 2), cuts + 1
            raise
        finally:
            self.under_way -= 1
            self.on_the_wire.discard(task)
        self.allowed = min(self.limit, self.allowed + 1 / self.allowed)
        used = (response.prompt_tokens or tokens) + (response.completion_tokens or 0)
        # Those beyond what it waited for.
        self.by_token.next += (used - tokens) * self.by_token.seconds
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
    # UTF-8 takes three bytes for a Japanese character, one for a Latin one.
    wide = (len(text.encode()) - len(text)) // 2
    return wide + (len(text) - wide) // 4 + 8


def cost_of(model: Model, prompt_tokens: int, completion_tokens: int) -> float | None:
    """US dollars from the registry's prices per million tokens; None where a price is unknown."""
    if model.endpoint == "simulated" or model.endpoint.startswith("local"):
        return 0.0
    price_in, price_out = model.price_input, model.price_output
    if price_in is None or price_out is None:
        return None
    return (prompt_tokens * price_in + completion_tokens * price_out) / 1e6


def _wait_before_retry(sender: Sender, asked: float, attempt: int) -> float:
    """Seconds: what the server asks for, or our back-off."""
    backoff = min(MAX_WAIT, 0.5 * 2**attempt) * (0.5 + random.random() / 2)
    wait = min(MAX_RETRY_AFTER, max(backoff, asked))
    if asked > LONG_WAIT:
        cause = f"it asks to be left alone for {asked:.0f} s (Retry-After); a request that hears"
        sender.announce("wait", f"{cause} this is asked again after {wait:.0f} s")
    return wait


async def ask_one(
    sender: Sender, request: Request, *, retries: int = 6, sleep: Callable = asyncio.sleep
) -> Response:
    """Ask with retries, the only layer of them.

    Failures become Responses with outcome `error` or `filtered` and cause. The waits of one request
    add up to at most `retries` times `MAX_RETRY_AFTER` (`MAX_WAIT`, where no server asks). Raises
    as `Sender.send` where every request would fail alike.
    """
    tries = changes = 0
    while True:
        try:
            response = await sender.send(request)
        except ValueError as e:
            status = getattr(e, "status", 500)  # a malformed answer is the server's trouble, too
            if changes < CHANGES and sender.adapt(request, e):
                changes += 1
                continue
            cause = sender.hide(str(e))[:300]
            if status == NO_MONEY:
                cause = f"{sender.endpoint.name}: no money is left: {cause}"
                raise KatayoriError(f"{cause}; what was answered is kept, pay and go on") from None
            if tries < retries and (status in (408, 409, 429) or status >= 500):
                sender.announce("retry", f"{cause[:200]}; asked again, up to {retries} times")
                await sleep(_wait_before_retry(sender, getattr(e, "wait", 0.0), tries))
                tries += 1
                continue
            response = failed(cause)
        break
    response.attempts = tries + changes + 1
    return response


@dataclass
class _Run:
    """One run: what is left to ask, the workers that ask it, and what came of it."""

    requests: Iterable[Request]
    model: Model
    endpoint: Endpoint
    store: Store
    base_url: str = ""
    concurrency: int | None = None
    budget: float | None = None
    retries: int = 6
    timeout: float = 600
    progress: bool = True
    max_tokens: int = 0
    read: Reads | None = None
    first: int = FIRST

    def __post_init__(self) -> None:
        self.opening: list[Answered] = []  # the first answers
        self.heard: list[Answered] = []  # and not read yet
        self.summary = Summary(cost=cost_of(self.model, 0, 0))
        self.asking: set[str] = set()
        self.failures, self.started, self.stopping = 0, time.monotonic(), False
        self.unread = ""  # why nothing more is asked
        self.pending: Iterator[Request] = self._draw()
        self.arrived: list[tuple[Request, Response]] = []
        self.writing: asyncio.Future[None] | None = None

    def _draw(self) -> Iterator[Request]:
        """What the store does not hold yet, counted as it is drawn."""
        supports = abilities(self.model, self.endpoint)
        in_parts: Iterable[Sequence[Request]] = batches(self.requests)
        if isinstance(self.requests, Sequence):
            in_parts = [self.requests]
        for batch in in_parts:
            waiting = self.store.pending(batch, cut_below=self.max_tokens)
            left = [request for request in waiting if request.key not in self.asking]
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
            if waited % 60 == 0:
                self._say("another process is asking it for this store; waiting")
            waited += 1
            await asyncio.sleep(1)
        return lock

    async def ask_all(self) -> Summary:
        """Asks until nothing is left, the budget is reached or the run is cancelled."""
        if (first := next(self.pending, None)) is None:
            return self.summary
        if self.budget is not None and self.summary.cost is None:
            cause = f"no price is known for {self.model.id}: a spending limit cannot be kept"
            raise KatayoriError(f"{cause} (data/models.yaml)")
        self.pending = chain([first], self.pending)
        options: dict[str, Any] = {"base_url": self.base_url, "timeout": self.timeout}
        options["max_tokens"] = self.max_tokens
        async with PacedSender(
            self.model, self.endpoint, limit=self.concurrency, **options
        ) as sender:
            sender.quiet = not self.progress
            workers = [asyncio.create_task(self._work(sender)) for _ in range(sender.limit)]
            progress = asyncio.create_task(self._tell_progress())
            try:
                done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
                for worker in done:
                    worker.result()
            except asyncio.CancelledError:
                await self._let_arrive(sender, workers)
                raise
            finally:
                for task in (*workers, progress):
                    task.cancel()
                await asyncio.gather(*workers, progress, return_exceptions=True)
                self.summary.seconds = time.monotonic() - self.started
                self.summary.cuts = sender.cuts
        self._read()
        self._say(progress_line(self.summary, self.started))
        if self.unread:
            raise KatayoriError(f"{self.endpoint.name}: {self.unread}")
        return self.summary

    async def _work(self, sender: PacedSender) -> None:
        """One after the other: ask, store, count."""
        while not (self.summary.stopped or self.stopping):
            if self.budget is not None and (self.summary.cost or 0) >= self.budget:
                self.summary.stopped = f"spending limit of ${self.budget:g} reached"
                return
            if (request := next(self.pending, None)) is None:
                return
            self.asking.add(request.key)
            response = await ask_one(sender, request, retries=self.retries, sleep=self._pause)
            await self._keep(request, response)
            self.asking.discard(request.key)
            self._count(request, response)

    async def _keep(self, request: Request, response: Response) -> None:
        """Writes an answer, in one transaction with those that arrived at the same moment."""
        self.arrived.append((request, response))
        if self.writing is None:
            self.writing = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(self._write, self.writing)
        await asyncio.shield(self.writing)  # an interrupt does not take back what has arrived

    def _write(self, writing: asyncio.Future[None]) -> None:
        arrived, self.arrived, self.writing = self.arrived, [], None
        try:
            self.store.put_all(arrived)
        except KatayoriError as error:
            writing.set_exception(error)
        else:
            writing.set_result(None)

    async def _pause(self, seconds: float) -> None:
        """The wait before a request is asked again; a run that is to stop does not wait."""
        if self.stopping:
            raise asyncio.CancelledError
        await asyncio.sleep(seconds)

    def _count(self, request: Request, response: Response) -> None:
        """Adds an answer to the summary. Raises KatayoriError where twenty in a row have failed."""
        summary = self.summary
        summary.asked += 1
        summary.outcomes[response.outcome] += 1
        # An answer without usage has its tokens estimated.
        if response.outcome != "error" or response.completion_tokens:
            summary.prompt_tokens += response.prompt_tokens or approximate_tokens(request)
            summary.completion_tokens += response.completion_tokens or len(response.text) // 2 + 1
        summary.cost = cost_of(self.model, summary.prompt_tokens, summary.completion_tokens)
        if self.read:
            self.heard.append((request, response))
        if self.read and len(self.opening) < self.first:
            self.opening.append((request, response))
            if len(self.opening) == self.first:
                self._read()
                if not READABLE & summary.read.keys():
                    # What is under way arrives and is kept.
                    self.unread = summary.stopped = why_unread(self.opening, self.read)
        self.failures = self.failures + 1 if response.outcome == "error" else 0
        if self.failures >= FAILURES:
            cause = f"{FAILURES} failures in a row, the last: {response.error}"
            raise KatayoriError(f"{self.endpoint.name}: {cause}")

    def _read(self) -> None:
        """Reads what was heard since the last time."""
        heard, self.heard = self.heard, []
        if self.read and heard:
            self.summary.read.update(self.read(heard))

    async def _tell_progress(self) -> None:
        """A line every few seconds while answers come, every half minute while none does."""
        asked_before, silent = self.summary.asked, 0.0
        while True:
            await asyncio.sleep(TICK)
            silent += TICK
            if self.summary.asked != asked_before or silent >= LONG_WAIT:
                asked_before, silent = self.summary.asked, 0.0
                self._read()
                self._say(progress_line(self.summary, self.started))

    def _say(self, line: str) -> None:
        if self.progress:
            print(f"{self.model.id}: {line}", file=sys.stderr, flush=True)

    async def _let_arrive(self, sender: PacedSender, workers: list[asyncio.Task]) -> None:
        """After an interrupt: what only waits ends, what is under way has ten seconds to arrive."""
        self.stopping = True
        under_way = {worker for worker in workers if worker in sender.on_the_wire}
        for worker in set(workers) - under_way:
            worker.cancel()
        if not under_way:
            return
        wait = f"waiting up to {GRACE:.0f} s for {len(under_way)} request(s) under way"
        again = "interrupt again to stop at once"
        print(f"{self.model.id}: stopping; {wait}; {again}", file=sys.stderr, flush=True)
        await asyncio.wait(under_way, timeout=GRACE)


async def collect(
    requests: Iterable[Request], model: Model, endpoint: Endpoint, store: Store, **options: Any
) -> Summary:
    """Ask what the store does not hold yet; every answer is written before its slot asks the next.

    `requests` that are no list are drawn as they are asked, so that a million need little memory.
    Options: base_url, concurrency, budget (US dollars; stops the run cleanly when reached, or
    before it starts where no price is known), retries, timeout, progress; max_tokens (in place of
    the prompts' own limit; what was cut below it is asked again); read, by which answers are
    counted as they are read, and first: of so many answers one must be readable (0: none).
    A run that is cancelled loses nothing that arrives within ten seconds, one that is killed at
    most the answers under way; calling again continues it. Another process that is asking the same
    model for the same store is waited for: nothing is asked twice.

    Raises KatayoriError where no request can succeed; what was answered before stays in the store.
    """
    run = _Run(requests, model, endpoint, store, **options)
    with await run.alone():
        return await run.ask_all()


def why_unread(heard: Sequence[Answered], read: Reads) -> str:
    """Why nothing goes on: what answers are that cannot be read, and what can be done."""
    outcomes = Counter(read(heard))
    counted = ", ".join(
        f"{told(AS_SHOWN.get(kind, kind))} {n}" for kind, n in outcomes.most_common()
    )
    why = f"of the first {len(heard)} answers none can be read ({counted})"
    is_cut = outcomes.most_common(1)[0][0] == "truncated"
    remedy = cut_short(answer for _, answer in heard) if is_cut else ""
    if not remedy:
        said = Counter(answer.error or answer.text for _, answer in heard)
        text = visible(" ".join(said.most_common(1)[0][0].split())[:100])
        why += f"; most often: {text or 'nothing was written'}"
        asks_again = outcomes["error"] == len(heard)
        remedy = "to ask these again, run it again" if asks_again else "other words: PROMPTS=FOLDER"
    return f"{why}; {remedy}; to ask on all the same: ARGS=--keep-asking"


def cut_short(answers: Iterable[Response]) -> str:
    """What to do about answers that are cut at the limit of tokens; nothing where none is."""
    # What is longer than any answer was cut here, not by a limit that could be raised.
    short = (a for a in answers if a.outcome == "truncated" and a.error != "longer than 1 MiB")
    cut = [answer.completion_tokens or 0 for answer in short]
    if not cut:
        return ""
    limit, more = max(cut), max(ENOUGH, 4 * max(cut))
    cause = f"{len(cut)} answers are cut at a limit of up to {limit} tokens, thoughts included"
    return f"{cause}; MAX_TOKENS={more} asks these again"


def progress_line(summary: Summary, started: float) -> str:
    seconds = max(time.monotonic() - started, 1e-9)
    rate, left = summary.asked / seconds, summary.total - summary.stored - summary.asked
    cost = "price unknown" if summary.cost is None else f"${summary.cost:.4f}"
    eta = f"{left / rate / 60:.1f} min left" if rate else "no rate yet"
    words = AS_SHOWN if summary.read else {}
    counted = sorted((summary.read or summary.outcomes).items())
    outcomes = " ".join(f"{told(words.get(kind, kind))} {n}" for kind, n in counted)
    done = f"{summary.stored + summary.asked}/{summary.total}"
    return f"{done}  {rate:.1f}/s  {eta}  {cost}  [{outcomes}]"


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as an interrupt does."""


@contextmanager
def terminable(end: Callable[[], None] | None = None) -> Iterator[None]:
    """SIGTERM calls `end` within this block, which else raises Terminated; a thread cannot set
    it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: object) -> None:
        if end is None:
            raise Terminated
        end()

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def collect_sync(*args: Any, **options: Any) -> Summary:
    """`collect` for commands, which an interrupt (Ctrl-C, SIGTERM) stops.

    Requests under way are awaited up to ten seconds and stored. A second interrupt stops at once.
    Both keep what was answered.
    """

    async def run() -> Summary:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task

        def end() -> None:
            if task.cancelling():
                raise Terminated
            task.cancel()
            loop.call_soon_threadsafe(lambda: None)  # so that a loop that sleeps wakes up

        with terminable(end):
            return await collect(*args, **options)

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise Terminated from None
