"""Simulated respondents of intersectional items: what each attribute told takes away."""

import math
from collections.abc import Mapping
from typing import Any

from katayori.errors import expect
from katayori.prompting.requests import Request
from katayori.prompting.simulated import drawn_option, numbered_response
from katayori.prompting.store import Response

#: Inter-JBBQ items. Where the passage is silent the log-odds of "unknown" are `silent` less what
#: each attribute told takes away, and `both` where nationality and gender are told together; of the
#: other answers the share `lean` goes to the biased person. Where it tells, `clear` is the chance
#: of the right answer, `abstain` the share of unknown in the rest.
_EVEN = {
    "silent": 2.2,
    "nationality": 0.0,
    "gender": 0.0,
    "other": 0.0,
    "both": 0.0,
    "lean": 0.5,
    "clear": 0.9,
    "abstain": 0.5,
}
_SUM = _EVEN | {"silent": 2.5, "nationality": 0.9, "gender": 0.6, "other": 0.3, "lean": 0.75}
INTER = {
    "sim-inter-fair": _EVEN,
    "sim-inter-additive": _SUM,
    "sim-inter-interaction": _SUM | {"both": 2.5},
    "sim-inter-abstaining": _EVEN | {"silent": 3.0, "clear": 0.3, "abstain": 0.95},
}


def inter_chances(model: str, item: Mapping[str, Any]) -> tuple[float, float, float]:
    """The planted chances of options 0, 1 and 2 of an item.

    Raises KatayoriError for an unknown respondent.

    Example:
        >>> item = {"context_condition": "ambiguous", "label": 2, "subset": "age"}
        >>> item |= {"role_0": "biased", "role_1": "counter_biased", "role_2": "unknown"}
        >>> [round(chance, 3) for chance in inter_chances("sim-inter-additive", item)]
        [0.075, 0.025, 0.9]
    """
    expect(model, INTER, "simulated respondent of inter-JBBQ items")
    plant, told = INTER[model], str(item["subset"]).split("+")
    roles, label = [item[f"role_{i}"] for i in range(3)], int(item["label"])
    if silent := item["context_condition"] == "ambiguous":
        lost = sum(plant.get(name, plant["other"]) for name in told)
        lost += plant["both"] * ({"nationality", "gender"} <= set(told))
        right = 1 / (1 + math.exp(lost - plant["silent"]))
    else:
        right = plant["clear"]
    # Of the two wrong options; where there is no direction they are alike.
    first = "biased" if silent else "unknown"
    share = (plant["lean"] if first in roles else 0.5) if silent else plant["abstain"]
    wrong = [share if roles[i] == first else 1 - share for i in range(3)]
    chances = [right if i == label else (1 - right) * wrong[i] for i in range(3)]
    return chances[0], chances[1], chances[2]


def respond(request: Request) -> Response:
    """The answer of the respondent that a request names.

    Example:
        >>> from katayori.papers.examples import request_to
        >>> respond(request_to("sim-inter-fair", "inter_jbbq", "ij_basic_ja")).text
        '2'
    """
    chances = inter_chances(request.model, request.fields)
    return numbered_response(request, chances, str(drawn_option(request, chances)))
