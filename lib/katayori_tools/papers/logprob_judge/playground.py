"""The playground of judges: what averaging over both orders gains, and for what."""

from typing import Any

import pandas as pd

from katayori.papers.logprob_judge.analysis import play
from katayori_tools import site_play
from katayori_tools.site_play import Answer, Column, Control, Playground, Sliders

ABOUT = """\
A planted judge (植え付けた評価者) compares two answers in both orders. Slot A gets the same pull in
all of them (位置バイアス).

- Raise the pull: robustness (頑健性) falls. Where one answer is better, does averaging (proposed)
  still find it? Do the others?
- Set the quality to 0. How often does averaging now find the better answer?
- Raise the share of true ties (引き分け) to 0.6. Which method gains most over all comparisons, and
  is that a gain in judging?"""
CONTROLS = (
    Control("quality", "quality, log-odds for the better answer", (0.0, 1.0, 2.5, 5.0), 2.5, 1),
    Control("pull", "pull to slot A, log-odds", (0.0, 3.0, 6.0), 3.0, 1),
    Control("noise", "noise, SD of log-odds", (0.0, 0.8, 2.4), 0.8, 1),
    Control("true_ties", "true ties, a share", (0.0, 0.2, 0.6), 0.2, 1),
    Control("questions", "questions, of three comparisons each", (9, 69), 69),
)
COLUMNS = (
    Column("task", "Comparisons"),
    Column("method", "Method"),
    Column("value", "Share", 3),
    Column("ci_low", "95 % interval from", 3, "no interval"),
    Column("ci_high", "to", 3, "no interval"),
)
METHODS = ["BS1", "BS2", "proposed", "robustness"]


def answer(quality: float, pull: float, noise: float, true_ties: float, questions: int) -> Answer:
    """Agreement of each method with the planted truth, and robustness, by kind of truth."""
    judge = play.Judge(quality, pull, noise)
    played = play.planted_judge(
        judge, true_ties=true_ties, questions=questions, seed=site_play.SEED
    )
    of_all = played.points[played.points["task"] == "all"].set_index("method")["value"]
    gist = "over all comparisons: " + ", ".join(
        f"{method} {of_all[method]:.3f}" for method in METHODS
    )
    return Answer(played.points, played.points, gist)


def chart(points: pd.DataFrame) -> Any:
    """Agreement and robustness with intervals, a line a kind of truth and method."""
    import altair

    look = site_play.look_of("method", METHODS, "judge method")
    share = altair.X("value:Q", title="share that agrees or is robust, 95 % interval")
    share = share.scale(domain=[0, 1])
    return site_play.intervals(points, "task", look, share, series="method")


PLAYGROUNDS = {
    "logprob_judge": Playground(
        title="Judges: averaging over both orders",
        about=ABOUT,
        choices={"": Sliders(CONTROLS, answer)},
        chart=chart,
        picture="Agreement of each method with the planted truth, and robustness",
        columns=COLUMNS,
        caption="Agreement and robustness, 95 % intervals over questions",
    )
}
