"""Public functions of metrics and papers show an example, and the example runs."""

import ast
import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

LIB = Path(__file__).resolve().parents[1]
ROOMS = (LIB / "katayori" / "metrics", LIB / "katayori" / "papers")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules():
    """The names of all modules of metrics and papers."""
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


@pytest.mark.parametrize("name", modules())
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


#: Public functions of metrics without an example, and why.
WITHOUT = {
    # Stored simulations hash their docstrings.
    "logistic": {"mixed_logit", "likelihood_ratio"},
    # They take recorded values or a table of many draws: see simulate_methods and their tests.
    "blank": {"level_on_own_values", "rank_among_blanks"},
    "spike": {"pooled", "limit_of_detection", "limits_of_detection"},
    "spike_statistics": {
        "exchange_statistic",
        "log_size_ratio",
        "clustered_mean",
        "choice_difference",
    },
}
#: Public functions of papers without an example, mostly loaders and claims; it only shrinks.
PAPERS_WITHOUT = 46


def without_example(room):
    """Module -> its public functions without an example."""
    found = {}
    for name in modules():
        if not name.startswith(f"katayori.{room}"):
            continue
        module = importlib.import_module(name)
        lacking = {one for one in public_functions(module) if not examples(module, one).examples}
        if lacking:
            found[name.removeprefix(f"katayori.{room}.")] = lacking
    return found


def test_every_public_function_of_metrics_shows_an_example():
    assert without_example("metrics") == WITHOUT


def test_ever_fewer_functions_of_papers_lack_an_example():
    lacking = sum(len(names) for names in without_example("papers").values())
    assert lacking <= PAPERS_WITHOUT, "give the new function an example"
    assert lacking >= PAPERS_WITHOUT, f"fewer lack one: set PAPERS_WITHOUT to {lacking}"
