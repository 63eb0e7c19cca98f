"""The environment has one truth, the lock; everything else must say the same."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import environment

#: The design card's packages, in its order.
CARD = [
    "jupyterlab",
    "papermill",
    "pandas",
    "seaborn",
    "scipy",
    "statsmodels",
    "pingouin",
    "krippendorff",
    "openai",
    "ipywidgets",
    "nbval",
]


PYPROJECT = tomllib.loads((paths.root() / "lib" / "pyproject.toml").read_text())
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]


def asked_in(*lists: list[str]) -> set[str]:
    """The names in lists of requirements, but for the library's own."""
    names = {re.split(r"[\s<>=!~;\[]", one, maxsplit=1)[0].lower() for one in chain(*lists)}
    return {name.replace("_", "-") for name in names} - {"katayori"}


#: What the first lock is asked for.
FIRST = asked_in(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()) | set(CARD)


@pytest.fixture(scope="module")
def conda() -> list:
    return yaml.safe_load((paths.root() / "environment.yml").read_text())["dependencies"]


def test_environment_file_has_the_versions_of_the_lock():
    assert (paths.root() / "environment.yml").read_text() == environment.conda_yaml(), (
        "run make lock"
    )


def test_conda_part_names_the_card_with_locked_versions(conda):
    pins = environment.locked("3.11")
    named = dict(one.split("=") for one in conda if isinstance(one, str) and "=" in one)
    assert named == {"python": "3.11"} | {name: pins[name] for name in CARD}


def test_pip_part_holds_the_other_direct_dependencies_with_locked_versions(conda):
    pins = environment.locked("3.11")
    (pip,) = [one["pip"] for one in conda if isinstance(one, dict)]
    named = dict(one.split("==") for one in pip if "==" in one)
    assert named == {name: pins[name] for name in FIRST if name not in CARD}


@pytest.mark.parametrize("name", ["", "site", "export", "harness"])
def test_every_lock_holds_what_is_asked_for_with_hashes_and_no_address(name):
    text = environment.lock_file(name).read_text()
    pins, hashes = environment.PIN.findall(text), text.count("--hash=sha256:")
    asked = FIRST if not name else asked_in(GROUPS[name])
    assert asked <= {one for one, _, _ in pins}
    assert len(pins) <= hashes
    assert "://" not in text, "no registry address in the lock"


def test_what_is_installed_on_first_use_does_not_grow_the_first_lock():
    later = {"rocrate", "mlcroissant", "roc-validator", "sphinx", "inspect-ai", "lm-eval"}
    assert not later & set(environment.locked())
    library = asked_in(PROJECT["dependencies"])
    assert library <= set(environment.locked(name="harness")), "the library runs inside"


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_holds_every_dependency_on_each_python(python):
    assert set(environment.locked(python)) >= FIRST


def _checkout(folder: Path, monkeypatch) -> Path:
    (folder / "lib").mkdir()
    (folder / "lib" / "requirements.lock").write_text("")
    (folder / "lib" / "pyproject.toml").write_text("")
    monkeypatch.setenv("KATAYORI_ROOT", str(folder))
    return folder


def test_setup_installs_once_and_again_when_the_lock_changes(tmp_path, monkeypatch, capsys):
    root, calls = _checkout(tmp_path, monkeypatch), []
    site = (
        root
        / ".venv"
        / "lib"
        / f"python{sys.version_info.major}.{sys.version_info.minor}"
        / "site-packages"
    )

    def run(*command, what):
        calls.append(what)
        site.mkdir(parents=True, exist_ok=True)
        (root / ".venv" / "bin").mkdir(exist_ok=True)
        (root / ".venv" / "bin" / "python").touch()

    monkeypatch.setattr(environment, "_run", run)
    monkeypatch.setattr(environment, "find_uv", lambda **_: "uv")
    environment.setup()
    assert calls == ["making .venv", "installing"]
    assert (site / (site / "katayori.pth").read_text().strip()).resolve() == root / "lib"
    environment.setup()
    assert len(calls) == 2
    (root / "lib" / "requirements.lock").write_text("# changed")
    environment.setup()
    assert calls[2:] == ["installing"]
    assert "ready" in capsys.readouterr().err


