"""`make equal`: what counts as equal, the map of names, and the git part on a tiny repository."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from katayori.errors import KatayoriError
from katayori_tools import cli, equality, expected
from katayori_tools.expected import Table

EMPTY = {"renamed": {}, "wanted": []}


def a_run(folder: Path, paper: str = "paper", results: tuple = (), **tables: str) -> Path:
    """A run folder with tables given as CSV text; returns the folder of run folders."""
    run = folder / paper
    (run / "tables").mkdir(parents=True)
    blank = dict.fromkeys((*expected.RESULT_KEY, *expected.RESULT_VALUES))
    rows = [blank | {"cell": {}} | row for row in results]
    (run / "results.json").write_text(json.dumps(rows), encoding="utf-8")
    for name, text in tables.items():
        (run / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def house(tmp_path, monkeypatch) -> Path:
    """A checkout with nothing but an empty map."""
    root = tmp_path / "house"
    (root / "lib").mkdir(parents=True)
    monkeypatch.setenv("KATAYORI_ROOT", str(root))
    write_map(root)
    return root


def write_map(root: Path, **changed) -> None:
    (root / "lib" / "equality.yaml").write_text(json.dumps(EMPTY | changed), encoding="utf-8")


def compare(root: Path, a: Path, b: Path, capsys, **changed) -> tuple[int, list[str]]:
    """Exit code and printed lines of `katayori equal --folders`."""
    write_map(root, **changed)
    code = cli.main(["equal", "--folders", str(a), str(b)])
    return code, capsys.readouterr().out.splitlines()


# -- folders ---------------------------------------------------------------------------------------


def test_equal_folders(house, tmp_path, capsys):
    a = a_run(tmp_path / "a", results=({"value": 0.1},), scores="m,v\nx,0.3\ny,0.5\n")
    nearly = "m,v\nx,0.30000000000000004\ny,0.5000000000004\n"
    b = a_run(tmp_path / "b", results=({"value": 0.1},), scores=nearly)
    lines = ["compared: 2 tables, 3 rows, 26 cells", "unwanted: 0"]
    assert compare(house, a, b, capsys) == (0, lines)


def test_an_unwanted_difference_fails(house, tmp_path, capsys):
    a = a_run(tmp_path / "a", scores="m,v\nx,0.3\n")
    b = a_run(tmp_path / "b", scores="m,v\nx,0.30000000001\n")
    code, lines = compare(house, a, b, capsys)
    assert code == 1
    assert lines[1:] == [
        "unwanted: 1",
        "  paper/scores, row 1, column v: expected 0.3, got 0.30000000001",
    ]


RENAMED = {
    "papers": {"old_paper": "paper"},
    "tables": {"paper/old_scores": "scores"},
    "columns": {"scores/m": "model", "results/old_topic": "topic"},
    "values": {"paper/scores/model": {"x": "first"}, "topic": {"T": "t"}},
}


def renamed_runs(tmp_path) -> tuple[Path, Path]:
    old, new = {"cell": {"old_topic": "T"}, "value": 1.5}, {"cell": {"topic": "t"}, "value": 1.5}
    a = a_run(tmp_path / "a", "old_paper", (old,), old_scores="m,v\nx,0.3\ny,x\n")
    b = a_run(tmp_path / "b", "paper", (new,), scores="model,v\nfirst,0.3\ny,x\n")
    return a, b


def test_renamed_papers_tables_columns_and_values_are_the_same(house, tmp_path, capsys):
    """Also inside the cell of a result; a value is renamed in its own column only."""
    a, b = renamed_runs(tmp_path)
    code, lines = compare(house, a, b, capsys, renamed=RENAMED)
    assert (code, lines[1:]) == (0, ["unwanted: 0"])


@pytest.mark.parametrize("kind", RENAMED)
def test_each_renaming_is_needed(kind, house, tmp_path, capsys):
    a, b = renamed_runs(tmp_path)
    assert compare(house, a, b, capsys, renamed=RENAMED | {kind: {}})[0] == 1


def test_a_renaming_that_no_longer_occurs_is_stale(house, tmp_path, capsys):
    a = a_run(tmp_path / "a", scores="m\nx\n")
    b = a_run(tmp_path / "b", scores="m\nx\n")
    lines = compare(house, a, b, capsys, renamed={"columns": {"gone": "new"}})[1]
    assert "stale: renamed columns: gone no longer occurs" in lines


def test_wanted_differences_have_reasons_and_grow_stale(house, tmp_path, capsys):
    a = a_run(tmp_path / "a", scores="m,v\nx,1.5\ny,2.5\n", other="v\n1.5\n")
    b = a_run(tmp_path / "b", scores="m,v\nx,1.6\ny,2.6\n", other="v\n1.5\n")
    wanted = [
        {"table": "scores", "column": "v", "why": "a better rule"},
        {"paper": "paper", "table": "other", "column": "*", "why": "long ago"},
    ]
    code, lines = compare(house, a, b, capsys, wanted=wanted)
    assert (code, lines[1:]) == (
        0,
        [
            "wanted: 2 in */scores/v (a better rule)",
            "stale: wanted paper/other/* no longer occurs (long ago)",
            "unwanted: 0",
        ],
    )


@pytest.mark.parametrize(
    "entry", [{"paper": "else"}, {"table": "else"}, {"column": "else"}, {"column": ""}]
)
def test_a_wanted_entry_means_only_what_it_names(entry, house, tmp_path, capsys):
    a = a_run(tmp_path / "a", scores="m,v\nx,1.5\n")
    b = a_run(tmp_path / "b", scores="m,v\nx,1.6\n")
    right = {"paper": "paper", "table": "scores", "column": "v", "why": "so"}
    assert compare(house, a, b, capsys, wanted=[right])[0] == 0
    assert compare(house, a, b, capsys, wanted=[right | entry])[0] == 1


def test_a_table_that_is_new_can_be_wanted(house, tmp_path, capsys):
    a = a_run(tmp_path / "a")
    b = a_run(tmp_path / "b", scores="m\nx\n")
    assert compare(house, a, b, capsys)[0] == 1
    assert compare(house, a, b, capsys, wanted=[{"table": "scores", "why": "new"}])[0] == 0


def test_a_paper_on_one_side_is_a_difference(house, tmp_path, capsys):
    a = a_run(a_run(tmp_path / "a"), "more")
    b = a_run(tmp_path / "b")
    code, lines = compare(house, a, b, capsys)
    assert code == 1 and lines[-1] == "  more/*: expected a run, got no run"


def test_rows_in_another_order_are_one_difference():
    """Renamed values sort differently: the rows are found by their words and still compared."""
    names = equality.NameMap({kind: {} for kind in equality.RENAMED}, [])
    a = {"t": Table(["m", "v"], [["x", "1.5"], ["y", "2.5"], ["y", "3.5"]])}
    b = {"t": Table(["m", "v"], [["y", "2.5"], ["y", "3.6"], ["x", "1.5"]])}
    found = [str(one) for one in equality.compare_paper(names, "p", a, b, equality.Report())]
    assert found == [
        "p/t: expected the rows in one order, got in another",
        "p/t, row 3, column v: expected 3.5, got 3.6",
    ]


def test_what_is_not_printed_is_kept(house, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(equality, "SHOWN", 1)
    a = a_run(tmp_path / "a", scores="v\n1.5\n2.5\n")
    b = a_run(tmp_path / "b", scores="v\n1.6\n2.6\n")
    lines = compare(house, a, b, capsys)[1]
    file = house / "outputs" / "equality" / "differences.csv"
    assert lines[-1] == f"  … and 1 more: {file}"
    rows = expected.read_csv(file).rows
    assert rows == [
        ["paper", "scores", "1", "v", "1.5", "1.6"],
        ["paper", "scores", "2", "v", "2.5", "2.6"],
    ]


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- 1", r"it must be a block of named fields, not \[1\]"),
        ("more: 1", "unknown field 'more'; known: renamed, wanted"),
        ("renamed: [1]", "renamed must be a block of named fields"),
        ("renamed: {rows: {}}", "unknown field 'rows'; known: papers, tables, columns, values"),
        ("renamed: {tables: [1]}", "renamed.tables must be a block of named values"),
        ("renamed: {values: {n: {1: a}}}", "renamed.values.n: the name 1 must be a text"),
        ("renamed: {values: {n: x}}", "renamed.values.n must be a block of named values, not 'x'"),
        ("renamed: {columns: {a: 1}}", r"columns.a must be a text, not 1 \(put it in quotes\)"),
        ("wanted: x", "wanted must be a list, not 'x'"),
        ("wanted: [x]", r"wanted\[0\] must be a block of named fields, not 'x'"),
        ("wanted: [{table: t, why: w, colum: c}]", r"wanted\[0\]: unknown field 'colum'; known: "),
        ("wanted: [{table: t}]", r"wanted\[0\] lacks why"),
        ("wanted: [{table: t, why: ' '}]", r"wanted\[0\].why must not be empty"),
        ("wanted: [{why: w}]", r"wanted\[0\] lacks table"),
        ("wanted: [", "not readable YAML"),
    ],
)
def test_a_bad_map_gets_one_line(text, said, tmp_path):
    file = tmp_path / "map.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(KatayoriError, match=said) as error:
        equality.read_map(file)
    assert "\n" not in str(error.value)


def test_the_committed_map_is_right():
    equality.read_map(Path(__file__).parents[1] / "equality.yaml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--folders", "none", "none"], "there is no folder none"),
        (["--folders", ".", "."], "holds no runs"),
        (["--folders", ".", ".", "--data", "x"], "neither DATA nor PAPERS"),
        (["", ""], "name two commits"),
        (["HEAD", "HEAD"], "A=HEAD is no commit"),
    ],
)
def test_bad_input_gets_one_line(arguments, said, house, capsys, monkeypatch):
    monkeypatch.chdir(house)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(house.parent))
    assert cli.main(["equal", *arguments]) == 2
    line = capsys.readouterr().err
    assert said in line and line.count("\n") == 1


# -- two commits -----------------------------------------------------------------------------------

#: Runs a checkout: one table of what lib and data hold; `waits` lets a test interrupt it.
MAKEFILE = """
reproduce:
	@test ! -e waits || { touch "$(MARK)"; sleep 60; }
	@test ! -e fails
	@mkdir -p outputs/recorded/paper/tables
	@echo '[]' > outputs/recorded/paper/results.json
	@echo lib,data,given > outputs/recorded/paper/tables/t.csv
	@echo "`cat lib/v`,`cat data/v`,$(DATA)" >> outputs/recorded/paper/tables/t.csv
