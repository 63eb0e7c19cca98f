"""The recorder as a process of its own: started, looked at, paused, resumed and stopped.

There is one recorder a cache, which holds a lock; what it is doing stands in a file beside it. A
recorder that is gone, however it ended, holds no lock: nothing has to be cleaned up after it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting.store import store_path
from katayori_tools import priority
from katayori_tools.answer_store import Store
from katayori_tools.record_hours import hours_of
from katayori_tools.record_plan import Work
from katayori_tools.recording import replace_file

#: How the detached recorder is started; the words of `record` follow.
COMMAND = [sys.executable, "-m", "katayori", "record"]
START_WITHIN = 60.0  # seconds until it holds the lock: a busy machine imports slowly
#: Seconds until it is gone: answers under way have ten, the engine fifteen; shards are written.
STOP_WITHIN = 180.0
WINDOW = 600.0  # seconds over which the present rate is taken
LOOK = "look: make record ARGS=--status   pause: ARGS=--pause   stop: ARGS=--stop"
START = "start one: make record ARGS=--background"
RESUME = "go on: make record ARGS=--resume"


def folder() -> Path:
    """Where the recorder's lock, state and log lie."""
    return paths.cache_dir() / "record"


def log_file() -> Path:
    """What a detached recorder prints."""
    return folder() / "record.log"


