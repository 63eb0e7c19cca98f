"""`make reproduce`: which notebooks are out of date, run them side by side, swap in what succeeded,
report the rest.

Whether a run is up to date is decided by content alone (sha256), so it survives a checkout and
changed file times; nothing heavy is imported before that is known. A notebook runs in a process of
its own, below a hidden folder of the profile's; what a killed run leaves there goes with the next.
"""

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from katayori import paths, profiles, run_folders
from katayori.data import paper_facts
from katayori.data.files import _parsed
from katayori.errors import KatayoriError
from katayori.language import told
from katayori.papers.items import own_files
from katayori.paths import sha256
from katayori_tools import notebooks
from katayori_tools.choices import Jobs, NotebookRun, Papers, Positive

STAMP = "stamp.json"
WORK = ".run-"  # how the folder of a run under way begins
EXPECTED = "expected"  # below data: what a run is compared with, no notebook reads it
LOCALE = "locale"  # below data: catalogues of other languages
# What differs from run to run (times, widget state, the Python version) goes from the committed
# notebooks; what people write about a cell stays: its slides, whether it is folded, why it is long,
# and what can be changed in it.
KEPT = "{'kernelspec', ('language_info', 'name')}"
OF_CELLS = "{'tags', 'talk', 'jupyter', 'breach', 'change'}"
CLEAR = (
    "--ClearMetadataPreprocessor.enabled=True",
    f"--ClearMetadataPreprocessor.preserve_nb_metadata_mask={KEPT}",
    f"--ClearMetadataPreprocessor.preserve_cell_metadata_mask={OF_CELLS}",
)
SKIPPED = "skipped.json"  # a notebook that lacks its input writes {"reason": ...} there and ends
#: Whose files make report.html.
REPORT = ("reproduce", "notebooks", "pages", "page", "print")
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


# -- what is out of date ---------------------------------------------------------------------------


def digest(files: Iterable[Path], base: Path) -> str:
    """One sha256 over names and contents."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.relative_to(base).as_posix()}\0{sha256(path)}\n".encode())
    return total.hexdigest()


def _files(folder: Path) -> list[Path]:
    """All files below a folder but hidden ones and those still being written."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix != ".tmp"
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def shared_inputs() -> dict[str, str]:
    """Digests of what every notebook depends on: library, data, locked environment, Python.

    The expected tables are made from a run and make none out of date; nor do the scripts that draw
    simulations, since notebooks read their tables.
    """
    root, data, here = paths.root(), paths.data_dir(), Path(__file__).resolve()
    library = [
        path
        for path in (here.parents[1] / "katayori").rglob("*")
        if path.suffix in (".py", ".html", ".txt", ".yaml")
    ]
    library += [path for path in here.parent.iterdir() if path.stem in REPORT]
    read_by_notebooks = [
        path
        for path in _files(data)
        if not {data / EXPECTED, data / LOCALE} & {*path.parents}
        and path.suffix not in (".py", ".pyc")
    ]
    is_english = paths.language() == "en"
    return {
        "catalogues": "" if is_english else digest(_files(data / LOCALE), data),
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
    for name, value in job.parameters.items():
        # os.path.exists is False, not an error, for text that can be no path.
        if isinstance(value, str) and value and os.path.exists(job.notebook.parent / value):
            path = job.notebook.parent / value  # as the kernel sees it
            own[f"files of {name}"] = digest(_files(path), path) if path.is_dir() else sha256(path)
    if job.paper == notebooks.LAST:
        run = job.final.parent
        others = [path for path in run.glob("[!.]*/results.json") if path.parent != job.final]
        own["others"] = digest(others, run)
    return own


def _outputs(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): sha256(path)
        for path in sorted(_files(folder))
        if path.name != STAMP and not path.name.endswith(".failed.ipynb")
    }


def stale(job: Job, shared: dict[str, str]) -> str:
    """Why a job must be run, empty if its folder is up to date; the job gets its inputs.

    `shared` is of `shared_inputs`.
    """
    job.inputs = shared | _inputs(job)
    try:
        stamp = json.loads((job.final / STAMP).read_text())
    except (OSError, ValueError):
        return "not run yet"
    before = stamp["inputs"]
    names = sorted(before.keys() | job.inputs.keys())
    changed = [name for name in names if before.get(name) != job.inputs.get(name)]
    if changed:
        return "changed: " + ", ".join(changed)
    return "" if stamp["outputs"] == _outputs(job.final) else "outputs were changed or removed"


# -- what is asked for -----------------------------------------------------------------------------


