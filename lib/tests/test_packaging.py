"""`pip install ./lib`: what travels inside, what it needs, and what it says without its data."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from katayori import paths
from katayori.errors import KatayoriError
from katayori.prompting import models
from katayori.prompting.prompts import load_prompts
from katayori_tools import cli, doctor, environment

LIB = paths.root() / "lib"
PYPROJECT = tomllib.loads((LIB / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
#: What metrics, data and prompts must do without.
HEAVY = (
    "IPython",
    "aiohttp",
    "ipywidgets",
    "jupyterlab",
    "matplotlib",
    "openai",
    "papermill",
    "pingouin",
    "seaborn",
    "xllamacpp",
)
WITHOUT_HEAVY = f"""
import importlib, pkgutil, sys
for name in {HEAVY}:
    sys.modules[name] = None  # its import fails
import katayori.data, katayori.metrics, katayori.prompting
import katayori_tools.cli
for room in (katayori.data, katayori.metrics, katayori.prompting):
    for module in pkgutil.iter_modules(room.__path__, room.__name__ + "."):
        importlib.import_module(module.name)
"""


# -- what the metadata say -------------------------------------------------------------------------


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[]", one)[0] for one in requirements}


def test_the_core_is_light_and_the_rest_are_extras():
    core = {"pandas", "scipy", "statsmodels", "krippendorff", "orjson", "pyyaml", "pydantic"}
    assert names(PYPROJECT["project"]["dependencies"]) == core
    assert list(EXTRAS) == ["tools", "pages", "engines", "all", "test"]
    assert EXTRAS["all"] == ["katayori[tools,pages,engines]"]
    heavy = {name for name in HEAVY if name != "IPython"}  # it comes with jupyterlab
    assert heavy <= names(EXTRAS["tools"] + EXTRAS["pages"] + EXTRAS["engines"])


@pytest.mark.slow
def test_data_prompting_metrics_and_the_command_line_need_no_extra():
    done = subprocess.run([sys.executable, "-c", WITHOUT_HEAVY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- what travels inside ---------------------------------------------------------------------------


def is_shipped(package: str, name: str) -> bool:
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"].get(package, [])
    return any(
        fnmatch(name, pattern) and name.count("/") == pattern.count("/") for pattern in patterns
    )


def files_below(folder: Path) -> list[str]:
    return [
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]


@pytest.mark.parametrize("package", ["katayori", "katayori_tools"])
def test_every_template_and_style_is_shipped(package):
    beside_code = [name for name in files_below(LIB / package) if not name.endswith(".py")]
    assert not [name for name in beside_code if not is_shipped(package, name)]


def test_registries_and_prompts_are_shipped_and_no_data():
    shipped = [
        name for name in files_below(paths.data_dir()) if is_shipped("katayori.shipped", name)
    ]
    folders = {name.split("/")[0] for name in shipped if "/" in name}
    assert folders == {"papers", "prompts", "errata", "locale"}
    registries = {name for name in shipped if "/" not in name}
    assert {"models.yaml", "profiles.yaml", "glossary.yaml"} <= registries
    prompts = {f"prompts/{file}" for file in files_below(paths.data_dir() / "prompts")}
    assert prompts <= set(shipped)


# -- with and without a checkout -------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The library as it lies when installed: `shipped` beside its modules, no checkout around."""
    package = tmp_path / "site-packages" / "katayori"
    (package / "shipped").mkdir(parents=True)
    shutil.copy(paths.data_dir() / "models.yaml", package / "shipped")
    for folder in ("papers", "prompts"):
        (package / "shipped" / folder).symlink_to(paths.data_dir() / folder)
    monkeypatch.delenv("KATAYORI_ROOT", raising=False)
    monkeypatch.delenv("KATAYORI_OUTPUTS", raising=False)
    monkeypatch.setattr(paths, "__file__", str(package / "paths.py"))
    models.registry.cache_clear()
    yield package
    models.registry.cache_clear()


def test_an_installed_library_reads_what_was_shipped(installed):
    assert paths.checkout() is None
    assert paths.registry("models.yaml") == installed / "shipped" / "models.yaml"
    assert models.registry()[1]
    assert load_prompts("discrim_eval")


@pytest.mark.parametrize(
    "ask",
    [paths.root, paths.data_dir, paths.outputs_dir, lambda: paths.registry("published/x.yaml")],
)
def test_data_without_a_checkout_are_one_line(installed, ask):
    with pytest.raises(KatayoriError, match="set the environment variable KATAYORI_ROOT") as error:
        ask()
    assert "\n" not in str(error.value)


