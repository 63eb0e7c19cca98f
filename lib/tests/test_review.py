"""`katayori review`: forms for readers, read back and checked; a machine is logged as one."""

import csv
import shutil
from pathlib import Path

import pytest
import yaml

from katayori import paths
from katayori.data import files
from katayori.papers import jubaku_v2, paper_ids
from katayori_tools import forms, review, study_sets
from katayori_tools.cli import main
from katayori_tools.papers.jubaku_v2 import rating

PAPER = "jubaku_v2"


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    """Runs the command on a copy of one paper's items and returns what it said."""
    copy = tmp_path / "data" / "study" / PAPER
    shutil.copytree(paths.data_dir() / "study" / PAPER, copy)
    shutil.copytree(paths.data_dir() / "papers", tmp_path / "data" / "papers")
    monkeypatch.setattr(paths, "data_dir", lambda: tmp_path / "data")
    # Its files are not copied.
    monkeypatch.setattr(study_sets, "editions_of", lambda paper: {"study": study_sets.FIRST})
    monkeypatch.setattr(jubaku_v2, "STUDY", "study2")

    def run(*more, code=0):
        papers = [] if "--read" in more else ["--papers", PAPER]
        assert main(["review", "--folder", str(tmp_path / "forms"), *papers, *more]) == code
        said = capsys.readouterr()
        return said.out + said.err

    run.folder, run.log = tmp_path / "forms", copy / files.REVIEW_LOG
    return run


def filled(desk, number, reader, kind="native reader", rows=None, change=None):
    """A form as a reader fills it in: yes to all, but for what `change(n, row)` writes over it."""
    path = desk.folder / f"form_{number}.csv"
    table = files.rows_of(path, "form")
    table[0] |= {"reader": reader, "kind": kind}
    for n, row in enumerate(table[:rows]):
        row |= {name: "はい" for name in review.JUDGED}
        row |= change(n, row) if change else {}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)
    return str(path)


def reading(desk):
    return yaml.safe_load(desk.log.read_text(encoding="utf-8"))["readings"]


# -- the form ------------------------------------------------------------------------------------


def test_a_form_a_reader_with_notice_definition_and_instruction(desk):
    said = desk("--readers", "2")
    assert "36 texts to read (jubaku_v2 36); 2 forms" in said
    told = (desk.folder / review.INSTRUCTIONS).read_text(encoding="utf-8")
    for part in ("お知らせ", "任意", "イニシャル", *review.JUDGED):
        assert part in told
    one, two = (files.rows_of(desk.folder / f"form_{n}.csv", "form") for n in (1, 2))
    assert one == two and list(one[0]) == [forms.READ_FIRST, *review.COLUMNS]
    assert forms.NOTICE in one[0][forms.READ_FIRST] and "answerable" in one[0][forms.READ_FIRST]
    assert not any(row[name] for row in one for name in (*review.JUDGED, *review.FREE, "reader"))
    assert "偏りのある理由：" in one[0]["text"] and one[0]["items"] == "8"


def test_no_form_is_written_over(desk):
    desk()
    assert "never written over" in desk(code=2)


@pytest.mark.parametrize("paper", [one for one in paper_ids() if one != "discrim_eval"])
def test_every_japanese_item_stands_on_the_form(paper):
    texts = review.items_of([paper])
    sets = study_sets.study_sets(paper)
    read = [
        study_sets.written_anew(paper, one.items) if one.edition == study_sets.THIRD else one.items
        for one in sets
    ]
    assert texts["items"].sum() == sum(map(len, read))
    assert not texts.duplicated(["folder", "text"]).any()
    assert set(texts["folder"]) == {study_sets.folder(paper, one.edition).name for one in sets}


def test_english_items_are_not_for_these_readers():
    assert review.items_of(["discrim_eval"]).empty


# -- reading it back -----------------------------------------------------------------------------


def test_two_readers_agree_with_n_and_interval_and_are_logged(desk):
    desk("--readers", "2")
    one = filled(desk, 1, "A.K.", change=lambda n, row: {"natural": "いいえ"} if n < 9 else {})
    two = filled(desk, 2, "TM", change=lambda n, row: {"natural": "no"} if n < 7 else {})
    said = desk("--read", one, two)
    table = review.agreement(
        review.check_forms(list(map(review.read_form, paths_of(one, two))), "12")
    )
    natural, answerable = (table.set_index("judgement").loc[k] for k in ("natural", "answerable"))
    assert natural["n"] == 72 and natural["n_readers"] == 2 and natural["status"] == "ok"
    assert natural["ci_low"] < natural["alpha"] < natural["ci_high"] < 1
    # By hand: 72 judgements, 16 no and 56 yes, the readers differ on two texts.
    assert natural["alpha"] == pytest.approx(1 - 71 * 2 / (16 * 56))
    assert answerable["status"] == "constant", "all say yes: alpha is undefined, not 1"
    assert "AK (native reader), 36 of 36 texts read, 9 to decide" in said
    first, second = reading(desk)
    assert first["who"] == "AK" and first["reviewed"] and second["reviewed"]
    assert first["said_no"] == {"natural": 9, "answerable": 0, "stereotype_plausible": 0}
    assert {entry["decision"] for entry in first["decisions"]} == {"open"}


def paths_of(*names):
    return list(map(Path, names))


def test_one_reader_has_no_agreement(desk):
    desk()
    said = desk("--read", filled(desk, 1, "AK"))
    assert "one_reader" in said
    table = review.agreement(
        review.check_forms([review.read_form(desk.folder / "form_1.csv")], ["form_1.csv"])
    )
    assert table["alpha"].isna().all() and set(table["status"]) == {"one_reader"}


