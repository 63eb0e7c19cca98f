"""Exchange tests, swaps of two groups and gaps of levels: exact values, planted truth, noise."""

import itertools

import numpy as np
import pandas as pd
import pytest
from made_answers import answers
from scipy import stats
from scipy.special import expit
from scipy.stats import binomtest, ttest_1samp

from katayori.errors import KatayoriError
from katayori.metrics import (
    exchange,
    level_gaps,
    sign_swap,
    verdicts,
)
from katayori.metrics.exchange import exchange_test
from katayori.metrics.intervals import mean_interval
from katayori.metrics.sign_swap import sign_swap_test

CROSSED = {"value": "value", "level": "gender", "row": "row"}


def study(questions: int = 70, races: int = 5) -> pd.DataFrame:
    """The design of discrim-eval: question x age x gender x race, a row without the gender."""
    grid = itertools.product(range(questions), range(9), range(3), range(races))
    frame = pd.DataFrame(list(grid), columns=["question", "age", "gender", "race"])
    return frame.assign(row=frame["age"] * races + frame["race"])


DESIGN = study()


def of_design(rng, *, age: float = 0, gender: float = 0, own: float = 0, missing: float = 0.02):
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
        test = exchange_test(of_design(rng, **effects), draws=99, seed=10**6 + number, **CROSSED)
        count += (test["p"] <= 0.05).to_numpy()
    return count / repetitions


def test_noise_stays_noise_beside_a_strong_effect_of_another_attribute():
    """Level .05, 20 studies: at most 4 rejections are to be expected (binomial, .99)."""
    assert (rejections(20, 100, age=0.8) <= 4 / 20).all()


def test_a_weak_effect_is_found_beside_a_strong_one():
    """The former test by alpha's noise floor found it in none of 40 studies."""
    any_effect, direction = rejections(8, 200, age=0.5, gender=0.3)
    assert any_effect == 1
    assert direction == 1


def test_effects_without_a_common_direction_are_told_apart():
    """Every question its own effect: any effect yes, direction no."""
    any_effect, direction = rejections(20, 300, age=0.5, own=0.6)
    assert any_effect == 1
    assert direction <= 4 / 20


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
    test = exchange_test(frame, draws=199, **CROSSED).set_index("test")
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
    test = exchange_test(frame, draws=999, **CROSSED).set_index("test")
    wide = frame.pivot_table(index="question", columns="gender", values="value")
    difference = wide["a"] - wide["b"]
    t = difference.mean() / (difference.std() / 5)
    assert test.loc["common_direction", "value"] == pytest.approx(t**2)

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
    frame = change(of_design(np.random.default_rng(2)))
    test = exchange_test(frame, draws=9, **CROSSED)
    assert set(test["status"]) == {status}
    assert test["p"].isna().all()


def test_missing_answers_that_follow_the_level_are_said():
    """A fifth of one level's yes is missing: the status says so."""
    rng = np.random.default_rng(4)
    frame = of_design(rng, missing=0)
    lost = (frame["gender"] == 1) & (frame["value"] == 1) & (rng.random(len(frame)) < 0.2)
    frame.loc[lost, "value"] = np.nan
    test = exchange_test(frame, draws=49, **CROSSED)
    assert set(test["status"]) == {"missing_by_level"}
    assert (test["missing_high"] > 0.05).all()


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


def test_a_question_without_a_level_does_not_count_for_a_common_direction():
    rng = np.random.default_rng(2)
    index = np.indices((30, 5, 3)).reshape(3, -1)
    frame = pd.DataFrame({"question": index[0], "row": index[1], "level": index[2]})
    frame["value"] = (rng.random(len(frame)) < 0.3 + 0.2 * (frame["level"] == 1)).astype(float)
    columns = {"value": "value", "level": "level", "row": "row", "draws": 99}
    gap = (frame["question"] == 7) & (frame["level"] == 2)
    holed = exchange.exchange_test(frame.assign(value=frame["value"].mask(gap)), **columns)
    without = exchange.exchange_test(frame[frame["question"] != 7], **columns)
    statistic = [one.set_index("test").loc["common_direction", "value"] for one in (holed, without)]
    assert statistic[0] == pytest.approx(statistic[1])


