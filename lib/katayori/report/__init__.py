"""What a notebook shows and keeps: its run, tables, figures, widgets, exercises.

Names are loaded when they are asked for: widgets and figures take a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from katayori.report.exercises import check
    from katayori.report.explorers import explorer, playground
    from katayori.report.run import Run
    from katayori.report.tables import glossary, show, show_text, simulated

__all__ = ["Run", "check", "explorer", "glossary", "playground", "show", "show_text", "simulated"]
_MODULES = {
    "Run": "run",
    "check": "exercises",
    "explorer": "explorers",
    "glossary": "tables",
    "playground": "explorers",
    "show": "tables",
    "show_text": "tables",
    "simulated": "tables",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"katayori.report has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
