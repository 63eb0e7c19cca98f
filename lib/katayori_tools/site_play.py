"""The playgrounds of the pages: what a notebook's own `playground(sliders, draw)` cell shows.

All states are computed by `draw` while the pages are made and kept as a script beside them;
`playground.js` picks one by the sliders. The cell is the repository's own, never that of a run
folder, which may come from elsewhere.
"""

import ast
import json
import symtable
import tempfile
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from itertools import product
from math import prod
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any, TypeAlias

from katayori_tools.markup import readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Name of a slider -> its lowest value, highest value, step and start.
Sliders: TypeAlias = Mapping[str, tuple[float, float, float, float]]
CALL = "\nplayground("
#: States of one playground: so that each slider has its ends, and so that it has more than these.
MOST, ENOUGH = 200, 60


def sliced(cells: Sequence[str]) -> str:
    """The statements of the last cell, and those before it which it needs, as one program.

    Example:
        >>> sliced(["a = 1; b = 2", "def f():\\n    return a", "print(f())"])
        'a = 1\\ndef f():\\n    return a\\nprint(f())'
    """
    *before, last = ([ast.unparse(one) for one in ast.parse(cell).body] for cell in cells)
    kept = list(last)
    needed = {name for one in kept for name in _names(one)[0]}
    for one in reversed([one for cell in before for one in cell]):
        read, bound = _names(one)
        if bound & needed:
            kept.insert(0, one)
            needed = needed - bound | read
    return "\n".join(kept)


def _names(statement: str) -> tuple[set[str], set[str]]:
    """The names that a statement reads from outside of it, and those that it binds."""
    whole = symtable.symtable(statement, "cell", "exec")
    own = whole.get_symbols()
    bound = {one.get_name() for one in own if one.is_assigned() or one.is_imported()}
    read = {one.get_name() for one in own if one.is_referenced()}
    inner = list(whole.get_children())
    while inner:
        scope = inner.pop()
        read |= {one.get_name() for one in scope.get_symbols() if one.is_global()}
        inner += scope.get_children()
    return read, bound


def program(notebook: Path) -> str:
    """The program of a notebook's playground; empty where it has none."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
    ends = [place for place, source in enumerate(sources, 1) if CALL in source]
    return sliced(sources[: ends[0]]) if ends else ""


def grid(sliders: Sliders, most: int = MOST) -> dict[str, list[float]]:
    """Values of each slider, start and ends first, whose combinations are at most so many.

    Example:
        >>> grid({"a": (0, 10, 1, 3), "b": (0.0, 1.0, 0.5, 0.0)}, 12)
        {'a': [0, 3, 7, 10], 'b': [0.0, 0.5, 1.0]}
    """
    kept: dict[str, list[float]] = {name: [start] for name, (*_, start) in sliders.items()}
    for count in range(1, 9):
        limit = most if count <= 2 else min(most, ENOUGH)
        for name, (low, high, step, start) in sliders.items():
            whole = (high - low) / step
            places = {round(whole * k / max(count - 1, 1)) for k in range(count)}
            own = sorted({start, *(round(low + step * one, 9) for one in places)})
            others = prod(len(values) for other, values in kept.items() if other != name)
            if others * len(own) <= limit:
                kept[name] = own
    return kept


def states(code: str, most: int = MOST) -> dict[str, Any]:
    """All states of a playground.

    Args:
        code: of `program`.

    Returns:
        sliders (name, values, start: the place of one of them), states (alt, svg and html of each,
        the last slider moving first).
    """
    from katayori.report import explorers

    kept: dict[str, Any] = {}

    def keep(sliders: Sliders, draw: Callable[..., Any]) -> None:
        kept.update(sliders=sliders, draw=draw)

    shown, temporary = explorers.playground, tempfile.tempdir
    explorers.playground = keep  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # where a run without a folder of its own writes
        try:
            program = Path(folder, "playground.py")
            program.write_text(code, encoding="utf-8")
            run_path(str(program))
        finally:
            explorers.playground, tempfile.tempdir = shown, temporary
    values = grid(kept["sliders"], most)
    sliders = [
        {"name": name, "values": own, "start": own.index(kept["sliders"][name][3])}
        for name, own in values.items()
    ]
    every = (dict(zip(values, one, strict=True)) for one in product(*values.values()))
    return {"sliders": sliders, "states": [_state(kept["draw"](**one)) for one in every]}


def _state(made: list[Any]) -> dict[str, str]:
    """Title and picture of the figure, and HTML of the tables."""
    state = {"alt": "", "svg": "", "html": ""}
    for one in made:
        if hasattr(one, "savefig"):
            state |= {"alt": one.get_suptitle(), "svg": svg(one)}
        else:
            state["html"] += readable(one._repr_html_())
    return state


def svg(figure: "Figure") -> str:
    """A figure as SVG that is the same at each making."""
    from matplotlib import rc_context

    drawn = StringIO()
    with rc_context({"svg.hashsalt": "katayori"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def script(paper: str, code: str) -> str:
    """The script of a paper's playground: it sets `playgrounds.<paper>`, as a page that is opened
    as a file may not read other files.
    """
    made = json.dumps(states(code), ensure_ascii=False, separators=(",", ":"))
    return f'(window.playgrounds ??= {{}})["{paper}"] = {made};\n'
