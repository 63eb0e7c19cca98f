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
    lines = list(expected.summary(found))[:MOST_LINES]
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
            "b, value: expected 0.25, got 0.2525",
        ),
        (
            ["model", "n", "value"],
            [["a", "1", "0.5"], ["b", "2", ""]],
            "b, value: expected 0.25, got nothing",
        ),
        (
            ["model", "n", "value"],
            [["a", "1", "0.5"], ["b", "3", "0.25"]],
            "b, n: expected 2, got 3",
        ),
        (["model", "n", "value"], [["a", "1", "0.5"]], "row gone: b"),
        (
            ["model", "n", "value"],
            [["a", "1", "0.5"], ["new", "1", "0.1"], ["b", "2", "0.25"]],
            "row new: new",
        ),
        (["model", "n"], [["a", "1"], ["b", "2"]], "column gone: value"),
        (
            ["model", "p", "n", "value"],
            [["a", "", "1", "0.5"], ["b", "", "2", "0.25"]],
            "column new: p",
        ),
        (
            ["model", "value", "n"],
            [["a", "0.5", "1"], ["b", "0.25", "2"]],
            "columns in another order",
        ),
        (["model", "n", "value"], [["b", "2", "0.25"], ["a", "1", "0.5"]], "rows in another order"),
    ],
)
def test_each_kind_of_difference_is_one_line(columns, rows, difference):
    assert lines(TABLE, Table(columns, rows)) == [f"paper/scores: {difference}"]


def test_a_moved_row_is_still_compared():
    other = Table(["model", "value"], [["b", "0.75"], ["c", "1.5"], ["a", "0.5"]])
    assert lines(TABLE, other) == [
        "paper/scores: column gone: n",
        "paper/scores: row new: c",
        "paper/scores: rows in another order",
        "paper/scores: b, value: expected 0.25, got 0.75",
    ]


#: A table with a column of each role.
ROLES = ["question", "model", "level", "n", "value", "verdict", "why"]


def rows_of(*models: str, level: str = "20") -> list[list[str]]:
    """Two questions a model; neither its name nor its verdict tells its rows apart."""
    return [
        [question, model, level, "9", "0.5", "undecided", f"{model} at {level}"]
        for model in models
        for question in ("1", "2")
    ]


@pytest.mark.parametrize(
    ("column", "cell"),
    [("verdict", "present"), ("why", "another reason"), ("n", "8"), ("value", "0.6")],
)
def test_a_changed_status_is_a_change_of_its_row(column, cell):
    """Whole numbers join the key where texts do not tell the rows apart; a verdict is a value."""
    a = Table(ROLES, rows_of("a", "b"))
    b = Table(ROLES, rows_of("a", "b"))
    b.rows[3][ROLES.index(column)] = cell
    (line,) = lines(a, b)
    assert line.startswith(f"paper/scores: 2 / b, {column}: expected ")


def test_what_all_rows_share_is_no_key_until_it_differs():
    one = Table(ROLES, rows_of("a", level="old"))
    renamed = [
        line.split(": ", 1)[1] for line in lines(one, Table(ROLES, rows_of("b", level="old")))
    ]
    assert renamed[0] == "1, model: expected a, got b" and len(renamed) == 4
    more = lines(one, Table(ROLES, rows_of("a", level="old") + rows_of("a", level="age")))
    assert more == ["paper/scores: row new: 1 / age", "paper/scores: row new: 2 / age"]


def test_rows_with_one_key_are_compared_in_their_order():
    a = Table(["part", "x"], [["dot", "0.1"], ["line", "0.2"], ["dot", "0.3"]])
    moved = Table(["part", "x"], [["dot", "0.1"], ["line", "0.2"], ["dot", "0.4"]])
    fewer = Table(["part", "x"], [["dot", "0.1"], ["line", "0.2"]])
    swapped = Table(["part", "x"], [["dot", "0.3"], ["line", "0.2"], ["dot", "0.1"]])
    assert lines(a, moved) == ["paper/scores: dot (2), x: expected 0.3, got 0.4"]
    assert lines(a, fewer) == ["paper/scores: row gone: dot (2)"]
    assert len(lines(a, swapped)) == 2


