"""Ask likelihood requests: through our own scorer, or through a vLLM server of the user's own."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import IO

from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request
from katayori_tools.answer_store import Store
from katayori_tools.collect import Summary, collect_sync, progress_line, terminable
from katayori_tools.engines import scorer
from katayori_tools.likelihood import check_can_score, to_response

BATCH = 64  # requests of a line to the worker: neighbours share passages, and a kill loses these
#: What a recording's manifest says of our own scorer.
SETTINGS = scorer.SETTINGS


def score_all(
    requests: Sequence[Request],
    model: Model,
    endpoint: Endpoint,
    store: Store,
    *,
    base_url: str = "",
    stop: Callable[[], bool] | None = None,
    progress: bool = True,
) -> Summary:
    """Score what the store does not hold yet, in order; each batch is stored as it comes.

    A run that is killed loses at most the batch under way; calling again continues it. `stop` is
    asked before every batch. `base_url` is of a vLLM server; our own scorer needs none.

    Raises KatayoriError, before anything is asked, where the endpoint cannot score continuations or
    a request asks for words, and where the worker ends or the server refuses.

    Example:
        requests = build(items, prompt, *get_model("qwen2.5-coder-0.5b@local-scorer"))
        with Store(path) as store:
            score_all(requests, *get_model("qwen2.5-coder-0.5b@local-scorer"), store)
    """
    check_can_score(requests, model, endpoint)
    if words := next((request for request in requests if not request.likelihood), None):
        cause = f"prompt {words.prompt_id} asks for words, and scoring generates none"
        raise KatayoriError(f"{cause}; ask it with make live or make record")
    if endpoint.name != scorer.ENDPOINT:
        return collect_sync(requests, model, endpoint, store, base_url=base_url, progress=progress)
    with _alone(store, model, endpoint):
        pending = store.pending(requests)
        summary = Summary(len(requests), len(requests) - len(pending), cost=0.0)
        if pending:
            with terminable(), scorer.start(model.id) as score:
                _score(pending, model, store, score, summary, (stop or _never, progress))
    return summary


def _never() -> bool:
    return False


def _score(
    pending: Sequence[Request],
    model: Model,
    store: Store,
    score: scorer.Score,
    summary: Summary,
    how: tuple[Callable[[], bool], bool],
) -> None:
    """Batch by batch: ask, store, count, say."""
    stop, progress = how
    started = time.monotonic()
    for start in range(0, len(pending), BATCH):
        if stop():
            summary.stopped = "asked to stop"
            return
        batch = pending[start : start + BATCH]
        began = time.monotonic()
        scores = score([request.body for request in batch])
        each = (time.monotonic() - began) / len(batch)
        for request, found in zip(batch, scores, strict=True):
            response = to_response(request, found)
            response.latency = round(each, 4)
            store.put(request, response)
            summary.outcomes[response.outcome] = summary.outcomes.get(response.outcome, 0) + 1
            summary.asked += 1
        summary.seconds = time.monotonic() - started
        if progress:
            print(progress_line(summary, model, started), file=sys.stderr, flush=True)


def _alone(store: Store, model: Model, endpoint: Endpoint) -> IO:
    """The lock on scoring with this model; a process that holds it is waited for."""
    waited = 0
    while not (lock := store.alone(f"{endpoint.name} {model.identity}")):
        if waited % 60 == 0:
            cause = "another process is asking it for this store; waiting"
            print(f"{model.id}: {cause}", file=sys.stderr, flush=True)
        waited += 1
        time.sleep(1)
    return lock
