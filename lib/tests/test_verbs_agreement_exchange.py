"""Verbs of agreement, exchange and gaps against other programs, hand values and planted truth."""

import itertools

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from katayori import frames
from katayori.errors import KatayoriError
from katayori.metrics import agreement, exchange, level_gaps, repeats, sign_swap, verdicts
from katayori.metrics.intervals import mean_interval

KEY = ["question", "age", "level"]


def answers(seed=0, questions=12, levels="fmn", effect=0.0):
    """Answers to questions of two ages; the first level says yes more often by `effect`."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(itertools.product(range(questions), (20, 80), levels), columns=KEY)
    p = rng.uniform(0.2, 0.6, questions)[frame["question"]]
    p = p + effect * (frame["level"] == levels[0])
    return frame.assign(yes=(rng.random(len(frame)) < p).astype(float))


ASKED = {"value": "yes", "unit": "age", "rater": "level"}
TESTED = {"value": "yes", "level": "level"}
VERBS = {
    "alpha": lambda frame, **more: agreement.alpha(frame, **ASKED, **more),
    "alpha_pairs": lambda frame, **more: agreement.alpha_pairs(frame, **ASKED, **more),
    "alpha_from_repeats": lambda frame, **more: repeats.alpha_from_repeats(frame, **ASKED, **more),
    "exchange_test": lambda frame, **more: exchange.exchange_test(
        frame, **TESTED, row="age", draws=19, **more
    ),
    "level_gaps": lambda frame, **more: level_gaps.level_gaps(frame, **TESTED, row="age", **more),
    "largest_gap": lambda frame, **more: exchange.largest_gap(frame, **TESTED, **more),
    "swap_test": lambda frame, **more: sign_swap.swap_test(
        frame, value="yes", group=("level", "f", "m"), **more
    ),
}


# -- what every verb does --------------------------------------------------------------------------


@pytest.mark.parametrize("name", VERBS)
def test_each_gives_one_flat_frame(name):
    table = VERBS[name](answers())
    places = [list(table).index(column) for column in frames.GIVEN]
    assert places == sorted(places) and len(table)
    assert table[["n", "n_invalid", "clusters", "status"]].notna().all(axis=None)
    whole = table.dropna(subset=["ci_low"])
    assert ((whole["ci_low"] < whole["value"]) & (whole["value"] < whole["ci_high"])).all()


@pytest.mark.parametrize("name", VERBS)
def test_cells_are_measured_apart_and_rows_may_come_in_any_index(name):
    one, two = answers(1), answers(2)
    both = pd.concat([one.assign(model="x"), two.assign(model="y")])
    table = VERBS[name](both, by="model")
    for model, own in (("x", one), ("y", two)):
        found = table[table["model"] == model].drop(columns="model").reset_index(drop=True)
        pd.testing.assert_frame_equal(found, VERBS[name](own))


@pytest.mark.parametrize("name", VERBS)
def test_an_empty_frame_keeps_its_reason_and_its_columns(name):
    columns = [*KEY, "yes", "model"]
    table = VERBS[name](frames.not_asked("never asked", columns), by=["model"])
    assert frames.reason_of(table) == "never asked"
    assert list(table) == list(VERBS[name](answers().assign(model="m"), by=["model"]))


@pytest.mark.parametrize("name", VERBS)
def test_a_column_that_is_lacking_is_named(name):
    with pytest.raises(KatayoriError, match=f"^{name}: no column 'question'"):
        VERBS[name](answers().drop(columns="question"))
    with pytest.raises(KatayoriError, match=f"^{name}: column 'yes' holds 'yes'"):
        VERBS[name](answers().assign(yes="yes"))
    renamed = answers().rename(columns={"question": "case"})
    pd.testing.assert_frame_equal(VERBS[name](renamed, cluster="case"), VERBS[name](answers()))


# -- alpha -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_alpha_of_a_long_frame_is_that_of_the_krippendorff_package(seed):
    frame = answers(seed, effect=0.3)
    rng = np.random.default_rng(seed)
    frame["likert"] = rng.integers(1, 6, len(frame)).astype(float)
    frame.loc[rng.random(len(frame)) < 0.1, ["yes", "likert"]] = np.nan
    words = frame["likert"].map(lambda one: f"word {one:g}" if one == one else None)
    for scale, column in (("interval", "yes"), ("interval", "likert"), ("nominal", "likert")):
        own = frame.pivot(index=["question", "age"], columns="level", values=column)
        theirs = krippendorff.alpha(reliability_data=own.T, level_of_measurement=scale)
        found = agreement.alpha(
            frame.sample(frac=1, random_state=1), **ASKED | {"value": column}, scale=scale
        ).iloc[0]
        assert found["value"] == pytest.approx(theirs, abs=1e-12)
        kept = own[own.notna().sum(axis=1) >= 2]
        assert (found["n"], found["n_units"]) == (kept.notna().sum().sum(), len(kept))
        assert found["n_invalid"] == own.isna().sum().sum() and found["clusters"] == 12
        table = own.reset_index("question").reset_index(drop=True)
        wide = agreement.alpha(table, scale=scale).iloc[0]
        assert wide[["value", "ci_low"]].tolist() == pytest.approx(found[["value", "ci_low"]])
    named = agreement.alpha(frame.assign(likert=words), **ASKED | {"value": "likert"}, **NOMINAL)
    assert named["value"].iloc[0] == pytest.approx(theirs, abs=1e-12)


NOMINAL = {"scale": "nominal"}


def test_a_table_without_a_column_of_questions_has_each_unit_as_a_cluster():
    table = [[0, 0], [1, 1], [0, 1], [1, 1], [0, 0], [1, 0]] * 2
    alone = agreement.alpha(table)
    assert alone["clusters"].tolist() == [12] and alone["status"].tolist() == ["near_constant"]
    grouped = pd.DataFrame(table * 3).assign(question=np.arange(36) // 3)
    assert agreement.alpha(grouped)["clusters"].tolist() == [12]
    assert agreement.alpha(grouped, cluster=None)["n"].tolist() == [108]


def test_several_answers_of_a_cell_count_as_their_mean():
    frame = pd.concat([answers(0), answers(1)])
    mean = frame.groupby(KEY, as_index=False)["yes"].mean()
    found, wanted = agreement.alpha(frame, **ASKED), agreement.alpha(mean, **ASKED)
    pd.testing.assert_frame_equal(found, wanted)
    with pytest.raises(KatayoriError, match="two labels of one question, age and level"):
        agreement.alpha(frame, **ASKED, **NOMINAL)


def test_a_level_without_a_valid_answer_is_left_out():
    frame = answers()
    frame.loc[frame["level"] == "n", "yes"] = np.nan
    found = agreement.alpha(frame, **ASKED)
    pd.testing.assert_frame_equal(found, agreement.alpha(frame.query("level != 'n'"), **ASKED))
    pairs = agreement.alpha_pairs(frame, **ASKED)
    assert pairs[["level_1", "level_2"]].to_numpy().tolist() == [["f", "m"]]
    assert agreement.alpha_pairs(frame, **ASKED, reference="n").empty
    with pytest.raises(KatayoriError, match="no 'x' in column 'level', which has 'f', 'm', 'n'"):
        agreement.alpha_pairs(frame, **ASKED, reference="x")


def test_pairs_of_a_reference_are_those_of_two_levels_alone():
    frame = answers(effect=0.4)
    pairs = agreement.alpha_pairs(frame, **ASKED, reference="m")
    assert pairs[["level_1", "level_2"]].to_numpy().tolist() == [["m", "f"], ["m", "n"]]
    alone = agreement.alpha(frame[frame["level"] != "n"], **ASKED)
    columns = list(frames.GIVEN)
    pd.testing.assert_frame_equal(pairs[columns].head(1), alone[columns])
    assert len(agreement.alpha_pairs(frame, **ASKED)) == 3


def test_alpha_says_what_it_cannot_take():
    with pytest.raises(KatayoriError, match="unknown scale 'ordinal'; known: interval, nominal"):
        agreement.alpha(answers(), **ASKED, scale="ordinal")
    with pytest.raises(KatayoriError, match="unknown weights of scale nominal"):
        agreement.alpha(answers(), **ASKED, **NOMINAL, weights="n_i_self_pairs")
    with pytest.raises(KatayoriError, match="needs value= and rater="):
        agreement.alpha(answers(), value="yes")
    with pytest.raises(KatayoriError, match="needs value= and rater="):
        agreement.alpha(answers(), by="age")
    with pytest.raises(KatayoriError, match="'a' is no number"):
        agreement.alpha([["a", "b"], ["a", "a"]])


def test_repeats_give_the_alpha_of_the_probabilities():
    """200 questions asked 20 times: near the alpha of the true probabilities, which once is not."""
    rng = np.random.default_rng(0)
    cells = pd.DataFrame(itertools.product(range(200), "ab"), columns=["question", "level"])
    cells["p"] = rng.beta(2, 2, 200)[cells["question"]]
    cells["p"] = (cells["p"] + rng.normal(0, 0.1, len(cells))).clip(0, 1)
    many = cells.loc[cells.index.repeat(20)].reset_index(drop=True)
    many["yes"] = (rng.random(len(many)) < many["p"]).astype(float)
    columns = {"value": "yes", "rater": "level"}
    truth = agreement.alpha(cells, value="p", rater="level")["value"].iloc[0]
    found = repeats.alpha_from_repeats(many, **columns).iloc[0]
    assert found["ci_low"] < truth < found["ci_high"] and abs(found["value"] - truth) < 0.05
    once = agreement.alpha(many.drop_duplicates(["question", "level"]), **columns)["value"].iloc[0]
    assert once < truth - 0.3 and 0 < found["noise_share"] < 0.9


# -- exchange --------------------------------------------------------------------------------------


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


def test_rows_whose_answers_are_equal_do_not_move_p():
    frame = answers(effect=0.2)
    more = answers(5).assign(yes=1.0)
    more["question"] += 100
    both = pd.concat([frame, more])
    one, two = (
        exchange.exchange_test(part, **TESTED, row="age", draws=999).set_index("test")
        for part in (frame, both)
    )
    assert one.loc["any_effect", "p"] == two.loc["any_effect", "p"]
    apart = one.loc["common_direction", "p"] - two.loc["common_direction", "p"]
    assert abs(apart) < 4 * np.sqrt(2 * 0.25 / 999)
    assert two["clusters"].tolist() == [24, 24]


def rejected(effect):
    """The share of 100 studies in which each test has p at .05 or less."""
    found = [
        exchange.exchange_test(answers(seed, 20, "fm", effect), **TESTED, row="age", draws=99)
        for seed in range(100)
    ]
    return pd.concat(found).groupby("test")["p"].apply(lambda p: (p <= 0.05).mean())


def test_the_exchange_test_holds_its_level_and_finds_an_effect():
    assert rejected(0.0).max() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)
    assert rejected(0.4)["common_direction"] > 0.7


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


# -- gaps ------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("missing", [0, 0.02, 0.1])
def test_a_model_that_always_gives_the_word_named_first_has_no_absent_gap(missing):
    """It was never seen to decide, so that it treats levels alike is not shown."""
    rng = np.random.default_rng(3)
    cells = itertools.product(range(70), range(45), ["female", "male", "other"])
    frame = pd.DataFrame(cells, columns=["question", "row", "gender"])
    frame["yes"] = np.where(rng.random(len(frame)) < missing, np.nan, 1.0)
    told = verdicts.verdict(
        exchange.largest_gap(frame, value="yes", level="gender"), margin=0.05
    ).iloc[0]
    assert told["verdict"] == "position bound" and np.isnan(told["value"])


def test_the_limit_is_found_in_four_studies_of_five():
    """600 studies of 15 questions, whose true gap is the limit of its true standard error."""
    rng = np.random.default_rng(1)
    gap = stats.t.ppf([0.975, 0.8], 14).sum() * 0.5 / np.sqrt(15)
    cells = itertools.product(range(600), range(15), "ab")
    frame = pd.DataFrame(cells, columns=["study", "question", "level"])
    side = np.repeat(rng.normal(gap, 0.5, len(frame) // 2), 2)
    frame["yes"] = side * np.where(frame["level"] == "a", 1, -1)
    found = level_gaps.level_gaps(frame, **TESTED, by="study").query("level == 'a'")
    assert (found["ci_low"] > 0).mean() == pytest.approx(0.8, abs=3 * 0.0163)
    assert found["limit"].mean() == pytest.approx(gap, rel=0.03)


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
    for _ in range(20):
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


@pytest.mark.parametrize("ordered", [False, True])
def test_one_level_alone_has_no_gap(ordered):
    means = pd.DataFrame({"a": [0.5, 0.25]})
    assert exchange.gaps_by_cluster(means, ordered=ordered).empty


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
