"""The request kind "score these continuations": who can answer it, and how its answers are read.

A likelihood prompt (`kind: likelihood`) asks how likely a model finds given texts as its answer.
Nothing is generated. An answer is stored as the text `[[sum_logp, n_tokens], ...]`, one pair a
continuation, in their order.

Of a vLLM server the log probabilities of a prompt's own tokens are asked: the chat ends with a
continuation as the assistant's unfinished turn, and `prompt_logprobs: 0` returns the log
probability of every token of that prompt and no other. The same call without it says where the
continuation begins. One token is generated, since a server generates at least one; it is not read.
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
#: What makes a chat's last message the unfinished turn of the assistant.
UNFINISHED = {"add_generation_prompt": False, "continue_final_message": True}


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


def to_response(request: Request, scores: Any) -> Response:
    """Scores that came for a request as the Response to be stored: log probabilities to five
    decimals.

    What is not one finite pair a continuation becomes the outcome `error`, which is asked again.
    """
    if isinstance(scores, dict):
        return Response("error", error=str(scores.get("error") or "no cause given")[:300])
    n = len(request.body["continuations"])
    try:
        pairs = [[round(float(logp), 5), tokens] for logp, tokens in scores]
        if len(pairs) != n:
            raise ValueError(f"{len(pairs)} scores for {n} continuations")
        for logp, tokens in pairs:
            if not math.isfinite(logp) or logp > 0:
                raise ValueError(f"{logp} is no log probability")
            if type(tokens) is not int or tokens < 1:
                raise ValueError(f"{tokens!r} is no number of tokens")
    except (TypeError, ValueError, OverflowError) as e:
        return Response("error", error=f"wrong scores: {e}"[:300])
    return Response("ok", json.dumps(pairs), SCORED)


def bodies(request: Request, model: Model) -> list[dict[str, Any]]:
    """What is posted to a vLLM server: the prompt alone, then the prompt with each continuation."""
    messages = request.body["messages"]
    shared = {"model": model.vendor_id, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    posted = [shared | {"messages": messages, "add_generation_prompt": True}]
    for text in request.body["continuations"]:
        turn = {"role": "assistant", "content": text}
        posted.append(shared | {"messages": [*messages, turn]} | UNFINISHED)
    return posted


def read(replies: Sequence[Any], request: Request) -> Response:
    """The Response from the replies to `bodies`; what cannot be read is the outcome `error`.

    The tokens of the prompt alone must begin each prompt with a continuation: elsewhere the
    tokenizer joins both, or the template writes something else there.
    """
    try:
        alone, *others = [_tokens(reply) for reply in replies]
        scores = [_score(alone, tokens) for tokens in others]
    except ValueError as e:
        return Response("error", error=str(e))
    response = to_response(request, scores)
    response.prompt_tokens = len(alone) + 1  # of the first token there is no log probability
    response.model_answered = str(replies[0].get("model") or "")
    return response


def _tokens(reply: Any) -> list[tuple[str, float]]:
    """Token id and log probability of each token of a prompt but the first."""
    found = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
    if not isinstance(found, list) or not all(found[1:]):
        raise ValueError("the server returns no prompt_logprobs: is it vLLM?")
    tokens = []
    for place in found[1:]:
        if not isinstance(place, dict) or len(place) != 1:
            raise ValueError("prompt_logprobs has other tokens than the prompt's own")
        [(token, about)] = place.items()
        if not isinstance(about, dict) or not isinstance(about.get("logprob"), int | float):
            raise ValueError("prompt_logprobs holds a token without log probability")
        tokens.append((str(token), float(about["logprob"])))
    return tokens


def _score(
    alone: Sequence[tuple[str, float]], tokens: Sequence[tuple[str, float]]
) -> tuple[float, int]:
    """Summed log probability and number of tokens of what follows the prompt alone."""
    if [token for token, _ in tokens[: len(alone)]] != [token for token, _ in alone]:
        raise ValueError("prompt and continuation share a token: their border cannot be told")
    rest = [logp for _, logp in tokens[len(alone) :]]
    return sum(rest), len(rest)
