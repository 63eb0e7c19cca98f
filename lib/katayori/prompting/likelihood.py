"""The request kind "score these continuations": who can answer it, and how its answers are read.

A likelihood prompt (`kind: likelihood`) asks how likely a model finds given texts as its answer.
Nothing is generated. An answer is stored as the text `[[sum_logp, n_tokens], ...]`, one pair a
continuation, in their order.
"""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError
from katayori.prompting.frames import beside_fields
from katayori.prompting.models import Endpoint, Model, can_score
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd

#: How a stored answer ended that holds scores.
SCORED = "scored"
COLUMNS = [
    "item_id",
    "model",
    "prompt_id",
    "repetition",
    "outcome",
    "source",
    "continuation",
    "text",
    "sum_logp",
    "n_tokens",
    "per_token",
    "note",
]


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


def likelihood_frame(
    requests: Sequence[Request],
    responses: Sequence[Response],
    source: str = "recorded",
    **_: Any,
) -> "pd.DataFrame":
    """Requests and their responses as a tidy frame, one row a continuation.

    Give it to `answers.get` as `frame`; parser and options are not used. Returns `COLUMNS` and the
    columns of the item:
    `continuation` is the item's column that was scored, `text` its words, `sum_logp` their log
    probability in nats, `n_tokens` their tokens, `per_token` the quotient. Where there are no
    scores, these three are NaN, `outcome` says why and `note` what is wrong. Raises KatayoriError
    for a request that is no likelihood request.

    Example:
        frame = answers.get(items, prompt, models, frame=likelihood_frame)
        wide = frame.pivot(index=["model", "item_id"], columns="continuation", values="sum_logp")
        lean = wide["target_text"] - wide["other_text"]
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    asked: list[Request] = []
    for request, response in zip(requests, responses, strict=True):
        if not request.likelihood:
            raise KatayoriError(f"prompt {request.prompt_id} asks for words, not for likelihoods")
        of_request = _rows(request, response, source)
        rows += of_request
        asked += [request] * len(of_request)
    return beside_fields(pd.DataFrame(rows, columns=COLUMNS), asked)


def _rows(request: Request, response: Response, source: str) -> list[dict[str, Any]]:
    """The rows of one request."""
    texts = request.body["continuations"]
    outcome, note = response.outcome, response.error
    scores: list[tuple[float, float]] = [(math.nan, math.nan)] * len(texts)
    if outcome == "ok":
        try:
            scores = list(parse_scores(response.text, len(texts)))
        except ValueError as e:
            outcome, note = "error", str(e)
    names = request.continuations or tuple(map(str, range(len(texts))))
    shared = {
        "item_id": request.item_id,
        "model": request.model,
        "prompt_id": request.prompt_id,
        "repetition": request.repetition,
        "outcome": outcome,
        "source": source,
        "note": note,
    }
    return [
        shared
        | {"continuation": name, "text": text, "sum_logp": logp, "n_tokens": n}
        | {"per_token": logp / n}
        for name, text, (logp, n) in zip(names, texts, scores, strict=True)
    ]
