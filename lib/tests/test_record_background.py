"""The recorder: lock, pause, what it tells of itself, pilots; with a stub of an engine."""

import os
import signal
import subprocess
import sys
import threading
import time
import types
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from api_double import Double
from conftest import write_plan

from katayori.errors import KatayoriError
from katayori.prompting import recordings
from katayori.prompting.requests import Response
from katayori.prompting.store import store_path
from katayori_tools import priority, record, record_control, record_hours, record_plan, recorder
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

        monkeypatch.setattr(recorder, "served", served)
        monkeypatch.setattr(recorder.vllm_env, "lacking", str)
        double.started = started
        yield double


@pytest.fixture
def child(house, monkeypatch):
    """A detached recorder that only holds the lock until it is told to end."""
    code = """
import signal, sys, time
from katayori_tools import record_control
from katayori_tools.collect import terminable
if "--limit" in sys.argv:
    sys.exit("katayori: no such thing")
try:
    with terminable(), record_control.alone(), record_control.told(sys.argv[1:]):
        while True:
            signal.pause()
except KeyboardInterrupt:
    pass
"""
    monkeypatch.setattr(record_control, "COMMAND", [sys.executable, "-c", code])
    pids = []
    usual = record_control.start

    def start(words):
        pids.append(usual(words))
        return pids[-1]

    monkeypatch.setattr(record_control, "start", start)
    yield pids
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_machine_without_the_arithmetic_leaves_chats_out(engines, capsys, monkeypatch):
    monkeypatch.setattr(recorder.vllm_env, "lacking", lambda: "no AVX-512")
    assert record.record(_recording()) == 1
    assert not engines.started and not recordings.manifest("discrim_eval")
    assert capsys.readouterr().err.count("left out; no AVX-512") == 2


def test_what_is_recorded_needs_no_engine(engines, monkeypatch):
    assert record.record(_recording()) == 0
    monkeypatch.setattr(recorder.vllm_env, "lacking", lambda: "no AVX-512")
    assert record.record(_recording()) == 0


def test_each_shard_is_written_as_it_completes_by_rule_2(engines, capsys):
    assert record.record(_recording()) == 0
    entries = recordings.manifest("discrim_eval")
    name = "{}/de_answer_line@seed2.jsonl.gz"
    assert list(entries) == [name.format(SMALL), name.format(LARGE)]
    for entry in entries.values():
        assert (entry["count"], entry["planned"], entry["seed_rule"]) == (6, 6, 2)
    assert engines.started == [(SMALL, "local-vllm"), (LARGE, "local-vllm")]
    assert engines.asked == 12 and record_control.state()["state"] == "done"
    record.record(_recording())
    assert engines.asked == 12 and len(engines.started) == 2  # nothing to ask starts no engine
    record.record(_recording(), control="status")
    assert "no recording is running (the last one is done)" in capsys.readouterr().out


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
    how = recorder.How()
    with Store(store_path()) as store, recorder.Recorder(store, how) as one:
        one._engine.callback(closed.append, "engine")
        requests = one.requests(work)
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
    assert record_control.state()["state"] == "stopped" and record_control.running() is None
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    monkeypatch.setenv("KATAYORI_CACHE", str(house / "another"))  # on a machine that knows nothing
    engines.delay = 0
    before = engines.asked
    record.record(_recording(concurrency=8))
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert entry["count"] == 100 and engines.asked == 100 and before < 100


def test_a_second_recorder_is_refused_and_a_stale_lock_is_not_one(house):
    assert record_control.running() is None
    with record_control.alone():
        assert record_control.running() == os.getpid()
        with pytest.raises(KatayoriError, match=f"running .process {os.getpid()}.*--status"):
            record.record(_recording())
    assert (record_control.folder() / "lock").read_text() == str(os.getpid())
    assert record_control.running() is None
    with record_control.alone():
        pass


def test_a_killed_recorder_is_told_from_one_that_ended(house, capsys):
    """Its state still says that it runs; its lock is gone with it."""
    record_control.say(state="running", pid=1, words=[], work={}, said="")
    record_control.status()
    assert "no recording is running (the last one was killed)" in capsys.readouterr().out
    (record_control.folder() / "state.json").write_text("{", encoding="utf-8")
    assert record_control.state() == {}


def test_pausing_resuming_and_stopping(child, house, capsys):
    record.record(_recording(models=SMALL), control="background")
    assert record_control.running() == child[0]
    said = capsys.readouterr().out
    assert f"recording in process {child[0]}" in said and "ARGS=--pause" in said
    with pytest.raises(KatayoriError, match="a recording is running"):
        record.record(_recording(), control="background")
    words = ["--papers", "discrim_eval", "--models", SMALL, "--edition", "second"]
    assert record_control.state()["words"] == words
    record.record(_recording(), control="pause")
    assert record_control.running() is None and record_control.state()["state"] == "paused"
    with pytest.raises(KatayoriError, match=r"no recording is running .the last one is paused"):
        record_control.halt("paused")
    record.record(_recording(), control="resume")
    assert record_control.running() == child[1] and record_control.state()["words"] == words
    record.record(_recording(), control="stop")
    assert record_control.running() is None and record_control.state()["state"] == "stopped"


