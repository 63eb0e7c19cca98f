"""Interactive parts of notebooks.

They set the value of an HTML widget only, and carry a picture of themselves.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import Any
from unicodedata import east_asian_width

import ipywidgets

from katayori.errors import KatayoriError
from katayori.report import pictures
from katayori.report.tables import Shown, escape

#: How wide the names of controls are, and the letters that a dropdown's arrow takes.
DESCRIPTION, ARROW = "10em", 6

__all__ = ["Explorer", "escape", "explorer", "playground"]


class Explorer(ipywidgets.VBox):
    """Choices above a view.

    Where no kernel runs (reports, viewers), the view as it was stands in for it.
    """

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        *controls, view = self.children
        chosen = ", ".join(
            f"{control.description} = {getattr(control, 'label', control.value)}"
            for control in controls
        )
        note = f"<p><em>Interactive in the notebook; shown here for {escape(chosen)}.</em></p>"
        return bundle | {"text/html": view.value + note}


def _html(made: Any) -> str:
    """HTML of what a view shows.

    That is markup, a table of `show`, a Figure as an inline picture, or a list of them.
    """
    if isinstance(made, list):
        return "".join(map(_html, made))
    if not hasattr(made, "savefig"):
        return made if isinstance(made, str) else made._repr_html_()
    image = pictures.display(made)  # its title is what readers who cannot see it are told
    data = b64encode(image.data).decode("ascii")
    return f'<p><img alt="{escape(image.alt)}" src="data:image/png;base64,{data}"></p>'


def bound(controls: dict[str, ipywidgets.Widget], render: Callable[..., Any]) -> Explorer:
    """The controls above what `render` makes of their values, made anew when one of them moves."""
    view = ipywidgets.HTML()
    # JupyterLab sets tables and texts of this class as those of any other output.
    view.add_class("jp-RenderedHTMLCommon")

    def draw(_change: Any = None) -> None:
        try:
            values = {name: control.value for name, control in controls.items()}
            view.value = _html(render(**values))
        except Exception as error:  # a widget's callback has nowhere else to report it
            view.value = f"<pre>{escape(f'{type(error).__name__}: {error}')}</pre>"

    for control in controls.values():
        control.observe(draw, names="value")
    draw()
    return Explorer([*controls.values(), view])


def explorer(controls: dict[str, list[Any]], render: Callable[..., str | Shown]) -> Explorer:
    """One dropdown a control above what `render(**choices)` returns as HTML.

    A control is a list of values or of (label, value) pairs. `render` escapes what it did not write
    itself (`escape`, or return `show(...)`). An error in it is shown as text.
    """
    return bound({name: dropdown(name, options) for name, options in controls.items()}, render)


def dropdown(name: str, options: list[Any]) -> ipywidgets.Dropdown:
    """A dropdown wide enough for the longest of its names, or as wide as the page."""
    labels = [str(one[0]) if isinstance(one, tuple) else str(one) for one in options]
    letters = max((_width(label) for label in labels), default=0)
    return ipywidgets.Dropdown(
        options=options,
        description=name,
        layout={"width": f"calc({DESCRIPTION} + {letters + ARROW}ch)", "max_width": "100%"},
        style={"description_width": DESCRIPTION},
    )


def _width(text: str) -> int:
    """Letters in which a text is as wide: Japanese ones count as two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def playground(
    sliders: dict[str, tuple[float, float, float, float]], draw: Callable[..., Any]
) -> Explorer:
    """Planted truth to play with: sliders above what `draw(**values)` makes of them.

    Args:
        sliders: name -> (lowest, highest, step, start); four whole numbers make a slider of whole
            numbers.
        draw: values -> a Figure (give it a title: it is the text alternative), HTML, `show(...)`,
            or a list of them. Draw with a fixed seed, so that what moves is moved by the slider
            alone.

    Raises KatayoriError for a slider that cannot be moved or does not start within its range.
    """
    controls: dict[str, ipywidgets.Widget] = {}
    for name, (low, high, step, start) in sliders.items():
        if not (low < high and step > 0 and low <= start <= high):
            raise KatayoriError(
                f"slider {name!r}: from {low} to {high} by {step}, starting at {start}, "
                "cannot be moved"
            )
        whole = all(isinstance(number, int) for number in (low, high, step, start))
        kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
        controls[name] = kind(
            description=name.replace("_", " "),
            style={"description_width": DESCRIPTION},
            min=low,
            max=high,
            step=step,
            value=start,
            readout_format="d" if whole else ".2f",
        )
    return bound(controls, draw)
