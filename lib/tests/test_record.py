"""`make record`: what it asks, keeps, exports and refuses; with a stub of an engine."""

import os
import signal
import sys
import time
from contextlib import nullcontext
from dataclasses import replace

import pandas as pd
import pytest
from api_double import Double
from conftest import write_plan

from katayori.errors import KatayoriError
from katayori.papers import discrim_eval, get_paper
from katayori.prompting import recordings
from katayori.prompting.answer_store import Store
from katayori.prompting.models import get_model
from katayori.prompting.requests import Response, seed_rule_of
from katayori.prompting.store import store_path
from katayori_tools import asking, record

SMALL, LARGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
ENTRY = {
    "priority": 3,
    "dataset": "study",
    "variant": "seed2",
    "prompts": ["de_answer_line"],
    "models": [SMALL, LARGE],
    "whole": "item_id",
    "sample": 6,
}
PLAIN = {name: ENTRY[name] for name in ("priority", "dataset", "variant", "prompts")}
PLAIN |= {"models": [LARGE, SMALL]}


def _record(**given) -> int:
    return record.record(papers="discrim_eval", **given)


def _plan(house, *entries):
    write_plan(house / "data", second=entries or [ENTRY])


@pytest.fixture
def engines(house, monkeypatch):
    """A plan of six requests for each of two models; each engine that is started is listed."""
    _plan(house)
    started = []
    with Double(answer=lambda body: "Answer: no") as double:

        def served(model, endpoint, base_url, needed):
            started.append((model.id, endpoint.name))
            return nullcontext(double.url)

        monkeypatch.setattr(asking, "served", served)
        monkeypatch.setattr("katayori_tools.engines.lacking", str)
        double.started = started
        yield double


def test_a_machine_without_the_arithmetic_leaves_chats_out(engines, capsys, monkeypatch):
    monkeypatch.setattr("katayori_tools.engines.lacking", lambda: "no AVX-512")
    assert _record() == 1
    assert not engines.started and not recordings.manifest("discrim_eval")
    assert capsys.readouterr().err.count("left out; no AVX-512") == 2


def test_each_shard_is_written_as_it_completes_by_rule_2(engines, capsys):
    assert _record() == 0
    entries = recordings.manifest("discrim_eval")
    name = "{}/de_answer_line@seed2.jsonl.gz"
    assert list(entries) == [name.format(SMALL), name.format(LARGE)]
    for entry in entries.values():
        assert (entry["count"], entry["planned"], entry["seed_rule"]) == (6, 6, 2)
    assert engines.started == [(SMALL, "local-vllm"), (LARGE, "local-vllm")]
    assert engines.asked == 12
    _record()
    assert engines.asked == 12 and len(engines.started) == 2  # nothing to ask starts no engine
    assert capsys.readouterr().out.count("0 of 6 to ask") == 2


def test_one_engine_serves_all_that_a_model_is_asked_in_a_row(engines, house):
    again = ENTRY | {"priority": 3.5, "variant": "again", "models": [LARGE]}
    _plan(house, ENTRY, again)
    assert _record() == 0
    assert engines.started == [(SMALL, "local-vllm"), (LARGE, "local-vllm")]
    assert len(recordings.manifest("discrim_eval")) == 3


def test_likelihoods_go_to_the_scorer(engines, monkeypatch):
    scored = []

    def score_all(requests, model, endpoint, store):
        scored.extend(requests)
        for request in requests:
            store.put(request, Response("ok", "[[-1.5, 3]]", "scored"))

    monkeypatch.setattr(record, "score_all", score_all)
    work = replace(record.works(["discrim_eval"], [SMALL])[0], kind="likelihood")
    with Store(store_path()) as store:
        assert record._done([work], work.at(), store, None) == 0
    assert len(scored) == 6 and engines.started == []
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert entry["count"] == 6 and entry["request"] == {"kind": "likelihood"}


def test_a_work_that_cannot_be_made_does_not_stop_the_others(engines, house, capsys):
    _plan(house, ENTRY | {"whole": "nothing", "priority": 1}, ENTRY)
    assert _record(models=SMALL) == 1
    assert "have no column 'nothing'" in capsys.readouterr().err
    assert len(recordings.manifest("discrim_eval")) == 1


def test_an_interrupted_recording_keeps_what_was_answered_and_goes_on(engines, house, monkeypatch):
    """SIGTERM: answers under way arrive, finished items are written, the rest is asked later."""
    engines.delay = 0.02
    monkeypatch.setenv("KATAYORI_CONCURRENCY_LOCAL_VLLM", "2")
    _plan(house, ENTRY | {"sample": 100, "models": [SMALL]})
    once = [signal.SIGTERM]

    def answer(body):
        if once and engines.asked >= 20:
            os.kill(os.getpid(), once.pop())
        return "Answer: no"

    engines.answer = answer
    with pytest.raises(KeyboardInterrupt):
        _record()
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert 0 < entry["count"] == engines.asked < entry["planned"] == 100
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    monkeypatch.setenv("KATAYORI_CACHE", str(house / "another"))  # on a machine that knows nothing
    engines.delay = 0
    before = engines.asked
    _record()
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert entry["count"] == 100 and engines.asked == 100 and before < 100


