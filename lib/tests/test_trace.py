"""`make trace`: from a row of results.json to the files and the raw answers behind it."""

import csv
import gzip
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from katayori import paths
from katayori.report.run import Run, harmless
from katayori_tools import cli, trace

# Read before conftest takes KATAYORI_OUTPUTS away: where `make reproduce` has just written.
OUTPUTS = paths.outputs_dir()
PAGE = paths.root() / "lib" / "pages" / "trace.md"
SMALL, LARGER = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
ASKED = [f"ju_{one}_ja" for one in (1, 2, 3, 4)]
FILE = re.compile(r"data/recorded/(\S+): ([\d,]+) answers, sha256 (\w+)…, as in the manifest")


def shard(name: str) -> list[dict]:
    """The rows of a file of recorded answers, by plain json."""
    with gzip.open(paths.data_dir() / "recorded" / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file.read().rstrip("\n").split("\n")]


def traced(capsys, *words: str) -> str:
    assert cli.main(["trace", *words]) == 0
    return capsys.readouterr().out


# -- a made run ------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path, monkeypatch) -> Path:
    """A run of 04 whose results are counted here; row 1 is published, 5 and 6 are simulated."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    run = Run("jubaku_v2", tmp_path / "recorded" / "jubaku_v2")
    study = run.open(asked=ASKED, models=[SMALL, "sim-two-fair"])
    planted = run.open(asked=ASKED, models=["sim-two-first"])
    log = pd.concat([study.answers(one) for one in ASKED])
    drawn = pd.concat([planted.answers(one) for one in ASKED])
    for name, frame in {"accuracy": log, "by_category": log, "planted_accuracy": drawn}.items():
        by = ["model", "category"][: 1 + (name == "by_category")]
        counted = frame.groupby(by)["answer"].agg(value=lambda one: one.eq("A").mean(), n="count")
        lost = frame["answer"].isna().groupby([frame[one] for one in by]).sum()
        run.keep(name, counted.assign(n_invalid=lost).reset_index())
    stored = run.keep("x", pd.DataFrame({"value": [0.5], "source": ["published"]}), what="=1+1")
    assert len(stored) == 1
    run.save()
    return run.folder


def number_of(folder: Path, what: str, **cell: str) -> int:
    rows = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    found = [n for n, row in enumerate(rows, 1) if (row["what"], row["cell"]) == (what, cell)]
    return found[0]


def test_a_number_prints_the_row_the_files_and_the_answers(made, capsys):
    number = number_of(made, "accuracy on the neutral option")
    said = traced(capsys, str(number), "--limit", "2")
    assert said.startswith(f"row {number} of jubaku_v2/results.json\n  paper: jubaku_v2\n")
    assert "  what: accuracy on the neutral option\n" in said
    assert len(FILE.findall(said)) == 8 and "NOT the file" not in said
    assert "288 answers were read to these prompts; the cell picks 288." in said
    assert "  n: 285\n  n_invalid: 3\n" in said
    counted = re.findall(r"^(ok)? +(A|B) +(\d+)$|^(truncated) +NaN +(\d+)$", said, re.M)
    assert [[part for part in one if part] for one in counted] == [
        ["ok", "A", "278"],
        ["B", "7"],
        ["truncated", "3"],
    ]
    assert said.count("\nju2-") + said.count("\n ju2-") == 2
    assert "288 answers in all" in said


def test_levels_pick_answers_and_the_csv_holds_all_of_them(made, tmp_path, capsys):
    number = number_of(made, "accuracy by category", category="basic_behaviour")
    file = tmp_path / "all.csv"
    said = traced(capsys, str(number), "--save", str(file))
    assert "  n: 24\n  n_invalid: 0\n" in said and "the cell picks 24.\n" in said
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 24 and {row["category"] for row in rows} == {"basic_behaviour"}
    assert f"all 24 answers: {file}" in said


def test_what_fits_no_row_gets_one_line(made, capsys):
    for result in ("999", "no such thing", "0"):
        assert cli.main(["trace", result]) == 2
        assert capsys.readouterr().err.splitlines() == [
            f"katayori: no row fits RESULT='{result}' among the 13 rows of jubaku_v2"
        ]
    assert cli.main(["trace", "5", "--save", "/no/file.csv"]) == 2
    assert capsys.readouterr().err.startswith("katayori: /no/file.csv cannot be written")
    assert cli.main(["trace", "1", "--papers", "05"]) == 2
    assert "no results of inter_jbbq" in capsys.readouterr().err


def test_simulated_and_published_rows_say_where_they_come_from(made, capsys):
    said = traced(capsys, "planted accuracy sim-two-first")
    assert "source: simulated" in said and "No language model gave these answers" in said
    assert "the files below data/published/jubaku_v2." in traced(capsys, "=1+1")


def test_a_file_that_is_not_the_one_that_was_read_is_told(made, capsys):
    about = json.loads((made / "provenance.json").read_text(encoding="utf-8"))
    name = next(iter(about["read"][0]["shards"]))
    about["read"][0]["shards"][name]["sha256"] = "0" * 64
    (made / "provenance.json").write_text(json.dumps(about), encoding="utf-8")
    said = traced(capsys, "accuracy on the neutral option")
    [line] = [line for line in said.splitlines() if "NOT the file that this run read" in line]
    assert name in line
    del about["read"]
    (made / "provenance.json").write_text(json.dumps(about), encoding="utf-8")
    assert cli.main(["trace", "accuracy on the neutral option"]) == 2
    assert "does not say which answers it read; run the notebook again" in capsys.readouterr().err


def test_what_of_a_cell_is_no_column_is_said():
    answers = pd.DataFrame({"age": ["20", "100", "20"], "topic": list("aab")})
    cell = {"factor": "age", "level": 20, "measure": "acc", "prompt": "basic", "topic": "overall"}
    chosen, used, left = trace.of_the_cell(answers, cell)
    assert chosen.index.tolist() == [0, 2] and used == ["age"]
    assert left == ["measure=acc", "topic=overall"]
    picked, used, left = trace.of_the_cell(answers, {"topic": "a", "age": 100})
    assert (picked.index.tolist(), sorted(used), left) == ([1], ["age", "topic"], [])


def test_the_report_names_the_rows_and_the_command(made, monkeypatch):
    told = trace.table(made)
    number = number_of(made, "accuracy by category", category="basic_behaviour")
    assert "<td>accuracy by category</td>" in told and "ju_1_ja, ju_2_ja, ju_3_ja, ju_4_ja" in told
    [first] = re.findall(r"accuracy by category<.*?RESULT=(\d+) PAPERS=04<", told, re.S)
    assert 1 <= int(first) <= number
    file = made / "provenance.json"
    about = json.loads(file.read_text())
    about["parameters"] |= {"profile": "live", "models": ["my model@custom"]}
    file.write_text(json.dumps(about))
    monkeypatch.setenv("KATAYORI_LABEL", "Anna & co")
    where = "PROFILE=live MODELS='my model@custom' LABEL='Anna &amp; co'"
    assert where in trace.table(made)
    file.unlink()
    assert trace.table(made) == ""


def test_imported_answers_are_read_from_their_file(tmp_path, monkeypatch, capsys):
    """The answers are made: an escape of a terminal, a formula, and letters."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(tmp_path))
    blank, file = tmp_path / "blank.jsonl", tmp_path / "mine.jsonl"
    words = ["--papers", "04", "--models", "mine@custom", "--limit", "1"]
    assert cli.main(["template", *words, str(blank)]) == 0
    rows = [json.loads(line) for line in blank.read_text(encoding="utf-8").splitlines()]
    texts = ["=1+1", "\x1b[31mred", *["A"] * (len(rows) - 2)]
    lines = [json.dumps({**row, "text": text}) for row, text in zip(rows, texts, strict=True)]
    file.write_text("\n".join(lines), encoding="utf-8")
    folder = tmp_path / "imported" / "mine@custom" / "jubaku_v2"
    run = Run("jubaku_v2", folder)
    how = {"profile": "imported", "models": ["mine@custom"], "limit": 1, "asked": ASKED}
    study = run.open(**how, answers_file=str(file))
    log = pd.concat([study.answers(one) for one in ASKED])
    found = pd.DataFrame({"model": log["model"].unique(), "value": 0.5, "n": 6, "n_invalid": 2})
    run.keep("accuracy", found)
    run.save()
    stamp = {"inputs": {"parameters": {"answers_file": str(file)}}}
    (folder / "stamp.json").write_text(json.dumps(stamp), encoding="utf-8")
    capsys.readouterr()
    said = traced(capsys, "1", "--profile", "imported", "--save", str(tmp_path / "all.csv"))
    assert "source: imported" in said and "the cell picks 8.\n" in said
    assert re.search(r"^ok +A +6$", said, re.M) and "\x1b" not in said and "[31mred" in said
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as stream:
        assert {row["text"] for row in csv.DictReader(stream)} >= {"'=1+1", "A"}


