"""Simulated respondents with planted, documented behaviour: they prove metrics, never say anything
about a model (X-3).

All are deterministic from the model's name, the item and the repetition, on every machine.
Discrim-eval behaviour:

    logit P(yes) = base(question) + effect(age, gender, race)

base: a normal quantile per question times 1.2 (some questions lean yes, some no), the same for
every group.

BBQ-shaped items get an option by the planted chances of `bbq_chances`, drawn anew for every prompt;
intersectional ones by those of `inter_chances`.

Judges of two answers weigh slot A against slot B by a score that is planted in `JUDGES`, see
`judge_chances`.

Two-option items get the neutral option with the chance of `neutral_chance`.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError, expect
from katayori.prompting.requests import Request
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd

#: Planted effects in log-odds. The race effects sum to zero: an average of coefficients cannot see
#: them (DE-32).
RACE_EFFECT = {"white": -1.2, "Black": 1.2, "Hispanic": 0.6, "Native American": -0.6, "Asian": 0.0}
GENDER_EFFECT = {"male": -0.8, "female": 0.0, "non-binary": 0.8}
#: A hump in age, symmetric about 60: no line can see it (DE-32).
AGE_HUMP = {age: 1.6 - 3.2 * ((age - 60) / 40) ** 2 for age in range(20, 101, 10)}


def uniform(*parts: object) -> float:
    """A number in (0, 1) fixed by its arguments, the same on every machine and Python version."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return (int.from_bytes(digest[:7], "big") + 0.5) / 2**56


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
    """The planted P(yes) of a respondent for an item (a row with question id, age, gender, race).

    Raises KatayoriError for an unknown respondent, naming the known ones.
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


def _three(chances: Sequence[float]) -> tuple[float, float, float]:
    first, second, third = chances
    return first, second, third


def bbq_chances(
    model: str, item: Mapping[str, Any], biased_persona: bool = False
) -> tuple[float, float, float]:
    """The planted chances of options 0, 1 and 2 of an item in the shape of `data.bbq` (X-3).

    Where an item has no target, the right option has .9. Raises KatayoriError for an unknown
    respondent.
    """
    expect(model, BBQ, "simulated respondent of BBQ-shaped items")
    if model == "sim-bbq-first":
        return BBQ_FIRST
    roles = [item[f"role_{i}"] for i in range(3)]
    if set(roles) != set(_ROLES):
        label = int(item["label"])
        return _three([0.9 if i == label else 0.05 for i in range(3)])
    by_context = BBQ[model]
    if biased_persona:
        by_context = SURFACED.get(model, by_context)
    chances = dict(zip(_ROLES, by_context[item["context_condition"]], strict=True))
    return _three([chances[role] for role in roles])


def bbq_planted() -> "pd.DataFrame":
    """What is planted: model, prompts (other or biased persona), context_condition, and the chance
    of each role.
    """
    import pandas as pd

    rows = []
    for prompts, planted in (("other", BBQ), ("biased persona", SURFACED)):
        for model, by_context in planted.items():
            for context, chances in by_context.items():
                rows.append((model, prompts, context, *chances))
    return pd.DataFrame(rows, columns=["model", "prompts", "context_condition", *_ROLES])


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
    """The planted chances of options 0, 1 and 2 of an item of `data.inter_jbbq` (X-3).

    Raises KatayoriError for an unknown respondent.
    """
    # The stored simulations hash these statements: change them with `make simulate` only.
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
    return tuple(right if i == label else (1 - right) * wrong[i] for i in range(3))  # type: ignore[return-value]


def _likeliest_first(chances: Mapping[str, float]) -> list[tuple[str, float]]:
    """Tokens and their log probabilities; those of equal chance stay in their order."""
    top = [(token, math.log(p)) for token, p in chances.items() if p]
    return sorted(top, key=lambda pair: -pair[1])


def _bbq_response(request: Request) -> Response:
    item = request.fields
    if request.model in INTER:
        chances = inter_chances(request.model, item)
    else:
        biased_persona = request.prompt_id.startswith("pj_biased")
        chances = bbq_chances(request.model, item, biased_persona)
    who = request.model, request.prompt_id, request.item_id, request.repetition
    drawn = uniform(*who, request.variant)
    if drawn < chances[0]:
        chosen = 0
    elif drawn < chances[0] + chances[1]:
        chosen = 1
    else:
        chosen = 2
    text = str(chosen)
    if request.model == "sim-bbq-chatty":
        text = _chatty(chosen, uniform("format", *who))
    by_option = {str(i): p for i, p in enumerate(chances)}
    top = _likeliest_first(by_option) if request.body.get("logprobs") else None
    return Response("ok", text, "stop", top, completion_tokens=len(text))


def _chatty(chosen: int, draw: float) -> str:
    """The number, or in `BBQ_CHATTY` of the texts more or less than it, in four ways."""
    if draw >= BBQ_CHATTY:
        return str(chosen)
    forms = (f"{chosen}です", f"{chosen}.", f"答えは{chosen}番だと思います。", "")
    return forms[int(draw / BBQ_CHATTY * 4)]


#: Two-option items: chance of the neutral option up to template 2 and above, drawn once a case (by
#: the fair one for every variant anew); without chances, option A whatever stands there.
TWO_OPTION: dict[str, tuple[float, float] | None] = {
    "sim-two-fair": (0.9, 0.9),
    "sim-two-biased": (0.2, 0.2),
    "sim-two-template": (0.9, 0.1),
    "sim-two-first": None,
}


def neutral_chance(model: str, item: Mapping[str, Any]) -> float:
    """The planted chance of the neutral option of an item in the shape of `data.jubaku` (X-3).

    Raises KatayoriError for an unknown respondent.
    """
    expect(model, TWO_OPTION, "simulated respondent of two-option items")
    planted = TWO_OPTION[model]
    if planted is None:
        return 1.0 if item["role_a"] == "neutral" else 0.0
    early, late = planted
    return late if item["template"] > 2 else early


def _two_option_response(request: Request) -> Response:
    model, item = request.model, request.fields
    p = neutral_chance(model, item)
    drawn_for = item["item_id"] if model == "sim-two-fair" else item["case_id"]
    drawn = uniform(model, drawn_for, request.repetition)
    letters = {item["role_a"]: "A", item["role_b"]: "B"}
    shares = sorted(((1 - p, letters["biased"]), (p, letters["neutral"])), reverse=True)
    text = letters["neutral" if drawn < p else "biased"]
    top = None
    if request.body.get("logprobs"):
        top = _likeliest_first({letter: share for share, letter in shares})
    return Response("ok", text, "stop", top, completion_tokens=1)


def _yes_no_response(request: Request) -> Response:
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
    word = "yes" if uniform(*who, request.variant) < p_yes else "no"
    text, finish = _text(request.model, word, uniform("format", *who))
    return Response("truncated" if finish == "length" else "ok", text, finish)


#: Judges: what one point of quality, one character of length and standing first add to the score of
#: slot A over slot B, and the standard deviation of a normal draw, anew for every single call.
JUDGES = {
    "sim-judge-fair": {"quality": 2.5, "length": 0.0, "first": 0.0, "call": 0.8},
    "sim-judge-first": {"quality": 0.0, "length": 0.0, "first": 12.0, "call": 0.8},
    "sim-judge-leaning": {"quality": 2.5, "length": 0.0, "first": 3.0, "call": 0.8},
    "sim-judge-long": {"quality": 0.0, "length": 0.1, "first": 0.0, "call": 0.8},
}
#: Log weight of C. A score of s gives A the weight s/2 and B -s/2: C is likeliest for |s| < 1.5.
JUDGE_TIE = 0.75
JUDGE_OTHER = 0.05  # probability of all other tokens


def judge_chances(model: str, item: Mapping[str, Any], *call: object) -> dict[str, float]:
    """The planted probabilities of A, B and C for an item of `data.judge.in_both_orders` that has
    known qualities.

    What a judge makes of the two answers is the same in both orders; the draw of the single call,
    fixed by `call`, and the preference for the first slot are not. Raises KatayoriError for an
    unknown judge or an item without qualities.
    """
    expect(model, JUDGES, "simulated judge")
    if "quality_1" not in item:
        raise KatayoriError(
            f"{item['item_id']} has no planted quality; simulated judges answer our study set only"
        )
    weigh = JUDGES[model]
    a, b = tuple(str(item["order"]))  # "21": answer 2 stands as A
    quality = item[f"quality_{a}"] - item[f"quality_{b}"]
    length = len(item["answer_a"]) - len(item["answer_b"])
    draw = NormalDist().inv_cdf(uniform("judge", model, item["item_id"], *call))
    # In this order: sums of floats depend on it.
    score = weigh["quality"] * quality + weigh["first"]
    score += weigh["length"] * length
    score += weigh["call"] * draw
    weights = {"A": math.exp(score / 2), "B": math.exp(-score / 2), "C": math.exp(JUDGE_TIE)}
    total = sum(weights.values())
    return {letter: (1 - JUDGE_OTHER) * weight / total for letter, weight in weights.items()}


def judge_planted() -> "pd.DataFrame":
    """What is planted: a row a judge, with the columns of `JUDGES`."""
    import pandas as pd

    return pd.DataFrame(JUDGES).T.rename_axis("model").reset_index()


def _judge_response(request: Request) -> Response:
    if not request.body.get("logprobs"):  # the criteria, which no simulated judge reads
        return Response("ok", "・模範回答の要点を満たすこと", "stop")
    chances = judge_chances(
        request.model, request.fields, request.prompt_id, request.repetition, request.variant
    )
    top = _likeliest_first(chances)
    letter, _ = top[0]
    text = f"理由は述べません。\n{letter}" if request.answer_at == "last_letter" else letter
    others = ("the", math.log(JUDGE_OTHER))
    return Response("ok", text, "stop", [*top, others], completion_tokens=len(text))


def simulate(requests: Sequence[Request]) -> list[Response]:
    """Answer requests as the simulated model they name; prompts with log probabilities get the
    planted chances.
    """
    return [_response(request) for request in requests]


def _response(request: Request) -> Response:
    """The answer of the one kind of respondent that the model's name is of."""
    if request.model in BBQ or request.model in INTER:
        return _bbq_response(request)
    if request.model in JUDGES:
        return _judge_response(request)
    if request.model in TWO_OPTION:
        return _two_option_response(request)
    return _yes_no_response(request)
