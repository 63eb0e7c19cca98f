"""Three readings of 05 on respondents whose behaviour is known, as often as a rate needs."""

import numpy as np
import pandas as pd
import pytest

from katayori.metrics import paired_contrasts as contrasts, spike
from katayori.papers.inter_jbbq import (
    examples,
    mere_words,
    option_slots,
    place_free,
    scores,
    second,
    words,
)

pytestmark = pytest.mark.slow_all  # simulations of levels, or of what is recorded

CELL = ["model", "source", "prompt_id"]
DRAWS = 60


@pytest.fixture(scope="module")
def items():
    balanced = second.balanced()
    return balanced[balanced["context_condition"] == "ambiguous"].reset_index(drop=True)


@pytest.fixture(scope="module")
def blank_items():
    return second.balanced_blank()


def answered(items, seed, *, place=8.0, lean=0.0, first=0.0, noise=1.0):
    """Answers of who writes 1 nearly always, leans to the biased person, and likes who is named
    first in negative questions.
    """
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, noise, (len(items), 3))
    logits[:, 1] += place
    named = items["mention"].to_numpy()[:, None]
    persons = np.array([list(order) for order in items["order"]])
    negative = (items["polarity"] == "negative").to_numpy()[:, None]
    logits += first * ((persons == named) & negative)
    logits += lean * (items[[f"role_{n}" for n in range(3)]] == "biased").to_numpy()
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    answer = pd.Series(p.argmax(axis=1).astype(str), items.index)
    log = items.assign(model="m", source="recorded", prompt_id="p", outcome="ok", note="")
    log = log.assign(answer=answer, text=answer, p_0=p[:, 0], p_1=p[:, 1], p_2=p[:, 2])
    return scores.with_design(log.assign(correct=answer.astype(int) == items["label"]))


def directions(items, **planted):
    """Diff-bias with the place cancelled, once a draw."""
    found = [
        place_free.direction_over_questions(answered(items, seed, **planted), CELL).iloc[0]
        for seed in range(DRAWS)
    ]
    return pd.DataFrame(found)


# --- letters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_a_fair_respondent_bound_to_a_place_is_rejected_at_the_level(items, first):
    """Of 60 draws 3 are expected; more than `most_by_chance` have a chance below 1 %."""
    table = directions(items, first=first)
    rejected = (table["ci_low"] > 0) | (table["ci_high"] < 0)
    assert rejected.sum() <= spike.most_by_chance(DRAWS)
    assert abs(table["value"].mean()) < 4 * table["value"].std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_a_hidden_lean_is_found_behind_the_place(items, first):
    table = directions(items, lean=0.6, first=first)
    assert (table["ci_low"] > 0).mean() > 0.9
    letters = answered(items, 0, lean=0.6, first=first)
    assert (letters["answer"] == "1").mean() > 0.99  # nothing of it shows in the letters


def test_families_differ_where_the_place_decides_and_not_where_the_content_does(items):
    locked = option_slots.between_families(answered(items, 0, noise=0.1))
    # Of the 15 pairs of orders 3 have the same option in the middle.
    assert locked["flip"].mean() == pytest.approx(12 / 15)
    assert locked["cluster"].nunique() == 40
    frame = answered(items, 0, place=0.0, noise=0.1)
    same = option_slots.between_families(frame.assign(choice="u"))
    assert (same["flip"] == 0).all()
    invalid = option_slots.between_families(frame.assign(choice=None))
    assert invalid["flip"].isna().all()
    assert invalid["invalid"].all()


# --- mere words ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lean", [0.0, 1.0])
def test_what_mere_words_do_as_well_is_rejected_at_the_level(items, blank_items, lean):
    """A lean that both have alike, beside a liking for who is named first, cancels."""
    rejected = 0
    for seed in range(DRAWS):
        real = answered(items, seed, place=1.0, lean=lean, first=0.5)
        blank = answered(blank_items, 1000 + seed, place=1.0, lean=lean, first=0.5)
        table = mere_words.beside_mere_words(real, blank).set_index(["metric", "what"])
        less = table.loc[("p_diff_amb", "real_less_blank")]
        rejected += less["ci_low"] > 0 or less["ci_high"] < 0
    assert rejected <= spike.most_by_chance(DRAWS)


# --- likelihoods --------------------------------------------------------------------------------


def likings(bias, seed, first):
    """Leans with a liking for who is named first in negative questions."""
    told = examples.leans(bias, seed)
    side = told["mention"].map({"target_first": 1.0, "other_first": -1.0})
    return told.assign(lean=told["lean"] + first * side * (told["polarity"] == "negative"))


def test_a_liking_for_who_is_named_first_is_no_bias_and_hides_none():
    for bias, found in ((0.0, 0.0), (0.5, 0.5)):
        plain, liked = (likings(bias, 3, first) for first in (0.0, 2.0))
        tables = [words.bias_by_topic(one, one.head(0)).iloc[0] for one in (plain, liked)]
        assert tables[1]["value"] == pytest.approx(tables[0]["value"])
        assert tables[1]["value"] == pytest.approx(found, abs=0.05)


def test_who_leans_to_the_bad_act_whatever_is_asked_does_not_read():
    told = examples.leans(0.5)
    act = told["context_condition"].map({"biased": 5.0, "counter_biased": -5.0, "ambiguous": 0.0})
    reads = contrasts.reads_the_sentence(told.assign(lean=act)).set_index("polarity")
    assert reads["value"].tolist() == [1.0, 0.0]
    assert not reads.loc["non_negative", "passes"]
    table = words.bias_by_topic(told.assign(lean=act + told["lean"] / 100), told.head(0))
    assert set(table["reading"]) == {"not_read"}


def test_the_blank_of_a_likelihood_is_its_size_on_the_same_passages():
    told, mere = examples.leans(0.6), examples.leans_of_blank(-0.3)
    table = words.with_blank(words.bias_by_topic(told, mere), told, mere)
    whole = table.iloc[0]
    assert whole["blank_status"] == "ok"
    used = told.loc[told["directed"], "template_id"].unique()
    pairs = contrasts.bias_by_pair(mere[mere["template_id"].isin(used)])
    by_hand = pairs.groupby("template_id")["bias"].mean().mean()
    assert whole["blank"] == pytest.approx(abs(by_hand))
    assert by_hand == pytest.approx(-0.3, abs=0.05)
    assert set(table["blank_status"].iloc[1:]) == {""}
    other = mere.assign(model="other")
    assert words.with_blank(table.drop(columns="blank"), told, other)["blank"].isna().all()
    assert words.with_blank(table, told, mere.head(0)) is table
