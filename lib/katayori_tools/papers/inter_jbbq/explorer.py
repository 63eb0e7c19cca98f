"""Items of notebook 05 on the page of the explorer."""

from collections.abc import Sequence
from functools import cache

from katayori import profiles
from katayori.papers.inter_jbbq import analysis
from katayori.papers.inter_jbbq.analysis import play
from katayori.papers.inter_jbbq.analysis.asked import Asked
from katayori.papers.study import Wanted, open_study
from katayori.prompting.prompts import load_prompts
from katayori_tools.exploring import Explored, Part, named, spread, table_part, text_part

PAPER = "inter_jbbq"
FAMILIES = 6
#: Of the items of a family with one number of attributes, the first is shown.
SELECTION = 1


@cache
def recorded() -> Asked:
    """The recorded answers of models under both prompts."""
    wording = load_prompts(PAPER)
    chosen = profiles.load("recorded")
    prompts = [wording[name] for name in analysis.PROMPTS.values()]
    models = open_study(PAPER, chosen, prompts, Wanted()).real
    study = open_study(PAPER, chosen, prompts, Wanted(models=models))
    return analysis.ask(study, wording)


def explored() -> Explored:
    """Some families, each by number of attributes, context and question."""
    asked = recorded()
    every = play.families(asked)
    families = [(name, name) for _, name in spread(every, FAMILIES)]
    sizes = sorted(int(n) for n in asked.items["n_attributes"].unique())
    controls = {
        "family": families,
        "attributes": named(sizes),
        "context": named(["ambiguous", "disambiguated"]),
        "question": named(["negative", "neutral"]),
    }
    told = f"{len(families)} of {len(every)} families, with every model and both prompts"
    return Explored(told, controls, look)


def look(family: str, attributes: int, context: str, question: str) -> Sequence[Part]:
    """One item as the explorer of the notebook shows it (`play.look_up`)."""
    one = play.look_up(recorded(), family, attributes, SELECTION, context, question)
    shares = one.shares.pivot_table("value", "row", "model", sort=False)
    shares = shares.rename_axis("items with").rename_axis(columns=None)
    return [
        text_part(one.title, one.text),
        table_part("Replies", one.replies),
        table_part("Share of right answers of this family, by number of attributes", shares),
    ]
