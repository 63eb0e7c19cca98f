"""Verbs of agreement, exchange and gaps reproduce the tables of discrim-eval to the digit."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from katayori import frames, paths
from katayori.metrics import agreement, exchange, ranks, verdicts

FACTORS = {
    "age": ["age"],
    "gender": ["gender"],
    "race": ["race"],
    "gender_race": ["gender", "race"],
}
CELL = ["model", "source", "factor"]
NAMES = {"value": "value", "by": CELL, "cluster": "decision_question_id"}
PER_ROW = NAMES | {"unit": "row", "rater": "level"}
PER_LEVEL = NAMES | {"level": "level"}
#: Numbers of the notebook's parameters.
DRAWS, SEED = 499, 20251121
#: As the tables are compared by `make test`.
SAME = {"rtol": 1e-7, "atol": 1e-12, "check_dtype": False}

pytestmark = pytest.mark.slow


@cache
def answers():
    """Sampled answers and P(yes), a row an answer."""
    from katayori import profiles
    from katayori.papers.discrim_eval import analysis
    from katayori.papers.study import Wanted, open_study
    from katayori.prompting import prompts

    wording = prompts.load_prompts("discrim_eval", "")
    study = open_study(
        "discrim_eval",
        profiles.load("recorded"),
        [wording["de_answer_line"]],
        Wanted(shown="whole"),
    )
    return analysis.ask(study, wording, draws=DRAWS, seed=SEED, own_design=True)


@pytest.fixture(scope="module")
def asked():
    return answers()


@pytest.fixture(scope="module")
def sampled(asked):
    return frames.by_factor(asked.values, FACTORS)


@pytest.fixture(scope="module")
def probability(asked):
    return frames.by_factor(asked.probabilities, FACTORS)


def expected(name, renamed=()):
    file = paths.data_dir() / "expected" / "discrim_eval" / f"{name}.csv"
    return pd.read_csv(file, keep_default_na=False, na_values=[""]).rename(columns=dict(renamed))


def compared(found, wanted, key):
    """How many numbers and words are the same; all columns that both have are compared."""
    found, wanted = (one.set_index(key).sort_index() for one in (found, wanted))
    common = [name for name in found if name in wanted]
    pd.testing.assert_frame_equal(found[common], wanted[common], **SAME)
    print(f"{found[common].size} values of {', '.join(common)} are the same")
    return found[common].size


def test_alpha_of_sampled_answers_and_of_probabilities(sampled, probability):
    renamed = {"alpha": "value"}.items()
    found = agreement.alpha(sampled, **PER_ROW)
    assert compared(found, expected("alpha", renamed), CELL) == 32 * 9
    of_p = expected("alpha_probability", renamed).query("by == 'P(yes)'")
    assert compared(agreement.alpha(probability, **PER_ROW), of_p, CELL) == 32 * 9


def test_alpha_with_the_printed_weights(sampled):
    renamed = {"alpha_n_i_self_pairs": "value", "band_n_i_self_pairs": "band_own", "band": "_"}
    wanted = expected("alpha_variants", renamed.items()).rename(columns={"band_own": "band"})
    found = agreement.alpha(sampled, **PER_ROW, weights="n_i_self_pairs")
    assert compared(found, wanted, CELL) == 32 * 8


def test_alpha_of_pairs(sampled):
    plain = sampled[sampled["factor"].isin(["gender", "race"])]
    both = sampled[sampled["factor"] == "gender_race"]
    parts = [
        agreement.alpha_pairs(plain, **PER_ROW),
        agreement.alpha_pairs(both, **PER_ROW, reference="male-white"),
    ]
    wanted = expected("alpha_pairs", {"alpha": "value"}.items())
    key = [*CELL, "level_1", "level_2"]
    assert compared(pd.concat(parts), wanted, key) == 8 * (3 + 10 + 14) * 9


def test_alpha_from_repeated_answers(asked):
    many = asked.values[asked.values["source"] == "simulated"]
    more = pd.concat([many.assign(repetition=0), many.assign(repetition=1)])
    rng = np.random.default_rng(0)
    more["value"] = np.where(rng.random(len(more)) < 0.1, 1 - more["value"], more["value"])
    found = agreement.alpha_from_repeats(frames.by_factor(more, FACTORS), **PER_ROW)
    wanted = agreement.alpha_without_noise(more, asked.probabilities.iloc[:0])
    wanted = wanted.rename(columns={"alpha": "value"})
    assert compared(found, wanted, CELL) == 24 * 9
    once = agreement.alpha_from_repeats(frames.by_factor(many, FACTORS), **PER_ROW)
    wanted = agreement.alpha_without_noise(many, asked.probabilities.iloc[:0])
    compared(once, wanted.rename(columns={"alpha": "value"}), CELL)
    assert set(once["status"]) == {"one_answer_a_prompt"}


@pytest.mark.parametrize("read_by", ["sampled", "probability"])
def test_exchange_tests_of_the_factors(read_by, request):
    table = "factor_tests" if read_by == "sampled" else "factor_tests_probability"
    long = request.getfixturevalue(read_by)
    found = exchange.exchange_test(long, **PER_LEVEL, row="row", draws=DRAWS, seed=SEED)
    found = ranks.adjust(found, p="p", family=["model", "source", "test"])
    wanted = expected(table, {"statistic": "value"}.items())
    assert compared(found, wanted, [*CELL, "test"]) == 64 * 14


def test_largest_gaps(sampled, probability):
    wanted = expected("level_gaps")
    for read_by, long in (("sampled", sampled), ("P(yes)", probability)):
        parts = [
            exchange.largest_gap(long[long["factor"] == "age"], **PER_LEVEL, ordered=True),
            exchange.largest_gap(long[long["factor"].isin(["gender", "race"])], **PER_LEVEL),
        ]
        own = wanted[wanted["read_by"] == read_by]
        assert compared(pd.concat(parts), own, CELL) == len(own) * 8 == 24 * 8


def test_the_verdict_of_a_largest_gap_holds_for_all_levels_looked_at():
    """p and both intervals are those of one of three levels; a number names a level, too."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"question": np.repeat(range(30), 3), "age": [20, 50, 80] * 30})
    frame["yes"] = 0.5 + rng.normal(0, 0.1, 90) + 0.12 * (frame["age"] == 80)
    found = exchange.largest_gap(frame, value="yes", level="age").iloc[0]
    means = frame.pivot(index="question", columns="age", values="yes")
    gap = means[80] - means[[20, 50]].mean(axis=1)
    test = ttest_1samp(gap, 0)
    assert (found["level"], found["p"]) == ("80", pytest.approx(3 * test.pvalue))
    wide = test.confidence_interval(1 - 0.05 / 3)
    assert found[["ci_low", "ci_high"]].tolist() == pytest.approx([wide.low, wide.high])
    told = verdicts.verdict(pd.DataFrame([found]), margin=0.05)
    assert told["verdict"].item() == "present"
