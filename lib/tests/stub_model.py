"""A user's model for tests: a server on loopback with planted rates, and files of its answers.

    with Stub(rules_of(chosen)) as stub:   # `chosen`: what `make live` asks
        ... stub.url

An answer depends on the item and the prompt alone (a hash of their ids). The rates:

    discrim_eval   yes to applicants below `OLD` in `YES_YOUNG` of the items, to others in `YES_OLD`
    persona_jbbq   the stereotyped option in `BIASED` of the ambiguous items, else "unknown";
                   clear items right
    logprob_judge  the assistant shown first in `FIRST` of the trials, the other in the rest
    jubaku_v2      the biased reason in `BIASED_REASON` of the trials
    inter_jbbq     right in `RIGHT` of the items

Other models for `Stub(says=...)`: `first_option`, `yes_by_gender`, `fair` (who a person is decides
nothing), `partly_unreadable` (the fair one, unreadable in `LOST` of the items), `at_random` and
`prose`.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from aiohttp import web
from api_double import Double, completion

from katayori.prompting.requests import Request
from katayori_tools import cli
from katayori_tools.choices import Asking, filled as options_of

YES_YOUNG, YES_OLD = 0.9, 0.3
YES_MEN, YES_WOMEN = 0.4, 0.7  # of `yes_by_gender`
#: Of `fair`: yes to a person; "unknown" in ambiguous items; right in clear ones; and unreadable.
FAIR_YES, FAIR_UNKNOWN, FAIR_RIGHT, LOST = 0.55, 0.6, 0.8, 0.3
BIASED, FIRST, BIASED_REASON, RIGHT = 0.4, 0.8, 0.3, 0.6
OLD = 60
CRITERIA = "・正確さ"  # what the stub says wherever nothing is planted
#: Prompts whose answers stand in later prompts.
NOT_PLANTED = ("lj_criteria", "lj_reason_first")
#: Share of the probability that the answer's token has.
SURE = 0.8
TROUBLES = ("none", "one cluster", "nothing valid", "failing", "no log probabilities")
#: What each trouble answers in place of an answer that can be read.
UNREADABLE = "申し訳ありませんが、お答えできません。"
PROSE = "それは難しい質問ですね。状況によると思います。"
FAILED_SHARE = 0.3
#: What a model answers to a request.
Says = Callable[[Request], str]


def chance(*words: object) -> float:
    """A number in [0, 1) that depends on the words alone."""
    text = "|".join(map(str, words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def _numbered(fields: Mapping[str, Any], role: str) -> str:
    """The number of the option with a role."""
    return next(str(n) for n in range(3) if fields[f"role_{n}"] == role)


def _discrim_eval(fields: Mapping[str, Any], drawn: float) -> str:
    rate = YES_YOUNG if int(fields["age"]) < OLD else YES_OLD
    return "Answer: yes" if drawn < rate else "Answer: no"


def _persona_jbbq(fields: Mapping[str, Any], drawn: float) -> str:
    if fields["context_condition"] != "ambiguous":
        return str(fields["label"])
    return _numbered(fields, "biased" if drawn < BIASED else "unknown")


def _logprob_judge(fields: Mapping[str, Any], drawn: float) -> str:
    return "A" if drawn < FIRST else "B"


def _jubaku_v2(fields: Mapping[str, Any], drawn: float) -> str:
    role = "biased" if drawn < BIASED_REASON else "neutral"
    return "A" if fields["role_a"] == role else "B"


def _inter_jbbq(fields: Mapping[str, Any], drawn: float) -> str:
    right = str(fields["label"])
    return right if drawn < RIGHT else str((int(right) + 1) % 3)


PLANTED = {
    "discrim_eval": (_discrim_eval, ("Answer: yes", "Answer: no")),
    "persona_jbbq": (_persona_jbbq, ("0", "1", "2")),
    "logprob_judge": (_logprob_judge, ("A", "B", "C")),
    "jubaku_v2": (_jubaku_v2, ("A", "B")),
    "inter_jbbq": (_inter_jbbq, ("0", "1", "2")),
}


def _fair_yes(fields: Mapping[str, Any], drawn: float) -> str:
    return "Answer: yes" if drawn < FAIR_YES else "Answer: no"


def _fair_option(fields: Mapping[str, Any], drawn: float) -> str:
    """The right option in so many of the items, else each of the two others in half of these."""
    right = int(fields["label"])
    share = FAIR_UNKNOWN if fields["context_condition"] == "ambiguous" else FAIR_RIGHT
    return str((right + (drawn >= share) + (drawn >= (1 + share) / 2)) % 3)


def _fair_judge(fields: Mapping[str, Any], drawn: float) -> str:
    """The label of the pair in `FAIR_RIGHT` of the pairs, else the other; in both orders alike."""
    is_right = chance("judge", fields["pair_id"]) < FAIR_RIGHT
    better = fields["truth"] if is_right else {"1": "2", "2": "1"}.get(fields["truth"], "1")
    return "AB"[fields["order"].index(better)] if better in fields["order"] else "C"


def _fair_reason(fields: Mapping[str, Any], drawn: float) -> str:
    """Either reason in half of the cases; in both orders alike."""
    role = "biased" if chance(fields["case_id"], fields["template"]) < 1 / 2 else "neutral"
    return "A" if fields["role_a"] == role else "B"


FAIR = {
    "discrim_eval": _fair_yes,
    "persona_jbbq": _fair_option,
    "logprob_judge": _fair_judge,
    "jubaku_v2": _fair_reason,
    "inter_jbbq": _fair_option,
}


def planted(request: Request) -> str:
    """What the model answers to a request; `CRITERIA` where nothing is planted."""
    answer = PLANTED.get(request.paper)
    return _answered(request, answer[0]) if answer else CRITERIA


def fair(request: Request) -> str:
    """A model that treats all persons, options and orders alike, and is mostly right."""
    return _answered(request, FAIR[request.paper])


def partly_unreadable(request: Request) -> str:
    """The fair model, of which `LOST` of the answers are prose, whatever the position."""
    lost = chance("lost", request.prompt_id, request.item_id) < LOST
    return PROSE if lost and request.prompt_id not in NOT_PLANTED else fair(request)


def at_random(request: Request) -> str:
    """Any option with equal chance, whatever is asked: noise, and nothing else."""
    answers = PLANTED[request.paper][1]
    return _answered(request, lambda _, drawn: answers[int(drawn * len(answers))])


def prose(request: Request) -> str:
    """No answer that can be read, whatever is asked."""
    return PROSE


def _answered(request: Request, rule: Callable[[Mapping[str, Any], float], str]) -> str:
    """The text that a rule gives, as its prompt wants it; `CRITERIA` where nothing is planted."""
    if request.prompt_id in NOT_PLANTED:
        return CRITERIA
    text = rule(request.fields, chance(request.prompt_id, request.item_id))
    if request.one_token:
        return text.split()[-1]
    reasons_stand_before = request.prompt_id == "lj_reason_turns"
    has_reasons = request.prompt_id.startswith("lj_reason") and not reasons_stand_before
    return f"理由を述べます。\n{text}" if has_reasons else text


def options(paper: str) -> list[str]:
    """The tokens an answer of this paper may be."""
    return [text.split()[-1] for text in PLANTED[paper][1]]


def probabilities(paper: str, text: str) -> list[tuple[str, float]]:
    """Tokens and log probabilities at the answer's place; of no answer where none can be read."""
    chosen = text.split()[-1]
    others = [option for option in options(paper) if option != chosen]
    others = ["…"] if text in (UNREADABLE, PROSE) else others
    rest = math.log((1 - SURE) / len(others))
    return [(chosen, math.log(SURE)), *((other, rest) for other in others)]


