"""An interrupted run keeps what is under way: nothing that arrives in time is asked twice."""

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from api_double import Double, counts, endpoint_for, model_for, requests_for

from katayori.prompting.answer_store import Store
from katayori_tools import collect as collecting
from katayori_tools.collect import collect_sync

COLLECTING = """
import signal, sys
# A test run in the background, as CI may start it, hands on an ignored Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
from api_double import *
from katayori_tools.collect import collect_sync
from katayori.prompting.answer_store import Store
with Store(sys.argv[3]) as store:
    options = {"concurrency": 8, "progress": False}
    try:
        collect_sync(requests_for(40), model_for(), endpoint_for(sys.argv[2]), store, **options)
    except KeyboardInterrupt as stopped:
        print(type(stopped).__name__)
"""


class Held(Double):
    """A server that answers nothing before it is told to."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self.released = threading.Event()

    async def _reply(self, fault, body, http):
        while not self.released.is_set():
            await asyncio.sleep(0.005)
        return await super()._reply(fault, body, http)


def start(double, path):
    command = [sys.executable, "-c", COLLECTING, str(Path(__file__).parent), double.url, str(path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: double.asked == 8)  # all that may be under way at once
    return child


def wait_for(happened, seconds=60):
    ready = threading.Event()
    for _ in range(seconds * 100):
        if happened():
            return
        ready.wait(0.01)
    raise AssertionError("it did not happen")


def told_to_wait(child):
    """The line that an interrupted run prints."""
    line = child.stderr.readline()
    assert "waiting up to 10 s for 8 request(s) under way; interrupt again to stop" in line
    return line


@pytest.mark.parametrize(
    "number, name", [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, "Terminated")]
)
def test_requests_under_way_are_awaited_and_stored(number, name, tmp_path):
    path = tmp_path / "answers.sqlite"
    with Held() as double:
        child = start(double, path)
        child.send_signal(number)
        told_to_wait(child)
        double.released.set()
        said, _ = child.communicate(timeout=120)
        assert said == f"{name}\n" and double.asked == 8
        with Store(path) as store:
            assert counts(store) == {"ok": 8}
            options = {"concurrency": 8, "progress": False}
            collect_sync(requests_for(40), model_for(), endpoint_for(double.url), store, **options)
            assert counts(store) == {"ok": 40}
    assert double.asked == 40 and set(double.bodies.values()) == {1}


def test_a_second_interrupt_stops_at_once(tmp_path):
    path = tmp_path / "answers.sqlite"
    with Held() as double:
        child = start(double, path)
        child.send_signal(signal.SIGINT)
        told_to_wait(child)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=120)
        assert said == "KeyboardInterrupt\n" and not double.released.is_set()
    with Store(path) as store:
        assert counts(store) == {}


async def cancelled(requests, store, double, when, **options):
    """A run that is cancelled once `when` holds, as an interrupt does."""
    given = {"progress": False, **options}
    endpoint = endpoint_for(double.url)
    run = asyncio.create_task(collecting.collect(requests, model_for(), endpoint, store, **given))
    while not when():
        await asyncio.sleep(0.005)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


def test_after_ten_seconds_it_ends_without_them(tmp_path, monkeypatch, capfd):
    """Of a server that never answers; the ten seconds are shortened here."""
    monkeypatch.setattr(collecting, "GRACE", 0.1)
    with Held() as double, Store(tmp_path / "answers.sqlite") as store:

        def when():
            return double.asked == 4

        asyncio.run(cancelled(requests_for(9), store, double, when, concurrency=4))
        assert counts(store) == {}
    assert "under way" in capfd.readouterr().err


def test_what_only_waits_to_be_asked_again_is_not_awaited(tmp_path, monkeypatch):
    """A request that failed and waits its turn ends with the run; it is asked again next time."""
    monkeypatch.setattr(collecting, "_wait_before_retry", lambda *_: 3600)
    with (
        Double(lambda body, before: "server_error") as double,
        Store(tmp_path / "answers.sqlite") as store,
    ):

        def when():
            return double.asked == 2 and not double.now

        asyncio.run(cancelled(requests_for(9), store, double, when, concurrency=2))
        assert double.asked == 2 and counts(store) == {}
