"""`make sweep`: one notebook under every combination of some parameters, in one table and figure.

A server process imports what the notebook imports, once; each setting then runs in a fork of it,
without a kernel and without figures, so that twenty settings take minutes. A setting that fails
leaves its reason in the table of settings, and the others go on.

outputs/sweeps/<paper>-<digits>/
    settings.csv    a row a setting: its parameters, seconds, and why it failed
    results.csv     all rows of results.json of all settings: setting, set_<parameter>, the fields
    headlines.svg, headlines.png    every headline over the settings
    <number>/<paper>/               the run folder of a setting
"""

import ast
import hashlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from katayori import paths
from katayori.errors import KatayoriError
from katayori_tools import reproduce
from katayori_tools.choices import NotebookRun
from katayori_tools.reproduce import Job, say

if TYPE_CHECKING:
    import pandas as pd

#: More settings than this are a mistake, not a sweep.
MOST = 1000
SETTING = "setting"  # the column that counts settings, from 1


def sweep(*, run: NotebookRun, vary: Sequence[str], jobs: int = 2) -> int:
    """Runs the settings and writes their tables; 0 unless a setting failed (then 1).

    Args:
        run: names one notebook, and the parameters that all settings share.
        vary: each `name=value,value,...`, the values in YAML. jobs: settings at once.

    Raises:
        KatayoriError: before anything runs, for several notebooks, an unknown parameter, a value
            of another type, or too many settings.
    """
    varied = parsed(vary)
    settings = list(combinations(varied))
    planned = [_job(run, setting) for setting in settings]
    paper = planned[0].paper
    folder = _folder(paper, run, varied)
    for number, job in enumerate(planned, start=1):
        job.final = folder / f"{number:03}" / paper
    say(paper, f"{len(planned)} settings of {', '.join(varied)}, {jobs} at once")
    reports = _run_all(planned, jobs)
    return _write(folder, paper, settings, reports)


def parsed(vary: Sequence[str]) -> dict[str, list[Any]]:
    """Parameter -> its values, from `name=value,value`.

    Raises KatayoriError for a text of another form and for a parameter that is named twice.

    Example:
        >>> parsed(["seed=1,2", "reading=by_polarity,literal"])
        {'seed': [1, 2], 'reading': ['by_polarity', 'literal']}
    """
    import yaml

    varied: dict[str, list[Any]] = {}
    for text in vary:
        name, equals, values = text.partition("=")
        try:
            listed = yaml.safe_load(f"[{values}]")
        except yaml.YAMLError:
            listed = []
        if not (name and equals and listed):
            raise KatayoriError(f"--vary takes name=value,value,..., not '{text}'")
        if name in varied:
            raise KatayoriError(f"--vary names {name} twice; give all its values at once")
        varied[name] = listed
    if not varied:
        raise KatayoriError("name what changes: --vary draws=99,499 --vary seed=1,2,3")
    return varied


def combinations(varied: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of the values, the last parameter changing fastest.

    Raises KatayoriError where there are more than `MOST`.

    Example:
        >>> list(combinations({"draws": [99], "seed": [1, 2]}))
        [{'draws': 99, 'seed': 1}, {'draws': 99, 'seed': 2}]
    """
    count = 1
    for values in varied.values():
        count *= len(values)
    if count > MOST:
        raise KatayoriError(f"{count:,} settings; {MOST:,} are the most: leave some values out")
    for values in product(*varied.values()):
        yield dict(zip(varied, values, strict=True))


def _job(run: NotebookRun, setting: Mapping[str, Any]) -> Job:
    """The checked job of one setting."""
    given = [f"{name}={json.dumps(value)}" for name, value in setting.items()]
    parameter = [*run.parameter, *given]
    planned = reproduce.planned(
        NotebookRun(run.papers, run.models, run.profile, run.prompts, run.own, parameter)
    )
    if len(planned) > 1:
        raise KatayoriError("a sweep is of one notebook; name it: PAPERS=01")
    return planned[0]


def _folder(paper: str, run: NotebookRun, varied: Mapping[str, Any]) -> Path:
    """The folder of a sweep: another one for another grid."""
    about = json.dumps([vars(run) | {"own": dict(run.own)}, varied], default=str, sort_keys=True)
    digits = hashlib.sha256(about.encode()).hexdigest()[:6]
    return paths.outputs_dir() / "sweeps" / f"{paper}-{digits}"


# -- running ---------------------------------------------------------------------------------------


def imported_by(notebook: Path) -> list[str]:
    """The modules that a notebook's cells import, each once.

    Example:
        >>> "pandas" in imported_by(notebooks.registry()[notebooks.LAST])
        True
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    modules: dict[str, None] = {}
    for node in (node for source in code for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Import):
            modules |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules[node.module] = None
            # What is imported from a package may be a module of it; others are passed over.
            modules |= dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names)
    return list(modules)