def test_the_smallest_p_of_an_exchange_is_one_in_all_draws():
    """No drawn labels reach a clear common direction: p is 1 / (1 + draws)."""
    index = np.indices((30, 4, 3)).reshape(3, -1)
    frame = pd.DataFrame({"question": index[0], "row": index[1], "level": index[2]})
    frame["value"] = (frame["level"] == 1) + 0.01 * ((frame["question"] * frame["row"]) % 3)
    columns = {"value": "value", "level": "level", "row": "row", "draws": 99}
    found = exchange.exchange_test(frame, **columns).set_index("test")
    assert found.loc["common_direction", "p"] == pytest.approx(1 / 100)


def test_a_permutation_p_is_never_zero():
    """(1 + k) / (1 + B): even where no drawn pattern of signs reaches the observed sum."""
    shares = np.ones(40)
    assert sign_swap.sign_swap_test(shares)["p"] == 1 / sign_swap.MOST_PATTERNS


@pytest.mark.parametrize(("up", "down"), [(9, 2), (10, 3), (16, 5)])
def test_equal_differences_are_the_sign_test(up, down):
    """13 clusters are enumerated, 21 are drawn."""
    p = sign_swap_test([0.1] * up + [-0.1] * down)["p"]
    enumerated = up + down <= 13
    assert p == pytest.approx(binomtest(up, up + down).pvalue, abs=1e-12 if enumerated else 0.008)


TESTED = {"value": "yes", "level": "level"}


def test_the_exchange_test_is_exact_in_a_small_design():
    """All 2^8 exchanges inside the rows of two levels, against 4,999 drawn ones."""
    frame = answers(3, questions=4, levels="ab", effect=0.6)
    table = frame.pivot(index=["question", "age"], columns="level", values="yes")
    half = ((table["a"] - table["b"]) / 2).to_numpy().reshape(4, 2)
    every = np.array(list(itertools.product([1, -1], repeat=8))).reshape(-1, 4, 2)
    exact = ((every * half).sum(axis=2) ** 2).sum(axis=1)
    observed = (half.sum(axis=1) ** 2).sum()
    found = exchange.exchange_test(frame, **TESTED, row="age", draws=4999).iloc[0]
    assert found["value"] == pytest.approx(2 * observed / 2)
    p = (exact >= observed - 1e-9).mean()
    assert abs(found["p"] - p) < 4 * np.sqrt(p * (1 - p) / 4999)


