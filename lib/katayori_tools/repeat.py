"""Whether asking again changes an answer: the same requests several times, and the flip rate."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from katayori.errors import KatayoriError
from katayori.papers import get_paper
from katayori.prompting.models import Endpoint
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori_tools import servers
from katayori_tools.answer_store import Store
from katayori_tools.asking import wanted
from katayori_tools.choices import USUAL_SENDING, Asking, Sending
from katayori_tools.collect import collect_sync

if TYPE_CHECKING:
    import pandas as pd


def repeat(chosen: Asking, sending: Sending = USUAL_SENDING, *, repetitions: int = 1) -> None:
    """Ask the same requests again, seed and all, and print how often the answer changes (the flip
    rate).

    An answer that changes under temperature 0 or a fixed seed is the endpoint's doing: batching,
    another version. Without either it is sampling, too. Raises KatayoriError where two servers
    would be compared.
    """
    base_url = chosen.server.base_url
    for paper, name, model, endpoint, requests in wanted(chosen, reach=True):
        # One repetition after the other, so that time lies between two answers.
        again = [replace(q, repetition=n) for n in range(1, repetitions + 1) for q in requests]
        everything = [*requests, *again]
        _check_server(everything, endpoint, base_url)
        with Store(store_path()) as store:
            with servers.served(model, endpoint, base_url, store.pending(everything)) as url:
                stopped = collect_sync(
                    everything,
                    model,
                    endpoint,
                    store,
                    base_url=url,
                    concurrency=sending.concurrency,
                    budget=sending.budget,
                ).stopped
            if stopped:
                raise KatayoriError(f"{stopped}; what was answered is kept, run again to continue")
            print(f"{paper} {name}, {repetitions + 1} answers to each request")
            print(flip_rates(store.get(everything)).to_string(index=False, na_rep="undefined"))


def _check_server(requests: list[Request], endpoint: Endpoint, base_url: str) -> None:
    """Raises KatayoriError where stored first answers are another server's than will be asked."""
    if not endpoint.own:
        return
    with Store(store_path()) as store:
        addresses = store.addresses(requests)
    servers.check_same_server(endpoint, base_url, addresses)


def flip_rates(answered: Iterable[tuple[Request, Response | None]]) -> "pd.DataFrame":
    """Of requests asked several times, the share whose answer was not always the same; one row a
    prompt.

    Returns prompt_id, n (requests with two valid answers or more), n_invalid (the others), flipped
    and flip_rate with its Wilson interval `ci_low` and `ci_high` (NaN where n = 0). The answer is
    what the paper's parser reads; where one token was asked for, the likeliest token.
    """
    import pandas as pd
    from statsmodels.stats.proportion import proportion_confint

    rows = [
        (request.prompt_id, request.item_id, _read(request, answer))
        for request, answer in answered
        if answer and answer.outcome != "error"
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "item_id", "said"])
    by_item = frame.groupby(["prompt_id", "item_id"], sort=False)["said"].agg(["count", "nunique"])
    by_item["n"] = by_item["count"] > 1
    by_item["n_invalid"] = ~by_item["n"]
    by_item["flipped"] = by_item["nunique"] > 1
    counts = by_item.groupby(level=0, sort=False)[["n", "n_invalid", "flipped"]].sum()
    n = counts["n"].where(counts["n"] > 0)
    low, high = proportion_confint(counts["flipped"], n, method="wilson")
    return counts.assign(flip_rate=counts["flipped"] / n, ci_low=low, ci_high=high).reset_index()


def _read(request: Request, answer: Response) -> str | None:
    """What an answer says; None where it is not valid."""
    if request.one_token:
        if not answer.top:
            return None
        token, _ = max(answer.top, key=lambda pair: pair[1])
        return token.strip()
    if answer.outcome != "ok":
        return None
    parse = get_paper(request.paper).parse
    return parse(answer.text, answer.finish_reason).answer
