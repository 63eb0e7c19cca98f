"""The contract of a notebook: what can be read off the file, its stored outputs included.

A rule takes a notebook as JSON and yields what is wrong, one line each. A cell whose metadata names
a `breach`, the reason in words, is left out of what a lesson may hold; one cell may.

**Changing works.** Each section that shows a table or a figure names one argument and another value
in the metadata of the code cell that gives it:

    "change": {"weights": "n_i_self_pairs"}

The value is JSON: a string, a number, a list. The section's text names the argument, `weights=`,
and what to expect. `changed_notebook.py` runs the section with this value: what it shows must
change.
"""

import ast
import base64
import io
import json
import re
import struct
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import notebooks

Cell = dict[str, Any]

IGNORE = "nbval-ignore-output"
#: `exercise` and `recorded`: left out of a report about a user's model (`pages`); `slide`:
#: the cell holds slides of the talk (`test_talk.py`); `model`: it writes a statistical model.
TAGS = {"parameters", IGNORE, "exercise", "recorded", "slide"}
TAGS |= {"hide-input", "by-hand", "skip", "model"}
#: Text that is true of the recorded models only.
OF_RECORDED = re.compile(
    r"\b[01]\.5B\b|Qwen2\.5|SmolLM|\brecorded (?:models?|judges?|Qwen|answers (?:come|all))\b"
    r"|\b(?:is|are) recorded here\b|記録したもの",
    re.IGNORECASE,
)
LEAST_EXERCISES = 6
MAX_LINES, MAX_MODEL_LINES = 25, 40
MAX_INCHES, MAX_BYTES = 9, 2_000_000
DOTS = 192  # an inch, so that a picture can be printed
UNSTABLE = {
    "an absolute path": r"(?<![\w/.])/(?:home|Users|root|tmp|var|mnt|work|opt|usr|private)/"
    r"|\b[A-Za-z]:\\\w",
    "a time": r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\b\d{1,2}:\d{2}:\d{2}\b",
    "a commit": r"\b[0-9a-f]{40}\b|\bcommit [0-9a-f]{7}",
    "an object's address": r"\bat 0x[0-9a-f]{6,}",
    "a progress bar": r"\d+(?:it|req)/s|\d+%\|",
}
MOST_BEFORE_SHOWN = {"code lines": 15, "import lines": 8, "own modules": 10}
CELLS = range(45, 76)
MOST_BREACHES = 1
MOST_ROWS = 12  # of a table that does not scroll
HEADING = re.compile(r"^## (\d+) · (.+?)(?: [ぁ-ヿ一-鿿].*)?$", re.MULTILINE)
#: Sections that show no number of their own.
APART = ("Set-up", "Explore", "Recap and glossary", "Limits")
#: Their arguments choose how something looks, not what it is.
SHOWING = {"show", "show_text", "display", "print", "run.figure"}
#: Calls that nbval cannot check or a report cannot show.
NOT_PLAIN = {"interact", "interactive", "interact_manual", "Output", "clear_output", "tqdm"}
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)


class Section(NamedTuple):
    """A numbered section with all of its cells."""

    number: str
    title: str
    cells: list[Cell]


# -- what a notebook holds -------------------------------------------------------------------------


def source(cell: Cell) -> str:
    return "".join(cell["source"])


def code_of(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell["cell_type"] == "code"]


def tags_of(cell: Cell) -> list[str]:
    return cell["metadata"].get("tags", [])


def text_of(cells: list[Cell]) -> str:
    return "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")


def kept(nb: dict) -> list[Cell]:
    """The cells without breaches."""
    return [cell for cell in nb["cells"] if "breach" not in cell["metadata"]]


def calls_of(cell: Cell, *, of_widgets: bool = True) -> set[str]:
    """The functions and methods a cell calls, as written: `run.rows`, `show`.

    Without those `of_widgets`: what a function of the cell calls, which a widget runs.
    """
    tree = ast.parse(source(cell))
    if not of_widgets:
        tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


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


def outputs_of(cells: list[Cell]) -> Iterator[tuple[str, str, str]]:
    """(cell id, kind, content) of every stored output; kind is a MIME type, or stdout or stderr."""
    for cell in code_of(cells):
        for output in cell["outputs"]:
            where = cell.get("id", "?")
            if output["output_type"] == "stream":
                yield where, output["name"], "".join(output["text"])
            for kind, content in output.get("data", {}).items():
                yield where, kind, content if isinstance(content, str) else "".join(content)


def rows_of(output: dict) -> list[int]:
    """How many rows, without the head, each table of an output has; a widget shows one of many."""
    data = output.get("data", {})
    if any("widget" in kind for kind in data):
        return []
    tables = TABLE.findall("".join(data.get("text/html", "")))
    return [max(len(re.findall("<tr", table)) - 1, 0) for table in tables]