def test_a_machine_is_never_a_review(desk):
    desk("--readers", "2")
    machine = filled(desk, 1, "m1", kind="機械")
    desk("--read", machine, filled(desk, 2, "AK"))
    logged = {entry["kind"]: entry for entry in reading(desk)}
    assert logged["machine"]["reviewed"] is False and logged["machine"]["read"] == 36
    assert logged["native reader"]["reviewed"] is True
    table = review.agreement(
        review.check_forms([review.read_form(desk.folder / f"form_{n}.csv") for n in (1, 2)], "12")
    )
    assert set(table["n_readers"]) == {1}, "natives and machines are not pooled"


def test_a_reader_of_some_texts_has_not_reviewed_the_set(desk):
    desk()
    desk("--read", filled(desk, 1, "AK", rows=5))
    (entry,) = reading(desk)
    assert (entry["read"], entry["texts"], entry["reviewed"]) == (5, 36, False)


def test_a_decision_outlives_a_second_reading(desk):
    desk()
    better = {"suggestion": "こう直す", "comment": "不自然"}
    form = filled(desk, 1, "AK", change=lambda n, row: better if n == 3 else {})
    desk("--read", form)
    log = yaml.safe_load(desk.log.read_text(encoding="utf-8"))
    (decision,) = log["readings"][0]["decisions"]
    assert decision["suggestion"] == "こう直す" and decision["decision"] == "open"
    log["readings"][0]["decisions"][0]["decision"] = "refused: その意味ではない"
    desk.log.write_text(yaml.safe_dump(log, allow_unicode=True), encoding="utf-8")
    desk("--read", form)
    (entry,) = reading(desk)
    assert entry["decisions"][0]["decision"] == "refused: その意味ではない"


def test_the_log_has_notice_licence_and_canary_and_is_no_item_file(desk):
    desk()
    desk("--read", filled(desk, 1, "AK"))
    log = yaml.safe_load(desk.log.read_text(encoding="utf-8"))
    assert log["license"] == "MIT" and log["version"] == 1 and log["notice"]
    assert "canary" in log and log["canary"].startswith("katayori-")
    assert [head["file"] for head in study_sets.heads(PAPER, 1)] == ["cases.yaml", "seeds.yaml"]


# -- one-line errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reader", "kind", "change", "told"),
    [
        ("", NATIVE := "native reader", {}, "reader is to be told once; it holds nothing"),
        ("Hanako", NATIVE, {}, "give initials"),
        ("AK", "", {}, "kind is to be told once"),
        ("AK", "friend", {}, "'friend'"),
        ("AK", NATIVE, {"natural": ""}, "is judged in part; natural is empty"),
        ("AK", NATIVE, {"natural": "たぶん"}, "'たぶん'"),
        ("AK", NATIVE, {"answerable": "該当なし"}, "answerable of"),
        ("AK", NATIVE, {"text": "別の文"}, "has another text now"),
        ("AK", NATIVE, {"item_id": "x"}, "x has another text now"),
        ("AK", NATIVE, {"folder": "elsewhere"}, "no folder 'elsewhere'"),
    ],
)
def test_what_is_wrong_with_a_form_is_one_line(desk, reader, kind, change, told):
    desk()
    form = filled(desk, 1, reader, kind, change=lambda n, row: change if n == 2 else {})
    said = desk("--read", form, code=2)
    assert told in said and len(said.splitlines()) == 1
    assert not desk.log.exists(), "nothing is logged of a form that is wrong"


def test_full_width_and_other_spellings_are_read(desk):
    desk()
    form = filled(
        desk, 1, "ＡＫ", change=lambda n, row: {"natural": "ＹＥＳ", "answerable": " No "}
    )
    desk("--read", form)
    (entry,) = reading(desk)
    assert entry["who"] == "AK" and entry["said_no"]["answerable"] == 36


def test_other_columns_empty_forms_and_one_reader_twice(desk):
    desk("--readers", "2")
    empty = filled(desk, 1, "AK", rows=0)
    assert "form_1.csv: no row is filled in" in desk("--read", empty, code=2)
    one, two = filled(desk, 1, "AK"), filled(desk, 2, "AK")
    assert "judged twice by AK" in desk("--read", one, two, code=2)
    other = desk.folder / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    assert "has the columns a, b" in desk("--read", str(other), code=2)
    assert "not found: none.csv" in desk("--read", "none.csv", code=2)


# -- the raters' form, JU-6 ----------------------------------------------------------------------


def test_the_raters_form_is_written_by_the_same_tool(desk, tmp_path):
    """JU-6: `--rate` on a folder with cases.yaml does what construct's last step does."""
    folder = tmp_path / "work"
    folder.mkdir()
    shutil.copy(paths.data_dir() / "study" / PAPER / "cases.yaml", folder)
    shutil.copytree(paths.root() / "data" / "prompts", paths.data_dir() / "prompts")
    assert "36 cases. No ratings yet" in desk("--rate", str(folder), "--raters", "2")
    rows = files.rows_of(folder / rating.FORM, "form")
    assert len(rows) == 36 and forms.NOTICE in rows[26][forms.READ_FIRST]
    shutil.copy(folder / rating.FORM, folder / rating.RATINGS)
    assert "rater_1 has not rated case" in desk("--rate", str(folder), "--raters", "2")


def test_rating_a_folder_without_cases_is_told(desk, tmp_path):
    assert "case file not found: cases.yaml" in desk("--rate", str(tmp_path), code=2)
