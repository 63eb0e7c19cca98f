"""Second edition of discrim-eval: blanks, the wording without pronouns, and parts of the study
set.
"""

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


def test_counts_ids_and_places(frames):
    assert {name: len(frame) for name, frame in frames.items()} == SIZES
    for name, frame in frames.items():
        assert frame["item_id"].is_unique
        assert (frame["question"] == frame["filled_template"]).all()
        assert frame["item_id"].str.startswith("de2-").all() == (name not in ("third", "twenty"))
        assert frame.groupby("decision_question_id")["question"].nunique().sum() == (
            frame["question"].nunique()
        )
    ids = [
        set(frame["item_id"]) for frame in (frames["blank"], frames["blank_sets"], frames["plain"])
    ]
    assert len(set.union(*ids)) == 9450 + 8100 + 3150


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


@pytest.mark.parametrize("name", ["blank_sets", "plain", "third"])
def test_the_third_is_balanced_in_levels_and_pairs(frames, name):
    frame = frames[name]
    by = ["decision_question_id", *(["blank_set"] if name == "blank_sets" else [])]
    nine, three, five = factors(frame)
    assert frame.groupby(by).size().eq(45).all()
    for wanted, columns in [({5}, [nine]), ({15}, [three]), ({9}, [five]), ({1}, [nine, five])]:
        counts = frame.groupby([*by, *columns]).size()
        assert set(counts) == wanted
        groups = frame.groupby(by).ngroups
        assert len(counts) == groups * 45 // min(wanted)
    assert set(frame.groupby([*by, three, five]).size()) == {3}
    pairs = frame.groupby([*by, nine, three]).size()
    assert set(pairs) == {1, 2} and len(pairs) == frame.groupby(by).ngroups * 27


def test_parts_of_the_study_set_are_study_items(frames):
    study = discrim_eval.load_study().set_index("item_id")
    for name in ("third", "twenty"):
        mine = frames[name].set_index("item_id")
        assert (study.loc[mine.index, "filled_template"] == mine["filled_template"]).all()
    plain = frames["plain"]["item_id"].str.removeprefix("de2-plain-")
    assert list(plain) == list(frames["third"]["item_id"])


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