def shows_result(cell: Cell) -> bool:
    """Whether a cell shows a table or a figure that is no exercise and no widget."""
    outputs = [] if "exercise" in tags_of(cell) else cell.get("outputs", [])
    return any(rows_of(one) or "image/png" in one.get("data", {}) for one in outputs)


# -- rules -----------------------------------------------------------------------------------------


def executed(nb: dict) -> Iterator[str]:
    counts = [cell["execution_count"] for cell in code_of(nb["cells"])]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}, not 1 to {len(counts)}: run `make nb`"
    if not any(cell["outputs"] for cell in code_of(nb["cells"])):
        yield "no outputs are stored: nbval would compare nothing"


def quiet(nb: dict) -> Iterator[str]:
    for cell in code_of(nb["cells"]):
        for output in cell["outputs"]:
            if output["output_type"] == "error" or output.get("name") == "stderr":
                yield f"cell {cell.get('id')} stores {output.get('ename', 'text on stderr')}"


def parameterised(nb: dict) -> Iterator[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".ipynb", encoding="utf-8") as file:
        json.dump(nb, file)
        file.flush()
        try:
            declared = notebooks.parameters(Path(file.name))
        except KatayoriError as error:
            yield str(error)
            return
    if declared.get("output_dir") != ("str", ""):
        yield "output_dir: str = '' is not among the parameters"
    [text] = [source(cell) for cell in code_of(nb["cells"]) if "parameters" in tags_of(cell)]
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    commented = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    for node in ast.parse(text).body:
        if node.end_lineno not in commented:
            yield f"`{ast.unparse(node)}` has no comment"


def _is_exercise(cell: Cell) -> bool:
    if cell["cell_type"] == "markdown":
        return "**Exercise " in source(cell)
    return "check" in calls_of(cell)


def tagged(nb: dict) -> Iterator[str]:
    for cell in nb["cells"]:
        if unknown := set(tags_of(cell)) - TAGS:
            yield f"cell {cell.get('id')}: tags {sorted(unknown)}; allowed are {sorted(TAGS)}"
        if _is_exercise(cell) and "exercise" not in tags_of(cell):
            yield f"cell {cell.get('id')} is an exercise without the tag"
        speaks = cell["cell_type"] == "markdown" and OF_RECORDED.search(source(cell))
        if speaks and "recorded" not in tags_of(cell):
            yield f"cell {cell.get('id')} says {speaks[0]!r} without the tag 'recorded'"
        if re.search(r"#\s*(NBVAL|PYTEST)_", source(cell)):
            yield f"cell {cell.get('id')}: nbval is steered by a comment; use a tag"


def ignored(nb: dict) -> Iterator[str]:
    """Only a widget, a figure or a progress bar may go unchecked, never a result."""
    for cell in code_of(nb["cells"]):
        if IGNORE not in tags_of(cell):
            continue
        calls = calls_of(cell)
        if not calls & {"explorer", "playground", "progress"}:
            yield f"cell {cell.get('id')} is ignored but shows no widget or progress"
        for call in sorted(calls_of(cell, of_widgets=False)):
            if call in ("show", "print") or call.startswith("run."):
                yield f"cell {cell.get('id')} hides {call} from the check"


def _lines_of_imports(source: str) -> int:
    """Names that are fetched from one room stand in one statement, a name a line."""
    imports = [n for n in ast.parse(source).body if isinstance(n, ast.Import | ast.ImportFrom)]
    return sum(node.end_lineno - node.lineno for node in imports)


def plain_cells(nb: dict) -> Iterator[str]:
    """What nbval cannot check or a report cannot show; magics are no Python."""
    for cell in code_of(nb["cells"]):
        try:
            calls = {name.rsplit(".", 1)[-1] for name in calls_of(cell)}
        except SyntaxError:
            yield f"cell {cell.get('id')} is not plain Python"
            continue
        if bad := calls & NOT_PLAIN:
            yield f"cell {cell.get('id')} calls {', '.join(sorted(bad))}"
        lines = source(cell).count("\n") + 1 - _lines_of_imports(source(cell))
        most = MAX_MODEL_LINES if "model" in tags_of(cell) else MAX_LINES
        if not source(cell).strip() or lines > most:
            yield f"cell {cell.get('id')} has {lines} lines; 1 to {most} are right"


def stripped(nb: dict) -> Iterator[str]:
    if nb["metadata"].get("kernelspec", {}).get("name") != "python3":
        yield "the kernel is not python3"
    if extra := set(nb["metadata"]) - {"kernelspec", "language_info"}:
        yield f"metadata holds {', '.join(sorted(extra))}: run `make nb`"
    if "version" in nb["metadata"].get("language_info", {}):
        yield "metadata holds a Python version: run `make nb`"
    for cell in nb["cells"]:
        if extra := set(cell["metadata"]) & {"execution", "papermill", "ExecuteTime"}:
            yield f"cell {cell.get('id')}: metadata holds {', '.join(sorted(extra))}"


