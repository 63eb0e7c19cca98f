"""Interactive parts of notebooks.

They set the value of an HTML widget only, and carry a picture of themselves.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import ipywidgets

from katayori import paths
from katayori.errors import KatayoriError
from katayori.language import told
from katayori.report import tables
from katayori.report.tables import Shown, escape

#: Controls are as wide as the page allows.
WIDE: dict[str, Any] = {"layout": {"width": "min(100%, 60em)"}}
WIDE["style"] = {"description_width": "10em"}


class Explorer(ipywidgets.VBox):
    """Choices above a view.

    Where no kernel runs (reports, viewers), the view as it was stands in for it.
    """

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        *controls, view = self.children
        chosen = (", " if paths.language() == "en" else "、").join(
            f"{control.description} = {getattr(control, 'label', control.value)}"
            for control in controls
        )
        note = told(f"Interactive in the notebook; shown here for {chosen}.")
        return bundle | {"text/html": f"{view.value}<p><em>{escape(note)}</em></p>"}


def _html(made: Any) -> str:
    """HTML of what a view shows: markup, a table of `show`, a Figure as a picture, or a list."""
    if isinstance(made, list):
        return "".join(map(_html, made))
    if not hasattr(made, "savefig"):
        return made if isinstance(made, str) else made._repr_html_()
    image = tables.display(made)  # its title is what readers who cannot see it are told
    data = b64encode(image.data).decode("ascii")
    return (
        f'<p><img alt="{escape(image.alt)}" width="{image.width}"'
        f' src="data:image/png;base64,{data}"></p>'
    )


def _bound(controls: dict[str, ipywidgets.Widget], render: Callable[..., Any]) -> Explorer:
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


def _told(options: list[Any]) -> list[Any]:
    """Options under labels in the language of the reader; as they are in English."""
    if paths.language() == "en":
        return options
    pairs = [one if isinstance(one, tuple) else (str(one), one) for one in options]
    return [(told(label), value) for label, value in pairs]


def explorer(controls: dict[str, list[Any]], render: Callable[..., str | Shown]) -> Explorer:
    """One dropdown per control above what `render(**choices)` returns as HTML.

    A control is a list of values or of (label, value) pairs. `render` escapes what it did not write
    itself (`escape`, or return `show(...)`). An error in it is shown as text.
    """
    made = {
        name: ipywidgets.Dropdown(options=_named(options), description=told(name), **WIDE)
        for name, options in controls.items()
    }
    return _bound(made, render)


def _named(options: list[Any]) -> list[Any]:
    """Options with labels in the reader's language; as they are where these are theirs already."""
    pairs = [one if isinstance(one, tuple) else (one, one) for one in options]
    named = [(told(str(label)), value) for label, value in pairs]
    return options if named == [(str(label), value) for label, value in pairs] else named


def playground(
    sliders: dict[str, tuple[float, float, float, float]], draw: Callable[..., Any]
) -> Explorer:
    """Planted truth to play with: sliders above what `draw(**values)` makes of them.

    It is drawn anew when a slider is let go. `make site` keeps `draw` at a grid of values for its
    pages.

    Args:
        sliders: name -> (lowest, highest, step, start); four whole numbers make a slider of whole
            numbers.
        draw: values -> a list of tables (`show`) and a Figure (give it a title: it is the text
            alternative). Draw with a fixed seed, so that what moves is moved by the slider alone.

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
        ends = {"min": low, "max": high, "step": step, "value": start}
        named = {"description": told(name.replace("_", " "), "slider"), "continuous_update": False}
        controls[name] = kind(**named, **ends, **WIDE)
    return _bound(controls, draw)
