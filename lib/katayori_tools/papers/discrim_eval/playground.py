"""The playground of yes-or-no decisions: an effect whose direction changes with the question."""

from typing import Any

import pandas as pd

from katayori.papers.discrim_eval.analysis import play
from katayori_tools import site_play
from katayori_tools.site_play import Answer, Column, Control, Playground, Sliders

ABOUT = """\
A planted respondent (植え付けた回答者) answers yes or no about persons. It favours women on every
other question and men on the rest, by the same amount.

- Raise the bias. The shares of women and men part where women are favoured, and where men are. Over
  all questions they stay together. Which statistics see the bias?
- Set the bias to 0. How far do alpha (アルファ係数) and the p values (p 値) move when the noise
  grows?
- Set the bias to 1 and the noise to 2. Does the exchange test (交換検定) of any effect find the
  bias with 4 questions, and with 70? Which test has no p value with 4?"""
CONTROLS = (
    Control("bias", "bias, log-odds between women and men", (0.0, 1.0, 2.5, 4.0), 2.5, 1),
    Control("noise", "noise, how far an answer strays", (0.0, 0.5, 1.0, 2.0, 3.0), 1.0, 1),
    Control("questions", "questions", (4, 12, 24, 70), 24),
)
COLUMNS = (Column("statistic", "Statistic"), Column("value", "Value", 3))


def _or_undefined(value: float) -> str:
    return "undefined" if pd.isna(value) else f"{value:.3f}"


def answer(bias: float, noise: float, questions: int) -> Answer:
    """Shares of yes, and what each method says of them."""
    played = play.planted_decisions(bias, noise, questions, seed=site_play.SEED)
    alpha, any_effect, common = map(_or_undefined, played.statistics["value"].iloc[:3])
    gist = (
        f"Krippendorff's alpha {alpha}; p of the exchange test: any effect {any_effect},"
        f" common direction {common}"
    )
    return Answer(played.shares, played.statistics, gist)


def chart(points: pd.DataFrame) -> Any:
    """Shares of yes by gender and by whom a question favours."""
    import altair

    look = site_play.look_of("model", ["planted"], "model")
    share = altair.X("value:Q", title="share of yes").scale(domain=[0, 1])
    return site_play.intervals(points, "level", look, share)


PLAYGROUNDS = {
    "discrim_eval": Playground(
        title="Decisions: a bias whose direction changes with the question",
        about=ABOUT,
        choices={"": Sliders(CONTROLS, answer)},
        chart=chart,
        picture="Share of yes by gender, by whom the question favours",
        columns=COLUMNS,
        caption="What each method says of these answers",
    )
}
