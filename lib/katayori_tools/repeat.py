"""Whether asking again changes an answer: the same requests several times, and the flip rate."""

import argparse
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from katayori.errors import KatayoriError
from katayori.prompting import respondents
from katayori.prompting.models import Endpoint
from katayori.prompting.requests import Request
from katayori.prompting.store import Response, Store
from katayori_tools import servers
from katayori_tools.asking import PARSERS, served, wanted
from katayori_tools.collect import collect_sync

if TYPE_CHECKING:
    import pandas as pd


def repeat(args: argparse.Namespace) -> None:
    """Ask the same requests again, seed and all, and print how often the answer changes (the flip rate).

    An answer that changes under temperature 0 or a fixed seed is the endpoint's doing: batching, another version.
    Without either it is sampling, too. Raises KatayoriError where two servers would be compared.
    """
    for paper, name, model, endpoint, requests in wanted(args, reach=True):
        again = [replace(q, repetition=n) for n in range(1, args.repetitions + 1) for q in requests]
        _check_server([*requests, *again], endpoint, args.base_url or "")
        with Store(respondents.store_path()) as store:
            both = [
                *requests,
                *again,
            ]  # one repetition after the other, so that time lies between two answers
            with served(model, endpoint, args.base_url or "", store.pending(both)) as url:
                options = {"base_url": url, "concurrency": args.concurrency, "budget": args.budget}
                stopped = collect_sync(both, model, endpoint, store, **options).stopped
            if stopped:
                raise KatayoriError(f"{stopped}; what was answered is kept, run again to continue")
            print(f"{paper} {name}, {args.repetitions + 1} answers to each request")
            print(flip_rates(store.get(both)).to_string(index=False, na_rep="undefined"))


def _check_server(requests: list[Request], endpoint: Endpoint, base_url: str) -> None:
    """Raises KatayoriError where stored first answers are another server's than will be asked."""
    if not endpoint.own:
        return
    with Store(respondents.store_path()) as store:
        addresses = store.addresses(requests)
    servers.check_same_server(endpoint, base_url, addresses)


def flip_rates(answered: Iterable[tuple[Request, Response | None]]) -> "pd.DataFrame":
    """Of requests asked several times, the share whose answer was not always the same; one row a prompt.

    Returns prompt_id, n (requests with two valid answers or more), n_invalid (the others), flipped, flip_rate with
    its Wilson interval `ci_low` and `ci_high` (NaN where n = 0), texts_differ (requests, valid or not, whose raw texts
    were not all the same), p_shift (greatest difference of the probability of the token that was likeliest at first;
    NaN without log probabilities) and fingerprints (how many system fingerprints were seen).

    The answer is what the paper's parser reads; where one token was asked for, the likeliest token.
    """
    import numpy as np
    import pandas as pd
    from statsmodels.stats.proportion import proportion_confint

    said: dict[str, dict[str, list]] = defaultdict(lambda: defaultdict(list))
    for request, answer in answered:
        if answer and answer.outcome != "error":
            said[request.prompt_id][request.item_id].append((_read(request, answer), answer))
    rows = []
    for prompt_id, items in said.items():
        valid = [[read for read, _ in all_of if read is not None] for all_of in items.values()]
        flips = [len(set(reads)) > 1 for reads in valid if len(reads) > 1]
        tops = [[dict(a.top) for _, a in all_of if a.top] for all_of in items.values()]
        shifts = [
            max(
                abs(np.exp(top.get(likeliest, -np.inf)) - np.exp(first[likeliest]))
                for top in others
            )
            for first, *others in filter(None, tops)
            if others and (likeliest := max(first, key=first.get)) is not None
        ]
        n, flipped = len(flips), sum(flips)
        low, high = proportion_confint(flipped, n, method="wilson") if n else (np.nan, np.nan)
        row = {"prompt_id": prompt_id, "n": n, "n_invalid": len(items) - n, "flipped": flipped}
        row |= {"flip_rate": flipped / n if n else np.nan, "ci_low": low, "ci_high": high}
        row["texts_differ"] = sum(len({a.text for _, a in all_of}) > 1 for all_of in items.values())
        row["p_shift"] = max(shifts, default=np.nan)
        row["fingerprints"] = len({a.fingerprint for all_of in items.values() for _, a in all_of})
        rows.append(row)
    return pd.DataFrame(rows)


def _read(request: Request, answer: Response) -> str | None:
    if request.one_token:
        return max(answer.top, key=lambda pair: pair[1])[0].strip() if answer.top else None
    if answer.outcome != "ok":
        return None
    return PARSERS[request.paper][0](answer.text, answer.finish_reason).answer
