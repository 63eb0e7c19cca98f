"""How plain the code is, measured: of this checkout, or of two commits beside each other.

Density is the number of syntax nodes (`ast.walk`) over the number of lines that hold code, which
blank lines, comments and docstrings do not. The other measures are those of the gates, a count of
repeated code, and who imports whom between the folders of the library and the tools.
"""

import ast
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import gates

Measures = dict[str, float]  # what is measured -> value
PEER = "pingouin"  # a statistics package that is known for plain code
#: Tokens that lie on lines without code.
NO_CODE = (
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MAX_COMPLEXITY = 10  # as the gates have it (C901)
RUN = 6  # lines of code in a row that stand elsewhere, too, count as repeated
SHAPE = 60  # syntax nodes from which on two functions of one shape are worth a look


# -- trees -----------------------------------------------------------------------------------------


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A folder with `lib` as it is in a commit; without a commit this checkout itself.

    Raises KatayoriError for what is no commit.
    """
    if not commit:
        yield paths.root()
        return
    git = ["git", "-C", str(paths.root()), "worktree"]
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "code"
        done = subprocess.run([*git, "add", "--detach", str(folder), commit], capture_output=True)
        if done.returncode:
            problem = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise KatayoriError(f"no code of the commit {commit!r}: {''.join(problem)}")
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], capture_output=True)


def sources(folders: Iterable[Path]) -> dict[Path, str]:
    """The text of every Python file below some folders."""
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return {file: file.read_text(encoding="utf-8") for file in files}


# -- measures --------------------------------------------------------------------------------------


def lines_of(node: ast.stmt) -> range:
    """The numbers of the lines that a statement fills."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def docstring_lines(tree: ast.AST) -> set[int]:
    """The numbers of the lines that docstrings fill."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node):
            lines.update(lines_of(node.body[0]))
    return lines


@cache
def code_lines(text: str) -> tuple[int, ...]:
    """The numbers of the lines that hold code: no blank line, no comment, no docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return tuple(sorted(lines - docstring_lines(ast.parse(text))))


def size(node: ast.AST) -> int:
    """The number of syntax nodes of a piece of code."""
    return sum(1 for _ in ast.walk(node))


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods, also those within others."""
    return [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def density(texts: Iterable[str]) -> Measures:
    """Lines of code, syntax nodes, nodes a line, and the same of the median function."""
    lines = 0
    nodes = 0
    of_functions = []
    for text in texts:
        tree = ast.parse(text)
        with_code = set(code_lines(text))
        lines += len(with_code)
        nodes += size(tree)
        for function in functions(tree):
            of_functions.append(size(function) / len(with_code.intersection(lines_of(function))))
    return {
        "lines of code": lines,
        "syntax nodes": nodes,
        "density": nodes / max(lines, 1),
        "density, median function": median(of_functions) if of_functions else 0.0,
    }


def repeated_lines(texts: Iterable[str]) -> int:
    """Lines of code within a run of `RUN` that occurs more than once, spaces at the ends aside."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for number, text in enumerate(texts):
        whole = text.split("\n")
        lines = [whole[at - 1].strip() for at in code_lines(text)]
        for start in range(len(lines) - RUN + 1):
            run = tuple(lines[start : start + RUN])
            places.setdefault(run, []).append((number, start))
    repeated: set[tuple[int, int]] = set()
    for starts in places.values():
        if len(starts) > 1:
            for number, start in starts:
                repeated.update((number, start + step) for step in range(RUN))
    return len(repeated)


def shape(function: ast.AST) -> tuple[str, ...]:
    """The kinds of a function's syntax nodes in order: its code without names and values."""
    return tuple(type(node).__name__ for node in ast.walk(function))


def same_shapes(texts: Iterable[str]) -> int:
    """Functions from `SHAPE` nodes on that have the shape of another one."""
    shapes: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        shapes.update(map(shape, functions(ast.parse(text))))
    return sum(n for kinds, n in shapes.items() if n > 1 and len(kinds) >= SHAPE)


def complexity(root: Path) -> Measures:
    """Functions, their mean and greatest complexity (C901 of ruff), and how many have too much."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "C901"]
    command += ["--config", "lint.mccabe.max-complexity=0", "--no-cache", "--exit-zero"]
    command += ["--output-format", "json", *gates.TYPED]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise KatayoriError(f"ruff did not run: {done.stderr.strip()}")
    messages = [row["message"] for row in json.loads(done.stdout)]
    measured = [int(re.findall(r"\((\d+) > \d+\)", message)[0]) for message in messages]
    return {
        "functions": len(measured),
        "mean complexity": sum(measured) / max(len(measured), 1),
        "greatest complexity": max(measured, default=0),
        f"functions above {MAX_COMPLEXITY}": sum(one > MAX_COMPLEXITY for one in measured),
    }


def mypy_errors(root: Path) -> Measures:
    """Errors of mypy in the library and the tools, by the settings of that checkout."""
    command = [sys.executable, "-m", "mypy", "--config-file", "lib/pyproject.toml", *gates.TYPED]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode > 1:
        problem = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise KatayoriError(f"mypy did not run: {''.join(problem)}")
    return {"mypy errors": sum(gates.count_mypy(done.stdout).get("mypy", {}).values())}


def imported_modules(tree: ast.AST) -> set[str]:
    """The modules a file imports, on any level; of `from a import b` both a and a.b."""
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    return modules


def room_edges(lib: Path, texts: dict[Path, str]) -> Measures:
    """For each two rooms (folders), how many imports of modules lead from one to the other."""
    rooms = {}
    for file in texts:
        parts = file.relative_to(lib).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        rooms[module] = "/".join(parts[:-1])
    edges: Counter[str] = Counter()
    for file, text in texts.items():
        here = "/".join(file.relative_to(lib).parts[:-1])
        for module in imported_modules(ast.parse(text)) & rooms.keys():
            is_package = module.replace(".", "/") == rooms[module]
            if rooms[module] != here and not is_package:
                edges[f"{here} -> {rooms[module]}"] += 1
    return dict(sorted(edges.items()))


def both_ways(edges: Measures) -> list[str]:
    """The edges whose opposite is an edge, too."""
    return [edge for edge in edges if " -> ".join(reversed(edge.split(" -> "))) in edges]


def measures(root: Path, *, types: bool) -> tuple[Measures, Measures]:
    """The measures of the checkout in a folder, and its edges between rooms."""
    texts = sources(root / folder for folder in gates.TYPED)
    values: Measures = {"files": len(texts)}
    values |= density(texts.values())
    values |= complexity(root)
    if types:
        values |= mypy_errors(root)
    values["repeated lines"] = repeated_lines(texts.values())
    values["functions of one shape"] = same_shapes(texts.values())
    edges = room_edges(root / "lib", texts)
    values["rooms that import each other"] = len(both_ways(edges)) // 2
    return values, edges


# -- the command -----------------------------------------------------------------------------------


def table(title: str, columns: dict[str, Measures]) -> list[str]:
    """Lines with a row for each measure and a column for each commit; none where there is none."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    width = max([len(title), *map(len, names)])
    lines = [f"{title:<{width}}" + "".join(f"{head:>14}" for head in columns)]
    for name in names:
        values = [column.get(name, 0) for column in columns.values()]
        cells = [f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" for value in values]
        lines.append(f"{name:<{width}}" + "".join(f"{cell:>14}" for cell in cells))
    return lines


def peer_line() -> str:
    """The density of a package of others, measured in the same way where it is installed."""
    spec = importlib.util.find_spec(PEER)
    if spec is None or spec.origin is None:
        return f"{PEER} is not installed: nothing to compare the density with"
    of_peer = density(sources([Path(spec.origin).parent]).values())
    each = ", ".join(f"{name} {of_peer[name]:.2f}" for name in of_peer if "density" in name)
    return f"{PEER}, measured in the same way: {each}"


def measure_code(*, commits: Sequence[str] = (), no_types: bool = False) -> int:
    """The command: the measures of one or two commits, or of this checkout, as tables."""
    values: dict[str, Measures] = {}
    edges: dict[str, Measures] = {}
    compared = list(commits)
    if len(compared) > 2:
        raise KatayoriError("measure-code compares two commits; name two at most")
    if len(compared) < 2:
        compared.append("")  # this checkout
    for commit in compared:
        with checkout(commit) as root:
            name = commit[:12] or "here"
            values[name], edges[name] = measures(root, types=not no_types)
    print("\n".join(table("library and tools", values)))
    print(peer_line())
    print("\n" + "\n".join(table("imports between rooms", edges)))
    return 0
