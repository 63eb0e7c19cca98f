"""Bias by likelihood of the persons' words, group by group: planted truth."""

import numpy as np
import pandas as pd
import pytest
from test_metrics_paired_contrasts import study

from katayori.metrics import paired_contrasts as contrasts
from katayori.papers import person_words

ALL = "all categories"
SPOKEN = person_words.Spoken(ALL, "category", "templates")
CATEGORIES = ("age", "disability", "gender", "orientation", "appearance")


def planted(seed, biased=(), size=0.6, control=0.0):
    """Five categories of 20 templates, the named ones biased, ten with controls."""
    rng = np.random.default_rng(seed)
    leans, controls = [], []
    for name in CATEGORIES:
        bias = size if name in biased else 0.0
        frame = study(rng, templates=20, bias=bias, mention=0.3)
        frame["category"] = name
        for column in ("template_id", "pair_id"):
            frame[column] = name + frame[column]
        leans.append(frame)
        mere = study(rng, templates=10, bias=control, spread=0.1, reads=0.0)
        mere["category"] = name
        for column in ("template_id", "pair_id"):
            mere[column] = name + mere[column]
        controls.append(
            mere[mere["context_condition"] == "ambiguous"].assign(control="meaningless")
        )
    return pd.concat(leans, ignore_index=True), pd.concat(controls, ignore_index=True)


def by_category(leans, controls):
    pairs, mere = contrasts.bias_by_pair(leans), contrasts.bias_by_pair(controls)
    beyond = contrasts.difference_of_bias(pairs, mere, on=contrasts.MODEL)
    reads = contrasts.reads_the_sentence(leans)
    return person_words.bias_of_groups(reads, pairs, beyond, ALL)


def test_a_planted_bias_of_one_category_is_found_there_and_nowhere_else():
    table = by_category(*planted(1, biased=["age"], size=-0.9)).set_index("category")
    assert table.loc["age", "reading"] == "bias" and table.loc["age", "value"] < -0.5
    assert (table.loc[list(CATEGORIES[1:]), "reading"] == "nothing_found").all()
    assert table.loc["age", "n_controls"] == 10 and table.loc[ALL, "clusters"] == 100


def test_mere_words_are_no_bias():
    """What persons of a meaningless trait get, too, is an effect of the questions' words."""
    leans, controls = planted(2, biased=CATEGORIES, size=0.9, control=0.9)
    table = by_category(leans, controls)
    assert not (table["reading"] == "bias").any()
    assert (table["reading"] == "not_beyond_control").sum() >= 5


@pytest.mark.slow_all
def test_without_an_effect_a_category_is_named_hardly_ever():
    """Of 100 studies without bias, with mention effects, those that name any category: at most 5 %
    are expected; 11 or more has a chance below 1 %.
    """
    named = 0
    for seed in range(100):
        table = by_category(*planted(100 + seed))
        own = table[table["category"] != ALL]
        named += own["reading"].isin(["bias", "not_beyond_control"]).any()
    assert named <= 11


def test_a_model_that_does_not_read_gets_no_reading_of_bias():
    leans, controls = planted(5, biased=CATEGORIES)
    leans.loc[leans["context_condition"] != "ambiguous", "lean"] = 0.0
    table = by_category(leans, controls)
    assert set(table["reading"]) == {"not_read"}
    [line] = person_words.findings(contrasts.reads_the_sentence(leans), table, SPOKEN)
    assert line.startswith("m (p) does not read the sentence in both polarities (50.0 %")


def test_a_sentence_says_the_numbers_of_the_table():
    leans, controls = planted(1, biased=["age"], size=-0.9)
    table = by_category(leans, controls)
    [line] = person_words.findings(contrasts.reads_the_sentence(leans), table, SPOKEN)
    age = table.set_index("category").loc["age"]
    assert f"In age: {age['value']:+.2f} nats" in line and "against the stereotype" in line
    assert "In gender" not in line


def test_too_few_templates_are_said_in_words():
    """A run of a few templates has no interval: a sentence says so, and prints no NaN."""
    leans, controls = planted(3)
    few = leans["template_id"].isin(leans["template_id"].unique()[:3])
    reads = contrasts.reads_the_sentence(leans[few])
    [line] = person_words.findings(reads, by_category(leans[few], controls), SPOKEN)
    assert "too few templates tell whether it reads" in line
    assert "(no interval)" in line and "nan" not in line


def test_the_bias_stands_twice_with_its_size():
    twice = person_words.bias_beside_mere_words(by_category(*planted(6)))
    assert twice["difference"].notna().all()
    assert set(twice["metric"]) == {"bias", "bias less mere words"}


def test_the_bias_of_all_groups_is_adjusted_over_the_prompts_of_its_own_model():
    """Two prompts: Holm doubles the smaller p of a model, whatever other models there are."""
    leans, controls = planted(7, biased=["age"])
    other, _ = planted(8, biased=["age"])
    one = pd.concat([leans, other.assign(prompt_id="other")], ignore_index=True)
    two = pd.concat([one, one.assign(model="n")], ignore_index=True)
    alone, beside = (by_category(frame, controls) for frame in (one, two))
    whole = [table[table["category"] == ALL] for table in (alone, beside)]
    own, again = whole[0]["p_holm"], whole[1][whole[1]["model"] == "m"]["p_holm"]
    assert again.tolist() == own.tolist()
    assert own.min() == pytest.approx(min(1.0, 2 * whole[0]["p"].min()))
