"""Answers obtained elsewhere: a template goes out, a filled-in one comes back, and every bad row is
named.
"""

import csv
import json

import pytest
from api_double import requests_for, yes_no_frame

from katayori.errors import KatayoriError
from katayori.prompting.exchange import COLUMNS, import_answers
from katayori.prompting.parsing import parse_number
from katayori_tools.live import export_requests


def _filled(path, texts, **more):
    """The exported template with answers written in, as a user's script would do it."""
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = [row | {"text": text} | more for row, text in zip(rows, texts, strict=True)]
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )
    else:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [
                row | {"text": text} | more
                for row, text in zip(csv.DictReader(file), texts, strict=True)
            ]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


TEXTS = [
    "Answer: yes",
    "Because…\nAnswer: no",
    "",
    '回答: はい, "x"\u2028Answer: yes',
    "=cmd()\r\nAnswer: yes",
]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_template_comes_back_as_answers(tmp_path, suffix):
    """X-2: imported answers run through the same parser and frame, marked `imported`."""
    requests = requests_for(5)
    path = export_requests(requests, tmp_path / f"template{suffix}")
    _filled(path, TEXTS)
    responses = import_answers(path, requests)
    assert [r.text for r in responses] == TEXTS
    frame = yes_no_frame(requests, responses, "imported")
    assert list(frame["answer"].fillna("-")) == ["yes", "no", "-", "yes", "yes"] and set(
        frame["source"]
    ) == {"imported"}
    assert list(frame["outcome"]) == ["ok", "ok", "out_of_choice", "ok", "ok"]


def test_the_template_says_what_to_ask(tmp_path):
    requests = requests_for(2, temperature=0.5, seed=1)
    row = json.loads(
        export_requests(requests, tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()[1]
    )
    assert row["messages"] == requests[1].body["messages"] and row["settings"] == {
        "temperature": 0.5,
        "seed": 1,
    }
    with export_requests(requests, tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [*COLUMNS, "prompt"] and rows[2][-1] == "Question number 1?"


def _rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _row(i=0, text="Answer: yes", **more):
    return {
        "item_id": f"q{i:05d}",
        "prompt_id": "p",
        "model": "m",
        "repetition": 0,
        "text": text,
    } | more


def test_rows_of_other_requests_count_for_none(tmp_path):
    path = _rows(
        tmp_path / "a.jsonl", [_row(0), _row(1, model="other"), _row(99), _row(2, repetition=1)]
    )
    responses = import_answers(path, requests_for(3))
    assert [r.outcome for r in responses] == ["ok", "error", "error"]
    assert responses[1].error == "not in the imported file"


@pytest.mark.parametrize("name", ["item_id", "prompt_id", "model", "text"])
def test_a_missing_column_is_named(tmp_path, name):
    row = {k: v for k, v in _row().items() if k != name}
    with pytest.raises(KatayoriError, match=rf"row 1 lacks the column\(s\) {name}"):
        import_answers(_rows(tmp_path / "a.jsonl", [row]), requests_for(1))
    (tmp_path / "a.csv").write_text(",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n")
    with pytest.raises(KatayoriError, match=rf"lacks the column\(s\) {name}"):
        import_answers(tmp_path / "a.csv", requests_for(1))


def test_optional_columns_may_be_absent(tmp_path):
    (tmp_path / "a.csv").write_text("item_id,prompt_id,model,text\nq00000,p,m,Answer: no\n")
    [response] = import_answers(tmp_path / "a.csv", requests_for(1))
    assert response.text == "Answer: no"


def test_the_same_row_twice_is_fine_and_two_answers_are_not(tmp_path):
    path = tmp_path / "a.jsonl"
    assert import_answers(_rows(path, [_row(), _row()]), requests_for(1))[0].outcome == "ok"
    for other in (_row(text="Answer: no"), _row(finish_reason="length")):
        with pytest.raises(KatayoriError, match="row 2: a second, different answer to q00000"):
            import_answers(_rows(path, [_row(), other]), requests_for(1))


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("a.jsonl", json.dumps(_row()) + '\n{"item_id": "q0', "line 2 is not JSON.*cut off"),
        ("a.jsonl", "[1]\n", "line 1 is not an object"),
        ("a.jsonl", json.dumps(_row(repetition="first")), "row 1: repetition"),
        ("a.jsonl", json.dumps(_row(repetition=[1])), "row 1: repetition"),
        ("a.jsonl", json.dumps(_row(top=[1])), "row 1: .*top"),
        (
            "a.csv",
            "item_id,prompt_id,model,repetition,text\nq00000,p,m,0,Answer: yes\nq00001,p,m",
            "row 2.*cut off",
        ),
        (
            "a.csv",
            'item_id,prompt_id,model,text\nq00000,p,m,"Answer: y',
            "cannot be read as CSV.*cut off",
        ),
        (
            "a.csv",
            "item_id,prompt_id,model,text\nq00000,p,m,Answer: yes, of course\n",
            "too few or too many columns",
        ),
        ("a.csv", "item_id;prompt_id;model;text\nq00000;p;m;x\n", "lacks the column"),
    ],
)
def test_a_bad_file_gets_one_clear_line(tmp_path, name, content, says):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(KatayoriError, match=says) as caught:
        import_answers(tmp_path / name, requests_for(2))
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_a_byte_order_mark_is_fine_and_other_encodings_are_named(tmp_path):
    path = tmp_path / "a.csv"
    table = "item_id,prompt_id,model,text\r\nq00000,p,m,Answer: yes はい\r\n"
    path.write_bytes(b"\xef\xbb\xbf" + table.encode())
    assert import_answers(path, requests_for(1))[0].text == "Answer: yes はい"
    for encoding in ("utf-16", "shift_jis"):
        path.write_bytes(table.encode(encoding))
        with pytest.raises(KatayoriError, match="is not UTF-8"):
            import_answers(path, requests_for(1))
    with pytest.raises(KatayoriError, match=r"answers file not found: none\.csv"):
        import_answers(tmp_path / "none.csv", requests_for(1))
    path.write_bytes(b"")
    assert import_answers(path, requests_for(1))[0].outcome == "error"


