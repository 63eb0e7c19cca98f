"""The whole export as an RO-Crate, after the profile Process Run Crate.

The crate is written and checked by `worker`, which is told here what it holds: all files, the
software, and one action for each notebook that was run.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from katayori import __version__

LICENCE = "https://spdx.org/licenses/MIT"
_KINDS = {
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".csv": "text/csv",
    ".yaml": "application/yaml",
}


def told(folder: Path, runs: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """What `worker.crate` is told.

    Args:
        folder: of the export, complete but for the crate. runs: paper and provenance.json of each.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [path.relative_to(folder).as_posix() for path in files]
    dates = sorted(run["date"] for _, run in runs)
    papers = ", ".join(paper for paper, _ in runs)
    return {
        "name": f"A run of Katayori: {papers}",
        "description": "Social bias of language models, measured with notebooks after published"
        f" methods ({papers}): results, answers by item id and what they were made of."
        " No claim that a published result is replicated.",
        "licence": LICENCE,
        "date": dates[-1],
        "software": {"name": "Katayori", "softwareVersion": __version__},
        "files": {name: _KINDS.get(Path(name).suffix, "text/plain") for name in names},
        "actions": [_action(paper, run, names) for paper, run in runs],
    }


def _action(paper: str, run: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """One notebook run: what went in, what came out, when it ended."""
    made = (f"runs/{paper}/", f"data/katayori_{paper}/")
    parameters = {name: value for name, value in run["parameters"].items() if value}
    return {
        "id": f"#run-{paper}",
        "name": f"Notebook of {paper}",
        "description": f"The notebook of {paper} run on stored answers; git commit"
        f" {run['git']['commit'] or 'not known'}.",
        "date": run["date"],
        "parameters": {name: str(value) for name, value in parameters.items()},
        "uses": [name for name in names if name.startswith(f"study/{paper}/")],
        "results": [name for name in names if name.startswith(made)],
    }
