"""The catalogue of data sets: what exists, under which licence, where it is, and whether a file on
this machine is the right one.

`data/catalogue.yaml` is the one place that pins addresses, sizes and hashes. Files are looked for
in mirror folders first (`KATAYORI_MIRROR`), then in the user's cache, where `make data` puts them;
every file is verified each time it is read.
"""

from pathlib import Path, PurePosixPath
from typing import Any

from katayori import paths
from katayori.data import files
from katayori.errors import KatayoriError, UnavailableError, expect

#: A data set or one of its files, as `data/catalogue.yaml` has it.
Entry = dict[str, Any]


def load() -> dict[str, Entry]:
    """Entries of the catalogue by data set id."""
    return files.ours("catalogue.yaml")["datasets"]


def listed(dataset_id: str, file: str | None = None) -> tuple[Entry, Entry]:
    """A data set and one file of it; `file` (its path in the catalogue) may be left out if there is
    but one.

    Raises KatayoriError for an unknown name, UnavailableError for a set that has no files.
    """
    entries = load()
    expect(dataset_id, entries, "data set")
    entry = entries[dataset_id]
    if not entry["files"]:
        raise UnavailableError(
            f"{dataset_id} cannot be downloaded ({entry['access']}): {entry['how']}"
        )
    if file is None and len(entry["files"]) == 1:
        return entry, entry["files"][0]
    of_path = {one["path"]: one for one in entry["files"]}
    if file not in of_path:
        raise KatayoriError(
            f"{dataset_id}: name one of its files, not {file!r}: {', '.join(of_path)}"
        )
    return entry, of_path[file]


def path_of(dataset_id: str, file: str | None = None) -> Path:
    """Path of one verified file of a data set on this machine, named as in `listed`.

    Raises KatayoriError for content that differs from what is pinned, UnavailableError for a file
    that is not here. A file without a known hash is checked by its size (its loader checks the
    rows); the hash of the first copy seen is recorded in the cache and binds every later one.
    """
    entry, wanted = listed(dataset_id, file)
    for _, path in places(dataset_id, wanted):
        if path.is_file():
            return path if entry["access"] == "ours" else verified(path, dataset_id, wanted)
    raise UnavailableError(f"{dataset_id}: {wanted['path']} is not on this machine: {entry['how']}")


def _inside(base: Path, relative: str) -> Path:
    """`base / relative`, refusing a catalogue entry that points outside."""
    parts = PurePosixPath(relative)
    if parts.is_absolute() or ".." in parts.parts:
        raise KatayoriError(f"catalogue: path {relative!r} must stay inside its folder")
    return base / parts


def cached(dataset_id: str, file: Entry) -> Path:
    """Where the cache holds a file, or will."""
    return _inside(paths.cache_dir() / "datasets" / dataset_id, file["path"])


def places(dataset_id: str, file: Entry) -> list[tuple[str, Path]]:
    """Where a file may lie, best first, those that exist before the others."""
    if file["mirror"] is None:  # ours: in a checkout, or nowhere
        checkout = paths.checkout()
        return [("here", _inside(checkout, file["path"]))] if checkout else []
    places = [("mirror", _inside(folder, file["mirror"])) for folder in paths.mirror_dirs()]
    places.append(("downloaded", cached(dataset_id, file)))
    return sorted(places, key=lambda place: not place[1].is_file())


def verified(
    path: Path, dataset_id: str, file: Entry, remedy: str = "remove or replace this file"
) -> Path:
    """The path itself, after its hash (its size, where no hash is known) was found right."""
    digest, size = paths.sha256(path), path.stat().st_size
    kept = cached(dataset_id, file)
    record = kept.with_name(kept.name + ".sha256")
    expected, origin = file["sha256"], ""
    if not expected and record.is_file():
        expected, origin = record.read_text(encoding="ascii").strip(), f" (recorded in {record})"
    if expected and digest != expected:
        raise KatayoriError(f"{path}: sha256 is {digest}, expected {expected}{origin}; {remedy}")
    if expected:
        return path
    if file["bytes"] not in (None, size) and digest != (file.get("reported") or {}).get("sha256"):
        raise KatayoriError(f"{path}: {size} bytes, expected {file['bytes']}; {remedy}")
    if path.read_bytes().lstrip()[:1] in (b"", b"<"):
        raise KatayoriError(f"{path}: empty or a web page; {remedy}")
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(digest + "\n", encoding="ascii")
    print(f"{dataset_id}: no published hash; the sha256 of {file['path']} is recorded: {digest}")
    return path