def test_finish_reasons_and_odd_types_are_kept_apart(tmp_path):
    rows = [
        _row(0, finish_reason="length"),
        _row(1, finish_reason="content_filter"),
        _row(2, text=5),
        _row(3, text=None),
    ]
    requests = requests_for(4)
    responses = import_answers(_rows(tmp_path / "a.jsonl", rows), requests)
    frame = yes_no_frame(requests, responses, "imported")
    assert list(frame["outcome"]) == ["truncated", "filtered", "out_of_choice", "out_of_choice"]
    assert [r.text for r in responses[2:]] == ["5", ""]


def test_probabilities_may_be_imported_and_their_absence_is_no_answer(tmp_path, capsys):
    requests = requests_for(2, logprobs=True)
    rows = [_row(0, text=" yes", top=[[" yes", -0.1], [" no", -2.5]]), _row(1, text=" yes")]
    responses = import_answers(_rows(tmp_path / "a.jsonl", rows), requests)
    frame = yes_no_frame(requests, responses, "imported")
    assert "a.jsonl: 1 of 2 answers with log probabilities (" in capsys.readouterr().out
    assert list(frame["outcome"]) == ["ok", "error"] and frame["note"][1] == "logprobs missing"
    assert frame["p_yes"][0] == pytest.approx(0.905, abs=0.001) and frame["p_yes"].isna()[1]


def test_a_megabyte_answer_in_csv(tmp_path):
    path = export_requests(requests_for(1), tmp_path / "a.csv")
    _filled_limit = csv.field_size_limit()
    text = "x" * 1_000_000 + "\nAnswer: no"
    path.write_text(f'item_id,prompt_id,model,text\nq00000,p,m,"{text}"\n')
    assert import_answers(path, requests_for(1))[0].text == text
    assert csv.field_size_limit() == _filled_limit


def test_a_text_answers_where_probabilities_would_only_stand_beside_it(tmp_path):
    """PJ-14: a letter asked with log probabilities may be imported without them (they are then
    NaN).
    """
    requests = requests_for(2, logprobs=True)
    for request in requests:
        request.body["max_tokens"] = 8
    path = tmp_path / "answers.jsonl"
    rows = [
        {**_row(i, "1"), "item_id": r.item_id, "model": r.model} for i, r in enumerate(requests)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answers = import_answers(path, requests)
    frame = yes_no_frame(requests, answers, "imported", parse=parse_number, options=("0", "1", "2"))
    assert frame["answer"].tolist() == ["1", "1"] and frame["mass"].isna().all()
