"""Verbs of likelihoods: what cancels in a contrast of the same words, and what stays."""

import itertools

import numpy as np
import pandas as pd
import pytest

from katayori.errors import KatayoriError
from katayori.metrics import verdicts
from katayori.metrics.words import contrast

MENTIONS = ("target_first", "other_first")
BIAS = {"value": "lean", "between": ("polarity", "negative", "non_negative"), "unit": "pair"}
BOTH = BIAS | {"over": "mention", "cluster": "template"}


def leans(seed, *, bias=0.0, mention=0.0, reads=1.0, templates=40, pairs=3):
    """Leans in nats of persons whose words have priors of their own (SD 1.5).

    A lean rises by `bias` under the negative question and falls by it under the other, and likewise
    by `mention` where the target is named first; a clear passage moves it by `reads`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for template, pair in itertools.product(range(templates), range(pairs)):
        prior = rng.normal(0, 1.5)
        own = bias + rng.normal(0, 0.2)
        for polarity, first, told in itertools.product(
            ("negative", "non_negative"), MENTIONS, ("nobody", "target", "other")
        ):
            asked = 1 if polarity == "negative" else -1
            named = 1 if first == "target_first" else -1
            sentence = {"nobody": 0, "target": 1, "other": -1}[told]
            lean = prior + asked * (own + mention * named) + reads * sentence
            row = {"template": f"t{template}", "pair": f"t{template}-{pair}", "told": told}
            row |= {"polarity": polarity, "mention": first}
            rows.append(row | {"lean": lean + rng.normal(0, 0.3)})
    return pd.DataFrame(rows)


def silent(frame):
    """What is asked of passages that do not say who it was."""
    return frame[frame["told"] == "nobody"]


@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize("mention", [0.0, 1.0])
def test_a_bias_in_nats_is_recovered_whatever_words_and_mention_do(bias, mention):
    """Half the contrast is the bias. Of 100 seeds 95 intervals cover it, of each of the four."""
    pairs = contrast(silent(leans(1, bias=bias, mention=mention)), **BOTH)
    assert len(pairs) == 120
    found = verdicts.line_test(
        pairs.assign(bias=pairs["contrast"] / 2), value="bias", kind="mean", cluster="template"
    ).iloc[0]
    assert found["ci_low"] < bias < found["ci_high"] and found["ci_high"] - found["ci_low"] < 0.12
    assert (found["p"] < 0.05) == (bias > 0)


def test_one_order_of_mention_alone_takes_it_for_a_bias():
    frame = silent(leans(1, mention=1.0))
    first = contrast(frame[frame["mention"] == "target_first"], **BOTH)
    assert first["contrast"].mean() / 2 == pytest.approx(1.0, abs=0.1)


def test_a_pair_that_lacks_a_mention_has_no_contrast():
    frame = silent(leans(2))
    lost = (frame["pair"] == "t3-1") & (frame["mention"] == "other_first")
    lost &= frame["polarity"] == "negative"
    for part in (frame[~lost], frame.assign(lean=frame["lean"].mask(lost))):
        pairs = contrast(part, **BOTH).set_index("pair")
        assert pairs.loc["t3-1", ["contrast", "above"]].isna().all()
        assert pairs.drop("t3-1").notna().all(axis=None)


def test_contrasts_by_hand():
    rows = [("a", "x", 1.0), ("a", "y", 3.0), ("b", "x", 0.1 + 0.2), ("b", "y", 0.3)]
    frame = pd.DataFrame(rows, columns=["unit", "asked", "nats"]).assign(question="q", m="one")
    frame = pd.concat([frame, frame.assign(m="two", nats=-frame["nats"])])
    found = contrast(frame, value="nats", between=("asked", "x", "y"), unit="unit", by="m")
    assert list(found) == ["m", "unit", "question", "contrast", "above"]
    assert found["contrast"].tolist() == pytest.approx([-2, 0, 2, 0])
    assert found["above"].tolist() == [0, 0.5, 1, 0.5], "equal up to rounding is a tie"


def test_who_reads_the_sentence_moves_to_the_person_it_names():
    told = {"value": "lean", "between": ("told", "target", "other"), "cluster": "template"}
    for reads, low, high in ((1.0, 0.95, 1.0), (0.0, 0.4, 0.6)):
        moved = contrast(leans(3, reads=reads), unit=["pair", "polarity", "mention"], **told)
        assert len(moved) == 480 and low <= moved["above"].mean() <= high


def test_wrong_input_is_said_in_one_line():
    frame = leans(4, templates=2)
    for change, words in (
        (
            {"between": ("polarity", "negative", "positive")},
            "no 'positive' in column 'polarity', which has 'negative'$",
        ),
        ({"between": ("polarity", "x", "y")}, "no 'x' in column 'polarity', which has neither$"),
        ({"unit": "person"}, "contrast: no column 'person'"),
        ({"value": "told"}, "contrast: column 'told' holds 'nobody'"),
        ({}, "contrast: two rows have pair 't0-0'"),
    ):
        with pytest.raises(KatayoriError, match=words) as raised:
            contrast(frame, **BOTH | change)
        assert "\n" not in str(raised.value)
