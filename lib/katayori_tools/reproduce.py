"""`make reproduce`: which notebooks are out of date, run them side by side, swap in what succeeded,
report the rest.

Whether a run is up to date is decided by content alone (sha256), so it survives a checkout and
changed file times; nothing heavy is imported before that is known. A notebook runs in a process of
its own (`execute`), below a hidden folder of the profile's; what a killed run leaves there is in
nobody's way and goes with `make clean`.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from katayori import paths, profiles, run_folders
from katayori.data import paper_facts
from katayori.errors import KatayoriError
from katayori.papers.items import own_files
from katayori.paths import sha256
from katayori_tools import inputs, notebooks
from katayori_tools.choices import USUAL_RUNNING, NotebookRun, Running

STAMP = "stamp.json"
EXPECTED = "expected"  # below data: what a run is compared with, no notebook reads it
# Parameters that name a file or folder of the user's.
FILES = frozenset({"answers_file", "prompts"})
# What differs from run to run (times, widget state, the Python version) goes from the committed
# notebooks.
KEPT = "{'kernelspec', ('language_info', 'name')}"
# What people write about a cell stays: its slides, whether it is folded, why it is long, and what
# can be changed in it.
OF_CELLS = "{'tags', 'talk', 'jupyter', 'breach', 'change'}"
CLEAR = (
    "--ClearMetadataPreprocessor.enabled=True",
    f"--ClearMetadataPreprocessor.preserve_nb_metadata_mask={KEPT}",
    f"--ClearMetadataPreprocessor.preserve_cell_metadata_mask={OF_CELLS}",
)
SKIPPED = "skipped.json"  # a notebook that lacks its input writes {"reason": ...} there and ends
# They make report.html.
REPORT = ("execute.py", "pages.py", "page.css", "print.css", "markup.py", "report_filter.py")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
FOLDERS = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")


@dataclass
class Job:
    """What to run and where.

    `final` is the run folder, `work` the temporary one that takes its place.
    """

    paper: str
    notebook: Path
    parameters: dict[str, Any]
    final: Path
    profile: dict[str, Any]
    timeout: int | None = None  # seconds a cell
    work: Path = Path()
    env: dict[str, str] = field(default_factory=dict)  # environment variables of the process
    inputs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, values: dict[str, Any]) -> "Job":
        """A job from its JSON form."""
        as_paths = {name: Path(values[name]) for name in ("notebook", "final", "work")}
        return cls(**(values | as_paths))


def digest(files: Iterable[Path], base: Path) -> str:
    """One sha256 over names and contents."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.relative_to(base).as_posix()}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def _files(folder: Path) -> list[Path]:
    """All files below a folder but hidden ones and those still being written."""
    files = []
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and path.suffix != ".tmp" and not hidden:
            files.append(path)
    return files


def shared_inputs() -> dict[str, str]:
    """Digests of what every notebook depends on: library, data, locked environment, Python.

    The expected tables are made from a run and make none out of date.
    """
    root, data, here = paths.root(), paths.data_dir(), Path(__file__).resolve()
    library = [*(here.parents[1] / "katayori").rglob("*.py")]
    library += [here.with_name(name) for name in REPORT]
    read_by_notebooks = [path for path in _files(data) if data / EXPECTED not in path.parents]
    return {
        "library": digest(library, here.parents[1]),
        "data": digest(read_by_notebooks, data),
        "environment": digest([root / "lib" / "requirements.lock"], root),
        "python": sys.version,
    }


def _inputs(job: Job) -> dict[str, Any]:
    own: dict[str, Any] = {
        "notebook": sha256(job.notebook),
        "parameters": job.parameters,
        "profile": job.profile,
    }
    declared = notebooks.parameters(job.notebook)
    defaults = {name: parameter.default for name, parameter in declared.items()}
    for name, value in (defaults | job.parameters).items():
        if not isinstance(value, str) or not value:
            continue
        path = job.notebook.parent / value  # as the kernel sees it
        # os.path.exists is False, not an error, for text that can be no path.
        if os.path.exists(path):
            own[f"files of {name}"] = digest(_files(path), path) if path.is_dir() else sha256(path)
    if job.paper == notebooks.LAST:
        run = job.final.parent
        others = [path for path in run.glob("[!.]*/results.json") if path.parent != job.final]
        own["others"] = digest(others, run)
    return own


def _outputs(folder: Path) -> dict[str, str]:
    digests = {}
    for path in sorted(_files(folder)):
        if path.name != STAMP and not path.name.endswith(".failed.ipynb"):
            digests[path.relative_to(folder).as_posix()] = sha256(path)
    return digests


