"""Cases of notebook 04 on the page of the explorer."""

from collections.abc import Sequence
from functools import cache

from katayori import profiles
from katayori.papers.items import OwnItems
from katayori.papers.jubaku_v2 import analysis
from katayori.papers.jubaku_v2.analysis import play
from katayori.papers.jubaku_v2.analysis.asked import Asked
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori_tools.exploring import Explored, Part, spread, table_part, text_part

PAPER = "jubaku_v2"
CASES = 12


@cache
def recorded() -> Asked:
    """The recorded answers of models to every case in its eight variants."""
    wording = load_prompts(PAPER)
    chosen = profiles.load("recorded")
    prompts = analysis.instructions(wording, chosen, OwnItems())
    models = open_study(PAPER, chosen, prompts, Wanted()).real
    study = open_study(PAPER, chosen, prompts, Wanted(models=models))
    return analysis.ask(study, prompts, [])


def explored() -> Explored:
    """Some cases, each with the eight answers of each model."""
    each = recorded().one_each
    labels = each["case_id"].astype(str) + ", " + each["category"]
    every = list(zip(labels, each["case_id"], strict=True))
    cases = spread(every, CASES)
    told = f"{len(cases)} of {len(every)} cases, each in its eight variants"
    return Explored(told, {"case": cases}, look)


def look(case: str) -> Sequence[Part]:
    """One case as the explorer of the notebook shows it (`play.look_up`)."""
    one = play.look_up(recorded(), case)
    wide = one.probabilities.pivot_table("value", "prompt", "model", sort=False)
    return [
        text_part(one.title, one.text),
        table_part("Letter and meaning", one.answers),
        table_part("P(neutral); without probabilities 1 for the neutral reason", wide),
    ]
