"""Seeds by rule 1 (item, repetition) and rule 2 (model, item, repetition): each is found again."""

from dataclasses import replace

import pandas as pd
import pytest

from katayori.errors import KatayoriError
from katayori.papers import answers
from katayori.prompting import recordings
from katayori.prompting.answer_store import Store
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import Response, build, by_rule, seed_for, seed_rule_of
from katayori.prompting.store import store_path
from katayori_tools import asking, record

MODEL = "qwen2.5-coder-0.5b"
ITEMS = pd.DataFrame({"item_id": ["q1", "q2"], "question": ["A?", "B?"]})


def _requests(rule, name=f"{MODEL}@local-vllm", **options):
    model, endpoint = get_model(name)
    prompt = load_prompts("discrim_eval")["de_answer_line"]
    rows = ITEMS.to_dict("records")
    return [by_rule(one, rule) for one in build(rows, prompt, model, endpoint, **options)]


def _said(requests, texts=("Answer: yes", "Answer: no")):
    return [
        (q, Response("ok", text, "stop", created=1.8e9))
        for q, text in zip(requests, texts, strict=False)
    ]


def test_rule_1_is_frozen_and_rule_2_tells_models_apart():
    """Two models share a draw by rule 1, and do not by rule 2; both are fixed for ever."""
    assert seed_for("q029-020-female-white") == 1950558536
    assert seed_for("q029-020-female-white", identity="0123", rule=2) == 320879332
    assert seed_for("a", identity="m", rule=1) == seed_for("a", identity="n", rule=1)
    drawn = {
        seed_for(item, n, identity=model, rule=2) for item in "ab" for n in (0, 1) for model in "mn"
    }
    assert len(drawn) == 8 and all(0 <= seed < 2**31 for seed in drawn)


def test_a_request_without_a_seed_of_its_own_follows_no_rule():
    """The paper's literal seed, an API, and one asked again with the seed of the first time."""
    literal = _requests(2, variant="seed1")[0]
    api = _requests(2, "gpt-4o")[0]
    again = replace(_requests(2)[0], repetition=1)
    for request in (literal, api, again):
        assert seed_rule_of(request) == 0 and by_rule(request, 1) is request
    one, two = _requests(1)[0], _requests(2)[0]
    assert by_rule(one, 2).key == two.key and by_rule(two, 1).key == one.key != two.key


@pytest.mark.parametrize("rule, told", [(1, None), (2, 2)])
def test_a_shard_of_each_rule_replays(house, rule, told):
    """The manifest names rule 2; a shard that names none is of rule 1."""
    record.export(_said(_requests(rule)), settings={})
    entry = recordings.entry("discrim_eval", MODEL, "de_answer_line")
    assert entry.get("seed_rule") == told
    prompt = load_prompts("discrim_eval")["de_answer_line"]
    frame = answers.get(ITEMS, prompt, [MODEL])
    assert list(frame["answer"]) == ["yes", "no"] and set(frame["source"]) == {"recorded"}
    with pytest.raises(KatayoriError, match="1 changed since"):
        answers.get(ITEMS.assign(question=["A?", "C?"]), prompt, [MODEL])


def test_a_store_of_rule_1_is_read_in_a_live_run(house):
    """What was asked by rule 1 stands until rule 2 has an answer, and is not asked again."""
    name = f"{MODEL}@local-vllm"
    prompt = load_prompts("discrim_eval")["de_answer_line"]
    with Store(store_path()) as store:
        store.put(*_said(_requests(1))[0])
        stored = answers.as_stored(store, _requests(2))
        assert [seed_rule_of(request) for request in stored] == [1, 2]
        assert [request.item_id for request in store.pending(stored)] == ["q2"]
        store.put(stored[1], Response("ok", "Answer: no", "stop"))
    frame = answers.get(ITEMS, prompt, [name], source="live")
    assert list(frame["answer"]) == ["yes", "no"]
    with Store(store_path()) as store:
        store.put(_requests(2)[0], Response("ok", "Answer: no", "stop"))
    frame = answers.get(ITEMS, prompt, [name], source="live")
    assert list(frame["answer"]) == ["no", "no"]


def test_a_live_run_asks_only_what_neither_rule_has_answered(house):
    model, endpoint = get_model(f"{MODEL}@local-vllm")
    with Store(store_path()) as store:
        scope = asking.Scope(limit=1)
        step = asking.Step("discrim_eval", "m", model, endpoint, ["de_answer_line"], scope)
        first = step.requests(store)
        for request in first[:3]:
            store.put(by_rule(request, 1), Response("ok", "Answer: yes", "stop"))
        now = step.requests(store)
        assert [seed_rule_of(request) for request in now] == [1, 1, 1] + [2] * (len(first) - 3)
        assert len(store.pending(now)) == len(first) - 3


def test_a_recording_goes_on_in_the_rule_of_its_shard(house):
    """Rows of an unfinished first-edition shard come back into the store; the rest follows them."""
    record.export(_said(_requests(1))[:1], settings={"planned": 2})
    requests = answers.as_recorded(_requests(2))
    assert {seed_rule_of(request) for request in requests} == {1}
    with Store(store_path()) as store:
        record.restore(store, requests)
        assert [request.item_id for request in store.pending(requests)] == ["q2"]
