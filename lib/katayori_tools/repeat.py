"""Whether asking again changes an answer: the same requests several times, and the flip rate."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError
from katayori.papers import get_paper
from katayori.prompting.models import Endpoint
from katayori.prompting.requests import Request, Response
from katayori.prompting.store import store_path
from katayori_tools import servers
from katayori_tools.answer_store import Store
from katayori_tools.asking import served, wanted
from katayori_tools.choices import USUAL_SENDING, Asking, Sending
from katayori_tools.collect import collect_sync

if TYPE_CHECKING:
    import pandas as pd

ByItem = dict[str, list[tuple[Request, Response]]]  # what was asked of an item, in order


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
            with served(model, endpoint, base_url, store.pending(everything)) as url:
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

    Returns prompt_id, n (requests with two valid answers or more), n_invalid (the others), flipped,
    flip_rate with its Wilson interval `ci_low` and `ci_high` (NaN where n = 0), texts_differ
    (requests, valid or not, whose raw texts were not all the same), p_shift (greatest difference of
    the probability of the token that was likeliest at first; NaN without log probabilities) and
    fingerprints (how many system fingerprints were seen).

    The answer is what the paper's parser reads; where one token was asked for, the likeliest token.
    """
    import pandas as pd

    by_prompt: dict[str, ByItem] = defaultdict(lambda: defaultdict(list))
    for request, answer in answered:
        if answer and answer.outcome != "error":
            by_prompt[request.prompt_id][request.item_id].append((request, answer))
    return pd.DataFrame([_flips(prompt_id, items) for prompt_id, items in by_prompt.items()])


def _flips(prompt_id: str, by_item: ByItem) -> dict[str, Any]:
    """The row of one prompt (see `flip_rates`)."""
    import numpy as np
    from statsmodels.stats.proportion import proportion_confint

    n = flipped = texts_differ = 0
    shifts: list[float] = []
    fingerprints: set[str] = set()
    for pairs in by_item.values():
        read = [_read(request, answer) for request, answer in pairs]
        valid = [value for value in read if value is not None]
        if len(valid) > 1:
            n += 1
            flipped += len(set(valid)) > 1
        answers = [answer for _, answer in pairs]
        texts_differ += len({answer.text for answer in answers}) > 1
        shifts += _shifts([dict(answer.top) for answer in answers if answer.top])
        fingerprints.update(answer.fingerprint for answer in answers)
    low, high = proportion_confint(flipped, n, method="wilson") if n else (np.nan, np.nan)
    return {
        "prompt_id": prompt_id,
        "n": n,
        "n_invalid": len(by_item) - n,
        "flipped": flipped,
        "flip_rate": flipped / n if n else np.nan,
        "ci_low": low,
        "ci_high": high,
        "texts_differ": texts_differ,
        "p_shift": max(shifts, default=np.nan),
        "fingerprints": len(fingerprints),
    }


def _shifts(tops: list[dict[str, float]]) -> list[float]:
    """By how much the probability of the first answer's likeliest token differs in later ones."""
    import numpy as np

    if not tops:
        return []
    first, *later = tops
    likeliest = max(first, key=lambda token: first[token])
    before = np.exp(first[likeliest])
    return [float(abs(np.exp(top.get(likeliest, -np.inf)) - before)) for top in later]


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
