"""Blank: sizes are those of the exchange tests, ratios hold on noise, what is planted is found."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from katayori.errors import KatayoriError
from katayori.metrics import blank, spike, spike_statistics as statistics
from katayori.metrics.exchange_tests import exchange_test

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

NINE, THREE, FIVE = 9, 3, 5


def asked(rng, *, questions=20, effect=0.0, other=0.0, noise=0.3, third=False):
    """Recorded-like P(yes): `effect` is the SD of three levels' log odds, `other` that of nine."""
    cells = itertools.product(range(questions), range(NINE), range(THREE), range(FIVE))
    frame = pd.DataFrame(list(cells), columns=["q", "nine", "three", "five"])
    if third:
        # The balanced third: nine and five cross once, so a row of these two has one answer.
        frame = frame[(frame["nine"] + frame["five"] + frame["q"]) % 3 == frame["three"]]
        frame = frame.reset_index(drop=True)
    odds = rng.normal(0, 1, questions)[frame["q"]]
    odds = odds + rng.normal(0, effect, (questions, THREE))[frame["q"], frame["three"]]
    odds = odds + rng.normal(0, other, (questions, NINE))[frame["q"], frame["nine"]]
    return frame.assign(p=expit(odds + rng.normal(0, noise, len(frame))))


def sizes(frame, level="three"):
    beside = [name for name in ("nine", "three", "five") if name != level]
    return blank.size_by_question(frame, level=level, beside=beside, question="q")


# -- size ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "df"), [("three", 2), ("nine", 8), ("five", 4)])
def test_the_size_is_s1_of_the_exchange_test(level, df):
    frame = asked(np.random.default_rng(0), questions=3, effect=0.4, other=0.5)
    beside = [name for name in ("nine", "three", "five") if name != level]
    frame = frame.assign(row=frame[beside].astype(str).agg("-".join, axis=1))
    frame = frame.assign(value=logit(frame["p"]))
    found = sizes(frame, level)
    for question, one in frame.groupby("q"):
        s1 = exchange_test(one, level=level, row="row", question="q", draws=1)["statistic"].iloc[0]
        row = found.set_index("question").loc[question]
        assert (row["size"], row["df"]) == (pytest.approx(s1 / df), df)


def test_another_attribute_does_not_get_into_the_size_of_a_third_of_the_cells():
    """Nine and three are not crossed evenly there; without the other columns the size is wrong."""
    rng = np.random.default_rng(1)
    frame = asked(rng, questions=300, other=3.0, third=True)
    # Without an effect the size is the variance of the noise, .3 squared.
    assert sizes(frame)["size"].mean() == pytest.approx(0.09, rel=0.15)
    alone = blank.size_by_question(frame, level="three", beside=[], question="q")
    assert alone["size"].mean() > 0.5
    assert set(sizes(frame)["df"]) == {2}


def test_what_has_no_size_says_why():
    frame = asked(np.random.default_rng(0), questions=3)
    frame.loc[frame["q"] == 0, "p"] = 0.4
    frame = frame[(frame["q"] != 1) | (frame["three"] == 0)]
    frame.loc[frame.index[-1], "p"] = 1.0
    frame.loc[frame.index[-2], "p"] = np.nan
    found = sizes(frame)
    assert found["status"].tolist() == ["constant", "one_level", "ok"]
    assert found["size"].isna().tolist() == [True, True, False]
    assert found["n_edge"].tolist() == [0, 0, 1] and found["n"].iloc[-1] == 134
    with pytest.raises(KatayoriError, match="no column p"):
        sizes(frame.drop(columns="p"))


# -- ratio -----------------------------------------------------------------------------------------


def ratios(seeds, effect):
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([2, seed])
        real, words = asked(rng, effect=effect, noise=0.3), asked(rng, effect=0.1, noise=0.3)
        rows.append(blank.size_ratio(sizes(real), sizes(words), seed=seed))
    return pd.DataFrame(rows)


def test_two_sets_of_words_have_the_ratio_one():
    found = ratios(range(100), 0.1)
    covered = ((found["ci_low"] <= 1) & (found["ci_high"] >= 1)).mean()
    assert 0.89 <= covered <= 0.99
    assert 1 <= (found["p"] <= 0.05).sum() <= spike.most_by_chance(100)
    assert set(found["status"]) == {"ok"} and set(found["clusters"]) == {20}


def test_an_attribute_that_moves_more_than_words_has_a_larger_ratio():
    found = ratios(range(15), 0.5)
    assert (found["ci_low"] > 1).mean() > 0.9 and (found["p"] < 0.01).mean() > 0.9
    # Levels of 45 prompts: (.09 + 45 x .25) / (.09 + 45 x .01), the same spread in both logs.
    assert np.exp(np.log(found["value"]).mean()) == pytest.approx(21, rel=0.25)


