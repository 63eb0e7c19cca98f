"""Exchange tests of a factor: they find it beside another one, and nothing where nothing is."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from katayori.frames import FrameError
from katayori.metrics.agreement import alpha_closed_form
from katayori.metrics.exchange import exchange_test
from katayori.metrics.repeats import alpha_from_replicates

TESTED = {"value": "value", "level": "gender", "row": "row"}
COLUMNS = {"level": "gender", "row": "row", "question": "question"}


def study(questions: int = 70, races: int = 5) -> pd.DataFrame:
    """The design of discrim-eval: question x age x gender x race, a row without the gender."""
    grid = itertools.product(range(questions), range(9), range(3), range(races))
    frame = pd.DataFrame(list(grid), columns=["question", "age", "gender", "race"])
    return frame.assign(row=frame["age"] * races + frame["race"])


DESIGN = study()


def answers(rng, *, age: float = 0, gender: float = 0, own: float = 0, missing: float = 0.02):
    """Answers with effects in log odds: of age, of gender, and of gender in each question."""
    frame = DESIGN
    height = rng.normal(0, 1.5, 70)[frame["question"]]
    slope = rng.normal(1, 1, 70)[frame["question"]]
    eta = height + age * slope * (frame["age"].to_numpy() - 4) / 2.6
    eta = eta + gender * (frame["gender"].to_numpy() - 1)
    eta = eta + rng.normal(0, 1, (70, 3))[frame["question"], frame["gender"]] * own
    value = (rng.random(len(frame)) < expit(eta)).astype(float)
    value[rng.random(len(frame)) < missing] = np.nan
    return frame.assign(value=value)


def rejections(repetitions: int, first_seed: int, **effects: float) -> np.ndarray:
    """Share of studies with p <= .05: any effect, common direction."""
    count = np.zeros(2)
    for number in range(repetitions):
        rng = np.random.default_rng(first_seed + number)
        test = exchange_test(answers(rng, **effects), draws=99, seed=10**6 + number, **TESTED)
        count += (test["p"] <= 0.05).to_numpy()
    return count / repetitions


def test_noise_stays_noise_beside_a_strong_effect_of_another_attribute():
    """Level .05, 60 studies: at most 8 rejections are to be expected (binomial, .99)."""
    assert (rejections(60, 100, age=0.8) <= 8 / 60).all()


def test_a_weak_effect_is_found_beside_a_strong_one():
    """The former test by alpha's noise floor found it in none of 40 studies."""
    any_effect, direction = rejections(12, 200, age=0.5, gender=0.3)
    assert any_effect == 1
    assert direction == 1


def test_effects_without_a_common_direction_are_told_apart():
    """Every question its own effect: any effect yes, direction no."""
    any_effect, direction = rejections(40, 300, age=0.5, own=0.6)
    assert any_effect == 1
    assert direction <= 6 / 40


def test_the_statistics_by_hand():
    """Two questions of two rows: T is (1, -1) and (-.5, .5), n is 2 in each cell."""
    frame = pd.DataFrame(
        {
            "question": [1, 1, 1, 1, 2, 2, 2, 2],
            "row": [1, 1, 2, 2, 1, 1, 2, 2],
            "gender": ["a", "b"] * 4,
            "value": [1, 0, 1, 0, 0, 1, 1, 1],
        }
    )
    test = exchange_test(frame, draws=199, **TESTED).set_index("test")
    # Any effect: (1 + 1) / 2 + (.25 + .25) / 2.
    assert test.loc["any_effect", "value"] == pytest.approx(1.25)
    # Three rows differ, eight ways to exchange them; the two of question 1 agree in four of them.
    assert test.loc["any_effect", "p"] == pytest.approx(0.5, abs=0.1)
    assert test.loc["common_direction", "status"] == "few_questions"
    assert test["n"].tolist() == [8, 8]


def test_hotelling_is_the_textbook_one():
    """Two levels: Q m' C^-1 m is the square of the paired t."""
    rng = np.random.default_rng(1)
    rows = [
        {"question": q, "row": r, "gender": g, "value": rng.normal(0.3 * (g == "a"))}
        for q in range(25)
        for r in range(3)
        for g in "ab"
    ]
    frame = pd.DataFrame(rows)
    test = exchange_test(frame, draws=999, **TESTED).set_index("test")
    wide = frame.pivot_table(index="question", columns="gender", values="value")
    difference = wide["a"] - wide["b"]
    t = difference.mean() / (difference.std() / 5)
    assert test.loc["common_direction", "value"] == pytest.approx(t**2)
    from scipy.stats import ttest_1samp

    p = ttest_1samp(difference, 0).pvalue
    assert test.loc["common_direction", "p"] == pytest.approx(p, abs=0.03)


