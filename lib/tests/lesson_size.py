"""How long a lesson takes to read, and how it is built: counted from its stored outputs.

    minutes = English words / 130 + 20 s a table + 40 s a figure

Exercises, the glossary and the content notice are left out, as their readers choose when to read
them. Printed prose counts as words; Japanese is not counted.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

WORDS_A_MINUTE = 130
SECONDS_A_TABLE = 20
SECONDS_A_FIGURE = 40
#: Headings of sections that are read on another day.
APART = re.compile(r"^#+ .*(Exercises|glossary|Glossary)", re.MULTILINE)
NOTICE = re.compile(r"^> ?\*\*Content notice.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
#: What is no prose in markdown: code, formulas, addresses, tags.
NO_PROSE = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|https?://\S+|<[^>]+>", re.DOTALL)
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr.*?</tr>", re.DOTALL)
CELL = re.compile(r"<t[dh][ >]")

Cell = dict[str, Any]


def measured(given: Iterable[Cell]) -> dict[str, float]:
    """Cells beside exercises, English words, tables, rows and columns of the largest of them, lines
    of the longest code cell without imports, the most tables and figures of one cell, minutes.
    """
    cells = list(lesson(given))
    texts = [text for cell in cells for text in prose(cell)]
    tables = [table for cell in cells for table in tables_of(cell)]
    figures = sum(figures_of(cell) for cell in cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    words = sum(len(WORD.findall(text)) for text in texts)
    seconds = SECONDS_A_TABLE * len(tables) + SECONDS_A_FIGURE * figures
    return {
        "cells": len(cells),
        "words": words,
        "tables": len(tables),
        "rows": max((rows for rows, _ in tables), default=0),
        "columns": max((columns for _, columns in tables), default=0),
        "code_lines": max((lines_of_code(cell) for cell in code), default=0),
        "shown": max((len(tables_of(cell)) + figures_of(cell) for cell in cells), default=0),
        "minutes": words / WORDS_A_MINUTE + seconds / 60,
    }


def lesson(cells: Iterable[Cell]) -> Iterator[Cell]:
    """The cells without exercises, and without sections that stand apart."""
    apart = False
    for cell in cells:
        if cell["cell_type"] == "markdown" and re.match(r"^#+ ", source(cell)):
            apart = bool(APART.search(source(cell)))
        if not apart and "exercise" not in cell["metadata"].get("tags", []):
            yield cell


def source(cell: Cell) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def lines_of_code(cell: Cell) -> int:
    """The lines of a code cell from the first to the last; those of imports do not count."""
    text = source(cell)
    imports = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.Import | ast.ImportFrom) and node.end_lineno
    ]
    fetched = sum((node.end_lineno or 0) - node.lineno + 1 for node in imports)
    return len(text.strip("\n").splitlines()) - fetched


def prose(cell: Cell) -> Iterator[str]:
    """What is to be read of a cell: its text without code and formulas, or what it prints."""
    if cell["cell_type"] == "markdown":
        yield NO_PROSE.sub(" ", NOTICE.sub("", source(cell)))
        return
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        html = "".join(data.get("text/html", ""))
        if output["output_type"] == "stream":
            yield "".join(output["text"])
        elif "text/markdown" in data:
            yield NO_PROSE.sub(" ", "".join(data["text/markdown"]))
        elif html and not _is_widget(data):
            yield NO_PROSE.sub(" ", TABLE.sub(" ", html))


def _is_widget(data: dict[str, Any]) -> bool:
    """A widget shows one state of many; its words and pictures are played with, not read."""
    return any("widget" in kind for kind in data)


def tables_of(cell: Cell) -> list[tuple[int, int]]:
    """Rows (without the head) and columns of the tables that a cell shows."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if _is_widget(data):
            continue
        for table in TABLE.findall("".join(data.get("text/html", ""))):
            rows = [len(CELL.findall(row)) for row in ROW.findall(table)]
            found.append((max(len(rows) - 1, 0), max(rows, default=0)))
    return found


def figures_of(cell: Cell) -> int:
    """How many figures a cell shows."""
    outputs = [output.get("data", {}) for output in cell.get("outputs", [])]
    return sum("image/png" in data or "image/svg+xml" in data for data in outputs)
