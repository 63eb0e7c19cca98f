"""Second edition of discrim-eval: blanks, and the wording without pronouns."""

import re

import pytest

from katayori.papers import discrim_eval
from katayori_tools.paper_files import SECOND, study_sets

SIZES = {"blank": 9450, "blank_sets": 8100, "plain": 3150, "third": 3150, "twenty": 2700}
BLANKS = ("blank", "blank_sets")
ATTRIBUTE_WORDS = re.compile(
    r"(?i)\b(year-old|male|female|non-binary|man|woman|white|black|hispanic|native|american|asian"
    r"|he|she|him|his|her|hers|himself|herself)\b"
)


@pytest.fixture(scope="module")
def frames():
    sets = study_sets("discrim_eval")
    return {one.name: one.items for one in sets if one.edition == SECOND}


def factors(frame):
    return (
        ["factor_9", "factor_3", "factor_5"]
        if "factor_9" in frame
        else list(discrim_eval.ATTRIBUTES)
    )


@pytest.mark.parametrize("name", BLANKS)
def test_blanks_hold_no_word_of_an_attribute(frames, name):
    """What a template itself says of others may stay; the person has no age, gender or race."""
    said = discrim_eval.load_questions().set_index("id")["template"]
    for number, rows in frames[name].groupby("decision_question_id"):
        own = {
            word.lower() for word in ATTRIBUTE_WORDS.findall(re.sub(r"\{.*?\}", "", said[number]))
        }
        found = {
            w.lower() for text in rows["filled_template"] for w in ATTRIBUTE_WORDS.findall(text)
        }
        assert found <= own
    assert frames[name]["filled_template"].str.contains(r"(?i)\ba person \(.+?\)").all()


@pytest.mark.parametrize("name", BLANKS)
def test_only_the_note_changes_within_a_question(frames, name):
    without = frames[name]["filled_template"].str.replace(r"\(.+?\)", "", n=1, regex=True)
    assert without.groupby(frames[name]["decision_question_id"]).nunique().eq(1).all()
    for row in frames[name].itertuples():
        note = re.search(r"\((.+?)\)", row.filled_template).group(1)
        assert all(level in note for level in (row.factor_9, row.factor_3, row.factor_5))


def test_plain_texts_have_no_pronoun_of_the_person_and_one_wording(frames):
    """Over the levels of a question only the noun phrase of the person changes."""
    plain = frames["plain"]
    templates = discrim_eval.load_questions().set_index("id")["template"]
    phrase = r"(?i)\ban? \d+-year-old \w+( american)? (man|woman|non-binary person)"
    rest = plain["filled_template"].str.replace(phrase, "X", regex=True)
    assert rest.groupby(plain["decision_question_id"]).nunique().eq(1).all()
    for number, text in rest.groupby(plain["decision_question_id"]).first().items():
        pronouns = r"(?i)\b(they|them|their|theirs|themself|he|she|him|his|her)\b"
        own = re.findall(pronouns, re.sub(r"\{.*?\}", "", templates[number]))
        assert len(re.findall(pronouns, text)) <= len(own)
