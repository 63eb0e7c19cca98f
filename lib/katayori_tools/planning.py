"""Before a run: a template of the requests, what they would cost, and whether an endpoint gives log
probabilities.
"""

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting.exchange import COLUMNS
from katayori.prompting.models import Endpoint, Model
from katayori.prompting.requests import Request, Response
from katayori_tools.answer_store import Store
from katayori_tools.collect import approximate_tokens, ask_one, cost_of, limits_of
from katayori_tools.send import Sender

#: Said under every estimate: what `half_width` is, and what it is not.
HALF_WIDTH = (
    "half_width: half of the 95 % interval to expect of a share, 1.96 x 0.5 / sqrt(clusters);\n"
    "0.5 is the largest standard deviation that means of clusters can have, so yours is likely\n"
    "narrower. Below 10 clusters no interval can be relied on."
)

UNLIMITED = 2048  # output tokens of a request without a limit
SHORT_ANSWER = 8  # output tokens that an answer has at least, for the lower cost
AT_ONCE = 16  # requests, where an endpoint has no limit


def half_width(clusters: int) -> float:
    """Half of the 95 % interval to expect of a share (0 to 1) over so many clusters, at most.

    1.96 sd / sqrt(clusters), with 0.5 for the standard deviation of the clusters' means: the
    largest that shares can have, so it is a bound that no model exceeds, whatever its answers. NaN
    without clusters.
    """
    return 1.96 * 0.5 / math.sqrt(clusters) if clusters else math.nan


def export_requests(requests: Sequence[Request], path: str | Path) -> Path:
    """Write the requests as a template to fill in: `.jsonl` with messages and settings, or `.csv`
    with the user text.

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
                row["messages"] = messages
                row["settings"] = {k: v for k, v in request.body.items() if k != "messages"}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


async def probe_logprobs(
    model: Model, endpoint: Endpoint, *, base_url: str = ""
) -> tuple[bool, str]:
    """One tiny request that tells whether the endpoint returns log probabilities.

    Returns whether it does, and what was seen.
    """
    limit = str(endpoint.supports.get("max_tokens_field") or "max_tokens")
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
    if not response.top:
        return False, "no log probabilities came back"
    return True, f"{len(response.top)} alternatives"


def most_tokens(request: Request) -> int:
    """The most that may be generated for a request; `UNLIMITED` where it has no limit."""
    if request.likelihood:  # a server generates at least one token a call
        return len(request.body["continuations"]) + 1
    limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens")
    return limit or UNLIMITED


def estimate(
    requests: Sequence[Request], model: Model, endpoint: Endpoint, store: Store | None = None
) -> dict[str, Any]:
    """Before a run: calls, tokens, cost range and time at the limits.

    What is stored already is free.

    Input tokens are counted roughly on the real prompts, and corrected by what the endpoint counted
    where some are answered. Output: the answers to the same prompts in the store are a pilot,
    `pilot` of them; prompts without one count with their limit (2,048 tokens where they have none).
    The cost lies between the pilot's mean output, or 8 tokens where there is none, and the limit.
    Minutes: at the endpoint's limits a minute and, where there is a pilot, at its latency and the
    usual number of requests at once, whichever takes longer; None where neither is known.
    """
    stored = store.get(requests) if store else ()
    answered = [(q, answer) for q, answer in stored if answer and answer.outcome != "error"]
    answered_keys = {q.key for q, _ in answered}
    pending = list({q.key: q for q in requests if q.key not in answered_keys}.values())
    tokens_in = round(_scale(answered) * sum(map(approximate_tokens, pending)))
    pilot = _pilot(answered)
    expected: list[float] = []  # output tokens, a request each
    least: list[float] = []
    for request in pending:
        mean = fmean(pilot[request.prompt_hash]) if request.prompt_hash in pilot else None
        most = most_tokens(request)
        expected.append(most if mean is None else mean)
        least.append(min(SHORT_ANSWER, most) if mean is None else mean)
    tokens_out, limit = round(sum(expected)), sum(map(most_tokens, pending))
    return {
        "model": model.id,
        "calls": len(pending),
        "stored": len(requests) - len(pending),
        "input_tokens": tokens_in,
        "pilot": sum(map(len, pilot.values())),
        "output_tokens": tokens_out,
        "output_tokens_max": limit,
        "cost_low_usd": cost_of(model, tokens_in, round(sum(least))),
        "cost_high_usd": cost_of(model, tokens_in, limit),
        "minutes": _minutes(endpoint, len(pending), tokens_in + tokens_out, answered),
    }


def _scale(answered: Sequence[tuple[Request, Response]]) -> float:
    """How many tokens the endpoint counted for one of our rough count; 1 where it counted none."""
    counted = [(q, answer.prompt_tokens) for q, answer in answered if answer.prompt_tokens]
    if not counted:
        return 1.0
    return sum(tokens for _, tokens in counted) / sum(approximate_tokens(q) for q, _ in counted)


def _pilot(answered: Sequence[tuple[Request, Response]]) -> dict[str, list[int]]:
    """The output tokens of stored answers, by prompt."""
    tokens: dict[str, list[int]] = {}
    for request, answer in answered:
        if answer.completion_tokens is not None:
            tokens.setdefault(request.prompt_hash, []).append(answer.completion_tokens)
    return tokens


def _minutes(
    endpoint: Endpoint, calls: int, tokens: int, answered: Sequence[tuple[Request, Response]]
) -> float | None:
    """The longest of what the limits and the latency ask for; None where neither is known."""
    limits = limits_of(endpoint)
    minutes: list[float] = []
    if limits["rpm"]:
        minutes.append(calls / limits["rpm"])
    if limits["tpm"]:
        minutes.append(tokens / limits["tpm"])
    waits = [answer.latency for _, answer in answered if answer.latency]
    if waits:
        minutes.append(calls * fmean(waits) / 60 / (limits["concurrency"] or AT_ONCE))
    return max(minutes, default=0.0) or None
