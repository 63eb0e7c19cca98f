"""What simulated respondents share: planted chances become the same draws on every machine.

Who they are and what is planted in them is written in the paper that they answer for
(`papers/<id>.py`). They prove methods and are no findings about any model.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence

from katayori.prompting.requests import Request, Response


def uniform(*parts: object) -> float:
    """A number in (0, 1) fixed by its arguments, the same on every machine and Python version."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return (int.from_bytes(digest[:7], "big") + 0.5) / 2**56


def likeliest_first(chances: Mapping[str, float]) -> list[tuple[str, float]]:
    """Tokens and their log probabilities; those of equal chance stay in their order."""
    top = [(token, math.log(p)) for token, p in chances.items() if p]
    return sorted(top, key=lambda pair: -pair[1])


def drawn_option(request: Request, chances: Sequence[float]) -> int:
    """The number of the option that a request draws, from 0 to 2."""
    drawn = uniform(
        request.model, request.prompt_id, request.item_id, request.repetition, request.variant
    )
    if drawn < chances[0]:
        return 0
    return 1 if drawn < chances[0] + chances[1] else 2


def numbered_response(request: Request, chances: Sequence[float], text: str) -> Response:
    """A response whose text names one of three options, with the planted chances where asked."""
    by_option = {str(i): p for i, p in enumerate(chances)}
    top = likeliest_first(by_option) if request.body.get("logprobs") else None
    return Response("ok", text, "stop", top, completion_tokens=len(text))
