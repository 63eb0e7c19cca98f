"""All tables and results of notebook 05: computed and kept here, shown there.

asked.py     what was asked, and what came back
words.py     values with their intervals as texts
made.py      how the items were made
accuracy.py  answers and right ones, by place, topic and number of attributes
leans.py     abstaining, the person who is named, the direction of errors
trends.py    slopes over the number of attributes, readings by content
slopes.py    what these slopes say
beside_letters.py  letters beside contents, where the place cancels
likelihoods.py  bias by the likelihood of the persons' own words
pairs.py     one attribute more, and pairs of attributes
planted.py   respondents whose behaviour is known
verdicts.py  claims, many readings
lesson.py    what the notebook shows: rows of figures and small tables
in_short.py  what a run shows, in sentences
play.py      its playground and explorer
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.papers.inter_jbbq.analysis.accuracy import Accuracy, accuracy
from katayori.papers.inter_jbbq.analysis.asked import PROMPTS, Asked, ask, of
from katayori.papers.inter_jbbq.analysis.beside_letters import contents
from katayori.papers.inter_jbbq.analysis.leans import Leans, leans
from katayori.papers.inter_jbbq.analysis.likelihoods import Likelihood, likelihood
from katayori.papers.inter_jbbq.analysis.made import Made, made
from katayori.papers.inter_jbbq.analysis.pairs import (
    Flips,
    Interactions,
    flips,
    interactions,
    spread,
)
from katayori.papers.inter_jbbq.analysis.planted import planted, simulated_power
from katayori.papers.inter_jbbq.analysis.trends import Trends, trends
from katayori.papers.inter_jbbq.analysis.verdicts import Verdicts, verdicts

if TYPE_CHECKING:
    import pandas as pd

    from katayori.papers.keeping import Keeper

__all__ = ["PROMPTS", "Analysis", "Asked", "analyse", "ask", "of", "planted"]

INTERACTING = "sim-inter-interaction"


@dataclass(frozen=True)
class Analysis:
    """All that notebook 05 shows of the answers, by room.

    `power`: of `simulated_power`. `spread`: of `subset_spread`. `contents`: of
    `beside_letters.contents`.
    """

    made: Made
    accuracy: Accuracy
    leans: Leans
    trends: Trends
    contents: "pd.DataFrame"
    likelihood: Likelihood
    flips: Flips
    spread: "pd.DataFrame"
    power: "pd.DataFrame"
    interactions: Interactions
    verdicts: Verdicts


def analyse(asked: Asked, keep: "Keeper") -> Analysis:
    """Computes every table and result of the answers, and keeps them.

    Args:
        asked: the answers of a run. keep: takes tables and results, as `report.results.Run` does.

    Example:
        >>> from katayori.papers.inter_jbbq.examples import analysis_additive
        >>> found = analysis_additive()
        >>> found.flips.n_pairs, found.trends.readings["reading"].nunique()
        (768, 3)
    """
    power = simulated_power(keep)
    of_pair = power[power["model"] == INTERACTING].set_index("topic")["share"]
    of_accuracy = accuracy(asked, keep)
    of_trends = trends(asked, keep)
    return Analysis(
        made=made(asked, keep),
        accuracy=of_accuracy,
        leans=leans(asked, keep),
        trends=of_trends,
        contents=contents(asked, of_trends.readings, keep),
        likelihood=likelihood(asked, keep),
        flips=flips(asked, keep),
        spread=spread(asked, keep),
        power=power,
        interactions=interactions(asked, keep, of_pair),
        verdicts=verdicts(asked, keep, of_accuracy.topic_of_table_4),
    )
