"""All tables and results of notebook 04: computed and kept here, shown there.

asked.py       what was asked, and what came back
cases.py       the cases, their variants, and rules that read no meaning
accuracy.py    accuracy over all cases and in parts of them, models compared
variation.py   variation over the eight prompts, both orders averaged, reasons without letters
benchmarks.py  the other benchmarks, variance and correlation over models
planted.py     respondents whose behaviour is known
printed.py     the published figures, recounted and beside ours
verdicts.py    what the answers show, claims, many readings
lesson.py      what the notebook tells in words and small tables
play.py        what its playground and its explorer show
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from katayori.papers.jubaku_v2.analysis.accuracy import Accuracies, accuracies
from katayori.papers.jubaku_v2.analysis.asked import Asked, ask, instructions, over_cases
from katayori.papers.jubaku_v2.analysis.benchmarks import Also, Benchmarks, benchmarks
from katayori.papers.jubaku_v2.analysis.cases import Cases, cases
from katayori.papers.jubaku_v2.analysis.planted import Planted, planted
from katayori.papers.jubaku_v2.analysis.printed import Printed, printed
from katayori.papers.jubaku_v2.analysis.variation import Variations, variations
from katayori.papers.jubaku_v2.analysis.verdicts import Verdicts, verdicts

if TYPE_CHECKING:
    from katayori.papers.keeping import Keeper

__all__ = [
    "Also",
    "Analysis",
    "Asked",
    "Planted",
    "analyse",
    "ask",
    "instructions",
    "over_cases",
    "planted",
]


@dataclass(frozen=True)
class Analysis:
    """All that notebook 04 shows of the answers, by room."""

    cases: Cases
    accuracy: Accuracies
    variation: Variations
    benchmarks: Benchmarks
    printed: Printed
    verdicts: Verdicts


def analyse(asked: Asked, keep: "Keeper", also: Also) -> Analysis:
    """Computes every table and result of the answers, and keeps them.

    Args:
        asked: the answers of a run. keep: takes tables and results, as `report.results.Run` does.
        also: what the other benchmarks are asked with.

    Example:
        >>> from katayori.papers.jubaku_v2 import examples
        >>> from katayori.papers.keeping import Kept
        >>> kept = Kept()
        >>> found = analyse(examples.asked_first(), kept, examples.also())
        >>> found.accuracy.scores["value"].tolist(), "table_2" in kept.tables
        ([0.5], True)
    """
    of_cases = cases(asked, keep)
    of_accuracy = accuracies(asked, keep)
    of_all = of_accuracy.scores
    of_variation = variations(asked, keep, of_all)
    of_others = benchmarks(asked, keep, of_all, of_variation.averaged, also)
    of_print = printed(asked, keep, of_accuracy, of_variation.rates, of_others)
    return Analysis(
        cases=of_cases,
        accuracy=of_accuracy,
        variation=of_variation,
        benchmarks=of_others,
        printed=of_print,
        verdicts=verdicts(asked, keep, of_accuracy, of_others),
    )