def _run_all(planned: Sequence[Job], jobs: int) -> list[dict[str, Any]]:
    """Runs every job in a fork of a process that has imported what they need; a report each."""
    with tempfile.TemporaryDirectory(prefix="katayori-sweep-") as private:
        before = dict(os.environ)
        os.environ |= reproduce.kernel_settings(Path(private)) | {"MPLBACKEND": "agg"}
        try:
            server = multiprocessing.get_context("forkserver")
            heavy = [*imported_by(planned[0].notebook), "katayori_tools.plain_run"]
            server.set_forkserver_preload(heavy)
            texts = [json.dumps(vars(job), default=str) for job in planned]
            reports = []
            with server.Pool(jobs, maxtasksperchild=1) as pool:
                for report in pool.imap(run_setting, texts, chunksize=1):
                    reports.append(report)
                    failed = f", failed: {report['failed']}" if report["failed"] else ""
                    counted = f"setting {len(reports)} of {len(planned)}"
                    say(planned[0].paper, f"{counted}: {report['seconds']:.0f} s{failed}")
        finally:
            os.environ.clear()
            os.environ |= before
    return reports


def run_setting(text: str) -> dict[str, Any]:
    """Runs a job, given as JSON: seconds it took, and why it failed (or nothing)."""
    from katayori_tools import plain_run

    job = Job.read(json.loads(text))
    begin = time.monotonic()
    plain_run.draw_nothing()
    try:
        plain_run.run_cells(job)
        failed = _skipped(job.final)
    except plain_run.CellError as error:
        failed = str(error)[:300]
    return {"seconds": round(time.monotonic() - begin, 2), "failed": failed}


def _skipped(folder: Path) -> str:
    """Why a notebook was skipped, or nothing."""
    file = folder / reproduce.SKIPPED
    if not file.exists():
        return ""
    return f"skipped: {json.loads(file.read_text(encoding='utf-8'))['reason']}"


# -- what is written -------------------------------------------------------------------------------


def _write(
    folder: Path,
    paper: str,
    settings: Sequence[Mapping[str, Any]],
    reports: Sequence[Mapping[str, Any]],
) -> int:
    """Writes tables and figure of a sweep and says where."""
    import pandas as pd

    rows = [
        {SETTING: number, **setting, **report}
        for number, (setting, report) in enumerate(zip(settings, reports, strict=True), start=1)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(folder / "settings.csv", index=False, lineterminator="\n")
    table = combined(folder, paper, settings)
    table.to_csv(folder / "results.csv", index=False, lineterminator="\n")
    figure = _figure(table, list(settings[0]))
    if figure is not None:
        figure.savefig(folder / "headlines.png", dpi=200)
        figure.savefig(folder / "headlines.svg")
    failed = sum(bool(report["failed"]) for report in reports)
    print(f"{len(table):,} results of {len(settings) - failed} settings: {folder}", file=sys.stderr)
    return 1 if failed else 0


def combined(folder: Path, paper: str, settings: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    """The rows of results.json of all settings: setting, set_<parameter>, then the usual fields.

    Args:
        folder: of the sweep. paper: whose results. settings: as they were run, in this order.
    """
    import pandas as pd

    from katayori.report.results import FIELDS, harmless, read_results

    parts = []
    varied: list[str] = []
    for number, setting in enumerate(settings, start=1):
        varied = list(setting)
        rows = read_results(folder / f"{number:03}" / paper)
        before = {SETTING: number} | {name: str(value) for name, value in setting.items()}
        parts.append(rows.assign(**{f"set_{name}": value for name, value in before.items()}))
    columns = [f"set_{name}" for name in (SETTING, *varied)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    table["cell"] = table["cell"].map(lambda cell: json.dumps(cell, ensure_ascii=False))
    texts = [name for name in table.columns if table[name].dtype.kind not in "biuf"]
    table[texts] = table[texts].map(harmless)
    return table[[*columns, *FIELDS]].rename(columns={f"set_{SETTING}": SETTING})


def _figure(table: "pd.DataFrame", varied: Sequence[str]) -> Any:
    """Every headline over the settings, a panel a measure; None where there is no headline."""
    from katayori.report.sweep_figure import headlines_over_settings

    columns = {f"set_{name}": name for name in varied}
    return headlines_over_settings(table.rename(columns=columns), list(varied))