def test_a_missing_package_is_one_line_and_a_fault_of_ours_is_not(monkeypatch, capsys):
    def fails(name: str) -> None:
        def ill():
            raise ModuleNotFoundError(name=name)

        monkeypatch.setattr(doctor, "doctor", ill)

    fails("openai")
    assert cli.main(["doctor"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("katayori: the package openai is missing") and "[all]" in message
    fails("katayori.gone")
    with pytest.raises(ModuleNotFoundError):
        cli.main(["doctor"])


# -- the real thing --------------------------------------------------------------------------------

TINY = """
import importlib, json, pkgutil, pandas as pd
import katayori.metrics
for module in pkgutil.iter_modules(katayori.metrics.__path__, "katayori.metrics."):
    importlib.import_module(module.name)
from katayori.metrics.agreement import alpha
from katayori.prompting.prompts import load_prompts
from katayori.provenance import CARD
row = alpha(pd.DataFrame({"young": [1.0, 0.0, 1.0], "old": [1.0, 0.0, 0.0]})).iloc[0]
hashes = {name: prompt.hash for name, prompt in load_prompts("jubaku_v2").items()}
print(json.dumps([round(row["value"], 6), row["status"], hashes]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A fresh virtual environment after `pip install ./lib`, at the locked versions."""
    place = tmp_path_factory.mktemp("packaging")
    no_caches = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", "tests")
    shutil.copytree(LIB, place / "house" / "lib", ignore=no_caches)
    no_answers = shutil.ignore_patterns("recorded", "expected", "simulated", "study", "published")
    shutil.copytree(paths.data_dir(), place / "house" / "data", ignore=no_answers)
    pins = (f"{name}=={version}" for name, version in environment.locked().items())
    (place / "constraints.txt").write_text("\n".join(pins))
    subprocess.run([sys.executable, "-m", "venv", place / "env"], check=True)
    pip = [place / "env" / "bin" / "python", "-m", "pip", "install", "-q"]
    subprocess.run([*pip, "-c", place / "constraints.txt", place / "house" / "lib"], check=True)
    return place / "env"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess:
    """A command as a user of the installed library has it: no variable leads to a checkout."""
    own = ("KATAYORI_", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True)


@pytest.mark.slow_all
def test_an_empty_environment_gets_library_metrics_prompts_and_command(site, tmp_path):
    import json

    import krippendorff

    done = run(site / "bin" / "python", "-c", TINY, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    alpha, status, hashes = json.loads(done.stdout)
    raters = [[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    expected = krippendorff.alpha(raters, level_of_measurement="interval")
    assert alpha == pytest.approx(expected, abs=1e-6) and status == "few_clusters"
    ours = {name: prompt.hash for name, prompt in load_prompts("jubaku_v2").items()}
    assert hashes == ours

    shown = run(site / "bin" / "katayori", "--help", cwd=tmp_path)
    assert shown.returncode == 0 and "reproduce" in shown.stdout


@pytest.mark.slow_all
def test_the_installed_command_names_the_variable_and_the_extras(site, tmp_path):
    katayori = site / "bin" / "katayori"
    without_data = run(katayori, "review", cwd=tmp_path)
    assert without_data.returncode == 2 and len(without_data.stderr.splitlines()) == 1
    assert "KATAYORI_ROOT" in without_data.stderr
    without_extra = run(katayori, "data", "study_jubaku_v2", cwd=tmp_path)
    assert without_extra.returncode == 2 and len(without_extra.stderr.splitlines()) == 1


@pytest.mark.slow_all
def test_the_installed_files_are_all_and_the_packages_few(site):
    (library,) = (site / "lib").glob("python*/site-packages")
    for package in ("katayori", "katayori_tools"):
        missing = [
            name for name in files_below(LIB / package) if not (library / package / name).exists()
        ]
        assert not missing
    assert (library / "katayori" / "shipped" / "papers" / "discrim_eval.yaml").is_file()
    listed = run(site / "bin" / "python", "-m", "pip", "list", "--format=freeze", cwd=site)
    packages = {line.split("==")[0] for line in listed.stdout.splitlines()}
    assert not packages & set(HEAVY)
    assert len(packages) <= 25, sorted(packages)  # about 20 and the tools of an empty environment
