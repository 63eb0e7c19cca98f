"""Files that have no end, are too large, hold nothing or would act: refused or made harmless."""

import csv
import os
import re
from pathlib import Path

import pandas as pd
import pytest

from katayori import paths
from katayori.prompting.exchange import read_answers
from katayori.report.run import Run, harmless
from katayori_tools import cli

MODEL = ["--models", "my-model@custom"]
#: Each reader of a user's file: the command line before the file, and what it reads.
READERS = {
    "questions": (["estimate", "--papers", "01", *MODEL, "--questions"], ".yaml"),
    "jbbq": (["estimate", "--papers", "02", *MODEL, "--jbbq"], ".jsonl"),
    "comparisons": (["estimate", "--papers", "03", *MODEL, "--comparisons"], ".csv"),
    "cases": (["estimate", "--papers", "04", *MODEL, "--cases"], ".yaml"),
    "topics": (["estimate", "--papers", "05", *MODEL, "--topics"], ".yaml"),
    "profile": (["estimate", "--papers", "04", *MODEL, "--profile"], ".yaml"),
    "table": (["analyse"], ".csv"),
    "tabs": (["analyse"], ".tsv"),
    "samples": (["analyse"], ".jsonl"),
    "inspect": (["analyse"], ".json"),
    "eval": (["analyse"], ".eval"),
    "convert": (["convert", "--papers", "04", *MODEL], ".jsonl"),
    "form": (["review", "--read"], ".csv"),
}
LARGEST = {".yaml": 20_000_000}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.chdir(tmp_path)


def refused(capsys, *words) -> str:
    """The one line that a wrong request gets."""
    capsys.readouterr()
    assert cli.main([str(word) for word in words]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1, err
    return err


def with_file(reader: str, file: Path) -> list:
    words, _ = READERS[reader]
    return [*words, file, "answers.jsonl"] if reader == "convert" else [*words, file]


@pytest.mark.parametrize("kind", ["device", "pipe", "large"])
@pytest.mark.parametrize("reader", READERS)
def test_what_has_no_end_or_is_too_large_is_refused_before_it_is_read(
    reader, kind, tmp_path, monkeypatch, capsys
):
    _, ending = READERS[reader]
    file = tmp_path / f"mine{ending}"
    read = Path.read_bytes  # our own files are read by it, too
    monkeypatch.setattr(Path, "read_bytes", lambda one: pytest.fail() if one == file else read(one))
    if kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.touch()
        os.truncate(file, LARGEST.get(ending, 1_000_000_000) + 1)  # holds no byte of the disk
    said = refused(capsys, *with_file(reader, file))
    if (reader, kind) in {("profile", "device"), ("profile", "pipe")}:
        assert "no profile" in said and "or a YAML file of yours" in said
    elif kind == "large":
        assert f"{file.name} has " in said and "are read of such a file" in said
    else:
        assert f"{file.name} is a device, a pipe or a socket; write its content to a file" in said


@pytest.mark.parametrize("reader", ["comparisons", "table", "tabs"])
def test_a_header_without_rows_is_said_as_such(reader, tmp_path, capsys):
    file = tmp_path / f"mine{READERS[reader][1]}"
    file.write_text("\t".join("abc") if reader == "tabs" else "item_id,question_id\n")
    said = refused(capsys, *with_file(reader, file))
    assert f"{file.name} has a header and no rows" in said


def test_answers_and_samples_of_kobbq_without_rows_are_said_as_such(tmp_path, capsys):
    file = tmp_path / "mine.csv"
    file.write_text("item_id,prompt_id,model,text\n")
    words = ["reproduce", "--papers", "04", *MODEL, "--profile", "imported"]
    said = refused(capsys, *words, "-p", f"answers_file={file}")
    assert "mine.csv has a header and no rows" in said


# -- what would act in a spreadsheet or a terminal -------------------------------------------------

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: A text, and what stands in a table.
TEXTS = [
    ("=1+2", "'=1+2"),
    ("+cmd|x", "'+cmd|x"),
    ("@SUM(A1)", "'@SUM(A1)"),
    ("-0.5 [-1, 0]", "'-0.5 [-1, 0]"),
    ("\t=1", "'\t=1"),
    ("\r=1", "'\n=1"),
    ("＝1", "'＝1"),
    ("-0.5", "'-0.5"),
    ("+1.5e-3", "'+1.5e-3"),
    ("no\x1b[2J", "no␛[2J"),
    ("\x9b31m", "\\u009b31m"),
    ("\x00\x07\x7f", "␀␇␡"),
    ("two\r\nlines", "two\nlines"),
]


@pytest.mark.parametrize(("text", "told"), TEXTS)
def test_a_text_in_a_table_neither_acts_nor_hides(text, told):
    assert harmless(text) == told
    frame = harmless(pd.DataFrame({text: [text, -1.5]}))
    assert frame.columns.tolist() == [told] and frame[told].tolist() == [told, -1.5]


def test_every_table_that_is_written_goes_through_one_function():
    again = "got[name].map(rounded).to_csv("  # of tables that were written so before
    for package in ("katayori", "katayori_tools"):
        for path in sorted((paths.root() / "lib" / package).rglob("*.py")):
            lines = path.read_text(encoding="utf-8").splitlines()
            writes = [
                line for line in lines if re.search(r"\bto_csv\(|csv\.writer|DictWriter", line)
            ]
            assert not [
                line
                for line in writes
                if not re.search(r"harmless\(|>>>", line) and again not in line
            ], path


def test_answers_that_nobody_could_read_keep_no_control_characters(tmp_path):
    Run("discrim_eval", tmp_path).table("commonest_invalid", pd.DataFrame({"text": ["a\x1b[2J"]}))
    [file] = tmp_path.rglob("commonest_invalid.csv")
    assert file.read_text(encoding="utf-8") == "text\na␛[2J\n"


def test_a_template_holds_no_formula_and_is_read_back_under_the_model_s_name(tmp_path, capsys):
    file, model = tmp_path / "answers.csv", "=cmd|x@custom"
    words = ["--papers", "04", "--models", model]
    assert cli.main(["template", *words, "--limit", "2", str(file)]) == 0
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["model"] for row in rows} == {f"'{model}"}
    assert {key[2] for key in read_answers(file)} == {model}


