"""The calculator of notebook 00, beside the widgets that all notebooks have."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ipywidgets

from katayori.report import power_figure
from katayori.report.explorers import (
    Explorer as Explorer,
    bound,
    dropdown,
    escape as escape,
    explorer as explorer,
    playground as playground,
)
from katayori.report.tables import show

if TYPE_CHECKING:
    import pandas as pd

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
    choice = dropdown("test", list(tests))
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
    return bound({"test": choice, **sliders}, draw)
