"""The notebooks as the runner sees them: their names, their typed parameters, and the checks before
a kernel starts.

Papermill only logs an unknown parameter and never checks a type, so both are done here, from the
source text of the cell tagged `parameters`; nothing heavy is imported.
"""

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

from katayori import paths
from katayori.errors import KatayoriError, expect

LAST = "overview"  # reads the results of the others
KINDS: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "str": str,
    "bool": bool,
}
NUMBER = len("NN_")  # what stands before a paper's name


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell: its annotation and its default value."""

    name: str
    kind: str
    default: object


def registry() -> dict[str, Path]:
    """Paper name to notebook (`NN_<paper>.ipynb`), by number."""
    files = sorted((paths.root() / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    return {path.stem[NUMBER:]: path for path in files}


def names(text: str | None) -> list[str]:
    """The names in a list written with commas or spaces."""
    return [name for name in re.split(r"[,\s]+", text or "") if name]


def choose(papers: str | None) -> dict[str, Path]:
    """The notebooks asked for by paper, number or file name (all without an argument), the overview
    last.

    KatayoriError naming the valid ones for anything else.
    """
    books = registry()
    paper_of: dict[str, str] = {}  # by every form of its name
    for paper, path in books.items():
        number = path.stem[:2]
        forms = (paper, path.stem, path.name, number, number.lstrip("0"))
        paper_of |= dict.fromkeys(forms, paper)
    for name in names(papers):
        if name not in paper_of:
            expect(name, books, "paper")
    wanted = [paper_of[name] for name in names(papers)] or list(books)
    in_order = sorted(books, key=lambda paper: paper == LAST)
    return {paper: books[paper] for paper in in_order if paper in wanted}


def parameters(notebook: Path) -> dict[str, Parameter]:
    """The parameters a notebook declares, each as `name: type = literal` in its one cell tagged
    `parameters`.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise KatayoriError(
            f"{notebook.name}: one cell must carry the tag 'parameters', {len(tagged)} do"
        )
    declared: dict[str, Parameter] = {}
    try:
        for line in ast.parse("".join(tagged[0]["source"])).body:
            parameter = _declared_by(line)
            declared[parameter.name] = parameter
            _require(notebook, parameter, parameter.default)
    except (SyntaxError, ValueError):
        form = "`name: type = value`, the value a literal"
        problem = f"every line of the parameters cell must be {form}"
        raise KatayoriError(f"{notebook.name}: {problem}") from None
    return declared


def _declared_by(line: ast.stmt) -> Parameter:
    """The parameter that a line declares. ValueError for another line."""
    match line:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=ast.expr() as value):
            return Parameter(name, ast.unparse(kind), ast.literal_eval(value))
    raise ValueError("declares no parameter")


def fits(value: object, kind: str) -> bool:
    """Whether a value has the annotated type: one of `KINDS` or `list[...]` of it."""
    if kind.startswith("list["):
        of_each = kind.removeprefix("list[").removesuffix("]")
        return isinstance(value, list) and all(fits(each, of_each) for each in value)
    if kind not in KINDS:
        valid = f"{', '.join(KINDS)}, list[...] of them"
        raise KatayoriError(f"parameter type `{kind}` is not understood; valid: {valid}")
    # True is an int to Python, not to a reader.
    return isinstance(value, KINDS[kind]) and (kind == "bool" or not isinstance(value, bool))


def _require(notebook: Path, parameter: Parameter, value: object) -> None:
    if not fits(value, parameter.kind):
        problem = f"parameter '{parameter.name}' must be {parameter.kind}, not {value!r}"
        raise KatayoriError(f"{notebook.name}: {problem}")


def check(notebook: Path, values: dict[str, object]) -> None:
    """KatayoriError if a value's name is not declared by the notebook or its type is not the
    declared one.
    """
    declared = parameters(notebook)
    for name, value in values.items():
        if name not in declared:
            raise KatayoriError(
                f"{notebook.name} has no parameter '{name}'; valid: {', '.join(declared)}"
            )
        _require(notebook, declared[name], value)
