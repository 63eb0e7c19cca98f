"""Small changes of papers and prompting that other tests would not notice."""

import math
from dataclasses import replace

import pytest
import recorded_examples

from katayori.data import jubaku
from katayori.errors import UnavailableError
from katayori.papers import answers, discrim_eval, get_paper, logprob_judge
from katayori.prompting import recordings, requests, store
from katayori.prompting.answer_store import Store
from katayori.prompting.models import Endpoint, Model, get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Response, build_body
from katayori_tools.asking import load_rows


def test_simulated_models_stay_out_of_a_variant():
    """Official items are a variant of the recordings: no planted respondent is shown there."""
    with_simulated = answers.choose_models("persona_jbbq", "recorded", [])
    assert with_simulated and all(name.startswith("sim-") for name in with_simulated)
    assert answers.choose_models("persona_jbbq", "recorded", [], "official") == []


def test_extra_body_of_a_hosted_model_is_sent():
    """The stated mode of a model (thinking off) is part of its request; a local one has none."""
    prompt = next(iter(load_prompts("discrim_eval").values()))
    item = {"item_id": "i", "question": "Q", "filled_template": "Q"}
    model = Model("m", "m", "api", extra_body={"reasoning_effort": "none"})
    for kind, sent in (("openai", "none"), ("local", None)):
        body = requests.build_body(prompt, model, Endpoint("api", kind), item, 0)
        assert body.get("reasoning_effort") == sent


def test_reasons_may_differ_by_twelve_characters():
    """JU-3: 12 characters apart is alike where both are long, 13 is not."""
    assert jubaku.unlike_length("あ" * 100, "あ" * 112) == ""
    assert "113 characters" in jubaku.unlike_length("あ" * 100, "あ" * 113)


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (3, [3]), (4, [3, 1]), (7, [3, 3, 1])])
def test_requests_come_in_batches_as_they_are_needed(n, sizes):
    drawn = []

    def requests():
        for number in range(n):
            drawn.append(number)
            yield number

    found = store.batches(requests(), 3)
    if n > 3:
        next(found)
        assert drawn == [0, 1, 2], "the next batch is not drawn before it is asked for"
        sizes = sizes[1:]
    assert [len(batch) for batch in found] == sizes


def test_own_questions_are_read_in_place_of_the_data_set(monkeypatch):
    """Own questions are read as study questions, whatever data set a profile names."""
    seen = []
    monkeypatch.setattr(discrim_eval, "load_study", seen.append)
    monkeypatch.setattr(discrim_eval, "study_version", lambda path: f"version of {path}")
    paper = get_paper("discrim_eval")
    assert paper.read("official", {"questions": "mine.yaml"})[1] == "version of mine.yaml"
    assert seen == ["mine.yaml"]


def test_who_refuses_says_so_under_every_prompt():
    item = discrim_eval.load_study().iloc[0].to_dict()
    [request] = recorded_examples.requests(1)
    for body in ({}, {"logprobs": True}):
        asked = replace(request, model="sim-refuses", body=body, fields=item)
        said = discrim_eval.respond(asked)
        assert said.text.strip().startswith("I") and "Answer" not in said.text


@pytest.mark.parametrize(("name", "forces"), [("m@vllm", True), ("m@custom", False)])
def test_a_prefix_is_asked_of_endpoints_that_can_force_it(name, forces):
    prompt = load_prompts("discrim_eval")["de_answer_prefix"]
    assert prompt.prefix
    assert (not answers.why_unable(name, "live", prompt)) == forces
    assert answers.why_unable(name, "imported", prompt)


def test_a_shard_that_is_listed_and_not_there_is_no_shard(monkeypatch):
    entry = next(one for one in recordings.manifest("discrim_eval").values())
    named = (entry["model"], entry["prompt_id"], entry["variant"])
    monkeypatch.setattr(recordings, "shard_path", lambda *_: recordings.paths.root() / "nowhere")
    with pytest.raises(UnavailableError, match="no recorded answers of"):
        next(recordings.read("discrim_eval", *named))


def test_a_base_model_stops_at_the_end_of_its_line():
    prompt = load_prompts("persona_jbbq")["pj_basic_ja"]
    item = load_rows("persona_jbbq", "study", limit=1).iloc[0].to_dict()
    body = build_body(prompt, *get_model("base@completions"), item, 0)
    assert body["stop"] == ["\n"]
    assert "stop" not in build_body(prompt, *get_model("chat@custom"), item, 0)


def test_what_was_asked_is_kept_beside_its_answer(tmp_path):
    [request] = recorded_examples.requests(1)
    with Store(tmp_path / "answers.sqlite") as kept:
        kept.put(request, Response("ok", "Answer: yes"))
        [(body,)] = kept.db.execute("SELECT body FROM answers").fetchall()
    assert "Answer" in body and body.startswith("{") and "messages" in body


def test_the_planted_judge_prefers_by_the_odds_that_are_said(monkeypatch):
    """ln P(A) / P(B) is the score: quality and the lean to the first slot; ties do not count."""
    judge = next(iter(logprob_judge.JUDGES))
    weigh = {
        **logprob_judge.JUDGES[judge],
        "quality": 0.7,
        "first": 0.4,
        "length": 0.1,
        "call": 0.0,
    }
    monkeypatch.setitem(logprob_judge.JUDGES, judge, weigh)
    item = {
        "item_id": "x",
        "order": "12",
        "quality_1": 2,
        "quality_2": 1,
        "answer_a": "aaaa",
        "answer_b": "aa",
    }
    chances = logprob_judge.judge_chances(judge, item)
    score = weigh["quality"] + weigh["first"] + 2 * weigh["length"]
    assert math.log(chances["A"] / chances["B"]) == pytest.approx(score)
