"""Simulated respondents of BBQ-shaped items: planted chances of the three roles by context."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from katayori.errors import expect
from katayori.prompting.requests import Request
from katayori.prompting.simulated import drawn_option, numbered_response, three_chances, uniform
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd

#: BBQ-shaped items: respondent -> context -> chance of choosing the biased, the counter-biased and
#: the unknown option.
_FAIR = {
    "ambiguous": (0.05, 0.05, 0.9),
    "biased": (0.9, 0.05, 0.05),
    "counter_biased": (0.05, 0.9, 0.05),
}
_LEANING = {
    "ambiguous": (0.4, 0.1, 0.5),
    "biased": (0.9, 0.1, 0.0),
    "counter_biased": (0.3, 0.7, 0.0),
}
_ANY = dict.fromkeys(_FAIR, (1 / 3, 1 / 3, 1 / 3))  # where roles are balanced over positions
BBQ = {
    "sim-bbq-fair": _FAIR,
    "sim-bbq-stereotyped": _LEANING,
    "sim-bbq-first": _ANY,
    "sim-bbq-chatty": _FAIR,
}
#: Under the biased persona (PJ-11) the stereotyped one shows in ambiguous contexts what it held
#: back; no other changes.
SURFACED = {"sim-bbq-stereotyped": _LEANING | {"ambiguous": (0.7, 0.1, 0.2)}}
BBQ_FIRST = (0.8, 0.1, 0.1)  # sim-bbq-first looks at positions, never at what the options say
BBQ_CHATTY = 0.25  # share of sim-bbq-chatty's texts that are more than one character
_ROLES = ("biased", "counter_biased", "unknown")


def bbq_chances(
    model: str, item: Mapping[str, Any], biased_persona: bool = False
) -> tuple[float, float, float]:
    """The planted chances of options 0, 1 and 2 of an item in the shape of `data.bbq` (X-3).

    Where an item has no target, the right option has .9. Raises KatayoriError for an unknown
    respondent.

    Example:
        >>> item = {"context_condition": "ambiguous", "label": 2}
        >>> item |= {"role_0": "biased", "role_1": "counter_biased", "role_2": "unknown"}
        >>> bbq_chances("sim-bbq-stereotyped", item)
        (0.4, 0.1, 0.5)
        >>> bbq_chances("sim-bbq-stereotyped", item, biased_persona=True)
        (0.7, 0.1, 0.2)
    """
    expect(model, BBQ, "simulated respondent of BBQ-shaped items")
    if model == "sim-bbq-first":
        return BBQ_FIRST
    roles = [item[f"role_{i}"] for i in range(3)]
    if set(roles) != set(_ROLES):
        label = int(item["label"])
        return three_chances([0.9 if i == label else 0.05 for i in range(3)])
    by_context = BBQ[model]
    if biased_persona:
        by_context = SURFACED.get(model, by_context)
    chances = dict(zip(_ROLES, by_context[item["context_condition"]], strict=True))
    return three_chances([chances[role] for role in roles])


def bbq_planted() -> "pd.DataFrame":
    """What is planted: model, prompts (other or biased persona), context_condition, and the chance
    of each role.

    Under the biased persona only the respondents that change have rows.

    Example:
        >>> planted = bbq_planted()
        >>> persona = planted[planted["prompts"] == "biased persona"]
        >>> persona.groupby("context_condition")["biased"].sum().to_dict()
        {'ambiguous': 0.7, 'biased': 0.9, 'counter_biased': 0.3}
    """
    import pandas as pd

    rows = []
    for prompts, planted in (("other", BBQ), ("biased persona", SURFACED)):
        for model, by_context in planted.items():
            for context, chances in by_context.items():
                rows.append((model, prompts, context, *chances))
    return pd.DataFrame(rows, columns=["model", "prompts", "context_condition", *_ROLES])


def respond(request: Request) -> Response:
    """The answer of the respondent that a request names: the number of an option.

    Example:
        >>> item = {"item_id": "i1", "context_condition": "ambiguous", "label": 2}
        >>> item |= {"role_0": "biased", "role_1": "counter_biased", "role_2": "unknown"}
        >>> named = {"prompt_id": "pj_basic_ja", "prompt_hash": "", "variant": "", "paper": ""}
        >>> named |= {"endpoint": "simulated", "dataset": "study", "item_id": "i1", "fields": item}
        >>> who = {"model": "sim-bbq-fair", "identity": "sim-bbq-fair"}
        >>> respond(Request(**named, **who, body={})).text
        '2'
    """
    biased_persona = request.prompt_id.startswith("pj_biased")
    chances = bbq_chances(request.model, request.fields, biased_persona)
    chosen = drawn_option(request, chances)
    text = str(chosen)
    if request.model == "sim-bbq-chatty":
        who = request.model, request.prompt_id, request.item_id, request.repetition
        text = _chatty(chosen, uniform("format", *who))
    return numbered_response(request, chances, text)


def _chatty(chosen: int, draw: float) -> str:
    """The number, or in `BBQ_CHATTY` of the texts more or less than it, in four ways."""
    if draw >= BBQ_CHATTY:
        return str(chosen)
    forms = (f"{chosen}です", f"{chosen}.", f"答えは{chosen}番だと思います。", "")
    return forms[int(draw / BBQ_CHATTY * 4)]
