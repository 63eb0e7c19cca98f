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
        found = expected.differences(OUTPUTS / expected.PROFILE, paper)
    except KatayoriError as error:
        pytest.fail(str(error), pytrace=False)
    lines = [f"{name}: {line}" for name, told in found.items() for line in told][:MOST_LINES]
    lines.append(f"{len(found)} tables differ; if they are right: make expect PAPERS={paper}")
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
    assert expected.same(a, b) is same
    assert expected.same(b, a) is same


def table(columns: str, *rows: str) -> Table:
    names = columns.split()
    return Table(names, [dict(zip(names, row.split(","), strict=True)) for row in rows])


TABLE = table("model n value", "a,1,0.5", "b,2,0.25")


def test_equal_tables_have_no_difference():
    assert expected.compare(TABLE, table("model n value", "a,1,0.50000000001", "b,2,0.25")) == []


@pytest.mark.parametrize(
    ("got", "difference"),
    [
        (table("model n value", "a,1,0.5", "b,2,0.2525"), "b, value: expected 0.25, got 0.2525"),
        (table("model n value", "a,1,0.5", "b,2,"), "b, value: expected 0.25, got nothing"),
        (table("model n value", "a,1,0.5", "b,3,0.25"), "b, n: expected 2, got 3"),
        (table("model n value", "a,1,0.5"), "row gone: b"),
        (table("model n value", "a,1,0.5", "new,1,0.1", "b,2,0.25"), "row new: new"),
        (table("model n", "a,1", "b,2"), "column gone: value"),
        (table("model p n value", "a,,1,0.5", "b,,2,0.25"), "column new: p"),
        (table("model value n", "a,0.5,1", "b,0.25,2"), "columns in another order"),
        (table("model n value", "b,2,0.25", "a,1,0.5"), "rows in another order"),
    ],
)
def test_each_kind_of_difference_is_one_line(got, difference):
    assert expected.compare(TABLE, got) == [difference]


def test_a_moved_row_is_still_compared():
    assert expected.compare(TABLE, table("model value", "b,0.75", "c,1.5", "a,0.5")) == [
        "column gone: n",
        "row new: c",
        "rows in another order",
        "b, value: expected 0.25, got 0.75",
    ]


def test_a_changed_verdict_is_a_change_of_its_row():
    a = table("model level verdict", "a,20,present", "a,age,absent")
    assert expected.compare(a, table("model level verdict", "a,20,present", "a,age,present")) == [
        "a / age, verdict: expected absent, got present"
    ]


def test_rows_with_one_key_are_compared_in_their_order():
    a = table("part x", "dot,0.1", "line,0.2", "dot,0.3")
    moved = table("part x", "dot,0.1", "line,0.2", "dot,0.4")
    assert expected.compare(a, moved) == ["dot (2), x: expected 0.3, got 0.4"]
    assert expected.compare(a, table("part x", "dot,0.1", "line,0.2")) == ["row gone: dot (2)"]
    assert len(expected.compare(a, table("part x", "dot,0.3", "line,0.2", "dot,0.1"))) == 2


def test_a_number_that_is_equal_within_the_tolerance_is_no_other_key():
    """A column of words and fractions holds values: in a key 0.1 would have to be exact."""
    a = table("what cell", "a,0.1", "a,none")
    assert expected.compare(a, table("what cell", "a,0.10000000001", "a,none")) == []


def test_any_changed_cell_is_a_difference():
    """Whatever the key is: no cell of a table can change unseen."""
    whole = ["1,a,20,9,0.5,undecided,a", "2,a,20,9,0.5,undecided,", "1,a,20,9,0.5,undecided,a"]
    names = "question model level n value verdict why"
    for row, text in enumerate(whole):
        for place in range(len(names.split())):
            cells = text.split(",")
            cells[place] += "5"
            other = table(names, *whole[:row], ",".join(cells), *whole[row + 1 :])
            assert expected.compare(table(names, *whole), other), (row, place)
            assert expected.compare(other, table(names, *whole)), (row, place)
    empty = Table(TABLE.columns, [])
    assert expected.compare(empty, empty) == []
    assert len(expected.compare(TABLE, empty)) == len(expected.compare(empty, TABLE)) == 2


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
    new, changed = expected.compare(a["results"], b["results"])
    assert new.startswith("row new: b / ") and ", n: expected 3, got 4" in changed


@pytest.mark.parametrize("name", expected.RESULT_COLUMNS)
def test_every_field_of_a_result_is_compared(name, tmp_path):
    a = results_of(tmp_path / "a", result())
    b = results_of(tmp_path / "b", result(**{name: "other"}))
    assert expected.compare(a["results"], b["results"])


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
    assert expected.same(text, stored)


def test_what_is_written_reads_as_the_same(tmp_path):
    rows = [{"x": 'a "b", c', "y": "line\nbreak"}, {"x": "", "y": "ü 日本"}]
    rows += [{"x": "0.1234567890123", "y": "'=1"}]
    whole = Table(["x", "y"], rows)
    file = tmp_path / "t.csv"
    file.write_text(expected.to_csv(whole), encoding="utf-8", newline="\n")
    assert expected.compare(whole, expected.read_csv(file)) == []
    file.write_text("x\n\nb\n", encoding="utf-8")
    assert expected.read_csv(file) == table("x", "", "b")


@pytest.mark.parametrize("content", [b"a,b\n1\n", b"a\n\xff\n", b"", b"a,a\n1,2\n"])
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
    reproduce.stale(job, reproduce.shared_inputs())
    written = {"inputs": job.inputs, "outputs": reproduce._outputs(run)}
    (run / reproduce.STAMP).write_text(json.dumps(written))


def test_expect_writes_what_differs_and_says_so(house, capsys):
    run = house / "outputs" / expected.PROFILE / "good"
    assert expected.expect() == 0
    assert capsys.readouterr().out == (
        "good: 3 tables differ\n  old: table new\n  results: table new\n  scores: table new\n"
    )
    assert expected.differences(run.parent, "good") == {}

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
        "  scores: 1 difference",
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
