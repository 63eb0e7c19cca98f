"""One test counted once, and the effects that a table of interaction tests could have found."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from katayori.papers.inter_jbbq import interaction_tests as tests_of, scores as ix

BY = [*ix.MODEL, "topic", "ambiguity"]


def two_questions(rng, negative, neutral):
    """Rows of one cell; each function turns a drawn 0 or 1 of an item into a question's `right`."""
    rows = []
    for family in range(30):
        for subset in ("a", "a+b", "a+c", "a+b+c"):
            drawn = int(rng.random() < 0.5)
            asked = {"negative": negative(drawn, rng), "neutral": neutral(drawn, rng)}
            item = f"{family}-{subset}"
            rows += [(f"f{family}", item, subset, q, float(v)) for q, v in asked.items()]
    frame = pd.DataFrame(rows, columns=["cluster", "item", "subset", "question", "correct"])
    fixed = {"model": "m", "source": "s", "prompt_id": "p", "topic": "t", "ambiguity": "dis"}
    return frame.assign(**fixed, invalid=False, template_id="t-x")


@pytest.mark.parametrize(
    "neutral, doubled",
    [
        (lambda drawn, rng: 1 - drawn, True),
        (lambda drawn, rng: drawn, True),
        (lambda drawn, rng: int(rng.random() < 0.5), False),
    ],
    ids=["the other person", "the same", "independent"],
)
def test_a_test_that_repeats_another_is_counted_once(neutral, doubled):
    """A model that names one person is right in one question where it is wrong in the other."""
    frame = two_questions(np.random.default_rng(0), lambda drawn, rng: drawn, neutral)
    tests, _ = ix.interactions(frame, by=[*BY, "question"])
    found = tests_of.counted_once(tests, frame, BY).set_index("question")
    assert found["one_test_with"].to_dict() == {
        "negative": "",
        "neutral": "negative" if doubled else "",
    }
    assert (abs(found["lr"].diff().iloc[1]) < 1e-6) == doubled
    p = found["p"]
    if doubled:
        assert found["p_holm"].tolist() == pytest.approx([p.iloc[0]] * 2, abs=1e-6)
    else:
        assert found["p_holm"].min() == pytest.approx(min(1, 2 * p.min()))


def test_detectable_pairs_by_hand():
    """(t.975 + t.80) x SE of a pair, families less one degree of freedom; median of pairs."""
    key = {"model": "m", "source": "s", "prompt_id": "p", "topic": "t"}
    tests = pd.DataFrame({"p": [0.2, 0.2, np.nan], "p_holm": [0.2, 0.2, np.nan]})
    tests = tests.assign(one_test_with=["", "negative", ""], clusters=21, **key)
    terms = pd.DataFrame({"term": ["a", "a:b", "b:c"], "se": [9.0, 0.4, 0.6]}).assign(**key)
    row = tests_of.detectable_pairs(tests, terms).iloc[0]
    assert [row["cells"], row["tested"], row["doubles"], row["not_testable"]] == [3, 1, 1, 1]
    assert row["pair_detectable"] == pytest.approx(0.5 * (t.ppf(0.975, 20) + t.ppf(0.8, 20)))
    none = tests_of.detectable_pairs(tests, terms.assign(se=np.nan)).iloc[0]
    assert np.isnan(none["pair_detectable"])
