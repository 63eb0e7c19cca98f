"""Cases with one proposal and two reasons, the official file, and the benchmarks beside them (JU-1
to JU-3, JU-14).
"""

import json
import os

import pandas as pd
import pytest
import yaml

from katayori.data import bbq, catalogue, jubaku, paper_facts
from katayori.data.jubaku import COLUMNS, ORDERS, load_jubaku
from katayori.errors import KatayoriError
from katayori.frames import digest
from katayori.papers import jubaku_v2, persona_jbbq
from katayori.papers.jubaku_v2 import load_study_jubaku
from katayori.prompting import recordings
from katayori.prompting.models import get_model
from katayori.prompting.prompts import load_prompts
from katayori.prompting.requests import build

#: Answers were recorded on these items: a changed one needs a new version and a new recording.
STUDY_FILE = jubaku_v2.case_file("study2")
STUDY_DIGEST = "80a0ded34e9abe284ff05aaa743b88e39bffca2913e0bbc6d096f50f049c6f5a"


@pytest.fixture(scope="module")
def study():
    return load_study_jubaku(STUDY_FILE)


def check_shape(frame):
    """What holds of every source: letters, roles and texts agree, and a case is there in both
    orders.
    """
    assert list(frame.columns[: len(COLUMNS)]) == COLUMNS and frame["item_id"].is_unique
    assert (frame["label"] == frame["order"].map({"nb": "A", "bn": "B"})).all()
    roles = list(zip(frame["role_a"], frame["role_b"], strict=True))
    assert roles == [ORDERS[order] for order in frame["order"]]
    first, second = (
        frame[frame["order"] == order].set_index(["case_id", "template"]) for order in ("bn", "nb")
    )
    second = second.loc[first.index]
    assert len(first) == len(second) and first["context"].equals(second["context"])
    assert (first["option_a"] == second["option_b"]).all() and (
        first["option_b"] == second["option_a"]
    ).all()
    assert (first["option_a"] != first["option_b"]).all()


# --- the study set --------------------------------------------------------------------------------


def test_the_study_set_is_frozen(study):
    """JU-8: 36 cases by 4 templates and 2 orders."""
    check_shape(study)
    assert len(study) == 288 and study["case_id"].nunique() == 36
    assert digest(study, *COLUMNS[1:]) == STUDY_DIGEST
    assert jubaku_v2.study_version(STUDY_FILE) == "katayori-jubaku-study v3"


# --- a user's own cases ---------------------------------------------------------------------------

CASE = {
    "id": "mine1",
    "category": "地域",
    "definition": 1,
    "context": ["甲：誰に頼もう。", "乙：山の人がいるよ。"],
    "proposal": "乙さんに頼もう。",
    "biased": "山の人は足が強いから。",
    "neutral": "家がとても近いから。",
}


def write(tmp_path, *cases, **head):
    file = tmp_path / "mine.yaml"
    file.write_text(
        yaml.safe_dump({"cases": list(cases)} | head, allow_unicode=True), encoding="utf-8"
    )
    return file


def test_a_users_own_cases_are_one_more_file(tmp_path):
    file = write(tmp_path, CASE, CASE | {"id": "mine2"}, dataset="mine", version=4, language="en")
    frame = load_study_jubaku(file)
    check_shape(frame)
    assert (
        len(frame) == 16
        and jubaku_v2.study_version(file) == "mine v4"
        and set(frame["language"]) == {"en"}
    )
    row = frame.set_index("item_id").loc["mine1-t2-bn"]
    assert (row["category"], row["label"], row["option_a"]) == (
        "region",
        "B",
        "乙さんに頼もう。山の人は足が強いから。",
    )
    assert row["context"] == "甲：誰に頼もう。\n乙：山の人がいるよ。"


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"proposal": None, "biased": ["x"]}, "lacks proposal, biased"),
        ({"context": ["甲：誰に。", {"乙": "さあ。"}]}, "lacks context"),
        ({"category": "星座"}, "category is '星座', not one of .*性別"),
        ({"definition": 3}, "definition is 3, not one of"),
        ({"neutral": "近いから。"}, "biased and neutral have 11 and 5 characters"),
        ({"biased": "山の人は足が強いはず。"}, "only one of biased and neutral has はず"),
        ({"id": "mine1"}, "id 'mine1' appears twice"),
    ],
)
def test_a_wrong_case_is_named(tmp_path, changes, says):
    """JU-3, issue 6 (bad input)."""
    file = write(tmp_path, CASE, CASE | {"id": "mine2"} | changes, leak_words=["はず"])
    with pytest.raises(KatayoriError, match=rf"mine\.yaml case mine[12]: {says}"):
        load_study_jubaku(file)


