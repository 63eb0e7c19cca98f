"""Every example of a public function runs."""

import ast
import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

LIB = Path(__file__).resolve().parents[1]
ROOMS = tuple(LIB / "katayori" / room for room in ("metrics", "papers"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules():
    """The names of all modules of the rooms whose functions show examples."""
    files = [path for room in ROOMS for path in sorted(room.rglob("*.py"))]
    names = [path.relative_to(LIB).with_suffix("") for path in files]
    return [".".join(name.parts).removesuffix(".__init__") for name in names]


def public_functions(module):
    """The names of the functions that a module defines for others."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [node.name for node in defined if not node.name.startswith("_")]


def examples(module, name):
    """The doctest of a function; its example may use the names of its module, `pd` and `np`."""
    function = inspect.unwrap(getattr(module, name))
    names = {"pd": pd, "np": np} | vars(module)
    return doctest.DocTestParser().get_doctest(inspect.getdoc(function) or "", names, name, None, 0)


def cases():
    """Modules as cases of a test; those of papers, which read whole studies, are slow."""
    slow = pytest.mark.slow_all
    own = "katayori.papers."
    return [pytest.param(n, marks=slow) if n.startswith(own) else n for n in modules()]


@pytest.mark.parametrize("name", cases())
def test_examples_run(name):
    module = importlib.import_module(name)
    failed = []
    for function in public_functions(module):
        told = []
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(examples(module, function), out=told.append)
        if runner.failures:
            failed.append("".join(told))
    assert not failed, "\n".join(failed)
