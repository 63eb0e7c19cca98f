"""Every table of the default run is the expected one, and the comparison sees what differs."""

import json
import shutil
from pathlib import Path

import pytest

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import expected, notebooks, reproduce
from katayori_tools.choices import NotebookRun
from katayori_tools.expected import Table

# Read before conftest takes KATAYORI_OUTPUTS away: where `make reproduce` has just written.
OUTPUTS = paths.outputs_dir()
NOTEBOOK = Path(__file__).parent / "fixtures" / "notebooks" / "01_good.ipynb"
MOST_LINES = 30
MOST_BYTES = 11_000_000


# -- the run ---------------------------------------------------------------------------------------


@pytest.mark.slow  # it needs the run that `make test` makes first
@pytest.mark.parametrize("paper", notebooks.registry())
def test_the_run_computes_the_expected_tables(paper, monkeypatch):
    """All rows of all tables and results; without a run of this checkout one line says so."""
    monkeypatch.setenv("KATAYORI_OUTPUTS", str(OUTPUTS))
    try:
        expected.require_default_run([paper])
        found = list(expected.differences(OUTPUTS / expected.PROFILE, paper))
    except KatayoriError as error:
        pytest.fail(str(error), pytrace=False)
    lines = [str(difference) for difference in found[:MOST_LINES]]
    lines.append(f"{len(found)} differences; if they are right: make expect PAPERS={paper}")
    assert not found, "\n".join(lines)


def test_every_notebook_and_nothing_else_has_expected_tables():
    folders = {path.name for path in (paths.data_dir() / expected.FOLDER).iterdir()}
    assert folders == set(notebooks.registry())


def test_expected_tables_stay_small_enough_to_review():
    files = (paths.data_dir() / expected.FOLDER).rglob("*")
    assert sum(file.stat().st_size for file in files if file.is_file()) < MOST_BYTES


# -- comparing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("text", "text", True),
        ("text", "Text", False),
        ("", "", True),
        ("", "nan", False),
        ("", "0", False),
        ("nan", "NaN", True),
        ("nan", "1.5", False),
        ("1.0", "1.00000009", True),
        ("1.0", "1.0000002", False),
        ("1e-9", "1.01e-9", False),
        ("-3.5e-05", "-0.000035", True),
        ("0.0", "9e-13", True),
        ("0.0", "2e-12", False),
        ("100000000", "100000001", False),  # counts are exact
        ("3", "3.0", True),  # a column that became one of floats
        ("3", "3.1", False),
        ("inf", "inf", True),
        ("inf", "1e300", False),
        ("0.5 to 0.7", "0.5 to 0.70000000001", False),
    ],
)
def test_cells(a, b, same):
    assert expected.same_as_expected(a, b) is same
    assert expected.same_as_expected(b, a) is same


TABLE = Table(["model", "n", "value"], [["a", "1", "0.5"], ["b", "2", "0.25"]])


def lines(a: Table, b: Table, name: str = "scores") -> list[str]:
    return [str(one) for one in expected.compare_tables("paper", {name: a}, {name: b})]


def test_equal_tables_have_no_difference():
    other = Table(TABLE.columns, [["a", "1", "0.50000000001"], ["b", "2", "0.25"]])
    assert lines(TABLE, other) == []


@pytest.mark.parametrize(
    ("columns", "rows", "difference"),
    [
        (
            ["model", "n", "value"],
            [["a", "1", "0.5"], ["b", "2", "0.2525"]],
            "paper/scores, row 2, column value: expected 0.25, got 0.2525",
        ),
        (
            ["model", "n", "value"],
            [["a", "1", "0.5"]],
            "paper/scores: expected 2 rows, got 1 rows",
        ),
        (
            ["model", "n"],
            [["a", "1"], ["b", "2"]],
            "paper/scores, column value: expected a column, got no such column",
        ),
        (
            ["model", "n", "value", "p"],
            [["a", "1", "0.5", ""], ["b", "2", "0.25", ""]],
            "paper/scores, column p: expected no such column, got a column",
        ),
        (
            ["model", "value", "n"],
            [["a", "0.5", "1"], ["b", "0.25", "2"]],
            "paper/scores: expected columns model, n, value, got columns model, value, n",
        ),
    ],
)
def test_each_kind_of_difference_is_one_line(columns, rows, difference):
    assert lines(TABLE, Table(columns, rows)) == [difference]


def test_rows_in_another_order_differ():
    assert len(lines(TABLE, Table(TABLE.columns, TABLE.rows[::-1]))) == 6


def test_a_table_more_or_less_is_a_difference():
    none = list(expected.compare_tables("paper", {"scores": TABLE}, {}))
    more = list(expected.compare_tables("paper", {}, {"scores": TABLE}))
    assert [str(one) for one in none + more] == [
        "paper/scores: expected a table, got no such table",
        "paper/scores: expected no such table, got a table",
    ]


def test_columns_of_one_name_are_compared_in_their_order():
    a = Table(["x", "x"], [["1", "2"]])
    assert lines(a, Table(["x", "x"], [["1", "3"]])) == [
        "paper/scores, row 1, column x: expected 2, got 3"
    ]


def test_columns_that_depend_on_the_machine_are_left_out_by_name(monkeypatch):
    monkeypatch.setitem(expected.LEFT_OUT, ("paper", "scores", "value"), "the clock")
    other = Table(TABLE.columns, [["a", "1", "0.9"], ["c", "2", "0.25"]])
    assert lines(TABLE, other) == ["paper/scores, row 2, column model: expected b, got c"]


def result(**changed) -> dict:
    fields = dict.fromkeys((*expected.RESULT_KEY, *expected.RESULT_VALUES))
    return fields | {"what": "accuracy", "cell": {"topic": "x"}, "value": 0.5, "n": 3} | changed


