"""Files of others, named by a path: answers, verdicts, JUBAKU's first version, JBBQ."""

import json
import os
import re

import pytest
from test_data_bbq import STEMS, TAGS, jbbq, upstream, write  # noqa: F401 (a fixture)

from katayori.data import third_party
from katayori.data.bbq import load_jbbq
from katayori.data.jubaku import COLUMNS as JUBAKU_COLUMNS
from katayori.data.third_party import load_jubaku_v1
from katayori.errors import KatayoriError, UnavailableError

mirror = pytest.mark.skipif(
    not os.environ.get("KATAYORI_MIRROR"), reason="KATAYORI_MIRROR is not set"
)


def lines(path, rows):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


# -- verdicts --------------------------------------------------------------------------------------


def verdict(one, other, question=1, winners=("model_1", "tie")):
    row = {"model_1": one, "model_2": other, "question_id": question, "judge_model": "some-judge"}
    row |= {"judge_prompt": "pair", "g1_judgment": "[[A]]", "g2_judgment": "[[C]]です。"}
    return row | dict(zip(("g1_winner", "g2_winner"), winners, strict=True))


def test_verdicts_on_any_two_systems_are_read_from_a_path(tmp_path, monkeypatch):
    monkeypatch.setattr(
        third_party.catalogue, "path_of", lambda *_: (_ for _ in ()).throw(NOT_HERE)
    )
    file = lines(
        tmp_path / "v.jsonl", [verdict("x--one", "y--two"), verdict("x--one", "y--two", 2)]
    )
    rows = third_party.load_vicuna_verdicts("y--two", file)
    assert len(rows) == 4 and set(rows["system_2"]) == {"x--one"} and set(rows["task"]) == {""}
    assert rows["letter"].tolist() == ["C", "A"] * 2 and rows["order"].tolist() == ["12", "21"] * 2
    assert set(rows["model"]) == {"some-judge"}
    with pytest.raises(
        KatayoriError, match=r"unknown system in v\.jsonl row 1: 'z'; known: x--one"
    ):
        third_party.load_vicuna_verdicts("z", file)
    with pytest.raises(KatayoriError, match=r"v\.jsonl row 1 lacks model_2"):
        third_party.load_vicuna_verdicts("a", lines(file, [{"model_1": "a"}]))
    with pytest.raises(KatayoriError, match=r"v\.jsonl is empty"):
        third_party.load_vicuna_verdicts("a", lines(file, []))


NOT_HERE = UnavailableError("not on this machine")

# -- JUBAKU, first version -------------------------------------------------------------------------


def dialogue(gold="a", case="3", template=0, **changes):
    texts = ("話し合いましょう。", "乙さんです。")
    a, b = texts if gold == "a" else texts[::-1]
    row = {"example_id": f"{case}_{template}_{gold}", "viewpoint": "地域", "context": "甲と乙。"}
    row |= {"response_a": a, "response_b": b, "correct_answer": gold, "instruction": "選べ。"}
    return row | changes


def test_the_first_version_of_jubaku_loads(tmp_path):
    rows = [dialogue(gold, template=n) for n in range(4) for gold in "ab"]
    items = load_jubaku_v1(lines(tmp_path / "v1.jsonl", rows))
    assert list(items.columns) == [*JUBAKU_COLUMNS, "instruction"] and items["item_id"].is_unique
    assert set(items["case_id"]) == {"jubaku1-3"} and set(items["category"]) == {"region"}
    assert items["label"].tolist() == ["A", "B"] * 4
    assert items["order"].tolist() == ["nb", "bn"] * 4
    assert set(items["reason_neutral"]) == {"話し合いましょう。"}
    neutral = [row[f"option_{row['label'].lower()}"] for row in items.to_dict("records")]
    assert neutral == items["reason_neutral"].tolist()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"correct_answer": "b"}, "the fields contradict each other"),
        ({"example_id": "3_9_a"}, "the fields contradict each other"),
        ({"example_id": "3"}, "the fields contradict each other"),
        ({"viewpoint": "星座"}, "viewpoint in v1.jsonl row 1: '星座'"),
        ({"response_a": None}, "row 1 lacks response_a"),
    ],
)
def test_a_wrong_row_of_the_first_version_is_named(tmp_path, changes, says):
    with pytest.raises(KatayoriError, match=re.escape(says)):
        load_jubaku_v1(lines(tmp_path / "v1.jsonl", [dialogue(**changes)]))


