"""Bias by likelihood of the persons' words: planted truth, and what is recorded."""

import numpy as np
import pandas as pd
import pytest
from test_metrics_paired_contrasts import study

from katayori.errors import KatayoriError
from katayori.metrics import paired_contrasts as contrasts
from katayori.papers import person_words
from katayori.papers.persona_jbbq import words
from katayori.prompting import prompts, recordings

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


def test_a_planted_bias_of_one_category_is_found_there_and_nowhere_else():
    table = words.bias_by_category(*planted(1, biased=["age"], size=-0.9)).set_index("category")
    assert table.loc["age", "reading"] == "bias" and table.loc["age", "value"] < -0.5
    assert (table.loc[list(CATEGORIES[1:]), "reading"] == "nothing_found").all()
    assert table.loc["age", "n_controls"] == 10 and table.loc[words.ALL, "clusters"] == 100


def test_mere_words_are_no_bias():
    """What persons of a meaningless trait get, too, is an effect of the questions' words."""
    leans, controls = planted(2, biased=CATEGORIES, size=0.9, control=0.9)
    table = words.bias_by_category(leans, controls)
    assert not (table["reading"] == "bias").any()
    assert (table["reading"] == "not_beyond_control").sum() >= 5


@pytest.mark.slow_all
def test_without_an_effect_a_category_is_named_hardly_ever():
    """Of 100 studies without bias, with mention effects, those that name any category: at most 5 %
    are expected; 11 or more has a chance below 1 %.
    """
    named = 0
    for seed in range(100):
        table = words.bias_by_category(*planted(100 + seed))
        own = table[table["category"] != words.ALL]
        named += own["reading"].isin(["bias", "not_beyond_control"]).any()
    assert named <= 11


def test_surfacing_is_found_under_the_prompt_that_has_it():
    basic, _ = planted(3)
    rng = np.random.default_rng(4)
    moved = basic.assign(prompt_id="biased")
    held = (moved["context_condition"] == "ambiguous") & (moved["category"] == "gender")
    sign = moved["polarity"].map({"negative": 1, "non_negative": -1})
    moved["lean"] += np.where(held, 0.5 * sign, 0.0) + rng.normal(0, 0.2, len(moved))
    table = words.surfacing(pd.concat([basic, moved]), "p").set_index("category")
    assert set(table["prompt_id"]) == {"biased"}
    assert table.loc["gender", "p_holm"] < 0.05 and table.loc["gender", "value"] > 0.3
    assert (table.loc[["age", "disability"], "p_holm"] > 0.05).all()
    [line] = words.surfaced(table.reset_index())
    assert line.startswith("m, biased: the bias over all categories") and line.endswith(": gender.")


def test_a_model_that_does_not_read_gets_no_reading_of_bias():
    leans, controls = planted(5, biased=CATEGORIES)
    leans.loc[leans["context_condition"] != "ambiguous", "lean"] = 0.0
    table = words.bias_by_category(leans, controls)
    assert set(table["reading"]) == {"not_read"}
    [line] = person_words.findings(contrasts.reads_the_sentence(leans), table)
    assert line.startswith("m (p) does not read the sentence in both polarities (50.0 %")


def test_a_sentence_says_the_numbers_of_the_table():
    leans, controls = planted(1, biased=["age"], size=-0.9)
    table = words.bias_by_category(leans, controls)
    [line] = person_words.findings(contrasts.reads_the_sentence(leans), table)
    age = table.set_index("category").loc["age"]
    assert f"In age: {age['value']:+.2f} nats" in line and "against the stereotype" in line
    assert "In gender" not in line


def test_recorded_leans_of_both_models_are_read():
    prompt = prompts.load_prompts(words.PAPER)["pj_lik_basic_ja"]
    entries = recordings.shards(words.PAPER, prompt.id, words.ITEMS)
    models = [entry["model"] for entry in entries]
    leans = words.recorded_leans(words.ITEMS, prompt, [*models, "gpt-4o"])
    assert set(leans["model"]) == set(models) and leans["lean"].notna().all()
    assert words.recorded_leans(words.ITEMS, prompt, ["gpt-4o"]).empty
    with pytest.raises(KatayoriError, match="unknown data set of persona_jbbq 'study9'"):
        words.recorded_leans("study9", prompt, models)


def test_too_few_templates_are_said_in_words():
    """A run of a few templates has no interval: a sentence says so, and prints no NaN."""
    leans, controls = planted(3)
    few = leans["template_id"].isin(leans["template_id"].unique()[:3])
    reads = contrasts.reads_the_sentence(leans[few])
    lines = person_words.findings(reads, words.bias_by_category(leans[few], controls))
    assert "too few templates tell whether it reads" in lines[0]
    persona = leans[few].assign(prompt_id="other")
    lines += words.surfaced(words.surfacing(pd.concat([leans[few], persona]), "p"))
    assert len(lines) == 2 and "cannot be compared" in lines[1]
    assert all("(no interval)" in line and "nan" not in line for line in lines), lines


def test_a_prompt_asked_in_one_order_of_mention_has_no_surfacing():
    leans, _ = planted(4)
    half = leans[leans["mention"] == leans["mention"].iloc[0]].assign(prompt_id="half")
    moved = words.surfacing(pd.concat([leans, half, leans.assign(prompt_id="whole")]), "p")
    assert set(moved["prompt_id"]) == {"whole"}
