"""Runs a notebook's code cells in this process: no kernel, and figures that are not written."""

import contextlib
import io
import json
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from katayori_tools.choices import NotebookRun
from katayori_tools.reproduce import Job, planned

if TYPE_CHECKING:
    from katayori.report.run import Run

#: Of each run folder: the name of a figure -> its title.
TITLES: dict[Path, dict[str, str]] = {}


class CellError(Exception):
    """A cell failed; the message names it."""


def without_kernel(run: NotebookRun) -> int:
    """In place of `reproduce.reproduce`: notebooks run in this process."""
    for job in planned(run):
        run_cells(job)
    return 0


def run_cells(job: Job) -> None:
    """Executes a job into its run folder (`final`).

    Raises:
        CellError: naming the cell, for the first that fails.
    """
    module = types.ModuleType("notebook")
    before = os.getcwd()
    job.final.mkdir(parents=True, exist_ok=True)
    os.chdir(job.notebook.parent)
    try:
        with _in_ipython(module), contextlib.redirect_stdout(io.StringIO()):
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


@contextlib.contextmanager
def _in_ipython(module: types.ModuleType) -> Iterator[None]:
    """`display` as a notebook has it; no file of a figure is written."""
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
        patches.enter_context(mock.patch.object(run.Run, "figure", _note_title))
        patches.enter_context(mock.patch.object(tables, "display", _nothing))
        try:
            yield
        finally:
            plt.close("all")
