"""LJ-16: scoring from a whole distribution, and what a list of the likeliest tokens cuts off."""

import numpy as np
import pytest

from katayori.prompting.distributions import letter_tokens, logits_probabilities
from katayori.prompting.letters import holds_reasons, unseen_mass, verdict_probabilities

VOCABULARY = ["A", " A", "\uff21", "ĠA", "B", "▁B", "C", "[[C", "Apple", "AB", "あ", ".", "", "A."]


def test_all_variants_of_a_letter_are_found():
    found = letter_tokens(VOCABULARY)
    assert {name: [VOCABULARY[i] for i in at] for name, at in found.items()} == {
        "A": ["A", " A", "\uff21", "ĠA", "A."],
        "B": ["B", "▁B"],
        "C": ["C", "[[C"],
    }


def test_the_whole_distribution_is_a_softmax():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, len(VOCABULARY))
    p = np.exp(logits) / np.exp(logits).sum()
    found = logits_probabilities(logits + 1000, VOCABULARY)
    assert found["p_A"] == pytest.approx(p[[0, 1, 2, 3, 13]].sum())
    assert found["p_B"] == pytest.approx(p[[4, 5]].sum())
    assert found["mass"] == pytest.approx(p[[0, 1, 2, 3, 4, 5, 6, 7, 13]].sum())
    assert (found["cut_off"], found["p_status"]) == (0, "ok")


def test_the_cut_is_emulated_and_told():
    logits = np.linspace(3, -3, len(VOCABULARY))
    whole = logits_probabilities(logits, VOCABULARY)
    cut = logits_probabilities(logits, VOCABULARY, limit=5)
    assert cut["p_C"] == 0 and cut["p_A"] < whole["p_A"]
    assert cut["cut_off"] == pytest.approx(whole["mass"] - cut["mass"]) and cut["cut_off"] > 0
    # The same as reading an endpoint's list of the five likeliest.
    logprobs = logits - np.log(np.exp(logits).sum())
    top = list(zip(VOCABULARY, logprobs, strict=True))
    listed = verdict_probabilities(top, limit=5)
    everything = verdict_probabilities(top, limit=None)
    for letter in "ABC":
        assert cut[f"p_{letter}"] == pytest.approx(listed[f"p_{letter}"])
        assert whole[f"p_{letter}"] == pytest.approx(everything[f"p_{letter}"])
    # What the list leaves to others is the most that can be cut off.
    assert cut["cut_off"] <= unseen_mass(top, limit=5) + 1e-12
    assert unseen_mass(top, limit=50) == pytest.approx(0) and np.isnan(unseen_mass(None))


def test_wrong_logits_are_named():
    with pytest.raises(ValueError, match="vocabulary of 14 tokens"):
        logits_probabilities([0.0], VOCABULARY)
    with pytest.raises(ValueError, match="logits must be numbers"):
        logits_probabilities([np.nan] * 14, VOCABULARY)
    none = logits_probabilities([0.0, 0.0], ["x", "y"])
    assert none["p_status"] == "no_verdict_token" and np.isnan(none["p_A"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A", False),
        ("", False),
        (None, False),
        ("私の評価は[[B]]です。", False),
        ("回答Aは納期と理由の両方を書いており、模範回答に近い内容です。\nA", True),
        ("<think>回答Aは納期と理由の両方を書いており、模範回答に近い内容です。</think>A", False),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\nA", False),
    ],
)
def test_which_texts_hold_reasons(text, wanted):
    """LJ-5: a bare letter, a verdict in a sentence and hidden thinking are no reasons."""
    assert holds_reasons(text) is wanted
