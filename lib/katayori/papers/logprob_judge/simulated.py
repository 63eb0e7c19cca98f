"""Simulated judges: a score of slot A against slot B of planted parts."""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from katayori.errors import KatayoriError, expect
from katayori.prompting.requests import Request
from katayori.prompting.simulated import likeliest_first, uniform
from katayori.prompting.store import Response

if TYPE_CHECKING:
    import pandas as pd

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
    """The planted probabilities of A, B and C for an item of `items.in_both_orders` with known
    qualities.

    What a judge makes of the two answers is the same in both orders; the draw of the single call,
    fixed by `call`, and the preference for the first slot are not. Raises KatayoriError for an
    unknown judge or an item without qualities.

    Example:
        >>> from katayori.papers.logprob_judge import examples, items
        >>> item = items.in_both_orders(examples.comparisons()).to_dict("records")[0]
        >>> {letter: round(p, 3) for letter, p in judge_chances("sim-judge-leaning", item).items()}
        {'A': 0.899, 'B': 0.001, 'C': 0.05}
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
    """What is planted: a row a judge, with the columns of `JUDGES`.

    Example:
        >>> list(judge_planted()["model"])
        ['sim-judge-fair', 'sim-judge-first', 'sim-judge-leaning', 'sim-judge-long']
    """
    import pandas as pd

    return pd.DataFrame(JUDGES).T.rename_axis("model").reset_index()


def respond(request: Request) -> Response:
    """The answer of the judge that a request names.

    Example:
        >>> from katayori.papers.examples import request_to
        >>> respond(request_to("sim-judge-first", "logprob_judge", "lj_verdict")).text
        'A'
    """
    if not request.body.get("logprobs"):  # the criteria, which no simulated judge reads
        return Response("ok", "・模範回答の要点を満たすこと", "stop")
    chances = judge_chances(
        request.model, request.fields, request.prompt_id, request.repetition, request.variant
    )
    top = likeliest_first(chances)
    letter, _ = top[0]
    text = f"理由は述べません。\n{letter}" if request.answer_at == "last_letter" else letter
    others = ("the", math.log(JUDGE_OTHER))
    return Response("ok", text, "stop", [*top, others], completion_tokens=len(text))