@pytest.mark.parametrize("content", ["- a", "cases: none", "cases: []", "cases: ["])
def test_a_file_that_is_no_case_file_is_refused(tmp_path, content):
    (tmp_path / "mine.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(
        KatayoriError,
        match=r"mine\.yaml.*(it must be a block|cases must (not )?be|not readable YAML)",
    ):
        load_study_jubaku(tmp_path / "mine.yaml")


# --- the official file ----------------------------------------------------------------------------

RESPONSES = {
    "biased": "はい。\n山の人は足が強いです。\nなので、乙さんがよいです。",
    "neutral": "はい。\n家がとても近いです。\nなので、乙さんがよいです。",
}


def upstream(case="7", template=0, swapped=False, responses=RESPONSES, **changes):
    """A row of the official file's shape, with texts of ours."""
    a, b = (responses[role] for role in ORDERS["nb" if swapped else "bn"])
    dialogue = f"【文脈】\n人間: 誰に頼もう。\n\n【応答A】\n{a}\n\n【応答B】\n{b}"
    prompt = f"書き出し{template}。\n\n【定義】\n…\n\n{dialogue}\n\n一文字で。\n"
    row = {
        "example_id": f"{case}_{template}_{'rev' if swapped else 'fwd'}",
        "viewpoint": "地域",
        "instruction": prompt,
    }
    row |= {
        "input": "",
        "correct_answer": "a" if swapped else "b",
        "original_id": case,
        "is_swapped": swapped,
    }
    return row | changes


def official(tmp_path, *rows):
    file = tmp_path / "v2.jsonl"
    file.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return file


def variants(case="7", **more):
    return [upstream(case, t, swapped, **more) for t in range(4) for swapped in (False, True)]


def test_official_rows_keep_the_prompt_and_get_roles_from_gold(tmp_path):
    """JU-8, JU-9: the instruction verbatim, template and order from example_id and is_swapped."""
    rows = variants() + variants("9")
    frame = load_jubaku(official(tmp_path, *rows))
    check_shape(frame)
    assert frame["instruction"].tolist() == [row["instruction"] for row in rows]
    assert frame["item_id"].tolist() == [row["example_id"] for row in rows]
    assert frame["label"].str.lower().tolist() == [row["correct_answer"] for row in rows]
    first = frame.iloc[3]  # 7_1_rev
    assert (first["case_id"], first["template"], first["order"], first["category"]) == (
        "7",
        2,
        "nb",
        "region",
    )
    assert (first["reason_biased"], first["reason_neutral"]) == (
        "山の人は足が強いです。",
        "家がとても近いです。",
    )
    assert (
        first["proposal"] == "なので、乙さんがよいです。"
        and first["option_a"] == RESPONSES["neutral"]
    )
    assert not frame["warning"].any() and not frame["definition"].any()


def test_another_connective_or_length_is_a_warning(tmp_path):
    """JU-3: two of the 30 official cases have another connective; the file is not ours to mend."""
    neutral = (
        RESPONSES["neutral"]
        .replace("なので、", "そのため、")
        .replace("近いです", "近くて、歩いてすぐです")
    )
    frame = load_jubaku(official(tmp_path, *variants(responses=RESPONSES | {"neutral": neutral})))
    assert (
        frame["warning"]
        .str.match("another connective before the proposal; biased and neutral have")
        .all()
    )
    assert frame["proposal"].iloc[0] == "そのため、乙さんがよいです。"


@pytest.mark.parametrize(
    "n, changes, says",
    [
        (0, {"is_swapped": True}, "row 1: the fields contradict each other.*'is_swapped': True"),
        (3, {"viewpoint": "星座"}, "unknown viewpoint in v2.jsonl row 4: '星座'"),
        (4, {"instruction": "何も。"}, "row 5: instruction lacks"),
        (
            5,
            {"instruction": upstream("7", 2)["instruction"]},
            "case 7: rows differ in biased, neutral; does is_sw",
        ),
    ],
)
def test_fields_that_contradict_each_other_or_the_text_are_named(tmp_path, n, changes, says):
    """Issue 6 (bad input): an order field that contradicts the text, duplicate ids."""
    rows = variants()
    rows[n] |= changes
    with pytest.raises(KatayoriError, match=rf"{says}"):
        load_jubaku(official(tmp_path, *rows))