def _given(run: NotebookRun, profile: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that the command line sets, and those given by name (`-p name=value`)."""
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
    for pair in run.parameter:
        name, is_set, text = pair.partition("=")
        if not is_set:
            raise KatayoriError(f"-p takes name=value, not '{pair}'")
        given[name] = _parsed(text, f"-p {name}")
    given |= {name: value for name, value in run.own.items() if value}
    given |= {"limit": run.limit} if run.limit else {}
    # A notebook runs in its own folder, where a relative path would mean another file.
    files = {name for name, (_, file) in own_files().items() if file.is_a != "setting"}
    for name in given.keys() & {*files, "answers_file", "prompts"}:
        if isinstance(given[name], str) and given[name]:  # another type is refused by its name
            given[name] = os.path.abspath(given[name])
    return given


def folder_of(profile: Mapping[str, Any], models: list[str], papers: Iterable[str]) -> Path:
    """The run folder. KatayoriError for one that holds other models' answers under its label."""
    label = run_folders.run_label()
    if set(papers) == {notebooks.LAST}:
        return run_folders.only_run(profile, models, label)
    folder = run_folders.run_folder(profile, models, label)
    asked = {
        str(model)
        for path in folder.glob("[!.]*/provenance.json")
        for model in run_folders.noted(path.parent, path.name)["parameters"].get("models") or []
    }
    others = asked - {*models, ""} if label else None
    if others:
        holds = f"{folder} holds answers of {', '.join(sorted(others))} under the label {label}"
        raise KatayoriError(f"{holds}; give this run another LABEL=")
    return folder


def planned(run: NotebookRun) -> list[Job]:
    """Every job asked for, all parameters checked; KatayoriError for any wrong name or type.

    Each notebook gets the parameters that it declares; what none declares is unknown.
    """
    from katayori_tools import paper_files

    profile = profiles.load(run.profile)
    given = _given(run, profile)
    chosen = notebooks.choose(run.papers)
    for paper in sorted(chosen.keys() & paper_facts.names()):
        paper_files.of(paper)  # what is wrong with its file is said before anything runs
    declared = {paper: notebooks.parameters(path) for paper, path in chosen.items()}
    valid = list(dict.fromkeys(name for own in declared.values() for name in own))
    for name in given.keys() - valid:
        books = f"notebook of {', '.join(chosen)}"
        raise KatayoriError(f"no {books} has a parameter '{name}'; valid: {', '.join(valid)}")
    values = {
        paper: {name: value for name, value in given.items() if name in own}
        for paper, own in declared.items()
    }
    for paper, notebook in chosen.items():
        if "output_dir" not in declared[paper]:
            raise KatayoriError(f"{notebook.name} has no parameter 'output_dir'")
        notebooks.check(notebook, declared[paper], values[paper])
        notebooks.check_run(paper, profile, values[paper])
    folder = folder_of(profile, given.get("models", []), chosen)
    return [
        Job(paper, notebook, values[paper], folder / paper, profile)
        for paper, notebook in chosen.items()
    ]


# -- running ---------------------------------------------------------------------------------------


def kernel_settings(private: Path) -> dict[str, str]:
    """The environment of kernels: one thread, fixed hashing, no IPython, Jupyter or matplotlib
    settings of the user's.

    `private` is a temporary folder that stands in for those of the user's.
    """
    folders = {name: str(private / name.lower()) for name in FOLDERS}
    fixed = dict.fromkeys(THREADS, "1") | {"PYTHONHASHSEED": "0"}
    return os.environ | folders | fixed | {"MPLBACKEND": "", "JUPYTER_PATH": ""}


def say(paper: str, text: str) -> None:
    """One progress line on stderr."""
    print(f"{paper:<16} {told(text)}", file=sys.stderr, flush=True)


def _run(job: Job) -> str:
    """Runs a notebook and swaps its folder in; why it failed, or nothing.

    What failed, or was skipped where an earlier run succeeded, leaves the earlier outputs alone.
    """
    from multiprocessing import get_context

    # A pool of its own, so that a process that dies takes no other notebook with it.
    try:
        with futures.ProcessPoolExecutor(1, get_context("spawn")) as alone:
            cause = alone.submit(run_alone, job).result()
    except futures.BrokenExecutor:
        cause = "its process died"
    if cause:
        return cause
    if skipped := run_folders.noted(job.work, SKIPPED):
        kept = (job.final / "results.json").exists()
        stay = " (the earlier results stay)" if kept else ""
        say(job.paper, f"skipped: {skipped['reason']}{stay}")
        if kept:
            return ""
    # Only what lies in the repository is known by its content.
    elif job.profile["items"] == "study" and job.profile["answers"] in ("recorded", "simulated"):
        stamp = {"inputs": job.inputs, "outputs": _outputs(job.work)}
        (job.work / STAMP).write_text(json.dumps(stamp, indent=1, sort_keys=True) + "\n")
    if job.final.exists():
        job.final.rename(job.work.with_suffix(".old"))
    job.work.rename(job.final)
    return ""


def reproduce(
    run: NotebookRun, *, jobs: Jobs = 2, timeout: Positive = 1800, force: bool = False
) -> int:
    """Runs what is out of date; 0 unless a notebook failed (then 1).

    Args:
        jobs: notebooks at once. timeout: seconds a cell may take, 0 for no limit. force: run even
            what is up to date.

    Raises:
        KatayoriError: before anything starts.
    """
    from katayori.report import first_page

    notebooks.writable(paths.outputs_dir(), "KATAYORI_OUTPUTS")
    books = planned(run)
    shared, folder = shared_inputs(), books[0].final.parent
    folder.mkdir(parents=True, exist_ok=True)
    _remove_left_over(folder)
    failures: dict[str, str] = {}
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=f"{WORK}{os.getpid()}-") as private,
        futures.ThreadPoolExecutor(jobs) as pool,
    ):
        env = kernel_settings(Path(private))
        for is_last in (False, True):  # the overview reads the results of the others
            due = []
            for job in (job for job in books if (job.paper == notebooks.LAST) == is_last):
                job.env, job.work = env, Path(private) / job.paper
                job.timeout = timeout or None
                reason = stale(job, shared)
                reason = "asked for" if force else reason
                say(job.paper, f"to run ({reason})" if reason else "up to date")
                due += [job] if reason else []
            # A long one that begins last would run alone at the end.
            due.sort(key=lambda job: job.notebook.stat().st_size, reverse=True)
            causes = zip(due, pool.map(_run, due), strict=True)
            failures |= {job.paper: cause for job, cause in causes if cause}
    for paper, cause in failures.items():
        say(paper, f"FAILED: {cause}")
    for job in books:
        if job.paper not in failures and first_page.has_page(job.final):
            print("\n".join(first_page.in_short(job.final)), flush=True)
    print(f"results: {folder}", file=sys.stderr)
    return 1 if failures else 0


