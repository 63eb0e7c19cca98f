"""The request kind "score these continuations": who can answer it, and how its answers are read.

A likelihood prompt (`kind: likelihood`) asks how likely a model finds given texts as its answer.
Nothing is generated. An answer is stored as the text `[[sum_logp, n_tokens], ...]`, one pair a
continuation, in their order.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from katayori.errors import KatayoriError
from katayori.prompting.models import Endpoint, Model, can_score
from katayori.prompting.requests import Request, Response

#: How a stored answer ended that holds scores.
SCORED = "scored"


def check_can_score(requests: Sequence[Request], model: Model, endpoint: Endpoint) -> None:
    """Raises KatayoriError where some request needs scores that the endpoint cannot give."""
    first = next((request for request in requests if request.likelihood), None)
    if first is None or can_score(model, endpoint):
        return
    ours = f"NAME@local-scorer{'' if endpoint.kind == 'local' else ' (a model of our own)'}"
    raise KatayoriError(
        f"{endpoint.name} cannot score given continuations (prompt {first.prompt_id});"
        f" ask {ours} or a vLLM server of yours as NAME@vllm"
    )


def to_text(scores: Sequence[Sequence[float]]) -> str:
    """Scores as they are stored: log probabilities to five decimals.

    Example: `to_text([(-3.25, 2)])` is `'[[-3.25, 2]]'`.
    """
    return json.dumps([[round(float(logp), 5), int(n)] for logp, n in scores])


def parse_scores(text: str, n: int | None = None) -> list[tuple[float, int]]:
    """The (sum_logp, n_tokens) of each continuation from a stored text; `n`: how many there must
    be.

    Raises ValueError, with the cause in one line, for what is no such text, another number of
    pairs, a log probability that is not finite or above 0, and a continuation without tokens.

    Example: `parse_scores("[[-3.25, 2], [-7.5, 4]]")` is `[(-3.25, 2), (-7.5, 4)]`.
    """
    try:
        pairs = [(float(logp), tokens) for logp, tokens in json.loads(text)]
    except (TypeError, ValueError):
        raise ValueError(f"no scores: {text[:80]!r}") from None
    if n is not None and len(pairs) != n:
        raise ValueError(f"{len(pairs)} scores for {n} continuations")
    for logp, tokens in pairs:
        if not math.isfinite(logp) or logp > 0:
            raise ValueError(f"{logp} is no log probability")
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
            raise ValueError(f"{tokens!r} is no number of tokens")
    return pairs


def to_response(request: Request, scores: Any) -> Response:
    """Scores that came for a request as the Response to be stored.

    What is not one finite pair a continuation becomes the outcome `error`, which is asked again.
    """
    if isinstance(scores, dict):
        return Response("error", error=str(scores.get("error") or "no cause given")[:300])
    try:
        text = to_text(scores)
        parse_scores(text, len(request.body["continuations"]))
    except (TypeError, ValueError, OverflowError) as e:
        return Response("error", error=f"wrong scores: {e}"[:300])
    return Response("ok", text, SCORED)
