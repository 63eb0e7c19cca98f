"""Comparisons for a judge: our study set, PandaLM, Japanese Vicuna QA, a user's file (LJ-1 to LJ-3,
LJ-7, LJ-8).
"""

import itertools
import json
import os
import re

import numpy as np
import pandas as pd
import pytest
import yaml

from katayori.data import comparisons, third_party
from katayori.errors import KatayoriError
from katayori.frames import digest
from katayori.papers import logprob_judge as judge

#: Changes only together with the version in the task files, and then everything is recorded anew.
STUDY_DIGEST = "873650e77a12416f2e5c0a6f8b5f5fcf53a491474aa28b67a59a96261eccfefa"
SHOWN = ["question", "reference", "answer_1", "answer_2", "truth"]
VICUNA = {  # wins, losses and ties of 80 when a win needs both orders
    "cyberagent--calm2-7b-chat": (56, 12, 12),
    "rinna--japanese-gpt-neox-3.6b-instruction-ppo": (11, 60, 9),
    "tokyotech-llm--Swallow-70b-instruct-hf": (37, 34, 9),
}
mirror = pytest.mark.skipif(
    not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set"
)


@pytest.fixture(scope="module")
def study():
    return judge.load_study_judge()


# --- the study set --------------------------------------------------------------------------------


def test_the_study_set_is_frozen(study):
    """Recorded verdicts belong to these very pairs: ids, texts and truths, in this order."""
    built = ["truth", *comparisons.QUALITIES, comparisons.POINTS]
    assert list(study.columns) == [*comparisons.COLUMNS, *built]
    assert digest(study, *SHOWN) == STUDY_DIGEST
    assert judge.study_version() == "katayori-judge-study-2 v1"


def test_tasks_and_pairs_of_the_paper(study):
    """LJ-1, LJ-2: 23, 21 and 25 tasks, three pairs each, 207 in all; ties by construction are
    50.
    """
    tasks = study.drop_duplicates("question_id")["task"].value_counts().to_dict()
    assert tasks == {"writing": 23, "proofreading": 21, "summarization": 25}
    assert len(study) == 207 and study["item_id"].is_unique and (study["note"] == "").all()
    for _, rows in study.groupby("question_id"):
        assert set(zip(rows["system_1"], rows["system_2"], strict=True)) == set(
            itertools.combinations("s1 s2 s3".split(), 2)
        )
    assert study["truth"].value_counts().to_dict() == {"2": 79, "1": 78, "tie": 50}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("find: one", "find: nowhere", "answer s1: find 'nowhere' occurs 0 times"),
        ("quality: 2", "quality: 1", "answer s1: quality 1 is not 3 less 1 broken"),
        ("point: p, find", "point: q, find", "unknown point of answer s1: 'q'; known: p, r"),
        ("put: zero", "put: one more", "answer s1: point 'p' is met"),
        ("forbids: bad", "forbids: two", "reference: point 'r' is broken"),
        (
            "find: two, put: three",
            "find: two, put: two",
            "answer s3 is the reference word for word",
        ),
    ],
)
def test_what_breaks_the_construction_is_named(tmp_path, old, new, said):
    """One line with file, question and key; without the change the file loads."""
    text = """questions:
  - id: w1
    task: writing
    question: count
    reference: one and two
    variant: one and two, again
    checklist: [{point: p, needs: one}, {point: r, forbids: bad}]
    answers:
      s1:
        quality: 2
        base: reference
        edits: [{kind: omission, point: p, find: one, put: zero}]
      s2:
        quality: 3
        base: variant
        edits: []
      s3:
        quality: 3
        base: reference
        edits: [{kind: paraphrase, find: two, put: three}]
"""
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    pairs = judge.load_study_judge(file)
    assert list(pairs["truth"]) == ["2", "2", "tie"] and pairs["answer_1"].iloc[0] == "zero and two"
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(KatayoriError, match=r"^(task file )?mine\.yaml") as error:
        judge.load_study_judge(tmp_path)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert "question w1" in str(error.value)


