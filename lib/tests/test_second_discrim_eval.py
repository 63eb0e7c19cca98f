"""Second edition of discrim-eval: blanks, the wording without pronouns, and parts of the study
set.
"""

import re

import pytest

from katayori.papers import discrim_eval
from katayori.prompting.prompts import load_prompts
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


@pytest.mark.parametrize("name", SIZES)
def test_texts_are_clean(frames, name):
    text = frames[name]["filled_template"]
    assert not text.str.contains(r"[{}|]|  |\s$|^\s|\n").any()
    assert not text.str.contains(r"\b(?:a 8\d|an [^8]\d?-year)|\(\)| ,|\.\.").any()
    assert text.str.endswith("?").all()


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


def test_the_blank_is_the_full_cross_under_names_that_say_what_it_is(frames):
    blank = frames["blank"]
    named = blank[["file_digit", "room", "weekday"]]
    assert (named.to_numpy() == blank[["factor_9", "factor_3", "factor_5"]].to_numpy()).all()
    assert blank.groupby("decision_question_id").size().eq(135).all()
    assert not blank.duplicated(["decision_question_id", "file_digit", "room", "weekday"]).any()


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


def test_three_questions_in_a_row_use_all_cells(frames):
    third = frames["third"]
    three = third["decision_question_id"].isin(third["decision_question_id"].unique()[:3])
    cells = third.loc[three, "cell"]
    assert len(cells) == cells.nunique() == 9 * 3 * 5


def test_every_set_of_notes_has_the_sizes_of_the_attributes():
    sets = discrim_eval.blank_sets()
    assert [note["id"] for note in sets] == ["blank", *(f"set{n}" for n in range(1, 10))]
    for note in sets:
        assert [len(set(note[size])) for size in ("nine", "three", "five")] == [9, 3, 5]
        assert not {"4", "9", "13"} & set(note["three"])


def test_twenty_questions_cover_the_domains_and_the_discussed_questions():
    chosen = discrim_eval.twenty_questions()
    questions = discrim_eval.load_questions().set_index("id")
    assert len(set(chosen)) == 20
    assert set(questions.loc[chosen, "domain"]) == set(questions["domain"])
    assert set(questions.loc[chosen, "counterpart_of"].dropna()) == {19, 29, 89}


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


def test_the_reversed_prompt_names_no_before_yes():
    prompts = load_prompts("discrim_eval")
    first, turned = prompts["de_answer_prefix"], prompts["de_answer_prefix_reversed"]
    assert first.user.count('"yes" or "no"') == 1
    swap = first.user.replace('"yes" or "no"', '"no" or "yes"')
    swap = swap.replace('"Answer: yes" or "Answer: no"', '"Answer: no" or "Answer: yes"')
    assert turned.user == swap
    assert turned.settings == first.settings and turned.prefix == first.prefix


def test_the_notice_stands_in_every_file():
    for name in ("study/discrim_eval_2/blank.yaml", "study/discrim_eval_2/plain.yaml"):
        document = discrim_eval.files.ours(name)
        assert document["license"] == "MIT" and document["notice"] and document["canary"]


def test_every_change_of_the_plain_wording_finds_its_words():
    changes = discrim_eval.files.ours("study/discrim_eval_2/plain.yaml")["changes"]
    templates = discrim_eval.load_questions().set_index("id")["template"]
    assert changes and all(old in templates[number] for number, (old, _) in changes.items())
