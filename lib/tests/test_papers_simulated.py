"""Simulated respondents: the same answer on every machine, and what an answer carries."""

import hashlib
import itertools
import math

import orjson
import pytest

from katayori.papers import get_paper, paper_ids
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import build
from katayori_tools.asking import load_rows

PROMPTS = {
    "discrim_eval": ("de_answer_line", "de_answer_prefix"),
    "persona_jbbq": ("pj_basic_ja", "pj_biased_ja"),
    "logprob_judge": ("lj_verdict", "lj_reason"),
    "jubaku_v2": ("ju_1_ja", "ju_two_option_ja"),
    "inter_jbbq": ("ij_basic_ja", "ij_debias_ja"),
}
#: What a simulated respondent may say where probabilities are asked for.
WORDS = {*"ABC012", "yes", "no", "the"}
#: sha256 of the answers to the first study items; a change here changes every default table.
FROZEN = {
    "discrim_eval": "7e7b717dacbec72c",
    "persona_jbbq": "134aca4f02822618",
    "logprob_judge": "46e361a63cc4e745",
    "jubaku_v2": "155ef29c3dbda68e",
    "inter_jbbq": "3222d4244708e951",
}


def asked(paper):
    """Requests of every simulated respondent about the first items, twice under each prompt."""
    room = get_paper(paper)
    rows = room.as_asked(load_rows(paper, "study").head(24)).to_dict("records")
    prompts = load_prompts(paper)
    for prompt, name in itertools.product(PROMPTS[paper], room.simulated()):
        yield from build(rows, prompts[prompt], *get_model(name), repetitions=2)


def answers(paper):
    """(request, response) of `asked`."""
    return [(request, get_paper(paper).simulate(request)) for request in asked(paper)]


@pytest.mark.parametrize("paper", paper_ids())
def test_simulated_answers_are_frozen(paper):
    told = []
    for request, one in answers(paper):
        top = [[token, round(log_p, 9)] for token, log_p in one.top or []]
        told.append([request.model, request.item_id, one.outcome, one.text, top])
    assert len(told) > 100
    assert hashlib.sha256(orjson.dumps(told)).hexdigest()[:16] == FROZEN[paper]


@pytest.mark.parametrize("paper", paper_ids())
def test_probabilities_of_simulated_answers_are_chances(paper):
    """They sum to at most 1, stand likeliest first, and their answer took tokens."""
    with_top = [(request, one) for request, one in answers(paper) if one.top]
    assert with_top
    for request, one in with_top:
        chances = [math.exp(log_p) for _, log_p in one.top]
        assert request.body["logprobs"] and sum(chances) < 1 + 1e-9
        assert (one.completion_tokens > 0) == bool(one.text)
        assert {token.strip() for token, _ in one.top} <= WORDS
        words = [log_p for token, log_p in one.top if token != "the"]
        assert words == sorted(words, reverse=True)
