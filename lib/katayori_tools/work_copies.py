"""`make lab`: notebooks to work in are copies, so that trying things out changes no tracked file.

A copy that nobody has changed follows its notebook; one that somebody has worked in is kept.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Literal

from katayori import paths
from katayori_tools import notebooks

#: In the folder of the copies: file -> sha256 of what was copied.
RECORD = ".copied.json"
#: JupyterLab asks the network for news of its makers unless it is told not to.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    }
}

Outcome = Literal["new", "renewed", "as it was", "yours is kept"]


def work() -> int:
    """Copies the notebooks to outputs/work, says what was kept, and turns news of the Lab off."""
    folder = paths.root() / "outputs" / "work"
    folder.mkdir(parents=True, exist_ok=True)
    before = _read(folder / RECORD)
    record = dict(before)
    for path in notebooks.registry().values():
        outcome = copied(path, folder / path.name, before.get(path.name, ""))
        if outcome != "yours is kept":
            record[path.name] = sha256_of(path)
        elif before.get(path.name) != sha256_of(path):
            print(
                f"{path.name}: your copy in {folder} is kept; the notebook has changed since"
                " (remove the copy to start from it)"
            )
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    quiet_lab(Path(sys.prefix))
    return 0


def copied(notebook: Path, copy: Path, before: str) -> Outcome:
    """Copies a notebook unless somebody has worked in the copy.

    Args:
        notebook: the tracked file. copy: where to work in it.
        before: sha256 of what was copied there last; empty where nothing was.
    """
    if not copy.exists():
        shutil.copyfile(notebook, copy)
        return "new"
    now = sha256_of(copy)
    if now == sha256_of(notebook):
        return "as it was"
    if now != before:
        return "yours is kept"
    shutil.copyfile(notebook, copy)
    return "renewed"


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def quiet_lab(environment: Path) -> None:
    """Writes the settings of JupyterLab that hold unless a user sets others."""
    file = environment / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    settings = _read(file) | SETTINGS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _read(file: Path) -> dict:
    """A JSON object of a file; empty where there is none, or it is none."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