def stable(nb: dict) -> Iterator[str]:
    private = {str(Path.home()), str(paths.root()), sys.prefix} - {"/"}
    for where, kind, content in outputs_of(nb["cells"]):
        if kind.startswith("text/") or kind in ("stdout", "stderr", "image/svg+xml"):
            for name, pattern in UNSTABLE.items():
                if match := re.search(pattern, content):
                    around = content[max(0, match.start() - 20) : match.end() + 20]
                    yield f"cell {where} stores {name}: {around!r}"
            if any(path in content for path in private):
                yield f"cell {where} stores a path of this machine"


def _pictures(nb: dict) -> Iterator[tuple[str, int, int]]:
    """(cell id, width in pixels, width it is shown at) of every PNG; 0 where none is said."""
    for cell in code_of(nb["cells"]):
        for output in cell["outputs"]:
            if png := output.get("data", {}).get("image/png"):
                head = base64.b64decode(png if isinstance(png, str) else "".join(png))
                told = output.get("metadata", {}).get("image/png", {})
                width = struct.unpack(">I", head[16:20])[0]
                yield cell.get("id", "?"), width, told.get("width", 0)


def sharp_pictures(nb: dict) -> Iterator[str]:
    for where, width, shown in _pictures(nb):
        if width > MAX_INCHES * DOTS:
            yield f"cell {where}: a picture {width / DOTS:.1f} inches wide; {MAX_INCHES} at most"
        if not shown or width < 2 * shown:
            yield f"cell {where}: a picture of less than {DOTS} dots an inch"
    for where, kind, _ in outputs_of(nb["cells"]):
        if kind in ("image/jpeg", "image/svg+xml"):
            yield f"cell {where}: {kind}; pictures are PNG"
    if len(json.dumps(nb)) > MAX_BYTES:
        yield f"larger than {MAX_BYTES:,} bytes"


def framed(nb: dict) -> Iterator[str]:
    """Title and Japanese summary first, a content notice, limits, and saved results last."""
    first, last = nb["cells"][0], nb["cells"][-1]
    if first["cell_type"] != "markdown" or not source(first).startswith("# "):
        yield "the first cell is not a title"
    if "日本語の要約" not in source(first) or len(re.findall("[ぁ-ん]", source(first))) < 50:
        yield "the first cell has no summary in Japanese"
    if "Content notice" not in text_of(nb["cells"]):
        yield "no content notice"
    if not re.search(r"^## .*\bLimits\b", text_of(nb["cells"]), re.M):
        yield "no section on limits"
    if last["cell_type"] != "code" or "run.save" not in calls_of(last):
        yield "the last cell does not save the results"


def taught(nb: dict) -> Iterator[str]:
    """One skeleton: goals, something to play with, six exercises, recap and glossary, limits."""
    calls = [name for cell in code_of(nb["cells"]) for name in calls_of(cell)]
    if "**You will learn**" not in source(nb["cells"][0]):
        yield "the first cell has no learning goals (**You will learn**)"
    if "playground" not in calls:
        yield "nothing to play with: no playground"
    asked = calls.count("check")
    if asked < LEAST_EXERCISES:
        yield f"{asked} exercises; {LEAST_EXERCISES} are the least"
    if "glossary" not in calls:
        yield "no glossary"
    text = text_of(nb["cells"])
    found = HEADING.findall(text)
    if [int(number) for number, _ in found] != list(range(1, len(found) + 1)):
        yield f"sections are not numbered from 1 on: {', '.join(number for number, _ in found)}"
    ends = [title.split(",")[0] for _, title in found[-2:]]
    if ends != ["Recap and glossary", "Limits"]:
        yield f"the last sections are {', '.join(ends)}; Recap and glossary, Limits are right"
    for number in re.findall(r"\bsections? (\d+)", text):
        if int(number) > len(found):
            yield f"the text names section {number} of {len(found)}"


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
    """45 to 75 cells, and one breach that says why."""
    if len(nb["cells"]) not in CELLS:
        yield f"{len(nb['cells'])} cells; {CELLS.start} to {CELLS.stop - 1} are right"
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


def scrolling(nb: dict) -> Iterator[str]:
    """A table of more than 12 rows scrolls in a box of fixed height."""
    for cell in code_of(kept(nb)):
        for output in cell["outputs"]:
            rows = max(rows_of(output), default=0)
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


RULES = [
    *(executed, quiet, parameterised, tagged, ignored, plain_cells, stripped, stable),
    *(sharp_pictures, framed, taught),
    *(set_up, in_bounds, drawn, scrolling, changeable),
]
