"""`make reproduce`: which notebooks are out of date, run them side by side, swap in what succeeded, report the rest.

Whether a run is up to date is decided by content alone (sha256), so it survives a checkout and changed file times;
nothing heavy is imported before that is known. A notebook runs in a process of its own (`execute`), below a hidden
folder of the profile's; what a killed run leaves there is in nobody's way and goes with `make clean`.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from katayori import paths, profiles, renamed
from katayori.data.source import OWN
from katayori.errors import KatayoriError
from katayori.paths import sha256
from katayori_tools import inputs, notebooks

STAMP = "stamp.json"
EXPECTED = "expected"  # below data: what a run is compared with, no notebook reads it
# Parameters that name a file or folder of the user's.
FILES = {"answers_file", "prompts", *OWN} - {"preset"}
# What differs from run to run (times, widget state, the Python version) goes from the committed notebooks.
CLEAR = (
    "--ClearMetadataPreprocessor.enabled=True",
    "--ClearMetadataPreprocessor.preserve_nb_metadata_mask={'kernelspec', ('language_info', 'name')}",
    "--ClearMetadataPreprocessor.preserve_cell_metadata_mask={'tags'}",
)
SKIPPED = "skipped.json"  # a notebook that lacks its input writes {"reason": ...} there and ends


@dataclass
class Job:
    """What to run and where; `final` is the run folder, `work` the temporary one that takes its place."""

    paper: str
    notebook: Path
    parameters: dict
    final: Path
    profile: dict
    timeout: int | None = None  # seconds a cell
    work: Path = Path()
    env: dict = field(default_factory=dict)  # environment variables of the process
    inputs: dict = field(default_factory=dict)

    @classmethod
    def read(cls, told: dict) -> "Job":
        """A job from its JSON form."""
        return cls(**told | {name: Path(told[name]) for name in ("notebook", "final", "work")})


def digest(files: Iterable[Path], base: Path) -> str:
    """One sha256 over names and contents."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.relative_to(base).as_posix()}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def _files(folder: Path) -> list[Path]:
    """All files below a folder but hidden ones and those still being written."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".tmp")
    return [
        path
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def shared_inputs() -> dict[str, str]:
    """Digests of what every notebook depends on: library, data, locked environment, Python.

    The expected tables are made from a run and make none out of date.
    """
    root, data, here = paths.root(), paths.data_dir(), Path(__file__).resolve()
    library = [*(here.parents[1] / "katayori").rglob("*.py")]
    library += [
        here.with_name(name) for name in ("execute.py", "pages.py", "page.css", "report_filter.py")
    ]  # they make report.html
    return {
        "library": digest(library, here.parents[1]),
        "data": digest(
            (path for path in _files(data) if data / EXPECTED not in path.parents), data
        ),
        "environment": digest([root / "lib" / "requirements.lock"], root),
        "python": sys.version,
    }


def _inputs(job: Job) -> dict:
    own = {"notebook": sha256(job.notebook), "parameters": job.parameters, "profile": job.profile}
    defaults = {
        name: parameter.default for name, parameter in notebooks.parameters(job.notebook).items()
    }
    for name, value in (defaults | job.parameters).items():
        # As the kernel sees it; os.path.exists is False, not an error, for text that can be no path.
        if isinstance(value, str) and value and os.path.exists(path := job.notebook.parent / value):
            own[f"files of {name}"] = digest(_files(path), path) if path.is_dir() else sha256(path)
    if job.paper == notebooks.LAST:
        others = job.final.parent.glob("[!.]*/results.json")
        own["others"] = digest(
            (path for path in others if path.parent != job.final), job.final.parent
        )
    return own


def _outputs(folder: Path) -> dict[str, str]:
    kept = (
        path
        for path in _files(folder)
        if path.name != STAMP and not path.name.endswith(".failed.ipynb")
    )
    return {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(kept)}


def stale(folder: Path, inputs: dict) -> str:
    """Why a run folder must be made anew; empty if it is up to date."""
    try:
        stamp = json.loads((folder / STAMP).read_text())
    except (OSError, ValueError):
        return "not run yet"
    before = stamp["inputs"]
    if changed := sorted(
        key for key in before.keys() | inputs.keys() if before.get(key) != inputs.get(key)
    ):
        return "changed: " + ", ".join(changed)
    return "" if stamp["outputs"] == _outputs(folder) else "outputs were changed or removed"


def kernel_settings(private: Path) -> dict[str, str]:
    """The environment of kernels: one thread, fixed hashing, no IPython, Jupyter or matplotlib settings of the user's.

    `private` is a temporary folder that stands in for those of the user's.
    """
    own = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MPLBACKEND", "JUPYTER_PATH")
    }
    folders = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    own |= {name: str(private / name.lower()) for name in folders}
    own |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return own | {"PYTHONHASHSEED": "0"}


def say(paper: str, text: str) -> None:
    """One progress line on stderr."""
    print(f"{paper:<16} {text}", file=sys.stderr, flush=True)


def _run(job: Job) -> str:
    """Runs a notebook and swaps its folder in; why it failed, or nothing.

    What failed, or was skipped where an earlier run succeeded, leaves the earlier outputs alone.
    """
    command = [sys.executable, "-m", "katayori_tools.execute"]
    done = subprocess.run(
        command,
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
    elif profiles.closed(job.profile):  # else the inputs do not say everything
        stamp = {"inputs": job.inputs, "outputs": _outputs(job.work)}
        (job.work / STAMP).write_text(json.dumps(stamp, indent=1, sort_keys=True) + "\n")
    if job.final.exists():
        job.final.rename(job.work.with_suffix(".old"))
    job.work.rename(job.final)
    return ""


def _parameters(args: Namespace, profile: dict) -> tuple[dict, dict]:
    """The standard parameters that the command line sets, and those given by name (`-p name=value`)."""
    import yaml

    given: dict[str, object] = {"profile": profile["name"]}
    if args.profile != profile["name"]:  # a file of the user's
        given["profile"] = str(Path(args.profile).resolve())
    if args.models:
        from katayori.prompting import models

        given["models"] = notebooks.names(args.models)
        for model in given["models"]:
            models.get_model(model)
    if args.prompts:
        given["prompts"] = str(Path(args.prompts).resolve())
        if not os.path.isdir(args.prompts):
            raise KatayoriError(
                f"PROMPTS={args.prompts} is not a folder; copy data/prompts and reword the files there"
            )
    if wrong := [pair for pair in args.parameter if "=" not in pair]:
        raise KatayoriError(f"-p takes name=value, not '{wrong[0]}'")
    own = {
        name: yaml.safe_load(value)
        for name, _, value in (pair.partition("=") for pair in args.parameter)
    }
    own |= {name: value for name in OWN if (value := getattr(args, name, None))}
    # A notebook runs in its own folder, where a relative path would mean another file.
    files = renamed.with_old("parameter", FILES) & own.keys()
    return given, own | {
        name: os.path.abspath(path)
        for name in files
        if isinstance(path := own[name], str) and path  # another type is refused by its name
    }


def _chosen(args: Namespace, profile: dict, parameters: dict) -> dict[str, Path]:
    """The notebooks to run; of imported answers without PAPERS= those that the file answers."""
    chosen = notebooks.choose(args.papers)
    file = parameters.get("answers_file")
    if args.papers or profile["answers"] != "imported" or not file:
        return chosen
    held = inputs.papers_of_answers(file, [paper for paper in chosen if paper != notebooks.LAST])
    return {paper: chosen[paper] for paper in held}


def folder_of(profile: dict, values: dict, papers: Iterable[str]) -> Path:
    """The run folder. KatayoriError for one that holds other models' answers under its label."""
    models = values.get("models") or []
    if not isinstance(models, list):
        return paths.outputs_dir() / profile["name"]  # the check of parameters will refuse it
    models = [str(model) for model in models]
    label = paths.run_label()
    if set(papers) == {notebooks.LAST}:
        return paths.only_run(profile, models, label)
    folder = paths.run_folder(profile, models, label)
    if label and (others := _asked(folder) - {*models, ""}):
        held = f"{folder} holds answers of {', '.join(sorted(others))} under the label {label}"
        raise KatayoriError(f"{held}; give this run another LABEL=")
    return folder


