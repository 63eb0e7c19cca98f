"""Measures of code on files whose measures can be counted by hand."""

import subprocess

import pytest

from katayori_tools import cli, gates, measure_code

SAMPLE = '''"""A module."""

import os  # a comment beside code


def add(one, other):
    """A docstring

    of three lines."""
    # a comment of its own
    return (
        one + other
    )
'''
#: Seven lines of code, of which no two are the same.
SEVEN = "\n".join(f"x{n} = {n}" for n in range(7)) + "\n"


def test_blank_lines_comments_and_docstrings_hold_no_code():
    assert measure_code.code_lines(SAMPLE) == (3, 6, 11, 12, 13)


def test_density_is_nodes_by_lines():
    values = measure_code.density(["x = 1\n", "\n# nothing\ny = 2\n"])
    # A module, an assignment, a name, where it stands, and a value.
    assert values["syntax nodes"] == 10 and values["lines of code"] == 2
    assert values["density"] == 5 and values["density, median function"] == 0
    # Function, its arguments (3), its docstring (2), the return, the sum and its sign (3), and
    # two names, each with what is done to it (4): 13 nodes on 4 lines.
    assert measure_code.density([SAMPLE])["density, median function"] == 13 / 4


def test_repeated_lines_are_runs_of_six():
    assert measure_code.repeated_lines([SEVEN]) == 0
    assert measure_code.repeated_lines([SEVEN, "a = 1\n" + SEVEN]) == 14
    five = "".join(SEVEN.splitlines(keepends=True)[:5])
    assert measure_code.repeated_lines([five, five]) == 0


def test_functions_of_one_shape_differ_in_names_and_values_only(monkeypatch):
    monkeypatch.setattr(measure_code, "SHAPE", 5)
    one, same, other = "def f(x): return x + 1\n", "def g(y): return y + 2\n", "def h(): return 1\n"
    assert measure_code.same_shapes([one, same, other]) == 2
    assert measure_code.same_shapes([one, other]) == 0


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A git checkout of two commits: the second adds an import and a tangled function."""
    for room in ("katayori", "katayori/data", "katayori_tools"):
        (tmp_path / "lib" / room).mkdir(parents=True, exist_ok=True)
        (tmp_path / "lib" / room / "__init__.py").write_text("")
    (tmp_path / "lib" / "katayori" / "data" / "items.py").write_text("ITEMS = 1\n")
    (tmp_path / "lib" / "pyproject.toml").write_text("[tool.mypy]\n")
    monkeypatch.setenv("KATAYORI_ROOT", str(tmp_path))
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]

    def commit(*words: str) -> None:
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True, capture_output=True)

    commit("init")
    commit("add", ".")
    commit("commit", "-m", "one")
    tangled = "".join(f"    if x == {n}:\n        return {n}\n" for n in range(12))
    tools = f"from katayori.data import items\n\n\ndef f(x):\n{tangled}    return items.ITEMS\n"
    (tmp_path / "lib" / "katayori_tools" / "run.py").write_text(tools)
    commit("add", ".")
    commit("commit", "-m", "two")
    return tmp_path


def row(text: str, name: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return line.removeprefix(name).split()


@pytest.mark.parametrize("commits", [["HEAD~1"], ["HEAD~1", "HEAD"]])
def test_two_commits_stand_beside_each_other(house, capsys, commits):
    assert cli.main(["measure-code", "--no-types", *commits]) == 0
    printed = capsys.readouterr().out
    assert row(printed, "files") == ["4", "5"]
    assert row(printed, "functions above 10") == ["0", "1"]
    assert row(printed, "greatest complexity") == ["0", "13"]
    assert row(printed, "katayori_tools -> katayori/data") == ["0", "1"]
    assert "pingouin" in printed and "mypy" not in printed


def test_without_a_commit_only_this_checkout_is_measured(house, capsys, monkeypatch):
    monkeypatch.setattr(gates, "count_mypy", lambda printed: {"mypy": {"a": 2, "b": 1}})
    assert cli.main(["measure-code"]) == 0
    assert row(capsys.readouterr().out, "mypy errors") == ["3"]


@pytest.mark.parametrize(
    ("commits", "problem"), [(["nowhere"], "no code of the commit 'nowhere'"), ("abc", "two at")]
)
def test_what_is_no_commit_is_one_line(house, capsys, commits, problem):
    assert cli.main(["measure-code", "--no-types", *commits]) == 2
    assert problem in capsys.readouterr().err


def test_rooms_that_import_each_other_are_named():
    edges = {"a -> b": 1, "b -> a": 2, "a -> c": 3}
    assert measure_code.both_ways(edges) == ["a -> b", "b -> a"]
