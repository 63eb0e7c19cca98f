"""`make mutants`: do the tests notice small changes of the code they guard?

A mutation tool (mutmut) changes one operator, number or name at a time in the copied code of
`metrics`, `prompting` and the papers' scores, and runs the tests that reach the changed function. A
mutant that no test notices survives: either the tests lack something, or the change makes no
difference that anybody could see. Survivors of a committed sample are judged one by one in
`lib/mutants.yaml`.

All mutants would take a day, so that a sample with a seed is drawn, as many of each module as its
share of all mutants. The tool stands in an environment of its own below `outputs/mutants`, which
sees the packages of `.venv`; it is no part of the lock.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from katayori import paths
from katayori.data.files import read_as
from katayori.data.schema import Schema, Text
from katayori.errors import KatayoriError

TOOL = "mutmut==3.8.1"
#: The rooms whose code is changed, what is left out of them, and the tests that guard the rest.
#: Items and claims have tests of another kind: frozen files, and verdicts on planted answers.
ROOMS = ("metrics", "prompting", "papers")
LEFT_OUT = ("claims*", "examples", "items", "schema", "second")
GUARDS = (
    "test_metrics_*.py",
    "test_papers_*.py",
    "test_prompting_*.py",
    "test_answers.py",
    "test_boundaries*.py",
    "test_calibration.py",
    "test_data_*.py",
    "test_*_items.py",
    "test_distributions.py",
    "test_docstrings.py",
    "test_construct.py",
    "test_few_labels.py",
    "test_inter_balanced.py",
    "test_inter_planted.py",
    "test_items.py",
    "test_judge_tests.py",
    "test_jubaku_words.py",
    "test_letter_prior.py",
    "test_level_gaps.py",
    "test_likelihood.py",
    "test_mere_words.py",
    "test_models_*.py",
    "test_pandalm.py",
    "test_readings.py",
    "test_report_claims_*.py",
    "test_report_persona_findings.py",
    "test_source.py",
    "test_stated_bands.py",
    "test_verdict_forms.py",
    "test_second_*.py",
    "test_word_sets.py",
    "test_words.py",
)
#: What the tool's exit codes of a mutant mean (its module `stats`); any other is a time-out.
MEANS = {0: "survived", 1: "killed", 3: "killed", 5: "no test", 33: "no test"}
#: Mutants are drawn after a first, short run that finds out which tests reach which function.
FIRST = "katayori.metrics.uncertainty.x_sign_test*"
#: Left out by their names (-k) are tests that start processes of their own, which lack the switch
#: of the tool, and those that compare the hash of the code, which the tool changes.
SETTINGS = """\
[mutmut]
source_paths=src
only_mutate=
{changed}
also_copy=
    pytest.ini
pytest_add_cli_args=
    -c
    pytest.ini
    -m
    not slow_all
    -k
    not processes and not what_is_stored and not shows_an_example and not holds_its_example