def _asked(folder: Path) -> set[str]:
    """The models whose answers the notebooks of a run folder show, as they were asked."""
    models: set[str] = set()
    for path in folder.glob("[!.]*/provenance.json"):
        text = json.loads(path.read_text(encoding="utf-8"))
        models |= {str(model) for model in text["parameters"].get("models") or []}
    return models


def _plan(args: Namespace) -> list[Job]:
    """Every job asked for, all parameters checked; KatayoriError for any wrong name or type."""
    profile = profiles.load(args.profile)
    given, own = _parameters(args, profile)
    jobs, known = [], set()
    chosen = _chosen(args, profile, given | own)
    folder = folder_of(profile, given | own, chosen)
    for paper, notebook in chosen.items():
        declared = notebooks.parameters(notebook)
        # The overview comes last and asks nothing itself: it may lack what is shared and what is meant for the others.
        lacks = (given.keys() | known) - declared.keys() if paper == notebooks.LAST else ()
        values = inputs.parameters_of(paper, given | own, list(chosen))
        values = {name: value for name, value in values.items() if name not in lacks}
        known |= declared.keys() | values.keys()
        values = renamed.keys("parameter", values, where=paper)
        notebooks.check(notebook, {**values, "output_dir": ""})
        inputs.check_run(paper, profile, values)
        jobs.append(Job(paper, notebook, values, folder / paper, profile))
    if not jobs:
        raise KatayoriError("notebooks/ holds no notebook named NN_<paper>.ipynb")
    return jobs


