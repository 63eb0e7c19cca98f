"""Second edition of logprob_judge: no rule without reading knows the better answer."""

import difflib

import numpy as np
import pytest

from katayori.papers import logprob_judge as judge
from katayori_tools.paper_files import SECOND, study_sets


def bigrams(text):
    return {text[n : n + 2] for n in range(len(text) - 1)}


#: Scores that read no content: answer, reference -> a number; the greater one wins.
RULES = {
    "longer": lambda answer, reference: len(answer),
    "nearer in length": lambda answer, reference: -abs(len(answer) - len(reference)),
    "difflib": lambda answer, reference: difflib.SequenceMatcher(None, answer, reference).ratio(),
    "neighboring letters": lambda answer, reference: (
        len(bigrams(answer) & bigrams(reference)) / len(bigrams(answer) | bigrams(reference))
    ),
}


@pytest.fixture(scope="module")
def pairs():
    return judge.load_study_judge()


@pytest.fixture(scope="module")
def frames():
    sets = study_sets("logprob_judge")
    return {one.name: one.items for one in sets if one.edition == SECOND}


def lead(pairs, rule):
    """How far a rule puts the first answer of each pair ahead of the second."""
    return np.array(
        [
            rule(row.answer_1, row.reference) - rule(row.answer_2, row.reference)
            for row in pairs.itertuples()
        ]
    )


def test_nor_do_all_rules_together_on_questions_not_seen(pairs):
    """Least squares on signs and sizes of all four leads, each question left out in turn."""
    decided = pairs[pairs["truth"] != "tie"]
    better = np.where(decided["truth"] == "1", 1.0, -1.0)
    leads = np.array([lead(decided, rule) for rule in RULES.values()]).T
    seen = np.c_[leads / leads.std(axis=0), np.sign(leads)]
    questions = decided["question_id"].to_numpy()
    right = []
    for question in np.unique(questions):
        out = questions == question
        weights = np.linalg.lstsq(seen[~out], better[~out], rcond=None)[0]
        right += list(np.sign(seen[out] @ weights) == better[out])
    assert abs(np.mean(right) - 0.5) <= 0.08


def test_our_criteria_are_no_pieces_of_the_reference(pairs):
    """At most the thing a criterion is about may be quoted: no line stands in the reference."""
    for row in pairs.drop_duplicates("question_id").itertuples():
        for line in row.points.split("\n"):
            said = line.removeprefix("・")
            matcher = difflib.SequenceMatcher(None, said, row.reference, autojunk=False)
            longest = matcher.find_longest_match().size
            assert longest < 12 and said not in row.reference