"""


def git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@e", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, name: str, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", name)
    git(root, "tag", name)


@pytest.fixture
def repository(house, monkeypatch) -> Path:
    """Commits: `one`; `two` with other data; `three` with another result; `failing`."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git(house, "init", "-q")
    (house / ".gitignore").write_text("outputs\n")
    commit(house, "one", {"Makefile": MAKEFILE, "lib/v": "1", "data/v": "10", "data/only": ""})
    (house / "data" / "only").unlink()
    commit(house, "two", {"data/v": "20"})
    commit(house, "three", {"lib/v": "2"})
    commit(house, "failing", {"fails": ""})
    return house


#: A shell's background jobs ignore Ctrl-C, and what they start inherits that.
INTERRUPTIBLE = """
import signal, sys
from katayori_tools.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


def left_over(root: Path) -> list[str]:
    """Worktrees beside the checkout itself."""
    return git(root, "worktree", "list", "--porcelain").split("\n\n")[1:]


def test_two_commits_run_on_the_data_of_one(repository, capfd):
    """By default B's, which `one` did not have itself; a variable of ours reaches neither make."""
    os.environ["MAKEFLAGS"] = "DATA=leak"
    try:
        assert cli.main(["equal", "one", "two"]) == 0
    finally:
        del os.environ["MAKEFLAGS"]
    assert capfd.readouterr().out.splitlines() == [
        "compared: 2 tables, 1 rows, 3 cells",
        "unwanted: 0",
    ]
    assert left_over(repository) == []
    assert git(repository, "status", "--porcelain") == ""


