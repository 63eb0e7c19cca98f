"""The power calculator of the pages: how often a test finds an effect in a study of some size.

It answers from simulated studies (data/simulated).
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.report.pictures import OKABE_ITO
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
#: The level of a test, and what a study should find by a wide convention.
LEVEL, WANTED = 0.05, 0.8
#: What is planted for the tests of one measure, in the order of the notebooks.
PLANTED = {
    "factor": "gender, beside an effect of age",
    "rank_tests": "gender, in one question",
    "diff_bias": "lean under one prompt of two",
    "concordance": "gain of averaging a judge's verdicts",
    "case_accuracy": "one model better than another",
    "case_accuracy_counterbalanced": "one model better, both lean to a letter",
    "variation": "cases that vary with the prompt",
}
SIMULATED, BETWEEN = "simulated", "between simulated sizes"
EFFECT, CHOSEN = "simulated effect", "chosen effect"
SIZES = {"clusters": "clusters", "per_cluster": "answers a cluster"}


#: What tells the cells of the simulated power tables apart.
POWER_KEYS = ["measure", "test", "promises", "setting", "planted", "effect"]


def power() -> "pd.DataFrame":
    """Power and false positives of data/simulated/power_*.csv: a row a test, effect and size.

    Returns:
        measure, test, promises, setting (of the table `factor`: shape of P(yes) and effect of
        age), planted (none, common, by question; empty elsewhere), effect, clusters, per_cluster,
        n, null (nothing that this test looks for is there, so the rate is one of false positives),
        rate, mc_low, mc_high (exact 95 % interval: what a finite simulation leaves open),
        repetitions, undefined (counted as nothing found).
    """
    import pandas as pd
    from statsmodels.stats.proportion import proportion_confint

    files = sorted((paths.data_dir() / "simulated").glob("power_*.csv"))
    drawn = pd.concat([_with_setting(pd.read_csv(file)) for file in files])
    counts = ["positives", "repetitions", "undefined"]
    keys = [*POWER_KEYS, *SIZES, "n"]
    cells = drawn.groupby(keys, sort=False)[counts].sum().reset_index()
    low, high = proportion_confint(cells["positives"], cells["repetitions"], method="beta")
    # An effect of another direction in every question has no common direction.
    of_direction = cells["test"].str.startswith("common direction")
    either_way = of_direction & (cells["planted"] == "by question")
    cells = cells.assign(
        null=(cells["effect"] == 0) | either_way,
        rate=cells["positives"] / cells["repetitions"],
        mc_low=low,
        mc_high=high,
    )
    return cells[[*keys, "null", "rate", "mc_low", "mc_high", "repetitions", "undefined"]]


def _with_setting(drawn: "pd.DataFrame") -> "pd.DataFrame":
    if "shape" not in drawn:
        return drawn.assign(setting="", planted="")
    setting = drawn["shape"] + ", age " + drawn["other_effect"].map("{:g}".format)
    return drawn.assign(setting=setting)


def power_curves(table: "pd.DataFrame") -> "pd.DataFrame":
    """Rows of `power` as curves over the effect.

    The rate at effect 0 opens each kind of planting.
    """
    import pandas as pd

    kinds = [kind for kind in table["planted"].unique() if kind not in ("", "none")]
    opened = [table[table["planted"] == "none"].assign(planted=kind) for kind in kinds]
    return pd.concat([*opened, table[table["planted"] != "none"]], ignore_index=True)


def calculator_rows(curves: "pd.DataFrame", other_effect: str = "age 0.3") -> "pd.DataFrame":
    """The `power_curves` that a study can be planned with, each named so that it stands alone.

    Of the tests of one factor those beside one effect of age, without the cells in which the test
    has nothing to find.
    """
    plain = curves["setting"] == ""
    own = curves["setting"].str.endswith(other_effect)
    own &= curves["test"].str.startswith(("any", "common"))
    own &= ~(curves["test"].str.startswith("common") & (curves["planted"] == "by question"))
    kept = curves[plain | own].copy()
    named = kept["test"].str.split(":").str[0] + " (" + kept["setting"] + ", " + kept["planted"]
    kept["test"] = kept["test"].where(kept["setting"] == "", named + ")")
    # Questions come first, as in the notebook.
    return kept.sort_values("measure", key=lambda m: m != "factor", kind="stable")


def power_at(test: "pd.DataFrame", effect: float, clusters: float, per_cluster: float) -> float:
    """The rate of one test of `power` between simulated sizes.

    Straight in the effect, straight in the log of sizes. Beyond what was simulated the nearest
    simulated value stands.
    """
    import numpy as np

    sizes = {"clusters": clusters, "per_cluster": per_cluster}
    for column, wanted in sizes.items():
        simulated = np.unique(test[column])
        if len(simulated) > 1:
            parts = [test[test[column] == size] for size in simulated]
            rates = [power_at(part, effect, clusters, per_cluster) for part in parts]
            return float(np.interp(np.log(wanted), np.log(simulated), rates))
    curve = test.sort_values("effect")
    return float(np.interp(effect, curve["effect"], curve["rate"]))


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
        test: rows of `calculator_rows`. effect: that is planted.
        sizes: clusters and per_cluster, each where it has more than one value.
    """
    import pandas as pd

    whole = {column: sizes.get(column, test[column].iloc[0]) for column in SIZES}
    found = power_at(test, effect=effect, **whole)
    at_size = test[(test["clusters"] == whole["clusters"])]
    at_size = at_size[at_size["per_cluster"] == whole["per_cluster"]].sort_values("effect")
    curve = at_size[["effect", "rate"]].assign(kind=EFFECT)
    chosen = pd.DataFrame({"effect": [effect], "rate": [found], "kind": [CHOSEN]})
    cell = at_size[at_size["effect"] == effect]
    low, high = (cell[end].iloc[0] if len(cell) else float("nan") for end in ("mc_low", "mc_high"))
    n = whole["clusters"] * whole["per_cluster"]
    numbers = {
        "power": found,
        "mc_low": low,
        "mc_high": high,
        "n": float(n),
        "promises": test["promises"].iloc[0],
        "status": SIMULATED if len(cell) else BETWEEN,
    }
    gist = f"n = {n:.0f}; found in {100 * found:.1f} % of such studies"
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
        {"height": WANTED, "what": "80 %"},
    ]
    lines = altair.Chart(altair.InlineData(values=wanted)).encode(y="height:Q")
    rules = lines.mark_rule(strokeDash=[2, 3], color=site_play.LINE_COLOUR)
    words = lines.mark_text(align="right", dy=-7, dx=-4, color=site_play.LINE_COLOUR)
    words = words.encode(text="what:N", x=altair.value("width"))
    return (rules + words + curve + dots + mark).properties(width="container", height=260)


def calculator() -> Playground:
    """The calculator, with every test that a study can be planned with."""
    rows = calculator_rows(power_curves(power()))
    tests = {
        f"{PLANTED[str(measure)]}: {test}": own
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