def first_option(request: Request) -> str:
    """The first option, whatever is asked."""
    if request.prompt_id in NOT_PLANTED:
        return CRITERIA
    return PLANTED[request.paper][1][0]


def yes_by_gender(request: Request) -> str:
    """Yes to so many: `YES_MEN` of the men, `YES_WOMEN` of the women, half of the others."""
    rates = {"male": YES_MEN, "female": YES_WOMEN}
    drawn = chance(request.prompt_id, request.item_id)
    return "Answer: yes" if drawn < rates.get(request.fields["gender"], 0.5) else "Answer: no"


def troubled(request: Request, trouble: str, says: Says = planted) -> str:
    """The answer's text under a trouble."""
    return UNREADABLE if trouble == "nothing valid" else says(request)


def fails(request: Request, trouble: str) -> bool:
    """Whether a request fails under a trouble."""
    return trouble == "failing" and chance("fails", request.item_id) < FAILED_SHARE


def live(words: Sequence[str], says: Says = planted, trouble: str = "none") -> int:
    """`make live` with these words, asking the stub; what it returns."""
    rules = rules_of(asking_of(words))
    with Stub(rules, trouble, says) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KATAYORI_BASE_URL", stub.url)
        return cli.main(["live", *words, "--base-url", stub.url])


def asking_of(words: Sequence[str]) -> Asking:
    """What `make live` asks with these words."""
    return options_of(Asking, vars(cli.parsed(["live", *words])))


def rules_of(chosen: Asking) -> dict[str, Request]:
    """Everything a run will ask, by the text of its messages."""
    from katayori_tools import asking

    requests = [r for *_, batch in asking.wanted(chosen, stand_in=CRITERIA) for r in batch]
    return {_text(request.body): request for request in requests}


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


class Stub(Double):
    """The model as a server; to requests that `rules` (see `rules_of`) lacks it says `CRITERIA`."""

    def __init__(
        self, rules: Mapping[str, Request], trouble: str = "none", says: Says = planted
    ) -> None:
        super().__init__()
        self.rules, self.trouble, self.says = rules, trouble, says

    async def _reply(self, fault: str | None, body: dict, http: web.Request) -> web.StreamResponse:
        request = self.rules.get(_text(body))
        if request is None:
            return web.json_response(completion(CRITERIA, model="stub"))
        if fails(request, self.trouble):
            return web.json_response({"error": {"message": "no"}}, status=422)
        text = troubled(request, self.trouble, self.says)
        more = {}
        if body.get("logprobs") and self.trouble != "no log probabilities":
            more["logprobs"] = {"content": self._tokens(request.paper, text)}
        return web.json_response(completion(text, model="stub", **more))

    def _tokens(self, paper: str, text: str) -> list[dict[str, Any]]:
        """The answer's last word as a token with its alternatives; what precedes it as another."""
        last = text.split()[-1]
        top = [{"token": t, "logprob": p} for t, p in probabilities(paper, text)]
        final = {**top[0], "top_logprobs": top}
        before = text.removesuffix(last)
        first = {"token": before, "logprob": -0.1, "top_logprobs": []}
        return [first, final] if before else [final]


def filled(rows: list[dict[str, Any]], rules: Mapping[tuple, Request], trouble: str) -> list[dict]:
    """Rows of a template with the model's answers; requests that fail have no row."""
    out = []
    for row in rows:
        request = rules[row["item_id"], row["prompt_id"]]
        if fails(request, trouble):
            continue
        text = troubled(request, trouble)
        new = {**row, "text": text}
        if trouble != "no log probabilities" and request.body.get("logprobs"):
            new["top"] = probabilities(request.paper, text)
        out.append(new)
    return out
