"""Which code drew a stored simulation: a hash of what its functions do."""

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterable


def digest(functions: Iterable[Callable], more: str = "") -> str:
    """sha256 (12 digits) over what functions do: layout and comments may change, not statements."""
    trees = [repr(_tree(ast.parse(inspect.getsource(function)))) for function in functions]
    return hashlib.sha256("".join([*trees, more]).encode()).hexdigest()[:12]


def _tree(node: object) -> object:
    """A syntax tree as nested lists, without empty fields: newer Pythons add some."""
    if isinstance(node, list):
        return [_tree(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    filled = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    return [type(node).__name__, *((name, _tree(value)) for name, value in filled)]