@pytest.mark.parametrize("seed", range(3))
def test_the_swap_test_is_that_of_scipy(seed):
    frame = answers(seed, questions=9, effect=0.3)
    means = frame.groupby(["question", "level"])["yes"].mean().unstack()
    found = sign_swap.swap_test(frame, value="yes", group=("level", "f", "n")).iloc[0]
    theirs = stats.permutation_test(
        (means["f"], means["n"]),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert found["p"] == pytest.approx(theirs.pvalue)
    gaps = means["f"] - means["n"]
    assert found["value"] == pytest.approx(gaps.mean()) and found["differ"] == (gaps != 0).sum()
    assert found["smallest_p"] == 2.0 ** (1 - found["differ"])
    ends = stats.ttest_1samp(gaps, 0).confidence_interval()
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((ends.low, ends.high))


def test_clusters_without_a_difference_decide_nothing():
    """6 of 50 differ: the smallest p is 2/2^6."""
    frame = pd.DataFrame(itertools.product(range(50), "ab"), columns=["question", "level"])
    frame["yes"] = ((frame["question"] < 6) & (frame["level"] == "a")).astype(float)
    swapped = {"value": "yes", "group": ("level", "a", "b")}
    found = sign_swap.swap_test(frame, **swapped).iloc[0]
    assert (found["p"], found["smallest_p"], found["differ"]) == (0.03125, 0.03125, 6)
    assert found["clusters"] == 50 and found["status"] == "ok"
    none = sign_swap.swap_test(frame.assign(yes=1.0), **swapped).iloc[0]
    assert none["status"] == "no_difference" and np.isnan(none["p"]) and none["value"] == 0
    apart = frame[(frame["level"] == "a") == (frame["question"] % 2 == 0)]
    lone = sign_swap.swap_test(apart, **swapped).iloc[0]
    assert lone["status"] == "no_valid_answer" and lone["clusters"] == 0 and lone["n"] == 50
    few = sign_swap.swap_test(frame[frame["question"] < 4], **swapped).iloc[0]
    assert few["status"] == "few_clusters" and few["p"] == 0.125 and np.isnan(few["ci_low"])
    with pytest.raises(KatayoriError, match="no 'c' in column 'level', which has 'a', 'b'"):
        sign_swap.swap_test(frame, value="yes", group=("level", "a", "c"))


def test_level_gaps_are_differences_to_the_mean_of_rows():
    frame = answers(effect=0.3)
    table = frame.pivot(index=["question", "age"], columns="level", values="yes")
    by_question = table.sub(table.mean(axis=1), axis=0).groupby("question").mean()
    found = level_gaps.level_gaps(frame, **TESTED, row="age").set_index("level")
    assert found["value"].to_dict() == pytest.approx(by_question.mean().to_dict())
    assert found["value"].sum() == pytest.approx(0, abs=1e-12)
    for level, row in found.iterrows():
        se = stats.sem(by_question[level])
        quantiles = stats.t.ppf([0.975, 0.8], 11)
        assert row["limit"] == pytest.approx(quantiles.sum() * se)
        assert row["ci_high"] - row["value"] == pytest.approx(quantiles[0] * se)


def test_the_largest_gap_is_that_of_one_level_against_the_others():
    frame = answers(effect=0.5)
    means = frame.groupby(["question", "level"])["yes"].mean().unstack()
    gaps = means["f"] - means[["m", "n"]].mean(axis=1)
    found = exchange.largest_gap(frame, **TESTED).iloc[0]
    assert found["level"] == "f" and found["value"] == pytest.approx(gaps.mean())
    ends = stats.ttest_1samp(gaps, 0).confidence_interval(1 - 0.05 / 3)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((ends.low, ends.high))
    quantiles = stats.t.ppf([1 - 0.025 / 3, 0.8], 11)
    assert found["limit"] == pytest.approx(quantiles.sum() * stats.sem(gaps))


def test_ordered_levels_have_the_slope_of_a_straight_line():
    frame = answers(levels=["20", "60", "100"])
    means = frame.groupby(["question", "level"])["yes"].mean().unstack()[["20", "60", "100"]]
    slopes = [2 * stats.linregress([0, 1, 2], row).slope for row in means.to_numpy()]
    found = exchange.largest_gap(frame, **TESTED, ordered=True).iloc[0]
    assert found["level"] == "20 to 100" and found["value"] == pytest.approx(np.mean(slopes))
    wanted = mean_interval(slopes)
    assert found["ci_low"] == pytest.approx(wanted["ci_low"])


def test_equal_gaps_take_the_first_level_by_name_and_one_level_has_none():
    frame = answers(levels="zb")
    found = exchange.largest_gap(frame.assign(yes=(frame["level"] == "z") * 1.0), **TESTED).iloc[0]
    assert (found["level"], found["value"], found["status"]) == ("b", -1.0, "no_variation")
    assert np.isnan(found["limit"])
    one = exchange.largest_gap(frame[frame["level"] == "z"], **TESTED).iloc[0]
    assert one["status"] == "one_level" and np.isnan(one["value"])
    frame.loc[frame["level"] == "z", "yes"] = np.nan
    lone = exchange.largest_gap(frame, **TESTED).iloc[0]
    assert lone["status"] == "no_valid_answer" and lone["n_invalid"] == 24


def test_a_model_that_treats_all_levels_alike_has_an_absent_gap_and_no_position_bound():
    """Its answers differ by question, so the design does not fix them."""
    cells = itertools.product(range(70), ["female", "male", "other"])
    frame = pd.DataFrame(cells, columns=["question", "gender"])
    frame["yes"] = 0.2 + frame["question"] / 100
    named = {"value": "yes", "level": "gender"}
    told = verdicts.verdict(exchange.largest_gap(frame, **named), margin=0.05).iloc[0]
    assert told["verdict"] == "absent" and "0 of 70 clusters differ" in told["why"]
    few = frame[frame["question"] < 10]
    told = verdicts.verdict(exchange.largest_gap(few, **named), margin=0.05).iloc[0]
    assert told["verdict"] == "undecided"
    frame.loc[frame["gender"] == "male", "yes"] += 0.1
    told = verdicts.verdict(exchange.largest_gap(frame, **named), margin=0.05).iloc[0]
    assert told["verdict"] == "position bound"


def test_the_verdict_of_a_largest_gap_holds_for_all_levels_looked_at():
    """p and both intervals are those of one of three levels; a number names a level, too."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"question": np.repeat(range(30), 3), "age": [20, 50, 80] * 30})
    frame["yes"] = 0.5 + rng.normal(0, 0.1, 90) + 0.12 * (frame["age"] == 80)
    found = exchange.largest_gap(frame, value="yes", level="age").iloc[0]
    means = frame.pivot(index="question", columns="age", values="yes")
    gap = means[80] - means[[20, 50]].mean(axis=1)
    test = stats.ttest_1samp(gap, 0)
    assert (found["level"], found["p"]) == ("80", pytest.approx(3 * test.pvalue))
    wide = test.confidence_interval(1 - 0.05 / 3)
    assert found[["ci_low", "ci_high"]].tolist() == pytest.approx([wide.low, wide.high])
    told = verdicts.verdict(pd.DataFrame([found]), margin=0.05)
    assert told["verdict"].item() == "present"


@pytest.mark.parametrize("ordered", [False, True])
def test_the_gap_holds_between_its_ends_whatever_is_made_unreadable(ordered):
    """Property: whatever answers are lost, the full data's gap of the same level lies inside."""
    rng = np.random.default_rng(5)
    pairs = itertools.product(range(12), "abcd", range(3))
    frame = pd.DataFrame(pairs, columns=["question", "level", "k"])
    outside = []
    for _ in range(6):
        full = frame.assign(yes=(rng.random(len(frame)) < 0.5).astype(float))
        lost = full.assign(yes=full["yes"].mask(rng.random(len(full)) < 0.2))
        found = exchange.largest_gap(lost, value="yes", level="level", ordered=ordered)
        told = verdicts.verdict(found, margin=0.05).iloc[0]
        means = full.groupby(["question", "level"])["yes"].mean().unstack()
        true = exchange.gaps_by_cluster(means, ordered=ordered)[told["level"]].mean()
        assert told["low_bound"] <= true <= told["high_bound"]
        outside.append(not told["low_bound"] <= told["value"] <= told["high_bound"])
        # The ends themselves are reached by some answers.
        if not ordered:
            own = (full["level"] == told["level"]).astype(float)
            most = full.assign(yes=lost["yes"].fillna(own))
            means = most.groupby(["question", "level"])["yes"].mean().unstack()
            gap = exchange.gaps_by_cluster(means, ordered=False)[told["level"]].mean()
            assert gap == pytest.approx(told["high_bound"])
    assert not any(outside)


def test_a_gap_that_unreadable_answers_decide_is_undecided():
    """One of three answers of each person is lost: their side decides the gap."""
    pairs = itertools.product(range(20), "ab", range(3))
    frame = pd.DataFrame(pairs, columns=["question", "level", "k"])
    frame["yes"] = ((frame["level"] == "a") & (frame["question"] % 4 > 0)).astype(float)
    read = exchange.largest_gap(frame, value="yes", level="level")
    assert verdicts.verdict(read, margin=0.05)["verdict"].item() == "present"
    lost = frame.assign(yes=frame["yes"].mask(frame["k"] < 2))
    told = verdicts.verdict(exchange.largest_gap(lost, value="yes", level="level"), margin=0.05)
    assert (
        told["verdict"].item() == "undecided" and "Unreadable answers decide" in told["why"].item()
    )
    few = frame.assign(yes=frame["yes"].mask((frame["k"] == 0) & (frame["question"] < 3)))
    told = verdicts.verdict(exchange.largest_gap(few, value="yes", level="level"), margin=0.05)
    assert told["verdict"].item() == "present"


def test_one_row_a_question_tells_nothing_of_an_effect_that_changes():
    frame = answers(levels="fm").query("age == 20")
    frame = frame.assign(yes=np.where(frame["question"] % 6 == 0, 0, frame["level"] == "f") * 1.0)
    table = exchange.exchange_test(frame, **TESTED, draws=19)
    assert table["status"].tolist() == ["one_row_a_question", "ok"]
    assert np.isnan(table["p"].iloc[0]) and 0 < table["p"].iloc[1] <= 0.1
    rows = frame.assign(age=frame["question"] % 2, question=frame["question"] // 2)
    assert exchange.exchange_test(rows, **TESTED, row="age")["status"].iloc[0] == "ok"


def test_level_gaps_by_hand():
    frame = pd.DataFrame({"question": [1, 1, 1, 2, 2, 2, 3, 3, 3], "level": list("abc") * 3})
    frame["yes"] = [1, 0, 0.5, 1, 1, None, 1, None, None]
    table = level_gaps.level_gaps(frame, **TESTED).set_index("level")
    assert table["value"].to_dict() == pytest.approx({"a": 0.25, "b": -0.25, "c": 0})
    assert table["n"].tolist() == [2, 2, 1] and table["n_invalid"].tolist() == [1, 1, 2]
    alike = pd.concat([frame, frame.assign(question=frame["question"] + 3)])
    alike = alike.assign(yes=(alike["level"] == "a") * 1.0)
    assert set(level_gaps.level_gaps(alike, **TESTED)["status"]) == {"no_variation"}
