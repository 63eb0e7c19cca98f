"""The command line is made of signatures: what a command takes, refuses and tells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from katayori.errors import KatayoriError
from katayori_tools import cli
from katayori_tools.choices import Asking, Clusters, Positive, filled


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large.

    Attributes:
        width: in points: 5 % or more. height: the other one. n_rows: rows.
        limit: clusters.
    """

    width: float = 1.5
    height: int | None = None
    n_rows: Positive = 3
    limit: Clusters | None = None


def command(
    step: Literal["make", "mend"],
    names: Sequence[str] = (),
    *,
    size: Size,
    column: Annotated[Sequence[str], "-c"] = (),
    read: Sequence[str] = (),
    fast: bool = False,
    checks: bool = True,
) -> None:
    """Does something.

    Args:
        step: what to do. names: of things. size: of each. column: a column. read: files.
        fast: in a hurry. checks: without the checks.
    """
    seen.append((step, names, size, column, read, fast, checks))


seen: list[tuple] = []


@pytest.fixture(autouse=True)
def one(monkeypatch):
    monkeypatch.setattr(cli, "_function", lambda name: command)
    seen.clear()


def test_options_reach_the_function_as_its_types():
    words = "answers mend a b --width 2 --n-rows 7 --limit 4 -c x=y --column z=w --read p q --fast"
    assert cli.main([*words.split(), "--no-checks"]) == 0
    size = Size(width=2.0, n_rows=7, limit=4)
    given = ("mend", ["a", "b"], size, ["x=y", "z=w"], ["p", "q"], True, False)
    assert seen == [given]


def test_what_is_not_given_is_the_functions_own_default():
    assert cli.main(["answers", "make"]) == 0
    assert seen == [("make", [], Size(), (), (), False, True)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("answers", "arguments are required: step"),
        ("answers build", "invalid choice: 'build'"),
        (
            "answers make --widht 2",
            "answers does not take --widht 2; what it takes: python -m katayori answers",
        ),
        ("answers make --width wide", "argument --width: invalid float value: 'wide'"),
        ("answers make --n-rows 0", "'0' is no whole number above 0"),
        ("answers make --limit 0", "'0' is no whole number of clusters"),
        ("answer", "invalid choice: 'answer'"),
        ("", "arguments are required: command"),
    ],
)
def test_wrong_words_are_one_line_and_nothing_runs(capsys, words, says):
    assert cli.main(words.split()) == 2
    told = capsys.readouterr().err
    assert says in told and "--help" in told and len(told.splitlines()) == 1 and not seen


def test_help_comes_from_the_docstring(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["answers", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert end.value.code == 0
    assert "in points: 5 % or more (default: 1.5)" in told and "a column" in told


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_is_there_and_says_what_each_option_does(name, monkeypatch):
    monkeypatch.undo()
    parser = cli.Parser()
    cli._add_options(parser, cli._function(name))
    assert [action.dest for action in parser._actions if not action.help] == []


def test_own_items_are_known_by_name_and_paths_of_theirs_are_whole(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    args = cli.parsed(["live", "--papers", "5 02", "--topics", "mine", "--preset", "balanced"])
    chosen = filled(Asking, vars(args))
    assert chosen.own == {"topics": str(tmp_path / "mine"), "preset": "balanced"}
    assert chosen.papers == "persona_jbbq,inter_jbbq"
    with pytest.raises(KatayoriError, match="unknown paper '07'"):
        cli.parsed(["live", "--papers", "07"])
