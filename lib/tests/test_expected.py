"""Every table of the default run is the expected one, and the comparison sees what differs."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import compare, notebooks, reproduce
from katayori_tools.choices import NotebookRun

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
        compare.require_default_run([paper])
        folder = OUTPUTS / compare.PROFILE / paper
        assert not (folder / "tables" / "results.csv").exists(), "that name is results.json's"
        got = compare.read_run(folder)
        found = compare.differences(compare.read_expected(paper), got)
    except KatayoriError as error:
        pytest.fail(str(error), pytrace=False)
    lines = [f"{name}: {line}" for name, told in found.items() for line in told][:MOST_LINES]
    lines.append(f"{len(found)} tables differ; if they are right: make expect PAPERS={paper}")
    assert not found, "\n".join(lines)


def test_each_notebook_has_expected_tables_small_enough_to_review():
    folder = paths.data_dir() / compare.FOLDER
    assert {path.name for path in folder.iterdir()} == set(notebooks.registry())
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < MOST_BYTES


# -- comparing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("text", "Text", False),
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
        ("inf", "1e300", False),
        ("0.5 to 0.7", "0.5 to 0.70000000001", False),
    ],
)
def test_cells(a, b, same):
    assert compare.same(a, b) is same and compare.same(b, a) is same and compare.same(a, a)


def table(columns: str, *rows: str) -> pd.DataFrame:
    return pd.DataFrame([row.split(",") for row in rows], columns=columns.split(), dtype=object)


ROWS = ("a,1,0.5", "b,2,0.25")
TABLE = table("model n value", *ROWS)


@pytest.mark.parametrize(
    ("got", "differences"),
    [
        (table("model n value", "a,1,0.50000000001", "b,2,0.25"), []),
        (table("model n value", "a,1,0.5", "b,2,0.2525"), ["b, value: expected 0.25, got 0.2525"]),
        (table("model n value", "a,1,0.5", "b,2,"), ["b, value: expected 0.25, got nothing"]),
        (table("model n value", "a,1,0.5", "b,3,0.25"), ["b, n: expected 2, got 3"]),
        (table("model n value", "a,1,0.5"), ["row gone: b"]),
        (table("model n value", "a,1,0.5", "new,1,0.1", "b,2,0.25"), ["row new: new"]),
        (table("model p n value", "a,,1,0.5", "b,,2,0.25"), ["column new: p"]),
        (table("model value n", "a,0.5,1", "b,0.25,2"), ["columns in another order"]),
        (table("model n value", "b,2,0.25", "a,1,0.5"), ["rows in another order"]),
        (
            table("model value", "b,0.75", "c,1.5", "a,0.5"),
            [
                *("column gone: n", "row new: c", "rows in another order"),
                "b, value: expected 0.25, got 0.75",
            ],
        ),
    ],
)
def test_each_kind_of_difference_is_one_line(got, differences):
    assert compare.differing(TABLE, got) == differences


@pytest.mark.parametrize(
    ("columns", "was", "now", "differences"),
    [
        # A verdict is a value of its row.
        ("model level verdict", ["a,20,present", "a,age,absent"], ["a,20,present", "a,age,present"],
         ["a / age, verdict: expected absent, got present"]),
        # Rows of one key are compared in their order.
        ("part x", ["dot,0.1", "line,0.2", "dot,0.3"], ["dot,0.1", "line,0.2", "dot,0.4"],
         ["dot (2), x: expected 0.3, got 0.4"]),
        ("part x", ["dot,0.1", "line,0.2", "dot,0.3"], ["dot,0.1", "line,0.2"],
         ["row gone: dot (2)"]),
        # A column of words and fractions holds values: in a key 0.1 would have to be exact.
        ("what cell", ["a,0.1", "a,none"], ["a,0.10000000001", "a,none"], []),
    ],
)  # fmt: skip
def test_rows_are_found_by_their_words(columns, was, now, differences):
    assert compare.differing(table(columns, *was), table(columns, *now)) == differences


def test_any_changed_cell_is_a_difference():
    """Whatever the key is: no cell of a table can change unseen."""
    whole = ["1,a,20,9,0.5,undecided,a", "2,a,20,9,0.5,undecided,", "1,a,20,9,0.5,undecided,a"]
    names = "question model level n value verdict why"
    for row, text in enumerate(whole):
        for place in range(len(names.split())):
            cells = text.split(",")
            cells[place] += "5"
            other = table(names, *whole[:row], ",".join(cells), *whole[row + 1 :])
            assert compare.differing(table(names, *whole), other), (row, place)
            assert compare.differing(other, table(names, *whole)), (row, place)
    empty = table("model n value")
    assert compare.differing(empty, empty) == []
    assert len(compare.differing(TABLE, empty)) == len(compare.differing(empty, TABLE)) == 2


def result(**changed) -> dict:
    fields = dict.fromkeys(compare.RESULT_COLUMNS)
    return fields | {"what": "accuracy", "cell": {"topic": "x"}, "value": 0.5, "n": 3} | changed


def run_folder(folder: Path, results: list[dict], tables: dict[str, str]) -> Path:
    (folder / "tables").mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    for name, text in tables.items():
        (folder / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def test_every_field_of_a_result_is_compared_and_a_new_one_shifts_none(tmp_path):
    def read(name: str, *results: dict) -> pd.DataFrame:
        return compare.read_run(run_folder(tmp_path / name, list(results), {}))["results"]

    was = read("was", result())
    for name in compare.RESULT_COLUMNS:
        assert compare.differing(was, read(name, result(**{name: "other"}))), name
    a = read("a", result(what="a"), result(what="c"))
    b = read("b", result(what="a"), result(what="b"), result(what="c", n=4))
    new, changed = compare.differing(a, b)
    assert new.startswith("row new: b / ") and ", n: expected 3, got 4" in changed


# -- reading and writing ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("0.33333333333333331", "0.3333333333"),
        ("0.5", "0.5"),
        ("12345678901234", "12345678901234"),
        ("1234567890123.4", "1.23456789e+12"),
        ("1.9999999999999998", "2"),
        ("text", "text"),
        ("", ""),
        ("inf", "inf"),
    ],
)
def test_numbers_are_stored_with_ten_digits(text, stored):
    assert compare.rounded(text) == stored
    assert compare.same(text, stored)


def test_what_is_read_is_text_and_an_empty_line_a_cell(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('x,y\n"a ""b"", c","line\nbreak"\n,ü 日本\nNA,\'=1\n', encoding="utf-8")
    assert compare.read_csv(file).values.tolist() == [
        *(['a "b", c', "line\nbreak"], ["", "ü 日本"], ["NA", "'=1"])
    ]
    file.write_text("x\n\nb\n", encoding="utf-8")
    assert compare.read_csv(file)["x"].tolist() == ["", "b"]


def test_a_missing_run_gets_one_line(tmp_path):
    with pytest.raises(KatayoriError, match="run `make reproduce`"):
        compare.read_run(tmp_path)


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
    run = root / "outputs" / compare.PROFILE / "good"
    run_folder(run, [result()], {"scores": "model,value\na,0.5\nb,1.0\n", "old": "x\n1\n"})
    stamp(run)
    return root


def stamp(run: Path) -> None:
    (job,) = reproduce.planned(NotebookRun(papers="good"))
    reproduce.stale(job, reproduce.shared_inputs())
    written = {"inputs": job.inputs, "outputs": reproduce._outputs(run)}
    (run / reproduce.STAMP).write_text(json.dumps(written))


def test_expect_writes_what_differs_and_says_so(house, capsys):
    run = house / "outputs" / compare.PROFILE / "good"
    compare.expect()
    assert capsys.readouterr().out.split("\n    table new\n  ") == [
        *("good: 3 tables differ\n  old:", "results:", "scores:\n    table new\n")
    ]
    assert compare.differences(compare.read_expected("good"), compare.read_run(run)) == {}

    files = {path.name: path for path in (house / "data" / "expected" / "good").iterdir()}
    assert set(files) == {"scores.csv", "old.csv", "results.csv"}
    results = files["results.csv"].read_bytes()
    (run / "tables" / "old.csv").unlink()
    (run / "tables" / "scores.csv").write_text("model,value\na,0.505\nb,1.0\n")
    (run / "results.json").write_text(json.dumps([result(value=0.5000000001)]))
    stamp(run)
    compare.expect()
    assert capsys.readouterr().out.splitlines() == [
        *("good: 2 tables differ", "  old:", "    table gone"),
        *("  scores:", "    a, value: expected 0.5, got 0.505"),
    ]
    assert not files["old.csv"].exists()
    assert files["results.csv"].read_bytes() == results  # within the tolerance: not touched


def test_expect_takes_no_other_run_than_the_default_one(house):
    run = house / "outputs" / compare.PROFILE / "good"
    before = reproduce.shared_inputs()
    compare.expect()
    simulated = house / "data" / "simulated"
    (simulated / "__pycache__").mkdir(parents=True)
    for name in ("power.py", "__pycache__/power.cpython-311.pyc"):
        (simulated / name).write_text("")
    # Neither expected tables nor scripts that draw simulations make a run out of date.
    assert reproduce.shared_inputs() == before
    (simulated / "power_factor.csv").write_text("")
    assert reproduce.shared_inputs() != before
    (simulated / "power_factor.csv").unlink()
    shutil.rmtree(house / "data" / "expected")
    (run / "tables" / "scores.csv").write_text("model,value\na,0.9\n")
    with pytest.raises(KatayoriError, match=r"out of date .* run `make reproduce`"):
        compare.expect()
    assert not (house / "data" / "expected").exists()
