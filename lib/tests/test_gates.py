"""The gates on a small invented checkout: what is new fails, what is mended leaves the list."""

import json
import re
from pathlib import Path

import pytest
import yaml

from katayori import paths
from katayori_tools import gates

PYPROJECT = """\
[tool.ruff]
line-length = 100
[tool.ruff.lint]
select = ["F"]
[tool.ruff.lint.mccabe]
max-complexity = 10
[tool.ruff.lint.pylint]
max-args = 7
"""
BRANCHES = "".join(f"    if x == {number}:\n        return {number}\n" for number in range(12))
TANGLED = f"def tangled(x):\n{BRANCHES}    return x\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A checkout with one tangled function, which is on the list."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "lib" / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "lib" / "old.py").write_text(TANGLED)
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))
    monkeypatch.setattr(gates, "mypy_findings", lambda: {})
    assert run(update=True) == 0
    return tmp_path


def run(update: bool = False) -> int:
    return gates.gates(update=update)


def notebook(source: str) -> str:
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}}
    cells = [cell | {"outputs": [], "source": source}]
    about = {"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": cells} | about)


@pytest.mark.parametrize("name", ["09_new.ipynb", "solutions/09_new.py"])
def test_a_notebook_or_solution_that_is_not_formatted_fails_until_it_is(tree, capsys, name):
    def write(source: str) -> None:
        file.parent.mkdir(exist_ok=True)
        file.write_text(notebook(source) if file.suffix == ".ipynb" else source + "\n")

    file = tree / "notebooks" / name
    write(f"x = [1,2]  # {'long ' * 15}")  # 88 columns would be too few for it
    assert run() == 1
    assert f"format notebooks/{name}: 1, the list allows 0" in capsys.readouterr().err
    write(f"x = [1, 2]  # {'long ' * 15}".rstrip())
    assert run() == 0


def test_an_older_notebook_on_the_list_has_to_leave_it_once_it_is_formatted(tree, capsys):
    file = tree / "notebooks" / "02_old.ipynb"
    file.write_text(notebook("x = [1,2]"))
    listed = yaml.safe_load(gates.offenders_file().read_text())
    gates.offenders_file().write_text(
        yaml.safe_dump(listed | {"format": {"notebooks/02_old.ipynb": 1}})
    )
    assert run() == 0
    file.write_text(notebook("x = [1, 2]"))
    assert run() == 1
    assert "format notebooks/02_old.ipynb: 0, the list says 1" in capsys.readouterr().err
    assert run(update=True) == 0 and "format" not in gates.offenders_file().read_text()


def test_the_list_of_a_tree_names_the_function_and_its_measure(tree):
    assert yaml.safe_load(gates.offenders_file().read_text()) == {
        "C901": {"lib/old.py:tangled": 13}
    }
    assert run() == 0


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("new.py", TANGLED, "C901 lib/new.py:tangled: 13, the list allows 0"),
        ("old.py", TANGLED + "    if x:\n        return 0\n", "C901 lib/old.py:tangled: 14, "),
        ("new.py", "def f(a, b, c, d, e, f, g, h): ...\n", "PLR0913 lib/new.py:f: 8, "),
        ("new.py", f"X = '{'x' * 100}'\n" * 2, "E501 lib/new.py: 2, the list allows 0"),
        ("new.py", "import os\n", "F401 lib/new.py: 1, the list allows 0"),
        ("new.py", "def (\n", "lib/new.py: "),
    ],
)
def test_a_new_offender_fails_with_one_line_and_is_never_listed(tree, capsys, file, text, line):
    (tree / "lib" / file).write_text(text)
    before = gates.offenders_file().read_text()
    assert run() == 1
    assert line in capsys.readouterr().err
    assert run(update=True) == 1
    told = capsys.readouterr().err
    assert line in told and "nothing written" in told
    assert gates.offenders_file().read_text() == before


def test_a_mended_offender_fails_until_it_is_off_the_list(tree, capsys):
    (tree / "lib" / "old.py").write_text("")
    assert run() == 1
    told = capsys.readouterr().err
    assert "C901 lib/old.py:tangled: 0, the list says 13; take it off the list" in told
    assert run(update=True) == 0
    assert yaml.safe_load(gates.offenders_file().read_text()) == {}
    assert run() == 0


def test_a_function_in_a_notebook_is_found(tree, capsys):
    cell = '{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, %s}'
    source = '"source": ["def many(a, b, c, d, e, f, g, h):\\n", "    pass"]'
    tail = '"metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    book = f'{{"cells": [{cell % source}], {tail}'
    (tree / "notebooks" / "n.ipynb").write_text(book)
    assert run() == 1
    assert "PLR0913 notebooks/n.ipynb:many: 8, " in capsys.readouterr().err


def test_mypys_errors_are_counted_by_file(tree, monkeypatch, capsys):
    printed = (
        "lib/a.py:1: error: one  [misc]\n"
        "lib/a.py:2: note: no error\n"
        "lib/a.py:9: error: two  [misc]\n"
        "lib/b.py:3: error: three  [misc]\n"
        "Found 3 errors in 2 files (checked 5 source files)\n"
    )
    assert gates.count_mypy(printed) == {"mypy": {"lib/a.py": 2, "lib/b.py": 1}}
    assert gates.count_mypy("Success: no issues found in 5 source files\n") == {}
    monkeypatch.setattr(gates, "mypy_findings", lambda: gates.count_mypy(printed))
    monkeypatch.setattr(gates, "MYPY_PYTHON", gates.sys.version_info[:2])
    assert run() == 1
    assert "mypy lib/a.py: 2, the list allows 0" in capsys.readouterr().err


def test_another_python_keeps_what_the_list_says_of_mypy(tree, monkeypatch, capsys):
    gates.offenders_file().write_text("C901: {lib/old.py:tangled: 13}\nmypy: {lib/a.py: 2}\n")
    monkeypatch.setattr(gates, "MYPY_PYTHON", (2, 7))
    monkeypatch.setattr(gates, "mypy_findings", lambda: pytest.fail("mypy must not run"))
    assert run() == 0 and "Python 2.7 only" in capsys.readouterr().err
    (tree / "lib" / "old.py").write_text("")
    assert run(update=True) == 0
    assert yaml.safe_load(gates.offenders_file().read_text()) == {"mypy": {"lib/a.py": 2}}


def test_a_tool_that_cannot_run_is_named(tree):
    (tree / "lib" / "pyproject.toml").write_text("[tool.ruff]\nline-length = 'x'\n")
    with pytest.raises(gates.KatayoriError, match="ruff did not run"):
        run()


def noqas() -> list[tuple[Path, str]]:
    """Every line of the library and the notebooks on which a rule of ruff is switched off."""
    mark = "no" + "qa"  # apart, so that this file is not in its own list
    found = []
    for folder in ("lib", "notebooks"):
        for file in sorted((paths.root() / folder).rglob("*")):
            if file.suffix in (".py", ".ipynb") and "build" not in file.parts:
                lines = file.read_text(encoding="utf-8").splitlines()
                found += [(file, line) for line in lines if re.search(rf"#\s*{mark}", line, re.I)]
    return found


def test_a_rule_is_switched_off_ten_times_at_most_each_with_its_reason():
    found = noqas()
    assert len(found) <= 10, found
    without = [line for _, line in found if not re.search(r": [A-Z]+\d+\s+\(.{5,}\)", line)]
    assert not without, without


def test_the_committed_list_names_files_that_are_there():
    for rule, places in gates.listed().items():
        for place, count in places.items():
            assert (paths.root() / place.split(":")[0]).is_file(), (rule, place)
            assert count > 0, (rule, place)
