"""`katayori review`: forms for readers, read back and checked; a machine is logged as one."""

import shutil

import pandas as pd
import pytest
import yaml

from katayori import paths
from katayori.data import files
from katayori.papers import jubaku_v2, paper_ids
from katayori_tools import forms, paper_files
from katayori_tools.cli import main

PAPER = "jubaku_v2"
NATIVE = "native reader"


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    """Runs the command on a copy of one paper's items and returns what it said."""
    copy = tmp_path / "data" / "study" / PAPER
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    shutil.copytree(paths.data_dir() / "study" / PAPER, copy)
    shutil.copytree(paths.data_dir() / "papers", tmp_path / "data" / "papers")
    shutil.copy(paths.data_dir() / "forms.yaml", tmp_path / "data")
    monkeypatch.setattr(paths, "data_dir", lambda: tmp_path / "data")
    # Its files are not copied.
    monkeypatch.setattr(paper_files, "editions_of", lambda paper: {"study": paper_files.FIRST})
    monkeypatch.setattr(jubaku_v2, "STUDY", "study2")

    def run(*more, code=0):
        papers = [] if "--read" in more else ["--papers", PAPER]
        assert main(["review", *papers, *more]) == code
        said = capsys.readouterr()
        return said.out + said.err

    run.folder, run.log = tmp_path / "outputs" / "review", copy / files.REVIEW_LOG
    run()
    return run


def form(desk):
    path = desk.folder / "form.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")


def filled(desk, number, reader, kind=NATIVE, rows=36, change=None, of=()):
    """A form as a reader fills it in: yes to all, but for `change` in the rows `of`."""
    table = form(desk)
    table.loc[0, ["reader", "kind"]] = [reader, kind]
    table.loc[: rows - 1, list(forms.JUDGED)] = "はい"
    for name, text in (change or {}).items():
        table.loc[list(of), name] = text
    path = desk.folder / f"form_{number}.csv"
    table.to_csv(path, index=False)
    return str(path)


def reading(desk):
    return yaml.safe_load(desk.log.read_text(encoding="utf-8"))["readings"]


def agreement(*sheets):
    whole = pd.concat([forms.read_reader(forms.Path(one)) for one in sheets], ignore_index=True)
    today = forms.items_of([PAPER])
    return forms.agreement(forms.checked(whole, today)).set_index("judgement")


def test_a_form_a_reader_with_notice_definition_and_instruction(desk):
    told = (desk.folder / "form.md").read_text(encoding="utf-8")
    assert all(part in told for part in ("内容に関する注意", "任意", "イニシャル", *forms.JUDGED))
    one, first = form(desk), files.ours("forms.yaml")["first"]
    assert list(one) == [first, *forms.COLUMNS] and len(one) == 36
    assert one[first].str.contains("偏見").all(), "no filter hides the notice"
    assert one[[*forms.JUDGED, *forms.FREE, "reader"]].eq("").all(axis=None)
    assert "偏りのある理由：" in one["text"][0] and one["items"][0] == "8"
    assert "never written over" in desk(code=2)


@pytest.mark.parametrize("paper", paper_ids())
def test_every_japanese_item_stands_on_the_form(paper):
    texts = forms.items_of([paper])
    if paper == "discrim_eval":  # English, not for these readers
        assert texts.empty
        return
    sets = paper_files.study_sets(paper)
    anew = paper_files.written_anew
    read = [anew(paper, one.items) if one.edition == 3 else one.items for one in sets]
    assert texts["items"].sum() == sum(map(len, read))
    assert not texts.duplicated(["folder", "text"]).any()
    assert set(texts["folder"]) == {one.folder.name for one in sets}


def test_two_readers_agree_with_n_and_interval_and_are_logged(desk):
    one = filled(desk, 1, "A.K.", change={"natural": "いいえ"}, of=range(18))
    two = filled(desk, 2, "ＴＭ", change={"natural": " Ｎo "}, of=range(16))  # as people type
    said = desk("--read", one, two)
    table = agreement(one, two)
    natural, answerable = table.loc["natural"], table.loc["answerable"]
    assert natural["n"] == 72 and natural["status"] == "ok"
    assert natural["ci_low"] < natural["value"] < natural["ci_high"] < 1
    # By hand: 72 judgements, 34 no and 38 yes, the readers differ on two texts.
    assert natural["value"] == pytest.approx(1 - 71 * 2 / (34 * 38))
    assert natural["share_yes"] == pytest.approx(38 / 72)
    assert answerable["status"] == "constant", "all say yes: alpha is undefined, not 1"
    assert "AK (native reader), 36 of 36 texts read, 18 to decide" in said
    first, second = reading(desk)
    assert [first["who"], second["who"]] == ["AK", "TM"]
    assert first["reviewed"] and second["reviewed"]
    assert [entry["natural"] for entry in first["decisions"]] == ["no"] * 18
    assert {entry["decision"] for entry in first["decisions"]} == {"open"}


