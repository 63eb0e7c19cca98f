"""Where things lie, and what tells one file from another.

Every folder can be moved by an environment variable, for tests and for read-only installs.
"""

import hashlib
import os
import re
import unicodedata
from pathlib import Path

from katayori.errors import KatayoriError, expect

#: Bytes of a name in UTF-8: file systems take 255, and a name may be part of a longer one.
LONGEST = 120


def root() -> Path:
    """The checkout: the folder that holds `data` and `notebooks` (`KATAYORI_ROOT` overrides).

    KatayoriError where the library is installed without one and the variable is not set.
    """
    folder = checkout()
    if folder is None:
        raise KatayoriError(
            "this copy of Katayori is installed without its data; set the environment variable"
            " KATAYORI_ROOT to a checkout, the folder that holds data and notebooks"
        )
    return folder


def checkout() -> Path | None:
    """`root()`, or None where there is none."""
    if named := os.environ.get("KATAYORI_ROOT"):
        return Path(named)
    library = Path(__file__).resolve().parents[1]
    return library.parent if (library / "pyproject.toml").is_file() else None


def data_dir() -> Path:
    """Registries, prompts, study sets, published figures and recorded answers."""
    return root() / "data"


def registry(name: str) -> Path:
    """A registry, or the folder of prompts, by its path below `data_dir()`.

    Without a checkout it is the one that was shipped inside the library (lib/setup.py).
    """
    shipped = Path(__file__).with_name("shipped") / name
    if checkout() is None and shipped.exists():
        return shipped
    return data_dir() / name


def outputs_dir() -> Path:
    """Where runs lie, see `run_folder` (`KATAYORI_OUTPUTS` overrides); Japanese ones below `ja`."""
    folder = Path(os.environ.get("KATAYORI_OUTPUTS") or root() / "outputs")
    return folder / language() if language() != "en" else folder


def language() -> str:
    """The language that KATAYORI_LANG names; "en" without it. KatayoriError for one unknown."""
    chosen = os.environ.get("KATAYORI_LANG") or "en"
    expect(chosen, ("en", "ja"), "language (KATAYORI_LANG)")
    return chosen


def safe_name(name: str) -> str:
    """A name, such as a model's, as part of a file's name.

    Two names give two files on every file system. Small letters of any script, digits and
    `_ . @ -` stay. Where anything else was changed, and where capital letters could meet small
    ones on a file system that takes them for the same, six digits of the name's sha256 follow.
    """
    text = unicodedata.normalize("NFKC", name)
    text = re.sub(r"[^\w.@-]+", "-", text).strip("-.")
    short = text.encode()[:LONGEST].decode(errors="ignore")
    looks_changed = re.search(r"-[0-9a-f]{6}$", name)
    if name and short == name.lower() == name and not looks_changed:
        return name
    digits = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:6]
    return f"{short or 'name'}-{digits}"


def cache_dir() -> Path:
    """Downloads, weights, engines and the answer store, shared by all checkouts.

    `KATAYORI_CACHE` overrides. Where there is none and the user's home cannot be written, as in a
    container of another user, it lies in .cache of the checkout, where it outlives the container.
    """
    if named := os.environ.get("KATAYORI_CACHE"):
        return Path(named)
    usual = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "katayori")
    if (here := checkout()) is None:
        return usual
    own = here / ".cache" / "katayori"
    # Answers that are stored at either place were paid for, so that what is there comes first.
    there = next((place for place in (usual, own) if os.path.isdir(place)), None)
    return there or (usual if _may_be_made(usual) else own)


def _may_be_made(folder: Path) -> bool:
    """Whether a folder that is not there can be made; one in an unknown home (`~`) cannot."""
    nearest = next(place for place in folder.parents if os.path.isdir(place))
    return folder.is_absolute() and os.access(nearest, os.W_OK | os.X_OK)


def mirror_dirs() -> list[Path]:
    """Folders searched for third-party files before any download.

    They stand in `KATAYORI_MIRROR`, separated as in PATH.
    """
    return [Path(p) for p in os.environ.get("KATAYORI_MIRROR", "").split(os.pathsep) if p]


def sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
