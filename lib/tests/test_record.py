"""`make record`: what it asks, keeps, exports and refuses; with a stub of an engine."""

import os
import signal
import sys
import threading
import time
import types
from contextlib import nullcontext

import pytest
from api_double import Double
from conftest import write_plan

from katayori.errors import KatayoriError
from katayori.prompting import recordings
from katayori.prompting.requests import Response
from katayori.prompting.store import store_path
from katayori_tools import record, record_plan
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


def _recording(**given) -> record.Recording:
    return record.Recording(papers="discrim_eval", edition="second", **given)


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
    assert record.record(_recording()) == 1
    assert not engines.started and not recordings.manifest("discrim_eval")
    assert capsys.readouterr().err.count("left out; no AVX-512") == 2


def test_what_is_recorded_needs_no_engine(engines, monkeypatch):
    assert record.record(_recording()) == 0
    monkeypatch.setattr(record.vllm_env, "lacking", lambda: "no AVX-512")
    assert record.record(_recording()) == 0


def test_each_shard_is_written_as_it_completes_by_rule_2(engines, capsys):
    assert record.record(_recording()) == 0
    entries = recordings.manifest("discrim_eval")
    name = "{}/de_answer_line@seed2.jsonl.gz"
    assert list(entries) == [name.format(SMALL), name.format(LARGE)]
    for entry in entries.values():
        assert (entry["count"], entry["planned"], entry["seed_rule"]) == (6, 6, 2)
    assert engines.started == [(SMALL, "local-vllm"), (LARGE, "local-vllm")]
    assert engines.asked == 12
    record.record(_recording())
    assert engines.asked == 12 and len(engines.started) == 2  # nothing to ask starts no engine
    assert capsys.readouterr().out.count("0 of 6 to ask") == 2


def test_one_engine_serves_what_follows_with_the_same_model(engines, house):
    _plan(house, ENTRY, ENTRY | {"variant": "other"})
    record.record(_recording(models=SMALL))
    assert engines.started == [(SMALL, "local-vllm")]


def test_likelihoods_go_to_the_scorer_and_stop_the_engine(engines, house, monkeypatch):
    """It runs in place of an engine, by the contract of `scoring.score_all`."""
    scored, closed = [], []

    def score_all(requests, model, endpoint, store):
        scored.extend(requests)
        for request in requests:
            store.put(request, Response("ok", "[[-1.5, 3]]", "scored"))

    fake = types.SimpleNamespace(score_all=score_all)
    monkeypatch.setitem(sys.modules, "katayori_tools.scoring", fake)
    import katayori_tools

    monkeypatch.setattr(katayori_tools, "scoring", fake, raising=False)
    work = record_plan.works(["discrim_eval"], [SMALL])[0]
    scorer = types.SimpleNamespace(name="local-scorer")
    model, _ = work.at()
    lik = types.SimpleNamespace(kind="likelihood", at=lambda engine: (model, scorer))
    with Store(store_path()) as store, record.Recorder(store, _recording()) as one:
        one._engine.callback(closed.append, "engine")
        requests = record_plan.requests_of(work, *work.at(), store)
        one.ask(lik, requests)
        assert closed == ["engine"] and scored == requests and not store.pending(requests)
    assert engines.started == []


def test_a_work_that_cannot_be_made_does_not_stop_the_others(engines, house, capsys):
    _plan(house, ENTRY | {"whole": "nothing", "priority": 1}, ENTRY)
    assert record.record(_recording(models=SMALL)) == 1
    assert "have no column 'nothing'" in capsys.readouterr().err
    assert len(recordings.manifest("discrim_eval")) == 1


def test_an_interrupted_recording_keeps_what_was_answered_and_goes_on(engines, house, monkeypatch):
    """SIGTERM: answers under way arrive, finished items are written, the rest is asked later."""
    engines.delay = 0.02
    _plan(house, ENTRY | {"sample": 100, "models": [SMALL]})
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        record.record(_recording(concurrency=2))
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert 0 < entry["count"] == engines.asked < entry["planned"] == 100
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    monkeypatch.setenv("KATAYORI_CACHE", str(house / "another"))  # on a machine that knows nothing
    engines.delay = 0
    before = engines.asked
    record.record(_recording(concurrency=8))
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert entry["count"] == 100 and engines.asked == 100 and before < 100


def test_a_second_recording_is_refused_and_a_stale_lock_is_none(engines):
    """A lock is gone with whoever held it, however that ended."""
    with Store(store_path()) as store:
        held = store.alone("record")
    with pytest.raises(KatayoriError, match="another recording runs on this store"):
        record.record(_recording())
    assert not engines.started and not recordings.manifest("discrim_eval")
    held.close()
    assert record.record(_recording()) == 0


def test_the_third_edition_is_named_in_the_manifest(engines, house):
    later = ENTRY | {"variant": "study3_seed2", "models": [SMALL]}
    write_plan(house / "data", second=[ENTRY], third=[later])
    third = record.Recording(papers="discrim_eval", edition="third")
    assert record.record(third) == 0
    [entry] = recordings.manifest("discrim_eval").values()
    assert (entry["variant"], entry["edition"], entry["count"]) == ("study3_seed2", 3, 6)
    record.record(_recording(models=SMALL))
    earlier = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert earlier and "edition" not in earlier


def test_the_manifest_holds_the_rate_of_a_run_that_asked_enough(engines, house, monkeypatch):
    _plan(house, ENTRY | {"sample": 60, "models": [SMALL]})
    record.record(_recording())
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert entry["count"] == 60 and entry["rate"] > 0
    _plan(house)
    record.record(_recording(models=LARGE))
    assert "rate" not in recordings.entry("discrim_eval", LARGE, "de_answer_line", "seed2")


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