def test_the_ratio_of_a_design_that_differs_is_none():
    rng = np.random.default_rng(3)
    real, words = asked(rng), asked(rng)
    other = blank.size_ratio(sizes(real), sizes(words, "nine"))
    assert other["status"] == "other_design" and np.isnan(other["value"])
    smaller = blank.size_ratio(sizes(real), sizes(words[words["nine"] < 4]))
    assert smaller["status"] == "other_design"
    few = blank.size_ratio(sizes(real), sizes(words[words["q"] < 4]))
    assert (few["status"], few["clusters"], few["n_left_out"]) == ("few_clusters", 4, 16)
    assert np.isnan(few["p"]) and np.isnan(few["ci_low"]) and few["value"] > 0
    none = blank.size_ratio(sizes(real), sizes(words.assign(q=words["q"] + 100)))
    assert (none["status"], none["n_left_out"]) == ("no_valid_answer", 40)


def beside_words(seed, *, effect, words):
    rng = np.random.default_rng(seed)
    real, blank_set = asked(rng, effect=effect), asked(rng, effect=words)
    row = real["nine"] * FIVE + real["five"]
    frame = real.assign(question=real["q"], row=row, p_blank=blank_set["p"])
    return frame.assign(exposure=1.0 * (real["three"] == 0), second_exposure=real["nine"] / 8)


def test_the_spiked_ratio_is_the_ratio():
    frame = beside_words(10, effect=0.5, words=0.2)
    statistic = statistics.log_size_ratio(frame, "three")
    log_odds = frame.assign(value=logit(frame["p"]), blank=logit(frame["p_blank"]))
    found = statistic.found(log_odds, np.random.default_rng(0))
    long = blank.size_ratio(sizes(frame), sizes(frame.assign(p=frame["p_blank"])))
    assert np.exp([found.value, found.ci_low, found.ci_high]) == pytest.approx(
        [long["value"], long["ci_low"], long["ci_high"]]
    )
    assert found.reject == (long["p"] <= 0.05) == 1.0


@pytest.mark.parametrize("second", [0.0, 1.0])
def test_an_attribute_that_does_what_words_do_is_no_finding_and_a_shift_is(second):
    frame = beside_words(11, effect=0.3, words=0.1)
    recorded, statistic = spike.BesideBlank(frame), statistics.log_size_ratio(frame, "three")
    plan = spike.Plan("ratio", [0.0, 0.4, 0.8, 1.6], second=second, draws=200)
    table = spike.spike_table(recorded, statistic, plan)
    assert table["n_reject"][0] <= spike.most_by_chance(200)
    assert table["power"].is_monotonic_increasing and table["power"].iloc[-1] > 0.9
    limit = spike.limit_of_detection(table)
    assert limit["status"] == "ok" and limit["value"] > 0
    with pytest.raises(KatayoriError, match="none missing"):
        spike.BesideBlank(frame.assign(p_blank=np.nan))


# -- rank ------------------------------------------------------------------------------------------


def ranked(rng, effect, sets=9):
    words = [
        sizes(asked(rng, questions=8, effect=0.2, third=True)).assign(blank_set=number)
        for number in range(sets)
    ]
    real = sizes(asked(rng, questions=8, effect=effect, third=True))
    return blank.rank_among_blanks(real, pd.concat(words))


def test_one_more_set_of_words_has_any_rank():
    rng = np.random.default_rng(4)
    ranks = np.array([ranked(rng, 0.2, sets=4)["rank"] for _ in range(60)])
    assert ranks.mean() == pytest.approx(3, abs=0.6) and set(ranks) == {1, 2, 3, 4, 5}


def test_an_attribute_that_moves_more_than_every_set_has_rank_one():
    found = ranked(np.random.default_rng(5), 1.0)
    assert (found["rank"], found["n_sets"], found["p"]) == (1, 10, 0.1)
    assert found["smallest_p"] == 0.1 and found["status"] == "ok"
    assert found["size"] > found["blank_high"] > found["blank_middle"] > found["blank_low"] > 0


def test_ties_count_against_the_attribute_and_other_designs_have_no_rank():
    real = sizes(asked(np.random.default_rng(6), questions=6))
    same = pd.concat([real.assign(blank_set=n) for n in range(4)])
    assert blank.rank_among_blanks(real, same)["rank"] == 5
    changed = same.assign(n_levels=[9] * 6 + [3] * 18)
    found = blank.rank_among_blanks(real, changed)
    assert found["status"] == "other_design" and np.isnan(found["rank"])
    apart = blank.rank_among_blanks(real, same.assign(question=same["question"] + 50))
    assert apart["status"] == "no_question"