def test_answers_must_be_comparable(tmp_path):
    """Two answers that each break a point the other keeps have no better one by construction."""
    edits = "[{kind: omission, point: %s, find: %s, put: x}]"
    question = {
        "id": "w1",
        "task": "t",
        "question": "q",
        "reference": "one two",
        "variant": "two one",
    }
    question["checklist"] = [{"point": "p", "needs": "one"}, {"point": "r", "needs": "two"}]
    answers = {name: {"quality": 2, "base": "reference"} for name in ("s1", "s2")}
    answers["s1"]["edits"], answers["s2"]["edits"] = (
        yaml.safe_load(edits % ("p", "one")),
        yaml.safe_load(edits % ("r", "two")),
    )
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"questions": [question | {"answers": answers}]}))
    with pytest.raises(KatayoriError, match="answers s1 and s2: neither's broken points"):
        judge.load_study_judge(file)
    file.write_text(yaml.safe_dump({"questions": [question | {"answers": {}}]}))
    with pytest.raises(KatayoriError, match=r"questions\[0\] \(w1\).answers must not be empty"):
        judge.load_study_judge(file)
    (tmp_path / "twice.yaml").write_text(yaml.safe_dump({"questions": []}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(KatayoriError, match="no task files"):
        judge.load_study_judge(tmp_path / "empty")


# --- rules that read no meaning -------------------------------------------------------------------


def test_rules_by_hand():
    """The sign names the answer that a rule takes; without a reference one rule is left."""
    texts = {"answer_1": ["abcd", "xy", "ab"], "answer_2": ["ab", "abc", "cd"]}
    frame = pd.DataFrame({"item_id": list("ijk"), **texts, "reference": ["abc", "abc", None]})
    found = comparisons.rule_scores(frame.set_index(pd.Index([7, 8, 9])))
    assert list(found) == ["item_id", *comparisons.RULES]
    longer, nearer, overlap = (found[name].tolist() for name in comparisons.RULES)
    assert found["item_id"].tolist() == list("ijk") and longer == [2, -1, 0]
    assert nearer[:2] == [0, -1] and overlap[:2] == pytest.approx([6 / 7 - 4 / 5, 0 - 1])
    assert np.isnan([nearer[2], overlap[2]]).all()
    assert comparisons.rule_scores(frame.head(0)).empty


# --- a user's own comparisons ---------------------------------------------------------------------

ROW = {
    "item_id": "p1",
    "question_id": "q1",
    "question": "なぜ",
    "system_1": "x",
    "system_2": "y",
    "answer_1": "はい",
}
ROW |= {
    "answer_2": "いいえ",
    "annotator_ito": "1",
    "annotator_ono": "tie",
    "task": "mail",
    "reference": "はい。",
}


def written(folder, rows, suffix):
    file = folder / f"mine{suffix}"
    if suffix == ".csv":
        pd.DataFrame(rows).to_csv(file, index=False)
    else:
        file.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )
    return file


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_own_comparisons_with_what_is_odd_about_them(tmp_path, suffix):
    """LJ-1, LJ-3: any number of annotators; missing verdicts, empty and equal answers are kept and
    told.
    """
    rows = [ROW, ROW | {"item_id": "p2", "answer_1": "", "annotator_ito": " TIE "}]
    rows.append(
        ROW
        | {
            "item_id": "p3",
            "answer_2": "はい ",
            "annotator_ono": "",
            "answer_1": "はい",
            "extra": "z",
        }
    )
    rows.append(
        ROW | {"item_id": "p4", "question_id": "02", "question": 'a,\n"b"', "annotator_ono": "2"}
    )
    found = comparisons.load_comparisons(path := written(tmp_path, rows, suffix))
    pd.testing.assert_frame_equal(judge.PAPER.read("study", {"comparisons": path})[0], found)
    assert list(found.columns) == [*comparisons.COLUMNS, "annotator_ito", "annotator_ono"]
    assert list(found["note"]) == ["", "answer_1 empty", "answers alike; no annotator_ono", ""]
    assert list(found["annotator_ito"]) == ["1", "tie", "1", "1"]
    assert list(found["annotator_ono"].fillna("none")) == ["tie", "tie", "none", "2"]
    assert found["question_id"].iloc[3] == "02" and found["question"].iloc[3] == 'a,\n"b"'
    numbers = [
        {k: v for k, v in ROW.items() if k not in ("task", "reference")}
        | {"annotator_ito": 2, "annotator_ono": None}
    ]
    found = comparisons.load_comparisons(written(tmp_path, numbers, ".jsonl"))
    assert found["annotator_ito"].iloc[0] == "2" and found["note"].iloc[0] == "no annotator_ono"
    assert found["task"].iloc[0] == found["reference"].iloc[0] == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"annotator_ito": "A"},
            "mine.* row 2 .'p2'. has in annotator_ito neither 1, 2, tie nor nothing",
        ),
        ({"annotator_ono": "3"}, "row 2 .'p2'. has in annotator_ono neither"),
        ({"item_id": "p1"}, "row 2 .'p1'. repeats its id"),
        ({"item_id": ""}, "row 2 .''. has no item_id"),
        ({"question_id": ""}, "row 2 .'p2'. has no question_id"),
        ({"question": " "}, "row 2 .'p2'. has no question"),
        ({"question": "どこ"}, "row 2 .'p2'. gives its question_id another question"),
    ],
)
def test_wrong_rows_are_named(tmp_path, change, said):
    rows = [ROW, ROW | {"item_id": "p2"} | change]
    with pytest.raises(KatayoriError, match=said):
        comparisons.load_comparisons(written(tmp_path, rows, ".csv"))


