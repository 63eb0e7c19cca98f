"""The playground of accuracy and Diff-bias: only errors can lean."""

from typing import Any

import pandas as pd

from katayori.papers.persona_jbbq.analysis import play
from katayori_tools import site_play
from katayori_tools.site_play import Answer, Column, Control, Playground, Sliders

ABOUT = """\
A planted respondent (植え付けた回答者) names a person in few ambiguous items under the basic
prompt, and in more of them under a biased persona (ペルソナ). A point is one category.

- Set the lean to 1 and raise the errors. The points of the persona move along an edge: nothing can
  lie beyond it, since only an error can lean.
- Set the errors to 0.2 and the lean to 1, then the errors to 0.6 and the lean to 0.3. Diff-bias is
  nearly the same. What tells these two respondents apart?
- Raise the share out of choice (選択肢外率). Which of the two accuracies stays where it is?"""
CONTROLS = (
    Control("lean", "lean, how one-sided the persons named are", (0.0, 0.3, 0.6, 1.0), 0.6, 1),
    Control("errors", "errors under the persona, a share", (0.0, 0.2, 0.4, 0.6, 0.9), 0.6, 1),
    Control("out_of_choice", "out of choice, a share", (0.0, 0.3, 0.6), 0.0, 1),
    Control("items_a_category", "items a category", (12, 60, 120), 120),
)
COLUMNS = (
    Column("prompt", "Prompt"),
    Column("score", "Score"),
    Column("planted", "Planted", 1),
    Column("found", "Found", 1),
    Column("95 % interval", "95 % interval"),
)
#: Where no point can lie: accuracy, and the ends of Diff-bias there.
EDGES = [{"x": 0, "up": 100, "down": -100}, {"x": 100, "up": 0, "down": 0}]
IMPOSSIBLE = "#E8E8E8"


def answer(lean: float, errors: float, out_of_choice: float, items_a_category: int) -> Answer:
    """Accuracy and Diff-bias by category, and both beside what was planted."""
    played = play.planted_lean(lean, errors, out_of_choice, items_a_category, seed=site_play.SEED)
    persona = played.found[played.found["prompt"] == play.PERSONA].set_index("score")["found"]
    right, difference = persona[play.NAMES["acc_amb"]], persona[play.NAMES["diff_amb"]]
    gist = f"under the persona: accuracy {right:.1f}, Diff-bias {difference:.1f} points"
    return Answer(played.by_category, played.found, gist)


def chart(points: pd.DataFrame) -> Any:
    """Diff-bias over accuracy, a point a category; what cannot be is grey."""
    import altair

    edges = altair.Chart(altair.InlineData(values=EDGES)).encode(x="x:Q")
    grey = edges.mark_area(color=IMPOSSIBLE, opacity=1)
    above = grey.encode(y="up:Q", y2=altair.datum(100))
    below = grey.encode(y="down:Q", y2=altair.datum(-100))
    look = site_play.look_of("prompt", [play.BASELINE, play.PERSONA], "prompt")
    right = altair.X("acc_amb:Q", title="accuracy in ambiguous contexts, points")
    difference = altair.Y("diff_amb:Q", title="Diff-bias, points")
    dots = altair.Chart(site_play.named_points(points)).mark_point(filled=True, opacity=1, size=70)
    dots = dots.encode(
        x=right.scale(domain=[0, 100]), y=difference.scale(domain=[-100, 100]), **look
    )
    return (above + below + dots).properties(width="container", height=300)


PLAYGROUNDS = {
    "persona_jbbq": Playground(
        title="Accuracy and lean: only errors can lean",
        about=ABOUT,
        choices={"": Sliders(CONTROLS, answer)},
        chart=chart,
        picture="Diff-bias over accuracy in ambiguous contexts, a point a category and prompt",
        columns=COLUMNS,
        caption="Planted and found, in points",
    )
}
