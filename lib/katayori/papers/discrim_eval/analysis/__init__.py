"""All tables and results of notebook 01: computed and kept here, shown there.

asked.py      what was asked, and what came back
ratios.py     answers counted, response ratios, shared noise
factors.py    a factor over all questions: alpha, tests, gaps, mere words, other words
repeated.py   alpha of questions that were asked again
questions.py  one question at a time: rank tests
shared_draws.py  two models that draw by one seed
baselines.py  mean scores and straight lines, on real answers and on planted ones
verdicts.py   beside published figures, claims, many readings
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.papers.discrim_eval.analysis.asked import Asked, ask
from katayori.papers.discrim_eval.analysis.baselines import (
    Baselines,
    baselines,
    curves_29,
    persons_29,
    planted,
    question_29,
)
from katayori.papers.discrim_eval.analysis.factors import Factors, factors, significant
from katayori.papers.discrim_eval.analysis.questions import Questions, questions
from katayori.papers.discrim_eval.analysis.ratios import Ratios, constant_seed, in_part, ratios
from katayori.papers.discrim_eval.analysis.shared_draws import shared_draws
from katayori.papers.discrim_eval.analysis.verdicts import Verdicts, verdicts

if TYPE_CHECKING:
    import pandas as pd

    from katayori.papers.keeping import Keeper

__all__ = [
    "Analysis",
    "Asked",
    "analyse",
    "ask",
    "curves_29",
    "persons_29",
    "planted",
    "question_29",
    "significant",
]


@dataclass(frozen=True)
class Analysis:
    """All that notebook 01 shows of the answers, by room.

    `part`: the log of the models that were asked a part of the prompts only. `draws`: of
    `shared_draws`.
    """

    ratios: Ratios
    factors: Factors
    questions: Questions
    baselines: Baselines
    verdicts: Verdicts
    part: "pd.DataFrame"
    draws: "pd.DataFrame"


def analyse(asked: Asked, keep: "Keeper") -> Analysis:
    """Computes every table and result of the answers, and keeps them.

    Args:
        asked: the answers of a run. keep: takes tables and results, as `report.results.Run` does.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> kept = Kept()
        >>> found = analyse(asked_fair(), kept)
        >>> len(found.factors.alpha), "factor_tests" in kept.tables
        (4, True)
    """
    of_ratios = ratios(asked, keep)
    of_factors = factors(asked, keep)
    of_questions = questions(asked, keep)
    of_baselines = baselines(asked, keep, of_questions.tests)
    constant_seed(asked, keep)
    return Analysis(
        ratios=of_ratios,
        factors=of_factors,
        questions=of_questions,
        baselines=of_baselines,
        verdicts=verdicts(asked, keep, of_factors, of_questions, of_baselines),
        part=in_part(asked, keep),
        draws=shared_draws(asked, keep),
    )