def test_commits_that_differ(repository, capfd):
    assert cli.main(["equal", "two", "three", "--data", "one"]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[1:] == ["unwanted: 1", "  paper/t, row 1, column lib: expected 1, got 2"]
    assert left_over(repository) == []


def test_the_data_folder_is_that_of_its_commit(repository):
    """What DATA does not have is gone, not left from the commit that is run."""
    data, checkout = git(repository, "rev-parse", "two"), repository.parent / "checkout"
    with equality.worktree("one", data, checkout) as folder:
        assert [path.name for path in (folder / "data").iterdir()] == ["v"]
        assert (folder / "data" / "v").read_text() == "20"
        assert (folder / "lib" / "v").read_text() == "1"
    assert not checkout.exists() and left_over(repository) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none", "one"], "A=none is no commit"),
        (["one", "two", "--data", "none"], "DATA=none is no commit"),
        (["one", "failing"], "make reproduce failed in B"),
    ],
)
def test_commits_that_cannot_be_run(arguments, said, repository, capfd):
    assert cli.main(["equal", *arguments]) == 2
    assert said in capfd.readouterr().err.splitlines()[-1]
    assert left_over(repository) == []


def test_ctrl_c_leaves_no_worktree(repository, tmp_path):
    """Interrupted as by a terminal, which signals make and its shell too."""
    commit(repository, "waiting", {"waits": ""})
    git(repository, "rm", "-q", "fails")
    git(repository, "commit", "-q", "-m", "w")
    mark = tmp_path / "mark"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"MARK": str(mark), "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "equal", "one", "HEAD"],
        env=environment,
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not mark.exists() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130 and "interrupted" in err, err
    assert left_over(repository) == []
    assert list(temporary.iterdir()) == []
