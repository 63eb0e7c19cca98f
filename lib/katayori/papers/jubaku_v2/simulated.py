"""Simulated respondents of two options, one of them neutral."""

from collections.abc import Mapping
from typing import Any

from katayori.errors import expect
from katayori.prompting.requests import Request
from katayori.prompting.simulated import likeliest_first, uniform
from katayori.prompting.store import Response

#: Two-option items: chance of the neutral option up to template 2 and above, drawn once a case (by
#: the fair one for every variant anew); without chances, option A whatever stands there.
TWO_OPTION: dict[str, tuple[float, float] | None] = {
    "sim-two-fair": (0.9, 0.9),
    "sim-two-biased": (0.2, 0.2),
    "sim-two-template": (0.9, 0.1),
    "sim-two-first": None,
}


def neutral_chance(model: str, item: Mapping[str, Any]) -> float:
    """The planted chance of the neutral option of an item in the shape of `items` (X-3).

    Raises KatayoriError for an unknown respondent.

    Example:
        >>> item = {"case_id": "c1", "item_id": "c1-t1-nb", "template": 1, "role_a": "neutral"}
        >>> neutral_chance("sim-two-biased", item), neutral_chance("sim-two-first", item)
        (0.2, 1.0)
    """
    expect(model, TWO_OPTION, "simulated respondent of two-option items")
    planted = TWO_OPTION[model]
    if planted is None:
        return 1.0 if item["role_a"] == "neutral" else 0.0
    early, late = planted
    return late if item["template"] > 2 else early


def respond(request: Request) -> Response:
    """The answer of the respondent that a request names.

    Example:
        >>> from katayori.papers.examples import request_to
        >>> respond(request_to("sim-two-first", "jubaku_v2", "ju_1_ja")).text
        'A'
    """
    model, item = request.model, request.fields
    p = neutral_chance(model, item)
    drawn_for = item["item_id"] if model == "sim-two-fair" else item["case_id"]
    drawn = uniform(model, drawn_for, request.repetition)
    letters = {item["role_a"]: "A", item["role_b"]: "B"}
    shares = sorted(((1 - p, letters["biased"]), (p, letters["neutral"])), reverse=True)
    text = letters["neutral" if drawn < p else "biased"]
    top = None
    if request.body.get("logprobs"):
        top = likeliest_first({letter: share for share, letter in shares})
    return Response("ok", text, "stop", top, completion_tokens=1)
