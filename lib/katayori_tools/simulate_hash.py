"""Which code drew a stored simulation: a hash of what its functions do."""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterable


def digest(functions: Iterable[Callable], more: str = "", *, docstrings: bool = True) -> str:
    """sha256 (12 digits) over what functions do: layout and comments may change, not statements.

    Without `docstrings` these may change too, for functions whose docstring tells the result.
    """
    parsed = [ast.parse(textwrap.dedent(inspect.getsource(function))) for function in functions]
    if not docstrings:
        parsed = [_without_docstring(tree) for tree in parsed]
    trees = [repr(_tree(tree)) for tree in parsed]
    return hashlib.sha256("".join([*trees, more]).encode()).hexdigest()[:12]


def _without_docstring(tree: ast.Module) -> ast.Module:
    function = tree.body[0]
    if isinstance(function, ast.FunctionDef) and ast.get_docstring(function) is not None:
        function.body = function.body[1:]
    return tree


def _tree(node: object) -> object:
    """A syntax tree as nested lists, without empty fields: newer Pythons add some."""
    if isinstance(node, list):
        return [_tree(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    filled = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    return [type(node).__name__, *((name, _tree(value)) for name, value in filled)]