def test_setup_that_fails_is_tried_again(tmp_path, monkeypatch):
    root = _checkout(tmp_path, monkeypatch)
    monkeypatch.setattr(environment, "find_uv", lambda **_: "false")
    with pytest.raises(KatayoriError, match="registry"):
        environment.setup()
    assert not (root / ".venv" / "katayori.stamp").exists()


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_pages_have_a_lock_that_adds_and_changes_nothing(python):
    """`make reproduce` and `make test` do without it; what both locks hold has one version."""
    first, pages = environment.locked(python), environment.locked(python, "site")
    assert {"sphinx", "myst-nb", "pydata-sphinx-theme"} <= pages.keys() - first.keys()
    assert not {name for name in pages.keys() & first if pages[name] != first[name]}


def test_the_pages_tools_are_added_once_and_again_when_a_lock_changes(tmp_path, monkeypatch):
    root = _checkout(tmp_path, monkeypatch)
    lock = root / "lib" / "requirements-site.lock"
    lock.write_text("")
    (root / ".venv").mkdir()
    installed = []
    monkeypatch.setattr(environment, "find_uv", lambda **_: "uv")
    monkeypatch.setattr(environment, "_run", lambda *command, what: installed.append(command[-1]))
    environment.setup_site()
    environment.setup_site()
    assert installed == [lock]
    for name in ("requirements-site.lock", "requirements.lock"):
        (root / "lib" / name).write_text("# changed")
        environment.setup_site()
    assert installed == [lock] * 3


def test_an_environment_of_its_own_is_made_once_and_a_failure_is_tried_again(
    tmp_path, monkeypatch, capsys
):
    root = _checkout(tmp_path, monkeypatch)
    monkeypatch.setenv("KATAYORI_CACHE", str(tmp_path / "cache"))
    lock = root / "lib" / "requirements-export.lock"
    lock.write_text("")
    monkeypatch.setattr(environment, "find_uv", lambda **_: "false")
    with pytest.raises(KatayoriError, match=r"export \(do without\).* package registry reachable"):
        environment.apart("export", "do without")
    calls = []
    monkeypatch.setattr(environment, "_run", lambda *command, what: calls.append(command[-1]))
    place = environment.apart("export", "")
    assert environment.apart("export", "") == place and place.name == "bin"
    assert calls == [place.parent, lock]
    lock.write_text("# changed")
    assert environment.apart("export", "") != place and len(calls) == 4
    assert capsys.readouterr().err.count("making the environment of export") == 3


def make(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["make", "--no-print-directory", *words], cwd=paths.root(), capture_output=True, text=True
    )


def test_plain_make_prints_the_targets():
    out = make().stdout
    makefile = (paths.root() / "Makefile").read_text()
    targets = re.findall(r"^([a-z][a-z-]*):", makefile, re.M)
    assert {"setup", "reproduce", "check", "test", "live", "estimate", "compare"} <= set(targets)
    for target in targets:
        assert f"make {target} " in out


def test_mistyped_make_variable_is_named():
    done = make("reproduce", "PAPER=discrim_eval")
    assert done.returncode == 2
    assert "PAPERS" in done.stderr and len(done.stderr.splitlines()) == 1


def test_old_or_missing_python_gets_a_clear_line():
    done = make("setup", "PYTHON=no-such-python")
    assert done.returncode == 2
    assert "3.11" in done.stderr.splitlines()[0]


def steps(target: str) -> list[str]:
    """The commands of a target, joined to one line each, without those of `setup`."""
    done = make("-n", target)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if ".venv/bin/" in line]


@pytest.mark.parametrize(("target", "without"), [("test", "-m 'not slow_all'"), ("test-all", "")])
def test_test_reproduces_first_passes_the_gates_once_and_ends_with_pytest(target, without):
    commands = steps(target)
    places = [
        [place for place, line in enumerate(commands) if part in line]
        for part in ("katayori reproduce", "ruff check", "-m pytest")
    ]
    assert [len(place) for place in places] == [1, 1, 1]
    assert places[0] < places[2] and places[1] < places[2] == [len(commands) - 1]
    tests = commands[-1]
    assert re.search(r" -n [2-9]", tests)
    assert "--nbval " in tests and "--dist loadfile" in tests and "not slow'" not in tests
    assert without in tests and ("-m 'not" in tests) == bool(without)
    books = sorted((paths.root() / "notebooks").glob("*.ipynb"))
    assert books and all(f"notebooks/{book.name}" in tests for book in books)


def test_the_continuous_run_is_make_test():
    assert (paths.root() / ".ci" / "run").read_text().splitlines()[-1] == "make test"