def run_folder(folder: Path, results: list[dict], tables: dict[str, str]) -> Path:
    (folder / "tables").mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    for name, text in tables.items():
        (folder / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def results_of(folder: Path, *results: dict) -> dict[str, Table]:
    return expected.read_run(run_folder(folder, list(results), {}))


def test_a_new_result_does_not_shift_the_others(tmp_path):
    a = results_of(tmp_path / "a", result(what="a"), result(what="c"))
    b = results_of(tmp_path / "b", result(what="a"), result(what="b"), result(what="c", n=4))
    assert [str(one) for one in expected.compare_tables("paper", a, b)] == [
        'paper/results, row b / {"topic": "x"}: expected no such result, got a result',
        'paper/results, row c / {"topic": "x"}, column n: expected 3, got 4',
    ]


@pytest.mark.parametrize("name", expected.RESULT_VALUES)
def test_every_field_of_a_result_is_compared(name, tmp_path):
    a = results_of(tmp_path / "a", result())
    b = results_of(tmp_path / "b", result(**{name: "other"}))
    assert [one.column for one in expected.compare_tables("paper", a, b)] == [name]


# -- reading and writing ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("0.33333333333333331", "0.3333333333"),
        ("0.5", "0.5"),
        ("12345678901234", "12345678901234"),
        ("1234567890123.4", "1.23456789e+12"),
        ("1.9999999999999998", "2.0"),
        ("text", "text"),
        ("", ""),
        ("inf", "inf"),
    ],
)
def test_numbers_are_stored_with_ten_digits(text, stored):
    assert expected.rounded(text) == stored
    assert expected.same_as_expected(text, stored)


def test_what_is_written_reads_as_the_same(tmp_path):
    rows = [['a "b", c', "line\nbreak"], ["", "ü 日本"], ["0.1234567890123", "'=1"]]
    table = Table(["x", "y"], rows)
    file = tmp_path / "t.csv"
    file.write_text(expected.to_csv(table), encoding="utf-8", newline="\n")
    assert lines(table, expected.read_csv(file)) == []
    one_column = Table(["x"], [[""], ["b"]])
    file.write_text("x\n\nb\n", encoding="utf-8")
    assert expected.read_csv(file) == one_column


@pytest.mark.parametrize("content", [b"a,b\n1\n", b"a\n\xff\n", b""])
def test_a_file_that_is_no_table_is_named(content, tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    with pytest.raises(KatayoriError, match="is no table"):
        expected.read_csv(file)


def test_a_table_named_results_is_refused(tmp_path):
    folder = run_folder(tmp_path / "run", [], {"results": "a\n1\n"})
    with pytest.raises(KatayoriError, match="kept for"):
        expected.read_run(folder)


def test_a_missing_run_gets_one_line(tmp_path):
    with pytest.raises(KatayoriError, match="run `make reproduce`"):
        expected.read_run(tmp_path)


# -- make expect -----------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path, monkeypatch) -> Path:
    """A checkout with one notebook, `good`, whose run folder is stamped as up to date."""
    root = tmp_path / "house"
    for folder in ("notebooks", "data", "lib"):
        (root / folder).mkdir(parents=True)
    shutil.copy(NOTEBOOK, root / "notebooks")
    shutil.copy(paths.root() / "data" / "profiles.yaml", root / "data")
    (root / "lib" / "requirements.lock").write_text("one==1\n")
    monkeypatch.setenv("KATAYORI_ROOT", str(root))
    run = root / "outputs" / expected.PROFILE / "good"
    run_folder(run, [result()], {"scores": "model,value\na,0.5\n", "old": "x\n1\n"})
    stamp(run)
    return root


def stamp(run: Path) -> None:
    (job,) = reproduce.planned(NotebookRun(papers="good"))
    inputs = reproduce.shared_inputs() | reproduce._inputs(job)
    written = {"inputs": inputs, "outputs": reproduce._outputs(run)}
    (run / reproduce.STAMP).write_text(json.dumps(written))


def test_expect_writes_what_differs_and_says_so(house, capsys):
    run = house / "outputs" / expected.PROFILE / "good"
    assert expected.expect() == 0
    assert "3 tables added, 0 removed" in capsys.readouterr().out
    assert list(expected.differences(run.parent, "good")) == []

    files = {path.name: path for path in (house / "data" / "expected" / "good").iterdir()}
    assert set(files) == {"scores.csv", "old.csv", "results.csv"}
    results = files["results.csv"].read_bytes()
    (run / "tables" / "old.csv").unlink()
    (run / "tables" / "scores.csv").write_text("model,value\na,0.505\n")
    (run / "results.json").write_text(json.dumps([result(value=0.5000000001)]))
    stamp(run)
    assert expected.expect() == 0
    printed = capsys.readouterr().out
    assert "0 tables added, 1 removed" in printed and "1 cells changed in 1 tables" in printed
    assert "  good/scores, row 1, column value: expected 0.5, got 0.505\n" in printed
    assert not files["old.csv"].exists()
    assert files["results.csv"].read_bytes() == results  # within the tolerance: not touched


def test_expect_takes_no_other_run_than_the_default_one(house):
    run = house / "outputs" / expected.PROFILE / "good"
    (run / "tables" / "scores.csv").write_text("model,value\na,0.9\n")
    with pytest.raises(KatayoriError, match=r"out of date .* run `make reproduce`"):
        expected.expect()
    assert not (house / "data" / "expected").exists()


def test_expected_tables_make_no_run_out_of_date(house):
    before = reproduce.shared_inputs()
    expected.expect()
    assert reproduce.shared_inputs() == before
    (house / "data" / "other.csv").write_text("x\n")
    assert reproduce.shared_inputs() != before
