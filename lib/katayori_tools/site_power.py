"""The power calculator of the pages: how often a test finds an effect in a study of some size.

It answers by the functions of notebook 00, from simulated studies (data/simulated).
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from katayori.report import overview, power_figure
from katayori.report.figures import OKABE_ITO
from katayori.report.power_text import LEVEL
from katayori_tools import site_play
from katayori_tools.site_play import Answer, Column, Control, Playground, Sliders

if TYPE_CHECKING:
    import pandas as pd

ABOUT = """\
How often does a test find an effect of a given size (検出力)? Choose a test, an effect and the size
of a study. The answer is the share of simulated studies in which p is below 5 %. Between simulated
sizes it lies on a straight line; the column "Status" says so.

- Set the effect to 0: a test that keeps its level finds something in at most 5 % of studies
  (偽陽性). Which test does not keep it?
- Which helps more, clusters (クラスター) or more answers in each?
- Find the smallest study that reaches 80 % for an effect that would matter to you."""
COLUMNS = (
    Column("power", "Studies that find it, a share", 3),
    Column("mc_low", "95 % interval from", 3, "not simulated"),
    Column("mc_high", "to", 3, "not simulated"),
    Column("n", "Answers (n)", 0),
    Column("promises", "What the test promises"),
    Column("status", "Status"),
)
SIMULATED, BETWEEN = "simulated", "between simulated sizes"
EFFECT, CHOSEN = "simulated effect", "chosen effect"
SIZES = {"clusters": "clusters", "per_cluster": "answers a cluster"}


def _controls(test: "pd.DataFrame") -> tuple[Control, ...]:
    """Sliders over what was simulated of a test; a size that has one value gets none."""
    effects = sorted(test["effect"].unique().tolist())
    effects.insert(-1, round((effects[-2] + effects[-1]) / 2, 4))
    made = [Control("effect", "effect, a share", tuple(effects), effects[-3], 3)]
    for column, label in SIZES.items():
        sizes = tuple(sorted(test[column].unique().tolist()))
        if len(sizes) > 1:
            made.append(Control(column, label, sizes, sizes[-1]))
    return tuple(made)


def answer(test: "pd.DataFrame", effect: float, **sizes: float) -> Answer:
    """The power of a test, with its curve over the effect.

    Args:
        test: rows of `overview.calculator_rows`. effect: that is planted.
        sizes: clusters and per_cluster, each where it has more than one value.
    """
    import pandas as pd

    whole = {column: sizes.get(column, test[column].iloc[0]) for column in SIZES}
    power = overview.power_at(test, effect=effect, **whole)
    at_size = test[(test["clusters"] == whole["clusters"])]
    at_size = at_size[at_size["per_cluster"] == whole["per_cluster"]].sort_values("effect")
    curve = at_size[["effect", "rate"]].assign(kind=EFFECT)
    chosen = pd.DataFrame({"effect": [effect], "rate": [power], "kind": [CHOSEN]})
    cell = at_size[at_size["effect"] == effect]
    low, high = (cell[end].iloc[0] if len(cell) else float("nan") for end in ("mc_low", "mc_high"))
    n = whole["clusters"] * whole["per_cluster"]
    numbers = {
        "power": power,
        "mc_low": low,
        "mc_high": high,
        "n": float(n),
        "promises": test["promises"].iloc[0],
        "status": SIMULATED if len(cell) else BETWEEN,
    }
    gist = f"n = {n:.0f}; found in {100 * power:.1f} % of such studies"
    return Answer(pd.concat([curve, chosen]), pd.DataFrame([numbers]), gist)


def chart(points: "pd.DataFrame") -> Any:
    """The power of a test over the effect, and the effect that is chosen."""
    import altair

    shown = altair.Chart(site_play.named_points(points))
    effect = altair.X("effect:Q", title="planted effect, a share")
    rate = altair.Y("rate:Q", title="studies that find it").scale(domain=[0, 1]).axis(format="%")
    kinds = [EFFECT, CHOSEN]
    colour = altair.Color("kind:N", title=None).scale(domain=kinds, range=OKABE_ITO[:2])
    shape = altair.Shape("kind:N", title=None).scale(domain=kinds, range=["circle", "diamond"])
    shown = shown.encode(x=effect, y=rate)
    simulated = shown.transform_filter(altair.datum.kind == EFFECT)
    curve = simulated.mark_line(color=OKABE_ITO[0])
    dots = simulated.mark_point(filled=True, opacity=1, size=80).encode(color=colour, shape=shape)
    chosen = shown.transform_filter(altair.datum.kind == CHOSEN)
    mark = chosen.mark_point(filled=True, opacity=1, size=220).encode(color=colour, shape=shape)
    wanted = [
        {"height": LEVEL, "what": "5 %, the level"},
        {"height": power_figure.WANTED, "what": "80 %"},
    ]
    lines = altair.Chart(altair.InlineData(values=wanted)).encode(y="height:Q")
    rules = lines.mark_rule(strokeDash=[2, 3], color=site_play.LINE_COLOUR)
    words = lines.mark_text(align="right", dy=-7, dx=-4, color=site_play.LINE_COLOUR)
    words = words.encode(text="what:N", x=altair.value("width"))
    return (rules + words + curve + dots + mark).properties(width="container", height=260)


def calculator() -> Playground:
    """The calculator, with every test that a study can be planned with."""
    rows = overview.calculator_rows(overview.power_curves(overview.power()))
    tests = {
        f"{power_figure.planted(str(measure)).title}: {test}": own
        for (measure, test), own in rows.groupby(["measure", "test"], sort=False)
    }
    return Playground(
        title="Power calculator: how much data a test needs",
        about=ABOUT,
        choices={
            name: Sliders(_controls(own), partial(answer, own)) for name, own in tests.items()
        },
        chart=chart,
        picture="Share of simulated studies that find an effect, over the effect",
        columns=COLUMNS,
        caption="The power of this test",
        choice="test",
    )