@contextmanager
def alone() -> Iterator[None]:
    """This process is the recorder within the block. KatayoriError naming another one that is."""
    import fcntl

    folder().mkdir(parents=True, exist_ok=True)
    with open(folder() / "lock", "a+", encoding="ascii") as lock:
        for _ in range(20):  # who only looks holds the lock for a moment
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.02)
        else:
            raise KatayoriError(f"a recording is running (process {_pid(lock)}); {LOOK}")
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def running() -> int | None:
    """The process that records; None where none does (a lock without one counts for nothing)."""
    import fcntl

    file = folder() / "lock"
    if not file.exists():
        return None
    with open(file, "a+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _pid(lock)
    return None


def _pid(lock: Any) -> int:
    lock.seek(0)
    text = lock.read().strip()
    return int(text) if text.isdecimal() else 0


def state() -> dict[str, Any]:
    """What the recorder last said of itself; empty where none has run, or its file is damaged."""
    with suppress(OSError, ValueError):
        found = json.loads((folder() / "state.json").read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def say(**changes: Any) -> None:
    """Writes changes into the recorder's state."""
    folder().mkdir(parents=True, exist_ok=True)
    text = json.dumps(state() | changes, ensure_ascii=False, indent=1)
    replace_file(folder() / "state.json", text.encode() + b"\n")


@contextmanager
def told(words: Sequence[str]) -> Iterator[None]:
    """The state says within the block that this process records, and after it how it ended."""
    say(state="running", pid=os.getpid(), words=list(words), started=time.time(), work={}, said="")
    try:
        yield
    except KeyboardInterrupt:
        say(state="stopped")
        raise
    except BaseException as error:
        say(state="failed", said=f"{type(error).__name__}: {error}"[:500])
        raise
    say(state="done", work={})


def begin(work: Work, number: int, later: Sequence[Work], pending: int, total: int) -> None:
    """A piece of work begins, the `number`-th; `later` follow, `pending` of `total` are left."""
    model, _ = work.at()
    about = {
        "name": work.name,
        "number": number,
        "of": number + len(later),
        "pending": pending,
        "total": total,
        "since": time.time(),
        "prompts": list(work.prompts),
        "later": [_row_of(each) for each in later],
    }
    about["shard"] = [work.paper, work.dataset, work.variant, model.identity]
    say(work=about)


def _row_of(work: Work) -> list[str]:
    """What tells a piece of work in the table of rates."""
    return [work.paper, work.dataset, "+".join(work.prompts), work.model]


def start(words: Sequence[str]) -> int:
    """Start a detached recorder, which gives way to other work, and print how to look at it; its
    process id.

    Raises KatayoriError where one is running, or where it ends at once, with its last lines.
    """
    if pid := running():
        raise KatayoriError(f"a recording is running (process {pid}); {LOOK}")
    folder().mkdir(parents=True, exist_ok=True)
    with log_file().open("ab") as log:
        begins = log.tell()
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        process = subprocess.Popen([*COMMAND, *words], start_new_session=True, **streams)
    priority.gives_way(process.pid)
    end = time.monotonic() + START_WITHIN
    while time.monotonic() < end and process.poll() is None and not _records(process.pid):
        time.sleep(0.02)
    if process.poll():
        said = log_file().read_bytes()[begins:].decode(errors="replace").strip()
        last = " | ".join(said.splitlines()[-3:]) or "nothing"
        raise KatayoriError(f"the recorder ended at once; its last lines: {last}")
    print(f"recording in process {process.pid}; log: {log_file()}\n{LOOK}")
    return process.pid


def _records(pid: int) -> bool:
    """Whether a process holds the lock and has said so."""
    return running() == pid == state().get("pid")


def halt(ending: str) -> None:
    """End the recorder and wait for it; `ending` is `paused` or `stopped`.

    Answers under way have ten seconds to arrive, finished shards are written, the engine is
    stopped. Raises KatayoriError where none is running, or it does not end.
    """
    pid = running()
    if not pid:
        if ending == "stopped" and state().get("state") == "paused":
            say(state="stopped")
            print("the paused recording is stopped; what was answered is kept")
            return
        raise KatayoriError(f"no recording is running ({_ended()})")
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + STOP_WITHIN
    while running() == pid:
        if time.monotonic() > end:
            raise KatayoriError(f"process {pid} has not ended after {STOP_WITHIN:.0f} s")
        time.sleep(0.02)
    if state().get("state") in ("stopped", "running"):  # not if it was done just before
        say(state=ending)
    print(f"{_ended()}; what was answered is kept; {RESUME}")


def resume() -> int:
    """Start the recorder again as it was started last; its process id."""
    words = state().get("words")
    if words is None:
        raise KatayoriError(f"no recording to resume; {START}")
    return start(words)


def _ended() -> str:
    """How the last recording ended, in words."""
    last = state().get("state", "")
    if last == "running":
        return "the last one was killed"
    return f"the last one is {last}" if last else "none has run"


def status() -> None:
    """Print what the recorder is doing: shard, done of total, rate, hours left."""
    pid, known = running(), state()
    if pid:
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(known.get("started", 0)))
        print(f"recording in process {pid} since {begun}; log: {log_file()}")
    else:
        said = f": {known['said']}" if known.get("said") else ""
        then = RESUME if "words" in known else START
        print(f"no recording is running ({_ended()}{said}); {then}")
    if known.get("work"):
        for line in _progress(known["work"]):
            print(line)


def _progress(work: dict[str, Any]) -> Iterator[str]:
    """What the state tells of a piece of work, with what the store holds of it now."""
    asked, rate = _answered(work)
    done, total = work["total"] - work["pending"] + asked, work["total"]
    yield f"{work['number']} of {work['of']}: {work['name']}"
    left = f"{(total - done) / rate / 3600:.1f} h left" if rate else "no rate yet"
    yield f"{done:,} of {total:,} answered, {rate:.2f}/s, {left}"
    if work["later"]:
        hours = hours_of(work["later"])
        planned = (
            "hours unknown (make record ARGS='--pilot 0')" if hours is None else f"{hours:.1f} h"
        )
        yield f"after it {len(work['later'])} more, {planned} as planned"


def _answered(work: dict[str, Any]) -> tuple[int, float]:
    """How many answers have come since a piece of work began, and how many a second come now."""
    marks = ",".join("?" * len(work["prompts"]))
    query = f"""SELECT COUNT(*), MIN(created) FROM answers WHERE created>=? AND outcome<>'error'
        AND paper=? AND dataset=? AND variant=? AND identity=? AND prompt_id IN ({marks})"""
    now = time.time()
    shard = [*work["shard"], *work["prompts"]]
    with Store(store_path()) as store, store.told():
        [(asked, _)] = store.db.execute(query, [work["since"], *shard])
        recent = max(work["since"], now - WINDOW)
        [(lately, first)] = store.db.execute(query, [recent, *shard])
    seconds = now - first if lately else 0.0
    return asked, lately / seconds if seconds > 0 else 0.0
