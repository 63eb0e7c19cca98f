"""Files that have no end, are too large, hold nothing or would act: refused or made harmless."""

import os
from pathlib import Path

import pytest

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
