"""Items in the shape of BBQ: our study set, BBQ and JBBQ (PJ-1 to PJ-6)."""

import json
import os
import re

import pytest

from katayori.data import bbq, catalogue
from katayori.data.bbq import CATEGORIES, load_jbbq
from katayori.data.multiple_choice import COLUMNS
from katayori.errors import KatayoriError, UnavailableError
from katayori.frames import digest
from katayori.papers import persona_jbbq
from katayori.papers.persona_jbbq import CONTEXTS, OPTION_ORDERS, balanced

#: Changes only together with the version in the template files, and then everything is recorded
#: anew.
STUDY_DIGEST = "91fa05b5e25ec28c388b583ff47cc65e390a7a53249420abe2366f7da50ec0d7"


@pytest.fixture(scope="module")
def study():
    return persona_jbbq.load_first()


def options(items, what):
    return items[[f"{what}_{i}" for i in range(3)]]


def gold(items, what):
    return [
        row[label]
        for row, label in zip(options(items, what).to_numpy(), items["label"], strict=True)
    ]


# --- the study set --------------------------------------------------------------------------------


def test_the_study_set_is_frozen(study):
    """Recorded answers belong to these very items: id, texts, roles, labels and ranks, in this
    order.
    """
    assert list(study.columns) == [*COLUMNS, "pair", "mention", "unknown"] and len(study) == 10_800
    assert digest(study, *COLUMNS[1:]) == STUDY_DIGEST


# --- BBQ's own format: JBBQ from a folder, BBQ from the mirror ------------------------------------

STEMS = dict(zip(CATEGORIES, ("Age", "Disability", "Gender", "Physical", "Sexual"), strict=True))
TAGS = dict(
    zip(
        CATEGORIES,
        (
            ("old", "nonOld"),
            ("disabled", "nonDisabled"),
            ("女の子", "M"),
            ("obese", "nonObese"),
            ("gay", "straight"),
        ),
        strict=True,
    )
)


def upstream(kind, n, **changes):
    """A row of ours in JBBQ's format: six orders, two questions, ambiguous or not, upstream's
    misspelt field.
    """
    target, other = TAGS[kind]
    order = OPTION_ORDERS[n % 6]
    negative, ambiguous, biased = n // 6 % 2 == 0, n // 12 % 2 == 0, n // 24 % 2 == 0
    tags = {"t": ["甲", target], "n": ["乙", other], "u": ["不明", "unknown"]}
    right = "u" if ambiguous else "t" if negative == biased else "n"
    row = {
        "example_id": n,
        "question_index": str(n // 48 + 1),
        "question_polarity": "neg" if negative else "nonneg",
        "context_condition": "ambig" if ambiguous else "disambig",
        "category": STEMS[kind],
        "answer_info": {f"ans{i}": tags[who] for i, who in enumerate(order)},
        "additional_metadeta": {"stereotyped_groups": ["F"] if kind == "gender" else [target]},
        "context": f"甲と乙がいた（{n}）。",
        "question": "誰ですか。",
        "label": order.index(right),
        "is_additional": 0,
    }
    return row | {f"ans{i}": tags[who][0] for i, who in enumerate(order)} | changes


def write(folder, category, rows, encoding="utf-8"):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"{STEMS[category]}.jsonl").write_text(text, encoding=encoding)


@pytest.fixture
def jbbq(tmp_path, monkeypatch):
    """A folder of the right shape, 48 rows a category; the counts looked for are set to that."""
    monkeypatch.setattr(bbq, "CATEGORIES", dict.fromkeys(CATEGORIES, 48))
    for category in CATEGORIES:
        write(tmp_path, category, [upstream(category, n) for n in range(48)])
    return tmp_path


def test_the_papers_counts_are_looked_for():
    """PJ-1: 50,856 rows in five categories."""
    published = {"age": 28176, "disability": 8064, "gender": 3912, "physical_appearance": 7536}
    assert (
        published | {"sexual_orientation": 3168} == CATEGORIES
        and sum(CATEGORIES.values()) == 50_856
    )


def test_jbbq_loads_into_the_same_schema(jbbq):
    """PJ-2 to PJ-5: roles from tags and polarity, the misspelt field read, every order of options
    counted.
    """
    items = load_jbbq(jbbq)
    assert list(items.columns) == COLUMNS and len(items) == 240 and items["item_id"].is_unique
    assert (items.groupby("category").size() == 48).all() and set(items["language"]) == {"ja"}
    assert (
        gold(items, "role") == items["context_condition"].replace("ambiguous", "unknown").tolist()
    )
    assert (items.groupby(["category", "order"]).size() == 8).all()
    first = items.iloc[6]  # a non-negative question about 甲, the target
    assert (
        first["polarity"] == "non_negative"
        and first["role_0"] == "counter_biased"
        and first["person_0"] == "target"
    )
    assert items["item_id"].iloc[0] == "jbbq-age-00000" and items["template_id"].iloc[0] == "age-q1"
    chosen = balanced(items, 100)
    cells = ["category", "context_condition", "polarity", "order"]
    assert 100 <= len(chosen) < 240 and (chosen.groupby(cells).size() <= 2).all()


def test_the_absent_jbbq_says_how_to_get_it(tmp_path):
    """PJ-6."""
    for folder in (tmp_path, tmp_path / "none", ""):
        with pytest.raises(
            UnavailableError, match=r"no JBBQ files.*ask its owners with the form linked from"
        ):
            load_jbbq(folder)


