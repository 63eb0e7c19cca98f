"""`make record`: works the recording plan off, here or in the background."""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

from katayori.errors import KatayoriError, expect
from katayori.prompting.store import store_path
from katayori_tools import record_control, recording
from katayori_tools.answer_store import Store
from katayori_tools.collect import terminable
from katayori_tools.notebooks import names
from katayori_tools.record_hours import MOST_HOURS
from katayori_tools.record_pilot import pilot
from katayori_tools.record_plan import Work, requests_of, works
from katayori_tools.recorder import How, Recorder, export


@dataclass(frozen=True)
class Recording:
    """What is recorded; a detached recorder is started with the same.

    Attributes:
        papers, models: names with commas or spaces between; empty are all of the plan. engine,
        base_url: who answers, without them the plan's engine. concurrency: requests at once. limit:
        items, for a pilot. edition: one of `record_plan.EDITIONS`, empty for all.
    """

    papers: str = ""
    models: str = ""
    engine: str = ""
    base_url: str = ""
    concurrency: int | None = None
    limit: int | None = None
    edition: str = ""

    def words(self) -> list[str]:
        """The words of the command line that start the same recording again."""
        pairs = [
            (f"--{name.replace('_', '-')}", str(value))
            for name, value in asdict(self).items()
            if value is not None and value != ""
        ]
        return [word for pair in pairs for word in pair]


def record(chosen: Recording, *, control: str = "", pilots: int | None = None) -> int:
    """Ask the recording plan and export each shard as it completes; a second start continues where
    the first ended.

    Args:
        chosen: what is recorded. control: a name in `CONTROLS`, which is done in place of it.
        pilots: time so many requests of each entry instead, and write the table of hours.

    Returns 1 where a piece of work could not be made and the others were done.
    """
    if control:
        expect(control, CONTROLS, "control of the recorder")
        CONTROLS[control](chosen)
        return 0
    edition = chosen.edition or ("" if pilots is None else "second")
    if pilots is not None:
        expect(edition, MOST_HOURS, "edition with a table of hours")
    planned = works(names(chosen.papers), names(chosen.models), edition)
    how = How(chosen.engine, chosen.base_url, chosen.concurrency, chosen.limit)
    for work in planned:
        work.at(how.engine)  # an unknown engine is told before anything is asked
    with (
        terminable(),
        record_control.alone(),
        record_control.told(chosen.words()),
        Store(store_path()) as store,
        Recorder(store, how) as recorder,
    ):
        if pilots is None:
            return _record(recorder, planned)
        pilot(recorder, planned, pilots, edition)
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


def export_finished(chosen: Recording) -> None:
    """Export what is finished now of the plan, asking nothing; a recorder may be running."""
    how = How(chosen.engine, concurrency=chosen.concurrency)
    edition = chosen.edition or "second"
    with Store(store_path()) as store:
        for work in works(names(chosen.papers), names(chosen.models), edition):
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


#: What is done in place of recording here.
CONTROLS: dict[str, Callable[[Recording], object]] = {
    "background": lambda chosen: record_control.start(chosen.words()),
    "status": lambda chosen: record_control.status(),
    "pause": lambda chosen: record_control.halt("paused"),
    "resume": lambda chosen: record_control.resume(),
    "stop": lambda chosen: record_control.halt("stopped"),
    "export": export_finished,
}