# -- level, counts, bias beside words --------------------------------------------------------------


def own_values():
    frame = asked(np.random.default_rng(7), questions=12, effect=0.8, other=0.8)
    frame = frame[frame["nine"] < 3].reset_index(drop=True)
    row = frame["nine"] * FIVE + frame["five"]
    return frame.assign(question=frame["q"], row=row, exposure=1.0 * (frame["three"] == 0))


def test_a_right_test_keeps_its_level_on_the_models_own_values():
    frame = own_values()
    statistic = statistics.exchange_statistic(frame, "three", exchanges=39)
    found = blank.level_on_own_values(spike.YesNo(frame), statistic)
    assert (found["n_draws"], found["allowed"], found["status"]) == (1000, 67, "ok")
    assert 25 <= found["n_reject"] <= 67 and found["share"] == found["n_reject"] / 1000


def test_a_test_that_takes_answers_of_a_question_as_alone_is_found_out():
    """It asks whether the levels differ beyond chance over answers, and sees the questions."""
    frame = own_values()

    def found(drawn, _):
        by_question = drawn.groupby("question")["value"].mean()
        return spike.Found(np.nan, float(by_question.std() > 0.1))

    wrong = spike.Statistic(found, lambda planted: 0.0, "none")
    report = blank.level_on_own_values(spike.YesNo(frame), wrong, draws=100)
    assert report["status"] == "level_broken" and report["allowed"] == 11
    never = spike.Statistic(
        lambda drawn, _: spike.Found(np.nan, np.nan), lambda planted: 0.0, "none"
    )
    report = blank.level_on_own_values(spike.YesNo(frame), never, draws=10)
    assert (report["status"], report["n_undefined"]) == ("undefined", 10)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.01] * 8 + [0.5] * 62, (8, 70, 0, 8, "ok")),
        ([0.05] * 9 + [0.5] * 61, (9, 70, 0, 8, "more_than_chance")),
        ([0.01, np.nan, 0.5], (1, 2, 1, 1, "ok")),
        ([np.nan], (0, 0, 1, 0, "no_test")),
    ],
)
def test_significant_questions_are_counted_beside_what_chance_makes(p, expected):
    found = blank.significant_questions(p)
    names = ("n_significant", "n_tested", "n_undefined", "allowed", "status")
    assert tuple(found[name] for name in names) == expected


def pairs(rng, bias, templates=range(30), words=None):
    """Two pairs a template; the scene (`words`) is liked alike with any persons."""
    scene = np.zeros(60) if words is None else words
    rows = [
        {"template_id": n, "bias": bias + scene[n] + rng.normal(0, 0.2)}
        for n in templates
        for _ in range(2)
    ]
    return pd.DataFrame(rows)


def test_a_bias_beyond_words_is_told_by_the_difference_and_words_alone_are_not():
    rng = np.random.default_rng(8)
    outside = {0.0: 0, 0.5: 0}
    for bias in outside:
        for _ in range(100):
            scene = 0.4 + rng.normal(0, 0.5, 60)  # what the scene does with whatever persons
            real, words = pairs(rng, bias, words=scene), pairs(rng, 0.0, words=scene)
            found = blank.beside_blank(real, words, cluster="template_id", value="bias")
            row = found.set_index("what").loc["real_less_blank"]
            outside[bias] += row["ci_low"] > 0 or row["ci_high"] < 0
    assert outside[0.0] <= spike.most_by_chance(100) and outside[0.5] == 100


def test_only_templates_that_both_have_are_laid_beside_each_other():
    rng = np.random.default_rng(9)
    real, words = pairs(rng, 0.5), pairs(rng, 0.0, range(20, 50))
    real.loc[real["template_id"] == 25, "bias"] = np.nan
    found = blank.beside_blank(real, words, cluster="template_id", value="bias")
    assert found["what"].tolist() == ["real", "blank", "real_less_blank"]
    assert set(found["clusters"]) == {9} and set(found["n_left_out"]) == {41}
    value = found.set_index("what")["value"]
    assert value["real_less_blank"] == pytest.approx(value["real"] - value["blank"])
    kept = real[real["template_id"].between(20, 29)].dropna().groupby("template_id")["bias"].mean()
    assert found["spread"][0] == pytest.approx(np.sqrt((kept**2).mean()))
    apart = blank.beside_blank(
        real, pairs(rng, 0.0, range(40, 50)), cluster="template_id", value="bias"
    )
    assert set(apart["status"]) == {"no_valid_answer"} and apart["value"].isna().all()