@pytest.mark.parametrize("words", [["estimate"], ["template", "answers.csv"]])
def test_no_command_prints_the_control_characters_of_a_name(words, capsys):
    model = "my\x1b[31m\x9b\x07model@custom"
    assert cli.main([*words, "--papers", "04", "--models", model, "--limit", "2"]) == 0
    said = capsys.readouterr()
    assert not CONTROL.search(said.out + said.err)
    Path("answers.csv").unlink(missing_ok=True)
    assert words[0] != "estimate" or "my␛[31m" in said.out
    said = refused(capsys, *words, "--papers", "04", "--models", model, "--cases", "a\x1b[2J.yaml")
    assert not CONTROL.search(said) and "␛[2J" in said


def test_a_name_that_is_not_utf_8_is_refused(capsys):
    said = refused(capsys, "estimate", "--papers", "04", "--models", "a\udc9b@custom")
    assert "is not UTF-8" in said


@pytest.mark.parametrize("budget", ["-3", "-0.01", "nan", "inf", "-inf", "abc", "1e12", "3,50"])
def test_a_budget_that_is_no_amount_is_refused_before_anything(budget, capsys):
    said = refused(capsys, "live", "--papers", "04", *MODEL, f"--budget={budget}")
    assert f"'{budget}' is no number of US dollars from 0 to 1,000,000" in said
    assert not any(Path(name).exists() for name in ("cache", "outputs"))


# -- a home that cannot be written -----------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout and a home below `tmp_path`, and nothing that names a cache."""
    for name in ("KATAYORI_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path / "checkout"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "checkout"


def read_only(monkeypatch, folder: Path) -> None:
    """For root, too, who may write anywhere."""
    held = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, *how: folder not in (path, *Path(path).parents) and held(path, *how),
    )


def test_the_cache_lies_in_the_checkout_where_the_home_cannot_be_written(
    checkout, tmp_path, monkeypatch
):
    usual, own = tmp_path / "home/.cache/katayori", checkout / ".cache/katayori"
    assert paths.cache_dir() == usual
    read_only(monkeypatch, tmp_path / "home")
    assert paths.cache_dir() == own
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "mine"))
    assert paths.cache_dir() == tmp_path / "mine"


def test_what_was_paid_for_is_found_again_whoever_asks(checkout, tmp_path, monkeypatch):
    """A cache that is there is the one in use, also if it can only be read."""
    usual, own = tmp_path / "home/.cache/katayori", checkout / ".cache/katayori"
    own.mkdir(parents=True)
    assert paths.cache_dir() == own
    usual.mkdir(parents=True)
    read_only(monkeypatch, tmp_path / "home")
    assert paths.cache_dir() == usual


def test_a_user_without_any_home_has_a_cache(checkout, monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda text: text)  # what it does then
    assert paths.cache_dir() == checkout / ".cache/katayori"


def test_the_doctor_names_the_variable_of_a_cache_that_cannot_be_written(
    tmp_path, monkeypatch, capsys
):
    read_only(monkeypatch, tmp_path)
    assert cli.main(["doctor"]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if " disk, " in line]
    assert [line.split()[0] for line in lines] == ["problem", "problem"]
    for line, name, folder in zip(lines, ("OUTPUTS", "CACHE"), ("outputs", "cache"), strict=True):
        assert f"at {tmp_path / folder}, which cannot be written" in line
        assert line.endswith(f"name another with KATAYORI_{name}")
