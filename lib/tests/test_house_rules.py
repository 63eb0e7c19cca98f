"""The rules of the house that can be read off the source: what a verb takes, gives and names.

Rules of a module of the library, but for what opens a study (`DOORS`):

    bundle       no function takes a study, a run or what holds its frames
    frames       no public function gives a dict, tuple or class of frames: a verb gives one frame
    statistics   no function of a paper takes a frame and gives one: papers hold items and parsers
                 (what `Paper` itself asks of them takes items and gives items: `HOOKS`)
    columns      no column has a default name but that of `cluster`
    requirement  no number of a requirement

What breaks a rule still is listed in `STILL`, which only shrinks.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from katayori import paths
from katayori.frames import GIVEN
from katayori.papers.paper import Paper
from katayori.prompting.frames import ANSWER_COLUMNS

LIB = paths.root() / "lib" / "katayori"
#: What verbs share: no verb itself.
SHARED = {"frames"}
DOORS = {"study", "report.run", "run_folders"}
#: A study and a run.
BUNDLES = {"Study", "Run"}
#: What every paper may be asked for.
HOOKS = {name for name in vars(Paper) if not name.startswith("_")}
#: Rooms that know none of these (`test_house.py`); their own classes may have the same names.
LOWER = ("data.", "prompting.")
REQUIREMENT = re.compile(r"\b(?:DE|IJ|JU|LJ|PJ|X)-\d+\b")
#: Of what verbs give, and of the papers' answers.
COLUMNS = {
    *(*GIVEN, *ANSWER_COLUMNS, "mass", "category", "template_id", "context_condition"),
    *("age", "gender", "race", "decision_question_id", "p_yes", "p_no"),
    *("case_id", "template", "order", "role_a", "role_b", "p_a", "p_b", "pair_id", "letter"),
    *("p_A", "p_B", "p_C", "question_id", "task", "continuation", "sum_logp", "per_token"),
    *("role", "correct", "has_target", "p_biased", "p_counter_biased", "p_unknown", "p_correct"),
}
#: Parameters whose words may be those of a column.
OPTIONS = {"cluster", "kind", "what"}

#: Modules with the rules that they break. A rule that is broken no longer, or a name that is gone,
#: fails the test: take it out.
STILL = """
metrics.repeats: columns
papers.answers: frames statistics
papers.items: frames statistics
prompting.letters: requirement
prompting.parsing: requirement
prompting.prompts: requirement
prompting.requests: requirement
"""


class Module(NamedTuple):
    """A module of the library."""

    text: str
    classes: list[ast.ClassDef]
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef]


def modules(folder: Path = LIB) -> dict[str, Module]:
    """Every module by its dotted name; functions are those of the module and of its classes."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        bodies = [tree.body, *(one.body for one in classes)]
        functions = [
            node
            for body in bodies
            for node in body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        found[name] = Module(text, classes, functions)
    return found


def named(annotation: ast.expr | None) -> str:
    """A type as text, without quotes and packages."""
    if annotation is None:
        return ""
    return re.sub(r"\b\w+\.", "", ast.unparse(annotation).replace("'", ""))


def fields(one: ast.ClassDef) -> list[str]:
    return [named(node.annotation) for node in one.body if isinstance(node, ast.AnnAssign)]


def has(text: str, words: set[str]) -> bool:
    return bool(words & set(re.findall(r"\w+", text)))


def bundles(library: dict[str, Module]) -> set[str]:
    """Names of classes that hold several frames, or what holds them."""
    upper = (module for name, module in library.items() if not name.startswith(LOWER))
    classes = [one for module in upper for one in module.classes]
    found = set(BUNDLES)
    found |= {one.name for one in classes if sum(has(of, {"DataFrame"}) for of in fields(one)) > 1}
    while True:
        more = {one.name for one in classes if any(has(of, found) for of in fields(one))}
        if more <= found:
            return found
        found |= more


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Any]:
    """Name of each parameter -> its type and, where it is a text, its default."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    pairs = [*zip(plain, [*defaults, *given.defaults], strict=True)]
    pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
    out = {}
    for one, default in pairs:
        text = default.value if isinstance(default, ast.Constant) else None
        out[one.arg] = (named(one.annotation), text if isinstance(text, str) else "")
    return out


def is_column(name: str, default: str) -> bool:
    if name in OPTIONS or not default:
        return False
    return default in COLUMNS or default == name or default.startswith("is_")


def gives_frames(function: ast.FunctionDef | ast.AsyncFunctionDef, held: set[str]) -> bool:
    if function.name.startswith("_"):
        return False
    given = named(function.returns)
    several = re.match(r"(tuple|dict|list|Mapping|Sequence)\[", given)
    return has(given, held) or bool(several and has(given, {"DataFrame"}))


def broken(name: str, module: Module, held: set[str]) -> Iterator[str]:
    """The rules that a module breaks."""
    if REQUIREMENT.search(module.text):
        yield "requirement"
    if name in DOORS:
        return
    held = set() if name.startswith(LOWER) else held
    for function in module.functions:
        taken = parameters(function)
        if any(has(type_, held) for type_, _ in taken.values()):
            yield "bundle"
        if name not in SHARED and gives_frames(function, held):
            yield "frames"
        takes = any(has(type_, {"DataFrame"}) for type_, _ in taken.values())
        gives = has(named(function.returns), {"DataFrame"}) and function.name not in HOOKS
        if name.startswith("papers.") and takes and gives:
            yield "statistics"
        if any(is_column(one, default) for one, (_, default) in taken.items()):
            yield "columns"


def everything() -> set[tuple[str, str]]:
    """(module, rule) of all that is broken today."""
    library = modules()
    held = bundles(library)
    return {(name, rule) for name, one in library.items() for rule in broken(name, one, held)}


def listed() -> set[tuple[str, str]]:
    lines = [line.split(": ") for line in STILL.strip().splitlines()]
    return {(name, rule) for name, rules in lines for rule in rules.split()}


def test_only_what_has_not_moved_breaks_a_rule():
    found = everything()
    assert not found - listed(), "these break a rule of the house"
    assert not listed() - found, "these break it no longer: take them out of STILL"


BREAKS = {
    "bundle": "def verb(frame: pd.DataFrame, run: Run) -> pd.DataFrame: ...",
    "bundle frames": "def analyse(asked: Asked) -> Found: ...",
    "frames": "def verb(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]: ...",
    "statistics": "def rates(answers: 'pd.DataFrame') -> 'pd.DataFrame': ...",
    "columns": "def verb(frame, *, level='level', cluster='question', kind='share'): ...",
    "requirement": "def verb(frame):\n    'DE-24'",
    "": "def verb(frame: pd.DataFrame, *, value, p=None, cluster='question') -> pd.DataFrame: ...",
}
HOLDERS = """
class Found:
    gaps: pd.DataFrame
    tests: pd.DataFrame
class Asked(NamedTuple):
    study: Study
class One:
    answers: pd.DataFrame
"""


def as_modules(text: str, tmp_path: Path, name: str) -> dict[str, Module]:
    file = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return modules(tmp_path)


@pytest.mark.parametrize("rules", BREAKS)
def test_each_rule_sees_what_breaks_it(rules, tmp_path):
    name = "papers.one" if rules == "statistics" else "metrics.one"
    library = as_modules(HOLDERS + BREAKS[rules], tmp_path, name)
    held = bundles(library)
    assert held == {*BUNDLES, "Found", "Asked"}
    assert sorted(broken(name, library[name], held)) == rules.split()