@pytest.mark.slow_all
def test_a_recorder_and_what_it_starts_give_way(child, house):
    """Its own nice value and that of its group, which alone counts between sessions."""
    record_control.start([])
    assert os.getpriority(os.PRIO_PROCESS, child[0]) == priority.LOWEST
    group = Path(f"/proc/{child[0]}/autogroup")
    if group.exists():
        assert group.read_text(encoding="ascii").split()[-1] == str(priority.LOWEST)
    code = """
import os, subprocess, sys
from katayori_tools import priority

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded
if "low" in sys.argv:
    priority.gives_way(os.getpid())
other = subprocess.Popen(["sleep", "60"], start_new_session=True)
priority.like_this_one(other.pid)
print(os.getpriority(os.PRIO_PROCESS, other.pid))
other.kill()
"""
    for word, wanted in (
        ("low", priority.LOWEST),
        ("as it is", os.getpriority(os.PRIO_PROCESS, 0)),
    ):
        said = subprocess.check_output([sys.executable, "-c", code, word], start_new_session=True)
        assert int(said) == wanted


@pytest.mark.slow_all
def test_a_recorder_that_ends_at_once_says_why(child):
    with pytest.raises(KatayoriError, match=r"ended at once; its last lines: .*no such thing"):
        record.record(_recording(limit=3), control="background")


def test_nothing_to_resume_or_to_pause(house):
    with pytest.raises(KatayoriError, match="no recording to resume; start one"):
        record.record(_recording(), control="resume")
    with pytest.raises(KatayoriError, match=r"no recording is running .none has run."):
        record.record(_recording(), control="pause")


def test_the_status_tells_done_rate_and_what_follows(house, capsys):
    """Two of six were there, two have come since: counted in the store, whoever asks."""
    _plan(house)
    works = record_plan.works(["discrim_eval"])
    with record_control.alone(), Store(store_path()) as store:
        requests = record_plan.requests_of(works[0], *works[0].at(), store)
        record_control.say(state="running", started=0.0)
        record_control.begin(works[0], 1, works[1:], 4, 6)
        now = time.time()
        for request, age in zip(requests, (9999.0, 9999.0, -1.0, -2.0), strict=False):
            store.put(request, Response("ok", "Answer: no", "stop", created=now - age))
        record_control.status()
        said = capsys.readouterr().out
    assert "1 of 2: discrim_eval qwen2.5-coder-0.5b study@seed2 de_answer_line" in said
    assert "4 of 6 answered" in said and "after it 1 more, hours unknown" in said


def test_what_is_finished_is_exported_while_a_recorder_runs(house, capsys):
    _plan(house, ENTRY | {"models": [SMALL]})
    [work] = record_plan.works(["discrim_eval"])
    with record_control.alone(), Store(store_path()) as store:
        requests = record_plan.requests_of(work, *work.at(), store)
        for request in requests[:4]:
            store.put(request, Response("ok", "Answer: no", "stop"))
        record.record(_recording(), control="export")
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert (entry["count"], entry["planned"]) == (4, 6)
    assert "4 of 6 answered" in capsys.readouterr().out


def test_pilots_measure_rates_and_the_table_says_what_fits(engines, house, capsys, monkeypatch):
    """Without a pilot the planned rates count; a pilot's answers are not asked again."""
    record.record(_recording(), pilots=0)
    rows = list(record_hours.read_table("second").values())
    assert [row["rate"] for row in rows] == ["7.00", "2.00"] and engines.asked == 0
    assert {row["kept"] for row in rows} == {"kept"} and rows[0]["rate_from"] == "plan"
    record.record(_recording(), pilots=2)
    assert engines.asked == 4 and recordings.manifest("discrim_eval") == {}
    measured = list(record_hours.read_table("second").values())
    assert all(row["rate_from"] == "pilot of 2" for row in measured)
    record.record(_recording(), pilots=0)
    assert list(record_hours.read_table("second").values()) == measured
    assert "h kept of" in capsys.readouterr().out
    record.record(_recording())
    assert engines.asked == 12
    assert record_hours.hours_of([["discrim_eval", "study", "de_answer_line", SMALL]]) is not None


