"""Chance of one half, symmetry of a design, and the gain by the added sentence (IJ-17)."""

import numpy as np
import pandas as pd
import pytest

from katayori.frame_checks import with_items
from katayori.papers.inter_jbbq import items as inter_jbbq, named_person as named, scores as ix

BY = ["model", "source", "prompt_id"]


@pytest.fixture(scope="module")
def items():
    return inter_jbbq.generate()


def answered(items, answers, **more):
    log = pd.DataFrame({"item_id": items["item_id"], "model": "m", "source": "live"})
    log = log.assign(prompt_id="p", outcome="ok", answer=answers, **more)
    return named.with_lean(ix.with_design(with_items(log, items)))


def person(items, wanted):
    """The place of a person ("a" or "b") in every row, as an answer."""
    return [str(order.index(who)) for order, who in zip(items["order"], wanted, strict=True)]


def test_the_construction_is_not_symmetric_and_a_mirrored_one_is(items):
    """IJ-3: A, named first, is right for the neutral question; mirrored items repair it."""
    some = items[items["topic"] == "manners"]
    assert not named.is_symmetric(some)
    mirrored = some.assign(polarity=some["polarity"].map({"negative": "non_negative"}))
    mirrored["polarity"] = mirrored["polarity"].fillna("negative")
    assert named.is_symmetric(pd.concat([some, mirrored]))


def test_who_reads_the_question_alone_gains_nothing(items):
    """B for the negative question, A for the neutral: right before and after, and no gain."""
    who = np.where(items["polarity"] == "negative", "b", "a")
    frame = answered(items, person(items, who))
    found = named.lean_and_gain(frame, BY).set_index(["measure", "part"])
    assert found.loc[("names_later", "ambiguous"), "value"] == 1
    assert found.loc[("lean", "disambiguated"), "value"] == 0.5
    gain = found.loc[("lean", "gain")]
    assert gain["value"] == 0 and gain["status"] == "no_variation" and np.isnan(gain["ci_low"])


def test_who_reads_the_sentence_gains_a_half(items):
    """Unknown where it is silent, the right person where it tells: the gain is one half."""
    frame = answered(items, items["label"].astype(str))
    found = named.lean_and_gain(frame, BY).set_index(["measure", "part"])
    assert found.loc[("lean", "gain"), "value"] == found.loc[("lean", "disambiguated"), "value"]
    assert found.loc[("lean", "gain"), "value"] == 0.5
    assert found.loc[("lean", "ambiguous"), "value"] == 0
    assert ("names_later", "ambiguous") not in found.index


def test_who_never_abstains_and_knows_nothing_has_no_excess(items):
    """One half, not one third, is chance for who never says unknown."""
    always_a = named.lean_and_gain(answered(items, person(items, ["a"] * len(items))), BY)
    assert always_a.loc[always_a["measure"] == "lean", "value"].eq(0).all()
    one = answered(items, "1")
    excess = named.lean_and_gain(one, BY).set_index(["measure", "part"])
    assert excess.loc[("lean", "disambiguated"), "value"] == pytest.approx(0, abs=1e-12)
    third = one[one["ambiguity"] == "dis"]["correct"].mean()
    assert 0.3 < third < 0.36, "the accuracy of a third is no sign of knowledge"


def drawn(items, rng, place=1.5, before=0.0, after=0.0):
    """Probabilities drawn to a place, and to the later-right person before or after."""
    odds = rng.normal(0, 0.2, (len(items), 3))
    odds[:, 2] += place
    rows, unknown = np.arange(len(items)), items["unknown_position"].to_numpy(int)
    later = [
        o.index("b" if p == "negative" else "a")
        for o, p in zip(items["order"], items["polarity"], strict=True)
    ]
    clear = (items["context_condition"] != "ambiguous").to_numpy()
    odds[rows, later] += np.where(clear, before + after, before)
    odds[rows, unknown] -= 1
    p = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    chosen = p.argmax(axis=1).astype(str)
    return answered(items, chosen, p_0=p[:, 0], p_1=p[:, 1], p_2=p[:, 2])


def test_the_gain_is_told_from_the_lean(items):
    """A lean from before the sentence is no gain; a gain beside it is found; noise has neither.

    A strong preference for a place disturbs neither.
    """
    rng = np.random.default_rng(1)
    lean = named.lean_and_gain(drawn(items, rng, before=0.3), BY).set_index(["measure", "part"])
    before, gain = lean.loc[("lean_odds", "ambiguous")], lean.loc[("lean_odds", "gain")]
    assert before["ci_low"] > 0.25 and gain["ci_low"] < 0 < gain["ci_high"]
    both = drawn(items, rng, before=0.3, after=0.1)
    gain = named.lean_and_gain(both, BY).set_index(["measure", "part"]).loc[("lean_odds", "gain")]
    assert gain["value"] == pytest.approx(0.1, abs=0.03) and gain["ci_low"] > 0
    assert gain["n"] == 2800 and gain["clusters"] == 105
    noise = named.lean_and_gain(drawn(items, rng), BY)
    odds = noise[noise["measure"] == "lean_odds"]
    assert (odds["ci_low"] < 0.01).all() and (odds["ci_high"] > -0.01).all()


def test_a_place_cancels_over_both_questions(items):
    """Items lean for who prefers a person beside a place; a place alone gives one half."""
    rng = np.random.default_rng(2)
    by = [*BY, "ambiguity"]
    noise = named.items_without_place(drawn(items, rng, place=3.0), by)
    assert noise["value"].between(0.45, 0.55).all() and set(noise["n"]) == {1400}
    leaning = named.items_without_place(drawn(items, rng, place=3.0, before=0.5), by)
    assert (leaning["ci_low"] > 0.9).all()


def test_an_invalid_answer_is_counted_and_leans_to_nobody(items):
    frame = answered(items, items["label"].astype(str))
    log = frame[["item_id", "model", "source", "prompt_id", "outcome", "answer"]].copy()
    log.loc[log.index[:10], ["outcome", "answer"]] = ["out_of_choice", None]
    told = named.with_lean(ix.with_design(with_items(log, items)))
    assert (told["lean"][told["invalid"]] == 0).all() and told["names_later"][:10].isna().all()
    rows = named.lean_and_gain(told, BY).set_index(["measure", "part"])
    assert (
        rows.loc[("lean", "ambiguous"), "n_invalid"]
        + rows.loc[("lean", "disambiguated"), "n_invalid"]
        == 10
    )


def test_items_in_one_context_alone_say_nothing(items):
    """A user's file or a limit may leave one kind of context: no lean, no crash."""
    some = items[items["context_condition"] == "ambiguous"]
    frame = answered(some, "1")
    assert frame["lean"].isna().all()
    assert named.lean_and_gain(frame, BY).empty