def test_a_second_recording_is_refused_and_a_stale_lock_is_none(engines):
    """A lock is gone with whoever held it, however that ended."""
    with Store(store_path()) as store:
        held = store.alone("record")
    with pytest.raises(KatayoriError, match="another recording runs on this store"):
        _record()
    assert not engines.started and not recordings.manifest("discrim_eval")
    held.close()
    assert _record() == 0


def test_an_engine_leaves_sigterm_to_who_has_taken_it(house, monkeypatch):
    """So a recorder that is told to end waits for the answers under way before its engine ends."""
    from katayori_tools import engines
    from katayori_tools.collect import Terminated, terminable

    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    made = command, dict(os.environ)
    monkeypatch.setitem(engines.ENGINES, "local-dummy", lambda *_: made)
    monkeypatch.setattr(engines, "fetch", str)
    monkeypatch.setattr(engines, "_wait", lambda *_: None)
    with pytest.raises(Terminated), terminable(), engines.serve("m", "local-dummy"):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)


# -- shards ----------------------------------------------------------------------------------------


def test_recording_continues_exports_and_asks_nothing_twice(house, monkeypatch, capsys):
    """Each entry of the plan becomes a shard as it completes; a second start asks nothing."""
    with Double() as double:
        whole = {"models": "qwen2.5-coder-0.5b", "base_url": double.url}
        _record(models="qwen2.5-coder-0.5b", base_url=double.url, limit=5)
        assert (
            double.asked == 15 and recordings.manifest("discrim_eval") == {}
        )  # a pilot is not a recording
        _record(**whole)
        assert double.asked == 2 * 270 + 10 and set(double.bodies.values()) == {1}
        _record(**whole)
        assert double.asked == 550
    entries = recordings.manifest("discrim_eval")
    assert {name: entry["count"] for name, entry in entries.items()} == {
        "qwen2.5-coder-0.5b/de_answer_line.jsonl.gz": 270,
        "qwen2.5-coder-0.5b/de_answer_line@seed1.jsonl.gz": 10,
        "qwen2.5-coder-0.5b/de_answer_prefix.jsonl.gz": 270,
    }
    line = entries["qwen2.5-coder-0.5b/de_answer_line.jsonl.gz"]
    assert line["request"]["seed"] == "per item and repetition" and line["endpoint"] == "local-vllm"
    assert entries["qwen2.5-coder-0.5b/de_answer_line@seed1.jsonl.gz"]["request"]["seed"] == 1
    assert {body["temperature"] for body in double.requests} == {0, 1.0}
    assert "0 of 540 to ask" in capsys.readouterr().out


def test_an_unfinished_recording_keeps_whole_questions_and_goes_on_elsewhere(house, monkeypatch):
    """Committed shards are put back into an empty store: another machine asks what is missing."""
    entry = {
        "dataset": "study",
        "models": ["qwen2.5-coder-0.5b"],
        "prompts": ["de_answer_line", "de_answer_prefix"],
    }
    write_plan(house / "data", [entry | {"whole": "decision_question_id"}])
    last = record.items_of("discrim_eval", "study")["question"].iloc[-1][-40:]

    def script(body, before):
        text = body["messages"][0]["content"]
        return "bad_request" if last in text and "80-year-old white" in text else None

    with Double(script) as double:
        _record(base_url=double.url)
    entries = recordings.manifest("discrim_eval").values()
    assert [(e["count"], e["planned"]) for e in entries] == [(135, 270), (135, 270)]
    monkeypatch.setenv("KATAYORI_CACHE", str(house / "another"))
    with Double() as double:
        _record(base_url=double.url)
        assert double.asked == 270
    assert [e["count"] for e in recordings.manifest("discrim_eval").values()] == [270, 270]


def test_a_third_party_recording_asks_what_was_recorded_first(house, monkeypatch):
    """A machine that holds more of the set than the first one does not ask all of it."""
    entries = [
        {
            "dataset": "official",
            "models": ["smollm2-135m", "qwen2.5-coder-0.5b"],
            "variant": "official",
        }
    ]
    entries[0]["prompts"] = ["de_answer_line"]
    write_plan(house / "data", entries)
    items = discrim_eval.load_study()
    for model, held, asked in (
        ("smollm2-135m", items.head(7), 7),
        ("qwen2.5-coder-0.5b", items, 7),
    ):
        monkeypatch.setattr(
            discrim_eval.PAPER, "read", lambda *_, held=held: (held, "official", [])
        )
        with Double() as double:
            _record(models=model, base_url=double.url)
        assert double.asked == asked
    assert {e["count"] for e in recordings.manifest("discrim_eval").values()} == {7}


