"""Run profiles: which items, whose answers, how many. Read from `data/profiles.yaml` or a user's
file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from katayori import paths
from katayori.data.files import read_yaml
from katayori.errors import KatayoriError

#: More clusters than any set has: a larger number is a slip of the pen.
MOST = 1_000_000
#: The light engine is asked about so many, with which a run shows how a report looks.
DEMONSTRATION = 2
#: What a number counts, in words.
OF_CLUSTERS = "of clusters (questions, templates, pairs, cases, families)"


def _read(path: Path) -> dict[str, dict[str, Any]]:
    blocks = read_yaml(path, "profile file")
    if not (isinstance(blocks, dict) and all(isinstance(one, dict) for one in blocks.values())):
        raise KatayoriError(
            f"{path} must hold named blocks of items, answers and size, as data/profiles.yaml does"
        )
    return {str(name): _profile(path, str(name), block) for name, block in blocks.items()}


@dataclass(frozen=True)
class Profile:
    """One profile, by its name; `size` is full or a number."""

    example: ClassVar[str] = "data/profiles.yaml"

    items: Literal["study", "official"]
    answers: Literal["recorded", "live", "simulated", "imported"]
    size: Any = None
    about: Any = None


def _profile(path: Path, name: str, block: dict) -> dict[str, Any]:
    from katayori.data.schema import checked, written

    where = f"profile '{name}' in {path.name}"
    # What is left out counts as null, so that what is valid is named.
    size = checked(Profile, {"items": None, "answers": None} | block, where).size
    if size != "full" and not (type(size) is int and 0 < size <= MOST):
        raise KatayoriError(
            f"{where}: size must be full or a positive number {OF_CLUSTERS}, at most {MOST:,},"
            f" not {written(size)}"
        )
    if name in (".", "..") or not name.isprintable() or "/" in name:
        raise KatayoriError(f"{where}: the name becomes a folder and cannot hold a slash")
    return block | {"name": name, "size": None if size == "full" else size}


def shipped() -> dict[str, dict[str, Any]]:
    """The profiles of `data/profiles.yaml` by name."""
    return _read(paths.registry("profiles.yaml"))


def load(name_or_path: str) -> dict[str, Any]:
    """The profile of that name in `data/profiles.yaml`, or the single one in a YAML file of the
    user's.

    A dict of name, items, answers and size (None for everything, else a number of clusters, see
    `papers.items`), perhaps about.

    KatayoriError, naming what is valid, for an unknown name, an unknown field or a wrong value.
    """
    ours, path = shipped(), Path(name_or_path)
    if name_or_path in ours:
        return ours[name_or_path]
    if not path.is_file():
        raise KatayoriError(
            f"no profile '{name_or_path}'; valid: {', '.join(ours)}, or a YAML file of yours"
        )
    own = _read(path)
    if len(own) != 1:
        raise KatayoriError(f"{path} must hold exactly one profile, it holds {len(own)}")
    (profile,) = own.values()
    if profile["name"] in ours and profile != ours[profile["name"]]:
        raise KatayoriError(
            f"{path}: '{profile['name']}' is a shipped profile; give yours a name of its own"
        )
    return profile
