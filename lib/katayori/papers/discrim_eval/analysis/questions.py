"""One question at a time: rank tests, agreement of models, counterparts (section 10)."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from katayori.metrics import rank_tests, response
from katayori.papers.discrim_eval.analysis.asked import QUESTION, Asked, without_interval
from katayori.papers.keeping import Keeper

#: The paper's numbers of the three questions it discusses one by one.
MORTGAGE, DEED, ENLISTMENT = 29, 89, 19
PAIR = [QUESTION, "factor", "level_1", "level_2"]


@dataclass(frozen=True)
class Questions:
    """Frames of the tests of single questions; columns as the functions named have them.

    Attributes:
        tests, tests_probability: `rank_tests.decision_tests`. counted, counted_probability:
            `rank_tests.count_significant`. alarms: `rank_tests.chance_alarms`. table:
            `rank_tests.question_table` with labels. always: `response.unanimous_questions`.
        effects: `rank_tests.consistent_effects`. counterparts: ratios by level on the paper's
            three subjects. ranges: `rank_tests.level_ranges` of P(yes).
    """

    tests: pd.DataFrame
    tests_probability: pd.DataFrame
    counted: pd.DataFrame
    counted_probability: pd.DataFrame
    alarms: pd.DataFrame
    table: pd.DataFrame
    always: pd.DataFrame
    effects: pd.DataFrame
    counterparts: pd.DataFrame
    ranges: pd.DataFrame


def questions(asked: Asked, keep: Keeper) -> Questions:
    """All that is said of single questions.

    Example:
        >>> from katayori.papers.discrim_eval.examples import asked_fair
        >>> from katayori.papers.keeping import Kept
        >>> found = questions(asked_fair(), Kept())
        >>> found.tests["decision_question_id"].nunique()
        2
    """
    tests, pairs = rank_tests.decision_tests(asked.values)
    keep.table("tests", tests)
    _keep_tests(asked, keep, tests, pairs)
    tests_probability, _ = rank_tests.decision_tests(asked.probabilities)
    keep.table("tests_probability", tests_probability)
    counted, counted_probability = _counted(asked, keep, tests, tests_probability)
    table = rank_tests.question_table(tests, pairs)
    table = table.merge(asked.catalogue[[QUESTION, "label"]], on=QUESTION)
    always = _always(asked, keep)
    return Questions(
        tests=tests,
        tests_probability=tests_probability,
        counted=counted,
        counted_probability=counted_probability,
        alarms=_alarms(asked, keep),
        table=keep.table("questions", table),
        always=always,
        effects=_effects(asked, keep, tests, int(always["n_questions"].iloc[0])),
        counterparts=_counterparts(asked, keep),
        ranges=_ranges(asked, keep),
    )


def _keep_tests(asked: Asked, keep: Keeper, tests: pd.DataFrame, pairs: pd.DataFrame) -> None:
    keep.table("level_pairs", pairs)
    common: dict[str, Any] = {"value": "p_holm", "unit": "p", "clusters": 1} | asked.of_line
    what = "Kruskal-Wallis, p after Holm over factors"
    keep.rows(without_interval(tests), "DE-22", what, cell=[QUESTION, "factor"], **common)
    by = ["model", QUESTION, "factor"]
    sizes = tests.set_index(by)["n"].reindex(pairs.set_index(by).index)
    counted = pairs.assign(n=sizes.to_numpy())
    of_models = without_interval(counted[counted["source"] != "simulated"])
    what = "Conover, p after Holm over pairs"
    keep.rows(of_models, "DE-21", what, cell=PAIR, **common)


def _counted(
    asked: Asked, keep: Keeper, tests: pd.DataFrame, tests_probability: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """On how many questions a factor is significant."""
    common: dict[str, Any] = {"value": "n_significant", "cell": ["factor"], "unit": "questions"}
    sampled = keep.table("tests_counted", rank_tests.count_significant(tests))
    what = "questions with a significant factor"
    with_clusters = sampled.assign(clusters=sampled["n"])
    keep.rows(with_clusters, "DE-22", what, headline=True, **common, **asked.of_line)
    probability = rank_tests.count_significant(tests_probability)
    keep.table("tests_counted_probability", probability)
    what = "questions with a significant factor, probability"
    with_clusters = probability.assign(clusters=probability["n"])
    keep.rows(with_clusters, "DE-22", what, **common, **asked.of_prefix)
    return sampled, probability


def _alarms(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """How many questions would show a factor if none mattered."""
    alarms = rank_tests.chance_alarms(asked.values, draws=100, seed=asked.seed)
    ends = alarms.assign(clusters=alarms["n"], ci_low=alarms["low"], ci_high=alarms["high"])
    what = "questions with a significant factor if none mattered"
    keep.rows(ends, "DE-34", what, value="expected", unit="questions", **asked.of_line)
    return keep.table("chance_alarms", alarms)


def _always(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Questions that every model always answers alike."""
    always = keep.table("unanimous_questions", response.unanimous_questions(asked.asked_values))
    whole = int(always["n_questions"].iloc[0])
    common: dict[str, Any] = {"source": asked.source, "unit": "questions"} | asked.of_line
    for name in ("always_yes", "always_no"):
        count = int(always[name].iloc[0])
        what = f"questions {name.replace('_', ' ')} for all models"
        ends = rank_tests.count_ends(count, whole)
        keep.row("DE-34", what, always[name].iloc[0], n=whole, clusters=whole, **common, **ends)
    return always


def _effects(asked: Asked, keep: Keeper, tests: pd.DataFrame, whole: int) -> pd.DataFrame:
    """Factors of questions that are significant for every model."""
    effects = rank_tests.consistent_effects(tests[tests["model"].isin(asked.models)])
    keep.table("consistent_effects", effects)
    tested = effects[effects["n_models"] > 0]
    count = int(tested["all_significant"].sum())
    what = "questions and factors significant for all models"
    common: dict[str, Any] = {"source": asked.source, "unit": "questions x factors"}
    ends = rank_tests.count_ends(count, len(tested))
    common |= asked.of_line | {"n": len(tested), "clusters": whole}
    keep.row("DE-34", what, count, **common, **ends)
    return effects


def _counterparts(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """Response ratios by level on the counterparts of the deed and the enlistment."""
    two = [asked.counterparts.get(DEED), asked.counterparts.get(ENLISTMENT)]
    of_two = asked.asked_values[asked.asked_values[QUESTION].isin(two)]
    ratios = response.ratios_by_factor(of_two, by=[QUESTION])
    what = "response ratio on a counterpart question"
    common: dict[str, Any] = {"value": "ratio", "unit": "share of yes", "clusters": 1}
    cell = [QUESTION, "factor", "level"]
    keep.rows(ratios, "DE-33", what, cell=cell, **common, **asked.of_line)
    return keep.table("counterpart_ratios", ratios)


def _ranges(asked: Asked, keep: Keeper) -> pd.DataFrame:
    """The largest difference of P(yes) between two levels, for each question and factor."""
    ranges = keep.table("level_ranges", rank_tests.level_ranges(asked.asked_probabilities))
    ends = ranges.rename(columns={"low": "ci_low", "high": "ci_high"})
    of_counterparts = ends[ends[QUESTION].isin(asked.counterparts.values())]
    what = "largest difference of P(yes) between two levels"
    common: dict[str, Any] = {"value": "difference", "unit": "P(yes)", "cell": [QUESTION, "factor"]}
    keep.rows(of_counterparts, "DE-33", what, **common, **asked.of_prefix)
    return ranges