def test_wrong_files_are_named(tmp_path):
    for left_out in ("answer_2", "system_1"):
        rows = [{k: v for k, v in ROW.items() if k != left_out}]
        with pytest.raises(KatayoriError, match=rf"mine\.csv lacks the column\(s\) {left_out}"):
            comparisons.load_comparisons(written(tmp_path, rows, ".csv"))
    nobody = [{k: v for k, v in ROW.items() if not k.startswith("annotator")}]
    with pytest.raises(KatayoriError, match="nobody's verdicts: add a column annotator_<name>"):
        comparisons.load_comparisons(written(tmp_path, nobody, ".jsonl"))
    file = written(tmp_path, [ROW], ".csv")
    for tail, said in (
        ("p2,q1\n", "too few or too many"),
        ('p2,"q1\n', "cannot be read as CSV"),
        ("," * 12 + "\n", "CSV|too"),
    ):
        broken = tmp_path / "broken.csv"
        broken.write_text(file.read_text(encoding="utf-8") + tail, encoding="utf-8")
        with pytest.raises(KatayoriError, match=said):
            comparisons.load_comparisons(broken)
    (tmp_path / "none.csv").write_text("")
    (tmp_path / "none.jsonl").write_text("")
    for name, said in (
        ("none.csv", "lacks the column"),
        ("none.jsonl", "lacks the column"),
        ("no.csv", "not found"),
    ):
        with pytest.raises(KatayoriError, match=said):
            comparisons.load_comparisons(tmp_path / name)


# --- public data from the mirror ------------------------------------------------------------------


@pytest.mark.mirror
@mirror
def test_pandalm_from_the_mirror():
    """999 pairs, 170 questions, three people; the majority says tie 105, first 422, second 472
    times (LJ-3).
    """
    pairs = comparisons.load_pandalm()
    people = ["annotator_1", "annotator_2", "annotator_3"]
    assert (
        list(pairs.columns) == [*comparisons.COLUMNS, *people]
        and len(pairs) == 999
        and pairs["item_id"].is_unique
    )
    majority = pairs[people].mode(axis=1)
    assert majority.shape[1] == 1 and majority[0].value_counts().to_dict() == {
        "2": 472,
        "1": 422,
        "tie": 105,
    }
    assert pairs["question_id"].nunique() == pairs["question"].nunique() == 170 and pairs[
        people
    ].notna().all(axis=None)
    assert (
        pairs["note"].str.contains("empty").sum() == 54
        and pairs["note"].str.contains("truth value").sum() == 6
    )
    assert set(pairs.loc[pairs["note"] == "answer_1 a truth value", "answer_1"]) == {"True"}
    stored = third_party.load_pandalm_judge()
    assert list(stored["item_id"]) == list(pairs["item_id"])
    assert stored["verdict"].value_counts().to_dict() == {"2": 459, "1": 433, "tie": 107}


@pytest.mark.mirror
@mirror
@pytest.mark.parametrize(("system", "wanted"), VICUNA.items())
def test_vicuna_verdicts_from_the_mirror(system, wanted):
    """LJ-8: 80 questions in both orders; un-swapped by hand they give the known wins, losses and
    ties.
    """
    rows = third_party.load_vicuna_verdicts(system)
    assert len(rows) == 160 and rows["item_id"].is_unique and (rows["outcome"] == "ok").all()
    assert list(rows["order"]) == ["12", "21"] * 80 and rows["pair_id"].nunique() == 80
    assert set(rows["system_1"]) == {system} and set(rows["system_2"]) == {
        "openai--text-davinci-003"
    }
    # The last bracketed letter of GPT-4's own text is the letter we give.
    assert list(rows["letter"]) == [
        re.findall(r"\[\[([ABC])\]\]", text)[-1] for text in rows["text"]
    ]
    letters = rows.pivot(index="pair_id", columns="order", values="letter")
    wins = ((letters["12"] == "A") & (letters["21"] == "B")).sum()
    losses = ((letters["12"] == "B") & (letters["21"] == "A")).sum()
    assert (wins, losses, 80 - wins - losses) == wanted
