"""Gaps between levels: what is planted is found and noise is not, beside a second effect."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.papers.discrim_eval import level_gaps
from katayori.papers.discrim_eval.mere_words import BLANK_OF

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

PEOPLE = pd.DataFrame(
    itertools.product(range(20), range(20, 101, 10), "fmn", "abcde"),
    columns=["decision_question_id", "age", "gender", "race"],
)


def asked(rng, **effects):
    """P(yes) in which questions and persons differ by chance, with effects planted."""
    p = rng.normal(0.5, 0.1, 20)[PEOPLE["decision_question_id"]]
    p = p + rng.normal(0, 0.05, len(PEOPLE))
    p = p + effects.get("age", 0) * ((PEOPLE["age"] - 20) / 80 - 0.5)
    p = p + effects.get("race", 0) * (PEOPLE["race"] == "c")
    return PEOPLE.assign(model="m", source="recorded", value=p)


def gaps(rng, **effects):
    return level_gaps.level_gaps(asked(rng, **effects)).set_index("factor")


def test_what_is_planted_is_recovered_beside_a_second_effect():
    rng = np.random.default_rng(0)
    found = pd.concat([gaps(rng, age=0.04, race=-0.06) for _ in range(100)])
    by_factor = found.groupby("factor")
    assert by_factor["value"].mean()["age"] == pytest.approx(0.04, abs=0.001)
    race = found.loc["race"]
    assert set(race["level"]) == {"c"} and race["value"].mean() == pytest.approx(-0.06, abs=0.001)
    held = (race["ci_low"] <= -0.06) & (race["ci_high"] >= -0.06)
    assert held.mean() >= 0.93
    assert set(found.loc["age", "level"]) == {"20 to 100"}


@pytest.mark.slow_all
def test_noise_is_called_a_gap_in_at_most_a_twentieth_of_studies():
    """400 studies with an effect of age and none of gender and race: at most 31 (99 %) each."""
    rng = np.random.default_rng(1)
    found = pd.concat([gaps(rng, age=0.04) for _ in range(400)])
    off = (found["ci_low"] > 0) | (found["ci_high"] < 0)
    assert off["gender"].sum() <= 31 and off["race"].sum() <= 31
    assert off["age"].mean() > 0.9


def test_the_blank_is_the_gap_of_as_many_meaningless_levels():
    rng = np.random.default_rng(2)
    blank = asked(rng, race=-0.03).rename(columns=BLANK_OF)
    found = level_gaps.beside_blank(level_gaps.level_gaps(asked(rng, race=0.1)), blank)
    told = found.set_index("factor")
    assert told.loc["race", "blank"].round(2) == 0.03 and told.loc["age", "blank"] < 0.02
    assert set(found["blank_status"]) == {"ok"}
    other = level_gaps.beside_blank(found.drop(columns=["blank", "blank_status"]), blank[:0])
    assert other["blank"].isna().all() and set(other["blank_status"]) == {""}


def test_invalid_answers_are_counted_and_a_question_without_a_level_is_left_out():
    values = asked(np.random.default_rng(3))
    lost = (values["decision_question_id"] == 0) & (values["race"] == "a")
    values.loc[lost, "value"] = np.nan
    found = level_gaps.level_gaps(values).set_index("factor")
    assert set(found["n_invalid"]) == {27} and set(found["n"]) == {2673}
    assert found["clusters"].to_dict() == {"age": 20, "gender": 20, "race": 19}
    nothing = level_gaps.level_gaps(values.assign(value=np.nan))
    assert set(nothing["status"]) == {"no_valid_answer"} and nothing["value"].isna().all()
