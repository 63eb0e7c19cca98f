"""Comparisons of notebook 03 on the page of the explorer."""

from collections.abc import Sequence
from functools import cache

from katayori import profiles
from katayori.papers.logprob_judge import analysis
from katayori.papers.logprob_judge.analysis import play
from katayori.papers.logprob_judge.analysis.asked import Asked
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori_tools.exploring import Explored, Part, named, spread, table_part, text_part

PAPER = "logprob_judge"
COMPARISONS = 9


@cache
def recorded() -> Asked:
    """The recorded verdicts of judges in both orders."""
    wording = load_prompts(PAPER)
    chosen = profiles.load("recorded")
    kinds = analysis.conditions(wording, "recorded", official=False)
    prompts = list(kinds.values())
    judges = open_study(PAPER, chosen, prompts, Wanted(shown="each")).real
    study = open_study(PAPER, chosen, prompts, Wanted(models=judges, shown="each"))
    return analysis.ask(study, wording, kinds, own_design=True)


def explored() -> Explored:
    """Some comparisons, each by every judge under every prompt."""
    asked = recorded()
    every = list(asked.comparisons["item_id"])
    pairs = spread(every, COMPARISONS)
    controls = {
        "judge": named(asked.real),
        "comparison": named(pairs),
        "prompt": named(list(asked.conditions)),
    }
    return Explored(f"{len(pairs)} of {len(every)} comparisons, in both orders", controls, look)


def look(judge: str, comparison: str, prompt: str) -> Sequence[Part]:
    """One comparison as the explorer of the notebook shows it (`play.look_up`)."""
    one = play.look_up(recorded(), comparison, judge, prompt)
    parts = [text_part("Verdict of each method, and the label", one.verdict)]
    if len(one.shares):
        parts.append(table_part("Probability of each verdict in %, by order", one.shares))
    return [*parts, text_part("Both prompts and replies", one.texts)]
