"""Interactive parts of notebooks. They set the value of an HTML widget only, and carry a picture of themselves."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from katayori.report.tables import Shown, escape

__all__ = ["Explorer", "escape", "explorer"]


class Explorer(ipywidgets.VBox):
    """Choices above a view. Where no kernel runs (reports, viewers), the view as it was stands in for it."""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        chosen = ", ".join(f"{w.description} = {w.label}" for w in self.children[:-1])
        note = f"<p><em>Interactive in the notebook; shown here for {escape(chosen)}.</em></p>"
        return bundle | {"text/html": self.children[-1].value + note}


def explorer(controls: dict[str, list], render: Callable[..., str | Shown]) -> Explorer:
    """One dropdown a control (values, or (label, value) pairs) above what `render(**choices)` returns as HTML.

    `render` escapes what it did not write itself (`escape`, or return `show(...)`). An error in it is shown as text.
    """
    view = ipywidgets.HTML()
    drops = {name: ipywidgets.Dropdown(options=options, description=name) for name, options in controls.items()}

    def draw(_change: Any = None) -> None:
        try:
            made = render(**{name: drop.value for name, drop in drops.items()})
            view.value = made if isinstance(made, str) else made._repr_html_()
        except Exception as error:  # a widget's callback has nowhere else to report it
            view.value = f"<pre>{escape(f'{type(error).__name__}: {error}')}</pre>"

    for drop in drops.values():
        drop.observe(draw, names="value")
    draw()
    return Explorer([*drops.values(), view])
