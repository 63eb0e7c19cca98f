"""Before a run: a template of the requests, what they would cost, and whether an endpoint gives log probabilities."""

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from katayori.errors import KatayoriError
from katayori.prompting.exchange import COLUMNS
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request
from katayori.prompting.store import Store
from katayori_tools.collect import approximate_tokens, ask_one, cost_of, limits_of
from katayori_tools.send import Sender

#: Said under every estimate: what `half_width` is, and what it is not.
HALF_WIDTH = (
    "half_width: half of the 95 % interval to expect of a share, 1.96 x 0.5 / sqrt(clusters);\n"
    "0.5 is the largest standard deviation that means of clusters can have, so yours is likely\n"
    "narrower. Below 10 clusters no interval can be relied on."
)


def half_width(clusters: int) -> float:
    """Half of the 95 % interval to expect of a share (0 to 1) over so many clusters, at most.

    1.96 sd / sqrt(clusters), with 0.5 for the standard deviation of the clusters' means: the
    largest that shares can have, so it is a bound that no model exceeds, whatever its answers. NaN
    without clusters.
    """
    return 1.96 * 0.5 / math.sqrt(clusters) if clusters else math.nan


def export_requests(requests: Sequence[Request], path: str | Path) -> Path:
    """Write the requests as a template to fill in: `.jsonl` with messages and settings, or `.csv` with the user text.

    The columns `text` and, where known, `finish_reason` are for the answers.
    """
    path = Path(path)
    if path.suffix not in (".jsonl", ".csv"):
        raise KatayoriError(f"export to {path.name}: the file name must end in .jsonl or .csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS, "prompt"])
        if path.suffix == ".csv":
            writer.writeheader()
        for request in requests:
            row = {c: getattr(request, c, "") for c in COLUMNS}
            messages = request.body["messages"]
            if path.suffix == ".csv":
                writer.writerow(row | {"prompt": "\n\n".join(m["content"] for m in messages)})
            else:
                row |= {
                    "messages": messages,
                    "settings": {k: v for k, v in request.body.items() if k != "messages"},
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


async def probe_logprobs(
    model: Model, endpoint: Endpoint, *, base_url: str = ""
) -> tuple[bool, str]:
    """One tiny request that tells whether the endpoint returns log probabilities; (supported, what was seen)."""
    limit = endpoint.supports.get("max_tokens_field") or "max_tokens"
    body = {
        "messages": [{"role": "user", "content": "Say yes."}],
        limit: 1,
        "logprobs": True,
        "top_logprobs": 5,
    }
    probe = Request(
        "probe", "probe", "probe", "probe", "", "", model.id, endpoint.name, model.identity, body
    )
    async with Sender(model, endpoint, base_url=base_url, timeout=60) as sender:
        response = await ask_one(sender, probe, retries=1)
    if response.outcome == "error":
        return False, response.error
    return bool(
        response.top
    ), f"{len(response.top)} alternatives" if response.top else "no log probabilities came back"


def _most_tokens(request: Request) -> int:
    """The most that may be generated for a request; 2,048 where it has no limit."""
    if request.likelihood:  # a server generates at least one token a call
        return len(request.body["continuations"]) + 1
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    return limit or 2048


def estimate(
    requests: Sequence[Request], model: Model, endpoint: Endpoint, store: Store | None = None
) -> dict:
    """Before a run: calls, tokens, cost range and time at the limits; what is stored already is free.

    Input tokens are counted roughly on the real prompts, and corrected by what the endpoint counted where some are
    answered. Output: the answers to the same prompts in the store are a pilot, `pilot` of them; prompts without one
    count with their limit (2,048 tokens where they have none). The cost lies between the pilot's mean output, or 8
    tokens where there is none, and the limit. Minutes: at the endpoint's limits a minute and, where there is a pilot,
    at its latency and the usual number of requests at once, whichever takes longer; None where neither is known.
    """
    limits = limits_of(endpoint)
    answered = (
        [pair for pair in store.get(requests) if pair[1] and pair[1].outcome != "error"]
        if store
        else []
    )
    asked = {q.key for q, _ in answered}
    pending = list({q.key: q for q in requests if q.key not in asked}.values())
    counted = [(a.prompt_tokens, approximate_tokens(q)) for q, a in answered if a.prompt_tokens]
    scale = (
        sum(real for real, _ in counted) / sum(rough for _, rough in counted) if counted else 1.0
    )
    output: dict[str, list[int]] = {}
    for q, a in answered:
        if a.completion_tokens is not None:
            output.setdefault(q.prompt_hash, []).append(a.completion_tokens)
    at_most = [_most_tokens(q) for q in pending]
    means = [fmean(output[q.prompt_hash]) if q.prompt_hash in output else None for q in pending]
    tokens_in, limit = round(scale * sum(map(approximate_tokens, pending))), sum(at_most)
    expected = round(
        sum(most if mean is None else mean for mean, most in zip(means, at_most, strict=True))
    )
    least = round(
        sum(
            min(8, most) if mean is None else mean
            for mean, most in zip(means, at_most, strict=True)
        )
    )
    waits = [a.latency for _, a in answered if a.latency]
    minutes = [len(pending) / limits["rpm"] if limits["rpm"] else 0]
    minutes += [(tokens_in + expected) / limits["tpm"] if limits["tpm"] else 0]
    minutes += [len(pending) * fmean(waits) / 60 / (limits["concurrency"] or 16) if waits else 0]
    told = {"model": model.id, "calls": len(pending), "stored": len(requests) - len(pending)}
    told |= {
        "input_tokens": tokens_in,
        "pilot": sum(map(len, output.values())),
        "output_tokens": expected,
    }
    told |= {"output_tokens_max": limit, "cost_low_usd": cost_of(model, tokens_in, least)}
    return told | {
        "cost_high_usd": cost_of(model, tokens_in, limit),
        "minutes": max(minutes) or None,
    }