def _remove_left_over(folder: Path) -> None:
    """Removes the work folders of runs that are no more: each has the number of its process."""
    for left in folder.glob(f"{WORK}*"):
        number = left.name.removeprefix(WORK).partition("-")[0]
        try:
            os.kill(int(number), 0)
        except (ValueError, ProcessLookupError):
            shutil.rmtree(left, ignore_errors=True)
        except PermissionError:
            continue  # it runs as another user


def nb(*, papers: Papers = "") -> int:
    """Executes the committed notebooks in place on their defaults and clears what differs from run
    to run.

    Args:
        papers: by name or number (all).
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


# -- in the process of one notebook ----------------------------------------------------------------


def _execute(job: Job, output: Path) -> None:
    import papermill

    book = job.notebook
    if paths.language() != "en":
        book = output
        book.write_text(notebooks.in_language(job.notebook), encoding="utf-8")
    bar = {"bar_format": f"{job.paper:<16} {told('cell')} {{n}}/{{total}}\n", "leave": False}
    for is_again in (False, True):
        try:
            papermill.execute_notebook(
                book,
                output,
                parameters={**job.parameters, "output_dir": str(job.work)},
                cwd=job.notebook.parent,
                execution_timeout=job.timeout,
                # Without it, every kernel warns that loopback is not encrypted.
                extra_arguments=["--log-level=CRITICAL"],
                start_timeout=120,
                progress_bar=bar | {"mininterval": 10, "delay": 10},
            )
            return
        except RuntimeError as error:
            # Kernels sometimes lose a race for a port at the start; one that died at work is a
            # DeadKernelError.
            if is_again or type(error) is not RuntimeError:
                raise
            say(job.paper, f"the kernel did not start ({error}); once more")


def _end_with(parent: int) -> None:
    """Ends this process with the one that began it, however that ended; its kernel ends with it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def run_alone(job: Job) -> str:
    """Runs one notebook into `job.work`, in a process of its own.

    Returns why it failed, which leaves `<name>.failed.ipynb` in the final folder.
    """
    os.environ.update(job.env)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # A second and a half for grammars of web addresses, which no notebook is checked against.
    sys.modules.setdefault("rfc3987_syntax", cast(Any, None))
    from katayori_tools.pages import write_report

    logging.getLogger("papermill").setLevel(logging.WARNING)
    say(job.paper, "started")
    begin = time.monotonic()
    output = job.work / job.notebook.name
    job.work.mkdir(parents=True)
    try:
        _execute(job, output)
        if not (job.work / SKIPPED).exists():
            write_report(output, output.with_name("report.html"))
            for path in [*job.work.rglob("*.ipynb"), *job.work.rglob("*.json")]:
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(str(job.work), str(job.final)), encoding="utf-8")
            say(job.paper, f"done in {time.monotonic() - begin:.0f} s")
    except Exception as error:
        kept = job.final / f"{job.notebook.stem}.failed.ipynb"
        job.final.mkdir(parents=True, exist_ok=True)
        if output.exists():
            shutil.move(output, kept)
        name = getattr(error, "ename", type(error).__name__)  # of what a cell raised
        text = getattr(error, "evalue", str(error))
        first = next((line for line in str(text).splitlines() if line.strip()), "")
        say(job.paper, f"failed after {time.monotonic() - begin:.0f} s")
        return f"{name}: {first[:300]} (kept: {kept})"
    return ""