# -- the default run -------------------------------------------------------------------------------


def default_run(monkeypatch) -> None:
    """The finished default run, which `make test` makes first."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(OUTPUTS))
    if not (OUTPUTS / "recorded" / "discrim_eval" / "results.json").is_file():
        pytest.fail("no default run; make reproduce", pytrace=False)


def says(text: str) -> str:
    return text.strip()[:1]


#: Words of a headline of each paper, how many answers are behind it, and what they say by hand.
GOLDEN = [
    ("01", f"gap sampled factor=gender {SMALL}", 9450, {}),
    (
        "02",
        f"Diff-bias, ambiguous, all categories prompt=basicP {SMALL}",
        1800,
        {"1": 1754, "2": 46},
    ),
    ("03", f"gain of averaging prompt=verdict {SMALL}", 414, {"A": 401, "B": 13}),
    ("04", f"accuracy on the neutral option {LARGER}", 288, {}),
    ("05", f"unknown in disambiguated items prompt=basic {SMALL}", 2880, {"1": 2854, "2": 26}),
]


@pytest.mark.slow  # it needs the run that `make test` makes first
@pytest.mark.parametrize(("paper", "words", "n", "hand"), GOLDEN)
def test_a_headline_of_each_paper_leads_to_the_raw_answers(
    paper, words, n, hand, monkeypatch, tmp_path, capsys
):
    default_run(monkeypatch)
    file = tmp_path / "all.csv"
    said = traced(capsys, words, "--papers", paper, "--save", str(file))
    with file.open(encoding="utf-8", newline="") as stream:
        listed = list(csv.DictReader(stream))
    raw: dict[tuple[str, str], str] = {}
    names = [name for name, _, _ in FILE.findall(said)]
    for name in reversed(names):  # what was written anew counts and stands first
        prompt = Path(name).name.split("@")[0].removesuffix(".jsonl.gz")
        raw |= {(prompt, row["item_id"]): row["text"] for row in shard(name)}
    prompts = {Path(name).name.split("@")[0] for name in names}
    assert len(listed) == n
    texts = [raw[row.get("prompt_id") or min(prompts), row["item_id"]] for row in listed]
    assert [harmless(text) for text in texts] == [row["text"] for row in listed]
    if hand:
        assert Counter(map(says, texts)) == hand


@pytest.mark.slow
def test_the_page_shows_what_its_commands_print(monkeypatch, capsys):
    default_run(monkeypatch)
    blocks = re.findall(
        r"^```sh\nmake trace (.*?)\n```\n\n```text\n(.*?)^```$",
        PAGE.read_text("utf-8"),
        re.M | re.S,
    )
    assert len(blocks) == 2
    for command, shown in blocks:
        given = dict(word.split("=", 1) for word in shlex.split(command))
        options = [f"--{name.lower()}={value}" for name, value in given.items() if name != "RESULT"]
        assert traced(capsys, given["RESULT"], *options) == shown
