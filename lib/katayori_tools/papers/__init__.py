"""What only one paper needs of the tools, in a room a paper: `katayori_tools/papers/<id>/`.

The rooms are found by looking at the folders; a paper may have none. What stands in a room is found
by the name of its module:

- `simulate`: the long simulations of its scores, by name: `CURVES` (of power), `TABLES` (of
  its own), each where it has any;
- `coverage`: `KINDS`, intervals whose coverage is simulated.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from katayori.errors import KatayoriError


def modules(name: str) -> dict[str, ModuleType]:
    """The modules of this name by paper, of all rooms that have one, in the order of their names.

    Example:
        >>> "logprob_judge" in modules("simulate")
        True
    """
    rooms = sorted(file.parent.name for file in Path(__file__).parent.glob(f"*/{name}.py"))
    return {room: import_module(f"{__name__}.{room}.{name}") for room in rooms}


def collected(name: str, table: str) -> dict[str, Any]:
    """What the modules of this name have in a table of that name, of all rooms together.

    A room whose module has no such table adds nothing.

    Raises KatayoriError where two rooms use one key.
    """
    together: dict[str, Any] = {}
    for room, module in modules(name).items():
        own = getattr(module, table, {})
        if twice := sorted(together.keys() & own.keys()):
            raise KatayoriError(f"{room}: {', '.join(twice)} is in {table} of another room, too")
        together |= own
    return together