def test_the_third_edition_has_its_own_table_and_is_named_in_the_manifest(engines, house, capsys):
    """What the second edition lists stays as it is; the first has no table of hours."""
    record.record(_recording(), pilots=0)
    before = record_hours.table_file("second").read_bytes()
    later = ENTRY | {"variant": "study3_seed2", "models": [SMALL]}
    write_plan(house / "data", second=[ENTRY], third=[later])
    third = record.Recording(papers="discrim_eval", edition="third")
    record.record(third, pilots=2)
    assert "at most 4 h" in capsys.readouterr().out
    assert [row["rate_from"] for row in record_hours.read_table("third").values()] == ["pilot of 2"]
    assert record_hours.table_file("second").read_bytes() == before
    assert record.record(third) == 0
    [entry] = recordings.manifest("discrim_eval").values()
    assert (entry["variant"], entry["edition"], entry["count"]) == ("study3_seed2", 3, 6)
    record.record(_recording(models=SMALL))
    earlier = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert earlier and "edition" not in earlier
    with pytest.raises(KatayoriError, match="edition with a table of hours 'first'"):
        record.record(record.Recording(papers="discrim_eval", edition="first"), pilots=0)


def test_the_pace_of_a_recording_is_measured_by_its_answers(house, monkeypatch):
    """A pause is no work, and answers that came from a shard tell no time."""
    monkeypatch.setattr(record_hours, "FEWEST", 3)
    _plan(house, ENTRY | {"models": [SMALL]})
    [work] = record_plan.works(["discrim_eval"])
    with Store(store_path()) as store:
        requests = record_plan.requests_of(work, *work.at(), store)
        for request, moment in zip(requests, (0, 2, 4, 504, 506, 508), strict=True):
            store.put(request, Response("ok", "Answer: no", "stop", created=1.0 + moment))
    record.record(_recording())
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    assert entry["rate"] == 0.5
    record.record(_recording(), pilots=0)
    [row] = record_hours.read_table("second").values()
    assert (row["rate"], row["rate_from"]) == ("0.50", "recording")
    entry = recordings.entry("discrim_eval", SMALL, "de_answer_line", "seed2")
    told = (entry["rate"], entry["rate_from"], entry["hours"])
    assert told == (0.5, "recording", round(6 / 0.5 / 3600, 3))
    assert record_hours.pace([86400.0] * 9) == 0


def test_scores_are_timed_by_the_seconds_of_their_batches():
    """Two batches of thirty, 300 s and 150 s: the pause between the two and before them is open."""
    moments, shares = [1000.0] * 30 + [1300.0] * 30, [10.0] * 30 + [5.0] * 30
    scores = [
        Response("ok", "[[-1.0, 2]]", "scored", latency=share, created=moment)
        for moment, share in zip(moments, shares, strict=True)
    ]
    assert record_hours.rate_of([*scores, None]) == pytest.approx(60 / 450)
    assert record_hours.rate_of(scores[:40]) == 0
    words = [Response("ok", "1", "stop", latency=90.0, created=1.0 + n / 2) for n in range(101)]
    assert record_hours.rate_of(words) == 2.0
    assert record_hours.rate_of([replace(score, latency=0.0) for score in scores]) == 0


def test_an_entry_that_was_never_timed_has_the_rate_of_its_paper(house, monkeypatch):
    """Of the same model and kind; the planned rate is for papers of which nothing was timed."""
    monkeypatch.setattr(record_hours, "FEWEST", 3)
    again = {"dataset": "twenty", "prompts": ["de_answer_line"], "priority": 11}
    _plan(house, ENTRY | {"models": [SMALL]}, again | {"models": [SMALL], "repetitions": [1]})
    timed, _ = record_plan.works(["discrim_eval"])
    with Store(store_path()) as store:
        requests = record_plan.requests_of(timed, *timed.at(), store)
        for moment, request in enumerate(requests):
            store.put(request, Response("ok", "Answer: no", "stop", created=1.0 + 4 * moment))
    for _ in range(2):  # the second time reads the table of the first
        record.record(_recording(), pilots=0)
        rows = [
            (row["rate"], row["rate_from"]) for row in record_hours.read_table("second").values()
        ]
        assert rows == [("0.25", "recording"), ("0.25", "same paper")]


def test_what_goes_beyond_the_hours_is_cut_with_all_that_follows():
    rows = [{"requests": n, "rate": 1.0} for n in (36_000, 18_000, 3_600)]
    record_hours.fit(rows, 14.0)
    assert [(row["hours"], row["kept"]) for row in rows] == [
        (10.0, "kept"),
        (5.0, "cut"),
        (1.0, "cut"),
    ]


def test_the_command_line_takes_one_of_them(house, monkeypatch, capsys):
    from katayori_tools import cli

    assert cli.main(["record", "--status", "--pause"]) == 2
    assert cli.main(["record", "--status"]) == 0
    said = capsys.readouterr().out
    assert (
        "no recording is running (none has run); start one: make record ARGS=--background" in said
    )


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
