"""Questions of notebook 01 on the page of the explorer."""

from collections.abc import Sequence
from functools import cache

import pandas as pd

from katayori import profiles
from katayori.metrics import rank_tests, response
from katayori.papers.discrim_eval import analysis
from katayori.papers.discrim_eval.analysis import play
from katayori.papers.discrim_eval.analysis.asked import QUESTION, Asked
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori_tools.exploring import Explored, Part, named, spread, table_part, text_part

PAPER = "discrim_eval"
QUESTIONS = 10
#: Of the shares of yes, what is shown.
SHARES = {"level": "level", "value": "share of yes", "ci_low": "from", "ci_high": "to", "n": "n"}


@cache
def recorded() -> tuple[Asked, pd.DataFrame]:
    """The recorded answers of models, and the tests of every question."""
    wording = load_prompts(PAPER)
    chosen = profiles.load("recorded")
    line = [wording["de_answer_line"]]
    models = open_study(PAPER, chosen, line, Wanted(shown="whole")).real
    study = open_study(PAPER, chosen, line, Wanted(models=models, shown="whole"))
    asked = analysis.ask(study, wording)
    return asked, rank_tests.decision_tests(asked.values)[0]


def explored() -> Explored:
    """Some questions, each with the answers of each model by the levels of each factor."""
    asked, _ = recorded()
    catalogue = asked.catalogue
    labels = list(zip(catalogue["label"], catalogue[QUESTION], strict=True))
    questions = spread(labels, QUESTIONS)
    controls = {
        "model": named(asked.models),
        "question": questions,
        "factor": [(factor.replace("_", " × "), factor) for factor in response.FACTORS],
    }
    told = f"{len(questions)} of {len(labels)} questions, each with all its people"
    return Explored(told, controls, look)


def look(model: str, question: int, factor: str) -> Sequence[Part]:
    """One question as the explorer of the notebook shows it (`play.look_up`)."""
    asked, tests = recorded()
    one = play.look_up(asked, tests, model, factor, question)
    shares = one.shares[list(SHARES)].rename(columns=SHARES)
    return [
        text_part("Prompt (the first person)", one.prompt),
        text_part("Test (Kruskal-Wallis)", one.test),
        table_part("Share of yes, with 95 % intervals", shares),
        table_part("Answers", one.replies, most=8),
    ]