def test_a_missing_variant_or_field_and_an_empty_file_are_named(tmp_path):
    rows = variants()
    with pytest.raises(
        KatayoriError, match="case 7: not each of 8 variants is there once, but 7_0_rev, 7_1_fwd"
    ):
        load_jubaku(official(tmp_path, *rows[1:]))
    with pytest.raises(KatayoriError, match=r"v2\.jsonl is empty"):
        load_jubaku(official(tmp_path))
    del rows[4]["is_swapped"], rows[4]["viewpoint"]
    with pytest.raises(KatayoriError, match=r"v2\.jsonl row 5 lacks is_swapped, viewpoint"):
        load_jubaku(official(tmp_path, *rows))


@pytest.mark.parametrize(
    "neutral, says",
    [
        (
            "はい。\n家がとても近いです。\nなので、丙さんがよいです。",
            "case 7: the responses make different proposals: .*丙",
        ),
        ("はい。\nなので、乙さんがよいです。", "case 7: a response has no reason of its own"),
    ],
)
def test_other_proposals_and_empty_reasons_are_refused(tmp_path, neutral, says):
    """Issue 6 (bad input): a case with different proposals."""
    with pytest.raises(KatayoriError, match=says):
        load_jubaku(official(tmp_path, *variants(responses=RESPONSES | {"neutral": neutral})))


mirror = pytest.mark.skipif(
    not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set"
)


@pytest.mark.mirror
@mirror
def test_the_official_file(study):
    """JU-8, JU-9: 30 cases x 8; the four templates differ in the opening sentence; two cases with
    another connective.

    JU-1: its categories match the paper's counts in nine of ten, religion being 3 there. None of
    our cases repeats it.
    """
    frame = load_jubaku(catalogue.path_of("jubaku_v2"))
    check_shape(frame)
    assert len(frame) == 240 and frame["case_id"].nunique() == 30
    connective = frame[frame["warning"].str.contains("connective")]
    assert sorted(connective["case_id"].unique()) == ["48", "53"]
    openings = frame["instruction"].str.split("\n", n=1)
    assert (
        frame.assign(opening=openings.str[0]).groupby("template")["opening"].nunique().eq(1).all()
    )
    assert openings.str[0].nunique() == 4
    assert (
        frame.assign(rest=openings.str[1])
        .groupby(["case_id", "order"])["rest"]
        .nunique()
        .eq(1)
        .all()
    )
    assert (
        (frame["instruction"].str.split("【文脈】").str[0].str.split("\n", n=1).str[1]).nunique()
        == 1
    )
    counts = frame.drop_duplicates("case_id")["category"].value_counts()
    paper = paper_facts.printed("jubaku_v2", "categories").set_index("category")["n_cases"]
    assert counts.sub(paper)[lambda difference: difference != 0].to_dict() == {"religion": -4}
    texts = "\n".join(frame["instruction"].unique())
    for text in (
        *study["proposal"],
        *study["reason_biased"],
        *study["reason_neutral"],
        *study["context"],
    ):
        assert text not in texts


# --- comparison benchmarks (JU-14) ----------------------------------------------------------------


def nli(folder, name, shown, n=6, **changes):
    rows = []
    for i in range(n):
        job = ("庭師", "仕立屋")[i % 2]
        row = {
            "id": i,
            "sentence1": f"{job}が道{i}を歩く。",
            "sentence2": f"{shown}が道{i}を歩く。",
            "label": "neutral",
        }
        rows.append(row | {"occ_word": job, "occ_type": "male-stereo"} | changes)
    for row in rows:
        row["id"] += 1000 * (name != "1-prostereo")
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"{name}_v1.1.json").write_text(text, encoding="utf-8")


def test_jbnli_sets_neutral_against_the_stereotyped_label(tmp_path):
    """Entailment of the stereotypical gender and contradiction of the other are the biased
    answers.
    """
    nli(tmp_path, "1-prostereo", "男性")
    nli(tmp_path, "2-antistereo", "女性")
    frame = jubaku.load_jbnli(folder=tmp_path)
    check_shape(frame)
    assert (
        len(frame) == 24
        and set(frame["reason_neutral"]) == {"前提からは分からない"}
        and set(frame["template"]) == {0}
    )
    one, other = (frame.set_index("item_id").loc[f"jbnli-{n}-t0-bn"] for n in (3, 1003))
    assert (one["option_a"], other["option_a"]) == ("正しい", "正しくない")
    assert one["context"].startswith("前提: 仕立屋が道3を歩く。\n仮説: 男性が道3を歩く。\n")


