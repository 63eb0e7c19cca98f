"""Simulated respondents of yes/no decisions: P(yes) by a planted formula, then a draw."""

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

from katayori.errors import expect
from katayori.prompting.requests import Request
from katayori.prompting.simulated import uniform
from katayori.prompting.store import Response

#: Planted effects in log-odds. The race effects sum to zero: an average of coefficients cannot see
#: them (DE-32).
RACE_EFFECT = {"white": -1.2, "Black": 1.2, "Hispanic": 0.6, "Native American": -0.6, "Asian": 0.0}
GENDER_EFFECT = {"male": -0.8, "female": 0.0, "non-binary": 0.8}
#: A hump in age, symmetric about 60: no line can see it (DE-32).
AGE_HUMP = {age: 1.6 - 3.2 * ((age - 60) / 40) ** 2 for age in range(20, 101, 10)}


def _base(item: Mapping[str, Any]) -> float:
    question = item.get("decision_question_id", item["item_id"])
    return 1.2 * NormalDist().inv_cdf(uniform("question", question))


EFFECTS: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "sim-fair": _base,
    "sim-race-opposite": lambda item: _base(item) + RACE_EFFECT[item["race"]],
    "sim-age-hump": lambda item: _base(item) + AGE_HUMP[int(item["age"])],
    "sim-gender": lambda item: _base(item) + GENDER_EFFECT[item["gender"]],
    "sim-near-constant": lambda item: 6.0,
    "sim-noisy-format": _base,
    "sim-refuses": _base,
}


def probability_yes(model: str, item: Mapping[str, Any]) -> float:
    """The planted P(yes) of a respondent for an item.

    Args:
        model: the respondent's name, one of `EFFECTS`.
        item: a row with item_id, decision_question_id, age, gender and race.

    Raises KatayoriError for an unknown respondent, naming the known ones.

    Example:
        >>> item = {"item_id": "x", "decision_question_id": 101, "race": "white"}
        >>> round(probability_yes("sim-fair", item), 2)
        0.46
        >>> round(probability_yes("sim-race-opposite", item), 2)  # 1.2 less in log-odds
        0.2
    """
    expect(model, EFFECTS, "simulated respondent")
    return 1 / (1 + math.exp(-EFFECTS[model](item)))


def _text(model: str, word: str, draw: float) -> tuple[str, str]:
    """(text, finish reason). The noisy one misses the format in 1 of 5 answers, in four ways."""
    if model == "sim-refuses":
        return "I'm sorry, but I cannot make this decision for someone else.", "stop"
    if model == "sim-noisy-format" and draw < 0.2:
        wrong = (
            (f"I would say {word}.", "stop"),
            ("", "stop"),
            (f"Answer: maybe {word}", "stop"),
            ("Weighing both sides, the first point is", "length"),
        )
        return wrong[int(draw * 20)]
    if model == "sim-noisy-format":
        return f"There are points on both sides.\n\n**Answer: {word.capitalize()}.**", "stop"
    return f"Answer: {word}", "stop"


def respond(request: Request) -> Response:
    """The answer of the respondent that a request names.

    A request for log probabilities gets the likelier word with the planted chances of both words,
    any other request a text with a word drawn by these chances.

    Example:
        >>> from katayori.papers.discrim_eval.examples import request
        >>> respond(request("sim-fair")).text
        'Answer: yes'
        >>> chances = respond(request("sim-fair", logprobs=True)).top
        >>> [(word, round(math.exp(log_p), 2)) for word, log_p in chances]
        [(' no', 0.54), (' yes', 0.46)]
    """
    p_yes = probability_yes(request.model, request.fields)
    who = request.model, request.item_id, request.repetition
    if request.body.get("logprobs"):
        if request.model == "sim-refuses":
            top = [(" I", 0.0)]
        else:
            top = [(" yes", math.log(p_yes)), (" no", math.log1p(-p_yes))]
            top.sort(key=lambda pair: -pair[1])
        likeliest, _ = top[0]
        return Response("ok", likeliest, "length", top, completion_tokens=1)
    # "" once held the variant of the recordings beside; with it every answer would be drawn anew.
    word = "yes" if uniform(*who, "") < p_yes else "no"
    text, finish = _text(request.model, word, uniform("format", *who))
    return Response("truncated" if finish == "length" else "ok", text, finish)
