"""`make record`: works the recording plan off, here or in the background."""

import argparse
import sys
from collections.abc import Callable
from functools import partial

from katayori.errors import KatayoriError
from katayori.prompting.store import Store, store_path
from katayori_tools import record_control, recording
from katayori_tools.collect import terminable
from katayori_tools.notebooks import names
from katayori_tools.record_pilot import pilot
from katayori_tools.record_plan import Work, requests_of, works
from katayori_tools.recorder import How, Recorder, export


def record(args: argparse.Namespace) -> int:
    """Ask the recording plan and export each shard as it completes; a second start continues where
    the first ended. With `--background`, `--status` and so on, what these say.

    1 where a piece of work could not be made and the others were done.
    """
    for name, act in CONTROLS.items():
        if getattr(args, name, False):
            act(args)
            return 0
    pilots = getattr(args, "pilot", None)
    edition = getattr(args, "edition", "") or ("" if pilots is None else "second")
    planned = works(names(args.papers), names(args.models), edition)
    how = How(args.engine or "", args.base_url or "", args.concurrency, args.limit)
    for work in planned:
        work.at(how.engine)  # an unknown engine is told before anything is asked
    with (
        terminable(),
        record_control.alone(),
        record_control.told(words_of(args)),
        Store(store_path()) as store,
        Recorder(store, how) as recorder,
    ):
        if pilots is None:
            return _record(recorder, planned)
        pilot(recorder, planned, pilots)
    return 0


def _record(recorder: Recorder, planned: list[Work]) -> int:
    """Work everything off; what cannot be made is told and left out."""
    failed = 0
    for number, work in enumerate(planned, 1):
        begin = partial(record_control.begin, work, number, planned[number:])
        try:
            requests = recorder.requests(work)
            recorder.check(work, requests)
        except KatayoriError as error:
            print(f"{work.name}: left out; {error}", file=sys.stderr, flush=True)
            failed += 1
            continue
        recorder.do(work, requests, begin)
    return int(failed > 0)


def words_of(args: argparse.Namespace) -> list[str]:
    """The words of the command line that start the same recording again."""
    given = {name: getattr(args, name, None) for name in WORDS}
    pairs = [
        (f"--{name.replace('_', '-')}", str(value))
        for name, value in given.items()
        if value is not None and value != ""
    ]
    return [word for pair in pairs for word in pair]


def export_finished(args: argparse.Namespace) -> None:
    """Export what is finished now of the plan, asking nothing; a recorder may be running."""
    how = How(args.engine or "", concurrency=args.concurrency)
    chosen = names(args.papers), names(args.models), getattr(args, "edition", "") or "second"
    with Store(store_path()) as store:
        for work in works(*chosen):
            try:
                requests = requests_of(work, *work.at(how.engine), store)
            except KatayoriError as error:
                print(f"{work.name}: left out; {error}")
                continue
            recording.restore(store, requests)
            pending = store.pending(requests)
            if len(pending) < len(requests):
                print(f"{work.name}: {len(requests) - len(pending)} of {len(requests)} answered")
                export(store, requests, work, how)


#: The options that say what is recorded; a detached recorder is started with the same.
WORDS = ("papers", "models", "engine", "base_url", "concurrency", "limit", "edition")
#: What an option does in place of recording here.
CONTROLS: dict[str, Callable[[argparse.Namespace], object]] = {
    "background": lambda args: record_control.start(words_of(args)),
    "status": lambda args: record_control.status(),
    "pause": lambda args: record_control.halt("paused"),
    "resume": lambda args: record_control.resume(),
    "stop": lambda args: record_control.halt("stopped"),
    "export": export_finished,
}
