"""Items of the discrim-eval paper: our study set, a user's own questions, and the official file
(DE-1 to DE-5).
"""

import itertools
import json
import os
import re

import pytest

from katayori.data import catalogue
from katayori.errors import KatayoriError
from katayori.papers import discrim_eval
from katayori.papers.discrim_eval import (
    AGES,
    COLUMNS,
    GENDERS,
    RACES,
    load_official,
    load_study,
)

CROSS = list(itertools.product(AGES, GENDERS, RACES))

#: What the items say beside the prompt and the person.
OF_QUESTION = ["label", "counterpart_of", "cell"]


@pytest.fixture(scope="module")
def study():
    return load_study()


def test_the_study_set_is_the_full_cross(study):
    """DE-2: 70 questions x 9 ages x 3 genders x 5 races; DE-5: the upstream schema, and a label
    (DE-3).
    """
    assert list(study.columns) == [*COLUMNS, *OF_QUESTION] and len(study) == 9450 == 70 * len(CROSS)
    assert study["item_id"].is_unique and study["filled_template"].is_unique
    for _, rows in study.groupby("decision_question_id"):
        assert list(rows[["age", "gender", "race"]].itertuples(index=False, name=None)) == CROSS


@pytest.mark.parametrize(
    "gender, wrong",
    [("male", "she|her|hers|herself|themself"), ("female", "he|him|his|himself|themself")],
)
def test_pronouns_never_name_the_other_gender(study, gender, wrong):
    """In one question of one gender only the person decided on may be named by a pronoun of that
    gender.
    """
    own = study[(study["gender"] == gender) & (study["age"] == 20) & (study["race"] == "white")]
    other = study[
        (study["gender"] == "non-binary") & (study["age"] == 20) & (study["race"] == "white")
    ]
    for mine, theirs in zip(own["filled_template"], other["filled_template"], strict=True):
        # A word of the other gender may stand only where the non-binary text has it too (a third
        # person).
        assert len(re.findall(rf"(?i)\b(?:{wrong})\b", mine)) <= len(
            re.findall(rf"(?i)\b(?:{wrong})\b", theirs)
        )


# --- a user's own questions -----------------------------------------------------------------------

OWN = """\
dataset: mine
version: 3
questions:
  - {id: 1, label: "work: hiring", template: "{A_person} applies. Should {they} be hired?"}
  - id: 7
    label: "rent: flat"
    template: "May {a_person}, who {says|say} {they} {is|are} quiet, rent the flat?"
"""


def test_a_users_own_questions_are_one_more_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(OWN, encoding="utf-8")
    items = load_study(file)
    assert len(items) == 2 * 135 and set(items["decision_question_id"]) == {1, 7}
    assert (
        items["filled_template"].iloc[0] == "A 20-year-old white man applies. Should he be hired?"
    )
    assert discrim_eval.study_version(file) == "mine v3"
    file.write_text(
        OWN.replace("hired", "kept"), encoding="utf-8"
    )  # edited while a notebook is open
    assert "kept" in load_study(file)["filled_template"].iloc[0]


@pytest.mark.parametrize(
    "change, says",
    [
        (("id: 7", "id: 1"), "question id 1 .*appears twice"),
        (
            ("id: 7", "id: seven"),
            r"questions\[1\] \(seven\).id must be a whole number, not 'seven'",
        ),
        (('    label: "rent: flat"\n', ""), r"questions\[1\] \(7\) lacks label"),
        (("{a_person}", "somebody"), "question 7 names nobody"),
        (("{says|say}", "{verb}"), r"question 7: unknown slot \{verb\}"),
        (("{says|say}", "{says|say"), "question 7 has an unclosed"),
        (('"May {a_person}', '["May {a_person}"] #'), "template must be a text|not readable YAML"),
        (("questions:", "question:"), "lacks questions"),
        (("dataset: mine", "dataset: [mine"), "not readable YAML"),
        (("dataset: mine", "dataset: !!python/object/apply:os.getcwd []"), "not readable YAML"),
    ],
)
def test_a_wrong_question_file_is_named(tmp_path, change, says):
    file = tmp_path / "mine.yaml"
    assert change[0] in OWN
    file.write_text(OWN.replace(*change), encoding="utf-8")
    with pytest.raises(KatayoriError, match=f"mine.yaml.*(?:{says})") as caught:
        load_study(file)
    assert "\n" not in str(caught.value)


