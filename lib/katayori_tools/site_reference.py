"""Pages of the interface: one a public module, made by Sphinx from the docstrings.

A paper's folder is one page.
"""

import ast
import pkgutil
from importlib.util import find_spec
from pathlib import Path

#: The rooms whose functions users call, in the order of the contents, with what they hold.
ROOMS = {
    "metrics": "scores, intervals and tests of frames and arrays (those of `measure` among them)",
    "papers": "what each paper adds: its items, parser, options and simulated respondents",
    "report": "tables, figures, results and the pages made of them",
    "data": "loaders of data sets, the catalogue, the papers' printed figures",
    "prompting": "prompts, requests, parsers, answers, simulated respondents",
}


def modules(name: str) -> list[str]:
    """The public modules directly below a package by their full names."""
    spec = find_spec(name)
    assert spec is not None and spec.submodule_search_locations is not None
    found = pkgutil.iter_modules(spec.submodule_search_locations, f"{name}.")
    names = [one.name for one in found if not one.name.rsplit(".", 1)[-1].startswith("_")]
    return sorted(one for one in names if not one.endswith("schema"))  # the shape of a file


def _below(module: str) -> list[str]:
    """A module and, of a package, all modules in it."""
    spec = find_spec(module)
    if spec is None or spec.submodule_search_locations is None:
        return [module]
    return [module, *(one for child in modules(module) for one in _below(child))]


def summary(module: str) -> str:
    """The first sentence of a module's docstring; nothing of it is run."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    told = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(told.split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".:") or "no description"


def module_page(module: str) -> str:
    """A page that Sphinx fills with the docstrings of a module; of a package, of all in it."""
    first, *others = _below(module)
    sections = [f"## {_short(other)}\n\n{_documented(other)}" for other in others]
    return "\n".join([f"# {_short(first)}\n\n{_documented(first)}", *sections])


def _documented(module: str) -> str:
    """The directive for a module; what it imports from others is documented there."""
    options = ":members:\n   :ignore-module-all:"
    return f"```{{eval-rst}}\n.. automodule:: {module}\n   {options}\n```\n"


def _short(module: str) -> str:
    return module.removeprefix("katayori.")


def room_page(room: str) -> str:
    """A page that lists the modules of a room with their first sentence."""
    names = modules(f"katayori.{room}")
    lines = [f"- [{_short(name)}]({name}.md): {summary(name)}" for name in names]
    contents = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
    head = f"# {room}\n\n{ROOMS[room].capitalize()}.\n\n{_documented(f'katayori.{room}')}\n"
    return head + "\n".join(lines) + f"\n\n{contents}\n"


def pages_of_interface() -> dict[str, str]:
    """All pages of the interface by their names."""
    made = {f"katayori.{room}": room_page(room) for room in ROOMS}
    for room in ROOMS:
        made |= {name: module_page(name) for name in modules(f"katayori.{room}")}
    return made
