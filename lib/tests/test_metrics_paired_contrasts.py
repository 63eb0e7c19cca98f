"""Paired contrasts of likelihoods: planted truth is found, noise and mere words are not."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.metrics import paired_contrasts as contrasts

DRAWS = 200
#: What the planted respondent does, in nats.
PLANTED = {
    "bias": 0.0,
    "reads": 2.0,
    "words": 2.0,
    "mention": 0.0,
    "act": 0.0,
    "noise": 0.5,
    "spread": 0.3,
}


def study(rng, *, templates=40, **planted):
    """Leans of a planted respondent: words of a template are liked by an amount of their own.

    `bias`: shift to the target in negative questions and away in the others, its size varying over
    templates by `spread`. `reads`: shift to the answer of the added sentence. `mention`: liking of
    the person named first in negative questions only. `act`: shift to whoever did the bad act,
    whatever is asked.
    """
    size = PLANTED | planted
    liked = rng.normal(0, size["words"], templates)
    own_bias = size["bias"] + rng.normal(0, size["spread"], templates)
    cells = itertools.product(
        range(templates),
        ("ambiguous", "biased", "counter_biased"),
        contrasts.POLARITIES,
        contrasts.MENTIONS,
    )
    rows = []
    for number, condition, polarity, order in cells:
        negative = polarity == "negative"
        lean = liked[number] + own_bias[number] * (1 if negative else -1)
        if negative:
            lean += size["mention"] * (1 if order == "target_first" else -1)
        if condition != "ambiguous":
            answer = contrasts._ANSWER[condition, polarity]
            lean += size["reads"] * (1 if answer == "target" else -1)
            lean += size["act"] * (1 if condition == "biased" else -1)
        rows.append(
            {
                "model": "m",
                "prompt_id": "p",
                "template_id": f"t{number}",
                "pair_id": f"t{number}-1",
                "category": "age",
                "context_condition": condition,
                "polarity": polarity,
                "mention": order,
                "lean": lean + rng.normal(0, size["noise"]),
            }
        )
    return pd.DataFrame(rows)


def test_who_reads_passes_in_both_polarities():
    table = contrasts.reads_the_sentence(study(np.random.default_rng(1)))
    assert set(table["polarity"]) == set(contrasts.POLARITIES)
    assert table["passes"].all() and (table["value"] > 0.95).all()
    assert (table[["n", "clusters", "n_incomplete"]] == [80, 40, 0]).all().all()


def test_who_leans_to_the_bad_act_whatever_is_asked_does_not_pass():
    table = contrasts.reads_the_sentence(study(np.random.default_rng(2), reads=0.0, act=3.0))
    share = table.set_index("polarity")["value"]
    assert share["negative"] > 0.95 and share["non_negative"] < 0.05
    assert not table["passes"].all()
    one = {"ci_low": 0.1, "ci_high": 0.2}
    assert contrasts.reading_of_bias(table, one, one) == "not_read"


def test_guessing_passes_in_both_polarities_hardly_ever():
    rng = np.random.default_rng(3)
    passed = [
        contrasts.reads_the_sentence(study(rng, templates=20, reads=0.0))["passes"].all()
        for _ in range(DRAWS)
    ]
    assert np.mean(passed) < 0.01


@pytest.mark.parametrize("mention", [0.0, 0.8])
@pytest.mark.parametrize("bias", [0.0, 0.4])
def test_intervals_of_bias_hold_whatever_words_and_mention_do(bias, mention):
    rng = np.random.default_rng([4, int(bias * 10), int(mention * 10)])
    covered = 0
    for _ in range(DRAWS):
        frame = study(rng, templates=20, bias=bias, mention=mention)
        row = contrasts.bias_in_nats(contrasts.bias_by_pair(frame)).iloc[0]
        covered += row["ci_low"] <= bias <= row["ci_high"]
    # 95 %, within what 200 draws tell.
    assert 0.905 <= covered / DRAWS <= 0.99


def test_one_order_of_mention_alone_is_no_bias():
    frame = study(np.random.default_rng(5), mention=1.0)
    pairs = contrasts.bias_by_pair(frame[frame["mention"] == "target_first"])
    assert pairs["bias"].isna().all()
    row = contrasts.bias_in_nats(pairs).iloc[0]
    assert (row["n"], row["n_incomplete"], row["status"]) == (0, 40, "no_valid_answer")


def test_a_missing_score_leaves_its_pair_out_and_is_counted():
    frame = study(np.random.default_rng(6))
    frame.loc[
        (frame["template_id"] == "t3") & (frame["context_condition"] == "ambiguous"), "lean"
    ] = np.nan
    row = contrasts.bias_in_nats(contrasts.bias_by_pair(frame)).iloc[0]
    assert (row["n"], row["n_incomplete"], row["clusters"]) == (39, 1, 39)
    at = (frame["template_id"] == "t4") & (frame["context_condition"] == "biased")
    frame.loc[at, "lean"] = np.nan
    table = contrasts.reads_the_sentence(frame)
    assert table["n_incomplete"].tolist() == [2, 2]


def test_surfacing_is_the_difference_on_the_same_pairs():
    rng = np.random.default_rng(7)
    basic = contrasts.bias_by_pair(study(rng, bias=0.1, spread=0.0))
    persona = contrasts.bias_by_pair(study(rng, bias=0.7, spread=0.0))
    row = contrasts.bias_in_nats(contrasts.difference_of_bias(persona, basic)).iloc[0]
    assert row["ci_low"] < 0.6 < row["ci_high"] and row["ci_low"] > 0.3 and row["n"] == 40


def test_bias_is_said_only_beyond_the_control():
    reads = contrasts.reads_the_sentence(study(np.random.default_rng(8)))
    above, none = {"ci_low": 0.1, "ci_high": 0.3}, {"ci_low": -0.1, "ci_high": 0.3}
    below, missing = {"ci_low": -0.3, "ci_high": -0.1}, {"ci_low": np.nan, "ci_high": np.nan}
    said = contrasts.reading_of_bias
    assert said(reads, above, above) == said(reads, below, below) == "bias"
    assert said(reads, none, above) == "nothing_found"
    assert said(reads, above, none) == said(reads, above, below) == "not_beyond_control"
    assert said(reads, above, missing) == said(reads, missing, above) == "undefined"
