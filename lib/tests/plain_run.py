"""Runs a notebook's code cells in this process: no kernel, and figures that are not written."""

import contextlib
import io
import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from katayori_tools.choices import USUAL_RUNNING, NotebookRun, Running
from katayori_tools.reproduce import Job, planned

if TYPE_CHECKING:
    from katayori.report.run import Run

#: Of each run folder: the name of a figure -> its title.
TITLES: dict[Path, dict[str, str]] = {}


class CellError(Exception):
    """A cell failed; the message names it."""


def without_kernel(run: NotebookRun, running: Running = USUAL_RUNNING) -> int:
    """In place of `reproduce.reproduce`: notebooks run in this process."""
    for job in planned(run):
        run_cells(job)
    return 0


def run_cells(job: Job, *, drawn: bool = False) -> None:
    """Executes a job into its run folder.

    Args:
        job: notebook, parameters and folder (`final`). drawn: whether files of figures are written.

    Raises:
        CellError: naming the cell, for the first that fails.
    """
    module = types.ModuleType("notebook")
    before = os.getcwd()
    job.final.mkdir(parents=True, exist_ok=True)
    os.chdir(job.notebook.parent)
    try:
        with _in_ipython(module, drawn), contextlib.redirect_stdout(io.StringIO()):
            _all_cells(job, module)
    finally:
        os.chdir(before)


def _all_cells(job: Job, module: types.ModuleType) -> None:
    cells = json.loads(job.notebook.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        try:
            code = compile("".join(cell["source"]), f"{job.notebook.stem} cell {number}", "exec")
            exec(code, module.__dict__)
        except SystemExit:  # the notebook was skipped
            return
        except Exception as error:
            problem = f"{job.notebook.stem} cell {number}: {type(error).__name__}: {error}"
            raise CellError(problem) from error
        if "parameters" in cell["metadata"].get("tags", []):
            vars(module).update(job.parameters | {"output_dir": str(job.final)})


def _nothing(*_: Any, **__: Any) -> None:
    """In place of what shows something."""


def _note_title(run: "Run", name: str, frame: Any, **drawing: Any) -> None:
    """In place of `Run.figure`: what the figure would say, where it has anything to show."""
    from katayori.report import charts

    if name and not charts.why_empty(frame, charts.Chart(**drawing)):
        TITLES.setdefault(run.folder, {})[name] = drawing.get("title", "")


def _put_back(before: types.ModuleType | None) -> None:
    """The module `notebook` as it was before a run."""
    sys.modules.pop("notebook", None)
    if before:
        sys.modules["notebook"] = before


def draw_nothing() -> None:
    """From now on this process makes no figure and no widget, which cost much of a notebook's time.

    For a process that runs one notebook and ends: there is no way back. Tables and results are the
    same (`test_late_tables_tell_a_mutation_too` compares all of them).
    """
    from katayori.report import charts, explorers, run, tables

    # What waits for a reader, and what is shown; no table and no result depends on it.
    for shown in (charts.draw, explorers.explorer, explorers.playground, tables.display):
        replace(shown, _nothing)
    run.Run.figure = _nothing  # type: ignore[method-assign]


def _ours() -> list[types.ModuleType]:
    """The modules of the library that are loaded."""
    return [module for name, module in list(sys.modules.items()) if name.startswith("katayori.")]


def replace(function: Callable, other: Callable) -> None:
    """Puts `other` in place of a function wherever a module of ours has imported it by name."""
    for module in _ours():
        for attribute, value in list(vars(module).items()):
            if value is function:
                setattr(module, attribute, other)


@contextlib.contextmanager
def _in_ipython(module: types.ModuleType, drawn: bool) -> Iterator[None]:
    """`display` as a notebook has it; without `drawn`, no file of a figure is written."""
    import IPython.display
    import matplotlib.pyplot as plt

    from katayori.report import run, tables

    vars(module)["display"] = _nothing
    with contextlib.ExitStack() as patches:
        # Only this entry is taken back: modules that cells import first stay loaded, since numpy
        # cannot be loaded twice.
        before = sys.modules.get("notebook")
        sys.modules["notebook"] = module
        patches.callback(_put_back, before)
        patches.enter_context(mock.patch.object(IPython.display, "display", _nothing))
        if not drawn:
            patches.enter_context(mock.patch.object(run.Run, "figure", _note_title))
            patches.enter_context(mock.patch.object(tables, "display", _nothing))
        try:
            yield
        finally:
            plt.close("all")