def test_jbbq_of_other_size_is_refused(jbbq):
    """A missing category, extra rows, a file cut off (issue 4, bad input); `partial` loads what is
    there.
    """
    (jbbq / "Age.jsonl").unlink()
    write(jbbq, "gender", [upstream("gender", n) for n in range(96)])
    with pytest.raises(
        KatayoriError, match="age 0 for 48, gender 96 for 48; is a file missing, doubled or cut off"
    ):
        load_jbbq(jbbq)
    assert len(load_jbbq(jbbq, partial=True)) == 240


def test_jbbq_in_another_encoding_is_refused(jbbq):
    write(jbbq, "age", [upstream("age", n) for n in range(48)], encoding="shift_jis")
    with pytest.raises(KatayoriError, match=r"Age\.jsonl is not UTF-8"):
        load_jbbq(jbbq)


@pytest.mark.parametrize(
    "changes, says",
    [
        (
            {"question_polarity": "ambig", "context_condition": "neg"},
            "question_polarity is 'ambig', not one of neg, nonneg",
        ),
        ({"label": 3}, "label is 3, not one of"),
        ({"label": 0}, "label 0 contradicts context_condition"),
        (
            {
                "answer_info": {
                    "ans0": ["甲", "old"],
                    "ans1": ["乙", "nonOld"],
                    "ans2": ["丙", "nonOld"],
                }
            },
            "tag one of them",
        ),
        ({"answer_info": "甲"}, "answer_info must describe three options"),
        ({"category": "Zodiac"}, "'zodiac'; known: age"),
    ],
)
def test_fields_that_contradict_each_other_are_named(jbbq, changes, says, capsys):
    """One bad row stops nothing: it is left out, named and counted; all others keep their ids."""
    whole = load_jbbq(jbbq)
    rows = [upstream("age", n) for n in range(48)]
    rows[4] = upstream("age", 0, **changes)
    write(jbbq, "age", rows)
    capsys.readouterr()
    items = load_jbbq(jbbq, partial=True)
    line = capsys.readouterr().out
    assert re.search(rf"^JBBQ: 1 row\(s\) left out: .*{says}.*\(Age\.jsonl row 5\)$", line.strip())
    assert set(whole["item_id"]) - set(items["item_id"]) == {"jbbq-age-00004"}
    assert load_jbbq(jbbq)["item_id"].tolist() == items["item_id"].tolist()


def test_a_missing_field_and_unknown_groups_are_named(jbbq, capsys):
    rows = [upstream("age", n) for n in range(48)]
    del rows[2]["question"]
    write(jbbq, "age", rows)
    assert len(load_jbbq(jbbq)) == 239
    assert "1 row(s) left out: lacks question (Age.jsonl row 3)" in capsys.readouterr().out
    write(jbbq, "age", [upstream("age", n, additional_metadeta="a source") for n in range(48)])
    items = load_jbbq(jbbq)
    line = "JBBQ: age: 48 row(s) whose tags name no stereotyped group; accuracy can be computed"
    assert line in capsys.readouterr().out
    of_age = items[items["category"] == "age"]
    assert set(of_age["context_condition"]) == {"ambiguous", "disambiguated"}
    assert set(of_age["role_0"]) == {"", "unknown"}


def test_target_loc_is_read_as_the_stereotyped_answer(tmp_path, monkeypatch):
    """Upstream's `target_loc` marks the answer, so on non-negative questions the other person is
    the target.
    """
    rows = [upstream("age", n) for n in range(48)]
    write(tmp_path, "age", rows)
    expected = load_jbbq(tmp_path, partial=True)
    for row in rows:
        row["additional_metadeta"] = {"stereotyped_groups": ["the aged"]}
    write(tmp_path, "age", rows)
    marks = []
    for n, row in enumerate(rows):
        wanted = "old" if row["question_polarity"] == "neg" else "nonOld"
        place = next(i for i in range(3) if row["answer_info"][f"ans{i}"][1] == wanted)
        marks.append(
            f"Age,{n},{place if n else 'NA'}"
        )  # the first has none: no target, not a wrong one
    (tmp_path / "meta.csv").write_text("category,example_id,target_loc\n" + "\n".join(marks) + "\n")
    monkeypatch.setattr(
        catalogue,
        "path_of",
        lambda _, file: tmp_path / ("meta.csv" if file.endswith("csv") else "Age.jsonl"),
    )
    items = bbq.load_bbq(["age"])
    assert items.loc[1:, "person_0"].tolist() == expected.loc[1:, "person_0"].tolist()
    assert items.loc[0, ["person_0", "role_0", "role_2", "order"]].tolist() == [
        "",
        "",
        "unknown",
        "--u",
    ]
    with pytest.raises(KatayoriError, match="unknown category of BBQ 'zodiac'"):
        bbq.load_bbq(["zodiac"])


mirror = pytest.mark.skipif(
    not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set"
)


@pytest.mark.mirror
@mirror
def test_bbq_from_the_mirror():
    """The four mirrored categories: upstream's counts, every item with a target, gold by context,
    frozen.
    """
    items = bbq.load_bbq(["age", "disability", "physical_appearance", "sexual_orientation"])
    assert items["category"].value_counts().to_dict() == {
        "age": 3680,
        "physical_appearance": 1576,
        "disability": 1556,
        "sexual_orientation": 864,
    }
    assert items["item_id"].is_unique and set(items["context_condition"]) == set(CONTEXTS)
    assert (
        gold(items, "role") == items["context_condition"].replace("ambiguous", "unknown").tolist()
    )
    assert 20 <= len(balanced(items, 20)) < 60 and balanced(items, 20)["category"].nunique() == 4
    chosen = balanced(items, 1000)
    assert len(chosen) == 1008 and chosen["label"].value_counts().nunique() == 1
    assert chosen["order"].value_counts().nunique() == 1
