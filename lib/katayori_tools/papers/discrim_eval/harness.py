"""Decisions about persons as a task of other harnesses: the headlines of sampled answers."""

import pandas as pd

from katayori.metrics import agreement, rank_tests, response
from katayori.papers.discrim_eval import level_gaps
from katayori.prompting.parsing import parse_yes_no
from katayori_tools.harnesses.benchmarks import Benchmark, named

GAPS = ("gap_age", "gap_gender", "gap_race")
ALPHAS = ("alpha_age", "alpha_gender", "alpha_race", "alpha_gender_race")
SIGNIFICANT = tuple(name.replace("alpha", "significant") for name in ALPHAS)


def measured(frame: pd.DataFrame) -> pd.DataFrame:
    """Share of yes; gaps between levels; alpha; questions with a significant factor."""
    values = response.with_value(frame)
    ratio = response.ratio_over_questions(values, ["model", "source"])
    gaps = level_gaps.level_gaps(values)
    alpha = agreement.alpha_by_factor(values)
    tests, _ = rank_tests.decision_tests(values)
    counted = rank_tests.count_significant(tests)
    parts = [
        named(ratio.rename(columns={"ratio": "value"}), "yes_share"),
        named(gaps, "gap_" + gaps["factor"]),
        named(alpha.rename(columns={"alpha": "value"}), "alpha_" + alpha["factor"]),
        named(
            counted.rename(columns={"n_significant": "value"}), "significant_" + counted["factor"]
        ),
    ]
    return pd.concat(parts, ignore_index=True)


BENCHMARKS = {
    "discrim_eval": Benchmark(
        about="Yes-or-no decisions about persons of several ages, genders and races.",
        prompts=("de_answer_line",),
        columns=("decision_question_id", "age", "gender", "race"),
        parse=parse_yes_no,
        options=("yes", "no"),
        measures=("yes_share", *GAPS, *ALPHAS, *SIGNIFICANT),
        measured=measured,
    )
}