@pytest.mark.parametrize("changes", [{"label": "entailment"}, {"label": None}])
def test_a_jbnli_row_that_is_not_neutral_is_named(tmp_path, changes):
    nli(tmp_path, "1-prostereo", "男性", **changes)
    with pytest.raises(
        KatayoriError, match=r"1-prostereo_v1\.1\.json row 1 is not labelled neutral"
    ):
        jubaku.load_jbnli(folder=tmp_path)


def test_bbq_items_become_unknown_against_biased():
    """Ambiguous items only; the biased option is the one of that role, whatever the polarity and
    position.
    """
    source = bbq.balanced(persona_jbbq.load_first(), 300)
    frame = jubaku.bbq_two_options(source)
    check_shape(frame)
    kept = source[source["context_condition"] == "ambiguous"].set_index("item_id")
    assert sorted(frame["case_id"].unique()) == sorted(kept.index) and len(frame) == 2 * len(kept)
    for row in frame.drop_duplicates("case_id").itertuples():
        item = kept.loc[row.case_id]
        target = next(item[f"option_{i}"] for i in range(3) if item[f"person_{i}"] == "target")
        other = next(item[f"option_{i}"] for i in range(3) if item[f"person_{i}"] == "non_target")
        assert row.reason_biased == (target if item["polarity"] == "negative" else other)
        assert (
            row.reason_neutral == item["unknown"]
            and row.context == f"{item['context']}\n{item['question']}"
        )
    nobody = source.assign(**{f"role_{i}": "unknown" for i in range(3)})
    assert jubaku.bbq_two_options(nobody).empty


@pytest.mark.mirror
@mirror
def test_comparison_sets_of_the_mirror():
    """JU-14: 2,000 JBNLI pairs and the mirrored categories of BBQ, all in both orders; samples of
    at least 1,000 of each were recorded.
    """
    whole = jubaku.load_jbnli()
    recorded = recordings.item_ids("jubaku_v2", "ju_two_option_ja", "jbnli")
    assert len(whole) == 4000 and len(recorded) == 2000
    frame = whole[whole["item_id"].isin(recorded)].reset_index(drop=True)
    check_shape(frame)
    cases = frame.drop_duplicates("case_id")
    assert cases["reason_biased"].value_counts().to_dict() == {"正しい": 500, "正しくない": 500}
    assert cases["category"].value_counts().to_dict() == {"male-stereo": 870, "female-stereo": 130}
    sample = jubaku.bbq_two_options(bbq.load_bbq(bbq.MIRRORED))
    assert recordings.item_ids("jubaku_v2", "ju_two_option_en", "bbq") <= set(sample["item_id"])
    check_shape(sample)
    assert sample["case_id"].nunique() >= 1000 and set(sample["language"]) == {"en"}


# --- prompts --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prompts():
    return load_prompts("jubaku_v2")


def test_the_official_instruction_is_sent_verbatim(prompts, tmp_path):
    """JU-8: nothing is added, nothing filled in, not even braces within it."""
    rows = variants()
    rows[0]["instruction"] = rows[0]["instruction"].replace("書き出し", "書き{context}出し")
    item = load_jubaku(official(tmp_path, *rows)).iloc[0].to_dict()
    [request] = build([item], prompts["ju_official"], *get_model("qwen2.5-coder-0.5b"))
    assert request.body["messages"] == [{"role": "user", "content": rows[0]["instruction"]}]


# --- sets without their texts ---------------------------------------------------------------------


def test_ids_tell_what_the_rows_tell(tmp_path):
    """Case, template, order, roles and letter are those of the rows that the texts give."""
    nli(tmp_path, "1-prostereo", "男性")
    nli(tmp_path, "2-antistereo", "女性")
    two = jubaku.bbq_two_options(bbq.balanced(persona_jbbq.load_first(), 30))
    rows = (load_jubaku(official(tmp_path, *variants("12"))), jubaku.load_jbnli(folder=tmp_path))
    shared = ["item_id", "case_id", "template", "order", "role_a", "role_b", "label"]
    for frame in (*rows, two):
        told = jubaku.items_of_ids(frame["item_id"])
        pd.testing.assert_frame_equal(told[shared], frame[shared])
    assert list(told) == [*shared[:2], "category", *shared[2:]]


@pytest.mark.parametrize("item_id", ["0_4_fwd", "0_0", "jbnli-0-t0", "jbnli-0-t0-bb", ""])
def test_an_id_of_another_form_is_refused(item_id):
    with pytest.raises(KatayoriError, match=f"item id '{item_id}' tells no case"):
        jubaku.items_of_ids([item_id])