def test_a_table_without_text_is_compared_by_whole_numbers_or_in_its_order():
    a = Table(["id", "p"], [["1", "0.5"], ["2", "0.25"]])
    inserted = Table(["id", "p"], [["1", "0.5"], ["7", "0.1"], ["2", "0.25"]])
    assert lines(a, inserted) == ["paper/scores: row new: 7"]
    points = Table(["x", "y"], [["0.5", "0.5"], ["0.6", "0.5"]])
    longer = Table(["x", "y"], [["0.5", "0.5"], ["0.6", "0.55"], ["0.7", "0.5"]])
    assert lines(points, longer) == [
        "paper/scores: row new: row 3",
        "paper/scores: row 2, y: expected 0.5, got 0.55",
    ]


def test_a_number_that_is_equal_within_the_tolerance_is_no_other_key():
    """A column of words and fractions holds values: in a key 0.1 would have to be exact."""
    a = Table(["what", "cell"], [["a", "0.1"], ["a", "none"]])
    assert lines(a, Table(["what", "cell"], [["a", "0.10000000001"], ["a", "none"]])) == []


def test_an_empty_table_is_compared():
    empty = Table(TABLE.columns, [])
    assert lines(empty, empty) == []
    for a, b, kind in ((TABLE, empty, "row gone"), (empty, TABLE, "row new")):
        found = expected.compare_tables("paper", {"t": a}, {"t": b})
        assert [one.kind for one in found] == [kind, kind]


def test_a_table_more_or_less_is_a_difference():
    none = list(expected.compare_tables("paper", {"scores": TABLE}, {}))
    more = list(expected.compare_tables("paper", {}, {"scores": TABLE}))
    told = [str(one) for one in none + more]
    assert told == ["paper/scores: table gone", "paper/scores: table new"]


def test_columns_of_one_name_are_compared_in_their_order():
    a = Table(["x", "x"], [["1", "2"]])
    assert lines(a, Table(["x", "x"], [["1", "3"]])) == [
        "paper/scores: row 1, x: expected 2, got 3"
    ]


def test_any_changed_cell_is_a_difference():
    """Whatever the key is: no cell of a table can change unseen."""
    table = Table(ROLES, rows_of("a", "b") + rows_of("a"))  # two rows are there twice
    for row, cells in enumerate(table.rows):
        for place in range(len(cells)):
            other = Table(ROLES, [list(one) for one in table.rows])
            other.rows[row][place] += "5"
            assert lines(table, other) and lines(other, table), (row, ROLES[place])


def test_a_table_is_summed_up_in_one_line_and_its_first_differences():
    other = Table(
        ["model", "value", "p"], [["b", "0.5", ""], *([f"c{k}", "1", ""] for k in range(9))]
    )
    found = list(expected.compare_tables("paper", {"t": TABLE, "u": TABLE}, {"t": other}))
    assert list(expected.summary(found)) == [
        "  t: 1 column gone, 1 column new, 1 row gone, 9 rows new, 1 value changed",
        "    column gone: n",
        "    column new: p",
        "    row gone: a",
        "    row new: c0",
        "    row new: c1",
        "    … and 8 more",
        "  u: table gone",
    ]
    found = list(
        expected.compare_tables(
            "paper", {"t": TABLE}, {"t": Table(TABLE.columns, TABLE.rows[::-1])}
        )
    )
    assert list(expected.summary(found)) == ["  t: rows in another order"]


def result(**changed) -> dict:
    fields = dict.fromkeys(expected.RESULT_COLUMNS)
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
        "paper/results: row new: b",
        "paper/results: c, n: expected 3, got 4",
    ]


@pytest.mark.parametrize("name", expected.RESULT_COLUMNS)
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
    run_folder(run, [result()], {"scores": "model,value\na,0.5\nb,1.0\n", "old": "x\n1\n"})
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
    assert capsys.readouterr().out == (
        "good: 3 tables differ\n  old: table new\n  results: table new\n  scores: table new\n"
    )
    assert list(expected.differences(run.parent, "good")) == []

    files = {path.name: path for path in (house / "data" / "expected" / "good").iterdir()}
    assert set(files) == {"scores.csv", "old.csv", "results.csv"}
    results = files["results.csv"].read_bytes()
    (run / "tables" / "old.csv").unlink()
    (run / "tables" / "scores.csv").write_text("model,value\na,0.505\nb,1.0\n")
    (run / "results.json").write_text(json.dumps([result(value=0.5000000001)]))
    stamp(run)
    assert expected.expect() == 0
    assert capsys.readouterr().out.splitlines() == [
        "good: 2 tables differ",
        "  old: table gone",
        "  scores: 1 value changed",
        "    a, value: expected 0.5, got 0.505",
    ]
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