def test_an_absent_or_unreadable_question_file_is_named(tmp_path):
    with pytest.raises(KatayoriError, match=r"question file not found: none\.yaml"):
        load_study(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_bytes("質問: は".encode("shift_jis"))
    with pytest.raises(KatayoriError, match=r"bad\.yaml is not UTF-8"):
        load_study(tmp_path / "bad.yaml")


# --- the official file ----------------------------------------------------------------------------


def _official(path, rows, end="\n"):
    path.write_text("\n".join(json.dumps(row) for row in rows) + end, encoding="utf-8")
    return path


def _row(question=0, age=20.0, gender="female", race="white", **more):
    return {
        "filled_template": f"Text {question} {age}\u2028of {gender} {race}?",
        "decision_question_id": question,
        "age": age,
        "gender": gender,
        "race": race,
    } | more


def test_a_full_official_file_is_validated(tmp_path):
    """DE-2: ages may be floats and races in any case, as upstream writes them."""
    rows = [_row(q, float(a), g, r.lower()) for q in range(70) for a, g, r in CROSS]
    items = load_official(_official(tmp_path / "explicit.jsonl", rows))
    assert (
        list(items.columns) == [*COLUMNS, *OF_QUESTION]
        and len(items) == 9450
        and set(items["race"]) == set(RACES)
    )
    assert items["age"].tolist()[:16:15] == [20, 30] and "\u2028" in items["filled_template"][0]
    with pytest.raises(KatayoriError, match="9449 of 9450 cells; 1 are missing"):
        load_official(_official(tmp_path / "explicit.jsonl", rows[1:]))


def test_a_partial_file_says_what_is_missing(tmp_path):
    path = _official(tmp_path / "part.jsonl", [_row(q, a) for q in (3, 4) for a in (20, 30)])
    says = r"4 of 9450 cells; 9446 are missing .*partial=True"
    with pytest.raises(KatayoriError, match=says):
        load_official(path)
    assert len(load_official(path, partial=True)) == 4


@pytest.mark.parametrize(
    "rows, end, says",
    [
        ([_row(), _row()], "\n", "1 duplicated cells, e.g. q000-020-female-white"),
        ([_row(gender="other")], "\n", "row 1: unknown group.*gender=other"),
        ([_row(race="martian")], "\n", "row 1: unknown group"),
        ([_row(), _row(age=25)], "\n", "row 2: unknown group age=25"),
        ([_row(age=float("nan"))], "\n", "row 1: unknown group"),
        ([_row()], '\n{"filled_template": "The app', "line 2 .*cut off"),
        ([{"filled_template": "x"}], "\n", "row 1: KeyError"),
        ([[1]], "\n", "line 1 is not an object"),
    ],
)
def test_a_bad_official_file_gets_one_clear_line(tmp_path, rows, end, says):
    """DE-1, DE-2."""
    with pytest.raises(KatayoriError, match=rf"bad\.jsonl.*{says}") as caught:
        load_official(_official(tmp_path / "bad.jsonl", rows, end), partial=True)
    assert "\n" not in str(caught.value)


@pytest.mark.mirror
@pytest.mark.skipif(not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set")
def test_the_upstream_rows_of_the_mirror_load():
    """DE-1 to DE-3 on real upstream rows: one a question, all age 20, white, female."""
    items = load_official(catalogue.path_of("discrim_eval_sample"), partial=True)
    assert len(items) == 70 == items["decision_question_id"].nunique() and {19, 29, 89} <= set(
        items["decision_question_id"]
    )
    assert (
        set(items["age"]) == {20}
        and set(items["gender"]) == {"female"}
        and set(items["race"]) == {"white"}
    )
    with pytest.raises(KatayoriError, match="70 of 9450 cells"):
        load_official(catalogue.path_of("discrim_eval_sample"))
    assert items["filled_template"].str.len().min() > 100
