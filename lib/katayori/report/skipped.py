"""How a notebook in JupyterLab ends without a red trace where answers are missing.

Under the runner a skipped notebook raises SystemExit, which papermill lets through. JupyterLab
shows it in red, stops Run All there and leaves below what an earlier setting gave. So a `Run`
without a folder, in IPython, does the following with public means of IPython only. The line is
printed in place of a traceback. The kernel replies that the cell went well, so that Run All goes on
and clears what stands below. Each cell from there on prints `NOT_RUN`, until a `Run` is made anew.
"""

import ast
import re
from typing import Any

from IPython import get_ipython

from katayori.errors import KatayoriError, UnavailableError

NOT_RUN = "not run: a cell above says why; change the settings, then run the set-up cell again"
#: The set-up is the cell that makes the `Run`, whatever magic stands above it.
SETUP = re.compile(r"\bRun\(")
#: A line such as `%env NAME=value` or `!make live`, which is no Python.
LINE_MAGIC = re.compile(r"^[%!](?!%).*", re.MULTILINE)


def watch() -> bool:
    """From now on missing answers end a cell in one line; cells run that were held back.

    Returns:
        whether there is an IPython to do so.

    Example:
        >>> watch()  # plain Python
        False
    """
    shell = get_ipython()
    if shell is None:
        return False
    if _held_back in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_held_back)
    # A kernel shows what other means render, even an empty traceback, as an output of type error.
    shell.set_custom_exc((KatayoriError,), _told)
    shell.events.register("post_run_cell", _went_well)
    return True


def _told(shell: Any, kind: Any, error: KatayoriError, trace: Any, tb_offset: Any = None) -> None:
    """One line in place of a traceback for missing answers, and for whatever the set-up refuses.

    Of other cells the traceback is shown: it tells the line of the reader's own change.
    """
    is_missing = isinstance(error, UnavailableError)
    if not is_missing and not SETUP.search(shell.history_manager.input_hist_raw[-1]):
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    print(f"{'skipped' if is_missing else 'katayori'}: {error}")
    if _held_back not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_held_back)


def _went_well(result: Any) -> None:
    """What `_told` has told is no error of the cell, or Run All would stop here.

    The kernel makes its reply from this result after the event.
    """
    is_held_back = _held_back in get_ipython().input_transformers_cleanup
    if result and is_held_back and isinstance(result.error_in_exec, KatayoriError):
        result.error_in_exec = None


def _held_back(lines: list[str]) -> list[str]:
    """The set-up and cells of settings as they are; in place of any other cell a line says so.

    A cell is not passed over in silence, since it may be one that the reader has just written.
    """
    cell = "".join(lines)
    return lines if SETUP.search(cell) or _is_settings(cell) else [f"print({NOT_RUN!r})\n"]


def _is_settings(cell: str) -> bool:
    """Whether a cell only imports and sets literals, as the parameters cell does."""
    try:
        for one in ast.parse(LINE_MAGIC.sub("", cell)).body:
            if not isinstance(one, ast.Import | ast.ImportFrom):
                ast.literal_eval(one.value)  # type: ignore[attr-defined]
    except (AttributeError, SyntaxError, TypeError, ValueError):
        return False
    return True
