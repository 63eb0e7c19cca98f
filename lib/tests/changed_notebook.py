"""Runs a notebook in this process and changes one argument in each section (`notebook_rules`).

    python changed_notebook.py NOTEBOOK FOLDER

At a cell that names a change the process forks. The child runs this cell with the other value and
the rest of its section, and tells which tables were shown and what is plotted; its parent waits,
goes on without the change, and compares at the end of the section. So what comes before is computed
once for all changes. Figures are compared by their numbers and not drawn. FOLDER takes what the
notebook writes.

One line goes to stdout for each change after which the same was shown, or which failed.
"""

import ast
import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from IPython.core.formatters import DisplayFormatter
from matplotlib.figure import Figure
from notebook_rules import Cell, changed_source, code_of, rows_of, sections, source, tags_of

from katayori.report import charts


class Running:
    """A notebook's namespace, and the tables that its cells have shown."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "notebook", "display": self.display}
        self.tables: list[str] = []
        self.format = DisplayFormatter().format

    def display(self, *objects: Any, **_: Any) -> None:
        """Keeps the tables among what is shown; a widget is one state of many."""
        for one in objects:
            output = {"data": self.format(one)[0]}
            if rows_of(output):
                self.tables.append(output["data"]["text/html"])

    def execute(self, text: str, tags: list[str]) -> None:
        """Runs a cell and shows the value of its last line, as a kernel does."""
        tree = ast.parse(text)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), self.names)
        if isinstance(last, ast.Expr):
            self.display(eval(compile(ast.Expression(last.value), "cell", "eval"), self.names))
        if "parameters" in tags:
            self.names["output_dir"] = str(self.folder)

    def shown(self, start: int) -> dict[str, Any]:
        """The tables from a place on, and what the figures so far plot."""
        plotted = sorted((self.folder / "figures").glob("*.csv"))
        figures = {file.name: file.read_text(encoding="utf-8") for file in plotted}
        return {"tables": self.tables[start:], "figures": figures}

    def if_changed(self, cells: list[Cell]) -> dict[str, Any]:
        """What a child shows that runs these cells, the first of them changed."""
        reader, writer = os.pipe()
        child = os.fork()
        if child:
            os.close(writer)
            with os.fdopen(reader) as lines:
                told = lines.read()
            os.waitpid(child, 0)
            return json.loads(told or '{"error": "its process died"}')
        start = len(self.tables)
        try:
            self.execute(changed_source(cells[0]), [])
            for cell in cells[1:]:
                self.execute(source(cell), [])
            answer = self.shown(start)
        except BaseException as error:  # a child ends here, whatever has happened
            answer = {"error": f"{type(error).__name__}: {error}"}
        with os.fdopen(writer, "w") as lines:
            lines.write(json.dumps(answer))
        os._exit(0)


def unchanged(cells: list[Cell], folder: Path) -> Iterator[str]:
    """Runs all cells; one line for each change that changes nothing that is shown, or fails."""
    running = Running(folder)
    for part in sections(cells):
        code = code_of(part.cells)
        changes = []
        for place, cell in enumerate(code):
            if "change" in cell["metadata"]:
                told = running.if_changed(code[place:])
                changes.append((*cell["metadata"]["change"], len(running.tables), told))
            running.execute(source(cell), tags_of(cell))
        for argument, start, told in changes:
            if "error" in told:
                yield f"section {part.number}: with another {argument}= {told['error']}"
            elif told == running.shown(start):
                yield f"section {part.number}: another {argument}= changes nothing that is shown"


def main(notebook: Path, folder: Path) -> list[str]:
    """Runs a notebook silently; see the head of this module."""
    charts._drawn = lambda *_: Figure((1, 1))  # everything about the frame has been checked
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    with contextlib.redirect_stdout(io.StringIO()):
        return list(unchanged(cells, folder))


if __name__ == "__main__":
    print("\n".join(main(Path(sys.argv[1]), Path(sys.argv[2]))))
