"""What a variable of `make` holds reaches the program whole, and nothing in it is run.

The Makefile is called in a folder of its own, whose Python is a script that prints its words.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import cli

MAKEFILE = (paths.root() / "Makefile").read_text(encoding="utf-8")
VARIABLES = re.search(r"^VARIABLES := (.+)$", MAKEFILE, re.M)[1].split()
#: By target: the folder whose scripts it runs, those that ARGS names.
SCRIPTS = {"bench": "lib/benchmarks", "simulate": "data/simulated"}
#: Variables whose values make itself reads.
CHECKED = {"PYTHON", "KATAYORI_LANG"}
#: Those that ask or print, without `clean` and what would remove files.
TARGETS = sorted({*re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.M)} - {"help", "clean", *SCRIPTS})
#: Whatever make or a shell might read in a value; `ran` is what would be there afterwards.
ODD = (
    """--fresh'; touch ran; echo '" ; touch ran ; " `touch ran` $(touch ran) $(shell touch ran)"""
    """ $$(shell touch ran) ${shell touch ran} $HOME $$HOME ${ARGS} #%\\ \\' & touch ran & | *  ~"""
    """ 偏り「実験」\ntouch ran\n\n\ttouch ran\n"""
)
STUB = "#!/bin/sh\nprintf '%s\\0' \"$@\"\nprintf '\\1'\n"


@pytest.fixture
def checkout(tmp_path):
    """A checkout in a folder with an odd name, in which python and ruff print their words."""
    folder = tmp_path / 'o\'brien $x "実験" `touch ran`; touch ran'
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copy(paths.root() / "Makefile", folder)
    for name in ("python", "ruff"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o755)
    before = files(folder)
    yield folder
    assert files(folder) == before, "something in a value was run"


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def make(folder: Path, *words: str, **variables: str) -> list[list[str]]:
    """The words of every program that ran, in turn."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in VARIABLES and not name.startswith("MAKE")
    }
    command = ["make", "-s", "--no-print-directory", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return [one.split("\0")[:-1] for one in done.stdout.split("\1")[:-1]]


def test_every_value_reaches_the_program_whole_and_nothing_is_run(checkout):
    given = [f"{name}={ODD}" for name in VARIABLES if name not in CHECKED]
    ran = make(checkout, *TARGETS, *given)
    commands = {words[2]: words[3:] for words in ran if words[:2] == ["-m", "katayori"]}
    names = {
        *("papers", "profile", "models", "prompts", "limit"),
        *("engine", "base-url", "label", "args", "max-tokens"),
    }
    assert {f"--{name}={ODD}" for name in names} | {"--fresh"} == set(commands["estimate"])
    assert {f"--budget={ODD}", f"--max-tokens={ODD}"} <= set(commands["live"])
    assert f"--budget={ODD}" not in commands["record"]
    assert commands["analyse"] == [ODD, f"--args={ODD}"]
    assert f"--runs={ODD}" in commands["compare"] and f"--runs={ODD}" in commands["site"]
    for words in commands.values():
        assert all(word == "--fresh" or word.endswith(ODD) for word in words)


def test_two_runs_are_words_of_their_own(checkout):
    (*_, command) = make(checkout, "compare", f"A={ODD}", "B=b")
    assert command == ["-m", "katayori", "compare", ODD, "b"]


def test_a_value_from_the_environment_is_data_as_well(checkout):
    (*_, command) = make(checkout, "estimate", LABEL=ODD, ARGS=ODD)
    assert command == ["-m", "katayori", "estimate", f"--label={ODD}", f"--args={ODD}"]


@pytest.mark.parametrize("home", ["/nonexistent/home", ""])
def test_what_others_put_into_a_home_that_cannot_be_written_lies_in_the_checkout(
    checkout, home, tmp_path, monkeypatch
):
    """Else uv ends, and matplotlib and Jupyter warn, in a container of another user."""
    places = {
        **{"UV_CACHE_DIR": "uv", "PIP_CACHE_DIR": "pip", "MPLCONFIGDIR": "matplotlib"},
        **{"IPYTHONDIR": "ipython", "JUPYTER_CONFIG_DIR": "jupyter/config"},
        "JUPYTER_DATA_DIR": "jupyter/data",
    }
    for name in places:
        monkeypatch.delenv(name, raising=False)
    told = " ".join(f'"${name}"' for name in places)
    (checkout / ".venv" / "bin" / "python").write_text(
        f"#!/bin/sh\nprintf '%s\\0' {told}\nprintf '\\1'\n"
    )
    expected = [str(checkout / ".cache" / folder) for folder in places.values()]
    assert make(checkout, "setup", HOME=home)[-1] == expected
    assert make(checkout, "setup", HOME=str(tmp_path))[-1] == [""] * len(places)
    own = dict.fromkeys(places, "/mine")
    assert make(checkout, "setup", HOME=home, **own)[-1] == list(own.values())


def test_an_empty_value_is_no_value_and_fresh_zero_is_not_fresh(checkout):
    assert make(checkout, "estimate", "LABEL=", "FRESH=0")[-1] == ["-m", "katayori", "estimate"]
    assert make(checkout, "estimate", "FRESH=1")[-1][3:] == ["--fresh"]


@pytest.mark.parametrize(("target", "folder"), SCRIPTS.items())
def test_scripts_run_one_after_another_and_are_checked_first(checkout, request, target, folder):
    scripts = checkout / folder
    scripts.mkdir(parents=True)
    request.addfinalizer(lambda: shutil.rmtree(checkout / folder.split("/")[0]))
    for name in ("one", "two", "_part"):
        (scripts / f"{name}.py").touch()
    ran = [words for words in make(checkout, target) if words[0] != "-c"]
    assert [words[0].split("\n")[-1] for words in ran[-2:]] == [
        f"{folder}/{n}.py" for n in ("one", "two")
    ]
    for wrong in ("three", "*", "_part", ODD):
        with pytest.raises(
            AssertionError, match=r"katayori: no script .*; there are: one two"
        ) as told:
            make(checkout, target, f"ARGS=one {wrong}")
        assert "== one" not in str(told.value)


def test_pages_tools_are_set_up_where_a_page_is_made(checkout):
    setup = ["-m", "katayori_tools.environment", "setup-site"]
    assert setup in make(checkout, "site") and setup not in make(checkout, "compare", "RUNS=a b")


def test_a_python_of_any_name_serves(checkout):
    name = ODD.replace("/", "")
    shutil.copy(checkout / ".venv" / "bin" / "python", checkout / name)
    assert make(checkout, "setup", f"PYTHON=./{name}")[-1][1:] == [
        "katayori_tools.environment",
        "setup",
    ]
    (checkout / name).unlink()
    with pytest.raises(AssertionError, match="missing or older than Python 3"):
        make(checkout, "setup", f"PYTHON=./{name}")


def test_the_program_splits_args_as_a_shell_does_and_expands_nothing():
    given = """--lecturer 'Anna O"Neil' --date "1 April" $(touch ran) $HOME * \\' ; 実験"""
    assert cli._words(["slides", f"--args={given}", "--papers=--args=a b"]) == [
        *("slides", "--lecturer", 'Anna O"Neil', "--date", "1 April"),
        *("$(touch", "ran)", "$HOME", "*", "'", ";", "実験", "--papers=--args=a b"),
    ]
    with pytest.raises(KatayoriError, match="No closing quotation"):
        cli._words(["slides", "--args=--lecturer Anna's"])
