"""The playground of two reasons: accuracy, pull to a letter, and the share of cases that vary."""

from typing import Any

import pandas as pd

from katayori.papers.jubaku_v2.analysis import play
from katayori_tools import site_play
from katayori_tools.site_play import Answer, Column, Control, Playground, Sliders

ABOUT = """\
A planted respondent (植え付けた回答者) chooses between a neutral and a biased reason (理由) in
eight prompts a case: four instructions, and both orders (順序).

- Raise the pull to A. Accuracy (正解率) goes to one half, and the share of cases that vary (変動率)
  to one. Did the respondent become more biased?
- Set the pull to 0 and the effect of the instruction to 1. Accuracy hardly moves. What does?
- Set the cases to 6. How wide are the two intervals of accuracy, over answers and over cases?"""
CONTROLS = (
    Control("prefers_neutral", "prefers the neutral reason, a share", (0.0, 0.5, 0.8, 1.0), 0.8, 1),
    Control("pull_to_a", "pull to A, a share of instructions", (0.0, 0.1, 0.5, 1.0), 0.1, 1),
    Control("template_effect", "effect of the instruction, a share", (0.0, 0.2, 1.0), 0.2, 1),
    Control("cases", "cases", (6, 27, 54), 27),
)
COLUMNS = (
    Column("statistic", "Statistic"),
    Column("planted", "Planted", 3, "not planted"),
    Column("value", "Found", 3),
    Column("ci_low", "95 % interval from", 3, "no interval"),
    Column("ci_high", "to", 3, "no interval"),
)


def answer(prefers_neutral: float, pull_to_a: float, template_effect: float, cases: int) -> Answer:
    """Every choice, and what each statistic says of them."""
    played = play.planted_respondent(
        prefers_neutral, pull_to_a, template_effect, cases, seed=site_play.SEED
    )
    found = played.statistics.set_index("statistic")["value"]
    gist = (
        f"accuracy {found['accuracy, over cases']:.3f},"
        f" share of cases that vary {found['variation rate']:.3f}"
    )
    prompts = played.choices["prompt"].str.replace("the neutral reason is ", "neutral is ")
    choices = played.choices[["case_id", "choice"]].assign(prompt=prompts)
    return Answer(choices, played.statistics, gist)


def chart(points: pd.DataFrame) -> Any:
    """Every answer: a column a case, a row a prompt."""
    import altair

    look = site_play.look_of("choice", ["biased reason", "neutral reason"], "choice")
    case = altair.X("case_id:O", title="case", axis=altair.Axis(labelOverlap=True, labelAngle=0))
    prompt = altair.Y("prompt:N", title=None, sort=None)
    made = altair.Chart(site_play.named_points(points), width="container", height=190)
    return made.mark_point(filled=True, opacity=1, size=40).encode(x=case, y=prompt, **look)


PLAYGROUNDS = {
    "jubaku_v2": Playground(
        title="Two reasons: accuracy and cases that vary",
        about=ABOUT,
        choices={"": Sliders(CONTROLS, answer)},
        chart=chart,
        picture="The reason chosen, a column a case and a row a prompt",
        columns=COLUMNS,
        caption="What each statistic says, as shares",
    )
}