def stale(folder: Path, inputs: dict[str, Any]) -> str:
    """Why a run folder must be made anew; empty if it is up to date."""
    try:
        stamp = json.loads((folder / STAMP).read_text())
    except (OSError, ValueError):
        return "not run yet"
    before = stamp["inputs"]
    names = sorted(before.keys() | inputs.keys())
    changed = [name for name in names if before.get(name) != inputs.get(name)]
    if changed:
        return "changed: " + ", ".join(changed)
    return "" if stamp["outputs"] == _outputs(folder) else "outputs were changed or removed"


def kernel_settings(private: Path) -> dict[str, str]:
    """The environment of kernels: one thread, fixed hashing, no IPython, Jupyter or matplotlib
    settings of the user's.

    `private` is a temporary folder that stands in for those of the user's.
    """
    env = dict(os.environ)
    for name in ("MPLBACKEND", "JUPYTER_PATH"):
        env.pop(name, None)
    for name in FOLDERS:
        env[name] = str(private / name.lower())
    for name in THREADS:
        env[name] = "1"
    env["PYTHONHASHSEED"] = "0"
    return env


def say(paper: str, text: str) -> None:
    """One progress line on stderr."""
    print(f"{paper:<16} {text}", file=sys.stderr, flush=True)


def _closed(profile: dict[str, Any]) -> bool:
    """Whether everything a run reads lies in the repository, so that content hashes can call it up
    to date.
    """
    return profile["items"] == "study" and profile["answers"] in ("recorded", "simulated")


def _run(job: Job) -> str:
    """Runs a notebook and swaps its folder in; why it failed, or nothing.

    What failed, or was skipped where an earlier run succeeded, leaves the earlier outputs alone.
    """
    done = subprocess.run(
        [sys.executable, "-m", "katayori_tools.execute"],
        input=json.dumps(vars(job), default=str),
        stdout=subprocess.PIPE,
        text=True,
        env=job.env,
    )
    if done.returncode:
        return done.stdout.strip() or f"its process died (exit code {done.returncode})"
    if (job.work / SKIPPED).exists():
        reason = json.loads((job.work / SKIPPED).read_text(encoding="utf-8"))["reason"]
        kept = (job.final / "results.json").exists()
        say(job.paper, f"skipped: {reason}" + (" (the earlier results stay)" if kept else ""))
        if kept:
            return ""
    elif _closed(job.profile):  # else the inputs do not say everything
        stamp = {"inputs": job.inputs, "outputs": _outputs(job.work)}
        (job.work / STAMP).write_text(json.dumps(stamp, indent=1, sort_keys=True) + "\n")
    if job.final.exists():
        job.final.rename(job.work.with_suffix(".old"))
    job.work.rename(job.final)
    return ""