pytest_add_cli_args_test_selection=
{guards}
use_git_change_detection=false
"""
PYTEST = "[pytest]\naddopts = -p no:cacheprovider -p no:xdist --strict-markers\n"


def workplace() -> Path:
    """Where the copies lie; thrown away before each run."""
    return paths.outputs_dir() / "mutants"


def judged_file() -> Path:
    """The committed sample: counts and the judgement of every survivor."""
    return paths.root() / "lib" / "mutants.yaml"


class Survivor(Schema):
    """A mutant that no test noticed: the changed lines, and why it may live or what stops it."""

    change: list[str]
    judged: Annotated[str, Field(min_length=10)]


class Judged(Schema):
    """The committed sample; `total` and `modules` are counts, as `summary` makes them."""

    tool: Text
    seed: int
    total: dict[str, int]
    modules: dict[str, dict[str, int]]
    survivors: dict[str, Survivor]


def judged() -> Judged:
    """The committed sample, read and checked."""
    return read_as(Judged, judged_file(), "list of mutants")


def prepare(folder: Path) -> None:
    """Copies of the library and of its tests, and the settings of the tool."""
    library = paths.root() / "lib"
    for place in ("src", "tests", "mutants"):
        shutil.rmtree(folder / place, ignore_errors=True)
    no_caches = shutil.ignore_patterns("__pycache__")
    for package in ("katayori", "katayori_tools"):
        shutil.copytree(library / package, folder / "src" / package, ignore=no_caches)
    shutil.copytree(library / "tests", folder / "tests", ignore=no_caches)
    guards = sorted(file for glob in GUARDS for file in (folder / "tests").glob(glob))
    settings = SETTINGS.format(
        changed="\n".join(f"    src/katayori/{module}" for module in changed_modules(library)),
        guards="\n".join(f"    tests/{file.name}" for file in guards),
    )
    (folder / "setup.cfg").write_text(settings, encoding="utf-8")
    (folder / "pytest.ini").write_text(PYTEST, encoding="utf-8")


def changed_modules(library: Path) -> list[str]:
    """The modules whose code is changed, as paths below `katayori`."""
    package = library / "katayori"
    modules = [path for room in ROOMS for path in sorted((package / room).rglob("*.py"))]
    kept = [path for path in modules if not any(map(path.with_suffix("").match, LEFT_OUT))]
    return [path.relative_to(package).as_posix() for path in kept]


def environment(folder: Path) -> Path:
    """The Python of the tool's own environment, made on first use.

    Raises KatayoriError where the tool cannot be installed.
    """
    python = folder / "env" / "bin" / "python"
    if python.exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "katayori_lock.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    install = [str(python), "-m", "pip", "install", "-q", TOOL]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(folder / "env")
        raise KatayoriError(f"{TOOL} cannot be installed; make mutants needs a package registry")
    return python


def draw(names: dict[str, list[str]], size: int, seed: int) -> list[str]:
    """Names of mutants: of each module the share that it has of all, at least one.

    Args:
        names: module -> names of its mutants.
        size: how many in all, about; all of them if there are fewer.
        seed: of the draw.
    """
    total = sum(map(len, names.values()))
    rng = random.Random(seed)
    drawn = []
    for module in sorted(names):
        of_module = sorted(names[module])
        share = max(1, round(size * len(of_module) / total)) if of_module else 0
        drawn += rng.sample(of_module, min(share, len(of_module)))
    return drawn


def results(folder: Path) -> dict[str, dict[str, int | None]]:
    """Module -> mutant -> exit code of its tests, None where it was not run."""
    package = folder / "mutants" / "src" / "katayori"
    codes_of = {}
    for file in sorted(package.rglob("*.meta")):
        codes = json.loads(file.read_text(encoding="utf-8"))["exit_code_by_key"]
        module = file.relative_to(package).as_posix().removesuffix(".py.meta").replace("/", ".")
        if codes:
            codes_of[module] = codes
    return codes_of


def summary(found: dict[str, dict[str, int | None]], drawn: list[str]) -> dict[str, Any]:
    """Counts of the drawn mutants by module and in all, and the names of those left alive."""
    chosen = set(drawn)
    modules = {}
    alive = []
    for module, codes in found.items():
        ends = {name: _end(code) for name, code in codes.items() if name in chosen}
        kinds = Counter(ends.values())
        modules[module] = {"mutants": len(codes), "drawn": kinds.total(), **sorted_counts(kinds)}
        alive += [name for name, end in ends.items() if end == "survived"]
    counts: Counter[str] = Counter()
    for row in modules.values():
        counts.update(row)
    return {"total": dict(counts), "modules": modules, "survivors": sorted(alive)}


def _end(code: int | None) -> str:
    """What became of a mutant that was drawn; without an exit code its tests never ended."""
    return MEANS.get(-1 if code is None else code, "time-out")


def sorted_counts(kinds: Counter) -> dict[str, int]:
    """Every kind of end, also those that did not happen."""
    names = (*dict.fromkeys(MEANS.values()), "time-out")
    return {name: kinds.get(name, 0) for name in names}


def _run(python: Path, folder: Path, names: list[str]) -> None:
    """Runs the tool on these mutants; KatayoriError with its last line if it cannot."""
    settings = {"KATAYORI_ROOT": str(paths.root()), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    command = [str(python), "-m", "mutmut", "run", *names]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).replace("\r", "\n").strip().splitlines()
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        problem = " ".join(failed[:3] or lines[-3:])
        raise KatayoriError(f"the mutation tool stopped: {problem}")


def _change(python: Path, folder: Path, name: str) -> list[str]:
    """The changed lines of a mutant, as the tool shows them."""
    command = [str(python), "-m", "mutmut", "show", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def mutants(*, sample: int = 600, seed: int = 1) -> int:
    """Draws, runs, prints the counts and writes the survivors with what was changed."""
    folder = workplace()
    folder.mkdir(parents=True, exist_ok=True)
    python = environment(folder)
    prepare(folder)
    print("mutants: which tests reach which function ...", flush=True)
    _run(python, folder, [FIRST])
    names = {module: list(codes) for module, codes in results(folder).items()}
    drawn = draw(names, sample, seed)
    print(f"mutants: {len(drawn)} of {sum(map(len, names.values())):,} drawn ...", flush=True)
    _run(python, folder, drawn)
    made = summary(results(folder), drawn)
    total = made["total"]
    for module, row in made["modules"].items():
        print(f"{module:28s} " + "  ".join(f"{name} {n}" for name, n in row.items()))
    noticed = total["killed"] + total["time-out"]
    print(f"mutants: {noticed} of {total['drawn']} noticed, {total['survived']} survived")
    listed = {name: _change(python, folder, name) for name in made.pop("survivors")}
    made |= {"tool": TOOL, "seed": seed, "survivors": listed}
    text = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=100)
    (folder / "survivors.yaml").write_text(text, encoding="utf-8")
    print(f"mutants: what survived stands in {folder / 'survivors.yaml'}")
    return 0