def test_answers_to_third_party_items_keep_what_answers_and_no_prose(house):
    """One token answers by its probabilities and stays; of a text only what is read is kept."""
    model, endpoint = get_model("qwen2.5-coder-0.5b")
    asked = ["de_answer_prefix", "de_answer_line"]
    requests = asking.requests_of("discrim_eval", model, endpoint, asked, asking.Scope())
    one_token, line = (next(q for q in requests if q.prompt_id == one) for one in asked)
    forced = Response("ok", " yes", "length", [(" yes", -0.1)])
    assert record.bare(one_token, forced) == forced
    said = record.bare(line, Response("ok", "Your question says so.\nAnswer: no", "stop"))
    assert (said.outcome, said.text) == ("ok", "Answer: no")
    assert record.bare(line, Response("ok", "I quote the question.", "stop")).text == ""
    number = replace(line, paper="persona_jbbq")
    said = [
        record.bare(number, Response("ok", text, "stop", [("1", -0.1)]))
        for text in ("1\n", "1: the passage")
    ]
    assert [(a.outcome, a.text, len(a.top)) for a in said] == [
        ("ok", "1", 1),
        ("out_of_choice", "", 1),
    ]


# -- the plan --------------------------------------------------------------------------------------


@pytest.fixture
def planned(house):
    """Writes a plan with these second-edition entries."""

    def write(*entries):
        write_plan(house / "data", second=entries)

    return write


@pytest.mark.slow
def test_the_sampled_answers_are_asked_anew_by_rule_2(monkeypatch, tmp_path):
    """9,450 requests a model, none of them one of the first edition's."""
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path))
    found = [w for w in record.works(["discrim_eval"]) if w.variant == "seed2" and w.priority]
    assert [work.model for work in found] == [SMALL, LARGE]
    with Store(store_path()) as store:
        asked = [record.requests_of(w, *w.at(), store) for w in found]
    assert [len(requests) for requests in asked] == [9450, 9450]
    assert {seed_rule_of(q) for requests in asked for q in requests} == {2}
    assert len({q.body["seed"] for requests in asked for q in requests}) > 18_890


@pytest.mark.parametrize(
    "change, says",
    [
        ({"dataset": "study", "variant": ""}, r"second_edition\[0\] names no variant"),
        ({"prompts": ["de_none"]}, "unknown prompt of discrim_eval 'de_none'"),
        ({"kind": "guess"}, "kind must be chat or likelihood, not 'guess'"),
        ({"kind": "likelihood"}, "prompt de_answer_line is of kind chat"),
        ({"priority": 0}, "priority must be at least 1, not 0"),
        ({"repetitions": 2}, "repetitions must be a list, not 2"),
        ({"repetitions": []}, "repetitions must not be empty"),
        ({"repetitions": [-1]}, r"repetitions\[0\] must be at least 0"),
        ({"promts": []}, r"second_edition\[0\]: unknown field 'promts'; known: dataset, models"),
    ],
)
def test_a_wrong_entry_is_told_before_anything_is_asked(planned, change, says):
    planned(PLAIN | change)
    with pytest.raises(KatayoriError, match=says):
        record.works(["discrim_eval"])


@pytest.mark.parametrize("given, asked", [({}, {0}), ({"repetitions": [1, 4]}, {1, 4})])
def test_repetitions_are_those_that_are_listed(planned, given, asked):
    planned(PLAIN | given | {"sample": 4})
    work = record.works(["discrim_eval"], [SMALL])[0]
    with Store(store_path()) as store:
        requests = record.requests_of(work, *work.at(), store)
    assert {q.repetition for q in requests} == asked and len(requests) == 4 * len(asked)
    assert len({q.body["seed"] for q in requests}) == len(requests)


def test_a_part_of_a_data_set_keeps_groups_together(planned, monkeypatch):
    """Both orders of a pair are asked, or neither; a pilot of so many items, too."""
    pairs = [f"p{n // 2}" for n in range(12)]
    items = pd.DataFrame({"item_id": [f"i{n}" for n in range(12)], "pair_id": pairs})
    second = {"toy": lambda: items.assign(question="A?")}
    monkeypatch.setattr(get_paper("discrim_eval"), "sets", lambda: second)
    planned(PLAIN | {"dataset": "toy", "variant": "toy", "size": 4, "whole": "pair_id"})
    work = record.works(["discrim_eval"], [SMALL])[0]
    with Store(store_path()) as store:
        for limit, n in ((None, 4), (5, 6)):
            asked = record.requests_of(work, *work.at(), store, limit)
            counts = pd.Series([q.fields["pair_id"] for q in asked]).value_counts()
            assert len(asked) == n and set(counts) == {2}
