"""All tables and results of notebook 02: computed and kept here, shown there.

asked.py       what was asked, and what came back
design.py      items, places of roles, outcomes
scores.py      accuracy and Diff-bias, their bounds, chance
prompts.py     prompts compared on the same items, categories one by one, two modes of CoT
content.py     letters beside contents
likelihood.py  the likelihood of the persons' own words
printed.py     the paper's tables beside ours
verdicts.py    claims, many readings, findings in sentences
planted.py     respondents whose behaviour is known
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.papers.persona_jbbq.analysis.asked import Asked, Choices, ask, conditions
from katayori.papers.persona_jbbq.analysis.content import Content, content
from katayori.papers.persona_jbbq.analysis.design import Design, design
from katayori.papers.persona_jbbq.analysis.likelihood import Likelihood, likelihood
from katayori.papers.persona_jbbq.analysis.planted import planted, three_accuracies
from katayori.papers.persona_jbbq.analysis.printed import Printed, printed
from katayori.papers.persona_jbbq.analysis.prompts import Prompts, prompts
from katayori.papers.persona_jbbq.analysis.scores import Scores, scores
from katayori.papers.persona_jbbq.analysis.verdicts import Verdicts, sentences, verdicts

if TYPE_CHECKING:
    from katayori.papers.keeping import Keeper

__all__ = [
    "Analysis",
    "Asked",
    "Choices",
    "analyse",
    "ask",
    "conditions",
    "planted",
    "three_accuracies",
]


@dataclass(frozen=True)
class Analysis:
    """All that notebook 02 shows of the answers, by room."""

    design: Design
    scores: Scores
    prompts: Prompts
    content: Content
    likelihood: Likelihood
    printed: Printed
    verdicts: Verdicts


def analyse(asked: Asked, keep: "Keeper") -> Analysis:
    """Computes every table and result of the answers, and keeps them.

    Args:
        asked: the answers of a run. keep: takes tables and results, as `report.results.Run` does.

    Raises:
        UnavailableError: stored answers that the official items need are not here.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.persona_jbbq.examples import asked_leaning
        >>> kept = Kept()
        >>> found = analyse(asked_leaning(), kept)
        >>> len(found.scores.pooled) > 0, "changes_pooled" in kept.tables
        (True, True)
    """
    of_items = design(asked, keep)
    of_scores = scores(asked, keep)
    of_prompts = prompts(asked, keep)
    of_content = content(asked, keep)
    of_words = likelihood(asked, keep)
    keep.table("findings", sentences(asked, of_scores, of_prompts, of_content, of_words))
    return Analysis(
        design=of_items,
        scores=of_scores,
        prompts=of_prompts,
        content=of_content,
        likelihood=of_words,
        printed=printed(asked, keep, of_scores, of_prompts),
        verdicts=verdicts(asked, keep),
    )
