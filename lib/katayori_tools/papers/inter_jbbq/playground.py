"""The playground of intersections: an extra of a pair, and parts that merely add up."""

from typing import Any

import pandas as pd

from katayori.papers.inter_jbbq.analysis import play
from katayori_tools import site_play
from katayori_tools.site_play import Answer, Column, Control, Playground, Sliders

ABOUT = """\
Two planted respondents (植え付けた回答者). One answers worse where nationality and gender meet
(交互作用); the other loses nearly as much, but by parts that add up (加算的).

- Set the extra of the pair to 0. Do both respondents now look alike?
- Raise it. Compare "both" with what it would be, "were it the sum": the gap is the interaction.
- Set the families to 8. Is the interval of the extra found still on one side of 0?
- Raise the spread between families (ファミリー間のばらつき). Which of the two accuracies, by
  families or as if answers were independent, gets a wider interval?"""
CONTROLS = (
    Control("loss_each", "loss of each attribute, log-odds", (0.0, 0.5, 1.0, 1.5), 0.5, 1),
    Control("extra_of_pair", "extra of the pair, log-odds", (0.0, 1.0, 2.0, 3.0), 2.0, 1),
    Control("families", "families", (8, 20, 40, 80), 40),
    Control("spread", "spread between families, SD of log-odds", (0.0, 1.0, 2.0), 1.0, 1),
)
COLUMNS = (
    Column("respondent", "Respondent"),
    Column("extra planted", "Extra planted", 2),
    Column("extra found", "Extra found", 2),
    Column("from", "95 % interval from", 2, "no interval"),
    Column("to", "to", 2, "no interval"),
    Column("accuracy, by families", "Accuracy in %, by families"),
    Column("accuracy, as if answers were independent", "as if answers were independent"),
)


def answer(loss_each: float, extra_of_pair: float, families: int, spread: float) -> Answer:
    """Accuracy at the levels of the pair, and the extra found of each respondent."""
    played = play.planted_pair(loss_each, extra_of_pair, families, spread, seed=site_play.SEED)
    parts = [
        f"{row['respondent']} {row['extra found']:.2f} ({row['from']:.2f} to {row['to']:.2f})"
        for row in played.extras.to_dict("records")
    ]
    return Answer(played.levels, played.extras, f"extra found: {'; '.join(parts)}")


def chart(points: pd.DataFrame) -> Any:
    """Accuracy with intervals, a line a level of the pair and respondent."""
    import altair

    look = site_play.look_of("model", ["interacts", "adds up"], "model")
    right = altair.X("value:Q", title="accuracy, 95 % interval over families")
    right = right.scale(domain=[0, 1]).axis(format="%")
    return site_play.intervals(points, "level", look, right, series="model")


PLAYGROUNDS = {
    "inter_jbbq": Playground(
        title="Intersections: an extra of the pair, or a sum",
        about=ABOUT,
        choices={"": Sliders(CONTROLS, answer)},
        chart=chart,
        picture="Accuracy of two respondents where neither, one or both of the pair are told",
        columns=COLUMNS,
        caption="The extra of the pair, in log-odds",
    )
}
