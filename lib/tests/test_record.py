"""`make record`: what it asks, keeps, exports and refuses; with a stub of an engine."""

import os
import signal
import sys
import time
from contextlib import nullcontext
from dataclasses import replace

import pytest
from api_double import Double
from conftest import write_plan

from katayori.errors import KatayoriError
from katayori.prompting import recordings
from katayori.prompting.requests import Response
from katayori.prompting.store import store_path
from katayori_tools import record
from katayori_tools.answer_store import Store

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

        monkeypatch.setattr(record, "served", served)
        monkeypatch.setattr(record.vllm_env, "lacking", str)
        double.started = started
        yield double


def test_a_machine_without_the_arithmetic_leaves_chats_out(engines, capsys, monkeypatch):
    monkeypatch.setattr(record.vllm_env, "lacking", lambda: "no AVX-512")
    assert _record() == 1
    assert not engines.started and not recordings.manifest("discrim_eval")
    assert capsys.readouterr().err.count("left out; no AVX-512") == 2


def test_what_is_recorded_needs_no_engine(engines, monkeypatch):
    assert _record() == 0
    monkeypatch.setattr(record.vllm_env, "lacking", lambda: "no AVX-512")
    assert _record() == 0


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


def test_one_engine_serves_what_follows_with_the_same_model(engines, house):
    _plan(house, ENTRY, ENTRY | {"variant": "other"})
    _record(models=SMALL)
    assert engines.started == [(SMALL, "local-vllm")]


def test_likelihoods_go_to_the_scorer_and_stop_the_engine(engines, house, monkeypatch):
    """It runs in place of an engine."""
    scored, closed = [], []

    def score_all(requests, model, endpoint, store):
        scored.extend(requests)
        for request in requests:
            store.put(request, Response("ok", "[[-1.5, 3]]", "scored"))

    monkeypatch.setattr(record, "score_all", score_all)
    work = record.works(["discrim_eval"], [SMALL])[0]
    model, endpoint = replace(work, kind="likelihood").at()
    with Store(store_path()) as store, record.Recorder(store) as one:
        one._running.callback(closed.append, "engine")
        requests = record.requests_of(work, *work.at(), store)
        one._ask(requests, model, endpoint)
        assert closed == ["engine"] and scored == requests and not store.pending(requests)
    assert engines.started == []


def test_a_work_that_cannot_be_made_does_not_stop_the_others(engines, house, capsys):
    _plan(house, ENTRY | {"whole": "nothing", "priority": 1}, ENTRY)
    assert _record(models=SMALL) == 1
    assert "have no column 'nothing'" in capsys.readouterr().err
    assert len(recordings.manifest("discrim_eval")) == 1


def test_an_interrupted_recording_keeps_what_was_answered_and_goes_on(engines, house, monkeypatch):
    """SIGTERM: answers under way arrive, finished items are written, the rest is asked later."""
    engines.delay = 0.02
    _plan(house, ENTRY | {"sample": 100, "models": [SMALL]})
    once = [signal.SIGTERM]

    def answer(body):
        if once and engines.asked == 20:
            os.kill(os.getpid(), once.pop())
        return "Answer: no"

    engines.answer = answer
    with pytest.raises(KeyboardInterrupt):
        _record(concurrency=2)
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert 0 < entry["count"] == engines.asked < entry["planned"] == 100
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    monkeypatch.setenv("KATAYORI_CACHE", str(house / "another"))  # on a machine that knows nothing
    engines.delay = 0
    before = engines.asked
    _record(concurrency=8)
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


def test_the_third_edition_is_named_in_the_manifest(engines, house):
    later = ENTRY | {"variant": "study3_seed2", "models": [SMALL]}
    write_plan(house / "data", second=[ENTRY], third=[later])
    assert _record(models=SMALL) == 0
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "study3_seed2")
    assert entry and (entry["edition"], entry["count"]) == (3, 6)
    earlier = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert earlier and "edition" not in earlier


def test_an_engine_leaves_sigterm_to_who_has_taken_it(house, monkeypatch):
    """So a recorder that is told to end waits for the answers under way before its engine ends."""
    from katayori_tools.collect import Terminated, terminable
    from katayori_tools.engines import server

    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    made = {"command": lambda *_: (command, dict(os.environ))}
    monkeypatch.setitem(server.ENGINES, "local-dummy", made)
    monkeypatch.setattr(server, "fetch", str)
    monkeypatch.setattr(server, "_wait", lambda *_: None)
    with pytest.raises(Terminated), terminable(), server.serve("m", "local-dummy"):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
