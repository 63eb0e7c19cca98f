"""Runs a notebook's code cells in this process, without kernel or figures, and mutates metrics.

    python quick_notebook.py '{"notebook": ..., "work": ...,
                               "mutations": {"module:function": "entry"}, "whole": false}'

Every table is compared with the expected one as soon as it is written. Where a function to be
mutated is called for the first time, the process forks: the child goes on with that function's
results scaled by 1.01 until a table differs, while its parent waits and then goes on unmutated. So
what comes before is computed once for all mutations, and the parent shows that the same tables are
right without a mutation. It ends once it has passed every table that told one (with `whole` after
the last cell).

One line of JSON for each thing learnt goes to stdout: mutation, outcome (`differs`, `same` or
`error`), table, detail, cpu (seconds). The parent's own line comes last: its mutation is null and,
where its outcome is `same`, the detail names the tables it passed.
"""

import functools
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plain_run

from katayori_tools.reproduce import SKIPPED, Job

FACTOR = 1.01


@dataclass
class State:
    """What this process is: the parent (`mutated` is None) or the child of one mutation."""

    paper: str
    expected: dict
    mutations: dict[str, str]
    whole: bool
    stdout: int  # where lines go
    mutated: str | None = None
    tried: set[str] = field(default_factory=set)
    passed: list[str] = field(default_factory=list)
    needed: set[str] = field(default_factory=set)


def report(state: State, outcome: str, table: str = "", detail: str = "") -> None:
    """Writes one line; a child ends here, whatever has called it."""
    line = {
        "mutation": state.mutated,
        "outcome": outcome,
        "table": table,
        "detail": detail,
        "cpu": round(time.process_time(), 2),
    }
    os.write(state.stdout, json.dumps(line).encode() + b"\n")
    if state.mutated is not None:
        os._exit(0)


def scaled(result: Any, entry: str) -> Any:
    """A metric's result with one entry (with an empty name all of it) scaled by `FACTOR`.

    What reads several tables gives some without it; a mutation that meets none is not told.
    """
    if not entry:
        return result * FACTOR
    if isinstance(result, dict):
        return {**result, entry: result[entry] * FACTOR}
    return result.assign(**{entry: result[entry] * FACTOR}) if entry in result else result


def fork_here(state: State, name: str) -> None:
    """Starts the child of one mutation, which goes on from this call; the parent waits for it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        state.mutated = name
        state.stdout = writer
        return
    os.close(writer)
    with os.fdopen(reader) as lines:
        line = lines.read()
    os.waitpid(child, 0)
    if not line:
        line = json.dumps({"mutation": name, "outcome": "error", "detail": "its process died"})
    told = json.loads(line)
    if told["outcome"] == "differs":
        state.needed.add(told["table"])
    os.write(state.stdout, json.dumps(told).encode() + b"\n")


def mutable(state: State, name: str, function: Callable) -> Callable:
    """The function, forking at its first call and scaled in the child that mutates it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.mutated is None and name not in state.tried:
            state.tried.add(name)
            fork_here(state, name)
        result = function(*args, **kwargs)
        return scaled(result, state.mutations[name]) if state.mutated == name else result

    return call


def install_mutations(state: State) -> None:
    """Makes every function to be mutated mutable."""
    for name in state.mutations:
        module, attribute = name.split(":")
        function = getattr(importlib.import_module(module), attribute)
        plain_run.replace(function, mutable(state, name, function))


def install_comparison(state: State) -> None:
    """Compares each table when it is written, and the results when they are saved."""
    from katayori.report.run import Run
    from katayori_tools import expected

    write_table, write_results = Run.table, Run.save

    def compare(name: str, got: Any) -> None:
        found = expected.compare(state.expected[name], got)
        if found:
            report(state, "differs", name, f"{name}: {found[0]}")
            os._exit(0)
        state.passed.append(name)
        if state.mutated is None:
            end_early(state)

    def table(self: Run, name: str, frame: Any) -> Any:
        result = write_table(self, name, frame)
        compare(name, expected.read_csv(self.folder / "tables" / f"{name}.csv"))
        return result

    def save(self: Run, **about: Any) -> Any:
        result = write_results(self, **about)
        compare(expected.RESULTS, expected.read_run(self.folder)[expected.RESULTS])
        return result

    Run.table, Run.save = table, save


def end_early(state: State) -> None:
    """Ends the parent once all mutations were tried and it passed every table that told one."""
    finished = state.tried == set(state.mutations) and state.needed <= set(state.passed)
    if finished and not state.whole:
        report(state, "same", "", " ".join(state.passed))
        os._exit(0)


def run_cells(state: State, notebook: Path, work: Path) -> None:
    """Executes the code cells in one namespace, as a kernel would."""
    try:
        plain_run.run_cells(Job(state.paper, notebook, {}, work, {}))
    except plain_run.CellError as error:
        report(state, "error", "", str(error))
        os._exit(0)
    if (work / SKIPPED).exists():
        report(state, "error", "", "the notebook was skipped")
        os._exit(0)
    never = sorted(set(state.mutations) - state.tried) if state.mutated is None else []
    for name in never:
        line = {"mutation": name, "outcome": "error", "detail": "it is never called"}
        os.write(state.stdout, json.dumps(line).encode() + b"\n")
    report(state, "same", "", " ".join(state.passed))


def main(job: dict) -> None:
    """Runs the job; see the head of this module."""
    from katayori_tools import expected

    notebook = Path(job["notebook"])
    stdout = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    tables = expected.read_expected(notebook.stem[3:])
    state = State(notebook.stem[3:], tables, job["mutations"], job["whole"], stdout)
    plain_run.draw_nothing()  # it costs most of the time, and no table depends on it
    install_comparison(state)
    install_mutations(state)
    run_cells(state, notebook, Path(job["work"]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