@pytest.mark.mirror
@mirror
def test_the_first_version_of_the_mirror():
    items = load_jubaku_v1()
    assert len(items) == 1216 and items["item_id"].is_unique
    assert items["case_id"].nunique() == 152 and (items.groupby("case_id").size() == 8).all()
    assert items["label"].value_counts().to_dict() == {"A": 608, "B": 608}
    assert items["category"].nunique() == 10 and (items["reason_biased"] != "").all()


# -- JBBQ as its README lists it -----------------------------------------------------------------


def test_the_fields_of_the_owners_readme_are_enough(tmp_path, capsys):
    """No example_id, question_index, category; additional_metadeta is a source's address."""
    rows = [upstream("age", n, additional_metadeta="https://example.org") for n in range(48)]
    for n, row in enumerate(rows):
        for name in ("example_id", "question_index", "category"):
            del row[name]
        row["question"] = f"誰ですか{n % 2}。"
        row["context"] = f"甲と乙がいた（{n // 24}）。"
    write(tmp_path, "age", rows)
    items = load_jbbq(tmp_path, partial=True)
    printed = capsys.readouterr().out
    assert len(items) == 48 and set(items["category"]) == {"age"}
    assert items["template_id"].nunique() == 1
    assert "48 row(s) without question_index; 1 template(s) are derived" in printed
    assert "48 row(s) whose tags name no stereotyped group; accuracy can be computed" in printed
    assert "swapped" not in printed


@pytest.mark.parametrize("tag", ["Unknown", "判断できない"])
def test_spellings_of_values_are_read_alike(tmp_path, tag):
    rows = [upstream("age", n) for n in range(48)]
    write(tmp_path, "age", rows)
    plain = load_jbbq(tmp_path, partial=True)
    contexts = {"ambig": "ambiguous", "disambig": "disambiguated"}
    for row in rows:
        row |= {"label": str(row["label"]), "question_index": int(row["question_index"])}
        row["context_condition"] = contexts[row["context_condition"]]
        tags = row["answer_info"]
        row["answer_info"] = {
            place: [name, tag if about == "unknown" else about]
            for place, (name, about) in tags.items()
        }
        groups = row["additional_metadeta"]["stereotyped_groups"]
        row["additional_metadeta"] = {"stereotyped_groups": groups[0]}
    write(tmp_path, "age", rows)
    assert load_jbbq(tmp_path, partial=True).equals(plain)


def test_a_stray_file_and_bad_rows_are_counted_and_stop_nothing(jbbq, capsys):
    lines(jbbq / "answers.jsonl", [{"item_id": "x", "text": "1"}] * 3)
    rows = [upstream("age", n) for n in range(48)]
    rows[3] |= {"label": 9}
    rows[7] |= {"label": 9}
    write(jbbq, "age", rows)
    items = load_jbbq(jbbq)
    printed = capsys.readouterr().out
    assert len(items) == 238
    left = "2 row(s) left out: label is 9, not one of 0, 1, 2 (first: Age.jsonl row 4)"
    assert f"JBBQ: {left}\n" in printed
    assert "1 file(s) without rows of JBBQ (lacks question_polarity" in printed
    assert "(answers.jsonl)" in printed
    assert len(printed.splitlines()) == 2


def test_one_file_is_a_part_and_nothing_usable_is_an_error(jbbq, tmp_path_factory, capsys):
    items = load_jbbq(jbbq / "Age.jsonl", partial=True)
    assert items["category"].tolist() == ["age"] * 48 and not capsys.readouterr().out
    other = tmp_path_factory.mktemp("other")
    lines(other / "answers.jsonl", [{"item_id": "x"}])
    with pytest.raises(KatayoriError, match=r"no row in other.* can be used as JBBQ: 1 file"):
        load_jbbq(other, partial=True)