@pytest.mark.parametrize(
    "change, status",
    [
        (lambda f: f.assign(value=1.0), "constant"),
        (lambda f: f.assign(gender="a"), "one_level"),
        (lambda f: f.assign(value=f["value"].where(f["gender"] == 0)), "no_pairable"),
    ],
)
def test_what_cannot_be_tested_has_a_status(change, status):
    frame = change(answers(np.random.default_rng(2)))
    test = exchange_test(frame, draws=9, **TESTED)
    assert set(test["status"]) == {status}
    assert test["p"].isna().all()


def test_one_question_has_no_direction():
    frame = answers(np.random.default_rng(2)).query("question == 0")
    test = exchange_test(frame, draws=19, **TESTED).set_index("test")
    assert test.loc["common_direction", "status"] == "few_questions"
    assert test.loc["any_effect", "status"] in ("ok", "constant")


def test_missing_answers_that_follow_the_level_are_said():
    """A fifth of one level's yes is missing: the status says so."""
    rng = np.random.default_rng(4)
    frame = answers(rng, missing=0)
    lost = (frame["gender"] == 1) & (frame["value"] == 1) & (rng.random(len(frame)) < 0.2)
    frame.loc[lost, "value"] = np.nan
    test = exchange_test(frame, draws=49, **TESTED)
    assert set(test["status"]) == {"missing_by_level"}
    assert (test["missing_high"] > 0.05).all()


def test_a_wrong_column_is_named():
    with pytest.raises(FrameError, match="no column 'sex'; columns there: 'question'"):
        exchange_test(DESIGN.assign(value=1.0), **TESTED | {"level": "sex"})


# --- alpha from replicates ----------------------------------------------------------------------


def replicated(rng, chances: pd.DataFrame, times) -> pd.DataFrame:
    """Each cell of `chances` (column p) answered so many times."""
    frame = chances.loc[chances.index.repeat(times)]
    return frame.assign(value=(rng.random(len(frame)) < frame["p"]).astype(float))


def test_replicates_recover_the_alpha_of_the_probabilities():
    """Ragged (2 to 6 answers a cell): within .03 of the truth; single answers lie far below."""
    rng = np.random.default_rng(7)
    height = rng.normal(0, 2, 70)[DESIGN["question"]]
    shift = rng.normal(0, 0.6, (70, 3))[DESIGN["question"], DESIGN["gender"]]
    chances = DESIGN.assign(p=expit(height + shift))
    table = chances.pivot_table(index=["question", "row"], columns="gender", values="p")
    truth = alpha_closed_form(table)
    drawn = replicated(rng, chances, rng.integers(2, 7, len(chances)))
    result = alpha_from_replicates(drawn, **COLUMNS)
    assert result["status"] == "ok"
    assert result["alpha"] == pytest.approx(truth, abs=0.03)
    assert result["ci_low"] < truth < result["ci_high"]
    single = drawn.groupby(["question", "row", "gender"])["value"].first().unstack("gender")
    assert alpha_closed_form(single) < truth - 0.15


def test_near_constant_and_single_answers_have_a_status():
    rng = np.random.default_rng(8)
    constant = replicated(rng, DESIGN.assign(p=0.5), 3)
    assert alpha_from_replicates(constant, **COLUMNS)["status"] == "near_constant"
    single = answers(rng)
    result = alpha_from_replicates(single, **COLUMNS)
    assert result["status"] == "no_replicates"
    assert np.isnan(result["alpha"])


def _alike(gap: float, n_questions: int = 30) -> pd.DataFrame:
    """Every question shows the same gap between two levels, exactly."""
    design = itertools.product(range(n_questions), range(4), ("f", "m"))
    frame = pd.DataFrame(design, columns=["question", "row", "level"])
    return frame.assign(value=frame["level"].eq("f") * gap)


def test_an_effect_that_is_the_same_in_every_question_is_found():
    columns = {"level": "level", "row": "row", "value": "value", "draws": 199}
    tests = exchange_test(_alike(1.0), **columns).set_index("test")
    found = tests.loc["common_direction"]
    assert (found["value"], found["p"], found["status"]) == (float("inf"), 0.005, "ok")
    # A third level without an effect leaves the mean outside the covariance in one direction only.
    three = _alike(1.0)
    rng = np.random.default_rng(0)
    other = three[three["level"] == "m"].assign(level="n")
    other["value"] = np.repeat(rng.normal(size=30), 4)
    both = pd.concat([three, other])
    tests = exchange_test(both, **columns).set_index("test")
    assert tests.loc["common_direction", "p"] == 0.005


def test_no_effect_at_all_is_constant_and_not_endless():
    columns = {"level": "level", "row": "row", "value": "value", "draws": 19}
    tests = exchange_test(_alike(0.0), **columns)
    assert tests["status"].tolist() == ["constant", "constant"]
