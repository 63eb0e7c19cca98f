"""Scoring continuations with a vLLM server: the log probabilities of a prompt's own tokens.

For each continuation the chat ends with it as the assistant's unfinished turn, and
`prompt_logprobs: 0` returns the log probability of every token of that prompt and no other. The
same call without it says where the continuation begins. One token is generated, since a server
generates at least one; it is not read.
"""

from collections.abc import Sequence
from typing import Any

from katayori.prompting.models import Model
from katayori.prompting.requests import Request, Response
from katayori_tools.likelihood import to_response

#: What makes a chat's last message the unfinished turn of the assistant.
UNFINISHED = {"add_generation_prompt": False, "continue_final_message": True}


def bodies(request: Request, model: Model) -> list[dict[str, Any]]:
    """What is posted: the prompt alone, then the prompt with each continuation."""
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
    begins = [token for token, _ in tokens[: len(alone)]]
    if begins != [token for token, _ in alone]:
        raise ValueError("prompt and continuation share a token: their border cannot be told")
    rest = [logp for _, logp in tokens[len(alone) :]]
    return sum(rest), len(rest)
