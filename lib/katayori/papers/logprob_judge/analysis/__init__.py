"""All tables and results of notebook 03: computed and kept here, shown there.

asked.py       what was asked, and what came back
compared.py    the comparisons and their labels
returned.py    texts without a verdict, letters, reasons, criteria
averaged.py    both orders, three ways to settle them
agreement.py   agreement of the three methods with the labels
yardsticks.py  judges beside rules that read no meaning
steadiness.py  robustness, slot lean, other readings of the probabilities
places.py      one answer in both places; verdicts whose place is taken out
real_pairs.py  pairs of answers that models gave
planted.py     judges whose behaviour is known
people.py      people, and judges beside them
verdicts.py    beside published figures, claims, many readings
lesson.py      what the notebook tells in words and small tables
play.py        what its playground and explorer show
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.papers.logprob_judge.analysis.agreement import Agreement, agreement
from katayori.papers.logprob_judge.analysis.asked import Asked, ask, conditions
from katayori.papers.logprob_judge.analysis.averaged import averaged, worked_example
from katayori.papers.logprob_judge.analysis.compared import compared
from katayori.papers.logprob_judge.analysis.people import People, people
from katayori.papers.logprob_judge.analysis.places import Places, places
from katayori.papers.logprob_judge.analysis.planted import Planted, planted
from katayori.papers.logprob_judge.analysis.real_pairs import RealPairs, real_pairs
from katayori.papers.logprob_judge.analysis.returned import Returned, returned
from katayori.papers.logprob_judge.analysis.steadiness import Steadiness, steadiness
from katayori.papers.logprob_judge.analysis.verdicts import Measured, Verdicts, verdicts
from katayori.papers.logprob_judge.analysis.yardsticks import Yardsticks, yardsticks

if TYPE_CHECKING:
    import pandas as pd

    from katayori.papers.keeping import Keeper

__all__ = ["Analysis", "Asked", "analyse", "ask", "conditions"]


@dataclass(frozen=True)
class Analysis:
    """All that notebook 03 shows, by room; `example`: the paper's worked example."""

    planted: Planted
    back: Returned
    agreeing: Agreement
    beside: Yardsticks
    steady: Steadiness
    places: Places
    pairs: RealPairs
    people: People
    verdicts: Verdicts
    example: "pd.DataFrame"


def analyse(asked: Asked, keep: "Keeper") -> Analysis:
    """Computes every table and result of the verdicts, and keeps them.

    Args:
        asked: the verdicts of a run. keep: takes tables and results, as `report.results.Run` does.

    Example:
        >>> from katayori.papers.keeping import Kept
        >>> from katayori.papers.logprob_judge.examples import asked_leaning
        >>> kept = Kept()
        >>> shown = analyse(asked_leaning(), kept)
        >>> len(shown.agreeing.gains), "yardsticks" in kept.tables
        (6, True)
    """
    simulated = planted(asked.wording, keep)
    compared(asked, keep)
    back = returned(asked, keep)
    averaged(asked, keep)
    agreeing = agreement(asked, keep)
    beside = yardsticks(asked, keep, agreeing)
    steady = steadiness(asked, keep, agreeing.methods)
    of_places = places(asked, keep)
    pairs = real_pairs(asked, keep)
    of_people = people(asked, keep, simulated)
    measured = Measured(back, agreeing, steady, of_people)
    return Analysis(
        planted=simulated,
        back=back,
        agreeing=agreeing,
        beside=beside,
        steady=steady,
        places=of_places,
        pairs=pairs,
        people=of_people,
        verdicts=verdicts(asked, keep, measured),
        example=worked_example(keep),
    )
