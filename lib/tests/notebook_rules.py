"""The contract of a notebook whose cells hold its method: what can be read off the file.

It applies to the notebooks in `MOVED`; the others keep the older limits until they move
(`test_notebook_contract.py`). A rule takes a notebook as JSON, with its stored outputs, and yields
what is wrong, one line each. A cell whose metadata names a `breach`, the reason in words, is left
out; one cell may.

**Changing works.** Each section that shows a table or a figure names one argument and another value
in the metadata of the code cell that gives it:

    "change": {"weights": "n_i_self_pairs"}

The value is JSON: a string, a number, a list. The section's text names the argument, `weights=`,
and what to expect. `changed_notebook.py` runs the section with this value: what it shows must
change.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lesson_size
from lesson_size import Cell, source

from katayori import paths

#: Notebooks that keep this contract, by the name of their file: `01_discrim_eval`.
MOVED: frozenset[str] = frozenset(
    {
        *("00_overview", "01_discrim_eval", "02_persona_jbbq", "03_logprob_judge"),
        *("04_jubaku_v2", "05_inter_jbbq"),
    }
)

MOST_BEFORE_SHOWN = {"code lines": 15, "import lines": 8, "own modules": 10}
CELLS = range(45, 76)
MOST_WORDS = 2000
MOST_BREACHES = 1
MOST_ROWS = 12  # of a table that does not scroll
HEADING = re.compile(r"^## (\d+) · (.+?)(?: [ぁ-ヿ一-鿿].*)?$", re.MULTILINE)
#: Sections that show no number of their own.
APART = ("Set-up", "Explore", "Recap and glossary", "Limits")
#: Their arguments choose how something looks, not what it is.
SHOWING = {"show", "show_text", "display", "print", "run.figure"}
#: What a cell may be folded for, if it takes more than one statement.
DRAWING = {"run.figure", "playground", "calculator", "explorer"}


class Section(NamedTuple):
    """A numbered section with all of its cells."""

    number: str
    title: str
    cells: list[Cell]


def code_of(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell["cell_type"] == "code"]


def tags_of(cell: Cell) -> list[str]:
    return cell["metadata"].get("tags", [])


def kept(nb: dict) -> list[Cell]:
    """The cells without breaches."""
    return [cell for cell in nb["cells"] if "breach" not in cell["metadata"]]


def sections(cells: list[Cell]) -> list[Section]:
    """The numbered sections, after number 0: what stands before the first of them."""
    found = [Section("0", "Set-up", [])]
    for cell in cells:
        heading = HEADING.search(source(cell)) if cell["cell_type"] == "markdown" else None
        if heading:
            found.append(Section(heading[1], heading[2], []))
        found[-1].cells.append(cell)
    return found


def imports_of(nb: dict) -> Iterator[tuple[ast.stmt, str, str]]:
    """(statement, what is imported from, name it has in the cells) of every import."""
    for cell in code_of(nb["cells"]):
        for node in ast.walk(ast.parse(source(cell))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node, alias.name, alias.asname or alias.name
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield node, f"{node.module}.{alias.name}", alias.asname or alias.name


def calls_of(cell: Cell) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source(cell))) if isinstance(node, ast.Call)]


# -- rules -----------------------------------------------------------------------------------------


def set_up(nb: dict) -> Iterator[str]:
    """A reader soon sees something: few lines of code before it, few imports, few modules."""
    lines = 0
    for cell in code_of(nb["cells"]):
        if "parameters" in tags_of(cell):
            continue
        if any(out["output_type"] in ("display_data", "execute_result") for out in cell["outputs"]):
            break
        written = (line.strip() for line in source(cell).splitlines())
        lines += sum(bool(line) and not line.startswith("#") for line in written)
    imports = list(imports_of(nb))
    names = {name for _, name, _ in imports}
    own = {name for name in names | {name.rpartition(".")[0] for name in names} if is_own(name)}
    statements = len({id(node) for node, _, _ in imports})
    counts = {"code lines": lines, "import lines": statements, "own modules": len(own)}
    for name, most in MOST_BEFORE_SHOWN.items():
        if counts[name] > most:
            yield f"set-up: {counts[name]} {name}; {most} are the most"


def is_own(name: str) -> bool:
    """Whether a dotted name is a module or package of the library."""
    place = paths.root() / "lib" / Path(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def in_bounds(nb: dict) -> Iterator[str]:
    """45 to 75 cells, at most 2,000 words to read, and one breach that says why."""
    if len(nb["cells"]) not in CELLS:
        yield f"{len(nb['cells'])} cells; {CELLS.start} to {CELLS.stop - 1} are right"
    words = lesson_size.measured(kept(nb))["words"]
    if words > MOST_WORDS:
        yield f"{words} words; {MOST_WORDS} are the most"
    reasons = [cell["metadata"]["breach"] for cell in nb["cells"] if "breach" in cell["metadata"]]
    if len(reasons) > MOST_BREACHES or not all(len(reason) > 10 for reason in reasons):
        yield f"{len(reasons)} breaches; {MOST_BREACHES} with its reason is the most"


def drawn(nb: dict) -> Iterator[str]:
    """A figure is one call, `run.figure(frame, ...)`: no cell draws with a library of its own."""
    for _, module, _ in imports_of(nb):
        parts = set(module.split("."))
        figures = module.startswith("katayori.report.chart")
        if parts & {"matplotlib", "seaborn", "altair"} or figures:
            yield f"draws with {module}; a figure is one call of run.figure"


def unfolded(nb: dict) -> Iterator[str]:
    """Only drawing is folded, where it takes more than one statement; a method never is."""
    methods = {name for _, module, name in imports_of(nb) if ".metrics." in f"{module}."}
    for cell in code_of(kept(nb)):
        hidden = cell["metadata"].get("jupyter", {}).get("source_hidden", False)
        if not hidden and "hide-input" not in tags_of(cell):
            continue
        tree = ast.parse(source(cell))
        calls = {ast.unparse(call.func) for call in calls_of(cell)}
        where = f"cell {cell.get('id')} is folded"
        if not calls & DRAWING:
            yield f"{where} and draws nothing"
        elif len(tree.body) == 1:
            yield f"{where} and is one statement"
        if used := sorted(call for call in calls if call.split(".")[0] in methods):
            yield f"{where} and computes {', '.join(used)}"
        if any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
            yield f"{where} and checks a method"


def scrolling(nb: dict) -> Iterator[str]:
    """A table of more than 12 rows scrolls in a box of fixed height."""
    for cell in code_of(kept(nb)):
        for output in cell["outputs"]:
            rows = max(
                (rows for rows, _ in lesson_size.tables_of({"outputs": [output]})), default=0
            )
            box = "".join(output.get("data", {}).get("text/html", ""))
            if rows > MOST_ROWS and not ("max-height" in box and "overflow" in box):
                yield f"cell {cell.get('id')}: a table of {rows} rows does not scroll"


def changeable(nb: dict) -> Iterator[str]:
    """Each section that shows a table or figure names an argument that can be changed."""
    for part in sections(kept(nb)):
        text = "\n".join(source(cell) for cell in part.cells if cell["cell_type"] == "markdown")
        changes = [cell for cell in part.cells if "change" in cell["metadata"]]
        shows = any(shows_result(cell) for cell in code_of(part.cells))
        if shows and not changes and not part.title.startswith(APART):
            yield f"section {part.number}: no cell can change what it shows"
        for cell in changes:
            try:
                changed_source(cell)
            except (ValueError, SyntaxError) as error:
                yield f"section {part.number}: {error}"
                continue
            (argument,) = cell["metadata"]["change"]
            if f"{argument}=" not in text:
                yield f"section {part.number}: its text does not name {argument}="


def shows_result(cell: Cell) -> bool:
    """Whether a cell shows a table or a figure that is no exercise and no widget."""
    if "exercise" in tags_of(cell):
        return False
    return bool(lesson_size.tables_of(cell) or lesson_size.figures_of(cell))


def changed_source(cell: Cell) -> str:
    """A cell's code with the other value wherever a call gets the argument that is changed.

    ValueError if there is no such argument, or it has this value already.
    """
    change = cell["metadata"]["change"]
    if not isinstance(change, dict) or len(change) != 1:
        raise ValueError(f"change {change!r} is not one argument with its other value")
    ((argument, value),) = change.items()
    other: Any = ast.parse(repr(value), mode="eval").body
    tree = ast.parse(source(cell))
    given = [
        keyword
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) not in SHOWING
        for keyword in call.keywords
        if keyword.arg == argument
    ]
    if not given:
        raise ValueError(f"no call that computes gets {argument}=")
    if all(ast.unparse(keyword.value) == ast.unparse(other) for keyword in given):
        raise ValueError(f"{argument}= is {value!r} already")
    for keyword in given:
        keyword.value = other
    return ast.unparse(tree)


RULES = [set_up, in_bounds, drawn, unfolded, scrolling, changeable]