def test_a_machine_is_no_review_and_nobody_agrees_alone(desk):
    sheets = [filled(desk, 1, "m1", kind="機械"), filled(desk, 2, "AK", rows=5)]
    desk("--read", *sheets)
    logged = {entry["kind"]: entry for entry in reading(desk)}
    assert logged["machine"]["reviewed"] is False and logged["machine"]["read"] == 36
    some = logged[NATIVE]
    assert (some["read"], some["texts"], some["reviewed"]) == (5, 36, False)
    table = agreement(*sheets)
    assert len(table) == 6, "natives and machines are not pooled"
    assert table["value"].isna().all() and set(table["status"]) == {"no_pairable"}


def test_a_decision_outlives_a_second_reading_and_the_log_is_no_item_file(desk):
    better = {"suggestion": "こう直す", "comment": "不自然"}
    sheet = filled(desk, 1, "AK", change=better, of=[3])
    desk("--read", sheet)
    log = yaml.safe_load(desk.log.read_text(encoding="utf-8"))
    assert log["notice"] and log["canary"].startswith("katayori-")
    (decision,) = log["readings"][0]["decisions"]
    assert decision["suggestion"] == "こう直す" and decision["decision"] == "open"
    decision["decision"] = "refused: その意味ではない"
    desk.log.write_text(yaml.safe_dump(log, allow_unicode=True), encoding="utf-8")
    desk("--read", sheet)
    decided, later = (entry["decisions"][0]["decision"] for entry in reading(desk))
    assert (decided, later) == ("refused: その意味ではない", "open")
    desk.log.write_text("readings: [AK]", encoding="utf-8")
    assert "review log" in desk("--read", sheet, code=2)


@pytest.mark.parametrize(
    ("reader", "kind", "change", "told"),
    [
        ("", NATIVE, {}, "reader is to be told once; it holds nothing"),
        ("Hanako", NATIVE, {}, "give initials"),
        ("AK", "", {}, "kind is to be told once"),
        ("AK", "friend", {}, "'friend'"),
        ("AK", NATIVE, {"natural": ""}, "natural of"),
        ("AK", NATIVE, {"natural": "たぶん"}, "'たぶん'"),
        ("AK", NATIVE, {"answerable": "該当なし"}, "answerable of"),
        ("AK", NATIVE, {"text": "別の文"}, "has another text now"),
        ("AK", NATIVE, {"item_id": "x"}, "x has another text now"),
        ("AK", NATIVE, {"folder": "elsewhere"}, "elsewhere: "),
    ],
)
def test_what_is_wrong_with_a_form_is_one_line(desk, reader, kind, change, told):
    said = desk("--read", filled(desk, 1, reader, kind, change=change, of=[2]), code=2)
    assert told in said and len(said.splitlines()) == 1
    assert not desk.log.exists(), "nothing is logged of a form that is wrong"


def test_other_columns_empty_forms_and_one_reader_twice(desk):
    empty = filled(desk, 1, "AK", rows=0)
    assert "form_1.csv: no row is filled in" in desk("--read", empty, code=2)
    one, two = filled(desk, 1, "AK"), filled(desk, 2, "AK")
    assert "judged twice by AK" in desk("--read", one, two, code=2)
    other = desk.folder / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    assert "has the columns a, b" in desk("--read", str(other), code=2)
    assert "not found: none.csv" in desk("--read", "none.csv", code=2)


def test_the_japanese_of_catalogues_is_read_beside_the_english(desk):
    """A row a message, of every catalogue; read back and logged like items."""
    catalogues = paths.data_dir() / "locale" / "ja"
    (catalogues / "below").mkdir(parents=True)
    head = 'msgid ""\nmsgstr "Language: ja\\n"\n\n'
    for name, messages in {
        "a.po": {"yes": "はい", "open": ""},
        "below/b.po": {"no {n}": "否 {n}"},
    }.items():
        text = "\n".join(f'msgid "{one}"\nmsgstr "{other}"\n' for one, other in messages.items())
        (catalogues / name).write_text(head + text, encoding="utf-8")
    assert "2 texts to read" in desk("--messages") and "never written over" in desk(
        "--messages", code=2
    )
    path = desk.folder / "messages.csv"
    assert "過不足なく" in path.with_suffix(".md").read_text(encoding="utf-8")
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    assert list(table["text"]) == ["英語：yes\n日本語：はい", "英語：no {n}\n日本語：否 {n}"]
    table.loc[0, ["reader", "kind"]] = ["AK", NATIVE]
    table[["natural", "answerable", "stereotype_plausible"]] = ["はい", "いいえ", "該当なし"]
    table.to_csv(path, index=False)
    assert "ja/review_log.yaml: AK (native reader), 2 of 2 texts read, 2 to decide" in desk(
        "--read", str(path)
    )
    log = yaml.safe_load((catalogues / files.REVIEW_LOG).read_text(encoding="utf-8"))
    assert log["readings"][0]["reviewed"] and "canary" not in log
    catalogue = catalogues / "a.po"
    catalogue.write_text(
        catalogue.read_text(encoding="utf-8").replace("はい", "ええ"), encoding="utf-8"
    )
    assert "has another text now" in desk("--read", str(path), code=2)