def _parameters(run: NotebookRun, profile: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The standard parameters that the command line sets, and those given by name (`-p
    name=value`).
    """
    given: dict[str, Any] = {"profile": profile["name"]}
    if run.profile != profile["name"]:  # a file of the user's
        given["profile"] = str(Path(run.profile).resolve())
    if run.models:
        from katayori.prompting import models

        given["models"] = notebooks.names(run.models)
        for model in given["models"]:
            models.get_model(model)
    if run.prompts:
        given["prompts"] = str(Path(run.prompts).resolve())
        if not os.path.isdir(run.prompts):
            remedy = "copy data/prompts and reword the files there"
            raise KatayoriError(f"PROMPTS={run.prompts} is not a folder; {remedy}")
    by_name = _by_name(run.parameter) | {name: value for name, value in run.own.items() if value}
    # A notebook runs in its own folder, where a relative path would mean another file.
    for name in _named_files() & by_name.keys():
        path = by_name[name]
        if isinstance(path, str) and path:  # another type is refused by its name
            by_name[name] = os.path.abspath(path)
    return given, by_name


def _named_files() -> set[str]:
    """The parameters that name a file or a folder."""
    return {name for name, (_, file) in own_files().items() if file.is_a != "setting"} | FILES


def _by_name(pairs: Iterable[str]) -> dict[str, Any]:
    """Parameters given as `name=value`, the value in YAML."""
    import yaml

    for pair in pairs:
        if "=" not in pair:
            raise KatayoriError(f"-p takes name=value, not '{pair}'")
    values = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        values[name] = yaml.safe_load(text)
    return values


def _chosen(
    run: NotebookRun, profile: dict[str, Any], parameters: dict[str, Any]
) -> dict[str, Path]:
    """The notebooks to run; of imported answers without PAPERS= those that the file answers."""
    from katayori_tools import paper_files

    chosen = notebooks.choose(run.papers)
    for paper in sorted(chosen.keys() & paper_facts.names()):
        paper_files.of(paper)  # what is wrong with its file is said before anything runs
    file = parameters.get("answers_file")
    if run.papers or profile["answers"] != "imported" or not file:
        return chosen
    held = inputs.papers_of_answers(file, [paper for paper in chosen if paper != notebooks.LAST])
    return {paper: chosen[paper] for paper in held}


def folder_of(profile: dict[str, Any], values: dict[str, Any], papers: Iterable[str]) -> Path:
    """The run folder. KatayoriError for one that holds other models' answers under its label."""
    models = values.get("models") or []
    if not isinstance(models, list):
        return paths.outputs_dir() / profile["name"]  # the check of parameters will refuse it
    models = [str(model) for model in models]
    label = run_folders.run_label()
    if set(papers) == {notebooks.LAST}:
        return run_folders.only_run(profile, models, label)
    folder = run_folders.run_folder(profile, models, label)
    others = _asked(folder) - {*models, ""} if label else set()
    if others:
        holds = f"{folder} holds answers of {', '.join(sorted(others))} under the label {label}"
        raise KatayoriError(f"{holds}; give this run another LABEL=")
    return folder


def _asked(folder: Path) -> set[str]:
    """The models whose answers the notebooks of a run folder show, as they were asked."""
    models: set[str] = set()
    for path in folder.glob("[!.]*/provenance.json"):
        text = json.loads(path.read_text(encoding="utf-8"))
        models |= {str(model) for model in text["parameters"].get("models") or []}
    return models


def planned(run: NotebookRun) -> list[Job]:
    """Every job asked for, all parameters checked; KatayoriError for any wrong name or type."""
    profile = profiles.load(run.profile)
    given, own = _parameters(run, profile)
    chosen = _chosen(run, profile, given | own)
    folder = folder_of(profile, given | own, chosen)
    jobs = []
    of_others: set[str] = set()  # parameters that the notebooks before declare or are given
    for paper, notebook in chosen.items():
        values = inputs.parameters_of(paper, given | own, list(chosen))
        declared = notebooks.parameters(notebook).keys()
        if paper == notebooks.LAST:
            # The overview comes last and asks nothing itself: it may lack what is shared and what
            # is meant for the others.
            lacks = (given.keys() | of_others) - declared
            values = {name: value for name, value in values.items() if name not in lacks}
        of_others |= declared | values.keys()
        notebooks.check(notebook, {**values, "output_dir": ""})
        inputs.check_run(paper, profile, values)
        jobs.append(Job(paper, notebook, values, folder / paper, profile))
    if not jobs:
        raise KatayoriError("notebooks/ holds no notebook named NN_<paper>.ipynb")
    return jobs


def reproduce(run: NotebookRun, running: Running = USUAL_RUNNING) -> int:
    """Runs what is out of date; 0 unless a notebook failed (then 1).

    KatayoriError before anything starts.
    """
    inputs.writable(paths.outputs_dir(), "KATAYORI_OUTPUTS")
    jobs = planned(run)
    shared = shared_inputs()
    folder = jobs[0].final.parent
    folder.mkdir(parents=True, exist_ok=True)
    failures: dict[str, str] = {}
    first = [job for job in jobs if job.paper != notebooks.LAST]
    last = [job for job in jobs if job.paper == notebooks.LAST]
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=".run-") as private,
        ThreadPoolExecutor(running.jobs) as pool,
    ):
        env = kernel_settings(Path(private))
        for group in (first, last):
            due = []
            for job in group:
                job.inputs = shared | _inputs(job)
                job.env = env
                job.timeout = running.timeout or None
                job.work = Path(private) / job.paper
                reason = "asked for" if running.force else stale(job.final, job.inputs)
                say(job.paper, f"to run ({reason})" if reason else "up to date")
                if reason:
                    due.append(job)
            for job, cause in zip(due, pool.map(_run, due), strict=True):
                if cause:
                    failures[job.paper] = cause
    for paper, cause in failures.items():
        say(paper, f"FAILED: {cause}")
    for job in jobs:
        if job.paper not in failures:
            _tell_in_short(job.final)
    print(f"results: {folder}", file=sys.stderr)
    return 1 if failures else 0


def _tell_in_short(folder: Path) -> None:
    """The first page of a report about a user's model, for the terminal."""
    from katayori_tools import first_page

    if first_page.has_page(folder):
        print("\n".join(first_page.in_short(folder)), flush=True)


def nb(*, papers: str | None = None) -> int:
    """Executes the committed notebooks in place on their defaults and clears what differs from run
    to run.
    """
    from katayori.report.run import NOT_RUN

    convert = ("-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", *CLEAR)
    with tempfile.TemporaryDirectory(prefix="katayori-") as private:
        env = kernel_settings(Path(private))
        for path in notebooks.choose(papers).values():
            if subprocess.run([sys.executable, *convert, str(path)], env=env).returncode:
                raise KatayoriError(f"{path.name} failed (see above); none after it was executed")
            # Without a folder, as in JupyterLab, missing answers do not fail the kernel.
            if NOT_RUN in path.read_text(encoding="utf-8"):
                raise KatayoriError(f"{path.name} lacks answers; it was emptied: git restore it")
    return 0
