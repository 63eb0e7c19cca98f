"""Items of notebook 02 on the page of the explorer."""

from collections.abc import Sequence
from functools import cache

from katayori import profiles
from katayori.papers.persona_jbbq import analysis
from katayori.papers.persona_jbbq.analysis import lesson, play
from katayori.papers.persona_jbbq.analysis.asked import Asked
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori_tools.exploring import Explored, Part, named, spread, table_part, text_part

PAPER = "persona_jbbq"
TEMPLATES = 10


@cache
def recorded() -> Asked:
    """The recorded answers of models under every prompt."""
    wording = load_prompts(PAPER)
    chosen = profiles.load("recorded")
    conditions = analysis.conditions(wording, english=False, biased_persona=True)
    prompts = list(conditions.values())
    models = open_study(PAPER, chosen, prompts, Wanted()).real
    study = open_study(PAPER, chosen, prompts, Wanted(models=models))
    return analysis.ask(study, wording, conditions, analysis.Choices())


def explored() -> Explored:
    """Some templates, each in every context and with both questions."""
    asked = recorded()
    every = lesson.template_names(asked)
    templates = spread(every, TEMPLATES)
    controls = {
        "model": named(asked.real),
        "template": templates,
        "context": lesson.levels(asked, "context_condition"),
        "question": lesson.levels(asked, "polarity"),
    }
    told = f"{len(templates)} of {len(every)} templates, of each item the answers to every prompt"
    return Explored(told, controls, look)


def look(model: str, template: str, context: str, question: str) -> Sequence[Part]:
    """One item as the explorer of the notebook shows it (`play.look_up`)."""
    one = play.look_up(recorded(), model, template, context, question)
    parts = [text_part("Item and first prompt", one.told)]
    if len(one.replies):
        parts.append(table_part("Answers", one.replies))
    if len(one.chances):
        wide = one.chances.pivot_table("value", "prompt", "person", sort=False)
        parts.append(table_part("Probability of each person, by prompt", wide))
    return parts
