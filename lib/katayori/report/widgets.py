"""Interactive parts of notebooks. They set the value of an HTML widget only, and carry a picture of themselves."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import ipywidgets

from katayori.errors import KatayoriError
from katayori.report import figures
from katayori.report.tables import Shown, escape, show

__all__ = ["Explorer", "calculator", "escape", "explorer", "playground"]


class Explorer(ipywidgets.VBox):
    """Choices above a view. Where no kernel runs (reports, viewers), the view as it was stands in for it."""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        chosen = ", ".join(
            f"{w.description} = {getattr(w, 'label', w.value)}" for w in self.children[:-1]
        )
        note = f"<p><em>Interactive in the notebook; shown here for {escape(chosen)}.</em></p>"
        return bundle | {"text/html": self.children[-1].value + note}


def _html(made: Any) -> str:
    """HTML of what a view shows: markup, a table of `show`, a Figure as an inline picture, or a list of them."""
    if isinstance(made, list):
        return "".join(map(_html, made))
    if not hasattr(made, "savefig"):
        return made if isinstance(made, str) else made._repr_html_()
    image = figures.display(made)  # its title is what readers who cannot see it are told
    data = b64encode(image.data).decode("ascii")
    return f'<p><img alt="{escape(image.alt)}" src="data:image/png;base64,{data}"></p>'


def _bound(controls: dict[str, ipywidgets.Widget], render: Callable[..., Any]) -> Explorer:
    """The controls above what `render` makes of their values, made anew when one of them moves."""
    view = ipywidgets.HTML()

    def draw(_change: Any = None) -> None:
        try:
            view.value = _html(
                render(**{name: control.value for name, control in controls.items()})
            )
        except Exception as error:  # a widget's callback has nowhere else to report it
            view.value = f"<pre>{escape(f'{type(error).__name__}: {error}')}</pre>"

    for control in controls.values():
        control.observe(draw, names="value")
    draw()
    return Explorer([*controls.values(), view])


def explorer(controls: dict[str, list], render: Callable[..., str | Shown]) -> Explorer:
    """One dropdown a control (values, or (label, value) pairs) above what `render(**choices)` returns as HTML.

    `render` escapes what it did not write itself (`escape`, or return `show(...)`). An error in it is shown as text.
    """
    drops = {
        name: ipywidgets.Dropdown(options=options, description=name)
        for name, options in controls.items()
    }
    return _bound(drops, render)


def playground(
    sliders: dict[str, tuple[float, float, float, float]], draw: Callable[..., Any]
) -> Explorer:
    """Planted truth to play with: sliders above what `draw(**values)` makes of them.

    Args:
        sliders: name -> (lowest, highest, step, start); four whole numbers make a slider of whole numbers.
        draw: values -> a Figure (give it a title: it is the text alternative), HTML, `show(...)`, or a list of them.
            Draw with a fixed seed, so that what moves is moved by the slider alone.

    Raises KatayoriError for a slider that cannot be moved or does not start within its range.
    """
    made = {}
    for name, (low, high, step, start) in sliders.items():
        if not (low < high and step > 0 and low <= start <= high):
            raise KatayoriError(
                f"slider {name!r}: from {low} to {high} by {step}, starting at {start}, cannot be moved"
            )
        whole = all(isinstance(number, int) for number in (low, high, step, start))
        kind, shown = (ipywidgets.IntSlider, "d") if whole else (ipywidgets.FloatSlider, ".2f")
        options = {"min": low, "max": high, "step": step, "value": start, "readout_format": shown}
        made[name] = kind(
            description=name.replace("_", " "), style={"description_width": "10em"}, **options
        )
    return _bound(made, draw)


def calculator(table: Any, rate: Callable[..., float]) -> Explorer:
    """How much data a test needs: effect and sizes on sliders above the power, and the simulated table below it.

    Args:
        table: measure, test, effect, clusters, per_cluster, n, rate, mc_low, mc_high, as of `overview.power`.
        rate: (rows of one test, effect=, clusters=, per_cluster=) -> power, such as `overview.power_at`.
    """
    parts = {f"{m}: {t}": one for (m, t), one in table.groupby(["measure", "test"], sort=False)}
    choice = ipywidgets.Dropdown(options=list(parts), description="test")
    sliders = {
        name: ipywidgets.FloatSlider(description=name)
        for name in ("effect", "clusters", "per_cluster")
    }

    def draw(test: str, **sizes: float) -> list:
        found, n = rate(parts[test], **sizes), sizes["clusters"] * sizes["per_cluster"]
        told = f"<p>n = {n:.0f}: found in <strong>{100 * found:.0f} %</strong> of such studies</p>"
        cached = parts[test][
            ["effect", "clusters", "per_cluster", "n", "rate", "mc_low", "mc_high"]
        ]
        return [told, show(cached, caption=f"Simulated: {test}")]

    def fit(_change: Any = None) -> None:
        for name, slider in sliders.items():
            low, high = (
                float(parts[choice.value][name].min()),
                float(parts[choice.value][name].max()),
            )
            step, shown = (0.005, ".3f") if name == "effect" else (1, ".0f")
            with slider.hold_trait_notifications():
                slider.min, slider.max, slider.step, slider.readout_format = low, high, step, shown
                slider.value = high / 2 if name == "effect" else high

    fit()
    choice.observe(fit, names="value")  # before the view is drawn anew
    return _bound({"test": choice, **sliders}, draw)
