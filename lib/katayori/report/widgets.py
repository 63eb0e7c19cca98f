"""Interactive parts of notebooks.

They set the value of an HTML widget only, and carry a picture of themselves.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import ipywidgets

from katayori.errors import KatayoriError
from katayori.report import figures, power_figure
from katayori.report.tables import Shown, escape, show

if TYPE_CHECKING:
    import pandas as pd

#: How wide the names of controls are, and the letters that a dropdown's arrow takes.
DESCRIPTION, ARROW = "10em", 6

__all__ = ["Explorer", "calculator", "escape", "explorer", "playground"]


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
    image = figures.display(made)  # its title is what readers who cannot see it are told
    if figures.is_empty(made):  # a sentence stands for it
        return f"<p>{escape(image.data.strip('*'))}</p>"
    data = b64encode(image.data).decode("ascii")
    return f'<p><img alt="{escape(image.alt)}" src="data:image/png;base64,{data}"></p>'


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


def explorer(controls: dict[str, list[Any]], render: Callable[..., str | Shown]) -> Explorer:
    """One dropdown a control above what `render(**choices)` returns as HTML.

    A control is a list of values or of (label, value) pairs. `render` escapes what it did not write
    itself (`escape`, or return `show(...)`). An error in it is shown as text.
    """
    return _bound({name: _dropdown(name, options) for name, options in controls.items()}, render)


def _dropdown(name: str, options: list[Any]) -> ipywidgets.Dropdown:
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
    return _bound(controls, draw)


SIZES = ("effect", "clusters", "per_cluster")


def calculator(table: "pd.DataFrame", rate: Callable[..., float]) -> Explorer:
    """How much data a test needs.

    Effect and sizes on sliders above the power and its curve, and the simulated table below them.

    Args:
        table: measure, test, effect, clusters, per_cluster, n, rate, mc_low, mc_high, as of
            `overview.power`.
        rate: (rows of one test, effect=, clusters=, per_cluster=) -> power, such as
            `overview.power_at`.
    """
    tests = {f"{m}: {t}": rows for (m, t), rows in table.groupby(["measure", "test"], sort=False)}
    choice = _dropdown("test", list(tests))
    sliders = {name: ipywidgets.FloatSlider(description=name) for name in SIZES}

    def draw(test: str, effect: float, clusters: float, per_cluster: float) -> list[Any]:
        power = rate(tests[test], effect=effect, clusters=clusters, per_cluster=per_cluster)
        n = clusters * per_cluster
        text = f"<p>n = {n:.0f}: found in <strong>{100 * power:.0f} %</strong> of such studies</p>"
        effects = sorted(tests[test]["effect"].unique())
        size = {"clusters": clusters, "per_cluster": per_cluster}
        rates = [rate(tests[test], effect=one, **size) for one in effects]
        title = f"{test}: {clusters:.0f} clusters of {per_cluster:.0f} answers"
        curve = power_figure.power_curve(effects, rates, effect, title=title)
        simulated = tests[test][[*SIZES, "n", "rate", "mc_low", "mc_high"]]
        return [text, curve, show(simulated, max_rows=12, caption=f"Simulated: {test}")]

    def fit(_change: Any = None) -> None:
        """Sets every slider to the sizes that were simulated of the test chosen."""
        for name, slider in sliders.items():
            simulated = tests[choice.value][name]
            lowest, highest = float(simulated.min()), float(simulated.max())
            is_effect = name == "effect"
            with slider.hold_trait_notifications():
                slider.min = lowest
                slider.max = highest
                slider.step = 0.005 if is_effect else 1
                slider.readout_format = ".3f" if is_effect else ".0f"
                slider.value = highest / 2 if is_effect else highest

    fit()
    choice.observe(fit, names="value")  # before the view is drawn anew
    return _bound({"test": choice, **sliders}, draw)