def reproduce(args: Namespace) -> int:
    """Runs what is out of date; 0 unless a notebook failed (then 1). KatayoriError before anything starts."""
    inputs.writable(paths.outputs_dir(), "KATAYORI_OUTPUTS")
    jobs, shared = _plan(args), shared_inputs()
    folder, failed = jobs[0].final.parent, {}
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=".run-") as private,
        ThreadPoolExecutor(args.jobs) as pool,
    ):
        env = kernel_settings(Path(private))
        for last in (False, True):
            due = []
            for job in (job for job in jobs if (job.paper == notebooks.LAST) is last):
                job.inputs, job.env, job.timeout = shared | _inputs(job), env, args.timeout or None
                job.work = Path(private) / job.paper
                reason = "asked for" if args.force else stale(job.final, job.inputs)
                say(job.paper, f"to run ({reason})" if reason else "up to date")
                due += [job] if reason else []
            failed |= {
                job.paper: told for job, told in zip(due, pool.map(_run, due), strict=True) if told
            }
    for paper, told in failed.items():
        say(paper, f"FAILED: {told}")
    for job in jobs:
        if job.paper not in failed:
            _tell_in_short(job.final)
    print(f"results: {folder}", file=sys.stderr)
    return 1 if failed else 0


def _tell_in_short(folder: Path) -> None:
    """The first page of a report about a user's model, for the terminal."""
    from katayori.report import first_page

    if first_page.has_page(folder):
        from katayori.metrics.uncertainty import FEW_CLUSTERS

        print("\n".join(first_page.in_short(folder, FEW_CLUSTERS)), flush=True)


def nb(args: Namespace) -> int:
    """Executes the committed notebooks in place on their defaults and clears what differs from run to run."""
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "notebook",
        "--execute",
        "--inplace",
        *CLEAR,
    ]
    with tempfile.TemporaryDirectory(prefix="katayori-") as private:
        env = kernel_settings(Path(private))
        for path in notebooks.choose(args.papers).values():
            if subprocess.run([*command, str(path)], env=env).returncode:
                raise KatayoriError(f"{path.name} failed (see above); none after it was executed")
    return 0
